// SPDX-License-Identifier: GPL-2.0
/*
 * One program on many functions (ATTACH_MULTI).
 *
 * A program that is loaded for kprobe.multi is run where the kernel has that. Elsewhere there is
 * the same program loaded as a plain kprobe, which finds the function's address in orig_ax.
 *
 * Environment: MULTI_SECONDS, how long there is work on all functions; selftests/stress/probes
 * passes it on.
 */
#include <errno.h>
#include <linux/bpf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "busy.h"
#include "fixture.h"
#include "many.h"
#include "multi.h"
#include "probe.h"
#include "selftests/vm/func/multi.skel.h"

#define CALLS 10
#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))

static struct multi *skel;
static int dev;
static bool has_multi;

static void setup(void)
{
	dev = fixture_open("about attachments of many functions, which 6.1 has not");
	has_multi = kernel_version() >= 6002;
	skel = many_open(multi);
	REQUIRE(skel, "%s", strerror(errno));
	bpf_program__set_autoload(skel->progs.on_session, true);
	REQUIRE(!multi__load(skel), "%s", strerror(errno));
}

static int entry_prog(void)
{
	return bpf_program__fd(has_multi ? skel->progs.on_entry : skel->progs.on_plain_entry);
}

static int return_prog(void)
{
	return bpf_program__fd(has_multi ? skel->progs.on_return : skel->progs.on_plain_return);
}

static const char * const names[] = { "tt_hot0", "tt_hot1", "tt_hot2", "tt_hot3" };

static void call_all(void)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(names); i++) {
		struct tt_reply reply = tt_call(dev, "%s n=%d %zu", names[i], CALLS, i + 40);

		CHECK_EQ(reply.result, 2 * i + 41, "%s", names[i]);
		CHECK_EQ(reply.different, 0, "%s", names[i]);
	}
}

static void test_entry(void)
{
	struct many *m = many_new();
	size_t i;

	setup();
	for (i = 0; i < ARRAY_SIZE(names); i++)
		many_add_name(m, names[i]);
	many_attach(m, entry_prog(), 0);
	CHECK_EQ(m->cmd.nr_attached, ARRAY_SIZE(names), "attached");
	call_all();
	for (i = 0; i < ARRAY_SIZE(names); i++) {
		CHECK_EQ(skel->bss->seen[i].entries, CALLS, "%s", names[i]);
		CHECK_EQ(skel->bss->seen[i].first, i + 40, "%s", names[i]);
		CHECK_EQ(skel->bss->seen[i].ip, m->addrs[i], "%s", names[i]);
	}
	many_detach(m);
	call_all();
	CHECK_EQ(skel->bss->hits, CALLS * ARRAY_SIZE(names), "hits");
	CHECK_EQ(skel->bss->strangers, 0, "wrong cookies");
}

static void test_return(void)
{
	struct many *m = many_new();
	size_t i;

	setup();
	for (i = 0; i < ARRAY_SIZE(names); i++)
		many_add_name(m, names[i]);
	many_attach(m, return_prog(), TRAMP_MULTI_F_RETURN);
	call_all();
	for (i = 0; i < ARRAY_SIZE(names); i++) {
		CHECK_EQ(skel->bss->seen[i].returns, CALLS, "%s", names[i]);
		CHECK_EQ(skel->bss->seen[i].result, 2 * i + 41, "%s", names[i]);
		CHECK_EQ(skel->bss->seen[i].ip, m->addrs[i], "%s", names[i]);
	}
	many_detach(m);
	call_all();
	CHECK_EQ(skel->bss->hits, CALLS * ARRAY_SIZE(names), "hits");
}

