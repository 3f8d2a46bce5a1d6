/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The one table of kernel symbols that are not exported.
 *
 * Functions are reached through static calls (include/linux/static_call.h), so that every
 * call in our text is a direct near call. On CPUs with indirect branch tracking an indirect
 * call would fault on a function whose ENDBR the kernel sealed; elsewhere it would pay for a
 * retpoline. Call one as KSYM(name)(args); the prototypes are those of the kernel's headers.
 */
#ifndef TRAMP_KSYMS_H
#define TRAMP_KSYMS_H

#include <linux/bpf.h>
#include <linux/btf.h>
#include <linux/bug.h>
#include <linux/extable.h>
#include <linux/filter.h>
#include <linux/ftrace.h>
#include <linux/jump_label.h>
#include <linux/kallsyms.h>
#include <linux/kernel.h>
#include <linux/kprobes.h>
#include <linux/module.h>
#include <linux/perf_event.h>
#include <linux/rethook.h>
#include <linux/security.h>
#include <linux/static_call.h>
#include <linux/task_work.h>
#include <asm/alternative.h>
#include <asm/insn.h>
#include <asm/text-patching.h>
#include "compat.h"

/* Static in some kernels, so that no header has them. */
s32 bpf_find_btf_id(const char *name, u32 kind, struct btf **btf_p);

/* In a header of kernel/trace alone. */
int ftrace_is_dead(void);

#ifdef CONFIG_SECURITY
#define TRAMP_KSYM_SECURITY(X)	X(security_bpf)
#else
#define TRAMP_KSYM_SECURITY(X)
#endif

/* X(name): required functions. Without any of them the module does not load. */
#define TRAMP_KSYM_REQUIRED(X) \
	TRAMP_KSYM_SECURITY(X) \
	X(bpf_link_get_from_fd) \
	X(bpf_link_init) \
	X(bpf_link_prime) \
	X(bpf_link_cleanup) \
	X(bpf_prog_get) \
	X(bpf_prog_pack_alloc) \
	X(bpf_prog_pack_free) \
	X(bpf_arch_text_poke) \
	X(bpf_ksym_add) \
	X(bpf_ksym_del) \
	X(bpf_trampoline_enter) \
	X(bpf_trampoline_exit) \
	X(btf_distill_func_proto) \
	X(btf_name_by_offset) \
	X(btf_obj_id) \
	X(ftrace_is_dead) \
	X(btf_put) \
	X(btf_try_get_module) \
	X(btf_is_kernel) \
	X(btf_is_module) \
	X(core_kernel_text) \
	X(ftrace_find_rec_direct) \
	X(ftrace_location) \
	X(kallsyms_show_value) \
	X(kernel_text_address) \
	X(text_poke_copy) \
	X(__module_address) \
	X(__module_text_address)

#if TRAMP_RETHOOK_HAS_NODES
#define TRAMP_KSYM_RETHOOK_NODES(X)
#else
#define TRAMP_KSYM_RETHOOK_NODES(X)	X(rethook_add_node, "no return probes by rethook")
#endif

/*
 * X(name, "what is off without it"): optional functions. INFO names the missing ones, and the
 * kernel log says what is off.
 */
#define TRAMP_KSYM_OPTIONAL(X) \
	X(bpf_find_btf_id, "no functions by BTF id, programs on many at entries alone") \
	X(bpf_trampoline_get, "attaching does not wait for extensions of the program") \
	X(bpf_trampoline_put, "attaching does not wait for extensions of the program") \
	X(ftrace_rec_iter_next, "a live-patched function fails all that come with it") \
	X(ftrace_rec_iter_record, "a live-patched function fails all that come with it") \
	X(ftrace_rec_iter_start, "a live-patched function fails all that come with it") \
	X(kallsyms_on_each_match_symbol, "functions of the same name are not told apart") \
	X(kallsyms_on_each_symbol, "programs on many at entries alone, and not by name") \
	X(perf_event_ksymbol, "perf does not learn of images") \
	X(perf_event_text_poke, "perf does not learn of changed text") \
	X(rethook_alloc, "no return probes by rethook") \
	X(rethook_free, "no return probes by rethook") \
	X(rethook_hook, "no return probes by rethook") \
	X(rethook_try_get, "no return probes by rethook") \
	X(task_work_add, "links that a process leaves open go one by one") \
	X(text_poke_finish, "text is changed one place at a time") \
	X(text_poke_queue, "text is changed one place at a time") \
	TRAMP_KSYM_RETHOOK_NODES(X)

/* X(name): functions that probes need; without any of them there are no probes. */
#define TRAMP_KSYM_PROBE(X) \
	X(alternatives_text_reserved) \
	X(find_bug) \
	X(ftrace_text_reserved) \
	X(get_kprobe) \
	X(insn_decode) \
	X(kallsyms_lookup) \
	X(kallsyms_lookup_size_offset) \
	X(search_exception_tables) \
	X(text_poke) \
	X(text_poke_sync) \
	X(within_kprobe_blacklist)

#ifdef CONFIG_ARCH_USES_CFI_TRAPS
#define TRAMP_KSYM_CFI(X) \
	X(__start___kcfi_traps) \
	X(__stop___kcfi_traps)
#else
#define TRAMP_KSYM_CFI(X)
#endif

