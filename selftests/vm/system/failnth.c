// SPDX-License-Identifier: GPL-2.0
/*
 * Faults one after the other (failnth.h): the means, the attachments they meet, and what has to
 * hold whatever has failed.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/types.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>
#include "failnth.h"
#include "fixture.h"
#include "probe.h"
#include "record.h"
#include "selftests/vm/system/failnth.skel.h"
#include "selftests/vm/lib/record.skel.h"

#define CALLS 3

struct failnth *skel;
struct record *record;
int test_dev;
static int fail_nth = -1;	/* -1: the kernel has none, so the test module does it all */
static bool lasting, may_last = true;
static unsigned int in_a_row = 1;
static unsigned int without_reason;
/* Of the action at hand: the points, and whether it was refused at them. */
static struct point {
	unsigned int n;
	bool refused;
} points[MAX_FAULTS];
static unsigned int nr_points;
static uint64_t where;		/* this failure was, as far as is known */
static uint64_t met;		/* the same of the last one that was met */

/* ------------------------------------------------------- fault injection --- */

/* Calls that may fail, and that the kernel need not log each failure. Kernels lack some of it. */
static const struct {
	const char *file, *value;
} knobs[] = {
	{ "failslab/ignore-gfp-wait", "N" },
	{ "failslab/verbose", "0" },
	{ "fail_page_alloc/ignore-gfp-wait", "N" },
	{ "fail_page_alloc/ignore-gfp-highmem", "N" },
	{ "fail_page_alloc/min-order", "0" },
	{ "fail_page_alloc/verbose", "0" },
	{ "fail_usercopy/verbose", "0" },
};

/* The kernel's own means fails one thing, once; all else is the test module's work. */
static bool by_module(void)
{
	return fail_nth < 0 || lasting || in_a_row > 1;
}

/* The tests of a program share a file. Each may run by itself, in the same machine. */
static FILE *open_for_all(const char *mode)
{
	char path[128];

	snprintf(path, sizeof(path), "/tmp/faults-%s", program_invocation_short_name);
	return fopen(path, mode);
}

static void note_for_all(const char *what, unsigned int n)
{
	FILE *f = open_for_all("a");

	REQUIRE(f, "a file for the points: %s", strerror(errno));
	fprintf(f, "%s %u\n", what, n);
	fclose(f);
}

void faults_setup(void)
{
	char path[128];
	size_t i;

	if (vmtest_oracle())
		ktap_skip("about our errors");
	note_for_all("test", 1);
	if (!access("/sys/kernel/debug/failslab", F_OK))
		fail_nth = open("/proc/thread-self/fail-nth", O_RDWR | O_CLOEXEC);
	for (i = 0; fail_nth >= 0 && i < sizeof(knobs) / sizeof(knobs[0]); i++) {
		snprintf(path, sizeof(path), "/sys/kernel/debug/%s", knobs[i].file);
		if (!access(path, F_OK))
			CHECK_EQ(write_file(path, "%s", knobs[i].value), 0, "%s", path);
	}
	test_dev = tt_open();
	if (fail_nth < 0)
		fault_needed(test_dev);
	tramp_device();
	skel = FIXTURE_LOAD(failnth);
	record = FIXTURE_LOAD(record);
}

bool faults_last(bool on)
{
	lasting = on && may_last && !fault_possible(test_dev);
	return lasting;
}

bool faults_in_a_row(unsigned int nr)
{
	if (may_last && !fault_possible(test_dev))
		in_a_row = nr;
	return in_a_row == nr;
}

void faults_never_last(void)
{
	may_last = false;
}

unsigned int faults_next(unsigned int n)
{
	static uint64_t seed;

	if (!short_form(true, false)) {
		seed = seed ?: rnd_seed();
		n += rnd(&seed) % 3;
	}
	return n + 1;
}

void faults_arm(unsigned int n)
{
	struct tt_fault f = { .nth = n, .lasting = lasting, .in_a_row = in_a_row };
	char text[16];
	int len = sprintf(text, "%u", n);

	where = 0;
	if (by_module()) {
		fault_begin(test_dev, f);
		return;
	}
	REQUIRE(pwrite(fail_nth, text, len, 0) == len, "fail-nth: %s", strerror(errno));
}

