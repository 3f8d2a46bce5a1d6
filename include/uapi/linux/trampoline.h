/* SPDX-License-Identifier: GPL-2.0 WITH Linux-syscall-note */
/*
 * trampoline: the interface between /dev/trampoline and user space.
 *
 * General rules, the same for every command (they follow the iommufd model,
 * include/uapi/linux/iommufd.h in the kernel):
 *
 *  - Every command is an ioctl() on a file opened from /dev/trampoline, with a pointer to a
 *    struct. Its first member, @size, is the size of the struct the caller was compiled with.
 *    The kernel may know a longer or a shorter one. A longer tail from the caller must be zero
 *    (E2BIG otherwise). A shorter struct is read as if followed by zeroes, down to each
 *    command's first published size (EINVAL below it).
 *  - All of a struct's members are inputs unless marked "out". Out members are
 *    written, whatever they hold on entry; those that do not apply are 0 afterwards.
 *    Reserved members must be zero (EINVAL).
 *  - Numbers are _IO(): the struct's size is in the struct, not in the number.
 *  - Pointers travel as __u64.
 *
 * Errors, the same for every command:
 *
 *  ENOTTY      no such command
 *  E2BIG       the struct is longer than the kernel knows and its tail is not 0
 *  EINVAL      @size below the minimum, a reserved member is not zero, an
 *              unknown flag, or a value out of its range
 *  EFAULT      the struct, or memory it points to, cannot be read or written
 *  EOPNOTSUPP  known, but not on this kernel or not in this build
 *  EMSGSIZE    a buffer is too small; its length member then says what is needed
 *  EPERM       neither CAP_SYS_ADMIN nor CAP_BPF with CAP_PERFMON, at open() and
 *              again at each command but INFO and DETACH_BATCH. Lockdown, at ATTACH,
 *              ATTACH_MULTI and ATTACH_BATCH. A security module, at these and
 *              DETACH_BATCH. HIDDEN_ADDRESS: an address, or code, for a caller from whom
 *              addresses are hidden
 *  ENOMEM      out of memory
 *
 * A command that refuses for a reason of its own fills in struct tramp_refusal
 * besides its errno. The reasons are part of the ABI: numbers, names and their
 * meaning do not change, new ones are added at the end.
 */
#ifndef _UAPI_LINUX_TRAMPOLINE_H
#define _UAPI_LINUX_TRAMPOLINE_H

#include <linux/types.h>
#include <linux/ioctl.h>
#ifdef __KERNEL__
#include <linux/stddef.h>
#else
#include <stddef.h>
#endif

#define TRAMP_DEVICE		"/dev/trampoline"
#define TRAMP_ABI_VERSION	1
#define TRAMP_IOC_TYPE		0xBA

/* Longest strings, each with its terminating zero. */
#define TRAMP_SYM_LEN		128	/* a symbol's name, cut if longer */
#define TRAMP_MOD_LEN		64	/* a module's name */
#define TRAMP_DETAIL_LEN	128	/* free text that belongs to a reason */

/* Programs on one function, all kinds together. */
#define TRAMP_MAX_PROGS		64
/* Of these, sessions (kprobe.session, TRAMP_MULTI_F_SESSION). */
#define TRAMP_MAX_SESSIONS	4
/* Register-sized argument slots of a function that can be attached to. */
#define TRAMP_MAX_SLOTS		12

/*
 * TRAMP_REASONS(X): X(value, NAME, "short-name", ERRNO, "sentence").
 *
 * The enum below, the errno of each reason and the texts come from this one table.
 * The library, the command line and the kernel log show these texts. A file that
 * expands ERRNO includes the header that defines it. NONE has an errno too: a
 * refusal without a reason is a failure all the same.
 */
