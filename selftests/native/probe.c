// SPDX-License-Identifier: GPL-2.0
/*
 * Programs come and go at probes: the steps of kernel/probe/probe.c and batch.c.
 */
#include "probe.h"

#include <string.h>

#include "plant.h"
#include "stub.h"
#include "text.h"

#define BATCH		6

struct probe probes[SCENES][SCENE_INSNS];
struct probe_changes probe_changes;

static struct rng own;

static u32 nr_progs(const struct probe *p)
{
	return (u32)__builtin_popcount(p->progs);
}

void probe_new_image(struct probe *p, u32 len)
{
	struct probe_image *image = probe_image_make(p, len), *old = p->image;

	if (probe_text(p) == TRAMP_X86_FORM_JUMP)
		poke_unjump(&p, 1);
	p->image = image;
	atomic_store(&p->go, p->progs ? image->code : image->code + image->copy_off);
	if (!old || old->len != len) {
		if (!plant_is(PLANT_STAYS_QUIET))
			p->quiesced = false;
		p->waiting = false;
	}
	if (old)
		probe_image_retire(old);
}

/* Regions ------------------------------------------------------------------- */

static bool is_target(u64 addr, void *arg)
{
	const struct probe *p = arg;

	return addr - p->scene->addr <= p->scene->len && p->scene->target[addr - p->scene->addr];
}

static bool has_fixup(u64 addr, void *arg)
{
	(void)addr;
	(void)arg;
	return false;
}

/* Probes of its neighbours. */
static u32 held(u64 start, u64 end, u64 *where, void *arg)
{
	const struct probe *p = arg, *other;
	u32 i;

	for (i = 0; i < p->scene->nr_insns; i++) {
		other = &probes[p->scene->nr][i];
		if (other == p || !atomic_load(&other->in_table) || other->addr < start ||
		    other->addr >= end)
			continue;
		*where = other->addr;
		return 1;
	}
	return 0;
}

static bool indirect(u64 ip, void *arg)
{
	(void)ip;
	return ((const struct probe *)arg)->scene->indirect;
}

u32 probe_region(const struct probe *p)
{
	static const struct tramp_x86_world world = {
		.env = &probe_env, .is_target = is_target, .has_fixup = has_fixup, .held = held,
		.indirect = indirect,
	};
	u32 avail = (u32)(p->scene->addr + p->scene->len - p->addr);
	struct tramp_x86_verdict v;

	if (avail > TRAMP_X86_MAX_REGION)
		avail = TRAMP_X86_MAX_REGION;
	if (tramp_x86_check_region(p->addr, p->orig, avail, &world, (void *)p, &v))
		return 0;
	return v.len;
}

/* Coming and going ---------------------------------------------------------- */

struct probe *probe_lookup(u64 addr)
{
	const struct scene *s = scene_at(addr);
	u32 i;

	for (i = 0; s && i < s->nr_insns; i++)
		if (probes[s->nr][i].addr == addr)
			return &probes[s->nr][i];
	return NULL;
}

/* The promises are what the list of programs says. */
static void promise_all(struct probe *p)
{
	u32 n;

	for (n = 0; n < PROBE_PROGS; n++)
		promise_make(&p->prog[n], p->progs >> n & 1);
	promise_make(&p->sum, nr_progs(p));
}

void probe_remove(struct probe *p)
{
	if (p->lingers)
		promise_all(p);
	p->lingers = false;
	atomic_store(&p->in_table, false);
	atomic_store(&p->go, 0);
	probe_image_retire(p->image);
	p->image = NULL;
	probe_changes.gone++;
	optimiser_queue_around(p);
}

/* A probe comes to an instruction: no jump may cover it. */
static void clear_regions(const struct probe *p)
{
	u32 i;

	for (i = 0; i < p->insn; i++) {
		struct probe *other = &probes[p->scene->nr][i];

		if (!atomic_load(&other->in_table) ||
		    other->addr + other->image->len <= p->addr)
			continue;
		if (plant_is(PLANT_COVERED) && other->progs) {
			if (probe_text(other) == TRAMP_X86_FORM_JUMP)
				poke_unjump(&other, 1);
			continue;
		}
		probe_changes.cleared++;
		probe_changes.unjumped += probe_text(other) == TRAMP_X86_FORM_JUMP;
		probe_new_image(other, other->insn_len);
		optimiser_queue(other);
	}
}

