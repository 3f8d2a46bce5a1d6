// SPDX-License-Identifier: GPL-2.0
/*
 * fmod_ret programs, and the order in which programs of all kinds run.
 *
 * The hooks are security_* functions, which the verifier lets fmod_ret programs modify on every
 * kernel. One is the kernel's security_inode_unlink(), where a program acts on this process
 * only. The other is security_tt_check() of the test module, which counts how often its body
 * ran.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
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
	skel->bss->only_pid = getpid();
}

#define CHECK_CALL "security_tt_check 5 6"
static const int check_result = (int)TT_MIX(TT_MIX(0ULL, 5), 6);

/* ------------------------------------------------------- a syscall's result --- */

static void make_file(const char *path)
{
	int fd = open(path, O_CREAT | O_WRONLY, 0600);

	REQUIRE(fd >= 0, "%s: %s", path, strerror(errno));
	close(fd);
}

static void syscall_result(enum how how)
{
	const char *path = "/tmp/fmod_ret";
	int fd = prog_clone(skel->progs.record_mod, "security_inode_unlink", BPF_MODIFY_RETURN);
	struct attachment a;

	make_file(path);
	memset(&skel->bss->on_mod, 0, sizeof(skel->bss->on_mod));
	/* An error that unlink() on tmpfs does not give by itself. */
	skel->bss->mod_result = -EXFULL;
	a = attach_func(how, fd, NULL);
	close(fd);
	CHECK(unlink(path) < 0 && errno == EXFULL, "unlink: %s", strerror(errno));
	CHECK(!access(path, F_OK), "the file is gone");
	CHECK_EQ(skel->bss->on_mod.calls, 1, "runs");
	/* security_inode_unlink(dir, dentry) */
	CHECK_EQ(skel->bss->on_mod.nr_slots, 2, "arguments");
	CHECK(skel->bss->on_mod.slot[0] >> 56 == 0xff, "the directory's inode is %#llx",
	      (unsigned long long)skel->bss->on_mod.slot[0]);
	CHECK_EQ(skel->bss->on_mod.ret, 0, "the result before the function");

	skel->bss->mod_result = 0;
	CHECK(!unlink(path), "unlink with a program that agrees: %s", strerror(errno));
	CHECK_EQ(skel->bss->on_mod.calls, 2, "runs");

	make_file(path);
	skel->bss->mod_result = -EXFULL;
	detach(&a);
	CHECK(!unlink(path), "unlink after detach: %s", strerror(errno));
	CHECK_EQ(skel->bss->on_mod.calls, 2, "runs");
}

static void test_syscall_result(void)
{
	setup();
	syscall_result(OURS);
	syscall_result(KERNEL);
}

/* Was the function itself run, and what came out? */
static void skips_function(enum how how)
{
	int mod = prog_clone(skel->progs.record_mod, "security_tt_check", BPF_MODIFY_RETURN);
	int entry = prog_clone(skel->progs.record_entry, "security_tt_check", BPF_TRACE_FENTRY);
	int exit_ = prog_clone(skel->progs.record_exit, "security_tt_check", BPF_TRACE_FEXIT);
	struct attachment a, b, c;
	struct tt_reply r;

	memset(skel->bss, 0, sizeof(*skel->bss));
	a = attach_func(how, mod, NULL);
	skel->bss->mod_result = 0;
	r = tt_call(dev, CHECK_CALL);
	CHECK_EQ(r.ran, 1, "the function, with a program that returned 0");
	CHECK_EQ((int)r.result, check_result, "its result");
	skel->bss->mod_result = -1234567;
	r = tt_call(dev, CHECK_CALL);
	CHECK_EQ(r.ran, 0, "the function is skipped");
	CHECK_EQ((int)r.result, -1234567, "the program's result");
	CHECK_EQ(skel->bss->on_mod.calls, 2, "runs");

	/* Entry programs run before, exit programs run also if it was skipped. */
	b = attach_func(how, entry, NULL);
	c = attach_func(how, exit_, NULL);
	r = tt_call(dev, CHECK_CALL);
	CHECK_EQ(r.ran, 0, "the function is skipped");
	CHECK_EQ((int)r.result, -1234567, "the program's result");
	CHECK_EQ(skel->bss->on_entry.calls, 1, "entry program");
	CHECK_EQ(skel->bss->on_exit.calls, 1, "exit program");
	CHECK_EQ((int)skel->bss->on_exit.ret, -1234567, "the result exit programs see");
	skel->bss->mod_result = 0;
	r = tt_call(dev, CHECK_CALL);
	CHECK_EQ(r.ran, 1, "the function");
	CHECK_EQ((int)skel->bss->on_exit.ret, check_result, "the result exit programs see");
	detach(&a);
	detach(&b);
	detach(&c);
	r = tt_call(dev, CHECK_CALL);
	CHECK_EQ((int)r.result, check_result, "after detach");
	CHECK_EQ(skel->bss->on_mod.calls, 4, "runs");
	close(mod);
	close(entry);
	close(exit_);
}

