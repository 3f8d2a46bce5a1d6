// SPDX-License-Identifier: GPL-2.0
/*
 * Jumps in images that may be executed are changed while no CPU comes or goes (kernel/prog/image.c:
 * tramp_image_poke(), kernel/func/skip.c). One on its way would not be synced.
 */
#include <unistd.h>
#include "fixture.h"
#include "many.h"
#include "probe.h"
#include "record.h"
#include "selftests/vm/func/pokes.skel.h"
#include "selftests/vm/lib/probe_progs.skel.h"
#include "selftests/vm/lib/record.skel.h"


static struct pokes *skel;

static void watch(const struct bpf_program *prog, const char *func)
{
	REQUIRE(ksym_addr(func), "no %s", func);
	attach_insn(KERNEL, bpf_program__fd(prog), ksym_addr(func), 0, 0);
}

static void setup(void)
{
	fixture_open("about images, which the kernel has not");
	probe_setup();
	if (!ksym_addr("ftrace_lock"))
		ktap_skip("kallsyms has no data");
	skel = pokes__open();
	REQUIRE(skel, "open");
	skel->rodata->only_pid = getpid();
	skel->rodata->ftrace_lock = ksym_addr("ftrace_lock");
	REQUIRE(!pokes__load(skel), "load");
	watch(skel->progs.on_lock, "cpus_read_lock");
	watch(skel->progs.on_unlock, "cpus_read_unlock");
	watch(skel->progs.on_poke, "bpf_arch_text_poke");
	watch(skel->progs.on_queue, "text_poke_queue");
	skel->bss->depth = 0;
}

/* Something was changed since this was asked last, and never without the lock. */
static void expect_still(const char *what)
{
	ktap_note("%s: %lu changes, %lu noted", what, (unsigned long)skel->bss->pokes,
		  (unsigned long)skel->bss->queued);
	CHECK(skel->bss->pokes + skel->bss->queued, "%s: nothing was changed", what);
	CHECK_EQ(skel->bss->bare, 0, "%s: changes while CPUs may come and go", what);
	skel->bss->pokes = skel->bss->queued = skel->bss->bare = 0;
}

/* A single program comes to one of many functions, and goes; the many go before another. */
static void test_gate(void)
{
	struct many *m = many_new();
	struct attachment one;
	int prog;

	setup();
	prog = bpf_program__fd(probe_skel->progs.count);
	many_add_name(m, "tt_hot0");
	many_add_name(m, "tt_hot1");
	many_attach(m, bpf_program__fd(probe_skel->progs.nothing), 0);
	one = attach_insn(OURS, prog, ksym_addr("tt_hot1"), 0, 0);
	expect_still("one comes");
	detach(&one);
	expect_still("one goes");
	one = attach_insn(OURS, prog, ksym_addr("tt_hot1"), 0, 0);
	expect_still("one comes again");
	many_detach(m);
	expect_still("many go");
	detach(&one);
	pokes__destroy(skel);
}

/* An exit program goes, and another stays: calls that return leave it out. */
static void test_skip(void)
{
	struct record *record = FIXTURE_LOAD(record);
	struct attachment exits[2];
	int i;

	setup();
	for (i = 0; i < 2; i++)
		exits[i] = attach_func(OURS, prog_clone(record->progs.count_exit, "tt_hot0",
							BPF_TRACE_FEXIT), NULL);
	skel->bss->pokes = skel->bss->queued = skel->bss->bare = 0;
	detach(&exits[0]);
	expect_still("an exit program goes");
	detach(&exits[1]);
	expect_still("the other one goes");
	record__destroy(record);
	pokes__destroy(skel);
}

static const struct ktap_test tests[] = {
	{ "gate", test_gate, 60 },
	{ "skip", test_skip, 60 },
};

KTAP_MAIN(tests)
