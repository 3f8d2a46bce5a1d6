// SPDX-License-Identifier: GPL-2.0
/*
 * Entry and exit images: a patched function entry calls one.
 *
 * The function's NOP5 has become `call image`. So an image starts with two return
 * addresses on the stack: its own, into the function behind the NOP5, and above
 * that the function's, into its caller.
 *
 * The frame
 * =========
 *
 *	rbp + 24 + 8k	stack argument k of the function
 *	rbp + 16	return address of the function
 *	rbp + 8		return address of the image: the function behind its NOP5
 *	rbp		the caller's rbp; the unwinder finds its way by this frame
 *	  ...		rdx, and argument registers that the prototype does not use: (5)
 *	  ...		ctx[n]: the return value; exit images only
 *	  ...		ctx[n-1] ... ctx[1]
 *	ctx		ctx[0]
 *	ctx - 8		ctx[-1]: n; only if a program has CALL_NARGS or CALL_IP
 *	ctx - 16	ctx[-2]: the function's address; only with CALL_IP
 *	run_ctx		struct bpf_tramp_run_ctx; only with CALL_COOKIE or CALL_GUARDED
 *	start		what the last enter() returned; only with CALL_GUARDED
 *			padding, see below
 *	rsp		then, for the call of the original, its stack arguments
 *
 * The padding appears in exit images of functions with stack arguments. It makes rsp at the
 * original's entry the same modulo 16 as at the function's: the function may rely on finding
 * an argument (an __int128, say) aligned.
 *
 * The code, for a function of two arguments
 * =========================================
 *
 * Entry image, one program; guard.c shows the guard:
 *
 *	push	%rbp
 *	mov	%rsp, %rbp
 *	push	%rdx				and rcx, r8, r9: (5)
 *	push	%rsi				ctx[1]
 *	push	%rdi				ctx[0]
 *	...					guard and program
 *	pop	%rdi
 *	pop	%rsi
 *	...
 *	pop	%rbp
 *	ret					into the function
 *
 * Kprobe programs at the function's entry come before all that, with a frame of their own that
 * has gone when the next instruction is executed (regs.c). Behind them come sessions, as layers
 * around the rest (ret.c).
 *
 * Exit image, one fentry, one fmod_ret and one fexit program:
 *
 *	push	%rbp
 *	mov	%rsp, %rbp
 *	push	%rdx				and rcx, r8, r9: (5)
 *	push	$0				ctx[2], the result: 0 until there is one
 *	push	%rsi
 *	push	%rdi
 *	incq	%gs:inflight			(1)
 *	incl	%gs:preempt_count
 *	...					recursion guard, fentry program
 *	...					recursion guard, fmod_ret program
 *	decl	%gs:preempt_count
 *	je	resched
 *	cmpq	$0, ctx[2]
 *	jne	skipped
 *	mov	ctx[0], %rdi
 *	mov	ctx[1], %rsi
 *	...					the others likewise
 *	call	original			behind its NOP5
 *	mov	%rax, ctx[2]			(2)
 *	mov	%rdx, -8(%rbp)			(5)
 * skipped: incl %gs:preempt_count
 *	nopl	0x0(%rax,%rax,1)		(3) or jmp left_out
 *	...					recursion guard, fexit program
 * left_out: decl %gs:preempt_count
 *	je	resched
 *	decq	%gs:inflight			(4)
 *	mov	ctx[2], %rax
 *	mov	-8(%rbp), %rdx
 *	leave
 *	add	$8, %rsp			the function has returned already
 *	ret					to the function's caller
 *
 * Why each step is right
 * ======================
 *
 * (1) From here to (4) the image is counted as in use: in the original or in a
 *     sleepable program a task may block, which RCU-tasks takes for having left.
 *     Before (1) and after (4) it can only be preempted. base/retire.c has how
 *     that makes it safe to free an image. Each of incq and decq is one
 *     instruction on whatever CPU the task is on; only the sum means anything.
 *     The count is up before the entry programs rather than just before the
 *     original. So it covers sleepable programs, and is balanced when the
 *     original is skipped, at no cost. Entry images are counted only if they
 *     have a program with CALL_SLEEPABLE; all others cannot block.
 *
 * (2) Whatever the result's size, a program gets the bits that the caller
 *     would get.
 *
 * (3) When an image is replaced, calls may be inside the original. When they
 *     return, exit programs that are no longer attached must not run: their NOPs
 *     are patched to jumps. Those that stay must: the calls are owed to them. So
 *     each has a NOP, before its own guard and behind the part shared with its
 *     neighbours (the preemption count). The jump leads behind its own guard:
 *     either way the counters stay balanced. The NOPs are not aligned; they must be
 *     patched by way of an int3 in the first byte, as text_poke_bp() does.
 *
 * (5) Nobody vouches for the prototype. Of functions with one name pahole describes one; before
 *     1.25 that may be a copy in another file, which is inlined everywhere. Then the function that
 *     has the symbol may use any argument register, and return 16 bytes. So programs that run
 *     before it leave all six as they were, and those behind it leave rdx. (Arguments on the
 *     stack that the prototype does not have are not passed on by an exit image: docs/limits.md.)
 *
 * Once an fmod_ret program returns non-zero, the remaining ones and the
 * original are skipped. A test after each program jumps to the end of the guard
 * if others follow under it, and from there on to "skipped".
 *
 * The function gets what it would have got: the argument registers, stack
 * arguments, callee-saved registers, rsp, DF and IF. Lost are rax, r10, r11, and
 * the arithmetic flags, as in the kernel's own trampoline. At a function's entry
 * they carry nothing (the compiler knows that an entry with a NOP5 may be
 * instrumented).
 *
 * Call depth accounting counts calls to know when the return stack buffer runs
 * empty, so each call in here is counted. The one that led here (which the site
 * does not count) is counted in the image's first instruction. In an exit image
 * that one is never returned from: the count stays one higher, as does the buffer.
 */
