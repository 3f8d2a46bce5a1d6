// SPDX-License-Identifier: GPL-2.0
/* A policy: what a security module says to bpf(2), in the place of one that is there. */
#include "vmlinux.h"
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

char LICENSE[] SEC("license") = "GPL";

/* Of whom this command is refused, with this error; nothing else is. */
__u32 policy_tgid;
int policy_cmd, policy_error;

/* Of the last such request. */
__u64 asked;
__u32 asked_fd, asked_type, asked_size;

SEC("fmod_ret/security_bpf")
int BPF_PROG(policy, int cmd, union bpf_attr *attr, unsigned int size, int ret)
{
	if (bpf_get_current_pid_tgid() >> 32 != policy_tgid || cmd != policy_cmd)
		return ret;
	__sync_fetch_and_add(&asked, 1);
	asked_size = size;
	if (cmd == BPF_LINK_CREATE) {
		asked_fd = attr->link_create.prog_fd;
		asked_type = attr->link_create.attach_type;
	} else {
		asked_fd = attr->link_detach.link_fd;
	}
	return policy_error;
}
