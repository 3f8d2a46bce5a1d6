// SPDX-License-Identifier: GPL-2.0
/*
 * Fuzz target: entry and exit images of a single function: any prototype, any programs of
 * all kinds. Requests that contradict themselves are part of it.
 *
 * Input: as ends_begin() takes it. Then whether the function is idle, or lies where none can be
 * (1), which members of pt_regs are read at the entry and at the return (4 each). Then
 * the size of the result (1), how many arguments (1) and their sizes (1 each). Then how many
 * programs of each kind (1 each), and the programs as ends_programs() takes them.
 */
#include "../../kernel/x86/detour_image.h"
#include "ends.h"

enum { IDLE = 1, NOWHERE = 2, HIGH = 4, ALL_BITS = 8, HIGH_NAME = 16, ENDBR_FIRST = 32 };

static void set_function(struct ends *e, struct fuzz_input *in)
{
	u32 what = fuzz_take(in, 1);
	/* these are wrong only once in a while */
	u32 odd = what >= 0xe0 ? what : 0;

	e->req.check_rcu = what & IDLE;
	e->req.func_addr = e->req.site = ENDS_FUNC;
	if (!odd && what & ENDBR_FIRST)
		e->req.site += 4;
	e->req.orig = odd & NOWHERE ? 0 : e->req.site + 5;
	if (what >> 4 == 0xd)	/* and nothing else is */
		e->req.orig = (ENDS_FUNC << 16) + 5;
	if (odd & HIGH)
		e->req.site = e->req.func_addr = ENDS_FUNC << 16;
	if (odd & HIGH && !(odd & NOWHERE))
		e->req.orig = e->req.site + 5;
	if (odd & HIGH_NAME)
		e->req.func_addr = ENDS_FUNC << 16;
	e->req.regs = fuzz_take(in, 4);
	e->req.ret_regs = fuzz_take(in, 4);
	if (!(odd & ALL_BITS)) {
		e->req.regs &= TRAMP_X86_REGS_ALL;
		e->req.ret_regs &= TRAMP_X86_REGS_ALL;
	}
}

static void set_model(struct ends *e, struct fuzz_input *in)
{
	u32 i;

	/* a little more than is allowed */
	e->model.ret_size = fuzz_take(in, 1) % 10;
	e->model.nr_args = fuzz_take(in, 1) % (TRAMP_X86_MAX_ARGS + 2);
	for (i = 0; i < e->model.nr_args && i < TRAMP_X86_MAX_ARGS; i++)
		e->model.arg_size[i] = fuzz_take(in, 1) % 18;
}

/* No session is asked for at a function with arguments on the stack: the caller knows that. */
static void keep_sessions_apart(struct ends *e)
{
	u32 stack;

	tramp_x86_model_slots(&e->model, NULL, &stack);
	if (stack)
		e->nr_of[ENDS_SESSION] = 0;
}

int LLVMFuzzerTestOneInput(const u8 *data, size_t size)
{
	struct fuzz_input in = { data, size };
	struct ends e = { 0 };
	u32 kind;

	ends_begin(&e, &in);
	set_function(&e, &in);
	set_model(&e, &in);
	for (kind = 0; kind < ENDS_KINDS; kind++)
		e.nr_of[kind] = ends_count(&in);
	keep_sessions_apart(&e);
	ends_programs(&e, &in);
	ends_run(&e);
	return 0;
}
