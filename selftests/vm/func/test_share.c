// SPDX-License-Identifier: GPL-2.0
/*
 * Attachments of many functions beside programs of single ones, and beside each other. They come
 * and go in any order. Each program runs once for each call, in the order of its kind.
 */
#include <errno.h>
#include <linux/bpf.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>
#include "fixture.h"
#include "many.h"
#include "ownmod.h"
#include "share.h"
#include "selftests/vm/func/share.skel.h"

#define FUNC		"tt_hot0"
#define TRACING		"/sys/kernel/tracing/"
#define CALLS		10
#define ARRAY_SIZE(a)	(sizeof(a) / sizeof((a)[0]))

/* When programs run, in this order. */
enum when { KPROBES, SESSIONS, FENTRIES, FEXITS, RETURNS };

/* Somebody who comes and goes. Bit n of @funcs is for tt_hot<n>; 0: FUNC alone. */
static struct actor {
	const char *name;
	uint32_t tag;
	enum when when;
	uint32_t funcs;
	bool returns;
	/* its state */
	int prog;
	bool on;
	uint32_t came;
	struct many *many;
	struct attachment one;
} actors[] = {
	{ .name = "entry1", .tag = SHARE_ENTRY1, .when = KPROBES, .funcs = 3 },
	{ .name = "entry2", .tag = SHARE_ENTRY2, .when = KPROBES, .funcs = 15 },
	{ .name = "return1", .tag = SHARE_RETURN1, .when = RETURNS, .funcs = 5, .returns = true },
	{ .name = "return2", .tag = SHARE_RETURN2, .when = RETURNS, .funcs = 15, .returns = true },
	{ .name = "session1", .tag = SHARE_SESSION1, .when = SESSIONS, .funcs = 3 },
	{ .name = "session2", .tag = SHARE_SESSION2, .when = SESSIONS, .funcs = 15 },
	{ .name = "fentry", .tag = SHARE_FENTRY, .when = FENTRIES },
	{ .name = "fentry2", .tag = SHARE_FENTRY2, .when = FENTRIES },
	{ .name = "fexit", .tag = SHARE_FEXIT, .when = FEXITS },
	{ .name = "kprobe", .tag = SHARE_KPROBE, .when = KPROBES },
	{ .name = "kretprobe", .tag = SHARE_KRETPROBE, .when = RETURNS },
};
#define NR	ARRAY_SIZE(actors)
enum { ENTRY1, ENTRY2, RETURN1, RETURN2, SESSION1, SESSION2, FENTRY, FENTRY2, FEXIT, KPROBE,
       KRETPROBE };

static struct share *skel;
static int dev;
static uint32_t clock_now;

static const char *func_name(uint32_t i)
{
	static char name[16];

	snprintf(name, sizeof(name), "tt_hot%u", i);
	return name;
}

static struct bpf_program *find(const char *prefix, const char *name)
{
	char full[64];

	snprintf(full, sizeof(full), "%s%s", prefix, name);
	return bpf_object__find_program_by_name(skel->obj, full);
}

static void setup(void)
{
	uint32_t i;

	dev = fixture_open("about attachments of many functions, which 6.1 has not");
	skel = many_open(share);
	REQUIRE(skel, "%s", strerror(errno));
	for (i = ENTRY1; i <= RETURN2; i++)
		bpf_program__set_autoload(find(kernel_version() >= 6002 ? "multi_" : "plain_",
					       actors[i].name), true);
	for (i = SESSION1; i <= SESSION2; i++)
		bpf_program__set_autoload(find("", actors[i].name), true);
	REQUIRE(!share__load(skel), "%s", strerror(errno));
	for (i = ENTRY1; i <= RETURN2; i++)
		actors[i].prog = bpf_program__fd(find(kernel_version() >= 6002 ? "multi_" :
						      "plain_", actors[i].name));
	for (i = SESSION1; i <= SESSION2; i++)
		actors[i].prog = bpf_program__fd(find("", actors[i].name));
	actors[FENTRY].prog = prog_clone(skel->progs.one_fentry, FUNC, BPF_TRACE_FENTRY);
	actors[FENTRY2].prog = prog_clone(skel->progs.one_fentry, FUNC, BPF_TRACE_FENTRY);
	actors[FEXIT].prog = prog_clone(skel->progs.one_fexit, FUNC, BPF_TRACE_FEXIT);
	actors[KPROBE].prog = bpf_program__fd(skel->progs.one_kprobe);
	actors[KRETPROBE].prog = bpf_program__fd(skel->progs.one_kretprobe);
	for (i = 0; i < SHARE_FUNCS; i++)
		skel->bss->funcs[i] = ksym_addr(func_name(i));
	skel->bss->arg = 41;
}

