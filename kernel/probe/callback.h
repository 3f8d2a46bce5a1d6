/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Probes through ftrace or a kernel kprobe, where no image can be.
 */
#ifndef TRAMP_PROBE_CALLBACK_H
#define TRAMP_PROBE_CALLBACK_H

#include "probe.h"

/**
 * tramp_probe_callback_attach() - reach a probe through ftrace or a kernel kprobe
 * @probe: mode FTRACE_OPS or KPROBE, with its set, in the table
 * @why: why not
 *
 * Context: tramp_mutex held, may sleep.
 * Return: 0 or a negative errno.
 */
int tramp_probe_callback_attach(struct tramp_probe *probe, struct tramp_refusal *why);

/* No hit reaches it when this returned; its set may still be in use. As above. */
void tramp_probe_callback_detach(struct tramp_probe *probe);

/*
 * Hits that a kernel kprobe has skipped since it was registered: another one was running
 * on the CPU, so it did not call us. tramp_mutex held.
 */
u64 tramp_probe_callback_missed(const struct tramp_probe *probe);

#endif /* TRAMP_PROBE_CALLBACK_H */
