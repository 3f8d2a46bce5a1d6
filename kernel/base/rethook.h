/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The kernel's rethooks, of whichever version.
 */
#ifndef TRAMP_BASE_RETHOOK_H
#define TRAMP_BASE_RETHOOK_H

#include <linux/rethook.h>
#include "tramp.h"

/* Whether this kernel has rethooks that a module can use. */
bool tramp_rethook_possible(void);

/**
 * tramp_rethook_alloc() - a rethook with its nodes
 * @data: passed to @handler
 * @handler: called at returns
 * @node_size: bytes of a node, which begins with a struct rethook_node
 * @nr: how many
 *
 * To be freed by rethook_free(). Nodes that calls have are freed by the kernel later.
 * Context: may sleep.
 * Return: the rethook, NULL without memory.
 */
struct rethook *tramp_rethook_alloc(void *data, rethook_handler_t handler, size_t node_size,
				    u32 nr);

#endif /* TRAMP_BASE_RETHOOK_H */
