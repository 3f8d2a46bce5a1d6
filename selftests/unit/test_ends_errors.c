// SPDX-License-Identifier: GPL-2.0
/*
 * Requests with return programs, and for images of many functions, that are refused, and how
 * that is done. Nothing is executed here, so addresses are those of a kernel.
 */
#include <string.h>

#include "../../kernel/x86/detour_image.h"
#include "emission.h"

#define NR	TRAMP_X86_MAX_PROGS

static struct tramp_x86_fentry_req req;
static struct tramp_x86_fentry_out out;
static struct tramp_x86_model model;
static u32 skip_off[NR], skip_to[NR], call_off[2 * NR];

static enum tramp_x86_err emit_ends(u8 *to, size_t len, u64 addr)
{
	return tramp_x86_emit_fentry(&req, to, len, addr, &out);
}

static const struct emission ends = { .emit = emit_ends, .size = &out.size };

static void good(void)
{
	u32 i;

	emission_begin(&ends);
	for (i = 0; i <= NR; i++)
		calls[i].active = NEAR_PERCPU + 0x1000;
	env.multi_ctx_size = 32;
	env.multi_ctx_data = 8;
	env.multi_ctx_link = 16;
	env.multi_ctx_ip = 24;
	env.has_session = true;
	env.multi_cookie = KERNEL + 0x6000;
	env.rcu_watching = KERNEL + 0x8000;
	env.endbr = 0xfa1e0ff3;
	env.endbr_poison = 0x001f0f66;
	model = (struct tramp_x86_model){ .nr_args = 1, .arg_size = { 8 }, .ret_size = 8 };
	out = (struct tramp_x86_fentry_out){
		.skip_off = skip_off, .skip_to = skip_to, .call_off = call_off,
	};
}

/* One return program in an image of the function's own. */
static void good_own(void)
{
	good();
	req = (struct tramp_x86_fentry_req){
		.env = &env, .model = &model, .site = KERNEL + 0x200000,
		.orig = KERNEL + 0x200005, .inflight = NEAR_PERCPU + 0x40, .kret = calls,
		.nr_kret = 1, .ret_regs = TRAMP_X86_REGS_ALL,
	};
}

/* Three programs in an image of many functions, at the entry or at the return. */
static void good_many(u32 flags)
{
	u32 i;

	good();
	for (i = 0; i < 3; i++) {
		calls[i].flags = flags;
		calls[i].link = 0xffff888000000000;
	}
	req = (struct tramp_x86_fentry_req){
		.env = &env, .many = true, .inflight = NEAR_PERCPU + 0x40, .kprobe = calls,
		.nr_kprobe = 3, .regs = TRAMP_X86_REGS_ALL, .ret_regs = TRAMP_X86_REGS_ALL,
	};
}

static void good_entry(void)
{
	good_many(TRAMP_X86_CALL_COOKIE | TRAMP_X86_CALL_MULTI);
}

static void good_plain(void)
{
	good_many(TRAMP_X86_CALL_COOKIE);
}

static void good_return(void)
{
	good_many(TRAMP_X86_CALL_COOKIE | TRAMP_X86_CALL_MULTI);
	req.kret = calls;
	req.nr_kret = 3;
	req.nr_kprobe = 0;
}

static void good_session(void)
{
	good_many(TRAMP_X86_CALL_MULTI);
	req.session = calls;
	req.nr_session = 1;
	req.nr_kprobe = 0;
}

#define BAD(make, what, change)							\
	do {									\
		make();								\
		CHECK_EQ(emit(IMAGE), TRAMP_X86_OK, "good");			\
		change;								\
		EXPECT(BAD_REQUEST, "%s", what);				\
	} while (0)

/* A return program and a session that are attached to many functions, in such an image. */
static void good_shared(void)
{
	u32 i;

	good_own();
	for (i = 0; i < 2; i++) {
		calls[i].flags = TRAMP_X86_CALL_MULTI;
		calls[i].link = 0x1000;
	}
	req.session = calls + 1;
	req.nr_session = 1;
}

