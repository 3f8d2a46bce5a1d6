// SPDX-License-Identifier: LGPL-2.1 OR BSD-2-Clause
/*
 * Texts of the reasons: names and sentences come from the two tables that also
 * make the enums (linux/trampoline.h and trampoline/trampoline.h); what to do
 * about a reason is said here.
 */
#include <errno.h>
#include <string.h>
#include <trampoline/trampoline.h>

#include "sized.h"

struct reason_text {
	unsigned int value;
	const char *name;
	const char *sentence;
};

static const struct reason_text texts[] = {
#define REASON_TEXT(value, NAME, name, sentence) { value, name, sentence },
	TRAMP_REASONS(REASON_TEXT)
	TRAMP_LIB_REASONS(REASON_TEXT)
#undef REASON_TEXT
};

static const struct reason_text *find_text(unsigned int reason)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(texts); i++)
		if (texts[i].value == reason)
			return &texts[i];
	return NULL;
}

const char *tramp_reason_name(unsigned int reason)
{
	const struct reason_text *t = find_text(reason);

	return t ? t->name : "unknown";
}

const char *tramp_reason_sentence(unsigned int reason)
{
	const struct reason_text *t = find_text(reason);

	return t ? t->sentence : "a reason that this version of the library does not know";
}

int tramp_reason_by_name(const char *name)
{
	size_t i;

	for (i = 0; name && i < ARRAY_SIZE(texts); i++)
		if (!strcmp(texts[i].name, name))
			return texts[i].value;
	return -ENOENT;
}

/*
 * A remedy is an instruction a person can follow, or empty where nothing but
 * another request helps and the sentence says so already.
 */
