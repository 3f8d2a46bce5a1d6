// SPDX-License-Identifier: GPL-2.0
/*
 * One instruction, executed twice, see twice.h.
 *
 * The machine (machine.h) calls the pad, which switches to a stack of ours and jumps
 * to the instruction or to its copy. Places where it may lead have a landing, which writes down
 * that it was reached and goes back to the machine. A landing changes no register, flag, or
 * word of the stack. When a copy runs, int3 stands in place of the original: the copy has to do
 * without it.
 */
#include "twice.h"

#include <string.h>
#include <sys/mman.h>

#include "../lib/ktap.h"

#define BASE_SIZE	0x80000UL
#define FAR_SIZE	0x2000UL
#define DATA_SIZE	0x2000UL
#define STACK_START	(TWICE_STACK - 0x800)
#define STACK_SIZE	0x1000UL
#define CODE_START	(TWICE_CODE - 0x8000)
#define CODE_SIZE	0x10000UL
#define PAD		(TWICE_BASE + 0x30000)
#define CONTROL		((struct control *)(TWICE_BASE + 0x31000))

struct control {
	u64 rsp;
	u64 start;
	u32 place;
};

extern void machine_back(void);

static void map_at(u64 addr, size_t size)
{
	u64 page = addr & ~0xfffUL;
	void *p = mmap((void *)page, size, PROT_READ | PROT_WRITE | PROT_EXEC,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);

	if (p != (void *)page)
		ktap_die("cannot map %zu bytes at %#lx: %m", size, (unsigned long)page);
}

static void put_rip(u8 *at, u64 to, u32 trailing)
{
	u32 rel = (u32)(to - ((u64)at + 4 + trailing));

	memcpy(at, &rel, 4);
}

static void init(void)
{
	static bool done;
	u8 *pad = (u8 *)PAD;

	if (done)
		return;
	done = true;
	machine_init();
	map_at(TWICE_BASE, BASE_SIZE);
	map_at(TWICE_FAR, FAR_SIZE);
	memset((void *)TWICE_FAR, 0xcc, 0x100);

	/* mov control.rsp(%rip), %rsp; jmp *control.start(%rip) */
	memcpy(pad, "\x48\x8b\x25", 3);
	put_rip(pad + 3, (u64)&CONTROL->rsp, 0);
	memcpy(pad + 7, "\xff\x25", 2);
	put_rip(pad + 9, (u64)&CONTROL->start, 0);
}

/* movl $place, control.place(%rip); jmp *0(%rip); the address of machine_back */
static void landing(u64 at, enum twice_place place)
{
	u64 back = (u64)machine_back;
	u8 *p = (u8 *)at;
	u32 nr = place;

	memcpy(p, "\xc7\x05", 2);
	put_rip(p + 2, (u64)&CONTROL->place, 4);
	memcpy(p + 6, &nr, 4);
	memcpy(p + 10, "\xff\x25\0\0\0\0", 6);
	memcpy(p + 16, &back, 8);
}

static void fill(struct rng *rng, u64 start, u64 size)
{
	u64 *p = (u64 *)start, *end = (u64 *)(start + size);

	while (p < end)
		*p++ = rng_u64(rng);
}

/* Data and stack, the same each time. */
static void fill_memory(const struct twice *t)
{
	struct rng rng = { 0x5eed };
	u32 i;

	fill(&rng, TWICE_DATA, DATA_SIZE);
	fill(&rng, STACK_START, STACK_SIZE);
	for (i = 0; i < t->nr_pokes; i++)
		memcpy((void *)t->pokes[i].addr, &t->pokes[i].value, 8);
}

void twice_begin(struct twice *t, const char *name, const char *code, u32 len)
{
	struct rng rng = { 0xca11ab1e };
	u32 i;

	init();
	memset(t, 0, sizeof(*t));
	t->name = name;
	t->len = len;
	memcpy(t->code, code, len);
	for (i = 0; i < NR_REGS; i++)
		t->regs[i] = rng_u64(&rng);
	t->regs[RSP] = TWICE_STACK;
	t->regs[RSI] = TWICE_DATA;
	t->regs[RDI] = TWICE_DATA + 0x1000;
	t->flags = 0x202;
}

void twice_put(struct twice *t, u32 off, u32 size, u64 value)
{
	REQUIRE(off + size <= t->len, "%s", t->name);
	memcpy(t->code + off, &value, size);
}

void twice_rel(struct twice *t, u32 off, u32 size, u64 to)
{
	s64 rel = (s64)(to - (TWICE_CODE + t->len));

	REQUIRE(size == 4 ? rel == (s32)rel : rel == (s8)rel, "%s", t->name);
	twice_put(t, off, size, (u64)rel);
}

void twice_poke(struct twice *t, u64 addr, u64 value)
{
	REQUIRE(t->nr_pokes < TWICE_MAX_POKES, "%s", t->name);
	t->pokes[t->nr_pokes].addr = addr;
	t->pokes[t->nr_pokes++].value = value;
}

