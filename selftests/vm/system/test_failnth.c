// SPDX-License-Identifier: GPL-2.0
/*
 * Every allocation and every copy to or from user space fails once. For each action the first
 * one of it fails, then the second, and so on, until the action comes through without having
 * met the failure. The means is /proc/thread-self/fail-nth (see Documentation/fault-injection
 * in the kernel).
 *
 * A refused ATTACH says ENOMEM or EFAULT and leaves nothing behind: no link, image,
 * descriptor or count, and who was there before still runs. Detaching never fails,
 * whatever else does. Kmemleak finds memory that is lost without a trace, at the end of
 * `make test-debug`.
 *
 * Needs a kernel with fault injection, which Debian's are not.
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
#include "fixture.h"
#include "many.h"
#include "record.h"
#include "selftests/vm/system/failnth.skel.h"
#include "selftests/vm/lib/record.skel.h"

#define FUNC "tt_hot0"
#define CALLS 3

/* More failures than any action has to offer: then something goes round in circles. */
#define MAX_FAULTS 2000

/* The cookies, which say who counts where. */
enum { FIRST, SECOND, COOKIES };

static struct failnth *skel;
static struct record *record;
static int test_dev, fail_nth;

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

static void setup(void)
{
	char path[128];
	size_t i;

	if (vmtest_oracle())
		ktap_skip("about our errors");
	fail_nth = open("/proc/thread-self/fail-nth", O_RDWR | O_CLOEXEC);
	if (fail_nth < 0 || access("/sys/kernel/debug/failslab", F_OK))
		ktap_skip("this kernel has no fault injection (CONFIG_FAILSLAB)");
	for (i = 0; i < sizeof(knobs) / sizeof(knobs[0]); i++) {
		snprintf(path, sizeof(path), "/sys/kernel/debug/%s", knobs[i].file);
		if (!access(path, F_OK))
			CHECK_EQ(write_file(path, "%s", knobs[i].value), 0, "%s", path);
	}
	test_dev = tt_open();
	tramp_device();
	skel = FIXTURE_LOAD(failnth);
	record = FIXTURE_LOAD(record);
}

/* The @n-th chance to fail from now on is taken; the system calls of this thread only. */
static void arm(unsigned int n)
{
	char text[16];
	int len = sprintf(text, "%u", n);

	REQUIRE(pwrite(fail_nth, text, len, 0) == len, "fail-nth: %s", strerror(errno));
}

/*
 * Disarm. Return: whether it had failed something by now. Reading and writing the
 * file are chances too: one that fails was the one that had been waited for.
 */
static bool disarm(void)
{
	char text[16] = "";
	ssize_t n = pread(fail_nth, text, sizeof(text) - 1, 0);
	bool fired = n > 0 && !atoi(text);

	while (pwrite(fail_nth, "0", 1, 0) != 1)
		fired = false;
	return fired;
}

/* ---------------------------------------------------------------- states --- */

struct state {
	struct tramp_info info;
	int fds;
};

static struct state state_now(void)
{
	return (struct state){ .info = tramp_module(), .fds = open_fds() };
}

static void check_same(const struct state *was, const char *what, unsigned int n)
{
	struct state now = state_now();

	CHECK_EQ(now.info.links, was->info.links, "%s, fault %u: links", what, n);
	CHECK_EQ(now.info.targets, was->info.targets, "%s, fault %u: targets", what, n);
	CHECK_EQ(now.info.probes, was->info.probes, "%s, fault %u: probes", what, n);
	CHECK_EQ(now.fds, was->fds, "%s, fault %u: open files", what, n);
}

/* The function works, and just those count that should: @first, @second: -1 don't care. */
static void check_calls(const char *what, unsigned int n, int first, int second)
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

/* ---------------------------------------------------------------- actions --- */

/* An attachment as the ioctl makes it, no library in between. */
struct way {
	int prog_fd;
	const char *symbol;	/* a probe's */
	uint64_t offset;
	uint32_t flags;
};

