// SPDX-License-Identifier: GPL-2.0
/*
 * Asking our module what it holds, and the libraries to be quiet: see vmtest.h.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>
#include "vmtest.h"

/* libbpf says nothing unless something fails, and then all of it. */
static int drop_messages(enum libbpf_print_level level, const char *fmt, va_list ap)
{
	if (getenv("VMTEST_LIBBPF") || level == LIBBPF_WARN)
		vfprintf(stderr, fmt, ap);
	return 0;
}

__attribute__((constructor)) static void quiet_libraries(void)
{
	libbpf_set_print(drop_messages);
	tramp_set_print(NULL);
}

bool vmtest_oracle(void)
{
	const char *env = getenv("VMTEST_ORACLE");

	return env && !strcmp(env, "kernel");
}

static int device = -1;

int tramp_device(void)
{
	if (device < 0)
		device = open(TRAMP_DEVICE, O_RDWR | O_CLOEXEC);
	REQUIRE(device >= 0, "%s: %s", TRAMP_DEVICE, strerror(errno));
	return device;
}

void tramp_device_close(void)
{
	if (device >= 0)
		close(device);
	device = -1;
}

struct tramp_info tramp_module(void)
{
	struct tramp_info info = { .size = sizeof(info) };

	if (vmtest_oracle())
		return info;
	REQUIRE(!ioctl(tramp_device(), TRAMP_IOC_INFO, &info), "INFO: %s", strerror(errno));
	return info;
}

bool tramp_settle(void)
{
	int i;

	for (i = 0; i < 3000; i++) {
		struct tramp_info info = tramp_module();

		if (!info.retiring && info.images == info.targets)
			return true;
		usleep(10000);
	}
	return false;
}

void check_nothing_left(void)
{
	struct tramp_info info;

	if (vmtest_oracle())
		return;
	CHECK(tramp_settle(), "images wait to be freed for 30 s");
	info = tramp_module();
	CHECK_EQ(info.links, 0, "links left");
	CHECK_EQ(info.targets, 0, "targets left");
	CHECK_EQ(info.images, 0, "images left");
	CHECK_EQ(info.image_bytes, 0, "executable memory left");
	CHECK_EQ(kernel_images(), 0, "images left in kallsyms");
}

struct tramp_query tramp_query_link(uint32_t id)
{
	struct tramp_query q = { .size = sizeof(q), .link_id = id };

	REQUIRE(!ioctl(tramp_device(), TRAMP_IOC_QUERY, &q), "QUERY of link %u: %s", id,
		strerror(errno));
	return q;
}
