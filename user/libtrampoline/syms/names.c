// SPDX-License-Identifier: LGPL-2.1 OR BSD-2-Clause
/*
 * Names for any kernel address: all of /proc/kallsyms, in the order of addresses.
 *
 * On these kernels a per-CPU variable's symbol is its offset from the GS base: small numbers,
 * below __per_cpu_end. They live in a part of their own of the same table.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../core/error.h"
#include "../core/sized.h"
#include "kallsyms.h"

/**
 * struct tramp_names - all symbols
 * @names: in the order of addresses
 * @nr: how many
 * @text: what was read; strings are pieces of it
 * @percpu_end: behind the last per-CPU variable; 0 if unknown
 */
struct tramp_names {
	struct tramp_name *names;
	size_t nr;
	char *text;
	uint64_t percpu_end;
};

/* Symbols have no size in kallsyms: what is further away than this is not in it. */
#define MAX_OFFSET 0x10000

/* Of several names of one address, code first, then global ones. */
static int rank(const struct tramp_name *s)
{
	switch (s->type) {
	case 'T':
		return 0;
	case 't':
	case 'W':
	case 'w':
		return 1;
	case 'D':
	case 'B':
	case 'R':
		return 2;
	}
	/* const_NAME is an alias of NAME; __per_cpu_start and the like mark sections. */
	if (!strncmp(s->name, "const_", 6))
		return 3;
	return !strncmp(s->name, "__per_cpu_", 10) || strstr(s->name, "_start") ? 4 : 2;
}

static int by_addr(const void *a, const void *b)
{
	const struct tramp_name *x = a, *y = b;
	int d;

	if (x->addr != y->addr)
		return x->addr < y->addr ? -1 : 1;
	d = rank(x) - rank(y);
	/* Of equals the first in the file. */
	return d ? d : (x->name > y->name) - (x->name < y->name);
}

static int take_lines(struct tramp_names *names, struct libtramp_kallsyms *k)
{
	struct libtramp_ksym line;
	size_t room = 0;

	while (libtramp_kallsyms_next(k, false, &line)) {
		if (names->nr == room) {
			struct tramp_name *more;

			room = room ? room * 2 : 1 << 18;
			more = realloc(names->names, room * sizeof(*more));
			if (!more)
				return libtramp_fail_nomem("symbols");
			names->names = more;
		}
		names->names[names->nr++] = (struct tramp_name) {
			.name = line.name, .module = line.module, .addr = line.addr,
			.type = line.type,
		};
		if (!strcmp(line.name, "__per_cpu_end"))
			names->percpu_end = line.addr;
	}
	return 0;
}

static int load_names(struct tramp_names *names, const char *path, const char *modules)
{
	struct libtramp_kallsyms k;
	int err = libtramp_kallsyms_open(&k, path, modules);

	if (err)
		return err;
	names->text = k.text;
	err = take_lines(names, &k);
	libtramp_kallsyms_close(&k);
	if (err)
		return err;
	if (!path)
		path = "/proc/kallsyms";
	if (!names->nr)
		return LIBTRAMP_FAIL(-ENODATA, TRAMP_LIB_NO_KALLSYMS, path,
				     "there is no symbol in it");
	qsort(names->names, names->nr, sizeof(*names->names), by_addr);
	if (!names->names[names->nr - 1].addr)
		return LIBTRAMP_FAIL(-EPERM, TRAMP_LIB_NO_KALLSYMS, path,
				     "addresses are hidden from the caller");
	return 0;
}

struct tramp_names *tramp_names__load(const struct tramp_names_opts *opts)
{
	struct tramp_names *names;

	if (!LIBTRAMP_OPTS_VALID(opts, tramp_names_opts)) {
		LIBTRAMP_FAIL(-EINVAL, TRAMP_LIB_BAD_ARGUMENT, "tramp_names__load()",
			      "opts must be declared with TRAMP_OPTS(tramp_names_opts, ...)");
		return NULL;
	}
	names = calloc(1, sizeof(*names));
	if (!names) {
		libtramp_fail_nomem("symbols");
		return NULL;
	}
	if (load_names(names, LIBTRAMP_OPTS_GET(opts, tramp_names_opts, kallsyms, NULL),
		       LIBTRAMP_OPTS_GET(opts, tramp_names_opts, modules, NULL))) {
		tramp_names__free(names);
		errno = -tramp_last_error()->err;
		return NULL;
	}
	return names;
}

void tramp_names__free(struct tramp_names *names)
{
	if (!names)
		return;
	free(names->names);
	free(names->text);
	free(names);
}

const struct tramp_name *tramp_names__find_addr(const struct tramp_names *names, uint64_t addr,
						uint64_t *off)
{
	const struct tramp_name *s;
	size_t lo = 0, hi = names->nr;

	/* The first symbol above @addr; what is below it is the one, or its last alias. */
	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (names->names[mid].addr <= addr)
			lo = mid + 1;
		else
			hi = mid;
	}
	if (!lo || addr - names->names[lo - 1].addr >= MAX_OFFSET) {
		errno = ENOENT;
		return NULL;
	}
	for (s = &names->names[lo - 1]; s > names->names && s[-1].addr == s->addr; s--)
		;
	if (off)
		*off = addr - s->addr;
	return s;
}

const struct tramp_name *tramp_names__find_percpu(const struct tramp_names *names, uint64_t addr,
						  uint64_t *off)
{
	if (addr < names->percpu_end)
		return tramp_names__find_addr(names, addr, off);
	errno = ENOENT;
	return NULL;
}
