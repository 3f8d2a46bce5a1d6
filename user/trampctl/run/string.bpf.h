/* SPDX-License-Identifier: GPL-2.0 */
/* Strings that arguments lead to, enum trace_str_kind: the BPF side. */
#ifndef TRAMPCTL_STRING_BPF_H
#define TRAMPCTL_STRING_BPF_H

#include "calltrace.h"

/*
 * The members followed below, in flavours of our own: the full types of
 * vmlinux.h would drag half the kernel's types into the object.
 */
struct filename___tr {
	const char *name;
} __attribute__((preserve_access_index));

struct qstr___tr {
	const unsigned char *name;
} __attribute__((preserve_access_index));

struct dentry___tr {
	struct qstr___tr d_name;
} __attribute__((preserve_access_index));

struct path___tr {
	struct dentry___tr *dentry;
} __attribute__((preserve_access_index));

struct file___tr {
	struct path___tr f_path;
} __attribute__((preserve_access_index));

/*
 * Reads the string that a pointer of the given kind leads to. User and kernel
 * addresses differ in their top bit, which says more than the prototype: BTF of
 * these kernels does not record __user.
 */
static __always_inline int read_str(char *dst, __u64 ptr, __u32 kind)
{
	switch (kind) {
	case TRACE_STR_FILENAME:
		ptr = (__u64)BPF_CORE_READ((struct filename___tr *)ptr, name);
		break;
	case TRACE_STR_QSTR:
		ptr = (__u64)BPF_CORE_READ((struct qstr___tr *)ptr, name);
		break;
	case TRACE_STR_DENTRY:
		ptr = (__u64)BPF_CORE_READ((struct dentry___tr *)ptr, d_name.name);
		break;
	case TRACE_STR_FILE:
		ptr = (__u64)BPF_CORE_READ((struct file___tr *)ptr, f_path.dentry, d_name.name);
		break;
	}
	if (!ptr)
		return -14;	/* EFAULT: nothing behind the pointer */
	if ((__s64)ptr >= 0)
		return bpf_probe_read_user_str(dst, TRACE_STR_LEN, (void *)ptr);
	return bpf_probe_read_kernel_str(dst, TRACE_STR_LEN, (void *)ptr);
}

#endif /* TRAMPCTL_STRING_BPF_H */
