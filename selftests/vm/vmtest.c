// SPDX-License-Identifier: GPL-2.0
/*
 * Running tests by name, each in a child process, with KTAP output.
 *
 * The child writes its diagnostics as it goes and tells how it ended through
 * its exit status: silence (a crash, a kill) is failure.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#include "vmtest.h"

/* Exit statuses of a child. */
enum { PASSED = 40, FAILED, SKIPPED };

static bool failed;
/* The child writes why it was skipped or first failed here. */
static int why_fd = -1;

static void say(const char *fmt, va_list ap)
{
	char text[2048];
	char *line, *rest = text;

	vsnprintf(text, sizeof(text), fmt, ap);
	while ((line = strsep(&rest, "\n")))
		printf("# %s\n", line);
	fflush(stdout);
}

static void tell_why(const char *fmt, va_list ap)
{
	char text[256];

	vsnprintf(text, sizeof(text), fmt, ap);
	text[strcspn(text, "\n")] = '\0';
	if (why_fd >= 0 && write(why_fd, text, strlen(text)) < 0)
		perror("# pipe");
}

void vmtest_note(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	say(fmt, ap);
	va_end(ap);
}

void vmtest_fail(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	say(fmt, ap);
	va_end(ap);
	va_start(ap, fmt);
	if (!failed)
		tell_why(fmt, ap);
	va_end(ap);
	failed = true;
}

void vmtest_die(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	say(fmt, ap);
	va_end(ap);
	va_start(ap, fmt);
	if (!failed)
		tell_why(fmt, ap);
	va_end(ap);
	exit(FAILED);
}

void vmtest_skip(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	if (!failed)
		tell_why(fmt, ap);
	va_end(ap);
	exit(failed ? FAILED : SKIPPED);
}

bool vmtest_oracle(void)
{
	const char *env = getenv("VMTEST_ORACLE");

	return env && !strcmp(env, "kernel");
}

static void run_child(const struct vmtest *test)
{
	struct rlimit no_core = {};

	/* A test's own children and threads must not outlive a killed runner. */
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	setrlimit(RLIMIT_CORE, &no_core);
	quiet_libbpf();
	tramp_set_print(NULL);
	test->run();
	fflush(stdout);
	exit(failed ? FAILED : PASSED);
}

/* 0 passed, 1 failed, 4 skipped; @why gets the reason */
static int run_one(const struct vmtest *test, char *why, size_t len)
{
	int status, pipe_fd[2];
	ssize_t n, got = 0;
	pid_t pid;

	why[0] = '\0';
	/* Non-blocking: a child of the child may still hold the writing end. */
	if (pipe2(pipe_fd, O_CLOEXEC | O_NONBLOCK) < 0)
		return 1;
	fflush(stdout);
	pid = fork();
	if (pid < 0)
		return 1;
	if (!pid) {
		close(pipe_fd[0]);
		why_fd = pipe_fd[1];
		run_child(test);
	}
	close(pipe_fd[1]);
	if (waitpid(pid, &status, 0) != pid)
		status = -1;

	n = read(pipe_fd[0], why, len - 1);
	if (n > 0 && WIFEXITED(status) && WEXITSTATUS(status) != PASSED)
		got = n;
	why[got] = '\0';
	close(pipe_fd[0]);
	if (WIFSIGNALED(status)) {
		snprintf(why, len, "ended by signal %d", WTERMSIG(status));
		return 1;
	}
	if (!WIFEXITED(status))
		return 1;
	switch (WEXITSTATUS(status)) {
	case PASSED:
		return 0;
	case SKIPPED:
		return 4;
	case FAILED:
		return 1;
	default:
		snprintf(why, len, "ended with status %d", WEXITSTATUS(status));
		return 1;
	}
}

int vmtest_main(int argc, char **argv, const struct vmtest *tests, size_t nr)
{
	size_t passed = 0, bad = 0, skipped = 0, number = 0, wanted = 0, i;
	char why[300];
	int a;

	if (argc == 2 && !strcmp(argv[1], "--list")) {
		for (i = 0; i < nr; i++)
			puts(tests[i].name);
		return 0;
	}
	for (a = 1; a < argc; a++) {
		for (i = 0; i < nr && strcmp(argv[a], tests[i].name); i++)
			;
		if (i == nr) {
			fprintf(stderr, "%s: no test is called '%s'; --list lists them\n",
				argv[0], argv[a]);
			return 2;
		}
	}
	wanted = argc > 1 ? (size_t)argc - 1 : nr;
	printf("KTAP version 1\n1..%zu\n", wanted);
	for (i = 0; i < nr; i++) {
		bool want = argc == 1;
		int ret;

		for (a = 1; a < argc; a++)
			want |= !strcmp(argv[a], tests[i].name);
		if (!want)
			continue;
		ret = run_one(&tests[i], why, sizeof(why));
		number++;
		if (!ret) {
			printf("ok %zu %s\n", number, tests[i].name);
			passed++;
		} else if (ret == 4) {
			printf("ok %zu %s # SKIP %s\n", number, tests[i].name, why);
			skipped++;
		} else {
			printf("not ok %zu %s # %s\n", number, tests[i].name, why);
			bad++;
		}
		fflush(stdout);
	}
	return bad ? 1 : passed || !skipped ? 0 : 4;
}
