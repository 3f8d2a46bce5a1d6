// SPDX-License-Identifier: GPL-2.0
/*
 * ftrace has found something wrong with the kernel's text and shut down: it takes no
 * more calls, and what it has written stays. Here the test module says so to it. There
 * is no way back, so each test needs a machine of its own: selftests/vm/system/alone.
 *
 * Programs that are attached go on; nothing new comes. A program that is detached does not run
 * any more, although the function's call to us stays. The module, which that call leads into,
 * stays too. So it is where ftrace finds that out in the middle of what we ask of it.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>
#include "fixture.h"
#include "ownmod.h"
#include "probe.h"
#include "record.h"
#include "selftests/vm/lib/probe_fentry.skel.h"
#include "selftests/vm/lib/probe_progs.skel.h"
#include "selftests/vm/lib/record.skel.h"

static struct record *skel;
static struct tt_form_info form;	/* and what is probed of it */
static int dev, prog;

static void setup(void)
{
	if (vmtest_oracle())
		ktap_skip("is about our module");
	dev = tt_open();
	skel = FIXTURE_LOAD(record);
	probe_setup();
}

static void shut_down(void)
{
	int err = tt_command(dev, NULL, 0, "ftrace_kill");

	REQUIRE(!err, "ftrace_kill: %s", strerror(-err));
}

/* A program that counts in @skel->bss->counted[@nr]. */
static struct tramp_link *attach(const char *func, uint64_t nr)
{
	TRAMP_OPTS(tramp_attach_opts, opts, .cookie = nr, .flags = TRAMP_ATTACH_F_COOKIE);
	int fd = prog_clone(skel->progs.count_entry, func, BPF_TRACE_FENTRY);
	struct tramp_link *link = tramp_attach_fd(fd, &opts);

	close(fd);
	return link;
}

static void expect_refused(const char *func)
{
	CHECK(!attach(func, 7), "%s can be attached to", func);
	CHECK_EQ(tramp_last_error()->reason, TRAMP_REASON_FTRACE_DISABLED, "%s: %s", func,
		 tramp_last_error()->message);
}

static void expect_counts(uint64_t first, uint64_t second, const char *when)
{
	tt_call(dev, "tt_hot0 n=10 1");
	CHECK_EQ(skel->bss->counted[0], first, "%s", when);
	CHECK_EQ(skel->bss->counted[1], second, "%s", when);
}

static void test_functions(void)
{
	struct tramp_link *link[2];
	int i;

	setup();
	for (i = 0; i < 2; i++) {
		link[i] = attach("tt_hot0", i);
		REQUIRE(link[i], "%s", tramp_last_error()->message);
	}
	expect_counts(10, 10, "before");
	shut_down();
	expect_counts(20, 20, "what is attached goes on");
	expect_refused("tt_hot0");
	expect_refused("tt_hot1");
	expect_counts(30, 30, "after what was refused");
	tramp_link__destroy(link[0]);
	expect_counts(30, 40, "one of them detached");
	tramp_link__destroy(link[1]);
	expect_counts(30, 40, "both detached");
	CHECK_EQ(tramp_module().links, 0, "links");
	ownmod_expect_pinned("the function still calls into the module");
	expect_counts(30, 40, "and does so well");
}

/* Executes the probed instruction ten times. */
static void expect_hits(uint64_t hits, const char *when)
{
	static uint64_t right;
	uint64_t result;

	probe_skel->bss->counted[0] = 0;
	result = form_run(dev, form.index, 10, 3);
	right = right ?: result;
	CHECK_EQ(probe_skel->bss->counted[0], hits, "%s: hits", when);
	CHECK_EQ(result, right, "%s: result", when);
}

static void setup_probes(void)
{
	setup();
	form = form_named(dev, "tt_form_add_reg32_3");
	prog = bpf_program__fd(probe_skel->progs.count);
}

/*
 * The hooks that probes have are given back a second after the last one, which fails. From then on
 * probes are kprobes of the kernel. Each one that is not has the second begin again.
 */
