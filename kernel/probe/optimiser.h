/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The optimiser: from int3 to jump and from int3 back to the original, in batches.
 */
#ifndef TRAMP_OPTIMISER_H
#define TRAMP_OPTIMISER_H

#include "probe.h"

struct tramp_place;

/**
 * tramp_probe_queue() - have the optimiser look at a probe
 * @probe: mode INT3: it may become a jump, or has to be taken away
 *
 * Context: tramp_mutex held.
 */
void tramp_probe_queue(struct tramp_probe *probe);

/* Kprobes have come into regions. Any context. */
void tramp_probe_queue_intruded(void);

/* Something has gone from @addr: regions that hold it may be jumps again. tramp_mutex held. */
void tramp_probe_queue_around(unsigned long addr);

/**
 * tramp_probe_evaluate() - whether a probe may be a jump, for its image
 * @probe: mode INT3
 * @place: checked
 *
 * Sets the probe's reason.
 * Context: tramp_mutex held.
 * Return: bytes of the region, 0 for no jump (now).
 */
u32 tramp_probe_evaluate(struct tramp_probe *probe, struct tramp_place *place);

/* Whether probes become jumps; switching goes through all of them. Without tramp_mutex. */
bool tramp_probe_optimising(void);
void tramp_probe_set_optimising(bool on);

/* No link is left: wait until all text is restored. Module exit, without tramp_mutex. */
void tramp_probe_opt_drain(void);

int tramp_probe_opt_init(void);
void tramp_probe_opt_exit(void);

#endif /* TRAMP_OPTIMISER_H */
