// SPDX-License-Identifier: GPL-2.0
/*
 * Names for kernel addresses, as text. The library has the names.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "kallsyms.h"
#include "text.h"

static char *text_of(const struct tramp_name *s, uint64_t off)
{
	char where[24] = "";

	if (off)
		snprintf(where, sizeof(where), "+0x%" PRIx64, off);
	/* Programs and images say what they are by their names. */
	if (!s->module[0] || !strcmp(s->module, "bpf"))
		return xasprintf("%s%s", s->name, where);
	return xasprintf("%s%s [%s]", s->name, where, s->module);
}

/*
 * "name+0x10 [module]", without the offset if it is 0; NULL if none, or without @names.
 * To be freed.
 */
char *ksyms_text(const struct tramp_names *names, uint64_t addr)
{
	const struct tramp_name *s;
	uint64_t off;

	s = names ? tramp_names__find_addr(names, addr, &off) : NULL;
	return s ? text_of(s, off) : NULL;
}

/* Like ksyms_text() for an offset from the GS base. */
char *ksyms_percpu_text(const struct tramp_names *names, uint64_t off)
{
	const struct tramp_name *s;
	uint64_t rest;

	s = names ? tramp_names__find_percpu(names, off, &rest) : NULL;
	return s ? text_of(s, rest) : NULL;
}
