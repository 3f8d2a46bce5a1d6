// SPDX-License-Identifier: GPL-2.0
/*
 * Kprobe programs at a function's return, and images of many functions.
 *
 * At the return
 * =============
 *
 * An exit image (fentry_image.c) calls the original. When all else is done it has taken down its
 * frame and its own return address. So the registers and the stack are as the function left
 * them at its `ret`, and each of these programs finds them so:
 *
 *	nopl	0x0(%rax,%rax,1)		or jmp left_out
 *	push	%rbp				the frame of regs.c
 *	mov	%rsp, %rbp
 *	...					struct pt_regs, guard and program
 *	leave
 * left_out:
 *	...					the next program
 *	ret					to the function's caller
 *
 * ip is the return address, sp is what it will be behind the `ret`, orig_ax is -1, as the
 * kernel's rethook has them (arch/x86/kernel/rethook.c). The image has counted the call out
 * already. That is right since these programs cannot sleep. A task in them can only be preempted,
 * and grace periods wait for such tasks (base/retire.c).
 *
 * One of many functions
 * =====================
 *
 * A program that is attached to many functions (struct tramp_x86_call::link is set) may run in
 * the image of a single one. At the entry it has a frame of its own, and at the return r11 is
 * set to what the image's return address was. So it finds all it needs as in an image of many.
 *
 * Sessions come behind the kprobe programs of the entry. Each is a layer around what follows:
 *
 *	...					the session at the entry
 *	push	%rbp				as below
 *	...
 *	call	inner				or the original, if nothing else is to run
 *	...					the session at the return
 *	ret					behind the outermost: programs at the return first
 * inner:
 *	push	$original			as if the function had called
 *	...					the next session, or the programs of tracing type
 *
 * The function has no argument on the stack: those of many are known to have none. So nothing
 * misses the words that a layer puts there. Only the outermost layer counts the call as inside.
 * It does so before anything can block, and the other layers are within it.
 *
 * Many functions
 * ==============
 *
 * The image learns from its own return address which function has called it. Entry:
 *
 *	...					the frame of regs.c: guard and program
 *	ret					into the function
 *
 * Return; a session has the same with its entry in front, and what is marked (s):
 *
 *	push	%rbp
 *	mov	%rsp, %rbp
 *	push	%r11				(s) what it returned at the entry
 *	push	%r10				(s) its cookie
 *	incq	%gs:inflight
 *	mov	8(%rbp), %r11
 *	call	*%r11				the original, behind its NOP5
 *	mov	%rax, %rcx			(1)
 *	decq	%gs:inflight
 *	mov	%rcx, %rax
 *	mov	8(%rbp), %r11			for regs.c
 *	cmpq	$0, -8(%rbp)			(s)
 *	jne	skipped				(s) leave, lea, and to left_out
 *	mov	-16(%rbp), %r10			(s)
 *	leave
 *	lea	8(%rsp), %rsp			the image's own return address
 *	...					at the return, as above
 *	ret					to the function's caller
 *
 * Between the entry and the call no argument register changes, so none is saved. The count is
 * up before anything that can block: up to there a task can only be preempted.
 *
 * (1) Per-CPU operands may need rax.
 *
 * An indirect call may be forbidden: by IBT, since no ENDBR follows the NOP5, or by a mitigation.
 * Then the image pushes where to return to and where to go. It goes there by the return that
 * the kernel has chosen. The CPU even predicts that: its last call was the one into the image.
 * Call depth accounting sees one return more, so one call more is counted.
 */
#include "regs.h"
#include "ret.h"

#define SESSION_RESULT	(-8)
#define SESSION_COOKIE	(-16)

/* The programs that run before those at the return. */
static u32 nr_before(const struct tramp_x86_fentry_req *req)
{
	return req->nr_kprobe + req->nr_fentry + req->nr_fmod_ret + req->nr_fexit;
}

static u32 *calls_of(const struct tramp_x86_fentry_out *out, u32 index)
{
	return out->call_off ? out->call_off + 2 * index : NULL;
}

/*
 * One program, and the way around it. @index: its place among those at the return. A session's
 * calls come behind those of all other programs, and of sessions at the entry.
 */
