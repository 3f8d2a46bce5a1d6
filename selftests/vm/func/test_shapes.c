// SPDX-License-Identifier: GPL-2.0
/*
 * Functions of awkward shape, and functions called from everywhere: recursion, tail calls,
 * nesting, hard interrupts and softirqs. Functions that never return, functions that cannot be
 * had.
 */
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>
#include <linux/types.h>
#include "../../kmod/trampoline_test.h"
#include "fixture.h"
#include "record.h"
#include "selftests/vm/lib/record.skel.h"

static struct record *skel;
static int dev;

static void setup(void)
{
	dev = fixture_open(NULL);
	skel = FIXTURE_LOAD(record);
}

/* Entry and exit programs that count under 2 * @slot and 2 * @slot + 1. */
struct pair {
	struct attachment entry, exit_;
	int slot;
};

static struct pair watch(enum how how, const char *func, int slot)
{
	int entry = prog_clone(skel->progs.count_entry, func, BPF_TRACE_FENTRY);
	int exit_ = prog_clone(skel->progs.count_exit, func, BPF_TRACE_FEXIT);
	uint64_t cookie[2] = { 2 * slot, 2 * slot + 1 };
	struct pair p = { .slot = slot };

	p.entry = attach_func(how, entry, &cookie[0]);
	p.exit_ = attach_func(how, exit_, &cookie[1]);
	close(entry);
	close(exit_);
	return p;
}

static void unwatch(struct pair *p)
{
	detach(&p->entry);
	detach(&p->exit_);
}

static void reset_counts(void)
{
	memset(skel->bss->counted, 0, sizeof(skel->bss->counted));
}

static void expect_counts(const struct pair *p, uint64_t calls, const char *what)
{
	CHECK_EQ(skel->bss->counted[2 * p->slot], calls, "%s: entries", what);
	CHECK_EQ(skel->bss->counted[2 * p->slot + 1], calls, "%s: exits", what);
}

/* ------------------------------------------------------------------ shapes --- */

static void shapes(enum how how)
{
	struct pair p[8] = {
		watch(how, "tt_factorial", 0), watch(how, "tt_even", 1), watch(how, "tt_odd", 2),
		watch(how, "tt_tail", 3), watch(how, "tt_tail_callee", 4),
		watch(how, "tt_caller", 5), watch(how, "tt_callee", 6), watch(how, "tt_hot0", 7),
	};
	struct pair more[4];
	struct tt_reply r;
	int i;

	reset_counts();
	r = tt_call(dev, "tt_factorial 12");
	CHECK_EQ(r.result, 479001600, "12!");
	expect_counts(&p[0], 12, "recursion");

	r = tt_call(dev, "tt_even 100");
	CHECK_EQ(r.result, 1, "100 is even");
	expect_counts(&p[1], 51, "mutual recursion by tail calls, even");
	expect_counts(&p[2], 50, "mutual recursion by tail calls, odd");

	r = tt_call(dev, "tt_tail n=3 1 2");
	CHECK_EQ(r.result, TT_MIX(TT_MIX(0ULL, 1), 2), "through a tail call");
	expect_counts(&p[3], 3, "the one that tail-calls");
	expect_counts(&p[4], 3, "the one that is tail-called");

	r = tt_call(dev, "tt_caller n=5 20");
	CHECK_EQ(r.result, 42, "nested");
	expect_counts(&p[5], 5, "outer");
	expect_counts(&p[6], 5, "inner");

	r = tt_call(dev, "tt_indirect n=4 10");
	CHECK_EQ(r.result, 12, "by pointer");
	expect_counts(&p[7], 4, "called by pointer");
	for (i = 0; i < 8; i++)
		unwatch(&p[i]);

	more[0] = watch(how, "tt_empty", 8);
	more[1] = watch(how, "tt_short", 9);
	more[2] = watch(how, "tt_loop_head", 10);
	more[3] = watch(how, "tt_cold", 11);
	reset_counts();
	tt_call(dev, "tt_empty n=6");
	CHECK_EQ(tt_call(dev, "tt_short n=7 99").result, 99, "short");
	CHECK_EQ(tt_call(dev, "tt_loop_head n=8 500").result, 77, "loop");
	CHECK_EQ(tt_call(dev, "tt_cold n=9 1").result, 0x5555 + 4, "cold");
	for (i = 0; i < 4; i++) {
		expect_counts(&more[i], 6 + i, "small functions");
		unwatch(&more[i]);
	}
}

static void test_shapes(void)
{
	setup();
	shapes(OURS);
	shapes(KERNEL);
}