/* Plain kprobe programs on every kernel; one of them has no run context. */
static void test_plain(void)
{
	struct {
		const struct bpf_program *prog;
		uint32_t flags;
	} way[4] = {
		{ .flags = 0 }, { .flags = TRAMP_MULTI_F_RETURN },
		{ .flags = 0 }, { .flags = TRAMP_MULTI_F_RETURN },
	};
	size_t i;

	setup();
	way[0].prog = skel->progs.on_plain_entry;
	way[1].prog = skel->progs.on_plain_return;
	way[2].prog = way[3].prog = skel->progs.on_plain_address;
	for (i = 0; i < ARRAY_SIZE(way); i++) {
		struct multi_seen *seen = &skel->bss->seen[i < 2];
		struct many *m = many_new();

		many_add_name(m, names[0]);
		many_add_name(m, names[1]);
		memset(skel->bss->seen, 0, 2 * sizeof(*skel->bss->seen));
		many_attach(m, bpf_program__fd(way[i].prog), way[i].flags);
		tt_call(dev, "%s n=1 7", names[1]);
		CHECK_EQ(seen->ip, m->addrs[1], "way %zu", i);
		many_detach(m);
	}
	CHECK_EQ(skel->bss->hits, ARRAY_SIZE(way), "hits");
}

/* By their names, of a module and of the kernel proper. */
static void test_names(void)
{
	static const char text[] = "tt_hot1\0trampoline_test:tt_hot0\0__x64_sys_getpgid";
	struct many *m = many_new();

	setup();
	m->cmd.nr = 3;
	m->cmd.addrs = 0;
	m->cmd.names = (uintptr_t)text;
	m->cmd.names_len = sizeof(text);
	m->cookies[1] = 1;
	m->cookies[2] = 2;
	skel->bss->only_pid = getpid();
	many_attach(m, entry_prog(), 0);
	tt_call(dev, "tt_hot0 n=5 7");
	tt_call(dev, "tt_hot1 n=3 7");
	getpgid(0);
	CHECK_EQ(skel->bss->seen[0].entries, 3, "tt_hot1");
	CHECK_EQ(skel->bss->seen[1].entries, 5, "tt_hot0");
	CHECK_EQ(skel->bss->seen[2].entries, 1, "getpgid()");
	CHECK_EQ(skel->bss->seen[1].ip, ksym_addr("tt_hot0"), "address");
	many_detach(m);
}

/* Functions of the kernel proper that a system call each of this process runs. */
static const struct {
	const char *func;
	long nr;
} syscalls[] = {
	{ "__x64_sys_getpgid", SYS_getpgid }, { "__x64_sys_getsid", SYS_getsid },
	{ "__x64_sys_sched_getscheduler", SYS_sched_getscheduler },
	{ "__x64_sys_getpriority", SYS_getpriority },
};

static void test_syscalls(void)
{
	struct many *m = many_new();
	long expect[ARRAY_SIZE(syscalls)];
	size_t i;

	setup();
	skel->bss->only_pid = getpid();
	for (i = 0; i < ARRAY_SIZE(syscalls); i++) {
		many_add_name(m, syscalls[i].func);
		expect[i] = syscall(syscalls[i].nr, 0, 0);
	}
	many_attach(m, return_prog(), TRAMP_MULTI_F_RETURN);
	for (i = 0; i < ARRAY_SIZE(syscalls); i++) {
		CHECK_EQ(syscall(syscalls[i].nr, 0, 0), expect[i], "%s", syscalls[i].func);
		CHECK_EQ(skel->bss->seen[i].returns, 1, "%s", syscalls[i].func);
		CHECK_EQ(skel->bss->seen[i].result, expect[i], "%s", syscalls[i].func);
	}
	many_detach(m);
}

/*
 * A session: its entry skips the return for every third call, and its cookie lives from one to
 * the other.
 */
