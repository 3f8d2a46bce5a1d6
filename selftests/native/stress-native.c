// SPDX-License-Identifier: GPL-2.0
/*
 * The plans and images of the module under real parallelism: see native.h.
 *
 *	stress-native [OPTION...] [--list | NAME...]
 *
 *	--seconds N	for all tests without a planted mistake together (60)
 *	--passes N	so many passes of "probes" and calls of "calls", however long it takes
 *	--seed S	of the first round; the others count up from it
 *	--threads N	runners (as many as there are processors)
 *	--order HOW	written, any or mixed (mixed): see text.h
 *	--plant NAME	make this mistake in the tests without one; they should fail then
 *	--plants	name them
 */
#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../lib/ktap.h"
#include "plant.h"
#include "rounds.h"
#include "text.h"

/* A planted mistake has to be found in so many seconds. A few are what it takes. */
#define PLANT_SECONDS	60	/* beside machines that keep all processors busy */

/* The exit status of a test that ktap_skip() has ended (ktap.c). */
#define SKIPPED		4

static void probes_test(void)
{
	rounds_of_probes(native.seconds * 2 / 3);
}

static void calls_test(void)
{
	rounds_of_calls(native.seconds / 3);
}

/* Planted mistakes ----------------------------------------------------------- */

/* In a process of its own, whose output is @out. */
static void run_planted(const struct plant *p, int out)
{
	dup2(out, STDOUT_FILENO);
	/* A runner may hang in what it has come to. */
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	alarm(PLANT_SECONDS + 10);
	native.plant = p;
	native.passes = 0;
	if (p->calls)
		rounds_of_calls(PLANT_SECONDS);
	else
		rounds_of_probes(PLANT_SECONDS);
	exit(native_failed());
}

/*
 * The first line of what was said, in @line. Return: whether a check of ours failed, which says in
 * which round; not the test's means, and not a crash that nobody looked at.
 */
static bool read_report(int in, char *line, size_t size)
{
	FILE *f = fdopen(in, "r");
	bool checked = false;
	char more[400];

	REQUIRE(f, "fdopen: %m");
	if (!fgets(line, (int)size, f))
		snprintf(line, size, "# nothing was said");
	while (fgets(more, sizeof(more), f))
		checked |= !!strstr(more, "the round's seed");
	fclose(f);
	line[strcspn(line, "\n")] = 0;
	return checked;
}

static void planted(const char *name)
{
	const struct plant *p = plant_find(name);
	double begin = native_now(), took;
	char line[400];
	int pipes[2], status;
	bool found;
	pid_t pid;

	REQUIRE(p, "no mistake is called %s", name);
	REQUIRE(!pipe(pipes), "pipe: %m");
	fflush(stdout);
	pid = fork();
	REQUIRE(pid >= 0, "fork: %m");
	if (!pid) {
		close(pipes[0]);
		run_planted(p, pipes[1]);
	}
	close(pipes[1]);
	found = read_report(pipes[0], line, sizeof(line));
	REQUIRE(waitpid(pid, &status, 0) == pid, "waitpid: %m");
	took = native_now() - begin;
	/* It was skipped, for a reason that ktap_skip() has noted. */
	if (WIFEXITED(status) && WEXITSTATUS(status) == SKIPPED)
		exit(SKIPPED);
	found &= WIFEXITED(status) && WEXITSTATUS(status) == 1;
	ktap_note("%s: %s in %.1f s%s:\n%s", p->about, found ? "found" : "not found", took,
		  WIFSIGNALED(status) ? ", killed by a signal" : "",
		  line[0] == '#' ? line + 2 : line);
	CHECK(found, "nobody noticed that %s", p->about);
	CHECK(took <= PLANT_SECONDS, "it took %.1f s to notice that %s", took, p->about);
}

#define ALL_PLANTED(X)								\
	X(tail_before_int3) X(arm_no_sync) X(jump_first_before_rest) X(jump_no_sync) \
	X(unjump_rest_before_int3) X(unjump_no_sync) X(unjump_no_sync_at_end)	\
	X(restore_rest_after_first) X(restore_no_sync) X(restore_no_sync_at_end) \
	X(restore_under_jump) X(restore_no_sync_under_jump) X(told_late)	\
	X(no_wait) X(stays_quiet) X(covered) X(table_early)			\
	X(count_twice) X(count_never) X(free_early)				\
	X(call_free_early) X(undrained) X(no_second_grace) X(progs_early) X(owed) X(stale)

