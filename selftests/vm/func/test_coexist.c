// SPDX-License-Identifier: GPL-2.0
/*
 * Beside others on the same function: the function tracer, a kernel kprobe, the
 * kernel's own fentry and fexit, each put there before and after ours. Where
 * both cannot be, the one who comes second learns this, and who was first.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>
#include <linux/types.h>
#include "fixture.h"
#include "record.h"
#include "selftests/vm/lib/record.skel.h"

#define FUNC "tt_hot0"
#define TRACING "/sys/kernel/tracing/"
#define CALLS 20

/* Where the programs count: entry and exit, ours and the kernel's. */
enum { OUR_ENTRY, OUR_EXIT, KERNEL_ENTRY, KERNEL_EXIT };

static struct record *skel;
static int dev;

static void setup(void)
{
	dev = fixture_open("needs two different ways to attach");
	skel = FIXTURE_LOAD(record);
}

static int entry_prog(void)
{
	return prog_clone(skel->progs.count_entry, FUNC, BPF_TRACE_FENTRY);
}

static int exit_prog(void)
{
	return prog_clone(skel->progs.count_exit, FUNC, BPF_TRACE_FEXIT);
}

static struct attachment put(enum how how, int prog, uint64_t cookie)
{
	return attach_func(how, prog, &cookie);
}

/* Calls the function and checks how often each program ran; -1: not attached. */
static void expect(const char *when, int our_entry, int our_exit, int kernel_entry,
		   int kernel_exit)
{
	const int expected[] = { our_entry, our_exit, kernel_entry, kernel_exit };
	struct tt_reply r;
	int i;

	memset(skel->bss->counted, 0, sizeof(skel->bss->counted));
	r = tt_call(dev, FUNC " n=%d 41", CALLS);
	CHECK_EQ(r.result, 42, "%s: result", when);
	CHECK_EQ(r.different, 0, "%s: results", when);
	for (i = 0; i < 4; i++)
		CHECK_EQ(skel->bss->counted[i], expected[i] ? CALLS : 0, "%s: %s", when,
			 i == OUR_ENTRY ? "our entry" : i == OUR_EXIT ? "our exit" :
			 i == KERNEL_ENTRY ? "kernel's entry" : "kernel's exit");
}

/* Entry programs beside another direct caller: not on PREEMPT_RT. */
static bool has_ops(void)
{
	return tramp_module().features & TRAMP_FEAT_FTRACE_OPS;
}

static unsigned int mode_of(const struct attachment *a)
{
	return attachment_query(a).mode;
}

/* ------------------------------------------------------- the function tracer --- */

static void function_tracer(bool on)
{
	if (on) {
		REQUIRE(!write_file(TRACING "set_ftrace_filter", FUNC), "set_ftrace_filter");
		REQUIRE(!write_file(TRACING "current_tracer", "function"), "current_tracer");
		REQUIRE(!write_file(TRACING "tracing_on", "1"), "tracing_on");
	} else {
		write_file(TRACING "current_tracer", "nop");
		write_file(TRACING "set_ftrace_filter", "\n");
	}
}

/* Call the function. Return: how often the trace has @line of it then. */
static int traced_as(const char *line)
{
	char *trace, *p;
	int n = 0;

	write_file(TRACING "trace", "\n");
	tt_call(dev, FUNC " n=%d 41", CALLS);
	trace = read_file(TRACING "trace");
	for (p = trace; (p = strstr(p, line)); p++)
		n++;
	free(trace);
	return n;
}

/* The function tracer's. */
static int traced_calls(void)
{
	return traced_as(": " FUNC " <-");
}

/* The function graph tracer's. At a return it names a function in a comment, if at all. */
static int graph_calls(void)
{
	return traced_as("  " FUNC " [trampoline_test](");
}

