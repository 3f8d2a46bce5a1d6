// SPDX-License-Identifier: GPL-2.0
/* A module that answers as a test has it, see answers.h. */
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>

#include "answers.h"
#include "kernel.h"

#define MAX_FDS		256

struct answers answers;
/* Which descriptors are the device. */
static bool is_device[MAX_FDS];

int __real_open(const char *path, int flags, ...);
int __wrap_open(const char *path, int flags, ...);
int __real_close(int fd);
int __wrap_close(int fd);
FILE *__real_fopen(const char *path, const char *mode);
FILE *__wrap_fopen(const char *path, const char *mode);
int __real_access(const char *path, int mode);
int __wrap_access(const char *path, int mode);
uid_t __wrap_geteuid(void);
int __wrap_ioctl(int fd, unsigned long cmd, ...);

int __wrap_open(const char *path, int flags, ...)
{
	int fd;

	if (strcmp(path, TRAMP_DEVICE)) {
		path = kernel_path(path);
		return path ? __real_open(path, flags, 0600) : -1;
	}
	if (answers.open_fails) {
		errno = answers.open_fails;
		return -1;
	}
	fd = __real_open("/dev/null", O_RDWR | O_CLOEXEC);
	REQUIRE(fd >= 0 && fd < MAX_FDS, "descriptor %d", fd);
	is_device[fd] = true;
	answers.nr_open++;
	return fd;
}

int __wrap_close(int fd)
{
	if (fd >= 0 && fd < MAX_FDS && is_device[fd]) {
		is_device[fd] = false;
		answers.nr_open--;
	}
	kernel_closed(fd);
	return __real_close(fd);
}

FILE *__wrap_fopen(const char *path, const char *mode)
{
	if (strcmp(path, "/sys/kernel/security/lockdown"))
		return __real_fopen(path, mode);
	if (answers.lockdown)
		return fmemopen((void *)answers.lockdown, strlen(answers.lockdown), "r");
	errno = ENOENT;
	return NULL;
}

int __wrap_access(const char *path, int mode)
{
	if (strcmp(path, "/sys/module/trampoline"))
		return __real_access(path, mode);
	errno = ENOENT;
	return answers.loaded ? 0 : -1;
}

uid_t __wrap_geteuid(void)
{
	return answers.no_root;
}

static int answer_info(struct tramp_info *out)
{
	size_t len = out->missing_len;
	char *names = (char *)(uintptr_t)out->missing;

	if (answers.nr_infos++ && answers.again_fails)
		return -answers.again_fails;
	*out = answers.info;
	if (!names)
		return answers.info.symbols_missing ? -EMSGSIZE : 0;
	snprintf(names, len, "%s", answers.missing);
	return answers.missing_fails;
}

int __wrap_ioctl(int fd, unsigned long cmd, ...)
{
	va_list ap;
	void *arg;
	int err;

	va_start(ap, cmd);
	arg = va_arg(ap, void *);
	va_end(ap);
	CHECK(fd >= 0 && fd < MAX_FDS && is_device[fd], "a command to something else");
	answers.nr_commands++;
	err = cmd == TRAMP_IOC_INFO ? answer_info(arg) : answers.other(cmd, arg);
	errno = -err;
	return err ? -1 : 0;
}

void answers_begin(int (*other)(unsigned long cmd, void *arg))
{
	tramp_set_print(NULL);
	kernel_begin(NULL);
	answers = (struct answers){
		.info = { .size = sizeof(answers.info), .abi_version = TRAMP_ABI_VERSION },
		.other = other,
	};
}
