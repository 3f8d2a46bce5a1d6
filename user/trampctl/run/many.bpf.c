// SPDX-License-Identifier: GPL-2.0
/*
 * The programs behind `trampctl count`, `hist`, `stack` and `trace` of many functions: one
 * entry program and one exit program serve all functions of a run, or one program does both.
 * All are of kprobe type. The cookie is the number of the function. `funcs` has what differs
 * from one to the next.
 *
 * A condition on arguments, and the time of entry, must reach the exit program. So a run with
 * exits notes each call in `tasks`, a stack of calls for each task. A call is noted also if
 * no condition holds: the exits of calls that do not count must not be taken for others. A
 * session needs that only for the trees of a trace: its entry says whether its exit shall run.
 *
 * An exit finds its call at the top, by function and place of the return address. If it is
 * not there, exits above were missed: those calls are dropped and counted. An exit without
 * a call is one that entered before, or whose entry was missed and counted as such. If the exit
 * of an outermost call was missed, no other exit finds that: the next entry does, whose return
 * address is above that call's (drop_stale()).
 *
 * These programs do not interrupt each other on a CPU: such hits are missed. A program that
 * an interrupt runs between two of them leaves the stack of calls as it found it.
 *
 * The table is allocated beforehand and used with plain hash operations, which refuse instead
 * of waiting where they find themselves interrupted. A task that dies inside leaves its
 * entry; its address is the key, and it is removed when the task is freed.
 */
#include "kernel.bpf.h"
#include <asm/errno.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_tracing.h>
#include "many.h"
#include "filter.bpf.h"
#include "stacks.bpf.h"
#include "string.bpf.h"
#include "many_member.bpf.h"
#include "many_judge.bpf.h"

char LICENSE[] SEC("license") = "GPL";

struct many_counts counts = {};

/* The run is over: whatever is called from now on is not of it. */
volatile bool halted = false;

const struct many_task empty_state = {};
const struct many_event empty_event = {};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct many_func);
} funcs SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, MANY_MAX_TASKS);
	__type(key, __u64);
	__type(value, struct many_task);
} tasks SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u64);
} calls SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct many_hist);
} hists SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_STACK_TRACE);
	__uint(max_entries, MANY_MAX_STACKS);
	__uint(key_size, sizeof(__u32));
	/* User space makes it smaller: the administrator may have lowered the kernel's limit. */
	__uint(value_size, STACKS_MAX_DEPTH * sizeof(__u64));
} stacks SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, MANY_MAX_STACKS);
	__type(key, struct many_stack);
	__type(value, __u64);
} stack_calls SEC(".maps");

/* Calls of a trace that are under way, by task and place in its stack. */
struct event_key {
	__u64 task;
	__u64 place;
};

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, TRACE_MAX_INFLIGHT);
	__uint(key_size, sizeof(struct event_key));
	/* User space makes it smaller: only the stacks that are wanted have room. */
	__uint(value_size, sizeof(struct many_event));
} inflight SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 1 << 22);
} events SEC(".maps");

#define add(what) __sync_fetch_and_add(&counts.what, 1)

/* ---------------------------------------------------------------- output -- */

static __always_inline __u32 log2_of(__u64 v)
{
	__u32 n = 0;

	if (v >> 32) {
		n += 32;
		v >>= 32;
	}
	if (v >> 16) {
		n += 16;
		v >>= 16;
	}
	if (v >> 8) {
		n += 8;
		v >>= 8;
	}
	if (v >> 4) {
		n += 4;
		v >>= 4;
	}
	if (v >> 2) {
		n += 2;
		v >>= 2;
	}
	return n + (v >> 1);
}

static __always_inline void count_call(__u32 func)
{
	__u64 *n = bpf_map_lookup_elem(&calls, &func);

	/* An interrupt may come in between, or on PREEMPT_RT another task. */
	if (n)
		__sync_fetch_and_add(n, 1);
}

static __always_inline void count_duration(__u32 func, __u64 ns)
{
	__u32 nr = cfg.flags & MANY_F_TOGETHER ? 0 : func, bucket = log2_of(ns);
	struct many_hist *h = bpf_map_lookup_elem(&hists, &nr);

	if (!h)
		return;
	if (bucket >= MANY_BUCKETS)
		bucket = MANY_BUCKETS - 1;
	__sync_fetch_and_add(&h->bucket[bucket], 1);
	__sync_fetch_and_add(&h->sum, ns);
	/* Which functions were called is of interest, too. */
	if (cfg.flags & MANY_F_TOGETHER)
		count_call(func);
}

