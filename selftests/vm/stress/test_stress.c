// SPDX-License-Identifier: GPL-2.0
/*
 * Everything at once. Actors attach and detach programs in all ways (attach.c, modules.c), others
 * make the surroundings (surroundings.c, pressure.c, verify.c). All CPUs do work whose results
 * are checked (busy.h), at a lower priority, as the actors are many. Some programs stay at
 * functions that are called a known number of times (staying.c). Then our module goes and comes,
 * while the surroundings are still there.
 *
 * All that is done PARTS times. In the end the text is what it was, and memory has not grown in
 * each part. If something has, chance is given MORE_PARTS to show itself. A shorter round before
 * lets the kernel take what it takes when something is done for the first time.
 *
 * Environment: STRESS_SECONDS, default 10, on -rt 3, and once 5. STRESS_NG, where stress-ng is.
 * STRESS_DISK: there has to be a disk. STRESS_ATTACHED, how many attachments there have to be,
 * default 20. STRESS_BATCH is how many probes come in one call, default 1536, which takes some
 * kernels minutes. PROBE_SEED repeats what each actor chooses, not who comes first. `make stress`
 * has MINUTES of it.
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
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include "actors.h"
#include "busy.h"
#include "fixture.h"
#include "memory.h"
#include "probe.h"
#include "probe_functions.h"
#include "selftests/vm/lib/probe_progs.skel.h"
#include "selftests/vm/stress/stress.skel.h"

#define MAX_ACTORS	32
#define PARTS		3
#define MORE_PARTS	2
/*
 * The work of all CPUs pauses for so many times as long as it takes. Emulated CPUs take turns on
 * one: whoever holds a lock would have a fifth of it.
 */
#define IDLE		3
/* How often our module goes in each. */
#define RELOADS		3
/* From so many seconds on, what happens by chance does happen. */
#define LONG		60
/* Of an actor's steps one in so many has to do what it is there for. */
#define DONE_SHARE	20

static struct {
	bool stop[2];	/* those that attach; the surroundings */
	unsigned int ready;
	struct actor_counts counts[MAX_ACTORS];
} *shared;
enum { ATTACHING, SURROUNDING };

static struct running {
	const struct actor *actor;
	pid_t pid;
} running[MAX_ACTORS];
static unsigned int nr_running;
static struct staying *staying;

bool actors_stop(void)
{
	return __atomic_load_n(&shared->stop[ATTACHING], __ATOMIC_RELAXED);
}

/* Has an actor ended before its time? The others would wait for it. */
static void look_for_dead(void)
{
	unsigned int i;
	int status;

	for (i = 0; i < nr_running; i++)
		REQUIRE(!waitpid(running[i].pid, &status, WNOHANG), "%s ended: status %#x",
			running[i].actor->name, status);
}

/* Programs are loaded once more by some actors, which takes its time. @first: the test itself */
static void wait_for_all(bool first)
{
	while (__atomic_load_n(&shared->ready, __ATOMIC_RELAXED) < nr_attach_actors +
								   nr_surrounding_actors) {
		if (first)
			look_for_dead();
		usleep(10000);
	}
}

/* A step follows from its number and the seed alone, whatever became of those before it. */
static void act(const struct actor *a, int kind, struct actor_counts *counts, uint64_t seed)
{
	uint64_t own;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	my_counts = counts;
	/* It outlives what holds our module. */
	if (kind == SURROUNDING) {
		staying_close(staying);
		tramp_device_close();
	}
	if (a->begin)
		a->begin();
	__atomic_fetch_add(&shared->ready, 1, __ATOMIC_RELAXED);
	wait_for_all(false);
	while (!__atomic_load_n(&shared->stop[kind], __ATOMIC_RELAXED) && !ktap_failures()) {
		own = seed ^ ++counts->steps * 0xd1342543de82ef95ULL;
		a->step(&own);
		usleep(a->pause_us);
	}
	if (a->end)
		a->end();
	_exit(ktap_failures() ? EXIT_FAILURE : EXIT_SUCCESS);
}

