// SPDX-License-Identifier: GPL-2.0
/*
 * A short way from an int3 to a probe's image.
 *
 * The kernel's int3 handler first asks kprobe_int3_handler(), which looks for a kprobe at the
 * address, and then the chain of die notifiers. That is a third of the cost of a hit.
 * kprobe_int3_handler() begins with a NOP5 like other functions; a direct call there
 * (ftrace/site.c) asks us before both. It is a matter of speed alone: without it the notifier gets
 * the same int3s (trap.c). The call is not possible if another direct call is there, or if the
 * function cannot be traced. It is passed by where another ftrace user is there, or where ftrace
 * protects itself against recursion.
 *
 * Being asked before the kernel's kprobes takes nothing from them. A kprobe may stand on a jump of
 * ours, so this takes only hits of probes whose text is an int3 (probe->text). No kprobe gets
 * there: the kernel registers none on an int3, and no jump with a kprobe on it becomes one. The
 * text and probe->text change under kprobe_mutex (poke.c). While they change, an int3 of ours may
 * pass here; the notifier has it then.
 *
 * Execution. The stub and tramp_probe_take_first() run in the int3 handler, with interrupts off,
 * in a context like an NMI's. Nothing there can be traced or probed, which would lead into the
 * same place again. The stub belongs to the module, so nobody may be in it when the module goes.
 * Taking the site back makes the bytes a NOP (with a sync of all CPUs). Then exit waits for
 * RCU-tasks (base/retire.c), which waits for every CPU that is in an exception.
 *
 * Other people's int3s pay for the question, some twenty instructions. So the site is
 * given back a moment after the last probe has gone, together with the hook, which also
 * keeps ftrace from being switched off meanwhile (kprobe_veto.c).
 */
#include <linux/kprobes.h>
#include <linux/linkage.h>
#include <linux/objtool.h>
#include <asm/ibt.h>
#include "base/ksyms.h"
#include "ftrace/site.h"
#include "trap.h"

static struct tramp_site *site;		/* tramp_mutex */

/*
 * Called at the entry of kprobe_int3_handler(regs), before its frame is set up; on
 * the stack are its first instruction behind the call, and its caller. If the int3 is
 * ours, return 1 to the caller in its place. Where it is called nothing is live but
 * the argument.
 */
asm(".pushsection .text, \"ax\", @progbits\n"
	".type tramp_int3_stub, @function\n"
	"tramp_int3_stub:\n"
	ASM_ENDBR
	"push	%rdi\n"
	"call	tramp_probe_take_first\n"
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
	if (tramp_site_attach(ip, (unsigned long)tramp_int3_stub, &site, &entered, &why)) {
		site = NULL;
		pr_debug("int3s come by the die notifiers: %s\n", tramp_reason_name(why.reason));
	}
}

bool tramp_probe_direct_off(void)
{
	bool done = true;

	lockdep_assert_held(&tramp_mutex);
	if (site)
		done = tramp_site_detach(site, (unsigned long)tramp_int3_stub);
	site = NULL;
	return done;
}
