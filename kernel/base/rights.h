/* SPDX-License-Identifier: GPL-2.0 */
/* Rights: the questions that ioctls, link commands and debugfs ask; docs/rights.md has them all. */
#ifndef TRAMP_RIGHTS_H
#define TRAMP_RIGHTS_H

#include <linux/cred.h>
#include "ksyms.h"
#include "tramp.h"

/* The calling task may use the module: CAP_SYS_ADMIN, or both CAP_BPF and CAP_PERFMON. */
bool tramp_may_use(void);

/**
 * tramp_may_attach() - whether it may put a program into kernel code, now
 * @why: PERMISSION or LOCKDOWN; may be NULL
 *
 * Asked by everything that makes a program run where it did not run before: the commands that
 * attach, and BPF_LINK_UPDATE. Lockdown does not matter to a command that only reads: the kernel's
 * own interfaces that show as much (BTF, kallsyms) stay open under it.
 *
 * Return: 0 or -EPERM.
 */
int tramp_may_attach(struct tramp_refusal *why);

/**
 * tramp_lsm_permits_link() - whether a security module lets it make a link with a program
 * @prog: the program
 * @prog_fd: its descriptor
 * @why: LSM
 *
 * A policy hears of bpf(2) and not of our device, so it is asked what bpf(2) asks it about the
 * same act (__sys_bpf(), kernel/bpf/syscall.c): BPF_LINK_CREATE with this program. Members of
 * the request that only the kernel's own links have, as what they are attached to, are 0. The
 * core asks about BPF_LINK_UPDATE and BPF_LINK_DETACH, which come by bpf(2).
 *
 * Context: may sleep; without tramp_mutex, as a policy may be anybody's BPF program.
 * Return: 0 or -EPERM.
 */
int tramp_lsm_permits_link(const struct bpf_prog *prog, u32 prog_fd, struct tramp_refusal *why);

/**
 * tramp_lsm_permits_detach() - likewise: whether it may detach a link
 * @link_fd: the link's descriptor
 * @why: LSM
 *
 * Asked about each link of DETACH_BATCH, as BPF_LINK_DETACH of one.
 * Return: 0 or -EPERM.
 */
int tramp_lsm_permits_detach(u32 link_fd, struct tramp_refusal *why);

/**
 * tramp_may_name_address() - whether it may ask about an address
 * @addr: the address that it gave, 0 if it gave a symbol
 * @why: HIDDEN_ADDRESS
 *
 * A task that may try addresses, and hears which symbol each is in or only whether there is
 * text, soon knows where the kernel lies.
 *
 * Return: 0 or -EPERM.
 */
int tramp_may_name_address(u64 addr, struct tramp_refusal *why);

/**
 * tramp_may_see_addresses() - whether somebody may see where the kernel lies
 * @cred: whose rights count: the calling task's, or those that a file was opened with
 *
 * Return: what /proc/kallsyms goes by.
 */
static inline bool tramp_may_see_addresses(const struct cred *cred)
{
	return KSYM(kallsyms_show_value)(cred);
}

#endif /* TRAMP_RIGHTS_H */
