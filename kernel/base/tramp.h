/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Refusals and the one lock: every file of the module needs them.
 *
 * Locking. tramp_mutex serialises everything that changes what is attached:
 * targets and probes, their lists of programs, their sites, images and text. It
 * is taken from process context only (ioctl, bpf_link release/detach/update,
 * debugfs, the module notifier, the workers). This is the lock order, written here only:
 *
 *	text/map.c's reading -> tramp_mutex
 *	tramp_mutex -> ftrace's direct_mutex -> ftrace_lock -> text_mutex
 *	tramp_mutex -> kprobe_mutex -> cpu_hotplug_lock -> text_mutex	(probes: text/text.c)
 *	tramp_mutex -> cpu_hotplug_lock -> text_mutex	(images: prog/image.c, func/skip.c)
 *	tramp_mutex -> hold_mutex -> direct_mutex -> ftrace_lock	(ftrace/hold.c)
 *	tramp_mutex -> btf_module_mutex, pack_mutex, bpf_lock, a program's ext_mutex
 *	tramp_mutex -> tramp_retire_lock, released_lock (spinlocks, innermost; link/release.c)
 *
 * The hook (probe/kprobe_veto.c) and the int3 handler take no lock: they read the table of
 * probes under RCU.
 *
 * With tramp_mutex held we never wait for user space, nor for an RCU-tasks grace period of
 * our own. Memory that may be in use goes on the retire list. docs/design/locking.md lists
 * the waits that remain.
 */
#ifndef TRAMP_TRAMP_H
#define TRAMP_TRAMP_H

#include <linux/mutex.h>
#include <linux/types.h>
#include "../../include/uapi/linux/trampoline.h"

#define TRAMP_VERSION "0.3.0"

#undef pr_fmt
#define pr_fmt(fmt) "trampoline: " fmt

extern struct mutex tramp_mutex;

/**
 * tramp_refuse() - note why something is refused
 * @why: where to note it; may be NULL. The first reason stays: what fails later
 *	while things are undone does not overwrite it.
 * @reason: the reason
 * @addr: the address it is about, 0 for none
 * @fmt: text that belongs to it, NULL for none
 *
 * Return: the negative errno documented for @reason, for `return tramp_refuse(...)`.
 */
__printf(4, 5)
int tramp_refuse(struct tramp_refusal *why, enum tramp_reason reason, u64 addr,
		 const char *fmt, ...);

/* refuse.c: the short name of a reason, for logs and debugfs. */
const char *tramp_reason_name(u32 reason);

/* names.c: of enum tramp_kind, as in SEC(), and of enum tramp_mode. */
const char *tramp_kind_name(u32 kind);
const char *tramp_mode_name(u32 mode);

#endif /* TRAMP_TRAMP_H */
