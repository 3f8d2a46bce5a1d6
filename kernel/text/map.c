// SPDX-License-Identifier: GPL-2.0
/*
 * Where in the text something may jump to.
 *
 * Before a jump is put over several instructions it must be known that nothing lands on any
 * but the first. A function's own branches are not enough: its .cold part jumps back into its
 * middle, hand-written code jumps wherever it likes. So the whole text is decoded once, symbol by
 * symbol. The target of every direct branch gets a bit, also that of an abort (xbegin). So do the
 * fix-ups of exception tables, and the targets of jump labels, which are branches at one time and
 * NOPs at another. Then the question is answered in constant time, for any number of probes.
 *
 * A branch to the middle of a function comes from the same module as the function: the linker
 * resolves no other direct branch but to a symbol. So each module's text is read when a probe in
 * it first wants to know.
 *
 * Where instructions start is noted on the way, so that no function is decoded again and
 * again for each probe in it.
 *
 * The same tables tell which bytes the kernel itself patches: jump labels and static calls. (The
 * kernel's own answer goes through all of them each time.) Others it reads again: those of kCFI's
 * checks.
 *
 * The answer stays right. Code that appears later (another module) is not linked against the
 * middle of functions. Jump labels and fix-ups were counted in any state. Alternatives have been
 * applied before.
 *
 * A symbol is decoded with tramp_mutex and text_mutex held, so nobody patches it at that time and
 * every probe in it can be seen through. Data among the code may be taken for branches. Then a
 * place counts as a target that is none, which is the harmless side; decoding starts afresh at
 * the next symbol. If a symbol cannot be decoded to its end, nothing is known of the rest: all of
 * its bytes count as targets, and its branches from there are not known. The kernel's own text has
 * no such symbol that is compiled code.
 */
#include <linux/bitmap.h>
#include <linux/extable.h>
#include <linux/jump_label.h>
#include <linux/mm.h>
#include <linux/rculist.h>
#include <linux/static_call.h>
#include <linux/vmalloc.h>
#include "map.h"
#include "base/compat.h"
#include "base/ksyms.h"
#include "base/peek.h"
#include "text.h"

/*
 * Text, and bitmaps of its bytes. The bitmaps are one allocation, which @starts begins. They are
 * used with tramp_mutex held; from where to where the text is, under RCU as well.
 */
struct area {
	struct list_head node;
	struct rcu_head rcu;
	struct module *mod;		/* NULL: the kernel */
	unsigned long start;
	unsigned long end;
	unsigned long *starts;		/* instructions */
	unsigned long *targets;
	unsigned long *reserved;
};

static LIST_HEAD(areas);		/* tramp_mutex; read under RCU, too */
static DEFINE_MUTEX(reading);		/* one reader at a time; taken before tramp_mutex */

static bool in_area(const struct area *area, unsigned long addr)
{
	return addr >= area->start && addr < area->end;
}

/* tramp_mutex held, or RCU's read lock. */
static struct area *search(unsigned long addr)
{
	struct area *area;

	list_for_each_entry_rcu(area, &areas, node, lockdep_is_held(&tramp_mutex)) {
		if (in_area(area, addr))
			return area;
	}
	return NULL;
}

static struct area *find_area(unsigned long addr)
{
	lockdep_assert_held(&tramp_mutex);
	return search(addr);
}

bool tramp_map_ready(unsigned long addr)
{
	return find_area(addr);
}

/* The same without tramp_mutex, out of date at once if it is a module's. */
static bool is_ready(unsigned long addr)
{
	bool ready;

	rcu_read_lock();
	ready = search(addr);
	rcu_read_unlock();
	return ready;
}

bool tramp_map_target(unsigned long addr)
{
	const struct area *area = find_area(addr);

	return !area || test_bit(addr - area->start, area->targets);
}

bool tramp_map_start(unsigned long addr, unsigned long *before)
{
	const struct area *area = find_area(addr);
	unsigned long bit = addr - area->start;

	*before = area->start + find_last_bit(area->starts, bit + 1);
	return test_bit(bit, area->starts);
}

bool tramp_map_reserved(unsigned long start, unsigned long end)
{
	const struct area *area = find_area(start);
	unsigned long last = min(end, area->end) - area->start;

	return find_next_bit(area->reserved, last, start - area->start) < last;
}