static void bad_shared(void)
{
	BAD(good_shared, "no original", req.orig = 0);
	BAD(good_shared, "an original that no push has", req.orig = 0x80000000);
	BAD(good_shared, "no function", calls[1].func = 0);
	BAD(good_shared, "not of many", calls[0].link = 0);
	BAD(good_shared, "a session not of many", calls[1].link = 0);
	BAD(good_shared, "a plain session", calls[1].flags = TRAMP_X86_CALL_COOKIE);
	BAD(good_shared, "a kernel without", env.has_session = false);
	BAD(good_shared, "too many in all", req.nr_session = NR);
	BAD(good_shared, "is_return where data is", env.multi_ctx_is_return = 8);
	BAD(good_shared, "members that are none", req.regs = 1 << 21);
}

static void bad_own(void)
{
	BAD(good_own, "no original", req.orig = 0);
	BAD(good_own, "no program", req.nr_kret = 0);
	BAD(good_own, "too many", req.nr_kret = NR + 1);
	BAD(good_own, "too many in all", (req.nr_kret = NR, req.kprobe = calls, req.nr_kprobe = 1));
	BAD(good_own, "no function", calls[0].func = 0);
	BAD(good_own, "members that are none", req.ret_regs = 1 << 21);
	BAD(good_own, "kernel policy", calls[0].flags = TRAMP_X86_CALL_GUARDED);
	BAD(good_own, "kprobe.multi", calls[0].flags = TRAMP_X86_CALL_MULTI);
	BAD(good_own, "session", (req.session = calls, req.nr_session = 1));
	BAD(good_own, "no missed", env.missed = 0);
	BAD(good_own, "RCU", (req.check_rcu = true, env.rcu_watching = 0));
	BAD(good_own, "run context", (calls[0].flags = TRAMP_X86_CALL_IP, env.trace_ctx_size = 4));
	good_own();
	req.fentry = calls + 1;
	req.nr_fentry = 1;
	calls[1].flags = TRAMP_X86_CALL_MULTI;
	EXPECT(BAD_REQUEST, "a tracing program of kprobe.multi");
}

static void bad_many(void)
{
	BAD(good_entry, "fentry", (req.fentry = calls, req.nr_fentry = 1, req.model = &model));
	BAD(good_entry, "fmod_ret", (req.fmod_ret = calls, req.nr_fmod_ret = 1,
				     req.model = &model));
	BAD(good_entry, "fexit", (req.fexit = calls, req.nr_fexit = 1, req.model = &model));
	BAD(good_entry, "both", (req.kret = calls, req.nr_kret = 1));
	BAD(good_entry, "entry and session", (req.session = calls, req.nr_session = 1));
	BAD(good_return, "return and session", (req.session = calls, req.nr_session = 1));
	BAD(good_entry, "no programs", req.nr_kprobe = 0);
	BAD(good_entry, "65 programs", req.nr_kprobe = NR + 1);
	BAD(good_entry, "2^32 - 1 programs", req.nr_kprobe = ~0u);
	BAD(good_entry, "2^32 programs", (req.nr_kprobe = ~0u, req.kret = calls, req.nr_kret = 1));
	BAD(good_entry, "and a session", (req.nr_kprobe = ~0u, req.kret = calls, req.nr_kret = 1,
					  req.session = calls, req.nr_session = 1));
	BAD(good_session, "two sessions", req.nr_session = 2);
	BAD(good_session, "a plain session", calls[0].flags = TRAMP_X86_CALL_COOKIE);
	BAD(good_session, "a kernel without", env.has_session = false);
	BAD(good_entry, "no function", calls[2].func = 0);
	BAD(good_entry, "members that are none", req.regs = 1 << 21);
	BAD(good_return, "members that are none", req.ret_regs = 1U << 31);
	BAD(good_session, "members that are none", req.regs = 1 << 21);
	BAD(good_session, "members that are none", req.ret_regs = 1 << 21);
	BAD(good_entry, "kernel policy", calls[2].flags |= TRAMP_X86_CALL_GUARDED);
	BAD(good_return, "kernel policy", calls[2].flags |= TRAMP_X86_CALL_GUARDED);
	BAD(good_entry, "unknown flag", calls[2].flags |= 1 << 7);
	BAD(good_entry, "another link", calls[2].link++);
	BAD(good_entry, "another kind of program", calls[2].flags ^= TRAMP_X86_CALL_MULTI);
	BAD(good_plain, "no cookies", env.multi_cookie = 0);
	BAD(good_plain, "trace context", env.trace_ctx_cookie = 100);
	BAD(good_entry, "context of 0", env.multi_ctx_size = 0);
	BAD(good_entry, "context of 72", env.multi_ctx_size = 72);
	BAD(good_entry, "context of 2^32 - 8", env.multi_ctx_size = 0xfffffff8);
	BAD(good_entry, "context of 31", env.multi_ctx_size = 31);
	BAD(good_entry, "link behind it", env.multi_ctx_link = 25);
	BAD(good_entry, "entry_ip behind it", env.multi_ctx_ip = 0xfffffff8);
	BAD(good_session, "is_return where data is", env.multi_ctx_is_return = 8);
	BAD(good_session, "data behind it", env.multi_ctx_data = 0xfffffff8);
	BAD(good_session, "task", env.task_bpf_ctx = 0x80000000);
	BAD(good_session, "no missed", env.missed = 0);
}

