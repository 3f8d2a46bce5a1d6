/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Functions that only this room calls: in process context and with tramp_mutex held, unless
 * they say otherwise.
 */
#ifndef TRAMP_PROBE_INTERNAL_H
#define TRAMP_PROBE_INTERNAL_H

#include "place.h"
#include "probe.h"

struct tramp_coming;

/* probe.c ------------------------------------------------------------------- */

/*
 * Whether a probe at @addr runs a program already, for those who run it another way there.
 * tramp_mutex held. Return: 0 or a negative errno, with the link in @why.
 */
int tramp_probe_check_prog(unsigned long addr, const struct bpf_prog *prog, u32 kind,
			   struct tramp_refusal *why);

/* The probe that a member is at; NULL once detached, and for one in a function's image. */
static inline struct tramp_probe *tramp_probe_of(const struct tramp_member *member)
{
	if (!member->point || member->point->ops != &tramp_probe_ops)
		return NULL;
	return container_of(member->point, struct tramp_probe, point);
}

/**
 * tramp_probe_join() - attach a member, but for the first int3
 * @member: the member
 * @req: its request
 * @arm: its probe is added there by @opt if it is still to be armed
 * @coming: the functions that its own is to come with, if its image is to run it; may be NULL
 * @why: why not
 *
 * Return: 0 or a negative errno; then nothing has changed.
 */
int tramp_probe_join(struct tramp_member *member, const struct tramp_attach *req,
		     struct list_head *arm, struct tramp_coming *coming,
		     struct tramp_refusal *why);

/* Take one off again, in the same section of tramp_mutex; its probe is in no list of probes. */
void tramp_probe_unjoin(struct tramp_member *member);

/**
 * tramp_probe_fall_back() - reach a probe through a kernel kprobe instead
 * @probe: mode INT3, not armed
 * @flags: of the first program's request
 * @reason: why an image does not do
 * @why: why that is not done, @reason perhaps
 *
 * Return: 0 or a negative errno.
 */
int tramp_probe_fall_back(struct tramp_probe *probe, u32 flags, u32 reason,
			  struct tramp_refusal *why);

/* Detach a member that is at a probe. */
void tramp_probe_detach(struct tramp_member *member);

/* For point.c's table; see struct tramp_point_ops. */
void tramp_probe_leave(struct tramp_member *member);
int tramp_probe_replace(struct tramp_member *member, struct tramp_slot *slot,
			struct tramp_refusal *why);
void tramp_probe_module_gone(const struct module *mod);

/**
 * tramp_probe_new_image() - run the probe's programs from a new image
 * @probe: mode INT3
 * @len: original bytes that the new image executes: one instruction, or the region
 * @why: why not
 *
 * Hits run the old list or the new one; the old image is retired. On failure
 * everything is as before.
 * Return: 0 or a negative errno.
 */
int tramp_probe_new_image(struct tramp_probe *probe, u32 len, struct tramp_refusal *why);

/* Nothing of it is in the text any more: forget it. */
void tramp_probe_remove(struct tramp_probe *probe);

/* totals.c ------------------------------------------------------------------ */

/* One program more (@by: 1) or less (-1) at a probe. tramp_mutex held. */
void tramp_probe_count_member(struct tramp_probe *probe, int by);

/* It leaves the table: no part of the totals any more, whoever is still there. tramp_mutex held. */
void tramp_probe_count_out(struct tramp_probe *probe);

/* These bytes stand in the text from now on. The int3 handler reads it. tramp_mutex held. */
void tramp_probe_set_text(struct tramp_probe *probe, enum tramp_probe_text text);

/* batch.c ------------------------------------------------------------------- */

/* For point.c's table; see struct tramp_point_ops. */
int tramp_probe_attach(struct tramp_member *member, const struct tramp_attach *req,
		       struct tramp_refusal *why);
int tramp_probe_attach_many(const struct tramp_join *items, u32 *nr, struct tramp_refusal *why);
void tramp_probe_detach_many(struct tramp_member **members, u32 nr);

