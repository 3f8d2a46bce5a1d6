// SPDX-License-Identifier: GPL-2.0
/*
 * Which functions an image of many may call in their place.
 *
 * Such an image calls the original from its own frame. A function that takes arguments on the
 * stack would not find them. So a function must be known to have all of them in registers. BTF
 * must describe its name, and no other symbol of the kernel, or of its module, may have that name.
 * (BTF may have the prototype of another one even so: docs/limits.md.) Of several names
 * for one address each that BTF knows must say so.
 *
 * BTF goes by names. Looking 40,000 of them up one by one takes minutes. So we go
 * through the kernel's symbols twice, and through its BTF once. The first pass takes the names of
 * the functions asked for, the second finds other symbols with such names. The BTF pass finds
 * the prototypes. A table by a hash of the name brings them together. Two names with one hash
 * of 64 bits count as ambiguous, which is on the safe side.
 *
 * The BTF of a module is a table of its own, whose names mean that module's symbols. There are
 * few such functions, so kallsyms is asked for the name of each, whether that name leads back to
 * it, and to nothing else.
 */
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include "base/btf_id.h"
#include "base/ksyms.h"
#include "func/model.h"
#include "name_table.h"
#include "proto.h"
#include "text/symbol.h"

/**
 * struct protos - the work in hand
 * @items: see tramp_protos_check()
 * @nr: how many
 * @fits: for each: BTF has told a prototype that fits
 * @names: the names found so far
 * @calls: types seen, for looking at signals now and then
 * @nr_types: of the kernel's BTF: ids of a module's own types begin there
 */
struct protos {
	struct tramp_func_item *items;
	u32 nr;
	bool *fits;
	struct tramp_names names;
	u32 calls;
	u32 nr_types;
};

static bool interrupted(struct protos *p)
{
	return ++p->calls % 1024 == 0 && signal_pending(current);
}

/* The function that begins at @addr, or -1. */
static s64 find_item(const struct protos *p, u64 addr)
{
	u32 low = 0, high = p->nr, mid;

	while (low < high) {
		mid = low + (high - low) / 2;
		if (p->items[mid].addr < addr)
			low = mid + 1;
		else
			high = mid;
	}
	/* Of two with one address the first stays: it sorts first. */
	return low < p->nr && p->items[low].addr == addr && !p->items[low].reason ? (s64)low : -1;
}

/* First pass: take down the names of the functions asked for. */
static int take_name(void *arg, const char *name, unsigned long addr)
{
	struct protos *p = arg;
	s64 item = find_item(p, addr);

	return item < 0 ? 0 : tramp_names_add(&p->names, name, item);
}

static void refuse(struct protos *p, u32 item, u32 reason)
{
	if (!p->items[item].reason)
		p->items[item].reason = TRAMP_PROTO_REASON + reason;
}

/* Second pass: a name that is another symbol's too. */
static int find_twins(void *arg, const char *name, unsigned long addr)
{
	struct protos *p = arg;
	const struct tramp_name *n;

	tramp_names_for_each(n, &p->names, tramp_name_hash(name)) {
		if (p->items[n->item].addr != addr)
			refuse(p, n->item, TRAMP_REASON_AMBIGUOUS);
	}
	return 0;
}

/* Why a prototype does not fit; 0: it does. */
static u32 judge(struct btf *btf, const struct btf_type *func, const char *name)
{
	const struct btf_type *t = btf_type_by_id(btf, func->type);
	struct tramp_x86_model model = {};
	enum tramp_reason exit_reason = 0;
	struct tramp_refusal why = {};
	u32 on_stack;

	if (!t || BTF_INFO_KIND(t->info) != BTF_KIND_FUNC_PROTO)
		return TRAMP_REASON_NO_BTF;
	if (tramp_model_from_btf(btf, t, name, &model, &exit_reason, &why))
		return why.reason;
	/* A result in rdx:rax is no obstacle: the image keeps both. */
	tramp_x86_model_slots(&model, NULL, &on_stack);
	return on_stack ? TRAMP_REASON_TOO_MANY_ARGS : 0;
}

/* The module that a function is in; NULL: the kernel proper. The caller holds it. */
static struct module *module_of(unsigned long addr)
{
	struct module *mod;

	if (KSYM(core_kernel_text)(addr))
		return NULL;
	preempt_disable();
	mod = KSYM(__module_text_address)(addr);
	preempt_enable();
	return mod;
}

