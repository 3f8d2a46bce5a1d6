// SPDX-License-Identifier: GPL-2.0
/*
 * Calls of functions that have images, and what is held against the oracle.
 */
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>

#include "call.h"
#include "text.h"

#define CALLS_AT_A_TIME	32
#define MAX_DEPTH	2	/* calls in one another, each of another function */

atomic_ulong call_slept, call_moved, call_rescheds;

static struct native_cpu *cpus[CALL_CPUS];
static atomic_bool taken[CALL_CPUS];
static u32 nr_cpus;

/*
 * A runner's counters are on all the CPUs that it was on. Of those it has left, @carried has the
 * sum, less what was there when it came.
 */
struct view {
	u64 ran[CALL_IDS], hits[CALL_IDS], ips[CALL_IDS];
};

struct caller {
	struct view carried;
	u32 cpu;
	u32 depth;
};

static struct caller callers[NATIVE_RUNNERS];

void call_cpus_begin(void)
{
	u32 i;

	nr_cpus = native.threads + 2;
	for (i = 0; i < nr_cpus; i++) {
		if (!cpus[i])
			cpus[i] = aligned_alloc(64, sizeof(*cpus[i]));
		if (!cpus[i])
			native_die("no memory");
		native_cpu_init(cpus[i]);
		atomic_store(&taken[i], i < native.threads);
	}
	memset(callers, 0, sizeof(callers));
	for (i = 0; i < native.threads; i++) {
		callers[i].cpu = i;
		runners[i].cpu = cpus[i];
		runners[i].arg = &callers[i];
	}
}

u64 call_inflight(u32 nr)
{
	u64 sum = 0;
	u32 i;

	for (i = 0; i < nr_cpus; i++)
		sum += *(volatile u64 *)&cpus[i]->inflight[nr];
	return sum;
}

static void carry(struct view *v, const struct native_cpu *cpu, bool away)
{
	u64 sign = away ? 1 : -1ULL;
	u32 id;

	for (id = 0; id < CALL_IDS; id++) {
		v->ran[id] += sign * cpu->ran[id];
		v->hits[id] += sign * cpu->hits[id];
		v->ips[id] += sign * cpu->ips[id];
	}
}

/* No task leaves a CPU with a recursion counter up: nobody would lower it there. */
static void check_released(const struct native_cpu *cpu)
{
	u32 id;

	if (cpu->active)
		native_fail("a CPU is left with the common recursion counter at %u", cpu->active);
	for (id = 0; id < CALL_IDS; id++)
		if (cpu->own_active[id])
			native_fail("a CPU is left with the recursion counter of program %u at %u",
				    id, cpu->own_active[id]);
}

/* Go on on another CPU, if one is free. */
static void move(struct runner *r)
{
	struct caller *c = r->arg;
	u32 from = c->cpu, to = rng_below(&r->rng, nr_cpus);

	if (atomic_exchange(&taken[to], true))
		return;
	check_released(cpus[from]);
	carry(&c->carried, cpus[from], true);
	carry(&c->carried, cpus[to], false);
	c->cpu = to;
	r->cpu = cpus[to];
	native_set_cpu(r->cpu);
	atomic_store(&taken[from], false);
	atomic_fetch_add(&call_moved, 1);
}

/* Sleep where tasks may: this is no preemption. */
static void sleep_inside(struct runner *r)
{
	u32 how = rng_below(&r->rng, 3000);

	if (how > 100)
		return;
	atomic_fetch_add(&call_slept, 1);
	atomic_store(&r->asleep, true);
	native_sleep_us(how < 2 ? rng_below(&r->rng, 20000) : how < 20 ? 100 : 0);
	if (rng_chance(&r->rng, 50))
		move(r);
	atomic_store(&r->asleep, false);
	/* A grace period that began while it slept, or before, has seen it go. */
	runner_end_pass(r);
}

static u64 result_of(u64 a, u64 b, u64 c, u32 nr)
{
	return (a ^ b << 7) * 0x9e3779b97f4a7c15ULL + (c ^ nr);
}

static void call_one(struct runner *r, u32 nr);

u64 call_body(u64 a, u64 b, u64 c, u32 nr)
{
	struct runner *r = runner_self();
	struct caller *caller = r->arg;

	sleep_inside(r);
	if (caller->depth < MAX_DEPTH && rng_chance(&r->rng, 5)) {
		call_one(r, (nr + 1) % FUNCS);
		sleep_inside(r);
	}
	return result_of(a, b, c, nr);
}

void call_tick(struct runner *r)
{
	(void)r;
	/* One instruction, on the CPU that %gs leads to. */
	asm volatile("andl	$0x7fffffff, %%gs:0" : : : "memory", "cc");
}

/* Preemption: it may go on elsewhere, but it is no end of a pass. */
void call_resched(void)
{
	struct runner *r = runner_self();

	_Static_assert(offsetof(struct native_cpu, preempt_count) == 0, "%gs:0");
	asm volatile("orl	$0x80000000, %%gs:0" : : : "memory", "cc");
	atomic_fetch_add(&call_rescheds, 1);
	runner_preempt(r, rng_chance(&r->rng, 5));
	if (rng_chance(&r->rng, 50))
		move(r);
}

