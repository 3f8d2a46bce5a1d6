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
 * Who may be executing what at a change of image: hits that trap read probe->go, and
 * get the old image or the new one; a jump is turned back into an int3 first, and
 * the optimiser makes it a jump to the new image a little later. The old image is
 * retired behind an RCU-tasks grace period. An image that executes only the probed
 * instruction returns into the region: before one is used, the region's bytes are
 * the original ones again.
 *
 * A probe in the middle of another's region takes that one back to int3, with an image
 * for its own instruction, before it is armed itself; when it goes, the other is
 * queued and may become a jump again.
 *
 * Without its last program a probe is as good as gone: what still traps there goes on
 * in the image's copy of the instructions. Restoring the text is left to the
 * optimiser, many at a time. A program that comes before that finds the probe as it is.
 *
 * A module's probes die with it. When it is GOING nobody is in its code; the text is
 * restored nevertheless, as long as it is there.
 */
#include <linux/module.h>
#include <linux/slab.h>
#include "text/map.h"
#include "link/link.h"
#include "base/ksyms.h"
#include "probe.h"

static u64 last_key = TRAMP_PROBE_KEY;		/* tramp_mutex */

enum tramp_mode tramp_probe_mode(const struct tramp_probe *probe)
{
	if (probe->mode == TRAMP_MODE_INT3 && probe->text == TRAMP_TEXT_JUMP)
		return TRAMP_MODE_JUMP;
	return probe->mode;
}

struct tramp_probe *tramp_probe_find(unsigned long addr)
{
	lockdep_assert_held(&tramp_mutex);
	return tramp_probe_lookup(addr);
}

/* Programs ------------------------------------------------------------------- */

/* The probe's slots in order. Return: the array, NULL without memory. */
static struct tramp_slot **collect_slots(struct tramp_probe *probe)
{
	struct tramp_slot **slots = kcalloc(probe->nr, sizeof(*slots), GFP_KERNEL);
	struct tramp_link *link;
	u32 n = 0;

	if (!slots)
		return NULL;
	list_for_each_entry(link, &probe->links, node)
		slots[n++] = link->slot;
	return slots;
}

int tramp_probe_new_image(struct tramp_probe *probe, u32 len, struct tramp_refusal *why)
{
	struct tramp_slot **slots = collect_slots(probe);
	struct tramp_probe_image *image, *old = probe->image;

	if (!slots)
		return tramp_refuse(why, TRAMP_REASON_NO_MEMORY, 0, NULL);
	image = tramp_probe_image_create(probe, len, slots, probe->nr, probe->index + 1,
					 tramp_slot_call, why);
	kfree(slots);
	if (IS_ERR(image))
		return PTR_ERR(image);
	if (probe->text == TRAMP_TEXT_JUMP && !tramp_probe_unjump(probe)) {
		tramp_probe_image_destroy(image);
		return tramp_refuse(why, TRAMP_REASON_FOREIGN_BYTES, probe->addr, NULL);
	}

	probe->index++;
	probe->image = image;
	WRITE_ONCE(probe->go, probe->nr ? image->exec.code : image->copy);
	if (!old || old->len != len) {
		probe->quiesced = false;
		probe->waiting = false;
	}
	if (old)
		tramp_probe_image_retire(old);
	return 0;
}

/* The same, and have the optimiser look at it. */
static int renew_image(struct tramp_probe *probe, u32 len, struct tramp_refusal *why)
{
	int err = tramp_probe_new_image(probe, len, why);

	if (!err && probe->text != TRAMP_TEXT_ORIGINAL)
		tramp_probe_queue(probe);
	return err;
}

