// SPDX-License-Identifier: GPL-2.0
/* Ends: setting one up, see ends.h. */
#include "ends.h"

#include <string.h>

#include "../lib/ktap.h"
#include "lint.h"

#define NEED_RESCHED_INVERTED	0x80000000u

/* A task and run contexts such as no kernel has them. */
#define TASK_BYTES	0x2008
#define TASK_BPF_CTX	0x1a38

#define SITES		(AREA_SITES + 0x10000)

void ends_init(struct ends *s, const char *name, struct rng *rng, bool many)
{
	static u8 task[TASK_BYTES];
	u32 i;

	machine_init();
	machine_percpu_reset();
	memset(s, 0, sizeof(*s));
	s->name = name;
	s->rng = rng;
	s->task = task;
	s->env = (struct tramp_x86_env){
		.task_bpf_ctx = TASK_BPF_CTX,
		.run_ctx_size = 24,
		.run_ctx_cookie = 8,
		.run_ctx_saved = 16,
		.trace_ctx_size = 24,
		.trace_ctx_cookie = 8,
		.multi_ctx_size = 48,
		.multi_ctx_is_return = 8,
		.multi_ctx_data = 24,
		.multi_ctx_link = 16,
		.has_session = true,
		.multi_ctx_ip = 40,
		.multi_cookie = machine_thunk(T_MULTI_COOKIE),
		.endbr = 0xfa1e0ff3,
		.endbr_poison = 0x001f0f66,
		.stats_key = (u64)machine_word(0),
		.stats_enter = machine_thunk(T_STATS_ENTER),
		.stats_exit = machine_thunk(T_STATS_EXIT),
		.resched = machine_thunk(T_RESCHED),
		.missed = machine_thunk(T_MISSED),
		.rcu_watching = machine_thunk(T_RCU_WATCHING),
		.no_regs = MACHINE_ZEROS,
		.cs = 0x10,
		.ss = 0x18,
	};
	s->preempt_count = machine_percpu(PERCPU_NEAR, 4, &s->env.preempt_count);
	s->current_task = machine_percpu(PERCPU_NEAR, 8, &s->env.current_task);
	s->inflight = machine_percpu(PERCPU_NEAR, 8, &s->req.inflight);
	s->call_depth = machine_percpu(PERCPU_NEAR, 8, &s->env.call_depth);
	s->thunk_count = machine_word(1);
	for (i = 0; i < HIT_MAX_WORDS; i++)
		s->word[i] = machine_percpu(PERCPU_NEAR, 4, &s->word_off[i]);
	s->req.env = &s->env;
	s->req.regs = s->req.ret_regs = TRAMP_X86_REGS_ALL;
	s->req.many = many;
	s->req.model = &s->model;
	s->model = (struct tramp_x86_model){ .nr_args = 6, .ret_size = 8 };
	memset(s->model.arg_size, 8, sizeof(s->model.arg_size));
	s->outer_ctx = rng_u64(rng);
	*s->preempt_count = NEED_RESCHED_INVERTED;
	*s->inflight = 0xffffffff;
}

void ends_scatter(struct ends *s)
{
	u32 i;

	REQUIRE(!s->nr, "programs have their variables already");
	s->preempt_count = machine_percpu(rng_below(s->rng, 3), 4, &s->env.preempt_count);
	s->current_task = machine_percpu(rng_below(s->rng, 3), 8, &s->env.current_task);
	s->inflight = machine_percpu(rng_below(s->rng, 3), 8, &s->req.inflight);
	s->call_depth = machine_percpu(rng_below(s->rng, 3), 8, &s->env.call_depth);
	for (i = 0; i < HIT_MAX_WORDS; i++)
		s->word[i] = machine_percpu(rng_below(s->rng, 3), 4, &s->word_off[i]);
	*s->preempt_count = NEED_RESCHED_INVERTED;
	*s->inflight = 0xffffffff;
}

struct tramp_x86_call *ends_prog_call(struct ends *s, const struct ends_prog *p)
{
	return &s->calls[p - s->progs];
}

struct ends_prog *ends_add(struct ends *s, enum ends_kind kind, u32 flags,
			   enum percpu_where where)
{
	u32 i = s->nr++;
	struct tramp_x86_call *c = &s->calls[i];
	struct ends_prog *p = &s->progs[i];
	struct tramp_x86_fentry_req *r = &s->req;
	struct {
		const struct tramp_x86_call **calls;
		u32 *nr;
	} of[] = {
		[ENDS_KPROBE] = { &r->kprobe, &r->nr_kprobe },
		[ENDS_FENTRY] = { &r->fentry, &r->nr_fentry },
		[ENDS_FMOD_RET] = { &r->fmod_ret, &r->nr_fmod_ret },
		[ENDS_FEXIT] = { &r->fexit, &r->nr_fexit },
		[ENDS_KRET] = { &r->kret, &r->nr_kret },
		[ENDS_SESSION] = { &r->session, &r->nr_session },
	};

