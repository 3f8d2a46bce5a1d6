// SPDX-License-Identifier: GPL-2.0
/*
 * Sites in mode DIRECT: NOP5 <-> near CALL, through ftrace's direct-call API in
 * its ops form.
 *
 * ftrace does the patching: text_poke_bp() under text_mutex (int3, tail, first
 * byte, each followed by a sync of all CPUs), and it knows who else is at the
 * function. With another ftrace user there the bytes call ftrace's own
 * entry code, which finds our image in its table of direct calls and jumps to it.
 *
 * Where calls may be:
 *  - attach: the image is complete and executable before its address is given
 *    to ftrace. A call that enters while the bytes change sees the NOP or the CALL.
 *  - switch: hits first go through ftrace's entry code, then the address changes in the table,
 *    then the bytes call the new image (group.c). So each hit takes the old image or the new one,
 *    but for those that ftrace takes for a recursion (docs/limits.md). The old one is retired
 *    (base/retire.c); until then it stays complete. modify_ftrace_direct() does the same. But as
 *    stable kernels have it, it goes through ftrace's records without ftrace_lock, and those of a
 *    module that goes may be freed meanwhile. So it is for kernels whose table we do not know.
 *  - detach: the bytes become a NOP. Tasks may still be on their way into the image
 *    or into ftrace's entry code with our ops in hand: both are retired.
 *
 * Unregistering an ops that lies in dynamic memory makes ftrace wait for two grace periods
 * with its lock held, some 140 ms each time, one after the other for all. It waits for the
 * sake of callers that free the ops right after. We do not: ops and image go through the
 * retire list, which waits for the same grace periods once for a whole batch. So the flag
 * that asks for the wait (DYNAMIC) is cleared first.
 *
 * The flag also says that ftrace may not call the ops' callback itself, without its list function,
 * while the ops is alone on the list. Somebody else's ops may go from the list after we have
 * cleared the flag and before we have ftrace_lock. A task may be preempted in ftrace's entry code
 * in front of the call, on the way from any function, with a pointer to another ops. Nothing waits
 * for it. It would call our callback for a function that is not ours. Another flag (RCU) forbids
 * the same, and is set with the same store: whoever has ftrace_lock sees one of them. With it the
 * list function leaves our ops out where RCU does not watch, for the moment until it is off.
 *
 * Without the wait a CPU may still be in ftrace's list function with our ops in hand, if there is
 * another ftrace user at the function. The kernel's unregister_ftrace_direct() relies on the wait
 * for two things. They must not happen while that CPU is there:
 *
 *  - it clears ops->func, which that CPU is about to call. So the ops is taken off
 *    by unregister_ftrace_function(), which leaves it whole until it retires.
 *  - it takes the function's entry out of ftrace's table of direct calls, which before 6.4
 *    that CPU is about to look up. So we take it out ourselves, before 6.4 after an expedited
 *    RCU grace period. The list function runs with preemption off, which RCU waits for. A CPU
 *    that enters it later does not find our ops on the list.
 *
 * It also frees the entry at once, and others may stand on it: they look for another function, in
 * the same bucket. Such are, before 6.4, hits of functions that a tracer shares, and somebody's
 * update of ftrace, which holds ftrace_lock and not the table's mutex (ours: update.c). So the
 * entries retire with the site.
 * Where the table is not as we know it (room.c) unregister_ftrace_direct() does it, as it does for
 * the kernel's own. It gets a stand-in for the ops, which is on no list: it cleans the table and
 * does nothing else. The kernel also frees at once what it has entered for a registration that
 * fails at the end, for lack of memory or beside a live patch.
 *
 * kernel.ftrace_enabled=0 would silently turn every site back into a NOP. An ops
 * marked permanent makes the kernel refuse that (as live patches do), so no
 * hit is lost behind our back. hold.c keeps ftrace on until it is marked.
 */
#include <linux/kallsyms.h>
#include <linux/module.h>
#include <linux/slab.h>
#include <asm/text-patching.h>
#include "base/cache.h"
#include "base/compat.h"
#include "base/ksyms.h"
#include "hold.h"
#include "internal.h"
#include "ipmodify.h"
#include "room.h"
#include "site.h"
#include "update.h"

unsigned long tramp_site_direct(unsigned long ip)
{
	unsigned long direct;

	/* Entries of the table are freed at once, under this mutex alone. */
	tramp_direct_lock();
	direct = KSYM(ftrace_find_rec_direct)(ip);
	tramp_direct_unlock();
	return direct;
}

