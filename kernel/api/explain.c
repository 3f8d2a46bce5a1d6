// SPDX-License-Identifier: GPL-2.0
/*
 * The EXPLAIN and EXPLAIN_CODE commands. The code that decides at ATTACH answers them.
 */
#include "func/explain.h"
#include "internal.h"
#include "probe/place.h"
#include "probe/probe.h"
#include "ret/ret.h"

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
	struct tramp_probe_at at = { .symbol = ex->name };
	bool by_name = !ex->btf_obj_id;
	char module[TRAMP_MOD_LEN];
	unsigned long addr;
	int err;

	ex->can = 0;
	err = check(ex, user->why);
	if (!err) {
		/* It becomes that of the function found. */
		at.module = memcpy(module, ex->module, sizeof(module));
		err = tramp_func_explain(ex, tramp_caller_sees(), &addr, user->why);
	}
	if (!err) {
		at.addr = by_name ? 0 : addr;
		ex->ret_reason = tramp_ret_explain(&at, &ex->ret_mode);
	}
	return tramp_reply(user, arg, err);
}

long tramp_run_explain_code(union tramp_arg *arg, const struct tramp_user *user)
{
	return tramp_reply(user, arg, tramp_probe_explain(&arg->code, tramp_caller_sees()));
}