static void wait_given_back(void)
{
	bool failed = false;
	struct attachment p;
	int i;

	for (i = 0; i < 15 && !failed; i++) {
		sleep(2);
		p = attach_insn(OURS, prog, form.probe, 0, 0);
		failed = p.reply.mode == TRAMP_MODE_KPROBE;
		detach(&p);
	}
	CHECK(failed, "it has not been given back in 30 s");
}

/*
 * A probe that was there before ftrace shut down, and what is left when it has gone. Our module is
 * asked to go at once, while the probe is still on its way out.
 * @kernel: a program of the kernel's own that stays until the probe is there
 * @left: that is left
 */
static void outlive(struct attachment *kernel, const char *left)
{
	struct attachment probe = attach_insn(OURS, prog, form.probe, TRAMP_ATTACH_F_NO_JUMP, 0);

	probe_flush();
	if (kernel)
		detach(kernel);
	expect_hits(10, "before");
	shut_down();
	expect_hits(10, "what is attached goes on");
	detach(&probe);
	expect_hits(0, "detached");
	probe = attach_insn(OURS, prog, form.probe, 0, 0);
	probe_flush();
	attachment_expect(&probe, TRAMP_MODE_JUMP, 0, form.name);
	expect_hits(10, "a jump, while what the last one had is not given back");
	detach(&probe);
	ownmod_expect_pinned(left);
	probe_flush();
	expect_hits(0, "detached");
}

/*
 * Probes do without ftrace, but what keeps the kernel's kprobes off them does not; then
 * they are kprobes of the kernel.
 */
static void test_instructions(void)
{
	struct tramp_attach want = { .flags = TRAMP_ATTACH_F_NO_KPROBE };
	struct attachment probe;

	setup_probes();
	outlive(NULL, "the last probe has just gone");
	wait_given_back();
	probe = attach_insn(OURS, prog, form.probe, 0, 0);
	attachment_expect(&probe, TRAMP_MODE_KPROBE, TRAMP_REASON_FTRACE_DISABLED, form.name);
	expect_hits(10, "by a kprobe of the kernel");
	detach(&probe);
	expect_hits(0, "detached");
	want.addr = form.probe;
	probe = attach_want(prog, &want);
	CHECK_EQ(probe.err, -ENODEV, "%s", strerror(-probe.err));
	CHECK_EQ(probe.reply.refusal.reason, TRAMP_REASON_FTRACE_DISABLED, "%s",
		 tramp_reason_name(probe.reply.refusal.reason));
	ownmod_expect_pinned("int3s still come by");
}

/*
 * The kernel's int3 handler was somebody else's when the probe came. All that is left of
 * ours then is the hook in the kernel's optimiser.
 */
static void test_unloading(void)
{
	struct probe_fentry *fentry = probe_fentry__open();
	int32_t err = 0;
	uint64_t hits = 0, addr;
	struct attachment kernel;

	setup_probes();
	REQUIRE(fentry, "probe_fentry.bpf.o: %s", strerror(errno));
	bpf_program__set_autoload(fentry->progs.fentry_ours, false);
	REQUIRE(!bpf_program__set_attach_target(fentry->progs.fentry_kernel, 0,
						"kprobe_int3_handler"), "no BTF");
	REQUIRE(!probe_fentry__load(fentry), "%s", strerror(errno));
	kernel = attach_func(KERNEL, bpf_program__fd(fentry->progs.fentry_kernel), NULL);
	/* Loading has attached something, for which ftrace is held for a second. */
	sleep(2);
	outlive(&kernel, "the hook in the kernel's optimiser has not been given back");
	ownmod_expect_pinned("nothing else is left");

	/* The kernel makes a jump of a kprobe of its own: by way of the hook. */
	addr = form.probe;
	kprobes_on(dev, TT_KPROBE_COUNT, &addr, &err, 1);
	CHECK_EQ(err, 0, "a kprobe of the kernel");
	CHECK(kprobe_becomes_jump(addr, 10000000000) || !kernel_is_debian(),
	      "the kernel's kprobe is no jump");
	expect_hits(0, "with a kprobe of the kernel");
	kprobes_off(dev, &hits, &addr, NULL, 1);
	CHECK_EQ(hits, 10, "of the kernel's kprobe");
}