/*
 * Ours while there are probes (probe/kprobe_veto.c), by an ops that changes the instruction
 * pointer: no direct call can be beside it. So there is none at other times either, which would
 * keep it off.
 */
static bool is_hooked(unsigned long ip)
{
	unsigned long func = tramp_ksyms.arch_prepare_optimized_kprobe;

	return func && ip == tramp_site_of(func);
}

static bool is_nop(unsigned long ip)
{
	static const u8 nop[] = { BYTES_NOP5 };
	u8 text[sizeof(nop)];

	tramp_peek(text, ip, sizeof(text));
	return !memcmp(text, nop, sizeof(text));
}

static bool is_call(unsigned long ip)
{
	u8 first;

	tramp_peek(&first, ip, sizeof(first));
	return first == CALL_INSN_OPCODE;
}

int tramp_site_check_bytes(unsigned long ip, struct tramp_refusal *why)
{
	struct mutex *text_mutex = (struct mutex *)tramp_ksyms.text_mutex;
	bool known;

	/* Without the mutex nobody can tell. */
	if (is_nop(ip) || is_call(ip) || !text_mutex)
		return 0;
	/* It is being written, by one who holds the mutex, or it is somebody else's. */
	mutex_lock(text_mutex);
	known = is_nop(ip) || is_call(ip);
	mutex_unlock(text_mutex);
	return known ? 0 : tramp_refuse(why, TRAMP_REASON_FOREIGN_BYTES, ip,
					"ftrace would shut down over them");
}

int tramp_site_check(unsigned long ip, struct tramp_refusal *why)
{
	char name[KSYM_SYMBOL_LEN];
	unsigned long holder;
	int err;

	if (is_hooked(ip))
		return tramp_refuse(why, TRAMP_REASON_SITE_HELD, ip,
				    "the trampoline module hooks it for its probes");
	if (!tramp_ftrace_is_on())
		return tramp_refuse(why, TRAMP_REASON_FTRACE_DISABLED, 0, NULL);
	err = tramp_site_check_bytes(ip, why);
	if (err)
		return err;
	holder = tramp_site_direct(ip);
	if (!holder)
		return 0;
	/* Where there is no symbol it would write the address, which not everybody may see. */
	sprint_symbol(name, holder);
	return tramp_refuse(why, TRAMP_REASON_SITE_HELD, holder, "%s",
			    strncmp(name, "0x", 2) ? name : "code without a symbol");
}

static int refuse_patched(unsigned long ip, struct tramp_refusal *why)
{
	return tramp_refuse(why, TRAMP_REASON_LIVEPATCHED, ip, "%ps", (void *)ip);
}

int tramp_site_error(int err, unsigned long ip, struct tramp_refusal *why)
{
	int held;

	switch (err) {
	case -ENOMEM:
		return tramp_refuse(why, TRAMP_REASON_NO_MEMORY, 0, NULL);
	case -ENODEV:
		return tramp_refuse(why, TRAMP_REASON_FTRACE_DISABLED, 0, NULL);
	case -EBUSY:
		held = ip ? tramp_site_check(ip, why) : 0;
		if (held)
			return held;
		/* The only other EBUSY: a user that changes the function's ip does not share it. */
		if (ip && tramp_ipmodify_among(&ip, 1))
			return refuse_patched(ip, why);
		return tramp_refuse(why, TRAMP_REASON_SITE_BUSY, ip,
				    "somebody holds it, or did a moment ago: try again");
	default:
		return tramp_refuse(why, TRAMP_REASON_SITE_BUSY, ip, "ftrace: error %d", err);
	}
}

static struct kmem_cache *cache;	/* of sites in mode DIRECT */

int tramp_site_init(void)
{
	cache = kmem_cache_create("tramp_site", sizeof(struct tramp_site), 0, 0, NULL);
	return cache ? 0 : -ENOMEM;
}

void tramp_site_exit(void)
{
	tramp_cache_exit(cache);
}

static struct tramp_site *alloc_many(unsigned long *ips, u32 nr, size_t size,
				     struct tramp_refusal *why)
{
	struct tramp_site *site = size == sizeof(*site) ? kmem_cache_zalloc(cache, GFP_KERNEL) :
							  kzalloc(size, GFP_KERNEL);
	int err;

	if (!site)
		return ERR_PTR(tramp_refuse(why, TRAMP_REASON_NO_MEMORY, 0, NULL));
	err = ftrace_set_filter_ips(&site->ops, ips, nr, 0, 0);
	if (err) {
		tramp_site_free(site);
		return ERR_PTR(tramp_site_error(err, ips[0], why));
	}
	return site;
}

