// SPDX-License-Identifier: GPL-2.0
/*
 * Returns of many functions where no image can call one of them in its place: the kernel's rethook
 * sees those. Functions of both sorts are in one attachment.
 */
#include <errno.h>
#include <linux/bpf.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include "fixture.h"
#include "many.h"
#include "multi.h"
#include "ownmod.h"
#include "record.h"
#include "selftests/vm/func/multi.skel.h"
#include "selftests/vm/lib/record.skel.h"

#define CALLS 10
#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))

static struct multi *skel;
static int dev;

static void load(void)
{
	skel = many_open(multi);
	REQUIRE(skel, "%s", strerror(errno));
	bpf_program__set_autoload(skel->progs.on_session, true);
	REQUIRE(!multi__load(skel), "%s", strerror(errno));
}

static void setup(void)
{
	dev = fixture_open("about attachments of many functions, which 6.1 has not");
	load();
}

static int return_prog(void)
{
	return bpf_program__fd(kernel_version() >= 6002 ? skel->progs.on_return :
							  skel->progs.on_plain_return);
}

/* Arguments on the stack: an image must not call these from its frame. */
static const struct {
	const char *name, *args;
} mixed[] = {
	{ "tt_hot0", "40" },
	{ "tt_args12", "1 2 3 4 5 6 7 8 9 10 11 12" },
	{ "tt_hot1", "41" },
	{ "tt_stack12", "1 2 3 4 5 6 7 8 9 10 11 12" },
};

static void call_mixed(uint64_t *results)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(mixed); i++) {
		struct tt_reply reply = tt_call(dev, "%s n=%d %s", mixed[i].name, CALLS,
						mixed[i].args);

		CHECK_EQ(reply.different, 0, "%s", mixed[i].name);
		if (results[i])
			CHECK_EQ(reply.result, results[i], "%s", mixed[i].name);
		results[i] = reply.result;
	}
}

static struct many *many_mixed(void)
{
	struct many *m = many_new();
	size_t i;

	for (i = 0; i < ARRAY_SIZE(mixed); i++)
		many_add_name(m, mixed[i].name);
	return m;
}

/* Each is seen @nr times with its result, in order of the functions, and with its cookie. */
static void check_mixed(const struct many *m, const uint64_t *results, uint64_t nr)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(mixed); i++) {
		const struct multi_seen *s = &skel->bss->seen[i];

		CHECK_EQ(s->returns, nr, "%s", mixed[i].name);
		CHECK_EQ(s->result, results[i], "%s", mixed[i].name);
		CHECK_EQ(s->ip, m->addrs[i], "%s", mixed[i].name);
	}
	CHECK_EQ(skel->bss->strangers, 0, "wrong cookies");
}

static void test_returns(void)
{
	int progs[] = { 0, 0 };
	uint64_t results[ARRAY_SIZE(mixed)] = {};
	size_t i;

	setup();
	progs[0] = return_prog();
	progs[1] = bpf_program__fd(skel->progs.on_plain_return);
	call_mixed(results);
	for (i = 0; i < ARRAY_SIZE(progs); i++) {
		struct many *m = many_mixed();

		memset(skel->bss->seen, 0, sizeof(skel->bss->seen));
		many_attach(m, progs[i], TRAMP_MULTI_F_RETURN);
		CHECK_EQ(m->cmd.nr_attached, ARRAY_SIZE(mixed), "attached");
		call_mixed(results);
		check_mixed(m, results, CALLS);
		CHECK_EQ(tramp_query_link(m->cmd.link_id).hits, CALLS * ARRAY_SIZE(mixed), "hits");
		CHECK_EQ(tramp_query_link(m->cmd.link_id).misses, 0, "misses");
		many_detach(m);
		call_mixed(results);
		check_mixed(m, results, CALLS);
	}
}

