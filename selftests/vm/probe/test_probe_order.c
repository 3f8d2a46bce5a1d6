// SPDX-License-Identifier: GPL-2.0
/*
 * Several programs at one address: they run in the order they came, each counted;
 * one that goes leaves the others. At an int3, a jump, a function's entry and where only the
 * kernel's kprobe can be, it is the same.
 *
 * And probes near each other: one inside another's region sends that one back to
 * int3, and to jump again when it goes.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include "fixture.h"
#include "probe.h"
#include "selftests/vm/lib/probe_progs.skel.h"

#define MANY 5

/* One address and how to have it executed once. */
struct place {
	const char *name;
	uint64_t addr;
	uint32_t flags, mode, reason;
	uint32_t form;		/* of the test module; or else */
	const char *call;	/* a target of it */
};

static int dev, counting[MANY], ordering[MANY];
static struct place places[4];
static int64_t result[4];

static uint64_t execute(const struct place *p, int times)
{
	if (p->call)
		return tt_call(dev, p->call, times, ksym_addr("jiffies")).different;
	return form_run(dev, p->form, times, 1);
}

static void setup(void)
{
	struct tt_form_info inc;
	int i;

	dev = fixture_open("the kernel's own has no order");
	probe_setup();
	inc = form_named(dev, "tt_form_inc_2");
	places[0] = (struct place){ "int3", inc.probe, TRAMP_ATTACH_F_NO_JUMP, TRAMP_MODE_INT3,
				    TRAMP_REASON_OPT_OFF, inc.index, NULL };
	places[1] = (struct place){ "jump", inc.probe, 0, TRAMP_MODE_JUMP, 0, inc.index, NULL };
	places[2] = (struct place){ "entry", ksym_addr("tt_extable"), 0, TRAMP_MODE_DIRECT, 0, 0,
				    "tt_extable n=%d %#lx" };
	places[3] = (struct place){ "kernel's kprobe", probe_fixup_in("tt_extable"), 0,
				    TRAMP_MODE_KPROBE, TRAMP_REASON_INSN_FIXUP, 0,
				    "tt_extable n=%d %#lx" };
	for (i = 0; i < MANY; i++) {
		counting[i] = probe_clone(probe_skel->progs.count);
		ordering[i] = probe_clone(probe_skel->progs.in_order);
	}
	for (i = 0; i < 4; i++)
		result[i] = execute(&places[i], 1);
}

/* Executes it once and compares the order of cookies. */
static void expect_order(const struct place *p, const char *when, const char *order)
{
	char seen[PROBE_ORDER + 1] = "";
	uint32_t i, len;

	probe_skel->bss->order_len = 0;
	CHECK_EQ(execute(p, 1), result[p - places], "%s, %s: result", p->name, when);
	len = probe_skel->bss->order_len;
	for (i = 0; i < len && i < PROBE_ORDER; i++)
		seen[i] = '0' + probe_skel->bss->order[i];
	CHECK(!strcmp(seen, order), "%s, %s: order is '%s', not '%s'", p->name, when, seen, order);
}

static void order_at(const struct place *p)
{
	struct attachment at[MANY];
	int i;

	for (i = 0; i < MANY; i++) {
		at[i] = attach_insn(OURS, ordering[i], p->addr, p->flags, i + 1);
		CHECK_EQ(at[i].reply.kind, TRAMP_KIND_KPROBE, "kind");
	}
	expect_order(p, "all", "12345");
	probe_flush();
	expect_order(p, "all, settled", "12345");
	for (i = 0; i < MANY; i++) {
		struct tramp_query q = attachment_query(&at[i]);

		CHECK_EQ(q.pos, i, "%s: place of program %d", p->name, i + 1);
		CHECK_EQ(q.nr_progs, MANY, "%s: programs", p->name);
		CHECK_EQ(q.cookie, i + 1, "%s: cookie", p->name);
		CHECK_EQ(q.hits, 2, "%s: hits of program %d", p->name, i + 1);
		CHECK_EQ(q.misses, 0, "%s: missed by program %d", p->name, i + 1);
		attachment_expect(&at[i], p->mode, p->reason, p->name);
	}
	/* From the middle, the front, the end; and back again at the end. */
	detach(&at[2]);
	expect_order(p, "without 3", "1245");
	detach(&at[0]);
	expect_order(p, "without 1", "245");
	at[2] = attach_insn(OURS, ordering[2], p->addr, p->flags, 3);
	expect_order(p, "3 again", "2453");
	detach(&at[2]);
	expect_order(p, "without 3", "245");
	at[0] = attach_insn(OURS, ordering[0], p->addr, p->flags, 1);
	expect_order(p, "1 again", "2451");
	probe_flush();
	expect_order(p, "settled", "2451");
	detach(&at[1]);
	detach(&at[3]);
	detach(&at[4]);
	expect_order(p, "only 1", "1");
	detach(&at[0]);
	expect_order(p, "nobody", "");
	check_nothing_left();
}