#define PF_KTHREAD	0x00200000	/* <linux/sched.h> */

/* The stack in the process, and whose it is. Returns false if it found no place. */
static __always_inline bool take_user_stack(void *ctx, struct many_stack *key)
{
	const struct task_struct___tr *task = (void *)bpf_get_current_task();

	key->tgid = bpf_get_current_pid_tgid() >> 32;
	bpf_get_current_comm(key->comm, sizeof(key->comm));
	if (BPF_CORE_READ(task, flags) & PF_KTHREAD)
		key->user = MANY_KERNEL_THREAD;
	else
		key->user = bpf_get_stackid(ctx, &stacks, BPF_F_USER_STACK);
	return key->user != -EEXIST && key->user != -ENOMEM;
}

static __always_inline void count_stack(void *ctx, __u32 func)
{
	struct many_stack key = { .func = func };
	__u64 one = 1, *n;

	key.stack = bpf_get_stackid(ctx, &stacks, 0);
	if (key.stack < 0 ||
	    ((cfg.flags & MANY_F_USTACK) && !take_user_stack(ctx, &key))) {
		add(lost_stacks);
		return;
	}
	n = bpf_map_lookup_elem(&stack_calls, &key);
	if (!n) {
		if (!bpf_map_update_elem(&stack_calls, &key, &one, BPF_NOEXIST)) {
			/* The process may end soon. Without place, it will be asked in the end. */
			if (cfg.flags & MANY_F_USTACK)
				bpf_ringbuf_output(&events, &key, sizeof(key), 0);
			return;
		}
		/* Another CPU was faster, or there is no place. */
		n = bpf_map_lookup_elem(&stack_calls, &key);
		if (!n) {
			add(lost_stacks);
			return;
		}
	}
	__sync_fetch_and_add(n, 1);
}

static __always_inline bool send(struct many_event *e, __u8 nr_strs)
{
	__u64 size = offsetof(struct many_event, call.str);

	if (cfg.stacks.kernel || cfg.stacks.user)
		size = stacks_end(offsetof(struct many_event, call.stacks), &cfg.stacks);
	else if (nr_strs <= TRACE_MAX_STRS)
		size += nr_strs * TRACE_STR_LEN;
	if (bpf_ringbuf_output(&events, e, size, 0)) {
		add(lost_ring);
		return false;
	}
	return true;
}

/* Not static: the verifier looks at it once, not for each slot. */
__noinline int many_read_str(struct many_string *dst, __u64 ptr, __u32 kind)
{
	return dst ? read_str(dst->text, ptr, kind) : 0;
}

/* The members to show of arguments, or with @s == NULL of the result @ret. */
static __always_inline void print_members(struct many_event *e, __u32 func,
					  const struct slots *s, __u64 ret)
{
	__u32 i, key;

	for (i = 0; i < MANY_MAX_PRINTS; i++) {
		const struct many_path *p;

		if (cfg.nr_terms + i >= cfg.nr_paths)
			break;
		key = func * cfg.nr_paths + cfg.nr_terms + i;
		p = bpf_map_lookup_elem(&paths, &key);
		if (!p || (p->where == MANY_RESULT) != !s)
			continue;
		many_print_member(e, p, s ? many_slot(s, p->where) : ret, i);
	}
}

/* Notes the beginning of a call for a trace; the place in the task's stack names it. */
static __always_inline struct many_event *note_event(struct pt_regs *ctx, __u32 func,
						     const struct many_func *f,
						     const struct slots *s,
						     struct event_key *key)
{
	__u64 id = bpf_get_current_pid_tgid();
	struct many_event *e;
	__u32 i, n = 0;

