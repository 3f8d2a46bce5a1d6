// SPDX-License-Identifier: GPL-2.0
/*
 * Faults one after the other (failnth.h) in calls that attach many programs: ATTACH_BATCH and
 * ATTACH_MULTI.
 *
 * A refused call leaves nothing behind, as in test_failnth: no program at any function. Closing
 * what comes of ATTACH_MULTI never fails.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <linux/types.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>
#include "failnth.h"
#include "fixture.h"
#include "many.h"
#include "record.h"
#include "selftests/vm/system/failnth.skel.h"
#include "selftests/vm/lib/record.skel.h"

/* A program instead of the one that the flags ask for. */
static int chosen_prog = -1;

static int many_prog(uint32_t flags)
{
	if (chosen_prog >= 0)
		return chosen_prog;
	return bpf_program__fd(flags & TRAMP_MULTI_F_SESSION ? skel->progs.count_session :
							       skel->progs.count_probe);
}

/* With @sparse the chances that are taken are further and further apart. */
static unsigned int next_chance(unsigned int n, bool sparse)
{
	return sparse ? n + 1 + n / 3 : faults_next(n);
}

/* ATTACH_MULTI: the first of the functions is FUNC. */
static void attach_loop(const char *what, struct many *m, uint32_t flags, bool sparse)
{
	struct state before = state_now();
	unsigned int n;

	for (n = 1; (sparse || n < MAX_FAULTS) && ktap_failures() < 5; n = next_chance(n, sparse)) {
		bool fired;
		int err;

		m->cmd.link_fd = -1;
		faults_arm(n);
		err = many_attach_try(m, many_prog(flags), flags);
		fired = faults_disarm();
		faults_outcome(n, fired, err);
		if (err) {
			check_errno(&m->cmd.refusal, err, m->cmd.link_fd, what, n);
			CHECK(m->cmd.failed <= m->cmd.nr, "%s, fault %u: function %u", what, n,
			      m->cmd.failed);
			check_same(&before, what, n);
		}
		check_calls(what, n, 0, !err);
		if (!err) {
			CHECK(m->cmd.nr_attached == m->cmd.nr || (flags & TRAMP_MULTI_F_SKIP),
			      "%s, fault %u: %u of %u attached", what, n, m->cmd.nr_attached,
			      m->cmd.nr);
			close(m->cmd.link_fd);
			check_calls(what, n, 0, 0);
		}
		check_same(&before, what, n);
		if (faults_over(what, fired, err))
			break;
	}
	faults_report_refused(what);
	check_calls(what, n, 0, 0);
}

/*
 * Closing its link, which never fails. All of its functions go with their ftrace_ops, which takes
 * no memory, unless another program stays at one of them.
 */
static void close_loop(const char *what, struct many *m, uint32_t flags, bool sparse,
		       enum takes takes)
{
	struct state before = state_now();
	bool fired = true;
	unsigned int n;

	for (n = 1; fired && (sparse || n < MAX_FAULTS) && ktap_failures() < 5;
	     n = next_chance(n, sparse)) {
		many_attach(m, many_prog(flags), flags);
		faults_arm(n);
		CHECK_EQ(close(m->cmd.link_fd), 0, "%s, fault %u", what, n);
		fired = faults_disarm();
		faults_outcome(n, fired, false);
		check_calls(what, n, 0, 0);
		check_same(&before, what, n);
	}
	faults_check_taken(what, faults_report(what), takes);
}

static void many_loops(const char *what, struct many *m, uint32_t flags, bool sparse,
		       enum takes takes)
{
	char closing[160];

	snprintf(closing, sizeof(closing), "%s, closing", what);
	attach_loop(what, m, flags, sparse);
	close_loop(closing, m, flags, sparse, takes);
}

static void many_faults(const char *what, struct many *m, uint32_t flags, bool sparse,
			enum takes takes)
{
	char lasting[128];
	uint32_t i;

