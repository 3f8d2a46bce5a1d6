// SPDX-License-Identifier: GPL-2.0
/*
 * Probes: from a list of programs to what happens at an instruction.
 *
 * A probe is found by its address. Its programs run in the order they came, from one
 * image (mode INT3, which may become a jump) or from one callback (KPROBE, FTRACE_OPS).
 * Every change of the list makes a new image or set; nothing is edited in place.
 *
 *	off -> int3 -> [one grace period for many] -> jump -> int3 -> off
 *
 * A change of image, and who may be executing. Hits that trap read probe->go: they get the old
 * image or the new one. A jump becomes an int3 first, and the optimiser makes it a jump to the
 * new image a little later. The old image is retired behind an RCU-tasks grace period. An image
 * that executes only the probed instruction returns into the region. So before one is used, the
 * region's bytes are the original ones again.
 *
 * A new probe may lie in the region of another one. That one becomes an int3 with an image for
 * its own instruction, before the new one is armed. When the new one goes, the other is queued
 * and may become a jump again.
 *
 * A probe without programs does nothing: what still traps there goes on in the image's copy of
 * the instructions. The optimiser restores the text, for many at a time. A program that comes
 * before that finds the probe as it is.
 *
 * A module's probes die with it. When it is GOING, no CPU is in its code; the text is restored
 * nevertheless, as long as it is there.
 */
#include <linux/module.h>
#include <linux/slab.h>
#include "base/cache.h"
#include "base/ksyms.h"
#include "func/target.h"
#include "image.h"
#include "internal.h"
#include "poke.h"
#include "text/map.h"
#include "trap.h"

/* Programs ------------------------------------------------------------------- */

int tramp_probe_new_image(struct tramp_probe *probe, u32 len, struct tramp_refusal *why)
{
	struct tramp_probe_image *image, *old = probe->image;

	lockdep_assert_held(&tramp_mutex);
	image = tramp_probe_image_create(probe, len, probe->index + 1, tramp_slot_call, why);
	if (IS_ERR(image))
		return PTR_ERR(image);
	if (probe->text == TRAMP_TEXT_JUMP && !tramp_probe_unjump(probe)) {
		/* Nothing has ever led to it. */
		tramp_image_destroy(&image->image);
		return tramp_refuse(why, TRAMP_REASON_FOREIGN_BYTES, probe->addr, NULL);
	}

	probe->index++;
	probe->image = image;
	WRITE_ONCE(probe->go,
		   probe->nr ? image->image.exec.code : tramp_probe_image_copy(image));
	if (!old || old->len != len) {
		probe->quiesced = false;
		probe->waiting = false;
	}
	if (old)
		tramp_image_retire(&old->image, NULL);
	return 0;
}

/* The same, and have the optimiser look at it. */
static int renew_image(struct tramp_probe *probe, u32 len, struct tramp_refusal *why)
{
	bool was_jump = probe->text == TRAMP_TEXT_JUMP;
	int err = tramp_probe_new_image(probe, len, why);

	if (!err && was_jump)
		tramp_probe_queue_again(probe);
	else if (!err && probe->text != TRAMP_TEXT_ORIGINAL)
		tramp_probe_queue(probe);
	return err;
}

/* Make the probe run what its list says. */
static int update(struct tramp_probe *probe, struct tramp_refusal *why)
{
	if (probe->mode == TRAMP_MODE_INT3)
		return renew_image(probe, probe->image->len, why);
	return tramp_set_switch(&probe->set, &probe->members, why);
}

int tramp_probe_prepare(const struct tramp_probe_at *at, bool all, struct tramp_refusal *why)
{
	unsigned long addr;
	int err;

	if (!tramp_ksyms.has_probes)
		return tramp_refuse(why, TRAMP_REASON_MISSING_SYMBOL, 0, "see INFO");
	err = tramp_place_address(at, &addr, why);
	if (err || (!all && tramp_place_is_site(addr)))
		return err;
	err = tramp_map_read(addr);
	if (err == -ENOENT)
		return tramp_refuse(why, TRAMP_REASON_MODULE_GONE, addr, NULL);
	return err ? tramp_refuse(why, TRAMP_REASON_NO_MEMORY, 0, NULL) : 0;
}

