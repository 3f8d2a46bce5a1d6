/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The functions of an attachment of many: two sorted arrays and the modules they hold.
 */
#ifndef TRAMP_MULTI_FUNCS_H
#define TRAMP_MULTI_FUNCS_H

#include <linux/module.h>
#include "base/tramp.h"

/**
 * struct tramp_funcs - functions with their cookies
 * @nr: how many
 * @nr_modules: entries in @modules
 * @nr_shared: how many have other programs of ours, or had when they were checked
 * @request: what gates know the check by (func/gate.h)
 * @addrs: their addresses, in ascending order
 * @cookies: the cookie of each; NULL: all are 0
 * @modules: the modules they are in, with a reference to each
 *
 * Constant once checked. 16 bytes a function, 8 without cookies.
 */
struct tramp_funcs {
	u32 nr;
	u32 nr_modules;
	u32 nr_shared;
	u64 request;
	unsigned long *addrs;
	u64 *cookies;
	struct module **modules;
};

/**
 * struct tramp_func_item - a function as a caller names it
 * @addr: its address
 * @cookie: its cookie
 * @index: where it was in the request
 * @reason: (out) enum tramp_reason: why it is left out; 0: it is not. May be set before
 */
struct tramp_func_item {
	u64 addr;
	u64 cookie;
	u32 index;
	u32 reason;
};

/**
 * struct tramp_funcs_req - what a caller asks for
 * @items: the functions in any order; sorted in place
 * @nr: how many
 * @names: what the caller called each, by its index; NULL: he gave addresses
 * @cookies: they have cookies
 * @returns: the program runs when the functions return
 * @session: it runs at their entry, too
 * @hooks: those that no image can call in their place go to the second list
 * @skip: leave out what cannot be attached to; otherwise the first such fails the request
 * @failed: (out) the index of the one that failed the request, else @nr
 */
struct tramp_funcs_req {
	struct tramp_func_item *items;
	u32 nr;
	const char **names;
	bool cookies;
	bool returns;
	bool session;
	bool hooks;
	bool skip;
	u32 failed;
};

/**
 * tramp_funcs_create() - check functions and take hold of them
 * @req: the request
 * @funcs: (out) those that can be attached to; tramp_funcs_free() frees it
 * @hooked: (out) with @hooks: those whose returns take a rethook. Likewise
 * @why: why not
 *
 * A function that is named twice is attached to once, with the first cookie in the request. Later
 * ones are ALREADY_ATTACHED, or have the reason for which the first is left out. Without @skip they
 * are refused.
 *
 * Context: process, may sleep, without tramp_mutex: it may take seconds. A signal ends it.
 * Return: 0, -ERESTARTNOHAND, or another negative errno with its reason.
 */
int tramp_funcs_create(struct tramp_funcs_req *req, struct tramp_funcs *funcs,
		       struct tramp_funcs *hooked, struct tramp_refusal *why);

/* Drops the modules only. */
void tramp_funcs_put_modules(struct tramp_funcs *funcs);
/* Drops the modules, frees the lists. */
void tramp_funcs_free(struct tramp_funcs *funcs);

/* The cookie of the function at @addr, 0 if there is no such function. Any context; no locks. */
u64 tramp_funcs_cookie(const struct tramp_funcs *funcs, unsigned long addr);

#endif /* TRAMP_MULTI_FUNCS_H */