static void test_session(void)
{
	uint64_t results[ARRAY_SIZE(mixed)] = {};
	struct many *m;
	size_t i;

	setup();
	m = many_mixed();
	call_mixed(results);
	many_attach(m, bpf_program__fd(skel->progs.on_session), many_session());
	call_mixed(results);
	for (i = 0; i < ARRAY_SIZE(mixed); i++)
		CHECK_EQ(skel->bss->seen[i].entries, CALLS, "%s", mixed[i].name);
	check_mixed(m, results, CALLS - (CALLS + 2) / 3);
	CHECK_EQ(skel->bss->unpaired, 0, "session cookies");
	many_detach(m);
}

/* A function that takes a rethook, alone. */
static struct many *many_sleepers(void)
{
	struct many *m = many_new();

	many_add_name(m, "tt_sleep8");
	return m;
}

/*
 * A function has ten nodes, if there are few CPUs: what comes when all are taken is missed. It
 * stays counted when the link is detached, and its functions are no more.
 */
static void test_missed(void)
{
	static struct ownmod_sleeper sleepers[80];
	char path[64], *fdinfo;
	const int nodes = nr_cpus() > 5 ? 2 * nr_cpus() : 10, nr = nodes + 3;
	struct many *m;
	int i;

	REQUIRE(nr <= (int)ARRAY_SIZE(sleepers), "%d nodes", nodes);
	setup();
	m = many_sleepers();
	many_attach(m, return_prog(), TRAMP_MULTI_F_RETURN);
	for (i = 0; i < nr; i++)
		ownmod_sleep8(&sleepers[i], i);
	ownmod_wait_for_sleepers(dev, nr);
	REQUIRE(!tt_command(dev, NULL, 0, "wake"), "wake");
	for (i = 0; i < nr; i++)
		ownmod_join(&sleepers[i]);
	CHECK_EQ(skel->bss->seen[0].returns, nodes, "returns");
	CHECK_EQ(tramp_query_link(m->cmd.link_id).hits, nodes, "hits");
	CHECK_EQ(tramp_query_link(m->cmd.link_id).misses, nr - nodes, "misses");
	REQUIRE(!bpf_link_detach(m->cmd.link_fd), "%s", strerror(errno));
	snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", m->cmd.link_fd);
	fdinfo = read_file(path);
	CHECK_EQ(number_after(fdinfo, "hits:", 0), nodes, "%s", fdinfo);
	CHECK_EQ(number_after(fdinfo, "misses:", 0), nr - nodes, "%s", fdinfo);
	free(fdinfo);
	many_detach(m);
}

/* Tasks that are killed inside return on their way out. */
static void test_killed(void)
{
	struct many *m;
	pid_t pids[8];
	size_t i;

	setup();
	m = many_sleepers();
	many_attach(m, return_prog(), TRAMP_MULTI_F_RETURN);
	fflush(stdout);
	for (i = 0; i < ARRAY_SIZE(pids); i++) {
		pids[i] = fork();
		REQUIRE(pids[i] >= 0, "fork");
		if (!pids[i]) {
			tt_call(tt_open(), "tt_sleep8 1 2 3 4 5 6 7 7");
			_exit(0);
		}
	}
	ownmod_wait_for_sleepers(dev, ARRAY_SIZE(pids));
	for (i = 0; i < ARRAY_SIZE(pids); i++) {
		kill(pids[i], SIGKILL);
		waitpid(pids[i], NULL, 0);
	}
	CHECK_EQ(skel->bss->seen[0].returns, ARRAY_SIZE(pids), "returns");
	CHECK_EQ((int)skel->bss->seen[0].result, -EINTR, "result");
	many_detach(m);
}

