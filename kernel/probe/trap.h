/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The table of probes by address, and the int3 handler that reads it.
 */
#ifndef TRAMP_TRAP_H
#define TRAMP_TRAP_H

#include "probe.h"

/* Put a probe into the table, take it out. tramp_mutex held. */
void tramp_probe_hash_add(struct tramp_probe *probe);
void tramp_probe_hash_del(struct tramp_probe *probe);

/* The probe at an address; NULL if there is none. RCU or tramp_mutex. */
struct tramp_probe *tramp_probe_lookup(unsigned long addr);

typedef void tramp_probe_visit_t(struct tramp_probe *probe, void *arg);

/* Call @fn for every probe in the table, which it may take out. tramp_mutex held. */
void tramp_probe_for_each(tramp_probe_visit_t *fn, void *arg);

/*
 * The same with preemption off (no assertion says so: an ftrace callback calls it); @fn must
 * neither sleep nor change the table.
 */
notrace void tramp_probe_visit_rcu(tramp_probe_visit_t *fn, void *arg);

int tramp_probe_trap_init(void);
void tramp_probe_trap_exit(void);

/* In assembly, of trap.c alone: no function for C. */
void tramp_int3_stub(void);

/*
 * Take the short way from an int3 to a probe, if possible: hits are the same without it, only
 * slower. Nothing is done if it is taken already. Off gives it back; false: ftrace has shut down
 * and left it in place, so the module must stay. tramp_mutex held; may sleep.
 */
void tramp_probe_direct_on(void);
bool tramp_probe_direct_off(void);
bool tramp_probe_direct_is_on(void);

#endif /* TRAMP_TRAP_H */
