// SPDX-License-Identifier: GPL-2.0
/*
 * What a program uses of its context.
 *
 * The instructions are those that the verifier has left: it has proved that every
 * path is sound, so what is asked here is only where the context can get to. What
 * cannot be followed (stored in a map, handed to a helper or a subprogram, an
 * arithmetic instruction) means "everything".
 *
 * For kprobe programs the question is which registers of struct pt_regs are read. A
 * forward analysis keeps, before each instruction, the set of registers that may hold
 * the context, and whether it may be in a stack slot; sets only grow, until nothing
 * changes. The context cannot be moved (the verifier allows no other offset when it
 * is read), so the offset of a load says which member it is. For tracing programs
 * the same analysis tells whether they look at their context at all.
 */
#include <linux/filter.h>
#include <linux/slab.h>
#include "compat.h"
#include "ksyms.h"
#include "prog_scan.h"
#include "x86/detour_image.h"

#define NEEDS_ALL (TRAMP_X86_CALL_COOKIE | TRAMP_X86_CALL_IP | TRAMP_X86_CALL_NARGS)

/* Longer ones are not worth the time. */
#define MAX_INSNS	8192

/*
 * One function of a program. bpf_get_func_arg*() and bpf_get_func_ret() are
 * inlined by the verifier as loads from ctx-8 (do_misc_fixups()), so a load at
 * offset -8 from anything but the frame pointer may be one. A cookie is read by
 * a call of one helper.
 */
static u32 scan_insns(const struct bpf_insn *insn, u32 len, unsigned long cookie_helper)
{
	u32 i, needs = 0;

	for (i = 0; i < len; i++, insn++) {
		u8 class = BPF_CLASS(insn->code);

		if (class == BPF_LDX && insn->off == -8 && insn->src_reg != BPF_REG_10)
			needs |= TRAMP_X86_CALL_NARGS;
		if (class != BPF_JMP && class != BPF_JMP32)
			continue;
		/* What a tail call reaches is chosen at run time: it may use anything. */
		if (insn->code == (BPF_JMP | BPF_TAIL_CALL))
			return NEEDS_ALL;
		if (insn->code == (BPF_JMP | BPF_CALL) && insn->src_reg == 0 &&
		    (!cookie_helper ||
		     (unsigned long)__bpf_call_base + insn->imm == cookie_helper))
			needs |= TRAMP_X86_CALL_COOKIE;
	}
	return needs;
}

/*
 * The interpreter's program and freplace's victims are not looked through: an
 * extension that comes later may use what the original does not. (A kprobe program is
 * none while it is attached, see slot.c; the kernel lets no fentry or fexit program be one.)
 */
u32 tramp_scan_flags(const struct bpf_prog *prog)
{
	unsigned long helper = tramp_ksyms.bpf_get_attach_cookie_tracing;
	u32 i, needs = 0;

	if (prog->type == BPF_PROG_TYPE_KPROBE)
		helper = tramp_ksyms.bpf_get_attach_cookie_trace;
	if (!prog->jited || prog->expected_attach_type == BPF_MODIFY_RETURN)
		return NEEDS_ALL;
	if (prog->call_get_func_ip)
		needs |= TRAMP_X86_CALL_IP;
	needs |= scan_insns(prog->insnsi, prog->len, helper);
	for (i = 0; i < prog->aux->func_cnt && prog->aux->func; i++)
		needs |= scan_insns(prog->aux->func[i]->insnsi, prog->aux->func[i]->len, helper);
	return needs;
}

/* What may be the context before an instruction: a bit for each register, and: */
#define ON_STACK	BIT(14)		/* it may be in a stack slot */
#define REACHED		BIT(15)		/* the instruction is reached at all */

#define REG(n)		BIT(n)
#define ARG_REGS	(REG(BPF_REG_1) | REG(BPF_REG_2) | REG(BPF_REG_3) | \
			 REG(BPF_REG_4) | REG(BPF_REG_5))

struct scan {
	const struct bpf_insn *insns;
	u32 len;
	u16 *before;
	u32 regs;	/* members that are read */
	bool lost;	/* the context has got to where it cannot be followed */
	bool changed;
};

static void reach(struct scan *s, s64 at, u16 state)
{
	u16 joined;

	if (at < 0 || at >= s->len) {
		s->lost = true;
		return;
	}
	joined = s->before[at] | state | REACHED;
	if (joined != s->before[at]) {
		s->before[at] = joined;
		s->changed = true;
	}
}

/* A load through a register that may be the context. */
static void read_member(struct scan *s, const struct bpf_insn *insn)
{
	static const u8 size[] = {
		[BPF_W >> 3] = 4, [BPF_H >> 3] = 2, [BPF_B >> 3] = 1, [BPF_DW >> 3] = 8,
	};
	s32 first = insn->off, last = first + size[BPF_SIZE(insn->code) >> 3] - 1;

	if (first < 0 || last >= (s32)sizeof(struct pt_regs)) {
		s->lost = true;
		return;
	}
	s->regs |= BIT(first / 8) | BIT(last / 8);
}

