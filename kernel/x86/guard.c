// SPDX-License-Identifier: GPL-2.0
/*
 * Calls of BPF programs inside an image, with what must stand around them.
 *
 * Two policies. Inline: the guard is part of the image, with preemption off
 * around a run of consecutive programs:
 *
 *	incl	%gs:preempt_count		(1)
 *	[call	rcu_read_lock]
 *
 *	mov	%gs:active, %ecx		(2)
 *	or	stats_key(%rip), %ecx
 *	jne	slow
 *	incl	%gs:active
 *	[current->bpf_ctx = &run_ctx]		(3)
 *	incq	%gs:hits
 *	[movq	$cookie, run_ctx.bpf_cookie]
 *	lea	ctx, %rdi			(10)
 *	[mov	$insns, %rsi]
 *	call	program
 *	[mov	%rax, result]
 * done: ... further programs with the same counter, with `timed` as below ...
 *	[current->bpf_ctx = run_ctx.saved]
 *	decl	%gs:active
 * next:
 *	... further programs with another counter ...
 *	[call	rcu_read_unlock]
 *	decl	%gs:preempt_count		(4)
 *	je	resched
 * cont:
 *
 * and in the cold part:
 *
 * slow: cmpl	$0, %gs:active
 *	je	first
 *	mov	$missed_arg, %rdi		for each of the programs
 *	call	missed
 *	jmp	next
 * first: incl	%gs:active
 *	[current->bpf_ctx = &run_ctx]
 * timed: call	stats_enter
 *	push	%rax				the start time
 *	...					from hits to result as above
 *	pop	%rsi
 *	mov	$prog, %rdi
 *	call	stats_exit
 *	jmp	done
 * resched: call resched
 *	jmp	cont
 *
 * (1) With preemption off the task stays on its CPU and is an RCU reader. So neither
 *     rcu_read_lock() nor migrate_disable() is needed. Kernels whose checkers must see
 *     rcu_read_lock() get the call as well (env->rcu_read_lock).
 *
 * (2) The recursion counter. A tracing program has one of its own, which the kernel's
 *     trampolines and all images with the program share (prog->active), so it never runs
 *     inside of itself. Kprobe programs have one in common. The counter belongs to this CPU
 *     and the task cannot leave it, so nothing has to be atomic. An interrupt or an NMI
 *     between the look at it and the increment puts it back before it returns, so what was
 *     seen still holds. If it is up, a program under it runs further up this very stack, and
 *     this is a recursion. (Or a task was preempted in it, in a trampoline of the kernel's.)
 *     It counts as missed. Statistics are asked for in the same question, and for each
 *     further program alone.
 *
 * (3) An interrupt that does the same in between puts it back likewise.
 *
 * (4) Bit 31 of the counter is the inverted NEED_RESCHED, so zero means both
 *     "preemption is on again" and "somebody wants the CPU". Whatever matters
 *     at that point is on the stack, not in a register.
 *
 * Programs of probes also run as in the kernel's own int3, whatever led to them: with
 * interrupts off, which the image sees to, and with an NMI counted. (Those at a function's
 * entry have (1) and (4) instead of (5) and (7), and no probe_enter and probe_exit.)
 *
 *	addl	$nmi_count, %gs:preempt_count	(5)
 *	...
 *	incl	%gs:active
 *	[call	probe_enter]			(6)
 *	...
 *	[call	probe_exit]
 *	decl	%gs:active
 *	...
 *	subl	$nmi_count, %gs:preempt_count	(7)
 *
 * (5) A probe may be inside of a lock section, whose lock a helper of its program wants.
 *     Such helpers ask in_nmi(), try the lock, and fail where they would spin for ever.
 *     Interrupts are off already. One that came while an NMI is counted would leave its
 *     softirqs pending, and find the recursion contexts of perf and ftrace taken that are
 *     an NMI's. An NMI adds its own count and takes it away again. That field has 4 bits.
 *     Programs do not nest, so a stack of contexts has a few counts of ours at most, and
 *     nothing is carried into bit 31.
 *
 * (6) On kernels whose checkers must be told: that interrupts are off, and of RCU
 *     (prog/runtime.c). With the counter up, since what it calls may be probed: that is a
 *     miss then.
 *
 * (7) No look at NEED_RESCHED: interrupts are off. A wakeup by a program goes through
 *     irq_work, as in the kernel's int3. Its interrupt comes when the image restores the
 *     flags, and reschedules when it returns. So does another CPU's.
 *
 * Kernel policy, for programs that may sleep and for all on PREEMPT_RT: the
 * kernel's own functions stand around the program, with preemption on:
 *
 *	movq	$cookie, run_ctx.bpf_cookie	(8)
 *	mov	$prog, %rdi
 *	lea	run_ctx, %rsi
 *	call	enter
 *	mov	%rax, start
 *	test	%rax, %rax
 *	je	miss
 *	incq	%gs:hits			(9)
 *	lea	ctx, %rdi
 *	call	program
 *	[mov	%rax, result]
 * next: mov	$prog, %rdi
 *	mov	start, %rsi
 *	lea	run_ctx, %rdx
 *	call	exit
 *
 * (8) Stored as 0 even if the program is not known to read its cookie. For enter() makes
 *     the run_ctx visible in any case, and the stack's old contents must not be.
 *
 * (9) The task may be preempted and may migrate, but this is a single instruction on a
 *     single CPU, and only the sum over all CPUs means anything.
 *
 * (10) Always, also for a program that does not look at its context: rdi still has the
 *     interrupted code's value, and a tracer of the program gets to see it.
 *     With a context outside of the frame: mov $context, %rdi.
 */
