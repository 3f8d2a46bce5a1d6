// SPDX-License-Identifier: GPL-2.0
/*
 * Beside others at the same instruction or next to it. There are kprobes of the kernel over,
 * under and inside our region, before and after ours, gone in either order. There are ftrace
 * and fentry programs, ours and the kernel's, on a function with probes, and text that the
 * kernel patches next to probes. Everybody gets every hit, results are right, and the bytes are
 * as before in the end.
 */
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "fixture.h"
#include "probe.h"
#include "selftests/vm/lib/probe_fentry.skel.h"
#include "selftests/vm/lib/probe_progs.skel.h"

#define TIMES	10

static int dev, kernel_dev, prog;
static struct tt_form_info form;
static uint64_t result;
static bool at_entry;	/* somebody is, or has been */
static uint8_t before[128];
static uint64_t func_len;
static struct probe_fentry *fentry_skel;

static void setup(void)
{
	dev = fixture_open("needs two different ways to attach");
	/* Kprobes of the kernel belong to a file. */
	kernel_dev = tt_open();
	probe_setup();
	prog = bpf_program__fd(probe_skel->progs.count);
	/*
	 * Two bytes that every kernel's optimiser copies (that of 6.1 leaves an inc alone) and that
	 * set all flags, as images at an entry may.
	 */
	form = form_named(dev, "tt_form_add_reg32_3");
	func_len = form.taken + 4 - form.func;
	REQUIRE(func_len <= sizeof(before), "long form");
	probe_flush();
	text_read(dev, form.func, before, func_len);
	result = form_run(dev, form.index, 1, 3);
}

static void expect_text(const char *when)
{
	uint8_t now[sizeof(before)];
	uint64_t i;

	probe_flush();
	/* The kernel's own optimiser is at work later, too. */
	for (i = 0; i < 300; i++) {
		text_read(dev, form.func, now, func_len);
		if (!memcmp(now, before, func_len))
			return;
		usleep(100000);
	}
	for (i = 0; i < func_len; i++)
		CHECK(now[i] == before[i], "%s: byte at %s+%#lx is %#x, was %#x", when, form.name, i,
		      now[i], before[i]);
}

/* Run the form; whether ours (-1: not looked at) was hit each time. */
static void expect(const char *when, int ours)
{
	probe_skel->bss->counted[0] = 0;
	if (at_entry)
		CHECK_EQ(form_run_entry(dev, form.index, TIMES, 3), result, "%s: result", when);
	else
		CHECK_EQ(form_run(dev, form.index, TIMES, 3), result, "%s: result", when);
	if (ours >= 0)
		CHECK_EQ(probe_skel->bss->counted[0], ours ? TIMES : 0, "%s: hits of ours", when);
}

/* ------------------------------------------------------- the kernel's kprobe -- */

static bool kernel_on(uint64_t addr, uint32_t what)
{
	int32_t err;

	kprobes_on(kernel_dev, what, &addr, &err, 1);
	if (err) {
		uint64_t hits, missed;

		kprobes_off(kernel_dev, &hits, &missed, NULL, 1);
	}
	return !err;
}

/* Its hits so far. */
static uint64_t kernel_off(void)
{
	uint64_t hits, missed;

	kprobes_off(kernel_dev, &hits, &missed, NULL, 1);
	CHECK_EQ(missed, 0, "missed by the kernel's kprobe");
	return hits;
}

/* How often its optimiser had time for one, and for how many of them it made use of that. */
static unsigned int waits, jumps;

/*
 * Wait until it is a jump. Some never become one: it may not be there beside ours, or at what
 * the optimiser does not copy. So a second has to do. The first jump may take longer, on a busy
 * host.
 */
static void kernel_settle(uint64_t addr, uint32_t what)
{
	if (what == TT_KPROBE_NO_JUMP)
		return;
	waits++;
	jumps += kprobe_becomes_jump(addr, jumps ? 1000000000 : 5000000000);
}

/*
 * Ours at @our, the kernel's at @theirs, who comes first and who goes first. The kernel does
 * not see an instruction at what we hold, so it may refuse a kprobe that comes second; it
 * must not do harm then.
 */