static void test_function_tracer(void)
{
	struct attachment a, b;

	setup();
	/* The tracer first. */
	function_tracer(true);
	CHECK_EQ(traced_calls(), CALLS, "the tracer alone");
	a = put(OURS, entry_prog(), OUR_ENTRY);
	b = put(OURS, exit_prog(), OUR_EXIT);
	expect("tracer first", 1, 1, 0, 0);
	CHECK_EQ(traced_calls(), CALLS, "tracer first");
	function_tracer(false);
	expect("tracer gone", 1, 1, 0, 0);
	/* The tracer second. */
	function_tracer(true);
	expect("tracer second", 1, 1, 0, 0);
	CHECK_EQ(traced_calls(), CALLS, "tracer second");
	/* Ours come and go under it. */
	detach(&a);
	expect("one gone", 0, 1, 0, 0);
	detach(&b);
	expect("both gone", 0, 0, 0, 0);
	CHECK_EQ(traced_calls(), CALLS, "tracer stays");
	a = put(OURS, exit_prog(), OUR_EXIT);
	expect("attached again", 0, 1, 0, 0);
	detach(&a);
	function_tracer(false);
	expect("nobody", 0, 0, 0, 0);
}

/* The function graph tracer takes over the return address, as our exit image does. */
static void test_graph_tracer(void)
{
	struct attachment a, b;
	int err;

	setup();
	REQUIRE(!write_file(TRACING "set_graph_function", FUNC), "set_graph_function");
	err = write_file(TRACING "current_tracer", "function_graph");
	if (err)
		KERNEL_LACKS("no function_graph tracer: %s", strerror(-err));
	CHECK_EQ(graph_calls(), CALLS, "the graph tracer alone");
	a = put(OURS, entry_prog(), OUR_ENTRY);
	b = put(OURS, exit_prog(), OUR_EXIT);
	expect("graph tracer first", 1, 1, 0, 0);
	CHECK_EQ(graph_calls(), CALLS, "graph tracer first");
	write_file(TRACING "current_tracer", "nop");
	expect("graph tracer gone", 1, 1, 0, 0);
	REQUIRE(!write_file(TRACING "current_tracer", "function_graph"), "function_graph");
	expect("graph tracer second", 1, 1, 0, 0);
	CHECK_EQ(graph_calls(), CALLS, "graph tracer second");
	detach(&a);
	detach(&b);
	expect("ours gone", 0, 0, 0, 0);
	CHECK_EQ(graph_calls(), CALLS, "graph tracer stays");
	write_file(TRACING "current_tracer", "nop");
	write_file(TRACING "set_graph_function", "\n");
}

/* ------------------------------------------------------------------ kprobes --- */

static void kprobes(bool on)
{
	if (on) {
		REQUIRE(!write_file(TRACING "kprobe_events", "p:vmtest_entry " FUNC), "kprobe");
		REQUIRE(!write_file(TRACING "events/kprobes/vmtest_entry/enable", "1"), "enable");
	} else {
		write_file(TRACING "events/kprobes/vmtest_entry/enable", "0");
		write_file(TRACING "kprobe_events", "-:vmtest_entry");
	}
}

/* kprobe_profile: "  name  hits  missed" */
static uint64_t kprobe_hits(void)
{
	char *profile = read_file(TRACING "kprobe_profile");
	uint64_t hits = number_after(profile, "vmtest_entry", 0);

	free(profile);
	return hits;
}

static void test_kprobe(void)
{
	struct attachment a, b;
	uint64_t hits;

	setup();
	kprobes(true);
	expect("kprobe alone", 0, 0, 0, 0);
	CHECK_EQ(kprobe_hits(), CALLS, "kprobe alone");
	a = put(OURS, entry_prog(), OUR_ENTRY);
	b = put(OURS, exit_prog(), OUR_EXIT);
	hits = kprobe_hits();
	expect("kprobe first", 1, 1, 0, 0);
	CHECK_EQ(kprobe_hits() - hits, CALLS, "kprobe first");
	kprobes(false);
	expect("kprobe gone", 1, 1, 0, 0);
	kprobes(true);
	hits = kprobe_hits();
	expect("kprobe second", 1, 1, 0, 0);
	CHECK_EQ(kprobe_hits() - hits, CALLS, "kprobe second");
	detach(&a);
	detach(&b);
	hits = kprobe_hits();
	expect("ours gone", 0, 0, 0, 0);
	CHECK_EQ(kprobe_hits() - hits, CALLS, "ours gone");
	kprobes(false);
}

