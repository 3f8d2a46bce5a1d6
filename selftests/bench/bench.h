/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The parts of the benchmark share this: places, programs, mechanisms.
 *
 * A mechanism is one way of having a program run at a place: the kernel's or
 * ours. Each is described by one struct bench_mech in a file of its own (mech_*.c) and found by
 * the linker. Everything else follows from it: which programs, how many, measuring, tables,
 * ratios, plots, limits.
 *
 * Whatever goes wrong ends the benchmark with a message: a figure that is not
 * right is worse than none.
 */
#ifndef SELFTESTS_BENCH_H
#define SELFTESTS_BENCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <bpf/bpf.h>
#include <linux/trampoline.h>
#include "../vm/lib/vmtest.h"
#include "kmod/trampoline_bench.h"

/* -------------------------------------------------------------- programs -- */

/* The programs of bench.bpf.c. */
enum bench_prog {
	BENCH_EMPTY,
	BENCH_MAPS,		/* two array-map updates */
	BENCH_COOKIE,		/* one update, and reads its cookie */
	BENCH_REGS2,		/* one update, and reads two registers */
	BENCH_REGS_ALL,		/* one update, and reads all members of pt_regs */
	BENCH_PROGS
};
#define BENCH_PLAIN	(1u << BENCH_EMPTY | 1u << BENCH_MAPS)
#define BENCH_ALL	((1u << BENCH_PROGS) - 1)

const char *bench_prog_name(enum bench_prog prog);
/* Does it count itself? Those that do not are checked through BPF statistics. */
bool bench_prog_counts(enum bench_prog prog);

/**
 * struct bench_load - as what a program is to be loaded
 * @type: BPF_PROG_TYPE_*
 * @attach_type: expected attach type, 0 for none
 * @func: the function it is loaded for (BPF_PROG_TYPE_TRACING), NULL for none
 */
struct bench_load {
	uint32_t type;
	uint32_t attach_type;
	const char *func;
};

/* Load a copy; a negative errno if the kernel does not take it. */
int bench_load_try(enum bench_prog prog, const struct bench_load *as);
/* ... which ends the benchmark. */
int bench_load(enum bench_prog prog, const struct bench_load *as);
/* The counts of all copies since bench_reset_hits(). */
uint64_t bench_hits(void);
void bench_reset_hits(void);

/* ---------------------------------------------------------------- places -- */

/* The device of trampoline_bench.ko, which is loaded if need be. */
int bench_device(void);
struct bench_place bench_place(uint32_t target, uint32_t index);
/* One loop: time stamp counter ticks, instructions under -icount. */
uint64_t bench_run(uint32_t target, uint32_t calls);

/* ------------------------------------------------------------ mechanisms -- */

enum bench_side {
	BENCH_KERNEL,
	BENCH_OURS,
};

/**
 * struct bench_att - one attachment
 * @prog_fd: the program; whoever loaded it closes it
 * @fd: what holds the attachment: a link
 * @event_fd: a perf event below it, -1: none
 * @link_id: ours: the link's id, otherwise 0
 * @addr: the address it is at, 0 if it is not at one
 */
struct bench_att {
	int prog_fd;
	int fd;
	int event_fd;
	uint32_t link_id;
	uint64_t addr;
};

/**
 * struct bench_mech - one way of having a program run at a place
 * @name: short, without blanks; a mechanism of ours is compared with that of the
 *	kernel that has the same name
 * @title: for people: "kprobe in the middle, optimised"
 * @side: whose it is
 * @rank: where it stands in the tables; the same for both sides
 * @target: what is called to hit it
 * @mid: the place is the instruction in the middle, not the function's entry
 * @progs: the programs that can be attached, bits by enum bench_prog
 * @most: programs that one place takes, 0: as many as are wanted
 * @runs: how often a program runs in a call; 0: once
 * @many: attaching to as many functions at once is measured as well; 0: not
 * @image: the kernel emits a trampoline for it
 * @jumps: the place jumps to an image of ours
 * @setup: sets the kernel up before the first attachment; NULL: nothing to do
 * @as: fills in as what programs for @place are loaded
 * @attach: attach @a->prog_fd to @place with @cookie (0: none) and fill @a in; 0 or a
 *	negative errno. @a->addr is set already.
 * @settled: NULL once the @nr attachments @a are in the state that is meant to be
 *	measured (optimised, say), otherwise what they wait for. Called again and again
 *	for some time. NULL function: they are at once.
 * @drained: NULL once nothing of the @nr detached attachments @a is left in the text,
 *	otherwise what is; called as @settled is. NULL function: a kernel's mechanism that
 *	takes all back before it returns. Ours need none.
 * @missing: why this kernel or module cannot do it, NULL if it can; NULL function: it can
 */