#include "guard.h"

enum tramp_x86_err tramp_guard_emit(struct tramp_guard *g, enum tramp_x86_err (*run)(void *img),
				    void *img, u8 *buf, size_t len, u64 addr, u32 *size)
{
	struct tasm *hot = &g->hot.a, *cold = &g->cold.a;
	enum tramp_x86_err err;
	u32 hot_size;

	err = run(img);
	if (err)
		return err;
	hot_size = hot->off;
	*size = hot_size + cold->off;
	if (!buf || *size > len)
		return TRAMP_X86_NO_SPACE;

	g->hot = (struct tramp_part){ .a = { .buf = buf, .len = *size, .addr = addr } };
	g->cold = g->hot;
	cold->off = hot_size;
	g->called = false;
	err = run(img);

	memset(buf + *size, 0xcc, len - *size);
	if (hot->out_of_reach || cold->out_of_reach)
		err = TRAMP_X86_OUT_OF_REACH;
	else if (err || hot->overflow || cold->overflow || hot->off != hot_size ||
		 cold->off != *size)
		err = TRAMP_X86_NO_SPACE;	/* the runs disagree: never code to be executed */
	if (err)
		memset(buf, 0xcc, *size);
	return err;
}

struct tasm_mem tramp_part_percpu(struct tramp_part *p, u64 off)
{
	if (tasm_fits_s32((s64)off))
		return (struct tasm_mem){ .base = TASM_NO_BASE, .gs = true, .disp = (s32)off };

	if (!p->gs_known || !tasm_fits_s32((s64)(off - p->gs_base))) {
		tasm_mov_imm(&p->a, TASM_RAX, off);
		p->gs_base = off;
		p->gs_known = true;
	}
	return (struct tasm_mem){
		.base = TASM_RAX, .gs = true, .disp = (s32)(off - p->gs_base),
	};
}

void tramp_guard_count_call(struct tramp_guard *g, struct tramp_part *p)
{
	if (g->env->has_call_depth)
		tasm_mem_op(&p->a, TASM_SAR_IMM8, true,
			    tramp_part_percpu(p, g->env->call_depth), 5);
}

void tramp_guard_call(struct tramp_guard *g, struct tramp_part *p, u64 target)
{
	tramp_guard_count_call(g, p);
	tasm_branch(&p->a, TASM_CALL, target);
	tramp_part_forget_rax(p);
	g->called = true;
}

void tramp_guard_return(struct tramp_guard *g)
{
	struct tasm *a = &g->hot.a;

	if (g->env->return_thunk) {
		tasm_branch(a, TASM_JMP, g->env->return_thunk);
	} else {
		tasm_op(a, TASM_RET);
		/* no straight-line speculation into what follows */
		tasm_op(a, TASM_INT3);
	}
}