static int new_set(struct tramp_probe *probe, struct tramp_refusal *why)
{
	struct tramp_slot **slots = collect_slots(probe);
	struct tramp_probe_set *set, *old;

	set = slots ? tramp_probe_set_alloc(slots, probe->nr) : NULL;
	kfree(slots);
	if (!set)
		return tramp_refuse(why, TRAMP_REASON_NO_MEMORY, 0, NULL);
	old = rcu_replace_pointer(probe->set, set, lockdep_is_held(&tramp_mutex));
	if (old)
		tramp_probe_set_retire(old);
	return 0;
}

/* Make the probe run what its list says. */
static int update(struct tramp_probe *probe, struct tramp_refusal *why)
{
	if (probe->mode == TRAMP_MODE_INT3)
		return renew_image(probe, probe->image->len, why);
	return new_set(probe, why);
}

int tramp_probe_prepare(const struct tramp_probe_at *at, struct tramp_refusal *why)
{
	struct tramp_place place;
	int err;

	if (!tramp_ksyms.has_probes)
		return tramp_refuse(why, TRAMP_REASON_MISSING_SYMBOL, 0, "see INFO");
	mutex_lock(&tramp_mutex);
	err = tramp_place_locate(at, &place, false, why);
	mutex_unlock(&tramp_mutex);
	if (err)
		return err;
	err = tramp_branches_read(place.addr);
	if (err == -ENOENT)
		return tramp_refuse(why, TRAMP_REASON_MODULE_GONE, place.addr, NULL);
	return err ? tramp_refuse(why, TRAMP_REASON_NO_MEMORY, 0, NULL) : 0;
}

/* Coming ----------------------------------------------------------------------- */

static struct tramp_probe *new_probe(struct tramp_place *place, struct tramp_refusal *why)
{
	struct tramp_probe *probe = kzalloc(sizeof(*probe), GFP_KERNEL);

	if (!probe) {
		tramp_refuse(why, TRAMP_REASON_NO_MEMORY, 0, NULL);
		return NULL;
	}
	probe->addr = place->addr;
	probe->key = ++last_key;
	probe->module = place->module;
	probe->entry = place->entry || place->ftrace;
	probe->insn_len = place->insn.len;
	memcpy(probe->orig, place->code, place->code_len);
	tramp_probe_note_branches(probe, place->code_len);
	INIT_LIST_HEAD(&probe->links);
	INIT_LIST_HEAD(&probe->opt);
	return probe;
}

static void probe_free(struct tramp_retire *r)
{
	/* Whoever looked it up did so under RCU, which the grace period includes. */
	kfree(container_of(r, struct tramp_probe, retire));
}

static const struct tramp_retire_ops probe_retire_ops = {
	.free = probe_free,
};

/* What hits reach goes; the struct goes with the last link. */
static void abandon(struct tramp_probe *probe)
{
	struct tramp_probe_set *set = rcu_dereference_protected(probe->set, true);

	tramp_probe_hash_del(probe);
	list_del_init(&probe->opt);
	if (probe->hooked)
		tramp_probe_hook_put();
	probe->hooked = false;
	if (probe->image)
		tramp_probe_image_retire(probe->image);
	if (set) {
		rcu_assign_pointer(probe->set, NULL);
		tramp_probe_set_retire(set);
	}
	probe->image = NULL;
	probe->mode = TRAMP_MODE_NONE;
}

void tramp_probe_remove(struct tramp_probe *probe)
{
	unsigned long addr = probe->addr;

	abandon(probe);
	tramp_retire_add(&probe->retire, &probe_retire_ops);
	tramp_probe_queue_around(addr);
}

/* Somebody is going to stand at @addr: no jump may cover it. */
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
		probe->region = 0;
	}
	return 0;
}

/* With an image of ours. */
static int start_int3(struct tramp_probe *probe, struct tramp_place *place,
		      struct tramp_refusal *why)
{
	int err;

	tramp_probe_evaluate(probe, place);
	err = renew_image(probe, probe->insn_len, why);
	if (err)
		return err;
	err = tramp_probe_arm(probe, why);
	if (!err && probe->reason == TRAMP_REASON_OPT_PENDING)
		tramp_probe_queue(probe);
	return err;
}