static void pair(const char *what, uint64_t our, uint64_t theirs, bool ours_first, bool ours_goes,
		 bool settle, uint32_t flags, uint32_t kernel_kind)
{
	bool there = true;
	struct attachment p;
	char when[160];
	uint64_t hits = 0;
	int i;

	snprintf(when, sizeof(when), "%s, %s first, %s goes first%s%s%s", what,
		 ours_first ? "ours" : "theirs", ours_goes ? "ours" : "theirs",
		 settle ? ", settled" : "", flags ? ", int3" : "",
		 kernel_kind == TT_KPROBE_NO_JUMP ? ", theirs an int3" : "");
	probe_flush();
	if (!ours_first) {
		there = kernel_on(theirs, kernel_kind);
		CHECK(there, "%s: the kernel's kprobe alone", when);
		if (settle)
			kernel_settle(theirs, kernel_kind);
	}
	p = attach_insn(OURS, prog, our, flags, 0);
	if (settle)
		probe_flush();
	if (ours_first) {
		there = kernel_on(theirs, kernel_kind);
		if (!there)
			CHECK(theirs >= our && theirs < our + 5,
			      "%s: the kernel's kprobe is refused (ours is %s)", when,
			      tramp_mode_name(attachment_query(&p).mode));
	}
	/* Ours may be waiting to become a jump, past theirs: the optimiser looks at once. */
	for (i = 0; ours_first && there && theirs > our && theirs < our + 5 && i < 1000 &&
		    attachment_query(&p).mode_reason == TRAMP_REASON_OPT_PENDING;
	     i++)
		usleep(10000);
	expect(when, 1);
	hits += there ? TIMES : 0;
	if (settle) {
		probe_flush();
		if (there)
			kernel_settle(theirs, kernel_kind);
		expect(when, 1);
		hits += there ? TIMES : 0;
	}
	if (ours_goes) {
		detach(&p);
		expect(when, 0);
		hits += there ? TIMES : 0;
		probe_flush();
		expect(when, 0);
		hits += there ? TIMES : 0;
		if (there)
			CHECK_EQ(kernel_off(), hits, "%s: hits of theirs", when);
		expect(when, 0);
	} else {
		if (there)
			CHECK_EQ(kernel_off(), hits, "%s: hits of theirs", when);
		expect(when, 1);
		probe_flush();
		expect(when, 1);
		detach(&p);
		expect(when, 0);
	}
	expect_text(when);
}

static void test_kprobes(void)
{
	/* add_reg32_3: mov (2 bytes), cltd (1), add (2); then lea (4), jmp. */
	struct {
		const char *what;
		uint64_t our, theirs;
	} pairs[] = {
		{ "at the same address", 0, 0 },
		{ "theirs inside ours", 0, 2 },
		{ "theirs at the end of ours", 0, 3 },
		{ "theirs just behind ours", 0, 5 },
		{ "ours inside theirs", 3, 0 },
		{ "ours just behind theirs", 5, 0 },
	};
	int i, k;

	setup();
	REQUIRE(form.form == form.probe + 3 && form.end == form.probe + 5, "another layout");
	for (i = 0; i < (int)(sizeof(pairs) / sizeof(pairs[0])); i++)
		for (k = 0; k < 16; k++)
			pair(pairs[i].what, form.probe + pairs[i].our, form.probe + pairs[i].theirs,
			     k & 1, k & 2, k & 4, k & 8 ? TRAMP_ATTACH_F_NO_JUMP : 0,
			     k & 8 ? TT_KPROBE_NO_JUMP : TT_KPROBE_COUNT);
	ktap_note("the kernel's was a jump %u of %u times", jumps, waits);
	CHECK(jumps || !kernel_is_debian(), "the kernel's was never a jump");
}

/* A kretprobe-like neighbour: a kprobe at the entry, which is ftrace's. */
static void test_kprobe_entry(void)
{
	struct attachment p, e;
	uint64_t site;
	uint32_t word;

	setup();
	at_entry = true;
	result = form_run_entry(dev, form.index, 1, 3);
	text_read(dev, form.func, &word, sizeof(word));
	site = form.func + (word == 0xfa1e0ff3 ? 4 : 0);
	p = attach_insn(OURS, prog, form.probe, 0, 0);
	probe_flush();
	CHECK(kernel_on(site, TT_KPROBE_COUNT), "a kprobe at the entry");
	expect("theirs at the entry", 1);
	e = attach_insn(OURS, prog, site, 0, 1);
	probe_skel->bss->counted[1] = 0;
	expect("both at the entry", 1);
	CHECK_EQ(probe_skel->bss->counted[1], TIMES, "ours at the entry");
	CHECK_EQ(kernel_off(), 2 * TIMES, "theirs at the entry");
	expect("ours at the entry", 1);
	CHECK_EQ(probe_skel->bss->counted[1], 2 * TIMES, "ours at the entry");
	detach(&e);
	detach(&p);
	expect("nobody", 0);
	expect_text("nobody");
}