static void mark(struct area *area, unsigned long addr)
{
	if (in_area(area, addr))
		__set_bit(addr - area->start, area->targets);
}

static void reserve(struct area *area, unsigned long addr, u32 len)
{
	if (in_area(area, addr) && addr + len <= area->end)
		bitmap_set(area->reserved, addr - area->start, len);
}

/* Decode one symbol's bytes from @start to @end. */
static void read_symbol(struct area *area, unsigned long start, unsigned long end)
{
	struct tramp_x86_insn insn;
	struct tramp_cursor c;
	unsigned long at;

	tramp_cursor_init(&c, start, end);
	for (at = start; tramp_cursor_next(&c, &insn); at = c.addr) {
		__set_bit(at - area->start, area->starts);
		if (tramp_x86_has_target(&insn))
			mark(area, tramp_x86_branch_target(&insn, at));
	}
	for (; at < end; at++)
		mark(area, at);
}

static void read_fixups(struct area *area, const struct exception_table_entry *e,
			const struct exception_table_entry *end)
{
	for (; e < end; e++)
		mark(area, (unsigned long)&e->fixup + e->fixup);
}

/* A jump label is a jump or a NOP, of 5 bytes each or of 2. Text locked. */
static u32 label_size(const u8 *code)
{
	tramp_text_assert_locked();
	return *code == JMP32_INSN_OPCODE || *code == 0x0f ? JMP32_INSN_SIZE : JMP8_INSN_SIZE;
}

static void read_labels(struct area *area, const struct jump_entry *e,
			const struct jump_entry *end)
{
	unsigned long code;

	for (; e < end; e++) {
		code = jump_entry_code(e);
		mark(area, jump_entry_target(e));
		/* Those of init text are in the table, too; the text is gone. */
		if (in_area(area, code))
			reserve(area, code, label_size((const u8 *)code));
	}
}

static void read_calls(struct area *area, const struct static_call_site *s,
		       const struct static_call_site *end)
{
	for (; s < end; s++)
		reserve(area, (unsigned long)&s->addr + s->addr, CALL_INSN_SIZE);
}

#ifdef CONFIG_ARCH_USES_CFI_TRAPS
/*
 * kCFI's check in front of an indirect call. A mov (6 bytes) has the hash of the type. An add (4)
 * adds the one in front of the callee. A branch (2) goes over a ud2, which is executed when a wrong
 * function was to be called. The kernel knows the ud2 by its address, and reads mov and add for its
 * report: which function, and of what type. Its own kprobes keep off, too (can_probe()). With
 * FineIBT there is no ud2; the check is in front of the callee.
 */
static void read_checks(struct area *area, const s32 *t, const s32 *end)
{
	static const u8 ud2[] = { 0x0f, 0x0b };
	unsigned long trap;

	for (; t < end; t++) {
		trap = (unsigned long)t + *t;
		if (!in_area(area, trap) || memcmp((void *)trap, ud2, sizeof(ud2)))
			continue;
		reserve(area, trap - 12, 6 + 4);
		reserve(area, trap, sizeof(ud2));
	}
}

static void read_traps(struct area *area)
{
	tramp_text_assert_locked();
	if (area->mod)
		read_checks(area, area->mod->kcfi_traps, area->mod->kcfi_traps_end);
	else
		read_checks(area, (void *)tramp_ksyms.__start___kcfi_traps,
			    (void *)tramp_ksyms.__stop___kcfi_traps);
}
#else
static void read_traps(struct area *area)
{
}
#endif

static void read_tables(struct area *area)
{
	mutex_lock(&tramp_mutex);
	tramp_text_lock();
	if (area->mod) {
		read_fixups(area, area->mod->extable,
			    area->mod->extable + area->mod->num_exentries);
		read_labels(area, area->mod->jump_entries,
			    area->mod->jump_entries + area->mod->num_jump_entries);
		read_calls(area, area->mod->static_call_sites,
			   area->mod->static_call_sites + area->mod->num_static_call_sites);
	} else {
		read_fixups(area, (void *)tramp_ksyms.__start___ex_table,
			    (void *)tramp_ksyms.__stop___ex_table);
		read_labels(area, (void *)tramp_ksyms.__start___jump_table,
			    (void *)tramp_ksyms.__stop___jump_table);
		read_calls(area, (void *)tramp_ksyms.__start_static_call_sites,
			   (void *)tramp_ksyms.__stop_static_call_sites);
	}
	read_traps(area);
	tramp_text_unlock();
	mutex_unlock(&tramp_mutex);
}

