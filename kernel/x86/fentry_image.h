/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Entry and exit images: the code a function's patched NOP5 calls.
 *
 * Pure: plain structs in, bytes or a reason out. No kernel header, no allocation, no locks.
 * Everything the image refers to comes in as a number: addresses of helpers and programs,
 * per-CPU offsets (what is added to the GS base), constants to pass.
 *
 * The register and stack conventions are those of the System V AMD64 ABI (section 3.2.3) as
 * the kernel's compiler uses it: no red zone, no SSE, 8-byte stack alignment.
 */
#ifndef TRAMP_X86_FENTRY_IMAGE_H
#define TRAMP_X86_FENTRY_IMAGE_H

#include "types.h"

#define TRAMP_X86_MAX_ARGS	12
#define TRAMP_X86_MAX_SLOTS	12
#define TRAMP_X86_MAX_PROGS	64	/* in one image, all kinds together */
#define TRAMP_X86_MAX_RUN_CTX	64	/* bytes of a bpf_tramp_run_ctx */
/* No image is longer: MAX_PROGS sessions with everything that can stand around each, twice. */
#define TRAMP_X86_MAX_IMAGE	(100 * 1024)

/* Why no image could be made. */
enum tramp_x86_err {
	TRAMP_X86_OK = 0,
	TRAMP_X86_NO_SPACE,	/* the buffer is too small */
	TRAMP_X86_OUT_OF_REACH,	/* a call target is beyond rel32 of the image */
	TRAMP_X86_TOO_MANY_SLOTS,	/* the arguments need more than MAX_SLOTS */
	TRAMP_X86_BAD_MODEL,	/* an argument size of 0 or above 16, or a result above 8 */
	TRAMP_X86_BAD_REQUEST,	/* nothing to call, or contradicting flags */
};

/**
 * struct tramp_x86_model - the traced function's prototype
 * @nr_args: arguments as declared, 0 to TRAMP_X86_MAX_ARGS
 * @ret_size: bytes of the result, 0 (void) to 8
 * @arg_size: bytes of each argument, 1 to 16; above 8 it is a struct (or an
 *	__int128) that takes two slots
 *
 * Argument i takes (arg_size + 7) / 8 slots. If it fits entirely into the
 * registers left (rdi, rsi, rdx, rcx, r8, r9) it is passed there, otherwise
 * entirely on the stack. A later, smaller argument may still get a register.
 *
 * Sizes cannot tell two kinds of arguments that are passed otherwise, and the kernel's own
 * trampoline does not know them either. A struct with unaligned (packed) members goes to the
 * stack, of any size. One aligned to 16 bytes leaves a gap there if an odd number of slots
 * is there already.
 */
struct tramp_x86_model {
	u8 nr_args;
	u8 ret_size;
	u8 arg_size[TRAMP_X86_MAX_ARGS];
};

/*
 * tramp_x86_call::flags. COOKIE, IP and NARGS belong to what the program, its
 * subprograms and whatever it may tail-call can do: without COOKIE, for one,
 * current->bpf_ctx is not theirs. One with MULTI finds its data in a struct
 * bpf_kprobe_multi_run_ctx (kernel/trace/bpf_trace.c): only of many functions.
 */
#define TRAMP_X86_CALL_COOKIE	(1u << 0)	/* the program may read its cookie */
#define TRAMP_X86_CALL_IP	(1u << 1)	/* ... ctx[-2], the function's address */
#define TRAMP_X86_CALL_NARGS	(1u << 2)	/* ... ctx[-1], the number of slots */
#define TRAMP_X86_CALL_GUARDED	(1u << 3)	/* kernel policy: @enter, @exit around it */
#define TRAMP_X86_CALL_SLEEPABLE (1u << 4)	/* it may block; needs CALL_GUARDED */
#define TRAMP_X86_CALL_MULTI	(1u << 5)	/* loaded for many functions, see below */
#define TRAMP_X86_CALL_ALL	((1u << 6) - 1)

