// SPDX-License-Identifier: GPL-2.0
/*
 * Our own module comes and goes: see ownmod.h.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>
#include <linux/types.h>
#include "../../kmod/trampoline_test.h"
#include "ownmod.h"

/* The promise of fixture.h, as far as our module is there at the end. */
static void check_end(const char *test)
{
	(void)test;
	if (module_loaded("trampoline")) {
		CHECK(ownmod_settle(), "images wait to be freed for 30 s");
		CHECK_EQ(ownmod_info().links, 0, "links left");
		CHECK_EQ(ownmod_info().targets, 0, "targets left");
		CHECK_EQ(ownmod_info().image_bytes, 0, "executable memory left");
	}
	CHECK_EQ(kernel_images(), 0, "images left in kallsyms");
}

void ownmod_setup(void)
{
	if (vmtest_oracle())
		ktap_skip("about our module");
	close(tt_open());
	ktap_at_end(check_end);
}

int ownmod_ioctl(unsigned int cmd, void *arg)
{
	int fd = open(TRAMP_DEVICE, O_RDWR | O_CLOEXEC), err;

	if (fd < 0)
		return -errno;
	err = ioctl(fd, cmd, arg) < 0 ? -errno : 0;
	close(fd);
	return err;
}

int ownmod_attach(int prog_fd, uint64_t cookie, unsigned int *reason)
{
	struct tramp_attach a = { .size = sizeof(a), .prog_fd = prog_fd, .cookie = cookie,
				  .flags = TRAMP_ATTACH_F_COOKIE };
	int err = ownmod_ioctl(TRAMP_IOC_ATTACH, &a);

	if (reason)
		*reason = a.refusal.reason;
	return err ?: a.link_fd;
}

int ownmod_must_attach(int prog_fd, uint64_t cookie)
{
	unsigned int reason;
	int fd = ownmod_attach(prog_fd, cookie, &reason);

	REQUIRE(fd >= 0, "attach: %s (%s)", strerror(-fd), tramp_reason_name(reason));
	return fd;
}

struct tramp_info ownmod_info(void)
{
	struct tramp_info info = { .size = sizeof(info) };

	REQUIRE(!ownmod_ioctl(TRAMP_IOC_INFO, &info), "INFO");
	return info;
}

bool ownmod_settle(void)
{
	int i;

	for (i = 0; i < 3000; i++) {
		struct tramp_info info = ownmod_info();

		if (!info.images && !info.retiring)
			return true;
		usleep(10000);
	}
	return false;
}

int ownmod_unload_timed(const char *name, int tries, uint64_t *ms)
{
	uint64_t began;
	int err;

	do {
		began = now_ns();
		err = module_unload(name);
		*ms = (now_ns() - began) / 1000000;
		if (!ownmod_busy(err))
			break;
		usleep(100000);
	} while (--tries > 0);
	return err;
}

int ownmod_unload(const char *name, int tries)
{
	uint64_t ms;

	return ownmod_unload_timed(name, tries, &ms);
}

void ownmod_expect_pinned(const char *why)
{
	tramp_device_close();
	CHECK_EQ(ownmod_unload("trampoline", 50), -EAGAIN, "unloading, when %s", why);
}

void ownmod_reload(void)
{
	int err = module_load(TRAMPOLINE_KO);

	REQUIRE(!err || err == -EEXIST, "loading %s: %s", TRAMPOLINE_KO, strerror(-err));
}

bool ownmod_busy(int err)
{
	return err == -EAGAIN || err == -EBUSY;
}

static void *sleep_inside(void *arg)
{
	struct ownmod_sleeper *s = arg;
	int fd = tt_open();

	s->reply = tt_call(fd, "%s %lu%s", s->func, s->token, s->more);
	close(fd);
	return NULL;
}

static void sleep_in(struct ownmod_sleeper *s, const char *func, uint64_t token, const char *more)
{
	s->func = func;
	s->more = more;
	s->token = token;
	REQUIRE(!pthread_create(&s->thread, NULL, sleep_inside, s), "thread");
}

void ownmod_sleep(struct ownmod_sleeper *s, uint64_t token)
{
	sleep_in(s, "tt_sleep", token, "");
}

void ownmod_sleep8(struct ownmod_sleeper *s, uint64_t token)
{
	sleep_in(s, "tt_sleep8", token, " 2 3 4 5 6 7 7");
}

void ownmod_wait_for_sleepers(int fd, int n)
{
	char reply[64];
	int i;

	for (i = 0; i < 2000; i++) {
		REQUIRE(!tt_command(fd, reply, sizeof(reply), "sleepers"), "sleepers");
		if ((int)number_after(reply, "sleepers=", 0) == n)
			return;
		usleep(10000);
	}
	ktap_die("%d tasks asleep expected: %s", n, reply);
}

void ownmod_join(struct ownmod_sleeper *s)
{
	pthread_join(s->thread, NULL);
	CHECK_EQ(s->reply.result, TT_SLEEP_RESULT(s->token), "what the sleeper got");
}
