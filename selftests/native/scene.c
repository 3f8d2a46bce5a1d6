// SPDX-License-Identifier: GPL-2.0
/*
 * Functions to be probed, see scene.h.
 */
#include "scene.h"

#include <string.h>

#include "runner.h"
#include "text.h"

/* The field to be filled in when an instruction has its place. */
enum fix {
	FIX_NONE,
	FIX_PAD,	/* nothing; prefixes that mean nothing may come before it */
	FIX_RIP,	/* disp32 to a word that is only read */
	FIX_GS,		/* disp32 of a word of the runner's own */
	FIX_SHORT,	/* rel8 to a later instruction */
	FIX_NEAR,	/* rel32 to one */
	FIX_JMP_MEM,	/* disp32 to a word with the address of one */
	FIX_CALL,	/* rel32 to the leaf */
	FIX_CALL_MEM,	/* disp32 to a word with the leaf's address */
	FIX_LEAF32,	/* imm32: the leaf's address */
	FIX_RET32,	/* imm32: the address of the scene's return */
};

/*
 * A form: up to four instructions that belong together, so that no branch leads between
 * them; "more" of them follow.
 */
struct form {
	const char *name;
	const char *bytes;
	u8 len;
	u8 fix;
	u8 at;		/* where the field is */
	u8 more;
};

#define F(name, bytes, fix, at, more)	{ name, bytes, sizeof(bytes) - 1, fix, at, more }