/* A number that wraps around is not in front of anything. */
static void wraps_around(void)
{
	u32 off;

	for (off = 0xfffffff8; off; off++)
		BAD(good_session, "is_return", env.multi_ctx_is_return = off);
}

/* Whether a single function is idle does not matter: nothing is asked for it. */
static void many_are_not_idle(void)
{
	void (*const make[])(void) = { good_plain, good_entry, good_return, good_session };
	static u8 before[0x4000], after[0x4000];
	u32 i;

	for (i = 0; i < sizeof(make) / sizeof(make[0]); i++) {
		make[i]();
		CHECK_EQ(emit_ends(before, sizeof(before), IMAGE), TRAMP_X86_OK, "good");
		req.check_rcu = true;
		env.rcu_watching = 0;
		CHECK_EQ(emit_ends(after, sizeof(after), IMAGE), TRAMP_X86_OK, "idle");
		CHECK(!memcmp(before, after, sizeof(before)), "another image");
	}
}

/* Things that the programs do not need may be absent. */
static void not_needed(void)
{
	good_plain();
	calls[0].flags = calls[1].flags = calls[2].flags = 0;
	env.multi_ctx_size = env.trace_ctx_size = 0;
	env.multi_cookie = 0;
	EXPECT(OK, "no contexts");
	good_entry();
	env.has_session = false;
	env.multi_ctx_data = env.multi_ctx_is_return = ~0u;
	EXPECT(OK, "no sessions");
	good_return();
	req.orig = req.site = 0;
	req.model = NULL;
	EXPECT(OK, "no function");
	out.skip_off = out.skip_to = out.call_off = NULL;
	EXPECT(OK, "no offsets wanted");
}

static void no_space(void)
{
	u32 i;

	good_own();
	emission_lengths();
	for (i = 0; i < 2; i++) {
		good_plain();
		emission_lengths();
		good_return();
		env.no_indirect = i;
		emission_lengths();
		good_session();
		env.no_indirect = i;
		emission_lengths();
	}
}

static void reachable(void)
{
	env.return_thunk = KERNEL + 0xb000;
	env.rcu_read_lock = KERNEL + 0xc000;
	env.rcu_read_unlock = KERNEL + 0xd000;
}

static void reachable_plain(void)
{
	good_plain();
	reachable();
}

static void reachable_return(void)
{
	good_return();
	reachable();
	env.no_indirect = true;
}

