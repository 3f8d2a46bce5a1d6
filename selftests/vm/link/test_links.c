// SPDX-License-Identifier: GPL-2.0
/*
 * Links as BPF links: closing detaches, dying detaches, pinning does not;
 * bpf_link_update() swaps programs without losing a call; bpf(2), fdinfo and
 * bpftool tell the truth about them.
 *
 * Environment: LINK_UPDATES under calls, default 40.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include <linux/bpf.h>
#include <linux/types.h>
#include "../../kmod/trampoline_test.h"
#include "fixture.h"
#include "probe.h"
#include "record.h"
#include "selftests/vm/lib/record.skel.h"

static struct record *skel;
static int dev;

static void setup(void)
{
	dev = fixture_open("about our links only");
	skel = FIXTURE_LOAD(record);
}

static int entry_for(const char *func)
{
	return prog_clone(skel->progs.count_entry, func, BPF_TRACE_FENTRY);
}

static struct tramp_link *attach(int prog_fd, uint64_t cookie)
{
	TRAMP_OPTS(tramp_attach_opts, opts, .cookie = cookie, .flags = TRAMP_ATTACH_F_COOKIE);
	struct tramp_link *link = tramp_attach_fd(prog_fd, &opts);

	REQUIRE(link, "%s", tramp_last_error()->message);
	return link;
}

/* Calls of a target, and how many of them were counted under @cookie. */
static uint64_t counted(const char *func, int calls, int cookie)
{
	uint64_t before = skel->bss->counted[cookie];

	tt_call(dev, "%s n=%d 1", func, calls);
	return skel->bss->counted[cookie] - before;
}

/* ---------------------------------------------------------- close, detach --- */

static void test_close_detaches(void)
{
	struct tramp_link *link;
	int prog, copy;

	setup();
	prog = entry_for("tt_hot0");
	link = attach(prog, 1);
	/* The link holds the program. */
	close(prog);
	CHECK_EQ(counted("tt_hot0", 10, 1), 10, "attached");
	/* A second descriptor holds the link. */
	copy = dup(tramp_link__fd(link));
	tramp_link__destroy(link);
	CHECK_EQ(counted("tt_hot0", 10, 1), 10, "one of two descriptors closed");
	close(copy);
	CHECK_EQ(counted("tt_hot0", 10, 1), 0, "both closed");
}

static void test_detach(void)
{
	TRAMP_OPTS(tramp_link_info, info);
	struct tramp_link *link, *again;
	int prog;

	setup();
	prog = entry_for("tt_hot0");
	link = attach(prog, 1);
	CHECK_EQ(tramp_module().links, 1, "links");
	/* BPF_LINK_DETACH: the link lives on as a shell. */
	CHECK(!tramp_link__detach(link), "%s", tramp_last_error()->message);
	CHECK_EQ(counted("tt_hot0", 10, 1), 0, "detached");
	CHECK_EQ(tramp_module().links, 0, "links");
	CHECK(!tramp_link__detach(link), "a second time: %s", tramp_last_error()->message);
	CHECK(!tramp_link__info(link, &info), "info of a detached link: %s",
	      tramp_last_error()->message);
	CHECK_EQ(info.mode, TRAMP_MODE_NONE, "mode of a detached link");
	CHECK_EQ(tramp_link__update_fd(link, prog), -ENOENT, "update of a detached link");
	/* The same program can be attached again, beside the shell. */
	again = attach(prog, 2);
	CHECK_EQ(counted("tt_hot0", 10, 2), 10, "attached again");
	tramp_link__destroy(link);
	CHECK_EQ(counted("tt_hot0", 10, 2), 10, "the shell is gone");
	tramp_link__destroy(again);
}

/* ------------------------------------------------------- killed processes --- */

#define NR_KILLED 12