struct tramp_site *tramp_site_alloc(unsigned long ip, size_t size, struct tramp_refusal *why)
{
	return alloc_many(&ip, 1, size, why);
}

void tramp_site_free(struct tramp_site *site)
{
	tramp_set_free(rcu_dereference_protected(site->set, true));
	tramp_direct_free(site->gone);
	ftrace_free_filter(&site->ops);
	kfree(site);	/* from whichever cache */
}

static void site_let_go(struct tramp_retire *r)
{
	struct tramp_site *site = container_of(r, struct tramp_site, retire);
	struct tramp_set *set = rcu_dereference_protected(site->set, true);

	if (set)
		tramp_set_put_slots(set);
}

static void site_retired(struct tramp_retire *r)
{
	tramp_site_free(container_of(r, struct tramp_site, retire));
}

void tramp_site_retire(struct tramp_site *site)
{
	static const struct tramp_retire_ops ops = { .let_go = site_let_go, .free = site_retired };

	tramp_retire_add(&site->retire, &ops);
}

bool tramp_site_calls(unsigned long ip, unsigned long code)
{
	u8 text[CALL_INSN_SIZE];
	s32 distance;

	/*
	 * Another tracer's call may be written here now. Ours cannot: that takes tramp_mutex. So
	 * no mix of bytes is our call, unless it is there.
	 */
	tramp_peek(text, ip, sizeof(text));
	memcpy(&distance, text + 1, sizeof(distance));
	return text[0] == CALL_INSN_OPCODE && ip + CALL_INSN_SIZE + distance == code;
}

/* Any of these functions, or sites. */
static bool any_calls(const unsigned long *funcs, u32 nr, unsigned long code)
{
	while (nr--) {
		if (tramp_site_calls(tramp_site_of(funcs[nr]), code))
			return true;
	}
	return false;
}

static int check_many(const unsigned long *ips, u32 nr, unsigned long *blamed,
		      struct tramp_refusal *why)
{
	int err = 0;
	u32 i;

	for (i = 0; !err && i < nr; i++) {
		err = tramp_site_check(ips[i], why);
		if (err == -EBUSY)
			*blamed = ips[i];
	}
	return err;
}

/*
 * ftrace refuses a direct call at a live-patched function, but late. Its ops is on the list for a
 * moment, so a hit may take our image, and with it the body that was patched. In 6.12 the ops also
 * loses its function, which a CPU may be about to call: ftrace would shut down. So its records are
 * asked first, but not about a site that nobody has patched, which spares the walk. A patch that
 * comes right now is left to ftrace.
 */
int tramp_site_check_patched(const unsigned long *ips, u32 nr, unsigned long *blamed,
			     struct tramp_refusal *why)
{
	u32 i;

	*blamed = 0;
	for (i = 0; i < nr && is_nop(ips[i]); i++)
		;
	if (i < nr)
		*blamed = tramp_ipmodify_among(ips, nr);
	return *blamed ? refuse_patched(*blamed, why) : 0;
}

int tramp_site_attach_many(unsigned long *ips, u32 nr, unsigned long code,
			   struct tramp_site **out, bool *entered, unsigned long *blamed,
			   struct tramp_refusal *why)
{
	struct tramp_site *site;
	int err;

	lockdep_assert_held(&tramp_mutex);
	*entered = false;
	*blamed = 0;
	err = check_many(ips, nr, blamed, why) ?:
	      tramp_site_check_patched(ips, nr, blamed, why) ?: tramp_ftrace_room(nr, why) ?:
	      tramp_ftrace_hold(why);
	if (err)
		return err;
	site = alloc_many(ips, nr, sizeof(*site), why);
	if (IS_ERR(site)) {
		tramp_ftrace_release();
		return PTR_ERR(site);
	}
	err = tramp_register_direct(&site->ops, code);
	site->ops.flags |= FTRACE_OPS_FL_PERMANENT;
	tramp_ftrace_release();
	/* If one calls it after all, it is attached and stays: detaching copes with that. */
	if (err && !any_calls(ips, nr, code)) {
		/* For a moment the ops may have been on ftrace's list: free nothing here. */
		if (err == -EBUSY)
			check_many(ips, nr, blamed, why);
		/* If the patch has gone by now, nobody knows whose it was. */
		if (err == -EBUSY && !*blamed)
			*blamed = nr == 1 ? ips[0] : tramp_ipmodify_among(ips, nr);
		err = tramp_site_error(err, err == -EBUSY ? *blamed : ips[0], why);
		tramp_site_retire(site);
		*entered = true;
		return err;
	}
	*out = site;
	return 0;
}