#define TRAMP_REASONS(X) \
	X(0, NONE, "none", EINVAL, "nothing to report") \
	X(1, SYNTAX, "syntax", EINVAL, "the request itself is malformed") \
	X(2, PERMISSION, "permission", EPERM, "needs CAP_SYS_ADMIN, or CAP_BPF together with CAP_PERFMON") \
	X(3, LOCKDOWN, "lockdown", EPERM, "kernel lockdown forbids attaching to kernel code") \
	X(4, BAD_PROG_FD, "bad-prog-fd", EBADF, "the file descriptor is not a loaded BPF program") \
	X(5, PROG_TYPE, "prog-type", EINVAL, "this program type cannot be attached here") \
	X(6, ATTACH_TYPE, "attach-type", EINVAL, "this attach type cannot be attached here") \
	X(7, PROG_TARGET, "prog-target", EINVAL, "the program is bound to another BPF program, not to a kernel function") \
	X(8, NO_SUCH_FUNCTION, "no-such-function", ENOENT, "no function of that name or at that address") \
	X(9, NOT_TRACEABLE, "not-traceable", EOPNOTSUPP, "the function has no patchable entry (notrace, inlined, or assembly)") \
	X(10, NO_BTF, "no-btf", ENOENT, "no BTF type describes the function") \
	X(11, MODULE_GONE, "module-gone", ENXIO, "the module that holds the function is gone, or not live yet") \
	X(12, OWN_MODULE, "own-module", EOPNOTSUPP, "the function belongs to the trampoline module itself") \
	X(13, TOO_MANY_ARGS, "too-many-args", EOPNOTSUPP, "the arguments need more slots than are supported") \
	X(14, ARG_TYPE, "arg-type", EINVAL, "an argument or result type cannot be passed to a program") \
	X(15, VARIADIC, "variadic", EINVAL, "a variadic function has no fixed arguments to hand to a program") \
	X(16, NORETURN, "noreturn", EINVAL, "the function never returns, so an exit program would never run") \
	X(17, ALREADY_ATTACHED, "already-attached", EBUSY, "this program is attached to this function already") \
	X(18, TOO_MANY_PROGS, "too-many-progs", E2BIG, "the function has the maximum number of programs") \
	X(19, SITE_HELD, "site-held", EBUSY, "another direct caller holds the function's entry") \
	X(20, SITE_BUSY, "site-busy", EBUSY, "ftrace refused the function's entry") \
	X(21, LIVEPATCHED, "livepatched", EBUSY, "the function is live-patched") \
	X(22, FTRACE_DISABLED, "ftrace-disabled", ENODEV, "ftrace is switched off (kernel.ftrace_enabled=0, or it disabled itself)") \
	X(23, NO_MEMORY, "no-memory", ENOMEM, "out of memory") \
	X(24, NO_EXEC_MEMORY, "no-exec-memory", ENOMEM, "no executable memory within reach of the function") \
	X(25, OUT_OF_REACH, "out-of-reach", ERANGE, "a called address is out of reach of a near call") \
	X(26, IMAGE_LIMIT, "image-limit", E2BIG, "the image would exceed its size limit") \
	X(27, MISSING_SYMBOL, "missing-symbol", EOPNOTSUPP, "this kernel lacks a symbol that the feature needs") \
	X(28, NOT_BUILT, "not-built", EOPNOTSUPP, "this build of the module does not have the feature") \
	X(29, PROG_MISMATCH, "prog-mismatch", EINVAL, "the new program is of another kind or has another target than the one it replaces, or the link is of many functions") \
	X(30, LINK_GONE, "link-gone", ENOENT, "the link is detached already, or no link has that id") \
	X(31, HIDDEN_ADDRESS, "hidden-address", EPERM, "kernel addresses are hidden from this caller (kptr_restrict)") \
	X(32, PROG_NOT_JITED, "prog-not-jited", EINVAL, "the program was not compiled by the BPF JIT, and this kernel has no interpreter (CONFIG_BPF_JIT_ALWAYS_ON)") \
	X(33, AMBIGUOUS, "ambiguous", EINVAL, "several functions have that name") \
	X(34, NOT_TEXT, "not-text", EINVAL, "the address is not in the text of the kernel or of a module") \
	X(35, NOT_BOUNDARY, "not-boundary", EINVAL, "the address is not the start of an instruction") \
	X(36, OFFSET_RANGE, "offset-range", EINVAL, "the offset is beyond the end of the function") \
	X(37, INIT_TEXT, "init-text", EINVAL, "the address is in text that is freed after initialisation") \
	X(38, BLACKLISTED, "blacklisted", EINVAL, "the kernel forbids probes here: this code runs while it handles a probe") \
	X(39, RESERVED, "reserved", EINVAL, "the kernel patches these bytes itself (jump label, static call, alternative or BUG)") \
	X(40, INSN_FIXED, "insn-fixed", EOPNOTSUPP, "the instruction works only at its own address") \
	X(41, INSN_FIXUP, "insn-fixup", EOPNOTSUPP, "the instruction may fault, and the kernel finds its fix-up by its address") \
	X(42, KPROBE_THERE, "kprobe-there", EBUSY, "a kernel kprobe is at the address, or so near that its jump may cover it") \
	X(43, KPROBE_REFUSED, "kprobe-refused", EOPNOTSUPP, "the kernel refused its own kprobe, the last resort here") \
	X(44, PROG_OVERRIDE, "prog-override", EINVAL, "the program replaces return values, which these probes cannot do") \
	X(45, RCU_IDLE, "rcu-idle", EOPNOTSUPP, "RCU does not watch the CPU while this code runs") \
	X(46, OPT_PENDING, "opt-pending", EBUSY, "waiting for the optimiser") \
	X(47, OPT_OFF, "opt-off", EBUSY, "optimising is switched off") \
	X(48, REGION_SHORT, "region-short", EOPNOTSUPP, "the rest of the function is shorter than a jump") \
	X(49, REGION_TARGET, "region-target", EOPNOTSUPP, "something branches into the bytes that a jump would cover") \
	X(50, REGION_INDIRECT, "region-indirect", EOPNOTSUPP, "an indirect jump could land in the bytes that a jump would cover") \
	X(51, REGION_FIXUP, "region-fixup", EOPNOTSUPP, "an instruction that a jump would cover may fault, and the kernel finds its fix-up by its address") \
	X(52, REGION_RESERVED, "region-reserved", EOPNOTSUPP, "the kernel patches bytes that a jump would cover") \
	X(53, REGION_PROBE, "region-probe", EBUSY, "another probe is in the bytes that a jump would cover") \
	X(54, REGION_CALL, "region-call", EOPNOTSUPP, "a call would return into the bytes that a jump would cover") \
	X(55, REGION_INSN, "region-insn", EOPNOTSUPP, "an instruction that a jump would cover cannot run anywhere else") \
	X(56, FOREIGN_BYTES, "foreign-bytes", EBUSY, "another tool has patched the instruction") \
	X(57, FUNC_IP, "func-ip", EOPNOTSUPP, "the program may ask for the function's address, which at an entry only the kernel's kprobe knows") \
	X(58, NOTRACE, "notrace", EINVAL, "ftrace does not cover the function: a tracer may call it before it can detect recursion") \
	X(59, LSM, "lsm", EPERM, "a security module of the kernel forbids it")