static void emit_one(const struct tramp_x86_fentry_req *req, struct tramp_guard *g,
		     struct tramp_x86_fentry_out *out, const struct tramp_x86_call *prog, u32 index)
{
	bool session = index >= req->nr_kret;
	struct tramp_regs regs = {
		.progs = prog,
		.nr_progs = 1,
		.read = req->ret_regs,
		.orig_ax = -1,
		.ret = true,
		.many = req->many || prog->link,
		.more = req->many && index + 1 < req->nr_kret,
		.session = session,
		.link = prog->link,
	};
	u32 at = req->nr_fexit + index;

	if (out->skip_off)
		out->skip_off[at] = g->hot.a.off;
	tasm_nop5(&g->hot.a);
	if (regs.many && !req->many && !session)
		tasm_mov_imm(&g->hot.a, TASM_R11, req->orig);
	tramp_regs_lay_out(&regs, g);
	tramp_regs_emit(&regs, g,
			calls_of(out, nr_before(req) + index + (session ? req->nr_session : 0)));
	if (out->skip_to)
		out->skip_to[at] = g->hot.a.off;
	tramp_part_forget_rax(&g->hot);
}

void tramp_ret_emit(const struct tramp_x86_fentry_req *req, struct tramp_guard *g,
		    struct tramp_x86_fentry_out *out)
{
	u32 i;

	for (i = 0; i < req->nr_kret; i++)
		emit_one(req, g, out, &req->kret[i], i);
}

static void emit_entry(const struct tramp_x86_fentry_req *req, struct tramp_guard *g,
		       const struct tramp_x86_call *progs, u32 nr, bool session, u32 *call_off)
{
	struct tramp_regs regs = {
		.progs = progs,
		.nr_progs = nr,
		.read = req->regs,
		.many = true,
		.session = session,
		.link = progs->link,
	};

	tramp_regs_lay_out(&regs, g);
	tramp_regs_emit(&regs, g, call_off);
}

/* A session at the entry. */
static void emit_session_entry(const struct tramp_x86_fentry_req *req, struct tramp_guard *g,
			       struct tramp_x86_fentry_out *out, u32 index)
{
	emit_entry(req, g, &req->session[index], 1, true,
		   calls_of(out, nr_before(req) + req->nr_kret + index));
}

/* Count up or down, without a change of rax. */
static void count(const struct tramp_x86_fentry_req *req, struct tramp_guard *g,
		  enum tasm_mem_op op)
{
	bool keep = op == TASM_DEC && !tasm_fits_s32((s64)req->inflight);
	struct tramp_part *p = &g->hot;

	if (keep)
		tasm_mov(&p->a, TASM_RCX, TASM_RAX);
	tasm_mem_op(&p->a, op, true, tramp_part_percpu(p, req->inflight), 0);
	if (!keep)
		return;
	tasm_mov(&p->a, TASM_RAX, TASM_RCX);
	tramp_part_forget_rax(p);
}

/* Go to the address in r11 and come back behind this. */
static void call_r11(struct tramp_guard *g)
{
	const struct tramp_x86_env *env = g->env;
	struct tasm_label back = TASM_LABEL_INIT;
	struct tramp_part *p = &g->hot;

	tramp_guard_count_call(g, p);
	if (!env->no_indirect) {
		tasm_call_reg(&p->a, TASM_R11);
		tramp_part_forget_rax(p);
		return;
	}
	tramp_guard_count_call(g, p);
	tasm_lea_label(&p->a, TASM_R10, &back);
	tasm_push(&p->a, TASM_R10);
	tasm_push(&p->a, TASM_R11);
	tramp_guard_return(g);
	tramp_part_bind(p, &back);
}

/* Take down the frame and the image's own return address, without a change of flags. */
static void leave_frame(struct tasm *a)
{
	tasm_op(a, TASM_LEAVE);
	tasm_lea(a, TASM_RSP, tasm_at(TASM_RSP, 8));
}

/* Up to the call. A session's words are in r10 and r11. */
static void open_frame(struct tramp_guard *g, bool session)
{
	struct tasm *a = &g->hot.a;

	tasm_push(a, TASM_RBP);
	tasm_mov(a, TASM_RBP, TASM_RSP);
	if (session) {
		tasm_push(a, TASM_R11);
		tasm_push(a, TASM_R10);
	}
}

/* The original, of which only the image's return address tells where it is. */
static void emit_call(const struct tramp_x86_fentry_req *req, struct tramp_guard *g,
		      struct tramp_x86_fentry_out *out, bool session)
{
	struct tasm *a = &g->hot.a;

