// SPDX-License-Identifier: GPL-2.0
/*
 * Addresses and the names that kallsyms has for them, and lists of functions by name.
 */
#include <linux/kallsyms.h>
#include <linux/module.h>
#include <linux/sched/signal.h>
#include <linux/string.h>
#include "base/compat.h"
#include "base/ksyms.h"
#include "symbol.h"

bool tramp_text_name(unsigned long addr, char *name, unsigned long *offset)
{
	unsigned long size, unused;
	const char *found;
	char *modname;

	preempt_disable();	/* a module's names go with it */
	found = KSYM(kallsyms_lookup)(addr, &size, offset ?: &unused, &modname, name);
	if (found && found != name)
		strscpy(name, found, KSYM_NAME_LEN);
	preempt_enable();
	return found;
}

bool tramp_text_symbol(unsigned long addr, struct tramp_symbol *sym)
{
	unsigned long offset;

	if (!KSYM(kallsyms_lookup_size_offset)(addr, &sym->size, &offset))
		return false;
	sym->start = addr - offset;
	return offset < sym->size;
}

/*
 * Text of the kernel proper, also that of the start-up: it is gone, but BTF has its functions'
 * prototypes.
 */
static bool is_core_text(unsigned long addr)
{
	return KSYM(core_kernel_text)(addr) ||
	       tramp_ksym_between(addr, tramp_ksyms._sinittext, tramp_ksyms._einittext);
}

/* Whether it is no data, of which there may be some of the same name (CONFIG_KALLSYMS_ALL). */
static bool is_text(unsigned long addr)
{
	bool yes;

	preempt_disable();
	yes = is_core_text(addr) || KSYM(__module_text_address)(addr);
	preempt_enable();
	return yes;
}

struct match {
	int (*fn)(void *arg, unsigned long addr);
	void *arg;
};

static int each_match(void *arg, unsigned long addr)
{
	struct match *m = arg;

	return is_text(addr) ? m->fn(m->arg, addr) : 0;
}

void tramp_text_each_match(const struct module *mod, const char *name,
			   int (*fn)(void *arg, unsigned long addr), void *arg)
{
	struct match m = { .fn = fn, .arg = arg };
	const struct mod_kallsyms *k;
	u32 i;

	if (!mod) {
		if (tramp_ksyms.has_kallsyms_on_each_match_symbol)
			KSYM(kallsyms_on_each_match_symbol)(each_match, name, &m);
		return;
	}
	/* While it is coming it has others, which go behind a grace period. */
	rcu_read_lock();
	k = rcu_dereference_check(mod->kallsyms, true);
	for (i = 1; i < k->num_symtab; i++) {
		const Elf_Sym *s = &k->symtab[i];

		if (s->st_shndx != SHN_UNDEF && !strcmp(k->strtab + s->st_name, name) &&
		    each_match(&m, s->st_value))
			break;
	}
	rcu_read_unlock();
}

static int take_first(void *first, unsigned long addr)
{
	*(unsigned long *)first = addr;
	return 1;
}

unsigned long tramp_text_in_module(const struct module *mod, const char *name)
{
	unsigned long addr = 0;

	tramp_text_each_match(mod, name, take_first, &addr);
	return addr;
}

/* The first of some, and how many. */
struct found {
	unsigned long addr;
	u32 nr;
};

static int add_found(void *arg, unsigned long addr)
{
	struct found *found = arg;

	if (!found->nr++)
		found->addr = addr;
	return 0;
}

unsigned long tramp_text_lookup(const char *name, u32 *nr)
{
	const char *colon = strchr(name, ':');
	unsigned long addr = tramp_ksym_lookup(name);
	struct found found = { .addr = addr };
	const struct module *mod;

	/* The module stays: before it is freed it leaves the list, and the kernel waits for RCU. */
	preempt_disable();
	mod = addr ? KSYM(__module_address)(addr) : NULL;
	if (mod)
		tramp_text_each_match(mod, colon ? colon + 1 : name, add_found, &found);
	preempt_enable();
	*nr = found.nr;
	return found.addr;
}

/*
 * Of several functions with one name BTF describes one, without saying which, and kallsyms finds
 * the first. If these are not the same, programs take something else for the arguments. So
 * refuse, as kprobes do.
 */
int tramp_text_refuse_many(const char *name, u32 nr, unsigned long addr, struct tramp_refusal *why)
{
	if (nr <= 1)
		return 0;
	return tramp_refuse(why, TRAMP_REASON_AMBIGUOUS, addr, "%u symbols are called %s", nr,
			    name);
}

int tramp_text_unique(const struct module *mod, const char *name, unsigned long addr,
		      struct tramp_refusal *why)
{
	struct found found = {};

	tramp_text_each_match(mod, name, add_found, &found);
	return tramp_text_refuse_many(name, found.nr, addr, why);
}

/* A walk over all symbols. */
struct each {
	int (*fn)(void *arg, const char *name, unsigned long addr);
	void *arg;
	u32 calls;
};

static int each_symbol(struct each *e, const char *name, unsigned long addr)
{
	/* There is data of the same names, with CONFIG_KALLSYMS_ALL. */
	if (!is_core_text(addr))
		return 0;
	if (++e->calls % 1024 == 0 && signal_pending(current))
		return -ERESTARTNOHAND;
	return e->fn(e->arg, name, addr);
}

#if TRAMP_EACH_SYMBOL_HAS_MODULE
static int each_core_symbol(void *e, const char *name, struct module *mod, unsigned long addr)
{
	return mod ? 0 : each_symbol(e, name, addr);
}
#else
static int each_core_symbol(void *e, const char *name, unsigned long addr)
{
	return each_symbol(e, name, addr);
}
#endif

int tramp_text_each_symbol(int (*fn)(void *arg, const char *name, unsigned long addr), void *arg)
{
	struct each e = { .fn = fn, .arg = arg };

	return KSYM(kallsyms_on_each_symbol)(each_core_symbol, &e);
}

static bool matches(const struct tramp_name_rule *rule, const char *name)
{
	switch (rule->match) {
	case TRAMP_MATCH_EXACT:
		return strstarts(name, rule->name) && strchr(".", name[strlen(rule->name)]);
	case TRAMP_MATCH_PREFIX:
		return strstarts(name, rule->name);
	default:
		return strstr(name, rule->name);
	}
}

const struct tramp_name_rule *tramp_name_find(const struct tramp_name_rule *rules, u32 nr,
					      const char *name)
{
	for (; nr--; rules++) {
		if (matches(rules, name))
			return rules;
	}
	return NULL;
}
