// SPDX-License-Identifier: GPL-2.0
/*
 * The id of a link whose attach is under way. Tools such as bpftool go through all ids there are
 * (BPF_LINK_GET_NEXT_ID), open each (BPF_LINK_GET_FD_BY_ID), pass over ENOENT, and give up at
 * any other error. So an attach must never show them one, however long it takes.
 *
 * An attach is held in the middle by its caller's memory: userfaultfd has the reply wait.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <linux/userfaultfd.h>
#include "fixture.h"
#include "probe.h"
#include "selftests/vm/lib/probe_progs.skel.h"

#define PAGE	4096
#define CALLS	10
#define NR	2	/* functions: tt_hot0 and tt_hot1 */
#define LIST	"/sys/kernel/debug/trampoline/list"

enum command { ONE, BATCH, MULTI, NR_COMMANDS };

static const struct {
	const char *name;
	unsigned long nr;
	uint32_t links;
} commands[] = {
	[ONE] = { "ATTACH", TRAMP_IOC_ATTACH, 1 },
	[BATCH] = { "ATTACH_BATCH", TRAMP_IOC_ATTACH_BATCH, NR },
	[MULTI] = { "ATTACH_MULTI", TRAMP_IOC_ATTACH_MULTI, 1 },
};

/* All that the module writes to is in one page. */
struct request {
	struct tramp_attach one;
	struct tramp_attach_batch batch;
	struct tramp_attach items[NR];
	struct tramp_attach_multi multi;
};
_Static_assert(sizeof(struct request) <= PAGE, "one page");

static struct request *r;
static uint64_t addrs[NR], cookies[NR] = { 0, 1 };
static int dev;

static void begin(void)
{
	int i;

	dev = fixture_open("about our links only");
	probe_setup();
	r = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	REQUIRE(r != MAP_FAILED, "mmap: %s", strerror(errno));
	for (i = 0; i < NR; i++) {
		char name[16];

		sprintf(name, "tt_hot%d", i);
		addrs[i] = ksym_addr(name);
		REQUIRE(addrs[i], "no symbol %s", name);
	}
}

/* A request of each command in the page, for a program that is nowhere yet. */
static void fill(void)
{
	static int prog = -1;
	int i;

	close(prog);
	prog = probe_clone(probe_skel->progs.count);

	memset(r, 0, sizeof(*r));
	for (i = 0; i < NR; i++)
		r->items[i] = (struct tramp_attach){
			.size = sizeof(r->items[i]), .prog_fd = prog, .addr = addrs[i],
			.cookie = cookies[i], .flags = TRAMP_ATTACH_F_COOKIE,
		};
	r->one = r->items[0];
	r->batch = (struct tramp_attach_batch){
		.size = sizeof(r->batch), .count = NR, .item_size = sizeof(r->items[0]),
		.items = (uintptr_t)r->items,
	};
	r->multi = (struct tramp_attach_multi){
		.size = sizeof(r->multi), .prog_fd = prog, .nr = NR,
		.addrs = (uintptr_t)addrs, .cookies = (uintptr_t)cookies,
	};
}

static void *request_of(enum command c)
{
	return c == ONE ? (void *)&r->one : c == BATCH ? (void *)&r->batch : (void *)&r->multi;
}

/* Return: 0 or a negative errno. */
static int ask(enum command c)
{
	return ioctl(tramp_device(), commands[c].nr, request_of(c)) ? -errno : 0;
}

static const struct tramp_refusal *refusal_of(enum command c)
{
	return c == ONE ? &r->one.refusal : c == BATCH ? &r->batch.refusal : &r->multi.refusal;
}

static void must(enum command c)
{
	const struct tramp_refusal *why = refusal_of(c);
	int err = ask(c);

	REQUIRE(!err, "%s: %s: %s %s", commands[c].name, strerror(-err),
		tramp_reason_name(why->reason), why->detail);
}

static void close_links(enum command c)
{
	int i;

	if (c != BATCH)
		close(c == ONE ? r->one.link_fd : r->multi.link_fd);
	for (i = 0; c == BATCH && i < NR; i++)
		close(r->items[i].link_fd);
}

/* How often the program runs at both functions. */
static uint64_t hits(void)
{
	__u64 *counted = probe_skel->bss->counted;

	counted[0] = counted[1] = 0;
	tt_call(dev, "tt_hot0 n=%d 1", CALLS);
	tt_call(dev, "tt_hot1 n=%d 1", CALLS);
	return counted[0] + counted[1];
}

/* ------------------------------------------------------------ as tools look --- */

struct seen {
	uint64_t links, going, errors;
	uint32_t last_id;
	int last_error;
};