/* ------------------------------------------------------- kprobes at an entry --- */

/*
 * At a function's entry, for a program that asks for the function: a kprobe of the kernel, which
 * ftrace reaches. The kernel's own kprobe in a form calls the function where others are missed.
 */
#define MISSED 30

static struct attachment attach_entry(void)
{
	struct tramp_attach want = { .symbol = "tt_hot3" };
	struct attachment a = attach_want(bpf_program__fd(probe_skel->progs.ask_func_ip), &want);

	REQUIRE(!a.err, "%s", a.reply.refusal.detail);
	attachment_expect(&a, TRAMP_MODE_KPROBE, TRAMP_REASON_FUNC_IP, "tt_hot3");
	return a;
}

static void miss(void)
{
	uint64_t hits, missed;
	int32_t err;

	kprobes_on(dev, TT_KPROBE_CALL, &(uint64_t){ form.probe }, &err, 1);
	REQUIRE(!err, "a kprobe of the kernel: %s", strerror(err));
	form_run(dev, form.index, MISSED, 1);
	kprobes_off(dev, &hits, &missed, NULL, 1);
	CHECK_EQ(hits, MISSED, "of the kernel's kprobe");
}

/* Detached, but not closed: its counts are final, and nothing runs. */
static void detach_entry(struct attachment *a, uint64_t hits, bool no_memory)
{
	char path[64], *text;

	if (no_memory)
		fault_begin(dev, (struct tt_fault){ .nth = 1, .lasting = 1 });
	CHECK_EQ(bpf_link_detach(a->fd), 0, "detach");
	if (no_memory)
		fault_end(dev, NULL);
	snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", a->fd);
	text = read_file(path);
	CHECK_EQ(number_after(text, "hits:", 0), hits, "hits in %s", text);
	CHECK_EQ(number_after(text, "misses:", 0), MISSED, "misses in %s", text);
	free(text);
	probe_skel->bss->func_ip = 0;
	tt_call(dev, "tt_hot3 n=10 1");
	CHECK_EQ(probe_skel->bss->func_ip, 0, "the program runs");
	detach(a);
}

/*
 * Before 6.12 unregister_kprobe() fails without ftrace, and the kernel keeps the kprobe. Later
 * kernels let it go, but not the ops that kept ftrace on. The module stays for either.
 */
static void test_kprobes(void)
{
	bool runs = kernel_version() < 6012;
	uint64_t hits, misses;
	struct attachment a;

	setup_probes();
	a = attach_entry();
	miss();
	tt_call(dev, "tt_hot3 n=10 1");
	shut_down();
	tt_call(dev, "tt_hot3 n=10 1");
	attachment_counts(&a, &hits, &misses);
	CHECK(hits == 20 || !runs, "%lu hits", hits);
	detach_entry(&a, hits, false);
	CHECK_EQ(tramp_module().probes, 0, "probes");
	ownmod_expect_pinned("ftrace has shut down under a kprobe");
	tt_call(dev, "tt_hot3 n=10 1");
}

/* The same if there is no memory to take it out of ftrace's filter. The next one works again. */
static void test_kprobes_memory(void)
{
	struct attachment a;
	uint64_t ip;
	int i;

	setup_probes();
	fault_needed(dev);
	for (i = 0; i < 2; i++) {
		a = attach_entry();
		miss();
		probe_skel->bss->func_ip = 0;
		tt_call(dev, "tt_hot3 n=10 1");
		ip = probe_skel->bss->func_ip;
		CHECK(ip && ip == ksym_addr("tt_hot3"), "the program saw %#lx", ip);
		detach_entry(&a, 10, !i);
	}
	ownmod_expect_pinned("the kernel has a kprobe of ours");
}

/* ---------------------------------------------------------------- halfway --- */

