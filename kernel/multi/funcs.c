// SPDX-License-Identifier: GPL-2.0
/*
 * Checking the functions of an attachment of many, and keeping them.
 *
 * All of it runs before tramp_mutex is taken: with 40,000 functions it may take a second on a
 * slow machine. So what it finds can be out of date when the functions are attached to:
 *
 *  - A module that goes would take its functions along. So each module is held by a reference,
 *    as the kernel's own links of many functions hold theirs. One that is still coming is
 *    refused, and so is init text (base/peek.h has why).
 *  - Somebody else may take a function's site, or live-patch it. Then ftrace refuses all of them,
 *    and tramp_site_attach_many() says which one it was, and who has it. So it is with a function
 *    that we hold, if its programs leave no room meanwhile. If they go, it is attached to alone.
 */
#include <linux/ftrace.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/sort.h>
#include <linux/uaccess.h>
#include "base/ksyms.h"
#include "base/peek.h"
#include "base/sorted.h"
#include "ftrace/ipmodify.h"
#include "ftrace/site.h"
#include "func/gate.h"
#include "func/resolve.h"
#include "func/target.h"
#include "funcs.h"
#include "proto.h"
#include "text/idle.h"
#include "text/symbol.h"
#include "text/unsafe.h"

/* A million take a second to sort, or ten: at each 4,096th of @calls others get the CPU. */
static int compare(const void *a, const void *b, const void *calls)
{
	const struct tramp_func_item *x = a, *y = b;

	if (++*(u32 *)calls % 4096 == 0)
		cond_resched_tasks_rcu_qs();
	if (x->addr != y->addr)
		return x->addr < y->addr ? -1 : 1;
	/* Of two with one address the first in the request counts. */
	return x->index < y->index ? -1 : x->index > y->index;
}

/* Hold the module that @addr lies in, once for all its functions. */
static int hold_module(struct tramp_funcs *funcs, unsigned long addr, struct tramp_refusal *why)
{
	struct module **more, *mod;
	bool got = false, known = false, init;
	u32 i;

	more = krealloc_array(funcs->modules, funcs->nr_modules + 1, sizeof(*more), GFP_KERNEL);
	if (!more)
		return tramp_refuse(why, TRAMP_REASON_NO_MEMORY, 0, NULL);
	funcs->modules = more;

	/* As in func/resolve.c: it cannot be freed while preemption is off. */
	preempt_disable();
	mod = KSYM(__module_text_address)(addr);
	for (i = funcs->nr_modules; mod && !known && i-- > 0; )
		known = more[i] == mod;
	init = mod && !tramp_module_keeps(mod, addr);
	if (mod && !known && !init && mod != THIS_MODULE)
		got = tramp_module_get_live(mod);
	preempt_enable();

	if (mod == THIS_MODULE)
		return tramp_refuse(why, TRAMP_REASON_OWN_MODULE, addr, NULL);
	/* Text of BPF, say: it may be freed at any moment. */
	if (!mod)
		return tramp_refuse(why, TRAMP_REASON_NOT_TRACEABLE, addr, NULL);
	if (init)
		return tramp_refuse(why, TRAMP_REASON_INIT_TEXT, addr, NULL);
	if (!known && !got)
		return tramp_refuse(why, TRAMP_REASON_MODULE_GONE, addr, NULL);
	if (got)
		funcs->modules[funcs->nr_modules++] = mod;
	return 0;
}

/* A site that is held is as good as a free one if we hold it and the function may be shared. */
static int check_site(struct tramp_funcs *funcs, unsigned long addr, unsigned long site,
		      bool session, struct tramp_refusal *why)
{
	struct tramp_refusal held = {}, full = {};
	int err = tramp_site_check(site, &held), join;

	if (held.reason == TRAMP_REASON_SITE_HELD && funcs->nr_shared < TRAMP_GATE_MAX) {
		mutex_lock(&tramp_mutex);
		join = tramp_target_check_join(addr, funcs->request, session, &full);
		mutex_unlock(&tramp_mutex);
		funcs->nr_shared += !join;
		if (!join || full.reason) {
			held = full;
			err = join;
		}
	}
	if (err && why)
		*why = held;
	return err;
}

static int check(struct tramp_funcs *funcs, unsigned long addr,
		 const struct tramp_funcs_req *req, const struct tramp_ipmodify *patched,
		 struct tramp_refusal *why)
{
	unsigned long site, offset;
	char name[KSYM_NAME_LEN];
	u32 before, unsafe;
	int err;

