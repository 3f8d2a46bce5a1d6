/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A line in a header, see sample.c.
 */
static inline __attribute__((always_inline)) void in_header(int x)
{
	sink += x * 7;		/* MARK header */
}