/* A kretprobe replaces the return address. */
static void test_kretprobe(void)
{
	struct attachment a, b;
	int round;

	setup();
	for (round = 0; round < 2; round++) {
		REQUIRE(!write_file(TRACING "kprobe_events", "r:vmtest_entry " FUNC), "kretprobe");
		if (round == 0)
			REQUIRE(!write_file(TRACING "events/kprobes/vmtest_entry/enable", "1"),
				"enable");
		a = put(OURS, entry_prog(), OUR_ENTRY);
		b = put(OURS, exit_prog(), OUR_EXIT);
		if (round == 1)
			REQUIRE(!write_file(TRACING "events/kprobes/vmtest_entry/enable", "1"),
				"enable");
		expect(round ? "kretprobe second" : "kretprobe first", 1, 1, 0, 0);
		CHECK(kprobe_hits() >= CALLS, "kretprobe hits: %lu", kprobe_hits());
		kprobes(false);
		expect("kretprobe gone", 1, 1, 0, 0);
		detach(&a);
		detach(&b);
	}
}

/* -------------------------------------------- the kernel's own trampoline --- */

static void expect_held(const char *when, int prog, uint32_t flags)
{
	TRAMP_OPTS(tramp_attach_opts, opts, .flags = flags);
	struct tramp_link *link = tramp_attach_fd(prog, &opts);

	if (!CHECK(!link && errno == EBUSY, "%s: %s", when, link ? "attached" : strerror(errno))) {
		tramp_link__destroy(link);
		return;
	}
	CHECK_EQ(tramp_last_error()->reason, TRAMP_REASON_SITE_HELD, "%s: %s", when,
		 tramp_last_error()->message);
	CHECK(strstr(tramp_last_error()->detail, "bpf"), "%s: the holder is not named: '%s'", when,
	      tramp_last_error()->detail);
}

/* The kernel's is there first: our entry goes through ftrace, our exit is refused. */
static void kernel_first(bool kernel_exit)
{
	struct attachment k = kernel_exit ? put(KERNEL, exit_prog(), KERNEL_EXIT) :
					    put(KERNEL, entry_prog(), KERNEL_ENTRY);
	struct attachment a, b;
	int k_entry = !kernel_exit, k_exit = kernel_exit;

	expect("kernel's alone", 0, 0, k_entry, k_exit);
	expect_held("our exit after the kernel's", exit_prog(), 0);
	expect_held("our entry that must be direct", entry_prog(), TRAMP_ATTACH_F_NO_OPS);
	expect("kernel's after refusals", 0, 0, k_entry, k_exit);

	if (!has_ops()) {
		expect_held("our entry after the kernel's", entry_prog(), 0);
		detach(&k);
		a = put(OURS, entry_prog(), OUR_ENTRY);
		expect("kernel's gone", 1, 0, 0, 0);
		detach(&a);
		return;
	}
	a = put(OURS, entry_prog(), OUR_ENTRY);
	CHECK_EQ(mode_of(&a), TRAMP_MODE_FTRACE_OPS, "mode beside the kernel's");
	expect("kernel's first", 1, 0, k_entry, k_exit);
	expect_held("our exit beside both", exit_prog(), 0);
	expect("after a refusal", 1, 0, k_entry, k_exit);
	/* A second entry program of ours in the same mode. */
	b = put(OURS, entry_prog(), OUR_EXIT);
	expect("two of ours", 1, 1, k_entry, k_exit);
	detach(&b);

	/* The kernel's goes first: ours keeps working, and stays as it is. */
	detach(&k);
	expect("kernel's gone", 1, 0, 0, 0);
	b = put(OURS, entry_prog(), OUR_EXIT);
	CHECK_EQ(mode_of(&b), TRAMP_MODE_FTRACE_OPS, "mode beside our own");
	expect("kernel's gone, two of ours", 1, 1, 0, 0);
	detach(&b);
	b = attach_func_try(OURS, exit_prog(), NULL);
	CHECK(b.err == -EBUSY && b.reply.refusal.reason == TRAMP_REASON_SITE_HELD &&
	      strstr(b.reply.refusal.detail, "our own"), "our exit beside our own: %s (%s %s)",
	      strerror(-b.err), tramp_reason_name(b.reply.refusal.reason), b.reply.refusal.detail);
	expect("kernel's gone, after a refusal", 1, 0, 0, 0);
	detach(&a);
	expect("nobody", 0, 0, 0, 0);

	/* Now there is room for an exit program. */
	a = put(OURS, exit_prog(), OUR_EXIT);
	CHECK_EQ(mode_of(&a), TRAMP_MODE_DIRECT, "mode alone");
	expect("our exit alone", 0, 1, 0, 0);
	detach(&a);

	/* And ours goes first. */
	k = kernel_exit ? put(KERNEL, exit_prog(), KERNEL_EXIT) :
	    put(KERNEL, entry_prog(), KERNEL_ENTRY);
	a = put(OURS, entry_prog(), OUR_ENTRY);
	expect("kernel's first, again", 1, 0, k_entry, k_exit);
	detach(&a);
	expect("ours gone", 0, 0, k_entry, k_exit);
	detach(&k);
	expect("nobody", 0, 0, 0, 0);
}