/* Coming ----------------------------------------------------------------------- */

static struct kmem_cache *cache;	/* of probes: 24 bytes less each than by kmalloc() */

int __init tramp_probe_cache_init(void)
{
	cache = KMEM_CACHE(tramp_probe, 0);
	return cache ? 0 : -ENOMEM;
}

void tramp_probe_cache_exit(void)
{
	tramp_cache_exit(cache);
}

static void free_probe(struct tramp_probe *probe)
{
	kfree(probe->branches);
	kmem_cache_free(cache, probe);
}

static struct tramp_probe *new_probe(struct tramp_place *place, struct tramp_refusal *why)
{
	struct tramp_probe *probe = kmem_cache_zalloc(cache, GFP_KERNEL);

	if (!probe)
		goto no_memory;
	probe->addr = place->addr;
	probe->key = tramp_image_new_key();
	probe->module = place->module;
	probe->entry = place->entry || place->ftrace;
	probe->insn_len = place->insn.len;
	memcpy(probe->orig, place->code, place->code_len);
	probe->point.ops = &tramp_probe_ops;
	INIT_LIST_HEAD(&probe->members);
	INIT_LIST_HEAD(&probe->opt);
	if (tramp_probe_note_branches(probe, place))
		return probe;
	free_probe(probe);
no_memory:
	tramp_refuse(why, TRAMP_REASON_NO_MEMORY, 0, NULL);
	return NULL;
}

static void probe_free(struct tramp_retire *r)
{
	/* It was looked up under RCU, which the grace period includes. */
	free_probe(container_of(r, struct tramp_probe, retire));
}

static const struct tramp_retire_ops probe_retire_ops = {
	.free = probe_free,
};

static void drop_image(struct tramp_probe *probe)
{
	if (probe->hooked)
		tramp_probe_hook_put();
	probe->hooked = false;
	if (probe->image)
		tramp_image_retire(&probe->image->image, NULL);
	probe->image = NULL;
}

/* Give up all that hits reach; the struct goes with the last link. */
static void abandon(struct tramp_probe *probe)
{
	tramp_probe_count_out(probe);
	tramp_probe_hash_del(probe);
	list_del_init(&probe->opt);
	drop_image(probe);
	tramp_set_clear(&probe->set);
	WRITE_ONCE(probe->mode, TRAMP_MODE_NONE);
}

void tramp_probe_remove(struct tramp_probe *probe)
{
	unsigned long addr = probe->addr;

	lockdep_assert_held(&tramp_mutex);
	abandon(probe);
	tramp_retire_add(&probe->retire, &probe_retire_ops);
	tramp_probe_queue_around(addr);
}

/* A probe comes to @addr: no jump may cover it. */
static int clear_regions(unsigned long addr, struct tramp_refusal *why)
{
	struct tramp_probe *probe;
	unsigned long at;
	int err;

	for (at = addr - TRAMP_X86_MAX_REGION; at < addr; at++) {
		probe = tramp_probe_lookup(at);
		if (!probe || probe->mode != TRAMP_MODE_INT3 || at + probe->image->len <= addr)
			continue;
		err = renew_image(probe, probe->insn_len, why);
		if (err)
			return err;
		probe->reason = TRAMP_REASON_REGION_PROBE;
		probe->where = addr;
	}
	return 0;
}

/* With an image of ours, to be armed with the others in @arm. */
static int start_int3(struct tramp_probe *probe, struct tramp_place *place,
		      struct list_head *arm, struct tramp_refusal *why)
{
	int err;

	tramp_probe_evaluate(probe, place);
	err = renew_image(probe, probe->insn_len, why);
	if (!err)
		list_add_tail(&probe->opt, arm);
	return err;
}

/* @place and @arm matter to mode INT3 only. */
static int start_as(struct tramp_probe *probe, struct tramp_place *place,
		    enum tramp_mode mode, struct list_head *arm, struct tramp_refusal *why)
{
	int err;