static void start_actors(const struct actor *actors, unsigned int nr, int kind, uint64_t *seed)
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
			act(r->actor, kind, &shared->counts[nr_running], own);
		nr_running++;
	}
}

/* The last ones started. Adds to @sum; they have done what they are there for, if @whole. */
static void stop_actors(unsigned int nr, int kind, bool whole, struct actor_counts *sum)
{
	int status;

	__atomic_store_n(&shared->stop[kind], true, __ATOMIC_RELAXED);
	while (nr--) {
		const struct running *r = &running[--nr_running];
		const struct actor_counts *c = &shared->counts[nr_running];

		REQUIRE(waitpid(r->pid, &status, 0) == r->pid, "waitpid");
		CHECK(!status, "%s: status %#x", r->actor->name, status);
		CHECK(c->steps, "%s has done nothing", r->actor->name);
		if (whole)
			CHECK(c->done * DONE_SHARE >= c->steps, "%s: %lu of %lu steps did it",
			      r->actor->name, c->done, c->steps);
		ktap_note("%-18s %7lu steps, %7lu done, %7lu attached, %7lu refused",
			  r->actor->name, c->steps, c->done, c->attached, c->refused);
		sum->attached += c->attached;
		sum->at_counted += c->at_counted;
		sum->detached += c->detached;
		sum->updated += c->updated;
		sum->jumps += c->jumps;
		sum->times_full += c->times_full;
	}
}

/* The images that are there, and the tasks that are in any. */
static void name_inside(void)
{
	int status;
	char *text = run_command(&status, "grep ' trampoline_[0-9]' /proc/kallsyms;"
				 "for t in /proc/[0-9]*/task/[0-9]*; do"
				 " ! grep -q ' trampoline_[0-9]' $t/stack || cat $t/comm $t/stack; done");
	char *rest = text, *line;

	while ((line = strsep(&rest, "\n")))
		ktap_note("%s", line);
	free(text);
}

/*
 * Until nothing of ours is left. Links of processes that were killed are detached behind their
 * end, and grace periods are long where many tasks want the CPUs.
 */
static void settle(void)
{
	struct tramp_info info = tramp_module();
	int i;

	for (i = 0; i < 6000 && (info.links || info.images || info.retiring); i++) {
		usleep(100000);
		info = tramp_module();
	}
	if (i == 6000)
		name_inside();
	CHECK(i < 6000, "%u links, %u images, %u of them to be freed are left", info.links,
	      info.images, info.retiring);
}

/*
 * Our module reads the kernel's text for its first probe inside of a function. Beside all others
 * that would take most of a short part.
 */
static void read_text(void)
{
	struct attachment a = { .err = -ENOENT };
	int i;

	for (i = 0; a.err && i < ACTOR_PLACES; i++)
		a = attach_insn_try(OURS, bpf_program__fd(probe_skel->progs.count), actor_insns[i],
				    0, 0);
	REQUIRE(!a.err, "no probe: %s", strerror(-a.err));
	detach(&a);
}

/* All at once for @seconds. Adds to @sum. */
static void everything(int seconds, uint64_t *seed, struct actor_counts *sum)
{
	uint64_t calls[BUSY_FUNCS];
	bool whole = seconds >= LONG;

	read_text();
	staying = staying_attach();
	memset(shared, 0, sizeof(*shared));
	nr_running = 0;
	start_actors(surrounding_actors, nr_surrounding_actors, SURROUNDING, seed);
	start_actors(attach_actors, nr_attach_actors, ATTACHING, seed);
	wait_for_all(true);
	setpriority(PRIO_PROCESS, 0, WORK_NICE);
	busy(seconds, calls);
	setpriority(PRIO_PROCESS, 0, 0);
	stop_actors(nr_attach_actors, ATTACHING, whole, sum);
	staying_check(staying, calls);
	settle();
	reload(RELOADS);
	stop_actors(nr_surrounding_actors, SURROUNDING, whole, sum);
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

static void measure(struct memory *m)
{
	settle();
	wait_for_sockets();
	memory_measure(m);
}

static void setup(uint64_t *seed)
{
	bool disk = !access("/mnt/lost+found", F_OK);

	REQUIRE(disk || !getenv("STRESS_DISK"), "the disk is not there");
	/* Where there is no disk, stress-ng has its files in memory. */
	REQUIRE(!mkdir("/mnt", 0755) || errno == EEXIST, "/mnt: %s", strerror(errno));
	if (disk)
		busy_files("/mnt");
	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
		      0);
	REQUIRE(shared != MAP_FAILED, "memory: %s", strerror(errno));
	busy_idle(IDLE);
	probe_many_files();
	group_setup();
	actors_setup(seed);
}