	for (i = 0; i < m->cmd.nr; i++)
		m->cookies[i] = i ? COOKIES : SECOND;
	many_loops(what, m, flags, sparse, takes);
	snprintf(lasting, sizeof(lasting), "%s, lasting", what);
	if (!sparse && faults_last(true))
		many_loops(lasting, m, flags, false, takes);
	faults_last(false);
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
	faults_setup();
	many_faults("many, at the entry", some_functions(2), 0, false, TAKES_NO_MEMORY);
	many_faults("many, at the return", some_functions(2), TRAMP_MULTI_F_RETURN, false,
		    TAKES_NO_MEMORY);
	many_faults("many, what can be", some_functions(2), TRAMP_MULTI_F_SKIP, false,
		    TAKES_NO_MEMORY);
	check_nothing_left();
}

/* A program of the kernel's type for many may ask which function it is at. */
static void test_attach_type(void)
{
	faults_setup();
	if (!(tramp_module().features & TRAMP_FEAT_MULTI_HELPERS))
		ktap_skip("the kernel has no such programs");
	chosen_prog = bpf_program__fd(skel->progs.count_many);
	many_faults("many, with the kernel's type", some_functions(2), 0, false, TAKES_NO_MEMORY);
	chosen_prog = -1;
	check_nothing_left();
}

/* Names are of the kernel's functions, which nobody calls here. */
static void test_attach_names(void)
{
	static const char names[] = "vfs_link\0vfs_tmpfile";
	struct state before;
	unsigned int n;
	struct many *m;

	faults_setup();
	m = many_new();
	m->cookies[0] = m->cookies[1] = COOKIES;
	m->cmd.nr = 2;
	m->cmd.names = (uintptr_t)names;
	m->cmd.names_len = sizeof(names);
	before = state_now();
	for (n = 1; n < MAX_FAULTS && ktap_failures() < 5; n++) {
		bool fired;
		int err;

		m->cmd.link_fd = -1;
		m->cmd.addrs = 0;
		faults_arm(n);
		err = many_attach_try(m, bpf_program__fd(skel->progs.count_probe), 0);
		fired = faults_disarm();
		faults_outcome(n, fired, err);
		if (err)
			check_errno(&m->cmd.refusal, err, m->cmd.link_fd, "by name", n);
		else
			close(m->cmd.link_fd);
		check_same(&before, "by name", n);
		if (faults_over("by name", fired, err))
			break;
	}
	faults_report_refused("many, by name");
	free(m);
	check_nothing_left();
}

/* No image can call a function with stack arguments: the kernel's rethook sees its return. */
static void test_attach_hooked(void)
{
	struct many *m;

	faults_setup();
	m = some_functions(2);
	many_add_name(m, "tt_args12");
	many_faults("many, at returns that a rethook sees", m, TRAMP_MULTI_F_RETURN, false,
		    TAKES_NO_MEMORY);
	many_faults("many, sessions that a rethook sees", m, TRAMP_MULTI_F_SESSION, false,
		    TAKES_NO_MEMORY);
	many_faults("many, sessions", some_functions(2), TRAMP_MULTI_F_SESSION, false,
		    TAKES_NO_MEMORY);
	check_nothing_left();
}

/* Functions that have a program already: the new one joins it there. */
static void test_attach_joined(void)
{
	struct many *m;
	struct way way;
	int fd;

	faults_setup();
	m = some_functions(2);
	way = fentry_way();
	way.prog_fd = prog_clone(record->progs.count_entry, "tt_hot1", BPF_TRACE_FENTRY);
	fd = way_must_attach(&way, FIRST);
	many_faults("many, one of which has a program", m, 0, false, TAKES_MEMORY);
	many_faults("many, at returns, one of which has a program", m, TRAMP_MULTI_F_RETURN, false,
		    TAKES_MEMORY);
	close(fd);
	check_nothing_left();
}