	WRITE_ONCE(probe->mode, mode);
	err = clear_regions(probe->addr, why);
	if (!err && mode == TRAMP_MODE_INT3)
		err = start_int3(probe, place, arm, why);
	else if (!err)
		err = update(probe, why) ?: tramp_probe_callback_attach(probe, why);
	if (err)
		WRITE_ONCE(probe->mode, TRAMP_MODE_NONE);
	return err;
}

/* No image in reach, say, or a kprobe that came this very moment: use a kernel kprobe. */
static bool may_fall_back(u32 flags, u32 reason)
{
	return !(flags & TRAMP_ATTACH_F_NO_KPROBE) && (reason == TRAMP_REASON_OUT_OF_REACH ||
						       reason == TRAMP_REASON_INSN_FIXED ||
						       reason == TRAMP_REASON_KPROBE_THERE);
}

static int fall_back(struct tramp_probe *probe, u32 reason, struct tramp_refusal *why)
{
	drop_image(probe);
	WRITE_ONCE(probe->go, 0);
	probe->reason = reason;
	return start_as(probe, NULL, TRAMP_MODE_KPROBE, NULL, why);
}

int tramp_probe_fall_back(struct tramp_probe *probe, u32 flags, u32 reason,
			  struct tramp_refusal *why)
{
	lockdep_assert_held(&tramp_mutex);
	if (!may_fall_back(flags, reason))
		return tramp_refuse(why, reason, probe->addr, NULL);
	return fall_back(probe, reason, why);
}

/* Make the first program's probe; it is in the table when hits can come. */
static int start(struct tramp_probe *probe, struct tramp_place *place,
		 const struct tramp_member *member, u32 flags, struct list_head *arm,
		 struct tramp_refusal *why)
{
	struct tramp_refusal first = {};
	enum tramp_mode mode;
	u32 reason;
	int err;

	tramp_probe_hash_add(probe);
	probe->reason = tramp_place_mode(place, member->slot->func_ip, &mode);
	/* Without the hook (a live patch holds it, say) only a kernel kprobe is left. */
	if (mode == TRAMP_MODE_INT3) {
		probe->hooked = !tramp_probe_hook_get(&first);
		if (first.reason == TRAMP_REASON_NO_MEMORY)
			return tramp_refuse(why, first.reason, 0, NULL);
		if (!probe->hooked) {
			mode = TRAMP_MODE_KPROBE;
			probe->reason = first.reason;
			memset(&first, 0, sizeof(first));
		}
	}
	if (mode == TRAMP_MODE_KPROBE && (flags & TRAMP_ATTACH_F_NO_KPROBE))
		return tramp_refuse(why, probe->reason, probe->addr, NULL);
	if (mode == TRAMP_MODE_FTRACE_OPS && (flags & TRAMP_ATTACH_F_NO_OPS))
		return tramp_refuse(why, TRAMP_REASON_SITE_HELD, probe->addr,
				    "the bytes at a function's entry are ftrace's");

	err = start_as(probe, place, mode, arm, &first);
	if (err && mode == TRAMP_MODE_INT3 && may_fall_back(flags, first.reason)) {
		reason = first.reason;
		memset(&first, 0, sizeof(first));
		err = fall_back(probe, reason, &first);
	}
	if (err && why && !why->reason)
		*why = first;
	return err;
}

/* Whether bpf_get_func_ip() says there what it says in a kernel kprobe. */
static bool knows_func_ip(const struct tramp_probe *probe)
{
	return probe->mode == TRAMP_MODE_KPROBE || !probe->entry;
}

/*
 * A program runs once a hit. It may be at the probe already, or in the image of the function whose
 * entry this is: it came before one that a probe had to be made for.
 */
static int check_prog(const struct tramp_probe *probe, const struct bpf_prog *prog, u32 kind,
		      struct tramp_refusal *why)
{
	int err = tramp_members_check(&probe->members, prog, kind, probe->addr, why);

	if (err || !probe->entry)
		return err;
	return tramp_target_check_prog(probe->addr, prog, kind, why);
}

