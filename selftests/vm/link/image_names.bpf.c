// SPDX-License-Identifier: GPL-2.0
/* How the kernel names an address: the program of test_image_names.c. */
#include "vmlinux.h"
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

char LICENSE[] SEC("license") = "GPL";

__u64 addr;
char name[128];

SEC("syscall")
int say_name(void *ctx)
{
	BPF_SNPRINTF(name, sizeof(name), "%pS", (void *)addr);
	return 0;
}
