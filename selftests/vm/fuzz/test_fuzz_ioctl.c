// SPDX-License-Identifier: GPL-2.0
/*
 * Random requests to the device, from a description of its interface (uapi.h), with answers held
 * against the rules of the header (answer.h). Processes make them up from inputs (input.h).
 * An input that shows something new is kept, and later ones are made from it. New are a block of
 * the module's code, where the kernel has kcov (coverage.h), and on any kernel an answer of another
 * kind.
 *
 * Environment:
 *   FUZZ_CALLS	how many requests, default 3,000
 *   FUZZ_INPUT	one input in hexadecimal digits: only it is run, and each request shown
 *   FUZZ_KEEP	print the inputs that are kept: lines that begin with "# input "
 *   FUZZ_FROM	a file of such inputs, without that beginning, to start from
 *   FUZZ_PROCESSES	how many processes, by default one more than there are CPUs: mostly one
 *			waits for a grace period. Many share them, and so make more requests.
 *   PROBE_SEED	repeats the inputs of a run, but not what other CPUs do meanwhile
 */
#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
#include "answer.h"
#include "coverage.h"
#include "fixture.h"
#include "probe.h"
#include "requests.h"

/* Inputs that are kept; more than the module has blocks. */
#define KEPT_MAX	8192
/* Steps that one input makes. */
#define STEPS_MAX	8

struct kept {
	uint32_t len;
	uint64_t ns;			/* how long it took; 0: not known */
	uint8_t bytes[INPUT_MAX];
};

/* Shared by the processes. */
static struct {
	struct coverage coverage;
	uint8_t answers[1 << 17];
	uint64_t calls, accepted[UAPI_COMMANDS], asked[UAPI_COMMANDS], reasons[TRAMP_REASON_COUNT];
	uint32_t nr_kept, nr_repeated;
	struct kept kept[KEPT_MAX];
	bool found;
} *all;

static bool verbose;

/* --------------------------------------------------------------- one input --- */

static void print_input(const char *begin, const uint8_t *bytes, uint32_t len)
{
	char text[INPUT_MAX * 2 + 1] = "";
	uint32_t i;

	for (i = 0; i < len; i++)
		sprintf(text + 2 * i, "%02x", bytes[i]);
	ktap_note("%s%s", begin, text);
}

/* Whether such an answer is the first of its kind. */
static bool note_answer(const struct request *r, const struct answer *a)
{
	const struct tramp_refusal *why = answer_refusal(r, a);
	unsigned int i = r->c ? r->c - uapi_commands : UAPI_COMMANDS;
	uint32_t reason = why && why->reason < TRAMP_REASON_COUNT ? why->reason : 0;
	uint32_t kind;

	if (r->c) {
		__atomic_fetch_add(&all->asked[i], 1, __ATOMIC_RELAXED);
		__atomic_fetch_add(&all->accepted[i], !a->error, __ATOMIC_RELAXED);
	}
	if (reason)
		__atomic_fetch_add(&all->reasons[reason], 1, __ATOMIC_RELAXED);
	if (verbose)
		ktap_note("%s of %u bytes: errno %d, reason %u %s", r->c ? r->c->name : "none",
			  r->size, a->error, reason, why ? why->detail : "");
	kind = i << 13 | (a->error & 127) << 6 | (reason & 63);
	return !__atomic_exchange_n(&all->answers[kind], 1, __ATOMIC_RELAXED);
}

/* Run an input; whether it showed something new. */
static bool run_input(const uint8_t *bytes, uint32_t len)
{
	struct input in = { .at = bytes, .end = bytes + len };
	unsigned int steps = 1 + input_below(&in, STEPS_MAX);
	static struct request r;
	bool fresh = false;

	coverage_start();
	while (steps-- && !all->found) {
		const char *bad;
		struct answer a;

		if (input_odds(&in, 64)) {
			world_act(&in);
			continue;
		}
		request_make(&r, &in);
		answer_get(&r, &a);
		fresh |= note_answer(&r, &a);
		__atomic_fetch_add(&all->calls, 1, __ATOMIC_RELAXED);
		bad = answer_judge(&r, &a);
		if (bad) {
			all->found = true;
			ktap_fail("%s: %s", r.c ? r.c->name : "no command", bad);
			print_input("FUZZ_INPUT=", bytes, len);
		}
	}
	/* Detaching belongs to it. */
	world_drop_links();
	return coverage_stop(&all->coverage) || fresh;
}

