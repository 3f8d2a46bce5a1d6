// SPDX-License-Identifier: GPL-2.0
/*
 * The int3 handler: from a trap to the probe's image.
 *
 * All it does is look the address up and have the exception return to the image,
 * which builds the registers, runs the programs and goes on behind the instruction.
 * So nothing is left over when the handler returns, and a trap within a trap is
 * nothing special.
 *
 * There are two ways to it: the chain of die notifiers, which is always there, and a short one
 * (see below).
 *
 * Execution. An int3 is entered with interrupts off and keeps them off, so a CPU that is in the
 * handler answers no IPI. To take a probe away we write the original byte, sync all CPUs (by IPI),
 * and then take the probe from the table. So once it cannot be found, no CPU that trapped on its
 * int3 is left. A CPU that traps while the byte is being changed finds the probe. (On kernels
 * whose kprobe handler looks at the byte before us it may execute what is there by then.) The image
 * that the handler read out of the probe is retired behind RCU-tasks: the task has not passed a
 * voluntary switch since.
 *
 * Code that a handler runs before it is back in the image must not be probed: it would trap again
 * without end. All of it is in this module, which refuses probes in itself, on the kernel's
 * blacklist, or in deny.c. For the same reason this file is built without instrumentation (Kbuild).
 *
 * The short way. The kernel's int3 handler first asks kprobe_int3_handler(), which looks for a
 * kprobe at the address, and then the notifiers. That is a third of the cost of a hit.
 * kprobe_int3_handler() begins with a NOP5 like other functions; a direct call there
 * (ftrace/site.c) asks us before both. Without it the notifier gets the same int3s, and guard.c
 * does what else has to be done there. The call is not possible if another direct call is there, or
 * if the function cannot be traced. It is passed by where another ftrace user is there, or where
 * ftrace protects itself against recursion.
 *
 * Being asked before the kernel's kprobes takes nothing from them. A kprobe may stand on a jump of
 * ours, so this takes only hits of probes whose text is an int3 (probe->text). No kprobe gets
 * there: the kernel registers none on an int3, and no jump with a kprobe on it becomes one. The
 * text and probe->text change under kprobe_mutex (poke.c). While they change, an int3 of ours may
 * pass here; the notifier has it then.
 *
 * The stub and take_first() run in the int3 handler, in a context like an NMI's. Nothing there can
 * be traced or probed, which would lead into the same place again. The stub belongs to the module,
 * so nobody may be in it when the module goes. Taking the site back makes the bytes a NOP (with a
 * sync of all CPUs). Then exit waits for RCU-tasks (base/retire.c), which waits for every CPU that
 * is in an exception.
 *
 * Other people's int3s pay for the question, some twenty instructions. So the site is given back a
 * moment after the last probe has gone, together with the hook, which also keeps ftrace from being
 * switched off meanwhile (kprobe_veto.c).
 */
#include <linux/hashtable.h>
#include <linux/kdebug.h>
#include <linux/kprobes.h>
#include <linux/linkage.h>
#include <linux/objtool.h>
#include <linux/ptrace.h>
#include <asm/ibt.h>
#include "base/ksyms.h"
#include "ftrace/site.h"
#include "guard.h"
#include "image.h"
#include "text/text.h"
#include "trap.h"

#define PROBE_HASH_BITS 12

static struct hlist_head probes[1 << PROBE_HASH_BITS];	/* written under tramp_mutex */

static __always_inline struct hlist_head *bucket(unsigned long addr)
{
	return &probes[hash_64(addr, PROBE_HASH_BITS)];
}

notrace struct tramp_probe *tramp_probe_lookup(unsigned long addr)
{
	struct tramp_probe *probe;

	hlist_for_each_entry_rcu_notrace(probe, bucket(addr), hash) {
		if (probe->addr == addr)
			return probe;
	}
	return NULL;
}
NOKPROBE_SYMBOL(tramp_probe_lookup);

void tramp_probe_hash_add(struct tramp_probe *probe)
{
	lockdep_assert_held(&tramp_mutex);
	hlist_add_head_rcu(&probe->hash, bucket(probe->addr));
}

void tramp_probe_hash_del(struct tramp_probe *probe)
{
	lockdep_assert_held(&tramp_mutex);
	hlist_del_rcu(&probe->hash);
}

void tramp_probe_for_each(tramp_probe_visit_t *fn, void *arg)
{
	struct tramp_probe *probe;
	struct hlist_node *tmp;
	u32 i;

	lockdep_assert_held(&tramp_mutex);
	for (i = 0; i < ARRAY_SIZE(probes); i++) {
		hlist_for_each_entry_safe(probe, tmp, &probes[i], hash)
			fn(probe, arg);
	}
}

