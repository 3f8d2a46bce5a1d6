/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Shared by probe_context.bpf.c and its test: what programs do there, and how it went.
 */
#ifndef PROBE_CONTEXT_H
#define PROBE_CONTEXT_H

/* Four things to do with each kind of hash. */
#define CONTEXT_HASH(X, kind) \
	X(kind##_UPDATE) X(kind##_LOOKUP) X(kind##_AGAIN) X(kind##_DELETE)

/*
 * Helpers that programs call, each a number from 0. Those of LRU maps stand together: their
 * locks have no way out, see the test. So do those that come last, which are called where
 * nothing is locked only.
 */
#define CONTEXT_OPS(X) \
	X(RESERVE) X(OUTPUT) \
	X(QUEUE_PUSH) X(QUEUE_PEEK) X(QUEUE_POP) \
	X(STACK_PUSH) X(STACK_PEEK) X(STACK_POP) \
	CONTEXT_HASH(X, HASH) CONTEXT_HASH(X, SPARSE) \
	CONTEXT_HASH(X, PERCPU) CONTEXT_HASH(X, PERCPU_SPARSE) \
	X(ARRAY_UPDATE) X(ARRAY_LOOKUP) X(PERCPU_ARRAY_UPDATE) X(PERCPU_ARRAY_LOOKUP) \
	X(BLOOM_PUSH) X(BLOOM_PEEK) X(NESTED_LOOKUP) X(EACH) \
	X(STACKID) X(STACKID_USER) X(STACKID_BUILD) X(GET_STACK) X(GET_STACK_USER) \
	X(PERF_OUTPUT) X(STORAGE_GET) \
	CONTEXT_HASH(X, LRU) CONTEXT_HASH(X, PERCPU_LRU) \
	X(STORAGE_DELETE) CONTEXT_HASH(X, TRIE) \
	X(READ_USER) X(READ_ABSENT) X(WRITE_USER) X(SIGNAL) X(SIGNAL_AGAIN)

enum context_op {
#define CONTEXT_ENUM(name) C_##name,
	CONTEXT_OPS(CONTEXT_ENUM)
#undef CONTEXT_ENUM
	NR_CONTEXT_OPS,
	C_LRU_FIRST = C_LRU_UPDATE,
	C_ALONE_FIRST = C_STORAGE_DELETE,
};

/* Sets of them, one bit each: all, those for anywhere but LRU code, those for anywhere. */
#define C_ALL		((1ULL << NR_CONTEXT_OPS) - 1)
#define C_ANYWHERE	((1ULL << C_ALONE_FIRST) - 1)
#define C_NO_LRU	((1ULL << C_LRU_FIRST) - 1)

#define CONTEXT_PLACES	256	/* probes at a time */

/*
 * The result of the hits at one place. Each helper has a set of results: 0, 1 for a
 * pointer, a negative errno from -62 on; each is a bit, by its last 6 bits.
 */
struct context_seen {
	__u64 hits;
	__u64 said[NR_CONTEXT_OPS];
};

#define C_SAID(result)	(1ULL << ((result) & 63))

#endif /* PROBE_CONTEXT_H */
