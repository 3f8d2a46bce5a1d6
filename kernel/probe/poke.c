// SPDX-License-Identifier: GPL-2.0
/*
 * What is written into the text for a probe, step by step.
 *
 * Three forms of the bytes at a probe's address, for a region of 8 bytes whose first
 * instruction has 3:
 *
 *	original	o0 o1 o2 o3 o4 o5 o6 o7
 *	int3		cc cc cc o3 o4 o5 o6 o7
 *	jump		e9 r0 r1 r2 r3 cc cc cc
 *
 * The further int3s are never executed. They keep whoever decodes the function from
 * its start in step with it, as the kernel's kprobes do for every probe; and they
 * keep kprobes from being put there: the kernel registers none on an int3.
 *
 * Who may be executing what:
 *
 *  - original -> int3. Tasks may be anywhere. One byte is written, the first of an
 *    instruction: a CPU executes the old instruction or traps. After the sync nobody
 *    fetches the old one any more, and the rest can be written.
 *
 *  - int3 -> jump. The bytes behind the first instruction are about to become part
 *    of a displacement, so nobody may be at one of them. Newcomers are not: whoever
 *    comes to the probe traps, and goes on in an image that executes the whole
 *    region; and nothing branches into it (safety.c). Those that were there before
 *    are waited for, an RCU-tasks grace period long (optimiser.c; "quiesced"): a
 *    task preempted between two of the instructions, or in the older image that
 *    returns between them, or an interrupt on top of either. Then the displacement
 *    is written behind the int3, sync, and then the first byte: a CPU traps, or
 *    executes the whole jump.
 *
 *  - jump -> int3. The first byte, sync: nobody executes the jump any more. Then the
 *    rest, which nobody comes to as long as the image executes the whole region.
 *    Sync, so that who comes there later finds the instructions.
 *
 *  - int3 -> original. The rest first, sync, then the first byte, sync. When that
 *    returns no CPU is in the int3 handler on account of this probe (trap.c).
 *
 * Before any step the bytes must be what the step before has left there, and no kprobe
 * of the kernel may know them: one that came on top of a jump has taken the jump for
 * the instruction, and goes to our image whenever it is armed. Then everything stays
 * until it has gone.
 */
#include "base/ksyms.h"
#include "probe.h"
#include "x86/asm.h"

#define INT3	0xcc
#define JMP32	0xe9

/* Bytes that a probe's forms span. */
static u32 span(const struct tramp_probe *probe)
{
	return max_t(u32, probe->image->len, probe->insn_len);
}

static void int3_form(const struct tramp_probe *probe, u8 *form)
{
	memcpy(form, probe->orig, span(probe));
	memset(form, INT3, probe->insn_len);
}

static void jump_form(const struct tramp_probe *probe, u8 *form)
{
	struct tasm a = { .buf = form, .len = TRAMP_X86_JUMP_SIZE, .addr = probe->addr };

	memset(form, INT3, span(probe));
	tasm_jmp_out(&a, probe->image->image.exec.code);
}

static bool text_is(const struct tramp_probe *probe, const u8 *form)
{
	return !memcmp((const void *)probe->addr, form, span(probe));
}

/* All but the first of @len bytes. */
static void write_tail(const struct tramp_probe *probe, const u8 *form, u32 len)
{
	if (len > 1)
		tramp_text_write(probe->addr + 1, form + 1, len - 1);
}

int tramp_probe_arm(struct tramp_probe *probe, struct tramp_refusal *why)
{
	unsigned long addr = probe->addr;
	u8 form[TRAMP_X86_MAX_REGION];
	int err = 0;

	tramp_text_write_lock();
	if (tramp_text_has_kprobe(addr, addr + probe->insn_len)) {
		err = tramp_refuse(why, TRAMP_REASON_KPROBE_THERE, addr, NULL);
	} else if (memcmp((const void *)addr, probe->orig, probe->insn_len)) {
		err = tramp_refuse(why, TRAMP_REASON_FOREIGN_BYTES, addr, NULL);
	} else {
		int3_form(probe, form);
		/* For whoever decodes from now on: the probe hides something. */
		probe->text = TRAMP_TEXT_INT3;
		tramp_text_write(addr, form, 1);
		tramp_text_sync();
		write_tail(probe, form, probe->insn_len);
	}
	tramp_text_write_unlock();
	return err;
}

