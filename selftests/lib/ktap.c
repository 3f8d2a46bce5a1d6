// SPDX-License-Identifier: GPL-2.0
/*
 * The frame around a test program, see ktap.h.
 *
 * The child that runs a test reports through its exit status and, for the
 * reason of a failure or a skip, through a page it shares with its parent.
 */
#include "ktap.h"

#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define EXIT_PASSED	0
#define EXIT_FAILED	1
#define EXIT_USAGE	2
#define EXIT_SKIPPED	4

#define MAX_REASONS	10
#define DEFAULT_SECONDS	60

/* @seconds of a test, longer where the environment says that all is slow. */
static unsigned int time_limit(const struct ktap_test *t)
{
	const char *scale = getenv("TIME_SCALE");
	unsigned int seconds = t->seconds ? t->seconds : DEFAULT_SECONDS;

	return scale && atoi(scale) > 0 ? seconds * atoi(scale) : seconds;
}

/* The child's message to its parent. */
static char *reason;
#define REASON_SIZE	4096

static unsigned int failures;
static void (*at_end)(const char *test);

/* One line of output cannot be taken for another. */
static void vprint_note(const char *fmt, va_list ap)
{
	char text[REASON_SIZE];
	char *line = text, *next;

	vsnprintf(text, sizeof(text), fmt, ap);
	do {
		next = strchr(line, '\n');
		if (next)
			*next++ = 0;
		printf("# %s\n", line);
		line = next;
	} while (line && *line);
	fflush(stdout);
}

void ktap_note(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vprint_note(fmt, ap);
	va_end(ap);
}

static void set_reason(const char *fmt, va_list ap)
{
	vsnprintf(reason, REASON_SIZE, fmt, ap);
	reason[strcspn(reason, "\n")] = 0;
}

static void count_failure(const char *fmt, va_list ap)
{
	va_list copy;

	failures++;
	/* Outside of a test, in a program that only shares the checks, nobody waits for it. */
	if (failures == 1 && reason) {
		va_copy(copy, ap);
		set_reason(fmt, copy);
		va_end(copy);
	}
	if (failures <= MAX_REASONS)
		vprint_note(fmt, ap);
	else if (failures == MAX_REASONS + 1)
		ktap_note("... and more");
}

void ktap_fail(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	count_failure(fmt, ap);
	va_end(ap);
}

void ktap_die(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	count_failure(fmt, ap);
	va_end(ap);
	exit(EXIT_FAILED);
}

void ktap_skip(const char *fmt, ...)
{
	va_list ap;

	if (failures)
		exit(EXIT_FAILED);
	va_start(ap, fmt);
	set_reason(fmt, ap);
	va_end(ap);
	exit(EXIT_SKIPPED);
}

void ktap_at_end(void (*fn)(const char *test))
{
	at_end = fn;
}

unsigned int ktap_failures(void)
{
	return failures;
}

/* Run one test in a child. Return: EXIT_PASSED, EXIT_FAILED or EXIT_SKIPPED. */
static int run_test(const struct ktap_test *t)
{
	int status;
	pid_t pid;

	reason[0] = 0;
	fflush(stdout);
	pid = fork();
	if (pid < 0) {
		snprintf(reason, REASON_SIZE, "fork: %s", strerror(errno));
		return EXIT_FAILED;
	}
	if (pid == 0) {
		alarm(time_limit(t));
		t->run();
		if (at_end)
			at_end(t->name);
		exit(failures ? EXIT_FAILED : EXIT_PASSED);
	}
	while (waitpid(pid, &status, 0) < 0) {
		if (errno != EINTR) {
			snprintf(reason, REASON_SIZE, "waitpid: %s", strerror(errno));
			return EXIT_FAILED;
		}
	}
	if (WIFSIGNALED(status)) {
		if (WTERMSIG(status) == SIGALRM)
			snprintf(reason, REASON_SIZE, "took longer than %u s", time_limit(t));
		else
			snprintf(reason, REASON_SIZE, "killed by signal %d (%s)",
				 WTERMSIG(status), strsignal(WTERMSIG(status)));
		return EXIT_FAILED;
	}
	switch (WEXITSTATUS(status)) {
	case EXIT_PASSED:
		return EXIT_PASSED;
	case EXIT_SKIPPED:
		return EXIT_SKIPPED;
	default:
		if (!reason[0])
			snprintf(reason, REASON_SIZE, "exit status %d", WEXITSTATUS(status));
		return EXIT_FAILED;
	}
}

static const struct ktap_test *find_test(const struct ktap_test *tests, size_t nr,
					 const char *name)
{
	size_t i;

	for (i = 0; i < nr; i++)
		if (!strcmp(tests[i].name, name))
			return &tests[i];
	return NULL;
}

int ktap_main(int argc, char **argv, const struct ktap_test *tests, size_t nr)
{
	size_t i, nr_run = argc > 1 ? (size_t)argc - 1 : nr;
	size_t failed = 0, skipped = 0;

	if (argc == 2 && !strcmp(argv[1], "--list")) {
		for (i = 0; i < nr; i++)
			puts(tests[i].name);
		return 0;
	}
	for (i = 1; i < (size_t)argc; i++) {
		if (!find_test(tests, nr, argv[i])) {
			fprintf(stderr, "%s: no test \"%s\"; usage: %s [--list | NAME...]\n",
				argv[0], argv[i], argv[0]);
			return EXIT_USAGE;
		}
	}

	reason = mmap(NULL, REASON_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (reason == MAP_FAILED) {
		perror("mmap");
		return EXIT_FAILED;
	}

	printf("KTAP version 1\n1..%zu\n", nr_run);
	for (i = 0; i < nr_run; i++) {
		const struct ktap_test *t;

		t = argc > 1 ? find_test(tests, nr, argv[i + 1]) : &tests[i];
		switch (run_test(t)) {
		case EXIT_PASSED:
			printf("ok %zu %s\n", i + 1, t->name);
			break;
		case EXIT_SKIPPED:
			printf("ok %zu %s # SKIP %s\n", i + 1, t->name, reason);
			skipped++;
			break;
		default:
			printf("not ok %zu %s # %s\n", i + 1, t->name, reason);
			failed++;
		}
		fflush(stdout);
	}
	if (failed)
		return EXIT_FAILED;
	return nr_run && skipped == nr_run ? EXIT_SKIPPED : EXIT_PASSED;
}
