/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Sites in mode FTRACE_OPS: entry programs run from an ordinary ftrace callback. Their set
 * is changed by tramp_set_switch(), they go by tramp_site_detach().
 */
#ifndef TRAMP_FUNC_CALLBACK_H
#define TRAMP_FUNC_CALLBACK_H

#include "ftrace/site.h"
#include "resolve.h"

/**
 * tramp_ops_attach() - run a function's entry programs from an ftrace callback
 * @func: the function
 * @members: the list of its programs, all of them entry programs
 * @site: (out) the site
 * @why: why not
 *
 * Context: tramp_mutex held, may sleep.
 * Return: 0 or a negative errno.
 */
int tramp_ops_attach(const struct tramp_func_facts *func, const struct list_head *members,
		     struct tramp_site **site, struct tramp_refusal *why);

/* Whether a program can run from there: it must not sleep, as any may on PREEMPT_RT. */
bool tramp_ops_possible(const struct tramp_slot *slot);

#endif /* TRAMP_FUNC_CALLBACK_H */
