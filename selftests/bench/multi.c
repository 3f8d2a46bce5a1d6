// SPDX-License-Identifier: GPL-2.0
/*
 * One program at many functions: how long attaching and detaching take, and how much memory
 * a function takes.
 *
 * The functions are all that ftrace can patch, less the deny list and what ATTACH_MULTI leaves
 * out. Fewer of them are spread over all the text. The kernel's side are its kprobe.multi
 * with the same functions, and its fentry one by one, which the report scales.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>
#include "multi.h"

/* Of the kernel's fentry: each takes a grace period to detach. */
#define FENTRY_NR	300
/* How many functions memory is measured with, if there are as many. */
#define MEMORY_NR	40000
#define CALLS		64

static uint64_t since(uint64_t *begin)
{
	uint64_t now = now_ns(), us = (now - *begin) / 1000;

	*begin = now;
	return us;
}

static void drain(void)
{
	while (tramp_module().images)
		usleep(1000);
}

/* Those that ATTACH_MULTI does not leave out. */
static uint32_t without_refused(uint64_t *addrs, uint32_t nr, int prog_fd)
{
	uint32_t *reasons = calloc(nr, sizeof(*reasons)), i, kept = 0;
	struct tramp_attach_multi at = {
		.size = sizeof(at), .flags = TRAMP_MULTI_F_SKIP, .prog_fd = prog_fd, .nr = nr,
		.addrs = (uintptr_t)addrs, .reasons = (uintptr_t)reasons,
	};

	REQUIRE(reasons, "out of memory");
	REQUIRE(!ioctl(tramp_device(), TRAMP_IOC_ATTACH_MULTI, &at), "all functions: %s: %s",
		tramp_reason_name(at.refusal.reason), strerror(errno));
	close(at.link_fd);
	drain();
	for (i = 0; i < nr; i++)
		if (!reasons[i])
			addrs[kept++] = addrs[i];
	free(reasons);
	return kept;
}

static struct multi_set all_functions(int prog_fd)
{
	const char *all = "*";
	TRAMP_OPTS(tramp_select_opts, what, .patterns = &all, .pattern_cnt = 1);
	uint64_t first = bench_place(BENCH_FUNCTION, 0).func;
	struct tramp_selection *sel = NULL;
	struct multi_set set = {};
	struct tramp_syms *syms;
	uint32_t i, nr;

	syms = tramp_syms__load(NULL);
	if (syms)
		sel = tramp_syms__select(syms, &what);
	REQUIRE(sel, "%s", tramp_last_error()->message);
	nr = tramp_selection__count(sel);
	set.addrs = calloc(nr + 1, sizeof(*set.addrs));
	REQUIRE(set.addrs, "out of memory");
	set.addrs[set.nr++] = first;
	for (i = 0; i < nr; i++) {
		uint64_t addr = tramp_selection__get(sel, i)->sym->addr;

		if (addr != first)
			set.addrs[set.nr++] = addr;
	}
	tramp_selection__free(sel);
	tramp_syms__free(syms);
	set.nr = without_refused(set.addrs, set.nr, prog_fd);
	REQUIRE(set.nr && set.addrs[0] == first, "bench_function was left out");
	return set;
}

/* @nr of them, from everywhere; the first stays the first. */
static uint64_t *some(const struct multi_set *set, uint32_t nr)
{
	uint64_t *addrs = calloc(nr, sizeof(*addrs));
	uint32_t i;

	REQUIRE(addrs, "out of memory");
	for (i = 0; i < nr; i++)
		addrs[i] = set->addrs[(uint64_t)i * set->nr / nr];
	return addrs;
}

/* The programs of two processors count without atomics, so some hits are lost. */
static void check_hits(enum bench_side side, uint32_t nr)
{
	bench_reset_hits();
	bench_run(BENCH_FUNCTION, CALLS);
	REQUIRE(bench_hits() >= CALLS / 2, "%s: %lu hits in %d calls of one of %u functions",
		bench_side_name(side), bench_hits(), CALLS, nr);
}

