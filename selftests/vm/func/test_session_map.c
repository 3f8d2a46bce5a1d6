// SPDX-License-Identifier: GPL-2.0
/*
 * Sessions by map: plain kprobe programs with TRAMP_MULTI_F_SESSION, on every kernel. That
 * objects for kprobe.session work where the kernel has none is for test_multi_session.c.
 */
#define _GNU_SOURCE
#include <bpf/bpf.h>
#include <errno.h>
#include <linux/bpf.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "fixture.h"
#include "many.h"
#include "probe.h"
#include "stuck_page.h"
#include "selftests/vm/func/session_map.skel.h"

#define LEVELS	20
#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))

static struct session_map *skel;
static int dev;

static void setup(void)
{
	dev = fixture_open("about attachments of many functions, which 6.1 has not");
	skel = session_map__open_and_load();
	REQUIRE(skel, "%s", strerror(errno));
}

static struct many *attach(struct bpf_program *prog, uint32_t flags)
{
	struct many *m = many_new();

	many_add_name(m, "tt_hot0");
	many_add_name(m, "tt_factorial");
	m->cookies[1] = 7;
	many_attach(m, bpf_program__fd(prog), flags);
	CHECK_EQ(m->cmd.kind, flags & TRAMP_MULTI_F_SESSION ? TRAMP_KIND_KPROBE_SESSION :
		 TRAMP_KIND_KPROBE_MULTI, "kind");
	return m;
}

static void check(uint32_t i, uint64_t calls, uint64_t func)
{
	CHECK_EQ(skel->bss->entries[i], calls, "entries of %u", i);
	CHECK_EQ(skel->bss->skipped[i], calls / 4, "of which it skips the return, %u", i);
	CHECK_EQ(skel->bss->returns[i], calls - calls / 4, "returns of %u", i);
	CHECK_EQ(skel->bss->last_ip[i], func, "function of %u", i);
	CHECK_EQ(skel->bss->last_cookie[i], 7, "cookie of %u", i);
}

/* Calls of n call that of n - 1, and both programs see each. */
static void test_pairs(void)
{
	struct many *one, *two;

	setup();
	one = attach(skel->progs.one, TRAMP_MULTI_F_SESSION);
	CHECK_EQ(tt_call(dev, "tt_factorial n=3 %d", LEVELS).result, 2432902008176640000ULL,
		 "result");
	check(0, 3 * LEVELS, one->addrs[1]);
	memset(skel->bss, 0, sizeof(*skel->bss));
	two = attach(skel->progs.two, TRAMP_MULTI_F_SESSION);
	CHECK_EQ(tt_call(dev, "tt_factorial n=3 %d", LEVELS).result, 2432902008176640000ULL,
		 "result");
	check(0, 3 * LEVELS, one->addrs[1]);
	check(1, 3 * LEVELS, two->addrs[1]);
	CHECK_EQ(skel->bss->unpaired, 0, "unpaired");
	many_detach(one);
	many_detach(two);
}

static void runs(struct bpf_program *prog, uint32_t flags, uint64_t of_each)
{
	struct many *m = attach(prog, flags);

	skel->bss->runs = 0;
	tt_call(dev, "tt_hot0 n=50 1");
	CHECK_EQ(skel->bss->runs, 50 * of_each, "%s, flags %u: runs", bpf_program__name(prog), flags);
	CHECK_EQ(tramp_query_link(m->cmd.link_id).hits, 50 * of_each, "hits");
	many_detach(m);
}

/* The flag alone makes it a session; the result is an int. */
static void test_runs(void)
{
	setup();
	runs(skel->progs.no_map, 0, 1);
	runs(skel->progs.no_map, TRAMP_MULTI_F_SESSION, 2);
	runs(skel->progs.negative, 0, 1);
	runs(skel->progs.negative, TRAMP_MULTI_F_SESSION, 1);
}

/* Each function has its own: the link shows none, and no address of ours in its place. */
static void test_no_cookie(void)
{
	struct many *m;
	char path[64], *text;

	setup();
	m = attach(skel->progs.one, TRAMP_MULTI_F_SESSION);
	CHECK_EQ(tramp_query_link(m->cmd.link_id).cookie, 0, "cookie of the link");
	snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", m->cmd.link_fd);
	text = read_file(path);
	CHECK_EQ(number_after(text, "cookie:", 1), 0, "cookie in fdinfo: %s", text);
	free(text);
	many_detach(m);
}

static void *ask_for_maps(void *page)
{
	struct bpf_prog_info info = { .nr_map_ids = 8, .map_ids = (uintptr_t)page };
	uint32_t len = sizeof(info);

	CHECK_EQ(bpf_obj_get_info_by_fd(bpf_program__fd(skel->progs.one), &info, &len), 0, "info");
	return NULL;
}

static _Atomic pid_t session_tid;

static void *attach_session(void *m)
{
	session_tid = gettid();
	many_attach(m, bpf_program__fd(skel->progs.one), TRAMP_MULTI_F_SESSION);
	return NULL;
}

