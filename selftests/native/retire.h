/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The retire worker of kernel/base/retire.c, for the patcher, who polls it between other things.
 * The grace periods are those of runner.h.
 */
#ifndef SELFTESTS_NATIVE_RETIRE_H
#define SELFTESTS_NATIVE_RETIRE_H

#include "native.h"

struct retire;

/* As struct tramp_retire_ops. */
struct retire_ops {
	void (*before)(struct retire *r);
	void (*after)(struct retire *r);
	bool (*drained)(struct retire *r);
	void (*free)(struct retire *r);
};

/* At the beginning of what is retired. */
struct retire {
	struct retire *next;
	const struct retire_ops *ops;
};

void retire_add(struct retire *r, const struct retire_ops *ops);

/* Go on as far as it goes without waiting. */
void retire_poll(void);

/* The runners have ended: free all. */
void retire_end(void);

extern u64 retire_graces, retire_freed;
extern u32 retire_waiting;

#endif /* SELFTESTS_NATIVE_RETIRE_H */