static void fill(const struct way *way, uint64_t cookie, struct tramp_attach *a)
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
	}
}

static int attach(const struct way *way, uint64_t cookie, struct tramp_attach *a)
{
	fill(way, cookie, a);
	return ioctl(tramp_device(), TRAMP_IOC_ATTACH, a) < 0 ? -errno : 0;
}

static int must_attach(const struct way *way, uint64_t cookie)
{
	struct tramp_attach a;
	int err = attach(way, cookie, &a);

	REQUIRE(!err, "attach: %s (%s %s)", strerror(-err), tramp_reason_name(a.refusal.reason),
		a.refusal.detail);
	return a.link_fd;
}

/* Refused for want of memory, or for a copy that failed; nothing else is known to fail. */
static void check_errno(const struct tramp_refusal *r, int err, int link_fd, const char *what,
			unsigned int n)
{
	CHECK(err == -ENOMEM || err == -EFAULT, "%s, fault %u: %s (%s %s)", what, n, strerror(-err),
	      tramp_reason_name(r->reason), r->detail);
	CHECK(r->reason == TRAMP_REASON_NONE || r->reason == TRAMP_REASON_NO_MEMORY ||
	      r->reason == TRAMP_REASON_NO_EXEC_MEMORY,
	      "%s, fault %u: refused because of %s (%s)", what, n, tramp_reason_name(r->reason),
	      r->detail);
	/* The number may have been written by the copy that failed; the file must not be there. */
	CHECK(link_fd < 0 || fcntl(link_fd, F_GETFD) < 0, "%s, fault %u: gave descriptor %d", what,
	      n, link_fd);
}

static void check_refusal(const struct tramp_attach *a, int err, const char *what, unsigned int n)
{
	check_errno(&a->refusal, err, a->link_fd, what, n);
}

static void report(const char *what, unsigned int faults, unsigned int refused)
{
	ktap_note("%s: %u chances to fail, refused at %u of them, the rest did without", what,
		  faults, refused);
	CHECK(faults < MAX_FAULTS, "%s: there is no end to it", what);
}

/*
 * Programs at so many functions that a further one shares its ftrace_ops (ALONE,
 * kernel/ftrace/site.c); their cookie counts nowhere.
 */
static int crowd[40], nr_crowd;

static void attach_crowd(void)
{
	struct way way = { .prog_fd = bpf_program__fd(skel->progs.count_probe) };
	char name[32];

	way.symbol = name;
	while (nr_crowd < (int)(sizeof(crowd) / sizeof(crowd[0]))) {
		snprintf(name, sizeof(name), "tt_many_%03d", nr_crowd);
		crowd[nr_crowd++] = must_attach(&way, ~0ULL);
	}
}

static void close_crowd(void)
{
	while (nr_crowd)
		close(crowd[--nr_crowd]);
}

/* ATTACH, with @beside there already (its cookie is FIRST) or on its own (NULL). */
static void attach_faults(const char *what, const struct way *way, const struct way *beside)
{
	unsigned int n, refused = 0;
	struct state before;
	int other = -1;

	if (beside)
		other = must_attach(beside, FIRST);
	before = state_now();
	for (n = 1; n < MAX_FAULTS && ktap_failures() < 5; n++) {
		struct tramp_attach a;
		bool fired;
		int err;

		arm(n);
		err = attach(way, SECOND, &a);
		fired = disarm();
		if (err) {
			refused++;
			check_refusal(&a, err, what, n);
			check_same(&before, what, n);
		}
		check_calls(what, n, beside != NULL, !err);
		if (!err)
			close(a.link_fd);
		check_same(&before, what, n);
		if (!fired) {
			CHECK_EQ(err, 0, "%s: failed without a fault", what);
			break;
		}
	}
	report(what, n - 1, refused);
	CHECK(refused, "%s: no fault was met, so nothing has been tested", what);
	if (other >= 0) {
		check_calls(what, n, 1, 0);
		close(other);
	}
	check_calls(what, n, 0, 0);
	close_crowd();
	check_nothing_left();
}

