// SPDX-License-Identifier: GPL-2.0
/*
 * Programs come and go at probes: the steps of kernel/probe/probe.c and batch.c.
 */
#include "probe.h"

#include <stdlib.h>
#include <string.h>

#include "../../kernel/x86/asm.h"
#include "plant.h"
#include "text.h"

#define STUB_SIZE	128
#define STATS_KEY	TEXT_DATA
#define NO_REGS		(TEXT_DATA + 0x100)
#define BATCH		6
#define PT_REGS_IP	16	/* number of that member */

struct probe probes[SCENES][SCENE_INSNS];

static struct tramp_x86_env env;
static u32 serial;
static struct rng image_rng;

/* Stubs --------------------------------------------------------------------- */

static struct tasm_mem on_cpu(u64 off)
{
	return (struct tasm_mem){ .base = TASM_NO_BASE, .gs = true, .disp = (s32)off };
}

/* All that a call may change is changed. */
static void spoil_and_return(struct tasm *a)
{
	static const u8 lost[] = {
		TASM_RAX, TASM_RCX, TASM_RDX, TASM_RSI, TASM_RDI, TASM_R8, TASM_R9, TASM_R10,
		TASM_R11,
	};
	u32 i;

	for (i = 0; i < sizeof(lost); i++)
		tasm_mov_imm(a, lost[i], 0x0bad0bad + i);
	tasm_op(a, TASM_RET);
}

static u64 make_stub(u32 nr, void (*body)(struct tasm *a, u32 nr))
{
	u64 addr = TEXT_STUBS + nr * STUB_SIZE;
	u8 code[STUB_SIZE];
	struct tasm a = { .buf = code, .len = sizeof(code), .addr = addr };

	memset(code, 0xcc, sizeof(code));
	body(&a, nr);
	if (a.overflow)
		native_die("a stub has no room");
	text_store(addr, code, sizeof(code));
	return addr;
}

static void stub_program(struct tasm *a, u32 nr)
{
	tasm_mem_op(a, TASM_INC, true, on_cpu(CPU_OFF(ran) + 8 * nr), 0);
	tasm_load(a, TASM_RAX, tasm_at(TASM_RDI, 8 * PT_REGS_IP));
	/* add %rax, %gs:ips */
	tasm_op_mem(a, true, 0x01, TASM_RAX, on_cpu(CPU_OFF(ips) + 8 * nr), 0);
	spoil_and_return(a);
}

static void stub_missed(struct tasm *a, u32 nr)
{
	(void)nr;
	tasm_mem_op(a, TASM_INC, true, on_cpu(CPU_OFF(missed)), 0);
	spoil_and_return(a);
}

static void stub_nothing(struct tasm *a, u32 nr)
{
	(void)nr;
	spoil_and_return(a);
}

static u64 program_of(const struct probe *p, u32 n)
{
	return TEXT_STUBS + (p->counter + n) * STUB_SIZE;
}

static void make_stubs(void)
{
	u32 i, nr = SCENES * SCENE_INSNS * PROBE_PROGS;

	_Static_assert(SCENES * SCENE_INSNS * PROBE_PROGS <= NATIVE_PROGS, "counters");
	for (i = 0; i < nr; i++)
		make_stub(i, stub_program);
	env = (struct tramp_x86_env){
		.preempt_count = CPU_OFF(preempt_count),
		.nmi_count = 0x110001,
		.current_task = CPU_OFF(current_task),
		.task_bpf_ctx = 8,
		.trace_ctx_size = 24,
		.trace_ctx_cookie = 8,
		.stats_key = STATS_KEY,
		.no_regs = NO_REGS,
		.cs = 0x10,
		.ss = 0x18,
		.missed = make_stub(nr, stub_missed),
		.stats_enter = make_stub(nr + 1, stub_nothing),
	};
	env.stats_exit = env.stats_enter;
}

/* Images -------------------------------------------------------------------- */

static u32 nr_progs(const struct probe *p)
{
	return (u32)__builtin_popcount(p->progs);
}

/*
 * A process may not execute cli. Signals come in its place, and they leave everything as it
 * was.
 */
