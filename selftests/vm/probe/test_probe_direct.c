// SPDX-License-Identifier: GPL-2.0
/*
 * The short way from an int3 to a probe (kernel/probe/trap.c). It is taken when there is a
 * probe, and given back when there is none. Nobody misses it when somebody else is at the
 * kernel's int3 handler.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include "fixture.h"
#include "ownmod.h"
#include "probe.h"
#include "selftests/vm/lib/probe_fentry.skel.h"
#include "selftests/vm/lib/probe_progs.skel.h"

#define HANDLER	"kprobe_int3_handler"
#define TIMES	25

static int dev, prog;
static struct tt_form_info form;

static void setup(void)
{
	dev = fixture_open("is about our own way in");
	probe_setup();
	prog = bpf_program__fd(probe_skel->progs.count);
	form = form_named(dev, "tt_form_inc_3");
	probe_flush();
}

/* Whether the handler calls us, as ftrace says. */
static bool calls_us(void)
{
	char *list = read_file(TRACING "enabled_functions");
	char *at = strstr(list, HANDLER " "), *end;
	bool us = false;

	if (at) {
		end = strchr(at, '\n');
		if (end)
			*end = 0;
		us = strstr(at, "direct") || strstr(at, " D ");
	}
	free(list);
	return us;
}

/* It is given back about a second after the last probe. */
static void expect_given_back(void)
{
	int i;

	probe_flush();
	for (i = 0; i < 100 && calls_us(); i++)
		usleep(100000);
	CHECK(!calls_us(), "the handler still calls us without a probe");
}

/* When our module has looked whether to give it back. */
#define LOOKS	100

static struct attachment watch_looks(void)
{
	probe_skel->bss->counted[LOOKS] = 0;
	return attach_return(KERNEL, prog, "idle_work", 0, LOOKS);
}

static void wait_for_look(struct attachment *watch)
{
	volatile __u64 *looks = &probe_skel->bss->counted[LOOKS];
	int i;

	for (i = 0; i < 300 * time_scale() && !*looks; i++)
		usleep(100000);
	CHECK(*looks, "nobody looks whether there is a probe");
	detach(watch);
}

static struct attachment int3_probe(void)
{
	struct attachment p = attach_insn(OURS, prog, form.probe, TRAMP_ATTACH_F_NO_JUMP, 0);

	probe_flush();
	attachment_expect(&p, TRAMP_MODE_INT3, TRAMP_REASON_OPT_OFF, form.name);
	return p;
}

static void expect_hits_of(uint64_t hits, const char *when)
{
	static uint64_t right;
	uint64_t result;

	probe_skel->bss->counted[0] = 0;
	result = form_run(dev, form.index, TIMES, 3);
	right = right ?: result;
	CHECK_EQ(probe_skel->bss->counted[0], hits, "%s: hits", when);
	CHECK_EQ(result, right, "%s: result", when);
}

static void expect_hits(const char *when)
{
	expect_hits_of(TIMES, when);
}

static volatile sig_atomic_t trapped;

static void on_trap(int sig)
{
	(void)sig;
	trapped++;
}

static void test_taken_and_given_back(void)
{
	struct tt_form_info other;
	struct attachment p, q, watch;

	setup();
	expect_given_back();
	p = int3_probe();
	CHECK(calls_us(), "the handler does not call us");
	expect_hits("by the short way");
	/* An int3 that is not ours goes where it always went. */
	signal(SIGTRAP, on_trap);
	asm volatile("int3");
	CHECK_EQ(trapped, 1, "a SIGTRAP of our own");
	other = form_named(dev, "tt_form_inc_2");
	q = attach_insn(KERNEL, prog, other.probe, 0, 1);
	probe_skel->bss->counted[1] = 0;
	form_run(dev, other.index, TIMES, 3);
	CHECK_EQ(probe_skel->bss->counted[1], TIMES, "a kprobe of the kernel's");
	detach(&q);
	detach(&p);
	expect_given_back();
	/* Again, before it has been given back. */
	watch = watch_looks();
	p = int3_probe();
	detach(&p);
	probe_flush();
	p = int3_probe();
	wait_for_look(&watch);
	CHECK(calls_us(), "given back while there is a probe");
	expect_hits("the second time");
	detach(&p);
	expect_given_back();
}

static void test_traced(void)
{
	struct attachment p;
	char *trace;
	int round;

	setup();
	for (round = 0; round < 2; round++) {
		/* The tracer first, then last. */
		if (!round)
			function_tracer(HANDLER);
		p = int3_probe();
		if (round)
			function_tracer(HANDLER);
		expect_hits("with the tracer");
		trace = read_file(TRACING "trace");
		/* 6.1 puts our call before the tracer's, which then sees no hit of ours. */
		ktap_note("the tracer has seen the handler: %d",
			  !!strstr(trace, ": " HANDLER " <-"));
		free(trace);
		function_tracer(NULL);
		expect_hits("without the tracer");
		detach(&p);
		expect_given_back();
	}
}

/* Somebody who is at the handler first: the kernel's own fentry. */
static struct probe_fentry *held;

static struct attachment hold_handler(void)
{
	held = probe_fentry__open();
	REQUIRE(held, "probe_fentry.bpf.o: %s", strerror(errno));
	bpf_program__set_autoload(held->progs.fentry_ours, false);
	REQUIRE(!bpf_program__set_attach_target(held->progs.fentry_kernel, 0, HANDLER),
		"no BTF for " HANDLER);
	REQUIRE(!probe_fentry__load(held), "fentry on " HANDLER ": %s", strerror(errno));
	expect_given_back();
	return attach_func(KERNEL, bpf_program__fd(held->progs.fentry_kernel), NULL);
}