/* ---------------------------------------------------------------- contexts --- */

static void test_contexts(void)
{
	static const char *const contexts[] = { "task", "softirq", "irq" };
	struct pair p;
	size_t i;
	int cpu;

	setup();
	p = watch(OURS, "tt_hot1", 0);
	for (i = 0; i < 3; i++) {
		for (cpu = 0; cpu < nr_cpus(); cpu++) {
			struct tt_reply r;

			pin_to_cpu(cpu);
			reset_counts();
			r = tt_call(dev, "tt_hot1 ctx=%s n=2000 40", contexts[i]);
			CHECK_EQ(r.calls, 2000, "%s", contexts[i]);
			CHECK_EQ(r.result, 42, "%s", contexts[i]);
			CHECK_EQ(r.different, 0, "%s", contexts[i]);
			expect_counts(&p, 2000, contexts[i]);
		}
	}
	unwatch(&p);
}

static volatile bool stop_calling;

/* Calls from a task, interrupted by calls from softirqs and interrupts of others. */
static void *mixed_calls(void *arg)
{
	long id = (long)arg;
	int own = tt_open();

	pin_to_cpu(id / 3);
	while (!stop_calling) {
		static const char *const contexts[] = { "task", "softirq", "irq" };
		struct tt_reply r = tt_call(own, "tt_hot2 ctx=%s n=%d 1", contexts[id % 3],
					    id % 3 ? 200 : 2000);

		CHECK_EQ(r.different, 0, "results differ");
	}
	close(own);
	return NULL;
}

/*
 * The same function from all contexts on all CPUs at once. An interrupt that
 * comes while the program runs and calls the function again is a recursion: the
 * program is left out, and that is counted. Nothing else may be missing.
 */
static void test_mixed_contexts(void)
{
	uint64_t hits[2], misses[2], calls;
	int n = nr_cpus() < 8 ? nr_cpus() * 3 : 24, i;
	pthread_t thread[64];
	struct pair p;

	setup();
	p = watch(OURS, "tt_hot2", 0);
	calls = tt_calls(dev, "tt_hot2");
	for (i = 0; i < n; i++)
		REQUIRE(!pthread_create(&thread[i], NULL, mixed_calls, (void *)(long)i), "thread");
	sleep(4);
	stop_calling = true;
	for (i = 0; i < n; i++)
		pthread_join(thread[i], NULL);
	calls = tt_calls(dev, "tt_hot2") - calls;
	attachment_counts(&p.entry, &hits[0], &misses[0]);
	attachment_counts(&p.exit_, &hits[1], &misses[1]);
	ktap_note("%lu calls, missed %lu at entry, %lu at exit", calls, misses[0], misses[1]);
	if (p.entry.how == OURS) {
		CHECK_EQ(hits[0] + misses[0], calls, "entry: run or missed");
		CHECK_EQ(hits[1] + misses[1], calls, "exit: run or missed");
		CHECK_EQ(hits[0], skel->bss->counted[0], "entry: hits as the program counted");
		CHECK_EQ(hits[1], skel->bss->counted[1], "exit: hits as the program counted");
		CHECK(misses[0] < calls / 10, "%lu of %lu missed", misses[0], calls);
	}
	unwatch(&p);
}

/* -------------------------------------------------------------- no return --- */

static void test_noreturn(void)
{
	static const char *const funcs[] = {
		"do_exit", "do_group_exit", "make_task_dead", "kthread_exit",
		"kthread_complete_and_exit", "__x64_sys_exit", "__x64_sys_exit_group",
		"__ia32_sys_exit", "__ia32_sys_exit_group",
	};
	uint64_t cookie = 1;
	int fd, tried = 0, by_verifier = 0;
	struct attachment a;
	size_t i;

	if (vmtest_oracle())
		ktap_skip("the kernel of these versions does not care");
	setup();
	for (i = 0; i < sizeof(funcs) / sizeof(funcs[0]); i++) {
		/* Not every one is in BTF; kernels of late have the verifier refuse. */
		fd = prog_clone_try(skel->progs.count_exit, funcs[i], BPF_TRACE_FEXIT);
		if (fd < 0 && func_btf(funcs[i]).id > 0)
			by_verifier++;
		if (fd < 0)
			continue;
		tried++;
		a = attach_func_try(OURS, fd, NULL);
		CHECK(a.err, "%s: an exit program was attached to what never returns", funcs[i]);
		CHECK_EQ(a.err, -EINVAL, "%s", funcs[i]);
		CHECK_EQ(a.reply.refusal.reason, TRAMP_REASON_NORETURN, "%s: %s", funcs[i],
			 a.reply.refusal.detail);
		detach(&a);
		close(fd);
	}
	ktap_note("%d functions that never return: %d refused by us, %d by the verifier",
		  tried + by_verifier, tried, by_verifier);
	CHECK(tried + by_verifier >= 4, "too few functions");

	/* Entry programs are fine, also where the task ends inside. */
	fd = prog_clone(skel->progs.count_entry, "tt_noreturn", BPF_TRACE_FENTRY);
	a = attach_func(OURS, fd, &cookie);
	CHECK_EQ(tt_call(dev, "tt_exits n=3 1").result, 0, "thread");
	CHECK_EQ(skel->bss->counted[1], 3, "entries");
	detach(&a);
}