/* Open a link by its id, as others do, and see whether it is a whole one. */
static void open_link(uint32_t id, struct seen *s)
{
	struct bpf_link_info info = {};
	uint32_t len = sizeof(info);
	int fd = bpf_link_get_fd_by_id(id);

	if (fd < 0 && errno == ENOENT) {
		s->going++;
		return;
	}
	if (fd < 0 || bpf_obj_get_info_by_fd(fd, &info, &len)) {
		s->errors++;
		s->last_error = errno;
		s->last_id = id;
	} else if (info.id != id || !info.prog_id) {
		s->errors++;
		s->last_error = 0;
		s->last_id = id;
	} else {
		s->links++;
	}
	if (fd >= 0)
		close(fd);
}

/* All links, as bpftool finds them. */
static void walk_ids(struct seen *s)
{
	uint32_t id = 0;

	while (!bpf_link_get_next_id(id, &id))
		open_link(id, s);
}

/* All links that the module lists. */
static void walk_listed(struct seen *s)
{
	struct tramp_query q;
	uint32_t id = 0;

	for (;;) {
		q = (struct tramp_query){ .size = sizeof(q), .link_id = id,
					  .flags = TRAMP_QUERY_F_NEXT };
		if (ioctl(tramp_device(), TRAMP_IOC_QUERY, &q))
			return;
		id = q.link_id;
		open_link(id, s);
	}
}

static bool no_errors(const struct seen *s, const char *what)
{
	return CHECK(!s->errors, "%s: %llu errors, the last at id %u: %s", what,
		     (unsigned long long)s->errors, s->last_id, strerror(s->last_error));
}

/* ------------------------------------------------------------ held half-way --- */

static int uffd;

static void protect(bool on)
{
	struct uffdio_writeprotect wp = {
		.range = { .start = (uintptr_t)r, .len = PAGE },
		.mode = on ? UFFDIO_WRITEPROTECT_MODE_WP : 0,
	};

	REQUIRE(!ioctl(uffd, UFFDIO_WRITEPROTECT, &wp), "UFFDIO_WRITEPROTECT: %s",
		strerror(errno));
}

static void uffd_open(void)
{
	struct uffdio_api api = { .api = UFFD_API, .features = UFFD_FEATURE_PAGEFAULT_FLAG_WP };
	struct uffdio_register reg = {
		.range = { .start = (uintptr_t)r, .len = PAGE },
		.mode = UFFDIO_REGISTER_MODE_WP,
	};

	uffd = syscall(SYS_userfaultfd, O_CLOEXEC);
	if (uffd < 0)
		KERNEL_LACKS("userfaultfd: %s", strerror(errno));
	if (ioctl(uffd, UFFDIO_API, &api) || ioctl(uffd, UFFDIO_REGISTER, &reg))
		KERNEL_LACKS("userfaultfd does not protect from writing: %s", strerror(errno));
}

static void *asker(void *arg)
{
	return (void *)(long)ask((enum command)(uintptr_t)arg);
}

/* Ask, and return when the answer waits for the page. */
static pthread_t hold(enum command c)
{
	struct uffd_msg msg;
	pthread_t thread;

	fill();
	protect(true);
	REQUIRE(!pthread_create(&thread, NULL, asker, (void *)(uintptr_t)c), "thread");
	REQUIRE(read(uffd, &msg, sizeof(msg)) == sizeof(msg), "userfaultfd: %s", strerror(errno));
	CHECK_EQ(msg.event, UFFD_EVENT_PAGEFAULT, "event");
	return thread;
}

/* Return: what the request did. */
static int let_go(pthread_t thread)
{
	void *err;

	protect(false);
	pthread_join(thread, &err);
	return (long)err;
}

/* The program runs, and nobody can have the link. */
static void expect_hidden(enum command c, uint64_t runs)
{
	const char *name = commands[c].name;
	struct seen s = {};
	char *list;

	CHECK_EQ(hits(), runs, "%s waits for its caller: runs", name);
	CHECK_EQ(tramp_module().links, commands[c].links, "%s: links attached", name);
	walk_ids(&s);
	no_errors(&s, name);
	CHECK_EQ(s.going, commands[c].links, "%s: ids that lead nowhere yet", name);
	CHECK_EQ(s.links, 0, "%s: links that can be opened", name);
	s = (struct seen){};
	walk_listed(&s);
	CHECK_EQ(s.links + s.going + s.errors, 0, "%s: links that QUERY lists", name);
	list = read_file(LIST);
	CHECK(!*list, "%s: %s", name, list);
	free(list);
}

/* Each link is there for everybody, or none is. */
static void expect_links(enum command c, uint32_t nr)
{
	const char *name = commands[c].name;
	struct seen s = {}, listed = {};

	walk_ids(&s);
	no_errors(&s, name);
	CHECK_EQ(s.links, nr, "%s: links that can be opened", name);
	CHECK_EQ(s.going, 0, "%s: ids that lead nowhere", name);
	walk_listed(&listed);
	no_errors(&listed, name);
	CHECK_EQ(listed.links, nr, "%s: links that QUERY lists", name);
	CHECK_EQ(tramp_module().links, nr, "%s: links attached", name);
}