/* The one who was there first keeps the handler; hits come by the notifiers. */
static void test_held(void)
{
	struct attachment kernel;
	struct attachment p;

	setup();
	kernel = hold_handler();
	p = int3_probe();
	expect_hits("by the notifiers");
	CHECK(held->bss->kernels >= TIMES, "the kernel's fentry saw %llu of %d",
	      (unsigned long long)held->bss->kernels, TIMES);
	detach(&kernel);
	expect_hits("still by the notifiers");
	detach(&p);
	probe_flush();
	p = int3_probe();
	CHECK(calls_us(), "free again, and not taken");
	expect_hits("by the short way");
	detach(&p);
	expect_given_back();
	probe_fentry__destroy(held);
}

/*
 * The instruction of a kernel kprobe faults on this CPU. From then on the kernel takes any other
 * int3 here for a part of that kprobe, and looks for it at NULL: see kernel/probe/guard.c.
 */
static void fault_in_kprobe(void)
{
	long size = sysconf(_SC_PAGESIZE);
	void *none = mmap(NULL, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	REQUIRE(none != MAP_FAILED, "mmap: %s", strerror(errno));
	CHECK_EQ(tt_call(dev, "tt_user %p", none).result, -EFAULT, "no page is there");
	munmap(none, size);
}

/* Whichever way an int3 comes, ours or somebody's, and with a tracer at the handler, too. */
static void test_after_fault(void)
{
	static const char *const ways[] = { "by the short way", "by the notifiers",
					    "by the short way, traced", "by the notifiers, traced" };
	struct attachment kernel = { .fd = -1 }, stepped, p;
	int way, traced;

	setup();
	pin_to_cpu(0);
	stepped = attach_insn(KERNEL, prog, probe_fixup_in("tt_user"), 0, 1);
	for (way = 0; way < 2; way++) {
		if (way)
			kernel = hold_handler();
		p = int3_probe();
		CHECK(way || calls_us(), "the handler does not call us");
		for (traced = 0; traced < 4; traced += 2) {
			if (traced)
				function_tracer(HANDLER);
			fault_in_kprobe();
			expect_hits(ways[way + traced]);
			fault_in_kprobe();
			CHECK_EQ(tt_command(dev, NULL, 0, "trap"), 0, "%s: somebody's int3",
				 ways[way + traced]);
		}
		function_tracer(NULL);
		detach(&p);
		probe_flush();
	}
	detach(&kernel);
	detach(&stepped);
	expect_given_back();
	probe_fentry__destroy(held);
}

/* Our module has an int3 when it is loaded: its self-test. */
static void test_load_after_fault(void)
{
	struct attachment stepped;

	setup();
	pin_to_cpu(0);
	stepped = attach_insn(KERNEL, prog, probe_fixup_in("tt_user"), 0, 1);
	tramp_device_close();
	REQUIRE(!ownmod_unload("trampoline", 300), "unloading");
	fault_in_kprobe();
	ownmod_reload();
	detach(&stepped);
}

/* For a machine of its own (selftests/vm/system/lacking): nobody can be at the handler. */
static void test_no_handler(void)
{
	struct tramp_info info = ownmod_info();
	char missing[4096] = "";
	struct attachment p;

	setup();
	REQUIRE(info.missing_len < sizeof(missing), "%u bytes", info.missing_len);
	info.missing = (uintptr_t)missing;
	REQUIRE(!ownmod_ioctl(TRAMP_IOC_INFO, &info), "INFO");
	if (!strstr(missing, HANDLER "\n"))
		ktap_skip("the module has found " HANDLER "()");
	p = attach_insn(OURS, prog, form.probe, 0, 0);
	attachment_expect(&p, TRAMP_MODE_KPROBE, TRAMP_REASON_NOT_TRACEABLE, form.name);
	expect_hits("by a kprobe of the kernel");
	detach(&p);
	expect_hits_of(0, "detached");
	p = attach_insn_try(OURS, prog, form.probe, TRAMP_ATTACH_F_NO_KPROBE, 0);
	CHECK_EQ(p.err, -EOPNOTSUPP, "%s", strerror(-p.err));
	CHECK_EQ(p.reply.refusal.reason, TRAMP_REASON_NOT_TRACEABLE, "%s",
		 tramp_reason_name(p.reply.refusal.reason));
	/* Nothing of ours keeps it on. */
	ftrace_switch(false);
	ftrace_switch(true);
}

#define FTRACE_ENABLED	"/proc/sys/kernel/ftrace_enabled"

/*
 * Taking an ops from ftrace while that is switched off leaves a mark that it stumbles
 * over later, and shuts down for good. So it cannot be, as long as we have one there.
 */
static void test_ftrace_off(void)
{
	struct attachment p;
	int round;

	setup();
	for (round = 0; round < 3; round++) {
		p = int3_probe();
		CHECK_EQ(write_file(FTRACE_ENABLED, "0"), -EBUSY, "with a probe");
		expect_hits("all the same");
		detach(&p);
		probe_flush();
		CHECK_EQ(write_file(FTRACE_ENABLED, "0"), -EBUSY, "right behind a probe");
		ftrace_switch(false);
		usleep(1500000);
		ftrace_switch(true);
		/* The last user to go has ftrace look at all its records. */
		function_tracer(HANDLER);
		function_tracer(NULL);
	}
}

static const struct ktap_test tests[] = {
	{ "taken_and_given_back", test_taken_and_given_back, 60 },
	{ "traced", test_traced, 60 },
	{ "held", test_held, 60 },
	{ "after_fault", test_after_fault, 60 },
	{ "load_after_fault", test_load_after_fault, 60 },
	{ "no_handler", test_no_handler, 60 },
	{ "ftrace_off", test_ftrace_off, 60 },
};

KTAP_MAIN(tests)