/* X(name): likewise variables, and places in the text. */
#define TRAMP_KSYM_PROBE_ADDRS(X) \
	X(_stext) \
	X(_etext) \
	X(__start___ex_table) \
	X(__stop___ex_table) \
	X(__start___jump_table) \
	X(__stop___jump_table) \
	X(__start_static_call_sites) \
	X(__stop_static_call_sites) \
	X(bpf_prog_active) \
	X(current_kprobe) \
	X(kprobe_ctlblk) \
	X(kprobe_mutex) \
	X(text_mutex) \
	TRAMP_KSYM_CFI(X)

/*
 * X(name, "what is off without it"): variables and addresses that are never called from C; NULL:
 * it is required.
 */
#define TRAMP_KSYM_ADDRS(X) \
	X(ftrace_enabled, NULL) \
	X(direct_mutex, NULL) \
	X(btf_idr, "functions cannot be asked for by BTF id") \
	X(direct_functions, "many functions take longer") \
	X(ftrace_lock, "a live-patched function fails all that come with it") \
	X(ftrace_regs_caller, "many functions take longer") \
	X(x86_return_thunk, "the thunk for returns is found by another name") \
	X(__x86_indirect_its_thunk_array, "indirect branches get kprobes if the CPU needs it") \
	X(__cpuidle_text_start, "idle code is known by names alone") \
	X(__cpuidle_text_end, "idle code is known by names alone") \
	X(__tracepoint_notifier_run, "none needed: notifiers have no tracepoint here") \
	X(arch_prepare_optimized_kprobe, "none needed: the kernel makes no jumps of kprobes") \
	X(kprobe_int3_handler, "probes are kprobes of the kernel") \
	X(aggr_pre_handler, "each kprobe counts as one that may become a jump") \
	X(_sinittext, "text of the start-up is not told from other addresses") \
	X(_einittext, "text of the start-up is not told from other addresses") \
	X(bpf_get_attach_cookie_trace, "images set the cookie for each program") \
	X(bpf_get_attach_cookie_kprobe_multi, "images set the cookie for each program") \
	X(bpf_get_attach_cookie_tracing, "images set the cookie for each program")

#define TRAMP_KSYM_DECLARE(name, ...) DECLARE_STATIC_CALL(tramp_ks_##name, name);
TRAMP_KSYM_REQUIRED(TRAMP_KSYM_DECLARE)
TRAMP_KSYM_OPTIONAL(TRAMP_KSYM_DECLARE)
TRAMP_KSYM_PROBE(TRAMP_KSYM_DECLARE)
#undef TRAMP_KSYM_DECLARE

/* Call a resolved function. */
#define KSYM(name) static_call(tramp_ks_##name)

/* Addresses: 0 where the kernel does not have the symbol. */
struct tramp_ksyms {
#define TRAMP_KSYM_MEMBER(name, off) unsigned long name;
	TRAMP_KSYM_ADDRS(TRAMP_KSYM_MEMBER)
#undef TRAMP_KSYM_MEMBER
#define TRAMP_KSYM_MEMBER(name) unsigned long name;
	TRAMP_KSYM_PROBE_ADDRS(TRAMP_KSYM_MEMBER)
#undef TRAMP_KSYM_MEMBER
	bool has_probes;		/* nothing of TRAMP_KSYM_PROBE* is missing */
#define TRAMP_KSYM_MEMBER(name, off) bool has_##name;
	TRAMP_KSYM_OPTIONAL(TRAMP_KSYM_MEMBER)
#undef TRAMP_KSYM_MEMBER
	u32 found;
	u32 missing;
};
extern struct tramp_ksyms tramp_ksyms;

/* Between two symbols, of which the kernel may lack one: then nothing is. */
static inline bool tramp_ksym_between(unsigned long addr, unsigned long start, unsigned long end)
{
	return start && addr >= start && addr < end;
}

/* kernel.ftrace_enabled: not while it is switched off, nor once ftrace has shut down. */
static inline bool tramp_ftrace_is_on(void)
{
	return READ_ONCE(*(int *)tramp_ksyms.ftrace_enabled);
}

/*
 * ftrace has shut down, for good. While somebody tries to switch it off, and a permanent ops has
 * that refused, it says no, and tramp_ftrace_is_on() may for a moment, too.
 */
static inline bool tramp_ftrace_is_dead(void)
{
	return KSYM(ftrace_is_dead)();
}

/**
 * tramp_ksyms_init() - resolve the whole table
 *
 * Names every missing symbol in the kernel log, required ones as errors.
 * Context: module init, may sleep.
 * Return: 0, -ENOENT if a required symbol is missing, or why kallsyms could not
 * be reached.
 */
int tramp_ksyms_init(void);

/* The address of any kernel symbol ("module:name" for one in a module), 0 if none. May sleep. */
unsigned long tramp_ksym_lookup(const char *name);

/**
 * tramp_ksyms_missing() - names of the optional symbols this kernel lacks
 * @buf: where to write them, one a line, zero terminated; may be NULL
 * @len: bytes at @buf
 *
 * Return: bytes needed for all of them, the zero included.
 */
size_t tramp_ksyms_missing(char *buf, size_t len);

#endif /* TRAMP_KSYMS_H */
