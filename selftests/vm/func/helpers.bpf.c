// SPDX-License-Identifier: GPL-2.0
/*
 * One program for each helper that could come out differently when it is not the kernel that
 * attached the program. Such helpers read the trampoline's stack frame, walk the stack, take
 * locks or start something asynchronous.
 */
#include "vmlinux.h"
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>
#include "helpers.h"

char LICENSE[] SEC("license") = "GPL";

/* ---- the trampoline's frame: each helper alone in its program --------------- */

__u64 only_arg, only_cnt, only_ret, only_ip, only_cookie, no_helper;

SEC("fentry/tt_args3")
int use_arg(void *ctx)
{
	bpf_get_func_arg(ctx, 2, &only_arg);
	return 0;
}

SEC("fentry/tt_args3")
int use_cnt(void *ctx)
{
	only_cnt = bpf_get_func_arg_cnt(ctx);
	return 0;
}

SEC("fexit/tt_args3")
int use_ret(void *ctx)
{
	bpf_get_func_ret(ctx, &only_ret);
	return 0;
}

SEC("fexit/tt_args3")
int use_ip(void *ctx)
{
	only_ip = bpf_get_func_ip(ctx);
	return 0;
}

SEC("fentry/tt_args3")
int use_cookie(void *ctx)
{
	only_cookie = bpf_get_attach_cookie(ctx);
	return 0;
}

SEC("fentry/tt_args3")
int BPF_PROG(use_none, __u64 a, __u64 b, __u64 c)
{
	no_helper = a ^ b ^ c;
	return 0;
}

/* ---- the same helpers out of the main program's sight ------------------------ */

__u64 sub_cookie, sub_ip, sub_cnt, sub_arg;

static __noinline void in_subprog(void *ctx)
{
	sub_cookie = bpf_get_attach_cookie(ctx);
	sub_ip = bpf_get_func_ip(ctx);
	sub_cnt = bpf_get_func_arg_cnt(ctx);
	bpf_get_func_arg(ctx, 0, &sub_arg);
}

SEC("fentry/tt_args3")
int use_subprog(void *ctx)
{
	in_subprog(ctx);
	return 0;
}

__u64 tail_before, tail_after, tail_reached, tail_cookie, tail_cnt, tail_arg;

struct {
	__uint(type, BPF_MAP_TYPE_PROG_ARRAY);
	__uint(max_entries, 2);
	__uint(key_size, 4);
	__uint(value_size, 4);
} tail_progs SEC(".maps");

SEC("fentry/tt_args4")
int tail_callee(void *ctx)
{
	tail_reached++;
	tail_cookie = bpf_get_attach_cookie(ctx);
	tail_cnt = bpf_get_func_arg_cnt(ctx);
	bpf_get_func_arg(ctx, 3, &tail_arg);
	return 0;
}

/* Calls no such helper itself. */
SEC("fentry/tt_args4")
int tail_caller(void *ctx)
{
	tail_before++;
	/* Not there: goes on. */
	bpf_tail_call(ctx, &tail_progs, 1);
	bpf_tail_call(ctx, &tail_progs, 0);
	tail_after++;
	return 0;
}

/* ---- stacks -------------------------------------------------------------- */

/*
 * One for each program, with one bucket that keeps the last stack. Stacks that share a bucket
 * would have the second refused: now and then, as the kernel's addresses are random.
 */
struct stack_map {
	__uint(type, BPF_MAP_TYPE_STACK_TRACE);
	__uint(max_entries, 1);
	__uint(key_size, 4);
	__uint(value_size, STACK_MAX * 8);
};

struct stack_map entry_stacks SEC(".maps");
struct stack_map exit_stacks SEC(".maps");

struct stack_seen stack_entry, stack_exit;

static __always_inline void take_stack(void *ctx, struct stack_seen *s, void *map)
{
	s->bytes = bpf_get_stack(ctx, s->frame, sizeof(s->frame), 0);
	s->id = bpf_get_stackid(ctx, map, BPF_F_REUSE_STACKID);
}

SEC("fentry/tt_callee")
int use_stack_entry(void *ctx)
{
	take_stack(ctx, &stack_entry, &entry_stacks);
	return 0;
}

SEC("fexit/tt_callee")
int use_stack_exit(void *ctx)
{
	take_stack(ctx, &stack_exit, &exit_stacks);
	return 0;
}

/* ---- ring buffer ----------------------------------------------------------- */

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 1 << 18);
} ring SEC(".maps");

