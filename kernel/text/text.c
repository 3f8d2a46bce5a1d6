// SPDX-License-Identifier: GPL-2.0
/*
 * Kernel text: reading what it was before anybody's probes, and writing probes into it.
 *
 * Reading. Several parties patch text, each under text_mutex, and each knows the original. Jump
 * labels, static calls and ftrace swap one instruction for another of the same length, which
 * changes nothing for a decoder. A probe's int3 or jump does hide instructions. Ours keep what
 * they hide; the kernel's kprobes keep the first byte, and the next four when they are jumps.
 *
 * Writing. kprobe_mutex comes first: the kernel registers a kprobe in one go under it, from
 * copying the instruction to arming it, but takes text_mutex only for parts of that. If a jump of
 * ours came in between, its int3 would fall into our displacement. And no CPU is half-way up or
 * down. Such a CPU runs code that may be probed, but a sync is an IPI to CPUs that are online, and
 * RCU does not wait for it either. It might still trap on an int3 whose probe is gone, or stand in
 * a region that becomes a jump. The order of the locks is that of the kernel's own optimiser
 * (kprobe_optimizer()).
 */
#include <linux/cpu.h>
#include <linux/mutex.h>
#include "base/ksyms.h"
#include "base/tramp.h"
#include "text.h"

static tramp_cover_t *our_cover;

static struct mutex *text_mutex_ptr(void)
{
	return (struct mutex *)tramp_ksyms.text_mutex;
}

static struct mutex *kprobe_mutex_ptr(void)
{
	return (struct mutex *)tramp_ksyms.kprobe_mutex;
}

void tramp_text_assert_locked(void)
{
	lockdep_assert_held(&tramp_mutex);
	lockdep_assert_held(text_mutex_ptr());
}

void tramp_text_assert_write_locked(void)
{
	lockdep_assert_held(kprobe_mutex_ptr());
	tramp_text_assert_locked();
}

void tramp_text_set_cover(tramp_cover_t *cover)
{
	our_cover = cover;
}

void tramp_cursor_init(struct tramp_cursor *c, unsigned long start, unsigned long end)
{
	c->addr = start;
	c->end = end;
	c->cover_len = 0;
}

/*
 * The bytes that a kernel kprobe at @addr hides. Return: how many, 0 if there is none. One whose
 * module has gone stays in the kernel's table, with its byte, until its owner lets go of it. It
 * hides nothing of a module that comes to the same place.
 */
static u32 kprobe_cover(unsigned long addr, u8 first, u8 *cover)
{
	const struct optimized_kprobe *op;
	const struct kprobe *kp;
	u32 len = 0;

	preempt_disable();
	kp = KSYM(get_kprobe)((void *)addr);
	/* Its other flags change under kprobe_mutex alone: a plain word. */
	if (kp && !data_race(kp->flags & KPROBE_FLAG_GONE)) {
		cover[0] = kp->opcode;
		len = 1;
		/* As above. */
		if (first == JMP32_INSN_OPCODE && data_race(kp->flags & KPROBE_FLAG_OPTIMIZED)) {
			op = container_of(kp, struct optimized_kprobe, kp);
			memcpy(cover + 1, op->optinsn.copied_insn, DISP32_SIZE);
			len = TRAMP_X86_JUMP_SIZE;
		}
	}
	preempt_enable();
	return len;
}

/* The bytes that a probe at @addr hides. Return: how many. */
static u32 find_cover(unsigned long addr, u8 *cover)
{
	u8 first = *(const u8 *)addr;

	if (first != INT3_INSN_OPCODE && first != JMP32_INSN_OPCODE)
		return 0;
	return (our_cover ? our_cover(addr, cover) : 0) ?: kprobe_cover(addr, first, cover);
}

