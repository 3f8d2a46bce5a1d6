// SPDX-License-Identifier: GPL-2.0
/*
 * Attaching and detaching without end while the functions run on all CPUs.
 *
 * A cycle is one attach and one detach. Programs come one by one until 38 are on the function
 * and go one by one until none is, entry and exit programs mixed, on two functions in turn. On
 * one of them two further programs stay from beginning to end and must see every single call.
 * The other loses its last program in each round, so that its site is written anew. In between
 * a third function, which nobody else calls, is called a known number of times.
 *
 * At the end everything is as it was: the text of the functions, the memory of
 * the kernel, the list of its symbols.
 *
 * Environment: CHURN_CYCLES, default 2000, on -rt, which is slower, 260; CHURN_SECONDS of
 * random work, default 10. selftests/stress/probes has more of both.
 *
 * An object that is lost in each cycle must stand out. A quarter of the cycles and 48 objects are
 * let pass by memory_compare(): 65 cycles show any.
 */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
#include <linux/types.h>
#include "memory.h"
#include "fixture.h"
#include "probe.h"
#include "record.h"
#include "selftests/vm/lib/record.skel.h"

#define MAX_PROGS	38
/* Cookies: 0..37 come and go, then those that stay and those of counted calls. */
#define STAY_ENTRY	100
#define STAY_EXIT	101
#define COUNT_ENTRY	102
#define COUNT_EXIT	103

#define WATCHED		"tt_hot0"	/* has programs all the time */
#define BARE		"tt_hot1"	/* loses its last one again and again */
#define COUNTED		"tt_hot2"	/* called by us only */

static struct record *skel;
static int dev;

static void setup(void)
{
	dev = fixture_open("the kernel's own takes 0.15 s a detach");
	skel = FIXTURE_LOAD(record);
}

/* ------------------------------------------------------------------- load --- */

/*
 * Calls in bursts. The pause leaves the CPUs of a slow virtual machine to the
 * one who attaches for part of the time; the calls still run into its changes.
 */
static void load(int fd, unsigned int round)
{
	struct tt_reply r = tt_call(fd, WATCHED " n=150 41");

	(void)round;
	CHECK(r.result == 42 && !r.different, "%s returned %lu", WATCHED, r.result);
	r = tt_call(fd, BARE " n=150 40");
	CHECK(r.result == 42 && !r.different, "%s returned %lu", BARE, r.result);
	usleep(5000);
}

/* ------------------------------------------------------------------- churn --- */

static const char *const targets[2] = { WATCHED, BARE };
static int progs[2][MAX_PROGS];
static int counted_prog[2];

static void load_programs(void)
{
	int t, i;

	for (t = 0; t < 2; t++)
		for (i = 0; i < MAX_PROGS; i++) {
			bool is_exit = i % 3 == 1;

			progs[t][i] = prog_clone(is_exit ? skel->progs.count_exit :
						 skel->progs.count_entry, targets[t],
						 is_exit ? BPF_TRACE_FEXIT : BPF_TRACE_FENTRY);
		}
	counted_prog[0] = prog_clone(skel->progs.count_entry, COUNTED, BPF_TRACE_FENTRY);
	counted_prog[1] = prog_clone(skel->progs.count_exit, COUNTED, BPF_TRACE_FEXIT);
}

/* Attach, call, detach, call: exactly the calls in between are seen. 2 cycles. */
static void counted_calls(int n)
{
	volatile __u64 *counted = skel->bss->counted;
	__u64 before[2] = { counted[COUNT_ENTRY], counted[COUNT_EXIT] };
	struct attachment a = attach_func(OURS, counted_prog[0], &(uint64_t){ COUNT_ENTRY });
	struct attachment b = attach_func(OURS, counted_prog[1], &(uint64_t){ COUNT_EXIT });

	tt_call(dev, COUNTED " n=%d 1", n);
	detach(&a);
	detach(&b);
	tt_call(dev, COUNTED " n=7 1");
	CHECK_EQ(counted[COUNT_ENTRY] - before[0], n, "counted calls at entry");
	CHECK_EQ(counted[COUNT_EXIT] - before[1], n, "counted calls at exit");
}

/* How far the waves have come; a child shares it. */
struct progress {
	unsigned long attached, detached;
};
static struct progress own_progress;
static volatile struct progress *progress = &own_progress;

/* One wave up to @top programs and down to none: @top cycles, and 2 counted ones. */
static int wave(int round, int top)
{
	const int t = round % 2;
	struct attachment a[MAX_PROGS];
	int i;

	for (i = 0; i < top; i++) {
		a[i] = attach_func(OURS, progs[t][i], &(uint64_t){ i });
		progress->attached++;
	}
	counted_calls(20 + round % 13);
	/* Down in another order: oldest first, newest first, by turns. */
	for (i = 0; i < top; i++) {
		detach(&a[round % 3 ? i : top - 1 - i]);
		progress->detached++;
	}
	return top + 2;
}