/* A child that attaches to many functions, says so and waits. */
static pid_t attaching_child(int *ready)
{
	int pipe_fd[2];
	pid_t pid;
	char c;

	REQUIRE(!pipe(pipe_fd), "pipe");
	pid = fork();
	REQUIRE(pid >= 0, "fork");
	if (!pid) {
		int i;

		for (i = 0; i < NR_KILLED; i++) {
			char func[32];
			bool is_exit = i % 2;

			sprintf(func, "tt_many%02d", i);
			attach(prog_clone(is_exit ? skel->progs.count_exit :
					  skel->progs.count_entry, func,
					  is_exit ? BPF_TRACE_FEXIT : BPF_TRACE_FENTRY), i);
		}
		if (write(pipe_fd[1], "r", 1) == 1)
			pause();
		_exit(1);
	}
	close(pipe_fd[1]);
	*ready = read(pipe_fd[0], &c, 1) == 1;
	close(pipe_fd[0]);
	return pid;
}

static void test_killed_process(void)
{
	char before[NR_KILLED][64], now[64], func[32];
	int ready, round, i, status;

	setup();
	for (i = 0; i < NR_KILLED; i++)
		REQUIRE(!tt_command(dev, before[i], sizeof(before[i]), "text tt_many%02d 16", i),
			"text");
	for (round = 0; round < 3; round++) {
		pid_t pid = attaching_child(&ready);

		REQUIRE(ready, "the child could not attach");
		CHECK_EQ(tramp_module().links, NR_KILLED, "links");
		for (i = 0; i < NR_KILLED; i++) {
			sprintf(func, "tt_many%02d", i);
			CHECK_EQ(counted(func, 5, i), 5, "%s", func);
		}
		kill(pid, SIGKILL);
		waitpid(pid, &status, 0);
		CHECK_EQ(tramp_module().links, 0, "links of a dead process");
		for (i = 0; i < NR_KILLED; i++) {
			sprintf(func, "tt_many%02d", i);
			CHECK_EQ(counted(func, 5, i), 0, "%s", func);
			REQUIRE(!tt_command(dev, now, sizeof(now), "text %s 16", func), "text");
			CHECK(!strcmp(now, before[i]), "%s is %s, was %s", func, now, before[i]);
		}
	}
}

/* ---------------------------------------------------------------- pinning --- */

#define PIN "/sys/fs/bpf/tramp_link"

static void test_pinned(void)
{
	TRAMP_OPTS(tramp_link_info, info);
	struct tramp_link *link;
	int status, pipe_fd[2], i;
	uint32_t id = 0;
	pid_t pid;

	setup();
	unlink(PIN);
	REQUIRE(!pipe(pipe_fd), "pipe");
	pid = fork();
	if (!pid) {
		link = attach(entry_for("tt_hot0"), 1);
		if (tramp_link__pin(link, PIN))
			ktap_die("%s", tramp_last_error()->message);
		id = tramp_link__id(link);
		_exit(write(pipe_fd[1], &id, sizeof(id)) != sizeof(id));
	}
	waitpid(pid, &status, 0);
	REQUIRE(!status, "the child failed");
	REQUIRE(read(pipe_fd[0], &id, sizeof(id)) == sizeof(id), "pipe");
	CHECK_EQ(tramp_module().links, 1, "links");
	CHECK_EQ(counted("tt_hot0", 10, 1), 10, "its process is gone");

	link = tramp_link__open(PIN);
	REQUIRE(link, "%s", tramp_last_error()->message);
	CHECK_EQ(tramp_link__id(link), id, "id");
	CHECK(!tramp_link__info(link, &info), "%s", tramp_last_error()->message);
	CHECK_EQ(info.cookie, 1, "cookie");
	CHECK_EQ(info.hits, 10, "hits");
	CHECK(!strcmp(info.func_name, "tt_hot0"), "function '%s'", info.func_name);
	CHECK(!strcmp(info.module, "trampoline_test"), "module '%s'", info.module);

	/* Open and unpinned: held by the descriptor. */
	CHECK(!tramp_link__unpin(link), "%s", tramp_last_error()->message);
	CHECK(access(PIN, F_OK), "still there");
	CHECK_EQ(counted("tt_hot0", 10, 1), 10, "unpinned, but open");
	tramp_link__destroy(link);
	CHECK_EQ(counted("tt_hot0", 10, 1), 0, "closed");

	/* The other way round: unlink() of the last reference detaches. */
	link = attach(entry_for("tt_hot0"), 1);
	CHECK(!tramp_link__pin(link, PIN), "%s", tramp_last_error()->message);
	tramp_link__destroy(link);
	CHECK_EQ(counted("tt_hot0", 10, 1), 10, "closed, but pinned");
	/* A pinned link can be updated and detached like any. */
	link = tramp_link__open(PIN);
	REQUIRE(link, "%s", tramp_last_error()->message);
	CHECK(!tramp_link__update_fd(link, prog_clone(skel->progs.count_entry_too, "tt_hot0",
						      BPF_TRACE_FENTRY)),
	      "%s", tramp_last_error()->message);
	CHECK_EQ(counted("tt_hot0", 10, 1 + COUNTERS / 2), 10, "updated after reopening");
	tramp_link__destroy(link);
	CHECK(!unlink(PIN), "unlink: %s", strerror(errno));
	/* The kernel puts what was pinned from a worker. */
	for (i = 0; i < 100 && tramp_module().links; i++)
		usleep(50000);
	CHECK_EQ(tramp_module().links, 0, "links after unlink");
	CHECK_EQ(counted("tt_hot0", 10, 1 + COUNTERS / 2), 0, "unlinked");
}