	if (!KSYM(kernel_text_address)(addr) || !tramp_text_name(addr, name, &offset) || offset)
		return tramp_refuse(why, TRAMP_REASON_NO_SUCH_FUNCTION, addr, NULL);
	if (!KSYM(core_kernel_text)(addr)) {
		err = hold_module(funcs, addr, why);
		if (err)
			return err;
	}
	site = tramp_site_of(addr);
	if (KSYM(ftrace_location)(site) != site)
		return tramp_refuse(why, TRAMP_REASON_NOT_TRACEABLE, addr, "%s", name);
	/* The image looks for an ENDBR in front of the site (x86/regs.c). */
	if (copy_from_kernel_nofault(&before, (void *)site - 4, sizeof(before)))
		return tramp_refuse(why, TRAMP_REASON_NOT_TRACEABLE, addr,
				    "%s begins where the text does", name);
	if (tramp_text_idle(addr, name))
		return tramp_refuse(why, TRAMP_REASON_RCU_IDLE, addr, "%s", name);
	unsafe = tramp_text_unsafe(name, !KSYM(core_kernel_text)(addr));
	unsafe = tramp_text_unsafe_for(unsafe, false);
	if (unsafe)
		return tramp_refuse(why, unsafe, addr, "%s", name);
	if (req->returns && tramp_func_noreturn(name))
		return tramp_refuse(why, TRAMP_REASON_NORETURN, addr, "%s", name);
	err = check_site(funcs, addr, site, req->session, why);
	if (!err && tramp_ipmodify_has(patched, site))
		err = tramp_refuse(why, TRAMP_REASON_LIVEPATCHED, addr, "%s", name);
	return err;
}

/* Note why an item is left out, or that it fails the request. */
static int leave_out(struct tramp_funcs_req *req, struct tramp_func_item *item, int err,
		     const struct tramp_refusal *one, struct tramp_refusal *why)
{
	bool all = one->reason == TRAMP_REASON_NO_MEMORY ||
		   one->reason == TRAMP_REASON_FTRACE_DISABLED;

	item->reason = one->reason;
	if (req->skip && !all)
		return 0;
	req->failed = item->index;
	if (why && !why->reason)
		*why = *one;
	return err;
}

static int check_each(struct tramp_funcs_req *req, struct tramp_funcs *funcs,
		      const struct tramp_ipmodify *patched, struct tramp_refusal *why)
{
	struct tramp_refusal one;
	u32 i, kept = U32_MAX;
	int err;

	for (i = 0; i < req->nr; i++) {
		struct tramp_func_item *item = &req->items[i];

		if (i % 256 == 0) {
			if (signal_pending(current))
				return -ERESTARTNOHAND;
			cond_resched_tasks_rcu_qs();
		}
		memset(&one, 0, sizeof(one));
		if (item->reason)
			err = tramp_refuse(&one, item->reason, 0, "%s", req->names[item->index]);
		else if (i && req->items[i - 1].addr == item->addr)
			err = tramp_refuse(&one, TRAMP_REASON_ALREADY_ATTACHED, item->addr,
					   "named twice");
		else
			err = check(funcs, item->addr, req, patched, &one);
		if (err)
			err = leave_out(req, item, err, &one, why);
		else
			kept = i;
		if (err)
			return err;
	}
	return kept == U32_MAX ? tramp_refuse(why, TRAMP_REASON_SYNTAX, 0,
					      "no function is left to attach to") : 0;
}

static int check_all(struct tramp_funcs_req *req, struct tramp_funcs *funcs,
		     struct tramp_refusal *why)
{
	struct tramp_ipmodify patched;
	int err = tramp_ipmodify_find(&patched);

	err = err ? tramp_refuse(why, TRAMP_REASON_NO_MEMORY, 0, NULL) :
		    check_each(req, funcs, &patched, why);
	tramp_ipmodify_free(&patched);
	return err;
}

/* Leave out what an exit image is not right for, or leave that to a rethook. */
static int check_protos(struct tramp_funcs_req *req, struct tramp_refusal *why)
{
	struct tramp_refusal one;
	int err = tramp_protos_check(req->items, req->nr, why);
	u32 i;

	for (i = 0; !err && i < req->nr; i++) {
		struct tramp_func_item *item = &req->items[i];

		if (item->reason < TRAMP_PROTO_REASON || req->hooks)
			continue;
		memset(&one, 0, sizeof(one));
		err = tramp_refuse(&one, item->reason - TRAMP_PROTO_REASON, item->addr,
				   "%pS", (void *)(unsigned long)item->addr);
		err = leave_out(req, item, err, &one, why);
	}
	return err;
}

/* Of two with one address the second is attached to as little as the first. */
static void follow_first(struct tramp_funcs_req *req)
{
	struct tramp_func_item *item = req->items, *end = item + req->nr;

	for (item++; item < end; item++) {
		const struct tramp_func_item *first = item - 1;

		if (item->addr == first->addr && item->reason == TRAMP_REASON_ALREADY_ATTACHED &&
		    first->reason && first->reason < TRAMP_PROTO_REASON)
			item->reason = first->reason;
	}
}

