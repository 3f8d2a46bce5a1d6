// SPDX-License-Identifier: GPL-2.0
/*
 * Rights: what the calling task may do.
 *
 * A file may be inherited or passed on, so rights are those of the task that calls, at each
 * call. Opening the device asks the same: others have no use for its node at all. INFO asks
 * no more, as it tells of no function, program or address, nor does DETACH_BATCH, which takes the
 * caller's own descriptors. The kernel's security modules are asked as bpf(2) asks them.
 */
#include <linux/capability.h>
#include <linux/cred.h>
#include <linux/security.h>
#include "rights.h"

bool tramp_may_use(void)
{
	return bpf_capable() && perfmon_capable();
}

int tramp_may_attach(struct tramp_refusal *why)
{
	if (!tramp_may_use())
		return tramp_refuse(why, TRAMP_REASON_PERMISSION, 0, NULL);
	if (security_locked_down(LOCKDOWN_KPROBES))
		return tramp_refuse(why, TRAMP_REASON_LOCKDOWN, 0, NULL);
	return 0;
}

static int ask_lsm(enum bpf_cmd cmd, const char *name, union bpf_attr *attr,
		   struct tramp_refusal *why)
{
	int err;

#ifdef CONFIG_SECURITY
	err = KSYM(security_bpf)(cmd, attr, sizeof(*attr));
#else
	err = security_bpf(cmd, attr, sizeof(*attr));
#endif
	return err >= 0 ? 0 : tramp_refuse(why, TRAMP_REASON_LSM, 0, "%s: error %d", name, -err);
}

int tramp_lsm_permits_link(const struct bpf_prog *prog, u32 prog_fd, struct tramp_refusal *why)
{
	union bpf_attr attr = {};

	attr.link_create.prog_fd = prog_fd;
	attr.link_create.attach_type = prog->expected_attach_type;
	/* A program for one kprobe has none: the kernel's own link is one of a perf event. */
	if (prog->type == BPF_PROG_TYPE_KPROBE && !prog->expected_attach_type)
		attr.link_create.attach_type = BPF_PERF_EVENT;
	return ask_lsm(BPF_LINK_CREATE, "BPF_LINK_CREATE", &attr, why);
}

int tramp_lsm_permits_detach(u32 link_fd, struct tramp_refusal *why)
{
	union bpf_attr attr = {};

	attr.link_detach.link_fd = link_fd;
	return ask_lsm(BPF_LINK_DETACH, "BPF_LINK_DETACH", &attr, why);
}

int tramp_may_name_address(u64 addr, struct tramp_refusal *why)
{
	if (!addr || tramp_may_see_addresses(current_cred()))
		return 0;
	return tramp_refuse(why, TRAMP_REASON_HIDDEN_ADDRESS, 0, NULL);
}
