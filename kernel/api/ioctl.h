/* SPDX-License-Identifier: GPL-2.0 */
/* /dev/trampoline: open and the ioctl dispatch. */
#ifndef TRAMP_IOCTL_H
#define TRAMP_IOCTL_H

#include <linux/fs.h>

extern const struct file_operations tramp_fops;

#endif