#include "fentry_image.h"
#include "asm.h"
#include "fentry_req.h"
#include "guard.h"
#include "regs.h"
#include "ret.h"

/* The argument registers in the order they are assigned. */
static const u8 arg_reg[TRAMP_X86_ARG_REGS] = {
	TASM_RDI, TASM_RSI, TASM_RDX, TASM_RCX, TASM_R8, TASM_R9,
};

struct image {
	const struct tramp_x86_fentry_req *req;
	struct tramp_x86_fentry_out *out;
	struct tramp_guard g;

	u8 from[TRAMP_X86_MAX_SLOTS];
	u32 slots;
	u8 kept[TRAMP_X86_ARG_REGS];	/* registers that are no slots */
	u32 nr_kept;
	s32 kept_at;		/* the place of the first, from rbp; the others below it */
	s32 second;		/* that of rdx behind the original; 0: nothing changes it */
	u32 stack_slots;
	bool small_stack_arg;	/* one stack slot, of which the argument has 4 bytes or less */
	bool exit;		/* calls the original */
	bool counted;		/* has incq and decq %gs:inflight */
	bool save_nargs;
	bool save_ip;
	u32 room;		/* bytes below what is pushed */

	struct tasm_label skipped;	/* to what follows the call of the original */
};

/* The frame ------------------------------------------------------------- */

/* Registers that a prototype which is not the function's would forget: (5). */
static void lay_out_kept(struct image *img)
{
	const struct tramp_x86_fentry_req *req = img->req;
	u32 used = 0, i;

	img->nr_kept = 0;
	img->kept_at = -8;
	img->second = 0;
	for (i = 0; i < img->slots; i++)
		if (img->from[i] < TRAMP_X86_STACK_SLOT)
			used |= 1U << arg_reg[img->from[i]];
	for (i = 0; i < TRAMP_X86_ARG_REGS && (req->nr_fentry || req->nr_fmod_ret); i++)
		if (!(used & 1U << arg_reg[i]))
			img->kept[img->nr_kept++] = arg_reg[i];
	if (!req->nr_fexit)
		return;
	/* The function has taken its own rdx by then: the place is free. */
	for (i = 0; i < img->nr_kept; i++)
		if (img->kept[i] == TASM_RDX)
			img->second = img->kept_at - 8 * (s32)i;
	if (!img->second) {
		img->second = img->kept_at;
		img->kept_at -= 8;
	}
}