/* kprobe_veto.c ------------------------------------------------------------- */

/**
 * struct tramp_probe_hook - an ftrace_ops at one function of the kernel's
 * @ops: the ops; permanent
 * @name: the function's
 * @on: it is registered
 * @filtered: it has its filter, which stays until the module goes
 *
 * Protected by tramp_mutex.
 */
struct tramp_probe_hook {
	struct ftrace_ops *ops;
	const char *name;
	bool on;
	bool filtered;
};

/* Register it, at @func. Nothing is done if it is on. Return: 0 or a negative errno. */
int tramp_probe_hook_on(struct tramp_probe_hook *hook, unsigned long func,
			struct tramp_refusal *why);

/* Return: false: ftrace has shut down and left it in place, so the module must stay. */
bool tramp_probe_hook_off(struct tramp_probe_hook *hook);

/**
 * tramp_probe_hook_get() - have a say in what the kernel makes jumps of, and at int3s
 * @why: why that is not possible; then no int3 of ours may be written
 *
 * Takes the short way for int3s, or else has the guard on (guard.h). Each success is undone by
 * tramp_probe_hook_put().
 * Return: 0 or a negative errno.
 */
int tramp_probe_hook_get(struct tramp_refusal *why);
void tramp_probe_hook_put(void);
/* Module exit; takes tramp_mutex. Does not return if ftrace has shut down. */
void tramp_probe_hook_exit(void);

/*
 * A probe's last program goes; what hook_get() took is given back later. If that cannot be, since
 * ftrace has shut down, the module stays from now on. tramp_mutex held; a link holds the module.
 */
void tramp_probe_hook_keep(void);

/* Note the branches among a new probe's original bytes. Return: false without memory. */
bool tramp_probe_note_branches(struct tramp_probe *probe, const struct tramp_place *place);

/* optimiser.c --------------------------------------------------------------- */

/* Have the optimiser look at a probe, mode INT3: it may become a jump, or has to be taken away. */
void tramp_probe_queue(struct tramp_probe *probe);

/* The same for one that was a jump: if it is an int3 now, it says that it waits. */
void tramp_probe_queue_again(struct tramp_probe *probe);

/* Kprobes have come into regions. Any context. */
void tramp_probe_queue_intruded(void);

/* Something has gone from @addr: regions that hold it may be jumps again. */
void tramp_probe_queue_around(unsigned long addr);

/*
 * Whether a probe, mode INT3, may be a jump; sets its reason. @place is its own, checked. Return:
 * bytes of the region, 0 for no jump (now).
 */
u32 tramp_probe_evaluate(struct tramp_probe *probe, struct tramp_place *place);

/* No link is left: wait until all text is restored. Module exit, without tramp_mutex. */
void tramp_probe_opt_drain(void);

int tramp_probe_opt_init(void);
void tramp_probe_opt_exit(void);

/* callback.c ---------------------------------------------------------------- */

/*
 * Reach a probe, mode FTRACE_OPS or KPROBE, through ftrace or a kernel kprobe. It has its set, and
 * is in the table. Return: 0 or a negative errno.
 */
int tramp_probe_callback_attach(struct tramp_probe *probe, struct tramp_refusal *why);

/*
 * No hit reaches it when this returned; its set may still be in use. Return: what
 * tramp_probe_callback_missed() would say at the end.
 */
u64 tramp_probe_callback_detach(struct tramp_probe *probe);

/* How many kernel kprobes can go with one grace period. */
#define TRAMP_PROBE_KPROBES_MANY	256

/* The same for @nr probes at a time, at most so many, mode KPROBE; @missed: (out) of each. */
void tramp_probe_kprobes_detach(struct tramp_probe **probes, u32 nr, u64 *missed);

/* Module exit: no probe is left. */
void tramp_probe_callback_exit(void);

/*
 * Hits that a kernel kprobe has skipped since it was registered: another one was running
 * on the CPU, so it did not call us.
 */
u64 tramp_probe_callback_missed(const struct tramp_probe *probe);

#endif /* TRAMP_PROBE_INTERNAL_H */
