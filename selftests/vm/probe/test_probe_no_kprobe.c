// SPDX-License-Identifier: GPL-2.0
/*
 * Instructions where only a kernel kprobe could be, and would do harm: they are refused.
 *
 * - fixups: the exception table says what becomes of a fault, by the instruction's address. The
 *   kernel's kprobes execute a copy, and put the address back for a #PF alone.
 * - vex: they look at the opcode only, and take one behind VEX for that of another instruction.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include "fixture.h"
#include "probe.h"
#include "selftests/vm/lib/probe_progs.skel.h"

static int dev, prog;

static void setup(void)
{
	dev = fixture_open("is about what we refuse");
	probe_setup();
	prog = bpf_program__fd(probe_skel->progs.count);
}

/* It is refused, and the detail has @why in it. */
static void refused(const char *what, uint64_t addr, int err, uint32_t reason, const char *why)
{
	struct attachment p = attach_insn_try(OURS, prog, addr, 0, 0);

	CHECK_EQ(-p.err, err, "%s", what);
	CHECK_EQ(p.reply.refusal.reason, reason, "%s: %s", what,
		 tramp_reason_name(p.reply.refusal.reason));
	CHECK(strstr(p.reply.refusal.detail, why), "%s: '%s'", what, p.reply.refusal.detail);
	detach(&p);
}

/* The first of these takes a kprobe; whatever comes behind it has faults that one would lose. */
static void test_fixups(void)
{
	struct attachment p;
	struct probe_func f;
	uint32_t i, nr = 0;

	setup();
	REQUIRE(!probe_explain(&f, 0, "tt_fixups", false), "tt_fixups");
	for (i = 0; i < f.nr; i++) {
		uint64_t addr = f.addr + f.insns[i].offset;
		int32_t type;
		char what[40];

		judge(dev, TT_JUDGE_FIXUP, &addr, &type, 1);
		if (!type)
			continue;
		snprintf(what, sizeof(what), "fix-up %u, of type %d", nr, type);
		if (!nr++) {
			CHECK_EQ(f.insns[i].mode, TRAMP_MODE_KPROBE, "%s, foretold", what);
			p = attach_insn(OURS, prog, addr, 0, 0);
			attachment_expect(&p, TRAMP_MODE_KPROBE, TRAMP_REASON_INSN_FIXUP, what);
			detach(&p);
			continue;
		}
		CHECK_EQ(f.insns[i].mode, TRAMP_MODE_NONE, "%s, foretold", what);
		CHECK_EQ(f.insns[i].reason, TRAMP_REASON_INSN_FIXED, "%s, foretold: %s", what,
			 tramp_reason_name(f.insns[i].reason));
		refused(what, addr, EOPNOTSUPP, TRAMP_REASON_INSN_FIXED, "fix-up");
	}
	probe_func_free(&f);
	CHECK(nr >= 4, "only %u fix-ups were found", nr);
}

/* An image serves it; the rest is for ftrace switched off, where none can be reached. */
static void test_vex(void)
{
	struct tt_form_info form;
	struct attachment p;

	setup();
	form = form_named(dev, "tt_form_vmovdqa_1");
	p = attach_insn(OURS, prog, form.form, TRAMP_ATTACH_F_NO_KPROBE, 0);
	detach(&p);
	probe_flush();
	ftrace_switch(false);
	refused("a store with VEX", form.form, ENODEV, TRAMP_REASON_FTRACE_DISABLED,
		"take its opcode");
	form = form_named(dev, "tt_form_inc_1");
	p = attach_insn(OURS, prog, form.form, 0, 0);
	attachment_expect(&p, TRAMP_MODE_KPROBE, TRAMP_REASON_FTRACE_DISABLED, "another");
	detach(&p);
	ftrace_switch(true);
}

static const struct ktap_test tests[] = {
	{ "fixups", test_fixups, 60 },
	{ "vex", test_vex, 60 },
};

KTAP_MAIN(tests)
