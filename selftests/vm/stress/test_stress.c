// SPDX-License-Identifier: GPL-2.0
/*
 * Everything at once. Actors attach and detach programs in all ways (attach.c, modules.c), others
 * make the surroundings (surroundings.c, pressure.c). All CPUs do work whose results are checked
 * (busy.h), at a low priority, as the actors are many. Three programs stay from beginning to end
 * at functions that are called a known number of times: each call is run or missed, and counted.
 * In the end text and memory are what they were after a first, short round.
 *
 * Environment: STRESS_SECONDS, default 10, on -rt 3; STRESS_NG, where stress-ng is. PROBE_SEED
 * repeats what each actor chooses, not who comes first. `make stress` has MINUTES of it.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#include "actors.h"
#include "busy.h"
#include "fixture.h"
#include "memory.h"
#include "probe.h"
#include "probe_functions.h"
#include "record.h"
#include "selftests/vm/lib/probe_progs.skel.h"
#include "selftests/vm/lib/record.skel.h"

#define MAX_ACTORS 32

static struct {
	bool stop;
	unsigned int ready;
	struct actor_counts counts[MAX_ACTORS];
} *shared;

static struct running {
	const struct actor *actor;
	pid_t pid;
} running[MAX_ACTORS];
static unsigned int nr_running;

/* Programs are loaded once more by some actors, which takes its time. */
static void wait_for_all(void)
{
	while (__atomic_load_n(&shared->ready, __ATOMIC_RELAXED) < nr_attach_actors +
								   nr_surrounding_actors)
		usleep(10000);
}

static void act(const struct actor *a, struct actor_counts *counts, uint64_t seed)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	my_counts = counts;
	if (a->begin)
		a->begin();
	__atomic_fetch_add(&shared->ready, 1, __ATOMIC_RELAXED);
	wait_for_all();
	while (!__atomic_load_n(&shared->stop, __ATOMIC_RELAXED) && !ktap_failures()) {
		a->step(&seed);
		counts->steps++;
		usleep(a->pause_us);
	}
	if (a->end)
		a->end();
	_exit(ktap_failures() ? EXIT_FAILURE : EXIT_SUCCESS);
}

static void start_actors(const struct actor *actors, unsigned int nr, uint64_t *seed)
{
	unsigned int i;

	for (i = 0; i < nr; i++) {
		uint64_t own = rnd(seed);
		struct running *r = &running[nr_running];

		REQUIRE(nr_running < MAX_ACTORS, "too many actors");
		r->actor = &actors[i];
		r->pid = fork();
		REQUIRE(r->pid >= 0, "fork: %s", strerror(errno));
		if (!r->pid)
			act(r->actor, &shared->counts[nr_running], own);
		nr_running++;
	}
}

/* Return: attachments made. */
static uint64_t stop_actors(void)
{
	uint64_t attached = 0;
	unsigned int i;
	int status;

	__atomic_store_n(&shared->stop, true, __ATOMIC_RELAXED);
	for (i = 0; i < nr_running; i++) {
		const struct actor_counts *c = &shared->counts[i];

		REQUIRE(waitpid(running[i].pid, &status, 0) == running[i].pid, "waitpid");
		CHECK(!status, "%s: status %#x", running[i].actor->name, status);
		CHECK(c->steps, "%s has done nothing", running[i].actor->name);
		ktap_note("%-18s %7lu steps, %7lu attached, %7lu refused", running[i].actor->name,
			  c->steps, c->attached, c->refused);
		attached += c->attached;
	}
	return attached;
}

/* Programs that stay: at entry and exit of tt_hot0, and inside of tt_hot1. */
enum { ENTRY, EXIT, INSIDE, STAYING };
static const int called[STAYING] = { 0, 0, 1 };

static void attach_staying(struct attachment *stay, struct record *record)
{
	struct probe_func f;

	stay[ENTRY] = attach_func(OURS, prog_clone(record->progs.count_entry, "tt_hot0",
						   BPF_TRACE_FENTRY), NULL);
	stay[EXIT] = attach_func(OURS, prog_clone(record->progs.count_exit, "tt_hot0",
						  BPF_TRACE_FEXIT), NULL);
	REQUIRE(!probe_explain(&f, 0, "tt_hot1", false) && f.nr > 2, "instructions of tt_hot1");
	stay[INSIDE] = attach_insn(OURS, bpf_program__fd(probe_skel->progs.count),
				   f.addr + f.insns[f.nr > 3 ? 2 : 1].offset, 0, 0);
	probe_func_free(&f);
}

/* All at once for @seconds. Return: attachments made; @calls as busy() has them. */
static uint64_t everything(int seconds, uint64_t *calls, uint64_t *seed)
{
	memset(shared, 0, sizeof(*shared));
	nr_running = 0;
	start_actors(attach_actors, nr_attach_actors, seed);
	start_actors(surrounding_actors, nr_surrounding_actors, seed);
	wait_for_all();
	setpriority(PRIO_PROCESS, 0, 19);
	busy(seconds, calls);
	setpriority(PRIO_PROCESS, 0, 0);
	return stop_actors();
}

/*
 * A TCP socket that was closed first stays for a minute (TIME_WAIT), with two objects for its port.
 * That is memory of the work, which would count as lost.
 */
static void wait_for_sockets(void)
{
	uint64_t end = now_ns() + 90000000000ULL, waiting;

	do {
		char *text = read_file("/proc/net/sockstat");

		waiting = number_after(text, " tw ", 0);
		free(text);
		if (waiting)
			usleep(500000);
	} while (waiting && now_ns() < end);
	CHECK_EQ(waiting, 0, "sockets that wait for their end");
}

static void test_everything(void)
{
	static struct memory before, after;
	struct attachment stay[STAYING];
	uint64_t calls[BUSY_FUNCS], attached, hits, misses, seed = rnd_seed();
	int seconds = env_int("STRESS_SECONDS", kernel_is_rt() ? 3 : 10), i;
	struct record *record;
	uint8_t *text;

	/* The machine of `make stress` has one. */
	if (!access("/mnt/lost+found", F_OK))
		busy_files("/mnt");
	i = fixture_open("about our module");
	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
		      0);
	REQUIRE(shared != MAP_FAILED, "memory: %s", strerror(errno));
	probe_many_files();
	record = FIXTURE_LOAD(record);
	group_setup();
	actors_setup(&seed);
	text = text_take(i);
	/* The kernel takes memory for good when something is done for the first time. */
	everything(seconds / 10 + 3, calls, &seed);
	CHECK(tramp_settle(), "images wait to be freed");
	wait_for_sockets();
	memory_measure(&before);

	attach_staying(stay, record);
	attached = everything(seconds, calls, &seed);
	for (i = 0; i < STAYING; i++) {
		attachment_counts(&stay[i], &hits, &misses);
		ktap_note("%lu calls: %lu run, %lu missed", calls[called[i]], hits, misses);
		CHECK_EQ(hits + misses, calls[called[i]], "program %d: run or missed", i);
		detach(&stay[i]);
	}
	ktap_note("%lu attached in %d s; %lu processes killed for want of memory", attached,
		  seconds, group_kills());
	CHECK(group_kills() || seconds < 60, "no process ran out of memory");
	group_remove();
	CHECK(attached > 20, "only %lu attached", attached);

	CHECK(tramp_settle(), "images wait to be freed");
	wait_for_sockets();
	memory_measure(&after);
	memory_compare(&before, &after, attached);
	text_check(tt_open(), text);
}

static const struct ktap_test tests[] = {
	{ "everything", test_everything, 240 },
};

KTAP_MAIN(tests)