/* ATTACH_BATCH of two programs, and of a @third where no calls are: all or none. */
static void batch_faults(const char *what, const struct way *one, const struct way *other,
			 const struct way *third)
{
	int i, nr = third ? 3 : 2;
	unsigned int n, refused = 0;
	struct state before;

	before = state_now();
	for (n = 1; n < MAX_FAULTS && ktap_failures() < 5; n++) {
		struct tramp_attach items[3];
		struct tramp_attach_batch cmd = {
			.size = sizeof(cmd), .count = nr, .item_size = sizeof(items[0]),
			.items = (uintptr_t)items,
		};
		bool fired;
		int err;

		fill(one, FIRST, &items[0]);
		fill(other, SECOND, &items[1]);
		if (third)
			fill(third, SECOND, &items[2]);
		arm(n);
		err = ioctl(tramp_device(), TRAMP_IOC_ATTACH_BATCH, &cmd) < 0 ? -errno : 0;
		fired = disarm();
		for (i = 0; err && i < nr; i++) {
			items[i].refusal = cmd.refusal;
			check_refusal(&items[i], err, what, n);
		}
		refused += !!err;
		if (err)
			check_same(&before, what, n);
		check_calls(what, n, !err, !err);
		for (i = 0; !err && i < nr; i++)
			close(items[i].link_fd);
		check_same(&before, what, n);
		if (!fired) {
			CHECK_EQ(err, 0, "%s: failed without a fault", what);
			break;
		}
	}
	report(what, n - 1, refused);
	CHECK(refused, "%s: no fault was met, so nothing has been tested", what);
	check_calls(what, n, 0, 0);
	check_nothing_left();
}

static int detach_by_close(int fd)
{
	return close(fd) ? -errno : 0;
}

/* The descriptor outlives its attachment, until the fault is over. */
static int detach_by_command(int fd)
{
	return bpf_link_detach(fd);
}

/* Detaching, with @beside there as well (its cookie is FIRST) or on its own (NULL). */
static void detach_faults(const char *what, const struct way *way, const struct way *beside,
			  int (*detach)(int fd))
{
	struct state before;
	unsigned int n, refused = 0;
	int other = -1;

	if (beside)
		other = must_attach(beside, FIRST);
	before = state_now();
	for (n = 1; n < MAX_FAULTS && ktap_failures() < 5; n++) {
		int fd = must_attach(way, SECOND), err;
		bool fired;

		arm(n);
		err = detach(fd);
		fired = disarm();
		if (err == -EFAULT && detach == detach_by_command) {
			/* bpf() could not even read what it was asked: all is as it was. */
			refused++;
			check_calls(what, n, beside != NULL, 1);
			err = detach(fd);
		}
		CHECK_EQ(err, 0, "%s, fault %u: %s", what, n, strerror(-err));
		if (detach != detach_by_close)
			close(fd);
		check_same(&before, what, n);
		check_calls(what, n, beside != NULL, 0);
		if (!fired)
			break;
	}
	report(what, n - 1, refused);
	if (other >= 0)
		close(other);
	check_calls(what, n, 0, 0);
	close_crowd();
	check_nothing_left();
}

/* ---------------------------------------------------------- many functions --- */

/*
 * ATTACH_MULTI, and closing what comes of it: the first of the functions is FUNC. With @sparse
 * the chances that are taken are further and further apart.
 */
