// SPDX-License-Identifier: GPL-2.0
/*
 * Requests for entry and exit images: may this one be fulfilled, and where are
 * the function's arguments?
 *
 * The calling convention is that of the System V AMD64 ABI without SSE, as far
 * as sizes determine it. Where they do not: struct tramp_x86_model in
 * fentry_image.h.
 */
#include "fentry_req.h"
#include "regs.h"
#include "ret.h"

u32 tramp_x86_model_slots(const struct tramp_x86_model *m, u8 *from, u32 *nr_stack)
{
	u32 i, j, slots = 0, regs = 0, stack = 0;

	for (i = 0; i < m->nr_args; i++) {
		/* beyond the array: too many in any case, count one each */
		u32 n = i < TRAMP_X86_MAX_ARGS ? (m->arg_size[i] + 7u) / 8 : 1;
		bool in_regs = regs + n <= TRAMP_X86_ARG_REGS;

		for (j = 0; j < n; j++, slots++) {
			if (from && slots < TRAMP_X86_MAX_SLOTS)
				from[slots] = in_regs ? regs + j : TRAMP_X86_STACK_SLOT + stack + j;
		}
		if (in_regs)
			regs += n;
		else
			stack += n;
	}
	if (nr_stack)
		*nr_stack = stack;
	return slots;
}

static enum tramp_x86_err check_model(const struct tramp_x86_model *m)
{
	u32 i;

	if (m->nr_args > TRAMP_X86_MAX_ARGS)
		return TRAMP_X86_TOO_MANY_SLOTS;
	if (m->ret_size > 8)
		return TRAMP_X86_BAD_MODEL;
	for (i = 0; i < m->nr_args; i++)
		if (m->arg_size[i] == 0 || m->arg_size[i] > 16)
			return TRAMP_X86_BAD_MODEL;
	if (tramp_x86_model_slots(m, NULL, NULL) > TRAMP_X86_MAX_SLOTS)
		return TRAMP_X86_TOO_MANY_SLOTS;
	return TRAMP_X86_OK;
}

/* A u64 at @off lies within the run_ctx. */
static bool run_ctx_has(const struct tramp_x86_env *env, u32 off)
{
	return off <= env->run_ctx_size && env->run_ctx_size - off >= 8;
}

/* Else a program found the context before in the place of its cookie. */
static bool saved_fits(const struct tramp_x86_env *env)
{
	u32 cookie = env->run_ctx_cookie, saved = env->run_ctx_saved;

	return run_ctx_has(env, saved) && (saved >= cookie + 8 || cookie >= saved + 8);
}

static bool check_call(const struct tramp_x86_env *env, const struct tramp_x86_call *c)
{
	bool guarded = c->flags & TRAMP_X86_CALL_GUARDED;

	if ((c->flags & ~(TRAMP_X86_CALL_ALL & ~TRAMP_X86_CALL_MULTI)) || !c->func)
		return false;
	if (guarded && (!c->enter || !c->exit))
		return false;
	if ((c->flags & TRAMP_X86_CALL_SLEEPABLE) && !guarded)
		return false;
	if (!guarded && !(c->flags & TRAMP_X86_CALL_COOKIE))
		return true;
	if (env->run_ctx_size > TRAMP_X86_MAX_RUN_CTX || env->run_ctx_size % 8 ||
	    !run_ctx_has(env, env->run_ctx_cookie))
		return false;
	/* with kernel policy enter() and exit() do the rest */
	return guarded || (saved_fits(env) && env->task_bpf_ctx <= 0x7fffffff);
}

static bool check_calls(const struct tramp_x86_env *env, const struct tramp_x86_call *c, u32 nr)
{
	u32 i;

	for (i = 0; i < nr; i++)
		if (!check_call(env, &c[i]))
			return false;
	return true;
}

bool tramp_x86_check_env(const struct tramp_x86_env *env)
{
	if (!env->missed || !env->rcu_read_lock != !env->rcu_read_unlock ||
	    !env->probe_enter != !env->probe_exit)
		return false;
	return !env->stats_key || (env->stats_enter && env->stats_exit);
}

/* Kprobe programs: each of many functions has a frame of its own. */
static bool check_regs(const struct tramp_x86_env *env, const struct tramp_x86_call *c, u32 nr,
		       u32 read)
{
	u32 i;

	if (!tramp_regs_check(env, c, 0, read, false))
		return false;
	for (i = 0; i < nr; i++)
		if (!tramp_regs_check(env, &c[i], 1, read, c[i].link))
			return false;
	return true;
}

/* They find their cookie in their run context. */
static bool check_sessions(const struct tramp_x86_fentry_req *req)
{
	u32 i;

	if (req->nr_session && (!req->env->has_session || !tasm_fits_s32((s64)req->orig)))
		return false;
	for (i = 0; i < req->nr_session; i++)
		if (!(req->session[i].flags & TRAMP_X86_CALL_MULTI) || !req->session[i].link)
			return false;
	return check_regs(req->env, req->session, req->nr_session, req->regs | req->ret_regs);
}

enum tramp_x86_err tramp_x86_check_fentry(const struct tramp_x86_fentry_req *req)
{
	const struct tramp_x86_env *env = req->env;
	u64 nr_model = (u64)req->nr_fentry + req->nr_fmod_ret + req->nr_fexit + req->nr_kret;
	u64 nr = nr_model + req->nr_kprobe + req->nr_session;

	if (req->many)
		return tramp_x86_check_env(env) && tramp_many_check(req) ? TRAMP_X86_OK :
									    TRAMP_X86_BAD_REQUEST;
	if (nr == 0 || nr > TRAMP_X86_MAX_PROGS ||
	    (nr_model + req->nr_session > req->nr_fentry && !req->orig))
		return TRAMP_X86_BAD_REQUEST;
	if (!check_regs(env, req->kprobe, req->nr_kprobe, req->regs) ||
	    !check_regs(env, req->kret, req->nr_kret, req->ret_regs) ||
	    !check_sessions(req) || !tasm_fits_s32((s64)(req->site + 1)))
		return TRAMP_X86_BAD_REQUEST;
	if (!tramp_x86_check_env(env) || (req->check_rcu && !env->rcu_watching) ||
	    !check_calls(env, req->fentry, req->nr_fentry) ||
	    !check_calls(env, req->fmod_ret, req->nr_fmod_ret) ||
	    !check_calls(env, req->fexit, req->nr_fexit))
		return TRAMP_X86_BAD_REQUEST;
	return nr_model ? check_model(req->model) : TRAMP_X86_OK;
}
