// SPDX-License-Identifier: GPL-2.0
/*
 * The self-test at load, with C functions in the place of BPF programs. It attaches an entry
 * image, then an exit image, to a dummy function of this module, and calls it. Arguments,
 * result and counts must be right. After it has detached the bytes must be as before.
 *
 * It goes the whole way that real attachments go (emitter, executable memory, ftrace, retire
 * list). If any of this does not work here, our own function shows it, and the module does
 * not load.
 */
#include <linux/module.h>
#include <linux/percpu.h>
#include <linux/slab.h>
#include "base/ksyms.h"
#include "ftrace/site.h"
#include "func/image.h"
#include "func/target.h"
#include "selftest.h"

#define TEST_KEY	0	/* no BTF object has the id 0 */
#define ARG_A		0x1122334455667788ULL
#define ARG_B		(-7)

/* Filled in by the programs. */
static struct {
	u32 entries, exits;
	u64 a, b, ret;
} seen;

/* Traceable, and never inlined: the target. */
static noinline u64 tramp_selftest_target(u64 a, int b)
{
	barrier();
	return a + b;
}

static notrace u64 entry_prog(u64 *ctx, const void *insns)
{
	seen.entries++;
	seen.a = ctx[0];
	seen.b = ctx[1];
	return 0;
}

static notrace u64 exit_prog(u64 *ctx, const void *insns)
{
	seen.exits++;
	seen.ret = ctx[2];
	return 0;
}

/* The flags of the slot say which of the two it is; neither is a BPF program. */
static void describe(struct tramp_slot *slot, struct tramp_x86_call *call)
{
	*call = (struct tramp_x86_call) {
		.func = (unsigned long)(slot->cookie ? exit_prog : entry_prog),
		.missed_arg = (unsigned long)slot,
		.run = (unsigned long)&slot->counts->pcpu->run,
	};
}

static int check(bool ok, const char *what)
{
	if (ok)
		return 0;
	pr_err("self-test: %s\n", what);
	return -EIO;
}

static int check_call(u32 entries, u32 exits, const char *what)
{
	u64 want = ARG_A + ARG_B;

	memset(&seen, 0, sizeof(seen));
	if (check(tramp_selftest_target(ARG_A, ARG_B) == want, "wrong result of the target"))
		return -EIO;
	if (check(seen.entries == entries && seen.exits == exits, what))
		return -EIO;
	if (entries && check(seen.a == ARG_A && (int)seen.b == ARG_B, "wrong arguments"))
		return -EIO;
	if (exits && check(seen.ret == want, "wrong result in the exit program"))
		return -EIO;
	return 0;
}

/* Attach, switch, detach; @entry is there first, and @exit comes. */
static int run(struct tramp_member *entry_member, struct tramp_member *exit_member)
{
	static struct tramp_func func = {
		.addr = (unsigned long)tramp_selftest_target,
		.model = { .nr_args = 2, .ret_size = 8, .arg_size = { 8, 4 } },
	};
	LIST_HEAD(members);
	u32 nr[TRAMP_LISTS] = { [TRAMP_LIST_FENTRY] = 1 };
	struct tramp_func_image_req req = {
		.image = { &members, TEST_KEY, .index = 1, .describe = describe },
		.func = &func, .nr = nr,
	};
	struct tramp_func_image *entry, *exit;
	struct tramp_refusal why = {};
	struct tramp_site *site;
	u8 before[16], after[16];
	bool entered = false;
	int err;

	list_add_tail(&entry_member->node, &members);
	func.site = KSYM(ftrace_location)(func.addr);
	if (check(func.site, "the dummy function has no ftrace site"))
		return -EIO;
	memcpy(before, (void *)func.addr, sizeof(before));

	entry = tramp_func_image_create(&req, &why);
	if (IS_ERR(entry)) {
		err = PTR_ERR(entry);
		goto refused;
	}
	req.image.index = 2;
	list_add_tail(&exit_member->node, &members);
	nr[TRAMP_LIST_FEXIT] = 1;
	exit = tramp_func_image_create(&req, &why);
	if (IS_ERR(exit)) {
		err = PTR_ERR(exit);
		tramp_image_destroy(&entry->image);
		goto refused;
	}

	err = tramp_site_attach(func.site, entry->image.exec.code, &site, &entered, &why);
	if (err) {
		if (entered)
			tramp_func_image_retire(entry, NULL, NULL);
		else
			tramp_image_destroy(&entry->image);
		tramp_image_destroy(&exit->image);
		goto refused;
	}
	err = check_call(1, 0, "the entry program was not run once");
	if (!err)
		err = tramp_site_switch(site, exit->image.exec.code, &why);
	if (err) {
		tramp_site_detach(site, entry->image.exec.code);
		tramp_func_image_retire(entry, NULL, NULL);
		tramp_image_destroy(&exit->image);
		return err;
	}
	tramp_func_image_retire(entry, NULL, NULL);
	err = check_call(1, 1, "entry and exit program were not run once each");
	if (!err) {
		tramp_image_mute(&exit->image, entry_member->slot);
		err = check_call(0, 1, "a muted program was run");
	}
	tramp_site_detach(site, exit->image.exec.code);
	tramp_func_image_retire(exit, NULL, NULL);
	if (!err)
		err = check_call(0, 0, "a program ran after it was detached");
	memcpy(after, (void *)func.addr, sizeof(after));
	if (!err)
		err = check(!memcmp(before, after, sizeof(before)), "the bytes are not restored");
	return err;

refused:
	pr_err("self-test: %s: %s\n", tramp_reason_name(why.reason), why.detail);
	return err;
}

int __init tramp_selftest(void)
{
	struct tramp_counts *counts = tramp_counts_alloc();
	struct tramp_member entry = {}, exit = {};
	u64 hits, misses;
	int err = -ENOMEM;

	if (counts) {
		entry.slot = tramp_slot_alloc(NULL, counts, 0);
		exit.slot = tramp_slot_alloc(NULL, counts, 1);
	}
	if (entry.slot && exit.slot) {
		mutex_lock(&tramp_mutex);
		err = run(&entry, &exit);
		mutex_unlock(&tramp_mutex);
		tramp_counts_sum(counts, &hits, &misses);
		if (!err)
			err = check(hits == 5 && misses == 0, "hits were not counted");
	}
	if (err)
		pr_err("the self-test failed: not loading\n");
	tramp_slot_put(entry.slot);
	tramp_slot_put(exit.slot);
	tramp_counts_put(counts);
	return err;
}
