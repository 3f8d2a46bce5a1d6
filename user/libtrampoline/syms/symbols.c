// SPDX-License-Identifier: LGPL-2.1 OR BSD-2-Clause
/*
 * A snapshot of the kernel's functions: names and addresses, from /proc/kallsyms (kallsyms.c).
 *
 * Most commands begin with this, and there are more than a hundred thousand lines. So the
 * file stays in memory as it was read, and strings are pieces of it. Names are sorted by
 * their first eight bytes, as one number; only equal ones are compared as strings. Some
 * data is made when a command first asks for it: the order of addresses here, the list
 * of functions that ftrace can patch in traceable.c, BTF in btf.c.
 */
#define _GNU_SOURCE	/* qsort_r() */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../core/error.h"
#include "../core/sized.h"
#include "internal.h"
#include "kallsyms.h"

static int cmp_name(const void *a, const void *b)
{
	const struct tramp_sym *x = a, *y = b;
	int d = strcmp(x->name, y->name);

	if (!d)
		d = strcmp(x->module, y->module);
	if (!d)
		d = (x->addr > y->addr) - (x->addr < y->addr);
	return d;
}

static int cmp_addr(const void *a, const void *b, void *ctx)
{
	const struct tramp_syms *syms = ctx;
	uint64_t x = syms->syms[*(const uint32_t *)a].addr;
	uint64_t y = syms->syms[*(const uint32_t *)b].addr;

	if (x != y)
		return x < y ? -1 : 1;
	/* Two names of one address: the order of names decides, always alike. */
	return *(const uint32_t *)a < *(const uint32_t *)b ? -1 : 1;
}

/* Whether a line of kallsyms is a function of the kernel or of a module. */
static bool take_line(const struct libtramp_ksym *line, struct tramp_sym *sym)
{
	/*
	 * The bytes in front of functions have names of their own: padding
	 * (CONFIG_PREFIX_SYMBOLS), and what kCFI puts there (CONFIG_CFI_CLANG).
	 */
	if (!strncmp(line->name, "__pfx_", 6) || !strncmp(line->name, "__cfi_", 6) ||
	    !libtramp_is_module(line->module))
		return false;
	/* Labels in the middle of functions, which clang leaves in modules. */
	if (!strncmp(line->name, ".L", 2))
		return false;
	sym->addr = line->addr;
	sym->name = line->name;
	sym->module = line->module;
	switch (line->type) {
	case 'T':
		sym->flags = 0;
		break;
	case 't':
		sym->flags = TRAMP_SYM_LOCAL;
		break;
	default:
		sym->flags = TRAMP_SYM_WEAK;
	}
	return true;
}

static uint64_t first_bytes(const char *name)
{
	uint64_t value = 0;
	int i;

	for (i = 0; i < 8; i++)
		value = value << 8 | (unsigned char)(*name ? *name++ : 0);
	return value;
}

struct name_key {
	uint64_t first;
	const struct tramp_sym *sym;
};

static int cmp_key(const void *a, const void *b)
{
	const struct name_key *x = a, *y = b;

	if (x->first != y->first)
		return x->first < y->first ? -1 : 1;
	return cmp_name(x->sym, y->sym);
}

static int sort_names(struct tramp_syms *syms)
{
	struct name_key *keys = malloc(syms->nr * sizeof(*keys));
	struct tramp_sym *sorted = malloc(syms->nr * sizeof(*sorted));
	size_t i;

	if (!keys || !sorted) {
		free(keys);
		free(sorted);
		return libtramp_fail_nomem("symbols");
	}
	for (i = 0; i < syms->nr; i++) {
		keys[i].first = first_bytes(syms->syms[i].name);
		keys[i].sym = &syms->syms[i];
	}
	qsort(keys, syms->nr, sizeof(*keys), cmp_key);
	for (i = 0; i < syms->nr; i++)
		sorted[i] = *keys[i].sym;
	free(keys);
	free(syms->syms);
	syms->syms = sorted;
	return 0;
}

static int take_lines(struct tramp_syms *syms, struct libtramp_kallsyms *k)
{
	struct libtramp_ksym line;
	size_t room = 0;

	while (libtramp_kallsyms_next(k, true, &line)) {
		if (syms->nr == room) {
			struct tramp_sym *more;

			room = room ? room * 2 : 65536;
			more = realloc(syms->syms, room * sizeof(*more));
			if (!more)
				return libtramp_fail_nomem("symbols");
			syms->syms = more;
		}
		syms->nr += take_line(&line, &syms->syms[syms->nr]);
	}
	return 0;
}