static int start_callback(struct tramp_probe *probe, struct tramp_refusal *why)
{
	return new_set(probe, why) ?: tramp_probe_callback_attach(probe, why);
}

static bool wants_func_ip(const struct tramp_link *link)
{
	return link->slot->func_ip;
}

/*
 * At an entry bpf_get_func_ip() must tell the function, which it takes from the
 * kernel's own idea of the kprobe that is running. Elsewhere it says 0, everywhere.
 */
static u32 choose_mode(struct tramp_place *place, const struct tramp_link *link,
		       enum tramp_mode *mode)
{
	*mode = TRAMP_MODE_KPROBE;
	if (place->reason)
		return place->reason;
	if ((place->entry || place->ftrace) && wants_func_ip(link))
		return TRAMP_REASON_FUNC_IP;
	*mode = place->ftrace ? TRAMP_MODE_FTRACE_OPS : TRAMP_MODE_INT3;
	return 0;
}

static int start_as(struct tramp_probe *probe, struct tramp_place *place,
		    enum tramp_mode mode, struct tramp_refusal *why)
{
	int err;

	probe->mode = mode;
	err = clear_regions(probe->addr, why);
	if (err)
		;
	else if (mode == TRAMP_MODE_INT3)
		err = start_int3(probe, place, why);
	else
		err = start_callback(probe, why);
	if (err)
		probe->mode = TRAMP_MODE_NONE;
	return err;
}

