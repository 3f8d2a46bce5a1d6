// SPDX-License-Identifier: GPL-2.0
/*
 * Images with return programs, and those of many functions, one instruction at a time (by the
 * trap flag). Before each of them an interrupt calls the same function.
 */
#define _GNU_SOURCE	/* REG_RIP */
#include <signal.h>
#include <ucontext.h>

#include "../lib/ktap.h"
#include "ends.h"

static struct ends s;
static struct rng rng = { 0x57e9 };
static u32 steps;

/* As an interrupt it may change what a caller must save; the kernel puts that back, too. */
static void on_step(int sig, siginfo_t *info, void *context)
{
	u64 rip = (u64)((ucontext_t *)context)->uc_mcontext.gregs[REG_RIP];
	u64 salt = machine_salt;

	(void)sig;
	(void)info;
	if (rip < (u64)s.image || rip >= (u64)s.image + s.out.size || ktap_failures())
		return;
	steps++;
	if (!CHECK(ends_call(&s, s.level->site), "interrupted at %#lx", (long)(rip - (u64)s.image)))
		ktap_note("in %s", s.name);
	machine_salt = salt;
}

static void step(void)
{
	struct sigaction sa = { .sa_sigaction = on_step, .sa_flags = SA_SIGINFO };

	REQUIRE(!sigaction(SIGTRAP, &sa, NULL), "sigaction: %m");
	s.more_flags = FLAG_TF;
	steps = 0;
	ends_run(&s);
	CHECK(steps > 10, "%u instructions", steps);
}

static void own_image(void)
{
	u32 i;

	for (i = 0; i < 4; i++) {
		ends_init(&s, "own image", &rng, false);
		if (i & 1)
			ends_add(&s, ENDS_KPROBE, COOKIE, PERCPU_NEAR);
		ends_add(&s, ENDS_KRET, i & 2 ? COOKIE : 0, PERCPU_NEAR);
		ends_add(&s, ENDS_KRET, 0, PERCPU_FAR);
		step();
	}
}

static void image_of_many(void)
{
	u32 i;

	for (i = 0; i < 32; i++) {
		ends_init(&s, "image of many", &rng, true);
		if (i % 4 == 0)
			ends_add(&s, ENDS_KPROBE, MULTI | COOKIE, PERCPU_NEAR);
		else if (i % 4 == 1)
			ends_add(&s, ENDS_KRET, COOKIE, PERCPU_FAR);
		else
			ends_add(&s, ENDS_SESSION, MULTI, PERCPU_NEAR)->result = i % 4 == 3;
		s.progs[0].left_out = i & 16;
		s.env.no_indirect = i & 4;
		if (i & 8)
			s.env.return_thunk = machine_return_thunk(s.thunk_count);
		step();
	}
}

static const struct ktap_test tests[] = {
	KTAP_TEST(own_image),
	KTAP_TEST(image_of_many),
};
KTAP_MAIN(tests)