static void test_kernel_fentry_first(void)
{
	setup();
	kernel_first(false);
}

static void test_kernel_fexit_first(void)
{
	setup();
	kernel_first(true);
}

/* Ours is there first: the kernel cannot have the site, and says EBUSY. */
static void ours_first(bool our_exit)
{
	struct attachment a = our_exit ? put(OURS, exit_prog(), OUR_EXIT) :
					 put(OURS, entry_prog(), OUR_ENTRY);
	struct attachment k, k2;

	CHECK_EQ(mode_of(&a), TRAMP_MODE_DIRECT, "mode");
	k = attach_func_try(KERNEL, entry_prog(), &(uint64_t){ KERNEL_ENTRY });
	k2 = attach_func_try(KERNEL, exit_prog(), &(uint64_t){ KERNEL_EXIT });
	CHECK_EQ(k.err, -EBUSY, "the kernel's entry after ours");
	CHECK_EQ(k2.err, -EBUSY, "the kernel's exit after ours");
	expect("ours first", !our_exit, our_exit, !k.err, !k2.err);
	detach(&k);
	detach(&k2);
	expect("after the refusals", !our_exit, our_exit, 0, 0);
	detach(&a);
	expect("nobody", 0, 0, 0, 0);
	/* Nothing of ours is in the kernel's way after. */
	k = put(KERNEL, exit_prog(), KERNEL_EXIT);
	expect("kernel's after ours went", 0, 0, 0, 1);
	detach(&k);
	expect("nobody", 0, 0, 0, 0);
}

static void test_ours_first(void)
{
	setup();
	ours_first(false);
	ours_first(true);
}

/* All of them: tracer, kprobe, the kernel's exit program and our entry program. */
static void test_everybody(void)
{
	struct attachment a, k;
	uint64_t hits;

	setup();
	if (!has_ops())
		ktap_skip("no entry programs beside the kernel's on PREEMPT_RT");
	function_tracer(true);
	kprobes(true);
	k = put(KERNEL, exit_prog(), KERNEL_EXIT);
	a = put(OURS, entry_prog(), OUR_ENTRY);
	hits = kprobe_hits();
	expect("everybody", 1, 0, 0, 1);
	CHECK_EQ(kprobe_hits() - hits, CALLS, "kprobe");
	CHECK_EQ(traced_calls(), CALLS, "tracer");
	kprobes(false);
	detach(&k);
	expect("tracer and ours", 1, 0, 0, 0);
	function_tracer(false);
	expect("ours", 1, 0, 0, 0);
	detach(&a);
	expect("nobody", 0, 0, 0, 0);
}

/* EXPLAIN says beforehand what ATTACH then does. */
static void test_explain_holder(void)
{
	struct tramp_explain ex = { .size = sizeof(ex) };
	struct func_btf f;
	struct attachment k;

	setup();
	f = func_btf(FUNC);
	ex.btf_obj_id = f.obj_id;
	ex.btf_id = f.id;
	REQUIRE(!ioctl(tramp_device(), TRAMP_IOC_EXPLAIN, &ex), "EXPLAIN: %s", strerror(errno));
	CHECK_EQ(ex.can, TRAMP_CAN_FENTRY | TRAMP_CAN_FEXIT, "free");
	CHECK_EQ(ex.mode, TRAMP_MODE_DIRECT, "free");
	CHECK(!ex.holder[0], "free, but held by '%s'", ex.holder);

	k = put(KERNEL, entry_prog(), KERNEL_ENTRY);
	memset(&ex, 0, sizeof(ex));
	ex.size = sizeof(ex);
	ex.btf_obj_id = f.obj_id;
	ex.btf_id = f.id;
	REQUIRE(!ioctl(tramp_device(), TRAMP_IOC_EXPLAIN, &ex), "EXPLAIN: %s", strerror(errno));
	CHECK_EQ(ex.can, has_ops() ? TRAMP_CAN_FENTRY : 0, "held");
	CHECK_EQ(ex.mode, has_ops() ? TRAMP_MODE_FTRACE_OPS : TRAMP_MODE_NONE, "held");
	CHECK_EQ(ex.fexit_reason, TRAMP_REASON_SITE_HELD, "held");
	CHECK(strstr(ex.holder, "bpf"), "held by '%s'", ex.holder);
	detach(&k);
}

