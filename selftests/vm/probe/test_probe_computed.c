// SPDX-License-Identifier: GPL-2.0
/*
 * Probes in code that jumps to its own middle by an address that it computes: computed gotos in a
 * module, which no option of the compiler forbids. With IBT each label of them has an ENDBR, and no
 * jump of ours lies over one. Without it there is no jump over more than one instruction in such a
 * function. Nor does the kernel make a jump of a kprobe of its own there. It must not where a probe
 * of ours hides the indirect jump from it, either.
 */
#include <stdlib.h>
#include <string.h>
#include "fixture.h"
#include "probe.h"
#include "selftests/vm/lib/probe_progs.skel.h"

#define THREADED	"tt_threaded"
#define START		7
#define MOST		256
/* A kprobe of the kernel would be a jump by then. */
#define WHILE		2000000000ULL

static int dev, prog;

static void setup(void)
{
	dev = fixture_open("is about our jumps");
	probe_setup();
	prog = bpf_program__fd(probe_skel->progs.count);
	probe_flush();
}

/* As tt_threaded() works it out (selftests/kmod/probe_targets.c). */
static uint64_t threaded(uint64_t ops, uint64_t x)
{
	while ((ops >>= 2) & 3) {
		switch (ops & 3) {
		case 1:
			x += 3;
			/* fall through */
		case 2:
			x += x;
			/* fall through */
		default:
			x ^= 0x55;
		}
	}
	return x;
}

/* Each label after each other one, and the end after each. */
static void run_all(const char *what)
{
	static const uint64_t ops[] = { 0, 1, 2, 3, 0x1b, 0x39, 0x1e5, 0x2d9d6b97e5fULL };
	struct tt_reply r;
	uint32_t i;

	for (i = 0; i < sizeof(ops) / sizeof(ops[0]); i++) {
		r = tt_call(dev, THREADED " n=3 %llu %d", (unsigned long long)ops[i] << 2, START);
		CHECK_EQ(r.result, threaded(ops[i] << 2, START), "%s: operations %#lx", what, ops[i]);
		CHECK(!r.different, "%s: operations %#lx", what, ops[i]);
	}
}

/* With a probe at the instruction @first, and at each @step'th behind it. */
static void run_probed(const struct probe_func *f, uint32_t first, uint32_t step)
{
	struct attachment p[MOST];
	uint32_t i, nr = 0;
	char what[64];

	for (i = first; i < f->nr; i += step)
		if (f->insns[i].mode != TRAMP_MODE_NONE)
			p[nr++] = attach_insn(OURS, prog, f->addr + f->insns[i].offset, 0, 0);
	if (!nr)
		return;
	probe_flush();
	snprintf(what, sizeof(what), "%u probes from +%#x on", nr, f->insns[first].offset);
	run_all(what);
	while (nr)
		detach(&p[--nr]);
}

static void test_threaded(void)
{
	struct probe_func f;
	uint32_t i;

	setup();
	REQUIRE(!probe_explain(&f, 0, THREADED, false), THREADED);
	REQUIRE(f.nr <= MOST, "it has %u instructions", f.nr);
	run_all("without probes");
	for (i = 0; i < f.nr; i++)
		run_probed(&f, i, f.nr);
	for (i = 0; i < 3; i++)
		run_probed(&f, i, 3);
	probe_flush();
	run_all("behind the probes");
	probe_func_free(&f);
}

/* A jump through a register or a thunk. */
static bool is_indirect(const struct probe_func *f, const struct tramp_insn_info *insn)
{
	const uint8_t *code = f->code + insn->offset;
	int32_t rel;

	if (code[0] == 0xff || (code[0] == 0x41 && code[1] == 0xff))
		return true;
	if (code[0] != 0xe9)
		return false;
	memcpy(&rel, code + 1, sizeof(rel));
	return insn->offset + 5ULL + (uint64_t)(int64_t)rel >= f->size;
}

/* Of tt_goto(): the jump, and the instruction that falls through to a label behind itself. */
static void find_insns(const struct probe_func *f, uint64_t *jump, uint64_t *add)
{
	uint32_t i;

	*jump = *add = 0;
	for (i = 0; i < f->nr && f->insns[i].offset + 8 < f->code_len; i++) {
		const uint8_t *code = f->code + f->insns[i].offset;

		if (!*jump && is_indirect(f, f->insns + i))
			*jump = f->addr + f->insns[i].offset;
		else if (*jump && code[0] == 0x48 && code[1] == 0x83 && code[3] == 3)
			*add = f->addr + f->insns[i].offset;
	}
	if (!*jump && kernel_is_clangs())
		ktap_skip("clang makes comparisons of computed gotos");
	REQUIRE(*jump && *add, "%s: the jump or the addition is not there", f->name);
}

static bool kernel_jumps(uint64_t addr)
{
	uint64_t hits, missed;
	int32_t err;
	bool jump;

	kprobes_on(dev, TT_KPROBE_COUNT, &addr, &err, 1);
	REQUIRE(!err, "a kprobe of the kernel: %s", strerror(err));
	jump = kprobe_becomes_jump(addr, WHILE);
	kprobes_off(dev, &hits, &missed, NULL, 1);
	return jump;
}

/*
 * No direct branch leads to the label behind the addition. So the kernel makes no jump of a kprobe
 * there for the indirect one's sake alone.
 */
static void test_hidden(void)
{
	uint64_t jump, add;
	struct probe_func f;
	struct attachment p;

	setup();
	REQUIRE(!probe_explain(&f, 0, "tt_goto", true), "tt_goto");
	find_insns(&f, &jump, &add);
	probe_func_free(&f);
	if (kernel_jumps(add))
		ktap_skip("the kernel makes jumps of its kprobes in functions with indirect jumps");
	p = attach_insn(OURS, prog, jump, 0, 0);
	probe_flush();
	CHECK(!kernel_jumps(add), "the kernel has made a jump without having seen the indirect one");
	detach(&p);
	probe_flush();
}

static const struct ktap_test tests[] = {
	{ "threaded", test_threaded, 120 },
	{ "hidden", test_hidden, 60 },
};

KTAP_MAIN(tests)
