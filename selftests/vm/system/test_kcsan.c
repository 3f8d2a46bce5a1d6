// SPDX-License-Identifier: GPL-2.0
/*
 * KCSAN finds a data race in a module. A kernel in which it saw nothing would let all other tests
 * pass. On an emulated machine a race wants two CPUs to take turns between an access and the one
 * after it.
 *
 * The race is tt_racy()'s. Its reports are filtered out, as each would be a splat, but counted.
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "fixture.h"
#include "probe.h"

#define KCSAN	"/sys/kernel/debug/kcsan"
/* The kernel races with itself as well: up to four times a minute were seen, under stress. */
#define ENOUGH	20
#define SECONDS	30

static unsigned long races(void)
{
	char *text = read_file(KCSAN), *at = strstr(text, "\ndata_races: ");
	unsigned long nr;

	REQUIRE(at, KCSAN " has no data_races: %s", text);
	nr = strtoul(at + strlen("\ndata_races: "), NULL, 10);
	free(text);
	return nr;
}

static void race(int fd, unsigned int round)
{
	(void)round;
	tt_call(fd, "tt_racy n=10000 1");
}

static void test_finds(void)
{
	unsigned long before, after = 0;
	int i;

	if (access(KCSAN, W_OK))
		ktap_skip("this kernel has no KCSAN");
	fixture_open("is about the test module");
	REQUIRE(!write_file(KCSAN, "!tt_racy"), "the filter of reports");
	before = races();
	callers_start(race);
	for (i = 0; i < SECONDS; i++) {
		after = races();
		if (after - before >= ENOUGH)
			break;
		sleep(1);
	}
	callers_stop();
	ktap_note("%lu data races, after %d s", after - before, i);
	CHECK(after - before >= ENOUGH, "too few were found");
}

static const struct ktap_test tests[] = {
	{ "finds", test_finds, 90 },
};

KTAP_MAIN(tests)