static void come_many(struct actor *a)
{
	uint32_t i;

	a->many = many_new();
	for (i = 0; i < SHARE_FUNCS; i++) {
		if (!(a->funcs & 1u << i))
			continue;
		many_add_name(a->many, func_name(i));
		a->many->cookies[a->many->cmd.nr - 1] = i;
	}
	many_attach(a->many, a->prog, a->when == SESSIONS ? many_session() :
		    a->returns ? TRAMP_MULTI_F_RETURN : 0);
}

static void come(uint32_t i)
{
	struct actor *a = &actors[i];
	uint64_t cookie = a->tag;

	if (a->funcs)
		come_many(a);
	else if (i == KPROBE)
		a->one = attach_insn(OURS, a->prog, skel->bss->funcs[0], 0, cookie);
	else if (i == KRETPROBE)
		a->one = attach_return(OURS, a->prog, FUNC, 0, cookie);
	else
		a->one = attach_func(OURS, a->prog, &cookie);
	if (!a->funcs)
		CHECK_EQ(attachment_query(&a->one).mode, TRAMP_MODE_DIRECT, "%s: mode", a->name);
	a->on = true;
	a->came = ++clock_now;
}

static void go(uint32_t i)
{
	struct actor *a = &actors[i];

	if (a->funcs)
		many_detach(a->many);
	else
		detach(&a->one);
	a->on = false;
}

static bool runs_at(const struct actor *a, uint32_t func)
{
	return a->on && (a->funcs ? a->funcs & 1u << func : !func);
}

/* Those of a kind, the oldest first or the newest. */
static uint32_t expect_kind(uint32_t func, enum when when, bool newest_first, uint32_t plus,
			    uint32_t *order)
{
	uint32_t at, i, nr = 0;

	for (at = 1; at <= clock_now; at++) {
		uint32_t came = newest_first ? clock_now + 1 - at : at;

		for (i = 0; i < NR; i++) {
			if (actors[i].when == when && actors[i].came == came &&
			    runs_at(&actors[i], func))
				order[nr++] = actors[i].tag + plus;
		}
	}
	return nr;
}

static void check_order(const char *what, uint32_t func)
{
	uint32_t order[SHARE_ORDER], nr = 0, i;
	char got[256] = "", want[256] = "";

	nr += expect_kind(func, KPROBES, false, 0, order + nr);
	nr += expect_kind(func, SESSIONS, false, 0, order + nr);
	nr += expect_kind(func, FENTRIES, true, 0, order + nr);
	nr += expect_kind(func, FEXITS, true, 0, order + nr);
	nr += expect_kind(func, SESSIONS, true, 1, order + nr);
	nr += expect_kind(func, RETURNS, true, 0, order + nr);
	skel->bss->order_len = 0;
	tt_call(dev, "%s n=1 41", func_name(func));
	for (i = 0; i < skel->bss->order_len && i < SHARE_ORDER; i++)
		sprintf(got + strlen(got), " %u", skel->bss->order[i]);
	for (i = 0; i < nr; i++)
		sprintf(want + strlen(want), " %u", order[i]);
	CHECK(!strcmp(got, want), "%s: %s:%s, expected%s", what, func_name(func), got, want);
}

