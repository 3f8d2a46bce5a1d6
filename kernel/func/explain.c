// SPDX-License-Identifier: GPL-2.0
/*
 * EXPLAIN for a function: asks the functions that ATTACH asks (resolve.c,
 * tramp_target_check()), and attaches nothing.
 */
#include "explain.h"
#include "gate.h"
#include "prog/runtime.h"
#include "target.h"

/* Without the function there is nothing to explain. */
static bool is_no_function(enum tramp_reason reason)
{
	return reason == TRAMP_REASON_NO_SUCH_FUNCTION || reason == TRAMP_REASON_NO_BTF ||
	       reason == TRAMP_REASON_MODULE_GONE || reason == TRAMP_REASON_MISSING_SYMBOL;
}

/* Live patches do not matter in mode ops. */
static int check(const struct tramp_func *func, enum tramp_list list, bool sleeps,
		 enum tramp_mode *mode, struct tramp_refusal *why)
{
	unsigned long blamed;
	int err;

	err = tramp_target_check(func, tramp_target_find(func->addr, func->key), list, sleeps, 0,
				 mode, why);
	if (!err && *mode == TRAMP_MODE_DIRECT)
		err = tramp_site_check_patched(&func->site, 1, &blamed, why);
	return err;
}

int tramp_func_check_return(const struct tramp_func *func, struct tramp_refusal *why)
{
	enum tramp_mode mode;

	lockdep_assert_held(&tramp_mutex);
	return check(func, TRAMP_LIST_FEXIT, false, &mode, why);
}

static void explain_programs(struct tramp_explain *ex, const struct tramp_func *func)
{
	struct tramp_refusal entry = {}, exit = {};
	enum tramp_mode mode = TRAMP_MODE_NONE, exit_mode;
	const struct tramp_target *target;
	/* For a program that does not sleep; on PREEMPT_RT all may. */
	bool sleeps = !tramp_inline_guards();
	int err;

	mutex_lock(&tramp_mutex);
	target = tramp_target_find(func->addr, func->key);
	/* A program of many functions is in a target only where others are. */
	/* Without a site its text may have gone: that of the kernel's __init. */
	ex->nr_progs = func->site && tramp_gate_runs(func->addr);
	if (target)
		ex->nr_progs += tramp_target_nr(target);
	err = check(func, TRAMP_LIST_FENTRY, sleeps, &mode, &entry);
	ex->fentry_reason = err ? entry.reason : 0;
	ex->mode = err ? TRAMP_MODE_NONE : mode;
	err = check(func, TRAMP_LIST_FEXIT, sleeps, &exit_mode, &exit);
	ex->fexit_reason = err ? exit.reason : 0;
	mutex_unlock(&tramp_mutex);

	if (!ex->fentry_reason)
		ex->can |= TRAMP_CAN_FENTRY;
	if (!ex->fexit_reason)
		ex->can |= TRAMP_CAN_FEXIT;
	/* Somebody else has the site. */
	if (entry.reason == TRAMP_REASON_SITE_HELD)
		strscpy(ex->holder, entry.detail, sizeof(ex->holder));
}

int tramp_func_explain(struct tramp_explain *ex, bool show, unsigned long *addr,
		       struct tramp_refusal *why)
{
	struct tramp_func func;
	int err;

	if (ex->btf_obj_id)
		err = tramp_resolve_btf(ex->btf_obj_id, ex->btf_id, &func, why);
	else
		err = tramp_resolve_name(ex->name, ex->module, &func, why);
	if (err && is_no_function(why->reason))
		return err;
	if (err) {
		/* The function is there, and this is why nothing can be attached. */
		ex->fentry_reason = why->reason;
		ex->fexit_reason = why->reason;
	} else {
		explain_programs(ex, &func);
	}
	ex->btf_obj_id = tramp_func_btf_obj(&func.facts);
	ex->btf_id = tramp_func_btf_type(&func.facts);
	ex->key = func.key;
	strscpy(ex->name, func.name, sizeof(ex->name));
	strscpy(ex->module, func.module_name, sizeof(ex->module));
	ex->nr_args = func.model.nr_args;
	ex->nr_slots = tramp_x86_model_slots(&func.model, NULL, NULL);
	ex->ret_size = func.model.ret_size;
	*addr = func.addr;
	if (show) {
		ex->func_addr = func.addr;
		ex->site_addr = func.site;
	}
	tramp_func_put(&func);
	return 0;
}
