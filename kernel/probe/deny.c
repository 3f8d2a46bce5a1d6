// SPDX-License-Identifier: GPL-2.0
/*
 * Functions that may hold no probe, or only a kernel kprobe, beyond what the kernel forbids
 * itself. There is a rule, and a list by name of what the rule cannot know.
 *
 * The rule: a function without an ftrace site is refused, in every mode, as the kernel does for its
 * own BPF kprobes (within_notrace_func()). A function tracer may be set on the trap path
 * (get_kprobe() has a site): then our own trap calls that tracer. Both ftrace and its users run
 * some code before they can tell that they are running already. An int3 there would trap again and
 * again. But that code cannot be traceable: it would recurse without any probe. So "has a site" is
 * computed, complete, and needs no list. It also covers, without their names:
 *
 * - ftrace's entry code, its thunks, and the tracers' callbacks; hwlat and osnoise, which the
 *   exception's entry calls before any handler;
 * - the thunks of returns, which end every function, ours and the kprobes' included, and of
 *   indirect branches; the entry of preempt_schedule_notrace(), which an image calls outside of
 *   any recursion guard;
 * - static calls' trampolines, whose bytes the kernel compares with what it wrote, and the padding
 *   in front of functions (__pfx_, __cfi_);
 * - assembly, above all code that is copied and runs where no int3 of ours means anything:
 *   kexec's control page takes relocate_kernel with its neighbours, hibernation core_restore_code;
 * - most of what a CPU runs without an IDT (below).
 *
 * The site is at the entry, at most behind an ENDBR. One further behind belongs to a function that
 * has lost its name to another of the same one (a weak function).
 *
 * Part of a function (foo.cold) has no entry: it belongs to foo, which must have a site. If
 * several functions are called foo, all of them must.
 *
 * The list has functions with a site. selftests/vm/probe/test_probe_gate.c computes from the text
 * of the running kernel what must be in it.
 *
 * The trap path. Our int3 handler is a die notifier. Functions that the kernel calls before it
 * reaches a notifier must not trap again. notify_die() and the notifier chain are on the kernel's
 * blacklist. But they take rcu_read_lock(), which is a function with PREEMPT_RCU, and call more
 * with debugging of locks or of notifiers. Since 6.4 there is a tracepoint in the chain
 * (notifier_run), and the way of its event into a buffer. (That tracepoint's own user may do more;
 * docs/limits.md.) The kernel asks its own kprobes before all that. (Most hits never get there, see
 * trap.c; all must be able to.)
 *
 * BPF on the trap path. A program may be at get_kprobe(), or anywhere else on the way. The
 * kernel's trampoline for it takes RCU's read lock and calls migrate_disable() outside of the
 * program's own recursion count. An int3 in those functions would come by again without end, a
 * kernel kprobe's too. The kernel knows them, and allows no fentry program at them (btf_id_deny in
 * its verifier).
 *
 * Without an IDT. A CPU on its way up has no IDT of the kernel's until it has been in
 * load_current_idt(). One that wakes up from suspend has none until its registers are restored,
 * and one that enters another kernel by kexec has dropped it. An int3 there resets the machine,
 * ours or not. (The entry of such a function is ftrace's, without an int3.)
 *
 * Without RCU (text/idle.c). RCU does not watch in the idle functions. An int3's exception entry
 * wakes RCU up as long as the handler runs; an image would run without. On a CPU on its way out
 * nothing wakes it up: there is no probe at all (text/unsafe.c).
 */
#include <linux/kallsyms.h>
#include <linux/module.h>
#include <linux/rcupdate.h>
#include <linux/string.h>
#include "base/ksyms.h"
#include "internal.h"
#include "text/idle.h"
#include "text/unsafe.h"

/* The functions that may be the one a part belongs to. */
struct parents {
	u32 nr;
	bool sites;		/* each has one */
};

static bool has_site(unsigned long start, unsigned long size)
{
	unsigned long last = start + min_t(unsigned long, size - 1, TRAMP_SITE_MAX);

	/* Inclusive, and a site's 5 bytes count: none begins before @start and reaches into it. */
	return KSYM(ftrace_text_reserved)((void *)start, (void *)last);
}