/* Call each function: each program that is there runs once a call, and no other does. */
static void check_all(const char *what)
{
	uint64_t expected[SHARE_TAGS] = {};
	uint32_t i, func;

	memset(skel->bss->counted, 0, sizeof(skel->bss->counted));
	for (func = 0; func < SHARE_FUNCS; func++) {
		struct tt_reply r = tt_call(dev, "%s n=%d 41", func_name(func), CALLS);

		CHECK_EQ(r.result, 42 + func, "%s: %s", what, func_name(func));
		CHECK_EQ(r.different, 0, "%s: %s", what, func_name(func));
		for (i = 0; i < NR; i++) {
			if (!runs_at(&actors[i], func))
				continue;
			expected[actors[i].tag] += CALLS;
			if (actors[i].when == SESSIONS)
				expected[actors[i].tag + 1] += CALLS;
		}
	}
	for (i = 0; i < SHARE_TAGS; i++)
		CHECK_EQ(skel->bss->counted[i], expected[i], "%s: program %u", what, i);
	CHECK_EQ(skel->bss->wrong, 0, "%s: something wrong seen", what);
	for (func = 0; func < SHARE_FUNCS; func++)
		check_order(what, func);
}

static void all_go(void)
{
	uint32_t i;

	for (i = 0; i < NR; i++) {
		if (actors[i].on)
			go(i);
	}
}

/* One after another comes, in this order, and goes, in this order or the other. */
static void in_order(const char *what, const uint32_t *who, uint32_t nr, bool back)
{
	char step[64];
	uint32_t i, at;

	for (i = 0; i < 2 * nr; i++) {
		at = i < nr ? i : back ? 2 * nr - 1 - i : i - nr;
		snprintf(step, sizeof(step), "%s, %s %s", what, actors[who[at]].name,
			 i < nr ? "comes" : "goes");
		if (i < nr)
			come(who[at]);
		else
			go(who[at]);
		check_all(step);
	}
}

static void test_many_join(void)
{
	static const uint32_t who[] = { FENTRY, KPROBE, ENTRY1, FEXIT, RETURN1, SESSION1 };

	setup();
	in_order("many come to one", who, ARRAY_SIZE(who), false);
	in_order("many come to one", who, ARRAY_SIZE(who), true);
}

static void test_ones_join(void)
{
	static const uint32_t who[] = { RETURN1, FENTRY, FEXIT, KPROBE, KRETPROBE, FENTRY2 };
	static const uint32_t entry[] = { ENTRY2, KPROBE, FEXIT, FENTRY };
	static const uint32_t session[] = { SESSION1, KRETPROBE, FENTRY };

	setup();
	in_order("ones come to many", who, ARRAY_SIZE(who), false);
	in_order("ones come to many", who, ARRAY_SIZE(who), true);
	in_order("ones come to an entry", entry, ARRAY_SIZE(entry), false);
	in_order("ones come to a session", session, ARRAY_SIZE(session), false);
}

static void test_many_many(void)
{
	static const uint32_t who[] = { ENTRY1, ENTRY2, RETURN2, RETURN1, SESSION1, SESSION2 };

	setup();
	in_order("many come to many", who, ARRAY_SIZE(who), false);
	in_order("many come to many", who, ARRAY_SIZE(who), true);
}

/* TRAMP_SEED and TRAMP_COUNT as in other random tests. */
static void test_any_order(void)
{
	const char *seed_text = getenv("TRAMP_SEED"), *count_text = getenv("TRAMP_COUNT");
	unsigned int seed = seed_text ? strtoul(seed_text, NULL, 0) : 1;
	uint32_t rounds = count_text ? strtoul(count_text, NULL, 0) : 4, round, i, step;
	char what[64];

	setup();
	for (round = 0; round < rounds; round++) {
		for (step = 0; step < 16; step++) {
			i = rand_r(&seed) % NR;
			snprintf(what, sizeof(what), "round %u step %u: %s %s", round, step,
				 actors[i].name, actors[i].on ? "goes" : "comes");
			if (actors[i].on)
				go(i);
			else
				come(i);
			check_all(what);
		}
		all_go();
		check_all("all have gone");
	}
}

/* A session that skips its return where others are. */
static void test_skip(void)
{
	setup();
	come(SESSION1);
	come(FEXIT);
	come(SESSION2);
	skel->bss->arg = SHARE_SKIP;
	tt_call(dev, FUNC " n=%d %d", CALLS, SHARE_SKIP);
	CHECK_EQ(skel->bss->counted[SHARE_SESSION1], CALLS, "entries");
	CHECK_EQ(skel->bss->counted[SHARE_SESSION1_RETURN], 0, "returns");
	CHECK_EQ(skel->bss->counted[SHARE_SESSION2_RETURN], CALLS, "the other's returns");
	CHECK_EQ(skel->bss->counted[SHARE_FEXIT], CALLS, "exits");
	CHECK_EQ(skel->bss->wrong, 0, "something wrong seen");
	all_go();
}