/* ------------------------------------------------------ ftrace and fentry -- */

static int traced(void)
{
	char *trace = read_file(TRACING "trace"), *at;
	int n = 0;

	for (at = trace; (at = strstr(at, ": tt_steps <-")); at++)
		n++;
	free(trace);
	write_file(TRACING "trace", "\n");
	return n;
}

enum { ENTRY, MIDDLE, FENTRY, KERNEL_FENTRY };

/* Calls it; who is there is a bit each. */
static void expect_steps(const char *when, unsigned int who)
{
	static const char *const name[] = { "entry probe", "middle probe", "our fentry",
					    "the kernel's fentry" };
	static uint64_t right;
	struct tt_reply r;
	int i;

	memset(probe_skel->bss->counted, 0, sizeof(probe_skel->bss->counted));
	fentry_skel->bss->ours = fentry_skel->bss->kernels = 0;
	r = tt_call(dev, "tt_steps n=%d 5 20", TIMES);
	probe_skel->bss->counted[FENTRY] = fentry_skel->bss->ours;
	probe_skel->bss->counted[KERNEL_FENTRY] = fentry_skel->bss->kernels;
	right = right ? right : r.result;
	CHECK(r.result == right && !r.different, "%s: result", when);
	for (i = 0; i < 4; i++)
		CHECK_EQ(probe_skel->bss->counted[i], who & 1U << i ? TIMES : 0, "%s: %s", when,
			 name[i]);
}

/* An instruction of tt_steps that is executed once a call. */
static uint64_t once_a_call(void)
{
	struct probe_func f;
	uint64_t addr = 0;
	uint32_t i;

	REQUIRE(!probe_explain(&f, 0, "tt_steps", false), "tt_steps");
	for (i = 2; i < f.nr && !addr; i++) {
		struct attachment p;

		if (f.insns[i].mode != TRAMP_MODE_JUMP)
			continue;
		p = attach_insn(OURS, prog, f.addr + f.insns[i].offset, 0, 0);
		probe_skel->bss->counted[0] = 0;
		tt_call(dev, "tt_steps n=10 5 20");
		if (probe_skel->bss->counted[0] == 10)
			addr = f.addr + f.insns[i].offset;
		detach(&p);
	}
	probe_func_free(&f);
	REQUIRE(addr, "nothing is executed once a call");
	return addr;
}

static void test_ftrace(void)
{
	struct attachment entry, mid;
	uint64_t middle, addr;
	struct attachment ours, kernel;
	uint8_t text[2][16];
	int fentry, rounds;

	setup();
	addr = ksym_addr("tt_steps");
	middle = once_a_call();
	probe_flush();
	text_read(dev, addr, text[0], sizeof(text[0]));
	fentry_skel = FIXTURE_LOAD(probe_fentry);
	fentry = bpf_program__fd(fentry_skel->progs.fentry_ours);
	expect_steps("nobody", 0);
	for (rounds = 0; rounds < 2; rounds++) {
		/* The tracer first, then last. */
		if (!rounds)
			function_tracer("tt_steps");
		/* Ours would keep it out: test_probe_entry. */
		kernel = attach_func(KERNEL, bpf_program__fd(fentry_skel->progs.fentry_kernel),
				     NULL);
		entry = attach_insn(OURS, prog, addr, 0, ENTRY);
		attachment_expect(&entry, TRAMP_MODE_FTRACE_OPS, 0, "beside the kernel's fentry");
		mid = attach_insn(OURS, prog, middle, 0, MIDDLE);
		probe_flush();
		attachment_expect(&mid, TRAMP_MODE_JUMP, 0, "middle");
		if (rounds)
			function_tracer("tt_steps");
		traced();
		expect_steps("the kernel's fentry too", 1 << ENTRY | 1 << MIDDLE |
			     1 << KERNEL_FENTRY);
		CHECK_EQ(traced(), TIMES, "the tracer");
		detach(&kernel);
		expect_steps("tracer and probes", 1 << ENTRY | 1 << MIDDLE);
		ours = attach_func(OURS, fentry, NULL);
		expect_steps("our fentry too", 1 << ENTRY | 1 << MIDDLE | 1 << FENTRY);
		detach(&entry);
		expect_steps("without the entry probe", 1 << MIDDLE | 1 << FENTRY);
		function_tracer(NULL);
		expect_steps("without the tracer", 1 << MIDDLE | 1 << FENTRY);
		entry = attach_insn(OURS, prog, addr, 0, ENTRY);
		attachment_expect(&entry, TRAMP_MODE_DIRECT, 0, "in the image of our fentry");
		expect_steps("the entry probe again", 1 << ENTRY | 1 << MIDDLE | 1 << FENTRY);
		detach(&ours);
		expect_steps("without our fentry", 1 << ENTRY | 1 << MIDDLE);
		detach(&mid);
		detach(&entry);
		expect_steps("nobody", 0);
		probe_flush();
		text_read(dev, addr, text[1], sizeof(text[1]));
		CHECK(!memcmp(text[0], text[1], sizeof(text[0])), "the entry's bytes");
	}
}

