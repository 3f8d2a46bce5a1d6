/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Writing a probe into the text. tramp_mutex is held for all of this.
 */
#ifndef TRAMP_POKE_H
#define TRAMP_POKE_H

#include "probe.h"

/*
 * Put an int3 at the address of a probe, which is in the table and has its image. Refused with
 * KPROBE_THERE or FOREIGN_BYTES. When it returns 0, every hit from now on is a hit.
 */
int tramp_probe_arm(struct tramp_probe *probe, struct tramp_refusal *why);

/**
 * tramp_probe_arm_batch() - the same for many
 * @list: probes by @opt
 * @refused: (out) those that were not armed, with their reason
 */
void tramp_probe_arm_batch(struct list_head *list, struct list_head *refused);

/*
 * From jump back to int3, at once; the image still executes the region. Return: false if a foreign
 * kprobe has to do with the jump; then nothing was done.
 */
bool tramp_probe_unjump(struct tramp_probe *probe);

/**
 * tramp_probe_unjump_batch() - the same for many
 * @list: probes by @opt with text JUMP. Those with whose jumps a foreign kprobe has to do keep
 *	it.
 */
void tramp_probe_unjump_batch(struct list_head *list);

/* Whether text and kprobes are such that an int3 of ours can be changed now. */
bool tramp_probe_is_ours(const struct tramp_probe *probe);

/**
 * tramp_probe_jump_batch() - from int3 to jump
 * @list: probes by @opt: quiesced, with text INT3 and an image that executes their region.
 * @refused: (out) those that cannot be changed after all, with their reason
 */
void tramp_probe_jump_batch(struct list_head *list, struct list_head *refused);

/**
 * tramp_probe_restore_batch() - give the text back
 * @list: probes by @opt, without programs. Those whose bytes somebody else has patched
 *	keep their text; the others have TRAMP_TEXT_ORIGINAL afterwards.
 */
void tramp_probe_restore_batch(struct list_head *list);

#endif /* TRAMP_POKE_H */