/* ---------------------------------------------------------- where RCU is blind --- */

static uint64_t misses_of(const struct attachment *a, int nr)
{
	uint64_t hits, misses, sum = 0;

	while (nr--) {
		attachment_counts(&a[nr], &hits, &misses);
		sum += misses;
	}
	return sum;
}

/* Idle functions, called when RCU does not watch: all is missed, and counted. */
static void test_idle(void)
{
	static const char *const funcs[] = {
		"arch_cpu_idle", "default_idle", "mwait_idle", "amd_e400_idle", "default_enter_idle",
	};
	uint64_t cookie[2] = { 0, 1 }, hits, misses, all_misses = 0, start;
	struct attachment a[10];
	int fd[10], nr = 0, i;

	if (vmtest_oracle())
		ktap_skip("the kernel does not ask");
	setup();
	for (i = 0; i < 10; i++) {
		fd[nr] = prog_clone_try(i % 2 ? skel->progs.count_exit : skel->progs.count_entry,
					funcs[i / 2], i % 2 ? BPF_TRACE_FEXIT : BPF_TRACE_FENTRY);
		if (fd[nr] < 0)
			continue;
		a[nr] = attach_func_try(OURS, fd[nr], &cookie[i % 2]);
		if (a[nr].err)
			continue;
		nr++;
	}
	if (!nr)
		ktap_skip("idle functions cannot be traced on this kernel");
	/* A machine that stands still is not idle: half a second may have one idle moment. */
	start = now_ns();
	do {
		usleep(10000);
	} while (now_ns() - start < 500000000 ||
		 (misses_of(a, nr) <= 10 && now_ns() - start < 30000000000));
	for (i = 0; i < nr; i++) {
		attachment_counts(&a[i], &hits, &misses);
		CHECK_EQ(hits, 0, "runs of program %d", i);
		all_misses += misses;
		detach(&a[i]);
	}
	CHECK_EQ(skel->bss->counted[0] + skel->bss->counted[1], 0, "counted by the programs");
	CHECK(all_misses > 10, "only %llu misses in %d programs", (unsigned long long)all_misses, nr);
}

/* ------------------------------------------------------------- not to be had --- */

static void expect_refusal(const struct bpf_program *prog, const char *func,
			   enum bpf_attach_type type, int err, unsigned int reason)
{
	int fd = prog_clone_try(prog, func, type);
	struct attachment a;

	if (fd < 0) {
		ktap_note("%s: the verifier refuses already: %s", func, strerror(-fd));
		return;
	}
	a = attach_func_try(OURS, fd, NULL);
	CHECK_EQ(a.err, err, "%s", func);
	CHECK_EQ(a.reply.refusal.reason, reason, "%s: %s", func, a.reply.refusal.detail);
	detach(&a);
	close(fd);
}

static void test_refused(void)
{
	if (vmtest_oracle())
		ktap_skip("about our reasons");
	setup();
	expect_refusal(skel->progs.count_entry, "tt_notrace", BPF_TRACE_FENTRY, -EOPNOTSUPP,
		       TRAMP_REASON_NOT_TRACEABLE);
	expect_refusal(skel->progs.count_exit, "tt_notrace", BPF_TRACE_FEXIT, -EOPNOTSUPP,
		       TRAMP_REASON_NOT_TRACEABLE);
	expect_refusal(skel->progs.count_entry, "tt_struct16_7", BPF_TRACE_FENTRY, -EOPNOTSUPP,
		       TRAMP_REASON_TOO_MANY_ARGS);
	expect_refusal(skel->progs.count_exit, "tt_struct16_7", BPF_TRACE_FEXIT, -EOPNOTSUPP,
		       TRAMP_REASON_TOO_MANY_ARGS);
	expect_refusal(skel->progs.count_entry, "tt_args13", BPF_TRACE_FENTRY, -EOPNOTSUPP,
		       TRAMP_REASON_TOO_MANY_ARGS);
	expect_refusal(skel->progs.count_entry, "tt_struct24", BPF_TRACE_FENTRY, -EINVAL,
		       TRAMP_REASON_ARG_TYPE);
	/* Two functions of the module have that name, and BTF says of neither which it means. */
	expect_refusal(skel->progs.count_entry, "tt_twin", BPF_TRACE_FENTRY, -EINVAL,
		       TRAMP_REASON_AMBIGUOUS);
	expect_refusal(skel->progs.count_entry, "tt_variadic", BPF_TRACE_FENTRY, -EINVAL,
		       TRAMP_REASON_VARIADIC);
}