static void test_skips_function(void)
{
	setup();
	skips_function(OURS);
	skips_function(KERNEL);
}

/* Of fmod_ret programs, newest first, the first with a result decides; others are left out. */
static void first_result_counts(enum how how)
{
	/* Attached from the last to the first. */
	static const int results[] = { 0, 0, -11, 0, -22 };
	struct attachment a[5];
	struct tt_reply r;
	int i;

	setup();
	for (i = 4; i >= 0; i--) {
		int fd = prog_clone(skel->progs.order_mod, "security_tt_check", BPF_MODIFY_RETURN);
		uint64_t cookie = (uint64_t)(uint32_t)results[i] << 32 | (i + 1);

		a[i] = attach_func(how, fd, &cookie);
		close(fd);
	}
	skel->bss->order_len = 0;
	r = tt_call(dev, CHECK_CALL);
	CHECK_EQ((int)r.result, -11, "result");
	CHECK_EQ(r.ran, 0, "the function");
	CHECK_EQ(skel->bss->order_len, 3, "programs run");
	for (i = 0; i < 3; i++)
		CHECK_EQ((uint32_t)skel->bss->order[i], i + 1, "program %d", i);

	/* Without the first that had one, the next does. */
	detach(&a[2]);
	skel->bss->order_len = 0;
	r = tt_call(dev, CHECK_CALL);
	CHECK_EQ((int)r.result, -22, "result");
	CHECK_EQ(skel->bss->order_len, 4, "programs run");
	for (i = 0; i < 5; i++)
		detach(&a[i]);
	check_nothing_left();
}

static void test_first_result_counts(void)
{
	first_result_counts(OURS);
	first_result_counts(KERNEL);
}

/* ------------------------------------------------------------------ order --- */

#define NR_ORDER 6

static const struct bpf_program *order_prog(int kind)
{
	return kind == 0 ? skel->progs.order_entry : kind == 1 ? skel->progs.order_mod :
	       skel->progs.order_exit;
}

static const enum bpf_attach_type kinds[] = { BPF_TRACE_FENTRY, BPF_MODIFY_RETURN,
					      BPF_TRACE_FEXIT };

static void expect_order(const char *when, const int *expected, int n)
{
	char got[256] = "", want[256] = "";
	int i;

	skel->bss->order_len = 0;
	tt_call(dev, CHECK_CALL);
	for (i = 0; i < n; i++)
		sprintf(want + strlen(want), "%d ", expected[i]);
	for (i = 0; i < (int)skel->bss->order_len && i < 32; i++)
		sprintf(got + strlen(got), "%d ", (int)skel->bss->order[i]);
	CHECK(!strcmp(got, want), "%s: ran %s, expected %s", when, got, want);
}

/* All entry programs, then fmod_ret, then exit; within a kind the newest first. */
static void order(enum how how)
{
	/* The order of attaching: kinds mixed. */
	static const int kind_of[NR_ORDER * 3] = { 2, 0, 1, 1, 0, 2, 2, 2, 0, 0, 1, 1, 0, 1, 2, 2,
						   0, 1 };
	int fd[NR_ORDER * 3], expected[NR_ORDER * 3], n = 0, i, kind;
	struct attachment a[NR_ORDER * 3];

	setup();
	for (i = 0; i < NR_ORDER * 3; i++) {
		uint64_t cookie = i + 1;

		fd[i] = prog_clone(order_prog(kind_of[i]), "security_tt_check",
				   kinds[kind_of[i]]);
		a[i] = attach_func(how, fd[i], &cookie);
	}
	for (kind = 0; kind < 3; kind++)
		for (i = NR_ORDER * 3 - 1; i >= 0; i--)
			if (kind_of[i] == kind)
				expected[n++] = i + 1;
	expect_order("as attached", expected, n);

	/* One of each kind leaves and comes back: now it is the first of its kind. */
	for (i = 0; i < 3; i++)
		detach(&a[i]);
	n = 0;
	for (kind = 0; kind < 3; kind++)
		for (i = NR_ORDER * 3 - 1; i >= 3; i--)
			if (kind_of[i] == kind)
				expected[n++] = i + 1;
	expect_order("three detached", expected, n);
	for (i = 0; i < 3; i++) {
		uint64_t cookie = i + 1;

		a[i] = attach_func(how, fd[i], &cookie);
	}
	n = 0;
	for (kind = 0; kind < 3; kind++) {
		for (i = 2; i >= 0; i--)
			if (kind_of[i] == kind)
				expected[n++] = i + 1;
		for (i = NR_ORDER * 3 - 1; i >= 3; i--)
			if (kind_of[i] == kind)
				expected[n++] = i + 1;
	}
	expect_order("attached again", expected, n);
	for (i = 0; i < NR_ORDER * 3; i++)
		detach(&a[i]);
	expect_order("all detached", expected, 0);
	check_nothing_left();
}

