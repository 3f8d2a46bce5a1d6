// SPDX-License-Identifier: GPL-2.0
/*
 * Members: how programs come to a target's list and go from it.
 *
 * A list says which programs are to run, and in which order. No call reads it: calls run an image
 * or a set that was made of it (target.c). So a program may enter the list and leave it again
 * while nobody executes it. tramp_mutex is held until the site does what the list says.
 *
 * Coming: the program enters the list, and calls run it once the site leads to the new image or
 * set. If that fails it leaves the list again. Nobody has executed it, unless calls had entered:
 * then the image retires, and holds the slot.
 *
 * Waiting: a function without a site may have programs in its list already (many.c). Nothing
 * leads there, so no call runs them. Before tramp_mutex is dropped each such function gets its
 * site, or its programs leave again.
 *
 * Going: the program leaves the list, and the site is switched. Tasks may be in the old image and
 * run it once more; the image holds the slot until they are out. Without memory for a new
 * image or set the old one stays, and the program's call there is muted. Whatever retired
 * earlier with calls inside leaves it out, too.
 *
 * Replacing: the member gets the new slot, and the site is switched. Each call runs the old
 * program or the new one. The member's reference to the old slot goes only after the switch;
 * tasks in the old image have that image's.
 *
 * A function that is one of many (multi/) may get a program of its own. Then the program of many
 * becomes a member here, as the first of them, and the gate leads to the target's image (gate.c).
 * When the others have gone, the gate leads to the image of many again. A program of many that
 * comes to a function with others becomes a member as well. In either case its hits and misses
 * are counted where all of it are.
 */
#include "base/ksyms.h"
#include "callback.h"
#include "gate.h"
#include "image.h"
#include "internal.h"
#include "target.h"
#include "text/unsafe.h"

/* Where in the order of a target's programs those of a kind run. */
static enum tramp_list list_of(enum tramp_kind kind)
{
	static const enum tramp_list lists[] = {
		[TRAMP_KIND_KPROBE] = TRAMP_LIST_KPROBE,
		[TRAMP_KIND_FENTRY] = TRAMP_LIST_FENTRY,
		[TRAMP_KIND_FMOD_RET] = TRAMP_LIST_FMOD_RET,
		[TRAMP_KIND_FEXIT] = TRAMP_LIST_FEXIT,
		[TRAMP_KIND_KRETPROBE] = TRAMP_LIST_KRET,
		[TRAMP_KIND_KPROBE_MULTI] = TRAMP_LIST_KPROBE,
		[TRAMP_KIND_KRETPROBE_MULTI] = TRAMP_LIST_KRET,
		[TRAMP_KIND_KPROBE_SESSION] = TRAMP_LIST_SESSION,
	};

	return lists[kind];
}

/* Around the number of programs of a list: the first one of tracing type, and the last one. */
static void hold_module(struct tramp_target *target, enum tramp_list list)
{
	if (list != TRAMP_LIST_KPROBE && !tramp_target_nr_tracing(target))
		__module_get(target->func.owner);	/* NULL is fine */
}

static void release_module(struct tramp_target *target, enum tramp_list list)
{
	if (list != TRAMP_LIST_KPROBE && !tramp_target_nr_tracing(target))
		module_put(target->func.owner);
}

/*
 * The newest of its kind runs first, as with the kernel's trampolines (hlist_add_head()). Of
 * kprobe programs the oldest does, as with the kernel's kprobes, and of sessions at the entry.
 */
static void insert(struct tramp_target *target, struct tramp_member *member)
{
	enum tramp_list list = list_of(member->kind);
	bool behind = list == TRAMP_LIST_KPROBE || list == TRAMP_LIST_SESSION;
	struct tramp_member *next;

	list_for_each_entry(next, &target->members, node) {
		if (list_of(next->kind) >= list + behind)
			break;
	}
	list_add_tail(&member->node, &next->node);
	hold_module(target, list);
	tramp_target_count_member(target, list, 1);
}

static void take_out(struct tramp_target *target, struct tramp_member *member)
{
	enum tramp_list list = list_of(member->kind);

	list_del(&member->node);
	tramp_target_count_member(target, list, -1);
	release_module(target, list);
}

/* The member of the program of many that runs at the function alone. */
static int insert_gate_member(struct tramp_target *target, struct tramp_refusal *why)
{
	struct tramp_gate *gate = NULL;
	struct tramp_member *member;

	if (!target->site && !target->gate)
		gate = tramp_gate_find(target->func.addr, 0);
	if (!gate || !gate->live)
		return 0;
	member = gate->ops->join(gate, target->func.addr);
	if (!member)
		return tramp_refuse(why, TRAMP_REASON_NO_MEMORY, 0, NULL);
	insert(target, member);
	member->point = &target->point;
	target->gate_member = member;
	target->refs++;
	return 0;
}

/* Its program is run by the image of many again. */
static void take_out_gate_member(struct tramp_target *target, struct tramp_gate *gate)
{
	struct tramp_member *member = target->gate_member;

	take_out(target, member);
	target->gate_member = NULL;
	gate->ops->leave(gate, member);
	tramp_target_put(target);
}

