// SPDX-License-Identifier: GPL-2.0
/*
 * Making rethooks. Since 6.7 they come with their nodes, before that nodes are added one by one.
 */
#include <linux/slab.h>
#include "compat.h"
#include "ksyms.h"
#include "rethook.h"

#if TRAMP_RETHOOK_HAS_NODES
struct rethook *tramp_rethook_alloc(void *data, rethook_handler_t handler, size_t node_size,
				    u32 nr)
{
	struct rethook *rethook = KSYM(rethook_alloc)(data, handler, node_size, nr);

	return IS_ERR(rethook) ? NULL : rethook;
}
#else
struct rethook *tramp_rethook_alloc(void *data, rethook_handler_t handler, size_t node_size,
				    u32 nr)
{
	struct rethook *rethook = KSYM(rethook_alloc)(data, handler);
	struct rethook_node *node;

	while (rethook && nr--) {
		node = kzalloc(node_size, GFP_KERNEL);
		if (!node) {
			KSYM(rethook_free)(rethook);
			return NULL;
		}
		KSYM(rethook_add_node)(rethook, node);
	}
	return rethook;
}
#endif

bool tramp_rethook_possible(void)
{
#if TRAMP_RETHOOK_HAS_NODES
	bool nodes = true;
#else
	bool nodes = tramp_ksyms.has_rethook_add_node;
#endif

	return nodes && tramp_ksyms.has_rethook_alloc && tramp_ksyms.has_rethook_free &&
	       tramp_ksyms.has_rethook_hook && tramp_ksyms.has_rethook_try_get;
}