static void many_faults(const char *what, struct many *m, uint32_t flags, bool sparse)
{
	int prog = bpf_program__fd(skel->progs.count_probe);
	unsigned int n, refused = 0;
	struct state before;
	uint32_t i;

	for (i = 0; i < m->cmd.nr; i++)
		m->cookies[i] = i ? COOKIES : SECOND;
	before = state_now();
	for (n = 1; (sparse || n < MAX_FAULTS) && ktap_failures() < 5;
	     n += sparse ? 1 + n / 3 : 1) {
		bool fired;
		int err;

		m->cmd.link_fd = -1;
		arm(n);
		err = many_attach_try(m, prog, flags);
		fired = disarm();
		if (err) {
			refused++;
			check_errno(&m->cmd.refusal, err, m->cmd.link_fd, what, n);
			check_same(&before, what, n);
		}
		check_calls(what, n, 0, !err);
		if (!err) {
			CHECK(m->cmd.nr_attached == m->cmd.nr || (flags & TRAMP_MULTI_F_SKIP),
			      "%s, fault %u: %u of %u attached", what, n, m->cmd.nr_attached,
			      m->cmd.nr);
			/* Detaching never fails, either. */
			arm(n);
			CHECK_EQ(detach_by_close(m->cmd.link_fd), 0, "%s, fault %u", what, n);
			disarm();
			check_calls(what, n, 0, 0);
		}
		check_same(&before, what, n);
		if (!fired) {
			CHECK_EQ(err, 0, "%s: failed without a fault", what);
			break;
		}
	}
	if (!sparse)
		report(what, n - 1, refused);
	else
		ktap_note("%s: some of %u chances to fail, refused at %u", what, n, refused);
	CHECK(refused, "%s: no fault was met, so nothing has been tested", what);
	check_calls(what, n, 0, 0);
	check_nothing_left();
}

/* The functions of two chunks need an allocation more, and an ftrace_ops more. */
static struct many *some_functions(uint32_t nr)
{
	struct many *m = many_new();

	many_add_name(m, FUNC);
	many_add_name(m, "tt_hot1");
	if (nr > m->cmd.nr)
		many_fill(m, nr);
	return m;
}

static void test_attach_many(void)
{
	setup();
	many_faults("many, at the entry", some_functions(2), 0, false);
	many_faults("many, at the return", some_functions(2), TRAMP_MULTI_F_RETURN, false);
	many_faults("many, what can be", some_functions(2), TRAMP_MULTI_F_SKIP, false);
}

static void test_attach_chunks(void)
{
	setup();
	many_faults("many, in two chunks", some_functions(4100), TRAMP_MULTI_F_SKIP, true);
}

/* ------------------------------------------------------------------- ways --- */

static struct way entry(void)
{
	return (struct way){
		.prog_fd = prog_clone(record->progs.count_entry, FUNC, BPF_TRACE_FENTRY),
	};
}

static struct way exit_way(void)
{
	return (struct way){
		.prog_fd = prog_clone(record->progs.count_exit, FUNC, BPF_TRACE_FEXIT),
	};
}

/* Behind the function's first instruction, the NOP5 that ftrace has: a probe of ours. */
static struct way probe(uint32_t flags)
{
	struct way way = { bpf_program__fd(skel->progs.count_probe), FUNC, 0, flags };
	static const int behind[] = { 5, 9 };
	struct tramp_attach a;
	int i;

	if (!(tramp_module().features & TRAMP_FEAT_KPROBE))
		ktap_skip("this module has no probes");
	for (i = 0; i < 2; i++) {
		way.offset = behind[i];
		if (!attach(&way, SECOND, &a)) {
			close(a.link_fd);
			return way;
		}
	}
	ktap_die("no probe in " FUNC ": %s %s", tramp_reason_name(a.refusal.reason),
		 a.refusal.detail);
}

static struct way probe_at_entry(void)
{
	struct way way = probe(0);

	way.offset = 0;
	return way;
}

static void test_attach_entry(void)
{
	struct way way;

	setup();
	way = entry();
	attach_faults("fentry", &way, NULL);
}

static void test_attach_exit(void)
{
	struct way way;

	setup();
	way = exit_way();
	attach_faults("fexit", &way, NULL);
}

static void test_attach_beside(void)
{
	struct way way, other;

	setup();
	way = exit_way();
	other = entry();
	attach_faults("fexit beside fentry", &way, &other);
}