/* ----------------------------------------------------------- update_prog --- */

static void test_update(void)
{
	LIBBPF_OPTS(bpf_link_update_opts, replace, .flags = BPF_F_REPLACE);
	int one, two, exit_, elsewhere;
	struct tramp_link *link, *beside, *further;
	uint32_t id;

	setup();
	one = entry_for("tt_hot0");
	two = prog_clone(skel->progs.count_entry_too, "tt_hot0", BPF_TRACE_FENTRY);
	exit_ = prog_clone(skel->progs.count_exit, "tt_hot0", BPF_TRACE_FEXIT);
	elsewhere = entry_for("tt_hot1");
	link = attach(one, 1);
	beside = attach(exit_, 5);
	id = tramp_link__id(link);

	CHECK(!tramp_link__update_fd(link, two), "%s", tramp_last_error()->message);
	CHECK_EQ(counted("tt_hot0", 10, 1), 0, "the old program");
	CHECK_EQ(counted("tt_hot0", 10, 1 + COUNTERS / 2), 10, "the new program, same cookie");
	CHECK_EQ(counted("tt_hot0", 10, 5), 10, "the program beside");
	CHECK_EQ(tramp_link__id(link), id, "id");
	CHECK_EQ(tramp_query_link(id).hits, 30, "hits of the link go on");
	CHECK(!tramp_link__update_fd(link, two), "to itself: %s", tramp_last_error()->message);
	CHECK_EQ(counted("tt_hot0", 10, 1 + COUNTERS / 2), 10, "the new program");

	/* Another kind, another function: refused, nothing changed. */
	CHECK_EQ(tramp_link__update_fd(link, exit_), -EINVAL, "fexit for fentry");
	CHECK_EQ(tramp_link__update_fd(link, elsewhere), -EINVAL, "another function's program");
	/* BPF_F_REPLACE: only if the program is the expected one. */
	replace.old_prog_fd = one;
	CHECK_EQ(bpf_link_update(tramp_link__fd(link), one, &replace), -EPERM, "not the old one");
	replace.old_prog_fd = two;
	CHECK_EQ(bpf_link_update(tramp_link__fd(link), one, &replace), 0, "the old one");
	CHECK_EQ(counted("tt_hot0", 10, 1), 10, "the first program again");
	further = attach(entry_for("tt_hot0"), 7);
	tramp_link__destroy(link);
	tramp_link__destroy(beside);
	CHECK_EQ(counted("tt_hot0", 10, 7), 10, "the further program");
	CHECK_EQ(counted("tt_hot0", 10, 1), 0, "the detached one");
	tramp_link__destroy(further);
}

static void keep_calling(int fd, unsigned int round)
{
	(void)round;
	tt_call(fd, "tt_hot3 n=500 1");
}

