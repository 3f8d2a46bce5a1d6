// SPDX-License-Identifier: GPL-2.0
/*
 * How long one who attaches many programs keeps others waiting: as many functions as can have
 * other programs beside an attachment of many, coming and going together. A thread asks for INFO
 * meanwhile, which waits for the same mutex (tramp_mutex). So it is where one of the last of many
 * is refused and each of the others waits for a grace period when it goes again. Few of those come
 * in one turn. And a process that dies with many links keeps others' close() waiting for a turn of
 * it, not for all of them.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <signal.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>
#include "fixture.h"
#include "many.h"
#include "ones.h"
#include "probe.h"
#include "selftests/vm/lib/probe_progs.skel.h"

/* TRAMP_GATE_MAX, kernel/func/gate.h */
#define SHARED	1024
#define ALL	(SHARED + 512)
/*
 * Milliseconds that others may wait. On top of it come four times what one function takes, or twice
 * what one part of the kernel kprobes takes: on a slow host all of it is slow.
 */
#define LIMIT	1000
/* A busy host makes them wait, too, but hardly in each of several rounds. */
#define ROUNDS	4
/* Seconds for a test. It begins no further round when half of them are over. */
#define SHARED_SECONDS	400
#define LINKS_SECONDS	700
/* Links of one function each, or so many in the short form, and functions of one more link. */
#define LINKS	4000
#define FEW	1000
#define MORE	3072
/* On a debug kernel: as many links as come within so many seconds, some hundred. */
#define FEWER_SECONDS	60

static struct tramp_attach item[SHARED];
static int32_t fds[SHARED];
static uint64_t addrs[ALL];
static struct many *many;
static _Atomic uint64_t longest, asked;
static atomic_bool stop;
/* The test's begin. */
static uint64_t begun;

static void setup(void)
{
	begun = now_ns();
	fixture_open("about attachments of many functions, which 6.1 has not");
	probe_setup();
	probe_many_files();
	many = many_new();
	many_fill(many, ALL);
	memcpy(addrs, many->addrs, sizeof(addrs));
	free(many);
	ones_fill(item, SHARED, bpf_program__fd(probe_skel->progs.count));
}

static void *ask(void *arg)
{
	uint64_t began, took;

	while (!atomic_load(&stop)) {
		began = now_ns();
		tramp_module();
		took = now_ns() - began;
		if (took > atomic_load(&longest))
			atomic_store(&longest, took);
		atomic_fetch_add(&asked, 1);
		usleep(1000);
	}
	return arg;
}

/* Milliseconds, of those that have begun to wait by now; they are none from then on. */
static uint64_t take_longest(void)
{
	uint64_t before = atomic_load(&asked);

	while (atomic_load(&asked) == before)
		usleep(1000);
	return atomic_exchange(&longest, 0) / 1000000;
}

/* In any order of coming and going. */
enum step {
	MANY_COME, ONES_JOIN, ONES_LEAVE, ONES_REJOIN, MANY_LEAVE, MANY_JOIN, ONES_GO, MANY_GO,
	STEPS
};

static const char * const steps[] = {
	"many come", "ones come to many", "ones go from many", "ones come once more",
	"many go from ones", "many come to ones", "ones go", "many go",
};

/* The longest that the thread has waited in each step, of the best round. */
static uint64_t waited[STEPS];
/* Milliseconds that one function takes, of the best round: the host's pace. 0: none has come. */
static uint64_t single;

static void step_is_over(enum step step)
{
	uint64_t ms = take_longest();

	if (ms < waited[step])
		waited[step] = ms;
}

static uint64_t limit(void)
{
	return LIMIT * (uint64_t)time_scale() + 4 * single;
}

/* Is it not yet so many seconds since the test began? */
static bool before(uint64_t seconds)
{
	return now_ns() - begun < seconds * 1000000000 * (uint64_t)time_scale();
}

static void one_comes(void)
{
	uint64_t began = now_ns(), ms;
	struct attachment one = attach_insn(OURS, item[0].prog_fd, item[0].addr, 0, 0);

	ms = (now_ns() - began) / 1000000;
	if (!single || ms < single)
		single = ms;
	detach(&one);
}

static void many_come(void)
{
	uint32_t i;

	many = many_new();
	for (i = 0; i < ALL; i++)
		many_add(many, addrs[i]);
	many_attach(many, bpf_program__fd(probe_skel->progs.nothing), 0);
	CHECK_EQ(many->cmd.nr_attached, ALL, "functions");
}

