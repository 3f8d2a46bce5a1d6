// SPDX-License-Identifier: GPL-2.0
/* An object without a program. */
#include "vmlinux.h"
#include <bpf/bpf_helpers.h>

char LICENSE[] SEC("license") = "GPL";

__u64 nothing = 0;