static void lay_out(struct image *img)
{
	const struct tramp_x86_fentry_req *req = img->req;
	const struct tramp_x86_model *m = req->model;
	u32 flags = tramp_x86_flags_of(req->fentry, req->nr_fentry) |
		    tramp_x86_flags_of(req->fmod_ret, req->nr_fmod_ret) |
		    tramp_x86_flags_of(req->fexit, req->nr_fexit);
	u32 pushed, room = 0;

	img->slots = tramp_x86_model_slots(m, img->from, &img->stack_slots);
	lay_out_kept(img);
	img->small_stack_arg = img->stack_slots == 1 && m->arg_size[m->nr_args - 1] <= 4;
	img->exit = req->nr_fmod_ret || req->nr_fexit || (req->nr_kret && !req->nr_session);
	/* The outermost session counts for all that is within. */
	img->counted = !req->nr_session && (img->exit || (flags & TRAMP_X86_CALL_SLEEPABLE));
	img->save_ip = flags & TRAMP_X86_CALL_IP;
	img->save_nargs = img->save_ip || (flags & TRAMP_X86_CALL_NARGS);

	img->g.result = img->kept_at - 8 * (s32)img->nr_kept;
	pushed = (u32)-img->g.result + 8 * (img->exit + img->slots) - 8;
	img->g.ctx = -(s32)pushed;
	img->g.ctx_addr = 0;
	/* kprobe programs before these have had others */
	img->g.run_ctx_flags = 0;
	pushed += 8 * (img->save_nargs + img->save_ip);

	if (flags & (TRAMP_X86_CALL_COOKIE | TRAMP_X86_CALL_GUARDED)) {
		room += req->env->run_ctx_size;
		img->g.run_ctx = -(s32)(pushed + room);
		img->g.cookie = img->g.run_ctx + (s32)req->env->run_ctx_cookie;
		/* not checked, and not used, with kernel policy only */
		img->g.saved = (s32)((u32)img->g.run_ctx + req->env->run_ctx_saved);
		img->g.run_ctx_flags = TRAMP_X86_CALL_COOKIE;
	}
	if (flags & TRAMP_X86_CALL_GUARDED) {
		room += 8;
		img->g.start = -(s32)(pushed + room);
	}
	/*
	 * From the function's entry to the original's, rsp falls by the frame,
	 * the copied arguments, and three slots: the image's return address, rbp
	 * and the original's return address.
	 */
	if (img->exit && img->stack_slots && (pushed + room + 8 * img->stack_slots) % 16 == 0)
		room += 8;
	img->room = room;
}

/* Code ------------------------------------------------------------------ */

/*
 * They see the registers as they are at the site, and have frames of their own. Neighbours of this
 * function alone share one. Each of many functions has one for itself.
 */
static void emit_kprobes(struct image *img)
{
	const struct tramp_x86_fentry_req *req = img->req;
	u32 i, nr;

	for (i = 0; i < req->nr_kprobe; i += nr) {
		const struct tramp_x86_call *progs = &req->kprobe[i];
		struct tramp_regs regs = {
			.progs = progs,
			.read = req->regs,
			.ip = (s32)(req->site + 1),
			.many = progs->link,
			.link = progs->link,
		};

		for (nr = 1; i + nr < req->nr_kprobe; nr++)
			if (progs->link || progs[nr].link)
				break;
		regs.nr_progs = nr;
		tramp_regs_lay_out(&regs, &img->g);
		tramp_regs_emit(&regs, &img->g,
				img->out->call_off ? img->out->call_off + 2 * i : NULL);
	}
}

static void emit_prologue(struct image *img)
{
	const struct tramp_x86_fentry_req *req = img->req;
	struct tramp_part *p = &img->g.hot;
	u32 i;

	tasm_push(&p->a, TASM_RBP);
	tasm_mov(&p->a, TASM_RBP, TASM_RSP);
	if (img->second && img->second > img->kept_at)
		tasm_push(&p->a, TASM_RDX);
	for (i = 0; i < img->nr_kept; i++)
		tasm_push(&p->a, img->kept[i]);
	if (img->exit)
		tasm_push_imm(&p->a, 0);

	for (i = img->slots; i-- > 0; ) {
		struct tasm_mem arg;

		if (img->from[i] < TRAMP_X86_STACK_SLOT) {
			tasm_push(&p->a, arg_reg[img->from[i]]);
			continue;
		}
		arg = tasm_at(TASM_RBP, 24 + 8 * (img->from[i] - TRAMP_X86_STACK_SLOT));
		if (img->small_stack_arg) {
			/*
			 * A compiler that passes a single small argument on the
			 * stack may write 4 bytes of its slot only. The program
			 * must not see the other 4.
			 */
			tasm_load32(&p->a, TASM_RAX, arg);
			tasm_push(&p->a, TASM_RAX);
			tramp_part_forget_rax(p);
		} else {
			tasm_mem_op(&p->a, TASM_PUSH_MEM, false, arg, 0);
		}
	}

	if (img->save_nargs)
		tasm_push_imm(&p->a, (s32)img->slots);
	if (img->save_ip) {
		if (tasm_fits_s32((s64)req->func_addr)) {
			tasm_push_imm(&p->a, (s32)req->func_addr);
		} else {
			tasm_mov_imm(&p->a, TASM_RAX, req->func_addr);
			tasm_push(&p->a, TASM_RAX);
			tramp_part_forget_rax(p);
		}
	}
	if (img->room)
		tasm_add_rsp(&p->a, -(s32)img->room);
	if (img->counted)
		tasm_mem_op(&p->a, TASM_INC, true, tramp_part_percpu(p, req->inflight), 0);
}

