/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The table of probes by address, and the int3 handler that reads it.
 */
#ifndef TRAMP_TRAP_H
#define TRAMP_TRAP_H

#include "probe.h"

/* trap.c -------------------------------------------------------------------- */

/* Put a probe into the table, take it out. tramp_mutex held. */
void tramp_probe_hash_add(struct tramp_probe *probe);
void tramp_probe_hash_del(struct tramp_probe *probe);

/* The probe at an address; NULL if there is none. RCU or tramp_mutex. */
struct tramp_probe *tramp_probe_lookup(unsigned long addr);

typedef void tramp_probe_visit_t(struct tramp_probe *probe, void *arg);

/* Call @fn for every probe in the table, which it may take out. tramp_mutex held. */
void tramp_probe_for_each(tramp_probe_visit_t *fn, void *arg);

/**
 * tramp_probe_visit_rcu() - call a function for every probe in the table
 * @fn: must neither sleep nor change the table
 * @arg: passed to it
 *
 * Context: preemption off. (No assertion says so: an ftrace callback calls it.)
 */
notrace void tramp_probe_visit_rcu(tramp_probe_visit_t *fn, void *arg);

/**
 * tramp_probe_take_first() - send an int3 to the image of the probe it belongs to
 * @regs: of the exception
 *
 * Called before the kernel's kprobes. If it leaves an int3 of ours to them, the die notifier
 * takes it.
 * Context: the int3 handler, interrupts off.
 * Return: whether it was a probe's.
 */
bool tramp_probe_take_first(struct pt_regs *regs);

int tramp_probe_trap_init(void);
void tramp_probe_trap_exit(void);

/* trap_fast.c --------------------------------------------------------------- */

/* Calls tramp_probe_take_first() at the entry of kprobe_int3_handler(); no function for C. */
void tramp_int3_stub(void);

/**
 * tramp_probe_direct_on() - take the short way from an int3 to a probe, if possible
 *
 * Hits are the same without it, only slower. Nothing is done if it is taken already.
 * Context: tramp_mutex held, may sleep.
 */
void tramp_probe_direct_on(void);

/**
 * tramp_probe_direct_off() - give it back
 *
 * Context: tramp_mutex held, may sleep.
 * Return: false if ftrace has shut down and left it in place: then the module must stay.
 */
bool tramp_probe_direct_off(void);

#endif /* TRAMP_TRAP_H */
