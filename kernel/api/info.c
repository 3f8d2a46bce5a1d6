// SPDX-License-Identifier: GPL-2.0
/*
 * The INFO command: version, features and totals of this module.
 */
#include <linux/slab.h>
#include <linux/uaccess.h>
#include "base/ksyms.h"
#include "func/target.h"
#include "internal.h"
#include "link/link.h"
#include "multi/layout.h"
#include "multi/proto.h"
#include "probe/probe.h"
#include "prog/runtime.h"

static int fill(struct tramp_info *info)
{
	u32 len = info->missing_len;
	char *names;
	int err = 0;

	if (info->flags)
		return -EINVAL;
	info->abi_version = TRAMP_ABI_VERSION;
	info->max_progs = TRAMP_MAX_PROGS;
	info->max_slots = TRAMP_MAX_SLOTS;
	info->symbols_found = tramp_ksyms.found;
	info->symbols_missing = tramp_ksyms.missing;
	info->features = TRAMP_FEAT_FENTRY | TRAMP_FEAT_FEXIT | TRAMP_FEAT_FMOD_RET |
			 TRAMP_FEAT_SLEEPABLE | TRAMP_FEAT_COOKIE | TRAMP_FEAT_MODULES |
			 TRAMP_FEAT_UPDATE_PROG;
	if (tramp_inline_guards())
		info->features |= TRAMP_FEAT_INLINE_GUARD | TRAMP_FEAT_FTRACE_OPS;
	if (tramp_ksyms.has_perf_event_ksymbol)
		info->features |= TRAMP_FEAT_KSYMBOL;
	strscpy(info->version, TRAMP_VERSION, sizeof(info->version));

	mutex_lock(&tramp_mutex);
	info->links = tramp_link_count();
	info->targets = tramp_target_count();
	tramp_probe_totals(&info->probes, &info->optimised);
	info->probes += tramp_target_probes();
	mutex_unlock(&tramp_mutex);
	if (tramp_ksyms.has_probes) {
		info->features |= TRAMP_FEAT_KPROBE | TRAMP_FEAT_JUMP | TRAMP_FEAT_KRETPROBE |
				  TRAMP_FEAT_MULTI;
		if (tramp_env.has_session && !tramp_protos_lack())
			info->features |= TRAMP_FEAT_SESSION_MAP;
		if (tramp_multi_layout.known)
			info->features |= TRAMP_FEAT_MULTI_HELPERS;
		if (tramp_multi_layout.sessions && !tramp_protos_lack())
			info->features |= TRAMP_FEAT_SESSION;
	}
	info->grace_periods = tramp_grace_periods();
	tramp_image_totals(&info->images, &info->retiring, &info->image_bytes);

	info->missing_len = tramp_ksyms_missing(NULL, 0);
	if (!info->missing)
		return 0;
	if (len < info->missing_len)
		return -EMSGSIZE;
	/* Kept while the caller's memory is written, which user space can make wait. */
	names = kzalloc(info->missing_len, GFP_KERNEL_ACCOUNT);
	if (!names)
		return -ENOMEM;
	tramp_ksyms_missing(names, info->missing_len);
	if (copy_to_user(u64_to_user_ptr(info->missing), names, info->missing_len))
		err = -EFAULT;
	kfree(names);
	return err;
}

long tramp_run_info(union tramp_arg *arg, const struct tramp_user *user)
{
	return tramp_reply(user, arg, fill(&arg->info));
}