/* The sum over all CPUs, for one number. */
struct counts {
	u64 ran, hits, ips;
};

static struct counts counts_of(const struct runner *r, u32 id)
{
	const struct caller *c = r->arg;

	return (struct counts){
		.ran = c->carried.ran[id] + r->cpu->ran[id],
		.hits = c->carried.hits[id] + r->cpu->hits[id],
		.ips = c->carried.ips[id] + r->cpu->ips[id],
	};
}

/* The value that a program of that kind finds in its context and adds to its sum. */
static u64 found(const struct call_member *m, u64 a, u64 result)
{
	switch (m->kind) {
	case CALL_KPROBE:
		return m->func->addr + 1;
	case CALL_FENTRY:
	case CALL_FMOD_RET:
		return a;
	case CALL_SESSION:
		return 0;
	default:
		return result;
	}
}

static void check_member(struct runner *r, struct call_member *m, const struct counts *before,
			 u32 promise, u64 add)
{
	static const char *const kinds[] = {
		"kprobe", "fentry", "fmod_ret", "fexit", "kret", "session",
	};
	struct counts after = counts_of(r, m->id);
	u32 now = atomic_load(&m->promise);
	u64 ran = after.ran - before->ran, counted = after.hits - before->hits;
	bool exact = promise_holds(promise, now);
	u64 times = m->kind == CALL_SESSION ? 2 : 1;

	if (exact)
		r->counts.exact++;
	else
		r->counts.loose++;
	r->counts.runs += ran;
	if (exact ? ran != PROMISE_NR(now) * times : ran > times)
		native_fail("%s program %u of function %u ran %lu times; promised %#x before and %#x after",
			    kinds[m->kind], m->id, m->func->nr, ran, promise, now);
	/* One that is muted is counted and does not run. */
	if (counted < ran || counted > times || (exact && PROMISE_NR(now) && counted != ran) ||
	    after.ips - before->ips != ran * add)
		native_fail("%s program %u of function %u ran %lu times, counted %lu times, with %#lx in place of %#lx",
			    kinds[m->kind], m->id, m->func->nr, ran, counted,
			    after.ips - before->ips, ran * add);
	if (r->cpu->own_active[m->id])
		native_fail("%s program %u of function %u has left its recursion counter at %u",
			    kinds[m->kind], m->id, m->func->nr, r->cpu->own_active[m->id]);
}

static void check_call(struct runner *r, const struct func *func, const struct native_call *call)
{
	static const u8 kept[] = { RBX, RBP, R12, R13, R14, R15 };
	const struct native_cpu *cpu = r->cpu;
	u64 result = result_of(call->in[RDI], call->in[RSI], call->in[RDX], func->nr);
	u32 i;

	if (call->out[RAX] != result)
		native_fail("function %u returned %#lx in place of %#lx", func->nr, call->out[RAX],
			    result);
	for (i = 0; i < sizeof(kept); i++)
		if (call->out[kept[i]] != call->in[kept[i]])
			native_fail("function %u has changed register %u", func->nr, kept[i]);
	if ((cpu->preempt_count | PREEMPT_NONE) != PREEMPT_NONE || cpu->active || cpu->missed ||
	    cpu->task[1] != ~0ULL)
		native_fail("function %u: preempt_count %#x, recursion counter %u, %lu missed, current->bpf_ctx %#lx",
			    func->nr, cpu->preempt_count, cpu->active, cpu->missed, cpu->task[1]);
}

static void call_one(struct runner *r, u32 nr)
{
	struct func *func = &funcs[nr];
	struct caller *c = r->arg;
	struct counts before[NR_CALL_KINDS][CALL_MEMBERS];
	u32 promise[NR_CALL_KINDS][CALL_MEMBERS], kind, i;
	struct native_call call;
	u64 loose;

	for (i = 0; i < NR_REGS; i++)
		call.in[i] = rng_u64(&r->rng);
	call.in_flags = 0x202;
	call.target = func->addr;
	for (kind = 0; kind < NR_CALL_KINDS; kind++) {
		for (i = 0; i < CALL_MEMBERS; i++) {
			before[kind][i] = counts_of(r, func->member[kind][i].id);
			promise[kind][i] = atomic_load(&func->member[kind][i].promise);
		}
	}
	c->depth++;
	native_enter(&call);
	c->depth--;
	loose = r->counts.loose;
	check_call(r, func, &call);
	for (kind = 0; kind < NR_CALL_KINDS; kind++)
		for (i = 0; i < CALL_MEMBERS; i++)
			check_member(r, &func->member[kind][i], &before[kind][i], promise[kind][i],
				     found(&func->member[kind][i], call.in[RDI], call.out[RAX]));
	r->counts.overlapped += r->counts.loose != loose;
	r->counts.passes++;
}

void call_some(struct runner *r)
{
	u32 nr = rng_below(&r->rng, FUNCS), i;

	for (i = 0; i < CALLS_AT_A_TIME && !atomic_load(&runners_stop); i++) {
		call_one(r, nr);
		runner_end_pass(r);
	}
}
