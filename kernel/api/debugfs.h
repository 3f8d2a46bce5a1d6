/* SPDX-License-Identifier: GPL-2.0 */
/* /sys/kernel/debug/trampoline */
#ifndef TRAMP_DEBUGFS_H
#define TRAMP_DEBUGFS_H

int tramp_debugfs_init(void);
void tramp_debugfs_exit(void);

#endif