/* Every call is counted by the old or the new program: none by both, none by neither. */
static void test_update_under_load(void)
{
	int prog[2], i, rounds = env_int("LINK_UPDATES", 40);
	uint64_t calls, sum, hits;
	struct tramp_query q;
	struct tramp_link *link;

	setup();
	prog[0] = entry_for("tt_hot3");
	prog[1] = prog_clone(skel->progs.count_entry_too, "tt_hot3", BPF_TRACE_FENTRY);
	link = attach(prog[0], 1);
	calls = tt_calls(dev, "tt_hot3");
	callers_start(keep_calling);
	for (i = 1; i <= rounds; i++)
		REQUIRE(!tramp_link__update_fd(link, prog[i % 2]), "round %d: %s", i,
			tramp_last_error()->message);
	callers_stop();
	calls = tt_calls(dev, "tt_hot3") - calls;
	sum = skel->bss->counted[1] + skel->bss->counted[1 + COUNTERS / 2];
	q = tramp_query_link(tramp_link__id(link));
	hits = q.hits;
	ktap_note("%lu calls during %d updates: %llu by one program, %llu by the other", calls,
		  rounds, (unsigned long long)skel->bss->counted[1],
		  (unsigned long long)skel->bss->counted[1 + COUNTERS / 2]);
	CHECK(calls > 1000, "only %lu calls", calls);
	CHECK(skel->bss->counted[1] && skel->bss->counted[1 + COUNTERS / 2], "one was never run");
	CHECK_EQ(sum + q.misses, calls, "calls counted or missed");
	CHECK_EQ(hits, sum, "hits of the link");
	if (!kernel_is_rt())
		CHECK_EQ(q.misses, 0, "misses with preemption off");
	tramp_link__destroy(link);
}

/* ------------------------------------------------- what others see of them --- */

static void test_link_info(void)
{
	static const struct {
		const char *func, *kind;
		enum bpf_attach_type type;
	} kinds[] = {
		{ "tt_hot0", "fentry", BPF_TRACE_FENTRY },
		{ "tt_hot1", "fexit", BPF_TRACE_FEXIT },
		{ "security_tt_check", "fmod_ret", BPF_MODIFY_RETURN },
	};
	size_t i;

	setup();
	for (i = 0; i < 3; i++) {
		const struct bpf_program *p = i == 0 ? skel->progs.count_entry :
			i == 1 ? skel->progs.count_exit : skel->progs.count_mod;
		int prog = prog_clone(p, kinds[i].func, kinds[i].type);
		struct func_btf f = func_btf(kinds[i].func);
		uint64_t key = (uint64_t)f.obj_id << 32 | 0x80000000 | f.id;
		struct bpf_prog_info prog_info = {};
		struct bpf_link_info info = {};
		uint32_t len = sizeof(info), prog_len = sizeof(prog_info);
		struct tramp_link *link = attach(prog, 3);
		struct tramp_query q = tramp_query_link(tramp_link__id(link));
		char path[64], image[128], *fdinfo, *list;

		REQUIRE(!bpf_obj_get_info_by_fd(prog, &prog_info, &prog_len), "%s", strerror(errno));
		REQUIRE(!bpf_obj_get_info_by_fd(tramp_link__fd(link), &info, &len), "%s",
			strerror(errno));
		CHECK_EQ(info.type, BPF_LINK_TYPE_TRACING, "%s", kinds[i].kind);
		CHECK_EQ(info.id, tramp_link__id(link), "%s", kinds[i].kind);
		CHECK_EQ(info.prog_id, prog_info.id, "%s", kinds[i].kind);
		CHECK_EQ(info.tracing.attach_type, kinds[i].type, "%s", kinds[i].kind);
		CHECK_EQ(info.tracing.target_obj_id, f.obj_id, "%s", kinds[i].kind);
		CHECK_EQ(info.tracing.target_btf_id, f.id, "%s", kinds[i].kind);

		CHECK_EQ(q.prog_id, prog_info.id, "QUERY: %s", kinds[i].kind);
		CHECK_EQ(q.key, key, "QUERY: %s", kinds[i].kind);
		CHECK_EQ(q.cookie, 3, "QUERY: %s", kinds[i].kind);
		CHECK_EQ(q.mode, TRAMP_MODE_DIRECT, "QUERY: %s", kinds[i].kind);
		CHECK_EQ(q.btf_obj_id, f.obj_id, "QUERY: %s", kinds[i].kind);
		CHECK_EQ(q.btf_id, f.id, "QUERY: %s", kinds[i].kind);
		CHECK_EQ(q.func_addr, ksym_addr(kinds[i].func), "QUERY: %s", kinds[i].kind);
		CHECK(!strcmp(q.func_name, kinds[i].func), "QUERY: '%s'", q.func_name);
		sprintf(image, "trampoline_%llu_%u", (unsigned long long)q.key, q.index);
		ksym_reload();
		CHECK_EQ(ksym_addr(image), q.image_addr, "%s", image);

		sprintf(path, "/proc/self/fdinfo/%d", tramp_link__fd(link));
		fdinfo = read_file(path);
		CHECK_EQ(number_after(fdinfo, "key:", 0), key, "%s", fdinfo);
		CHECK(strstr(fdinfo, kinds[i].kind), "%s", fdinfo);
		CHECK(strstr(fdinfo, kinds[i].func), "%s", fdinfo);
		CHECK(strstr(fdinfo, "direct"), "%s", fdinfo);

		list = read_file("/sys/kernel/debug/trampoline/list");
		CHECK(strstr(list, kinds[i].func) && strstr(list, kinds[i].kind) &&
		      strstr(list, "[DIRECT]") && strstr(list, image), "list: %s", list);
		free(fdinfo);
		free(list);
		tramp_link__destroy(link);
		close(prog);
	}
}