static void test_order(void)
{
	int i;

	setup();
	for (i = 0; i < 4; i++)
		order_at(&places[i]);
}

/* Each counts each hit, in its own place. */
static void test_counts(void)
{
	struct attachment at[MANY];
	struct tramp_query q;
	int i, k;

	setup();
	for (k = 0; k < 4; k++) {
		memset(probe_skel->bss->counted, 0, sizeof(probe_skel->bss->counted));
		for (i = 0; i < MANY; i++) {
			at[i] = attach_insn(OURS, counting[i], places[k].addr, places[k].flags, i);
			execute(&places[k], 10);
		}
		probe_flush();
		execute(&places[k], 100);
		for (i = 0; i < MANY; i++) {
			uint64_t want = 100 + 10 * (MANY - i);

			q = attachment_query(&at[i]);
			CHECK_EQ(q.hits, want, "%s: hits of program %d", places[k].name, i);
			CHECK_EQ(probe_skel->bss->counted[i], want, "%s: runs of program %d",
				 places[k].name, i);
		}
		for (i = 0; i < MANY; i++)
			detach(&at[i]);
		execute(&places[k], 10);
		CHECK_EQ(probe_skel->bss->counted[0], 100 + 10 * MANY, "%s: after the end",
			 places[k].name);
	}
}

/* Another program in the same link: same place, same cookie, the hits go on. */
static void test_update(void)
{
	int other, k;

	setup();
	other = probe_clone(probe_skel->progs.count_too);
	for (k = 0; k < 4; k++) {
		struct place *p = &places[k];
		struct attachment a, b;
		int err;

		memset(probe_skel->bss->counted, 0, sizeof(probe_skel->bss->counted));
		a = attach_insn(OURS, counting[0], p->addr, p->flags, 7);
		b = attach_insn(OURS, counting[1], p->addr, p->flags, 8);
		probe_flush();
		execute(p, 10);
		err = bpf_link_update(a.fd, other, NULL);
		CHECK_EQ(err, 0, "%s: update: %s", p->name, strerror(-err));
		execute(p, 20);
		probe_flush();
		execute(p, 30);
		CHECK_EQ(probe_skel->bss->counted[7], 10, "%s: the old program", p->name);
		CHECK_EQ(probe_skel->bss->counted[7 + PROBE_COUNTERS / 2], 50,
			 "%s: the new program", p->name);
		CHECK_EQ(probe_skel->bss->counted[8], 60, "%s: the one beside it", p->name);
		CHECK_EQ(attachment_query(&a).hits, 60, "%s: hits of the link", p->name);
		CHECK_EQ(attachment_query(&a).pos, 0, "%s: place", p->name);
		attachment_expect(&a, p->mode, p->reason, p->name);
		detach(&a);
		detach(&b);
	}
}