static int churn(int cycles)
{
	int done = 0, round = 0;

	while (done < cycles) {
		/* 1 to 38 programs: full waves and shorter ones. */
		int top = round % 4 == 3 ? round * 7 % MAX_PROGS + 1 : MAX_PROGS;

		done += wave(round++, top);
	}
	return done;
}

static void read_text(char text[3][64])
{
	static const char *const names[] = { WATCHED, BARE, COUNTED };
	int i;

	for (i = 0; i < 3; i++)
		REQUIRE(!tt_command(dev, text[i], 64, "text %s 16", names[i]), "text");
}

static void test_churn(void)
{
	static struct memory before, after;
	char text[2][3][64];
	struct tramp_query entry, exit_;
	struct attachment stay[2];
	uint64_t calls, start;
	int cycles = env_int("CHURN_CYCLES", kernel_is_rt() ? 260 : short_form(2000, 700)), done, i;

	setup();
	read_text(text[0]);
	load_programs();
	stay[0] = attach_func(OURS, prog_clone(skel->progs.count_entry, WATCHED, BPF_TRACE_FENTRY),
			      &(uint64_t){ STAY_ENTRY });
	stay[1] = attach_func(OURS, prog_clone(skel->progs.count_exit, WATCHED, BPF_TRACE_FEXIT),
			      &(uint64_t){ STAY_EXIT });
	calls = tt_calls(dev, WATCHED);

	/* The things allocated once and kept are there after the first waves. */
	callers_start(load);
	churn(120);
	callers_stop();
	CHECK(tramp_settle(), "images wait to be freed for 30 s");
	memory_measure(&before);

	start = now_ns();
	callers_start(load);
	done = churn(cycles);
	callers_stop();
	ktap_note("%d cycles in %lu ms", done, (now_ns() - start) / 1000000);
	CHECK(tramp_settle(), "images wait to be freed for 30 s");
	memory_measure(&after);

	/* Not one call was lost on those that stayed, nor seen twice. */
	calls = tt_calls(dev, WATCHED) - calls;
	entry = attachment_query(&stay[0]);
	exit_ = attachment_query(&stay[1]);
	ktap_note("%lu calls of %s: %llu run and %llu missed at entry, %llu and %llu at exit", calls,
		  WATCHED, (unsigned long long)entry.hits, (unsigned long long)entry.misses,
		  (unsigned long long)exit_.hits, (unsigned long long)exit_.misses);
	CHECK_EQ(entry.hits + entry.misses, calls, "entry: run or missed");
	CHECK_EQ(exit_.hits + exit_.misses, calls, "exit: run or missed");
	CHECK_EQ(entry.hits, skel->bss->counted[STAY_ENTRY], "hits, as the program counted");
	CHECK_EQ(exit_.hits, skel->bss->counted[STAY_EXIT], "hits, as the program counted");
	if (!kernel_is_rt()) {
		CHECK_EQ(entry.misses, 0, "missed at entry with preemption off");
		CHECK_EQ(exit_.misses, 0, "missed at exit with preemption off");
	}
	for (i = 0; i < MAX_PROGS; i++)
		CHECK(skel->bss->counted[i], "program %d was never run", i);

	detach(&stay[0]);
	detach(&stay[1]);
	read_text(text[1]);
	for (i = 0; i < 3; i++)
		CHECK(!strcmp(text[0][i], text[1][i]), "text is %s, was %s", text[1][i],
		      text[0][i]);
	memory_compare(&before, &after, done);
}

/* -------------------------------------------------- everybody at once, at random --- */

struct worker {
	pthread_t thread;
	unsigned int seed;
	int first;		/* its targets: first, first + 1, ... */
	unsigned long operations;
};

#define PER_WORKER	8
#define NR_WORKERS	4
#define WORKER_PROGS	4

static volatile bool stop_working;

