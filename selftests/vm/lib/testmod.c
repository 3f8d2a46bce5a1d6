// SPDX-License-Identifier: GPL-2.0
/*
 * Talking to trampoline_test.ko (selftests/kmod/trampoline_test.h has the
 * protocol), and loading and unloading modules.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "../../kmod/trampoline_test.h"
#include "vmtest.h"

int module_load(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	int err = 0;

	if (fd < 0)
		return -errno;
	if (syscall(SYS_finit_module, fd, "", 0) < 0)
		err = -errno;
	close(fd);
	return err;
}

int module_unload(const char *name)
{
	return syscall(SYS_delete_module, name, O_NONBLOCK) < 0 ? -errno : 0;
}

bool module_loaded(const char *name)
{
	char path[128];

	snprintf(path, sizeof(path), "/sys/module/%s/initstate", name);
	return !access(path, F_OK);
}

int module_references(const char *name)
{
	char path[128], *text;
	int nr;

	snprintf(path, sizeof(path), "/sys/module/%s/refcnt", name);
	text = read_file(path);
	nr = atoi(text);
	free(text);
	return nr;
}

int tt_open(void)
{
	int err = 0, fd;

	if (!module_loaded("trampoline_test"))
		err = module_load(TT_KO);
	REQUIRE(!err || err == -EEXIST, "cannot load %s: %s", TT_KO, strerror(-err));
	fd = open(TT_DEVICE, O_RDWR | O_CLOEXEC);
	REQUIRE(fd >= 0, "cannot open %s: %s", TT_DEVICE, strerror(errno));
	return fd;
}

static int command_v(int fd, char *reply, size_t len, const char *fmt, va_list ap)
{
	char line[1024];
	ssize_t n;
	int used;

	used = vsnprintf(line, sizeof(line), fmt, ap);
	if (used < 0 || (size_t)used >= sizeof(line))
		return -E2BIG;
	if (write(fd, line, used) < 0)
		return -errno;
	if (!reply)
		return 0;
	n = pread(fd, reply, len - 1, 0);
	if (n < 0)
		return -errno;
	reply[n] = '\0';
	return 0;
}

int tt_command(int fd, char *reply, size_t len, const char *fmt, ...)
{
	va_list ap;
	int err;

	va_start(ap, fmt);
	err = command_v(fd, reply, len, fmt, ap);
	va_end(ap);
	return err;
}

struct tt_reply tt_call(int fd, const char *fmt, ...)
{
	struct tt_reply r;
	char line[1000], reply[256];
	va_list ap;
	int err;

	va_start(ap, fmt);
	vsnprintf(line, sizeof(line), fmt, ap);
	va_end(ap);
	err = tt_command(fd, reply, sizeof(reply), "call %s", line);
	REQUIRE(!err, "call %s: %s", line, strerror(-err));
	REQUIRE(sscanf(reply, "result=0x%lx calls=%lu different=%lu ran=%lu", &r.result, &r.calls,
		       &r.different, &r.ran) == 4, "call %s: reply '%s'", line, reply);
	return r;
}

uint64_t tt_calls(int fd, const char *name)
{
	char reply[64];
	int err = tt_command(fd, reply, sizeof(reply), "calls %s", name);

	REQUIRE(!err, "calls %s: %s", name, strerror(-err));
	return number_after(reply, "calls=", 0);
}

int kernel_images(void)
{
	char reply[64];
	int fd, err;

	if (!module_loaded("trampoline_test"))
		return ksym_images();
	fd = tt_open();
	err = tt_command(fd, reply, sizeof(reply), "images");
	close(fd);
	REQUIRE(!err, "images: %s", strerror(-err));
	return number_after(reply, "images=", -1);
}

int run_fentry_tests(int prog_fd)
{
	LIBBPF_OPTS(bpf_test_run_opts, opts);

	return bpf_prog_test_run_opts(prog_fd, &opts);
}