/* The kernel's kprobe events through perf and ftrace, started and stopped around ours. */
static void test_events(void)
{
	struct attachment ours, perf;
	char *profile;
	int i;

	setup();
	for (i = 0; i < 4; i++) {
		if (i & 1)
			ours = attach_insn(OURS, prog, form.probe, 0, 0);
		if (i & 1)
			probe_flush();
		perf = attach_insn(KERNEL, bpf_program__fd(probe_skel->progs.count_too), form.probe,
				   0, 100);
		REQUIRE(!write_file(TRACING "kprobe_events", "p:vmtest_probe %s+%lu", form.name,
				    (unsigned long)(form.probe - form.func)), "kprobe_events");
		REQUIRE(!write_file(TRACING "events/kprobes/vmtest_probe/enable", "1"), "enable");
		if (!(i & 1)) {
			ours = attach_insn(OURS, prog, form.probe, 0, 0);
			attachment_expect(&ours, TRAMP_MODE_KPROBE, TRAMP_REASON_KPROBE_THERE,
					  "second");
		}
		probe_skel->bss->counted[100 + PROBE_COUNTERS / 2] = 0;
		expect("all", 1);
		CHECK_EQ(probe_skel->bss->counted[100 + PROBE_COUNTERS / 2], TIMES, "perf's");
		profile = read_file(TRACING "kprobe_profile");
		CHECK_EQ(number_after(profile, "vmtest_probe", 0), TIMES, "ftrace's");
		free(profile);
		if (i & 2)
			detach(&ours);
		write_file(TRACING "events/kprobes/vmtest_probe/enable", "0");
		/* Opening it for writing anew removes them all. */
		write_file(TRACING "kprobe_events", "\n");
		detach(&perf);
		expect("theirs gone", !(i & 2));
		probe_flush();
		expect("theirs gone, settled", !(i & 2));
		detach(&ours);
		expect_text("nobody");
	}
}

/* ------------------------------------------------- text that others patch -- */

static volatile bool stop_calling;

static void *caller(void *arg)
{
	int own = tt_open();
	uint64_t a = 1;

	(void)arg;
	pin_to_cpu(nr_cpus() - 1);
	while (!stop_calling) {
		/* The difference to what it should be. */
		struct tt_reply r = tt_call(own, "tt_patched n=50 %lu", a++);

		CHECK(!r.result && !r.different, "tt_patched(%lu)", a - 1);
	}
	close(own);
	return NULL;
}

