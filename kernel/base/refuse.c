// SPDX-License-Identifier: GPL-2.0
/*
 * Refusals: each reason comes with one errno, from the same row of TRAMP_REASONS in
 * include/uapi/linux/trampoline.h as its number and its name.
 *
 * A refusal must never look like success: callers turn the result into a pointer by
 * ERR_PTR(). So a row without an errno does not compile. A number without a row fails as
 * NONE does.
 */
#include <linux/build_bug.h>
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/stdarg.h>
#include "tramp.h"

/* Errnos from ERESTARTSYS on stay inside the kernel. */
#define REASON_ERRNO(error) \
	((error) + BUILD_BUG_ON_ZERO((error) <= 0 || (error) >= ERESTARTSYS))

static const struct {
	int error;
	const char *name;
} reasons[] = {
#define REASON(value, NAME, name, error, sentence) [value] = { REASON_ERRNO(error), name },
	TRAMP_REASONS(REASON)
#undef REASON
};

static bool is_reason(u32 reason)
{
	return reason < ARRAY_SIZE(reasons) && reasons[reason].error;
}

const char *tramp_reason_name(u32 reason)
{
	return is_reason(reason) ? reasons[reason].name : "unknown";
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
	return -reasons[is_reason(reason) ? reason : TRAMP_REASON_NONE].error;
}