enum tramp_reason {
#define TRAMP_REASON_ENUM(value, NAME, name, error, sentence) TRAMP_REASON_##NAME = value,
	TRAMP_REASONS(TRAMP_REASON_ENUM)
#undef TRAMP_REASON_ENUM
	TRAMP_REASON_COUNT
};

/**
 * struct tramp_refusal - why a command failed (out)
 * @reason: enum tramp_reason; 0 where the errno says it all
 * @__reserved: 0
 * @addr: the address the reason is about, 0 if there is none or if it is hidden
 *	from the caller
 * @detail: text that belongs to the reason: the holder of a site, the missing
 *	symbol; may be empty
 */
struct tramp_refusal {
	__u32 reason;
	__u32 __reserved;
	__u64 addr;
	char detail[TRAMP_DETAIL_LEN];
};

/* How a link's program is attached. */
enum tramp_kind {
	TRAMP_KIND_NONE		= 0,
	TRAMP_KIND_FENTRY	= 1,
	TRAMP_KIND_FEXIT	= 2,
	TRAMP_KIND_FMOD_RET	= 3,
	TRAMP_KIND_KPROBE	= 4,	/* a kprobe program at an instruction */
	TRAMP_KIND_KRETPROBE	= 5,	/* a kprobe program at a function's return */
	/* a kprobe program on many functions: at their entries, their returns, or both */
	TRAMP_KIND_KPROBE_MULTI	= 6,
	TRAMP_KIND_KRETPROBE_MULTI = 7,
	TRAMP_KIND_KPROBE_SESSION = 8,
};

/* How hits reach the program. */
enum tramp_mode {
	TRAMP_MODE_NONE		= 0,	/* detached */
	TRAMP_MODE_DIRECT	= 1,	/* the site calls our image */
	/* through ftrace: the site's direct call is another's */
	TRAMP_MODE_FTRACE_OPS	= 2,
	TRAMP_MODE_JUMP		= 3,	/* a probe: a jump to a detour buffer */
	TRAMP_MODE_INT3		= 4,	/* a probe: an int3; the reason says why no jump */
	TRAMP_MODE_KPROBE	= 5,	/* a probe: through a kprobe, the last resort */
	TRAMP_MODE_RETHOOK	= 6,	/* a return probe: through the kernel's rethook */
};

/* ------------------------------------------------------------------ INFO -- */

/* tramp_info::features */
#define TRAMP_FEAT_FENTRY	(1ULL << 0)
#define TRAMP_FEAT_FEXIT	(1ULL << 1)
#define TRAMP_FEAT_FMOD_RET	(1ULL << 2)
#define TRAMP_FEAT_SLEEPABLE	(1ULL << 3)
#define TRAMP_FEAT_COOKIE	(1ULL << 4)
#define TRAMP_FEAT_MODULES	(1ULL << 5)	/* targets in modules */
#define TRAMP_FEAT_FTRACE_OPS	(1ULL << 6)	/* fentry beside another direct caller */
#define TRAMP_FEAT_INLINE_GUARD	(1ULL << 7)	/* guards emitted inline, not calls */
#define TRAMP_FEAT_KSYMBOL	(1ULL << 8)	/* PERF_RECORD_KSYMBOL for images */
#define TRAMP_FEAT_UPDATE_PROG	(1ULL << 9)	/* bpf_link__update_program() */
#define TRAMP_FEAT_KPROBE	(1ULL << 10)	/* probes at any instruction */
#define TRAMP_FEAT_JUMP		(1ULL << 11)	/* ... which become jumps */
#define TRAMP_FEAT_KRETPROBE	(1ULL << 12)	/* kprobe programs at functions' returns */
#define TRAMP_FEAT_MULTI	(1ULL << 13)	/* one program on many functions */
#define TRAMP_FEAT_SESSION	(1ULL << 14)	/* ... at their entries and returns */
#define TRAMP_FEAT_MULTI_HELPERS (1ULL << 15)	/* ... loaded as BPF_TRACE_KPROBE_MULTI */
#define TRAMP_FEAT_SESSION_MAP	(1ULL << 16)	/* ... at both, loaded as a plain program */

/**
 * struct tramp_info - INFO: what this module on this kernel can do
 * @size: sizeof(struct tramp_info)
 * @flags: 0
 * @abi_version: (out) TRAMP_ABI_VERSION of the module
 * @max_progs: (out) programs on one function
 * @max_slots: (out) argument slots
 * @symbols_found: (out) unexported kernel symbols in use
 * @symbols_missing: (out) optional ones this kernel lacks
 * @missing_len: in: bytes at @missing; out: bytes needed for all names
 * @features: (out) TRAMP_FEAT_*
 * @links: (out) links that are attached now
 * @targets: (out) functions with at least one program of tracing type, or return programs or
 *	sessions in an exit image
 * @images: (out) images that exist, those waiting to be freed included
 * @retiring: (out) images waiting to be freed
 * @image_bytes: (out) executable memory of all images
 * @missing: user buffer for the missing symbols' names, one a line, zero
 *	terminated; 0 for none. Too small: EMSGSIZE, everything else is filled in.
 * @version: (out) the module's version, zero terminated
 * @probes: (out) probed addresses
 * @optimised: (out) how many of them are jumps
 * @grace_periods: (out) RCU-tasks grace periods this module has waited for since it was
 *	loaded: what attaching and detaching cost apart from text patching
 *
 * Needs an open /dev/trampoline and no more. Errors: as in the file's head.
 */
