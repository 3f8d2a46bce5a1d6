/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The hook: a say in which kprobes the kernel makes jumps of.
 */
#ifndef TRAMP_KPROBE_VETO_H
#define TRAMP_KPROBE_VETO_H

#include "probe.h"

/**
 * tramp_probe_hook_get() - have a say in what the kernel makes jumps of
 * @why: why that is not possible; then no int3 of ours may be written
 *
 * Takes the short way for int3s, too. Each success is undone by tramp_probe_hook_put().
 * Context: tramp_mutex held, may sleep.
 * Return: 0 or a negative errno.
 */
int tramp_probe_hook_get(struct tramp_refusal *why);
void tramp_probe_hook_put(void);
/* Module exit; takes tramp_mutex. Does not return if ftrace has shut down. */
void tramp_probe_hook_exit(void);

/* Note the branches among a new probe's original bytes; @len of them are known. */
void tramp_probe_note_branches(struct tramp_probe *probe, u32 len);

#endif /* TRAMP_KPROBE_VETO_H */
