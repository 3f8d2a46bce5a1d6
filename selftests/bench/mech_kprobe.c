// SPDX-License-Identifier: GPL-2.0
/*
 * kprobe: programs at an instruction in the middle of a function, by a jump and by an int3,
 * and at a function's entry. There the kernel's go through ftrace, ours are called directly.
 *
 * Each program of the kernel's gets a perf event of its own, as libbpf does it.
 */
#include "bench.h"

#define OPTIMIZATION	"/proc/sys/debug/kprobes-optimization"

/* First bytes of an instruction with a probe */
#define JUMP		0xe9
#define INT3		0xcc

static void optimize_on(void)
{
	REQUIRE(!write_file(OPTIMIZATION, "1"), OPTIMIZATION);
}

static void optimize_off(void)
{
	REQUIRE(!write_file(OPTIMIZATION, "0"), OPTIMIZATION);
}

static int attach_kernel(struct bench_att *a, const struct bench_place *place, uint64_t cookie)
{
	(void)place;
	a->event_fd = bench_perf_event(a->addr, false);
	return a->event_fd < 0 ? a->event_fd : bench_link_perf(a, cookie);
}

static const char *kernel_through_ftrace(const struct bench_att *a, unsigned int nr)
{
	return bench_kprobes(a, nr, "[FTRACE]") == nr ? NULL : "not all go through ftrace";
}

/* The list calls them optimised as soon as they wait for it: the text tells. */
static const char *kernel_optimised(const struct bench_att *a, unsigned int nr)
{
	if (bench_first_byte_is(a, nr, JUMP) != nr)
		return "not all are jumps";
	return bench_kprobes(a, nr, "[OPTIMIZED]") == nr ? NULL : "not all are optimised";
}

/*
 * The kernel takes its jumps back some 20 ms after their last kprobe is gone
 * (kernel/kprobes.c: OPTIMIZE_DELAY), by way of an int3.
 */
static const char *kernel_took_jumps_back(const struct bench_att *a, unsigned int nr)
{
	if (bench_first_byte_is(a, nr, JUMP))
		return "a jump is left";
	return bench_first_byte_is(a, nr, INT3) ? "an int3 is left" : NULL;
}

static const char *kernel_unoptimised(const struct bench_att *a, unsigned int nr)
{
	if (bench_first_byte_is(a, nr, INT3) != nr)
		return "not all are int3s";
	if (bench_kprobes(a, nr, "") != nr)
		return "not all are there";
	return bench_kprobes(a, nr, "[OPTIMIZED]") ? "some are optimised" : NULL;
}

BENCH_MECH(kernel_kprobe_entry) = {
	.name = "kprobe-entry", .title = "kprobe at the entry", .side = BENCH_KERNEL,
	.rank = 40, .target = BENCH_FUNCTION, .progs = BENCH_ALL, .setup = optimize_on,
	.as = bench_as_kprobe, .attach = attach_kernel, .settled = kernel_through_ftrace,
};

BENCH_MECH(kernel_kprobe_jump) = {
	.name = "kprobe-jump", .title = "kprobe in the middle, by jump", .side = BENCH_KERNEL,
	.rank = 50, .target = BENCH_FUNCTION, .mid = true, .progs = BENCH_ALL, .many = 1000,
	.setup = optimize_on, .as = bench_as_kprobe, .attach = attach_kernel,
	.settled = kernel_optimised, .drained = kernel_took_jumps_back,
};

BENCH_MECH(kernel_kprobe_int3) = {
	.name = "kprobe-int3", .title = "kprobe in the middle, by int3", .side = BENCH_KERNEL,
	.rank = 60, .target = BENCH_FUNCTION, .mid = true, .progs = BENCH_ALL,
	.setup = optimize_off, .as = bench_as_kprobe, .attach = attach_kernel,
	.settled = kernel_unoptimised,
};

static const char *no_probes(void)
{
	return tramp_module().features & TRAMP_FEAT_KPROBE ? NULL : "no probes in this module";
}

static const char *no_jumps(void)
{
	return tramp_module().features & TRAMP_FEAT_JUMP ? NULL : "no jumps in this module";
}

static int attach_probe(struct bench_att *a, const struct bench_place *place, uint64_t cookie)
{
	(void)place;
	return bench_link_ours(a, a->addr, TRAMP_ATTACH_F_NO_KPROBE, cookie);
}

static int attach_int3(struct bench_att *a, const struct bench_place *place, uint64_t cookie)
{
	(void)place;
	return bench_link_ours(a, a->addr, TRAMP_ATTACH_F_NO_KPROBE | TRAMP_ATTACH_F_NO_JUMP,
			       cookie);
}

static const char *our_direct_calls(const struct bench_att *a, unsigned int nr)
{
	return bench_in_mode(a, nr, TRAMP_MODE_DIRECT);
}

static const char *our_jumps(const struct bench_att *a, unsigned int nr)
{
	return bench_in_mode(a, nr, TRAMP_MODE_JUMP);
}

static const char *our_int3s(const struct bench_att *a, unsigned int nr)
{
	return bench_in_mode(a, nr, TRAMP_MODE_INT3);
}

BENCH_MECH(our_probe_entry) = {
	.name = "kprobe-entry", .title = "probe at the entry", .side = BENCH_OURS,
	.rank = 40, .target = BENCH_FUNCTION, .progs = BENCH_ALL, .as = bench_as_kprobe,
	.attach = attach_probe, .settled = our_direct_calls, .missing = no_probes,
};

BENCH_MECH(our_probe_jump) = {
	.name = "kprobe-jump", .title = "probe by jump", .side = BENCH_OURS,
	.rank = 50, .target = BENCH_FUNCTION, .mid = true, .progs = BENCH_ALL, .many = 1000,
	.jumps = true, .as = bench_as_kprobe, .attach = attach_probe, .settled = our_jumps,
	.missing = no_jumps,
};

BENCH_MECH(our_probe_int3) = {
	.name = "kprobe-int3", .title = "probe by int3", .side = BENCH_OURS,
	.rank = 60, .target = BENCH_FUNCTION, .mid = true, .progs = BENCH_ALL,
	.as = bench_as_kprobe, .attach = attach_int3, .settled = our_int3s, .missing = no_probes,
};