/**
 * struct tramp_x86_call - one program to call
 * @func: its entry: u64 func(u64 *ctx, const void *insns)
 * @insns: second argument, for the interpreter; 0: do not load it
 * @flags: TRAMP_X86_CALL_*
 * @prog: first argument of @enter, @exit and of the environment's stats_exit
 * @missed_arg: argument of the environment's missed helper
 * @active: inline policy: per-CPU offset of an int, the recursion counter of the program, or of
 *	several
 * @hits: per-CPU offset of a u64 counted up once for each run
 * @link: of many functions: what run contexts and @multi_cookie of the environment get; 0: the
 *	program is attached to this function alone
 * @cookie: what bpf_tramp_run_ctx::bpf_cookie is set to with CALL_COOKIE
 * @enter: kernel policy: u64 enter(prog, run_ctx); 0 returned: skip the program
 * @exit: kernel policy: void exit(prog, u64 start, run_ctx)
 *
 * Kernel policy is like the kernel's own trampoline: @exit is called even when
 * @enter returned 0. Before that the missed helper is called with @missed_arg,
 * so that our own count of misses is right.
 */
struct tramp_x86_call {
	u64 func;
	u64 insns;
	u32 flags;
	u64 prog;
	u64 missed_arg;
	u64 active;
	u64 hits;
	u64 cookie;
	u64 link;
	u64 enter;
	u64 exit;
};

/**
 * struct tramp_x86_env - what is the same for every image on a running kernel
 * @preempt_count: per-CPU offset of the int preemption counter, whose bit 31 is
 *	the inverted NEED_RESCHED (so that a decrement to zero means "reschedule")
 * @nmi_count: what the programs of probes run with in that counter: one NMI, one
 *	interrupt, preemption off once. Positive, and never 0 for a detour
 * @current_task: per-CPU offset of the pointer to the current task
 * @task_bpf_ctx: offset of bpf_ctx in struct task_struct
 * @run_ctx_size: sizeof(struct bpf_tramp_run_ctx), a multiple of 8, at most 64
 * @run_ctx_cookie: offset of bpf_cookie in it
 * @run_ctx_saved: offset of saved_run_ctx in it, which the cookie does not overlap
 * @trace_ctx_size: sizeof(struct bpf_trace_run_ctx), the run context of probes: a
 *	multiple of 8, at most 64
 * @trace_ctx_cookie: offset of bpf_cookie in it; all else in it is 0 for a probe
 * @stats_key: address of the int that is non-zero while BPF run-time statistics
 *	are on (read rip-relative: within reach of the image); 0: never
 * @stats_enter: u64 stats_enter(void): the start time
 * @stats_exit: void stats_exit(prog, u64 start)
 * @resched: void resched(void): called when the preemption count fell to 0 with
 *	a reschedule due; 0: not called (no preemption on this kernel)
 * @missed: void missed(u64 missed_arg)
 * @rcu_read_lock: void (void): called before inline-policy programs on kernels whose
 *	checkers want to see it; 0: not called
 * @rcu_read_unlock: the same behind them
 * @probe_enter: as @rcu_read_lock for programs of probes; it also tells the checkers that
 *	interrupts are off
 * @probe_exit: the same behind them
 * @rcu_watching: u64 rcu_watching(void): whether programs may run; asked for images with
 *	@check_rcu
 * @return_thunk: jump here instead of `ret`; 0: plain ret
 * @indirect_thunk: with @has_indirect_thunks, for each register (by its number) where to
 *	jump instead of `jmp *reg`; 0: there is no such thunk
 * @has_indirect_thunks: this CPU must execute no indirect branch at an address that
 *	the kernel did not choose: relocated ones jump to @indirect_thunk, or are refused
 * @call_depth: per-CPU offset of the call depth accounting word, valid with
 *	@has_call_depth: then every call is preceded by `sarq $5, %gs:call_depth`,
 *	and the image starts with one for the call that reached it; @return_thunk counts
 *	returns then
 * @multi_cookie: u64 multi_cookie(u64 link, u64 func): the cookie of one of many functions, for
 *	programs without CALL_MULTI
 * @multi_ctx_size: sizeof(struct bpf_kprobe_multi_run_ctx), a multiple of 8, at most 64; 0:
 *	there is none, and no program with CALL_MULTI
 * @multi_ctx_is_return: with @has_session: offset of the bool session_ctx.is_return in it
 * @multi_ctx_data: with @has_session: offset of the pointer session_ctx.data
 * @multi_ctx_link: offset of link in it
 * @multi_ctx_ip: offset of entry_ip in it
 * @endbr: the ENDBR in front of a NOP5 as a little-endian u32, 0 if there can be none
 * @endbr_poison: what the kernel writes over an ENDBR that it does not want
 * @has_session: programs can be sessions
 * @no_indirect: this CPU must execute no indirect call (IBT, or a mitigation)
 * @no_regs: address of a struct pt_regs of zeros, the context of a probe's programs if they
 *	read no member; 0: such programs get an address in the frame
 * @cs: the kernel's code segment selector, for the pt_regs of probes
 * @ss: its stack segment selector, for the same
 * @smap: this CPU has SMAP, so a probe may be hit with AC set and has to clear it
 *
 * All helpers keep the C calling convention.
 */
