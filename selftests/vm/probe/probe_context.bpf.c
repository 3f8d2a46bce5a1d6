// SPDX-License-Identifier: GPL-2.0
/*
 * One program that uses the maps and helpers of the kernel, and one for probes in
 * what the first one executes, which uses the same ones on the same maps.
 *
 * Each leaves the maps as it found them, as far as nothing fails.
 */
#include "vmlinux.h"
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>
#include "probe_context.h"

char LICENSE[] SEC("license") = "GPL";

#define BPF_F_NO_PREALLOC_	(1U << 0)
#define FULL	80	/* more than there is room for anywhere */
#define STACKS	16384	/* two of them seldom have the same hash */
#define MAP(name, kind, entries, how, key_type, value_type) \
	struct { \
		__uint(type, kind); \
		__uint(max_entries, entries); \
		__uint(map_flags, how); \
		__type(key, key_type); \
		__type(value, value_type); \
	} name SEC(".maps")
#define LIST(name, kind, entries) \
	struct { \
		__uint(type, kind); \
		__uint(max_entries, entries); \
		__type(value, __u64); \
	} name SEC(".maps")

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 1 << 23);
} ring SEC(".maps");

LIST(queue, BPF_MAP_TYPE_QUEUE, 64);
LIST(stack, BPF_MAP_TYPE_STACK, 64);
LIST(bloom, BPF_MAP_TYPE_BLOOM_FILTER, 64);
MAP(hash, BPF_MAP_TYPE_HASH, 64, 0, __u32, __u64);
MAP(sparse, BPF_MAP_TYPE_HASH, 64, BPF_F_NO_PREALLOC_, __u32, __u64);
MAP(percpu, BPF_MAP_TYPE_PERCPU_HASH, 64, 0, __u32, __u64);
MAP(percpu_sparse, BPF_MAP_TYPE_PERCPU_HASH, 64, BPF_F_NO_PREALLOC_, __u32, __u64);
MAP(lru, BPF_MAP_TYPE_LRU_HASH, 64, 0, __u32, __u64);
MAP(percpu_lru, BPF_MAP_TYPE_LRU_PERCPU_HASH, 64, 0, __u32, __u64);
MAP(full, BPF_MAP_TYPE_LRU_HASH, 4, 0, __u32, __u64);
MAP(array, BPF_MAP_TYPE_ARRAY, 4, 0, __u32, __u64);
MAP(percpu_array, BPF_MAP_TYPE_PERCPU_ARRAY, 4, 0, __u32, __u64);
MAP(stacks, BPF_MAP_TYPE_STACK_TRACE, STACKS, 0, __u32, __u64[16]);
MAP(storage, BPF_MAP_TYPE_TASK_STORAGE, 0, BPF_F_NO_PREALLOC_, int, __u64);

struct trie_key {
	__u32 bits, data;
};
MAP(trie, BPF_MAP_TYPE_LPM_TRIE, 64, BPF_F_NO_PREALLOC_, struct trie_key, __u64);

struct {
	__uint(type, BPF_MAP_TYPE_STACK_TRACE);
	__uint(max_entries, STACKS);
	__uint(map_flags, BPF_F_STACK_BUILD_ID);
	__type(key, __u32);
	__uint(value_size, 16 * sizeof(struct bpf_stack_build_id));
} builds SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERF_EVENT_ARRAY);
	__uint(key_size, 4);
	__uint(value_size, 4);
} events SEC(".maps");

struct inner_map {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u64);
} inner SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH_OF_MAPS);
	__uint(max_entries, 4);
	__type(key, __u32);
	__array(values, struct inner_map);
} nested SEC(".maps") = { .values = { [1] = &inner } };

/* The process whose hits count, and what programs do then. */
int only_pid;
__u64 outer_ops, inner_ops;
/* User memory: some that is there and some that is not, and a signal to send. */
__u64 user_there, user_absent;
int signal_nr;

struct context_seen seen[CONTEXT_PLACES];
struct context_seen outer;