SEC("fexit/tt_args2")
int BPF_PROG(use_ringbuf, __u64 a, __u64 b, __u64 ret)
{
	struct ring_event *e = bpf_ringbuf_reserve(&ring, sizeof(*e), 0);
	struct ring_event copy = { .how = 2, .a = a, .b = b, .ret = ret };

	if (!e)
		return 0;
	*e = (struct ring_event){ .how = 1, .a = a, .b = b, .ret = ret };
	bpf_ringbuf_submit(e, 0);
	bpf_ringbuf_output(&ring, &copy, sizeof(copy), 0);
	return 0;
}

/* ---- locks, from all CPUs at once ---------------------------------------------- */

struct locked {
	struct bpf_spin_lock lock;
	__u64 one, two;
	__u64 torn;
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct locked);
} locks SEC(".maps");

SEC("fentry/tt_hot0")
int use_spin_lock(void *ctx)
{
	__u32 zero = 0;
	struct locked *l = bpf_map_lookup_elem(&locks, &zero);

	if (!l)
		return 0;
	bpf_spin_lock(&l->lock);
	if (l->two != 2 * l->one)
		l->torn++;
	l->one++;
	l->two += 2;
	bpf_spin_unlock(&l->lock);
	return 0;
}

/* ---- loops -------------------------------------------------------------------- */

__u64 loop_sum, loop_ret, loop_cookie;

struct loop_ctx {
	void *ctx;
	__u64 arg;
};

static long loop_step(__u32 i, struct loop_ctx *l)
{
	loop_sum += i * l->arg;
	return 0;
}

SEC("fexit/tt_u64")
int BPF_PROG(use_loop, __u64 a, __u64 ret)
{
	struct loop_ctx l = { .arg = a };

	loop_sum = 0;
	bpf_loop(1000, loop_step, &l, 0);
	loop_ret = ret;
	loop_cookie = bpf_get_attach_cookie(ctx);
	return 0;
}

/* ---- maps --------------------------------------------------------------------- */

#define COUNTING_MAP(name_, type_) \
	struct { \
		__uint(type, type_); \
		__uint(max_entries, 64); \
		__type(key, __u32); \
		__type(value, __u64); \
	} name_ SEC(".maps")

COUNTING_MAP(in_array, BPF_MAP_TYPE_ARRAY);
COUNTING_MAP(in_percpu_array, BPF_MAP_TYPE_PERCPU_ARRAY);
COUNTING_MAP(in_hash, BPF_MAP_TYPE_HASH);
COUNTING_MAP(in_percpu_hash, BPF_MAP_TYPE_PERCPU_HASH);
COUNTING_MAP(in_lru_hash, BPF_MAP_TYPE_LRU_HASH);

static __always_inline void count_in(void *map, __u32 key)
{
	__u64 zero = 0, *v = bpf_map_lookup_elem(map, &key);

	if (!v) {
		bpf_map_update_elem(map, &key, &zero, BPF_NOEXIST);
		v = bpf_map_lookup_elem(map, &key);
	}
	if (v)
		__sync_fetch_and_add(v, 1);
}

SEC("fentry/tt_hot1")
int BPF_PROG(use_maps, __u64 a)
{
	count_in(&in_array, a);
	count_in(&in_percpu_array, a);
	count_in(&in_hash, a);
	count_in(&in_percpu_hash, a);
	count_in(&in_lru_hash, a);
	return 0;
}

/* ---- timers ------------------------------------------------------------------- */

struct timed {
	struct bpf_timer timer;
	__u64 pad;
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct timed);
} timers SEC(".maps");

__s64 timer_init_err = 1, timer_start_err = 1;
__u64 timer_fired;

static int timer_done(void *map, int *key, struct timed *t)
{
	timer_fired++;
	return 0;
}

SEC("fentry/tt_hot2")
int use_timer(void *ctx)
{
	__u32 zero = 0;
	struct timed *t = bpf_map_lookup_elem(&timers, &zero);

	if (!t)
		return 0;
	timer_init_err = bpf_timer_init(&t->timer, &timers, 1 /* CLOCK_MONOTONIC */);
	bpf_timer_set_callback(&t->timer, timer_done);
	timer_start_err = bpf_timer_start(&t->timer, 1000000, 0);
	return 0;
}

/* ---- who runs ---------------------------------------------------------------- */

__u64 task_pid_tgid, task_btf_pid;
char task_comm[16];

SEC("fexit/tt_hot3")
int use_task(void *ctx)
{
	struct task_struct *task = bpf_get_current_task_btf();

	task_pid_tgid = bpf_get_current_pid_tgid();
	task_btf_pid = task->pid;
	bpf_get_current_comm(task_comm, sizeof(task_comm));
	return 0;
}
