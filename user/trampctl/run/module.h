/* SPDX-License-Identifier: GPL-2.0 */
/*
 * First questions of a command: is the module there, what functions are there.
 */
#ifndef TRAMPCTL_MODULE_H
#define TRAMPCTL_MODULE_H

#include <trampoline/trampoline.h>

#include "../out/kallsyms.h"

int need_module(struct tramp_module_info *info);
int load_syms(struct tramp_syms **syms);
struct tramp_names *load_ksyms(const char *without);

#endif /* TRAMPCTL_MODULE_H */