int tramp_probe_check_prog(unsigned long addr, const struct bpf_prog *prog, u32 kind,
			   struct tramp_refusal *why)
{
	const struct tramp_probe *probe = tramp_probe_lookup(addr);

	lockdep_assert_held(&tramp_mutex);
	return probe ? tramp_members_check(&probe->members, prog, kind, addr, why) : 0;
}

/* One more program at a probe that is there. */
static int join(struct tramp_probe *probe, const struct tramp_member *member, u32 flags,
		struct tramp_refusal *why)
{
	if (probe->nr >= TRAMP_MAX_PROGS)
		return tramp_refuse(why, TRAMP_REASON_TOO_MANY_PROGS, probe->addr, "%u programs",
				    TRAMP_MAX_PROGS);
	if (!knows_func_ip(probe) && member->slot->func_ip)
		return tramp_refuse(why, TRAMP_REASON_FUNC_IP, probe->addr,
				    "another program is there already");
	/*
	 * It is being taken away: is the int3 still in the text? (Of a jump tramp_probe_new_image()
	 * asks.)
	 */
	if (!probe->nr && probe->text == TRAMP_TEXT_INT3 && !tramp_probe_is_ours(probe))
		return tramp_refuse(why, TRAMP_REASON_FOREIGN_BYTES, probe->addr, NULL);
	if ((probe->mode == TRAMP_MODE_KPROBE && (flags & TRAMP_ATTACH_F_NO_KPROBE)) ||
	    (probe->mode == TRAMP_MODE_FTRACE_OPS && (flags & TRAMP_ATTACH_F_NO_OPS)))
		return tramp_refuse(why, probe->reason ?: TRAMP_REASON_SITE_HELD, probe->addr,
				    "other programs are there in mode %s",
				    tramp_mode_name(probe->mode));
	return check_prog(probe, member->slot->prog, member->kind, why);
}

/*
 * A function's entry whose site is free, or ours: the function's own image runs the program
 * (func/target.c). Not if the program must find a kprobe of the kernel running.
 *
 * Return: 0 or a negative errno, which is final. 1: try another way, if @flags allow it.
 */
static int attach_direct(struct tramp_member *member, const struct tramp_place *place, u32 flags,
			 struct tramp_coming *coming, struct tramp_refusal *why)
{
	bool final = flags & TRAMP_ATTACH_F_NO_OPS;
	struct tramp_refusal own = {};
	struct tramp_func func;
	int err;

	if (!place->ftrace || !place->entry || member->slot->func_ip)
		return 1;
	tramp_resolve_entry(&place->sym, place->addr, place->module, &func);
	err = tramp_target_attach_kprobe(member, &func, coming, &own);
	switch (own.reason) {
	case TRAMP_REASON_TOO_MANY_PROGS:
	case TRAMP_REASON_ALREADY_ATTACHED:
	case TRAMP_REASON_FTRACE_DISABLED:
	case TRAMP_REASON_NO_MEMORY:
	case TRAMP_REASON_NO_EXEC_MEMORY:
		final = true;
		break;
	default:
		break;
	}
	if (!err)
		return 0;
	if (!final || !own.reason)
		return 1;
	if (why)
		*why = own;
	return err;
}

int tramp_probe_join(struct tramp_member *member, const struct tramp_attach *req,
		     struct list_head *arm, struct tramp_coming *coming,
		     struct tramp_refusal *why)
{
	const struct tramp_probe_at at = tramp_probe_at(req);
	bool fresh, no_jump = req->flags & TRAMP_ATTACH_F_NO_JUMP;
	struct tramp_probe *probe;
	struct tramp_place place;
	int err;

	lockdep_assert_held(&tramp_mutex);
	err = tramp_place_find(&at, &place, why);
	if (err)
		return err;
	probe = tramp_probe_lookup(place.addr);
	fresh = !probe;
	if (fresh) {
		err = attach_direct(member, &place, req->flags, coming, why);
		if (err <= 0)
			return err;
		probe = new_probe(&place, why);
	}
	if (!probe)
		return -ENOMEM;
	err = fresh ? 0 : join(probe, member, req->flags, why);
	if (err)
		return err;

