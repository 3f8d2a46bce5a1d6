// SPDX-License-Identifier: GPL-2.0
/*
 * The EXPLAIN and EXPLAIN_CODE commands. The code that decides at ATTACH answers them.
 */
#include "func/explain.h"
#include "internal.h"
#include "probe/probe.h"

static int check(const struct tramp_explain *ex, struct tramp_refusal *why)
{
	int err;

	if (ex->flags)
		return tramp_refuse(why, TRAMP_REASON_SYNTAX, 0, "unknown flags %#x", ex->flags);
	if (!!ex->btf_obj_id != !!ex->btf_id)
		return tramp_refuse(why, TRAMP_REASON_SYNTAX, 0,
				    "btf_obj_id and btf_id go together");
	err = tramp_check_name(ex->name, sizeof(ex->name), why) ?:
	      tramp_check_name(ex->module, sizeof(ex->module), why);
	if (!err && !ex->btf_obj_id && !*ex->name)
		err = tramp_refuse(why, TRAMP_REASON_SYNTAX, 0, "no name given");
	return err;
}

long tramp_run_explain(union tramp_arg *arg, const struct tramp_user *user)
{
	struct tramp_explain *ex = &arg->explain;
	int err;

	ex->can = 0;
	err = check(ex, user->why) ?: tramp_func_explain(ex, tramp_caller_sees(), user->why);
	return tramp_reply(user, arg, err);
}

long tramp_run_explain_code(union tramp_arg *arg, const struct tramp_user *user)
{
	return tramp_reply(user, arg, tramp_probe_explain(&arg->code, tramp_caller_sees()));
}
