// SPDX-License-Identifier: GPL-2.0
/*
 * One pass through a scene, and what is held against the oracle; the int3 handler of probes.
 */
#define _GNU_SOURCE
#include <stdio.h>
#include <string.h>
#include <ucontext.h>

#include "probe.h"
#include "text.h"

#define PASSES_AT_A_TIME	32

atomic_uint pass_focus;

static u64 by_scene[NATIVE_RUNNERS][SCENES];

/* A runner's knowledge of a scene before it goes through it. */
struct before {
	u32 sum[SCENE_INSNS];
	u32 prog[SCENE_INSNS][PROBE_PROGS];
	u64 hits[SCENE_INSNS][PROBE_PROGS];
	u64 ran[SCENE_INSNS][PROBE_PROGS];
	u64 ips[SCENE_INSNS][PROBE_PROGS];
};

static void note_before(const struct native_cpu *cpu, struct scene *s, struct before *b)
{
	u32 i, n;

	for (i = 0; i < s->nr_insns; i++) {
		struct probe *p = &probes[s->nr][i];

		for (n = 0; n < PROBE_PROGS; n++) {
			b->hits[i][n] = cpu->hits[p->counter + n];
			b->ran[i][n] = cpu->ran[p->counter + n];
			b->ips[i][n] = cpu->ips[p->counter + n];
			b->prog[i][n] = atomic_load(&p->prog[n]);
		}
		b->sum[i] = atomic_load(&p->sum);
	}
}

/* A count that a promise was made about. Return: whether it is right. */
static bool right(struct runner *r, u32 before, u32 after, u64 count, u32 times, u32 most)
{
	if (promise_holds(before, after)) {
		r->counts.exact++;
		return count == (u64)PROMISE_NR(before) * times;
	}
	r->counts.loose++;
	return count <= (u64)most * times;
}

static void wrong(const struct probe *p, const char *what, u32 before, u32 after, u64 count,
		  u32 times)
{
	native_fail("instruction %u (%s, %u bytes) of scene %u at %#lx: %s counted %lu times, executed %u times; promised %#x before and %#x after",
		    p->insn, scene_form_name(p->scene->insn[p->insn].form), p->insn_len,
		    p->scene->nr, p->addr, what, count, times, before, after);
}

static void check_probe(struct runner *r, struct probe *p, const struct before *b, u32 times)
{
	const struct native_cpu *cpu = r->cpu;
	u64 count, ran, ips, sum = 0;
	u32 n, after;

	for (n = 0; n < PROBE_PROGS; n++) {
		count = cpu->hits[p->counter + n] - b->hits[p->insn][n];
		ran = cpu->ran[p->counter + n] - b->ran[p->insn][n];
		ips = cpu->ips[p->counter + n] - b->ips[p->insn][n];
		after = atomic_load(&p->prog[n]);
		if (!right(r, b->prog[p->insn][n], after, count, times, 1))
			wrong(p, n ? "program 1" : "program 0", b->prog[p->insn][n], after, count,
			      times);
		if (ran != count || ips != count * (p->addr + 1))
			native_fail("instruction %u of scene %u: counted %lu times, ran %lu times with a sum of ip %#lx",
				    p->insn, p->scene->nr, count, ran, ips);
		sum += count;
	}
	r->counts.runs += sum;
	after = atomic_load(&p->sum);
	if (!right(r, b->sum[p->insn], after, sum, times, PROBE_PROGS))
		wrong(p, "all programs together", b->sum[p->insn], after, sum, times);
}

static void check_machine(const struct native_cpu *cpu, const struct scene *s)
{
	if (cpu->preempt_count != PREEMPT_NONE || cpu->active || cpu->missed)
		native_fail("scene %u: preempt_count %#x, recursion counter %u, %lu missed", s->nr,
			    cpu->preempt_count, cpu->active, cpu->missed);
	if (cpu->task[1] != ~0ULL)
		native_fail("scene %u: current->bpf_ctx is %#lx", s->nr, cpu->task[1]);
}