/* A piece of cold code begins, and the hot part goes there by @op. */
static struct tramp_part *begin_cold(struct tramp_guard *g, enum tasm_branch op)
{
	tasm_branch_to(&g->hot.a, op, g->cold.a.off);
	tramp_part_forget_rax(&g->cold);
	return &g->cold;
}

void tramp_guard_open(struct tramp_guard *g)
{
	const struct tramp_x86_env *env = g->env;
	struct tramp_part *hot = &g->hot;

	if (g->open)
		return;
	g->open = true;
	g->out = TASM_LABEL_INIT;
	if (g->nmi) {
		tasm_mem_op(&hot->a, TASM_ADD_IMM32, false,
			    tramp_part_percpu(hot, env->preempt_count), env->nmi_count);
		return;
	}
	tasm_mem_op(&hot->a, TASM_INC, false, tramp_part_percpu(hot, env->preempt_count), 0);
	if (env->rcu_read_lock)
		tramp_guard_call(g, hot, env->rcu_read_lock);
}

void tramp_guard_close(struct tramp_guard *g)
{
	const struct tramp_x86_env *env = g->env;
	struct tramp_part *hot = &g->hot, *cold;

	if (!g->open)
		return;
	g->open = false;
	tramp_part_bind(hot, &g->out);
	if (g->nmi) {
		tasm_mem_op(&hot->a, TASM_SUB_IMM32, false,
			    tramp_part_percpu(hot, env->preempt_count), env->nmi_count);
		return;
	}
	if (env->rcu_read_unlock)
		tramp_guard_call(g, hot, env->rcu_read_unlock);
	tasm_mem_op(&hot->a, TASM_DEC, false, tramp_part_percpu(hot, env->preempt_count), 0);
	if (env->resched) {
		cold = begin_cold(g, TASM_JE);
		tramp_guard_call(g, cold, env->resched);
		tasm_branch_to(&cold->a, TASM_JMP, hot->a.off);
		tramp_part_forget_rax(hot);
	}
}

static void store_cookie(struct tramp_guard *g, struct tramp_part *p,
			 const struct tramp_x86_call *c)
{
	u64 cookie = c->flags & TRAMP_X86_CALL_COOKIE ? c->cookie : 0;
	struct tasm_mem m = tasm_at(TASM_RBP, g->cookie);

	if (!g->cookie)
		return;
	if (tasm_fits_s32((s64)cookie)) {
		tasm_mem_op(&p->a, TASM_STORE_IMM32, true, m, (s32)cookie);
	} else {
		tasm_mov_imm(&p->a, TASM_RCX, cookie);
		tasm_store(&p->a, m, TASM_RCX);
	}
}

static void enter_run_ctx(struct tramp_guard *g, struct tramp_part *p)
{
	const struct tramp_x86_env *env = g->env;
	struct tasm_mem bpf_ctx = tasm_at(TASM_RCX, (s32)env->task_bpf_ctx);

	tasm_load(&p->a, TASM_RCX, tramp_part_percpu(p, env->current_task));
	tasm_load(&p->a, TASM_RDX, bpf_ctx);
	tasm_store(&p->a, tasm_at(TASM_RBP, g->saved), TASM_RDX);
	tasm_lea(&p->a, TASM_RDX, tasm_at(TASM_RBP, g->run_ctx));
	tasm_store(&p->a, bpf_ctx, TASM_RDX);
}

static void leave_run_ctx(struct tramp_guard *g, struct tramp_part *p)
{
	const struct tramp_x86_env *env = g->env;

	tasm_load(&p->a, TASM_RCX, tramp_part_percpu(p, env->current_task));
	tasm_load(&p->a, TASM_RDX, tasm_at(TASM_RBP, g->saved));
	tasm_store(&p->a, tasm_at(TASM_RCX, (s32)env->task_bpf_ctx), TASM_RDX);
}

/* With kernel policy enter() and exit() do this. */
static bool needs_run_ctx(const struct tramp_guard *g, const struct tramp_x86_call *c)
{
	return (c->flags & g->run_ctx_flags) && !(c->flags & TRAMP_X86_CALL_GUARDED);
}