	if (bpf_map_update_elem(&inflight, key, &empty_event, BPF_ANY))
		goto lost;
	e = bpf_map_lookup_elem(&inflight, key);
	if (!e)
		goto lost;
	e->task = key->task;
	e->call.func = func;
	e->call.cpu = bpf_get_smp_processor_id();
	e->call.tgid = id >> 32;
	e->call.tid = (__u32)id;
	bpf_get_current_comm(e->call.comm, sizeof(e->call.comm));
	for (i = 0; i < TRACE_MAX_SLOTS; i++) {
		__u64 val;

		if (i >= f->nr_slots)
			break;
		val = many_slot(s, f->slot_where[i]);
		e->call.slots[i] = val;
		if (f->str_kind[i] && n < TRACE_MAX_STRS) {
			e->call.str_len[n] = many_read_str((struct many_string *)e->call.str[n],
							   val, f->str_kind[i]);
			n++;
		}
	}
	if (cfg.flags & MANY_F_PRINTS)
		print_members(e, func, s, 0);
	take_stacks(ctx, &e->call.stacks, &cfg.stacks);
	add(entered);
	return e;
lost:
	add(lost_inflight);
	return NULL;
}

/* -------------------------------------------------------------- programs -- */

/* A place below MANY_MAX_DEPTH, in a form that the verifier follows. */
static __always_inline __u32 bounded(__u32 place)
{
	barrier_var(place);
	return place & (MANY_MAX_DEPTH - 1);
}

/* For runs that need no exits. */
static __always_inline int entry_alone(struct pt_regs *ctx, __u32 func, const struct many_func *f,
				       const struct slots *s)
{
	struct event_key key = {};
	struct many_event *e;

	switch (cfg.mode) {
	case MANY_COUNT:
		count_call(func);
		break;
	case MANY_STACK:
		count_stack(ctx, func);
		break;
	case MANY_TRACE:
		key.task = bpf_get_current_task();
		/* An interrupt may come here, and use the same. */
		key.place = ctx->sp;
		e = note_event(ctx, func, f, s, &key);
		if (!e)
			break;
		e->call.start = bpf_ktime_get_ns();
		e->last = 1;
		send(e, f->nr_strs);
		add(returned);
		bpf_map_delete_elem(&inflight, &key);
		break;
	}
	return 0;
}

/* Nothing more comes of a tree whose root is not shown. */
static __always_inline void end_tree(__u64 task, __u64 top)
{
	struct {
		__u64 top, task, last;
	} end = { .top = top, .task = task, .last = 1 };

	bpf_ringbuf_output(&events, &end, sizeof(end), 0);
}

/*
 * Loops by bpf_loop(): the verifier looks at their bodies once or twice, and not at each place
 * together with each that the other loop may come to.
 */

struct search {
	struct many_task *state;
	__u64 task, sp;
	__u32 func, place;
};

/* The call at @place was noted, and its exit was missed. */
static __always_inline void lose_call(const struct many_task *state, __u64 task, __u32 place)
{
	struct event_key key = { .task = task, .place = place };

	if (!state->frames[bounded(place)].wanted)
		return;
	add(lost_exit);
	if (cfg.mode == MANY_TRACE)
		bpf_map_delete_elem(&inflight, &key);
}

/* Stacks of tasks begin at multiples of their size, which is this or a multiple of it. */
#define STACK_SIZE	16384

/*
 * Has the call at @place returned, as @func enters at @sp? Calls that have not are further up on
 * the stack; at the same place only one that has jumped to @func. An interrupt's stack is another.
 * One that has returned is not always found at once: a system call may begin further down in the
 * stack than the last one, by a random offset.
 */
static __always_inline bool is_stale(const struct many_task *state, __u32 place, __u64 sp,
				     __u32 func)
{
	const struct many_frame *frame = &state->frames[bounded(place)];

	if (frame->sp / STACK_SIZE != sp / STACK_SIZE)
		return false;
	return frame->sp < sp || (frame->sp == sp && frame->func == func);
}

/* The call at the top, if it has returned. */
static long drop_stale(__u32 i, struct search *s)
{
	__u32 place = s->state->depth - 1;

	if (place >= MANY_MAX_DEPTH || !is_stale(s->state, place, s->sp, s->func))
		return 1;
	lose_call(s->state, s->task, place);
	s->state->depth = place;
	return 0;
}

/* Drops calls whose exits were missed, before @func enters. */
static __always_inline void drop_all_stale(struct many_task *state, __u64 task, __u32 func,
					   __u64 sp)
{
	struct search s = { .state = state, .task = task, .sp = sp, .func = func };
	__u32 top = state->depth - 1;

	if (top >= MANY_MAX_DEPTH || !is_stale(state, top, sp, func))
		return;
	bpf_loop(MANY_MAX_DEPTH, drop_stale, &s, 0);
	/* They were inside of the last one. */
	state->over = 0;
	if (cfg.mode == MANY_TRACE && !state->depth && state->reported)
		end_tree(task, state->frames[0].start);
}

