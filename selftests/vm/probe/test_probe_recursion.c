// SPDX-License-Identifier: GPL-2.0
/*
 * Hits in the wrong moment: in a program of ours, in the handler of a kernel kprobe, in
 * interrupts of all sorts. Nothing hangs, nothing is run twice over itself, and what is
 * not run is counted as missed.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "fixture.h"
#include "probe.h"
#include "selftests/vm/lib/probe_progs.skel.h"

static int dev, count;

static void setup(void)
{
	dev = fixture_open("about our own counts");
	probe_setup();
	count = bpf_program__fd(probe_skel->progs.count);
}

/*
 * The first place behind the entry of @func that can have a jump, and so also an int3. Every call
 * executes it: the functions here do not branch in front of it.
 */
static uint64_t inner(const char *func)
{
	struct probe_func f;
	uint64_t addr = 0;
	uint32_t i;
	int err = probe_explain(&f, 0, func, false);

	REQUIRE(!err, "%s: %s", func, strerror(-err));
	for (i = 1; i < f.nr && !addr; i++)
		if (f.insns[i].mode == TRAMP_MODE_JUMP)
			addr = f.addr + f.insns[i].offset;
	probe_func_free(&f);
	REQUIRE(addr, "%s has no place for a jump", func);
	return addr;
}

/* Once the optimiser has done all it has to do. */
static void expect_form(const struct attachment *p, bool jump)
{
	uint32_t mode = attachment_query(p).mode;

	CHECK_EQ(mode, jump ? TRAMP_MODE_JUMP : TRAMP_MODE_INT3, "%s instead of %s",
		 tramp_mode_name(mode), jump ? "a jump" : "an int3");
}

/*
 * A program whose helper reaches a probed function: the probe on the way is hit while
 * the program runs, and missed. One round for each form of that probe.
 */
static void test_helper(void)
{
	static const uint32_t flags[] = { TRAMP_ATTACH_F_NO_JUMP, 0 };
	struct attachment outer, way, entry;
	struct tramp_query q;
	uint64_t at, runs;
	int i, times = 50;

	setup();
	at = inner("htab_map_delete_elem");
	for (i = 0; i < 2; i++) {
		outer = attach_insn(OURS, bpf_program__fd(probe_skel->progs.recurse),
				    inner("tt_hot0"), flags[i], 0);
		way = attach_insn(OURS, count, at, flags[i], 1);
		entry = attach_insn(OURS, bpf_program__fd(probe_skel->progs.count_too),
				    ksym_addr("htab_map_delete_elem"), 0, 1);
		probe_flush();
		expect_form(&outer, i);
		expect_form(&way, i);
		probe_skel->bss->recursion_runs = 0;
		tt_call(dev, "tt_hot0 n=%d 1", times);
		runs = probe_skel->bss->recursion_runs;
		CHECK_EQ(runs, times, "runs of the program");
		q = attachment_query(&outer);
		CHECK_EQ(q.hits, times, "hits where the program is");
		CHECK_EQ(q.misses, 0, "missed where the program is");
		q = attachment_query(&way);
		CHECK(q.misses >= runs, "%llu missed on the way, of %lu", q.misses, runs);
		q = attachment_query(&entry);
		CHECK(q.misses >= runs, "%llu missed at the entry, of %lu", q.misses, runs);
		detach(&outer);
		detach(&way);
		detach(&entry);
	}
}

/*
 * A program on the very function its helper reaches. Another program calls that function: in the
 * system call that deletes from a map nothing is run at all (test_active_word).
 */