static int take_parent(void *arg, unsigned long addr)
{
	struct parents *p = arg;
	struct tramp_symbol sym;

	p->nr++;
	p->sites &= tramp_text_symbol(addr, &sym) && sym.start == addr &&
		    has_site(addr, sym.size);
	return 0;
}

/* The name up to ".cold", in place; NULL if it has none. */
static char *parent_name(char *name)
{
	char *dot = strstr(name, ".cold");

	if (!dot || !strchr(".", dot[strlen(".cold")]))
		return NULL;
	*dot = '\0';
	return name;
}

/* Whether ftrace covers a function, or for a part of one (.cold) the one that it belongs to. */
static bool traceable(const struct tramp_place *place)
{
	struct parents p = { .sites = true };
	char name[KSYM_NAME_LEN];

	lockdep_assert_held(&tramp_mutex);	/* a module's notifier waits for it */
	if (has_site(place->sym.start, place->sym.size))
		return true;
	if (!tramp_text_name(place->sym.start, name, NULL) || !parent_name(name))
		return false;
	tramp_text_each_match(place->module, name, take_parent, &p);
	return p.nr && p.sites;
}

/* A kernel kprobe would be no better. */
#define REFUSE	BIT(0)

static const struct tramp_name_rule denied[] = {
	/* Without an IDT: on the way up (cpu_init_fred_ with FRED), and into kexec. */
	{ "cpu_init_fred_", TRAMP_MATCH_PREFIX, REFUSE },
	{ "load_current_idt", TRAMP_MATCH_EXACT, REFUSE },
	{ "machine_kexec", TRAMP_MATCH_EXACT, REFUSE },
	{ "idt_invalidate", TRAMP_MATCH_EXACT, REFUSE },
	{ "native_gdt_invalidate", TRAMP_MATCH_EXACT, REFUSE },
	/*
	 * Out of hibernation: behind swsusp_arch_suspend(), which create_image() calls, the other
	 * kernel's per-CPU base is in GS until restore_processor_state() has run.
	 */
	{ "create_image", TRAMP_MATCH_EXACT, REFUSE },
	{ "hibernation_snapshot", TRAMP_MATCH_EXACT, REFUSE },
	/* It copies all memory: text/unsafe.c. */
	{ "swsusp_save", TRAMP_MATCH_EXACT, REFUSE },
	/* native_write_msr()'s tracepoint: it is called there, too. */
	{ "do_trace_write_msr", TRAMP_MATCH_EXACT, REFUSE },
	{ "__traceiter_write_msr", TRAMP_MATCH_EXACT, REFUSE },
#ifdef CONFIG_TRACE_IRQFLAGS
	/* So is that of local_irq_save(); 6.1 wakes RCU up for it. */
	{ "__traceiter_irq_disable", TRAMP_MATCH_EXACT, REFUSE },
	{ "__srcu_read_lock", TRAMP_MATCH_EXACT, REFUSE },
	{ "__srcu_read_unlock", TRAMP_MATCH_EXACT, REFUSE },
	{ "ct_irq_enter_irqson", TRAMP_MATCH_EXACT, REFUSE },
	{ "ct_irq_exit_irqson", TRAMP_MATCH_EXACT, REFUSE },
#endif

	/*
	 * The trap path. A BPF trampoline of the kernel's may be at get_kprobe(): what it runs
	 * before its test for recursion is in text/unsafe.c.
	 */
	/* The clocks of traces read these (ktime_get_mono_fast_ns()). */
	{ "delta_to_ns_safe", TRAMP_MATCH_EXACT, REFUSE },
	{ "read_tsc", TRAMP_MATCH_EXACT, REFUSE },
	{ "read_hpet", TRAMP_MATCH_EXACT, REFUSE },
	{ "acpi_pm_read", TRAMP_MATCH_EXACT, REFUSE },
	{ "kvm_clock_get_cycles", TRAMP_MATCH_EXACT, REFUSE },
	{ "xen_clocksource_get_cycles", TRAMP_MATCH_EXACT, REFUSE },
	{ "read_hv_clock_", TRAMP_MATCH_PREFIX, REFUSE },
	{ "do_trace_read_msr", TRAMP_MATCH_EXACT, REFUSE },
	{ "__traceiter_read_msr", TRAMP_MATCH_EXACT, REFUSE },
	{ "dummy_clock_read", TRAMP_MATCH_EXACT, REFUSE },
	/* With CONFIG_KGDB_LOW_LEVEL_TRAP do_int3() asks it first. It is no NOKPROBE function. */
	{ "kgdb_ll_trap", TRAMP_MATCH_EXACT, REFUSE },
	/* A die notifier that was there before ours, with the same priority. */
	{ "hw_breakpoint_exceptions_notify", TRAMP_MATCH_EXACT },
#ifdef CONFIG_DEBUG_NOTIFIERS
	/* The chain asks of each notifier whether it is a function, before it calls it. */
	{ "func_ptr_is_kernel_text", TRAMP_MATCH_EXACT },
	{ "is_module_text_address", TRAMP_MATCH_EXACT },
	{ "__module_text_address", TRAMP_MATCH_EXACT },
	{ "__module_address", TRAMP_MATCH_EXACT },
	{ "mod_find", TRAMP_MATCH_EXACT },
	{ "rcu_read_lock_sched_held", TRAMP_MATCH_EXACT },	/* with lock debugging */
#endif
#ifdef CONFIG_OSNOISE_TRACER
	/* osnoise has each trap's end write an event (nmi_noise), a kernel kprobe's too. */
	{ "__traceiter_nmi_noise", TRAMP_MATCH_EXACT, REFUSE },
	{ "perf_trace_run_bpf_submit", TRAMP_MATCH_EXACT, REFUSE },
	{ "perf_tp_event", TRAMP_MATCH_PREFIX, REFUSE },
	{ "perf_swevent_", TRAMP_MATCH_PREFIX, REFUSE },
	{ "__cant_sleep", TRAMP_MATCH_EXACT, REFUSE },
	{ "__cant_migrate", TRAMP_MATCH_EXACT, REFUSE },
	{ "rcu_read_lock_held", TRAMP_MATCH_EXACT, REFUSE },
#endif
}, trace_path[] = {
	/* The part with sites: the way of a trace event into perf, and to programs. */
	{ "perf_trace_run_bpf_submit", TRAMP_MATCH_EXACT },
	{ "perf_tp_event", TRAMP_MATCH_PREFIX },
	{ "perf_swevent_", TRAMP_MATCH_PREFIX },
	{ "__traceiter_", TRAMP_MATCH_PREFIX },
	{ "__cant_sleep", TRAMP_MATCH_EXACT },
	{ "__cant_migrate", TRAMP_MATCH_EXACT },
	{ "rcu_read_lock_held", TRAMP_MATCH_EXACT },
};

/* Whether a trace event is written on the trap path. Lock debugging writes some as well. */
static bool has_events(void)
{
	return tramp_ksyms.__tracepoint_notifier_run || IS_ENABLED(CONFIG_LOCKDEP);
}

void tramp_place_deny(struct tramp_place *place)
{
	const struct tramp_name_rule *rule;
	char name[KSYM_NAME_LEN] = "";

	place->untraced = !traceable(place);
	tramp_text_name(place->sym.start, name, NULL);
	place->unsafe = tramp_text_unsafe(name, place->module);
	if (place->unsafe) {
		place->denied = tramp_text_unsafe_for(place->unsafe, true);
		place->refuse = true;
		return;
	}
	if (tramp_text_idle(place->sym.start, name)) {
		place->denied = TRAMP_REASON_RCU_IDLE;
		return;
	}
	rule = tramp_name_find(denied, ARRAY_SIZE(denied), name);
	if (!rule && has_events())
		rule = tramp_name_find(trace_path, ARRAY_SIZE(trace_path), name);
	if (!rule)
		return;
	place->refuse = rule->flags & REFUSE;
	place->denied = TRAMP_REASON_BLACKLISTED;
}