/* Its own functions and programs: attach, detach, update, call, in any order. */
static void *work(void *arg)
{
	struct worker *w = arg;
	struct tramp_link *link[PER_WORKER][WORKER_PROGS] = {};
	int prog[PER_WORKER][WORKER_PROGS], spare[PER_WORKER], own = tt_open(), t, p;
	char func[32];

	for (t = 0; t < PER_WORKER; t++) {
		sprintf(func, "tt_many%02d", w->first + t);
		for (p = 0; p < WORKER_PROGS; p++)
			prog[t][p] = prog_clone(p % 2 ? skel->progs.count_exit :
						skel->progs.count_entry, func,
						p % 2 ? BPF_TRACE_FEXIT : BPF_TRACE_FENTRY);
		spare[t] = prog_clone(skel->progs.count_entry_too, func, BPF_TRACE_FENTRY);
	}
	while (!stop_working) {
		TRAMP_OPTS(tramp_attach_opts, opts);
		int what;

		t = rand_r(&w->seed) % PER_WORKER;
		p = rand_r(&w->seed) % WORKER_PROGS;
		what = rand_r(&w->seed) % 8;
		w->operations++;
		if (what < 2) {
			sprintf(func, "tt_many%02d", w->first + t);
			tt_call(own, "%s n=50 1", func);
		} else if (!link[t][p]) {
			link[t][p] = tramp_attach_fd(prog[t][p], &opts);
			CHECK(link[t][p], "%s", tramp_last_error()->message);
		} else if (what == 2 && p == 0) {
			/* To the spare program, and back. */
			CHECK(!tramp_link__update_fd(link[t][p], spare[t]), "%s",
			      tramp_last_error()->message);
			CHECK(!tramp_link__update_fd(link[t][p], prog[t][p]), "%s",
			      tramp_last_error()->message);
		} else if (what == 3) {
			CHECK(!tramp_link__detach(link[t][p]), "%s", tramp_last_error()->message);
			tramp_link__destroy(link[t][p]);
			link[t][p] = NULL;
		} else {
			tramp_link__destroy(link[t][p]);
			link[t][p] = NULL;
		}
	}
	for (t = 0; t < PER_WORKER; t++)
		for (p = 0; p < WORKER_PROGS; p++)
			tramp_link__destroy(link[t][p]);
	close(own);
	return NULL;
}

/*
 * A walk goes up through the ids. Links that are made meanwhile have higher ones,
 * so while others attach without end it may never get there: end it in time.
 */
static uint64_t end_of_walks;

static int count_link(const struct tramp_link_info *info, void *ctx)
{
	(void)info;
	(*(unsigned long *)ctx)++;
	return now_ns() > end_of_walks;
}

static void test_random(void)
{
	static struct worker worker[NR_WORKERS];
	int seconds = env_int("CHURN_SECONDS", 10), i;
	unsigned long operations = 0, seen = 0;
	char text[2][64];

	setup();
	REQUIRE(!tt_command(dev, text[0], sizeof(text[0]), "text tt_many00 16"), "text");
	/* The BTF is loaded here, once: the clones of all threads read it. */
	func_btf("tt_many00");
	for (i = 0; i < NR_WORKERS; i++) {
		worker[i].first = i * PER_WORKER;
		worker[i].seed = 4711 + i;
		REQUIRE(!pthread_create(&worker[i].thread, NULL, work, &worker[i]), "thread");
	}
	/* Meanwhile look at everything that can be looked at. */
	end_of_walks = now_ns() + seconds * 1000000000ULL;
	while (now_ns() < end_of_walks) {
		CHECK(tramp_for_each(count_link, &seen) >= 0, "%s", tramp_last_error()->message);
		free(read_file("/sys/kernel/debug/trampoline/list"));
		tramp_module();
		usleep(20000);
	}
	stop_working = true;
	for (i = 0; i < NR_WORKERS; i++) {
		pthread_join(worker[i].thread, NULL);
		operations += worker[i].operations;
	}
	ktap_note("%lu operations, %lu links seen", operations, seen);
	CHECK(operations > 50, "only %lu operations", operations);
	REQUIRE(!tt_command(dev, text[1], sizeof(text[1]), "text tt_many00 16"), "text");
	CHECK(!strcmp(text[0], text[1]), "text is %s, was %s", text[1], text[0]);
}

/* -------------------------------------------------- processes that die at random --- */

static void test_killed_at_random(void)
{
	unsigned int at_work = 0, with_links = 0;
	uint64_t wave_us;
	int round, status;

	setup();
	progress = mmap(NULL, sizeof(*progress), PROT_READ | PROT_WRITE,
			MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	REQUIRE(progress != MAP_FAILED, "memory");
	load_programs();
	callers_start(load);
	wave_us = now_ns();
	wave(0, 6);
	wave_us = (now_ns() - wave_us) / 1000;
	/* Killed within a wave, however long one takes on a machine so busy. */
	for (round = 0; round < 40; round++) {
		pid_t pid;

		progress->attached = 0;
		progress->detached = 0;
		pid = fork();
		REQUIRE(pid >= 0, "fork");
		if (!pid) {
			while (!ktap_failures())
				wave(0, 6);
			_exit(1);
		}
		usleep(20000 + round * 7919 % 100 * wave_us / 100);
		kill(pid, SIGKILL);
		waitpid(pid, &status, 0);
		at_work += progress->attached > 0;
		with_links += progress->attached > progress->detached;
		CHECK(WIFSIGNALED(status), "the child ended by itself: %#x", status);
		CHECK_EQ(tramp_module().links, 0, "links of a dead process");
	}
	callers_stop();
	ktap_note("a wave takes %lu us; %u of %d had attached something, %u had links", wave_us,
		  at_work, round, with_links);
	CHECK(with_links > 10, "%u were killed with links", with_links);
}

static const struct ktap_test tests[] = {
	{ "churn", test_churn, 700 },
	{ "random", test_random, 400 },
	{ "killed_at_random", test_killed_at_random, 400 },
};

KTAP_MAIN(tests)