/* Beside programs that others have there, which come and go. */
static void test_beside(void)
{
	struct attachment ours[2];
	struct many *m, *more;
	struct record *others;

	setup();
	others = FIXTURE_LOAD(record);
	m = many_mixed();
	more = many_mixed();
	ours[0] = attach_func(OURS, prog_clone(others->progs.count_exit, "tt_args12", BPF_TRACE_FEXIT),
			      &(uint64_t){ 1 });
	many_attach(m, return_prog(), TRAMP_MULTI_F_RETURN);
	ours[1] = attach_func(OURS, prog_clone(others->progs.count_exit, "tt_stack12", BPF_TRACE_FEXIT),
			      &(uint64_t){ 1 });
	many_attach(more, bpf_program__fd(skel->progs.on_plain_return), TRAMP_MULTI_F_RETURN);
	call_mixed((uint64_t[ARRAY_SIZE(mixed)]){});
	CHECK_EQ(others->bss->counted[1], 2 * CALLS, "fexit programs");
	CHECK_EQ(skel->bss->seen[1].returns, 2 * CALLS, "both programs of many");
	detach(&ours[0]);
	many_detach(m);
	call_mixed((uint64_t[ARRAY_SIZE(mixed)]){});
	CHECK_EQ(others->bss->counted[1], 3 * CALLS, "fexit programs");
	CHECK_EQ(skel->bss->seen[1].returns, 3 * CALLS, "the one that is left");
	CHECK_EQ(skel->bss->seen[3].returns, 3 * CALLS, "the one that is left");
	detach(&ours[1]);
	many_detach(more);
}

/* They sleep inside, the program goes, and our module: they find back. */
static void test_asleep(void)
{
	static struct ownmod_sleeper sleepers[8];
	struct many *m;
	size_t i;
	int err;

	ownmod_setup();
	dev = tt_open();
	m = many_sleepers();
	load();
	m->cmd.prog_fd = return_prog();
	m->cmd.flags = TRAMP_MULTI_F_RETURN;
	err = ownmod_ioctl(TRAMP_IOC_ATTACH_MULTI, &m->cmd);
	REQUIRE(!err, "%s: %s", strerror(-err), tramp_reason_name(m->cmd.refusal.reason));
	for (i = 0; i < ARRAY_SIZE(sleepers); i++)
		ownmod_sleep8(&sleepers[i], i);
	ownmod_wait_for_sleepers(dev, ARRAY_SIZE(sleepers));
	many_detach(m);
	CHECK_EQ(ownmod_unload("trampoline", 300), 0, "unloading while they sleep");
	REQUIRE(!tt_command(dev, NULL, 0, "wake"), "wake");
	for (i = 0; i < ARRAY_SIZE(sleepers); i++)
		ownmod_join(&sleepers[i]);
	CHECK_EQ(skel->bss->seen[0].returns, 0, "returns to a program that is gone");
	close(dev);
	ownmod_reload();
}

/* As test_ret_rethook.cpu_goes. */
static void test_cpu_goes(void)
{
	struct many *m = many_new();
	struct attachment alone;
	struct tramp_query q = {};
	char *func;
	int n;

	setup();
	func = called_on_dead_cpu(1);
	many_add_name(m, func);
	alone = attach_return(OURS, bpf_program__fd(skel->progs.on_plain_return), func, 0, 0);
	if (attachment_query(&alone).mode != TRAMP_MODE_RETHOOK)
		ktap_skip("%s() has a prototype, and so an exit image", func);
	detach(&alone);
	many_attach(m, return_prog(), TRAMP_MULTI_F_RETURN);
	for (n = 0; n < 100 && !q.misses; n++) {
		REQUIRE(!cpu_set_online(1, false) && !cpu_set_online(1, true), "CPU 1");
		q = tramp_query_link(m->cmd.link_id);
	}
	ktap_note("%s(): %llu hits, %llu misses, %d times", func, q.hits, q.misses, n);
	CHECK(q.misses, "it has left nobody's address space");
	many_detach(m);
	free(func);
}

static const struct ktap_test tests[] = {
	{ "returns", test_returns, 60 },
	{ "session", test_session, 60 },
	{ "missed", test_missed, 60 },
	{ "killed", test_killed, 60 },
	{ "beside", test_beside, 60 },
	{ "asleep", test_asleep, 90 },
	{ "cpu_goes", test_cpu_goes, 120 },
};

KTAP_MAIN(tests)
