// SPDX-License-Identifier: GPL-2.0
/*
 * How many addresses are probed, and how many of the probes are jumps.
 *
 * INFO asks for that, and so may everybody who was given the open device, as often as they like.
 * So there are counters. To look at ten thousands of probes one by one, with tramp_mutex held,
 * would keep those waiting who attach. Each change of what is counted is made here: the probe is
 * taken out of the counters, changed, and put back.
 */
#include <linux/lockdep.h>
#include "internal.h"

static u32 nr_probes, nr_jumps;	/* tramp_mutex */

static void count(const struct tramp_probe *probe, int by)
{
	lockdep_assert_held(&tramp_mutex);
	if (!probe->nr || probe->abandoned)
		return;
	nr_probes += by;
	if (probe->text == TRAMP_TEXT_JUMP)
		nr_jumps += by;
}

void tramp_probe_count_member(struct tramp_probe *probe, int by)
{
	count(probe, -1);
	probe->nr += by;
	count(probe, 1);
}

void tramp_probe_set_text(struct tramp_probe *probe, enum tramp_probe_text text)
{
	count(probe, -1);
	WRITE_ONCE(probe->text, text);
	count(probe, 1);
}

void tramp_probe_count_out(struct tramp_probe *probe)
{
	count(probe, -1);
	probe->abandoned = true;
}

void tramp_probe_totals(u32 *probes, u32 *optimised)
{
	lockdep_assert_held(&tramp_mutex);
	*probes = nr_probes;
	*optimised = nr_jumps;
}
