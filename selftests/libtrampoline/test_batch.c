// SPDX-License-Identifier: GPL-2.0
/*
 * Attaching one program, and many of which all or none are attached. The programs are numbers, as
 * the module here (answers.h) has no others.
 */
#include <errno.h>
#include <fcntl.h>

#include "../../user/libtrampoline/attach/internal.h"
#include "answers.h"
#include "kernel.h"

#define NR_REQUESTS	40

static struct libtramp_request requests[NR_REQUESTS];
static bool knows_batches = true;
/* Links that were attached, and the first that is refused; -1: none. */
static int nr_attached, refused_at = -1;
/* Why all of them are refused, before the first one is looked at; 0: they are not. */
static uint32_t forbidden;
/* With this errno. */
static int forbidden_errno;
static int descriptors[NR_REQUESTS];

static int a_descriptor(void)
{
	int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);

	REQUIRE(fd >= 0, "/dev/null");
	return fd;
}

static int attach_one(struct tramp_attach *cmd)
{
	CHECK_EQ(cmd->prog_fd, 100 + nr_attached, "in order");
	CHECK_EQ(!cmd->cookie, !(cmd->flags & TRAMP_ATTACH_F_COOKIE), "a cookie is meant");
	cmd->link_id = 1 + nr_attached;
	cmd->link_fd = descriptors[nr_attached++] = a_descriptor();
	return 0;
}

static int answer_attach(unsigned long cmd, void *arg)
{
	struct tramp_attach_batch *batch = arg;
	struct tramp_attach *one = arg, *all = (void *)(uintptr_t)batch->items;
	uint32_t i;

	if (cmd == TRAMP_IOC_ATTACH) {
		if (nr_attached != refused_at)
			return attach_one(one);
		one->refusal.reason = TRAMP_REASON_LIVEPATCHED;
		return -EBUSY;
	}
	CHECK_EQ(cmd, TRAMP_IOC_ATTACH_BATCH, "command");
	if (!knows_batches)
		return -ENOTTY;
	CHECK(batch->count > 1 && batch->count <= NR_REQUESTS, "%u", batch->count);
	if (forbidden) {
		batch->refusal.reason = forbidden;
		return -forbidden_errno;
	}
	batch->failed = batch->count;
	for (i = 0; i < batch->count; i++) {
		if (nr_attached + (int)i != refused_at)
			continue;
		batch->failed = i;
		batch->refusal.reason = TRAMP_REASON_LIVEPATCHED;
		return -EBUSY;
	}
	for (i = 0; i < batch->count; i++)
		attach_one(&all[i]);
	return 0;
}

static void begin_attach(void)
{
	uint32_t i;

	answers_begin(answer_attach);
	for (i = 0; i < NR_REQUESTS; i++) {
		requests[i].prog_fd = 100 + i;
		requests[i].cookie = i % 2;
		requests[i].name = "program";
		snprintf(requests[i].subject, sizeof(requests[i].subject), "program %u", i);
	}
	nr_attached = 0;
}

static bool is_open(int fd)
{
	return fcntl(fd, F_GETFD) >= 0;
}

/* All of @nr are attached, by so many commands beside INFO; they are detached again. */
static void attaches(size_t nr, int commands)
{
	struct tramp_links *links;
	size_t i;

	begin_attach();
	links = libtramp_attach_many(requests, nr, "all");
	REQUIRE(links, "%zu: %s", nr, tramp_last_error()->message);
	CHECK_EQ(tramp_links__count(links), nr, "links");
	for (i = 0; i < nr; i++) {
		CHECK_EQ(tramp_link__id(tramp_links__get(links, i)), 1 + i, "in order");
		CHECK_EQ(tramp_link__fd(tramp_links__get(links, i)), descriptors[i], "in order");
	}
	CHECK_EQ(answers.nr_commands, commands, "%zu: commands", nr);
	CHECK_CLOSED();
	tramp_links__destroy(links);
	for (i = 0; i < nr; i++)
		CHECK(!is_open(descriptors[i]), "%zu of %zu", i, nr);
}

/* Number @at of @nr is refused: none stays, and the error is about that one. */
static void refuses(size_t nr, int at)
{
	int i;

	begin_attach();
	refused_at = at;
	CHECK(!libtramp_attach_many(requests, nr, "all"), "%zu: attached", nr);
	CHECK_EQ(errno, EBUSY, "errno");
	CHECK_ERROR(-EBUSY, TRAMP_REASON_LIVEPATCHED);
	CHECK(!strcmp(tramp_last_error()->subject, requests[at].subject), "%d is refused: %s", at,
	      tramp_last_error()->subject);
	for (i = 0; i < nr_attached; i++)
		CHECK(!is_open(descriptors[i]), "%d of %zu", i, nr);
	CHECK_CLOSED();
	refused_at = -1;
}

/* The module looks at no one of them: the error is about none, whatever else it says. */
static void forbids(int err, uint32_t reason)
{
	begin_attach();
	forbidden = reason;
	forbidden_errno = err;
	CHECK(!libtramp_attach_many(requests, 3, "all"), "attached");
	CHECK_EQ(errno, err, "errno");
	CHECK_ERROR(-err, reason);
	CHECK(!strcmp(tramp_last_error()->subject, "all"), "%s", tramp_last_error()->subject);
	CHECK_CLOSED();
	forbidden = 0;
}

static void test_attach_many(void)
{
	/* One is ATTACH, which asks for INFO once more. */
	attaches(1, 3);
	attaches(2, 2);
	attaches(NR_REQUESTS, 2);
	refuses(1, 0);
	refuses(5, 0);
	refuses(NR_REQUESTS, NR_REQUESTS - 1);
	forbids(EPERM, TRAMP_REASON_LOCKDOWN);
	forbids(EPERM, TRAMP_REASON_PERMISSION);
	forbids(ENOMEM, TRAMP_REASON_NO_MEMORY);
}

/* A module from before there were batches gets one command for each. */
static void test_attach_each(void)
{
	knows_batches = false;
	attaches(3, 1 + 1 + 3 * 2);
	refuses(3, 2);
}

static void test_attach_fd(void)
{
	TRAMP_OPTS(tramp_attach_opts, opts);
	struct tramp_link *link;
	int fd;

	begin_attach();
	opts.cookie = 5;
	link = tramp_attach_fd(100, &opts);
	REQUIRE(link, "%s", tramp_last_error()->message);
	CHECK_EQ(tramp_link__id(link), 1, "id");
	tramp_link__destroy(link);
	CHECK(!is_open(descriptors[0]), "closed");
	answers.nr_commands = 0;
	/* Of one that is known to be a tracing program. */
	kernel.objects[0] = (struct kernel_object) { .sort = "prog", .id = 1,
						     .type = BPF_PROG_TYPE_TRACING };
	fd = kernel_open("prog", 1);
	opts.maxactive = 5;
	CHECK(!tramp_attach_fd(fd, &opts), "maxactive");
	CHECK_ERROR(-EINVAL, TRAMP_LIB_BAD_ARGUMENT);
	opts.maxactive = 0;
	opts.flags = 1U << 31;
	CHECK(!tramp_attach_fd(fd, &opts), "flags");
	CHECK_ERROR(-EINVAL, TRAMP_LIB_BAD_ARGUMENT);
	CHECK_EQ(answers.nr_commands, 0, "nobody is asked");
	CHECK_CLOSED();
}

static const struct ktap_test tests[] = {
	{ .name = "attach-many", .run = test_attach_many },
	{ .name = "attach-each", .run = test_attach_each },
	{ .name = "attach-fd", .run = test_attach_fd },
};

KTAP_MAIN(tests)
