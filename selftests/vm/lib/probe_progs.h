/* SPDX-License-Identifier: GPL-2.0 */
/* Shared by probe_progs.bpf.c and the tests. */
#ifndef PROBE_PROGS_H
#define PROBE_PROGS_H

#define PROBE_REGS	21	/* u64 members of struct pt_regs */
#define PROBE_SEEN	1024	/* attachments whose registers are written down */
#define PROBE_COUNTERS	4096
#define PROBE_ORDER	256
#define PROBE_FRAMES	32

/* One hit as a program saw it, the last one. */
struct seen_regs {
	__u64 hits;
	__u64 regs[PROBE_REGS];
};

#endif /* PROBE_PROGS_H */
