// SPDX-License-Identifier: GPL-2.0
/*
 * Programs come and go at functions: the steps of kernel/func/target.c.
 */
#include "call.h"

#include <string.h>

#include "stub.h"
#include "text.h"

struct func funcs[FUNCS];

static u32 nr_progs(const struct func *func)
{
	u32 kind, i, nr = 0;

	for (kind = 0; kind < NR_CALL_KINDS; kind++)
		for (i = 0; i < CALL_MEMBERS; i++)
			nr += func->member[kind][i].prog != NULL;
	return nr;
}

/* The site leads to an image with all there are, or nowhere. */
static void update(struct func *func, const struct call_prog *replaced)
{
	struct call_image *image = NULL, *old = func->image;

	if (nr_progs(func)) {
		image = call_image_make(func);
		site_poke(func->addr, SITE_CALL, image->code);
	} else {
		site_poke(func->addr, SITE_NOP, 0);
	}
	func->image = image;
	if (old)
		call_image_retire(old, image, replaced);
}

static void attach(struct call_member *member)
{
	promise_break(&member->promise);
	member->prog = call_prog_make(member);
	update(member->func, NULL);
	promise_make(&member->promise, 1);
}

static void detach(struct call_member *member)
{
	struct call_prog *prog = member->prog;

	promise_break(&member->promise);
	member->prog = NULL;
	update(member->func, NULL);
	call_leave_out(member->func, member);
	promise_make(&member->promise, 0);
	call_prog_put(prog);
}

/* As if there were no memory for a smaller image. The image goes with the next change. */
static void mute(struct call_member *member)
{
	struct call_prog *prog = member->prog;

	promise_break(&member->promise);
	member->prog = NULL;
	call_image_mute(member->func->image, prog);
	call_leave_out(member->func, member);
	promise_make(&member->promise, 0);
	call_prog_put(prog);
}

/* Another program for the same attachment: each call runs one of them. */
static void replace(struct call_member *member)
{
	struct call_prog *prog = member->prog;

	member->prog = call_prog_make(member);
	update(member->func, prog);
	call_prog_put(prog);
}

void calls_change(struct rng *rng)
{
	struct func *func = &funcs[rng_below(rng, FUNCS)];
	struct call_member *member = &func->member[rng_below(rng, NR_CALL_KINDS)]
						  [rng_below(rng, CALL_MEMBERS)];

	if (rng_chance(rng, 3))
		stub_stats(rng_chance(rng, 30));
	if (!member->prog)
		attach(member);
	else if (rng_chance(rng, 40))
		replace(member);
	else if (rng_chance(rng, 20))
		mute(member);
	else
		detach(member);
}

#define FUNC_BYTES 32

/* The NOP, then the function's number and its code. Return: how many bytes. */
static u32 func_code(const struct func *func, u8 code[FUNC_BYTES])
{
	static const u8 nop5[] = { 0x0f, 0x1f, 0x44, 0, 0 };
	struct tasm a = { .buf = code, .len = FUNC_BYTES, .off = 5, .addr = func->addr };

	memcpy(code, nop5, sizeof(nop5));
	tasm_mov_imm(&a, TASM_RCX, func->nr);
	tasm_mov_imm(&a, TASM_RAX, (u64)native_body);
	tasm_op(&a, 0xffe0);			/* jmp *%rax */
	return a.off;
}

static void put_func(struct func *func)
{
	u8 code[FUNC_BYTES];

	text_store(func->addr, code, func_code(func, code));
}

static void check_func(const struct func *func)
{
	u8 code[FUNC_BYTES], now[FUNC_BYTES];
	u32 len = func_code(func, code);

	text_read(func->addr, now, len);
	if (memcmp(now, code, len))
		native_fail("function %u is not what it was", func->nr);
}

void calls_begin(struct rng *rng)
{
	u32 nr, kind, i, id = 0;

	call_images_begin(rng_u64(rng));
	memset(funcs, 0, sizeof(funcs));
	for (nr = 0; nr < FUNCS; nr++) {
		struct func *func = &funcs[nr];

		func->nr = nr;
		/* Across the end of a cache line as often as not. */
		func->addr = TEXT_CODE + (nr + 1) * 0x1000 - rng_below(rng, 10);
		put_func(func);
		for (kind = 0; kind < NR_CALL_KINDS; kind++)
			for (i = 0; i < CALL_MEMBERS; i++)
				func->member[kind][i] = (struct call_member){
					.func = func, .kind = kind, .id = id++,
				};
	}
}

void calls_end(void)
{
	u32 nr, kind, i;

	for (nr = 0; nr < FUNCS; nr++) {
		for (kind = 0; kind < NR_CALL_KINDS; kind++)
			for (i = 0; i < CALL_MEMBERS; i++)
				if (funcs[nr].member[kind][i].prog)
					detach(&funcs[nr].member[kind][i]);
		/* The last program was muted. */
		if (funcs[nr].image)
			update(&funcs[nr], NULL);
	}
	retire_end();
	for (nr = 0; nr < FUNCS; nr++)
		check_func(&funcs[nr]);
	if (text_pages_used())
		native_fail("%u images and programs are left", text_pages_used());
}