	open_frame(g, session);
	count(req, g, TASM_INC);
	tasm_load(a, TASM_R11, tasm_at(TASM_RBP, 8));
	call_r11(g);
	out->after_call = a->off;
	count(req, g, TASM_DEC);
	tasm_load(a, TASM_R11, tasm_at(TASM_RBP, 8));
}

/* A session at the return, unless it has skipped that. The frame of emit_call() is there. */
static void emit_session_return(const struct tramp_x86_fentry_req *req, struct tramp_guard *g,
				struct tramp_x86_fentry_out *out, u32 index)
{
	struct tasm_label goes_on = TASM_LABEL_INIT, end = TASM_LABEL_INIT;
	struct tramp_part *p = &g->hot;

	tasm_mem_op(&p->a, TASM_CMP_IMM8, true, tasm_at(TASM_RBP, SESSION_RESULT), 0);
	tasm_branch_label(&p->a, TASM_JE, &goes_on);
	leave_frame(&p->a);
	tasm_branch_label(&p->a, TASM_JMP, &end);
	tramp_part_bind(p, &goes_on);
	tasm_load(&p->a, TASM_R10, tasm_at(TASM_RBP, SESSION_COOKIE));
	leave_frame(&p->a);
	emit_one(req, g, out, &req->session[index], req->nr_kret + index);
	tramp_part_bind(p, &end);
}

void tramp_many_emit(const struct tramp_x86_fentry_req *req, struct tramp_guard *g,
		     struct tramp_x86_fentry_out *out)
{
	if (req->nr_session) {
		emit_session_entry(req, g, out, 0);
		emit_call(req, g, out, true);
		emit_session_return(req, g, out, 0);
	} else if (req->nr_kret) {
		emit_call(req, g, out, false);
		leave_frame(&g->hot.a);
		tramp_ret_emit(req, g, out);
	} else {
		emit_entry(req, g, req->kprobe, req->nr_kprobe, false, calls_of(out, 0));
	}
}

void tramp_sessions_emit(const struct tramp_x86_fentry_req *req, struct tramp_guard *g,
			 struct tramp_x86_fentry_out *out, bool more)
{
	struct tramp_part *p = &g->hot;
	u32 i;

	for (i = 0; i < req->nr_session; i++) {
		bool last = i + 1 == req->nr_session && !more;
		struct tasm_label inner = TASM_LABEL_INIT;

		emit_session_entry(req, g, out, i);
		open_frame(g, true);
		if (!i)
			count(req, g, TASM_INC);
		if (last) {
			tramp_guard_call(g, p, req->orig);
		} else {
			tramp_guard_count_call(g, p);
			tasm_branch_label(&p->a, TASM_CALL, &inner);
		}
		tramp_part_forget_rax(p);
		if (!i) {
			out->after_call = p->a.off;
			count(req, g, TASM_DEC);
		}
		tasm_load(&p->a, TASM_R11, tasm_at(TASM_RBP, 8));
		emit_session_return(req, g, out, i);
		if (!i)
			tramp_ret_emit(req, g, out);
		tramp_guard_return(g);
		g->called = false;
		if (last)
			return;
		tramp_part_bind(p, &inner);
		tasm_push_imm32(&p->a, (s32)req->orig);
	}
}

bool tramp_many_check(const struct tramp_x86_fentry_req *req)
{
	const struct tramp_x86_env *env = req->env;
	u32 nr = req->nr_kprobe + req->nr_kret + req->nr_session;

	/* One of the three, and one session at most, which finds its cookie in its run context. */
	if (!nr || nr > TRAMP_X86_MAX_PROGS || req->nr_fentry || req->nr_fmod_ret || req->nr_fexit)
		return false;
	if (nr != req->nr_kprobe && nr != req->nr_kret && req->nr_session != 1)
		return false;
	if (req->nr_session && (nr != 1 || !env->has_session ||
				!(req->session->flags & TRAMP_X86_CALL_MULTI)))
		return false;
	return tramp_regs_check(env, req->kprobe, req->nr_kprobe, req->regs, true) &&
	       tramp_regs_check(env, req->kret, req->nr_kret, req->ret_regs, true) &&
	       tramp_regs_check(env, req->session, req->nr_session, req->regs | req->ret_regs,
				true);
}
