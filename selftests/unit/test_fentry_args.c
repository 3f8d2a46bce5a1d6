// SPDX-License-Identifier: GPL-2.0
/*
 * Entry and exit images, executed: arguments of every size, number and order.
 * The checks of every scene stand in scene.c.
 */
#include <stdio.h>
#include <string.h>

#include "../lib/ktap.h"
#include "scene.h"

static struct scene s;
static struct rng rng = { 0x1234567 };

/* Every kind of image for the prototype in s.model; the scene is rebuilt each time. */
static void all_images(const char *name, const char *sizes)
{
	static const u8 nr[][3] = {
		{ 1, 0, 0 }, { 0, 1, 0 }, { 0, 0, 1 }, { 1, 0, 1 }, { 1, 1, 1 }, { 2, 2, 2 },
	};
	u32 i;

	for (i = 0; i < sizeof(nr) / sizeof(nr[0]); i++) {
		scene_simple(&s, name, &rng, sizes, nr[i][0], nr[i][1], nr[i][2]);
		s.odd_stack = i & 1;
		if (!scene_run(&s))
			return;
		scene_simple(&s, name, &rng, sizes, nr[i][0], nr[i][1], nr[i][2]);
		s.odd_stack = !(i & 1);
		s.flags |= FLAG_DF;
		scene_call(&s, &s.progs[0])->flags |= NARGS;
		if (!scene_run(&s))
			return;
	}
}

/* 0 to 12 arguments of 8 bytes. */
static void args_register_sized(void)
{
	char sizes[64] = "";
	u32 i;

	for (i = 0; i <= TRAMP_X86_MAX_ARGS; i++) {
		all_images("register-sized", sizes);
		strcat(sizes, "8 ");
	}
}

/* Every size at every place of 1 to 8 arguments; the lone stack slot included. */
static void args_every_size(void)
{
	u32 nr, at, size, i;

	for (nr = 1; nr <= 8; nr++) {
		for (at = 0; at < nr; at++) {
			for (size = 1; size <= 16; size++) {
				char sizes[64] = "";

				for (i = 0; i < nr; i++)
					sprintf(sizes + strlen(sizes), "%u ", i == at ? size : 8);
				all_images("every size", sizes);
			}
		}
	}
}

/*
 * Every sequence of one-slot and two-slot arguments of up to 12 slots: those in
 * which a later argument gets a register after a struct did not are among them.
 */
static u32 sequences(char *sizes, u32 slots)
{
	size_t end = strlen(sizes);
	u32 nr = 1;

	if (ktap_failures())
		return 0;
	all_images("one and two slots", sizes);
	if (slots + 1 <= TRAMP_X86_MAX_SLOTS) {
		strcpy(sizes + end, "4 ");
		nr += sequences(sizes, slots + 1);
	}
	if (slots + 2 <= TRAMP_X86_MAX_SLOTS) {
		strcpy(sizes + end, "12 ");
		nr += sequences(sizes, slots + 2);
	}
	sizes[end] = 0;
	return nr;
}

static void args_every_sequence(void)
{
	char sizes[64] = "";

	ktap_note("%u prototypes", sequences(sizes, 0));
}

/* Known values, written down: the oracle places arguments by a rule of its own. */
static void args_disorder(void)
{
	/* five registers, a struct that no longer fits, a sixth argument that does */
	scene_simple(&s, "disorder", &rng, "8 8 8 8 8 16 1", 1, 0, 1);
	s.regs[R9] = 0x66;
	s.slot[7] = 0x66;
	scene_run(&s);
	CHECK_EQ(s.call.in[R9], 0x66, "the last argument is passed in r9");
	CHECK_EQ(s.call.stack[0], s.slot[5], "the struct is passed on the stack");
	CHECK_EQ(s.call.stack[1], s.slot[6], "the struct is passed on the stack");
	CHECK_EQ(s.call.nr_stack, 2, "");
}

/* The frame at its largest: displacements that do not fit into a byte. */
static void largest_frame(void)
{
	u32 odd;

	for (odd = 0; odd < 2; odd++) {
		scene_simple(&s, "largest frame", &rng, "8 8 8 8 8 16 16 16 8", 1, 1, 1);
		s.env.run_ctx_size = TRAMP_X86_MAX_RUN_CTX;
		s.env.run_ctx_cookie = 56;
		s.env.run_ctx_saved = 48;
		s.calls[0].flags = GUARDED | COOKIE | IP;
		s.calls[1].flags = COOKIE | NARGS;
		s.odd_stack = odd;
		scene_run(&s);
	}
}

static const struct ktap_test tests[] = {
	KTAP_TEST(args_register_sized),
	KTAP_TEST(args_every_size),
	KTAP_TEST(args_every_sequence),
	KTAP_TEST(args_disorder),
	KTAP_TEST(largest_frame),
};
KTAP_MAIN(tests)