/* As links of the kernel: type, detached while open, pinned. */
static void test_links(void)
{
	static const char pin[] = "/sys/fs/bpf/vmtest_probe";
	struct bpf_link_info info = {};
	uint32_t len = sizeof(info);
	struct attachment p;
	int k;

	setup();
	for (k = 0; k < 4; k++) {
		struct place *at = &places[k];

		probe_skel->bss->counted[0] = 0;
		p = attach_insn(OURS, counting[0], at->addr, at->flags, 0);
		memset(&info, 0, sizeof(info));
		REQUIRE(!bpf_obj_get_info_by_fd(p.fd, &info, &len), "link info");
		CHECK_EQ(info.type, BPF_LINK_TYPE_PERF_EVENT, "%s: type", at->name);
		CHECK_EQ(info.id, p.reply.link_id, "%s: id", at->name);
		REQUIRE(!bpf_obj_pin(p.fd, pin), "pin: %s", strerror(errno));
		close(p.fd);
		execute(at, 3);
		CHECK_EQ(probe_skel->bss->counted[0], 3, "%s: pinned", at->name);
		p.fd = bpf_obj_get(pin);
		REQUIRE(p.fd >= 0, "from the pin");
		unlink(pin);
		execute(at, 3);
		CHECK_EQ(probe_skel->bss->counted[0], 6, "%s: unpinned, open", at->name);
		CHECK(!bpf_link_detach(p.fd), "detach: %s", strerror(errno));
		execute(at, 3);
		CHECK_EQ(probe_skel->bss->counted[0], 6, "%s: detached, open", at->name);
		detach(&p);
	}
}

/* ---------------------------------------------------- one near another --- */

/* It was a jump. It is one again when the optimiser has looked, and says so before. */
static void expect_waits(const struct attachment *at, const char *when)
{
	struct tramp_query q = attachment_query(at);

	/* On a busy machine the optimiser may have come by already. */
	if (q.mode == TRAMP_MODE_INT3)
		CHECK_EQ(q.mode_reason, TRAMP_REASON_OPT_PENDING, "%s: %s", when,
			 tramp_reason_name(q.mode_reason));
	probe_flush();
	attachment_expect(at, TRAMP_MODE_JUMP, 0, when);
}

/* A jump goes back to an int3 when its programs change. It says that it waits, and for what. */
static void test_back(void)
{
	struct tt_form_info form;
	struct attachment one, two;
	int round;

	setup();
	form = form_named(dev, "tt_form_inc_3");
	one = attach_insn(OURS, counting[0], form.probe, 0, 0);
	probe_flush();
	attachment_expect(&one, TRAMP_MODE_JUMP, 0, "alone");
	for (round = 0; round < 3; round++) {
		two = attach_insn(OURS, counting[1], form.probe, 0, 1);
		expect_waits(&one, "another one comes");
		detach(&two);
		expect_waits(&one, "it goes");
	}
	two = attach_insn(OURS, counting[1], form.probe, TRAMP_ATTACH_F_NO_JUMP, 1);
	attachment_expect(&one, TRAMP_MODE_INT3, TRAMP_REASON_OPT_OFF, "beside one without jumps");
	detach(&two);
	detach(&one);
	check_nothing_left();
}

static void test_inside(void)
{
	struct tt_form_info form;
	struct attachment outer, inner, third;
	struct tramp_query q;
	uint64_t want, *counted;
	int round;

	setup();
	form = form_named(dev, "tt_form_inc_3");
	counted = (uint64_t *)probe_skel->bss->counted;
	want = form_run(dev, form.index, 1, 5);
	outer = attach_insn(OURS, counting[0], form.probe, 0, 0);
	probe_flush();
	attachment_expect(&outer, TRAMP_MODE_JUMP, 0, "alone");
	CHECK(attachment_query(&outer).region_len > form.form - form.probe, "region of %u bytes",
	      attachment_query(&outer).region_len);
	for (round = 0; round < 3; round++) {
		memset(counted, 0, sizeof(probe_skel->bss->counted));
		inner = attach_insn(OURS, counting[1], form.form, 0, 1);
		/* At once, not when the optimiser comes by. */
		attachment_expect(&outer, TRAMP_MODE_INT3, TRAMP_REASON_REGION_PROBE, "one inside");
		q = attachment_query(&outer);
		CHECK_EQ(q.reason_addr, form.form, "where the other one is");
		CHECK_EQ(form_run(dev, form.index, 10, 5), want, "result");
		probe_flush();
		attachment_expect(&outer, TRAMP_MODE_INT3, TRAMP_REASON_REGION_PROBE, "one inside");
		attachment_expect(&inner, TRAMP_MODE_JUMP, 0, "the one inside");
		CHECK_EQ(form_run(dev, form.index, 10, 5), want, "result");
		CHECK_EQ(counted[0], 20, "hits of the outer");
		CHECK_EQ(counted[1], 20, "hits of the inner");
		/* A third between them. */
		third = attach_insn(OURS, counting[2], form.form - 1, 0, 2);
		probe_flush();
		attachment_expect(&third, TRAMP_MODE_INT3, TRAMP_REASON_REGION_PROBE, "the third");
		CHECK_EQ(form_run(dev, form.index, 10, 5), want, "result");
		if (round == 1)
			detach(&third);
		detach(&inner);
		probe_flush();
		CHECK_EQ(form_run(dev, form.index, 10, 5), want, "result");
		CHECK_EQ(counted[0], 40, "hits of the outer");
		CHECK_EQ(counted[1], 30, "hits of the inner");
		if (round != 1) {
			attachment_expect(&outer, TRAMP_MODE_INT3, TRAMP_REASON_REGION_PROBE,
					  "the third still inside");
			attachment_expect(&third, TRAMP_MODE_JUMP, 0, "the third, alone behind");
			detach(&third);
			probe_flush();
		}
		attachment_expect(&outer, TRAMP_MODE_JUMP, 0, "alone again");
		CHECK_EQ(form_run(dev, form.index, 10, 5), want, "result");
		CHECK_EQ(counted[0], 50, "hits of the outer");
	}
	detach(&outer);
}