/*
 * So many functions, attached one by one, have an ops of their own. It goes without memory, and
 * nobody else's ops changes. Further ones share some, so that they can go together.
 */
#define ALONE	32
static u32 alone;	/* tramp_mutex */

int tramp_site_attach_alone(unsigned long ip, unsigned long code, struct tramp_site **out,
			    bool *entered, struct tramp_refusal *why)
{
	unsigned long blamed;
	int err = tramp_site_attach_many(&ip, 1, code, out, entered, &blamed, why);

	alone += !err;
	return err;
}

int tramp_site_attach(unsigned long ip, unsigned long code, struct tramp_site **out,
		      bool *entered, struct tramp_refusal *why)
{
	const struct tramp_site_call call = { .ip = ip, .code = code };
	int err;

	lockdep_assert_held(&tramp_mutex);
	if (alone < ALONE || !tramp_site_groups_possible())
		return tramp_site_attach_alone(ip, code, out, entered, why);
	*entered = false;
	err = tramp_site_check(ip, why);
	return err ?: tramp_site_attach_each(&call, 1, out, entered, why);
}

int tramp_site_switch(struct tramp_site *site, unsigned long ip, unsigned long code,
		      struct tramp_refusal *why)
{
	const struct tramp_site_call call = { .ip = ip, .code = code };
	int err;

	lockdep_assert_held(&tramp_mutex);
	if (tramp_site_is_group(site) || tramp_site_groups_possible())
		return tramp_site_switch_each(site, &call, 1, why);
	err = tramp_modify_direct(&site->ops, code);
	return err ? tramp_site_error(err, ip, why) : 0;
}

void tramp_site_forget(struct tramp_site *site, struct ftrace_ops_hash *hash, unsigned long flags,
		       unsigned long code)
{
	static struct ftrace_ops stand_in;	/* tramp_mutex */

	tramp_site_wait_lookups();
	if (tramp_direct_known()) {
		tramp_direct_remove_all(rcu_dereference_protected(hash->filter_hash, true), code,
					&site->gone);
		return;
	}
	memset(&stand_in, 0, sizeof(stand_in));
	stand_in.flags = flags & ~FTRACE_OPS_FL_DYNAMIC;
	stand_in.func = site->ops.func;
	stand_in.func_hash = hash;
	/* Says that it is on no list, which is so, and cleans the table. */
	tramp_unregister_direct(&stand_in, code);
}

int tramp_site_unregister(struct ftrace_ops *ops)
{
	unsigned long flags = ops->flags & ~FTRACE_OPS_FL_DYNAMIC;

	lockdep_assert_held(&tramp_mutex);
	/* Never neither: see the head comment. */
	WRITE_ONCE(ops->flags, flags | FTRACE_OPS_FL_RCU);
	return tramp_ftrace_unregister(ops);
}

bool tramp_site_detach_many(struct tramp_site *site, const unsigned long *funcs, u32 nr,
			    unsigned long code)
{
	unsigned long flags = site->ops.flags;
	int err;

	lockdep_assert_held(&tramp_mutex);
	if (tramp_site_mode(site) == TRAMP_MODE_DIRECT)
		err = tramp_site_unregister(&site->ops);
	else
		err = tramp_ftrace_unregister(&site->ops);
	if (!err && any_calls(funcs, nr, code))
		err = -ENODEV;
	if (err) {
		/*
		 * ftrace found something wrong with the kernel's text and will not
		 * touch it again. The site leads to our image for ever: keep
		 * everything, this module included.
		 */
		pr_err("ftrace has shut down (error %d): the attachment at %pS stays\n", err,
		       (void *)funcs[0]);
		__module_get(THIS_MODULE);
		return false;
	}
	if (tramp_site_mode(site) == TRAMP_MODE_DIRECT)
		tramp_site_forget(site, site->ops.func_hash, flags, code);
	tramp_site_retire(site);
	return true;
}

bool tramp_site_detach(struct tramp_site *site, unsigned long ip, unsigned long code)
{
	if (tramp_site_is_group(site))
		return tramp_site_detach_each(site, &ip, 1);
	alone -= tramp_site_mode(site) == TRAMP_MODE_DIRECT;
	return tramp_site_detach_many(site, &ip, 1, code);
}