static const struct form forms[] = {
	F("nop", "\x90", FIX_PAD, 0, 0),
	F("cmc", "\xf5", FIX_PAD, 0, 0),
	F("cwtl", "\x98", FIX_NONE, 0, 0),
	F("xchg %eax,%ebx", "\x93", FIX_NONE, 0, 0),
	F("add %edx,%ecx", "\x01\xd1", FIX_PAD, 0, 0),
	F("adc %rbx,%rdx", "\x48\x11\xda", FIX_PAD, 0, 0),
	F("sbb %rsi,%rdi", "\x48\x19\xf7", FIX_PAD, 0, 0),
	F("setc %al", "\x0f\x92\xc0", FIX_PAD, 0, 0),
	F("cmovb %rcx,%rbx", "\x48\x0f\x42\xd9", FIX_PAD, 0, 0),
	F("add $imm8,%rax", "\x48\x83\xc0\x7b", FIX_PAD, 0, 0),
	F("mov (%rsp),%r9", "\x4c\x8b\x0c\x24", FIX_NONE, 0, 0),
	F("add $imm32,%eax", "\x05\x78\x56\x34\x12", FIX_PAD, 0, 0),
	F("lea 8(%rcx,%rdx),%rax", "\x48\x8d\x44\x11\x08", FIX_NONE, 0, 0),
	F("add $imm32,%ecx", "\x81\xc1\x78\x56\x34\x92", FIX_PAD, 0, 0),
	F("xor $imm32,%r10", "\x49\x81\xf2\x78\x56\x34\x92", FIX_NONE, 0, 0),
	F("mov (%rip),%rax", "\x48\x8b\x05\0\0\0\0", FIX_RIP, 3, 0),
	F("add (%rip),%r11", "\x4c\x03\x1d\0\0\0\0", FIX_RIP, 3, 0),
	F("mov (%eip),%rax", "\x67\x48\x8b\x05\0\0\0\0", FIX_RIP, 4, 0),
	F("lea (%rip),%rsi", "\x48\x8d\x35\0\0\0\0", FIX_RIP, 3, 0),
	F("cmpl $imm32,(%rip)", "\x81\x3d\0\0\0\0\x78\x56\x34\x12", FIX_RIP, 2, 0),
	F("lea disp32(%rcx,%rdx)", "\x48\x8d\x84\x11\x44\x33\x22\x11", FIX_NONE, 0, 0),
	F("incq %gs:disp32", "\x65\x48\xff\x04\x25\0\0\0\0", FIX_GS, 5, 0),
	F("movabs", "\x49\xb8\xef\xcd\xab\x89\x67\x45\x23\x01", FIX_PAD, 0, 0),
	F("nop of 11", "\x66\x66\x2e\x0f\x1f\x84\0\0\0\0\0", FIX_NONE, 0, 0),
	F("addl $imm32,%gs:disp32", "\x65\x81\x04\x25\0\0\0\0\x78\x56\x34\x12", FIX_GS, 4, 0),
	F("addq $imm32,%gs:disp32", "\x65\x48\x81\x04\x25\0\0\0\0\x78\x56\x34\x12", FIX_GS, 5, 0),
	F("nop of 15", "\x66\x66\x66\x66\x66\x66\x2e\x0f\x1f\x84\0\0\0\0\0", FIX_NONE, 0, 0),

	F("jb short", "\x72\0", FIX_SHORT, 1, 0),
	F("jns short", "\x79\0", FIX_SHORT, 1, 0),
	F("jmp short", "\xeb\0", FIX_SHORT, 1, 0),
	F("jrcxz", "\xe3\0", FIX_SHORT, 1, 0),
	F("jecxz", "\x67\xe3\0", FIX_SHORT, 2, 0),
	F("loop", "\xe2\0", FIX_SHORT, 1, 0),
	F("loope", "\xe1\0", FIX_SHORT, 1, 0),
	F("loopne", "\xe0\0", FIX_SHORT, 1, 0),
	F("jne near", "\x0f\x85\0\0\0\0", FIX_NEAR, 2, 0),
	F("jmp near", "\xe9\0\0\0\0", FIX_NEAR, 1, 0),
	F("jmp *(%rip)", "\xff\x25\0\0\0\0", FIX_JMP_MEM, 2, 0),
	F("call", "\xe8\0\0\0\0", FIX_CALL, 1, 0),
	F("call *(%rip)", "\xff\x15\0\0\0\0", FIX_CALL_MEM, 2, 0),

	F("mov $leaf,%r11d; call *%r11", "\x41\xbb\0\0\0\0", FIX_LEAF32, 2, 1),
	F("", "\x41\xff\xd3", FIX_NONE, 0, 0),
	F("mov $ret,%r11d; jmp *%r11", "\x41\xbb\0\0\0\0", FIX_RET32, 2, 1),
	F("", "\x41\xff\xe3", FIX_NONE, 0, 0),
	F("push $leaf; call *(%rsp); pop", "\x68\0\0\0\0", FIX_LEAF32, 1, 2),
	F("", "\xff\x14\x24", FIX_NONE, 0, 1),
	F("", "\x5a", FIX_NONE, 0, 0),
	F("push %rax; pop %rdx", "\x50", FIX_NONE, 0, 1),
	F("", "\x5a", FIX_NONE, 0, 0),
	F("push %r12; add; pop %r12", "\x41\x54", FIX_NONE, 0, 2),
	F("", "\x49\x01\xc4", FIX_NONE, 0, 1),
	F("", "\x41\x5c", FIX_NONE, 0, 0),
	F("push $imm32; pop %rcx", "\x68\x78\x56\x34\x92", FIX_NONE, 0, 1),
	F("", "\x59", FIX_NONE, 0, 0),
	F("push (%rip); pop %rdi", "\xff\x35\0\0\0\0", FIX_RIP, 2, 1),
	F("", "\x5f", FIX_NONE, 0, 0),
	F("pushfq; add; popfq", "\x9c", FIX_NONE, 0, 2),
	F("", "\x48\x01\xc8", FIX_NONE, 0, 1),
	F("", "\x9d", FIX_NONE, 0, 0),
	F("push %rbp; mov; xchg; leave", "\x55", FIX_NONE, 0, 3),
	F("", "\x48\x89\xe5", FIX_NONE, 0, 2),
	F("", "\x48\x87\xf1", FIX_NONE, 0, 1),
	F("", "\xc9", FIX_NONE, 0, 0),
	F("sub $8,%rsp; mov; add", "\x48\x83\xec\x08", FIX_NONE, 0, 2),
	F("", "\x48\x89\x04\x24", FIX_NONE, 0, 1),
	F("", "\x48\x83\xc4\x08", FIX_NONE, 0, 0),

	/* The last instruction of a scene; keep these at the end. */
	F("ret", "\xc3", FIX_NONE, 0, 0),
	F("rep ret", "\xf3\xc3", FIX_NONE, 0, 0),
	F("ret $0", "\xc2\0\0", FIX_NONE, 0, 0),
};