/* Returns 1 if a session's exit need not run. */
static __always_inline int on_entry(struct pt_regs *ctx, bool session)
{
	struct many_func *f = NULL;
	__u64 task;
	__u32 func, place, terms = 0;
	bool wanted;
	struct slots s;
	struct many_task *state;
	struct many_frame *frame;

	if (halted || !task_counts())
		return 1;
	func = bpf_get_attach_cookie(ctx);
	if (cfg.flags & MANY_F_FUNCS) {
		f = bpf_map_lookup_elem(&funcs, &func);
		if (!f)
			return 1;
		take_slots(&s, ctx);
	}
	wanted = wanted_now() && arguments_wanted(f, &s, func, &terms);
	if (!(cfg.flags & MANY_F_EXIT)) {
		if (wanted)
			entry_alone(ctx, func, f, &s);
		return 1;
	}
	if (session && !wanted && cfg.mode != MANY_TRACE)
		return 1;

	task = bpf_get_current_task();
	state = bpf_map_lookup_elem(&tasks, &task);
	if (!state) {
		/* An interrupt may have been faster: its calls are over, its state is as good. */
		bpf_map_update_elem(&tasks, &task, &empty_state, BPF_NOEXIST);
		state = bpf_map_lookup_elem(&tasks, &task);
		if (!state) {
			if (wanted)
				add(lost_tasks);
			return 1;
		}
	}
	drop_all_stale(state, task, func, ctx->sp);
	place = state->depth;
	if (place >= MANY_MAX_DEPTH) {
		if (!session)
			state->over++;
		if (wanted)
			add(lost_depth);
		return 1;
	}
	state->depth = place + 1;
	barrier();
	frame = &state->frames[bounded(place)];
	frame->sp = ctx->sp;
	frame->func = func;
	frame->wanted = wanted;
	frame->terms = terms;
	if (!place)
		state->reported = 0;
	if (cfg.mode == MANY_TRACE && wanted) {
		struct event_key key = { .task = task, .place = place };
		struct many_event *e = note_event(ctx, func, f, &s, &key);

		if (!e) {
			frame->wanted = 0;
		} else {
			/* Last, so that what stands above is not part of the duration. */
			e->call.start = bpf_ktime_get_ns();
			frame->start = e->call.start;
			e->top = state->frames[0].start;
			return 0;
		}
	}
	frame->start = bpf_ktime_get_ns();
	return 0;
}

/* A trace's record of the call that was noted at @place. */
static __always_inline void finish_event(struct many_task *state, __u64 task, __u32 place,
					 const struct many_func *f, __u32 func, __u64 now,
					 __u64 ret, bool wanted)
{
	struct event_key key = { .task = task, .place = place };
	struct many_event *e = bpf_map_lookup_elem(&inflight, &key);

	if (!e)
		return;
	if (wanted) {
		e->call.end = now;
		e->call.ret = ret;
		e->last = !place;
		if (f->ret_kind) {
			__u32 n = f->ret_str;

			barrier_var(n);
			if (n < TRACE_MAX_STRS)
				e->call.str_len[n] = read_str(e->call.str[n], ret, f->ret_kind);
		}
		if (cfg.flags & MANY_F_PRINTS)
			print_members(e, func, NULL, ret);
		if (send(e, f->nr_strs))
			state->reported = 1;
	}
	add(returned);
	bpf_map_delete_elem(&inflight, &key);
}

/* The @i-th call from the top. Return: 1 if it is the one. */
static long try_call(__u32 i, struct search *s)
{
	__u32 place = s->state->depth - 1 - i;

	if (place >= MANY_MAX_DEPTH)
		return 1;
	if (s->state->frames[bounded(place)].func != s->func ||
	    s->state->frames[bounded(place)].sp != s->sp)
		return 0;
	s->place = place;
	return 1;
}

/* The @i-th call above the one found, if it is there. */
static long drop_call(__u32 i, struct search *s)
{
	__u32 place = s->place + 1 + i;

	if (place >= s->state->depth)
		return 1;
	lose_call(s->state, s->task, place);
	return 0;
}