static void one_round(void)
{
	one_comes();
	take_longest();
	many_come();
	step_is_over(MANY_COME);
	ones_come(item, fds, SHARED);
	step_is_over(ONES_JOIN);
	ones_go(fds, SHARED);
	step_is_over(ONES_LEAVE);
	ones_come(item, fds, SHARED);
	step_is_over(ONES_REJOIN);
	many_detach(many);
	step_is_over(MANY_LEAVE);
	many_come();
	step_is_over(MANY_JOIN);
	ones_go(fds, SHARED);
	step_is_over(ONES_GO);
	many_detach(many);
	step_is_over(MANY_GO);
}

static bool all_short(void)
{
	uint32_t i;

	for (i = 0; i < STEPS; i++)
		if (waited[i] > limit())
			return false;
	return true;
}

static void test_shared(void)
{
	pthread_t thread;
	uint32_t i, round;

	setup();
	memset(waited, 0xff, sizeof(waited));
	REQUIRE(!pthread_create(&thread, NULL, ask, NULL), "pthread_create");
	for (round = 0; round < ROUNDS && !all_short(); round++) {
		if (round && !before(SHARED_SECONDS / 2))
			break;
		one_round();
	}
	atomic_store(&stop, true);
	pthread_join(thread, NULL);
	ktap_note("one function takes %lu ms: others may wait for %lu ms", single, limit());
	for (i = 0; i < STEPS; i++) {
		ktap_note("%s: others waited for %lu ms at most", steps[i], waited[i]);
		CHECK(waited[i] <= limit(), "%s: others waited for %lu ms", steps[i], waited[i]);
	}
}

/* Links of one function each have the first LINKS of these. */
static uint64_t others[LINKS + MORE];

static void many_more(void)
{
	many = many_new();
	memcpy(many->addrs, others + LINKS, MORE * sizeof(others[0]));
	many->cmd.nr = MORE;
	many_attach(many, bpf_program__fd(probe_skel->progs.nothing), 0);
	many_detach(many);
}

/* Milliseconds that others wait at most, in the best round and in the worst. */
struct waits {
	uint64_t best, worst;
};

/*
 * Of at most @rounds; no further one than the first that is not above @enough. No further one
 * begins, either, when the test has taken @seconds.
 */
static struct waits wait_for_many_more(const char *what, int rounds, uint64_t enough,
				       uint64_t seconds)
{
	struct waits waits = { .best = UINT64_MAX };
	pthread_t thread;
	uint64_t ms;

	atomic_store(&stop, false);
	REQUIRE(!pthread_create(&thread, NULL, ask, NULL), "pthread_create");
	do {
		many_more();
		ms = take_longest();
		waits.best = ms < waits.best ? ms : waits.best;
		waits.worst = ms > waits.worst ? ms : waits.worst;
	} while (--rounds && waits.best > enough && before(seconds));
	atomic_store(&stop, true);
	pthread_join(thread, NULL);
	ktap_note("%s: others waited for %lu to %lu ms at most", what, waits.best, waits.worst);
	return waits;
}

/* A read of the list far behind its end goes through all links. */
static void read_list_far(void)
{
	int fd = open("/sys/kernel/debug/trampoline/list", O_RDONLY | O_CLOEXEC);
	pthread_t thread;
	uint64_t waited;
	char byte;

	REQUIRE(fd >= 0, "the list of links: %s", strerror(errno));
	atomic_store(&stop, false);
	REQUIRE(!pthread_create(&thread, NULL, ask, NULL), "pthread_create");
	take_longest();
	CHECK_EQ(pread(fd, &byte, 1, 1 << 30), 0, "bytes behind the end");
	waited = take_longest();
	atomic_store(&stop, true);
	pthread_join(thread, NULL);
	close(fd);
	ktap_note("the list of all: others waited for %lu ms at most", waited);
	CHECK(waited <= limit(), "the list of links: others waited for %lu ms", waited);
}

/*
 * Each of many links has one function; then one has many others. That takes no longer for it.
 * A mutex may be its last owner's again before the one that waits for it has run, but once
 * only. So a round's longest wait is as long as one hold, or as two. By that alone one round
 * has twice as much as another, in either half of the test.
 */