/* The index grows with every attach and detach; the last one leaves nothing. */
static void test_index(void)
{
	struct tramp_link *link[4];
	uint32_t index[5];
	int i;

	setup();
	for (i = 0; i < 4; i++) {
		link[i] = attach(entry_for("tt_hot0"), i);
		index[i] = tramp_query_link(tramp_link__id(link[0])).index;
		if (i)
			CHECK(index[i] > index[i - 1], "index %u after %u", index[i], index[i - 1]);
	}
	tramp_link__destroy(link[3]);
	index[4] = tramp_query_link(tramp_link__id(link[0])).index;
	CHECK(index[4] > index[3], "index %u after %u", index[4], index[3]);
	CHECK(tramp_settle(), "old images stay");
	CHECK_EQ(ksym_images(), 1, "images");
	for (i = 0; i < 3; i++)
		tramp_link__destroy(link[i]);
}

static void test_bpftool(void)
{
	struct tramp_link *link;
	char *out, line[64];
	int status;

	setup();
	unlink(PIN);
	link = attach(entry_for("tt_hot0"), 1);
	out = run_command(&status, "bpftool link show id %u", tramp_link__id(link));
	CHECK_EQ(status, 0, "%s", out);
	sprintf(line, "%u: tracing", tramp_link__id(link));
	CHECK(strstr(out, line), "%s", out);
	CHECK(strstr(out, "attach_type trace_fentry"), "%s", out);
	free(out);

	out = run_command(&status, "bpftool link pin id %u %s", tramp_link__id(link), PIN);
	CHECK_EQ(status, 0, "%s", out);
	free(out);
	tramp_link__destroy(link);
	CHECK_EQ(counted("tt_hot0", 10, 1), 10, "pinned by bpftool");
	out = run_command(&status, "bpftool link show pinned %s", PIN);
	CHECK(!status && strstr(out, "tracing"), "%s", out);
	free(out);
	out = run_command(&status, "bpftool link detach pinned %s", PIN);
	CHECK_EQ(status, 0, "%s", out);
	free(out);
	CHECK_EQ(counted("tt_hot0", 10, 1), 0, "detached by bpftool");
	CHECK(!unlink(PIN), "%s", strerror(errno));
}

/* ------------------------------------------- returns through replaced images --- */

static void *sleep_inside(void *token)
{
	int own = tt_open();

	CHECK_EQ(tt_call(own, "tt_sleep %lu", (unsigned long)token).result,
		 TT_SLEEP_RESULT((unsigned long)token), "what the sleeper got");
	close(own);
	return NULL;
}

static pthread_t start_sleeper(unsigned long token)
{
	pthread_t thread;
	char reply[64];
	int i;

	REQUIRE(!pthread_create(&thread, NULL, sleep_inside, (void *)token), "thread");
	for (i = 0; i < 2000; i++) {
		REQUIRE(!tt_command(dev, reply, sizeof(reply), "sleepers"), "sleepers");
		if (number_after(reply, "sleepers=", 0))
			return thread;
		usleep(10000);
	}
	ktap_die("nobody sleeps: %s", reply);
}