/*
 * ftrace shuts down when it is about to write what the module has asked for, which keeps it on. The
 * text is written all the same, and nobody takes the call in it back. The attachment that wanted
 * that is refused.
 */
static void test_halfway(void)
{
	uint64_t addr = ksym_addr("arch_ftrace_update_code"), hits = 0, missed, result;
	struct tramp_attach want = { .symbol = "tt_hot3" };
	struct attachment a;
	int32_t err;

	setup_probes();
	REQUIRE(addr, "no arch_ftrace_update_code()");
	result = tt_call(dev, "tt_hot3 n=10 1").result;
	a = attach_want(prog, &want);
	attachment_expect(&a, TRAMP_MODE_DIRECT, 0, "tt_hot3");
	detach(&a);
	/* The module keeps it on for a second more. */
	sleep(3);
	kprobes_on(dev, TT_KPROBE_KILL, &addr, &err, 1);
	REQUIRE(!err, "a kprobe of the kernel: %s", strerror(err));
	a = attach_want(prog, &want);
	kprobes_off(dev, &hits, &missed, NULL, 1);
	CHECK(hits, "ftrace has not been asked");
	CHECK_EQ(a.err, -ENODEV, "%s", strerror(-a.err));
	CHECK_EQ(a.reply.refusal.reason, TRAMP_REASON_FTRACE_DISABLED, "%s",
		 tramp_reason_name(a.reply.refusal.reason));
	CHECK_EQ(tramp_module().links, 0, "links");
	ownmod_expect_pinned("the function calls into the module");
	CHECK_EQ(tt_call(dev, "tt_hot3 n=10 1").result, result, "result");
}

/*
 * The same when one more comes to an ops that is on ftrace's list. ftrace reports no error then.
 * Here the text is not written. (That is how it ends at bytes that are not ftrace's.) Nobody may be
 * told that his program is attached.
 */
static void setup_joining(void)
{
	setup_probes();
	REQUIRE(ksym_addr("arch_ftrace_update_code"), "no arch_ftrace_update_code()");
}

static void kill_on(void)
{
	uint64_t addr = ksym_addr("arch_ftrace_update_code");
	int32_t err;

	/* The module keeps ftrace on for a second after the first, by an update, too. */
	sleep(3);
	kprobes_on(dev, TT_KPROBE_KILL_SKIP, &addr, &err, 1);
	REQUIRE(!err, "a kprobe of the kernel: %s", strerror(err));
}

static void expect_killed(int err, uint32_t reason)
{
	uint64_t hits = 0, missed;

	kprobes_off(dev, &hits, &missed, NULL, 1);
	CHECK(hits, "ftrace has not been asked");
	CHECK_EQ(err, -ENODEV, "%s", strerror(-err));
	CHECK_EQ(reason, TRAMP_REASON_FTRACE_DISABLED, "%s", tramp_reason_name(reason));
}

/* Two functions that share an ops, then two more. */
#define PAIR	2

static int attach_pair(struct tramp_attach_batch *cmd, struct tramp_attach *item, uint64_t from)
{
	static const char *const funcs[] = { "tt_hot0", "tt_hot1", "tt_hot2", "tt_hot3" };
	int i, err;

	for (i = 0; i < PAIR; i++)
		item[i] = (struct tramp_attach){
			.size = sizeof(*item), .flags = TRAMP_ATTACH_F_COOKIE, .cookie = from + i,
			.prog_fd = prog_clone(skel->progs.count_entry, funcs[from + i],
					      BPF_TRACE_FENTRY),
		};
	*cmd = (struct tramp_attach_batch){ .size = sizeof(*cmd), .count = PAIR,
					    .item_size = sizeof(*item),
					    .items = (uintptr_t)item };
	err = ioctl(tramp_device(), TRAMP_IOC_ATTACH_BATCH, cmd) ? -errno : 0;
	for (i = 0; i < PAIR; i++)
		close(item[i].prog_fd);
	return err;
}