static void test_held(void)
{
	uint64_t runs;
	pthread_t t;
	int c;

	begin();
	uffd_open();
	for (c = 0; c < NR_COMMANDS; c++) {
		runs = c == ONE ? CALLS : NR * CALLS;
		t = hold(c);
		expect_hidden(c, runs);
		CHECK_EQ(let_go(t), 0, "%s", commands[c].name);
		expect_links(c, commands[c].links);
		CHECK_EQ(hits(), runs, "%s: runs", commands[c].name);
		close_links(c);
		expect_links(c, 0);
	}
	close(uffd);
}

/* The same, but the answer cannot be written in the end. */
static void test_undone(void)
{
	pthread_t t;
	int c, fds;

	begin();
	uffd_open();
	fill();
	fds = open_fds();
	for (c = 0; c < NR_COMMANDS; c++) {
		t = hold(c);
		expect_hidden(c, c == ONE ? CALLS : NR * CALLS);
		REQUIRE(!mprotect(r, PAGE, PROT_READ), "mprotect: %s", strerror(errno));
		CHECK_EQ(let_go(t), -EFAULT, "%s", commands[c].name);
		expect_links(c, 0);
		CHECK_EQ(hits(), 0, "%s: runs", commands[c].name);
		CHECK_EQ(open_fds(), fds, "%s: files", commands[c].name);
		REQUIRE(!mprotect(r, PAGE, PROT_READ | PROT_WRITE), "mprotect: %s",
			strerror(errno));
	}
	close(uffd);
}

/* ------------------------------------------------------- looked at meanwhile --- */

#define ROUNDS	5

static bool stop;
static struct seen by_id, by_list;
static uint64_t walks;

static void *watch(void *what)
{
	while (!__atomic_load_n(&stop, __ATOMIC_RELAXED)) {
		walk_ids(&by_id);
		if (what)
			walk_listed(&by_list);
		__atomic_add_fetch(&walks, 1, __ATOMIC_RELAXED);
	}
	return NULL;
}

/* Wait until all of it was looked at once more. */
static void wait_walk(void)
{
	uint64_t since = __atomic_load_n(&walks, __ATOMIC_RELAXED);

	while (__atomic_load_n(&walks, __ATOMIC_RELAXED) < since + 2)
		usleep(1000);
}

/* Links come and go, and attaches fail. Nobody who goes through the ids meets an error. */
static void test_watched(void)
{
	pthread_t thread;
	int c, i, err;

	begin();
	REQUIRE(!pthread_create(&thread, NULL, watch, NULL), "thread");
	for (i = 0; i < ROUNDS; i++) {
		for (c = 0; c < NR_COMMANDS; c++) {
			fill();
			must(c);
			wait_walk();
			close_links(c);
			/* Until nobody else holds them. */
			wait_walk();
			fill();
			REQUIRE(!mprotect(r, PAGE, PROT_READ), "mprotect: %s", strerror(errno));
			err = ask(c);
			CHECK_EQ(err, -EFAULT, "%s: %s", commands[c].name,
				 tramp_reason_name(refusal_of(c)->reason));
			REQUIRE(!mprotect(r, PAGE, PROT_READ | PROT_WRITE), "mprotect: %s",
				strerror(errno));
		}
	}
	stop = true;
	pthread_join(thread, NULL);
	ktap_note("%llu walks: %llu links opened, %llu ids that lead nowhere",
		  (unsigned long long)walks, (unsigned long long)by_id.links,
		  (unsigned long long)by_id.going);
	no_errors(&by_id, "by id");
	CHECK(by_id.links, "no link was seen");
}

/* Links come and stay: each that the module lists can be opened by its id. */
static void test_listed(void)
{
	static struct request kept[ROUNDS * NR_COMMANDS];
	pthread_t thread;
	int c, i;

	begin();
	REQUIRE(!pthread_create(&thread, NULL, watch, (void *)1), "thread");
	for (i = 0; i < ROUNDS * NR_COMMANDS; i++) {
		fill();
		c = i % NR_COMMANDS;
		must(c);
		kept[i] = *r;
	}
	wait_walk();
	stop = true;
	pthread_join(thread, NULL);
	no_errors(&by_id, "by id");
	no_errors(&by_list, "by QUERY");
	CHECK_EQ(by_list.going, 0, "links that QUERY lists and nobody can open");
	CHECK(by_list.links, "no link was seen");
	while (i--) {
		*r = kept[i];
		close_links(i % NR_COMMANDS);
	}
}

static const struct ktap_test tests[] = {
	{ "held", test_held, 60 },
	{ "undone", test_undone, 60 },
	{ "watched", test_watched, 120 },
	{ "listed", test_listed, 120 },
};

KTAP_MAIN(tests)