/* ------------------------------------------------------------- new inputs --- */

static void keep(const uint8_t *bytes, uint32_t len, uint64_t ns)
{
	uint32_t i = __atomic_fetch_add(&all->nr_kept, 1, __ATOMIC_RELAXED);

	if (i >= KEPT_MAX) {
		__atomic_fetch_sub(&all->nr_kept, 1, __ATOMIC_RELAXED);
		return;
	}
	memcpy(all->kept[i].bytes, bytes, len);
	all->kept[i].ns = ns;
	/* Others take it only with a length. */
	__atomic_store_n(&all->kept[i].len, len, __ATOMIC_RELEASE);
}

static uint32_t random_bytes(uint64_t *seed, uint8_t *bytes, uint32_t len)
{
	uint32_t i;

	for (i = 0; i < len; i++)
		bytes[i] = rnd(seed);
	return len;
}

/* Bytes change, come from elsewhere, or go. */
static uint32_t change(uint64_t *seed, uint8_t *bytes, uint32_t len)
{
	uint32_t times = 1 + rnd(seed) % 4;

	while (times-- && len) {
		uint32_t at = rnd(seed) % len, n = rnd(seed) % (len - at) + 1;

		switch (rnd(seed) % 5) {
		case 0:
			bytes[at] ^= 1 << rnd(seed) % 8;
			break;
		case 1:
			bytes[at] = rnd(seed);
			break;
		case 2:
			random_bytes(seed, bytes + at, n < 8 ? n : 8);
			break;
		case 3:
			memmove(bytes + at, bytes + rnd(seed) % len / 2, n < len / 2 ? n : len / 2);
			break;
		default:
			len = at + 1 + random_bytes(seed, bytes + at + 1,
						    rnd(seed) % (INPUT_MAX - at));
		}
	}
	return len;
}

/*
 * An input that is kept, if there is one. Some update all of the kernel's text and others nothing:
 * of four, mostly the quickest.
 */
static const struct kept *choose_kept(uint64_t *seed)
{
	uint32_t nr = __atomic_load_n(&all->nr_kept, __ATOMIC_RELAXED);
	uint32_t of = rnd(seed) % 16 ? 4 : 1;
	const struct kept *best = NULL;

	if (!nr)
		return NULL;
	nr = nr < KEPT_MAX ? nr : KEPT_MAX;
	while (of--) {
		const struct kept *k = &all->kept[rnd(seed) % nr];

		if (!best || k->ns < best->ns)
			best = k;
	}
	return best;
}

static uint32_t new_input(uint64_t *seed, uint8_t *bytes)
{
	const struct kept *k = choose_kept(seed);
	uint32_t len = k ? __atomic_load_n(&k->len, __ATOMIC_ACQUIRE) : 0;

	if (!len || rnd(seed) % 16 == 0)
		return random_bytes(seed, bytes, 16 + rnd(seed) % (INPUT_MAX - 16));
	memcpy(bytes, k->bytes, len);
	return change(seed, bytes, len);
}

static uint32_t read_input(const char *text, uint8_t *bytes)
{
	uint32_t len = 0;

	while (len < INPUT_MAX && sscanf(text + 2 * len, "%2hhx", &bytes[len]) == 1)
		len++;
	return len;
}

/* Inputs of an earlier run. */
static void read_inputs(const char *path)
{
	char line[INPUT_MAX * 2 + 2];
	uint8_t bytes[INPUT_MAX];
	FILE *f = fopen(path, "re");

	REQUIRE(f, "%s: %s", path, strerror(errno));
	while (fgets(line, sizeof(line), f))
		keep(bytes, read_input(line, bytes), 0);
	fclose(f);
}

/* --------------------------------------------------------------- processes --- */

static void runner(uint64_t seed, uint64_t calls, bool rights)
{
	static uint8_t bytes[INPUT_MAX];
	uint64_t began = now_ns();
	uint32_t nr = all->nr_kept, i;

	coverage_open();
	if (!rights) {
		set_caps(0);
		world.rights = false;
	}
	while (!all->found) {
		i = __atomic_fetch_add(&all->nr_repeated, 1, __ATOMIC_RELAXED);
		if (i >= nr)
			break;
		run_input(all->kept[i].bytes, all->kept[i].len);
		all->kept[i].ns = now_ns() - began;
		began = now_ns();
	}
	while (!all->found && __atomic_load_n(&all->calls, __ATOMIC_RELAXED) < calls) {
		uint32_t len = new_input(&seed, bytes);

		began = now_ns();
		if (run_input(bytes, len))
			keep(bytes, len, now_ns() - began);
	}
}