/* Under load --------------------------------------------------------------- */

#define PER_ROUND 50
static uint64_t rounds_done;

static void call_both(int fd, unsigned int round)
{
	tt_call(fd, "%s n=%d 41", round % 2 ? "tt_hot0" : "tt_hot1", PER_ROUND);
	__atomic_fetch_add(&rounds_done, 1, __ATOMIC_RELAXED);
}

/* Those of @stay see every call while all others come and go. */
static void under_load(const char *what, const uint32_t *stay, uint32_t nr, unsigned int seed)
{
	uint32_t i, j, step;
	uint64_t calls;

	rounds_done = 0;
	memset(skel->bss->counted, 0, sizeof(skel->bss->counted));
	for (i = 0; i < nr; i++)
		come(stay[i]);
	callers_start(call_both);
	for (step = 0; step < 12; step++) {
		i = rand_r(&seed) % NR;
		for (j = 0; j < nr && stay[j] != i; j++)
			;
		if (j < nr)
			continue;
		if (actors[i].on)
			go(i);
		else
			come(i);
	}
	callers_stop();
	calls = rounds_done * PER_ROUND;
	CHECK(calls > 1000, "%s: %llu calls", what, (unsigned long long)calls);
	for (i = 0; i < nr; i++) {
		const struct actor *a = &actors[stay[i]];

		CHECK_EQ(skel->bss->counted[a->tag], calls, "%s: %s", what, a->name);
		if (a->when == SESSIONS)
			CHECK_EQ(skel->bss->counted[a->tag + 1], calls, "%s: %s", what, a->name);
	}
	CHECK_EQ(skel->bss->wrong, 0, "%s: something wrong seen", what);
	all_go();
	check_all(what);
}

static void test_load(void)
{
	static const uint32_t entries[] = { ENTRY1, RETURN2 }, session[] = { SESSION1 };

	setup();
	under_load("many stay", entries, 1, 2);
	under_load("an entry and a return", entries, 2, 3);
	under_load("a session", session, 1, 4);
}

static void call_one(int fd, unsigned int round)
{
	(void)round;
	tt_call(fd, FUNC " n=%d 41", PER_ROUND);
	__atomic_fetch_add(&rounds_done, 1, __ATOMIC_RELAXED);
}

/* Programs of one function stay while those of many come and go. */
static void test_load_one(void)
{
	unsigned int seed = 5;
	uint32_t i, step;

	setup();
	come(RETURN1);
	come(FENTRY);
	come(FEXIT);
	go(RETURN1);
	rounds_done = 0;
	memset(skel->bss->counted, 0, sizeof(skel->bss->counted));
	callers_start(call_one);
	for (step = 0; step < 12; step++) {
		i = rand_r(&seed) % (SESSION2 + 1);
		if (actors[i].on)
			go(i);
		else
			come(i);
	}
	callers_stop();
	CHECK(rounds_done * PER_ROUND > 1000, "only %u rounds", (unsigned int)rounds_done);
	CHECK_EQ(skel->bss->counted[SHARE_FENTRY], rounds_done * PER_ROUND, "entries");
	CHECK_EQ(skel->bss->counted[SHARE_FEXIT], rounds_done * PER_ROUND, "exits");
	CHECK_EQ(skel->bss->wrong, 0, "something wrong seen");
	all_go();
}

/* Longer than a test may take. */
#define LONG_NS	1000000000000ULL

/* How far a child has come, and how long all its programs took, in memory that it shares. */
enum stage { BEFORE, INSIDE, ATTACHED };
static volatile struct {
	enum stage stage;
	uint64_t took;
} *shared;

/* All come who are not there. */
static void child(void)
{
	uint64_t start = now_ns();
	uint32_t i;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	shared->stage = INSIDE;
	for (i = 0; i < NR; i++) {
		if (!actors[i].on)
			come(i);
	}
	shared->took = now_ns() - start;
	shared->stage = ATTACHED;
	pause();
}