/* Where the kernel's own program holds the site: through ftrace. */
static void test_attach_ops(void)
{
	struct attachment holder;
	struct way way;

	setup();
	if (!(tramp_module().features & TRAMP_FEAT_FTRACE_OPS))
		ktap_skip("this module does not go through ftrace here");
	holder = attach_func(
		KERNEL, prog_clone(record->progs.count_entry_too, FUNC, BPF_TRACE_FENTRY), NULL);
	way = entry();
	attach_faults("fentry through ftrace", &way, NULL);
	detach(&holder);
}

static void test_attach_probe(void)
{
	struct way way;

	setup();
	way = probe(0);
	attach_faults("probe", &way, NULL);
}

static void test_attach_probe_beside(void)
{
	struct way way, other;

	setup();
	other = probe(0);
	way = other;
	way.prog_fd = bpf_program__fd(skel->progs.count_probe_too);
	attach_faults("probe beside another", &way, &other);
}

static void test_attach_probe_entry(void)
{
	struct way way;

	setup();
	way = probe_at_entry();
	attach_faults("probe at an entry", &way, NULL);
}

/* At a function that shares its ops with others. */
static void test_crowded(void)
{
	struct way way;

	setup();
	way = probe_at_entry();
	attach_crowd();
	attach_faults("probe at an entry, beside many functions", &way, NULL);
	attach_crowd();
	detach_faults("closing it", &way, NULL, detach_by_close);
	way = exit_way();
	attach_crowd();
	attach_faults("fexit beside many functions", &way, NULL);
	attach_crowd();
	detach_faults("closing that", &way, NULL, detach_by_close);
}

static void test_attach_batch(void)
{
	struct way one, other, third = {};

	setup();
	other = probe(0);
	one = other;
	one.prog_fd = bpf_program__fd(skel->progs.count_probe_too);
	batch_faults("two probes in one call", &one, &other, NULL);
	one = entry();
	batch_faults("fentry and a probe in one call", &one, &other, NULL);
	other = exit_way();
	third.prog_fd = prog_clone(record->progs.count_entry, "tt_hot1", BPF_TRACE_FENTRY);
	batch_faults("programs at two functions in one call", &one, &other, &third);
}

static void test_detach(void)
{
	struct way way;

	setup();
	way = entry();
	detach_faults("closing fentry", &way, NULL, detach_by_close);
	detach_faults("detaching fentry", &way, NULL, detach_by_command);
	way = exit_way();
	detach_faults("closing fexit", &way, NULL, detach_by_close);
}

/* Those that stay need a new image, which there is no memory for. */
static void test_detach_beside(void)
{
	struct way way, other;

	setup();
	way = exit_way();
	other = entry();
	detach_faults("closing fexit beside fentry", &way, &other, detach_by_close);
	detach_faults("closing fentry beside fexit", &(struct way){ .prog_fd = other.prog_fd },
		      &(struct way){ .prog_fd = way.prog_fd }, detach_by_close);
	detach_faults("detaching fexit beside fentry", &way, &other, detach_by_command);
}

static void test_detach_probe(void)
{
	struct way way, other;

	setup();
	way = probe(0);
	detach_faults("closing a probe", &way, NULL, detach_by_close);
	detach_faults("detaching a probe", &way, NULL, detach_by_command);
	other = way;
	other.prog_fd = bpf_program__fd(skel->progs.count_probe_too);
	detach_faults("closing a probe beside another", &way, &other, detach_by_close);
	way = probe_at_entry();
	detach_faults("closing a probe at an entry", &way, NULL, detach_by_close);
}

/* BPF_LINK_UPDATE: the old program or the new one, never none and never both. */
static void test_update(void)
{
	unsigned int n, refused = 0;
	struct state before;
	struct way way;
	int fd, progs[2], now = 0;

	setup();
	way = entry();
	progs[0] = way.prog_fd;
	progs[1] = prog_clone(record->progs.count_entry, FUNC, BPF_TRACE_FENTRY);
	fd = must_attach(&way, FIRST);
	before = state_now();
	for (n = 1; n < MAX_FAULTS && ktap_failures() < 5; n++) {
		bool fired;
		int err;

		arm(n);
		err = bpf_link_update(fd, progs[!now], NULL);
		fired = disarm();
		if (err) {
			refused++;
			CHECK(err == -ENOMEM || err == -EFAULT, "fault %u: %s", n, strerror(-err));
		} else {
			now = !now;
		}
		check_same(&before, "update", n);
		check_calls("update", n, 1, 0);
		if (!fired) {
			CHECK_EQ(err, 0, "update: failed without a fault");
			break;
		}
	}
	report("update", n - 1, refused);
	CHECK(refused, "no fault was met, so nothing has been tested");
	close(fd);
	check_nothing_left();
}

