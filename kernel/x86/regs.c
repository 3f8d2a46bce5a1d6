// SPDX-License-Identifier: GPL-2.0
/*
 * Kprobe programs in an image: a frame with a struct pt_regs in it, and the calls.
 *
 * The frame
 * =========
 *
 *	rbp + 16	the stack as it is at the probed instruction
 *	rbp + 8		a return address: ip + 1, or behind the function's NOP5
 *	rbp		the old rbp
 *	saved		the outer current->bpf_ctx; with the next one only
 *	run_ctx		struct bpf_trace_run_ctx; only if a program needs it
 *	...		struct pt_regs and what must be restored, see below
 *
 * An unwinder follows frame pointers in code that it knows nothing about. To it the
 * image is a function that was called where the probe is. One byte before the return
 * address is the probed instruction (so the kernel's ORC tables know how to go on), and
 * rbp + 16 is its rsp.
 *
 * The image saves and restores the flags and the nine registers that a call may change: di,
 * si, dx, cx, ax, r8 to r11. These nine stand side by side in struct pt_regs, so saving them
 * builds that part of it. Of the other members only those that programs read are there, each
 * where struct pt_regs has it. Room is left only where the layout demands it.
 *
 * All members are read:	di and si are read:	bx and r12 are read:
 *
 *	rbp - 8	  ss			rbp - 8	 flags		rbp - 8	 bx
 *	rbp - 16  sp			rbp - 16 di		rbp - 16 (bp)
 *	rbp - 24  flags			rbp - 24 si		rbp - 24 r12
 *	rbp - 32  cs			   ...			rbp - 32 flags
 *	rbp - 40  ip			rbp - 80 r11		rbp - 40 di
 *	rbp - 48  orig_ax					   ...
 *	rbp - 56  di						rbp - 104 r11
 *	  ...
 *	rbp - 120 r11
 *	rbp - 128 bx
 *	  ...
 *	rbp - 168 r15
 *
 * In the third form no register that is saved is read, so they go below what is, and `leave`
 * drops that at no cost. In the first it must be stepped over where it stands below what is
 * restored. So the flags to be restored stand next to di, in the place of orig_ax if that is
 * not read. Flags that are read are there a second time then.
 *
 * At a function's entry r10, r11 and the flags are not saved, but are there if they are read.
 *
 * The code, with one program that reads all
 * =========================================
 *
 *	push	%rbp
 *	mov	%rsp, %rbp
 *	push	$ss
 *	push	%rbp
 *	pushfq					(1)
 *	clac					(2)
 *	cld
 *	cli					(3)
 *	addq	$16, -16(%rbp)			sp: rbp + 16
 *	push	$cs
 *	push	$(ip + 1)
 *	push	$-1				orig_ax: no system call
 *	push	%rdi, %rsi, %rdx, %rcx, %rax, %r8 ... %r11
 *	push	%rbx
 *	push	(%rbp)				bp
 *	push	%r12 ... %r15
 *	...					guard and programs, see guard.c
 *	mov	-56(%rbp), %rdi			(4)
 *	...
 *	mov	-120(%rbp), %r11
 *	lea	-24(%rbp), %rsp
 *	popfq					(5)
 *	leave
 *
 * At a function's entry there are no clac, cld, cli, lea and popfq.
 *
 * (1) Up to here nothing may change a flag, and behind (5) neither: hence lea where
 *     add would do.
 *
 * (2) The kernel's C code counts on DF being 0, and on AC being 0 where it does not
 *     access user memory (and schedules). The probe may be anywhere.
 *
 * (3) Programs run as in the kernel's int3, where interrupts are off (guard.c). Up to
 *     here one may come, and another task run, on whatever CPU: there is nothing of ours
 *     yet but what is on the stack. From here to (5) only an NMI comes in between, or a
 *     fault that a program makes and that is fixed up. Either leaves everything as it
 *     was. (5) turns interrupts on again where they were on.
 *     A kprobe at a function's entry goes through ftrace, which leaves interrupts as
 *     they are. So do we: only preemption is off around the programs.
 *
 * (4) Or pops, which are shorter, where that takes no more instructions.
 */
#include "detour_image.h"
#include "fentry_req.h"
#include "regs.h"

#define MEMBER(n)	(1u << (n))
/* Registers that a call may change, and those of them that mean something at an entry. */
#define CALL_SAVED	(MEMBER(TRAMP_M_DI + 1) - MEMBER(TRAMP_M_R11))
#define ENTRY_SAVED	(CALL_SAVED & -MEMBER(TRAMP_M_R9))
/* Where a function's result may be. */
#define RET_SAVED	(MEMBER(TRAMP_M_AX) | MEMBER(TRAMP_M_DX))