	REQUIRE(i < TRAMP_X86_MAX_PROGS, "too many programs");
	REQUIRE(!i || p[-1].kind <= kind, "programs out of order");
	p->kind = kind;
	if (!(*of[kind].nr)++)
		*of[kind].calls = c;
	c->func = machine_thunk(T_PROG + i);
	c->flags = flags;
	c->prog = 0xffff888100000000 + i * 0x1000;
	c->missed_arg = 0xffff888200000000 + i * 0x40;
	c->cookie = 0x1000 + i;
	c->link = r->many || kind == ENDS_SESSION ? 0xffff888300000000 : 0;
	if (kind >= ENDS_FENTRY && kind <= ENDS_FEXIT)
		p->active = machine_percpu(where, 4, &c->active);
	else
		c->active = s->word_off[0];
	p->hits = machine_percpu(where, 8, &c->hits);
	return p;
}

/* Sessions, the last ones, have two entries. */
static u32 list_calls(const struct ends *s, struct tramp_x86_call *list)
{
	memcpy(list, s->calls, s->nr * sizeof(*list));
	memcpy(list + s->nr, s->calls + s->nr - s->req.nr_session,
	       s->req.nr_session * sizeof(*list));
	return s->nr + s->req.nr_session;
}

static bool lint(const struct ends *s)
{
	static struct tramp_x86_call list[2 * TRAMP_X86_MAX_PROGS];
	u32 i, nr = s->req.nr_fexit + s->req.nr_kret + s->req.nr_session;
	unsigned int failures = ktap_failures();
	struct lint l = {
		.code = s->image,
		.size = s->out.size,
		.env = &s->env,
		.calls = list,
		.nr = list_calls(s, list),
		.call_off = s->call_off,
		.orig = ends_is_exit(s) ? s->req.orig : 0,
		.counted = ends_is_exit(s),
		.inflight = s->req.inflight,
		.kprobes = true,
		.many = s->req.many,
		.shared = !s->req.many,
	};

	if (!lint_image(&l)) {
		lint_show(&l);
		return false;
	}
	CHECK(lint_starts(s->out.after_call), "after_call %u", s->out.after_call);
	CHECK_EQ(!s->out.after_call, !ends_is_exit(s), "after_call %u", s->out.after_call);
	for (i = 0; i < nr; i++) {
		CHECK(lint_starts(s->skip_off[i]) &&
		      !memcmp(s->image + s->skip_off[i], "\x0f\x1f\x44\0\0", 5),
		      "skip_off[%u] %u is not a NOP", i, s->skip_off[i]);
		CHECK(lint_starts(s->skip_to[i]) && s->skip_to[i] > s->skip_off[i] + 5,
		      "skip_to[%u] %u is not an instruction", i, s->skip_to[i]);
	}
	return ktap_failures() == failures;
}

bool ends_emit(struct ends *s)
{
	s->image = machine_area + AREA_IMAGES + s->image_off;
	s->out = (struct tramp_x86_fentry_out){
		.skip_off = s->skip_off, .skip_to = s->skip_to, .call_off = s->call_off,
	};
	memset(s->call_off, 0xee, sizeof(s->call_off));
	if (!s->req.many) {
		s->req.site = (u64)machine_area + SITES + 0x1000;
		s->req.orig = s->req.site + 5;
	}
	s->err = tramp_x86_emit_fentry(&s->req, s->image, MACHINE_ROOM, (u64)s->image,
				       &s->out);
	return CHECK_EQ(s->err, TRAMP_X86_OK, "emitting %s", s->name) && lint(s);
}

u64 ends_site(const struct ends *s, u32 nr, u32 page_off, enum ends_front front)
{
	static const u32 what[NR_FRONTS] = {
		0xcccccccc, 0xfa1e0ff3, 0xfb1e0ff3, 0x001f0f66, 0xfc1e0ff3,
	};
	u8 *site = machine_area + SITES + (nr + 1) * 0x1000 + page_off;

	memcpy(site - 4, &what[front], 4);
	machine_poke_call(site, (u64)s->image);
	machine_poke_jmp(site + 5, (const u8 *)machine_thunk(T_BODY));
	return (u64)site;
}
