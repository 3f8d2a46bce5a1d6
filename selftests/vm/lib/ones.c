// SPDX-License-Identifier: GPL-2.0
/* Programs of one function each, attached to many functions by one ATTACH_BATCH. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>
#include "many.h"
#include "ones.h"
#include "probe.h"

/* May a probe be at the entry? */
static bool can_share(uint64_t addr)
{
	struct probe_func f;
	bool can;

	if (probe_explain(&f, addr, NULL, false))
		return false;
	can = f.nr && f.insns[0].mode == TRAMP_MODE_DIRECT;
	probe_func_free(&f);
	return can;
}

static int ascending(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

void ones_fill(struct tramp_attach *item, uint32_t nr, int prog)
{
	struct many *all = many_new();
	uint32_t i, k = 0, tried = nr + nr / 2;

	many_fill(all, tried);
	qsort(all->addrs, tried, sizeof(all->addrs[0]), ascending);
	for (i = 0; i < tried && k < nr; i++) {
		if (!can_share(all->addrs[i]))
			continue;
		item[k] = (struct tramp_attach){
			.size = sizeof(item[k]), .addr = all->addrs[i], .cookie = k,
			.prog_fd = prog, .flags = TRAMP_ATTACH_F_COOKIE,
		};
		k++;
	}
	free(all);
	REQUIRE(k == nr, "%u functions to share", k);
}

void ones_come(struct tramp_attach *item, int32_t *fds, uint32_t nr)
{
	struct tramp_attach_batch cmd = {
		.size = sizeof(cmd), .count = nr, .item_size = sizeof(item[0]),
		.items = (uintptr_t)item,
	};
	uint32_t i;

	REQUIRE(!ioctl(tramp_device(), TRAMP_IOC_ATTACH_BATCH, &cmd), "%s at item %u: %s %s",
		strerror(errno), cmd.failed, tramp_reason_name(cmd.refusal.reason),
		cmd.refusal.detail);
	for (i = 0; i < nr; i++)
		fds[i] = item[i].link_fd;
}

void ones_go(int32_t *fds, uint32_t nr)
{
	struct tramp_detach_batch cmd = {
		.size = sizeof(cmd), .count = nr, .fds = (uintptr_t)fds,
	};

	REQUIRE(!ioctl(tramp_device(), TRAMP_IOC_DETACH_BATCH, &cmd), "detach: %s",
		strerror(errno));
	while (nr)
		close(fds[--nr]);
}
