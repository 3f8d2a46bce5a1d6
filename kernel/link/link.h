/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A link: one attachment, a real bpf_link. bpftool, bpffs and fdinfo work on it
 * as on the kernel's own.
 */
#ifndef TRAMP_LINK_H
#define TRAMP_LINK_H

#include <linux/bpf.h>
#include <linux/list.h>
#include <linux/workqueue.h>
#include "prog/slot.h"
#include "probe/probe.h"
#include "func/target.h"

/**
 * struct tramp_link - one attachment
 * @link: what the BPF core knows; @link.prog is the program
 * @node: in the list of the target or probe
 * @target: where it is attached, NULL once detached
 * @probe: or where, for a kprobe program; it is one or the other
 * @kind: what the program is
 * @list: which of the target's lists
 * @no_jump: asked for no jump
 * @missed_before: what the probe's kernel kprobe had missed before this link came
 * @slot: the program as images see it
 * @counts: hits and misses, which outlive a change of program
 * @key: the target's, also once detached
 * @id: the link's id, from before the core shows it
 * @free: frees it behind the core's back (link.c)
 *
 * @node, @target, @probe and @slot are protected by tramp_mutex.
 */
struct tramp_link {
	struct bpf_link link;
	struct list_head node;
	struct tramp_target *target;
	struct tramp_probe *probe;
	enum tramp_kind kind;
	enum tramp_list list;
	bool no_jump;
	u64 missed_before;
	struct tramp_slot *slot;
	struct tramp_counts *counts;
	u64 key;
	u32 id;
	struct work_struct free;
};

/**
 * tramp_link_attach() - the ATTACH command
 * @attach: the request; out members are filled in
 * @copy_out: hands @attach back to the caller, before its fd can be used; its
 *	failure undoes the attachment. Called without locks.
 * @arg: passed to @copy_out
 *
 * Context: process, may sleep. Return: 0 or a negative errno, see the UAPI header.
 */
int tramp_link_attach(struct tramp_attach *attach,
		      int (*copy_out)(const struct tramp_attach *attach, void *arg), void *arg);

/**
 * tramp_link_find() - a link by its id
 * @id: the id
 * @next: the one with the lowest id above @id instead
 *
 * Context: tramp_mutex held, which keeps it from going away.
 * Return: the link, NULL if there is none.
 */
struct tramp_link *tramp_link_find(u32 id, bool next);

/**
 * tramp_link_counts() - runs and misses of a link
 * @link: the link
 * @hits, @misses: (out)
 *
 * Context: tramp_mutex held.
 */
void tramp_link_counts(const struct tramp_link *link, u64 *hits, u64 *misses);

/* The name of a kind as in SEC(). */
const char *tramp_kind_name(enum tramp_kind kind);
/* enum tramp_mode of a link now. tramp_mutex held. */
enum tramp_mode tramp_link_mode(const struct tramp_link *link);
const char *tramp_mode_name(enum tramp_mode mode);

/* Links that are attached; for INFO. */
u32 tramp_link_count(void);

#endif /* TRAMP_LINK_H */
