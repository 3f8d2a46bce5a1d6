// SPDX-License-Identifier: GPL-2.0
/*
 * Programs of tracing type that run into themselves: the inner call is a miss, whichever link of
 * the program it meets.
 */
#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <unistd.h>
#include "fixture.h"
#include "selftests/vm/func/recursion.skel.h"

static struct recursion *skel;

static void setup(const char *about_us)
{
	fixture_open(about_us);
	skel = recursion__open();
	REQUIRE(skel, "open");
	skel->rodata->only_pid = getpid();
	REQUIRE(!recursion__load(skel), "load: %s", strerror(errno));
}

static uint64_t recursion_misses(int prog_fd)
{
	struct bpf_prog_info info = {};
	uint32_t len = sizeof(info);

	REQUIRE(!bpf_obj_get_info_by_fd(prog_fd, &info, &len), "%s", strerror(errno));
	return info.recursion_misses;
}

static void call_once(void)
{
	int map = bpf_map__fd(skel->maps.recursed);
	uint32_t key = 0, value = 0;

	REQUIRE(!bpf_map_update_elem(map, &key, &value, 0), "%s", strerror(errno));
	bpf_map_delete_elem(map, &key);
}

/* The program calls what it is attached to: run once a call, missed once a call. */
static void test_calls(void)
{
	uint64_t hits, misses;
	struct attachment a;
	int i, fd;

	setup(NULL);
	fd = bpf_program__fd(skel->progs.recurse);
	a = attach_func(OURS, fd, NULL);
	for (i = 0; i < 10; i++)
		call_once();
	CHECK_EQ(skel->bss->runs, 10, "runs");
	attachment_counts(&a, &hits, &misses);
	if (a.how == OURS) {
		CHECK_EQ(hits, 10, "hits");
		CHECK_EQ(misses, 10, "misses");
	}
	CHECK_EQ(recursion_misses(fd), 10, "as bpftool prog shows them");
	detach(&a);
	recursion__destroy(skel);
}

static void *call(void *arg)
{
	(void)arg;
	call_once();
	return NULL;
}

/*
 * While a CPU is in the program it is detached, and attached anew. Then it calls the function. The
 * recursion counter is the program's, not the link's. (The function keeps its image, since to give
 * it back waits for CPUs on which no task comes by.)
 */
static void test_anew(void)
{
	uint64_t hits, misses;
	struct attachment a, other;
	pthread_t thread;
	int fd;

	setup("about a program that is detached while it runs");
	fd = bpf_program__fd(skel->progs.recurse_later);
	other = attach_func(OURS, bpf_program__fd(skel->progs.stay), NULL);
	a = attach_func(OURS, fd, NULL);
	REQUIRE(!pthread_create(&thread, NULL, call, NULL), "thread");
	while (!*(volatile uint32_t *)&skel->bss->inside)
		usleep(1000);
	detach(&a);
	a = attach_func(OURS, fd, NULL);
	CHECK(*(volatile uint32_t *)&skel->bss->inside, "the program has not waited");
	skel->bss->go_on = 1;
	pthread_join(thread, NULL);

	CHECK_EQ(skel->bss->within, 0, "runs within the program");
	CHECK_EQ(skel->bss->runs, 1, "runs");
	attachment_counts(&a, &hits, &misses);
	CHECK_EQ(hits, 0, "hits of the new link");
	CHECK_EQ(misses, 1, "its misses");
	CHECK_EQ(recursion_misses(fd), 1, "as bpftool prog shows them");
	call_once();
	attachment_counts(&a, &hits, &misses);
	CHECK_EQ(hits, 1, "hits when it is over");
	detach(&a);
	detach(&other);
	recursion__destroy(skel);
}

static const struct ktap_test tests[] = {
	{ "calls", test_calls, 60 },
	{ "anew", test_anew, 60 },
};

KTAP_MAIN(tests)