/* dst = src, or a calculation. Return: the state behind it. */
static u16 after_alu(struct scan *s, const struct bpf_insn *insn, u16 state)
{
	bool src = BPF_SRC(insn->code) == BPF_X && (state & REG(insn->src_reg));
	bool dst = state & REG(insn->dst_reg);
	bool mov = BPF_OP(insn->code) == BPF_MOV;

	if (mov && BPF_CLASS(insn->code) == BPF_ALU64 && !insn->off)
		return src ? state | REG(insn->dst_reg) : state & ~REG(insn->dst_reg);
	if (src || (dst && !mov))
		s->lost = true;
	return state & ~REG(insn->dst_reg);
}

static u16 after_load(struct scan *s, const struct bpf_insn *insn, u16 state)
{
	if (state & REG(insn->src_reg))
		read_member(s, insn);
	state &= ~REG(insn->dst_reg);
	/* Once it is on the stack any pointer may lead to it. */
	if ((state & ON_STACK) && BPF_SIZE(insn->code) == BPF_DW)
		state |= REG(insn->dst_reg);
	return state;
}

static u16 after_store(struct scan *s, const struct bpf_insn *insn, u16 state)
{
	bool plain = BPF_MODE(insn->code) == BPF_MEM;

	if (state & REG(insn->dst_reg))
		s->lost = true;
	/* One that fetches may take the context off the stack, into src or R0. */
	if (BPF_CLASS(insn->code) == BPF_STX && !plain && (state & ON_STACK))
		s->lost = true;
	if (BPF_CLASS(insn->code) != BPF_STX || !(state & REG(insn->src_reg)))
		return state;
	if (!plain || insn->dst_reg != BPF_REG_10 || BPF_SIZE(insn->code) != BPF_DW)
		s->lost = true;
	return state | ON_STACK;
}

/* A helper might look at what it is given, or at what is on the stack. */
static u16 after_call(struct scan *s, u16 state)
{
	if (state & (ARG_REGS | ON_STACK))
		s->lost = true;
	return state & ~(ARG_REGS | REG(BPF_REG_0));
}

static void step_jump(struct scan *s, const struct bpf_insn *insn, u32 at, u16 state)
{
	bool wide = BPF_CLASS(insn->code) == BPF_JMP32;

	switch (BPF_OP(insn->code)) {
	case BPF_EXIT:
		return;
	case BPF_CALL:
		reach(s, at + 1, after_call(s, state));
		return;
	case BPF_JA:
		reach(s, (s64)at + 1 + (wide ? insn->imm : insn->off), state);
		return;
	case BPF_TAIL_CALL:
		s->lost = true;
		return;
	default:
		reach(s, (s64)at + 1 + insn->off, state);
		reach(s, at + 1, state);
	}
}

static void step(struct scan *s, u32 at)
{
	const struct bpf_insn *insn = &s->insns[at];
	u16 state = s->before[at];

	switch (BPF_CLASS(insn->code)) {
	case BPF_ALU:
	case BPF_ALU64:
		reach(s, at + 1, after_alu(s, insn, state));
		break;
	case BPF_LDX:
		reach(s, at + 1, after_load(s, insn, state));
		break;
	case BPF_ST:
	case BPF_STX:
		reach(s, at + 1, after_store(s, insn, state));
		break;
	case BPF_LD:
		if (insn->code != (BPF_LD | BPF_IMM | BPF_DW))
			s->lost = true;
		reach(s, at + 2, state & ~REG(insn->dst_reg));
		break;
	default:
		step_jump(s, insn, at, state);
	}
}

u32 tramp_scan_regs(const struct bpf_prog *prog)
{
	struct scan s = { .insns = prog->insnsi, .len = prog->len };
	u32 at;

	if (!prog->jited || s.len > MAX_INSNS)
		return TRAMP_X86_REGS_ALL;
	s.before = kvcalloc(s.len, sizeof(*s.before), GFP_KERNEL);
	if (!s.before)
		return TRAMP_X86_REGS_ALL;

	reach(&s, 0, REG(BPF_REG_1));
	while (s.changed && !s.lost) {
		s.changed = false;
		for (at = 0; at < s.len && !s.lost; at++) {
			if (s.before[at] & REACHED)
				step(&s, at);
		}
	}
	kvfree(s.before);
	return s.lost ? TRAMP_X86_REGS_ALL : s.regs;
}

/* If the code at @p begins with @insn, behind that. */
static const u8 *skip_insn(const u8 *p, const char *insn, size_t len)
{
	return memcmp(p, insn, len) ? p : p + len;
}

/*
 * The JIT's prologue: [endbr64] nop5 (nop2 | xor %eax,%eax) push %rbp ...
 *
 * The NOP5 becomes a call or a jump when somebody attaches to the program, so it is
 * left out only where the verifier refuses that: tracing programs on entry programs and
 * exit programs, before 6.8.
 */
unsigned long tramp_prog_entry(const struct bpf_prog *prog)
{
	const u8 *p = (const u8 *)prog->bpf_func;

	if (!prog->jited)
		return (unsigned long)p;
	p = skip_insn(p, "\xf3\x0f\x1e\xfa", 4);
	if (!TRAMP_PROGS_CAN_BE_TRACED && prog->type == BPF_PROG_TYPE_TRACING &&
	    prog->expected_attach_type != BPF_MODIFY_RETURN) {
		p = skip_insn(p, "\x0f\x1f\x44\x00\x00", 5);
		p = skip_insn(p, "\x66\x90", 2);
	}
	return (unsigned long)p;
}
