/* SPDX-License-Identifier: GPL-2.0 */
/*
 * One path through an image, and its next instruction: between paths.c, which knows the flow of
 * control, and path_data.c, which knows data. See paths.h.
 */
#ifndef SELFTESTS_FUZZ_PATH_H
#define SELFTESTS_FUZZ_PATH_H

#include "../../kernel/x86/asm.h"
#include "../../kernel/x86/insn.h"
#include "paths.h"

#define PATH_REGS	16
#define PATH_BIT(n)	(1ULL << (n))

/*
 * A place of the stack is a number that rises as the stack grows down. The return address of the
 * image, or of a layer in it, is at this one, so that 0 means none.
 */
#define PATH_TOP	64

/* A word of the stack for each place up to this many times 8; deeper ones are not known. */
#define PATH_WORDS	64

enum path_what {
	PATH_ANY,
	PATH_NUMBER,	/* that number */
	PATH_RETURN,	/* the return address that is above the frame */
	PATH_RBP,	/* the caller's rbp */
	PATH_SP,	/* the frame's rbp, and so much was added to it */
	PATH_FLAGS,	/* 1: as they were in the beginning */
	PATH_ENDBR,	/* of one of many functions: where an ENDBR may be; 1, 2: asked for both */
	PATH_FUNC,	/* its address */
	PATH_COOKIE,	/* what multi_cookie() returned for it */
	PATH_STACK_ARG,	/* the function's stack argument of that number; | HALF: 32 bits of it */
	PATH_RESULT,	/* what the program returned, 0 if it was missed */
	PATH_SESSION,	/* a session's cookie, 0 if it was missed */
	PATH_WATCHING,	/* what rcu_watching() returned */
	PATH_PLACE,	/* the address of that place */
};

#define PATH_HALF	(1ULL << 32)

/* Flags tell of programs: whether this is 0. */
enum path_asks {
	PATH_ASKS_NOTHING,
	PATH_ASKS_COUNTER,	/* a recursion counter */
	PATH_ASKS_BOTH,		/* or statistics */
	PATH_ASKS_STATS,	/* statistics alone */
	PATH_ASKS_RCU,		/* rcu_watching() */
	PATH_ASKS_ENTER,	/* enter() */
};

/* The answer: whether the next program is timed. */
enum path_stats {
	PATH_STATS_UNKNOWN,
	PATH_STATS_OFF,
	PATH_STATS_ON,
	PATH_STATS_IF_FREE,	/* they are on if the counter is free */
};

/* The answer: whether programs run or are missed. */
enum path_found {
	PATH_FOUND_NOTHING,
	PATH_FREE,		/* the counter is free */
	PATH_UP,		/* it is up */
	PATH_UNWATCHED,		/* RCU does not watch */
	PATH_ADMITTED,		/* by enter() */
	PATH_REFUSED,
};

/* A word of the stack, or a register. */
struct path_word {
	u8 what;
	u64 number;
};