struct tramp_info {
	__u32 size;
	__u32 flags;
	__u32 abi_version;
	__u32 max_progs;
	__u32 max_slots;
	__u32 symbols_found;
	__u32 symbols_missing;
	__u32 missing_len;
	__aligned_u64 features;
	__u32 links;
	__u32 targets;
	__u32 images;
	__u32 retiring;
	__aligned_u64 image_bytes;
	__aligned_u64 missing;
	char version[32];
	__u32 probes;
	__u32 optimised;
	__aligned_u64 grace_periods;
};
#define TRAMP_INFO_MIN_SIZE	(offsetof(struct tramp_info, probes))
#define TRAMP_IOC_INFO		_IO(TRAMP_IOC_TYPE, 0)

/* ---------------------------------------------------------------- ATTACH -- */

/* tramp_attach::flags */
#define TRAMP_ATTACH_F_COOKIE	(1U << 0)	/* @cookie is meant, even if 0 */
#define TRAMP_ATTACH_F_NO_OPS	(1U << 1)	/* refuse rather than go through ftrace_ops */
#define TRAMP_ATTACH_F_NO_JUMP	(1U << 2)	/* a probe: stay an int3 */
#define TRAMP_ATTACH_F_NO_KPROBE (1U << 3)	/* a probe: rather refuse than use a kprobe */
#define TRAMP_ATTACH_F_RETURN	(1U << 4)	/* a probe: run when the function returns */

/* tramp_attach::maxactive is no more than that. */
#define TRAMP_MAX_MAXACTIVE	4096

/**
 * struct tramp_attach - ATTACH: attach one program
 * @size: sizeof(struct tramp_attach)
 * @flags: TRAMP_ATTACH_F_*
 * @prog_fd: a loaded program. BPF_PROG_TYPE_TRACING with attach type BPF_TRACE_FENTRY,
 *	BPF_TRACE_FEXIT or BPF_MODIFY_RETURN is attached to the function it was loaded for.
 *	BPF_PROG_TYPE_KPROBE is attached to the instruction that @addr, or @symbol, @module and
 *	@offset, name. With TRAMP_ATTACH_F_RETURN that is the entry of a function, and the
 *	program is attached to its return
 * @__reserved: 0
 * @cookie: what bpf_get_attach_cookie() returns in this attachment
 * @link_fd: (out) a bpf_link: close it, detach it or unpin it to detach. -1 after a failure
 * @link_id: (out) the link's id, as bpftool link shows it
 * @mode: (out) enum tramp_mode
 * @kind: (out) enum tramp_kind
 * @key: (out) the target's key, the <key> in trampoline_<key>_<index>
 * @func_addr: (out) the function's address, for a probe that of the instruction; 0 if
 *	hidden from the caller
 * @refusal: (out) why not
 * @addr: a probe: its address, 0 if @symbol is given
 * @offset: a probe: bytes from @symbol
 * @symbol: a probe: a function, zero terminated; empty if @addr is given. (Where a
 *	function starts with ENDBR, offset 0 means the instruction behind it.)
 * @module: a probe: the module to look in, empty for any, the kernel proper first
 * @mode_reason: (out) a probe that is no jump, or a return probe whose mode is not DIRECT: enum
 *	tramp_reason why not
 * @__reserved2: 0
 * @maxactive: a return probe in mode RETHOOK: how many calls may be inside the function at a
 *	time, up to TRAMP_MAX_MAXACTIVE. The return of a further one is missed. 0: what the
 *	kernel's kretprobes have, the larger of 10 and twice the number of possible CPUs
 * @__reserved3: 0
 *
 * A tracing program runs on every call of the function that enters after ATTACH returned. A
 * kprobe program runs whenever the instruction is about to be executed. Its context is a struct
 * pt_regs with the registers as they are there and ip one byte behind the address, as after an
 * int3. A probe starts as an int3; becoming a jump comes a little later (QUERY tells). A probe
 * in a module goes when the module goes: the link stays, with mode NONE and MODULE_GONE as the
 * reason. On failure nothing is left behind and no fd was handed out.
 *
 * A return probe runs when a call returns that entered the function after ATTACH returned. Its
 * context is a struct pt_regs with the registers as they are then. Of these ax is the result,
 * and ip the address in the caller. The caller gets the stack back as sp has it. In mode DIRECT
 * it runs from the function's exit image, which keeps the function's module loaded.
 *
 * Errors besides those in the file's head, each with its reason:
 *  EBADF       BAD_PROG_FD
 *  EINVAL      PROG_TYPE, ATTACH_TYPE, PROG_TARGET, ARG_TYPE, VARIADIC, NORETURN,
 *              AMBIGUOUS, PROG_OVERRIDE, NOT_BOUNDARY, OFFSET_RANGE, NOT_TEXT, INIT_TEXT,
 *              BLACKLISTED, RESERVED, NOTRACE; PROG_NOT_JITED (kernels with
 *              CONFIG_BPF_JIT_ALWAYS_ON)
 *  ENOENT      NO_SUCH_FUNCTION, NO_BTF
 *  EOPNOTSUPP  NOT_TRACEABLE, TOO_MANY_ARGS, OWN_MODULE, MISSING_SYMBOL, INSN_FIXED,
 *              INSN_FIXUP, REGION_TARGET, RCU_IDLE, KPROBE_REFUSED, FUNC_IP
 *  ENXIO       MODULE_GONE
 *  EBUSY       ALREADY_ATTACHED, SITE_HELD, SITE_BUSY, LIVEPATCHED, KPROBE_THERE,
 *              FOREIGN_BYTES
 *  ENODEV      FTRACE_DISABLED
 *  E2BIG       TOO_MANY_PROGS, IMAGE_LIMIT (told from a bad tail by the reason)
 *  ENOMEM      NO_MEMORY, NO_EXEC_MEMORY
 *  EMFILE, ENFILE, ENOSPC  no more file descriptors, or ids of links; without a reason
 *  ERANGE      OUT_OF_REACH
 *  EPERM       PERMISSION, LOCKDOWN, LSM; HIDDEN_ADDRESS: @addr from a caller from whom
 *              addresses are hidden
 */