struct tramp_x86_env {
	u64 preempt_count;
	s32 nmi_count;
	u64 current_task;
	u32 task_bpf_ctx;
	u32 run_ctx_size;
	u32 run_ctx_cookie;
	u32 run_ctx_saved;
	u32 trace_ctx_size;
	u32 trace_ctx_cookie;
	u64 stats_key;
	u64 stats_enter;
	u64 stats_exit;
	u64 resched;
	u64 missed;
	u64 rcu_read_lock;
	u64 rcu_read_unlock;
	u64 probe_enter;
	u64 probe_exit;
	u64 rcu_watching;
	u64 return_thunk;
	u64 indirect_thunk[16];
	u64 call_depth;
	u64 no_regs;
	u64 multi_cookie;
	u32 multi_ctx_size;
	u32 multi_ctx_is_return;
	u32 multi_ctx_data;
	u32 multi_ctx_link;
	u32 multi_ctx_ip;
	u32 endbr;
	u32 endbr_poison;
	bool has_session;
	bool no_indirect;
	bool has_indirect_thunks;
	bool has_call_depth;
	u16 cs;
	u16 ss;
	bool smap;
};

/**
 * struct tramp_x86_fentry_req - what to emit
 * @env: the kernel
 * @model: the function's prototype
 * @func_addr: the function's address, for ctx[-2]
 * @orig: where the original continues, behind its NOP5 (exit images only)
 * @inflight: per-CPU offset of a u64 counted up before anything is called and
 *	down when everything is done (exit images, and entry images with a program
 *	that has CALL_SLEEPABLE; unused otherwise)
 * @check_rcu: the function may be called where RCU does not watch the CPU: each program is
 *	missed there
 * @site: the patched NOP5; one more is pt_regs.ip of kprobe programs
 * @kprobe: kprobe programs, which run first; see struct tramp_x86_detour_req
 * @regs: what they read of pt_regs, see there
 * @fentry: entry programs, in the order they run
 * @fmod_ret: programs that may replace the result
 * @fexit: exit programs
 * @nr_kprobe: entries in @kprobe
 * @nr_fentry: entries in @fentry
 * @nr_fmod_ret: entries in @fmod_ret
 * @nr_fexit: entries in @fexit
 *
 * @kret: kprobe programs that run when the function returns, behind those in @fexit
 * @session: programs of many functions that run both at the entry and at the return, unless they
 *	returned other than 0 at the entry. With @many it is alone. In the image of a single
 *	function they come between @kprobe and @fentry; at the return the last comes first,
 *	behind @fexit and before @kret. The function must have no arguments on the stack
 * @nr_kret: entries in @kret
 * @nr_session: entries in @session
 * @ret_regs: what those in @kret and @session read of pt_regs at the return
 * @many: the image is that of many functions (ret.c). There are only kprobe programs,
 *	in one of @kprobe, @kret and @session, all with the same @link and alike in CALL_MULTI.
 *	All of the function comes from the return address:
 *	@model, @func_addr, @orig, @site and @check_rcu do not matter. With @kret or @session no
 *	function may take arguments on the stack: it would not find them
 *
 * With any fmod_ret, fexit or kret program it becomes an exit image. With programs in @kprobe
 * alone @model does not matter.
 */