/* A function's type: tell those who asked for a function of that name in @mod. */
static void take_type(struct protos *p, struct btf *btf, const struct btf_type *t,
		      const struct module *mod)
{
	const char *name = KSYM(btf_name_by_offset)(btf, t->name_off);
	const struct tramp_name *n;
	u32 reason;

	tramp_names_for_each(n, &p->names, tramp_name_hash(name)) {
		if (module_of(p->items[n->item].addr) != mod)
			continue;
		reason = judge(btf, t, name);
		if (reason)
			refuse(p, n->item, reason);
		else
			p->fits[n->item] = true;
	}
}

static int read_btf(struct protos *p, struct btf *btf, const struct module *mod)
{
	const struct btf_type *t;
	u32 id;

	for (id = mod ? p->nr_types : 1; (t = btf_type_by_id(btf, id)); id++) {
		if (interrupted(p))
			return -ERESTARTNOHAND;
		if (id % 1024 == 0)
			cond_resched_tasks_rcu_qs();
		if (BTF_INFO_KIND(t->info) == BTF_KIND_FUNC)
			take_type(p, btf, t, mod);
	}
	if (!mod)
		p->nr_types = id;
	return 0;
}

/* Take down the names of the functions in modules. Return: whether there are any. */
static int take_module_names(struct protos *p, bool *any)
{
	char name[KSYM_NAME_LEN];
	struct module *mod;
	int err = 0;
	u32 i;

	*any = false;
	for (i = 0; !err && i < p->nr; i++) {
		mod = p->items[i].reason ? NULL : module_of(p->items[i].addr);
		if (!mod || !tramp_text_name(p->items[i].addr, name, NULL))
			continue;
		*any = true;
		/* A lookup may take milliseconds: see find_in_modules() in names.c. */
		if (signal_pending(current))
			return -ERESTARTNOHAND;
		cond_resched_tasks_rcu_qs();
		if (tramp_text_in_module(mod, name) == p->items[i].addr &&
		    !tramp_text_unique(mod, name, p->items[i].addr, NULL))
			err = take_name(p, name, p->items[i].addr);
		else
			refuse(p, i, TRAMP_REASON_AMBIGUOUS);
	}
	return err;
}

static int read_modules(struct protos *p)
{
	struct module *mod;
	struct btf *btf;
	u32 id = 0;
	bool any;
	int err;

	err = take_module_names(p, &any);
	while (!err && any && (btf = tramp_btf_next(&id))) {
		mod = KSYM(btf_is_module)(btf) ? KSYM(btf_try_get_module)(btf) : NULL;
		if (mod)
			err = read_btf(p, btf, mod);
		module_put(mod);
		KSYM(btf_put)(btf);
	}
	return err;
}

static int run(struct protos *p, struct btf *btf)
{
	return tramp_text_each_symbol(take_name, p) ?: tramp_text_each_symbol(find_twins, p) ?:
	       read_btf(p, btf, NULL) ?: read_modules(p);
}

const char *tramp_protos_lack(void)
{
	return !tramp_ksyms.has_bpf_find_btf_id ? "bpf_find_btf_id" :
	       !tramp_ksyms.has_kallsyms_on_each_symbol ? "kallsyms_on_each_symbol" : NULL;
}

int tramp_protos_check(struct tramp_func_item *items, u32 nr, struct tramp_refusal *why)
{
	struct protos p = { .items = items, .nr = nr };
	struct btf *btf;
	int err;
	u32 i;

	if (tramp_protos_lack())
		return tramp_refuse(why, TRAMP_REASON_MISSING_SYMBOL, 0, "%s",
				    tramp_protos_lack());
	/* Any struct that only the kernel proper has: its BTF object is meant. */
	if (KSYM(bpf_find_btf_id)("task_struct", BTF_KIND_STRUCT, &btf) <= 0)
		return tramp_refuse(why, TRAMP_REASON_NO_BTF, 0, "struct task_struct");
	err = tramp_names_init(&p.names, nr);
	p.fits = kvcalloc(nr, sizeof(*p.fits), GFP_KERNEL);
	if (!p.fits)
		err = -ENOMEM;
	if (!err)
		err = run(&p, btf);
	for (i = 0; !err && i < nr; i++) {
		if (!p.fits[i])
			refuse(&p, i, TRAMP_REASON_NO_BTF);
	}
	tramp_names_free(&p.names);
	kvfree(p.fits);
	KSYM(btf_put)(btf);
	return err == -ENOMEM ? tramp_refuse(why, TRAMP_REASON_NO_MEMORY, 0, NULL) : err;
}
