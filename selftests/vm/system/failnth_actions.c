// SPDX-License-Identifier: GPL-2.0
/*
 * The loops of failnth.h: one action again and again, with a later failure each time. Where
 * failures can last, each loop goes round a second time with those.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/types.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>
#include "failnth.h"
#include "fixture.h"
#include "probe.h"
#include "record.h"
#include "selftests/vm/system/failnth.skel.h"
#include "selftests/vm/lib/record.skel.h"

/* A loop of the action that is called @what. */
#define ONCE_AND_LASTING(what, loop, ...)				\
	do {								\
		char lasting_[128];					\
									\
		loop(what, __VA_ARGS__);				\
		snprintf(lasting_, sizeof(lasting_), "%s, lasting", what); \
		if (faults_last(true))					\
			loop(lasting_, __VA_ARGS__);			\
		faults_last(false);					\
	} while (0)

/* Their cookie counts nowhere. */
static int crowd[40], nr_crowd;

void attach_crowd(void)
{
	struct way way = { .prog_fd = bpf_program__fd(skel->progs.count_probe) };
	char name[32];

	way.symbol = name;
	while (nr_crowd < (int)(sizeof(crowd) / sizeof(crowd[0]))) {
		snprintf(name, sizeof(name), "tt_many_%03d", nr_crowd);
		crowd[nr_crowd++] = way_must_attach(&way, ~0ULL);
	}
}

/* An action has come to its end: what is left is what others had attached before it. */
static void action_end(const struct state *was)
{
	unsigned int others = was->info.links - nr_crowd;

	while (nr_crowd)
		close(crowd[--nr_crowd]);
	if (others)
		CHECK_EQ(tramp_module().links, others, "links");
	else
		check_nothing_left();
}

struct attachment hold_site(const char *func)
{
	return attach_func(KERNEL,
			   prog_clone(record->progs.count_entry_too, func, BPF_TRACE_FENTRY), NULL);
}

/* The mode of a program that nothing keeps from being attached. */
static uint32_t usual_mode(const struct way *way)
{
	struct tramp_attach a;
	int err = way_attach(way, SECOND, &a);

	REQUIRE(!err, "attach: %s (%s %s)", strerror(-err), tramp_reason_name(a.refusal.reason),
		a.refusal.detail);
	close(a.link_fd);
	return a.mode;
}

static void check_mode(uint32_t mode, uint32_t usual, const char *what, unsigned int n)
{
	CHECK(mode == usual, "%s, fault %u: mode %s, not %s", what, n, tramp_mode_name(mode),
	      tramp_mode_name(usual));
}

static void attach_loop(const char *what, const struct way *way, const struct way *beside)
{
	struct state before;
	unsigned int n;
	uint32_t usual;
	int other = -1;

	if (beside)
		other = way_must_attach(beside, FIRST);
	usual = usual_mode(way);
	before = state_now();
	for (n = 1; n < MAX_FAULTS && ktap_failures() < 5; n = faults_next(n)) {
		struct tramp_attach a;
		bool fired;
		int err;

		/* Beside a probe the first program with a type tells what later ones find. */
		if (beside && beside->symbol) {
			close(other);
			CHECK(tramp_settle(), "images wait to be freed for 30 s");
			other = way_must_attach(beside, FIRST);
		}
		/* A probe that has gone may still be on its way out: the next one revives it. */
		probe_flush();
		faults_arm(n);
		err = way_attach(way, SECOND, &a);
		fired = faults_disarm();
		faults_outcome(n, fired, err);
		if (err) {
			check_refusal(&a, err, what, n);
			check_same(&before, what, n);
		} else {
			check_mode(a.mode, usual, what, n);
		}
		check_calls(what, n, beside != NULL, !err && !way->addr);
		if (!err)
			close(a.link_fd);
		check_same(&before, what, n);
		if (faults_over(what, fired, err))
			break;
	}
	faults_report_refused(what);
	check_mode(usual_mode(way), usual, what, n);
	if (other >= 0) {
		check_calls(what, n, 1, 0);
		close(other);
	}
	check_calls(what, n, 0, 0);
}

void attach_faults(const char *what, const struct way *way, const struct way *beside)
{
	struct state was = state_now();

	ONCE_AND_LASTING(what, attach_loop, way, beside);
	action_end(&was);
}

int detach_by_close(int fd)
{
	return close(fd) ? -errno : 0;
}

int detach_by_command(int fd)
{
	return bpf_link_detach(fd);
}

