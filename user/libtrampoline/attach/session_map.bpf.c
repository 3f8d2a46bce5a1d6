// SPDX-License-Identifier: LGPL-2.1 OR BSD-2-Clause
/*
 * Answers to what a session asks the kernel, from a map: open.c links this into an object
 * on kernels that have no sessions. See struct tramp_session_words.
 *
 * Hidden functions are static ones to the verifier: it follows them into the program, so what they
 * return may be a pointer. It does not know that the map has an entry, hence @nowhere.
 */
#include <linux/bpf.h>
#include <linux/trampoline.h>
#include <bpf/bpf_helpers.h>
#include <stdbool.h>

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct tramp_session_words);
} tramp_session SEC(".maps");

static struct tramp_session_words nowhere;

static __always_inline struct tramp_session_words *words(void)
{
	__u32 first = 0;
	struct tramp_session_words *w = bpf_map_lookup_elem(&tramp_session, &first);

	return w ? w : &nowhere;
}

__hidden bool bpf_session_is_return(void);
__hidden __u64 *bpf_session_cookie(void);

bool bpf_session_is_return(void)
{
	return words()->is_return;
}

__u64 *bpf_session_cookie(void)
{
	return (__u64 *)&words()->cookie;
}
