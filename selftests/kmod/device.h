/* SPDX-License-Identifier: GPL-2.0 */
/* An open file of /dev/trampoline_test: device.c has the file, commands.c what is written to it. */
#ifndef TT_DEVICE_H
#define TT_DEVICE_H

#include <linux/mutex.h>
#include "probe_abi.h"
#include "trampoline_test.h"

/**
 * struct tt_file - what belongs to the file, and goes with it
 * @lock: one command at a time; has the rest
 */
struct tt_file {
	struct mutex lock;
	size_t len;
	char reply[TT_REPLY_MAX];
	struct tt_kprobes *kprobes;
	u32 *gate;	/* a page, see probe_abi.h */
	bool holds;	/* a module's load */
	bool hides;	/* symbols */
	bool faults;
	bool pauses;
	bool watches;	/* pages */
	struct tt_leak *leaks;
};

/*
 * Run the command @line, which is changed. Its reply is f->reply; f->lock is held. May sleep.
 * Return: 0 or a negative errno; EINVAL: no such command.
 */
int tt_command(struct tt_file *f, char *line);
/* Let a module go that the file holds. */
void tt_end_hold(struct tt_file *f);

#endif /* TT_DEVICE_H */
