/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The frame around a test program: tests by name, KTAP output, exit status.
 *
 *	PROG --list		one name per line
 *	PROG [NAME...]		run all, or those
 *
 * Exit status: 0 all passed or skipped, 1 a failure, 2 usage, 4 all skipped.
 *
 * Each test runs in a child process: one that crashes, hangs or leaves its
 * memory in a mess fails alone. A test passes if it returns and no check of it
 * failed.
 */
#ifndef SELFTESTS_KTAP_H
#define SELFTESTS_KTAP_H

#include <stdbool.h>
#include <stddef.h>

/**
 * struct ktap_test - one test
 * @name: as shown, listed and selected; no blanks
 * @run: the test, in a process of its own
 * @seconds: after that long, times TIME_SCALE of the environment if that is set, it is
 *	killed and has failed; 0: 60
 */
struct ktap_test {
	const char *name;
	void (*run)(void);
	unsigned int seconds;
};

/**
 * ktap_main() - main() of a test program
 * @argc: as main() got it
 * @argv: as main() got it
 * @tests: the tests, in the order in which they are run
 * @nr: how many
 *
 * Return: the exit status.
 */
int ktap_main(int argc, char **argv, const struct ktap_test *tests, size_t nr);

/* An entry of the table: a function named as the test. */
#define KTAP_TEST(fn)			{ .name = #fn, .run = fn, .seconds = 0 }
#define KTAP_TEST_SECONDS(fn, s)	{ .name = #fn, .run = fn, .seconds = (s) }

#define KTAP_MAIN(tests)							\
	int main(int argc, char **argv)						\
	{									\
		return ktap_main(argc, argv, tests, sizeof(tests) / sizeof((tests)[0])); \
	}

/* A diagnostic line: "# text". Line breaks in it are taken care of. */
void ktap_note(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* The test has failed and goes on. Only the first few reasons are printed. */
void ktap_fail(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* The test ends: as failed if something failed before, otherwise as skipped. */
void ktap_skip(const char *fmt, ...) __attribute__((format(printf, 1, 2), noreturn));

/* The test ends as failed. */
void ktap_die(const char *fmt, ...) __attribute__((format(printf, 1, 2), noreturn));

/*
 * @fn is called with the name of each test that has returned, in its process; checks that
 * fail there are the test's. A test that ends early (skipped, or by REQUIRE) ends without it.
 */
void ktap_at_end(void (*fn)(const char *test));

/* How often the running test has failed so far. */
unsigned int ktap_failures(void);

/*
 * Checks. CHECK and CHECK_EQ go on and give back whether it held; REQUIRE ends
 * the test. The message is for what the expression does not say.
 */
#define CHECK(cond, fmt, ...)							\
	({									\
		bool ok_ = !!(cond);						\
		if (!ok_)							\
			ktap_fail("%s:%d: %s: " fmt, __FILE_NAME__, __LINE__,	\
				  #cond, ##__VA_ARGS__);			\
		ok_;								\
	})

#define REQUIRE(cond, fmt, ...)							\
	do {									\
		if (!(cond))							\
			ktap_die("%s:%d: %s: " fmt, __FILE_NAME__, __LINE__,	\
				 #cond, ##__VA_ARGS__);				\
	} while (0)

#define CHECK_EQ(a, b, fmt, ...)						\
	({									\
		unsigned long long a_ = (unsigned long long)(a);		\
		unsigned long long b_ = (unsigned long long)(b);		\
		if (a_ != b_)							\
			ktap_fail("%s:%d: %s is %#llx, %s is %#llx: " fmt,	\
				  __FILE_NAME__, __LINE__, #a, a_, #b, b_,	\
				  ##__VA_ARGS__);				\
		a_ == b_;							\
	})

#endif /* SELFTESTS_KTAP_H */