struct tramp_attach {
	__u32 size;
	__u32 flags;
	__s32 prog_fd;
	__u32 __reserved;
	__aligned_u64 cookie;
	__s32 link_fd;
	__u32 link_id;
	__u32 mode;
	__u32 kind;
	__aligned_u64 key;
	__aligned_u64 func_addr;
	struct tramp_refusal refusal;
	__aligned_u64 addr;
	__aligned_u64 offset;
	char symbol[TRAMP_SYM_LEN];
	char module[TRAMP_MOD_LEN];
	__u32 mode_reason;
	__u32 __reserved2;
	__u32 maxactive;
	__u32 __reserved3;
};
#define TRAMP_ATTACH_MIN_SIZE	(offsetof(struct tramp_attach, addr))
#define TRAMP_IOC_ATTACH	_IO(TRAMP_IOC_TYPE, 1)

/* --------------------------------------------------------------- EXPLAIN -- */

/* tramp_explain::can */
#define TRAMP_CAN_FENTRY	(1U << 0)
#define TRAMP_CAN_FEXIT		(1U << 1)	/* fexit and fmod_ret need an exit image */

/**
 * struct tramp_explain - EXPLAIN: what could be attached to a function, or why not
 * @size: sizeof(struct tramp_explain)
 * @flags: 0
 * @btf_obj_id: the BTF object that describes the function (bpftool btf list);
 *	0: look @name up instead, in vmlinux's symbols and in those of modules. (Out) the one
 *	that describes it, 0 if none is known
 * @btf_id: the function's type id in it; 0 with @btf_obj_id 0. (Out) as for @btf_obj_id
 * @name: the function's name, zero terminated, if @btf_obj_id is 0;
 *	otherwise (out) its name
 * @module: the module to look in, empty for any; (out) the module found, empty
 *	for the kernel proper
 * @can: (out) TRAMP_CAN_*
 * @fentry_reason: (out) enum tramp_reason: why no entry programs
 * @fexit_reason: (out) enum tramp_reason: why no exit programs
 * @mode: (out) enum tramp_mode an entry program would get now
 * @nr_progs: (out) programs of ours there now
 * @nr_args: (out) arguments; 0 if no BTF describes the function
 * @nr_slots: (out) their argument slots
 * @ret_size: (out) bytes of the return value, 0 for void or unknown
 * @func_addr: (out) address, 0 if hidden
 * @site_addr: (out) address of the patched NOP5 or CALL, 0 if hidden or none
 * @key: (out) the target's key, 0 if no BTF describes the function
 * @holder: (out) who holds the site, empty if nobody else
 * @refusal: (out) why the command failed. After success why nothing at all can be attached,
 *	where that comes from the function itself; otherwise empty
 * @ret_mode: (out) enum tramp_mode a return probe would get now: DIRECT, by an exit image;
 *	RETHOOK; or NONE
 * @ret_reason: (out) enum tramp_reason: why no return probe, or why one by RETHOOK. Both are 0
 *	from a module that has no return probes, or is older than these members
 *
 * Succeeds when the question could be answered, also if the answer is "nothing". May take a while
 * when it is first asked about a function that ftrace cannot patch, as EXPLAIN_CODE may.
 *
 * Errors: EINVAL (SYNTAX), ENOENT (NO_SUCH_FUNCTION, NO_BTF), ENXIO (MODULE_GONE), EOPNOTSUPP
 * (MISSING_SYMBOL: this kernel has no way to look BTF ids up).
 */
struct tramp_explain {
	__u32 size;
	__u32 flags;
	__u32 btf_obj_id;
	__u32 btf_id;
	char name[TRAMP_SYM_LEN];
	char module[TRAMP_MOD_LEN];
	__u32 can;
	__u32 fentry_reason;
	__u32 fexit_reason;
	__u32 mode;
	__u32 nr_progs;
	__u32 nr_args;
	__u32 nr_slots;
	__u32 ret_size;
	__aligned_u64 func_addr;
	__aligned_u64 site_addr;
	__aligned_u64 key;
	char holder[TRAMP_DETAIL_LEN];
	struct tramp_refusal refusal;
	__u32 ret_mode;
	__u32 ret_reason;
};
#define TRAMP_EXPLAIN_MIN_SIZE	(offsetof(struct tramp_explain, ret_mode))
#define TRAMP_IOC_EXPLAIN	_IO(TRAMP_IOC_TYPE, 2)

/* ----------------------------------------------------------------- QUERY -- */

/* tramp_query::flags */
#define TRAMP_QUERY_F_NEXT	(1U << 0)	/* the link with the lowest id above @link_id */

