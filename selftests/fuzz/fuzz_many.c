// SPDX-License-Identifier: GPL-2.0
/*
 * Fuzz target: images of many functions, entries, returns and sessions. They must not look at
 * what the request says of a single function.
 *
 * Input: as ends_begin() takes it. Then what is set of a single function (1), which
 * members of pt_regs are read at the entry and at the return (4 each). Then which kind of
 * programs there are (1) and how many (1), and the programs as ends_programs() takes them.
 */
#include "../../kernel/x86/detour_image.h"
#include "ends.h"

/* In the input: programs of a second kind. */
#define TWO_KINDS	0xe0

static void set_programs(struct ends *e, struct fuzz_input *in)
{
	static const u32 kinds[] = { ENDS_KPROBE, ENDS_KRET, ENDS_SESSION };
	u32 which = fuzz_take(in, 1), nr = fuzz_take(in, 1);

	if (which >= TWO_KINDS)
		e->nr_of[which % ENDS_KINDS] = 1;
	which = kinds[which % 3];
	/* one session mostly, up to all that can be of others, and one more */
	if (which == ENDS_SESSION)
		e->nr_of[which] = nr < 0xf0 ? 1 : nr & 0xf;
	else
		e->nr_of[which] = nr < 0xf0 ? nr % 4 : nr >= 0xfe ? TRAMP_X86_MAX_PROGS + (nr & 1) :
				  ENDS_MAX_KIND - (nr & 0xf);
	ends_programs(e, in);
}

int LLVMFuzzerTestOneInput(const u8 *data, size_t size)
{
	struct fuzz_input in = { data, size };
	struct ends e = { 0 };
	u32 what;

	ends_begin(&e, &in);
	e.req.many = true;
	what = fuzz_take(&in, 1);
	e.req.check_rcu = what & 1;
	e.req.site = what & 2 ? ENDS_FUNC << 16 : 0;
	e.req.orig = what & 4 ? ENDS_FUNC : 0;
	e.req.regs = fuzz_take(&in, 4);
	e.req.ret_regs = fuzz_take(&in, 4);
	if (what < 0xf0) {
		e.req.regs &= TRAMP_X86_REGS_ALL;
		e.req.ret_regs &= TRAMP_X86_REGS_ALL;
	}
	set_programs(&e, &in);
	ends_run(&e);
	return 0;
}
