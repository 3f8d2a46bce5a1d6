/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The functions that the gate (test_probe_gate.c) starts from, and where it stops.
 */
#ifndef GATE_TABLES_H
#define GATE_TABLES_H

#include <stdbool.h>

/* An edge that is not followed. */
struct gate_cut {
	const char *caller;	/* NULL: whoever */
	const char *callee;	/* "*": all of them; NULL: the end */
	const char *reason;
};

/* In function @in nothing is followed that lies behind the call of @call. */
struct gate_until {
	const char *in, *call;
	const char *reason;
};

/* Where a function's indirect branches go. */
struct gate_indirect {
	const char *in;		/* NULL: the end */
	const char *to;
};

struct gate {
	const char *name;
	const char *const *roots;		/* those that exist; NULL is the end */
	const struct gate_cut *cuts;
	const struct gate_until *until;
	const struct gate_indirect *indirect;
	bool kprobe_will_do;	/* a kernel kprobe is no harm there, an int3 of ours is */
	bool no_image;		/* nor may there be an image, but at the roots' entries */
};

extern const struct gate gate_trap, gate_idle, gate_idt, gate_copying;

/*
 * The symbols that run on kexec's control page, the entry first. They lie together, in any
 * order. The text behind them is copied with them, up to a page, and never runs there.
 */
extern const char *const gate_copied[];

#endif /* GATE_TABLES_H */