#define NR(array)	((u32)(sizeof(array) / sizeof((array)[0])))
#define NR_RETS		3u
#define NR_BODY		(NR(forms) - NR_RETS)

#define LEAF		(TEXT_STUBS - 64)
#define WORDS(s)	(TEXT_DATA + 0x1000 + (s)->nr * 64)
enum { WORD_LEAF = 4, WORD_TARGET };

struct scene scenes[SCENES];

u32 scene_nr_forms(void)
{
	return NR(forms);
}

const char *scene_form_name(u32 form)
{
	return forms[form].name;
}

bool scene_form_is_last(u32 form)
{
	return form >= NR_BODY;
}

struct scene *scene_at(u64 addr)
{
	struct scene *s;

	if (addr < TEXT_CODE || addr >= TEXT_CODE + SCENES * SCENE_STEP)
		return NULL;
	s = &scenes[(addr - TEXT_CODE) / SCENE_STEP];
	return addr >= s->addr && addr < s->addr + s->len ? s : NULL;
}

/* Making one ---------------------------------------------------------------- */

static void add_insn(struct scene *s, u32 form, struct rng *rng)
{
	const struct form *f = &forms[form];
	struct scene_insn *i = &s->insn[s->nr_insns++];
	u32 pad = 0;

	if (f->fix == FIX_PAD && rng_chance(rng, 40))
		pad = rng_below(rng, TRAMP_X86_MAX_INSN - f->len + 1);
	*i = (struct scene_insn){ .off = s->len, .len = pad + f->len, .form = form };
	memset(s->code + s->len, 0x3e, pad);
	memcpy(s->code + s->len + pad, f->bytes, f->len);
	s->len += i->len;
}

/* One form with all that belongs to it. Return: false if there is no room. */
static bool add_form(struct scene *s, u32 form, struct rng *rng)
{
	u32 more = forms[form].more;

	if (s->nr_insns + 1 + more > SCENE_INSNS - 1)
		return false;
	add_insn(s, form, rng);
	while (more--)
		add_insn(s, ++form, rng);
	return true;
}

/* Where a branch in instruction @i may lead: a later one that begins a form. */
static u32 pick_target(struct scene *s, u32 i, struct rng *rng)
{
	u32 to;

	do
		to = i + 1 + rng_below(rng, s->nr_insns - i - 1);
	while (!forms[s->insn[to].form].name[0]);
	return s->insn[to].off;
}

static void put32(u8 *at, u64 value)
{
	u32 v = (u32)value;

	memcpy(at, &v, 4);
}

static void fix_insn(struct scene *s, u32 i, struct rng *rng)
{
	const struct scene_insn *insn = &s->insn[i];
	const struct form *f = &forms[insn->form];
	u8 *field = s->code + insn->off + f->at;
	u64 next = s->addr + insn->off + insn->len, word;
	u32 to;

	switch (f->fix) {
	case FIX_RIP:
		put32(field, WORDS(s) + 8 * rng_below(rng, WORD_LEAF) - next);
		break;
	case FIX_GS:
		put32(field, CPU_OFF(data) + 8 * rng_below(rng, NATIVE_DATA));
		break;
	case FIX_SHORT:
	case FIX_NEAR:
		to = pick_target(s, i, rng);
		s->target[to] = true;
		if (f->fix == FIX_SHORT)
			*field = (u8)(to - insn->off - insn->len);
		else
			put32(field, s->addr + to - next);
		break;
	case FIX_JMP_MEM:
		/* All indirect jumps of a scene lead to its return. */
		word = s->addr + s->insn[s->nr_insns - 1].off;
		s->indirect = true;
		text_store(WORDS(s) + 8 * WORD_TARGET, &word, 8);
		put32(field, WORDS(s) + 8 * WORD_TARGET - next);
		break;
	case FIX_CALL:
		put32(field, LEAF - next);
		break;
	case FIX_CALL_MEM:
		put32(field, WORDS(s) + 8 * WORD_LEAF - next);
		break;
	case FIX_LEAF32:
		put32(field, LEAF);
		break;
	case FIX_RET32:
		s->indirect = true;
		put32(field, s->addr + s->insn[s->nr_insns - 1].off);
		break;
	}
}

