// SPDX-License-Identifier: GPL-2.0
/*
 * The layout of structs that are private to kernel/trace/bpf_trace.c.
 *
 * A program that was loaded for kprobe.multi calls helpers which take current->bpf_ctx for a
 * struct bpf_kprobe_multi_run_ctx. They follow its link to a struct bpf_kprobe_multi_link. Our
 * images make the first in their frame, and multi.c makes as much of the second as the
 * helpers read. Headers have neither, so the kernel's own BTF says where each member is. If
 * anything is not as expected, nothing is guessed: such programs are refused.
 *
 * A session by map (prog/session.c) is a plain program, for which we read the run context
 * ourselves. So it may have any layout: the kernel's with more behind it, or one of our own.
 */
#include "base/btf_layout.h"
#include "base/tramp.h"
#include "funcs.h"
#include "layout.h"
#include "prog/runtime.h"

struct tramp_multi_layout tramp_multi_layout __ro_after_init;

static bool __init find_link(struct tramp_multi_layout *l)
{
	const struct tramp_btf_wanted wanted[] = {
		{ "addrs", sizeof(void *), &l->link_addrs },
		{ "cookies", sizeof(void *), &l->link_cookies },
		{ "cnt", sizeof(u32), &l->link_cnt },
	};

	return tramp_btf_layout("bpf_kprobe_multi_link", wanted, ARRAY_SIZE(wanted),
				&l->link_size);
}

/*
 * current->bpf_ctx points to the run context's first member. That is either a struct
 * bpf_run_ctx, which is empty, or (with sessions) a struct that begins with one.
 */
static bool __init find_run_ctx(struct tramp_x86_env *env)
{
	u32 session, session_size;
	const struct tramp_btf_wanted wanted[] = {
		{ "link", sizeof(void *), &env->multi_ctx_link },
		{ "entry_ip", sizeof(long), &env->multi_ctx_ip },
	};
	const struct tramp_btf_wanted more = { "session_ctx", sizeof(void *), &session };
	const struct tramp_btf_wanted in_session[] = {
		{ "is_return", sizeof(bool), &env->multi_ctx_is_return },
		{ "data", sizeof(void *), &env->multi_ctx_data },
	};
	u32 *size = &env->multi_ctx_size;

	if (!tramp_btf_layout("bpf_kprobe_multi_run_ctx", wanted, ARRAY_SIZE(wanted), size) ||
	    *size % 8 || *size > TRAMP_X86_MAX_RUN_CTX)
		return false;
	tramp_multi_layout.sessions =
		tramp_btf_layout("bpf_kprobe_multi_run_ctx", &more, 1, size) && !session &&
		tramp_btf_layout("bpf_session_run_ctx", in_session, ARRAY_SIZE(in_session),
				 &session_size);
	return true;
}

/* Where the kernel has no such members. */
static void __init add_our_own(struct tramp_x86_env *env)
{
	if (!tramp_multi_layout.known) {
		env->multi_ctx_link = 0;
		env->multi_ctx_ip = 8;
		env->multi_ctx_size = 16;
	}
	if (!tramp_multi_layout.sessions && env->multi_ctx_size + 16 <= TRAMP_X86_MAX_RUN_CTX) {
		env->multi_ctx_is_return = env->multi_ctx_size;
		env->multi_ctx_data = env->multi_ctx_size + 8;
		env->multi_ctx_size += 16;
		env->has_session = true;
	}
}

int __init tramp_multi_layout_init(void)
{
	tramp_env.multi_cookie = (unsigned long)tramp_funcs_cookie;
	tramp_multi_layout.known = find_link(&tramp_multi_layout) && find_run_ctx(&tramp_env);
	tramp_multi_layout.sessions &= tramp_multi_layout.known;
	tramp_env.has_session = tramp_multi_layout.sessions;
	add_our_own(&tramp_env);
	return 0;
}
