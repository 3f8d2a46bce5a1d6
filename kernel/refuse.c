// SPDX-License-Identifier: GPL-2.0
/*
 * Refusals: every reason has one errno, and this is where they meet. The table
 * is the contract written down in include/uapi/linux/trampoline.h.
 */
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/stdarg.h>
#include "tramp.h"

static const int reason_errno[TRAMP_REASON_COUNT] = {
	[TRAMP_REASON_NONE]		= EINVAL,
	[TRAMP_REASON_SYNTAX]		= EINVAL,
	[TRAMP_REASON_PERMISSION]	= EPERM,
	[TRAMP_REASON_LOCKDOWN]		= EPERM,
	[TRAMP_REASON_BAD_PROG_FD]	= EBADF,
	[TRAMP_REASON_PROG_TYPE]	= EINVAL,
	[TRAMP_REASON_ATTACH_TYPE]	= EINVAL,
	[TRAMP_REASON_PROG_TARGET]	= EINVAL,
	[TRAMP_REASON_NO_SUCH_FUNCTION]	= ENOENT,
	[TRAMP_REASON_NOT_TRACEABLE]	= EOPNOTSUPP,
	[TRAMP_REASON_NO_BTF]		= ENOENT,
	[TRAMP_REASON_MODULE_GONE]	= ENXIO,
	[TRAMP_REASON_OWN_MODULE]	= EOPNOTSUPP,
	[TRAMP_REASON_TOO_MANY_ARGS]	= EOPNOTSUPP,
	[TRAMP_REASON_ARG_TYPE]		= EINVAL,
	[TRAMP_REASON_VARIADIC]		= EINVAL,
	[TRAMP_REASON_NORETURN]		= EINVAL,
	[TRAMP_REASON_ALREADY_ATTACHED]	= EBUSY,
	[TRAMP_REASON_TOO_MANY_PROGS]	= E2BIG,
	[TRAMP_REASON_SITE_HELD]	= EBUSY,
	[TRAMP_REASON_SITE_BUSY]	= EBUSY,
	[TRAMP_REASON_LIVEPATCHED]	= EBUSY,
	[TRAMP_REASON_FTRACE_DISABLED]	= ENODEV,
	[TRAMP_REASON_NO_MEMORY]	= ENOMEM,
	[TRAMP_REASON_NO_EXEC_MEMORY]	= ENOMEM,
	[TRAMP_REASON_OUT_OF_REACH]	= ERANGE,
	[TRAMP_REASON_IMAGE_LIMIT]	= E2BIG,
	[TRAMP_REASON_MISSING_SYMBOL]	= EOPNOTSUPP,
	[TRAMP_REASON_NOT_BUILT]	= EOPNOTSUPP,
	[TRAMP_REASON_PROG_MISMATCH]	= EINVAL,
	[TRAMP_REASON_LINK_GONE]	= ENOENT,
	[TRAMP_REASON_HIDDEN_ADDRESS]	= EPERM,
	[TRAMP_REASON_PROG_NOT_JITED]	= EINVAL,
	[TRAMP_REASON_AMBIGUOUS]	= EINVAL,
};

static const char * const reason_name[TRAMP_REASON_COUNT] = {
#define REASON_NAME(value, NAME, name, sentence) [value] = name,
	TRAMP_REASONS(REASON_NAME)
#undef REASON_NAME
};

const char *tramp_reason_name(u32 reason)
{
	return reason < TRAMP_REASON_COUNT ? reason_name[reason] : "unknown";
}

int tramp_refuse(struct tramp_refusal *why, enum tramp_reason reason, u64 addr,
		 const char *fmt, ...)
{
	va_list ap;

	if (why && !why->reason) {
		why->reason = reason;
		why->addr = addr;
		if (fmt) {
			va_start(ap, fmt);
			vscnprintf(why->detail, sizeof(why->detail), fmt, ap);
			va_end(ap);
		}
	}
	return -reason_errno[reason];
}
