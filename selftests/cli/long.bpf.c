// SPDX-License-Identifier: GPL-2.0
/* Programs that take long to load: the verifier walks through each round of the loop. */
#include "vmlinux.h"
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

char LICENSE[] SEC("license") = "GPL";

#define ROUNDS 90000

volatile __u64 sum;

static __always_inline int add(void)
{
	__u32 i;

	for (i = 0; i < ROUNDS; i++)
		sum += i;
	return 0;
}

#define LONG(name) SEC("fentry/do_unlinkat") int BPF_PROG(name) { return add(); }
LONG(first)
LONG(second)
LONG(third)
LONG(fourth)