/* All of those with no reason against them, or those that a rethook is for. */
static bool is_one(const struct tramp_func_item *item, bool hooked)
{
	return hooked ? item->reason >= TRAMP_PROTO_REASON : !item->reason;
}

static int keep(const struct tramp_funcs_req *req, struct tramp_funcs *funcs, bool hooked,
		struct tramp_refusal *why)
{
	u32 i, nr = 0;

	for (i = 0; i < req->nr; i++)
		nr += is_one(&req->items[i], hooked);
	if (!nr)
		return 0;
	funcs->addrs = kvmalloc_array(nr, sizeof(*funcs->addrs), GFP_KERNEL);
	if (req->cookies)
		funcs->cookies = kvmalloc_array(nr, sizeof(*funcs->cookies), GFP_KERNEL);
	if (!funcs->addrs || (req->cookies && !funcs->cookies))
		return tramp_refuse(why, TRAMP_REASON_NO_MEMORY, 0, NULL);
	for (i = 0; i < req->nr; i++) {
		if (!is_one(&req->items[i], hooked))
			continue;
		funcs->addrs[funcs->nr] = req->items[i].addr;
		if (req->cookies)
			funcs->cookies[funcs->nr] = req->items[i].cookie;
		funcs->nr++;
	}
	return 0;
}

/* Modules were held for their functions to be looked at. Those without one that is kept may go. */
static void put_unused_modules(struct tramp_funcs *funcs)
{
	unsigned long start, end;
	u32 i, k;

	for (i = funcs->nr_modules; i-- > 0; ) {
		tramp_module_text(funcs->modules[i], &start, &end);
		k = tramp_first_from(funcs->addrs, funcs->nr, start);
		if (k < funcs->nr && funcs->addrs[k] < end)
			continue;
		module_put(funcs->modules[i]);
		funcs->modules[i] = funcs->modules[--funcs->nr_modules];
	}
}

/* They have images of their own, which hold their modules as long as those are there. */
static int hold_modules(struct tramp_funcs *funcs, struct tramp_refusal *why)
{
	int err = 0;
	u32 i;

	for (i = 0; !err && i < funcs->nr; i++) {
		if (!KSYM(core_kernel_text)(funcs->addrs[i]))
			err = hold_module(funcs, funcs->addrs[i], why);
	}
	return err;
}

/* Of those that a rethook is for nobody is to hear anything. */
static int keep_hooked(struct tramp_funcs_req *req, struct tramp_funcs *hooked,
		       struct tramp_refusal *why)
{
	u32 i;
	int err;

	err = keep(req, hooked, true, why) ?: hold_modules(hooked, why);
	for (i = 0; i < req->nr; i++) {
		if (is_one(&req->items[i], true))
			req->items[i].reason = 0;
	}
	return err;
}

int tramp_funcs_create(struct tramp_funcs_req *req, struct tramp_funcs *funcs,
		       struct tramp_funcs *hooked, struct tramp_refusal *why)
{
	u32 calls = 0;
	int err;

	memset(funcs, 0, sizeof(*funcs));
	memset(hooked, 0, sizeof(*hooked));
	funcs->request = tramp_gate_new_request();
	req->failed = req->nr;
	sort_r(req->items, req->nr, sizeof(*req->items), compare, NULL, &calls);
	err = check_all(req, funcs, why);
	if (!err && req->returns)
		err = check_protos(req, why);
	if (!err) {
		follow_first(req);
		err = keep(req, funcs, false, why) ?: keep_hooked(req, hooked, why);
	}
	if (!err)
		put_unused_modules(funcs);
	if (!err && !funcs->nr && !hooked->nr)
		err = tramp_refuse(why, TRAMP_REASON_SYNTAX, 0,
				   "no function is left to attach to");
	if (err) {
		tramp_funcs_free(funcs);
		tramp_funcs_free(hooked);
	}
	return err;
}

void tramp_funcs_put_modules(struct tramp_funcs *funcs)
{
	while (funcs->nr_modules)
		module_put(funcs->modules[--funcs->nr_modules]);
}

void tramp_funcs_free(struct tramp_funcs *funcs)
{
	tramp_funcs_put_modules(funcs);
	kfree(funcs->modules);
	kvfree(funcs->cookies);
	kvfree(funcs->addrs);
	memset(funcs, 0, sizeof(*funcs));
}

notrace u64 tramp_funcs_cookie(const struct tramp_funcs *funcs, unsigned long addr)
{
	u32 low = 0, high = funcs->nr, mid;

	while (funcs->cookies && low < high) {
		mid = low + (high - low) / 2;
		if (funcs->addrs[mid] == addr)
			return funcs->cookies[mid];
		if (funcs->addrs[mid] < addr)
			low = mid + 1;
		else
			high = mid;
	}
	return 0;
}
