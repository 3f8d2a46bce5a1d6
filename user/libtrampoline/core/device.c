// SPDX-License-Identifier: LGPL-2.1 OR BSD-2-Clause
/*
 * /dev/trampoline: opening it, finding out why it cannot be opened, and making
 * sure that the module behind it speaks our version of the interface.
 *
 * The device is opened for each call and closed after it. That costs a few
 * microseconds, but an open device holds the module: a process that once asked
 * something would keep it from being unloaded for the rest of its life. It also
 * keeps the library free of state that fork() and threads would share.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "device.h"
#include "error.h"

static int open_failed(int err, const char *subject)
{
	switch (err) {
	/* From the module, which asks for capabilities here; lockdown is up to each command. */
	case -EPERM:
	case -EACCES:
		return LIBTRAMP_FAIL(-EPERM, TRAMP_REASON_PERMISSION, subject,
				     "cannot open " TRAMP_DEVICE);
	case -ENOENT:
		if (access("/sys/module/trampoline", F_OK) == 0)
			return LIBTRAMP_FAIL(-ENODEV, TRAMP_LIB_NO_NODE, subject, NO_DETAIL);
		return LIBTRAMP_FAIL(-ENODEV, TRAMP_LIB_NO_DEVICE, subject, NO_DETAIL);
	case -ENXIO:
	case -ENODEV:
		/* A node left over, or a module on its way in or out. */
		return LIBTRAMP_FAIL(-ENODEV, TRAMP_LIB_NO_DEVICE, subject, NO_DETAIL);
	default:
		return LIBTRAMP_FAIL(err, TRAMP_LIB_SYSTEM, subject,
				     "open " TRAMP_DEVICE ": %s", strerror(-err));
	}
}

int libtramp_dev_try(void)
{
	int fd = open(TRAMP_DEVICE, O_RDWR | O_CLOEXEC);

	return fd >= 0 ? fd : -errno;
}

int libtramp_dev_open_any(const char *subject)
{
	int fd = libtramp_dev_try();

	return fd >= 0 ? fd : open_failed(fd, subject);
}

/* Those with a handler wait. Others end or stop the process as ever. */
static void block_handled(sigset_t *before)
{
	struct sigaction sa;
	sigset_t handled;
	int sig;

	sigemptyset(&handled);
	for (sig = 1; sig < NSIG; sig++) {
		if (sigaction(sig, NULL, &sa))
			continue;
		if ((sa.sa_flags & SA_SIGINFO) ||
		    (sa.sa_handler != SIG_DFL && sa.sa_handler != SIG_IGN))
			sigaddset(&handled, sig);
	}
	pthread_sigmask(SIG_BLOCK, &handled, before);
}

int libtramp_dev_cmd(int dev, unsigned long cmd, void *arg)
{
	int err = ioctl(dev, cmd, arg) ? -errno : 0;
	sigset_t before;

	if (err != -EINTR)
		return err;
	/*
	 * A signal has ended a wait in the kernel, and nothing was done. If another one came in
	 * each try, as of a profiler's timer, it would never be.
	 */
	block_handled(&before);
	do {
		err = ioctl(dev, cmd, arg) ? -errno : 0;
	} while (err == -EINTR);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return err;
}

/*
 * INFO is the one command whose meaning does not change between versions. A
 * module that does not know it, or that finds our struct too short, is of
 * another version whatever it says.
 */
int libtramp_abi_check(int err, const struct tramp_info *info, const char *subject)
{
	if (err == -ENOTTY || err == -EINVAL || err == -E2BIG)
		return LIBTRAMP_FAIL(-EPROTO, TRAMP_LIB_ABI_MISMATCH, subject,
				     "the module does not answer to version %u",
				     TRAMP_ABI_VERSION);
	/* EMSGSIZE: there are more names than we made room for; the rest is filled. */
	if (err && err != -EMSGSIZE)
		return LIBTRAMP_FAIL(err, TRAMP_LIB_SYSTEM, subject,
				     "TRAMP_IOC_INFO: %s", strerror(-err));
	if (info->abi_version != TRAMP_ABI_VERSION)
		return LIBTRAMP_FAIL(-EPROTO, TRAMP_LIB_ABI_MISMATCH, subject,
				     "the module speaks version %u, the library version %u",
				     info->abi_version, TRAMP_ABI_VERSION);
	return 0;
}

int libtramp_dev_open(const char *subject)
{
	struct tramp_info info = { .size = sizeof(info) };
	int dev, err;

	dev = libtramp_dev_open_any(subject);
	if (dev < 0)
		return dev;
	err = libtramp_dev_cmd(dev, TRAMP_IOC_INFO, &info);
	err = libtramp_abi_check(err, &info, subject);
	if (err) {
		close(dev);
		errno = -err;
		return err;
	}
	return dev;
}
