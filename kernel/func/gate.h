/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Gates: what the sites of many functions call, and how single ones get images of their own.
 */
#ifndef TRAMP_FUNC_GATE_H
#define TRAMP_FUNC_GATE_H

#include "prog/image.h"
#include "x86/lookup.h"

struct tramp_gate;

/* Functions of a gate that have images of their own: a lookup of 33 KiB, some 2 MiB of images. */
#define TRAMP_GATE_MAX	1024

/**
 * struct tramp_gate_ops - what the owner of a gate does for its functions
 * @join: a member for the owner's program at one of them, NULL without memory. It is the
 *	owner's, and in no list
 * @leave: such a member is at no place any more
 * @cleared: this function of a gate that is not live has no image of its own any more
 *
 * All with tramp_mutex held; may sleep.
 */
struct tramp_gate_ops {
	struct tramp_member *(*join)(struct tramp_gate *gate, unsigned long func);
	void (*leave)(struct tramp_gate *gate, struct tramp_member *member);
	void (*cleared)(struct tramp_gate *gate, unsigned long func);
};

/**
 * struct tramp_gate - what many sites call
 * @node: in the table of gates
 * @ops: its owner's
 * @nr_funcs: entries in @funcs
 * @funcs: the functions, in ascending order
 * @foreign: a bit for each: its site does not call this gate
 * @nr_ready: the sites of the first so many call the gate
 * @live: its owner's program runs at the functions. Otherwise they may have others only
 * @key: in the names of gate and lookups
 * @index: of the newest of these
 * @jump: the gate, a jump
 * @to: where it leads
 * @other: the image of all other functions; 0: it has gone
 * @lookup: the lookup, NULL if no function has an image of its own
 * @search: what it is made of; pairs whose target is its tail are not in use
 * @nr_live: pairs in use
 * @request: who was the last to ask for several pairs
 * @nr_asked: how many of them there is room for
 *
 * Protected by tramp_mutex.
 */
struct tramp_gate {
	struct hlist_node node;
	const struct tramp_gate_ops *ops;
	u32 nr_funcs;
	const unsigned long *funcs;
	unsigned long *foreign;
	u32 nr_ready;
	bool live;
	u64 key;
	u32 index;
	struct tramp_image *jump;
	unsigned long to;
	unsigned long other;
	struct tramp_image *lookup;
	struct tramp_x86_lookup search;
	u32 nr_live;
	u64 request;
	u32 nr_asked;
};

/**
 * tramp_gate_create() - make the gate
 * @gate: with @ops, @nr_funcs, @funcs, @foreign, @key and @other set, and all else zero
 * @why: why not
 *
 * Context: tramp_mutex held, may sleep.
 * Return: 0 or a negative errno; then it is as before.
 */
int tramp_gate_create(struct tramp_gate *gate, struct tramp_refusal *why);

/* The address that the sites are to call. */
unsigned long tramp_gate_code(const struct tramp_gate *gate);

/* The place of a function among those of a gate, or -1. */
s64 tramp_gate_index(const struct tramp_gate *gate, unsigned long func);

/* A name for who asks gates for several functions. Any context. */
u64 tramp_gate_new_request(void);

/*
 * The gate that a function's site calls, if the function can have an image of its own; NULL: none.
 * Also if it has one already. With a @request, not 0: if there is room as well for the functions of
 * this gate that it has asked for before. Two who ask by turns are each told of all the room: what
 * they ask for before they attach is a forecast, and attaching asks again, in one go.
 * Reads the function's text, and asks ftrace, which forgets calls if it shuts down while they come.
 * tramp_mutex held.
 */
struct tramp_gate *tramp_gate_find(unsigned long func, u64 request);

/**
 * tramp_gate_set() - have an image run for one function
 * @gate: its gate
 * @func: the function
 * @code: the image
 * @why: why not
 *
 * Each call runs what it has run before, or @code. When the image before is retired, the wait
 * covers who is on the way to it.
 *
 * Context: tramp_mutex held, may sleep.
 * Return: 0 or a negative errno; then all is as before.
 */
int tramp_gate_set(struct tramp_gate *gate, unsigned long func, unsigned long code,
		   struct tramp_refusal *why);

/*
 * Whether the owner's program runs at a function through its gate alone, so that the function has
 * no target with programs. Reads the function's text. tramp_mutex held.
 */
bool tramp_gate_runs(unsigned long func);

/*
 * Have it run what the others run. Needs no memory. tramp_mutex held. Return: false if the
 * bytes are not ours: then all is as before, and our module stays.
 */
bool tramp_gate_clear(struct tramp_gate *gate, unsigned long func);

/* Whether any function from the @first on, before the @end, has an image of its own. */
bool tramp_gate_any(const struct tramp_gate *gate, u32 first, u32 end);
/* Whether this one has. */
bool tramp_gate_has(const struct tramp_gate *gate, unsigned long func);

/*
 * @other goes: from now on functions without an image of their own return at once, if any
 * function has one. Return: false if calls may get there for ever; then our module stays.
 * tramp_mutex held.
 */
bool tramp_gate_close(struct tramp_gate *gate);

/* No site calls it any more. tramp_mutex held. */
void tramp_gate_remove(struct tramp_gate *gate);

/* The slab cache of their images. Module init and exit; see base/cache.h. */
int tramp_gate_init(void);
void tramp_gate_exit(void);

#endif /* TRAMP_FUNC_GATE_H */
