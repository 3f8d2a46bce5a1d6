/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Functions that leave an ftrace_ops which stays, while there is not a byte of memory: not even in
 * the reserves (kernel/ftrace/shrink.c). One of them is in a module, which nothing holds.
 */
#ifndef NO_MEMORY_H
#define NO_MEMORY_H

#include <stdint.h>
#include "attachment.h"
#include "many.h"
#include "probe.h"

#define MODULE		"trampoline_target"
#define CALLS		10

/* The function in the module that goes, and one in the test module. Each counts for itself. */
enum { THERE, HERE, FUNCS };
extern uint64_t func[FUNCS];
extern struct attachment one[FUNCS];

/* @fd is the test module's. The other one is loaded. */
void begin(int fd);
void load(void);
/* A program of many at both. */
struct many *come_many(void);
/* Programs at both: at the gate of a program of many that has gone, or as a group. */
void come_by_gate(void);
void come_in_group(void);
/* A program at one of them; ->err says whether it worked. */
struct attachment attach_to(int i);

/*
 * The @nth allocation of this thread fails from now on. @lasting: TT_FAULT_RESERVES: and all after
 * it, until anybody says that there is memory; 0: it alone. Return: whether any failed.
 */
void memory_ends(uint32_t nth, uint32_t lasting);
bool memory_comes(void);

/* Both are called CALLS times. That many hits there are to be of each. */
void expect(const char *when, uint64_t there, uint64_t here);

#endif /* NO_MEMORY_H */