/* Each process sets its world up itself: the places of files tell it what has leaked. */
static void run_all(uint64_t calls, bool rights)
{
	int status, i, processes = env_int("FUZZ_PROCESSES", nr_cpus() + 1);
	uint64_t seed = rnd_seed();

	for (i = 0; i < processes; i++) {
		pid_t pid = fork();

		REQUIRE(pid >= 0, "fork: %s", strerror(errno));
		if (pid)
			continue;
		runner(seed + i, calls, rights);
		_exit(ktap_failures() ? 1 : 0);
	}
	while (i--) {
		REQUIRE(wait(&status) > 0, "wait: %s", strerror(errno));
		CHECK_EQ(status, 0, "status of a process");
	}
}

static void report(void)
{
	char met[2048] = "", not_met[2048] = "";
	uint32_t i;

	for (i = 0; i < UAPI_COMMANDS; i++)
		ktap_note("%-12s %8lu requests, %7lu accepted", uapi_commands[i].name, all->asked[i],
			  all->accepted[i]);
	for (i = 1; i < TRAMP_REASON_COUNT; i++) {
		char *to = all->reasons[i] ? met : not_met;

		sprintf(to + strlen(to), " %s", tramp_reason_name(i));
	}
	ktap_note("%lu requests; refused for:%s", all->calls, met);
	ktap_note("and never for:%s", not_met);
	ktap_note("%u inputs kept", all->nr_kept);
	for (i = 0; getenv("FUZZ_KEEP") && i < all->nr_kept; i++)
		print_input("input ", all->kept[i].bytes, all->kept[i].len);
}

/* So many are accepted of 3,000 requests, mostly by far more. */
static const struct {
	const char *command;
	uint64_t least;
} usual[] = {
	{ "INFO", 100 }, { "ATTACH", 50 }, { "EXPLAIN", 10 }, { "QUERY", 2 },
};

/* A world that refuses everything, or requests that nobody accepts, would leave little tested. */
static void check_accepted(void)
{
	uint64_t many = all->accepted[uapi_command("ATTACH_MULTI") - uapi_commands] +
			all->accepted[uapi_command("ATTACH_BATCH") - uapi_commands];
	uint32_t i;

	if (all->calls < 3000)
		return;
	for (i = 0; i < sizeof(usual) / sizeof(usual[0]); i++) {
		uint64_t n = all->accepted[uapi_command(usual[i].command) - uapi_commands];

		CHECK(n >= usual[i].least, "%s: only %lu requests were accepted", usual[i].command,
		      n);
	}
	CHECK(many >= 2, "only %lu requests for many programs were accepted", many);
	/* Of some commands there are too few in a short run. */
	for (i = 0; all->calls >= 30000 && i < UAPI_COMMANDS; i++)
		CHECK(all->accepted[i], "%s: none was accepted", uapi_commands[i].name);
}

static void begin(void)
{
	fixture_open("about our ioctls");
	all = mmap(NULL, sizeof(*all), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	REQUIRE(all != MAP_FAILED, "memory: %s", strerror(errno));
	world_setup();
}

/* ------------------------------------------------------------------- tests --- */

static void test_description(void)
{
	unsigned int i;

	for (i = 0; i < UAPI_COMMANDS; i++) {
		int hole = uapi_hole(&uapi_commands[i]);

		CHECK(hole < 0, "%s: byte %d is no member's", uapi_commands[i].name, hole);
	}
}

static void test_requests(void)
{
	const char *one = getenv("FUZZ_INPUT"), *from = getenv("FUZZ_FROM");
	uint8_t bytes[INPUT_MAX];

	begin();
	if (one) {
		verbose = true;
		run_input(bytes, read_input(one, bytes));
		return;
	}
	if (from)
		read_inputs(from);
	run_all(env_int("FUZZ_CALLS", 3000), true);
	report();
	check_accepted();
	if (coverage_open())
		coverage_report(&all->coverage);
}

static void test_without_rights(void)
{
	begin();
	run_all(env_int("FUZZ_CALLS", 3000) / 3, false);
	report();
}

static const struct ktap_test tests[] = {
	{ "description", test_description, 60 },
	{ "requests", test_requests, 300 },
	{ "without_rights", test_without_rights, 120 },
};

KTAP_MAIN(tests)