static void test_session(void)
{
	struct many *m = many_new();
	size_t i;

	setup();
	for (i = 0; i < ARRAY_SIZE(names); i++)
		many_add_name(m, names[i]);
	many_attach(m, bpf_program__fd(skel->progs.on_session), many_session());
	CHECK_EQ(m->cmd.kind, TRAMP_KIND_KPROBE_SESSION, "kind");
	call_all();
	for (i = 0; i < ARRAY_SIZE(names); i++) {
		CHECK_EQ(skel->bss->seen[i].entries, CALLS, "%s", names[i]);
		CHECK_EQ(skel->bss->seen[i].returns, CALLS - (CALLS + 2) / 3, "%s", names[i]);
		CHECK_EQ(skel->bss->seen[i].result, 2 * i + 41, "%s", names[i]);
		CHECK_EQ(skel->bss->seen[i].ip, m->addrs[i], "%s", names[i]);
	}
	CHECK_EQ(skel->bss->unpaired, 0, "session cookies");
	many_detach(m);
}

static void test_hits(void)
{
	struct many *m = many_new();
	size_t i;

	setup();
	for (i = 0; i < ARRAY_SIZE(names); i++)
		many_add_name(m, names[i]);
	many_attach(m, bpf_program__fd(skel->progs.on_hit), 0);
	CHECK_EQ(m->cmd.nr_attached, ARRAY_SIZE(names), "attached");
	call_all();
	many_detach(m);
	CHECK_EQ(skel->bss->hits, CALLS * ARRAY_SIZE(names), "hits");
	call_all();
	CHECK_EQ(skel->bss->hits, CALLS * ARRAY_SIZE(names), "hits");
}

/*
 * Kernel threads sleep in these, some of them for ever: an image that has called one stays until
 * the thread returns.
 */
static const char * const sleepers[] = {
	"schedule*", "*schedule", "*thread*", "ret_from_fork*", "*wait*", "*sleep*", "rcu_*", "kswapd*",
	"kcompactd*", "*timeout*", "*reaper*", "ksm*", "khugepaged*", "*completion*",
	"*_kthread", "*synchronize*", "*loop*", "*worker*",
};

/* The cookies in a selection: those of names[] have their number behind KNOWN, others OTHER. */
#define OTHER	0
#define KNOWN	1

static uint64_t *make_cookies(const struct tramp_selection *sel)
{
	size_t i, k, nr = tramp_selection__count(sel);
	uint64_t *cookies = calloc(nr, sizeof(*cookies));

	REQUIRE(cookies, "calloc");
	for (i = 0; i < nr; i++)
		for (k = 0; k < ARRAY_SIZE(names); k++)
			if (!strcmp(tramp_selection__get(sel, i)->sym->name, names[k]))
				cookies[i] = KNOWN + k;
	return cookies;
}

/*
 * The link's hits are the program's, but for the few in between. No program and no interrupt
 * calls the known functions, so no call of them is missed.
 */
static void check_counts(uint32_t link_id, const uint64_t *calls, bool session)
{
	uint64_t hits, few = 8 * nr_cpus(), known;
	struct tramp_query before, after;
	size_t i;

	before = tramp_query_link(link_id);
	hits = skel->bss->hits;
	after = tramp_query_link(link_id);
	CHECK(before.hits <= hits + few && hits <= after.hits + few,
	      "the link says %llu to %llu hits, the program %llu", (unsigned long long)before.hits,
	      (unsigned long long)after.hits, (unsigned long long)hits);
	for (i = 0; i < ARRAY_SIZE(names); i++) {
		known = session ? skel->bss->seen[KNOWN + i].entries : skel->bss->counts[KNOWN + i];
		CHECK_EQ(known, calls[i], "hits and calls of %s", names[i]);
	}
	ktap_note("%llu hits, %llu missed; %llu calls of %s", (unsigned long long)hits,
		  (unsigned long long)after.misses, (unsigned long long)calls[0], names[0]);
}

/*
 * Everything that ftrace can patch, less the deny list, with work on all CPUs for MULTI_SECONDS
 * of the environment.
 */