static void test_order(void)
{
	order(OURS);
	order(KERNEL);
}

/* ------------------------------------------------------- after the detach --- */

static void keep_calling(int fd, unsigned int round)
{
	(void)round;
	tt_call(fd, "tt_hot0 n=1000 1");
}

/*
 * Once detach has returned, calls that enter do not run the program. Calls that
 * were on their way may: at most one per CPU, and one per task preempted there.
 */
static void test_detached_is_not_run(void)
{
	int round, kind, i, n;

	setup();
	n = callers_start(keep_calling);
	for (round = 0; round < 20; round++) {
		for (kind = 0; kind < 2; kind++) {
			uint64_t cookie = 1, seen, calls = tt_calls(dev, "tt_hot0");
			volatile __u64 *count = &skel->bss->counted[1];
			int fd = prog_clone(kind ? skel->progs.count_exit : skel->progs.count_entry,
					    "tt_hot0", kind ? BPF_TRACE_FEXIT : BPF_TRACE_FENTRY);
			struct attachment a = attach_func(OURS, fd, &cookie);

			close(fd);
			/* On a busy host a CPU may take its time to come round. */
			for (i = 0; i < 2000 && !*count; i++)
				usleep(1000);
			detach(&a);
			seen = *count;
			calls = tt_calls(dev, "tt_hot0") - calls;
			CHECK(seen, "never run in %lu calls", calls);
			usleep(20000);
			CHECK(*count - seen <= (uint64_t)(2 * n), "%s program run %lu times after "
			      "detach returned", kind ? "exit" : "entry",
			      (unsigned long)(*count - seen));
			*count = 0;
		}
	}
	callers_stop();
	/* And not at all by calls that certainly entered after. */
	skel->bss->counted[1] = 0;
	tt_call(dev, "tt_hot0 n=1000 1");
	CHECK_EQ(skel->bss->counted[1], 0, "run while detached");
}

/* --------------------------------------------------------- many programs --- */

static void test_many_programs(void)
{
	static const char *const func = "tt_hot2";
	struct attachment a[TRAMP_MAX_PROGS + 1];
	int fd[TRAMP_MAX_PROGS + 1], i;
	TRAMP_OPTS(tramp_attach_opts, opts);

	if (vmtest_oracle())
		ktap_skip("the kernel takes 38 programs");
	setup();
	for (i = 0; i <= TRAMP_MAX_PROGS; i++) {
		bool is_exit = i % 3 == 2;
		uint64_t cookie = i;

		fd[i] = prog_clone(is_exit ? skel->progs.count_exit : skel->progs.count_entry, func,
				   is_exit ? BPF_TRACE_FEXIT : BPF_TRACE_FENTRY);
		if (i < TRAMP_MAX_PROGS)
			a[i] = attach_func(OURS, fd[i], &cookie);
	}
	CHECK_EQ(tramp_module().links, TRAMP_MAX_PROGS, "links");
	CHECK_EQ(attachment_query(&a[0]).nr_progs, TRAMP_MAX_PROGS, "programs on the function");
	CHECK(!tramp_attach_fd(fd[TRAMP_MAX_PROGS], &opts) && errno == E2BIG, "one too many: %s",
	      strerror(errno));
	CHECK_EQ(tramp_last_error()->reason, TRAMP_REASON_TOO_MANY_PROGS, "%s",
		 tramp_last_error()->message);
	CHECK_EQ(tramp_module().links, TRAMP_MAX_PROGS, "links after the refusal");
	tt_call(dev, "%s n=7 1", func);
	for (i = 0; i < TRAMP_MAX_PROGS; i++)
		CHECK_EQ(skel->bss->counted[i], 7, "program %d", i);

	/* With one gone there is room for another. */
	detach(&a[10]);
	a[10] = attach_func(OURS, fd[TRAMP_MAX_PROGS], &(uint64_t){ 200 });
	tt_call(dev, "%s n=3 1", func);
	for (i = 0; i < TRAMP_MAX_PROGS; i++)
		CHECK_EQ(skel->bss->counted[i], i == 10 ? 7 : 10, "program %d", i);
	CHECK_EQ(skel->bss->counted[200], 3, "the 65th program");
	for (i = 0; i < TRAMP_MAX_PROGS; i++)
		detach(&a[i]);
}

static const struct ktap_test tests[] = {
	{ "syscall_result", test_syscall_result, 60 },
	{ "skips_function", test_skips_function, 60 },
	{ "first_result_counts", test_first_result_counts, 60 },
	{ "order", test_order, 60 },
	{ "detached_is_not_run", test_detached_is_not_run, 120 },
	{ "many_programs", test_many_programs, 120 },
};

KTAP_MAIN(tests)