/* How often ftrace was switched: both processes have it. */
struct toggles {
	volatile unsigned int off, not_on;
};

static void toggle_ftrace(struct toggles *toggles)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (;;) {
		/* Refused while something is attached. */
		toggles->off += !write_file("/proc/sys/kernel/ftrace_enabled", "0");
		usleep(30000);
		toggles->not_on += !!write_file("/proc/sys/kernel/ftrace_enabled", "1");
		usleep(rand() % 20000);
	}
}

/* Until ftrace has been switched off once more, or ten seconds have passed. */
static void wait_for_off(const struct toggles *toggles)
{
	unsigned int before = toggles->off;
	uint64_t end = now_ns() + 10000000000;

	while (toggles->off == before && now_ns() < end)
		usleep(10000);
}

/*
 * Somebody switches ftrace off and on while programs come and go, each on a function of
 * its own: what one leaves behind, the next shall not tidy up. Attaching may be refused
 * then; but ftrace must be none the worse for it.
 */
static void test_ftrace_toggled(void)
{
	unsigned int attached = 0, refused = 0, nr;
	struct toggles *toggles;
	struct attachment a;
	pid_t toggler;
	int status;

	setup();
	toggles = mmap(NULL, sizeof(*toggles), PROT_READ | PROT_WRITE,
		       MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	REQUIRE(toggles != MAP_FAILED, "mmap: %s", strerror(errno));
	fflush(stdout);
	toggler = fork();
	REQUIRE(toggler >= 0, "fork");
	if (!toggler)
		toggle_ftrace(toggles);
	for (nr = 0; nr < 32; nr++) {
		char func[32];
		int prog;

		snprintf(func, sizeof(func), "tt_many%02u", nr);
		prog = prog_clone(skel->progs.count_entry, func, BPF_TRACE_FENTRY);
		a = attach_func_try(OURS, prog, NULL);
		close(prog);
		if (a.err)
			CHECK_EQ(a.reply.refusal.reason, TRAMP_REASON_FTRACE_DISABLED, "%s",
				 a.reply.refusal.detail);
		refused += !!a.err;
		attached += !a.err;
		detach(&a);
		/* The last of ours holds it for a second more. */
		if (!a.err && attached % 8 == 0)
			wait_for_off(toggles);
	}
	kill(toggler, SIGKILL);
	REQUIRE(waitpid(toggler, &status, 0) == toggler, "waitpid");
	CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL, "status %#x", status);
	ftrace_switch(true);
	ktap_note("%u attached, %u refused, %u times off", attached, refused, toggles->off);
	CHECK(attached, "all were refused");
	CHECK(toggles->off, "ftrace was never off");
	CHECK_EQ(toggles->not_on, 0, "it could not be switched on");

	/* It would come out when the last user of all goes. */
	for (nr = 0; nr < 2; nr++) {
		a = put(OURS, entry_prog(), OUR_ENTRY);
		expect("after all that", 1, 0, 0, 0);
		detach(&a);
		sleep(2);
		CHECK(tramp_settle(), "images stay");
	}
}

static const struct ktap_test tests[] = {
	{ "function_tracer", test_function_tracer, 120 },
	{ "graph_tracer", test_graph_tracer, 480 },
	{ "kprobe", test_kprobe, 120 },
	{ "kretprobe", test_kretprobe, 120 },
	{ "kernel_fentry_first", test_kernel_fentry_first, 120 },
	{ "kernel_fexit_first", test_kernel_fexit_first, 120 },
	{ "ours_first", test_ours_first, 120 },
	{ "everybody", test_everybody, 120 },
	{ "explain_holder", test_explain_holder, 60 },
	{ "ftrace_toggled", test_ftrace_toggled, 120 },
};

KTAP_MAIN(tests)
