// SPDX-License-Identifier: GPL-2.0
/*
 * Faults one after the other (failnth.h) where a callback runs the program
 * (kernel/probe/callback.c): by a kprobe of the kernel, or by an ftrace_ops that all such entries
 * share.
 *
 * Attaching is refused for want of memory and for no other reason, and no way stands in for another
 * because of it. Detaching never fails. A function that the shared ops could not be taken from is
 * not hooked any more when the last of them has gone.
 *
 * A kernel's kprobe at an entry is detached without faults: the kernel warns if it has no memory to
 * take that back. test_shutdown has that.
 */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "failnth.h"
#include "fixture.h"
#include "probe.h"
#include "selftests/vm/system/failnth.skel.h"

#define OTHER "tt_hot1"

/* The same place for another program. */
static struct way other_prog(const struct way *way)
{
	struct way other = *way;

	other.prog_fd = bpf_program__fd(skel->progs.count_probe_too);
	return other;
}

/* ---------------------------------------------------- a kprobe of the kernel --- */

/* At FUNC's entry. */
static struct way func_ip_way(void)
{
	struct way way = entry_probe_way();

	way.prog_fd = bpf_program__fd(skel->progs.count_func_ip);
	return way;
}

/* As it is attached when nothing fails. */
static struct tramp_attach usual(const struct way *way)
{
	struct tramp_attach a;
	int err = way_attach(way, SECOND, &a);

	REQUIRE(!err, "%s (%s)", strerror(-err), a.refusal.detail);
	close(a.link_fd);
	return a;
}

static void expect_mode(const struct way *way, uint32_t mode, uint32_t reason)
{
	struct tramp_attach a = usual(way);

	CHECK_EQ(a.mode, mode, "mode %s", tramp_mode_name(a.mode));
	CHECK_EQ(a.mode_reason, reason, "because of %s", tramp_reason_name(a.mode_reason));
}

static void test_kprobe_entry(void)
{
	struct way way, other, fentry;

	faults_setup();
	faults_never_last();
	way = func_ip_way();
	other = other_prog(&way);
	fentry = fentry_way();
	expect_mode(&way, TRAMP_MODE_KPROBE, TRAMP_REASON_FUNC_IP);
	attach_faults("a kprobe at an entry", &way, NULL);
	attach_faults("a kprobe at an entry, beside fentry", &way, &fentry);
	attach_faults("a program beside a kprobe at an entry", &other, &way);
	update_faults("updating a kprobe at an entry", &way, other.prog_fd);
}

/* Where the kernel has a kprobe already: ours is another one there. */
static void test_kprobe_beside(void)
{
	struct tramp_attach before;
	uint64_t addr, hits, missed;
	struct way way, other;
	int32_t err;
	int i;

	faults_setup();
	way = probe_way(0);
	other = other_prog(&way);
	before = usual(&way);
	/* Until nothing of ours is there. */
	probe_flush();
	addr = ksym_addr(FUNC) + way.offset;
	kprobes_on(test_dev, TT_KPROBE_COUNT, &addr, &err, 1);
	REQUIRE(!err, "a kprobe of the kernel: %s", strerror(err));
	expect_mode(&way, TRAMP_MODE_KPROBE, TRAMP_REASON_KPROBE_THERE);
	attach_faults("a kprobe", &way, NULL);
	attach_faults("a program beside a kprobe", &other, &way);
	detach_faults("closing a kprobe", &way, NULL, detach_by_close, TAKES_NO_MEMORY);
	detach_faults("detaching a kprobe", &way, NULL, detach_by_command, TAKES_NO_MEMORY);
	detach_faults("closing a program beside a kprobe", &other, &way, detach_by_close,
		      TAKES_MEMORY);
	update_faults("updating a kprobe", &way, other.prog_fd);
	kprobes_off(test_dev, &hits, &missed, NULL, 1);
	CHECK(hits, "the kernel's own kprobe was never hit");
	/* The kernel's optimiser takes a moment to let go of it, and then all is as ever. */
	for (i = 0; usual(&way).mode != before.mode && i < 100; i++)
		usleep(50000);
	expect_mode(&way, before.mode, before.mode_reason);
}

/* --------------------------------------------------------------- an ftrace_ops --- */

/* How many users of ftrace are at a function: "NAME [MODULE] (2) ...". */
static int users(const char *func)
{
	char *list = read_file(TRACING "enabled_functions"), *rest = list, *line, *at;
	size_t len = strlen(func);
	int nr = 0;

	while ((line = strsep(&rest, "\n"))) {
		at = strchr(line, '(');
		if (at && !strncmp(line, func, len) && line[len] == ' ')
			nr = atoi(at + 1);
	}
	free(list);
	return nr;
}

