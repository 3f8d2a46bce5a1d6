// SPDX-License-Identifier: GPL-2.0
/*
 * The page tables of the kernel's text, of modules and of images: is there a page that can be
 * written and executed?
 *
 * The walk takes no lock. Page tables of the kernel stay where areas of modules are freed, so
 * an entry that is read may be an old one, but it is an entry. A page and the same memory in the
 * direct mapping are two entries. They are compared where nobody changes them:
 *
 * Memory is freed (vm_reset_perms() in mm/vmalloc.c): the page's entry is cleared, all CPUs flush
 * their TLBs, then the direct mapping becomes writable again. With interrupts off we hold up the
 * flush between the two.
 *
 * Memory becomes executable (set_memory_rox() in arch/x86/mm/pat/set_memory.c, from 6.4 on): the
 * page's entry first, then that of the direct mapping. Between the two the kernel itself has a page
 * of both kinds. Nobody has been given it yet: modules are prepared so before they run, and BPF's
 * allocator before it hands out what images lie in. The kernel's function does not sleep in
 * there, so it is through after a grace period of RCU tasks. A page that is of both kinds even then
 * stays so.
 */
#include <linux/irqflags.h>
#include <linux/kernel.h>
#include <linux/mm.h>
#include <linux/rcupdate.h>
#include <linux/sched.h>
#include <linux/vmalloc.h>
#include <asm/pgtable.h>
#include "trampoline_test.h"

static bool is_writable(unsigned long addr)
{
	unsigned int level;
	pte_t *pte = lookup_address(addr, &level);
	pte_t entry = pte ? READ_ONCE(*pte) : __pte(0);

	return (pte_flags(entry) & _PAGE_PRESENT) && (pte_flags(entry) & _PAGE_RW);
}

/* The same memory in the direct mapping. */
static unsigned long alias(pte_t entry, unsigned int level, unsigned long addr)
{
	unsigned long pfn = (pte_val(entry) & PTE_PFN_MASK) >> PAGE_SHIFT;

	return (unsigned long)__va(pfn << PAGE_SHIFT) + (addr & (page_level_size(level) - 1));
}

/* Is @addr mapped by @entry still, and the same memory writable in the direct mapping? */
static bool is_aliased(unsigned long addr, pte_t entry)
{
	unsigned long flags;
	unsigned int level;
	pte_t *pte;
	bool both;

	local_irq_save(flags);
	pte = lookup_address(addr, &level);
	both = pte && pte_same(READ_ONCE(*pte), entry) && is_writable(alias(entry, level, addr));
	local_irq_restore(flags);
	return both;
}

/* And is it so for good? */
static bool stays_aliased(unsigned long addr, pte_t entry)
{
	if (!is_aliased(addr, entry))
		return false;
	synchronize_rcu_tasks();
	return is_aliased(addr, entry);
}

/* Of the module's data, so in the range that is walked. Nobody executes or writes it. */
static u8 planted[PAGE_SIZE] __aligned(PAGE_SIZE);

static int with_planted(bool aliased, void (*run)(struct tt_pages *p), struct tt_pages *p)
{
	unsigned int level;
	pte_t *pte = lookup_address((unsigned long)planted, &level);
	pte_t was;

	if (!pte || level != PG_LEVEL_4K)
		return -EOPNOTSUPP;
	was = READ_ONCE(*pte);
	/* No CPU need see it. */
	WRITE_ONCE(pte->pte, was.pte & ~(_PAGE_NX | (aliased ? _PAGE_RW : 0)));
	run(p);
	WRITE_ONCE(pte->pte, was.pte);
	return 0;
}

int tt_walk_planted(struct tt_pages *p, bool aliased)
{
	int err = with_planted(aliased, tt_walk_pages, p);

	if (!err && p->at != (unsigned long)planted)
		p->at = 0;
	return err;
}

/* A call that is a step: it maps nothing. */
static void call_step(struct tt_pages *p)
{
	vunmap(NULL);
}

int tt_step_planted(void)
{
	return with_planted(false, call_step, NULL);
}

/* @waits: compare with the direct mapping as well */
static void look_at(struct tt_pages *p, unsigned long addr, pte_t entry, unsigned int level,
		    bool waits)
{
	unsigned long nr = page_level_size(level) / PAGE_SIZE;

	if ((pte_flags(entry) & (_PAGE_PRESENT | _PAGE_NX)) != _PAGE_PRESENT)
		return;
	p->executable += nr;
	if (pte_flags(entry) & _PAGE_RW) {
		p->both += nr;
		p->at = addr;
	} else if (waits && addr >= MODULES_VADDR && stays_aliased(addr, entry)) {
		p->aliased += nr;
		p->at = addr;
	}
}

static void walk(struct tt_pages *p, bool waits)
{
	unsigned long addr = __START_KERNEL_map, size;
	unsigned int level;
	pte_t *pte;

	memset(p, 0, sizeof(*p));
	/* Not the fixed mappings behind the modules; their end may be that of the address space. */
	while (addr >= __START_KERNEL_map && addr < MODULES_END) {
		pte = lookup_address(addr, &level);
		/* Without an entry the level is that of a table above. */
		size = pte ? page_level_size(level) : PMD_SIZE;
		addr &= ~(size - 1);
		/* The entries of a table follow each other. */
		do {
			if (pte)
				look_at(p, addr, READ_ONCE(*pte++), level, waits);
			addr += size;
		} while (size == PAGE_SIZE && addr & (PMD_SIZE - 1));
		if (waits)
			cond_resched();
	}
}

void tt_walk_pages(struct tt_pages *p)
{
	walk(p, true);
}

void tt_count_pages(struct tt_pages *p)
{
	walk(p, false);
}