/* Asking the kernel about a link with its functions and cookies. */
static void test_link_info(void)
{
	uint64_t addrs[2], cookies[2];
	struct state before;
	unsigned int n;
	struct many *m;

	faults_setup();
	if (kernel_version() < 6009)
		ktap_skip("link info has no cookies of many functions before 6.9");
	m = some_functions(2);
	many_attach(m, bpf_program__fd(skel->progs.count_probe), 0);
	before = state_now();
	for (n = 1; n < MAX_FAULTS && ktap_failures() < 5; n++) {
		struct many_info info = {
			.addrs = (uintptr_t)addrs, .cookies = (uintptr_t)cookies, .count = 2,
		};
		bool fired;
		int err;

		faults_arm(n);
		err = many_info(m->cmd.link_fd, &info);
		fired = faults_disarm();
		faults_outcome(n, fired, err);
		CHECK(!err || err == -ENOMEM || err == -EFAULT, "fault %u: %s", n, strerror(-err));
		if (faults_over("link info", fired, err))
			break;
	}
	check_same(&before, "link info", n);
	faults_report("link info");
	many_detach(m);
	check_nothing_left();
}

static void test_attach_chunks(void)
{
	faults_setup();
	many_faults("many, in two chunks", some_functions(4100), TRAMP_MULTI_F_SKIP, true,
		    TAKES_NO_MEMORY);
	check_nothing_left();
}

static void test_attach_batch(void)
{
	struct way one, other, third = {};

	faults_setup();
	other = probe_way(0);
	one = other;
	one.prog_fd = bpf_program__fd(skel->progs.count_probe_too);
	batch_faults("two probes in one call", &one, &other, NULL);
	one = fentry_way();
	batch_faults("fentry and a probe in one call", &one, &other, NULL);
	other = fexit_way();
	third.prog_fd = prog_clone(record->progs.count_entry, "tt_hot1", BPF_TRACE_FENTRY);
	batch_faults("programs at two functions in one call", &one, &other, &third);
	one = return_way();
	other = one;
	other.prog_fd = bpf_program__fd(skel->progs.count_probe_too);
	third = one;
	third.symbol = "tt_hot1";
	batch_faults("returns of two functions in one call", &one, &other, &third);
}

static void test_detach_batch(void)
{
	struct way one, other, third = {}, staying;
	struct attachment holder;
	int fd[2];

	faults_setup();
	other = probe_way(0);
	one = other;
	one.prog_fd = bpf_program__fd(skel->progs.count_probe_too);
	detach_batch_faults("two probes go in one call", &one, &other, NULL);
	one = fentry_way();
	detach_batch_faults("fentry and a probe go in one call", &one, &other, NULL);
	other = fexit_way();
	detach_batch_faults("fentry and fexit go in one call", &one, &other, NULL);

	/* Those that stay need new images. */
	third.prog_fd = prog_clone(record->progs.count_entry, "tt_hot1", BPF_TRACE_FENTRY);
	staying = entry_probe_way();
	fd[0] = way_must_attach(&staying, COOKIES);
	staying.symbol = "tt_hot1";
	fd[1] = way_must_attach(&staying, COOKIES);
	detach_batch_faults("programs of two functions go, others stay", &one, &other, &third);
	close(fd[0]);
	close(fd[1]);

	if (!(tramp_module().features & TRAMP_FEAT_FTRACE_OPS))
		return;
	holder = hold_site("tt_hot1");
	detach_batch_faults("programs go, one of them through ftrace", &one, &other, &third);
	detach(&holder);
}

static void test_points(void);

static const struct ktap_test tests[] = {
	KTAP_TEST_SECONDS(test_attach_batch, 240),
	KTAP_TEST_SECONDS(test_detach_batch, 240),
	KTAP_TEST_SECONDS(test_attach_many, 240),
	KTAP_TEST_SECONDS(test_attach_type, 120),
	KTAP_TEST_SECONDS(test_attach_names, 120),
	KTAP_TEST_SECONDS(test_attach_hooked, 240),
	KTAP_TEST_SECONDS(test_attach_joined, 240),
	KTAP_TEST_SECONDS(test_link_info, 120),
	KTAP_TEST_SECONDS(test_attach_chunks, 600),
	KTAP_TEST(test_points),
};

static void test_points(void)
{
	faults_check_points(sizeof(tests) / sizeof(tests[0]) - 1);
}

KTAP_MAIN(tests)