/* Kill a child that has attached, or began to so long ago. Return: how far it had come. */
static enum stage kill_one(uint64_t ns)
{
	uint64_t end;
	pid_t pid, gone = 0;
	int status;

	shared->stage = BEFORE;
	fflush(stdout);
	pid = fork();
	REQUIRE(pid >= 0, "fork");
	if (!pid)
		child();
	while (shared->stage == BEFORE)
		usleep(100);
	end = now_ns() + ns;
	while (shared->stage == INSIDE && now_ns() < end && !gone) {
		usleep(500);
		gone = waitpid(pid, &status, WNOHANG);
	}
	if (!gone)
		kill(pid, SIGKILL);
	REQUIRE(gone || waitpid(pid, &status, 0) == pid, "waitpid");
	/* Or what it was to do failed, and it ended by itself. */
	CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL, "status %#x", status);
	check_all("one was killed");
	return shared->stage;
}

/* A process is killed and its programs go; those that stay go on. */
static void test_killed(void)
{
	unsigned int round, inside = 0, seed = 6;

	setup();
	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
		      -1, 0);
	REQUIRE(shared != MAP_FAILED, "mmap: %s", strerror(errno));
	come(ENTRY1);
	come(FEXIT);
	/* The first has all the time that it takes. */
	REQUIRE(kill_one(LONG_NS) == ATTACHED, "not all of them came");
	for (round = 0; round < 6; round++) {
		uint64_t us = rand_r(&seed) % (shared->took / 1000);

		inside += kill_one(us * 1000) == INSIDE;
	}
	ktap_note("%u of %u killed inside, within %lu ms", inside, round, shared->took / 1000000);
	CHECK(inside, "none was killed inside");
	all_go();
}

/* Others ----------------------------------------------------------------------- */

static void kernel_kprobe(bool on)
{
	if (on) {
		REQUIRE(!write_file(TRACING "kprobe_events", "p:vmtest_share " FUNC), "kprobe");
		REQUIRE(!write_file(TRACING "events/kprobes/vmtest_share/enable", "1"), "enable");
	} else {
		write_file(TRACING "events/kprobes/vmtest_share/enable", "0");
		write_file(TRACING "kprobe_events", "-:vmtest_share");
	}
}

static void function_tracer(bool on)
{
	if (on) {
		REQUIRE(!write_file(TRACING "set_ftrace_filter", FUNC), "set_ftrace_filter");
		REQUIRE(!write_file(TRACING "current_tracer", "function"), "current_tracer");
	} else {
		write_file(TRACING "current_tracer", "nop");
		write_file(TRACING "set_ftrace_filter", "\n");
	}
}

/* kprobe_profile: "  name  hits  missed" */
static uint64_t kernel_hits(void)
{
	char *profile = read_file(TRACING "kprobe_profile");
	uint64_t hits = number_after(profile, "vmtest_share", 0);

	free(profile);
	return hits;
}

static void with_kernel_kprobe(const char *what)
{
	uint64_t hits = kernel_hits();

	check_all(what);
	/* That calls the function once more, to see the order. */
	CHECK_EQ(kernel_hits() - hits, CALLS + 1, "%s: the kernel's kprobe", what);
}

/* ftrace's callbacks come first, and ftrace leads on to the gate. */
static void test_callbacks(void)
{
	setup();
	kernel_kprobe(true);
	come(ENTRY1);
	with_kernel_kprobe("a kprobe, then many");
	come(FEXIT);
	with_kernel_kprobe("then one");
	kernel_kprobe(false);
	check_all("the kprobe has gone");
	kernel_kprobe(true);
	with_kernel_kprobe("a kprobe comes to both");
	function_tracer(true);
	with_kernel_kprobe("a tracer comes as well");
	go(ENTRY1);
	with_kernel_kprobe("many go");
	come(RETURN2);
	with_kernel_kprobe("others come");
	go(FEXIT);
	with_kernel_kprobe("one goes");
	go(RETURN2);
	with_kernel_kprobe("all have gone");
	kernel_kprobe(false);
	come(ENTRY1);
	come(KPROBE);
	check_all("a tracer first");
	function_tracer(false);
	check_all("the tracer has gone");
	all_go();
}

