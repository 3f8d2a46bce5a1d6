/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Addresses and the names that kallsyms has for them, and lists of functions by name.
 */
#ifndef TRAMP_SYMBOL_H
#define TRAMP_SYMBOL_H

#include "base/tramp.h"

struct module;

/* The symbol that an address lies in. */
struct tramp_symbol {
	unsigned long start;
	unsigned long size;	/* bytes up to the next symbol */
};

/**
 * tramp_text_name() - name of the symbol that holds an address
 * @addr: an address
 * @name: (out) KSYM_NAME_LEN bytes; the module's name is not part of it
 * @offset: (out) of @addr in it; may be NULL
 *
 * Context: any.
 * Return: false if there is none.
 */
bool tramp_text_name(unsigned long addr, char *name, unsigned long *offset);

/* The symbol that holds an address. Any context. Return: false if kallsyms knows none. */
bool tramp_text_symbol(unsigned long addr, struct tramp_symbol *sym);

/**
 * tramp_text_each_match() - look at each symbol of text with a name
 * @mod: the module that has it; NULL: the kernel proper. The caller has a reference to the module,
 *	or keeps it from going otherwise
 * @name: the name
 * @fn: called with @arg and the address; anything but 0 ends the walk. Must not sleep
 * @arg: for @fn
 *
 * None is found in the kernel proper without kallsyms_on_each_match_symbol() (base/ksyms.h).
 *
 * Context: any task.
 */
void tramp_text_each_match(const struct module *mod, const char *name,
			   int (*fn)(void *arg, unsigned long addr), void *arg);

/*
 * The first symbol of text with a name in a module, 0 if there is none: kallsyms would take data
 * as well. As tramp_text_each_match().
 */
unsigned long tramp_text_in_module(const struct module *mod, const char *name);

/**
 * tramp_text_lookup() - what a name means
 * @name: "NAME", or "MODULE:NAME"
 * @nr: (out) how many symbols of text of the module have it; 0 for the kernel proper
 *
 * kallsyms takes the first symbol of a module, also if it is data. A function comes first here.
 * In the kernel proper it is what kallsyms finds; tramp_text_unique() says whether that is all.
 *
 * Context: any task. The module may go at any time.
 * Return: the address, also that of data if there is no function; 0 if there is no such name.
 */
unsigned long tramp_text_lookup(const char *name, u32 *nr);

/* Refuse a name that so many functions have, AMBIGUOUS; 0 if it is no more than one. */
int tramp_text_refuse_many(const char *name, u32 nr, unsigned long addr,
			   struct tramp_refusal *why);

/**
 * tramp_text_unique() - whether a name means one symbol of the kernel proper, or of a module
 * @mod: the module, NULL: the kernel proper; see tramp_text_each_match()
 * @name: the name
 * @addr: what kallsyms found first
 * @why: AMBIGUOUS
 *
 * Return: 0 or a negative errno.
 */
int tramp_text_unique(const struct module *mod, const char *name, unsigned long addr,
		      struct tramp_refusal *why);

/**
 * tramp_text_each_symbol() - look at each symbol of text of the kernel proper
 * @fn: called with @arg, the name, and the address; anything but 0 ends the walk
 * @arg: for @fn
 *
 * There are some 150,000. The kernel must have kallsyms_on_each_symbol() (base/ksyms.h).
 * Context: process, may sleep. A signal ends it.
 * Return: 0, what @fn returned, or -ERESTARTNOHAND.
 */
int tramp_text_each_symbol(int (*fn)(void *arg, const char *name, unsigned long addr), void *arg);

/* How a rule's name is compared with a function's. */
enum tramp_match {
	TRAMP_MATCH_EXACT,	/* but for what the compiler appends: .part.0, .cold, ... */
	TRAMP_MATCH_PREFIX,
	TRAMP_MATCH_PART,
};

/* Functions by name. */
struct tramp_name_rule {
	const char *name;
	enum tramp_match match;
	u32 flags;		/* the list's own */
};

/* The first of a list's @nr rules that a name fits; NULL: there is none. Any context. */
const struct tramp_name_rule *tramp_name_find(const struct tramp_name_rule *rules, u32 nr,
					      const char *name);

#endif /* TRAMP_SYMBOL_H */