/* The text that holds @addr; for a module with a reference to it. */
static int find_text(struct area *area, unsigned long addr)
{
	struct module *mod;

	if (KSYM(core_kernel_text)(addr)) {
		area->start = tramp_ksyms._stext;
		area->end = tramp_ksyms._etext;
		return in_area(area, addr) ? 0 : -ENOENT;
	}
	preempt_disable();
	mod = KSYM(__module_text_address)(addr);
	/*
	 * One that has its init text is not ready. The loader cuts the fix-ups of that text out of
	 * the table when the state is LIVE already: start and length one after the other
	 * (trim_init_extable()). Then it drops the text. x86 stores in order, and whoever sees the
	 * size gone reads the table behind that.
	 */
	if (mod && (tramp_module_init_size(mod) || !tramp_module_get_live(mod)))
		mod = NULL;
	preempt_enable();
	/* The table behind the size. */
	smp_rmb();
	if (!mod)
		return -ENOENT;
	area->mod = mod;
	tramp_module_text(mod, &area->start, &area->end);
	return in_area(area, addr) ? 0 : -ENOENT;
}

/*
 * Symbols from @addr on, for a tick: others wait for the mutex as long, and it waits for them,
 * which would take too long with each symbol. Return: where it goes on.
 */
static unsigned long read_some(struct area *area, unsigned long addr)
{
	unsigned long end, since = jiffies;
	struct tramp_symbol sym;

	mutex_lock(&tramp_mutex);
	tramp_text_lock();
	do {
		if (tramp_text_symbol(addr, &sym))
			end = min(sym.start + sym.size, area->end);
		else
			end = addr + 1;
		read_symbol(area, addr, end);
		addr = end;
	} while (addr < area->end && time_before_eq(jiffies, since));
	tramp_text_unlock();
	mutex_unlock(&tramp_mutex);
	return addr;
}

static void read_text(struct area *area)
{
	unsigned long addr = area->start;

	while (addr < area->end) {
		addr = read_some(area, addr);
		cond_resched();
	}
	read_tables(area);
}

static void free_area(struct area *area)
{
	kvfree(area->starts);
	kfree(area);
}

/* Text that is not ready yet. */
static int read_area(unsigned long addr)
{
	struct area *area = kzalloc(sizeof(*area), GFP_KERNEL);
	struct module *ref;
	unsigned long longs;
	int err;

	if (!area)
		return -ENOMEM;
	err = find_text(area, addr);
	ref = area->mod;
	if (!err) {
		longs = BITS_TO_LONGS(area->end - area->start);
		area->starts = kvcalloc(3 * longs, sizeof(long), GFP_KERNEL);
		area->targets = area->starts + longs;
		area->reserved = area->targets + longs;
		err = area->starts ? 0 : -ENOMEM;
	}
	if (err) {
		free_area(area);
	} else {
		read_text(area);
		/* With the reference still held: forget() comes later, or not at all. */
		mutex_lock(&tramp_mutex);
		list_add_rcu(&area->node, &areas);
		mutex_unlock(&tramp_mutex);
	}
	module_put(ref);
	return err;
}

int tramp_map_read(unsigned long addr)
{
	int err;

	/* Nearly always: no lock, which a batch would wait for with each of its places. */
	if (is_ready(addr))
		return 0;
	mutex_lock(&reading);
	err = is_ready(addr) ? 0 : read_area(addr);
	mutex_unlock(&reading);
	return err;
}

void tramp_map_forget(const struct module *mod)
{
	struct area *area, *tmp;

	lockdep_assert_held(&tramp_mutex);
	list_for_each_entry_safe(area, tmp, &areas, node) {
		if (!mod || area->mod == mod) {
			list_del_rcu(&area->node);
			kvfree(area->starts);
			kfree_rcu(area, rcu);
		}
	}
}