/* Data of the same name makes no function ambiguous: set_root is of fs/namei.c, and of sysctls. */
static void test_data_namesake(void)
{
	int fd;
	struct attachment a;

	setup();
	fd = prog_clone_try(skel->progs.count_entry, "set_root", BPF_TRACE_FENTRY);
	if (fd < 0)
		ktap_skip("no set_root() here");
	a = attach_func_try(OURS, fd, NULL);
	CHECK(!a.err, "set_root: %s", tramp_reason_name(a.reply.refusal.reason));
	detach(&a);
	close(fd);
}

/*
 * BTF describes a function of that name in another file, which is inlined: one argument, where the
 * one that has the symbol takes six and returns 16 bytes. All arrive. (A later pahole describes
 * neither.)
 */
static void test_namesake(void)
{
	static const struct { bool entry, exit; } with[] = { { 1, 0 }, { 0, 1 }, { 1, 1 } };
	struct attachment a[2];
	int entry, exit;
	uint64_t plain;
	size_t i;

	if (vmtest_oracle())
		ktap_skip("the kernel loses arguments");
	setup();
	plain = tt_call(dev, "tt_namesake 0x1234567890").result;
	entry = prog_clone_try(skel->progs.record_entry, "tt_namesake", BPF_TRACE_FENTRY);
	if (entry < 0)
		ktap_skip("tt_namesake() has no BTF");
	exit = prog_clone(skel->progs.record_exit, "tt_namesake", BPF_TRACE_FEXIT);
	for (i = 0; i < sizeof(with) / sizeof(with[0]); i++) {
		if (with[i].entry)
			a[0] = attach_func(OURS, entry, NULL);
		if (with[i].exit)
			a[1] = attach_func(OURS, exit, NULL);
		CHECK_EQ(tt_call(dev, "tt_namesake 0x1234567890").result, plain, "entry %d, exit %d",
			 with[i].entry, with[i].exit);
		if (with[i].entry)
			detach(&a[0]);
		if (with[i].exit)
			detach(&a[1]);
	}
	close(entry);
	close(exit);
}

/*
 * Size alone does not tell this: a struct with a member off its natural alignment is in memory,
 * and an __int128 on the stack is aligned. Refused, or right: never wrong arguments.
 */
static void test_packed_struct(void)
{
	const uint64_t result = TT_MIX(TT_MIX(TT_MIX(0ULL, 0x11), 0x2222222222222222ULL), 0x33);
	struct attachment a, b;
	int entry, exit_;
	struct tt_reply r;

	if (vmtest_oracle())
		ktap_skip("the kernel gets this wrong");
	setup();
	CHECK_EQ(tt_call(dev, "tt_struct_packed 0x11 0x2222222222222222 0x33").result, result,
		 "untraced");
	entry = prog_clone(skel->progs.record_entry, "tt_struct_packed", BPF_TRACE_FENTRY);
	a = attach_func_try(OURS, entry, NULL);
	if (a.err)
		CHECK_EQ(a.reply.refusal.reason, TRAMP_REASON_ARG_TYPE, "%s",
			 a.reply.refusal.detail);
	exit_ = prog_clone(skel->progs.record_exit, "tt_struct_packed", BPF_TRACE_FEXIT);
	b = attach_func_try(OURS, exit_, NULL);
	if (b.err)
		CHECK_EQ(b.reply.refusal.reason, TRAMP_REASON_ARG_TYPE, "%s",
			 b.reply.refusal.detail);
	r = tt_call(dev, "tt_struct_packed 0x11 0x2222222222222222 0x33");
	CHECK_EQ(r.result, result, "the traced function got wrong arguments");
	if (!a.err) {
		CHECK_EQ(skel->bss->on_entry.slot[0], 0x2222222222222211ULL, "first slot");
		CHECK_EQ(skel->bss->on_entry.slot[2], 0x33, "the argument behind the struct");
	}
	detach(&a);
	detach(&b);

	r = tt_call(dev, "tt_int128 1 2 3 4 5 6 7 8 9");
	CHECK_EQ(r.result, TT_MIX(TT_MIX(TT_MIX(TT_MIX(0ULL, 1), 7), 8), 9), "untraced");
	a = attach_func_try(OURS, prog_clone(skel->progs.record_exit, "tt_int128", BPF_TRACE_FEXIT),
			    NULL);
	if (a.err)
		CHECK_EQ(a.reply.refusal.reason, TRAMP_REASON_ARG_TYPE, "%s",
			 a.reply.refusal.detail);
	r = tt_call(dev, "tt_int128 1 2 3 4 5 6 7 8 9");
	CHECK_EQ(r.result, TT_MIX(TT_MIX(TT_MIX(TT_MIX(0ULL, 1), 7), 8), 9), "traced");
	detach(&a);
}