/* Whether it was what it is meant to be, in PARTS of @seconds, or more. */
static void check_counts(const struct actor_counts *c, int seconds, int parts, uint64_t kills)
{
	uint64_t wanted = (uint64_t)env_int("STRESS_ATTACHED", 20) * parts / PARTS;

	ktap_note("%lu attached, %lu detached in %d s; %lu updated, %lu jumps seen; memory was "
		  "short %lu times, %lu processes killed for want of it",
		  c->attached, c->detached, seconds * parts / PARTS, c->updated, c->jumps,
		  c->times_full, kills);
	ktap_note("%lu attached at functions whose calls are counted", c->at_counted);
	CHECK(c->attached >= wanted, "only %lu attached, not %lu", c->attached, wanted);
	CHECK(c->at_counted >= (uint64_t)parts, "only %lu of them beside those that stay",
	      c->at_counted);
	CHECK_EQ(actor_progs->bss->unpaired, 0, "returns without their entry");
	if (seconds < LONG * PARTS)
		return;
	CHECK(c->updated, "no link was updated");
	CHECK(c->jumps, "no probe was a jump");
	CHECK(actor_progs->bss->returned, "no session saw a return");
	CHECK(c->times_full, "memory was never short");
	CHECK(kills >= (uint64_t)parts, "%lu processes ran out of memory", kills);
}

static void test_everything(void)
{
	int dev = fixture_open("about our module"), part;
	uint64_t seed = rnd_seed(), kills;
	int seconds = env_int("STRESS_SECONDS", kernel_is_rt() ? 3 : 10);
	struct actor_counts sum = {}, first = {};
	static struct memory memory[PARTS + MORE_PARTS + 1];
	uint8_t *text;

	setup(&seed);
	text = text_take(dev);
	everything(seconds / 10 + 3, &seed, &first);
	measure(&memory[0]);
	kills = group_kills();

	for (part = 0; part < PARTS ||
		       (part < PARTS + MORE_PARTS && memory_grows(memory, part + 1)); part++) {
		/* With a failure actors end at once, and a part shows nothing. */
		REQUIRE(!ktap_failures(), "part %d is left out", part + 1);
		everything((seconds + PARTS - 1) / PARTS, &seed, &sum);
		measure(&memory[part + 1]);
		ktap_note("part %d is done", part + 1);
	}
	check_counts(&sum, seconds, part, group_kills() - kills);
	group_remove();
	memory_flat(memory, part + 1);
	memory_compare(&memory[0], &memory[part], sum.attached);
	text_check(dev, text);
	free(text);
}

/* One part, without a look at memory, which takes longer to say anything: for make test. */
static void test_once(void)
{
	int dev = fixture_open("about our module");
	uint64_t seed = rnd_seed();
	struct actor_counts sum = {};
	uint8_t *text;

	setup(&seed);
	text = text_take(dev);
	everything(env_int("STRESS_SECONDS", 5), &seed, &sum);
	settle();
	group_remove();
	ktap_note("%lu attached, %lu detached", sum.attached, sum.detached);
	CHECK(sum.attached >= 20, "only %lu attached", sum.attached);
	text_check(dev, text);
	free(text);
}

static const struct ktap_test tests[] = {
	{ "once", test_once, 300 },
	{ "everything", test_everything, 300 },
};

KTAP_MAIN(tests)
