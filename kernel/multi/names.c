// SPDX-License-Identifier: GPL-2.0
/*
 * The functions of a request by their names.
 *
 * Looking 40,000 names up one by one takes minutes where kallsyms goes through all symbols for
 * each. So we go through them once, with a table of the names that are wanted. A name that two
 * symbols of the kernel proper have is AMBIGUOUS, as in a request for one function. Other names
 * are looked for in modules, where "module:name" means one of them.
 *
 * The result can be out of date at once: a module may go. The functions are checked afterwards
 * (funcs.c), by their addresses, as if the caller had found these.
 */
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/uaccess.h>
#include "base/ksyms.h"
#include "name_table.h"
#include "names.h"
#include "text/symbol.h"

/* Longer than any name with its module's. */
#define MAX_LEN		(TRAMP_MOD_LEN + KSYM_NAME_LEN)

/* Where each name begins. There must be just @nr. */
static int split(struct tramp_func_names *names, u32 len, u32 nr, struct tramp_refusal *why)
{
	const char *at = names->text, *end = at + len;
	u32 i;

	for (i = 0; i < nr && at < end; i++) {
		size_t n = strnlen(at, end - at);

		if (at + n == end || !n || n >= MAX_LEN)
			return tramp_refuse(why, TRAMP_REASON_SYNTAX, 0,
					    "name %u is empty, too long, or does not end", i);
		names->name[i] = at;
		at += n + 1;
	}
	if (i < nr || at < end)
		return tramp_refuse(why, TRAMP_REASON_SYNTAX, 0, "there are not just %u names",
				    nr);
	return 0;
}

int tramp_func_names_copy(struct tramp_func_names *names, u64 from, u32 len, u32 nr,
			  struct tramp_refusal *why)
{
	memset(names, 0, sizeof(*names));
	if (len > TRAMP_MULTI_NAMES_MAX)
		return tramp_refuse(why, TRAMP_REASON_SYNTAX, 0, "%u bytes of names, at most %u",
				    len, TRAMP_MULTI_NAMES_MAX);
	/* Held while the caller's memory is read, which may delay that. */
	names->text = kvmalloc(len ?: 1, GFP_KERNEL_ACCOUNT);
	names->name = kvmalloc_array(nr, sizeof(*names->name), GFP_KERNEL_ACCOUNT);
	if (!names->text || !names->name)
		return tramp_refuse(why, TRAMP_REASON_NO_MEMORY, 0, NULL);
	if (copy_from_user(names->text, u64_to_user_ptr(from), len))
		return -EFAULT;
	return split(names, len, nr, why);
}

void tramp_func_names_free(struct tramp_func_names *names)
{
	kvfree(names->text);
	kvfree(names->name);
}

/* The work in hand. */
struct search {
	const struct tramp_func_names *names;
	struct tramp_func_item *items;
	struct tramp_names table;
};

/* A symbol of the kernel proper: tell those who want one of that name. */
static int take_symbol(void *arg, const char *name, unsigned long addr)
{
	struct search *s = arg;
	const struct tramp_name *n;

	tramp_names_for_each(n, &s->table, tramp_name_hash(name)) {
		struct tramp_func_item *item = &s->items[n->item];

		if (strcmp(s->names->name[n->item], name))
			continue;
		if (item->addr && item->addr != addr)
			item->reason = TRAMP_REASON_AMBIGUOUS;
		item->addr = addr;
	}
	return 0;
}

/* Those that the kernel proper does not have. */
static int find_in_modules(struct search *s, u32 nr)
{
	u32 i, nr_found;

	for (i = 0; i < nr; i++) {
		struct tramp_func_item *item = &s->items[i];

		if (item->addr)
			continue;
		if (signal_pending(current))
			return -ERESTARTNOHAND;
		/* It walks all symbols of the modules; before 6.2 those of the kernel, too. */
		cond_resched_tasks_rcu_qs();
		item->addr = tramp_text_lookup(s->names->name[i], &nr_found);
		if (!item->addr)
			item->reason = TRAMP_REASON_NO_SUCH_FUNCTION;
		else if (nr_found > 1)
			item->reason = TRAMP_REASON_AMBIGUOUS;
	}
	return 0;
}

static int find_all(struct search *s, u32 nr)
{
	int err = tramp_names_init(&s->table, nr);
	u32 i;

	for (i = 0; !err && i < nr; i++)
		err = tramp_names_add(&s->table, s->names->name[i], i);
	if (!err)
		err = tramp_text_each_symbol(take_symbol, s);
	if (!err)
		err = find_in_modules(s, nr);
	for (i = 0; !err && i < nr; i++) {
		if (s->items[i].reason)
			s->items[i].addr = 0;
	}
	tramp_names_free(&s->table);
	return err;
}

int tramp_func_names_find(const struct tramp_func_names *names, struct tramp_func_item *items,
			  u32 nr, struct tramp_refusal *why)
{
	struct search s = { .names = names, .items = items };
	int err;

	if (!tramp_ksyms.has_kallsyms_on_each_symbol)
		return tramp_refuse(why, TRAMP_REASON_MISSING_SYMBOL, 0, "kallsyms_on_each_symbol");
	err = find_all(&s, nr);
	return err == -ENOMEM ? tramp_refuse(why, TRAMP_REASON_NO_MEMORY, 0, NULL) : err;
}
