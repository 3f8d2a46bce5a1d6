/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A module that answers as a test has it: /dev/trampoline is opened, and its commands end, in
 * functions here (build.mk). So answers come that no machine gives on demand: of another
 * version, too long, in the middle of a batch. test_lib_* have commands done by a kernel, in the
 * machine.
 */
#ifndef SELFTESTS_LIBTRAMPOLINE_ANSWERS_H
#define SELFTESTS_LIBTRAMPOLINE_ANSWERS_H

#include <trampoline/trampoline.h>

#include "../lib/ktap.h"
#include "fixture.h"

/**
 * struct answers - the module
 * @open_fails: the errno with which opening fails; 0: it does not
 * @no_root: the caller is not root
 * @lockdown: the kernel's file about it; NULL: there is none
 * @loaded: there is a folder of a loaded module
 * @info: the answer to INFO
 * @missing: names of missing symbols, if there are any in @info
 * @missing_fails: the answer to INFO with room for them: 0 or a negative errno
 * @again_fails: the errno with which INFO fails from the second time on; 0: it does not
 * @other: the answer to any other command, likewise
 * @nr_open: descriptors of the device that are open now
 * @nr_commands: commands that it got, INFO included
 * @nr_infos: of these INFO
 */
struct answers {
	int open_fails;
	bool no_root;
	const char *lockdown;
	bool loaded;
	struct tramp_info info;
	const char *missing;
	int missing_fails, again_fails;
	int (*other)(unsigned long cmd, void *arg);
	int nr_open, nr_commands, nr_infos;
};

extern struct answers answers;

/* A module of our version with nothing in it, which answers by @other. The kernel is empty too. */
void answers_begin(int (*other)(unsigned long cmd, void *arg));

/* Nobody may hold the module after a call. */
#define CHECK_CLOSED()	CHECK_EQ(answers.nr_open, 0, "the device is open")

#endif /* SELFTESTS_LIBTRAMPOLINE_ANSWERS_H */