#define PATH_WORD(what_, number_) \
	((struct path_word){ .what = PATH_##what_, .number = (number_) })

/*
 * struct path - what is known in front of an instruction
 *
 * Where two ways meet, they must agree about these:
 * @depth: where rsp is
 * @frame: where rbp points to, 0: it is the caller's
 * @preempt: what was added to the preemption counter
 * @inflight: what was added to the counter of calls inside
 * @uncounted: calls that call depth accounting has seen, without those that there were
 * @active: how often a recursion counter was taken
 * @active_off: which one
 * @layer: how many layers of sessions are around
 * @entered: with kernel policy, the program between enter() and exit(), from 1
 * @counted: the program whose run was counted, from 1
 * @after: the original has returned, or what stands for it in a layer
 * @own_ctx: current->bpf_ctx is the run context of the frame
 * @run_ctx: the place of that, or of the one that enter() got
 * @timed: a program is timed
 * @rcu: RCU was told
 * @told: checkers were told of a probe
 * @irqs_off: interrupts are off
 *
 * Of these only what both ways know is known behind them:
 * @intact: registers that have what they had in the beginning; behind the original, rax and rdx
 *	that have what it left there
 * @where: places where that is, 0: nowhere
 * @known: registers with a known number
 * @value: these, of the first eight
 * @flags: the flags are those from the beginning
 * @flags_at: the place where they are
 * @rbp_at: the place of the caller's rbp
 * @ctx: the place that rdi points to
 * @frame_addr: the place in the frame that rdx points to
 * @rsi_addr: the one that rsi points to
 * @outer: rdx is the outer current->bpf_ctx
 * @outer_at: the place where that is
 * @start_in_rax: rax is what stats_enter() or enter() returned
 * @start_in_rsi: rsi is
 * @start_at: the place where that is
 * @count_in_rcx: rcx is a recursion counter
 * @looked_at: the one that was looked at last
 * @found: an enum path_found of it, or of the next program. That programs may run is not known
 *	any more behind a call, and nothing is where preemption was changed
 * @asked: RCU watches, for the next program
 * @stats: an enum path_stats
 * @task: rcx is the current task
 * @rax_in_rcx: rcx has what rax is to have
 * @ret_in_r11: r11 is the image's return address
 * @back: where r10 leads to in the image
 * @r10_at: the place of r10 on the stack, as a return address
 * @r11_at: the place of r11 above it, where to go first
 * @jcc: the only conditional jump that makes sense of the flags; 0: they tell nothing
 * @asks: an enum path_asks that they tell of then
 * @due: it has to come next, and asks whether to reschedule
 * @reg: what is in registers
 * @word: what is in the words of the stack: an enum path_what
 * @number: and its number
 * @last: the program that was called, from 1; 0: none since a counter was taken
 * @done: programs that ran or were missed, at the entry
 * @done_after: sessions likewise, at the return
 *
 * And all that one of the ways may have done:
 * @maybe: programs that ran or were missed, at the entry
 * @maybe_after: sessions likewise, at the return
 */
struct path {
	s32 depth, frame, preempt, inflight, uncounted, run_ctx;
	u32 active;
	u64 active_off, looked_at;
	u32 layer, entered, counted;
	bool after, own_ctx, timed, rcu, told, irqs_off;

	u32 intact, known;
	s32 where[PATH_REGS];
	u64 value[8];
	bool flags, task, rax_in_rcx, ret_in_r11, outer, start_in_rax, start_in_rsi;
	bool count_in_rcx, asked, due;
	u8 jcc, asks, found, stats;
	s32 flags_at, rbp_at, ctx, r10_at, r11_at, frame_addr, rsi_addr, outer_at, start_at;
	u32 back, last;
	struct path_word reg[PATH_REGS];
	u8 word[PATH_WORDS];
	u64 number[PATH_WORDS];
	u64 done, done_after;
	u64 maybe, maybe_after;
};

/**
 * struct path_op - an instruction with a memory operand, taken apart
 * @code: the opcode, its map in bits 8 and above
 * @reg: the register in ModRM, or the extension of the opcode
 * @rm: the register of the operand, or the one its address is relative to (enum tasm_reg)
 * @mem: it is in memory
 * @gs: with the gs segment prefix
 * @wide: 64 bits
 * @disp: the displacement
 * @imm: the immediate
 */
struct path_op {
	u32 code, reg, rm;
	bool mem, gs, wide;
	s32 disp;
	s64 imm;
};

struct path_op path_op(const struct tramp_x86_insn *insn);

/* The place of a memory operand relative to rbp. */
static inline s32 path_place(const struct path *s, s32 disp)
{
	FUZZ_CHECK(s->frame);
	return s->frame - disp;
}

/* The task stays on its CPU. A probe's programs run as in an NMI. */
static inline bool path_stays(const struct paths *p, const struct path *s)
{
	return s->preempt == (p->req ? 1 : p->img->env->nmi_count) && s->irqs_off == !p->req;
}

/* A recursion counter is looked at. */
static inline void path_look(struct path *s, u64 off)
{
	s->looked_at = off;
	s->found = PATH_FOUND_NOTHING;
}

/* A register gets something that is not known. */
void path_lose(struct path *s, u32 reg);

/* A function was called: only what it must keep is still there. */
void path_called(struct path *s);

/* One instruction that goes on behind itself. @at: where it is */
void path_data(const struct paths *p, struct path *s, const struct tramp_x86_insn *insn, u64 at);

/*
 * The offset of a per-CPU operand; a change of what is there; a compare of other memory; an ENDBR
 * compared without its number.
 */
u64 path_percpu(const struct path *s, const struct path_op *op);
void path_count(const struct paths *p, struct path *s, const struct path_op *op);
void path_compare(const struct paths *p, struct path *s, const struct path_op *op, u64 end);
void path_add_endbr(const struct paths *p, struct path *s, const struct path_op *op);

/* Words of the stack: a place has one now; it has that one; something was written there. */
void path_word_set(struct path *s, s32 place, struct path_word word);
struct path_word path_word_at(const struct path *s, s32 place);
bool path_word_is(const struct path *s, s32 place, enum path_what what, u64 number);
void path_words_stored(struct path *s, s32 place);

/* rsp has risen; two ways meet. */
void path_words_raised(struct path *s);
void path_words_meet(struct path *to, const struct path *from);

/* The word at @disp(%rbp). */
struct path_word path_operand(const struct path *s, s32 disp);

/* lea disp(%rcx), %rcx: on the way from a return address to the function's. */
void path_func(const struct paths *p, struct path *s, s32 disp);

/* As tramp_x86_model_slots() has it, of prototypes that are fine. */
u32 path_slots(const struct tramp_x86_model *m, u8 *from, u32 *nr_stack);

/* Where the frame has the result: behind registers that the prototype does not tell of. */
s32 path_result(const struct paths *p, const struct path *s);

/* The run context is as the program has to find it. @on_regs: it is a kprobe program */
void path_check_run_ctx(const struct paths *p, const struct path *s, const struct tramp_x86_call *c,
			bool on_regs, bool session);

/* At a place where the image hands over: nothing of it is under way. */
void path_clean(const struct path *s);

/* A call of anything but the original, or the image itself. */
void path_call(const struct paths *p, struct path *s, u64 dest);

#endif /* SELFTESTS_FUZZ_PATH_H */
