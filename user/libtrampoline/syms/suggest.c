// SPDX-License-Identifier: LGPL-2.1 OR BSD-2-Clause
/*
 * Near misses: what was probably meant by a name that does not exist.
 *
 * A name is missing for one of three reasons. The compiler split or cloned the
 * function (NAME.isra.0, NAME.part.1); the name lacks a prefix that the kernel
 * puts before it (system calls); or it is misspelled. We try them in this order. A name
 * that is part of a longer one counts as misspelled by two edits, so that
 * "unlinkat" finds "do_unlinkat".
 *
 * Before that come a module that is not loaded, the same name in another module, and a function
 * that was inlined everywhere.
 */
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "../core/sized.h"
#include "../../distance.h"
#include "btf.h"
#include "internal.h"

size_t tramp_syms__suggest(const struct tramp_syms *syms, const char *name,
			   const char **out, size_t max)
{
	struct libtramp_nearest best = {
		.out = out, .max = max > LIBTRAMP_MAX_NEAREST ? LIBTRAMP_MAX_NEAREST : max,
	};
	size_t i, len = name ? strlen(name) : 0;
	unsigned int tol = libtramp_tolerance(len);

	if (!best.max || !tol || !out)
		return 0;
	for (i = 0; i < syms->nr; i++) {
		const struct tramp_sym *sym = &syms->syms[i];
		unsigned int limit, d;

		/* One suggestion a name, however many functions bear it. */
		if (i && !strcmp(sym->name, syms->syms[i - 1].name))
			continue;
		limit = libtramp_nearest_limit(&best, tol);
		d = libtramp_distance(name, sym->name, limit);
		if (d > limit && len >= 4 && limit >= 2 && strstr(sym->name, name) &&
		    !strchr(sym->name, '.'))
			d = 2;
		if (d > limit || !d)
			continue;
		libtramp_nearest_add(&best, sym->name, d);
	}
	return best.nr;
}

static bool exists(const struct tramp_syms *syms, const char *name)
{
	size_t i = libtramp_syms_lower(syms, name);

	return i < syms->nr && !strcmp(syms->syms[i].name, name);
}

/* NAME.something: what the compiler made of it. */
static const char *find_clone(const struct tramp_syms *syms, const char *name)
{
	char prefix[LIBTRAMP_MAX_WORD + 2];
	size_t i, len;

	len = snprintf(prefix, sizeof(prefix), "%s.", name);
	if (len >= sizeof(prefix))
		return NULL;
	i = libtramp_syms_lower(syms, prefix);
	if (i < syms->nr && !strncmp(syms->syms[i].name, prefix, len))
		return syms->syms[i].name;
	return NULL;
}

/* Describes in @buf what is near a name that does not exist. Returns the remedy, or NULL. */
static const char *near_misses(const struct tramp_syms *syms, const char *name, char *buf,
			       size_t len)
{
	const char *clone = find_clone(syms, name), *near[3];
	char syscall[LIBTRAMP_MAX_WORD + 16];
	size_t i, nr, pos;

	if (clone) {
		snprintf(buf, len, "the compiler made '%s' of it", clone);
		return "choose a caller of it: BTF does not describe what the compiler made";
	}
	/* unlink, sys_unlink: the system call's entry, as BPF programs see it on x86-64. */
	snprintf(syscall, sizeof(syscall), "__x64_sys_%.*s", LIBTRAMP_MAX_WORD,
		 !strncmp(name, "sys_", 4) ? name + 4 : name);
	if (exists(syms, syscall)) {
		snprintf(buf, len, "the system call is '%s'", syscall);
		return "use that name";
	}
	nr = tramp_syms__suggest(syms, name, near, ARRAY_SIZE(near));
	if (!nr)
		return NULL;
	pos = snprintf(buf, len, "the nearest: ");
	for (i = 0; i < nr && pos < len; i++)
		pos += snprintf(buf + pos, len - pos, "%s%s", i ? ", " : "", near[i]);
	return "use one of these, if it was meant";
}

/* Has the snapshot nothing of a module? Then why, and what to do. */
static bool module_is_missing(const struct tramp_syms *syms, const struct libtramp_spec *spec,
			      struct libtramp_unknown *u)
{
	struct libtramp_nearest near = { .max = 1 };
	const char *module = spec->module, *last = "", *best = NULL;
	size_t i;

	near.out = &best;
	if (!module[0] || strpbrk(module, LIBTRAMP_WILDCARDS))
		return false;
	for (i = 0; i < syms->nr; i++) {
		const char *m = syms->syms[i].module;

		if (m == last || !m[0])
			continue;
		if (!strcmp(m, module))
			return false;
		libtramp_nearest_try(&near, module, m);
		last = m;
	}
	i = libtramp_syms_lower(syms, spec->name);
	if (i < syms->nr && !strcmp(syms->syms[i].name, spec->name)) {
		best = libtramp_shown_module(&syms->syms[i]);
		snprintf(u->detail, sizeof(u->detail),
			 "the module '%s' is not loaded; %s has one of that name", module, best);
	} else if (best) {
		snprintf(u->detail, sizeof(u->detail),
			 "the module '%s' is not loaded; the nearest: %s", module, best);
	} else {
		snprintf(u->detail, sizeof(u->detail), "the module '%s' is not loaded", module);
	}
	if (best)
		snprintf(u->way, sizeof(u->way), "modprobe %s, or name %s:%s", module, best,
			 spec->name);
	else
		snprintf(u->way, sizeof(u->way), "modprobe %s", module);
	u->remedy = u->way;
	return true;
}

void libtramp_why_unknown(const struct tramp_syms *syms, const struct libtramp_spec *spec,
			  bool plain, struct libtramp_unknown *u)
{
	size_t i;

	u->inlined = false;
	u->remedy = NULL;
	u->detail[0] = '\0';
	if (module_is_missing(syms, spec, u) || !plain)
		return;
	/* The right name in the wrong module is the nearest miss of all. */
	i = libtramp_syms_lower(syms, spec->name);
	if (i < syms->nr && !strcmp(syms->syms[i].name, spec->name)) {
		const char *module = libtramp_shown_module(&syms->syms[i]);

		snprintf(u->detail, sizeof(u->detail), "%s has one", module);
		snprintf(u->way, sizeof(u->way), "name %s:%s", module, spec->name);
		u->remedy = u->way;
		return;
	}
	u->inlined = libtramp_is_inlined(syms, spec->module, spec->name);
	if (!u->inlined)
		u->remedy = near_misses(syms, spec->name, u->detail, sizeof(u->detail));
}
