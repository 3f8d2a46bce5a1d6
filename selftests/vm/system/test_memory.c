// SPDX-License-Identifier: GPL-2.0
/*
 * The measure of the kernel's memory that other tests go by (memory.h) sees what leaks. Here the
 * test module keeps some memory of each kind, more with each measurement.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
#include "memory.h"
#include "vmtest.h"

#define MEASURED	3
/* More than memory_flat() lets pass. */
#define LEAKED		32

static int dev;
static struct memory m[MEASURED];
static char said[65536];

static void setup(void)
{
	if (vmtest_oracle())
		ktap_skip("is about our own tests");
	dev = tt_open();
}

static void leak(void)
{
	int err = tt_command(dev, NULL, 0, "leak %d", LEAKED);

	REQUIRE(!err, "leak: %s", strerror(-err));
}

static void by_growth(void)
{
	memory_flat(m, MEASURED);
}

static void by_operations(void)
{
	memory_compare(&m[0], &m[MEASURED - 1], (MEASURED - 1) * LEAKED);
}

/* The checks of @compare, in a child, as they are to fail. @said is what it printed. */
static unsigned int failures_of(void (*compare)(void))
{
	int out = memfd_create("said", MFD_CLOEXEC), status;
	ssize_t len;
	pid_t pid;

	REQUIRE(out >= 0, "memfd_create: %s", strerror(errno));
	fflush(stdout);
	pid = fork();
	REQUIRE(pid >= 0, "fork: %s", strerror(errno));
	if (!pid) {
		dup2(out, STDOUT_FILENO);
		compare();
		fflush(stdout);
		_exit(ktap_failures());
	}
	REQUIRE(waitpid(pid, &status, 0) == pid && WIFEXITED(status), "the child died");
	len = pread(out, said, sizeof(said) - 1, 0);
	REQUIRE(len >= 0, "pread: %s", strerror(errno));
	said[len] = '\0';
	close(out);
	return WEXITSTATUS(status);
}

static void expect_said(const char *what)
{
	CHECK(strstr(said, what), "'%s' is not said of a leak: %s", what, said);
}

static void test_leaks(void)
{
	int i;

	setup();
	for (i = 0; i < MEASURED; i++) {
		leak();
		memory_measure(&m[i]);
	}
	CHECK(memory_grows(m, MEASURED), "nothing grows");
	failures_of(by_growth);
	expect_said("kB of large objects more each time");
	expect_said("bytes of per-CPU memory more each time");
	expect_said("kB of vmalloc areas more each time");
	expect_said("objects in kmalloc-8 more each time");
	expect_said("tt_leak");
	CHECK(!strstr(said, "symbols more each time"), "symbols leak: %s", said);
	failures_of(by_operations);
	expect_said("large objects: ");
	expect_said("per-CPU: ");
	expect_said("vmalloc: ");
	close(dev);
}

/* The same with nothing kept. */
static void test_nothing(void)
{
	int i;

	setup();
	leak();
	close(dev);
	for (i = 0; i < MEASURED; i++)
		memory_measure(&m[i]);
	CHECK(!memory_grows(m, MEASURED), "something grows");
	CHECK_EQ(failures_of(by_growth), 0, "by growth: %s", said);
	CHECK_EQ(failures_of(by_operations), 0, "by operations: %s", said);
}

static const struct ktap_test tests[] = {
	{ "leaks", test_leaks, 120 },
	{ "nothing", test_nothing, 120 },
};

KTAP_MAIN(tests)
