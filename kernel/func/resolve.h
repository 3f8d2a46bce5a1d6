/* SPDX-License-Identifier: GPL-2.0 */
/*
 * From a BTF function, or a name, to an address, a site and a prototype.
 */
#ifndef TRAMP_RESOLVE_H
#define TRAMP_RESOLVE_H

#include <linux/bpf.h>
#include <linux/module.h>
#include "base/tramp.h"
#include "prog/image.h"
#include "text/symbol.h"
#include "x86/fentry_image.h"

/**
 * struct tramp_func - a kernel function
 * @key: (u64)BTF object << 32 | 0x80000000 | type there, as the kernel's own
 *	trampolines have it; 0: BTF does not describe it
 * @addr: its first instruction
 * @site: its patchable NOP5, which is behind the ENDBR where there is one; 0: none
 * @owner: the module it is in, without a reference; NULL for the kernel proper
 * @model: its prototype, valid with @key
 * @exit_reason: enum tramp_reason: why it cannot have exit programs, 0 if it can
 * @unsafe: tramp_text_unsafe() of its name
 * @idle: it may be called where RCU does not watch
 * @facts: all of these
 * @module: its module with a reference, until tramp_func_put(); NULL if there is none
 * @name: its name
 * @module_name: its module's name, empty for the kernel proper
 */
struct tramp_func {
	struct_group_tagged(tramp_func_facts, facts,
		u64 key;
		unsigned long addr;
		unsigned long site;
		struct module *owner;
		struct tramp_x86_model model;
		u8 exit_reason;
		u8 unsafe;
		bool idle;
	);
	struct module *module;
	char name[TRAMP_SYM_LEN];
	char module_name[TRAMP_MOD_LEN];
};

/* Whether BTF describes it. If not, its @key is 0, or one of tramp_image_new_key(). */
static inline bool tramp_func_has_btf(const struct tramp_func_facts *func)
{
	return func->key && !(func->key & TRAMP_IMAGE_KEY);
}

static_assert(TRAMP_IMAGE_KEY > ((u64)INT_MAX << 32 | U32_MAX));

/* The BTF object that describes it, 0: none does. */
static inline u32 tramp_func_btf_obj(const struct tramp_func_facts *func)
{
	return tramp_func_has_btf(func) ? func->key >> 32 : 0;
}

/* Its type there. */
static inline u32 tramp_func_btf_type(const struct tramp_func_facts *func)
{
	return tramp_func_has_btf(func) ? func->key & 0x7fffffff : 0;
}

/**
 * tramp_resolve_prog() - the function a tracing program was loaded for
 * @prog: the program; it has an attach_btf_id
 * @func: (out) the function; release with tramp_func_put()
 * @why: why not
 *
 * Context: may sleep.
 * Return: 0 or a negative errno with its reason.
 */
int tramp_resolve_prog(const struct bpf_prog *prog, struct tramp_func *func,
		       struct tramp_refusal *why);

/* Likewise: a function by the id of its BTF object and its type id there. */
int tramp_resolve_btf(u32 btf_obj_id, u32 btf_id, struct tramp_func *func,
		      struct tramp_refusal *why);

/* Likewise: a function by name in @module, "" for any. Without BTF @func has no @key. */
int tramp_resolve_name(const char *name, const char *module, struct tramp_func *func,
		       struct tramp_refusal *why);

/**
 * tramp_resolve_entry() - a function by its symbol
 * @sym: the symbol
 * @site: its patchable NOP5
 * @owner: the module it is in, NULL for the kernel proper; no reference is taken
 * @func: (out) the function, without a @key and a prototype
 *
 * Context: may sleep; in a module only while that cannot be freed (tramp_mutex held).
 */
void tramp_resolve_entry(const struct tramp_symbol *sym, unsigned long site,
			 struct module *owner, struct tramp_func *func);

/* Whether a function of the kernel proper never returns, by its name. */
bool tramp_func_noreturn(const char *name);

/* Drops the module's reference. */
void tramp_func_put(struct tramp_func *func);

#endif /* TRAMP_RESOLVE_H */
