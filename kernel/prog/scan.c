// SPDX-License-Identifier: GPL-2.0
/*
 * The parts of its context that a program uses.
 *
 * The instructions are those that the verifier has left. It has proved that every path is
 * sound, so the only question here is where the context can get to. If it cannot be followed
 * (stored in a map, handed to a helper or a subprogram, an arithmetic instruction), the
 * answer is "everything".
 *
 * For kprobe programs the question is which registers of struct pt_regs are read. A
 * forward analysis keeps, before each instruction, the set of registers that may hold
 * the context, and whether it may be in a stack slot. Sets only grow. An instruction is
 * looked at again when its set has grown, which it does a dozen times at most. The
 * context cannot be moved (the verifier allows no other offset when it is read), so the
 * offset of a load says which member it is.
 *
 * An opcode, mode or source bit that is not known here means "everything" as well: later
 * kernels have instructions that this one has not.
 */
#include <linux/filter.h>
#include <linux/slab.h>
#include <asm/text-patching.h>
#include "base/compat.h"
#include "base/ksyms.h"
#include "base/peek.h"
#include "scan.h"
#include "x86/detour_image.h"

#define NEEDS_ALL (TRAMP_X86_CALL_COOKIE | TRAMP_X86_CALL_IP | TRAMP_X86_CALL_NARGS)

/* Longer ones are not worth the time. */
#define MAX_INSNS	8192

/* Modes that have come since the oldest kernel's headers. */
#define MODE_PROBE_MEM		0x20
#define MODE_PROBE_MEMSX	0x40
#define MODE_MEMSX		0x80
#define MODE_PROBE_MEM32	0xa0
#define MODE_PROBE_ATOMIC	0xe0

/* The verifier's barrier against speculation, a store by its class. */
#define NOSPEC		(BPF_ST | 0xc0)

/* The modes of loads and stores that are known, a bit each. */
#define MODE(mode)	BIT((mode) >> 5)

static const u8 known_modes[] = {
	[BPF_LDX] = MODE(BPF_MEM) | MODE(MODE_MEMSX) | MODE(MODE_PROBE_MEM) |
		    MODE(MODE_PROBE_MEMSX) | MODE(MODE_PROBE_MEM32),
	[BPF_ST] = MODE(BPF_MEM) | MODE(MODE_PROBE_MEM32),
	[BPF_STX] = MODE(BPF_MEM) | MODE(BPF_ATOMIC) | MODE(MODE_PROBE_MEM32) |
		    MODE(MODE_PROBE_ATOMIC),
};

static bool known_jump(const struct bpf_insn *insn)
{
	bool imm = BPF_SRC(insn->code) == BPF_K;

	switch (BPF_OP(insn->code)) {
	case BPF_JA:
		return imm;
	case BPF_CALL:
	case BPF_EXIT:
	case BPF_TAIL_CALL:
		return imm && BPF_CLASS(insn->code) == BPF_JMP;
	default:	/* conditional ones, of which this is the last */
		return BPF_OP(insn->code) <= BPF_JSLE;
	}
}

/* Whether it is known what the instruction does. */
static bool known(const struct bpf_insn *insn)
{
	switch (BPF_CLASS(insn->code)) {
	case BPF_ALU:
	case BPF_ALU64:
		return BPF_OP(insn->code) <= BPF_END;
	case BPF_LDX:
	case BPF_ST:
	case BPF_STX:
		return insn->code == NOSPEC ||
		       (known_modes[BPF_CLASS(insn->code)] & MODE(BPF_MODE(insn->code)));
	case BPF_LD:
		return insn->code == (BPF_LD | BPF_IMM | BPF_DW);
	default:
		return known_jump(insn);
	}
}

/*
 * One function of a program. The verifier inlines bpf_get_func_arg*() and bpf_get_func_ret()
 * as loads from ctx-8 (do_misc_fixups()). So a load at offset -8 from anything but the frame
 * pointer may be one. A cookie is read by a call of one helper.
 */
static u32 scan_insns(const struct bpf_insn *insn, u32 len, unsigned long cookie_helper)
{
	u32 i, needs = 0;

	for (i = 0; i < len; i++, insn++) {
		if (!known(insn))
			return NEEDS_ALL;
		if (BPF_CLASS(insn->code) == BPF_LDX && insn->off == -8 &&
		    insn->src_reg != BPF_REG_10)
			needs |= TRAMP_X86_CALL_NARGS;
		/* The target of a tail call is chosen at run time: it may use anything. */
		if (insn->code == (BPF_JMP | BPF_TAIL_CALL))
			return NEEDS_ALL;
		if (insn->code == (BPF_JMP | BPF_CALL) && insn->src_reg == 0 &&
		    (!cookie_helper ||
		     (unsigned long)__bpf_call_base + insn->imm == cookie_helper))
			needs |= TRAMP_X86_CALL_COOKIE;
		/* The second half of it is no instruction. */
		if (insn->code == (BPF_LD | BPF_IMM | BPF_DW)) {
			i++;
			insn++;
		}
	}
	return needs;
}

/*
 * The interpreter's program and possible victims of freplace are not looked through: an
 * extension that comes later may use what the original does not. (A kprobe program is
 * none while it is attached, see slot.c; the kernel lets no fentry or fexit program be one.)
 */
