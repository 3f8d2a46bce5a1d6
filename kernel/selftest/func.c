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

/* The cookie of the slot says which of the two it is; neither is a BPF program. */
static void describe(struct tramp_slot *slot, struct tramp_x86_call *call)
{
	*call = (struct tramp_x86_call) {
		.func = (unsigned long)(slot->cookie ? exit_prog : entry_prog),
		.missed_arg = (unsigned long)slot,
		.active = (unsigned long)&tramp_selftest_active,
		.hits = (unsigned long)&slot->counts->pcpu->hits,
	};
}

static int check_call(u32 entries, u32 exits, const char *what)
{
	u64 ret, want = ARG_A + ARG_B;

	memset(&seen, 0, sizeof(seen));
	ret = tramp_selftest_target(ARG_A, ARG_B);
	return tramp_selftest_check(ret == want, "wrong result of the target") ?:
	       tramp_selftest_check(seen.entries == entries && seen.exits == exits, what) ?:
	       tramp_selftest_check(!entries || (seen.a == ARG_A && (int)seen.b == ARG_B),
				    "wrong arguments") ?:
	       tramp_selftest_check(!exits || seen.ret == want,
				    "wrong result in the exit program");
}

/* Attach @entry to the site, switch to @exit, leave @slot out of that, detach. */
static int call_through(unsigned long ip, struct tramp_func_image *entry,
			struct tramp_func_image *exit, struct tramp_slot *slot,
			struct tramp_refusal *why)
{
	unsigned long code = entry->image.exec.code;
	struct tramp_site *site;
	bool entered;
	int err;

	err = tramp_site_attach_alone(ip, code, &site, &entered, why);
	if (err)
		return err;
	err = check_call(1, 0, "the entry program was not run once") ?:
	      tramp_site_switch(site, ip, exit->image.exec.code, why);
	if (!err) {
		code = exit->image.exec.code;
		err = check_call(1, 1, "entry and exit program were not run once each");
	}
	if (!err) {
		tramp_image_mute(&exit->image, slot);
		err = check_call(0, 1, "a muted program was run");
	}
	tramp_site_detach(site, ip, code);
	/* The bytes may differ from those before: a tracer over everything came, or went. */
	if (!err)
		err = tramp_selftest_check(!tramp_site_calls(ip, code), "the call has stayed");
	return err ?: check_call(0, 0, "a program ran after it was detached");
}

/* The first member is there first, as entry program; the second comes, as exit program. */
static int run(struct tramp_member *pair, struct tramp_refusal *why)
{
	static struct tramp_func_facts func = {
		.addr = (unsigned long)tramp_selftest_target,
		.model = { .nr_args = 2, .ret_size = 8, .arg_size = { 8, 4 } },
	};
	LIST_HEAD(members);
	u8 nr[TRAMP_LISTS] = { [TRAMP_LIST_FENTRY] = 1 };
	struct tramp_func_image_req req = {
		.image = { &members, TEST_KEY, .index = 1, .describe = describe },
		.func = &func, .nr = nr,
	};
	struct tramp_func_image *entry, *exit;
	int err;

	list_add_tail(&pair[0].node, &members);
	func.site = KSYM(ftrace_location)(func.addr);
	err = tramp_selftest_check(func.site, "the dummy function has no ftrace site");
	if (err)
		return err;

	entry = tramp_func_image_create(&req, why);
	if (IS_ERR(entry))
		return PTR_ERR(entry);
	req.image.index = 2;
	list_add_tail(&pair[1].node, &members);
	nr[TRAMP_LIST_FEXIT] = 1;
	exit = tramp_func_image_create(&req, why);
	err = PTR_ERR_OR_ZERO(exit);
	if (!err) {
		err = call_through(func.site, entry, exit, pair[0].slot, why);
		tramp_func_image_retire(exit, NULL, NULL);
	}
	/* Also right for an image that no site has called. */
	tramp_func_image_retire(entry, NULL, NULL);
	return err;
}

int __init tramp_selftest(void)
{
	return tramp_selftest_run("the self-test", run, 5);
}