static void without_cli(u8 *code, u32 len)
{
	struct tramp_x86_insn insn;
	u32 at;

	for (at = 0; at < len && tramp_x86_decode(code + at, len - at, &insn); at += insn.len)
		if (insn.len == 1 && code[at] == TASM_CLI)
			code[at] = 0x90;
}

static u32 list_calls(const struct probe *p, struct tramp_x86_call *calls)
{
	u32 n, nr = 0;

	for (n = 0; n < PROBE_PROGS; n++) {
		if (!(p->progs & 1u << n))
			continue;
		calls[nr++] = (struct tramp_x86_call){
			.func = program_of(p, n),
			.active = CPU_OFF(active),
			.hits = CPU_OFF(hits) + 8 * (p->counter + n),
			.flags = rng_chance(&image_rng, 30) ? TRAMP_X86_CALL_COOKIE : 0,
			.cookie = rng_u64(&image_rng),
		};
	}
	if (nr && plant_is(PLANT_TWICE) && !(serial % 16)) {
		calls[nr] = calls[0];
		nr++;
	}
	if (nr && plant_is(PLANT_NEVER) && !(serial % 16))
		nr--;
	return nr;
}

static struct probe_image *make_image(struct probe *p, u32 len)
{
	struct tramp_x86_call calls[PROBE_PROGS + 1];
	struct probe_image *image = calloc(1, sizeof(*image));
	u32 call_off[2 * (PROBE_PROGS + 1)];
	struct tramp_x86_detour_out out = { .call_off = call_off };
	struct tramp_x86_detour_req req = {
		.env = &env, .ip = p->addr, .code = p->orig, .len = len, .progs = calls,
	};
	static u8 code[TEXT_PAGE];
	enum tramp_x86_err err;

	if (!image)
		native_die("no memory");
	serial++;
	req.nr_progs = list_calls(p, calls);
	req.regs = 1u << PT_REGS_IP;
	if (rng_chance(&image_rng, 60))
		req.regs |= rng_chance(&image_rng, 50) ? TRAMP_X86_REGS_ALL :
			    (u32)rng_u64(&image_rng) & TRAMP_X86_REGS_ALL;
	image->serial = serial;
	image->probe = p;
	image->len = len;
	image->code = text_page_get("image %u of instruction %u of scene %u", serial, p->insn,
				    p->scene->nr);
	err = tramp_x86_emit_detour(&req, code, sizeof(code), image->code, &out);
	if (err)
		native_die("the emitter says %d of instruction %u of scene %u", err, p->insn,
			   p->scene->nr);
	without_cli(code, out.copy_off);
	image->copy_off = out.copy_off;
	text_store(image->code, code, out.size);
	return image;
}

static void image_free(struct retire *r)
{
	struct probe_image *image = (struct probe_image *)r;

	text_page_put(image->code);
	free(image);
}

static const struct retire_ops image_ops = { .free = image_free };

int probe_new_image(struct probe *p, u32 len)
{
	struct probe_image *image = make_image(p, len), *old = p->image;

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
		retire_add(&old->retire, &image_ops);
	return 0;
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
		.env = &env, .is_target = is_target, .has_fixup = has_fixup, .held = held,
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
	retire_add(&p->image->retire, &image_ops);
	p->image = NULL;
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
		renew(p);
	} else {
		/* The text of a module that goes is restored from whatever form it has. */
		p->lingers = probe_text(p) == TRAMP_X86_FORM_JUMP && rng_chance(&image_rng, 20);
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

void probes_change(struct rng *rng, u32 nr)
{
	struct probe *list[BATCH];
	u32 got = choose(rng, nr, list), how = rng_below(rng, 100), i;
	int stats;

	if (how < 45) {
		attach_many(rng, list, got);
	} else if (how < 80) {
		detach_many(rng, list, got);
	} else if (how < 92) {
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
		stats = rng_chance(rng, 30);
		text_store(STATS_KEY, &stats, sizeof(stats));
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

	image_rng.state = rng_u64(rng) | 1;
	make_stubs();
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