u32 tramp_scan_flags(const struct bpf_prog *prog)
{
	unsigned long helper = tramp_ksyms.bpf_get_attach_cookie_tracing;
	u32 i, needs = 0;

	if (prog->type == BPF_PROG_TYPE_KPROBE)
		helper = prog->expected_attach_type ?
			 tramp_ksyms.bpf_get_attach_cookie_kprobe_multi :
			 tramp_ksyms.bpf_get_attach_cookie_trace;
	if (!prog->jited || prog->expected_attach_type == BPF_MODIFY_RETURN)
		return NEEDS_ALL;
	if (prog->call_get_func_ip)
		needs |= TRAMP_X86_CALL_IP;
	needs |= scan_insns(prog->insnsi, prog->len, helper);
	for (i = 0; i < prog->aux->func_cnt && prog->aux->func; i++)
		needs |= scan_insns(prog->aux->func[i]->insnsi, prog->aux->func[i]->len, helper);
	return needs;
}

/* Registers that may hold the context before an instruction: a bit for each, and: */
#define QUEUED		BIT(13)		/* it is to be looked at (again) */
#define ON_STACK	BIT(14)		/* it may be in a stack slot */
#define REACHED		BIT(15)		/* the instruction is reached at all */

#define REG(n)		BIT(n)
#define ARG_REGS	(REG(BPF_REG_1) | REG(BPF_REG_2) | REG(BPF_REG_3) | \
			 REG(BPF_REG_4) | REG(BPF_REG_5))

struct scan {
	const struct bpf_insn *insns;
	u32 len;
	u16 *before;
	u16 *todo;	/* the queued instructions, the last is next */
	u32 nr_todo;
	u32 regs;	/* members that are read */
	bool lost;	/* the context has got to where it cannot be followed */
};

static void reach(struct scan *s, s64 at, u16 state)
{
	u16 joined;

	if (at < 0 || at >= s->len) {
		s->lost = true;
		return;
	}
	joined = s->before[at] | state | REACHED;
	if (joined == s->before[at])
		return;
	if (!(joined & QUEUED))
		s->todo[s->nr_todo++] = at;
	s->before[at] = joined | QUEUED;
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

	if (insn->code == NOSPEC)
		return state;
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
	u16 state = s->before[at] & ~QUEUED;

	s->before[at] = state;
	if (!known(insn)) {
		s->lost = true;
		return;
	}
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
		reach(s, at + 2, state & ~REG(insn->dst_reg));
		break;
	default:
		step_jump(s, insn, at, state);
	}
}

u32 tramp_scan_regs(const struct bpf_prog *prog)
{
	struct scan s = { .insns = prog->insnsi, .len = prog->len };
	u32 steps = 0;

	BUILD_BUG_ON(MAX_INSNS > U16_MAX);
	if (!prog->jited || s.len > MAX_INSNS)
		return TRAMP_X86_REGS_ALL;
	s.before = kvcalloc(2 * s.len, sizeof(*s.before), GFP_KERNEL);
	if (!s.before)
		return TRAMP_X86_REGS_ALL;
	s.todo = s.before + s.len;

	reach(&s, 0, REG(BPF_REG_1));
	while (s.nr_todo && !s.lost) {
		step(&s, s.todo[--s.nr_todo]);
		if (++steps % 1024 == 0)
			cond_resched();
	}
	kvfree(s.before);
	return s.lost ? TRAMP_X86_REGS_ALL : s.regs;
}

/*
 * If the code at @p begins with @insn, behind that. Its first bytes may be patched meanwhile, by
 * somebody who attaches to the program.
 */
static const u8 *skip_insn(const u8 *p, const char *insn, size_t len)
{
	u8 text[5];

	tramp_peek(text, (unsigned long)p, sizeof(text));
	return memcmp(text, insn, len) ? p : p + len;
}

/*
 * The JIT's prologue: [endbr64 | nop4] nop5 (nop2 | xor %eax,%eax) push %rbp ...
 *
 * The NOP5 becomes a call or a jump when somebody attaches to the program. So it is left out
 * only where the verifier refuses that: before 6.8, at entry programs and exit programs.
 */
unsigned long tramp_prog_entry(const struct bpf_prog *prog)
{
	const u8 *p = (const u8 *)prog->bpf_func;

	if (!prog->jited)
		return (unsigned long)p;
	p = (const u8 *)tramp_behind_endbr((unsigned long)p);
	if (!TRAMP_PROGS_CAN_BE_TRACED && prog->type == BPF_PROG_TYPE_TRACING &&
	    prog->expected_attach_type != BPF_MODIFY_RETURN) {
		p = skip_insn(p, "\x0f\x1f\x44\x00\x00", 5);
		p = skip_insn(p, "\x66\x90", 2);
	}
	return (unsigned long)p;
}

/* Whether there is a jump in place of the NOP5 at the entry of one function of a program. */
static bool func_patched(const struct bpf_prog *func)
{
	const u8 *p = (const u8 *)tramp_behind_endbr((unsigned long)func->bpf_func);
	u8 first;

	/*
	 * A CALL is a tracer's, which comes back. Whatever else it is counts as a jump, also the
	 * int3 of what is just being written: images leave out less then than they might.
	 */
	tramp_peek(&first, (unsigned long)p, sizeof(first));
	return first != CALL_INSN_OPCODE && skip_insn(p, "\x0f\x1f\x44\x00\x00", 5) == p;
}

bool tramp_prog_patched(const struct bpf_prog *prog)
{
	u32 i;

	if (func_patched(prog))
		return true;
	for (i = 0; i < prog->aux->func_cnt && prog->aux->func; i++) {
		if (func_patched(prog->aux->func[i]))
			return true;
	}
	return false;
}
