// SPDX-License-Identifier: GPL-2.0
/*
 * Scenes: setting one up, see scene.h.
 */
#include "scene.h"

#include <stdlib.h>
#include <string.h>

#include "../../kernel/x86/detour_image.h"
#include "../lib/ktap.h"

#define NEED_RESCHED_INVERTED	0x80000000u

/* A task, and a bpf_tramp_run_ctx, such as no kernel has them. */
#define TASK_BYTES	0x2008
#define TASK_BPF_CTX	0x1a38
#define RUN_CTX_SIZE	24
#define RUN_CTX_COOKIE	8
#define RUN_CTX_SAVED	16
/* And a bpf_trace_run_ctx. */
#define TRACE_CTX_SIZE	32
#define TRACE_CTX_COOKIE 16

static void set_variables(struct scene *s, const enum percpu_where *where)
{
	machine_percpu_reset();
	s->preempt_count = machine_percpu(where[0], 4, &s->env.preempt_count);
	s->current_task = machine_percpu(where[1], 8, &s->env.current_task);
	s->inflight = machine_percpu(where[2], 8, &s->req.inflight);
	s->call_depth = machine_percpu(where[3], 8, &s->env.call_depth);
}

void scene_init(struct scene *s, const char *name, struct rng *rng)
{
	static u8 task[TASK_BYTES];
	static struct expect log[SCENE_MAX_EVENTS];
	static const enum percpu_where near[4];
	u32 i;

	machine_init();
	memset(s, 0, sizeof(*s));
	s->name = name;
	s->task = task;
	s->log = log;
	s->thunk_count = machine_word(1);
	s->env = (struct tramp_x86_env){
		.task_bpf_ctx = TASK_BPF_CTX,
		.run_ctx_size = RUN_CTX_SIZE,
		.run_ctx_cookie = RUN_CTX_COOKIE,
		.run_ctx_saved = RUN_CTX_SAVED,
		.stats_key = (u64)machine_word(0),
		.stats_enter = machine_thunk(T_STATS_ENTER),
		.stats_exit = machine_thunk(T_STATS_EXIT),
		.resched = machine_thunk(T_RESCHED),
		.missed = machine_thunk(T_MISSED),
		.rcu_watching = machine_thunk(T_RCU_WATCHING),
	};
	set_variables(s, near);
	s->req.env = &s->env;
	s->req.model = &s->model;
	s->req.func_addr = 0xffffffff81234560;
	s->req.fentry = s->req.fmod_ret = s->req.fexit = s->calls;
	s->preempt_start = NEED_RESCHED_INVERTED;
	s->orig_result = rng_u64(rng);
	s->outer_ctx = rng_u64(rng);
	s->flags = rng_u64(rng) & (0x8d5 | FLAG_ID);
	for (i = 0; i < NR_REGS; i++)
		s->regs[i] = rng_u64(rng);
	scene_fill_slots(s, rng);
}

void scene_scatter(struct scene *s, struct rng *rng)
{
	enum percpu_where where[4];
	u32 i;

	for (i = 0; i < 4; i++)
		where[i] = rng_below(rng, 3);
	set_variables(s, where);
}

void scene_fill_slots(struct scene *s, struct rng *rng)
{
	u32 i;

	for (i = 0; i < TRAMP_X86_MAX_SLOTS; i++)
		s->slot[i] = rng_u64(rng);
}

struct scene_prog *scene_add(struct scene *s, enum scene_kind kind, u32 flags,
			     enum percpu_where where)
{
	u32 i = s->nr++;
	struct tramp_x86_call *c = &s->calls[i];
	struct scene_prog *p = &s->progs[i];

	REQUIRE(i < SCENE_MAX_PROGS, "too many programs");
	REQUIRE(i == 0 || s->progs[i - 1].kind == SCENE_KPROBE ||
		(kind != SCENE_KPROBE && s->progs[i - 1].kind <= kind),
		"programs in the wrong order");
	c->func = machine_thunk(T_PROG + i);
	c->enter = machine_thunk(T_ENTER + i);
	c->exit = machine_thunk(T_EXIT + i);
	c->flags = flags;
	c->prog = 0xffff888100000000 + i * 0x1000;
	c->missed_arg = 0xffff888200000000 + i * 0x40;
	c->cookie = 0x1000 + i;
	p->kind = kind;
	p->start = 1;
	if (kind == SCENE_KPROBE) {
		p->active = s->active;
		c->active = s->active_off;
	} else {
		p->active = machine_percpu(where, 4, &c->active);
	}
	p->hits = machine_percpu(where, 8, &c->hits);

	switch (kind) {
	case SCENE_FENTRY:
		s->req.nr_fentry++;
		s->req.fmod_ret++;
		s->req.fexit++;
		break;
	case SCENE_FMOD_RET:
		s->req.nr_fmod_ret++;
		s->req.fexit++;
		break;
	case SCENE_FEXIT:
		s->req.nr_fexit++;
		break;
	case SCENE_KPROBE:
		s->req.nr_kprobe++;
		s->req.fentry++;
		s->req.fmod_ret++;
		s->req.fexit++;
	}
	return p;
}

/* All other requests are without these, as before there were kprobe programs. */
static void first_kprobe(struct scene *s)
{
	s->env.trace_ctx_size = TRACE_CTX_SIZE;
	s->env.trace_ctx_cookie = TRACE_CTX_COOKIE;
	s->env.no_regs = MACHINE_ZEROS;
	s->env.cs = 0x10;
	s->env.ss = 0x18;
	s->active = machine_percpu(PERCPU_NEAR, 4, &s->active_off);
	s->req.kprobe = s->calls;
	s->req.regs = TRAMP_X86_REGS_ALL;
}

struct scene_prog *scene_add_kprobe(struct scene *s, u32 flags, enum percpu_where where)
{
	if (!s->req.nr_kprobe)
		first_kprobe(s);
	return scene_add(s, SCENE_KPROBE, flags, where);
}

struct tramp_x86_call *scene_call(struct scene *s, const struct scene_prog *p)
{
	return &s->calls[p - s->progs];
}


void scene_model(struct scene *s, const char *sizes, u32 ret_size)
{
	char *end;

	s->model = (struct tramp_x86_model){ .ret_size = ret_size };
	while (*sizes) {
		REQUIRE(s->model.nr_args < TRAMP_X86_MAX_ARGS, "too many arguments");
		s->model.arg_size[s->model.nr_args++] = strtoul(sizes, &end, 10);
		sizes = end + strspn(end, " ");
	}
}

void scene_simple(struct scene *s, const char *name, struct rng *rng, const char *sizes,
		  u32 nr_fentry, u32 nr_fmod_ret, u32 nr_fexit)
{
	scene_init(s, name, rng);
	scene_model(s, sizes, 8);
	while (nr_fentry--)
		scene_add(s, SCENE_FENTRY, INLINE, PERCPU_NEAR);
	while (nr_fmod_ret--)
		scene_add(s, SCENE_FMOD_RET, INLINE, PERCPU_NEAR);
	while (nr_fexit--)
		scene_add(s, SCENE_FEXIT, INLINE, PERCPU_NEAR);
}
