// SPDX-License-Identifier: GPL-2.0
/*
 * Jumps over exit programs that are no longer attached, in images that retire.
 *
 * A NOP5 of the image becomes a JMP, by int3 and text_poke_bp() under text_mutex. A task that
 * executes these bytes meanwhile sees the NOP, the int3 (whose handler emulates the JMP) or the
 * JMP. No CPU comes or goes meanwhile, which would not be synced. Tasks already past the NOP run
 * the program once more; the program is released only after the grace period that waits for them
 * (image.c).
 *
 * One jump takes three syncs of all CPUs. When many images retire together their jumps are
 * noted first. At the end the kernel writes as many as fit into a page of its notes at
 * once: it wants them by ascending addresses. Until then calls that return run the programs, as
 * they would in jumps written a moment later. The end comes before tramp_mutex is dropped. The
 * retire worker takes it before it looks at what has been left out (image_before()), so it never
 * sees a jump that is noted and not there. Nor is an image freed that has one: each image with
 * exit programs is taken from its target's list under tramp_mutex first (image_let_go()).
 *
 * The kernel's notes are shared. Under text_mutex others may have left some for which they call
 * text_poke_finish() later (jump labels do). Ours writes those, too. Each is a complete change of
 * text that may come as early as it likes, and theirs finds nothing left to do. Addresses out of
 * order make text_poke_queue() write what it has.
 */
#include <linux/cpu.h>
#include <linux/mutex.h>
#include <linux/sort.h>
#include <asm/text-patching.h>
#include "base/ksyms.h"
#include "skip.h"

static struct skip {
	struct tramp_func_image *image;
	u32 i;
} skips[512];			/* tramp_mutex */
static u32 nr;			/* tramp_mutex */
static bool together;		/* tramp_mutex */

static unsigned long from(const struct skip *s)
{
	return s->image->image.exec.code + s->image->inside->skip_off[s->i];
}

static unsigned long to(const struct skip *s)
{
	return s->image->image.exec.code + s->image->inside->skip_to[s->i];
}

/*
 * Fails only if the bytes are not what we wrote there. Then late returns run the program
 * once more, and the slot stays with the image.
 */
static void written(const struct skip *s, bool done)
{
	if (WARN_ON_ONCE(!done))
		s->image->inside->exit_state[s->i] = TRAMP_EXIT_LIVE;
}

static void write_one(const struct skip *s)
{
	written(s, !tramp_image_poke(from(s), BPF_MOD_JUMP, NULL, (void *)to(s)));
}

/* text_mutex is held, so nobody else changes the bytes. */
static bool queue(const struct skip *s)
{
	static const u8 nop[JMP32_INSN_SIZE] = { BYTES_NOP5 };
	s32 distance = (s32)(to(s) - (from(s) + JMP32_INSN_SIZE));
	u8 jump[JMP32_INSN_SIZE] = { JMP32_INSN_OPCODE };

	if (memcmp((void *)from(s), nop, sizeof(nop)))
		return false;
	memcpy(jump + 1, &distance, sizeof(distance));
	KSYM(text_poke_queue)((void *)from(s), jump, sizeof(jump), NULL);
	return true;
}

static int by_address(const void *a, const void *b)
{
	return from(a) < from(b) ? -1 : from(a) > from(b);
}

static void write_all(void)
{
	struct mutex *text_mutex = (struct mutex *)tramp_ksyms.text_mutex;
	u32 i;

	if (nr == 1 || !text_mutex || !tramp_ksyms.has_text_poke_queue ||
	    !tramp_ksyms.has_text_poke_finish) {
		while (nr)
			write_one(&skips[--nr]);
		return;
	}
	sort(skips, nr, sizeof(*skips), by_address, NULL);
	cpus_read_lock();
	mutex_lock(text_mutex);
	for (i = 0; i < nr; i++)
		written(&skips[i], queue(&skips[i]));
	KSYM(text_poke_finish)();
	mutex_unlock(text_mutex);
	cpus_read_unlock();
	nr = 0;
}

void tramp_func_skip(struct tramp_func_image *image, u32 i)
{
	lockdep_assert_held(&tramp_mutex);
	image->inside->exit_state[i] = TRAMP_EXIT_LEFT_OUT;
	skips[nr++] = (struct skip){ .image = image, .i = i };
	if (!together || nr == ARRAY_SIZE(skips))
		write_all();
}

void tramp_func_skips_begin(void)
{
	lockdep_assert_held(&tramp_mutex);
	together = true;
}

void tramp_func_skips_end(void)
{
	lockdep_assert_held(&tramp_mutex);
	together = false;
	if (nr)
		write_all();
}