static void out_of_reach(void)
{
	u64 *const targets[] = {
		&env.stats_key, &env.stats_enter, &env.stats_exit, &env.missed, &env.resched,
		&env.return_thunk, &env.rcu_read_lock, &env.rcu_read_unlock, &calls[0].func,
		&calls[1].func, &calls[2].func, &env.multi_cookie,
	};
	u64 *const own[] = { &env.missed, &calls[0].func, &req.orig };
	const u32 nr = sizeof(targets) / sizeof(targets[0]);

	emission_reach(reachable_plain, targets, nr);
	emission_reach(reachable_return, targets, nr - 1);
	emission_reach(good_own, own, sizeof(own) / sizeof(own[0]));
}

/* As many programs as there can be, with all that can stand around each. */
static void most_programs(bool far)
{
	u32 i;

	good();
	env.trace_ctx_size = env.multi_ctx_size = TRAMP_X86_MAX_RUN_CTX;
	env.multi_ctx_data = 32;
	env.task_bpf_ctx = 0x7fffffff;
	env.return_thunk = KERNEL + 0xb000;
	env.rcu_read_lock = KERNEL + 0xc000;
	env.rcu_read_unlock = KERNEL + 0xd000;
	env.has_call_depth = env.no_indirect = true;
	if (far) {
		/* no two of them within reach of each other */
		env.preempt_count = 0x100000000000;
		env.current_task = 0x200000000000;
		env.call_depth = 0x300000000000;
	}
	for (i = 0; i < NR; i++) {
		calls[i].flags = TRAMP_X86_CALL_COOKIE | TRAMP_X86_CALL_IP | TRAMP_X86_CALL_MULTI;
		calls[i].link = 0xffff888000000001;
		calls[i].insns = 0xffffc90000012345;
		calls[i].cookie = 0x123456789abcdef;
		if (!far)
			continue;
		calls[i].active = FAR_PERCPU + ((u64)i << 33);
		calls[i].hits = 0x500000000000 + ((u64)i << 33);
	}
	req = (struct tramp_x86_fentry_req){
		.env = &env, .model = &model, .site = KERNEL + 0x200000, .check_rcu = true,
		.orig = KERNEL + 0x200005, .inflight = far ? FAR_PERCPU : NEAR_PERCPU + 0x40,
		.kprobe = calls, .kret = calls, .session = calls,
	};
}

/* The bound holds whatever is asked for, and is not far from what can be. */
static void largest_image(void)
{
	u32 *const nr[] = { &req.nr_kprobe, &req.nr_kret, &req.nr_session };
	/* all members; those with the most gaps between what is saved; none */
	static const u32 reads[] = { TRAMP_X86_REGS_ALL, 0xbd755, 0x1b3ab5, 0x1a5156, 0 };
	static u8 area[TRAMP_X86_MAX_IMAGE];
	u32 kind, far, i, largest = 0;

	for (kind = 0; kind < 3; kind++)
		for (far = 0; far < 2; far++)
			for (i = 0; i < sizeof(reads) / sizeof(reads[0]); i++) {
				most_programs(far);
				*nr[kind] = NR;
				req.regs = req.ret_regs = reads[i];
				out.call_off = NULL;
				CHECK_EQ(emit_ends(area, sizeof(area), IMAGE), TRAMP_X86_OK,
					 "kind %u, far %u, %#x: %u bytes", kind, far, reads[i],
					 out.size);
				if (out.size > largest)
					largest = out.size;
			}
	ktap_note("64 programs: %u bytes at most; the bound is %u", largest, TRAMP_X86_MAX_IMAGE);
	CHECK(largest > TRAMP_X86_MAX_IMAGE / 2, "the bound is too generous: %u bytes", largest);
}

static const struct ktap_test tests[] = {
	KTAP_TEST(bad_own),
	KTAP_TEST(bad_shared),
	KTAP_TEST(bad_many),
	KTAP_TEST(wraps_around),
	KTAP_TEST(many_are_not_idle),
	KTAP_TEST(not_needed),
	KTAP_TEST(no_space),
	KTAP_TEST(out_of_reach),
	KTAP_TEST(largest_image),
};
KTAP_MAIN(tests)
