/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The call graph of the running kernel's text, as far as direct branches go: calls, tail
 * jumps, the trampolines of static calls as they are now, and .cold parts.
 */
#ifndef GATE_GRAPH_H
#define GATE_GRAPH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* No such function. */
#define GRAPH_NONE	((size_t)-1)

/* Read symbols; text is read through the test module at @dev. Ends the test on failure. */
void graph_init(int dev);
size_t graph_size(void);

/* The function that holds an address, or GRAPH_NONE. */
size_t graph_at(uint64_t addr);
uint64_t graph_addr(size_t func);
const char *graph_name(size_t func);
/* Whether one of a function's names is @name, but for what the compiler appends (.isra.0). */
bool graph_is(size_t func, const char *name);
/* Calls @fn for each function of a name; returns how many. */
int graph_named(const char *name, void (*fn)(size_t func, void *arg), void *arg);

/* @at: the branch; GRAPH_NONE as @to: an indirect one. */
typedef void graph_edge_t(size_t to, uint64_t at, void *arg);
/* All branches that leave a function, and its .cold parts. */
void graph_edges(size_t func, graph_edge_t *fn, void *arg);

#endif /* GATE_GRAPH_H */
