// SPDX-License-Identifier: GPL-2.0
/*
 * Rights: what the calling task may do.
 *
 * A file may be inherited or passed on, so rights are those of the task that calls, at each
 * call. Opening the device asks the same: others have no use for its node at all. INFO asks
 * no more, as it tells of no function, program or address, nor does DETACH_BATCH, which takes the
 * caller's own descriptors.
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

int tramp_may_name_address(u64 addr, struct tramp_refusal *why)
{
	if (!addr || tramp_may_see_addresses(current_cred()))
		return 0;
	return tramp_refuse(why, TRAMP_REASON_HIDDEN_ADDRESS, 0, NULL);
}
