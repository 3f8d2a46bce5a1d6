// SPDX-License-Identifier: GPL-2.0
/*
 * /proc/kallsyms, read whole and sorted by address.
 *
 * On these kernels a per-CPU variable's symbol is its offset from the GS base:
 * small numbers, below __per_cpu_end. They live in a part of their own of the
 * same table.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kallsyms.h"
#include "text.h"

struct ksym {
	uint64_t addr;
	const char *name;
	const char *module;	/* NULL for the kernel proper */
	char type;
};

struct ksyms {
	char *text;		/* the file, cut into strings */
	struct ksym *syms;
	size_t nr;
	uint64_t percpu_end;	/* 0 if unknown */
};

/* Symbols have no size in kallsyms: what is further away than this is not in it. */
#define MAX_OFFSET 0x10000

/* /proc files have no size: read until there is no more. */
static char *read_all(const char *path)
{
	size_t size = 16 << 20, len = 0, n;
	char *text = xcalloc(size, 1);
	FILE *f = fopen(path, "r");
	int err;

	if (!f) {
		free(text);
		return NULL;
	}
	while ((n = fread(text + len, 1, size - len - 1, f)) > 0) {
		len += n;
		if (size - len < 4096) {
			size *= 2;
			text = xrealloc(text, size);
		}
	}
	text[len] = 0;
	if (!ferror(f)) {
		fclose(f);
		return text;
	}
	err = errno;
	fclose(f);
	free(text);
	errno = err;
	return NULL;
}

/* Of several names of one address, code first, then global ones. */
static int rank(const struct ksym *s)
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
	const struct ksym *x = a, *y = b;

	if (x->addr != y->addr)
		return x->addr < y->addr ? -1 : 1;
	return rank(x) - rank(y);
}

/* One line: "ffffffff81000000 T _text" or "... t name\t[module]". */
static bool parse_line(char *line, struct ksym *s)
{
	char *p, *tab;

	s->addr = strtoull(line, &p, 16);
	if (p == line || p[0] != ' ' || !p[1] || p[2] != ' ')
		return false;
	s->type = p[1];
	s->name = p + 3;
	s->module = NULL;
	tab = strchr(p + 3, '\t');
	if (tab) {
		*tab = 0;
		s->module = tab + 2;
		tab[strlen(tab + 1)] = 0;	/* the closing bracket */
	}
	return true;
}

/**
 * ksyms_load() - read /proc/kallsyms
 *
 * Return: to be freed with ksyms_free(); NULL with errno if it cannot be read,
 * EPERM if the addresses are hidden from us.
 */
struct ksyms *ksyms_load(void)
{
	struct ksyms *ks = xcalloc(1, sizeof(*ks));
	char *line, *next;
	bool seen = false;
	size_t room = 0;

	ks->text = read_all("/proc/kallsyms");
	if (!ks->text) {
		free(ks);
		return NULL;
	}
	for (line = ks->text; *line; line = next) {
		next = strchrnul(line, '\n');
		if (*next)
			*next++ = 0;
		if (ks->nr == room) {
			room = room ? room * 2 : 1 << 18;
			ks->syms = xrealloc(ks->syms, room * sizeof(*ks->syms));
		}
		if (!parse_line(line, &ks->syms[ks->nr]))
			continue;
		seen |= ks->syms[ks->nr].addr != 0;
		if (!strcmp(ks->syms[ks->nr].name, "__per_cpu_end"))
			ks->percpu_end = ks->syms[ks->nr].addr;
		ks->nr++;
	}
	if (!seen) {
		ksyms_free(ks);
		errno = EPERM;
		return NULL;
	}
	qsort(ks->syms, ks->nr, sizeof(*ks->syms), by_addr);
	return ks;
}

void ksyms_free(struct ksyms *ks)
{
	if (!ks)
		return;
	free(ks->syms);
	free(ks->text);
	free(ks);
}

/**
 * ksyms_find() - the symbol that an address belongs to
 * @ks: the symbols; NULL finds nothing
 * @addr: the address
 * @off: (out) its distance from the symbol
 * @module: (out) the symbol's module, NULL for the kernel proper
 *
 * Return: the name, NULL if no symbol is near.
 */
const char *ksyms_find(const struct ksyms *ks, uint64_t addr, uint64_t *off, const char **module)
{
	size_t lo = 0, hi = ks ? ks->nr : 0;
	const struct ksym *s;

	/* The first symbol above @addr; what is below it is the one, or its last alias. */
	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (ks->syms[mid].addr <= addr)
			lo = mid + 1;
		else
			hi = mid;
	}
	if (!lo)
		return NULL;
	for (s = &ks->syms[lo - 1]; s > ks->syms && s[-1].addr == s->addr; s--)
		;
	if (addr - s->addr >= MAX_OFFSET)
		return NULL;
	*off = addr - s->addr;
	*module = s->module;
	return s->name;
}

/* "name+0x10 [module]", without the offset if it is 0; NULL if none. To be freed. */
char *ksyms_text(const struct ksyms *ks, uint64_t addr)
{
	const char *module, *name;
	char where[24] = "";
	uint64_t off;

	name = ksyms_find(ks, addr, &off, &module);
	if (!name)
		return NULL;
	if (off)
		snprintf(where, sizeof(where), "+0x%" PRIx64, off);
	/* Programs and images say what they are by their names. */
	if (!module || !strcmp(module, "bpf"))
		return xasprintf("%s%s", name, where);
	return xasprintf("%s%s [%s]", name, where, module);
}

/* Like ksyms_text() for an offset from the GS base. */
char *ksyms_percpu_text(const struct ksyms *ks, uint64_t off)
{
	if (!ks || off >= ks->percpu_end)
		return NULL;
	return ksyms_text(ks, off);
}