static void test_itself(void)
{
	LIBBPF_OPTS(bpf_test_run_opts, opts);
	struct attachment p;
	struct tramp_query q;
	int i, k, err, times = 20;
	uint64_t at;

	setup();
	at = inner("htab_map_delete_elem");
	for (i = 0; i < 2; i++) {
		p = attach_insn(OURS, bpf_program__fd(probe_skel->progs.recurse), at,
				i ? 0 : TRAMP_ATTACH_F_NO_JUMP, 0);
		probe_flush();
		expect_form(&p, i);
		probe_skel->bss->recursion_runs = 0;
		for (k = 0; k < times; k++) {
			err = bpf_prog_test_run_opts(
				bpf_program__fd(probe_skel->progs.delete_other), &opts);
			REQUIRE(!err, "the program that deletes: %s", strerror(-err));
		}
		q = attachment_query(&p);
		CHECK_EQ(probe_skel->bss->recursion_runs, times, "runs of the program");
		CHECK_EQ(q.hits, times, "hits");
		/* Each run came by once more. */
		CHECK_EQ(q.misses, times, "missed");
		detach(&p);
	}
}

/*
 * The bpf system call itself raises the kernel's recursion word (bpf_prog_active) while
 * it is in a hash table: a hit there is missed, as the kernel's own kprobe misses it.
 */
static void test_active_word(void)
{
	uint64_t at, hits;
	struct attachment ours, kernels;
	uint32_t key = 0, value = 1;
	struct tramp_query q;
	int i;

	setup();
	at = inner("htab_map_update_elem");
	kernels = attach_insn(KERNEL, bpf_program__fd(probe_skel->progs.count_too), at, 0, 0);
	for (i = 0; i < 20; i++)
		bpf_map_update_elem(bpf_map__fd(probe_skel->maps.recursed), &key, &value, 0);
	hits = probe_skel->bss->counted[PROBE_COUNTERS / 2];
	detach(&kernels);
	probe_flush();
	ours = attach_insn(OURS, count, at, TRAMP_ATTACH_F_NO_KPROBE, 0);
	for (i = 0; i < 20; i++)
		bpf_map_update_elem(bpf_map__fd(probe_skel->maps.recursed), &key, &value, 0);
	q = attachment_query(&ours);
	CHECK_EQ(q.hits, hits, "hits, as the kernel's kprobe has them");
	CHECK_EQ(q.hits + q.misses, 20, "hit or missed");
	detach(&ours);
}

/* In a task, an interrupt, a softirq and an NMI, in each form: every call is accounted for. */
static void test_contexts(void)
{
	static const char *const context[] = { "task", "irq", "softirq", "nmi" };
	uint64_t at;
	int form, i;

	setup();
	at = inner("tt_hot1");
	for (form = 0; form < 3; form++) {
		for (i = 0; i < 4; i++) {
			struct attachment p =
				attach_insn(OURS, count, form == 2 ? ksym_addr("tt_hot1") : at,
					    form ? 0 : TRAMP_ATTACH_F_NO_JUMP, i);
			struct tramp_query q;
			struct tt_reply r;

			probe_flush();
			if (form < 2)
				expect_form(&p, form);
			probe_skel->bss->counted[i] = 0;
			r = tt_call(dev, "tt_hot1 ctx=%s n=200 40", context[i]);
			CHECK(r.result == 42 && !r.different, "%s: result", context[i]);
			CHECK_EQ(r.calls, 200, "%s: calls", context[i]);
			q = attachment_query(&p);
			CHECK_EQ(q.hits + q.misses, 200, "%s, %s: hit or missed", context[i],
				 tramp_mode_name(q.mode));
			CHECK_EQ(q.hits, probe_skel->bss->counted[i], "%s: hits", context[i]);
			if (i < 3)
				CHECK_EQ(q.misses, 0, "%s: missed", context[i]);
			detach(&p);
		}
	}
}

/*
 * In the handler of a kernel kprobe, which is in an int3 of its own and, for all that the
 * kernel knows, in an NMI. Int3s and jumps of ours are hit there.
 */