const char *tramp_reason_remedy(unsigned int reason)
{
	switch (reason) {
	case TRAMP_REASON_PERMISSION:
		return "run as root, or give the program CAP_BPF and CAP_PERFMON "
		       "and access to " TRAMP_DEVICE;
	case TRAMP_REASON_LOCKDOWN:
		return "boot without lockdown (see /sys/kernel/security/lockdown)";
	case TRAMP_REASON_BAD_PROG_FD:
		return "load the program first (bpf_object__load())";
	case TRAMP_REASON_PROG_TYPE:
	case TRAMP_REASON_ATTACH_TYPE:
		return "use SEC(\"fentry/FUNC\"), SEC(\"fexit/FUNC\"), SEC(\"fmod_ret/FUNC\") "
		       "or SEC(\"kprobe/FUNC+OFFSET\")";
	case TRAMP_REASON_PROG_TARGET:
		return "give the program a kernel function as its target";
	case TRAMP_REASON_NO_SUCH_FUNCTION:
		return "check the name in /proc/kallsyms; a function missing there was inlined "
		       "or is not part of this kernel";
	case TRAMP_REASON_NOT_TRACEABLE:
		return "choose a caller or a callee that is listed in available_filter_functions";
	case TRAMP_REASON_NO_BTF:
		return "choose a function that BTF describes (bpftool btf dump id 1), "
		       "or load a module that was built with BTF";
	case TRAMP_REASON_MODULE_GONE:
		return "load the module, then the program again";
	case TRAMP_REASON_TOO_MANY_ARGS:
	case TRAMP_REASON_ARG_TYPE:
	case TRAMP_REASON_VARIADIC:
		return "choose a caller or a callee with a simpler prototype";
	case TRAMP_REASON_NORETURN:
		return "attach an fentry program instead";
	case TRAMP_REASON_ALREADY_ATTACHED:
		return "detach it first, or load the program a second time";
	case TRAMP_REASON_TOO_MANY_PROGS:
		return "detach programs that are not needed, or do the work of several in one";
	case TRAMP_REASON_SITE_HELD:
		return "detach the other one, or attach fentry programs only, which can go beside it";
	case TRAMP_REASON_SITE_BUSY:
		return "look for other tracers of the function in /sys/kernel/tracing/enabled_functions";
	case TRAMP_REASON_LIVEPATCHED:
		return "attach to a function that is not live-patched (see /sys/kernel/livepatch)";
	case TRAMP_REASON_FTRACE_DISABLED:
		return "sysctl kernel.ftrace_enabled=1; if ftrace disabled itself, the kernel log says why";
	case TRAMP_REASON_NO_MEMORY:
	case TRAMP_REASON_NO_EXEC_MEMORY:
		return "free memory, or detach programs that are not needed";
	case TRAMP_REASON_IMAGE_LIMIT:
		return "attach fewer programs to the function";
	case TRAMP_REASON_MISSING_SYMBOL:
		return "trampctl features lists what this kernel lacks";
	case TRAMP_REASON_NOT_BUILT:
		return "trampctl features lists what this build can do";
	case TRAMP_REASON_PROG_MISMATCH:
		return "load the new program with the same section name as the old one";
	case TRAMP_REASON_LINK_GONE:
		return "trampctl list shows the links there are";
	case TRAMP_REASON_HIDDEN_ADDRESS:
		return "run as root with kernel.kptr_restrict below 2, or write FUNCTION+OFFSET in place of an address";
	case TRAMP_REASON_PROG_NOT_JITED:
		return "sysctl net.core.bpf_jit_enable=1, then load the program again";
	case TRAMP_REASON_AMBIGUOUS:
		return "say MODULE:NAME (vmlinux:NAME for the kernel proper), if that tells them apart";
	case TRAMP_REASON_NOT_TEXT:
		return "choose an address in a function that /proc/kallsyms lists";
	case TRAMP_REASON_NOT_BOUNDARY:
	case TRAMP_REASON_OFFSET_RANGE:
		return "trampctl explain --code FUNCTION lists its instructions";
	case TRAMP_REASON_INIT_TEXT:
		return "choose a function that stays after start-up";
	case TRAMP_REASON_BLACKLISTED:
		return "choose a caller (see /sys/kernel/debug/kprobes/blacklist)";
	case TRAMP_REASON_RESERVED:
	case TRAMP_REASON_INSN_FIXED:
	case TRAMP_REASON_INSN_FIXUP:
	case TRAMP_REASON_KPROBE_REFUSED:
	case TRAMP_REASON_RCU_IDLE:
		return "choose an instruction nearby (trampctl explain --code FUNCTION)";
	case TRAMP_REASON_KPROBE_THERE:
		return "remove the kernel's kprobe (see /sys/kernel/debug/kprobes/list)";
	case TRAMP_REASON_PROG_OVERRIDE:
		return "attach it with libbpf, or use SEC(\"fmod_ret/FUNC\")";
	case TRAMP_REASON_OPT_OFF:
		return "echo 1 >/sys/kernel/debug/trampoline/optimize";
	case TRAMP_REASON_REGION_PROBE:
		return "detach the other probe, or leave it at an int3";
	case TRAMP_REASON_FOREIGN_BYTES:
		return "end the tool that patches the kernel there";
	case TRAMP_REASON_FUNC_IP:
		return "do without bpf_get_func_ip(), or attach it with libbpf";
	case TRAMP_REASON_NOTRACE:
		return "choose a caller or callee that is listed in available_filter_functions";
	case TRAMP_LIB_NO_DEVICE:
		return "modprobe trampoline, or insmod trampoline.ko";
	case TRAMP_LIB_NO_NODE:
		return "mount devtmpfs on /dev, or make the node "
		       "with the numbers in /sys/class/misc/trampoline/dev";
	case TRAMP_LIB_ABI_MISMATCH:
		return "install module and library from the same release, and load the module anew";
	case TRAMP_LIB_NOT_LOADED:
		return "call bpf_object__load() first";
	case TRAMP_LIB_NO_PROGRAMS:
		return "check that programs have a section name and are not switched off";
	case TRAMP_LIB_NOT_OUR_LINK:
		return "use bpftool link, or libbpf, for links of the kernel";
	case TRAMP_LIB_NOT_BPFFS:
		return "pin below /sys/fs/bpf; if that is not mounted: mount -t bpf bpf /sys/fs/bpf";
	case TRAMP_LIB_PIN_EXISTS:
		return "choose another path, or remove what is there";
	case TRAMP_LIB_ALREADY_PINNED:
		return "unpin it first";
	case TRAMP_LIB_NO_KALLSYMS:
		return "mount proc on /proc";
	case TRAMP_LIB_NO_TRACEFS:
		return "run as root; mount -t tracefs nodev /sys/kernel/tracing";
	case TRAMP_LIB_NO_KERNEL_BTF:
		return "use a kernel built with CONFIG_DEBUG_INFO_BTF (see /sys/kernel/btf)";
	case TRAMP_LIB_NO_MATCH:
		return "check the pattern, and quote it against the shell";
	case TRAMP_LIB_BAD_PATTERN:
		return "patterns are [MODULE:]NAME with the wildcards * ? [a-z] [!a-z]";
	case TRAMP_LIB_KERNEL_ATTACHED:
		return "leave attaching to one of the two: no skeleton __attach() beside tramp_attach()";
	case TRAMP_LIB_BAD_PLACE:
		return "a place is [MODULE:]FUNCTION[+OFFSET] or 0xADDRESS";
	default:
		return "";
	}
}

const char *tramp_kind_name(unsigned int kind)
{
	switch (kind) {
	case TRAMP_KIND_NONE:		return "none";
	case TRAMP_KIND_FENTRY:		return "fentry";
	case TRAMP_KIND_FEXIT:		return "fexit";
	case TRAMP_KIND_FMOD_RET:	return "fmod_ret";
	case TRAMP_KIND_KPROBE:		return "kprobe";
	default:			return "unknown";
	}
}

const char *tramp_mode_name(unsigned int mode)
{
	switch (mode) {
	case TRAMP_MODE_NONE:		return "none";
	case TRAMP_MODE_DIRECT:		return "direct";
	case TRAMP_MODE_FTRACE_OPS:	return "ops";
	case TRAMP_MODE_JUMP:		return "jump";
	case TRAMP_MODE_INT3:		return "int3";
	case TRAMP_MODE_KPROBE:		return "kprobe";
	default:			return "unknown";
	}
}
