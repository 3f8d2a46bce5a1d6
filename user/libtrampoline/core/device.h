/* SPDX-License-Identifier: LGPL-2.1 OR BSD-2-Clause */
/*
 * The device /dev/trampoline.
 */
#ifndef LIBTRAMPOLINE_CORE_DEVICE_H
#define LIBTRAMPOLINE_CORE_DEVICE_H

#include <trampoline/trampoline.h>

/**
 * libtramp_dev_open() - open the module's device and check that we understand it
 * @subject: for the error
 *
 * Opened for each call and not kept: an open device holds the module.
 *
 * Return: a descriptor to close(), or negative errno with the last error filled.
 */
int libtramp_dev_open(const char *subject);

/**
 * libtramp_dev_cmd() - one ioctl
 *
 * Return: 0 or negative errno; does not touch the last error.
 */
int libtramp_dev_cmd(int dev, unsigned long cmd, void *arg);

/* Open it, and leave the last error alone. Return: a descriptor or negative errno. */
int libtramp_dev_try(void);

/* Like libtramp_dev_open() without the check of the ABI, and the check itself. */
int libtramp_dev_open_any(const char *subject);
int libtramp_abi_check(int err, const struct tramp_info *info, const char *subject);

#endif /* LIBTRAMPOLINE_CORE_DEVICE_H */