/* NO_JUMP is a wish of each program: one that has it keeps all at an int3. */
static void test_no_jump(void)
{
	struct attachment jump, no_jump;
	struct tt_form_info form;

	setup();
	form = form_named(dev, "tt_form_inc_1");
	jump = attach_insn(OURS, counting[0], form.probe, 0, 0);
	probe_flush();
	attachment_expect(&jump, TRAMP_MODE_JUMP, 0, "alone");
	no_jump = attach_insn(OURS, counting[1], form.probe, TRAMP_ATTACH_F_NO_JUMP, 1);
	probe_flush();
	attachment_expect(&jump, TRAMP_MODE_INT3, TRAMP_REASON_OPT_OFF,
			  "with one that wants no jump");
	form_run(dev, form.index, 10, 1);
	CHECK_EQ(probe_skel->bss->counted[0], 10, "hits");
	detach(&no_jump);
	probe_flush();
	attachment_expect(&jump, TRAMP_MODE_JUMP, 0, "alone again");
	/* And the switch for all. */
	probe_optimiser(false);
	attachment_expect(&jump, TRAMP_MODE_INT3, TRAMP_REASON_OPT_OFF, "optimiser off");
	form_run(dev, form.index, 10, 1);
	probe_optimiser(true);
	attachment_expect(&jump, TRAMP_MODE_JUMP, 0, "optimiser on");
	form_run(dev, form.index, 10, 1);
	CHECK_EQ(probe_skel->bss->counted[0], 30, "hits");
	detach(&jump);
}

/* As many programs as there may be, and one more. */
static void test_full(void)
{
	struct attachment at[TRAMP_MAX_PROGS + 1] = {};
	struct tt_form_info form;
	int i;

	setup();
	form = form_named(dev, "tt_form_inc_1");
	for (i = 0; i <= TRAMP_MAX_PROGS; i++) {
		int fd = probe_clone(probe_skel->progs.count);

		at[i] = attach_insn_try(OURS, fd, form.probe, 0, i);
		close(fd);
	}
	CHECK_EQ(-at[TRAMP_MAX_PROGS].err, E2BIG, "one too many");
	CHECK_EQ(at[TRAMP_MAX_PROGS].reply.refusal.reason, TRAMP_REASON_TOO_MANY_PROGS, "%s",
		 tramp_reason_name(at[TRAMP_MAX_PROGS].reply.refusal.reason));
	probe_flush();
	form_run(dev, form.index, 10, 1);
	for (i = 0; i < TRAMP_MAX_PROGS; i++)
		CHECK_EQ(probe_skel->bss->counted[i], 10, "program %d", i);
	for (i = 0; i <= TRAMP_MAX_PROGS; i++)
		detach(&at[i]);
}

static const struct ktap_test tests[] = {
	{ "order", test_order, 120 },
	{ "counts", test_counts, 60 },
	{ "update", test_update, 60 },
	{ "links", test_links, 60 },
	{ "back", test_back, 60 },
	{ "inside", test_inside, 60 },
	{ "no_jump", test_no_jump, 60 },
	{ "full", test_full, 60 },
};

KTAP_MAIN(tests)