/* Reading and writing the file are chances too: one that fails was the one waited for. */
bool faults_disarm(void)
{
	char text[16] = "";
	bool fired = false;
	ssize_t n;

	if (by_module()) {
		fired = fault_end(test_dev, &where);
		met = where ?: met;
		return fired;
	}
	n = pread(fail_nth, text, sizeof(text) - 1, 0);
	fired = n > 0 && !atoi(text);

	while (pwrite(fail_nth, "0", 1, 0) != 1)
		fired = false;
	return fired;
}

void faults_outcome(unsigned int n, bool fired, bool refused)
{
	if (fired && nr_points < MAX_FAULTS)
		points[nr_points++] = (struct point){ n, refused };
}

/* "1-4, 7", those at which the action was @refused or was not. Return: how many; to be freed. */
static unsigned int name_points(bool refused, char **text)
{
	unsigned int i, to, nr = 0;
	size_t len;
	FILE *f = open_memstream(text, &len);

	REQUIRE(f, "out of memory");
	for (i = 0; i < nr_points; i = to + 1) {
		to = i;
		if (points[i].refused != refused)
			continue;
		while (to + 1 < nr_points && points[to + 1].refused == refused)
			to++;
		fprintf(f, nr ? ", %u" : " at %u", points[i].n);
		if (to > i)
			fprintf(f, "-%u", points[to].n);
		nr += to - i + 1;
	}
	fclose(f);
	return nr;
}

unsigned int faults_report(const char *what)
{
	char *refused, *without;
	unsigned int nr = nr_points, nr_refused = name_points(true, &refused);

	name_points(false, &without);
	ktap_note("%s: %u points, refused at %u%s%s, done without it at %u%s%s", what, nr,
		  nr_refused, nr_refused ? ":" : "", refused, nr - nr_refused,
		  nr > nr_refused ? ":" : "", without);
	free(refused);
	free(without);
	CHECK(nr < MAX_FAULTS - 1, "%s: there is no end to it", what);
	CHECK(without_reason < 2, "%s: refused %u times without a reason", what, without_reason);
	without_reason = 0;
	note_for_all("points", nr);
	nr_points = 0;
	return nr;
}

void faults_report_refused(const char *what)
{
	bool refused = false;
	unsigned int i;

	for (i = 0; i < nr_points; i++)
		refused |= points[i].refused;
	faults_report(what);
	CHECK(refused, "%s: no fault was met, so nothing has been tested", what);
}

void faults_check_points(size_t nr)
{
	unsigned int n, tests = 0, points_of_all = 0;
	FILE *f = open_for_all("r");
	char what[16];

	while (f && fscanf(f, "%15s %u", what, &n) == 2)
		*(strcmp(what, "test") ? &points_of_all : &tests) += n;
	if (f)
		fclose(f);
	if (tests < nr)
		ktap_skip("%u of the %zu other tests have run", tests, nr);
	ktap_note("%u points", points_of_all);
	CHECK(points_of_all >= (unsigned int)short_form(300, 150), "only %u points", points_of_all);
}

/*
 * Whether closing a file that is not ours takes memory. Where it is freed behind a grace period
 * 6.12's KASAN may have something of its own for that (CONFIG_SLUB_RCU_DEBUG, mm/slub.c), and goes
 * without it if there is no memory.
 */
static bool closing_takes_memory(void)
{
	int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);

	REQUIRE(fd >= 0, "/dev/null: %s", strerror(errno));
	fault_begin(test_dev, (struct tt_fault){ .nth = 1, .lasting = true });
	close(fd);
	return fault_end(test_dev, NULL);
}

void faults_check_taken(const char *what, unsigned int faults, enum takes takes)
{
	char place[128];

	if (takes == TAKES_MEMORY)
		CHECK(faults, "%s: no fault was met, so nothing has been tested", what);
	else if (by_module() && faults && closing_takes_memory())
		ktap_note("%s: closing any file takes memory on this kernel", what);
	else if (by_module())
		CHECK_EQ(faults, 0, "%s: it takes memory at %s, unlike what this test says: faults",
			 what, ksym_name(met, place, sizeof(place)));
}

bool faults_over(const char *what, bool fired, int err)
{
	if (!fired)
		CHECK_EQ(err, 0, "%s: failed without a fault", what);
	return !fired;
}

/* ---------------------------------------------------------------- states --- */

struct state state_now(void)
{
	return (struct state){ .info = tramp_module(), .fds = open_fds() };
}

void check_same(const struct state *was, const char *what, unsigned int n)
{
	struct state now = state_now();

	CHECK_EQ(now.info.links, was->info.links, "%s, fault %u: links", what, n);
	CHECK_EQ(now.info.targets, was->info.targets, "%s, fault %u: targets", what, n);
	CHECK_EQ(now.info.probes, was->info.probes, "%s, fault %u: probes", what, n);
	CHECK_EQ(now.fds, was->fds, "%s, fault %u: open files", what, n);
}