/* A member is in the list, and will run. */
static void joined(struct tramp_target *target, struct tramp_member *member)
{
	member->point = &target->point;
	tramp_slot_mute(member->slot, false);
	list_for_each_entry(member, &target->members, node)
		member->key = target->func.key;
}

static bool learns(const struct tramp_target *target, const struct tramp_func *func)
{
	return func && tramp_func_has_btf(&func->facts) && !tramp_func_has_btf(&target->func);
}

/*
 * Run one more program. @func is what it knows of its function, NULL: nothing. A target that has
 * had kprobe programs only knows less: its images have the other key from now on.
 */
static int add_member(struct tramp_target *target, struct tramp_member *member,
		      const struct tramp_func *func, enum tramp_mode mode,
		      struct tramp_refusal *why)
{
	bool learned = learns(target, func);
	u64 key = target->func.key;
	int err;

	if (learned) {
		err = tramp_target_set_func(target, func, why);
		if (err)
			return err;
	}
	err = mode == TRAMP_MODE_DIRECT ? insert_gate_member(target, why) : 0;
	if (err)
		goto forget;
	insert(target, member);
	err = tramp_target_update(target, mode, NULL, why);
	if (err) {
		take_out(target, member);
		if (target->gate_member && !target->gate)
			take_out_gate_member(target, tramp_gate_find(target->func.addr, 0));
		goto forget;
	}
	joined(target, member);
	return 0;
forget:
	/* Kprobe programs only, as before: the image that is left has this key. */
	if (learned)
		target->func.key = key;
	return err;
}

/* Nothing leads to its programs, or else nothing but an image of its own could. */
static bool can_wait(const struct tramp_target *target, const struct tramp_func *func)
{
	return !tramp_target_mode(target) && !tramp_gate_find(func->addr, 0) &&
	       !learns(target, func);
}

static int join(struct tramp_target *target, struct tramp_member *member,
		const struct tramp_func *func, u32 flags, struct tramp_target **later,
		struct tramp_refusal *why)
{
	enum tramp_list list = list_of(member->kind);
	struct tramp_refusal held = {};
	enum tramp_mode mode;
	int err;

	if (later && tramp_target_alias_comes(target))
		return -EAGAIN;
	err = tramp_members_check(&target->members, member->slot->prog, member->kind, func->addr,
				  why) ?:
	      tramp_target_check(func, target, list, !tramp_ops_possible(member->slot), flags,
				 &mode, &held);
	if (err) {
		if (why && !why->reason)
			*why = held;
		return err;
	}
	if (!later || mode != TRAMP_MODE_DIRECT || !can_wait(target, func))
		return add_member(target, member, func, mode, why);
	insert(target, member);
	joined(target, member);
	*later = target;
	return 0;
}

int tramp_target_enlist(struct tramp_member *member, const struct tramp_attach *req,
			struct tramp_target **later, struct tramp_refusal *why)
{
	struct tramp_target *target;
	struct tramp_func func;
	int err;

	lockdep_assert_held(&tramp_mutex);
	err = tramp_resolve_prog(member->slot->prog, &func, why);
	if (err)
		return err;
	target = tramp_target_get(&func, why);
	if (IS_ERR(target)) {
		err = PTR_ERR(target);
		goto put_func;
	}
	err = join(target, member, &func, req->flags, later, why);
	if (err)
		tramp_target_put(target);
put_func:
	/* The target holds the module itself by now. */
	tramp_func_put(&func);
	return err;
}

void tramp_target_strike(struct tramp_member *member)
{
	struct tramp_target *target = tramp_target_of(member);

	if (tramp_target_mode(target)) {
		tramp_target_detach(member);
		return;
	}
	take_out(target, member);
	/* It may have been here before, by way of an ops that ftrace could not take off. */
	tramp_slot_mute(member->slot, true);
	member->point = NULL;
	tramp_target_put(target);
}

int tramp_target_attach(struct tramp_member *member, const struct tramp_attach *req,
			struct tramp_refusal *why)
{
	return tramp_target_enlist(member, req, NULL, why);
}

/* The target's first program waits with others for their sites. */
static int wait_for_site(struct tramp_target *target, struct tramp_member *member,
			 struct tramp_coming *coming, struct tramp_refusal *why)
{
	int err = tramp_site_check(target->func.site, why);

	if (err)
		return err;
	insert(target, member);
	joined(target, member);
	tramp_coming_note(coming, target, 0);
	return 0;
}

/* Takes the caller's reference of the target over, or puts it. */
static int attach_kprobe(struct tramp_target *target, struct tramp_member *member,
			 const struct tramp_func *func, struct tramp_coming *coming,
			 struct tramp_refusal *why)
{
	bool wait = coming && can_wait(target, func) && !tramp_target_alias_comes(target);
	int err;

	err = tramp_target_check_kprobe(target, member, why);
	if (!err && wait)
		err = wait_for_site(target, member, coming, why);
	else if (!err)
		err = add_member(target, member, func, TRAMP_MODE_DIRECT, why);
	if (err)
		tramp_target_put(target);
	return err;
}