/**
 * struct tramp_query - QUERY: one link, or the next after an id
 * @size: sizeof(struct tramp_query)
 * @flags: TRAMP_QUERY_F_*
 * @link_id: in: the link (or, with F_NEXT, the id to start behind); out: the link
 * @prog_id: (out) its program's id
 * @kind: (out) enum tramp_kind
 * @mode: (out) enum tramp_mode
 * @pos: (out) its place, from 0, among the target's programs of its kind, in the order they
 *	run: newest first; at an instruction oldest first, at a return newest first
 * @nr_progs: (out) programs of the target, all kinds
 * @cookie: (out) its cookie
 * @key: (out) the target's key
 * @index: (out) index of the target's current image
 * @btf_obj_id: (out) BTF object of the target
 * @btf_id: (out) its type id there
 * @image_size: (out) bytes of the current image's code
 * @func_addr: (out) the function, 0 if hidden
 * @image_addr: (out) the image, 0 if hidden or none
 * @hits: (out) times the program was run by this attachment
 * @misses: (out) times it was not, because it was running on that CPU already, or because
 *	@maxactive calls were inside (struct tramp_attach)
 * @image: user buffer for the image's code, 0 for none; EMSGSIZE if @image_len
 *	is too small; EPERM (HIDDEN_ADDRESS) if addresses are hidden from the caller
 * @image_len: in: bytes at @image; out: bytes needed
 * @sleepable: (out) 1 if the program may sleep
 * @func_name: (out) the function's name
 * @module: (out) its module, empty for the kernel proper
 * @prog_name: (out) the program's name
 * @refusal: (out) why not
 * @probe_addr: (out) a probe: its address, 0 if hidden; @func_addr is that of its function
 * @offset: (out) a probe: bytes from @func_name
 * @mode_reason: (out) as in struct tramp_attach
 * @region_len: (out) a probe in mode JUMP: bytes that the jump covers
 * @reason_addr: (out) the address @mode_reason is about, 0 if hidden or none
 * @nr_funcs: (out) many functions: how many; @func_name is the first, without an address
 * @__reserved: (out) 0
 *
 * Errors: ENOENT (LINK_GONE) if there is no such link or no further one.
 */
struct tramp_query {
	__u32 size;
	__u32 flags;
	__u32 link_id;
	__u32 prog_id;
	__u32 kind;
	__u32 mode;
	__u32 pos;
	__u32 nr_progs;
	__aligned_u64 cookie;
	__aligned_u64 key;
	__u32 index;
	__u32 btf_obj_id;
	__u32 btf_id;
	__u32 image_size;
	__aligned_u64 func_addr;
	__aligned_u64 image_addr;
	__aligned_u64 hits;
	__aligned_u64 misses;
	__aligned_u64 image;
	__u32 image_len;
	__u32 sleepable;
	char func_name[TRAMP_SYM_LEN];
	char module[TRAMP_MOD_LEN];
	char prog_name[32];
	struct tramp_refusal refusal;
	__aligned_u64 probe_addr;
	__aligned_u64 offset;
	__u32 mode_reason;
	__u32 region_len;
	__aligned_u64 reason_addr;
	__u32 nr_funcs;
	__u32 __reserved;
};
#define TRAMP_QUERY_MIN_SIZE	(offsetof(struct tramp_query, probe_addr))
#define TRAMP_IOC_QUERY		_IO(TRAMP_IOC_TYPE, 3)

/* ---------------------------------------------------------- EXPLAIN_CODE -- */

/**
 * struct tramp_insn_info - what a probe at one instruction would be (out)
 * @offset: the instruction, in bytes from the function
 * @len: its length
 * @mode: enum tramp_mode a probe would have in the end: JUMP, INT3, KPROBE (unless the
 *	kernel refuses that), DIRECT or FTRACE_OPS (a function's entry), or NONE: refused
 * @flags: TRAMP_INSN_F_*
 * @reason: enum tramp_reason: why no jump, or why refused; 0 with JUMP, DIRECT, FTRACE_OPS
 * @region_len: with JUMP: bytes that the jump would cover
 * @where: the offset that the reason is about, @offset if there is none
 *
 * Of the ENDBR that a function may begin with it tells what a probe at the entry would
 * be, which is one behind it.
 *
 * It is an element of the caller's array, so it never changes its size.
 */
struct tramp_insn_info {
	__u32 offset;
	__u8 len;
	__u8 mode;
	__u8 region_len;
	__u8 flags;
	__u32 reason;
	__u32 where;
};
#define TRAMP_INSN_F_PROBED	(1U << 0)	/* a probe of ours is there */

/**
 * struct tramp_explain_code - EXPLAIN_CODE: what probes at a function's instructions would be
 * @size: sizeof(struct tramp_explain_code)
 * @flags: TRAMP_CODE_F_*
 * @addr: an address in the function, 0 if @symbol is given
 * @offset: with TRAMP_CODE_F_ONE: the instruction, in bytes from @symbol; otherwise 0
 * @symbol: the function, if @addr is 0; (out) its name
 * @module: the module to look in, empty for any, the kernel proper first; (out) the module
 *	found
 * @func_addr: (out) the function's address, 0 if hidden
 * @func_size: (out) bytes up to the next symbol; padding in front of that is no instruction
 * @insns: user buffer for struct tramp_insn_info, one for each instruction; 0 for none.
 *	EMSGSIZE if @nr_insns is too small
 * @nr_insns: in: entries at @insns; out: entries needed
 * @code_len: in: bytes at @code; out: bytes needed
 * @code: user buffer for the function's original bytes, with nobody's probes in them;
 *	0 for none. EMSGSIZE if @code_len is too small; EPERM (HIDDEN_ADDRESS) if
 *	addresses are hidden from the caller
 * @refusal: (out) why the command failed
 *
 * May take a while when it is first called: it reads the text of the whole kernel to
 * know what branches where.
 *
 * Errors: EINVAL (SYNTAX, NOT_TEXT, OFFSET_RANGE, NOT_BOUNDARY, AMBIGUOUS), ENOENT
 * (NO_SUCH_FUNCTION), ENXIO (MODULE_GONE), EOPNOTSUPP (MISSING_SYMBOL), EPERM (HIDDEN_ADDRESS:
 * @addr from a caller from whom addresses are hidden), EINTR (killed).
 */
