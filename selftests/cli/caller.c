// SPDX-License-Identifier: GPL-2.0
/*
 * A program with known callers, for test_cli_stack.
 *
 *	caller FOLDER [DEPTH [bare]]
 *
 * For each line of standard input it makes FOLDER/f and removes it, below so many more calls of
 * outer_call(). It says "ready" first, "removed" each time, and ends with an empty line. A line
 * "name NAME" gives the task that name instead.
 *
 * The system call is its own: the C library need not have frame pointers. Each caller does
 * something behind its call, so that this is no jump. With "bare" the register has no frame
 * pointer in the call, as in code that was compiled without.
 */
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

/* No clones and no inlining: stacks have these names. */
#define CALLED __attribute__((noipa)) static

static volatile int calls;
static bool bare;

CALLED long inner_call(const char *path)
{
	long ret;

	/* A function that calls no other has a frame only if somebody asks for it. */
	__asm__ volatile("" : : "r"(__builtin_frame_address(0)));
	/* No red zone: this file is compiled so. */
	if (bare)
		__asm__ volatile("push %%rbp; xor %%ebp, %%ebp; syscall; pop %%rbp"
				 : "=a"(ret)
				 : "a"(SYS_unlink), "D"(path)
				 : "rcx", "r11", "memory");
	else
		__asm__ volatile("syscall"
				 : "=a"(ret)
				 : "a"(SYS_unlink), "D"(path)
				 : "rcx", "r11", "memory");
	calls++;
	return ret;
}

CALLED long middle_call(const char *path)
{
	const long ret = inner_call(path);

	calls++;
	return ret;
}

CALLED long outer_call(const char *path, int depth)
{
	const long ret = depth ? outer_call(path, depth - 1) : middle_call(path);

	calls++;
	return ret;
}

int main(int argc, char **argv)
{
	char path[4096], line[32];

	if (argc < 2)
		return 2;
	bare = argc > 3 && !strcmp(argv[3], "bare");
	snprintf(path, sizeof(path), "%s/f", argv[1]);
	puts("ready");
	fflush(stdout);
	while (fgets(line, sizeof(line), stdin) && line[0] != '\n') {
		int fd;

		if (!strncmp(line, "name ", 5)) {
			line[strcspn(line, "\n")] = 0;
			prctl(PR_SET_NAME, line + 5);
			continue;
		}
		fd = open(path, O_CREAT | O_WRONLY, 0600);
		if (fd < 0 || close(fd) || outer_call(path, argc > 2 ? atoi(argv[2]) : 0))
			return 1;
		puts("removed");
		fflush(stdout);
	}
	return !calls;
}