int tramp_target_attach_kprobe(struct tramp_member *member, const struct tramp_func *func,
			       struct tramp_coming *coming, struct tramp_refusal *why)
{
	struct tramp_target *target;

	lockdep_assert_held(&tramp_mutex);
	target = tramp_target_get(func, why);
	if (IS_ERR(target))
		return PTR_ERR(target);
	return attach_kprobe(target, member, func, coming, why);
}

/* The function, if it has no target yet. */
static int find_func(unsigned long addr, struct tramp_func *func, struct tramp_refusal *why)
{
	struct module *mod = NULL;
	struct tramp_symbol sym;

	if (!tramp_text_symbol(addr, &sym))
		return tramp_refuse(why, TRAMP_REASON_NO_SUCH_FUNCTION, addr, NULL);
	if (!KSYM(core_kernel_text)(addr)) {
		preempt_disable();
		mod = KSYM(__module_text_address)(addr);
		preempt_enable();
	}
	tramp_resolve_entry(&sym, tramp_site_of(addr), mod, func);
	return 0;
}

int tramp_target_join(struct tramp_member *member, unsigned long addr, struct tramp_refusal *why)
{
	struct tramp_target *target = tramp_target_find(addr, 0);
	struct tramp_func func;
	int err;

	lockdep_assert_held(&tramp_mutex);
	if (target && tramp_target_is_direct(target)) {
		target->refs++;
		return attach_kprobe(target, member, NULL, NULL, why);
	}
	err = find_func(addr, &func, why);
	return err ?: tramp_target_attach_kprobe(member, &func, NULL, why);
}

/* Nobody but the owner of a live gate has a program left here: the image of many runs it. */
static bool is_owners_alone(const struct tramp_target *target)
{
	return target->gate && target->gate->live && target->gate_member &&
	       tramp_target_nr(target) == 1;
}

struct tramp_target *tramp_target_leave(struct tramp_member *member)
{
	struct tramp_target *target = tramp_target_of(member);
	struct tramp_func_inside *inside;

	lockdep_assert_held(&tramp_mutex);
	take_out(target, member);
	member->point = NULL;
	if (target->gate_member == member)
		target->gate_member = NULL;
	hlist_for_each_entry(inside, &target->older, older)
		tramp_func_image_leave_out(inside->image, member->counts);
	return target;
}

void tramp_target_detach(struct tramp_member *member)
{
	struct tramp_target *target = tramp_target_leave(member);
	struct tramp_gate *gate = target->gate;
	struct tramp_slot *slot = member->slot;

	if (!tramp_target_mode(target)) {
		/* ftrace has shut down, see tramp_target_remove_site(); or the module has gone. */
	} else if (!tramp_target_nr(target)) {
		tramp_target_remove_site(target, slot);
	} else if (is_owners_alone(target)) {
		if (tramp_target_leave_gate(target, target->gate_member->slot))
			take_out_gate_member(target, gate);
		else
			tramp_target_silence(target, slot);
	} else if (tramp_target_update(target, tramp_target_mode(target), NULL, NULL)) {
		/*
		 * No memory for an image or set of the others, or ftrace has shut down.
		 * They keep the old one, and this program is left out of it.
		 */
		tramp_target_silence(target, slot);
	}
	tramp_target_put(target);
}

int tramp_target_check_prog(unsigned long addr, const struct bpf_prog *prog, u32 kind,
			    struct tramp_refusal *why)
{
	const struct tramp_target *target = NULL;
	struct tramp_symbol sym;

	lockdep_assert_held(&tramp_mutex);
	if (tramp_text_symbol(addr, &sym))
		target = tramp_target_find(sym.start, 0);
	return target ? tramp_members_check(&target->members, prog, kind, sym.start, why) : 0;
}

int tramp_target_replace(struct tramp_member *member, struct tramp_slot *slot,
			 struct tramp_refusal *why)
{
	struct tramp_target *target = tramp_target_of(member);
	struct tramp_slot *old = member->slot;
	u32 reason;
	int err;

	lockdep_assert_held(&tramp_mutex);
	if (!tramp_target_mode(target))
		return tramp_refuse(why,
				    tramp_target_is_gone(target) ? TRAMP_REASON_MODULE_GONE :
								   TRAMP_REASON_LINK_GONE,
				    0, NULL);
	if (!tramp_target_is_direct(target) && !tramp_ops_possible(slot))
		return tramp_refuse(why, TRAMP_REASON_SITE_HELD, target->func.site, NULL);
	/* It may sleep, and the one before it did not: another guard. */
	reason = tramp_text_unsafe_for(target->func.unsafe, !tramp_ops_possible(slot));
	if (reason)
		return tramp_refuse(why, reason, target->func.addr, "%s", target->name);
	err = tramp_members_check(&target->members, slot->prog, member->kind, target->func.addr,
				  why);
	if (err)
		return err;
	member->slot = slot;
	err = tramp_target_update(target, tramp_target_mode(target), old, why);
	if (err) {
		member->slot = old;
		return err;
	}
	tramp_slot_put(old);
	return 0;
}