static void one_round(const struct multi_set *set, uint32_t nr, enum bench_side side, int prog_fd,
		      bool record)
{
	struct bench_att a = { .prog_fd = prog_fd, .fd = -1, .event_fd = -1 };
	uint64_t *addrs = some(set, nr), begin = now_ns(), attach, detach;
	int err;

	if (side == BENCH_OURS)
		err = bench_link_our_multi(&a, addrs, nr, NULL, 0);
	else
		err = bench_link_kernel_multi(&a, BPF_TRACE_KPROBE_MULTI, addrs, nr, NULL, 0);
	attach = since(&begin);
	REQUIRE(!err, "%s: attaching to %u functions: %s", bench_side_name(side), nr,
		strerror(-err));
	check_hits(side, nr);
	begin = now_ns();
	bench_detach(&a);
	detach = since(&begin);
	if (side == BENCH_OURS)
		drain();
	if (record)
		bench_record("multi kprobe-multi %s %u %lu %lu %lu", bench_side_name(side), nr,
			     attach, detach, since(&begin));
	free(addrs);
}

/* The kernel's fentry, one by one. */
static void fentry_round(void)
{
	const struct bench_mech *const *m = bench_mechs();
	static struct bench_att atts[FENTRY_NR];
	uint64_t begin, attach;
	unsigned int i;

	while (strcmp((*m)->name, "fentry") || (*m)->side != BENCH_KERNEL)
		m++;
	for (i = 0; i < FENTRY_NR; i++) {
		struct bench_place place = bench_place(BENCH_MANY, i);
		struct bench_load as = {};

		(*m)->as(&place, &as);
		atts[i].prog_fd = bench_load(BENCH_MAPS, &as);
	}
	begin = now_ns();
	for (i = 0; i < FENTRY_NR; i++) {
		struct bench_place place = bench_place(BENCH_MANY, i);

		atts[i] = bench_attach(*m, &place, atts[i].prog_fd, 0);
	}
	attach = since(&begin);
	for (i = 0; i < FENTRY_NR; i++)
		bench_detach(&atts[i]);
	bench_record("multi fentry kernel %d %lu %lu 0", FENTRY_NR, attach, since(&begin));
	for (i = 0; i < FENTRY_NR; i++)
		close(atts[i].prog_fd);
}

void bench_multi(void)
{
	const bool fprobe = tramp_module().features & TRAMP_FEAT_MULTI_HELPERS;
	const struct bench_load as = {
		.type = BPF_PROG_TYPE_KPROBE, .attach_type = fprobe ? BPF_TRACE_KPROBE_MULTI : 0,
	};
	uint32_t nr[3] = { 1000, 10000 };
	struct multi_memory memory;
	struct multi_set set;
	unsigned int i;
	int prog_fd;

	if (!(tramp_module().features & TRAMP_FEAT_MULTI))
		return;
	prog_fd = bench_load(BENCH_MAPS, &as);
	set = all_functions(prog_fd);
	nr[2] = set.nr;
	fentry_round();
	/* Work that is done once in a kernel's life is not to be in the figures. */
	one_round(&set, 10, BENCH_OURS, prog_fd, false);
	for (i = 0; i < 3; i++) {
		if (fprobe)
			one_round(&set, nr[i], BENCH_KERNEL, prog_fd, true);
		one_round(&set, nr[i], BENCH_OURS, prog_fd, true);
	}
	if (!fprobe)
		bench_record("missing kprobe-multi kernel many functions: no fprobe");
	i = set.nr < MEMORY_NR ? set.nr : MEMORY_NR;
	memory = multi_memory(&set, i, prog_fd);
	bench_record("multi-memory kprobe-multi ours %u %ld %ld", i, memory.own, memory.all);
	close(prog_fd);
	free(set.addrs);
}