static void renew(struct probe *p)
{
	probe_new_image(p, p->image->len);
	optimiser_queue(p);
}

/* The promises of @n and of all together, after a change. */
static void promise_again(struct probe *p, u32 n)
{
	promise_make(&p->prog[n], p->progs >> n & 1);
	promise_make(&p->sum, nr_progs(p));
	/* The last program's promise has been broken up to here. */
	if (p->lingers)
		promise_all(p);
	p->lingers = false;
}

/* Return: it has to be armed. */
static bool join(struct probe *p, u32 n)
{
	promise_break(&p->sum);
	promise_break(&p->prog[n]);
	p->progs |= 1u << n;
	if (atomic_load(&p->in_table)) {
		/* A second program, or the first behind one that has gone. */
		probe_changes.joined++;
		renew(p);
		return false;
	}
	p->quiesced = p->waiting = false;
	atomic_store(&p->in_table, true);
	clear_regions(p);
	probe_new_image(p, p->insn_len);
	return true;
}

static void leave(struct probe *p, u32 n)
{
	promise_break(&p->sum);
	promise_break(&p->prog[n]);
	p->progs &= ~(1u << n);
	if (p->progs) {
		probe_changes.left++;
		renew(p);
	} else {
		/* The text of a module that goes is restored from whatever form it has. */
		p->lingers = probe_text(p) == TRAMP_X86_FORM_JUMP && rng_chance(&own, 40);
		probe_changes.lingered += p->lingers;
		if (probe_text(p) == TRAMP_X86_FORM_JUMP && !p->lingers)
			poke_unjump(&p, 1);
		atomic_store(&p->go, p->image->code + p->image->copy_off);
		optimiser_queue(p);
	}
	if (!p->lingers)
		promise_again(p, n);
}

/* One program in another's place: each hit runs one of them, as p->sum goes on to say. */
static void replace(struct probe *p, u32 n)
{
	promise_break(&p->prog[0]);
	promise_break(&p->prog[1]);
	probe_changes.replaced++;
	p->progs = 1u << n;
	renew(p);
	promise_make(&p->prog[n], 1);
	promise_make(&p->prog[!n], 0);
}

/* Changes ------------------------------------------------------------------- */

/* Some probes around, of this scene and the next; each at most once. */
static u32 choose(struct rng *rng, u32 nr, struct probe **list)
{
	u32 want = rng_chance(rng, 70) ? 1 : 1 + rng_below(rng, BATCH), got = 0, i;

	while (want--) {
		const struct scene *s = &scenes[(nr + rng_chance(rng, 10)) % SCENES];
		/* The first instructions, which regions begin at, and those in them. */
		u32 insn = rng_below(rng, rng_chance(rng, 50) ? s->nr_insns : 2);
		struct probe *p = &probes[s->nr][insn < s->nr_insns ? insn : 0];

		for (i = 0; i < got && list[i] != p; i++)
			;
		if (i == got)
			list[got++] = p;
	}
	return got;
}

static void attach_many(struct rng *rng, struct probe **list, u32 nr)
{
	struct probe *arm[BATCH];
	u32 n[BATCH], nr_arm = 0, i;

	for (i = 0; i < nr; i++) {
		n[i] = rng_below(rng, PROBE_PROGS);
		if (list[i]->progs >> n[i] & 1)
			n[i] = PROBE_PROGS;
		else if (join(list[i], n[i]))
			arm[nr_arm++] = list[i];
	}
	poke_arm(arm, nr_arm);
	for (i = 0; i < nr_arm; i++)
		optimiser_queue(arm[i]);
	for (i = 0; i < nr; i++)
		if (n[i] < PROBE_PROGS)
			promise_again(list[i], n[i]);
}