/* The general-purpose ones among them; 0 (rax) where there is none. */
static const u8 reg_of[TRAMP_NR_MEMBERS] = {
	TASM_R15, TASM_R14, TASM_R13, TASM_R12, 0, TASM_RBX, TASM_R11, TASM_R10, TASM_R9,
	TASM_R8, TASM_RAX, TASM_RCX, TASM_RDX, TASM_RSI, TASM_RDI,
};

/* Programs that look into their run context; newer kernels' bpf_get_func_ip() does. */
#define NEED_RUN_CTX	(TRAMP_X86_CALL_COOKIE | TRAMP_X86_CALL_IP)
#define CALL_FLAGS	(NEED_RUN_CTX | TRAMP_X86_CALL_NARGS)

/* Of a session, from rbp: what the program returned. Its cookie is above. */
#define SESSION_RESULT	(-24)

/* The frame ------------------------------------------------------------- */

static void place(struct tramp_regs *r, struct tramp_guard *g, u32 at, u32 room, bool read,
		  bool saved)
{
	struct tramp_regs_member *m = &r->stack[r->nr++];

	*m = (struct tramp_regs_member){ .what = at, .room = room, .saved = saved };
	if (saved && !(CALL_SAVED & MEMBER(at)))
		m->what = TRAMP_M_FLAGS;
	r->bottom -= (s32)room + 8;
	if (m->what == TRAMP_M_SP)
		r->sp = r->bottom;
	if (read)
		g->ctx = r->bottom - 8 * (s32)at;
}

/*
 * The members that are @read and those that are @saved, in their order. Between two
 * of them there is room for those that are neither, if one above and one below is
 * read. One in @saved that is no register stands for the flags.
 */
static void place_all(struct tramp_regs *r, struct tramp_guard *g, u32 read, u32 saved)
{
	u32 at, last = TRAMP_NR_MEMBERS, room;

	for (at = TRAMP_NR_MEMBERS; at-- > 0; ) {
		if (!((read | saved) & MEMBER(at)))
			continue;
		room = 8 * (last - at - 1);
		if (read < MEMBER(at + 1) || !(read & (MEMBER(at + 1) - 1)))
			room = 0;
		place(r, g, at, room, read & MEMBER(at), saved & MEMBER(at));
		last = at;
	}
}

/* The form that needs the fewest instructions; see above. */
static void place_members(struct tramp_regs *r, struct tramp_guard *g)
{
	u32 regs = r->any ? CALL_SAVED : r->ret ? RET_SAVED : ENTRY_SAVED;
	u32 flags_at = TRAMP_M_ORIG_AX;
	bool ends_in_flags = r->any && (r->read & MEMBER(TRAMP_M_FLAGS)) &&
			     !(r->read & (MEMBER(TRAMP_M_FLAGS) - 1));
	bool apart;

	if (r->more)
		regs |= MEMBER(TRAMP_M_R11);
	apart = !(r->read & regs) && !ends_in_flags;
	if (!apart && (ends_in_flags || (r->read & MEMBER(TRAMP_M_ORIG_AX))))
		flags_at = TRAMP_M_FLAGS;
	if (r->any)
		regs |= MEMBER(flags_at);
	if (apart)
		place_all(r, g, r->read, 0);
	place_all(r, g, apart ? 0 : r->read, regs);
}

/* Above the members are room for the outer context, a session's words, the run context. */
static void place_run_ctx(struct tramp_regs *r, struct tramp_guard *g)
{
	const struct tramp_x86_env *env = g->env;
	u32 flags = tramp_x86_flags_of(r->progs, r->nr_progs);
	bool multi = flags & TRAMP_X86_CALL_MULTI;

	g->run_ctx_flags = NEED_RUN_CTX | (r->session ? TRAMP_X86_CALL_MULTI : 0);
	if (!(flags & g->run_ctx_flags))
		return;
	r->run_ctx_words = 1 + (r->session ? 2 : 0) +
			   (multi ? env->multi_ctx_size : env->trace_ctx_size) / 8;
	r->session_cookie = -16;
	r->bottom = -8 * (s32)r->run_ctx_words;
	g->saved = -8;
	g->result = SESSION_RESULT;
	g->run_ctx = r->bottom;
	/* Of many functions each has its own, see fill_run_ctx(). */
	g->cookie = r->many ? 0 : g->run_ctx + (s32)env->trace_ctx_cookie;
}