	list_add_tail(&member->node, &probe->members);
	tramp_probe_count_member(probe, 1);
	probe->no_jump += no_jump;
	if (fresh)
		err = start(probe, &place, member, req->flags, arm, why);
	else
		err = update(probe, why);
	if (err) {
		list_del(&member->node);
		tramp_probe_count_member(probe, -1);
		probe->no_jump -= no_jump;
		if (fresh)
			tramp_probe_remove(probe);
		return err;
	}
	member->point = &probe->point;
	tramp_slot_mute(member->slot, false);
	/* Less the misses of a kernel kprobe so far: they come in again with the later ones. */
	if (!fresh)
		tramp_counts_add_misses(member->counts, -tramp_probe_callback_missed(probe));
	member->no_jump = no_jump;
	member->key = probe->key;
	return 0;
}

void tramp_probe_unjoin(struct tramp_member *member)
{
	struct tramp_probe *probe = tramp_probe_of(member);

	lockdep_assert_held(&tramp_mutex);
	/* Otherwise nothing leads to it yet: those who are at it came together, and all go. */
	if (!probe || probe->text != TRAMP_TEXT_ORIGINAL || probe->mode == TRAMP_MODE_KPROBE ||
	    probe->mode == TRAMP_MODE_FTRACE_OPS) {
		tramp_probe_leave(member);
		return;
	}
	list_del(&member->node);
	member->point = NULL;
	probe->no_jump -= member->no_jump;
	tramp_probe_count_member(probe, -1);
	if (!probe->nr)
		tramp_probe_remove(probe);
}

/* Going ------------------------------------------------------------------------ */

/* The last program goes. */
static void stop(struct tramp_probe *probe, struct tramp_member *member)
{
	switch (probe->mode) {
	case TRAMP_MODE_INT3:
		tramp_probe_hook_keep();
		if (probe->text == TRAMP_TEXT_JUMP && !tramp_probe_unjump(probe))
			tramp_image_mute(&probe->image->image, member->slot);
		if (!probe->lingers && !tramp_probe_is_ours(probe)) {
			/* It will take a while; the member's link still holds the module. */
			__module_get(THIS_MODULE);
			probe->lingers = true;
		}
		WRITE_ONCE(probe->go, tramp_probe_image_copy(probe->image));
		tramp_probe_queue(probe);
		break;
	case TRAMP_MODE_NONE:
		tramp_retire_add(&probe->retire, &probe_retire_ops);
		break;
	default:
		/* The kernel kprobe goes; the member keeps the misses that it counted. */
		tramp_counts_add_misses(member->counts, tramp_probe_callback_detach(probe));
		tramp_probe_remove(probe);
	}
}

void tramp_probe_detach(struct tramp_member *member)
{
	struct tramp_probe *probe = tramp_probe_of(member);

	lockdep_assert_held(&tramp_mutex);
	if (probe->nr > 1)
		tramp_counts_add_misses(member->counts, tramp_probe_callback_missed(probe));
	list_del(&member->node);
	tramp_probe_count_member(probe, -1);
	probe->no_jump -= member->no_jump;
	member->point = NULL;

	if (!probe->nr) {
		stop(probe, member);
	} else if (probe->mode != TRAMP_MODE_NONE && update(probe, NULL)) {
		/* No memory, or a foreign kprobe on top: the others go on as they are. */
		if (probe->image)
			tramp_image_mute(&probe->image->image, member->slot);
		else
			tramp_slot_mute(member->slot, true);
	}
}

int tramp_probe_replace(struct tramp_member *member, struct tramp_slot *slot,
			struct tramp_refusal *why)
{
	struct tramp_probe *probe = tramp_probe_of(member);
	struct tramp_slot *old = member->slot;
	int err;

	lockdep_assert_held(&tramp_mutex);
	if (probe->mode == TRAMP_MODE_NONE)
		return tramp_refuse(why, TRAMP_REASON_MODULE_GONE, 0, NULL);
	if (!knows_func_ip(probe) && slot->func_ip)
		return tramp_slot_refuse_func_ip(slot, probe->addr, why);
	err = check_prog(probe, slot->prog, member->kind, why);
	if (err)
		return err;
	member->slot = slot;
	err = update(probe, why);
	if (err) {
		member->slot = old;
		return err;
	}
	tramp_slot_put(old);
	return 0;
}