struct bench_mech {
	const char *name;
	const char *title;
	enum bench_side side;
	int rank;
	enum bench_target target;
	bool mid;
	uint32_t progs;
	unsigned int most;
	unsigned int runs;
	unsigned int many;
	bool image;
	bool jumps;
	void (*setup)(void);
	void (*as)(const struct bench_place *place, struct bench_load *as);
	int (*attach)(struct bench_att *a, const struct bench_place *place, uint64_t cookie);
	const char *(*settled)(const struct bench_att *a, unsigned int nr);
	const char *(*drained)(const struct bench_att *a, unsigned int nr);
	const char *(*missing)(void);
};

/* Defines a mechanism: BENCH_MECH(kernel_fentry) = { .name = "fentry", ... }; */
#define BENCH_MECH(id)							\
	static const struct bench_mech id;				\
	static const struct bench_mech *const id##_entry		\
		__attribute__((used, section("bench_mechs"))) = &id;	\
	static const struct bench_mech id

/* All of them in the order of the tables, the kernel's before ours; ended by NULL. */
const struct bench_mech *const *bench_mechs(void);

/* "kernel" or "ours" */
const char *bench_side_name(enum bench_side side);

/* Attach; ends the benchmark on failure. */
struct bench_att bench_attach(const struct bench_mech *m, const struct bench_place *place,
			      int prog_fd, uint64_t cookie);
/* Wait until all is settled; ends the benchmark if it takes too long. */
void bench_settle(const struct bench_mech *m, const struct bench_att *a, unsigned int nr);
/* Detach; the program stays. */
void bench_detach(struct bench_att *a);
/*
 * Wait until nothing is left of the @nr attachments @a, all detached, in the text either; ends
 * the benchmark if it takes too long.
 */
void bench_drain(const struct bench_mech *m, const struct bench_att *a, unsigned int nr);

/* ------------------------------------------------- what mechanisms share -- */

/* struct bench_mech::as of kprobe programs without an attach type. */
void bench_as_kprobe(const struct bench_place *place, struct bench_load *as);
/* A perf event for a kprobe or kretprobe at @addr, not enabled yet; or a negative errno. */
int bench_perf_event(uint64_t addr, bool ret);
/* Attach to @a->event_fd, which is enabled then; and other links of the kernel's. */
int bench_link_perf(struct bench_att *a, uint64_t cookie);
int bench_link_tracing(struct bench_att *a, uint32_t attach_type, uint64_t cookie);
/* Through our device: a tracing program, or a kprobe program at @addr. */
int bench_link_ours(struct bench_att *a, uint64_t addr, uint32_t flags, uint64_t cookie);
/* One program at @nr functions: the kernel's link of @attach_type, and ours. */
int bench_link_kernel_multi(struct bench_att *a, uint32_t attach_type, const uint64_t *addrs,
			    uint32_t nr, const uint64_t *cookies, uint32_t flags);
int bench_link_our_multi(struct bench_att *a, const uint64_t *addrs, uint32_t nr,
			 const uint64_t *cookies, uint32_t flags);
/* struct bench_mech::settled of ours: not until each is in @mode. */
const char *bench_in_mode(const struct bench_att *a, unsigned int nr, uint32_t mode);
/*
 * Lines of the kernel's list of kprobes that lie at one of @a's addresses or up to 4
 * bytes behind (an ENDBR), and contain @mark.
 */
unsigned int bench_kprobes(const struct bench_att *a, unsigned int nr, const char *mark);
/* How many of @a begin with that byte, in memory? 0xe9 is a jump. */
unsigned int bench_first_byte_is(const struct bench_att *a, unsigned int nr, uint8_t byte);

/* --------------------------------------------------- where they go: walk.c -- */

/**
 * struct bench_parts - the instructions of a hit
 * @program: of the programs
 * @guard: of our image, around the programs
 * @image: of the image otherwise
 * @elsewhere: all that was measured less these
 */
struct bench_parts {
	int64_t program, guard, image, elsewhere;
};

/* Divide what was measured of @nr attachments; false if the code could not be followed. */
bool bench_walk(const struct bench_mech *m, const struct bench_att *a, unsigned int nr,
		int64_t measured, struct bench_parts *parts);

/* ----------------------------------------------------------------- output -- */

/*
 * One figure, as a line of words for the report to read: "insns fentry ours maps
 * 1 35". Values are words without blanks.
 */
void bench_record(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* The things that are measured. */
void bench_count(void);		/* instructions per hit; needs -icount */
void bench_times(void);		/* attaching, optimising and detaching many */
void bench_batch(void);		/* a part of that: many in one call */
void bench_memory(void);	/* memory an attachment takes */
void bench_multi(void);		/* one program at many functions: times and memory */

#endif /* SELFTESTS_BENCH_H */