struct tramp_explain_code {
	__u32 size;
	__u32 flags;
	__aligned_u64 addr;
	__aligned_u64 offset;
	char symbol[TRAMP_SYM_LEN];
	char module[TRAMP_MOD_LEN];
	__aligned_u64 func_addr;
	__aligned_u64 func_size;
	__aligned_u64 insns;
	__u32 nr_insns;
	__u32 code_len;
	__aligned_u64 code;
	struct tramp_refusal refusal;
};
#define TRAMP_CODE_F_ONE	(1U << 0)	/* only the one at @addr, or @symbol + @offset */
#define TRAMP_EXPLAIN_CODE_MIN_SIZE (sizeof(struct tramp_explain_code))
#define TRAMP_IOC_EXPLAIN_CODE	_IO(TRAMP_IOC_TYPE, 4)

/* ---------------------------------------------------------- ATTACH_MULTI -- */

/* Functions in one attachment. */
#define TRAMP_MULTI_MAX		(1U << 20)
/* Bytes of their names. */
#define TRAMP_MULTI_NAMES_MAX	(1U << 26)

/* tramp_attach_multi::flags */
#define TRAMP_MULTI_F_RETURN	(1U << 0)	/* run when the functions return */
#define TRAMP_MULTI_F_SKIP	(1U << 1)	/* leave out what cannot be attached to */
#define TRAMP_MULTI_F_SESSION	(1U << 2)	/* run at both; see struct tramp_session_words */

/* The map that a session without an attach type looks into. */
#define TRAMP_SESSION_MAP	"tramp_session"

/**
 * struct tramp_session_words - answers for a session without an attach type
 * @is_return: in the place of bpf_session_is_return(): 0 at the entry, 1 at the return
 * @cookie: in the place of *bpf_session_cookie(): 0 at the entry; what the program leaves there
 *	is there at the return of the same call
 *
 * A program of any kernel can be a session: with F_SESSION one that has no attach type. It asks
 * nothing of the kernel. Instead it may have a map named TRAMP_SESSION_MAP, and must if it
 * tail-calls (SYNTAX): a BPF_MAP_TYPE_PERCPU_ARRAY of this struct with one entry. While the program
 * runs that entry has the words of its call, on the CPU that it runs on. Programs that it
 * tail-calls find them there if they use the same map. As with the kernel's sessions a program that
 * returns other than 0 at the entry does not run at the return.
 */
struct tramp_session_words {
	__aligned_u64 is_return;
	__aligned_u64 cookie;
};

/**
 * struct tramp_attach_multi - ATTACH_MULTI: attach one program to many functions
 * @size: sizeof(struct tramp_attach_multi)
 * @flags: TRAMP_MULTI_F_*
 * @prog_fd: a loaded program of BPF_PROG_TYPE_KPROBE, with attach type
 *	BPF_TRACE_KPROBE_MULTI, BPF_TRACE_KPROBE_SESSION (then without F_RETURN: it runs at
 *	both) or none (with F_SESSION at both)
 * @nr: functions, 1 to TRAMP_MULTI_MAX
 * @addrs: __u64[nr]: their addresses, in any order; 0: there are @names
 * @names: char[names_len]: their names, each ended by a NUL: "name", or "module:name"; 0: there
 *	are @addrs
 * @cookies: __u64[nr]: the cookie of each; 0: every cookie is 0
 * @reasons: __u32[nr] (out), with F_SKIP: enum tramp_reason of each, 0 for those that were
 *	attached to; 0: not wanted
 * @link_fd: (out) a bpf_link: close it, detach it or unpin it to detach from all. -1 after a
 *	failure
 * @link_id: (out) the link's id
 * @kind: (out) enum tramp_kind
 * @nr_attached: (out) functions attached to
 * @key: (out) the <key> in trampoline_<key>_<index>, the one image of all functions that have
 *	no other programs
 * @failed: (out) without F_SKIP: the entry of @addrs or @names that @refusal is about, @nr if
 *	it is about none
 * @names_len: bytes of @names, at most TRAMP_MULTI_NAMES_MAX
 * @refusal: (out) why not
 *
 * Takes all functions or none, but for those that F_SKIP leaves out. The context is a struct
 * pt_regs as the kernel's kprobe.multi and kretprobe.multi have it. For a program without an
 * attach type orig_ax is the function's address: its kernel may have no helper that tells it.
 * Hits are counted for all functions together.
 * The modules that functions are in cannot be unloaded meanwhile.
 *
 * A function that is named twice is attached to once, with its first cookie; the others are
 * ALREADY_ATTACHED, which without F_SKIP refuses the request. If the first is left out they have
 * its reason. Where no function is left the request is refused (SYNTAX). A function may have other
 * programs of this module, of any kind, before or afterwards. At such functions the program counts
 * as one of TRAMP_MAX_PROGS, a session also as one of TRAMP_MAX_SESSIONS: while the function runs
 * each has 40 bytes of its stack. Of one attachment 1,024 functions can be like that. More are
 * SITE_HELD, and so is a function whose entry is somebody else's. By another link the same program
 * may be attached again.
 *
 * A program at returns is run by the image where the function's arguments are known to come in
 * registers. So the function has BTF, in the kernel proper, under a name that is unique.
 * Elsewhere the kernel's rethook runs it, with ten calls of each such function at a time, or two
 * for each processor, at most 32,768 in all. Further ones are missed. A kernel whose rethook no
 * module can use refuses such functions, with the errors below that have a star.
 *
 * Errors besides those in the file's head are those of ATTACH. About one function there are:
 *  ENOENT      NO_SUCH_FUNCTION: no function begins at the address, or has the name
 *  EINVAL      AMBIGUOUS: several have the name; INIT_TEXT; BLACKLISTED
 *  EOPNOTSUPP  NOT_TRACEABLE, RCU_IDLE, OWN_MODULE
 *  ENXIO       MODULE_GONE
 *  EBUSY       SITE_HELD, LIVEPATCHED, ALREADY_ATTACHED, FOREIGN_BYTES
 *  E2BIG       TOO_MANY_PROGS
 * About one at whose return the program would run also:
 *  EINVAL      NORETURN; AMBIGUOUS*, VARIADIC*, ARG_TYPE*
 *  ENOENT      NO_BTF*
 *  EOPNOTSUPP  TOO_MANY_ARGS*
 * EINTR: a signal that has a handler came before all was attached, with SA_RESTART as well. Nothing
 * is left. (Where none has run, as after a stop or a freeze, it begins anew.)
 */