static void expect_pairs(uint64_t first, uint64_t second, const char *when)
{
	uint64_t i, want;

	memset(skel->bss->counted, 0, sizeof(skel->bss->counted));
	for (i = 0; i < 2 * PAIR; i++) {
		want = i < PAIR ? first : second;
		tt_call(dev, "tt_hot%lu n=10 1", i);
		CHECK_EQ(skel->bss->counted[i], want, "%s: tt_hot%lu", when, i);
	}
}

static void test_joining(void)
{
	struct tramp_attach item[PAIR], more[PAIR];
	struct tramp_attach_batch cmd;
	int err;

	setup_joining();
	err = attach_pair(&cmd, item, 0);
	REQUIRE(!err, "%s", strerror(-err));
	expect_pairs(10, 0, "two");
	kill_on();
	err = attach_pair(&cmd, more, PAIR);
	expect_killed(err, cmd.refusal.reason);
	CHECK_EQ(tramp_module().links, PAIR, "links");
	expect_pairs(10, 0, "two more were refused");
	close(item[0].link_fd);
	close(item[1].link_fd);
	CHECK_EQ(tramp_module().links, 0, "links");
	expect_pairs(0, 0, "all are closed");
	ownmod_expect_pinned("two functions call into the module");
}

/* Two entries that the kernel's own fentry holds, so that ftrace's callback runs our programs. */
static void test_joining_callback(void)
{
	static const char *const funcs[] = { "tt_hot0", "tt_hot1" };
	struct attachment kernel[2], p[2];
	int i, fd;

	setup_joining();
	for (i = 0; i < 2; i++) {
		fd = prog_clone(skel->progs.count_entry, funcs[i], BPF_TRACE_FENTRY);
		kernel[i] = attach_func(KERNEL, fd, NULL);
		close(fd);
	}
	p[0] = attach_insn(OURS, prog, ksym_addr(funcs[0]), 0, 1);
	attachment_expect(&p[0], TRAMP_MODE_FTRACE_OPS, 0, funcs[0]);
	kill_on();
	p[1] = attach_insn_try(OURS, prog, ksym_addr(funcs[1]), 0, 2);
	expect_killed(p[1].err, p[1].reply.refusal.reason);
	CHECK_EQ(tramp_module().probes, 1, "probes");
	memset(probe_skel->bss->counted, 0, sizeof(probe_skel->bss->counted));
	tt_call(dev, "tt_hot1 n=10 1");
	CHECK_EQ(probe_skel->bss->counted[2], 0, "the one that was refused");
	for (i = 0; i < 2; i++)
		detach(&kernel[i]);
	detach(&p[0]);
	ownmod_expect_pinned("ftrace has a callback of ours");
}

/* Two kprobes of the kernel at entries. */
static void test_kprobes_joining(void)
{
	struct tramp_attach want = { .symbol = "tt_hot1" };
	struct attachment a, second;

	setup_joining();
	a = attach_entry();
	kill_on();
	second = attach_want(bpf_program__fd(probe_skel->progs.ask_func_ip), &want);
	expect_killed(second.err, second.reply.refusal.reason);
	CHECK_EQ(tramp_module().probes, 1, "probes");
	probe_skel->bss->func_ip = 0;
	tt_call(dev, "tt_hot1 n=10 1");
	CHECK_EQ(probe_skel->bss->func_ip, 0, "the one that was refused runs");
	detach(&a);
	ownmod_expect_pinned("ftrace has shut down under a kprobe");
}

static const struct ktap_test tests[] = {
	{ "functions", test_functions, 200 },
	{ "instructions", test_instructions, 200 },
	{ "unloading", test_unloading, 200 },
	{ "kprobes", test_kprobes, 200 },
	{ "kprobes_memory", test_kprobes_memory, 200 },
	{ "halfway", test_halfway, 200 },
	{ "joining", test_joining, 200 },
	{ "joining_callback", test_joining_callback, 200 },
	{ "kprobes_joining", test_kprobes_joining, 200 },
};

KTAP_MAIN(tests)