static void test_links(void)
{
	static int32_t links[LINKS];
	struct tramp_detach_batch d = { .size = sizeof(d), .fds = (uintptr_t)links };
	struct waits alone, beside;
	uint32_t i, nr = short_form(LINKS, FEW);
	uint64_t enough, first;

	setup();
	many = many_new();
	many_fill(many, LINKS + MORE);
	memcpy(others, many->addrs, sizeof(others));
	free(many);
	alone = wait_for_many_more("many functions", ROUNDS, 0, LINKS_SECONDS / 4);
	enough = alone.worst * 5 / 4 + 150 * (uint64_t)time_scale();
	many = many_new();
	first = now_ns();
	for (i = 0; i < nr; i++) {
		if (time_scale() > 1 && now_ns() - first > FEWER_SECONDS * 1000000000ULL)
			break;
		many->addrs[0] = others[i];
		many->cmd.nr = 1;
		many_attach(many, bpf_program__fd(probe_skel->progs.nothing), 0);
		links[i] = many->cmd.link_fd;
	}
	free(many);
	d.count = i;
	ktap_note("%u links", d.count);
	beside = wait_for_many_more("many functions beside many links", 3 * ROUNDS, enough,
				    LINKS_SECONDS / 2);
	CHECK(beside.best <= enough, "%lu ms, without them %lu to %lu ms", beside.best, alone.best,
	      alone.worst);
	read_list_far();
	REQUIRE(!ioctl(tramp_device(), TRAMP_IOC_DETACH_BATCH, &d), "detach: %s", strerror(errno));
	while (i)
		close(links[--i]);
}

/* Links of a process that is killed, and functions of each. */
#define DYING		32
#define OF_DYING	512

/* Has its links, says so and waits for its end. */
static pid_t dying(void)
{
	int ready[2], i;
	char byte;
	pid_t pid;

	REQUIRE(!pipe(ready), "pipe");
	pid = fork();
	REQUIRE(pid >= 0, "fork");
	if (!pid) {
		many = many_new();
		memcpy(many->addrs, addrs, OF_DYING * sizeof(addrs[0]));
		many->cmd.nr = OF_DYING;
		for (i = 0; i < DYING; i++)
			many_attach(many, bpf_program__fd(probe_skel->progs.nothing), 0);
		if (write(ready[1], "r", 1) == 1)
			pause();
		_exit(1);
	}
	close(ready[1]);
	REQUIRE(read(ready[0], &byte, 1) == 1, "the child could not attach");
	close(ready[0]);
	return pid;
}

/*
 * Links of many functions go one by one. A close() meanwhile may come into the first turn and help
 * with another.
 */
static void test_killed(void)
{
	uint64_t began, closing, ms, worst = 0, whole;
	struct attachment one;
	int closed = 0, status;
	pid_t pid;

	setup();
	pid = dying();
	one = attach_insn(OURS, item[0].prog_fd, item[0].addr, 0, 0);
	began = now_ns();
	REQUIRE(!kill(pid, SIGKILL), "kill");
	while (!waitpid(pid, &status, WNOHANG)) {
		closing = now_ns();
		detach(&one);
		ms = (now_ns() - closing) / 1000000;
		worst = ms > worst ? ms : worst;
		closed++;
		one = attach_insn(OURS, item[0].prog_fd, item[0].addr, 0, 0);
	}
	whole = (now_ns() - began) / 1000000;
	detach(&one);
	ktap_note("%d closed in %lu ms, none in more than %lu ms", closed, whole, worst);
	CHECK(WIFSIGNALED(status), "the child was not killed");
	CHECK(closed > 1 && worst < whole / 3, "one took %lu of %lu ms", worst, whole);
}

/*
 * At most so many, and how many more each time. Each takes longer to come than the one before:
 * register_kprobe() decodes their function up to it (can_probe(), arch/x86/kernel/kprobes/core.c).
 * So many are one part at most: then others have a turn. While the task waits for a CPU it may
 * have one more for each PART_WAIT milliseconds (TRAMP_TURN_KPROBE, kernel/base/turn.h).
 */
#define KPROBES		200
#define MORE_KPROBES	40
#define KPROBES_PART	10
#define PART_WAIT	20
#define PART_FUNC	"tramp_probe_attach_many"

/* Instructions that may fault, and a table mends that: only a kernel kprobe can be there. */
static uint32_t find_faulting(void)
{
	struct probe_func f;
	uint32_t nr = 0, i;

	REQUIRE(!probe_explain(&f, 0, "tt_extables", false), "tt_extables");
	for (i = 0; i < f.nr && nr < KPROBES; i++)
		if (f.insns[i].mode == TRAMP_MODE_KPROBE &&
		    f.insns[i].reason == TRAMP_REASON_INSN_FIXUP)
			addrs[nr++] = f.addr + f.insns[i].offset;
	probe_func_free(&f);
	return nr;
}

/*
 * @nr kernel kprobes come in one call, and go again: that of @bad, behind them, is refused, if the
 * kernel has refused none before, which nobody can foretell. In milliseconds: how long others wait,
 * and how long it takes.
 */
