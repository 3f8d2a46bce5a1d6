// SPDX-License-Identifier: GPL-2.0
/*
 * trampctl detach of as many links as no machine here has: how long that takes, and that no link is
 * left out. The module and the kernel are the test (answers.h, kernel.h).
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "../../user/trampctl/out/json.h"
#include "../../user/trampctl/trampctl.h"
#include "../libtrampoline/answers.h"
#include "../libtrampoline/kernel.h"

#define FEW 10000
#define MANY 200000
#define OPT_ALL 0

/* The module has the links 1 to @nr_links. All but those of the kernel go once they are listed. */
static uint32_t nr_links;
static int nr_detached;

static int query(struct tramp_query *q)
{
	if (q->flags & TRAMP_QUERY_F_NEXT)
		q->link_id++;
	if (q->link_id > nr_links)
		return -ENOENT;
	q->mode = nr_detached ? TRAMP_MODE_NONE : TRAMP_MODE_DIRECT;
	return 0;
}

static int answer(unsigned long cmd, void *arg)
{
	const struct tramp_detach_batch *batch = arg;

	if (cmd == TRAMP_IOC_QUERY)
		return query(arg);
	CHECK_EQ(cmd, TRAMP_IOC_DETACH_BATCH, "command");
	nr_detached += batch->count;
	return 0;
}

static void begin(uint32_t nr)
{
	answers_begin(answer);
	nr_links = nr;
	nr_detached = 0;
}

/* Returns the output. */
static char *detach(int argc, char **argv)
{
	FILE *before = stdout;
	char *text = NULL;
	size_t len;

	stdout = open_memstream(&text, &len);
	REQUIRE(stdout, "no memory");
	CHECK_EQ(cmd_detach.run(argc, argv), 0, "exit status");
	fclose(stdout);
	stdout = before;
	CHECK_CLOSED();
	return text;
}

/* The time of this process for each of @nr links that are gone when they are to be detached. */
static double ns_per_link(uint32_t nr)
{
	struct timespec from, to;

	begin(nr);
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &from);
	free(detach(0, NULL));
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &to);
	return ((to.tv_sec - from.tv_sec) * 1e9 + (to.tv_nsec - from.tv_nsec)) / nr;
}

/* Each takes as long as if there were few. */
static void test_time(void)
{
	double few, many;

	cmd_detach.option(OPT_ALL, NULL);
	few = ns_per_link(FEW);
	many = ns_per_link(MANY);
	ktap_note("%.0f ns a link of %d, %.0f ns of %d", few, FEW, many, MANY);
	CHECK(many < 4 * few, "the time grows with the square");
}

/* Those that are there when they are to be detached: the first, the last, and some between. */
static void test_all(void)
{
	static const uint32_t there[] = { 1, 64, 65, 256, 257, 1000, FEW };
	char *text;
	size_t i;

	begin(FEW);
	for (i = 0; i < sizeof(there) / sizeof(there[0]); i++)
		kernel.objects[i] = (struct kernel_object){ .sort = "link", .id = there[i] };
	cmd_detach.option(OPT_ALL, NULL);
	json_output = true;
	text = detach(0, NULL);
	CHECK(strstr(text, "[1,64,65,256,257,1000,10000]"), "%s", text);
	free(text);
}

/* Named twice, it is detached once. */
static void test_named_twice(void)
{
	char *argv[] = { (char *)"3", (char *)"2", (char *)"3", NULL }, *text;

	begin(FEW);
	kernel.objects[0] = (struct kernel_object){ .sort = "link", .id = 2 };
	kernel.objects[1] = (struct kernel_object){ .sort = "link", .id = 3 };
	text = detach(3, argv);
	CHECK(!strcmp(text, "detached 2 links\n"), "%s", text);
	CHECK_EQ(nr_detached, 2, "each once");
	free(text);
}

static const struct ktap_test tests[] = {
	{ .name = "time", .run = test_time },
	{ .name = "all", .run = test_all },
	{ .name = "named-twice", .run = test_named_twice },
};

KTAP_MAIN(tests)