struct tramp_x86_fentry_req {
	const struct tramp_x86_env *env;
	const struct tramp_x86_model *model;
	u64 func_addr;
	u64 orig;
	u64 inflight;
	bool check_rcu;
	u64 site;
	const struct tramp_x86_call *kprobe;
	u32 regs;
	const struct tramp_x86_call *fentry, *fmod_ret, *fexit;
	u32 nr_kprobe, nr_fentry, nr_fmod_ret, nr_fexit;
	const struct tramp_x86_call *kret, *session;
	u32 nr_kret, nr_session;
	u32 ret_regs;
	bool many;
};

/**
 * struct tramp_x86_fentry_out - what was emitted
 * @size: bytes of code; with NO_SPACE and OUT_OF_REACH the bytes it would take,
 *	0 with any other error
 * @after_call: offset of the instruction behind the call of the original: from
 *	there on a task is only "in flight"; 0 for an entry image
 * @skip_off: for each program that runs when the original has returned (fexit, kret, session,
 *	in this order), offset of a 5-byte NOP in front of its guard. A near JMP to
 *	skip_to[i], patched over it, leaves the program out for calls that return from then
 *	on. May be NULL.
 * @skip_to: for each of them, offset of what follows it
 * @call_off: for each program, in the order kprobe, fentry, fmod_ret, fexit, kret, session, two
 *	offsets, and behind all these two more for each session: those at the return. Each is
 *	of a near call that runs it: the hot one, and the one under statistics (0 if
 *	there is none). Patched to call something else that returns 0, they leave
 *	the program out with all counters balanced. May be NULL.
 */
struct tramp_x86_fentry_out {
	u32 size;
	u32 after_call;
	u32 *skip_off;
	u32 *skip_to;
	u32 *call_off;
};

/**
 * tramp_x86_model_slots() - argument slots a prototype takes
 * @m: the prototype
 * @from: (out, may be NULL) where each slot comes from (fentry_req.h); at most
 *	TRAMP_X86_MAX_SLOTS entries are written
 * @nr_stack: (out, may be NULL) how many of them are passed on the stack
 *
 * Return: the number of slots, which may exceed TRAMP_X86_MAX_SLOTS.
 */
u32 tramp_x86_model_slots(const struct tramp_x86_model *m, u8 *from, u32 *nr_stack);

/**
 * tramp_x86_emit_fentry() - emit an entry or exit image
 * @req: what to emit
 * @buf: where to write the code
 * @len: bytes at @buf
 * @addr: the address the code will run at
 * @out: what was emitted
 *
 * The size does not depend on @addr. So measure first: with @buf NULL, which fails with
 * NO_SPACE, or to a scratch buffer with @addr 0, where reach is not checked. Then allocate, and
 * emit again. @buf is written to only with TRAMP_X86_OK (bytes behind the image become int3)
 * and with OUT_OF_REACH (all of it becomes int3).
 *
 * Context: any; touches nothing but its arguments.
 * Return: TRAMP_X86_OK or why not.
 */
enum tramp_x86_err tramp_x86_emit_fentry(const struct tramp_x86_fentry_req *req,
					 u8 *buf, size_t len, u64 addr,
					 struct tramp_x86_fentry_out *out);

#endif /* TRAMP_X86_FENTRY_IMAGE_H */