static void detach_many(struct rng *rng, struct probe **list, u32 nr)
{
	struct probe *jumps[BATCH];
	u32 nr_jumps = 0, i, n;

	for (i = 0; i < nr; i++)
		if (list[i]->progs && probe_text(list[i]) == TRAMP_X86_FORM_JUMP)
			jumps[nr_jumps++] = list[i];
	if (rng_chance(rng, 50)) {
		poke_unjump(jumps, nr_jumps);
		for (i = 0; i < nr_jumps; i++)
			optimiser_queue(jumps[i]);
	}
	for (i = 0; i < nr; i++) {
		n = rng_below(rng, PROBE_PROGS);
		if (!(list[i]->progs >> n & 1))
			n = !n;
		if (list[i]->progs >> n & 1)
			leave(list[i], n);
	}
}

/* Its image executes one instruction for a moment, and then the region again. */
static void blink(struct rng *rng, struct probe *p)
{
	struct probe *next = p + 1;
	u32 n;

	if (p->insn + 1 < p->scene->nr_insns && rng_chance(rng, 50)) {
		attach_many(rng, &next, 1);
		detach_many(rng, &next, 1);
	} else {
		p->no_jump = true;
		optimiser_queue(p);
	}
	for (n = rng_below(rng, 10); n; n--)
		optimiser_poll(rng);
	p->no_jump = false;
	optimiser_queue(p);
}

void probes_change(struct rng *rng, u32 nr)
{
	struct probe *list[BATCH];
	u32 got = choose(rng, nr, list), how = rng_below(rng, 100), i;

	if (how < 45) {
		attach_many(rng, list, got);
	} else if (how < 75) {
		detach_many(rng, list, got);
	} else if (how < 85) {
		for (i = 0; i < got; i++)
			if (list[i]->progs)
				blink(rng, list[i]);
	} else if (how < 94) {
		for (i = 0; i < got; i++)
			if (nr_progs(list[i]) == 1)
				replace(list[i], !(list[i]->progs >> 1 & 1));
	} else if (how < 98) {
		for (i = 0; i < got; i++) {
			list[i]->no_jump = rng_chance(rng, 30);
			if (atomic_load(&list[i]->in_table))
				optimiser_queue(list[i]);
		}
	} else {
		stub_stats(rng_chance(rng, 30));
	}
}

static void leave_all(struct probe *p)
{
	u32 n;

	for (n = 0; n < PROBE_PROGS; n++)
		if (p->progs >> n & 1)
			leave(p, n);
}

void probes_settle(u32 nr)
{
	u32 i;

	for (i = 0; i < scenes[nr].nr_insns; i++) {
		struct probe *p = &probes[nr][i];

		p->no_jump = false;
		if (p->progs && probe_text(p) == TRAMP_X86_FORM_INT3 && !probe_region(p))
			leave_all(p);
	}
}

void probes_begin(struct rng *rng)
{
	u32 s, i;

	own.state = rng_u64(rng) | 1;
	probe_images_begin(rng_u64(rng));
	memset(probes, 0, sizeof(probes));
	for (s = 0; s < SCENES; s++) {
		for (i = 0; i < scenes[s].nr_insns; i++) {
			const struct scene_insn *insn = &scenes[s].insn[i];

			probes[s][i] = (struct probe){
				.scene = &scenes[s], .insn = i, .addr = scenes[s].addr + insn->off,
				.insn_len = insn->len, .orig = scenes[s].code + insn->off,
				.counter = (s * SCENE_INSNS + i) * PROBE_PROGS,
			};
		}
	}
}

void probes_end(void)
{
	u8 now[SCENE_BYTES];
	struct rng rng = { 1 };
	u32 s, i;

	for (s = 0; s < SCENES; s++)
		for (i = 0; i < scenes[s].nr_insns; i++)
			leave_all(&probes[s][i]);
	while (optimiser_busy())
		optimiser_poll(&rng);
	retire_end();
	text_sync();
	for (s = 0; s < SCENES; s++) {
		text_read(scenes[s].addr, now, scenes[s].len);
		if (memcmp(now, scenes[s].code, scenes[s].len))
			native_fail("scene %u is not what it was", s);
	}
	if (text_pages_used())
		native_fail("%u images are left", text_pages_used());
}