/* Probes on every instruction there may be one on, one in each run, while it is patched. */
static void test_patched(void)
{
	static uint8_t text[2][4096];
	struct probe_func f;
	struct attachment p[256];
	uint32_t i, k, nr, jumps;
	pthread_t thread;
	struct tt_reply r;

	setup();
	REQUIRE(!probe_explain(&f, 0, "tt_patched", false), "tt_patched");
	REQUIRE(f.size <= sizeof(text[0]) && f.nr < 256, "tt_patched is long");
	text_read(dev, f.addr, text[0], f.size);
	REQUIRE(!pthread_create(&thread, NULL, caller, NULL), "thread");
	/* Every third at a time, so that there are jumps, right up to what is patched. */
	for (k = 0; k < 3; k++) {
		for (nr = 0, i = k; i < f.nr; i += 3) {
			if (f.insns[i].mode == TRAMP_MODE_NONE ||
			    f.insns[i].mode == TRAMP_MODE_KPROBE)
				continue;
			p[nr++] = attach_insn(OURS, prog, f.addr + f.insns[i].offset, 0, 0);
		}
		toggle(dev, 20);
		probe_flush();
		for (i = 0, jumps = 0; i < nr; i++)
			jumps += attachment_query(&p[i]).mode == TRAMP_MODE_JUMP;
		ktap_note("%u of %u probes are jumps", jumps, nr);
		CHECK(jumps, "no jumps at all");
		toggle(dev, 41);
		for (i = 0; i < 5; i++) {
			r = tt_call(dev, "tt_patched n=20 %u", i * 7919);
			CHECK(!r.result && !r.different, "result with the key on");
		}
		toggle(dev, 41);
		for (i = 0; i < nr; i += 2)
			detach(&p[i]);
		toggle(dev, 10);
		for (i = 1; i < nr; i += 2)
			detach(&p[i]);
		toggle(dev, 10);
		probe_flush();
	}
	stop_calling = true;
	pthread_join(thread, NULL);
	check_nothing_left();
	text_read(dev, f.addr, text[1], f.size);
	CHECK(!memcmp(text[0], text[1], f.size), "bytes of tt_patched");
	probe_func_free(&f);
}

/* --------------------------------------------------- ours, in mode kprobe, in front -- */

/*
 * An instruction for which only a kernel kprobe is left, of 4 bytes or less, and behind it one
 * of which EXPLAIN_CODE says that it can be a jump. It becomes one, whichever comes first.
 */
static bool find_neighbours(struct text_sym *sym, uint64_t *first, uint64_t *second)
{
	struct probe_func f;
	bool found = false;
	uint32_t i;

	if (probe_explain(&f, sym->addr, NULL, false))
		return false;
	for (i = 0; i + 1 < f.nr && !found; i++) {
		if (f.insns[i].mode != TRAMP_MODE_KPROBE || f.insns[i].len > 4 ||
		    f.insns[i].reason != TRAMP_REASON_INSN_FIXUP ||
		    f.insns[i + 1].mode != TRAMP_MODE_JUMP)
			continue;
		*first = f.addr + f.insns[i].offset;
		*second = f.addr + f.insns[i + 1].offset;
		found = true;
	}
	probe_func_free(&f);
	return found;
}

static void test_behind_kprobe_mode(void)
{
	uint64_t addr[2];
	struct text_sym *syms;
	struct attachment p[2];
	int done = 0, order;
	size_t nr, i;

	setup();
	syms = text_symbols(&nr);
	for (i = 0; i < nr && done < 3; i++) {
		if (*syms[i].module || !find_neighbours(&syms[i], &addr[0], &addr[1]))
			continue;
		done++;
		for (order = 0; order < 2; order++) {
			p[order] = attach_insn(OURS, prog, addr[order], 0, 0);
			p[!order] = attach_insn(OURS, probe_clone(probe_skel->progs.count),
						addr[!order], 0, 0);
			probe_flush();
			attachment_expect(&p[0], TRAMP_MODE_KPROBE, TRAMP_REASON_INSN_FIXUP,
					  syms[i].name);
			attachment_expect(&p[1], TRAMP_MODE_JUMP, 0, syms[i].name);
			detach(&p[0]);
			detach(&p[1]);
			probe_flush();
		}
	}
	CHECK(done, "no such neighbours in the kernel");
	free(syms);
}

static const struct ktap_test tests[] = {
	{ "kprobes", test_kprobes, 280 },
	{ "kprobe_entry", test_kprobe_entry, 60 },
	{ "ftrace", test_ftrace, 120 },
	{ "events", test_events, 120 },
	{ "patched", test_patched, 120 },
	{ "behind_kprobe_mode", test_behind_kprobe_mode, 120 },
};

KTAP_MAIN(tests)
