/* SPDX-License-Identifier: GPL-2.0 */
/* Which functions an image of many may call in their place, by their prototypes. */
#ifndef TRAMP_MULTI_PROTO_H
#define TRAMP_MULTI_PROTO_H

#include "funcs.h"

/* Added to an item's reason until the caller has looked at it. */
#define TRAMP_PROTO_REASON	0x10000

/**
 * tramp_protos_check() - leave out functions whose stack such an image would shift
 * @items: in ascending order of addresses; those with a reason are not looked at
 * @nr: how many
 * @why: why not
 *
 * Sets the reason, plus TRAMP_PROTO_REASON, of each function that has no known prototype
 * (NO_BTF, AMBIGUOUS) or that may take arguments on the stack (TOO_MANY_ARGS, VARIADIC).
 *
 * Context: process, may sleep, without tramp_mutex. A signal ends it.
 * Return: 0, -ERESTARTNOHAND, or another negative errno with its reason.
 */
int tramp_protos_check(struct tramp_func_item *items, u32 nr, struct tramp_refusal *why);

/*
 * The symbol that this kernel lacks and prototypes are found by: programs on many then run at
 * entries alone. NULL: none is missing.
 */
const char *tramp_protos_lack(void);

#endif /* TRAMP_MULTI_PROTO_H */