static void wake(pthread_t thread)
{
	REQUIRE(!tt_command(dev, NULL, 0, "wake"), "wake");
	pthread_join(thread, NULL);
}

/*
 * A task sleeps in the function while its image is replaced, by programs that
 * come and go. Its return still is a hit of the exit program that stayed.
 */
static void test_replaced_asleep(void)
{
	struct tramp_link *stays, *goes;
	struct tramp_query q;
	pthread_t thread;

	setup();
	stays = attach(prog_clone(skel->progs.count_exit, "tt_sleep", BPF_TRACE_FEXIT), 1);
	goes = attach(prog_clone(skel->progs.count_exit, "tt_sleep", BPF_TRACE_FEXIT), 2);
	thread = start_sleeper(5);
	tramp_link__destroy(goes);
	tramp_link__destroy(attach(entry_for("tt_sleep"), 3));
	goes = attach(prog_clone(skel->progs.count_exit, "tt_sleep", BPF_TRACE_FEXIT), 4);
	sleep(1);
	CHECK(tramp_module().retiring, "no image waits for the sleeper");
	wake(thread);
	q = tramp_query_link(tramp_link__id(stays));
	CHECK_EQ(skel->bss->counted[1], q.hits, "hits of the program that stayed");
	CHECK_EQ(q.hits + q.misses, 1, "the return: run or missed");
	CHECK_EQ(skel->bss->counted[2], 0, "the program that was detached meanwhile");
	/* Attached after the call entered: it may see the return, or not. */
	CHECK(skel->bss->counted[4] <= 1, "the program that was attached meanwhile");
	tramp_link__destroy(stays);
	tramp_link__destroy(goes);
}

/* update_prog while a task sleeps: its return is seen by the old or by the new. */
static void test_updated_asleep(void)
{
	struct tramp_link *link;
	struct tramp_query q;
	pthread_t thread;

	setup();
	link = attach(prog_clone(skel->progs.count_exit, "tt_sleep", BPF_TRACE_FEXIT), 1);
	thread = start_sleeper(6);
	REQUIRE(!tramp_link__update_fd(link, prog_clone(skel->progs.count_entry_too, "tt_sleep",
							BPF_TRACE_FEXIT)),
		"%s", tramp_last_error()->message);
	sleep(1);
	wake(thread);
	q = tramp_query_link(tramp_link__id(link));
	CHECK_EQ(skel->bss->counted[1] + skel->bss->counted[1 + COUNTERS / 2], q.hits,
		 "runs of the old and the new program");
	CHECK_EQ(q.hits + q.misses, 1, "the return: run or missed");
	tramp_link__destroy(link);
}

/* ---------------------------------------------------- many functions, walking --- */

static int count_links(const struct tramp_link_info *info, void *ctx)
{
	(*(int *)ctx)++;
	CHECK(info->link_id, "id");
	return 0;
}

static void test_for_each(void)
{
	struct tramp_link *link[32];
	int i, n = 0;
	char func[32];

	setup();
	for (i = 0; i < 32; i++) {
		sprintf(func, "tt_many%02d", i);
		link[i] = attach(entry_for(func), i);
	}
	CHECK_EQ(tramp_for_each(count_links, &n), 0, "%s", tramp_last_error()->message);
	CHECK_EQ(n, 32, "links");
	CHECK_EQ(tramp_module().targets, 32, "targets");
	for (i = 0; i < 32; i++) {
		sprintf(func, "tt_many%02d", i);
		CHECK_EQ(counted(func, 3, i), 3, "%s", func);
	}
	for (i = 0; i < 32; i++)
		tramp_link__destroy(link[i]);
}

static const struct ktap_test tests[] = {
	{ "close_detaches", test_close_detaches, 60 },
	{ "detach", test_detach, 60 },
	{ "killed_process", test_killed_process, 120 },
	{ "pinned", test_pinned, 60 },
	{ "update", test_update, 60 },
	{ "update_under_load", test_update_under_load, 180 },
	{ "link_info", test_link_info, 60 },
	{ "index", test_index, 60 },
	{ "bpftool", test_bpftool, 120 },
	{ "for_each", test_for_each, 60 },
	{ "replaced_asleep", test_replaced_asleep, 60 },
	{ "updated_asleep", test_updated_asleep, 60 },
};

KTAP_MAIN(tests)