/* The program itself. */
static void count_and_run(struct tramp_guard *g, struct tramp_part *p,
			  const struct tramp_x86_call *c, bool keep_result)
{
	tasm_mem_op(&p->a, TASM_INC, true, tramp_part_percpu(p, c->hits), 0);
	if (needs_run_ctx(g, c))
		store_cookie(g, p, c);
	if (g->ctx_addr)
		tasm_mov_imm(&p->a, TASM_RDI, g->ctx_addr);
	else
		tasm_lea(&p->a, TASM_RDI, tasm_at(TASM_RBP, g->ctx));
	if (c->insns)
		tasm_mov_imm(&p->a, TASM_RSI, c->insns);
	tramp_guard_call(g, p, c->func);
	if (g->call_off)
		g->call_off[p == &g->cold] = p->a.off - TASM_CALL_SIZE;
	if (keep_result)
		tasm_store(&p->a, tasm_at(TASM_RBP, g->result), TASM_RAX);
}

/* A piece of cold code: @nr programs are missed, and it goes on at @to. */
static void miss(struct tramp_guard *g, const struct tramp_x86_call *c, u32 nr,
		 struct tasm_label *to)
{
	struct tramp_part *cold = &g->cold;
	u32 i;

	for (i = 0; i < nr; i++) {
		tasm_mov_imm(&cold->a, TASM_RDI, c[i].missed_arg);
		tramp_guard_call(g, cold, g->env->missed);
	}
	tasm_branch_label(&cold->a, TASM_JMP, to);
}

/* The recursion counter goes up, and what all programs under it need is set up. */
static void take_counter(struct tramp_guard *g, struct tramp_part *p,
			 const struct tramp_x86_call *c)
{
	tasm_mem_op(&p->a, TASM_INC, false, tramp_part_percpu(p, c->active), 0);
	if (g->nmi && g->env->probe_enter)
		tramp_guard_call(g, p, g->env->probe_enter);
	if (g->in_run_ctx)
		enter_run_ctx(g, p);
}

static void release_counter(struct tramp_guard *g, const struct tramp_x86_call *c,
			    struct tasm_label *next)
{
	struct tramp_part *hot = &g->hot;

	if (g->in_run_ctx)
		leave_run_ctx(g, hot);
	if (g->nmi && g->env->probe_exit)
		tramp_guard_call(g, hot, g->env->probe_exit);
	tasm_mem_op(&hot->a, TASM_DEC, false, tramp_part_percpu(hot, c->active), 0);
	tramp_part_bind(hot, next);
}

/* Cold code while statistics are on: run and time it. */
static void run_timed(struct tramp_guard *g, const struct tramp_x86_call *c, bool keep_result,
		      struct tasm_label *done)
{
	struct tramp_part *cold = &g->cold;

	tramp_guard_call(g, cold, g->env->stats_enter);
	tasm_push(&cold->a, TASM_RAX);
	count_and_run(g, cold, c, keep_result);
	tasm_pop(&cold->a, TASM_RSI);
	tasm_mov_imm(&cold->a, TASM_RDI, c->prog);
	tramp_guard_call(g, cold, g->env->stats_exit);
	tasm_branch_label(&cold->a, TASM_JMP, done);
}

/* Whether statistics are on is asked for this program alone. */
static void ask_stats(struct tramp_guard *g, const struct tramp_x86_call *c, bool keep_result,
		      struct tasm_label *done)
{
	if (!g->env->stats_key)
		return;
	tasm_mem_op(&g->hot.a, TASM_CMP_IMM8, false, tasm_rip(g->env->stats_key), 0);
	begin_cold(g, TASM_JNE);
	run_timed(g, c, keep_result, done);
}

/* Idle functions: where RCU does not watch @nr programs are missed, and it goes on at @to. */
static void ask_rcu(struct tramp_guard *g, const struct tramp_x86_call *c, u32 nr,
		    struct tasm_label *to)
{
	struct tramp_part *hot = &g->hot;

