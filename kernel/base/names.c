// SPDX-License-Identifier: GPL-2.0
/*
 * Short names of the UAPI's enums, for fdinfo, debugfs and refusals.
 */
#include <linux/kernel.h>
#include "tramp.h"

const char *tramp_kind_name(u32 kind)
{
	static const char * const names[] = {
		[TRAMP_KIND_NONE] = "none",
		[TRAMP_KIND_FENTRY] = "fentry",
		[TRAMP_KIND_FEXIT] = "fexit",
		[TRAMP_KIND_FMOD_RET] = "fmod_ret",
		[TRAMP_KIND_KPROBE] = "kprobe",
		[TRAMP_KIND_KRETPROBE] = "kretprobe",
		[TRAMP_KIND_KPROBE_MULTI] = "kprobe.multi",
		[TRAMP_KIND_KRETPROBE_MULTI] = "kretprobe.multi",
		[TRAMP_KIND_KPROBE_SESSION] = "kprobe.session",
	};

	return kind < ARRAY_SIZE(names) ? names[kind] : "?";
}

const char *tramp_mode_name(u32 mode)
{
	static const char * const names[] = {
		[TRAMP_MODE_NONE] = "none",
		[TRAMP_MODE_DIRECT] = "direct",
		[TRAMP_MODE_FTRACE_OPS] = "ops",
		[TRAMP_MODE_JUMP] = "jump",
		[TRAMP_MODE_INT3] = "int3",
		[TRAMP_MODE_KPROBE] = "kprobe",
		[TRAMP_MODE_RETHOOK] = "rethook",
	};

	return mode < ARRAY_SIZE(names) ? names[mode] : "?";
}