/* Make the first program's probe; it is in the table when hits can come. */
static int start(struct tramp_probe *probe, struct tramp_place *place,
		 const struct tramp_link *link, u32 flags, struct tramp_refusal *why)
{
	struct tramp_refusal first = {};
	enum tramp_mode mode;
	int err;

	tramp_probe_hash_add(probe);
	probe->reason = choose_mode(place, link, &mode);
	/* With somebody else's live patch there, say, the kernel's kprobe is left. */
	if (mode == TRAMP_MODE_INT3) {
		probe->hooked = !tramp_probe_hook_get(&first);
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

	err = start_as(probe, place, mode, &first);
	/* What turned out to be out of reach, or a kprobe that came this very moment. */
	if (err && mode == TRAMP_MODE_INT3 && !(flags & TRAMP_ATTACH_F_NO_KPROBE) &&
	    (first.reason == TRAMP_REASON_OUT_OF_REACH ||
	     first.reason == TRAMP_REASON_INSN_FIXED ||
	     first.reason == TRAMP_REASON_KPROBE_THERE)) {
		if (probe->image)
			tramp_probe_image_retire(probe->image);
		probe->image = NULL;
		probe->go = 0;
		tramp_probe_hook_put();
		probe->hooked = false;
		probe->reason = first.reason;
		memset(&first, 0, sizeof(first));
		err = start_as(probe, place, TRAMP_MODE_KPROBE, &first);
	}
	if (err && why && !why->reason)
		*why = first;
	return err;
}

static int check_program(const struct tramp_probe *probe, const struct bpf_prog *prog,
			 struct tramp_refusal *why)
{
	struct tramp_link *link;

	list_for_each_entry(link, &probe->links, node) {
		if (link->slot->prog == prog)
			return tramp_refuse(why, TRAMP_REASON_ALREADY_ATTACHED, probe->addr,
					    "link %u", link->id);
	}
	return 0;
}

/* Whether bpf_get_func_ip() says there what it says in a kernel kprobe. */
static bool knows_func_ip(const struct tramp_probe *probe)
{
	return probe->mode == TRAMP_MODE_KPROBE || !probe->entry;
}

/* One more program at a probe that is there. */
static int join(struct tramp_probe *probe, const struct tramp_link *link, u32 flags,
		struct tramp_refusal *why)
{
	if (probe->nr >= TRAMP_MAX_PROGS)
		return tramp_refuse(why, TRAMP_REASON_TOO_MANY_PROGS, probe->addr, "%u programs",
				    TRAMP_MAX_PROGS);
	if (!knows_func_ip(probe) && wants_func_ip(link))
		return tramp_refuse(why, TRAMP_REASON_FUNC_IP, probe->addr,
				    "another program is there already");
	/* It is being taken away: is the int3 still in the text? (A jump: new_image().) */
	if (!probe->nr && probe->text == TRAMP_TEXT_INT3 && !tramp_probe_is_ours(probe))
		return tramp_refuse(why, TRAMP_REASON_FOREIGN_BYTES, probe->addr, NULL);
	if ((probe->mode == TRAMP_MODE_KPROBE && (flags & TRAMP_ATTACH_F_NO_KPROBE)) ||
	    (probe->mode == TRAMP_MODE_FTRACE_OPS && (flags & TRAMP_ATTACH_F_NO_OPS)))
		return tramp_refuse(why, probe->reason ?: TRAMP_REASON_SITE_HELD, probe->addr,
				    "other programs are there in mode %s",
				    tramp_mode_name(probe->mode));
	return check_program(probe, link->slot->prog, why);
}

int tramp_probe_attach(struct tramp_link *link, const struct tramp_probe_at *at, u32 flags,
		       struct tramp_refusal *why)
{
	struct tramp_probe *probe;
	struct tramp_place place;
	bool fresh;
	int err;

	lockdep_assert_held(&tramp_mutex);
	err = tramp_place_find(at, &place, why);
	if (err)
		return err;
	probe = tramp_probe_find(place.addr);
	fresh = !probe;
	if (fresh)
		probe = new_probe(&place, why);
	if (!probe)
		return -ENOMEM;
	err = fresh ? 0 : join(probe, link, flags, why);
	if (err)
		return err;

	list_add_tail(&link->node, &probe->links);
	probe->nr++;
	probe->no_jump += !!(flags & TRAMP_ATTACH_F_NO_JUMP);
	if (fresh)
		err = start(probe, &place, link, flags, why);
	else
		err = update(probe, why);
	if (err) {
		list_del(&link->node);
		probe->nr--;
		probe->no_jump -= !!(flags & TRAMP_ATTACH_F_NO_JUMP);
		if (fresh)
			tramp_probe_remove(probe);
		return err;
	}
	link->probe = probe;
	link->missed_before = tramp_probe_callback_missed(probe);
	link->no_jump = flags & TRAMP_ATTACH_F_NO_JUMP;
	link->key = probe->key;
	return 0;
}

/* Going ------------------------------------------------------------------------ */

/* The last program goes. */
static void stop(struct tramp_probe *probe, struct tramp_link *link)
{
	switch (probe->mode) {
	case TRAMP_MODE_INT3:
		if (probe->text == TRAMP_TEXT_JUMP && !tramp_probe_unjump(probe))
			tramp_probe_image_mute(probe->image, link->slot);
		if (!probe->lingers && !tramp_probe_is_ours(probe)) {
			/* It will take a while; the link still holds the module. */
			__module_get(THIS_MODULE);
			probe->lingers = true;
		}
		WRITE_ONCE(probe->go, probe->image->copy);
		tramp_probe_queue(probe);
		break;
	case TRAMP_MODE_NONE:
		tramp_retire_add(&probe->retire, &probe_retire_ops);
		break;
	default:
		tramp_probe_callback_detach(probe);
		tramp_probe_remove(probe);
	}
}

/* What its kernel kprobe has missed stays with the link when that goes. */
static void keep_misses(struct tramp_link *link)
{
	u64 missed = tramp_probe_callback_missed(link->probe);

	tramp_counts_add_misses(link->counts, missed - link->missed_before);
	link->missed_before = 0;
}

void tramp_probe_detach(struct tramp_link *link)
{
	struct tramp_probe *probe = link->probe;

	lockdep_assert_held(&tramp_mutex);
	keep_misses(link);
	list_del(&link->node);
	probe->nr--;
	probe->no_jump -= link->no_jump;
	link->probe = NULL;

	if (!probe->nr) {
		stop(probe, link);
	} else if (probe->mode != TRAMP_MODE_NONE && update(probe, NULL)) {
		/* No memory, or a foreign kprobe on top: the others go on as they are. */
		if (probe->image)
			tramp_probe_image_mute(probe->image, link->slot);
		else
			WRITE_ONCE(link->slot->muted, true);
	}
}

int tramp_probe_replace(struct tramp_link *link, struct tramp_slot *slot,
			struct tramp_refusal *why)
{
	struct tramp_probe *probe = link->probe;
	struct tramp_slot *old = link->slot;
	int err;

	lockdep_assert_held(&tramp_mutex);
	if (probe->mode == TRAMP_MODE_NONE)
		return tramp_refuse(why, TRAMP_REASON_MODULE_GONE, 0, NULL);
	if (!knows_func_ip(probe) && slot->func_ip)
		return tramp_refuse(why, TRAMP_REASON_FUNC_IP, probe->addr, NULL);
	err = check_program(probe, slot->prog, why);
	if (err)
		return err;
	link->slot = slot;
	err = update(probe, why);
	if (err) {
		link->slot = old;
		return err;
	}
	tramp_slot_put(old);
	return 0;
}

/* All of them ------------------------------------------------------------------ */

static void count_probe(struct tramp_probe *probe, void *arg)
{
	u32 *counts = arg;

	counts[0] += probe->nr != 0;
	counts[1] += probe->nr && probe->text == TRAMP_TEXT_JUMP;
}

void tramp_probe_totals(u32 *probes, u32 *optimised)
{
	u32 counts[2] = {};

	tramp_probe_for_each(count_probe, counts);
	*probes = counts[0];
	*optimised = counts[1];
}

static void module_gone(struct tramp_probe *probe, void *mod)
{
	struct tramp_link *link;
	LIST_HEAD(restore);

	if (probe->module != mod)
		return;
	if (probe->mode == TRAMP_MODE_INT3) {
		/* Whatever the bytes are now: nobody executes them any more. */
		list_move(&probe->opt, &restore);
		tramp_probe_restore_batch(&restore);
		probe->text = TRAMP_TEXT_ORIGINAL;
	} else {
		list_for_each_entry(link, &probe->links, node)
			keep_misses(link);
		tramp_probe_callback_detach(probe);
	}
	abandon(probe);
	probe->reason = TRAMP_REASON_MODULE_GONE;
	probe->where = 0;
	if (probe->lingers)
		module_put(THIS_MODULE);
	if (!probe->nr)
		tramp_retire_add(&probe->retire, &probe_retire_ops);
}

static int on_module(struct notifier_block *nb, unsigned long event, void *mod)
{
	if (event != MODULE_STATE_GOING)
		return NOTIFY_DONE;
	mutex_lock(&tramp_mutex);
	tramp_probe_for_each(module_gone, mod);
	tramp_branches_forget(mod);
	mutex_unlock(&tramp_mutex);
	return NOTIFY_OK;
}

static struct notifier_block module_block = {
	.notifier_call = on_module,
};

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
		goto trap_exit;
	err = register_module_notifier(&module_block);
	if (err)
		goto opt_exit;
	return 0;

opt_exit:
	tramp_probe_opt_exit();
trap_exit:
	tramp_probe_trap_exit();
	return err;
}

void tramp_probe_exit(void)
{
	if (!tramp_ksyms.has_probes)
		return;
	/* Modules may still go with the last probes in them. */
	tramp_probe_opt_drain();
	unregister_module_notifier(&module_block);
	tramp_probe_hook_exit();
	tramp_probe_opt_exit();
	tramp_probe_trap_exit();
	tramp_branches_exit();
}
