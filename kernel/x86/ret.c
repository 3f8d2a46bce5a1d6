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

/* One program, and the way around it. @index: its place among those at the return. */
static void emit_one(const struct tramp_x86_fentry_req *req, struct tramp_guard *g,
		     struct tramp_x86_fentry_out *out, const struct tramp_x86_call *prog, u32 index)
{
	struct tramp_regs regs = {
		.progs = prog,
		.nr_progs = 1,
		.read = req->ret_regs,
		.orig_ax = -1,
		.ret = true,
		.many = req->many,
		.more = req->many && index + 1 < req->nr_kret,
		.session = req->nr_session,
		.link = prog->link,
	};
	/* A session's first calls are those at the entry. */
	u32 before = req->nr_kprobe + req->nr_fentry + req->nr_fmod_ret + req->nr_fexit +
		     req->nr_session;
	u32 at = req->nr_fexit + index;

	if (out->skip_off)
		out->skip_off[at] = g->hot.a.off;
	tasm_nop5(&g->hot.a);
	tramp_regs_lay_out(&regs, g);
	tramp_regs_emit(&regs, g, out->call_off ? out->call_off + 2 * (before + index) : NULL);
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
	for (i = 0; i < req->nr_session; i++)
		emit_one(req, g, out, &req->session[i], i);
}

static void emit_entry(const struct tramp_x86_fentry_req *req, struct tramp_guard *g,
		       struct tramp_x86_fentry_out *out)
{
	bool session = req->nr_session;
	struct tramp_regs regs = {
		.progs = session ? req->session : req->kprobe,
		.nr_progs = session ? 1 : req->nr_kprobe,
		.read = req->regs,
		.many = true,
		.session = session,
	};

	regs.link = regs.progs->link;
	tramp_regs_lay_out(&regs, g);
	/* A session's calls: first at the entry, then at the return. */
	tramp_regs_emit(&regs, g, out->call_off);
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

static void emit_call(const struct tramp_x86_fentry_req *req, struct tramp_guard *g,
		      struct tramp_x86_fentry_out *out)
{
	struct tasm *a = &g->hot.a;

	tasm_push(a, TASM_RBP);
	tasm_mov(a, TASM_RBP, TASM_RSP);
	if (req->nr_session) {
		tasm_push(a, TASM_R11);
		tasm_push(a, TASM_R10);
	}
	count(req, g, TASM_INC);
	tasm_load(a, TASM_R11, tasm_at(TASM_RBP, 8));
	call_r11(g);
	out->after_call = a->off;
	count(req, g, TASM_DEC);
	tasm_load(a, TASM_R11, tasm_at(TASM_RBP, 8));
}

void tramp_many_emit(const struct tramp_x86_fentry_req *req, struct tramp_guard *g,
		     struct tramp_x86_fentry_out *out)
{
	struct tasm_label goes_on = TASM_LABEL_INIT, end = TASM_LABEL_INIT;
	struct tramp_part *p = &g->hot;

	if (req->nr_kprobe || req->nr_session)
		emit_entry(req, g, out);
	if (!req->nr_kret && !req->nr_session)
		return;
	emit_call(req, g, out);
	if (req->nr_session) {
		tasm_mem_op(&p->a, TASM_CMP_IMM8, true, tasm_at(TASM_RBP, SESSION_RESULT), 0);
		tasm_branch_label(&p->a, TASM_JE, &goes_on);
		leave_frame(&p->a);
		tasm_branch_label(&p->a, TASM_JMP, &end);
		tramp_part_bind(p, &goes_on);
		tasm_load(&p->a, TASM_R10, tasm_at(TASM_RBP, SESSION_COOKIE));
	}
	leave_frame(&p->a);
	tramp_ret_emit(req, g, out);
	tramp_part_bind(p, &end);
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
