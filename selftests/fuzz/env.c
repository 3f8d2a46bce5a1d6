// SPDX-License-Identifier: GPL-2.0
/*
 * Kernels and programs for requests, and which of them can be. See image.h.
 */
#include "image.h"

enum { SMALL_CTX = 1, NO_STATS = 2, RCU_LOCKS = 4, CALL_DEPTH = 8, SMAP = 16, FAR_PERCPU = 32,
       RETURN_THUNK = 64, PREEMPT = 128, INDIRECT_THUNKS = 256, NO_REGS = 512, ENDBR = 1024,
       NO_INDIRECT = 2048, NO_SESSION = 4096, NO_MULTI = 8192, FAR_HELPERS = 0xc000 };

struct tramp_x86_env fuzz_env(u64 addr, u16 kind)
{
	u64 percpu = kind & FAR_PERCPU ? 0x123456789000ULL : 0x31000;
	bool far_helpers = (kind & FAR_HELPERS) == FAR_HELPERS;
	u64 helpers = addr + (far_helpers ? 0x100000000ULL : 0x100000);

	struct tramp_x86_env env = {
		.preempt_count = percpu,
		.nmi_count = 0x110001,
		.current_task = percpu + 8,
		.task_bpf_ctx = 0xb38,
		.run_ctx_size = kind & SMALL_CTX ? 16 : 64,
		.run_ctx_cookie = 8,
		.run_ctx_saved = kind & SMALL_CTX ? 0 : 48,
		.trace_ctx_size = kind & SMALL_CTX ? 8 : 16,
		.trace_ctx_cookie = kind & SMALL_CTX ? 0 : 8,
		.stats_key = kind & NO_STATS ? 0 : helpers,
		.stats_enter = helpers + 0x100,
		.stats_exit = helpers + 0x200,
		.resched = kind & PREEMPT ? helpers + 0x300 : 0,
		.missed = helpers + 0x400,
		.rcu_read_lock = kind & RCU_LOCKS ? helpers + 0x500 : 0,
		.rcu_read_unlock = kind & RCU_LOCKS ? helpers + 0x600 : 0,
		.probe_enter = kind & RCU_LOCKS ? helpers + 0x800 : 0,
		.probe_exit = kind & RCU_LOCKS ? helpers + 0x900 : 0,
		.rcu_watching = helpers + 0xa00,
		.return_thunk = kind & RETURN_THUNK ? helpers + 0x700 : 0,
		.call_depth = percpu + 16,
		.no_regs = !(kind & NO_REGS) ? 0 :
			   kind & SMALL_CTX ? 0xffff888012345678ULL : 0xffffffff82345678ULL,
		.multi_cookie = helpers + 0xb00,
		.multi_ctx_size = kind & NO_MULTI ? 0 : kind & SMALL_CTX ? 32 : 48,
		.multi_ctx_is_return = kind & SMALL_CTX ? 0 : 8,
		.multi_ctx_data = kind & SMALL_CTX ? 8 : 16,
		.multi_ctx_link = kind & SMALL_CTX ? 16 : 32,
		.multi_ctx_ip = kind & SMALL_CTX ? 24 : 40,
		.endbr = kind & ENDBR ? 0xfa1e0ff3 : 0,
		.endbr_poison = kind & ENDBR ? 0x001f0f66 : 0,
		.has_session = !(kind & NO_SESSION),
		.no_indirect = kind & NO_INDIRECT,
		.has_call_depth = kind & CALL_DEPTH,
		.cs = kind & SMALL_CTX ? 0xe033 : 0x10,	/* as under Xen */
		.ss = kind & SMALL_CTX ? 0xe02b : 0x18,
		.smap = kind & SMAP,
		.has_indirect_thunks = kind & INDIRECT_THUNKS,
	};
	u32 reg;

	for (reg = 0; reg < 16; reg++)	/* none for rsp, and one more missing */
		env.indirect_thunk[reg] = reg == 4 || reg == 9 ? 0 : helpers + 0x1020 + 64 * reg;
	return env;
}

bool fuzz_helpers_far(const struct tramp_x86_env *env, u64 addr)
{
	return env->missed - addr >= 0x80000000ULL;
}

/* Its per-CPU variables, somewhere else. */
static void move_percpu(struct tramp_x86_env *env, u32 where)
{
	static const u64 at[] = {
		0, 0xffffffff82345000ULL, 0x7ffffff8, 0xffffffff80000000ULL - 8,
		0xffffffff80000000ULL, 0x80000000,
	};

	if (where && where < sizeof(at) / sizeof(*at)) {
		env->preempt_count = at[where];
		env->current_task = at[where] + 8;
		env->call_depth = at[where] + 16;
	} else if (where == 6) {	/* too far from each other for a signed number */
		env->call_depth += 0x90000000;
	} else if (where == 7) {
		env->current_task -= 0x90000000;
	}
}