/* Its result takes two registers, of which exit programs would see and keep one. */
static void test_wide_result(void)
{
	const uint64_t result = TT_MIX(TT_MIX(0ULL, 4), 6);
	struct attachment a;

	if (vmtest_oracle())
		ktap_skip("about our reasons");
	setup();
	CHECK_EQ(tt_call(dev, "tt_ret_int128 3 4").result, result, "untraced");
	expect_refusal(skel->progs.record_exit, "tt_ret_int128", BPF_TRACE_FEXIT, -EINVAL,
		       TRAMP_REASON_ARG_TYPE);
	a = attach_func(OURS, prog_clone(skel->progs.record_entry, "tt_ret_int128",
					 BPF_TRACE_FENTRY), NULL);
	CHECK_EQ(tt_call(dev, "tt_ret_int128 3 4").result, result, "traced");
	CHECK_EQ(skel->bss->on_entry.slot[1], 4, "the second argument");
	detach(&a);
}

/* ----------------------------------------------------------------- overlap --- */

static void *slow_calls(void *arg)
{
	int own = tt_open();

	pin_to_cpu((long)arg % nr_cpus());
	while (!stop_calling)
		CHECK_EQ(tt_call(own, "tt_slow n=20 1 3000").result, 6, "result");
	close(own);
	return NULL;
}

/* Calls that are inside the function while programs come and go around them. */
static void test_overlapping_calls(void)
{
	struct pair always;
	pthread_t thread[8];
	uint64_t calls;
	int i, prog;
	long t;

	setup();
	always = watch(OURS, "tt_slow", 0);
	prog = prog_clone(skel->progs.count_exit, "tt_slow", BPF_TRACE_FEXIT);
	calls = tt_calls(dev, "tt_slow");
	for (t = 0; t < 8; t++)
		REQUIRE(!pthread_create(&thread[t], NULL, slow_calls, (void *)t), "thread");
	for (i = 0; i < 60; i++) {
		struct attachment a = attach_func(OURS, prog, &(uint64_t){ 9 });

		usleep(2000);
		detach(&a);
	}
	stop_calling = true;
	for (t = 0; t < 8; t++)
		pthread_join(thread[t], NULL);
	calls = tt_calls(dev, "tt_slow") - calls;
	if (always.entry.how == OURS) {
		uint64_t hits, misses;

		attachment_counts(&always.entry, &hits, &misses);
		CHECK_EQ(hits + misses, calls, "entry");
		attachment_counts(&always.exit_, &hits, &misses);
		CHECK_EQ(hits + misses, calls, "exit");
		if (!kernel_is_rt())
			expect_counts(&always, calls, "watched all the time");
	}
	CHECK(skel->bss->counted[9], "the one that came and went was never run");
	unwatch(&always);
}

static const struct ktap_test tests[] = {
	{ "shapes", test_shapes, 120 },
	{ "contexts", test_contexts, 60 },
	{ "mixed_contexts", test_mixed_contexts, 120 },
	{ "noreturn", test_noreturn, 60 },
	{ "idle", test_idle, 60 },
	{ "refused", test_refused, 60 },
	{ "wide_result", test_wide_result, 60 },
	{ "packed_struct", test_packed_struct, 60 },
	{ "namesake", test_namesake, 60 },
	{ "data_namesake", test_data_namesake, 60 },
	{ "overlapping_calls", test_overlapping_calls, 300 },
};

KTAP_MAIN(tests)