static void attach_all(const struct bpf_program *prog, uint32_t flags, bool returns, size_t least)
{
	const char *all = "*";
	TRAMP_OPTS(tramp_select_opts, what, .patterns = &all, .pattern_cnt = 1,
		   .deny = sleepers, .deny_cnt = returns ? ARRAY_SIZE(sleepers) : 0);
	TRAMP_OPTS(tramp_multi_opts, opts, .flags = TRAMP_MULTI_F_SKIP | flags);
	uint32_t *reasons, by_reason[TRAMP_REASON_COUNT] = {};
	uint64_t t[4], calls[BUSY_FUNCS], *cookies;
	struct tramp_selection *sel;
	struct tramp_syms *syms;
	struct tramp_link *link;
	/* As many as ftrace can patch, as it says. */
	size_t known = file_lines("/sys/kernel/tracing/available_filter_functions");
	size_t i, nr, attached = 0;
	int seconds = 2;

	syms = tramp_syms__load(NULL);
	REQUIRE(syms, "%s", tramp_last_error()->message);
	sel = tramp_syms__select(syms, &what);
	REQUIRE(sel, "%s", tramp_last_error()->message);
	nr = tramp_selection__count(sel);
	reasons = calloc(nr, sizeof(*reasons));
	cookies = make_cookies(sel);
	opts.selection = sel;
	opts.cookies = cookies;
	opts.attached = &attached;
	opts.reasons = reasons;
	t[0] = now_ns();
	link = tramp_attach_multi(prog, &opts);
	t[1] = now_ns();
	REQUIRE(link, "%s", tramp_last_error()->message);
	ktap_note("%zu of %zu functions, %zu known to ftrace, %llu ms", attached, nr, known,
		  (unsigned long long)(t[1] - t[0]) / 1000000);
	for (i = 0; i < nr; i++)
		by_reason[reasons[i]]++;
	for (i = 1; i < TRAMP_REASON_COUNT; i++) {
		if (by_reason[i])
			ktap_note("%s: %u", tramp_reason_name(i), by_reason[i]);
	}
	/* Some have no prototype, or are on the deny list. */
	CHECK(attached > known * 9 / 10, "%zu functions of %zu", attached, known);
	CHECK(attached >= least || !kernel_is_debian(), "%zu functions, not %zu", attached, least);
	/* Entries and returns by one program, for a minute; either alone for less. */
	if (prog == skel->progs.on_session && !kernel_is_rt())
		seconds = short_form(60, 15);
	busy(env_int("MULTI_SECONDS", seconds), calls);
	check_counts(tramp_link__id(link), calls, prog == skel->progs.on_session);
	t[2] = now_ns();
	tramp_link__destroy(link);
	t[3] = now_ns();
	ktap_note("gone in %llu ms", (unsigned long long)(t[3] - t[2]) / 1000000);
	CHECK(skel->bss->hits > attached, "%llu hits", (unsigned long long)skel->bss->hits);
	free(reasons);
	free(cookies);
	tramp_selection__free(sel);
	tramp_syms__free(syms);
}

static void test_all(void)
{
	setup();
	attach_all(skel->progs.on_count, 0, false, kernel_version() >= 6012 ? 40000 : 35000);
}

static void test_all_returns(void)
{
	/* All of a debug kernel takes a quarter of an hour, and a session's returns are as many. */
	if (!kernel_is_debian() && short_form(0, 1))
		ktap_skip("on a debug kernel, in the short form all_sessions does for returns");
	setup();
	attach_all(skel->progs.on_count, TRAMP_MULTI_F_RETURN, true, 30000);
}

static void test_all_sessions(void)
{
	setup();
	attach_all(skel->progs.on_session, many_session(), true, 30000);
}

static const struct ktap_test tests[] = {
	{ "hits", test_hits, 60 },
	{ "all", test_all, 150 },
	{ "all_returns", test_all_returns, 150 },
	{ "all_sessions", test_all_sessions, 440 },
	{ "entry", test_entry, 60 },
	{ "return", test_return, 60 },
	{ "plain", test_plain, 60 },
	{ "names", test_names, 60 },
	{ "syscalls", test_syscalls, 60 },
	{ "session", test_session, 60 },
};

KTAP_MAIN(tests)