void fuzz_break_env(struct tramp_x86_env *env, struct fuzz_input *in)
{
	u32 which = fuzz_take(in, 1), value;

	if (which < 0x80) {
		move_percpu(env, which & 7);
		return;
	}
	value = fuzz_take(in, 4);
	switch (which & 0x1f) {
	case 0: env->missed = 0; break;
	case 1: env->rcu_read_lock = 0; break;
	case 2: env->rcu_read_unlock = 0; break;
	case 3: env->probe_enter = 0; break;
	case 4: env->probe_exit = 0; break;
	case 5: env->stats_enter = 0; break;
	case 6: env->stats_exit = 0; break;
	case 7: env->rcu_watching = 0; break;
	case 8: env->multi_cookie = 0; break;
	case 9: env->nmi_count = (s32)value; break;
	case 10: env->task_bpf_ctx = value; break;
	case 11: env->run_ctx_size = value; break;
	case 12: env->run_ctx_cookie = value; break;
	case 13: env->run_ctx_saved = value; break;
	case 14: env->trace_ctx_size = value; break;
	case 15: env->trace_ctx_cookie = value; break;
	case 16: env->multi_ctx_size = value; break;
	case 17: env->multi_ctx_is_return = value; break;
	case 18: env->multi_ctx_data = value; break;
	case 19: env->multi_ctx_link = value; break;
	case 20: env->multi_ctx_ip = value; break;
	}
}

bool fuzz_env_fine(const struct tramp_x86_env *env)
{
	return env->missed && !env->rcu_read_lock == !env->rcu_read_unlock &&
	       !env->probe_enter == !env->probe_exit &&
	       (!env->stats_key || (env->stats_enter && env->stats_exit));
}

/* A u64 at @off, in a context of so many bytes. */
static bool word_in(u32 off, u32 size)
{
	return (u64)off + 8 <= size;
}

static bool size_fine(u32 size)
{
	return size % 8 == 0 && size <= TRAMP_X86_MAX_RUN_CTX;
}

/* It is a signed 32-bit displacement. */
static bool task_fine(const struct tramp_x86_env *env)
{
	return (s32)env->task_bpf_ctx >= 0;
}

bool fuzz_run_ctx_fine(const struct tramp_x86_env *env, bool guarded)
{
	if (!size_fine(env->run_ctx_size) || !word_in(env->run_ctx_cookie, env->run_ctx_size))
		return false;
	/* with kernel policy enter() and exit() do the rest */
	return guarded || (word_in(env->run_ctx_saved, env->run_ctx_size) && task_fine(env) &&
			   abs((int)(env->run_ctx_saved - env->run_ctx_cookie)) >= 8);
}

bool fuzz_trace_ctx_fine(const struct tramp_x86_env *env)
{
	return size_fine(env->trace_ctx_size) && task_fine(env) &&
	       word_in(env->trace_ctx_cookie, env->trace_ctx_size);
}

bool fuzz_multi_ctx_fine(const struct tramp_x86_env *env)
{
	u32 size = env->multi_ctx_size;

	if (!size || !size_fine(size) || !task_fine(env) || !word_in(env->multi_ctx_link, size) ||
	    !word_in(env->multi_ctx_ip, size))
		return false;
	/* a bool, behind which is padding up to the pointer */
	return !env->has_session || (word_in(env->multi_ctx_data, size) &&
				     (u64)env->multi_ctx_is_return + 8 <= env->multi_ctx_data);
}

struct tramp_x86_call fuzz_program(const struct tramp_x86_env *env, u64 addr, u32 nr, u32 flags,
				   u32 what)
{
	u64 base = env->preempt_count & ~0xfffffULL;
	bool raw = (what & FUZZ_PROG_RAW) == FUZZ_PROG_RAW;
	struct tramp_x86_call c = {
		.func = addr + 0x200000 + 0x1000 * nr,
		.insns = what & FUZZ_PROG_INSNS ? 0xffffc90000001000ULL : 0,
		.flags = flags,
		.prog = 0xffff888000000000ULL + nr,
		.missed_arg = 0xffff888000001000ULL + nr,
		.cookie = 0x1122334455667788ULL * nr,
		.link = what & FUZZ_PROG_LINK ? 0xffff888000002000ULL + nr : 0,
		.enter = addr + 0x180000,
		.exit = addr + 0x180100,
	};

	if (base && what & FUZZ_PROG_APART)
		base += (u64)(nr + 1) << 32;
	c.hits = base + 0x50000 + 8 * nr;
	c.active = what & FUZZ_PROG_SHARED ? 0x40000 : base + 0x40000 + 8 * (nr + 1);
	if (!raw && what & FUZZ_PROG_BELOW)
		c.func = addr - 0x200000 - 0x1000 * nr;
	if (!raw && what & FUZZ_PROG_COOKIE)
		c.cookie = nr & 1 ? 0xffffffff80000000ULL + nr : 0x7fffffff - nr;
	if (raw && (what & 7) == 5)
		c.func = 0;
	if (raw && (what & 7) == 6)
		c.enter = 0;
	if (raw && (what & 7) == 7)
		c.exit = 0;
	return c;
}