static uint64_t come_and_go(uint32_t nr, uint64_t bad, uint64_t *taken)
{
	struct tramp_attach_batch cmd = {
		.size = sizeof(cmd), .count = nr + 1, .item_size = sizeof(item[0]),
		.items = (uintptr_t)item,
	};
	uint64_t began, ms;
	uint32_t i;
	int err;

	for (i = 0; i <= nr; i++)
		item[i] = (struct tramp_attach){
			.size = sizeof(item[0]), .addr = i < nr ? addrs[i] : bad,
			.prog_fd = bpf_program__fd(probe_skel->progs.nothing),
		};
	take_longest();
	began = now_ns();
	err = ioctl(tramp_device(), TRAMP_IOC_ATTACH_BATCH, &cmd) ? errno : 0;
	*taken = (now_ns() - began) / 1000000;
	ms = take_longest();
	CHECK(err && cmd.failed >= nr / 2, "%s at item %u: %s %s", strerror(err), cmd.failed,
	      tramp_reason_name(cmd.refusal.reason), cmd.refusal.detail);
	ktap_note("%u kernel kprobes, refused after %lu ms: others waited for %lu ms at most",
		  cmd.failed, *taken, ms);
	return ms;
}

/* Also a thread that asks, and an address that has to be refused. */
static pthread_t kprobes_setup(uint64_t *bad)
{
	pthread_t thread;
	uint32_t nr;

	fixture_open("about our batches");
	probe_setup();
	probe_many_files();
	nr = find_faulting();
	REQUIRE(nr == KPROBES, "%u instructions", nr);
	*bad = ksym_addr("tt_many_000") + 1;
	atomic_store(&stop, false);
	REQUIRE(!pthread_create(&thread, NULL, ask, NULL), "pthread_create");
	return thread;
}

/* In the function tracer's buffer: calls of register_kprobe() between two of ours. */
static uint32_t largest_part(uint32_t *parts)
{
	char *trace = read_file(TRACING "trace"), *line, *rest;
	uint32_t part = 0, largest = 0;

	*parts = 0;
	for (line = strtok_r(trace, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
		if (strstr(line, ": " PART_FUNC " ")) {
			part = 0;
			*parts += 1;
		} else if (strstr(line, ": register_kprobe ")) {
			part++;
			largest = part > largest ? part : largest;
		}
	}
	free(trace);
	return largest;
}

/* How long the calling thread has waited for a CPU, in milliseconds. Not all kernels count that. */
static uint64_t waited_for_cpu(void)
{
	static const char path[] = "/proc/thread-self/schedstat";
	unsigned long waited;
	char *text;

	if (access(path, F_OK))
		return 0;
	text = read_file(path);
	REQUIRE(sscanf(text, "%*u %lu", &waited) == 1, "%s: %s", path, text);
	free(text);
	return waited / 1000000;
}

/*
 * If a kernel kprobe of a part is refused, all of the part are undone, each behind a grace period.
 * So a part is limited by their number, too: the first of a function are quick to come.
 */
static void test_parts(void)
{
	uint32_t largest, parts;
	uint64_t bad, taken, cpu;
	pthread_t thread;
	int status;

	thread = kprobes_setup(&bad);
	function_tracer("register_kprobe");
	free(run_command(&status, "echo %s >>%sset_ftrace_filter", PART_FUNC, TRACING));
	cpu = waited_for_cpu();
	come_and_go(MORE_KPROBES, bad, &taken);
	cpu = waited_for_cpu() - cpu;
	largest = largest_part(&parts);
	function_tracer(NULL);
	atomic_store(&stop, true);
	pthread_join(thread, NULL);
	ktap_note("%u parts, the largest of %u; waited for a CPU for %lu ms", parts, largest, cpu);
	CHECK(!status && parts && largest, "the tracer saw %u parts", parts);
	CHECK(largest <= KPROBES_PART + 1 + cpu / PART_WAIT, "%u kernel kprobes in one part", largest);
}

/* It depends on their number how many of them have come since the mutex was dropped last. */
static void test_refused(void)
{
	uint64_t bad, ms, part, taken, worst = 0;
	pthread_t thread;
	uint32_t nr;

	thread = kprobes_setup(&bad);
	come_and_go(KPROBES_PART, bad, &part);
	for (nr = MORE_KPROBES; nr <= KPROBES; nr += MORE_KPROBES) {
		ms = come_and_go(nr, bad, &taken);
		worst = ms > worst ? ms : worst;
	}
	atomic_store(&stop, true);
	pthread_join(thread, NULL);
	CHECK(worst <= LIMIT * (uint64_t)time_scale() + 2 * part,
	      "others waited for %lu ms, and %u take %lu", worst, KPROBES_PART, part);
}

static const struct ktap_test tests[] = {
	{ "shared", test_shared, SHARED_SECONDS },
	{ "links", test_links, LINKS_SECONDS },
	{ "killed", test_killed, 200 },
	{ "parts", test_parts, 100 },
	{ "refused", test_refused, 200 },
};

KTAP_MAIN(tests)