static void detach_loop(const char *what, const struct way *way, const struct way *beside,
			int (*detach)(int fd), enum takes takes)
{
	struct state before;
	int other = -1;
	unsigned int n;

	if (beside)
		other = way_must_attach(beside, FIRST);
	before = state_now();
	for (n = 1; n < MAX_FAULTS && ktap_failures() < 5; n = faults_next(n)) {
		int fd = way_must_attach(way, SECOND), err;
		bool fired;

		faults_arm(n);
		err = detach(fd);
		fired = faults_disarm();
		faults_outcome(n, fired, err);
		if (err == -EFAULT && detach == detach_by_command) {
			/* bpf() could not even read what it was asked: all is as it was. */
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
	faults_check_taken(what, faults_report(what), takes);
	if (other >= 0)
		close(other);
	check_calls(what, n, 0, 0);
}

void detach_faults(const char *what, const struct way *way, const struct way *beside,
		   int (*detach)(int fd), enum takes takes)
{
	struct state was = state_now();

	ONCE_AND_LASTING(what, detach_loop, way, beside, detach, takes);
	action_end(&was);
}

static void update_loop(const char *what, const struct way *way, int other)
{
	int fd = way_must_attach(way, FIRST), progs[] = { way->prog_fd, other }, now = 0;
	struct state before = state_now();
	unsigned int n;

	for (n = 1; n < MAX_FAULTS && ktap_failures() < 5; n = faults_next(n)) {
		bool fired;
		int err;

		faults_arm(n);
		err = bpf_link_update(fd, progs[!now], NULL);
		fired = faults_disarm();
		faults_outcome(n, fired, err);
		if (err) {
			CHECK(err == -ENOMEM || err == -EFAULT, "%s, fault %u: %s", what, n,
			      strerror(-err));
		} else {
			now = !now;
		}
		check_same(&before, what, n);
		check_calls(what, n, 1, 0);
		if (faults_over(what, fired, err))
			break;
	}
	faults_report_refused(what);
	close(fd);
}

void update_faults(const char *what, const struct way *way, int other)
{
	struct state was = state_now();

	ONCE_AND_LASTING(what, update_loop, way, other);
	action_end(&was);
}

#define BATCH_MAX 3

static void batch_loop(const char *what, const struct way *const *ways, uint32_t nr)
{
	static const uint64_t cookies[BATCH_MAX] = { FIRST, SECOND, SECOND };
	unsigned int n, blamed[BATCH_MAX + 1] = {};
	struct state before = state_now();
	uint32_t i, usual[BATCH_MAX];

	for (i = 0; i < nr; i++)
		usual[i] = usual_mode(ways[i]);
	for (n = 1; n < MAX_FAULTS && ktap_failures() < 5; n = faults_next(n)) {
		struct tramp_attach items[BATCH_MAX];
		struct tramp_attach_batch cmd = {
			.size = sizeof(cmd), .count = nr, .item_size = sizeof(items[0]),
			.items = (uintptr_t)items, .failed = nr,
		};
		bool fired;
		int err;

		for (i = 0; i < nr; i++)
			way_fill(ways[i], cookies[i], &items[i]);
		faults_arm(n);
		err = ioctl(tramp_device(), TRAMP_IOC_ATTACH_BATCH, &cmd) < 0 ? -errno : 0;
		fired = faults_disarm();
		faults_outcome(n, fired, err);
		if (err) {
			check_errno(&cmd.refusal, err, -1, what, n);
			if (CHECK(cmd.failed <= nr, "%s, fault %u: item %u", what, n, cmd.failed))
				blamed[cmd.failed]++;
			check_same(&before, what, n);
		}
		for (i = 0; err && i < nr; i++)
			CHECK(items[i].link_fd < 0 || fcntl(items[i].link_fd, F_GETFD) < 0,
			      "%s, fault %u: gave descriptor %d", what, n, items[i].link_fd);
		check_calls(what, n, !err, !err);
		for (i = 0; !err && i < nr; i++) {
			check_mode(items[i].mode, usual[i], what, n);
			close(items[i].link_fd);
		}
		check_same(&before, what, n);
		if (faults_over(what, fired, err))
			break;
	}
	faults_report_refused(what);
	for (i = 0; i <= nr; i++)
		CHECK(blamed[i], "%s: nothing is ever at item %u of %u", what, i, nr);
	check_calls(what, n, 0, 0);
}

void batch_faults(const char *what, const struct way *one, const struct way *other,
		  const struct way *third)
{
	const struct way *ways[BATCH_MAX] = { one, other, third };
	struct state was = state_now();
	uint32_t nr = third ? 3 : 2;
	char twice[128];

	ONCE_AND_LASTING(what, batch_loop, ways, nr);
	snprintf(twice, sizeof(twice), "%s, two in a row", what);
	if (faults_in_a_row(2))
		batch_loop(twice, ways, nr);
	faults_in_a_row(1);
	action_end(&was);
}

/*
 * Refused it detaches none, and the descriptors stay. If only the answer could not be written, all
 * have gone.
 */
static void detach_batch_loop(const char *what, const struct way *one, const struct way *other,
			      const struct way *third)
{
	struct state none = state_now(), both;
	unsigned int n, i;

	for (n = 1; n < MAX_FAULTS && ktap_failures() < 5; n = faults_next(n)) {
		int fds[] = {
			way_must_attach(one, FIRST), way_must_attach(other, SECOND),
			third ? way_must_attach(third, SECOND) : -1,
		};
		struct tramp_detach_batch cmd = {
			.size = sizeof(cmd), .count = third ? 3 : 2, .fds = (uintptr_t)fds,
		};
		bool fired, there;
		int err;

		both = state_now();
		faults_arm(n);
		err = ioctl(tramp_device(), TRAMP_IOC_DETACH_BATCH, &cmd) < 0 ? -errno : 0;
		fired = faults_disarm();
		faults_outcome(n, fired, err);
		there = err && (err != -EFAULT || tramp_module().links != none.info.links);
		if (err) {
			check_errno(&cmd.refusal, err, -1, what, n);
			CHECK(cmd.failed <= cmd.count, "%s, fault %u: item %u", what, n, cmd.failed);
			CHECK_EQ(tramp_module().links, (there ? both : none).info.links,
				 "%s, fault %u: links", what, n);
		}
		check_calls(what, n, there, there);
		for (i = 0; i < cmd.count; i++)
			close(fds[i]);
		check_same(&none, what, n);
		check_calls(what, n, 0, 0);
		if (faults_over(what, fired, err))
			break;
	}
	faults_report_refused(what);
}

void detach_batch_faults(const char *what, const struct way *one, const struct way *other,
			 const struct way *third)
{
	struct state was = state_now();

	ONCE_AND_LASTING(what, detach_batch_loop, one, other, third);
	action_end(&was);
}
