/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Addresses in ascending order.
 */
#ifndef TRAMP_SORTED_H
#define TRAMP_SORTED_H

#include <linux/types.h>

/* The first of @nr @addrs that is not below @addr; @nr: there is none. Any context. */
static inline u32 tramp_first_from(const unsigned long *addrs, u32 nr, unsigned long addr)
{
	u32 low = 0, high = nr, mid;

	while (low < high) {
		mid = low + (high - low) / 2;
		if (addrs[mid] < addr)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

#endif /* TRAMP_SORTED_H */