static int load_kallsyms(struct tramp_syms *syms, const char *path, const char *modules)
{
	struct libtramp_kallsyms k;
	int err = libtramp_kallsyms_open(&k, path, modules);

	if (err)
		return err;
	syms->text = k.text;
	err = take_lines(syms, &k);
	libtramp_kallsyms_close(&k);
	if (err)
		return err;
	if (!syms->nr)
		return LIBTRAMP_FAIL(-ENODATA, TRAMP_LIB_NO_KALLSYMS,
				     path ? path : "/proc/kallsyms",
				     "there is no function in it");
	return sort_names(syms);
}

static uint32_t *sort_addresses(const struct tramp_syms *syms, size_t *nr)
{
	uint32_t *order = malloc(syms->nr * sizeof(*order));
	size_t i;

	if (!order)
		return NULL;
	*nr = 0;
	for (i = 0; i < syms->nr; i++)
		if (syms->syms[i].addr)
			order[(*nr)++] = i;
	qsort_r(order, *nr, sizeof(*order), cmp_addr, (void *)syms);
	return order;
}

const uint32_t *libtramp_syms_by_addr(const struct tramp_syms *syms, size_t *nr)
{
	struct libtramp_later *later = syms->later;
	const uint32_t *order;

	pthread_mutex_lock(&later->lock);
	if (!later->by_addr)
		later->by_addr = sort_addresses(syms, &later->nr_by_addr);
	order = later->by_addr;
	*nr = later->nr_by_addr;
	pthread_mutex_unlock(&later->lock);
	return order;
}

size_t libtramp_syms_lower(const struct tramp_syms *syms, const char *name)
{
	size_t lo = 0, hi = syms->nr;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (strcmp(syms->syms[mid].name, name) < 0)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

static struct libtramp_later *new_later(const char *filter_functions)
{
	struct libtramp_later *later = calloc(1, sizeof(*later));

	if (!later)
		return NULL;
	if (filter_functions) {
		later->filter_functions = strdup(filter_functions);
		if (!later->filter_functions) {
			free(later);
			return NULL;
		}
	}
	pthread_mutex_init(&later->lock, NULL);
	return later;
}

static void free_later(struct libtramp_later *later)
{
	if (!later)
		return;
	pthread_mutex_destroy(&later->lock);
	free(later->filter_functions);
	free(later->by_addr);
	free(later->lines);
	free(later);
}

struct tramp_syms *tramp_syms__load(const struct tramp_syms_opts *opts)
{
	const char *kallsyms, *modules, *module_btf;
	struct tramp_syms *syms;

	if (!LIBTRAMP_OPTS_VALID(opts, tramp_syms_opts)) {
		LIBTRAMP_FAIL(-EINVAL, TRAMP_LIB_BAD_ARGUMENT, "tramp_syms__load()",
			      "opts must be declared with TRAMP_OPTS(tramp_syms_opts, ...)");
		return NULL;
	}
	syms = calloc(1, sizeof(*syms));
	if (!syms) {
		libtramp_fail_nomem("symbols");
		return NULL;
	}
	module_btf = LIBTRAMP_OPTS_GET(opts, tramp_syms_opts, module_btf_dir, NULL);
	syms->btfs = libtramp_btfs_new(LIBTRAMP_OPTS_GET(opts, tramp_syms_opts, vmlinux_btf, NULL),
				       module_btf);
	if (!syms->btfs)
		goto fail;
	syms->later = new_later(LIBTRAMP_OPTS_GET(opts, tramp_syms_opts, filter_functions, NULL));
	if (!syms->later) {
		libtramp_fail_nomem("symbols");
		goto fail;
	}
	kallsyms = LIBTRAMP_OPTS_GET(opts, tramp_syms_opts, kallsyms, NULL);
	modules = LIBTRAMP_OPTS_GET(opts, tramp_syms_opts, modules, NULL);
	if (load_kallsyms(syms, kallsyms, modules))
		goto fail;
	return syms;

fail:
	tramp_syms__free(syms);
	errno = -tramp_last_error()->err;
	return NULL;
}

void tramp_syms__free(struct tramp_syms *syms)
{
	if (!syms)
		return;
	free(syms->text);
	libtramp_btfs_free(syms->btfs);
	free_later(syms->later);
	free(syms->syms);
	free(syms);
}

size_t tramp_syms__count(const struct tramp_syms *syms)
{
	return syms->nr;
}

const struct tramp_sym *tramp_syms__get(const struct tramp_syms *syms, size_t i)
{
	return i < syms->nr ? &syms->syms[i] : NULL;
}
