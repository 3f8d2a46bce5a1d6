/* SPDX-License-Identifier: LGPL-2.1 OR BSD-2-Clause */
/*
 * Each reason in user space: the status that trampctl exits with, and what a person can do
 * about it.
 *
 * TRAMP_REMEDIES(X): X(NAME, STATUS, "remedy"), one row for each reason of the module
 * (REASON_..., TRAMP_REASONS in linux/trampoline.h) and of the library (LIB_...,
 * TRAMP_LIB_REASONS in trampoline/common.h). The compiler of libtrampoline refuses a
 * reason without a row, an empty remedy, a second row, and a row without a reason. That of
 * trampctl refuses a STATUS that is not one of its EXIT_*.
 *
 * A remedy is an instruction that a person can follow. It stands behind a semicolon or
 * in a line of its own, so it begins with a small letter and has no full stop. FUNCTION in it
 * is for remedy_for() to replace.
 */
#ifndef TRAMPOLINE_REMEDIES_H
#define TRAMPOLINE_REMEDIES_H

#include <stdio.h>
#include <string.h>

/* All that the library attaches; the first three also have sleepable forms ("fentry.s/FUNC"). */
#define TRAMP_REMEDY_SECTION \
	"use a section fentry/FUNC, fexit/FUNC, fmod_ret/FUNC, kprobe/FUNC+OFFSET, kretprobe/FUNC, kprobe.multi/PATTERN, kretprobe.multi/PATTERN or kprobe.session/PATTERN"