/* The state in which one run ended. */
struct state {
	enum twice_place place;
	u64 regs[NR_REGS];
	u64 flags;
	u8 data[DATA_SIZE];
	u8 stack[STACK_SIZE];
};

static void run_at(const struct twice *t, u64 start, struct state *s)
{
	struct machine_call call = { .target = PAD, .in_flags = t->flags };

	memcpy(call.in, t->regs, sizeof(call.in));
	fill_memory(t);
	*CONTROL = (struct control){ .rsp = t->regs[RSP], .start = start };
	machine_run(&call);
	s->place = CONTROL->place;
	s->flags = call.out_flags;
	memcpy(s->regs, call.out, sizeof(s->regs));
	memcpy(s->data, (void *)TWICE_DATA, DATA_SIZE);
	memcpy(s->stack, (void *)STACK_START, STACK_SIZE);
}

static void compare(const struct twice *t, const struct state *a, const struct state *b, u64 at)
{
	u32 i;

	CHECK_EQ(a->place, b->place, "%s at %#lx", t->name, at);
	CHECK_EQ(a->flags, b->flags, "%s at %#lx", t->name, at);
	for (i = 0; i < NR_REGS; i++)
		CHECK_EQ(a->regs[i], b->regs[i], "%s at %#lx, register %u", t->name, at, i);
	for (i = 0; i < DATA_SIZE; i++)
		if (!CHECK(a->data[i] == b->data[i], "%s at %#lx, data + %#x", t->name, at, i))
			break;
	for (i = 0; i < STACK_SIZE; i++)
		if (!CHECK(a->stack[i] == b->stack[i], "%s at %#lx, stack + %d", t->name, at,
			   (int)(STACK_START + i - TWICE_STACK)))
			break;
}

/* The copy, and a jump back to what is behind the original. */
static bool emit(struct twice *t, u64 at, const struct tramp_x86_env *env)
{
	struct tasm a = { .buf = (u8 *)at, .len = TRAMP_X86_MAX_RELOCATED + 5, .addr = at };
	struct tramp_x86_insn insn;
	enum tramp_x86_reloc err;

	if (!CHECK(tramp_x86_decode(t->code, t->len, &insn), "%s does not decode", t->name) ||
	    !CHECK_EQ(insn.len, t->len, "%s", t->name))
		return false;
	memset(a.buf, 0xcc, a.len);
	err = tramp_x86_relocate(&a, &insn, TWICE_CODE, env);
	if (!CHECK_EQ(err, TRAMP_X86_RELOC_OK, "%s", t->name) ||
	    !CHECK(a.off <= TRAMP_X86_MAX_RELOCATED && !a.overflow && !a.out_of_reach,
		   "%s: %u bytes", t->name, a.off))
		return false;
	t->size = a.off;
	tasm_branch(&a, TASM_JMP, TWICE_CODE + t->len);
	return true;
}

static bool on_stack(u64 rsp)
{
	return rsp >= STACK_START && rsp <= STACK_START + STACK_SIZE - 8;
}

bool twice_run(struct twice *t)
{
	static const u64 copies[] = { TWICE_FAR, TWICE_NEAR };
	unsigned int failures = ktap_failures();
	static struct state place, copy;
	u32 i;

	memset((void *)CODE_START, 0xcc, CODE_SIZE);
	landing(TWICE_CODE + t->len, TWICE_BEHIND);
	if (t->target)
		landing(t->target, TWICE_TARGET);
	memcpy((void *)TWICE_CODE, t->code, t->len);
	if (!t->alien)
		run_at(t, TWICE_CODE, &place);
	memset((void *)TWICE_CODE, 0xcc, t->len);

	/* where calls are counted first: what is left in the end is the other one */
	for (i = 0; i < 4; i++) {
		struct tramp_x86_env env = t->env;

		env.has_call_depth = i < 2;
		if (!emit(t, copies[i & 1], &env))
			return false;
		if (t->alien)
			continue;
		run_at(t, copies[i & 1], &copy);
		compare(t, &place, &copy, copies[i & 1]);
	}
	memcpy(t->copy, (void *)TWICE_NEAR, t->size);
	if (t->alien)
		return ktap_failures() == failures;

	t->place = place.place;
	t->out_flags = place.flags;
	memcpy(t->out, place.regs, sizeof(t->out));
	if (on_stack(place.regs[RSP]))
		memcpy(&t->top, place.stack + (place.regs[RSP] - STACK_START), 8);
	return ktap_failures() == failures;
}

void twice_was_taken(const struct twice *t)
{
	CHECK_EQ(t->place, TWICE_TARGET, "%s", t->name);
}

void twice_was_called(const struct twice *t)
{
	CHECK_EQ(t->place, TWICE_TARGET, "%s", t->name);
	CHECK_EQ(t->out[RSP], t->regs[RSP] - 8, "%s", t->name);
	CHECK_EQ(t->top, TWICE_CODE + t->len, "%s", t->name);
}
