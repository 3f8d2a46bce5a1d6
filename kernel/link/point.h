/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The attach point: a table of functions for each kind of place. Functions (func/point.c),
 * instructions (probe/point.c) and returns (ret/point.c) are the kinds; link/ and api/ know only
 * this interface.
 * Kinds include this header from above: it has no code.
 *
 * Attach, detach, update and query go through the table, a hit never does.
 */
#ifndef TRAMP_POINT_H
#define TRAMP_POINT_H

#include <linux/bpf.h>
#include "prog/image.h"
#include "prog/set.h"

/**
 * struct tramp_point - a place, embedded in the struct that a kind has for it
 * @ops: its kind
 */
struct tramp_point {
	const struct tramp_point_ops *ops;
};

/**
 * struct tramp_described - an attachment as all who show it see it: QUERY, fdinfo, debugfs
 *
 * Of the link; link/ fills these in:
 * @link_id: id of the link
 * @kind: enum tramp_kind
 * @prog_id: id of the program
 * @prog_name: its name
 * @sleepable: whether it may sleep
 * @cookie: what bpf_get_attach_cookie() returns
 * @key: of the place, also once detached
 * @hits: runs
 * @misses: hits that did not run it
 *
 * Of the place; its kind fills these in. Once detached, or when the module that the place was
 * in has gone, all but @mode_name and @reason are zero and empty:
 * @mode: enum tramp_mode, how hits reach the program
 * @mode_name: the same in the words of kprobes/list
 * @reason: enum tramp_reason: why it is no better mode; 0: nothing to say
 * @reason_addr: the address that @reason is about
 * @instruction: the place is an instruction, not a function
 * @index: of the newest image
 * @nr_progs: programs there
 * @nr_funcs: many functions: how many; otherwise 0
 * @pos: how many of its kind run before it there
 * @addr: the address that was attached to
 * @func_addr: the function
 * @offset: @addr in it
 * @btf_obj_id: the function's BTF object, if its kind goes by BTF
 * @btf_id: its type there
 * @region_len: bytes that a jump covers
 * @module: where it is, "" for the kernel proper; valid while tramp_mutex is held
 * @exec: the image, likewise; NULL if it has none
 * @name: the function
 */
struct tramp_described {
	u32 link_id;
	u32 kind;
	u32 prog_id;
	const char *prog_name;
	bool sleepable;
	u64 cookie;
	u64 key;
	u64 hits, misses;

	enum tramp_mode mode;
	const char *mode_name;
	u32 reason;
	u64 reason_addr;
	bool instruction;
	u32 index;
	u32 nr_progs, nr_funcs, pos;
	u64 addr;
	u64 func_addr, offset;
	u32 btf_obj_id, btf_id;
	u32 region_len;
	const char *module;
	const struct tramp_exec *exec;
	char name[KSYM_NAME_LEN];
};

/**
 * struct tramp_join - one of many members that are attached together
 * @member: the member, as for @attach of struct tramp_point_ops
 * @req: its request
 */
struct tramp_join {
	struct tramp_member *member;
	const struct tramp_attach *req;
};

/* Members of one @detach_many. */
#define TRAMP_BATCH_MANY	1024

/**
 * struct tramp_point_ops - a kind of place
 * @prog_type: programs of this type go to such places
 * @returns: with TRAMP_ATTACH_F_RETURN; the others without
 * @link_type: type of their links in the BPF core
 * @check_prog: whether a program can be attached, wherever; tells its kind. No locks;
 *	must not sleep. Return: 0 or a negative errno
 * @prepare: check the place in a request, and do what must be done before tramp_mutex is
 *	taken. Nobody has the member but the caller; its @slot, @counts and @kind are set. May
 *	sleep. Return: 0 or a negative errno
 * @attach: attach a member, whose @slot, @counts, @kind and @link_id are set. On success its
 *	@point and @key are. tramp_mutex held, may sleep. Return: 0 or a negative errno; then
 *	nothing has changed
 * @detach: take it off; hits after it returned do not run the program. Cannot fail. tramp_mutex
 *	held, may sleep
 * @attach_many: attach several members; NULL for a kind that ATTACH_BATCH cannot have. In @nr
 *	their number. Attaches the first ones, as many as fit into a turn (base/turn.h), and
 *	puts into @nr how many these are, at least one. tramp_mutex held, may sleep. Return: 0 or
 *	a negative errno; then nothing has changed, and @nr is the one that was refused
 * @detach_many: detach several attached members, at most TRAMP_BATCH_MANY, in any order and in
 *	well below a second; NULL for a kind that detaches one after the other. Otherwise as @detach
 * @together: whether a member may go by @detach_many, not by @detach; NULL: all of them. For
 *	members that take long one by one. tramp_mutex held
 * @replace: give the member another slot, with the caller's reference. Each hit runs the old
 *	program or the new one. tramp_mutex held, may sleep. Return: 0 or a negative errno
 * @misses: misses to be added to those of the member's counters, which the kernel has counted;
 *	may be NULL. tramp_mutex held
 * @describe: fill in the members that are of the place; they are zero. tramp_mutex held
 * @module_gone: a module is going: leave nothing in its text. May be NULL, for a kind that
 *	holds a reference, or is there by one of another kind. tramp_mutex held, may sleep
 * @fill_link_info: the kind's part of struct bpf_link_info. No locks, may sleep. Return: 0 or a
 *	negative errno
 */
struct tramp_point_ops {
	enum bpf_prog_type prog_type;
	bool returns;
	enum bpf_link_type link_type;
	int (*check_prog)(const struct bpf_prog *prog, u8 *kind, struct tramp_refusal *why);
	int (*prepare)(struct tramp_member *member, const struct tramp_attach *req,
		       struct tramp_refusal *why);
	int (*attach)(struct tramp_member *member, const struct tramp_attach *req,
		      struct tramp_refusal *why);
	void (*detach)(struct tramp_member *member);
	int (*attach_many)(const struct tramp_join *items, u32 *nr, struct tramp_refusal *why);
	void (*detach_many)(struct tramp_member **members, u32 nr);
	bool (*together)(const struct tramp_member *member);
	int (*replace)(struct tramp_member *member, struct tramp_slot *slot,
		       struct tramp_refusal *why);
	u64 (*misses)(const struct tramp_member *member);
	void (*describe)(const struct tramp_member *member, struct tramp_described *d);
	void (*module_gone)(const struct module *mod);
	int (*fill_link_info)(const struct tramp_member *member, struct bpf_link_info *info);
};

/* The kinds. */
extern const struct tramp_point_ops tramp_func_ops;
extern const struct tramp_point_ops tramp_probe_ops;
extern const struct tramp_point_ops tramp_ret_ops;

#endif /* TRAMP_POINT_H */
