// SPDX-License-Identifier: GPL-2.0
/* One program attached to many functions by ATTACH_MULTI, without the library. */
#include <errno.h>
#include <linux/bpf.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "many.h"
#include "probe.h"

struct many *many_new(void)
{
	struct many *m = calloc(1, sizeof(*m));

	REQUIRE(m, "calloc");
	m->cmd.size = sizeof(m->cmd);
	m->cmd.addrs = (uintptr_t)m->addrs;
	m->cmd.cookies = (uintptr_t)m->cookies;
	m->cmd.reasons = (uintptr_t)m->reasons;
	return m;
}

void many_add(struct many *m, uint64_t addr)
{
	REQUIRE(m->cmd.nr < MANY_MAX, "room");
	m->addrs[m->cmd.nr] = addr;
	m->cookies[m->cmd.nr] = m->cmd.nr;
	m->cmd.nr++;
}

void many_add_name(struct many *m, const char *name)
{
	uint64_t addr = ksym_addr(name);

	REQUIRE(addr, "no symbol %s", name);
	many_add(m, addr);
}

/* Every @step-th function of @pattern from number @first on, until there are @nr. */
static void fill(struct many *m, const char *pattern, size_t first, size_t step, uint32_t nr)
{
	TRAMP_OPTS(tramp_select_opts, what, .patterns = &pattern, .pattern_cnt = 1);
	struct tramp_selection *sel = NULL;
	struct tramp_syms *syms;
	size_t i;

	syms = tramp_syms__load(NULL);
	if (syms)
		sel = tramp_syms__select(syms, &what);
	REQUIRE(sel, "%s", tramp_last_error()->message);
	for (i = first; m->cmd.nr < nr && i < tramp_selection__count(sel); i += step)
		if (strcmp(tramp_selection__get(sel, i)->sym->name, MANY_HOOKED))
			many_add(m, tramp_selection__get(sel, i)->sym->addr);
	tramp_selection__free(sel);
	tramp_syms__free(syms);
}

void many_fill(struct many *m, uint32_t nr)
{
	fill(m, "vmlinux:*", 0, 1, nr);
	REQUIRE(m->cmd.nr == nr, "%u functions", m->cmd.nr);
}

static void fill_to_end(struct many *m, size_t first, size_t step)
{
	fill(m, "*", first, step, MANY_MAX);
	REQUIRE(m->cmd.nr && m->cmd.nr < MANY_MAX, "%u functions", m->cmd.nr);
}

void many_fill_all(struct many *m)
{
	fill_to_end(m, 0, 1);
}

int many_fill_share(struct many *m)
{
	int step = time_scale() > 1 ? short_form(1, 4) : 1, first = now_ns() % step;

	fill_to_end(m, first, step);
	if (step > 1)
		ktap_note("every %dth function, from number %d on", step, first);
	return step;
}

int many_attach_try(struct many *m, int prog_fd, uint32_t flags)
{
	m->cmd.flags = flags;
	m->cmd.prog_fd = prog_fd;
	return ioctl(tramp_device(), TRAMP_IOC_ATTACH_MULTI, &m->cmd) ? -errno : 0;
}

void many_attach(struct many *m, int prog_fd, uint32_t flags)
{
	int err = many_attach_try(m, prog_fd, flags);

	REQUIRE(!err, "%s: %s %s (%u of %u)", strerror(-err),
		tramp_reason_name(m->cmd.refusal.reason), m->cmd.refusal.detail, m->cmd.failed,
		m->cmd.nr);
}

void many_detach(struct many *m)
{
	close(m->cmd.link_fd);
	free(m);
}

int many_info(int link_fd, struct many_info *info)
{
	union bpf_attr attr = { .info = { .bpf_fd = link_fd, .info_len = sizeof(*info),
					  .info = (uintptr_t)info } };

	return syscall(SYS_bpf, BPF_OBJ_GET_INFO_BY_FD, &attr, sizeof(attr)) ? -errno : 0;
}

uint32_t many_session(void)
{
	return kernel_version() < 6010 ? TRAMP_MULTI_F_SESSION : 0;
}
