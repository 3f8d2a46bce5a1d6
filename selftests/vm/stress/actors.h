/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Actors: processes that do one thing to the kernel over and over, at random, beside others.
 * Some attach programs by our module (attach.c). The others are what these meet: modules that come
 * and go (modules.c), memory that gets short (pressure.c), work that a program of others checks
 * (verify.c), and more (surroundings.c).
 *
 * Each runs until the end, and gives back what it holds. An actor may be refused because of
 * another one: the errors it expects are listed where it asks. All others fail the test.
 */
#ifndef STRESS_ACTORS_H
#define STRESS_ACTORS_H

#include <stdbool.h>
#include <stdint.h>
#include "vmtest.h"

/*
 * Of one actor; shared by all processes.
 * @done: steps that did what they are there for, and were not refused
 * @at_counted: of @attached those at functions whose calls are counted; a request for many
 *	functions is one
 * @updated, @jumps: links updated; probes seen to be jumps
 * @times_full: how often memory was short
 */
struct actor_counts {
	uint64_t steps, done, attached, at_counted, detached, refused, updated, jumps, times_full;
};

/**
 * struct actor - see above
 * @name: in the report
 * @begin: once, in its process, before the first step; NULL: nothing to do
 * @step: one random thing; @r is for rnd() (probe.h)
 * @end: gives back what it holds; NULL: nothing to do
 * @pause_us: between two steps
 */
struct actor {
	const char *name;
	void (*begin)(void);
	void (*step)(uint64_t *r);
	void (*end)(void);
	unsigned int pause_us;
};

extern const struct actor attach_actors[], surrounding_actors[];
extern const unsigned int nr_attach_actors, nr_surrounding_actors;

/* The counts of the actor whose process this is. */
extern struct actor_counts *my_counts;
/* Whether those that attach are to end. */
bool actors_stop(void);

/*
 * Functions of the kernel, and instructions, which actors choose from. A prime: whatever step an
 * actor goes through them in, it meets all. All the instructions could have a probe when they were
 * drawn. Those of the counted functions (below) are among them.
 */
#define ACTOR_PLACES 4001
extern uint64_t *actor_funcs;
extern int nr_actor_funcs;
extern uint64_t actor_insns[ACTOR_PLACES];
/* Those that the kernel's own kprobe gets wrong: it would die of one, without us. */
extern bool actor_kprobe_wrong[ACTOR_PLACES];
/* stress.bpf.c, loaded */
extern struct stress *actor_progs;

/* One of the functions whose calls are counted, tt_hot0 and so on, at random: its address. */
uint64_t actor_counted(uint64_t *r);

/*
 * Programs that stay while all others come and go, one at each kind of place, also at the same
 * functions. In the end each call of these has been run, or is counted as missed.
 */
struct staying;
struct staying *staying_attach(void);
/* In a process that has inherited the links: close them there. */
void staying_close(struct staying *s);
/* @calls: of tt_hot0 and so on, as busy() has them. Detaches and frees. */
void staying_check(struct staying *s, const uint64_t *calls);

/* Our module goes and comes again, @rounds times; links work each time. Nothing is attached. */
void reload(unsigned int rounds);

/*
 * Priority of the work beside the actors, which are many. It is not to starve: whoever waits for a
 * grace period waits for it, too.
 */
#define WORK_NICE 10

/* Draw them, and load the programs; in the process that all others come from. */
void actors_setup(uint64_t *r);

/*
 * An attach was not granted. Others may be the cause of it, or the place itself: @err is one that
 * the header has for ATTACH. Anything else fails the test.
 */
void refused(const char *what, int err, const struct tramp_refusal *why);

/* A step of an actor: a module comes, programs are attached to it, and it goes. */
void modules_step(uint64_t *r);

/* A step of an actor: it takes some of the memory, and gives all back when little is left. */
void pressure_step(uint64_t *r);

/* An actor: stress-ng, which must be there, does one sort of work after the other, and checks. */
void verify_begin(void);
void verify_step(uint64_t *r);

/* A control group with little memory: made, entered and used up by a process, and removed. */
void group_setup(void);
void group_enter(void);
void group_use(void);
void group_remove(void);
/* Processes that were killed because the group's memory ran out. */
uint64_t group_kills(void);

#endif /* STRESS_ACTORS_H */