#define TRAMP_REMEDIES(X) \
	X(REASON_NONE, FAILED, "") \
	X(REASON_SYNTAX, REFUSED, "correct the request as linux/trampoline.h describes it") \
	X(REASON_PERMISSION, PERMISSION, \
	  "run as root, or give the program CAP_BPF and CAP_PERFMON and access to " TRAMP_DEVICE) \
	X(REASON_LOCKDOWN, PERMISSION, "boot without lockdown (see /sys/kernel/security/lockdown)") \
	X(REASON_BAD_PROG_FD, REFUSED, "load the program first (bpf_object__load())") \
	X(REASON_PROG_TYPE, REFUSED, TRAMP_REMEDY_SECTION) \
	X(REASON_ATTACH_TYPE, REFUSED, TRAMP_REMEDY_SECTION) \
	X(REASON_PROG_TARGET, REFUSED, "give the program a kernel function as its target") \
	X(REASON_NO_SUCH_FUNCTION, NOT_FOUND, \
	  "check the name in /proc/kallsyms; a function missing there was inlined or is not part of this kernel") \
	X(REASON_NOT_TRACEABLE, REFUSED, \
	  "choose a caller or a callee that is listed in available_filter_functions") \
	X(REASON_NO_BTF, REFUSED, \
	  "choose a function that BTF describes (bpftool btf dump id 1), or load a module that was built with BTF") \
	X(REASON_MODULE_GONE, REFUSED, "load the module if it is gone, then the program again") \
	X(REASON_OWN_MODULE, REFUSED, "choose a function outside of the trampoline module") \
	X(REASON_TOO_MANY_ARGS, REFUSED, "choose a caller or a callee with a simpler prototype") \
	X(REASON_ARG_TYPE, REFUSED, "choose a caller or a callee with a simpler prototype") \
	X(REASON_VARIADIC, REFUSED, "choose a caller or a callee with a simpler prototype") \
	X(REASON_NORETURN, REFUSED, "attach an fentry program instead") \
	X(REASON_ALREADY_ATTACHED, REFUSED, "detach it first, or load the program a second time") \
	X(REASON_TOO_MANY_PROGS, REFUSED, \
	  "detach programs that are not needed, or do the work of several in one") \
	X(REASON_SITE_HELD, REFUSED, \
	  "detach the holder (see trampctl explain FUNCTION), permit mode ops if --no-ops forbids it, or choose another place") \
	X(REASON_SITE_BUSY, REFUSED, \
	  "look for other tracers of the function in /sys/kernel/tracing/enabled_functions") \
	X(REASON_LIVEPATCHED, REFUSED, \
	  "attach to a function that is not live-patched (see /sys/kernel/livepatch)") \
	X(REASON_FTRACE_DISABLED, REFUSED, \
	  "sysctl kernel.ftrace_enabled=1; if ftrace disabled itself, the kernel log says why") \
	X(REASON_NO_MEMORY, REFUSED, "free memory, or detach programs that are not needed") \
	X(REASON_NO_EXEC_MEMORY, REFUSED, "free memory, or detach programs that are not needed") \
	X(REASON_OUT_OF_REACH, REFUSED, \
	  "choose another function, or another instruction of it (trampctl explain --code FUNCTION)") \
	X(REASON_IMAGE_LIMIT, REFUSED, "attach fewer programs to the function") \
	X(REASON_MISSING_SYMBOL, REFUSED, "trampctl features lists what this kernel lacks") \
	X(REASON_NOT_BUILT, REFUSED, "trampctl features lists what this build can do") \
	X(REASON_PROG_MISMATCH, REFUSED, \
	  "load the new program with the same section name as the old one; for many functions attach a new link") \
	X(REASON_LINK_GONE, NOT_FOUND, "trampctl list shows all links") \
	X(REASON_HIDDEN_ADDRESS, PERMISSION, \
	  "run as root with kernel.kptr_restrict below 2, or write FUNCTION+OFFSET in place of an address") \
	X(REASON_LSM, PERMISSION, \
	  "have the policy of SELinux, of the BPF LSM or of another one allow bpf(2) to do the same") \
	X(REASON_PROG_NOT_JITED, REFUSED, "load the program again") \
	X(REASON_AMBIGUOUS, USAGE, \
	  "say MODULE:NAME (vmlinux:NAME for the kernel proper), if that tells them apart") \
	X(REASON_NOT_TEXT, REFUSED, "choose an address in a function that /proc/kallsyms lists") \
	X(REASON_NOT_BOUNDARY, REFUSED, "trampctl explain --code FUNCTION lists its instructions") \
	X(REASON_OFFSET_RANGE, REFUSED, "trampctl explain --code FUNCTION lists its instructions") \
	X(REASON_INIT_TEXT, REFUSED, "choose a function that the kernel keeps after start-up") \
	X(REASON_BLACKLISTED, REFUSED, "choose a caller (see /sys/kernel/debug/kprobes/blacklist)") \
	X(REASON_RESERVED, REFUSED, \
	  "choose an instruction nearby (trampctl explain --code FUNCTION)") \
	X(REASON_INSN_FIXED, REFUSED, \
	  "choose an instruction nearby (trampctl explain --code FUNCTION)") \
	X(REASON_INSN_FIXUP, REFUSED, \
	  "choose an instruction nearby (trampctl explain --code FUNCTION)") \
	X(REASON_KPROBE_THERE, REFUSED, \
	  "remove the kernel's kprobe (see /sys/kernel/debug/kprobes/list)") \
	X(REASON_KPROBE_REFUSED, REFUSED, \
	  "choose an instruction nearby (trampctl explain --code FUNCTION)") \
	X(REASON_PROG_OVERRIDE, REFUSED, "attach it with libbpf, or use SEC(\"fmod_ret/FUNCTION\")") \
	X(REASON_RCU_IDLE, REFUSED, \
	  "choose a caller, or an instruction nearby (trampctl explain --code FUNCTION)") \
	X(REASON_OPT_PENDING, REFUSED, \
	  "wait a moment; echo 1 >/sys/kernel/debug/trampoline/optimize ends the wait") \
	X(REASON_OPT_OFF, REFUSED, "echo 1 >/sys/kernel/debug/trampoline/optimize") \
	X(REASON_REGION_SHORT, REFUSED, \
	  "to get a jump, choose an instruction nearby (trampctl explain --code FUNCTION)") \
	X(REASON_REGION_TARGET, REFUSED, \
	  "to get a jump, choose an instruction nearby (trampctl explain --code FUNCTION)") \
	X(REASON_REGION_INDIRECT, REFUSED, \
	  "to get a jump, choose an instruction nearby (trampctl explain --code FUNCTION)") \
	X(REASON_REGION_FIXUP, REFUSED, \
	  "to get a jump, choose an instruction nearby (trampctl explain --code FUNCTION)") \
	X(REASON_REGION_RESERVED, REFUSED, \
	  "to get a jump, choose an instruction nearby (trampctl explain --code FUNCTION)") \
	X(REASON_REGION_PROBE, REFUSED, "detach the other probe, or leave it at an int3") \
	X(REASON_REGION_CALL, REFUSED, \
	  "to get a jump, choose an instruction nearby (trampctl explain --code FUNCTION)") \
	X(REASON_REGION_INSN, REFUSED, \
	  "to get a jump, choose an instruction nearby (trampctl explain --code FUNCTION)") \
	X(REASON_FOREIGN_BYTES, REFUSED, "stop the tool that patches the kernel there") \
	X(REASON_FUNC_IP, REFUSED, "remove the bpf_get_func_ip() call, or attach it with libbpf") \
	X(REASON_NOTRACE, REFUSED, \
	  "choose a caller or callee that is listed in available_filter_functions") \
	X(LIB_NO_DEVICE, NO_MODULE, "modprobe trampoline, or insmod trampoline.ko") \
	X(LIB_NO_NODE, NO_MODULE, \
	  "mount devtmpfs on /dev, or make the node with the numbers in /sys/class/misc/trampoline/dev") \
	X(LIB_ABI_MISMATCH, NO_MODULE, \
	  "install module and library from the same release, and reload the module") \
	X(LIB_NOT_LOADED, FAILED, "call bpf_object__load() first") \
	X(LIB_NO_PROGRAMS, FAILED, \
	  "check that programs have a section name and are not switched off") \
	X(LIB_BAD_ARGUMENT, FAILED, \
	  "correct the argument as the manual page of the call describes it") \
	X(LIB_NOT_OUR_LINK, FAILED, "use bpftool link, or libbpf, for links of the kernel") \
	X(LIB_NOT_BPFFS, FAILED, \
	  "pin below /sys/fs/bpf; if that is not mounted: mount -t bpf bpf /sys/fs/bpf") \
	X(LIB_PIN_EXISTS, FAILED, "choose another path, or remove what is there") \
	X(LIB_ALREADY_PINNED, FAILED, "unpin it first") \
	X(LIB_NOT_PINNED, FAILED, "pin it before you unpin it") \
	X(LIB_NO_KALLSYMS, FAILED, "mount proc on /proc") \
	X(LIB_NO_TRACEFS, FAILED, "run as root; mount -t tracefs nodev /sys/kernel/tracing") \
	X(LIB_NO_KERNEL_BTF, FAILED, \
	  "use a kernel built with CONFIG_DEBUG_INFO_BTF (see /sys/kernel/btf)") \
	X(LIB_NO_MATCH, NOT_FOUND, "check the pattern, and quote it against the shell") \
	X(LIB_BAD_PATTERN, USAGE, "patterns are [MODULE:]NAME with the wildcards * ? [a-z] [!a-z]") \
	X(LIB_KERNEL_ATTACHED, FAILED, \
	  "attach it once: call either the skeleton's __attach() or tramp_attach()") \
	X(LIB_NO_FILE, NOT_FOUND, "check the path, and who may read it") \
	X(LIB_SYSTEM, FAILED, "read the kernel log (dmesg), which may say more") \
	X(LIB_BAD_PLACE, USAGE, "a place is [MODULE:]FUNCTION[+OFFSET] or 0xADDRESS") \
	X(LIB_NO_IMAGE, NOT_FOUND, "choose a link in mode direct, jump or int3 (trampctl list)") \
	X(LIB_DENIED, REFUSED, "change the deny pattern") \
	X(LIB_DENY_LIST, REFUSED, \
	  "name it in full, outside of a file, or do without the built-in deny list") \
	X(LIB_CANCELLED, FAILED, "start again, and let it end") \
	X(LIB_TOO_MANY, USAGE, "ask for fewer, in several steps") \
	X(LIB_BAD_SECTION, FAILED, TRAMP_REMEDY_SECTION) \
	X(LIB_INLINED, NOT_FOUND, "attach to a function that calls it")

/* Writes @remedy with @func for each FUNCTION in it; NULL or "": the word stays. */
static inline void remedy_for(const char *remedy, const char *func, char *buf, size_t len)
{
	static const char word[] = "FUNCTION";
	const char *at;
	size_t pos = 0;
	int n;

	buf[0] = '\0';
	while (func && func[0] && (at = strstr(remedy, word)) != NULL && pos < len) {
		n = snprintf(buf + pos, len - pos, "%.*s%s", (int)(at - remedy), remedy, func);
		pos += n < 0 ? 0 : (size_t)n;
		remedy = at + sizeof(word) - 1;
	}
	if (pos < len)
		snprintf(buf + pos, len - pos, "%s", remedy);
}

#endif /* TRAMPOLINE_REMEDIES_H */
