/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Random instructions of the running kernel, core and modules, and something for
 * them to do.
 */
#ifndef PROBE_SAMPLE_H
#define PROBE_SAMPLE_H

#include "probe.h"

/* One instruction, as EXPLAIN_CODE has it. */
struct sample {
	uint64_t addr, func;
	uint64_t where;		/* the address that the reason is about */
	uint32_t reason;
	uint8_t len, mode, region_len;
	uint8_t code_len;	/* of what follows, up to the end of the region */
	uint8_t code[24];	/* bytes from the address on, 0 where the kernel patches */
	uint8_t mask[24];	/* 0xff where @code counts */
};

/*
 * Draw @nr different instructions: places in the text at random, all bytes alike, and
 * from each function met so a few instructions. Sorted by address.
 */
void sample_draw(struct sample *out, int nr, uint64_t *state);
/* Whether the text at the sample is as it was when drawn. */
bool sample_unchanged(int dev, const struct sample *s);
/* "vfs_read+0x12" */
const char *sample_name(const struct sample *s, char *buf, size_t len);

/* Files, processes, pipes, sockets, timers, memory, signals: the same each time. */
void workload(int rounds);

#endif /* PROBE_SAMPLE_H */