void tramp_regs_lay_out(struct tramp_regs *r, struct tramp_guard *g)
{
	const struct tramp_x86_env *env = g->env;

	g->nmi = r->any;
	g->ctx_addr = 0;
	place_run_ctx(r, g);
	place_members(r, g);
	g->ctx_addr = 0;
	/* programs that read nothing get a context all the same */
	if (!r->read) {
		g->ctx = r->bottom;
		g->ctx_addr = r->nr_progs ? env->no_regs : 0;
	}
}

/* Code ------------------------------------------------------------------ */

/* add would change flags */
static void move_rsp(struct tasm *a, s32 by)
{
	if (by)
		tasm_lea(a, TASM_RSP, tasm_at(TASM_RSP, by));
}

/* It was pushed as rbp. */
static void correct_sp(const struct tramp_regs *r, struct tasm *a)
{
	if (r->read & MEMBER(TRAMP_M_SP))
		tasm_mem_op(a, TASM_ADD_IMM8, true, tasm_at(TASM_RBP, r->sp), 16);
}

static void push_flags(const struct tramp_regs *r, const struct tramp_guard *g, struct tasm *a,
		       bool saved)
{
	tasm_op(a, TASM_PUSHFQ);
	if (saved) {
		/* from here on they may change */
		if (g->env->smap)
			tasm_op(a, TASM_CLAC);
		tasm_op(a, TASM_CLD);
		tasm_op(a, TASM_CLI);
	}
	if (saved || !r->any)
		correct_sp(r, a);
}

static void push_member(const struct tramp_regs *r, const struct tramp_guard *g, struct tasm *a,
			const struct tramp_regs_member *m)
{
	switch (m->what) {
	case TRAMP_M_SS:
		tasm_push_imm(a, g->env->ss);
		break;
	case TRAMP_M_SP:
		tasm_push(a, TASM_RBP);
		/* not before the flags have been pushed */
		if (!r->any && !(r->read & MEMBER(TRAMP_M_FLAGS)))
			correct_sp(r, a);
		break;
	case TRAMP_M_FLAGS:
		push_flags(r, g, a, m->saved);
		break;
	case TRAMP_M_CS:
		tasm_push_imm(a, g->env->cs);
		break;
	case TRAMP_M_IP:
		if (r->many || r->ret)
			tasm_mem_op(a, TASM_PUSH_MEM, false, tasm_at(TASM_RBP, 8), 0);
		else
			tasm_push_imm(a, r->ip);
		break;
	case TRAMP_M_ORIG_AX:
		tasm_push_imm(a, r->orig_ax);
		break;
	case TRAMP_M_BP:
		tasm_mem_op(a, TASM_PUSH_MEM, false, tasm_at(TASM_RBP, 0), 0);
		break;
	default:
		tasm_push(a, reg_of[m->what]);
	}
}

static void emit_save(const struct tramp_regs *r, struct tramp_guard *g)
{
	struct tasm *a = &g->hot.a;
	u32 i;

	tasm_push(a, TASM_RBP);
	tasm_mov(a, TASM_RBP, TASM_RSP);
	for (i = 0; i < r->run_ctx_words; i++)
		tasm_push_imm(a, 0);
	for (i = 0; i < r->nr; i++) {
		move_rsp(a, -(s32)r->stack[i].room);
		push_member(r, g, a, &r->stack[i]);
	}
}

/*
 * rcx = the function's address. Its entry is 5 bytes before the return address, and an ENDBR
 * may be in front of that, which the kernel may have made another instruction.
 */
static void load_func(const struct tramp_regs *r, struct tramp_guard *g)
{
	const struct tramp_x86_env *env = g->env;
	struct tasm_label found = TASM_LABEL_INIT;
	struct tramp_part *p = &g->hot;
	struct tasm *a = &p->a;

	if (r->ret)
		tasm_mov(a, TASM_RCX, TASM_R11);
	else
		tasm_load(a, TASM_RCX, tasm_at(TASM_RBP, 8));
	if (env->endbr) {
		tasm_lea(a, TASM_RCX, tasm_at(TASM_RCX, -9));
		/* Its number as an operand would be one more ENDBR, for forged pointers. */
		tasm_mov_imm(a, TASM_RAX, (u32)-env->endbr);
		tasm_add32(a, TASM_RAX, tasm_at(TASM_RCX, 0));
		tramp_part_forget_rax(p);
		tasm_branch_label(a, TASM_JE, &found);
		tasm_mem_op(a, TASM_CMP_IMM32, false, tasm_at(TASM_RCX, 0),
			    (s32)env->endbr_poison);
		tasm_branch_label(a, TASM_JE, &found);
		tasm_lea(a, TASM_RCX, tasm_at(TASM_RCX, 4));
	} else {
		tasm_lea(a, TASM_RCX, tasm_at(TASM_RCX, -5));
	}
	tramp_part_bind(p, &found);
}

