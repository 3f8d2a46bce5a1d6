// SPDX-License-Identifier: GPL-2.0
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>
#include "fixture.h"
#include "places.h"
#include "selftests/vm/lib/probe_progs.skel.h"

int places_dev, places_prog;
struct tramp_attach places_item[MANY + 1];
struct tramp_attach_batch places_cmd;
int32_t places_fds[MANY];
struct probe_func places_func;
static uint8_t *before, *after;

void places_setup(void)
{
	uint64_t end = 0;
	uint32_t i, n = 0;
	int err;

	places_dev = fixture_open("the kernel attaches one after the other");
	probe_setup();
	probe_many_files();
	places_prog = bpf_program__fd(probe_skel->progs.count);
	err = probe_explain(&places_func, 0, "tt_long", false);
	REQUIRE(!err, "tt_long: %s", strerror(-err));
	for (i = 0; i < places_func.nr && n < MANY; i++) {
		uint64_t at = places_func.addr + places_func.insns[i].offset;

		/* Behind the address of each there is to be no instruction. */
		if (places_func.insns[i].mode != TRAMP_MODE_JUMP || at < end ||
		    places_func.insns[i].len == 1)
			continue;
		places_item[n] = (struct tramp_attach){ .size = sizeof(places_item[n]),
							.prog_fd = places_prog,
							.addr = at,
							.cookie = n,
							.flags = TRAMP_ATTACH_F_COOKIE };
		n++;
		end = at + places_func.insns[i].region_len;
	}
	REQUIRE(n == MANY, "tt_long has %u places for a jump", n);
	before = malloc(places_func.size);
	after = malloc(places_func.size);
	REQUIRE(before && after, "out of memory");
	probe_flush();
	text_read(places_dev, places_func.addr, before, places_func.size);
}

void places_expect_text(const char *when)
{
	uint32_t i;

	text_read(places_dev, places_func.addr, after, places_func.size);
	for (i = 0; i < places_func.size; i++)
		if (!CHECK(before[i] == after[i], "%s: byte at tt_long+%#x is %#x, was %#x", when, i,
			   after[i], before[i]))
			return;
}

int places_try(struct tramp_attach *items, uint32_t nr)
{
	places_cmd = (struct tramp_attach_batch){ .size = sizeof(places_cmd),
						  .count = nr,
						  .item_size = sizeof(*items),
						  .items = (uintptr_t)items };
	return ioctl(tramp_device(), TRAMP_IOC_ATTACH_BATCH, &places_cmd) ? -errno : 0;
}

void places_attach(uint32_t nr)
{
	int err = places_try(places_item, nr);
	uint32_t i;

	REQUIRE(!err, "%u probes: %s at item %u: %s %s", nr, strerror(-err), places_cmd.failed,
		tramp_reason_name(places_cmd.refusal.reason), places_cmd.refusal.detail);
	for (i = 0; i < nr; i++)
		places_fds[i] = places_item[i].link_fd;
}

int places_detach(const int32_t *links, uint32_t nr, struct tramp_detach_batch *d)
{
	*d = (struct tramp_detach_batch){ .size = sizeof(*d),
					  .count = nr,
					  .fds = (uintptr_t)links };
	return ioctl(tramp_device(), TRAMP_IOC_DETACH_BATCH, d) ? -errno : 0;
}

void places_close(uint32_t nr)
{
	uint32_t i;

	for (i = 0; i < nr; i++)
		close(places_fds[i]);
}

uint64_t places_run(int times)
{
	struct tt_reply r = tt_call(places_dev, "tt_long n=%d 12345", times);

	CHECK_EQ(r.different, 0, "results");
	return r.result;
}

void places_expect_hits(uint32_t nr, uint64_t want, const char *when)
{
	uint32_t i;

	for (i = 0; i < nr; i++)
		if (!CHECK_EQ(probe_skel->bss->counted[i], want, "%s: probe %u", when, i))
			break;
	memset(probe_skel->bss->counted, 0, sizeof(probe_skel->bss->counted));
}