/* The last probe goes, and there is no memory to take its function out of the filter. */
static void close_without_memory(int fd)
{
	bool lasting = faults_last(true);

	if (lasting)
		faults_arm(1);
	close(fd);
	if (lasting)
		CHECK(faults_disarm(), "it takes no memory");
	faults_last(false);
}

static void test_ops(void)
{
	struct attachment holder[2];
	struct way way, other, hot1;
	int fd;

	faults_setup();
	way = entry_probe_way();
	other = other_prog(&way);
	hot1 = way;
	hot1.symbol = OTHER;
	holder[0] = hold_site(FUNC);
	holder[1] = hold_site(OTHER);
	expect_mode(&way, TRAMP_MODE_FTRACE_OPS, TRAMP_REASON_NONE);
	attach_faults("the first probe through ftrace", &way, NULL);
	attach_faults("a program beside one through ftrace", &other, &way);
	detach_faults("closing the last probe through ftrace", &way, NULL, detach_by_close,
		      TAKES_MEMORY);
	update_faults("updating a probe through ftrace", &way, other.prog_fd);

	close_without_memory(way_must_attach(&way, FIRST));
	CHECK_EQ(users(FUNC), 1, "users of " FUNC ", when its probe has gone");
	fd = way_must_attach(&hot1, COOKIES);
	CHECK_EQ(users(FUNC), 1, "users of " FUNC ", beside a probe that came later");
	CHECK_EQ(users(OTHER), 2, "users of " OTHER);

	/* The ops stays, and its filter keeps FUNC if there is no memory to change it. */
	attach_faults("another probe through ftrace", &way, NULL);
	detach_faults("closing one of the probes through ftrace", &way, NULL, detach_by_close,
		      TAKES_MEMORY);
	detach_faults("detaching one of the probes", &way, NULL, detach_by_command,
		      TAKES_MEMORY);
	close_without_memory(way_must_attach(&way, FIRST));
	detach(&holder[0]);
	detach(&holder[1]);
	CHECK_EQ(users(OTHER), 1, "users of " OTHER);
	close(fd);
	CHECK_EQ(users(OTHER), 0, "users of " OTHER ", in the end");
	CHECK_EQ(users(FUNC), 0, "users of " FUNC ", in the end");
	check_nothing_left();
}

/* ------------------------------------------------------------------ in a batch --- */

static void test_batch(void)
{
	struct attachment holder;
	struct way entry, ops, probe, hot1;

	faults_setup();
	faults_never_last();
	entry = func_ip_way();
	probe = probe_way(0);
	batch_faults("a kprobe and a probe in one call", &entry, &probe, NULL);
	hot1 = entry;
	hot1.symbol = OTHER;
	batch_faults("a probe and two kprobes in one call", &probe, &entry, &hot1);
	holder = hold_site(FUNC);
	ops = other_prog(&entry);
	batch_faults("through ftrace and a probe in one call", &ops, &probe, NULL);
	batch_faults("a probe, through ftrace and a kprobe in one call", &probe, &ops, &hot1);
	detach(&holder);
}

/*
 * The last one waits for others that may come to a function's entry. Without memory for its image
 * all leave, and are tried once more.
 */
static void test_batch_ops(void)
{
	struct attachment holder;
	struct way first, ops, probe, hot1;
	int beside;

	faults_setup();
	holder = hold_site(FUNC);
	probe = probe_way(0);
	hot1 = first = entry_probe_way();
	ops = other_prog(&first);
	hot1.symbol = OTHER;
	beside = way_must_attach(&first, COOKIES);
	batch_faults("a probe, beside another through ftrace, and at an entry, in one call", &probe,
		     &ops, &hot1);
	close(beside);
	detach(&holder);
}

static void test_points(void);

static const struct ktap_test tests[] = {
	KTAP_TEST_SECONDS(test_kprobe_entry, 240),
	KTAP_TEST_SECONDS(test_kprobe_beside, 240),
	KTAP_TEST_SECONDS(test_ops, 240),
	KTAP_TEST_SECONDS(test_batch, 240),
	KTAP_TEST_SECONDS(test_batch_ops, 240),
	KTAP_TEST(test_points),
};

static void test_points(void)
{
	faults_check_points(sizeof(tests) / sizeof(tests[0]) - 1);
}

KTAP_MAIN(tests)