static void fill_multi_ctx(const struct tramp_regs *r, struct tramp_guard *g)
{
	const struct tramp_x86_env *env = g->env;
	struct tasm *a = &g->hot.a;
	s32 ctx = g->run_ctx;

	tasm_store(a, tasm_at(TASM_RBP, ctx + (s32)env->multi_ctx_ip), TASM_RCX);
	tasm_mov_imm(a, TASM_RAX, r->link);
	tasm_store(a, tasm_at(TASM_RBP, ctx + (s32)env->multi_ctx_link), TASM_RAX);
	tramp_part_forget_rax(&g->hot);
	if (!r->session)
		return;
	if (r->ret) {
		tasm_store(a, tasm_at(TASM_RBP, r->session_cookie), TASM_R10);
		tasm_mem_op(a, TASM_STORE_IMM32, false,
			    tasm_at(TASM_RBP, ctx + (s32)env->multi_ctx_is_return), 1);
	}
	tasm_lea(a, TASM_RAX, tasm_at(TASM_RBP, r->session_cookie));
	tasm_store(a, tasm_at(TASM_RBP, ctx + (s32)env->multi_ctx_data), TASM_RAX);
}

/*
 * Of many functions: what helpers find in the run context. A program that was not loaded for
 * many has no helper for the function's address: it finds that in orig_ax. Everything that
 * matters has been pushed, so registers are free.
 */
static void fill_run_ctx(const struct tramp_regs *r, struct tramp_guard *g)
{
	u32 flags = tramp_x86_flags_of(r->progs, r->nr_progs);
	const struct tramp_x86_env *env = g->env;
	struct tasm *a = &g->hot.a;

	bool in_regs = !(flags & TRAMP_X86_CALL_MULTI) && (r->read & MEMBER(TRAMP_M_ORIG_AX));

	if (!r->many || (!r->run_ctx_words && !in_regs))
		return;
	load_func(r, g);
	if (in_regs)
		tasm_store(a, tasm_at(TASM_RBP, g->ctx + 8 * TRAMP_M_ORIG_AX), TASM_RCX);
	if (!r->run_ctx_words)
		return;
	if (flags & TRAMP_X86_CALL_MULTI) {
		fill_multi_ctx(r, g);
		return;
	}
	tasm_mov(a, TASM_RSI, TASM_RCX);
	tasm_mov_imm(a, TASM_RDI, r->link);
	tramp_guard_call(g, &g->hot, env->multi_cookie);
	tasm_store(a, tasm_at(TASM_RBP, g->run_ctx + (s32)env->trace_ctx_cookie), TASM_RAX);
}

static void emit_programs(const struct tramp_regs *r, struct tramp_guard *g, u32 *call_off)
{
	u32 i, nr;

	g->call_off = call_off;
	for (i = 0; call_off && i < 2 * r->nr_progs; i++)
		call_off[i] = 0;
	tramp_guard_open(g);
	for (i = 0; i < r->nr_progs; i += nr) {
		for (nr = 1; i + nr < r->nr_progs; nr++)
			if (r->progs[i + nr].active != r->progs[i].active)
				break;
		tramp_guard_programs(g, &r->progs[i], nr, r->session && !r->ret);
	}
	tramp_guard_close(g);
}

/* The other way round; what is above the flags goes with rbp's frame. */
static void pop_saved(const struct tramp_regs *r, struct tasm *a)
{
	const struct tramp_regs_member *m = &r->stack[r->nr];
	s32 skip = 0;

	do {
		m--;
		if (!m->saved) {
			skip += 8 + m->room;
			continue;
		}
		move_rsp(a, skip);
		if (m->what == TRAMP_M_FLAGS)
			break;
		tasm_pop(a, reg_of[m->what]);
		skip = m->room;
	} while (m > r->stack);
}

/* One instruction for each register, one for rsp. */
static void load_saved(const struct tramp_regs *r, struct tasm *a)
{
	s32 flags = 0, at = -8 * (s32)r->run_ctx_words;
	u32 i;

	for (i = 0; i < r->nr; i++) {
		const struct tramp_regs_member *m = &r->stack[i];

		at -= 8 + (s32)m->room;
		if (m->saved && m->what == TRAMP_M_FLAGS)
			flags = at;
		else if (m->saved)
			tasm_load(a, reg_of[m->what], tasm_at(TASM_RBP, at));
	}
	if (r->any)
		tasm_lea(a, TASM_RSP, tasm_at(TASM_RBP, flags));
}