static void check_result(const struct native_cpu *cpu, const struct scene *s,
			 const struct scene_input *in, const struct native_call *call)
{
	u32 i;

	if ((call->out_flags ^ in->call.out_flags) & FLAGS_KEPT)
		native_fail("scene %u: flags %#lx in place of %#lx", s->nr, call->out_flags,
			    in->call.out_flags);
	if (!memcmp(call->out, in->call.out, sizeof(call->out)) &&
	    !memcmp(cpu->data, in->data_out, sizeof(in->data_out)))
		return;
	for (i = 0; i < NR_REGS; i++)
		if (call->out[i] != in->call.out[i])
			native_fail("scene %u: register %u is %#lx in place of %#lx", s->nr, i,
				    call->out[i], in->call.out[i]);
	native_fail("scene %u: its data are not what they should be", s->nr);
}

static void pass(struct runner *r, struct scene *s, const struct scene_input *in)
{
	struct native_cpu *cpu = r->cpu;
	struct native_call call;
	u64 loose = r->counts.loose;
	struct before b;
	u32 i;

	memcpy(call.in, in->call.in, sizeof(call.in));
	call.in_flags = in->call.in_flags;
	call.target = in->call.target;
	call.out[RSP] = in->call.out[RSP];
	memcpy(cpu->data, in->data, sizeof(in->data));

	note_before(cpu, s, &b);
	native_enter(&call);
	for (i = 0; i < s->nr_insns; i++)
		check_probe(r, &probes[s->nr][i], &b, in->times[i]);
	check_machine(cpu, s);
	check_result(cpu, s, in, &call);
	r->counts.overlapped += r->counts.loose != loose;
	r->counts.passes++;
	runner_end_pass(r);
}

void pass_some(struct runner *r)
{
	u32 nr = rng_chance(&r->rng, 80) ? atomic_load(&pass_focus) : rng_below(&r->rng, SCENES);
	u32 i;

	for (i = 0; i < PASSES_AT_A_TIME && !atomic_load(&runners_stop); i++) {
		pass(r, &scenes[nr], &scenes[nr].input[rng_below(&r->rng, SCENE_INPUTS)]);
		by_scene[r->nr][nr]++;
	}
}

void pass_counts(u64 *scene_passes)
{
	u32 i, s;

	for (s = 0; s < SCENES; s++)
		for (i = 0, scene_passes[s] = 0; i < native.threads; i++)
			scene_passes[s] += by_scene[i][s];
	memset(by_scene, 0, sizeof(by_scene));
}

/* The int3 handler ------------------------------------------------------------ */

/* The byte and the probe must not contradict each other. */
bool pass_take(struct runner *r, u64 ip, mcontext_t *m)
{
	struct probe *p = probe_lookup(ip);
	u32 told;
	bool known;
	u64 go;
	u8 byte;

	if (!p)
		return false;
	if (!rng_below(&r->sig_rng, 200))
		runner_preempt(r, true);
	told = atomic_load(&p->told);
	known = atomic_load(&p->in_table);
	byte = text_byte(ip);
	if (byte == TRAMP_X86_INT3 && told == atomic_load(&p->told)) {
		if ((told & 3) == TRAMP_X86_FORM_ORIGINAL)
			native_die("an int3 at %#lx, which is said to be the original", ip);
		if (!known)
			native_die("an int3 at %#lx, whose probe is not in the table", ip);
	}
	go = known ? atomic_load(&p->go) : 0;
	if (!go) {
		/* It has gone since, or has just come: what is there by now? */
		m->gregs[REG_RIP] = (long long)ip;
		r->counts.late++;
		return true;
	}
	if (!rng_below(&r->sig_rng, 200))
		runner_preempt(r, true);
	m->gregs[REG_RIP] = (long long)go;
	r->counts.traps++;
	return true;
}

void pass_where(u64 addr, char *text, size_t len)
{
	const struct scene *s = scene_at(addr);

	if (addr >= TEXT_PAGES)
		text_page_where(addr, text, len);
	else if (s)
		snprintf(text, len, " (byte %u of scene %u)", (u32)(addr - s->addr), s->nr);
}
