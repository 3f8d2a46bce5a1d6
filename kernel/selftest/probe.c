// SPDX-License-Identifier: GPL-2.0
/*
 * The self-test at load, for probes, with a C function in the place of a BPF program. It puts
 * an int3 in a function of this module, makes it a jump, and removes it. Each time it calls
 * the function, and compares its result and the registers that the program saw.
 *
 * Nobody else calls the function, so the grace period before the jump is left out. So are the
 * rules of where probes may go: they refuse this module.
 */
#include <linux/module.h>
#include <linux/objtool.h>
#include "base/ksyms.h"
#include "probe/guard.h"
#include "probe/image.h"
#include "probe/poke.h"
#include "probe/trap.h"
#include "selftest.h"

#define ARG	0x1122334455667788ULL

static struct {
	u32 runs;
	u64 ip, di;
} seen;

/* Not allocated: readers of the table may have it for a moment after it was taken out. */
static struct tramp_probe probe = {
	.key = TRAMP_IMAGE_KEY,
	.mode = TRAMP_MODE_INT3,
	.insn_len = 4,
	.nr = 1,
};

/* The two instructions behind the label are the region: 4 bytes each. */
static noinline __noclone u64 probed_target(u64 a)
{
	u64 b = 0;

	/* The compiler must not assume that anything is unchanged. */
	asm volatile("tramp_selftest_probed:\n\t"
		     ANNOTATE_NOENDBR
		     "lea	0x11(%[a]), %[b]\n\t"
		     "add	$0x22, %[b]"
		     : [b] "+a" (b) : [a] "D" (a) : "cc", "memory");
	return b;
}

static notrace u64 probe_prog(u64 *ctx, const void *insns)
{
	const struct pt_regs *regs = (void *)ctx;

	seen.runs++;
	seen.ip = regs->ip;
	seen.di = regs->di;
	return 0;
}

static void describe(struct tramp_slot *slot, struct tramp_x86_call *call)
{
	*call = (struct tramp_x86_call) {
		.func = (unsigned long)probe_prog,
		.missed_arg = (unsigned long)slot,
		.active = (unsigned long)&tramp_selftest_active,
		.hits = (unsigned long)&slot->counts->pcpu->hits,
	};
}

/*
 * The kernel's kprobes are asked before us, and nothing of ours is at their handler yet. So what it
 * needs is done here (probe/guard.c). Interrupts stay off, as in the int3.
 */
static u64 call_probed(void)
{
	unsigned long flags;
	u64 result;

	local_irq_save(flags);
	tramp_probe_mend_status();
	result = probed_target(ARG);
	local_irq_restore(flags);
	return result;
}

static int check_call(u32 runs, const char *what)
{
	memset(&seen, 0, sizeof(seen));
	if (tramp_selftest_check(call_probed() == ARG + 0x33,
				 "wrong result of the probed function"))
		return tramp_selftest_check(false, what);
	if (seen.runs != runs ||
	    (runs && (seen.di != ARG || seen.ip != (unsigned long)tramp_selftest_probed + 1))) {
		pr_err("self-test: %s: the program ran %u times, and saw ip %#llx, di %#llx\n",
		       what, seen.runs, seen.ip, seen.di);
		return -EIO;
	}
	return 0;
}

/* With the probe in the table. The text is as it was when this returns. */
static int call_through(struct tramp_refusal *why)
{
	LIST_HEAD(refused);
	LIST_HEAD(list);
	int err;

	err = tramp_probe_arm(&probe, why);
	if (err)
		return err;
	err = check_call(1, "int3");
	if (!err) {
		list_add(&probe.opt, &list);
		tramp_probe_jump_batch(&list, &refused);
		list_del_init(&probe.opt);
		if (probe.text != TRAMP_TEXT_JUMP) {
			pr_err("self-test: the int3 did not become a jump: %s\n",
			       tramp_reason_name(probe.reason));
			err = -EIO;
		}
	}
	if (!err)
		err = check_call(1, "jump");
	if (probe.text == TRAMP_TEXT_JUMP && !tramp_probe_unjump(&probe))
		err = tramp_selftest_check(false, "somebody else changed the jump");
	if (!err)
		err = check_call(1, "int3 again");

	list_add(&probe.opt, &list);
	tramp_probe_restore_batch(&list);
	list_del_init(&probe.opt);
	return err ?: check_call(0, "restored") ?:
	       tramp_selftest_check(!memcmp(tramp_selftest_probed, probe.orig, probe.image->len),
				    "the probed bytes are not restored");
}

static int run(struct tramp_member *members, struct tramp_refusal *why)
{
	int err;

	members[0].slot->regs = BIT(offsetof(struct pt_regs, ip) / 8) |
				BIT(offsetof(struct pt_regs, di) / 8);
	probe.addr = (unsigned long)tramp_selftest_probed;
	memcpy(probe.orig, tramp_selftest_probed, 8);
	INIT_LIST_HEAD(&probe.members);
	list_add(&members[0].node, &probe.members);
	INIT_LIST_HEAD(&probe.opt);
	probe.image = tramp_probe_image_create(&probe, 8, 1, describe, why);
	if (IS_ERR(probe.image))
		return PTR_ERR(probe.image);
	probe.go = probe.image->image.exec.code;
	tramp_probe_hash_add(&probe);
	err = call_through(why);
	tramp_probe_hash_del(&probe);
	tramp_image_retire(&probe.image->image, NULL);
	return err;
}

int __init tramp_selftest_probe(void)
{
	if (!tramp_ksyms.has_probes)
		return 0;
	return tramp_selftest_run("the self-test of probes", run, 3);
}
