/* SPDX-License-Identifier: GPL-2.0 */
/*
 * probe.c, for its own room: point.c has these functions in its table, and the optimiser and
 * EXPLAIN ask for probes. tramp_mutex is held for all but tramp_probe_prepare().
 */
#ifndef TRAMP_PROBE_INTERNAL_H
#define TRAMP_PROBE_INTERNAL_H

#include "place.h"
#include "probe.h"

/**
 * tramp_probe_prepare() - what has to be known before a probe is attached
 * @at: where
 * @why: why not
 *
 * Reads what branches where in the text around, unless that is known: takes around a second
 * for the kernel proper.
 * Context: may sleep, without tramp_mutex.
 * Return: 0 or a negative errno.
 */
int tramp_probe_prepare(const struct tramp_probe_at *at, struct tramp_refusal *why);

/* The probe that a member is at; NULL once detached. */
static inline struct tramp_probe *tramp_probe_of(const struct tramp_member *member)
{
	return member->point ? container_of(member->point, struct tramp_probe, point) : NULL;
}

/* For point.c's table; see struct tramp_point_ops. */
int tramp_probe_attach(struct tramp_member *member, const struct tramp_attach *req,
		       struct tramp_refusal *why);
void tramp_probe_detach(struct tramp_member *member);
int tramp_probe_replace(struct tramp_member *member, struct tramp_slot *slot,
			struct tramp_refusal *why);
void tramp_probe_module_gone(const struct module *mod);

/* The mode that a probe's hits have now. */
enum tramp_mode tramp_probe_mode(const struct tramp_probe *probe);

/* The probe at an address, also one that is being taken away. */
struct tramp_probe *tramp_probe_find(unsigned long addr);

/**
 * tramp_probe_new_image() - run the probe's programs from a new image
 * @probe: mode INT3
 * @len: original bytes that the new image executes: one instruction, or the region
 * @why: why not
 *
 * Hits run the old list or the new one; the old image is retired. On failure
 * everything is as before.
 * Context: tramp_mutex held, may sleep.
 * Return: 0 or a negative errno.
 */
int tramp_probe_new_image(struct tramp_probe *probe, u32 len, struct tramp_refusal *why);

/* Nothing of it is in the text any more: forget it. */
void tramp_probe_remove(struct tramp_probe *probe);

#endif /* TRAMP_PROBE_INTERNAL_H */