/* If the result is set, what is not the exit programs' is skipped. */
static void skip_if_set(struct image *img, struct tasm_label *to)
{
	tasm_mem_op(&img->g.hot.a, TASM_CMP_IMM8, true, tasm_at(TASM_RBP, img->g.result), 0);
	tasm_branch_label(&img->g.hot.a, TASM_JNE, to);
}

/* The guard that the next program needs. @index is its place among all programs. */
static void switch_guard(struct image *img, const struct tramp_x86_call *c, u32 index)
{
	index += img->req->nr_kprobe;
	img->g.call_off = img->out->call_off ? img->out->call_off + 2 * index : NULL;
	if (img->g.call_off)
		img->g.call_off[0] = img->g.call_off[1] = 0;
	if (c->flags & TRAMP_X86_CALL_GUARDED)
		tramp_guard_close(&img->g);
	else
		tramp_guard_open(&img->g);
}

static void emit_fentry_progs(struct image *img)
{
	const struct tramp_x86_fentry_req *req = img->req;
	u32 i;

	for (i = 0; i < req->nr_fentry; i++) {
		switch_guard(img, &req->fentry[i], i);
		tramp_guard_program(&img->g, &req->fentry[i], false);
	}
}

static void emit_fmod_ret_progs(struct image *img)
{
	const struct tramp_x86_fentry_req *req = img->req;
	u32 i;

	for (i = 0; i < req->nr_fmod_ret; i++) {
		const struct tramp_x86_call *c = &req->fmod_ret[i];
		bool more = i + 1 < req->nr_fmod_ret;

		switch_guard(img, c, req->nr_fentry + i);
		tramp_guard_program(&img->g, c, true);
		if (img->g.open && more && !(c[1].flags & TRAMP_X86_CALL_GUARDED)) {
			/* out of here, and from there on to skipped */
			skip_if_set(img, &img->g.out);
			continue;
		}
		tramp_guard_close(&img->g);
		skip_if_set(img, &img->skipped);
	}
}

static void emit_fexit_progs(struct image *img)
{
	const struct tramp_x86_fentry_req *req = img->req;
	struct tramp_part *p = &img->g.hot;
	u32 i;

	for (i = 0; i < req->nr_fexit; i++) {
		switch_guard(img, &req->fexit[i], req->nr_fentry + req->nr_fmod_ret + i);
		if (img->out->skip_off)
			img->out->skip_off[i] = p->a.off;
		tasm_nop5(&p->a);
		tramp_guard_program(&img->g, &req->fexit[i], false);
		if (img->out->skip_to)
			img->out->skip_to[i] = p->a.off;
		tramp_part_forget_rax(p);
	}
}

static void restore_arg_regs(struct image *img)
{
	u32 i;

	for (i = 0; i < img->slots; i++)
		if (img->from[i] < TRAMP_X86_STACK_SLOT)
			tasm_load(&img->g.hot.a, arg_reg[img->from[i]],
				  tasm_at(TASM_RBP, img->g.ctx + 8 * (s32)i));
	for (i = 0; i < img->nr_kept; i++)
		tasm_load(&img->g.hot.a, img->kept[i],
			  tasm_at(TASM_RBP, img->kept_at - 8 * (s32)i));
}

