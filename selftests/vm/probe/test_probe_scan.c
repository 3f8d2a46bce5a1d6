// SPDX-License-Identifier: GPL-2.0
/*
 * An image gives a program the registers that it reads, which the module finds by looking through
 * its instructions (kernel/prog/scan.c). These programs take their context, or may take it, where
 * it is not followed: they are to get all registers. Each reads one that nothing else would save.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <linux/bpf.h>
#include "fixture.h"
#include "probe.h"
#include "selftests/vm/lib/probe_progs.skel.h"

#define INSN(c, d, s, o, i) \
	((struct bpf_insn){ .code = (c), .dst_reg = (d), .src_reg = (s), .off = (o), .imm = (i) })
#define MOV(d, s)	INSN(BPF_ALU64 | BPF_MOV | BPF_X, d, s, 0, 0)
#define MOV_IMM(d, i)	INSN(BPF_ALU64 | BPF_MOV | BPF_K, d, 0, 0, i)
#define ADD_IMM(d, i)	INSN(BPF_ALU64 | BPF_ADD | BPF_K, d, 0, 0, i)
#define LOAD(d, s, o)	INSN(BPF_LDX | BPF_MEM | BPF_DW, d, s, o, 0)
#define STORE(d, o, s)	INSN(BPF_STX | BPF_MEM | BPF_DW, d, s, o, 0)
#define ADD_TO(d, o, s)	INSN(BPF_STX | BPF_ATOMIC | BPF_DW, d, s, o, BPF_ADD)
#define IF_ZERO(d, o)	INSN(BPF_JMP | BPF_JEQ | BPF_K, d, 0, o, 0)

#define R15	0
#define R13	2
#define FP	BPF_REG_10
#define READ(ctx) LOAD(BPF_REG_0, ctx, 8 * R13)
#define LONG	1200

/* The context is in r1 at first. In the end r0 is the register. */
static const struct {
	const char *what;
	struct bpf_insn insns[10];
} escapes[] = {
	{ "copied", { MOV(2, 1), READ(2) } },
	{ "moved on and back", { MOV(2, 1), ADD_IMM(2, 8), ADD_IMM(2, -8), READ(2) } },
	{ "on the stack", { STORE(FP, -8, 1), LOAD(3, FP, -8), READ(3) } },
	{ "on the stack by another pointer",
	  { MOV(2, FP), ADD_IMM(2, -8), STORE(2, 0, 1), LOAD(3, FP, -8), READ(3) } },
	{ "on the stack, beside an atomic operation",
	  { STORE(FP, -8, 1), MOV_IMM(4, 1), STORE(FP, -16, 4), ADD_TO(FP, -16, 4),
	    LOAD(3, FP, -8), READ(3) } },
	/* r6 is the context if r15 is zero, and then it is not used. */
	{ "stored through, by the looks of it",
	  { MOV(6, 1), LOAD(7, 1, 8 * R15), IF_ZERO(7, 1), MOV(6, FP), IF_ZERO(7, 1),
	    STORE(6, -8, 7), READ(1) } },
	{ "read in front of, by the looks of it",
	  { MOV(6, 1), LOAD(7, 1, 8 * R15), STORE(FP, -8, 7), IF_ZERO(7, 1), MOV(6, FP),
	    IF_ZERO(7, 1), LOAD(8, 6, -8), READ(1) } },
	/* So long that looking through it takes turns (see LONG). */
	{ "read in the end", { READ(1) } },
};

static int map;

/* A program that leaves in the map what r0 is then. */
static int load(size_t i)
{
	static struct bpf_insn insns[LONG + 32];
	size_t n = 0, k;
	int prog;

	if (i == sizeof(escapes) / sizeof(escapes[0]) - 1)
		while (n < LONG)
			insns[n++] = MOV_IMM(2, 1);
	for (k = 0; escapes[i].insns[k].code; k++)
		insns[n++] = escapes[i].insns[k];
	insns[n++] = INSN(BPF_LD | BPF_IMM | BPF_DW, 2, BPF_PSEUDO_MAP_VALUE, 0, map);
	insns[n++] = INSN(0, 0, 0, 0, 0);
	insns[n++] = STORE(2, 0, 0);
	insns[n++] = MOV_IMM(0, 0);
	insns[n++] = INSN(BPF_JMP | BPF_EXIT, 0, 0, 0, 0);
	prog = bpf_prog_load(BPF_PROG_TYPE_KPROBE, "escapes", "GPL", insns, n, NULL);
	REQUIRE(prog >= 0, "%s: %s", escapes[i].what, strerror(errno));
	return prog;
}

static void test_context(void)
{
	struct attachment p;
	struct tt_form_info form;
	uint64_t value, seed;
	uint32_t key = 0;
	int jump, dev;
	size_t i;

	dev = fixture_open(NULL);
	probe_setup();
	form = form_named(dev, "tt_form_add_mem_1");
	map = bpf_map_create(BPF_MAP_TYPE_ARRAY, "value", 4, 8, 1, NULL);
	REQUIRE(map >= 0, "map: %s", strerror(errno));
	for (i = 0; i < sizeof(escapes) / sizeof(escapes[0]); i++) {
		int prog = load(i);

		for (jump = 0; jump < 2; jump++) {
			uint32_t flags = jump ? 0 : TRAMP_ATTACH_F_NO_JUMP;

			seed = 100 * i + jump;
			p = attach_insn(OURS, bpf_program__fd(probe_skel->progs.regs_all),
					form.probe, flags, 0);
			probe_flush();
			form_run(dev, form.index, 1, seed);
			detach(&p);
			p = attach_insn(OURS, prog, form.probe, flags, 0);
			probe_flush();
			form_run(dev, form.index, 1, seed);
			detach(&p);
			REQUIRE(!bpf_map_lookup_elem(map, &key, &value), "map");
			CHECK_EQ(value, probe_skel->bss->seen[0].regs[R13], "%s, %s",
				 escapes[i].what, jump ? "jump" : "int3");
		}
		close(prog);
	}
	close(map);
}

static const struct ktap_test tests[] = {
	{ "context", test_context, 60 },
};

KTAP_MAIN(tests)