/* tramp_cover_t */
static u32 hidden(unsigned long addr, u8 *cover)
{
	const struct tramp_probe *probe = tramp_probe_lookup(addr);
	u32 len;

	lockdep_assert_held(&tramp_mutex);
	if (!probe || probe->text == TRAMP_TEXT_ORIGINAL)
		return 0;
	len = probe->image ? probe->image->len : probe->insn_len;
	len = max_t(u32, len, probe->insn_len);
	memcpy(cover, probe->orig, len);
	return len;
}

void tramp_probe_visit_rcu(tramp_probe_visit_t *fn, void *arg)
{
	struct tramp_probe *probe;
	u32 i;

	for (i = 0; i < ARRAY_SIZE(probes); i++) {
		hlist_for_each_entry_rcu_notrace(probe, &probes[i], hash)
			fn(probe, arg);
	}
}

/* A hit ----------------------------------------------------------------------- */

/* @first: before the kernel's kprobes, one of which may stand on a jump of ours. */
static __always_inline bool take(struct pt_regs *regs, bool first)
{
	struct tramp_probe *probe;
	unsigned long go;

	if (user_mode(regs))
		return false;
	probe = tramp_probe_lookup(regs->ip - 1);
	if (!probe || (first && READ_ONCE(probe->text) != TRAMP_TEXT_INT3))
		return false;
	go = READ_ONCE(probe->go);
	if (!go)
		return false;
	regs->ip = go;
	return true;
}

static notrace int on_die(struct notifier_block *nb, unsigned long event, void *data)
{
	struct die_args *args = data;

	return event == DIE_INT3 && take(args->regs, false) ? NOTIFY_STOP : NOTIFY_DONE;
}
NOKPROBE_SYMBOL(on_die);

static struct notifier_block die_block = {
	.notifier_call = on_die,
	.priority = INT_MAX,
};

/* The short way --------------------------------------------------------------- */

static struct tramp_site *site;		/* tramp_mutex */
static unsigned long site_ip;		/* likewise */

static __used notrace bool take_first(struct pt_regs *regs)
{
	if (take(regs, true))
		return true;
	/* The kernel's kprobes are asked next. */
	tramp_probe_mend_status();
	return false;
}
NOKPROBE_SYMBOL(take_first);

/*
 * Called at the entry of kprobe_int3_handler(regs), before its frame is set up; on
 * the stack are its first instruction behind the call, and its caller. If the int3 is
 * ours, return 1 to the caller in its place. Where it is called nothing is live but
 * the argument.
 *
 * The kernel may write into the padding in front of a function with an ENDBR (kCFI, call
 * depth tracking), so there must be some where its own functions have it.
 */
#ifdef ASM_FUNC_ALIGN
#define STUB_ALIGN	ASM_FUNC_ALIGN "\n"
#else
#define STUB_ALIGN	__ALIGN_STR "\n"
#endif

asm(".pushsection .text, \"ax\", @progbits\n"
	STUB_ALIGN
	".type tramp_int3_stub, @function\n"
	"tramp_int3_stub:\n"
	ASM_ENDBR
	"push	%rdi\n"
	"call	take_first\n"
	"pop	%rdi\n"
	"test	%al, %al\n"
	"jnz	1f\n"
	ASM_RET
	"1: add	$8, %rsp\n"
	"mov	$1, %eax\n"
	ASM_RET
	".size tramp_int3_stub, . - tramp_int3_stub\n"
	".popsection\n");
STACK_FRAME_NON_STANDARD(tramp_int3_stub);
NOKPROBE_SYMBOL(tramp_int3_stub);

void tramp_probe_direct_on(void)
{
	unsigned long ip = tramp_ksyms.kprobe_int3_handler;
	struct tramp_refusal why = {};
	bool entered;

	lockdep_assert_held(&tramp_mutex);
	if (site || !ip)
		return;
	ip = KSYM(ftrace_location)(ip);
	if (!ip)
		return;
	site_ip = ip;
	if (tramp_site_attach_alone(ip, (unsigned long)tramp_int3_stub, &site, &entered, &why)) {
		site = NULL;
		pr_debug("int3s come by the die notifiers: %s\n", tramp_reason_name(why.reason));
	}
}

bool tramp_probe_direct_is_on(void)
{
	lockdep_assert_held(&tramp_mutex);
	return site;
}

bool tramp_probe_direct_off(void)
{
	bool done = true;

	lockdep_assert_held(&tramp_mutex);
	if (site)
		done = tramp_site_detach(site, site_ip, (unsigned long)tramp_int3_stub);
	site = NULL;
	return done;
}

/* Load and unload ------------------------------------------------------------ */

int __init tramp_probe_trap_init(void)
{
	int err = register_die_notifier(&die_block);

	if (!err)
		tramp_text_set_cover(hidden);
	return err;
}

void tramp_probe_trap_exit(void)
{
	tramp_text_set_cover(NULL);
	unregister_die_notifier(&die_block);
}