/* The kernel's own trampoline is a direct caller: it gets no site of ours, nor we its site. */
static void test_kernel_trampoline(void)
{
	struct attachment kernel, entry;
	struct many *m;

	setup();
	come(ENTRY1);
	kernel = attach_func_try(KERNEL, actors[FENTRY2].prog, &(uint64_t){ 0 });
	CHECK_EQ(kernel.err, -EBUSY, "it comes to many");
	come(FEXIT);
	kernel = attach_func_try(KERNEL, actors[FENTRY2].prog, &(uint64_t){ 0 });
	CHECK_EQ(kernel.err, -EBUSY, "it comes to both");
	check_all("it could not come");
	go(ENTRY1);
	kernel = attach_func_try(KERNEL, actors[FENTRY2].prog, &(uint64_t){ 0 });
	CHECK_EQ(kernel.err, -EBUSY, "it comes to one");
	go(FEXIT);
	kernel = attach_func(KERNEL, actors[FENTRY2].prog, &(uint64_t){ SHARE_FENTRY2 });
	m = many_new();
	many_add_name(m, FUNC);
	CHECK_EQ(many_attach_try(m, actors[ENTRY1].prog, 0), -EBUSY, "it was first");
	CHECK_EQ(m->cmd.refusal.reason, TRAMP_REASON_SITE_HELD, "%s",
		 tramp_reason_name(m->cmd.refusal.reason));
	/* An entry program of ours is run by ftrace's callback there. That is no place for many. */
	if (!kernel_is_rt()) {
		entry = attach_func(OURS, actors[FENTRY].prog, &(uint64_t){ SHARE_FENTRY });
		CHECK_EQ(many_attach_try(m, actors[ENTRY1].prog, 0), -EBUSY, "and ours there");
		CHECK_EQ(m->cmd.refusal.reason, TRAMP_REASON_SITE_HELD, "%s",
			 tramp_reason_name(m->cmd.refusal.reason));
		detach(&entry);
	}
	detach(&kernel);
	free(m);
}

/*
 * The attachment of many holds the module. A probe that has come to it does not: it goes with
 * the module when that attachment has gone.
 */
static void test_module(void)
{
	uint32_t i;

	setup();
	/* Those that are loaded for a function of the module hold it. */
	for (i = FENTRY; i <= FEXIT; i++)
		close(actors[i].prog);
	come(RETURN1);
	come(KPROBE);
	close(dev);
	CHECK_EQ(module_unload("trampoline_test"), -EAGAIN, "unloading it with an attachment");
	go(RETURN1);
	CHECK_EQ(ownmod_unload("trampoline_test", 300), 0, "it stays");
	attachment_expect(&actors[KPROBE].one, TRAMP_MODE_NONE, TRAMP_REASON_MODULE_GONE, "probe");
	go(KPROBE);
}

/*
 * A program of one function keeps the call of many there, when that attachment has gone. The
 * module of another of these functions goes. Then the call is taken back.
 */
static void test_module_gone(void)
{
	struct many *m = many_new();
	struct attachment one;
	uint32_t i;

	setup();
	for (i = FENTRY; i <= FEXIT; i++)
		close(actors[i].prog);
	many_add_name(m, FUNC);
	many_add_name(m, "bpf_fentry_test1");
	many_attach(m, actors[ENTRY1].prog, 0);
	one = attach_func(OURS, bpf_program__fd(skel->progs.one_fentry), NULL);
	many_detach(m);
	close(dev);
	CHECK_EQ(ownmod_unload("trampoline_test", 300), 0, "it stays");
	detach(&one);
}

static const struct ktap_test tests[] = {
	{ "many_join", test_many_join, 60 },
	{ "ones_join", test_ones_join, 60 },
	{ "many_many", test_many_many, 60 },
	{ "any_order", test_any_order, 120 },
	{ "skip", test_skip, 60 },
	{ "load", test_load, 120 },
	{ "load_one", test_load_one, 100 },
	{ "killed", test_killed, 120 },
	{ "callbacks", test_callbacks, 60 },
	{ "kernel_trampoline", test_kernel_trampoline, 60 },
	{ "module", test_module, 60 },
	{ "module_gone", test_module_gone, 60 },
};

KTAP_MAIN(tests)