/* Members below the saved ones, or among them, take an instruction each to skip. */
static bool pops_are_fewer(const struct tramp_regs *r)
{
	bool gap = false;
	u32 i, moves = 0;

	for (i = r->nr; i-- > 0; ) {
		const struct tramp_regs_member *m = &r->stack[i];

		if (m->saved) {
			moves += gap;
			gap = m->room;
			if (m->what == TRAMP_M_FLAGS)
				break;
		} else {
			gap = true;
		}
	}
	/* Loads take one for rsp, where `leave` does not do that. */
	return moves <= r->any;
}

static void emit_restore(const struct tramp_regs *r, struct tramp_guard *g)
{
	struct tasm *a = &g->hot.a;

	if (pops_are_fewer(r))
		pop_saved(r, a);
	else
		load_saved(r, a);
	if (r->any)
		tasm_op(a, TASM_POPFQ);
	tasm_op(a, TASM_LEAVE);
	tramp_part_forget_rax(&g->hot);
	g->called = false;
}

void tramp_regs_emit(const struct tramp_regs *r, struct tramp_guard *g, u32 *call_off)
{
	emit_save(r, g);
	fill_run_ctx(r, g);
	emit_programs(r, g, call_off);
	if (r->session && !r->ret) {
		tasm_load(&g->hot.a, TASM_R10, tasm_at(TASM_RBP, r->session_cookie));
		tasm_load(&g->hot.a, TASM_R11, tasm_at(TASM_RBP, SESSION_RESULT));
	}
	emit_restore(r, g);
}

/* The request ------------------------------------------------------------ */

static bool check_run_ctx(const struct tramp_x86_env *env)
{
	return env->trace_ctx_size <= TRAMP_X86_MAX_RUN_CTX && env->trace_ctx_size % 8 == 0 &&
	       env->trace_ctx_cookie <= env->trace_ctx_size &&
	       env->trace_ctx_size - env->trace_ctx_cookie >= 8 &&
	       env->task_bpf_ctx <= 0x7fffffff;
}

static bool multi_ctx_has(const struct tramp_x86_env *env, u32 offset)
{
	return offset <= env->multi_ctx_size && env->multi_ctx_size - offset >= 8;
}

/* is_return is written as 4 bytes: behind it is room before data. */
static bool check_multi_ctx(const struct tramp_x86_env *env)
{
	return env->multi_ctx_size && env->multi_ctx_size <= TRAMP_X86_MAX_RUN_CTX &&
	       env->multi_ctx_size % 8 == 0 && multi_ctx_has(env, env->multi_ctx_ip) &&
	       multi_ctx_has(env, env->multi_ctx_link) &&
	       (!env->has_session || (multi_ctx_has(env, env->multi_ctx_data) &&
				      env->multi_ctx_is_return + 8ULL <= env->multi_ctx_data)) &&
	       env->task_bpf_ctx <= 0x7fffffff;
}

/* Programs of many functions: all find their data in the same way. */
static bool check_many(const struct tramp_x86_env *env, const struct tramp_x86_call *progs, u32 nr)
{
	u32 i, flags = 0;

	for (i = 0; i < nr; i++) {
		flags |= progs[i].flags;
		if ((progs[i].flags ^ progs[0].flags) & TRAMP_X86_CALL_MULTI ||
		    progs[i].link != progs[0].link)
			return false;
	}
	if (flags & TRAMP_X86_CALL_MULTI)
		return check_multi_ctx(env);
	return !(flags & NEED_RUN_CTX) || env->multi_cookie;
}

bool tramp_regs_check(const struct tramp_x86_env *env, const struct tramp_x86_call *progs,
		      u32 nr, u32 read, bool many)
{
	u32 i, known = CALL_FLAGS | (many ? TRAMP_X86_CALL_MULTI : 0);

	if (nr > TRAMP_X86_MAX_PROGS || (read & ~TRAMP_X86_REGS_ALL))
		return false;
	if (nr && !tramp_x86_check_env(env))
		return false;
	for (i = 0; i < nr; i++) {
		if ((progs[i].flags & ~known) || !progs[i].func)
			return false;
		if ((progs[i].flags & NEED_RUN_CTX) && !check_run_ctx(env))
			return false;
	}
	return !many || check_many(env, progs, nr);
}