/* The first byte of a jump becomes an int3. Written locked. */
static bool stop_jump(struct tramp_probe *probe)
{
	u8 form[TRAMP_X86_MAX_REGION];
	const u8 int3 = INT3;

	jump_form(probe, form);
	if (!text_is(probe, form) || tramp_text_knows(probe->addr, probe->addr + span(probe)))
		return false;
	tramp_text_write(probe->addr, &int3, 1);
	return true;
}

bool tramp_probe_unjump(struct tramp_probe *probe)
{
	u8 form[TRAMP_X86_MAX_REGION];
	bool ours;

	tramp_text_write_lock();
	ours = stop_jump(probe);
	if (ours) {
		tramp_text_sync();
		int3_form(probe, form);
		write_tail(probe, form, span(probe));
		tramp_text_sync();
		probe->text = TRAMP_TEXT_INT3;
	}
	tramp_text_write_unlock();
	return ours;
}

/* Written locked, text INT3. */
static bool int3_is_ours(const struct tramp_probe *probe)
{
	u8 form[TRAMP_X86_MAX_REGION];

	int3_form(probe, form);
	return !memcmp((const void *)probe->addr, form, probe->insn_len) &&
	       !tramp_text_knows(probe->addr, probe->addr + probe->insn_len);
}

bool tramp_probe_is_ours(const struct tramp_probe *probe)
{
	bool ours;

	tramp_text_write_lock();
	ours = probe->text == TRAMP_TEXT_INT3 && int3_is_ours(probe);
	tramp_text_write_unlock();
	return ours;
}

void tramp_probe_jump_batch(struct list_head *list, struct list_head *refused)
{
	struct tramp_probe *probe, *tmp;
	u8 form[TRAMP_X86_MAX_REGION];

	if (list_empty(list))
		return;
	tramp_text_write_lock();
	list_for_each_entry_safe(probe, tmp, list, opt) {
		int3_form(probe, form);
		if (tramp_text_has_kprobe(probe->addr, probe->addr + span(probe)))
			probe->reason = TRAMP_REASON_REGION_PROBE;
		else if (!text_is(probe, form))
			probe->reason = TRAMP_REASON_FOREIGN_BYTES;
		else
			continue;
		probe->where = probe->addr;
		list_move_tail(&probe->opt, refused);
	}
	list_for_each_entry(probe, list, opt) {
		jump_form(probe, form);
		write_tail(probe, form, span(probe));
	}
	tramp_text_sync();
	list_for_each_entry(probe, list, opt) {
		form[0] = JMP32;
		tramp_text_write(probe->addr, form, 1);
		probe->text = TRAMP_TEXT_JUMP;
		probe->reason = 0;
		probe->where = 0;
	}
	tramp_text_sync();
	tramp_text_write_unlock();
}

void tramp_probe_restore_batch(struct list_head *list)
{
	struct tramp_probe *probe, *tmp;
	u8 form[TRAMP_X86_MAX_REGION];
	LIST_HEAD(stopped);
	LIST_HEAD(ours);

	if (list_empty(list))
		return;
	tramp_text_write_lock();
	list_for_each_entry_safe(probe, tmp, list, opt) {
		if (probe->text == TRAMP_TEXT_JUMP && stop_jump(probe))
			list_move_tail(&probe->opt, &stopped);
	}
	tramp_text_sync();
	list_for_each_entry(probe, &stopped, opt) {
		int3_form(probe, form);
		write_tail(probe, form, span(probe));
		probe->text = TRAMP_TEXT_INT3;
	}
	list_splice(&stopped, list);
	list_for_each_entry_safe(probe, tmp, list, opt) {
		if (probe->text != TRAMP_TEXT_INT3 || !int3_is_ours(probe))
			continue;
		/* No more than was ours: the next instruction may be another's by now. */
		write_tail(probe, probe->orig, probe->insn_len);
		list_move_tail(&probe->opt, &ours);
	}
	tramp_text_sync();
	list_for_each_entry(probe, &ours, opt)
		tramp_text_write(probe->addr, probe->orig, 1);
	tramp_text_sync();
	/* Not before: a decoder that reads the bytes must know what they hide. */
	list_for_each_entry(probe, &ours, opt)
		probe->text = TRAMP_TEXT_ORIGINAL;
	tramp_text_write_unlock();
	list_splice(&ours, list);
}