/* All of them ------------------------------------------------------------------ */

/*
 * A module that goes, and its probes whose text is ours; of those that are reached through a kernel
 * kprobe some.
 */
struct going {
	const struct module *mod;
	struct list_head restore;
	struct tramp_probe *kprobes[TRAMP_PROBE_KPROBES_MANY];
	u64 missed[TRAMP_PROBE_KPROBES_MANY];
	u32 nr;
};

static void collect_in(struct tramp_probe *probe, void *arg)
{
	struct going *going = arg;

	if (probe->module == going->mod && probe->mode == TRAMP_MODE_INT3)
		list_move(&probe->opt, &going->restore);
}

static void collect_kprobe_in(struct tramp_probe *probe, void *arg)
{
	struct going *going = arg;

	if (probe->module == going->mod && probe->mode == TRAMP_MODE_KPROBE &&
	    going->nr < TRAMP_PROBE_KPROBES_MANY)
		going->kprobes[going->nr++] = probe;
}

/* Nothing reaches it any more; the kernel's kprobe has missed so many. */
static void forget(struct tramp_probe *probe, u64 missed)
{
	struct tramp_member *member;

	list_for_each_entry(member, &probe->members, node)
		tramp_counts_add_misses(member->counts, missed);
	abandon(probe);
	probe->reason = TRAMP_REASON_MODULE_GONE;
	probe->where = 0;
	/* This is called by the module notifier. Exit unregisters it, which waits for calls. */
	if (probe->lingers)
		module_put(THIS_MODULE);
	if (!probe->nr)
		tramp_retire_add(&probe->retire, &probe_retire_ops);
}

static void forget_in(struct tramp_probe *probe, void *arg)
{
	const struct going *going = arg;
	u64 missed = 0;

	if (probe->module != going->mod)
		return;
	if (probe->mode == TRAMP_MODE_INT3)
		/* Other bytes may stand there by now: nobody executes them any more. */
		tramp_probe_set_text(probe, TRAMP_TEXT_ORIGINAL);
	else
		missed = tramp_probe_callback_detach(probe);
	forget(probe, missed);
}

/* Return: false if none is left. */
static bool forget_kprobes(struct going *going)
{
	u32 i;

	going->nr = 0;
	tramp_probe_for_each(collect_kprobe_in, going);
	tramp_probe_kprobes_detach(going->kprobes, going->nr, going->missed);
	for (i = 0; i < going->nr; i++)
		forget(going->kprobes[i], going->missed[i]);
	return going->nr;
}

void tramp_probe_module_gone(const struct module *mod)
{
	static struct going going;

	lockdep_assert_held(&tramp_mutex);
	going.mod = mod;
	INIT_LIST_HEAD(&going.restore);
	tramp_probe_for_each(collect_in, &going);
	tramp_probe_restore_batch(&going.restore);
	while (forget_kprobes(&going))
		;
	tramp_probe_for_each(forget_in, &going);
	tramp_map_forget(mod);
}

int __init tramp_probe_init(void)
{
	int err;

	if (!tramp_ksyms.has_probes)
		return 0;
	err = tramp_probe_trap_init();
	if (err)
		return err;
	err = tramp_probe_opt_init();
	if (err)
		tramp_probe_trap_exit();
	return err;
}

void tramp_probe_exit(void)
{
	if (!tramp_ksyms.has_probes)
		return;
	/* Modules may still go with the last probes in them: link/ still reports that. */
	tramp_probe_opt_drain();
	tramp_probe_hook_exit();
	tramp_probe_opt_exit();
	tramp_probe_trap_exit();
	tramp_probe_callback_exit();
	/* Modules still go. */
	mutex_lock(&tramp_mutex);
	tramp_map_forget(NULL);
	mutex_unlock(&tramp_mutex);
}