struct tramp_attach_multi {
	__u32 size;
	__u32 flags;
	__s32 prog_fd;
	__u32 nr;
	__aligned_u64 addrs;
	__aligned_u64 names;
	__aligned_u64 cookies;
	__aligned_u64 reasons;
	__s32 link_fd;
	__u32 link_id;
	__u32 kind;
	__u32 nr_attached;
	__aligned_u64 key;
	__u32 failed;
	__u32 names_len;
	struct tramp_refusal refusal;
};
#define TRAMP_ATTACH_MULTI_MIN_SIZE (sizeof(struct tramp_attach_multi))
#define TRAMP_IOC_ATTACH_MULTI	_IO(TRAMP_IOC_TYPE, 5)

/* ---------------------------------------------------------- ATTACH_BATCH -- */

/* Items of one ATTACH_BATCH or DETACH_BATCH. */
#define TRAMP_MAX_BATCH		65536

/**
 * struct tramp_attach_batch - ATTACH_BATCH: attach many programs, all or none
 * @size: sizeof(struct tramp_attach_batch)
 * @flags: 0
 * @count: how many, from 1 to TRAMP_MAX_BATCH
 * @item_size: bytes of an item: sizeof(struct tramp_attach). Each item's @size is the same
 * @items: user pointer to @count struct tramp_attach, one behind the other. Each is filled in
 *	as ATTACH does it; after a failure their out members mean nothing
 * @failed: (out) after a failure the item that it was at, from 0; @count if it was at none
 * @__reserved: 0
 * @refusal: (out) why not
 *
 * The same as one ATTACH after the other, but the kernel's text is written for many at once. So
 * programs begin to run one after the other, in no order, before the command returns. An item
 * may be at the place of another one. The links' file descriptors become valid all together. On
 * failure nothing is left behind and no fd was handed out.
 *
 * A signal that has a handler ends it, with SA_RESTART as well: EINTR, and nothing is left behind.
 * (Where none has run, as after a stop or a freeze, it begins anew.) Other callers of the module
 * wait for a part of the batch at most, for less than a second.
 *
 * Errors besides those of ATTACH: EINTR. EINVAL (SYNTAX): @count or @item_size out of its range,
 * or an item of another size. EMFILE, ENFILE: no more file descriptors.
 */
struct tramp_attach_batch {
	__u32 size;
	__u32 flags;
	__u32 count;
	__u32 item_size;
	__aligned_u64 items;
	__u32 failed;
	__u32 __reserved;
	struct tramp_refusal refusal;
};
#define TRAMP_ATTACH_BATCH_MIN_SIZE (sizeof(struct tramp_attach_batch))
#define TRAMP_IOC_ATTACH_BATCH	_IO(TRAMP_IOC_TYPE, 6)

/* ---------------------------------------------------------- DETACH_BATCH -- */

/**
 * struct tramp_detach_batch - DETACH_BATCH: detach many links
 * @size: sizeof(struct tramp_detach_batch)
 * @flags: 0
 * @count: how many, from 1 to TRAMP_MAX_BATCH
 * @failed: (out) the file descriptor that the command failed at, from 0; @count if at none
 * @fds: user pointer to @count __s32, the links' file descriptors
 * @refusal: (out) why not
 *
 * The same as BPF_LINK_DETACH of each: hits after it returned do not run the programs, and the
 * file descriptors stay open. One that is detached already is no error. If one is not a link
 * of this module, nothing is detached.
 *
 * Needs an open /dev/trampoline and no more: who has a link's fd may detach it. Errors besides
 * those in the file's head: EBADF, EINVAL (SYNTAX): no link of ours, or @count out of its range;
 * EPERM (LSM). After an EFAULT that is about this struct itself they may be detached.
 */
struct tramp_detach_batch {
	__u32 size;
	__u32 flags;
	__u32 count;
	__u32 failed;
	__aligned_u64 fds;
	struct tramp_refusal refusal;
};
#define TRAMP_DETACH_BATCH_MIN_SIZE (sizeof(struct tramp_detach_batch))
#define TRAMP_IOC_DETACH_BATCH	_IO(TRAMP_IOC_TYPE, 7)

#endif /* _UAPI_LINUX_TRAMPOLINE_H */