static void *attach_another(void *done)
{
	many_detach(attach(skel->progs.no_map, 0));
	__atomic_store_n((bool *)done, true, __ATOMIC_RELAXED);
	return NULL;
}

/*
 * The kernel tells a program's maps to user space with a mutex held that a session needs, too.
 * User space may take its time. A session of that program waits for it, but nobody else does.
 */
static void test_stuck_maps(void)
{
	struct many *m = many_new();
	pthread_t asks, session, other;
	struct stuck_page stuck;
	bool done = false;
	int i;

	setup();
	stuck_page_make(&stuck);
	many_add_name(m, "tt_hot0");
	REQUIRE(!pthread_create(&asks, NULL, ask_for_maps, stuck.page), "thread");
	stuck_page_wait(&stuck);
	REQUIRE(!pthread_create(&session, NULL, attach_session, m), "thread");
	while (!session_tid)
		usleep(1000);
	wait_stuck_in(session_tid, "tramp_session_make");
	REQUIRE(!pthread_create(&other, NULL, attach_another, &done), "thread");
	for (i = 0; i < 200 * time_scale() && !__atomic_load_n(&done, __ATOMIC_RELAXED); i++)
		usleep(50000);
	CHECK(__atomic_load_n(&done, __ATOMIC_RELAXED), "another attach waits for user space");
	stuck_page_release(&stuck, NULL);
	pthread_join(asks, NULL);
	pthread_join(session, NULL);
	pthread_join(other, NULL);
	many_detach(m);
}

static void refused_as(const struct bpf_program *prog, uint32_t flags, int error, uint32_t reason)
{
	struct many *m = many_new();
	int err;

	many_add_name(m, "tt_hot0");
	err = many_attach_try(m, bpf_program__fd(prog), flags);
	CHECK_EQ(err, error, "%s, flags %u", bpf_program__name(prog), flags);
	CHECK_EQ(m->cmd.refusal.reason, reason, "%s", m->cmd.refusal.detail);
	CHECK_EQ(m->cmd.link_fd, -1, "link");
	free(m);
}

static void refused(const struct bpf_program *prog, uint32_t flags, uint32_t reason)
{
	refused_as(prog, flags, -EINVAL, reason);
}

/* With another map of that name, and with an attach type. */
static void bad_program(enum bpf_map_type type, uint32_t value_size, enum bpf_attach_type attach,
			uint32_t reason)
{
	struct session_map *bad = session_map__open();

	REQUIRE(bad, "%s", strerror(errno));
	REQUIRE(!bpf_map__set_type(bad->maps.tramp_session, type), "type");
	REQUIRE(!bpf_map__set_value_size(bad->maps.tramp_session, value_size), "value size");
	bpf_program__set_expected_attach_type(bad->progs.one, attach);
	REQUIRE(!session_map__load(bad), "%s", strerror(errno));
	refused(bad->progs.one, TRAMP_MULTI_F_SESSION, reason);
	session_map__destroy(bad);
}

static void test_errors(void)
{
	struct session_map *other;

	setup();
	refused(skel->progs.one, TRAMP_MULTI_F_SESSION | TRAMP_MULTI_F_RETURN, TRAMP_REASON_SYNTAX);
	refused(skel->progs.one, TRAMP_MULTI_F_SESSION << 1, TRAMP_REASON_SYNTAX);
	refused(skel->progs.tail_calls, TRAMP_MULTI_F_SESSION, TRAMP_REASON_SYNTAX);
	/* Without a session: what it calls may ask for the function. */
	refused_as(skel->progs.tail_calls, 0, -EOPNOTSUPP, TRAMP_REASON_FUNC_IP);
	refused_as(skel->progs.tail_calls, TRAMP_MULTI_F_RETURN, -EOPNOTSUPP, TRAMP_REASON_FUNC_IP);
	/* The other object's map, which the program never looks into. */
	other = session_map__open_and_load();
	REQUIRE(other, "%s", strerror(errno));
	CHECK_EQ(bpf_prog_bind_map(bpf_program__fd(skel->progs.two),
				   bpf_map__fd(other->maps.tramp_session), NULL), 0, "bind");
	refused(skel->progs.two, TRAMP_MULTI_F_SESSION, TRAMP_REASON_SYNTAX);
	session_map__destroy(other);
	bad_program(BPF_MAP_TYPE_ARRAY, 16, 0, TRAMP_REASON_SYNTAX);
	bad_program(BPF_MAP_TYPE_PERCPU_ARRAY, 24, 0, TRAMP_REASON_SYNTAX);
	/* Before, such a program is refused for its helpers. */
	if (kernel_version() >= 6002)
		bad_program(BPF_MAP_TYPE_PERCPU_ARRAY, 16, BPF_TRACE_KPROBE_MULTI,
			    TRAMP_REASON_ATTACH_TYPE);
}

static const struct ktap_test tests[] = {
	{ "pairs", test_pairs, 60 },
	{ "runs", test_runs, 60 },
	{ "no_cookie", test_no_cookie, 60 },
	{ "stuck_maps", test_stuck_maps, 60 },
	{ "errors", test_errors, 60 },
};

KTAP_MAIN(tests)