void tramp_text_original(unsigned long addr, unsigned long start, u8 *buf, u32 len)
{
	u8 cover[TRAMP_X86_MAX_REGION];
	unsigned long at;
	u32 i, n;

	tramp_text_assert_locked();
	memcpy(buf, (const void *)addr, len);
	/* Every probe that may reach into the range, wherever it began. */
	for (at = max(start, addr - (sizeof(cover) - 1)); at < addr + len; at++) {
		n = find_cover(at, cover);
		for (i = at < addr ? addr - at : 0; i < n && at + i < addr + len; i++)
			buf[at + i - addr] = cover[i];
	}
}

bool tramp_cursor_next(struct tramp_cursor *c, struct tramp_x86_insn *insn)
{
	u8 code[TRAMP_X86_MAX_INSN];
	u32 i, avail;

	tramp_text_assert_locked();
	if (c->addr >= c->end)
		return false;
	avail = min_t(unsigned long, c->end - c->addr, sizeof(code));
	if (c->addr >= c->cover_at + c->cover_len)
		c->cover_len = 0;
	if (!c->cover_len) {
		c->cover_at = c->addr;
		c->cover_len = find_cover(c->addr, c->cover);
	}

	memcpy(code, (const void *)c->addr, avail);
	for (i = 0; i < avail && c->addr + i < c->cover_at + c->cover_len; i++)
		code[i] = c->cover[c->addr + i - c->cover_at];
	if (!tramp_x86_decode(code, avail, insn))
		return false;
	c->addr += insn->len;
	return true;
}

void tramp_text_lock(void)
{
	lockdep_assert_held(&tramp_mutex);
	mutex_lock(text_mutex_ptr());
}

void tramp_text_unlock(void)
{
	mutex_unlock(text_mutex_ptr());
}

void tramp_text_write_lock(void)
{
	lockdep_assert_held(&tramp_mutex);
	mutex_lock(kprobe_mutex_ptr());
	cpus_read_lock();
	mutex_lock(text_mutex_ptr());
}

void tramp_text_write_unlock(void)
{
	mutex_unlock(text_mutex_ptr());
	cpus_read_unlock();
	mutex_unlock(kprobe_mutex_ptr());
}

bool tramp_text_knows(unsigned long start, unsigned long end)
{
	unsigned long addr;
	bool found = false;

	preempt_disable();
	for (addr = start; addr < end && !found; addr++)
		found = KSYM(get_kprobe)((void *)addr);
	preempt_enable();
	return found;
}

/*
 * Whether a kprobe of the kernel is a jump, or may become one: only if it has a detour. The
 * kernel makes that when the kprobe is registered (alloc_aggr_kprobe()), unless a probe of ours is
 * near then (probe/kprobe_veto.c). Our kprobes are mostly at instructions of which the kernel
 * makes no jump.
 */
static bool may_be_jump(const struct kprobe *kp)
{
	if (!tramp_ksyms.aggr_pre_handler)
		return true;
	if ((unsigned long)kp->pre_handler != tramp_ksyms.aggr_pre_handler)
		return false;
	/* Of a module that goes it becomes 0 meanwhile (kill_kprobe()). */
	return data_race(container_of(kp, struct optimized_kprobe, kp)->optinsn.size);
}

bool tramp_text_has_kprobe(unsigned long start, unsigned long end)
{
	const struct kprobe *kp;
	unsigned long addr;
	bool reaches = false;

	preempt_disable();
	for (addr = start - (TRAMP_X86_JUMP_SIZE - 1); addr < start && !reaches; addr++) {
		kp = KSYM(get_kprobe)((void *)addr);
		reaches = kp && may_be_jump(kp);
	}
	preempt_enable();
	return reaches || tramp_text_knows(start, end);
}

void tramp_text_write(unsigned long addr, const u8 *bytes, u32 len)
{
	tramp_text_assert_write_locked();
	/* A decoder of branch traces (Intel PT) has to know each state of the text. */
	if (tramp_ksyms.has_perf_event_text_poke)
		KSYM(perf_event_text_poke)((void *)addr, (void *)addr, len, bytes, len);
	KSYM(text_poke)((void *)addr, bytes, len);
}

void tramp_text_sync(void)
{
	tramp_text_assert_write_locked();
	KSYM(text_poke_sync)();
}