void check_calls(const char *what, unsigned int n, int first, int second)
{
	const int wanted[COOKIES] = { first, second };
	struct tt_reply r;
	int i;

	memset(record->bss->counted, 0, sizeof(record->bss->counted));
	memset(skel->bss->probed, 0, sizeof(skel->bss->probed));
	r = tt_call(test_dev, FUNC " n=%d 41", CALLS);
	CHECK_EQ(r.result, 42, "%s, fault %u: result", what, n);
	CHECK_EQ(r.different, 0, "%s, fault %u: results", what, n);
	for (i = 0; i < COOKIES; i++)
		CHECK_EQ(record->bss->counted[i] + skel->bss->probed[i], wanted[i] ? CALLS : 0,
			 "%s, fault %u: count of program %d", what, n, i);
}

void check_errno(const struct tramp_refusal *r, int err, int link_fd, const char *what,
		 unsigned int n)
{
	char place[128];

	ksym_name(where, place, sizeof(place));
	CHECK(err == -ENOMEM || err == -EFAULT, "%s, fault %u at %s: %s (%s %s)", what, n, place,
	      strerror(-err), tramp_reason_name(r->reason), r->detail);
	CHECK(r->reason == TRAMP_REASON_NONE || r->reason == TRAMP_REASON_NO_MEMORY ||
	      r->reason == TRAMP_REASON_NO_EXEC_MEMORY,
	      "%s, fault %u at %s: refused because of %s (%s)", what, n, place,
	      tramp_reason_name(r->reason), r->detail);
	if (err == -ENOMEM && r->reason == TRAMP_REASON_NONE && without_reason++)
		ktap_note("%s, fault %u at %s: no reason", what, n, place);
	/* The number may have been written by the copy that failed; the file must not be there. */
	CHECK(link_fd < 0 || fcntl(link_fd, F_GETFD) < 0, "%s, fault %u: gave descriptor %d", what,
	      n, link_fd);
}

void check_refusal(const struct tramp_attach *a, int err, const char *what, unsigned int n)
{
	check_errno(&a->refusal, err, a->link_fd, what, n);
}

/* ------------------------------------------------------------------- ways --- */

void way_fill(const struct way *way, uint64_t cookie, struct tramp_attach *a)
{
	memset(a, 0, sizeof(*a));
	a->size = sizeof(*a);
	a->flags = way->flags | TRAMP_ATTACH_F_COOKIE;
	a->prog_fd = way->prog_fd;
	a->cookie = cookie;
	a->link_fd = -1;
	if (way->symbol) {
		strcpy(a->symbol, way->symbol);
		a->offset = way->offset;
	} else {
		a->addr = way->addr;
	}
}

int way_attach(const struct way *way, uint64_t cookie, struct tramp_attach *a)
{
	way_fill(way, cookie, a);
	return ioctl(tramp_device(), TRAMP_IOC_ATTACH, a) < 0 ? -errno : 0;
}

int way_must_attach(const struct way *way, uint64_t cookie)
{
	struct tramp_attach a;
	int err = way_attach(way, cookie, &a);

	REQUIRE(!err, "attach: %s (%s %s)", strerror(-err), tramp_reason_name(a.refusal.reason),
		a.refusal.detail);
	return a.link_fd;
}

struct way fentry_way(void)
{
	return (struct way){
		.prog_fd = prog_clone(record->progs.count_entry, FUNC, BPF_TRACE_FENTRY),
	};
}

struct way fexit_way(void)
{
	return (struct way){
		.prog_fd = prog_clone(record->progs.count_exit, FUNC, BPF_TRACE_FEXIT),
	};
}

struct way probe_way(uint32_t flags)
{
	struct way way = { bpf_program__fd(skel->progs.count_probe), FUNC, 0, flags, 0 };

	if (!(tramp_module().features & TRAMP_FEAT_KPROBE))
		ktap_skip("this module has no probes");
	way.offset = probe_behind_site(FUNC);
	return way;
}

struct way entry_probe_way(void)
{
	struct way way = probe_way(0);

	way.offset = 0;
	return way;
}

struct way return_way(void)
{
	struct way way = entry_probe_way();

	way.flags = TRAMP_ATTACH_F_RETURN;
	return way;
}