static void test_kprobe_handler(void)
{
	struct tt_form_info form;
	uint64_t at, hits, missed, where;
	struct attachment p;
	struct tramp_query q;
	int32_t err;
	int i;

	setup();
	form = form_named(dev, "tt_form_inc_1");
	where = form.probe;
	at = inner("tt_hot3");
	for (i = 0; i < 2; i++) {
		probe_flush();
		p = attach_insn(OURS, count, at, i ? 0 : TRAMP_ATTACH_F_NO_JUMP, 0);
		probe_flush();
		expect_form(&p, i);
		kprobes_on(dev, TT_KPROBE_CALL, &where, &err, 1);
		REQUIRE(!err, "a kprobe of the kernel: %s", strerror(err));
		form_run(dev, form.index, 30, 1);
		kprobes_off(dev, &hits, &missed, NULL, 1);
		CHECK_EQ(hits, 30, "hits of the kernel's kprobe");
		q = attachment_query(&p);
		CHECK_EQ(q.hits + q.misses, 30, "hit or missed in its handler");
		detach(&p);
	}
}

/* The path of an int3 and of its handling is refused: the kernel's blacklist holds. */
static void test_blacklist(void)
{
	struct text_sym *syms;
	uint64_t *addrs;
	int32_t *results;
	size_t nr, i;
	unsigned int listed = 0, asked = 0;

	setup();
	syms = text_symbols(&nr);
	addrs = calloc(nr, sizeof(*addrs));
	results = calloc(nr, sizeof(*results));
	REQUIRE(addrs && results, "out of memory");
	for (i = 0; i < nr; i++)
		addrs[i] = syms[i].addr;
	judge(dev, TT_JUDGE_BLACKLIST, addrs, results, nr);
	for (i = 0; i < nr; i++) {
		struct attachment p;

		if (!results[i] || !strcmp(syms[i].module, "trampoline"))
			continue;
		listed++;
		if (listed % 3)
			continue;
		asked++;
		p = attach_insn_try(OURS, count, addrs[i], 0, 0);
		CHECK(p.err && (p.reply.refusal.reason == TRAMP_REASON_BLACKLISTED ||
				p.reply.refusal.reason == TRAMP_REASON_INIT_TEXT ||
				p.reply.refusal.reason == TRAMP_REASON_NOT_TEXT ||
				p.reply.refusal.reason == TRAMP_REASON_NOT_BOUNDARY),
		      "%s is blacklisted, but %s", syms[i].name,
		      p.err ? tramp_reason_name(p.reply.refusal.reason) : "attached");
		detach(&p);
	}
	ktap_note("%u of %u blacklisted functions tried", asked, listed);
	CHECK(asked > 50, "only %u blacklisted functions", asked);
	free(syms);
	free(addrs);
	free(results);
}

/* A stack taken in a program leads from the probed function to its caller. */
static void test_stack(void)
{
	struct attachment p;
	char name[128];
	uint64_t at;
	int i, k, n;

	setup();
	at = inner("tt_callee");
	for (i = 0; i < 2; i++) {
		bool caller = false;

		p = attach_insn(OURS, bpf_program__fd(probe_skel->progs.stack), at,
				i ? 0 : TRAMP_ATTACH_F_NO_JUMP, 0);
		probe_flush();
		expect_form(&p, i);
		tt_call(dev, "tt_caller 1");
		n = probe_skel->bss->nr_frames / 8;
		CHECK(n > 2, "%lld", probe_skel->bss->nr_frames);
		for (k = 0; k < n && k < PROBE_FRAMES; k++)
			if (!strncmp(ksym_name(probe_skel->bss->frames[k], name, sizeof(name)),
				     "tt_caller+", 10))
				caller = true;
		CHECK(caller, "tt_caller is not in the stack of %d frames, %s", n,
		      i ? "jump" : "int3");
		ksym_name(probe_skel->bss->frames[0], name, sizeof(name));
		CHECK(!strncmp(name, "tt_callee+", 10), "the stack begins in %s", name);
		detach(&p);
	}
}

static const struct ktap_test tests[] = {
	{ "helper", test_helper, 60 },
	{ "itself", test_itself, 60 },
	{ "active_word", test_active_word, 60 },
	{ "contexts", test_contexts, 60 },
	{ "kprobe_handler", test_kprobe_handler, 60 },
	{ "blacklist", test_blacklist, 120 },
	{ "stack", test_stack, 60 },
};

KTAP_MAIN(tests)