/* The call that returns, its place in the stack of calls; MANY_MAX_DEPTH or more: none. */
static __always_inline __u32 find_call(struct many_task *state, __u64 task, __u32 func, __u64 sp)
{
	struct search s = { .state = state, .task = task, .sp = sp, .func = func,
			    .place = MANY_MAX_DEPTH };
	__u32 top = state->depth - 1;

	if (top < MANY_MAX_DEPTH && state->frames[bounded(top)].func == func &&
	    state->frames[bounded(top)].sp == sp)
		return top;
	bpf_loop(MANY_MAX_DEPTH, try_call, &s, 0);
	/* Without one it entered before we were there. Otherwise the exits above were missed. */
	if (s.place < MANY_MAX_DEPTH)
		bpf_loop(MANY_MAX_DEPTH, drop_call, &s, 0);
	return s.place;
}

/* For runs that need no entries. */
static __always_inline int exit_alone(struct pt_regs *ctx, __u32 func)
{
	struct many_func *f = bpf_map_lookup_elem(&funcs, &func);

	if (!f || !task_counts() || !wanted_now() || !result_wanted(f, PT_REGS_RC(ctx), func, 0))
		return 0;
	if (cfg.mode == MANY_COUNT)
		count_call(func);
	else
		count_stack(ctx, func);
	return 0;
}

static __always_inline int on_exit(struct pt_regs *ctx)
{
	__u64 now = bpf_ktime_get_ns(), task, took, ret = PT_REGS_RC(ctx);
	struct many_func *f = NULL;
	struct many_task *state;
	struct many_frame was;
	__u32 func, place;
	bool wanted;

	if (halted)
		return 0;
	func = bpf_get_attach_cookie(ctx);
	if (cfg.flags & MANY_F_EXIT_ONLY)
		return exit_alone(ctx, func);
	/* Only calls of tasks that counted as they entered are noted. */
	task = bpf_get_current_task();
	state = bpf_map_lookup_elem(&tasks, &task);
	if (!state)
		return 0;
	if (state->over) {
		state->over--;
		return 0;
	}
	if (cfg.flags & MANY_F_FUNCS) {
		f = bpf_map_lookup_elem(&funcs, &func);
		if (!f)
			return 0;
	}
	place = find_call(state, task, func, PT_REGS_SP(ctx) - sizeof(__u64));
	if (place >= MANY_MAX_DEPTH)
		return 0;
	was = state->frames[bounded(place)];
	took = now - was.start;
	wanted = was.wanted && took >= cfg.min_ns && result_wanted(f, ret, func, was.terms);
	if (cfg.mode == MANY_TRACE) {
		if (was.wanted)
			finish_event(state, task, place, f, func, now, ret, wanted);
		if (!place && !wanted && state->reported)
			end_tree(task, was.start);
	}
	barrier();
	state->depth = place;
	if (!place)
		bpf_map_delete_elem(&tasks, &task);
	if (!wanted)
		return 0;
	switch (cfg.mode) {
	case MANY_COUNT:
		count_call(func);
		break;
	case MANY_HIST:
		count_duration(func, took);
		break;
	case MANY_STACK:
		count_stack(ctx, func);
		break;
	}
	return 0;
}

SEC("kprobe")
int many_entry(struct pt_regs *ctx)
{
	on_entry(ctx, false);
	return 0;
}

SEC("kretprobe")
int many_exit(struct pt_regs *ctx)
{
	return on_exit(ctx);
}

extern bool bpf_session_is_return(void) __ksym __weak;

/* Both at once. */
SEC("?kprobe.session")
int many_session(struct pt_regs *ctx)
{
	return bpf_session_is_return() ? on_exit(ctx) : on_entry(ctx, true);
}

SEC("raw_tracepoint/sched_process_free")
int many_task_gone(struct bpf_raw_tracepoint_args *ctx)
{
	__u64 task = ctx->args[0];
	struct event_key key = { .task = task };
	struct many_task *state;
	__u32 i;

	state = bpf_map_lookup_elem(&tasks, &task);
	if (!state)
		return 0;
	for (i = 0; cfg.mode == MANY_TRACE && i < MANY_MAX_DEPTH; i++) {
		if (i >= state->depth)
			break;
		key.place = i;
		bpf_map_delete_elem(&inflight, &key);
	}
	if (cfg.mode == MANY_TRACE && state->depth && state->reported)
		end_tree(task, state->frames[0].start);
	bpf_map_delete_elem(&tasks, &task);
	return 0;
}
