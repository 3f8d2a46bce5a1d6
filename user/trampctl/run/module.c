// SPDX-License-Identifier: GPL-2.0
/*
 * First questions of a command: is the module there, what functions are there.
 */
#include <errno.h>
#include <string.h>

#include "../out/error.h"
#include "module.h"
#include "progress.h"

/**
 * need_module() - make sure that the module answers
 * @info: (out) what it can do; may be NULL
 *
 * Return: 0, or the exit code after having reported why not.
 */
int need_module(struct tramp_module_info *info)
{
	TRAMP_OPTS(tramp_module_info, own);

	return tramp_info(info ? info : &own) ? fail_lib(NULL, NULL) : 0;
}

/* Loads the kernel's symbols. Returns 0, or the exit code after reporting. */
int load_syms(struct tramp_syms **syms)
{
	progress_begin("reading symbols");
	*syms = tramp_syms__load(NULL);
	progress_end();
	return *syms ? 0 : fail_lib(NULL, NULL);
}

/* Loads all names of the kernel; NULL after having warned of what is missing. */
struct tramp_names *load_ksyms(const char *without)
{
	struct tramp_names *ks = tramp_names__load(NULL);

	if (!ks)
		warn("/proc/kallsyms: %s: %s", strerror(errno), without);
	return ks;
}