/* Near the end of a page or of a cache line as often as not. */
static u64 place(u32 nr, struct rng *rng)
{
	u64 slot = TEXT_CODE + nr * SCENE_STEP;

	switch (rng_below(rng, 3)) {
	case 0:
		return slot + 0x1000 - 1 - rng_below(rng, 30);
	case 1:
		return slot + 64 * (1 + rng_below(rng, 60)) - 1 - rng_below(rng, 30);
	default:
		return slot + rng_below(rng, 0x1000);
	}
}

static void make(u32 nr, u32 first, struct rng *rng)
{
	static const u64 leaf = LEAF;
	struct scene *s = &scenes[nr];
	u64 words[WORD_LEAF];
	u32 i;

	memset(s, 0, sizeof(*s));
	s->nr = nr;
	s->addr = place(nr, rng);
	for (i = 0; i < WORD_LEAF; i++)
		words[i] = rng_u64(rng);
	text_store(WORDS(s), words, sizeof(words));
	text_store(WORDS(s) + 8 * WORD_LEAF, &leaf, 8);

	add_form(s, first, rng);
	/* A few do, sometimes: regions at the end of a function. */
	for (i = 1 + rng_below(rng, SCENE_INSNS); i; i--) {
		u32 form;

		do
			form = rng_below(rng, NR_BODY);
		while (!forms[form].name[0]);
		add_form(s, form, rng);
	}
	add_insn(s, NR_BODY + rng_below(rng, NR_RETS), rng);
	for (i = 0; i < s->nr_insns; i++)
		fix_insn(s, i, rng);
	text_store(s->addr, s->code, s->len);
}

/* The oracle ------------------------------------------------------------------ */

static struct scene *stepped;
static struct scene_input *noted;

static void note(u64 ip)
{
	u32 i;

	for (i = 0; i < stepped->nr_insns; i++)
		if (stepped->addr + stepped->insn[i].off == ip)
			noted->times[i]++;
}

static void ask(struct scene *s, struct scene_input *in, struct rng *rng, struct native_cpu *cpu)
{
	struct native_call again;
	u32 i;

	for (i = 0; i < NR_REGS; i++)
		in->call.in[i] = rng_u64(rng);
	if (rng_chance(rng, 30))
		in->call.in[RCX] = rng_below(rng, 3);
	for (i = 0; i < NATIVE_DATA; i++)
		in->data[i] = rng_u64(rng);
	in->call.in_flags = (rng_u64(rng) & 0x8d5) | 0x202;
	in->call.target = s->addr;

	memcpy(cpu->data, in->data, sizeof(in->data));
	native_enter(&in->call);
	memcpy(in->data_out, cpu->data, sizeof(in->data));

	again = in->call;
	again.in_flags |= FLAG_TF;
	memcpy(cpu->data, in->data, sizeof(in->data));
	stepped = s;
	noted = in;
	trap_note = note;
	native_enter(&again);
	trap_note = NULL;
	if (memcmp(again.out, in->call.out, sizeof(again.out)))
		native_fail("the oracle does not agree with itself about scene %u", s->nr);
}

void scenes_make(struct rng *rng, struct native_cpu *cpu)
{
	/* add %rdi, %rax; ret */
	static const u8 leaf[] = { 0x48, 0x01, 0xf8, 0xc3 };
	u32 nr, first = rng_below(rng, NR_BODY), i;

	text_store(LEAF, leaf, sizeof(leaf));
	for (nr = 0; nr < SCENES; nr++) {
		do
			first = (first + 1) % NR_BODY;
		while (!forms[first].name[0]);
		make(nr, first, rng);
		for (i = 0; i < SCENE_INPUTS; i++)
			ask(&scenes[nr], &scenes[nr].input[i], rng, cpu);
	}
}