/* The stack arguments are the caller's own slots, bit by bit. */
static void emit_original(struct image *img)
{
	struct tramp_part *p = &img->g.hot;
	u32 i;

	if (img->g.called)
		restore_arg_regs(img);
	for (i = img->stack_slots; i-- > 0; )
		tasm_mem_op(&p->a, TASM_PUSH_MEM, false, tasm_at(TASM_RBP, 24 + 8 * (s32)i), 0);
	tramp_guard_call(&img->g, p, img->req->orig);
	if (img->counted)
		img->out->after_call = p->a.off;
	tasm_store(&p->a, tasm_at(TASM_RBP, img->g.result), TASM_RAX);
	if (img->second)
		tasm_store(&p->a, tasm_at(TASM_RBP, img->second), TASM_RDX);
	tramp_part_bind(p, &img->skipped);
}

/* rsp is at ctx[0], and all slots are of registers, as what is above: take them by pops. */
static bool poppable(const struct image *img)
{
	return !img->exit && !img->save_nargs && !img->room && !img->stack_slots;
}

static void emit_epilogue(struct image *img)
{
	struct tramp_part *p = &img->g.hot;
	u32 i;

	if (img->counted)
		tasm_mem_op(&p->a, TASM_DEC, true, tramp_part_percpu(p, img->req->inflight), 0);
	if (img->exit) {
		tasm_load(&p->a, TASM_RAX, tasm_at(TASM_RBP, img->g.result));
		if (img->second)
			tasm_load(&p->a, TASM_RDX, tasm_at(TASM_RBP, img->second));
		tramp_part_forget_rax(p);
		tasm_op(&p->a, TASM_LEAVE);
		tasm_add_rsp(&p->a, 8);
	} else if (poppable(img)) {
		for (i = 0; i < img->slots; i++)
			tasm_pop(&p->a, arg_reg[img->from[i]]);
		for (i = img->nr_kept; i-- > 0; )
			tasm_pop(&p->a, img->kept[i]);
		tasm_pop(&p->a, TASM_RBP);
	} else {
		restore_arg_regs(img);
		tasm_op(&p->a, TASM_LEAVE);
	}
}

/* The programs of tracing type. */
static void emit_tracing(struct image *img)
{
	lay_out(img);
	img->skipped = TASM_LABEL_INIT;
	emit_prologue(img);
	emit_fentry_progs(img);
	emit_fmod_ret_progs(img);
	tramp_guard_close(&img->g);
	if (img->exit)
		emit_original(img);
	emit_fexit_progs(img);
	tramp_guard_close(&img->g);
	emit_epilogue(img);
}

static enum tramp_x86_err emit_image(void *arg)
{
	struct image *img = arg;
	const struct tramp_x86_fentry_req *req = img->req;
	bool tracing;

	tramp_guard_count_call(&img->g, &img->g.hot);
	if (req->many) {
		tramp_many_emit(req, &img->g, img->out);
		tramp_guard_return(&img->g);
		return TRAMP_X86_OK;
	}
	emit_kprobes(img);
	tracing = req->nr_fentry || req->nr_fmod_ret || req->nr_fexit;
	if (req->nr_session) {
		tramp_sessions_emit(req, &img->g, img->out, tracing);
		if (!tracing)
			return TRAMP_X86_OK;
		/* Entry programs go on by a return that no call belongs to. */
		if (!req->nr_fmod_ret && !req->nr_fexit)
			tramp_guard_count_call(&img->g, &img->g.hot);
	}
	if (tracing || (req->nr_kret && !req->nr_session))
		emit_tracing(img);
	if (!req->nr_session)
		tramp_ret_emit(req, &img->g, img->out);
	tramp_guard_return(&img->g);
	return TRAMP_X86_OK;
}

enum tramp_x86_err tramp_x86_emit_fentry(const struct tramp_x86_fentry_req *req,
					 u8 *buf, size_t len, u64 addr,
					 struct tramp_x86_fentry_out *out)
{
	struct image img = {
		.req = req,
		.out = out,
		.g.env = req->env,
		.g.check_rcu = req->check_rcu && !req->many,
	};
	enum tramp_x86_err err;

	out->size = 0;
	out->after_call = 0;
	err = tramp_x86_check_fentry(req);
	if (err)
		return err;
	return tramp_guard_emit(&img.g, emit_image, &img, buf, len, addr, &out->size);
}