	if (!g->check_rcu)
		return;
	tramp_guard_call(g, hot, g->env->rcu_watching);
	tasm_test(&hot->a, TASM_RAX, TASM_RAX);
	begin_cold(g, TASM_JE);
	miss(g, c, nr, to);
}

/*
 * One question for the usual case: the counter of @nr programs is free and statistics are off.
 * If it is taken all of them are missed, and it goes on at @next. If it is statistics, the
 * first has run when it goes on at @done.
 */
static void ask_counter(struct tramp_guard *g, const struct tramp_x86_call *c, u32 nr,
			bool keep_result, struct tasm_label *done, struct tasm_label *next)
{
	struct tasm_label first = TASM_LABEL_INIT;
	struct tramp_part *hot = &g->hot, *cold;

	if (g->env->stats_key) {
		tasm_load32(&hot->a, TASM_RCX, tramp_part_percpu(hot, c->active));
		tasm_or32(&hot->a, TASM_RCX, tasm_rip(g->env->stats_key));
	} else {
		tasm_mem_op(&hot->a, TASM_CMP_IMM8, false, tramp_part_percpu(hot, c->active), 0);
	}
	cold = begin_cold(g, TASM_JNE);
	if (g->env->stats_key) {
		tasm_mem_op(&cold->a, TASM_CMP_IMM8, false, tramp_part_percpu(cold, c->active), 0);
		tasm_branch_label(&cold->a, TASM_JE, &first);
	}
	miss(g, c, nr, next);
	if (g->env->stats_key) {
		tramp_part_bind(cold, &first);
		take_counter(g, cold, c);
		run_timed(g, c, keep_result, done);
	}
}

void tramp_guard_programs(struct tramp_guard *g, const struct tramp_x86_call *c, u32 nr,
			  bool keep_result)
{
	struct tasm_label next = TASM_LABEL_INIT;
	struct tramp_part *hot = &g->hot;
	u32 i;

	for (i = 0; i < nr; i++)
		g->in_run_ctx |= needs_run_ctx(g, &c[i]);
	ask_rcu(g, c, nr, &next);
	for (i = 0; i < nr; i++) {
		struct tasm_label done = TASM_LABEL_INIT;

		if (!i) {
			ask_counter(g, c, nr, keep_result, &done, &next);
			take_counter(g, hot, c);
		} else {
			ask_stats(g, &c[i], keep_result, &done);
		}
		count_and_run(g, hot, &c[i], keep_result);
		tramp_part_bind(hot, &done);
		if (g->call_off)
			g->call_off += 2;
	}
	release_counter(g, c, &next);
	g->in_run_ctx = false;
}

static void emit_guarded(struct tramp_guard *g, const struct tramp_x86_call *c, bool keep_result)
{
	struct tasm_mem start = tasm_at(TASM_RBP, g->start);
	struct tasm_label next = TASM_LABEL_INIT, skipped = TASM_LABEL_INIT;
	struct tramp_part *hot = &g->hot;

	ask_rcu(g, c, 1, &skipped);
	store_cookie(g, hot, c);
	tasm_mov_imm(&hot->a, TASM_RDI, c->prog);
	tasm_lea(&hot->a, TASM_RSI, tasm_at(TASM_RBP, g->run_ctx));
	tramp_guard_call(g, hot, c->enter);
	tasm_store(&hot->a, start, TASM_RAX);
	tasm_test(&hot->a, TASM_RAX, TASM_RAX);
	begin_cold(g, TASM_JE);
	miss(g, c, 1, &next);

	count_and_run(g, hot, c, keep_result);

	tramp_part_bind(hot, &next);
	tasm_mov_imm(&hot->a, TASM_RDI, c->prog);
	tasm_load(&hot->a, TASM_RSI, start);
	tasm_lea(&hot->a, TASM_RDX, tasm_at(TASM_RBP, g->run_ctx));
	tramp_guard_call(g, hot, c->exit);
	tramp_part_bind(hot, &skipped);
}

void tramp_guard_program(struct tramp_guard *g, const struct tramp_x86_call *c,
			 bool keep_result)
{
	if (c->flags & TRAMP_X86_CALL_GUARDED)
		emit_guarded(g, c, keep_result);
	else
		tramp_guard_programs(g, c, 1, keep_result);
}