/* ------------------------------------------------------------- questions --- */

union question {
	struct tramp_info info;
	struct tramp_explain explain;
	struct tramp_explain_code code;
	struct tramp_query query;
};

/* A question attaches nothing, and so has nothing to undo but memory. */
static void question_faults(const char *what, unsigned int cmd, const union question *q)
{
	struct state before = state_now();
	unsigned int n, refused = 0;

	for (n = 1; n < MAX_FAULTS && ktap_failures() < 5; n++) {
		union question asked = *q;
		bool fired;
		int err;

		arm(n);
		err = ioctl(tramp_device(), cmd, &asked) < 0 ? -errno : 0;
		fired = disarm();
		refused += !!err;
		CHECK(!err || err == -ENOMEM || err == -EFAULT, "%s, fault %u: %s", what, n,
		      strerror(-err));
		if (!fired) {
			CHECK_EQ(err, 0, "%s: failed without a fault", what);
			break;
		}
	}
	check_same(&before, what, n);
	report(what, n - 1, refused);
}

static void test_questions(void)
{
	union question q;
	struct way way;
	int fd;

	setup();
	memset(&q, 0, sizeof(q));
	q.info.size = sizeof(q.info);
	question_faults("INFO", TRAMP_IOC_INFO, &q);
	memset(&q, 0, sizeof(q));
	q.explain.size = sizeof(q.explain);
	strcpy(q.explain.name, FUNC);
	question_faults("EXPLAIN", TRAMP_IOC_EXPLAIN, &q);
	way = entry();
	fd = must_attach(&way, FIRST);
	memset(&q, 0, sizeof(q));
	q.query.size = sizeof(q.query);
	q.query.flags = TRAMP_QUERY_F_NEXT;
	question_faults("QUERY", TRAMP_IOC_QUERY, &q);
	close(fd);
	if (tramp_module().features & TRAMP_FEAT_KPROBE) {
		struct tramp_insn_info insns[64];

		memset(&q, 0, sizeof(q));
		q.code.size = sizeof(q.code);
		strcpy(q.code.symbol, FUNC);
		q.code.insns = (uintptr_t)insns;
		q.code.nr_insns = 64;
		question_faults("EXPLAIN_CODE", TRAMP_IOC_EXPLAIN_CODE, &q);
	}
	check_nothing_left();
}

static const struct ktap_test tests[] = {
	KTAP_TEST_SECONDS(test_attach_entry, 120),
	KTAP_TEST_SECONDS(test_attach_exit, 120),
	KTAP_TEST_SECONDS(test_attach_beside, 120),
	KTAP_TEST_SECONDS(test_attach_ops, 120),
	KTAP_TEST_SECONDS(test_attach_probe, 120),
	KTAP_TEST_SECONDS(test_attach_probe_beside, 120),
	KTAP_TEST_SECONDS(test_attach_probe_entry, 120),
	KTAP_TEST_SECONDS(test_crowded, 240),
	KTAP_TEST_SECONDS(test_attach_batch, 240),
	KTAP_TEST_SECONDS(test_attach_many, 240),
	KTAP_TEST_SECONDS(test_attach_chunks, 600),
	KTAP_TEST_SECONDS(test_detach, 120),
	KTAP_TEST_SECONDS(test_detach_beside, 120),
	KTAP_TEST_SECONDS(test_detach_probe, 120),
	KTAP_TEST_SECONDS(test_update, 120),
	KTAP_TEST(test_questions),
};

KTAP_MAIN(tests)