#define PLANTED(name) static void planted_##name(void) { planted(#name); }
#define PLANTED_TEST(name) KTAP_TEST_SECONDS(planted_##name, PLANT_SECONDS + 30),

ALL_PLANTED(PLANTED)

/* Options -------------------------------------------------------------------- */

static struct ktap_test tests[] = {
	{ .name = "probes", .run = probes_test },
	{ .name = "calls", .run = calls_test },
	ALL_PLANTED(PLANTED_TEST)
};

#define NR_TESTS	(sizeof(tests) / sizeof(tests[0]))

static void usage(const char *why, const char *what)
{
	fprintf(stderr, "stress-native: %s %s\n", why, what);
	exit(2);
}

static double number(const char *text)
{
	char *end;
	double v = strtod(text, &end);

	if (*end || end == text || v < 0)
		usage("no number:", text);
	return v;
}

static u8 order(const char *text)
{
	static const char *const names[] = { "mixed", "written", "any" };
	u8 i;

	for (i = 0; i < 3; i++)
		if (!strcmp(text, names[i]))
			return i;
	usage("no order:", text);
	return 0;
}

static void help(void)
{
	puts("usage: stress-native [OPTION...] [TEST...]\n"
	     "Patch probed code and images while real processors execute them.\n"
	     "\n"
	     "  --seconds N   for both subjects together, default 60\n"
	     "  --passes N    end the first subject after so many passes; 1e9 is a number\n"
	     "  --seed N      of the first round; each has the next\n"
	     "  --threads N   runners, 1 to 16, default one for each processor\n"
	     "  --order WHICH mixed (default), written, any: how written bytes are seen\n"
	     "  --plant NAME  plant a mistake: the run must fail\n"
	     "  --plants      list the mistakes that can be planted\n"
	     "  --list        list the tests\n"
	     "\n"
	     "Exit status: 0 all is well, 1 a test failed, 2 wrong usage.");
	exit(0);
}

static void list_plants(void)
{
	u32 i;

	for (i = 0; i < nr_plants; i++)
		printf("%-26s %s\n", plants[i].name, plants[i].about);
	exit(0);
}

int main(int argc, char **argv)
{
	static const struct option options[] = {
		{ "seconds", required_argument, NULL, 's' },
		{ "passes", required_argument, NULL, 'p' },
		{ "seed", required_argument, NULL, 'S' },
		{ "threads", required_argument, NULL, 't' },
		{ "order", required_argument, NULL, 'o' },
		{ "plant", required_argument, NULL, 'P' },
		{ "plants", no_argument, NULL, 'L' },
		{ "list", no_argument, NULL, 'l' },
		{ "help", no_argument, NULL, 'h' },
		{ }
	};
	long cpus = sysconf(_SC_NPROCESSORS_ONLN);
	u32 i;
	int c;

	if (getrandom(&native.seed, sizeof(native.seed), 0) != sizeof(native.seed))
		native.seed = (u64)getpid();
	native.seed >>= 32;
	native.threads = cpus < 2 ? 2 : cpus > NATIVE_RUNNERS ? NATIVE_RUNNERS : (u32)cpus;
	while ((c = getopt_long(argc, argv, "", options, NULL)) != -1) {
		switch (c) {
		case 's':
			native.seconds = number(optarg);
			break;
		case 'p':
			native.passes = (u64)number(optarg);
			break;
		case 'S':
			native.seed = strtoull(optarg, NULL, 0);
			break;
		case 't':
			native.threads = (u32)number(optarg);
			break;
		case 'o':
			native.order = order(optarg);
			break;
		case 'P':
			native.plant = plant_find(optarg);
			if (!native.plant)
				usage("no mistake is called", optarg);
			break;
		case 'h':
			help();
			break;
		case 'L':
			list_plants();
			break;
		case 'l':
			for (i = 0; i < NR_TESTS; i++)
				puts(tests[i].name);
			return 0;
		default:
			return 2;
		}
	}
	if (!native.threads || native.threads > NATIVE_RUNNERS)
		usage("the number of threads is", "out of range");
	for (i = 0; i < NR_TESTS; i++)
		if (!tests[i].seconds)
			tests[i].seconds = native.passes ? 1 << 20 : (u32)native.seconds + 60;
	argv[--optind] = argv[0];
	return ktap_main(argc - optind, argv + optind, tests, NR_TESTS);
}