/* An operation, if it is wanted: an errno, or 0, or (PTR) 1 for a pointer and 0 for none. */
#define DO(op, what) \
	do { \
		if (ops & 1ULL << C_##op) { \
			long done = (what); \
			done &= done >> 63; \
			to->said[C_##op] |= C_SAID(done); \
		} \
	} while (0)
#define PTR(op, what) \
	do { \
		if (ops & 1ULL << C_##op) \
			to->said[C_##op] |= (what) ? C_SAID(1) : C_SAID(0); \
	} while (0)
#define HASH(OP, map, key) \
	do { \
		DO(OP##_UPDATE, bpf_map_update_elem(map, key, &value, 0)); \
		PTR(OP##_LOOKUP, bpf_map_lookup_elem(map, key)); \
		DO(OP##_AGAIN, bpf_map_update_elem(map, key, &value, BPF_EXIST)); \
		DO(OP##_DELETE, bpf_map_delete_elem(map, key)); \
	} while (0)

static long reserve(void)
{
	__u64 *record = bpf_ringbuf_reserve(&ring, 8, 0);

	if (!record)
		return 0;
	*record = 1;
	bpf_ringbuf_discard(record, 0);
	return 1;
}

static long nothing(struct bpf_map *map, __u32 *key, __u64 *value, void *arg)
{
	return 0;
}

static __always_inline void use(void *ctx, __u64 ops, __u32 key, struct context_seen *to)
{
	struct bpf_stack_build_id build[4] = {};
	struct trie_key tkey = { 32, key };
	__u64 value = key, trace[8];
	__u32 one = 1;

	PTR(RESERVE, reserve());
	DO(OUTPUT, bpf_ringbuf_output(&ring, &value, sizeof(value), 0));
	DO(QUEUE_PUSH, bpf_map_push_elem(&queue, &value, 0));
	DO(QUEUE_PEEK, bpf_map_peek_elem(&queue, &value));
	DO(QUEUE_POP, bpf_map_pop_elem(&queue, &value));
	DO(STACK_PUSH, bpf_map_push_elem(&stack, &value, 0));
	DO(STACK_PEEK, bpf_map_peek_elem(&stack, &value));
	DO(STACK_POP, bpf_map_pop_elem(&stack, &value));
	HASH(HASH, &hash, &key);
	HASH(SPARSE, &sparse, &key);
	HASH(PERCPU, &percpu, &key);
	HASH(PERCPU_SPARSE, &percpu_sparse, &key);
	DO(ARRAY_UPDATE, bpf_map_update_elem(&array, &one, &value, 0));
	PTR(ARRAY_LOOKUP, bpf_map_lookup_elem(&array, &one));
	DO(PERCPU_ARRAY_UPDATE, bpf_map_update_elem(&percpu_array, &one, &value, 0));
	PTR(PERCPU_ARRAY_LOOKUP, bpf_map_lookup_elem(&percpu_array, &one));
	DO(BLOOM_PUSH, bpf_map_push_elem(&bloom, &value, 0));
	DO(BLOOM_PEEK, bpf_map_peek_elem(&bloom, &value));
	PTR(NESTED_LOOKUP, bpf_map_lookup_elem(&nested, &one));
	DO(EACH, bpf_for_each_map_elem(&hash, nothing, NULL, 0));
	DO(STACKID, bpf_get_stackid(ctx, &stacks, BPF_F_REUSE_STACKID | BPF_F_FAST_STACK_CMP));
	DO(STACKID_USER, bpf_get_stackid(ctx, &stacks, BPF_F_USER_STACK | BPF_F_REUSE_STACKID));
	DO(STACKID_BUILD, bpf_get_stackid(ctx, &builds, BPF_F_USER_STACK | BPF_F_REUSE_STACKID));
	DO(GET_STACK, bpf_get_stack(ctx, trace, sizeof(trace), 0));
	DO(GET_STACK_USER, bpf_get_stack(ctx, build, sizeof(build),
					 BPF_F_USER_STACK | BPF_F_USER_BUILD_ID));
	DO(PERF_OUTPUT, bpf_perf_event_output(ctx, &events, BPF_F_CURRENT_CPU, &value,
					      sizeof(value)));
	PTR(STORAGE_GET, bpf_task_storage_get(&storage, bpf_get_current_task_btf(), NULL,
					      BPF_LOCAL_STORAGE_GET_F_CREATE));
	DO(STORAGE_DELETE, bpf_task_storage_delete(&storage, bpf_get_current_task_btf()));
	HASH(LRU, &lru, &key);
	HASH(PERCPU_LRU, &percpu_lru, &key);
	HASH(TRIE, &trie, &tkey);
	DO(READ_USER, bpf_probe_read_user(&value, sizeof(value), (void *)user_there));
	DO(READ_ABSENT, bpf_probe_read_user(&value, sizeof(value), (void *)user_absent));
	DO(WRITE_USER, bpf_probe_write_user((void *)user_there, &value, sizeof(value)));
	DO(SIGNAL, bpf_send_signal(signal_nr));
	DO(SIGNAL_AGAIN, bpf_send_signal_thread(signal_nr));
}

/* One that all helpers interrupt each other in. */
SEC("raw_tp")
int outside(void *ctx)
{
	__u64 value = 0;
	__u32 i, key;

	use(ctx, outer_ops, 1, &outer);
	/* what is old has to go */
	for (i = 0; i < FULL; i++) {
		key = i;
		bpf_map_update_elem(&full, &key, &value, 0);
	}
	return 0;
}

SEC("kprobe")
int inside(struct pt_regs *ctx)
{
	__u64 place = bpf_get_attach_cookie(ctx);

	if (bpf_get_current_pid_tgid() >> 32 != (__u32)only_pid || place >= CONTEXT_PLACES)
		return 0;
	use(ctx, inner_ops, 2, &seen[place]);
	seen[place].hits++;
	return 0;
}

/* As it was: lists of 8, nothing else. */
SEC("raw_tp")
int tidy(void *ctx)
{
	__u64 value = 0;
	__u32 i, key;

	for (i = 0; i < FULL; i++) {
		key = i;
		bpf_map_pop_elem(&queue, &value);
		bpf_map_pop_elem(&stack, &value);
		bpf_map_delete_elem(&hash, &key);
		bpf_map_delete_elem(&sparse, &key);
		bpf_map_delete_elem(&percpu, &key);
		bpf_map_delete_elem(&percpu_sparse, &key);
		bpf_map_delete_elem(&lru, &key);
		bpf_map_delete_elem(&percpu_lru, &key);
		bpf_map_delete_elem(&full, &key);
	}
	for (i = 0; i < 8; i++) {
		bpf_map_push_elem(&queue, &value, 0);
		bpf_map_push_elem(&stack, &value, 0);
	}
	return 0;
}
