// SPDX-License-Identifier: LGPL-2.1 OR BSD-2-Clause
/*
 * Which functions of a snapshot ftrace can patch, from ftrace's own list.
 *
 * That list has no addresses before Linux 6.5 (available_filter_functions_addrs). So
 * functions of the same name look alike there: all of them count as traceable if any is. Those who
 * have to know better ask whether there is a line for each (libtramp_syms_namesakes()).
 *
 * The kernel looks a symbol up for each of its lines, which takes longer than printing
 * all of kallsyms: it is read when somebody asks, and not before.
 */
#define _GNU_SOURCE	/* strchrnul() */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../core/error.h"
#include "../core/sized.h"
#include "internal.h"
#include "kallsyms.h"

static void mark_traceable(const struct tramp_syms *syms, const char *name, const char *module,
			   uint64_t addr)
{
	uint8_t *lines = NULL;
	size_t i;

	for (i = libtramp_syms_lower(syms, name);
	     i < syms->nr && !strcmp(syms->syms[i].name, name); i++) {
		struct tramp_sym *sym = &syms->syms[i];

		if (!addr && !lines && !strcmp(sym->module, module)) {
			lines = &syms->later->lines[i];
			*lines += *lines < UINT8_MAX;
		}
		/*
		 * The list's address is that of the patched instruction: behind
		 * an ENDBR that is 4 bytes into the function.
		 */
		if (!strcmp(sym->module, module) &&
		    (!addr || !sym->addr || (addr >= sym->addr && addr - sym->addr < 16)))
			/* Somebody else may be reading the other flags. */
			__atomic_fetch_or(&sym->flags, TRAMP_SYM_TRACEABLE, __ATOMIC_RELAXED);
	}
}

/* A line of the list is "[ADDRESS ]NAME[ [MODULE]]"; the address only in the _addrs file. */
static void mark_line(const struct tramp_syms *syms, char *line)
{
	char *name = line, *end, *module;
	uint64_t addr;

	/* A name may read as a number ("add [mod]"): an address has a name behind it. */
	addr = libtramp_parse_hex(line, &end);
	if (end != line && end[0] == ' ' && end[1] != '[')
		name = end + 1;
	else
		addr = 0;
	end = name + strcspn(name, " \t");
	module = end + strspn(end, " \t");
	*end = '\0';
	module = libtramp_cut_brackets(module);
	if (module && libtramp_is_module(module))
		mark_traceable(syms, name, module, addr);
}

static bool load_traceable(const struct tramp_syms *syms, const char *path)
{
	char *text = libtramp_read_all(path), *line, *next;

	if (!text)
		return false;
	for (line = text; *line; line = next) {
		next = strchrnul(line, '\n');
		if (*next)
			*next++ = '\0';
		mark_line(syms, line);
	}
	free(text);
	return true;
}

/* 0 or a negative errno. */
static int find_traceable(const struct tramp_syms *syms, const char *path)
{
	static const char * const usual[] = {
		"/sys/kernel/tracing/available_filter_functions_addrs",
		"/sys/kernel/debug/tracing/available_filter_functions_addrs",
		"/sys/kernel/tracing/available_filter_functions",
		"/sys/kernel/debug/tracing/available_filter_functions",
	};
	size_t i;

	if (!syms->later->lines)
		syms->later->lines = calloc(syms->nr, sizeof(*syms->later->lines));
	if (!syms->later->lines)
		return -ENOMEM;
	errno = ENOENT;		/* if there is nothing to read */
	if (path)
		return path[0] && load_traceable(syms, path) ? 0 : -errno;
	/* The next one may be missing, and says nothing of a lack of memory for this one. */
	for (i = 0; i < ARRAY_SIZE(usual); i++) {
		if (load_traceable(syms, usual[i]))
			return 0;
		if (errno == ENOMEM)
			break;
	}
	return -errno;
}

struct libtramp_namesakes libtramp_syms_namesakes(const struct tramp_syms *syms,
						  const struct tramp_sym *sym)
{
	const struct tramp_sym *first = sym, *end = sym + 1;
	uint8_t lines;

	/* They stand together. */
	while (first > syms->syms && !strcmp(first[-1].name, sym->name) &&
	       !strcmp(first[-1].module, sym->module))
		first--;
	while (end < syms->syms + syms->nr && !strcmp(end->name, sym->name) &&
	       !strcmp(end->module, sym->module))
		end++;
	lines = syms->later->lines ? syms->later->lines[first - syms->syms] : 0;
	return (struct libtramp_namesakes) {
		.nr = end - first,
		.each_known = !lines || lines == UINT8_MAX || lines >= end - first,
	};
}

bool tramp_syms__knows_traceable(const struct tramp_syms *syms)
{
	struct libtramp_later *later = syms->later;
	const char *path = later->filter_functions;
	bool first;
	int err;

	pthread_mutex_lock(&later->lock);
	first = !later->traceable_read;
	if (first) {
		later->traceable_err = find_traceable(syms, path);
		/* Without memory the next one may have more luck. */
		later->traceable_read = later->traceable_err != -ENOMEM;
	}
	err = later->traceable_err;
	pthread_mutex_unlock(&later->lock);
	if (!err)
		return true;
	if (!path)
		path = "available_filter_functions";
	if (err == -ENOMEM)
		libtramp_fail_nomem(path);
	else
		LIBTRAMP_FAIL(err, TRAMP_LIB_NO_TRACEFS, path, "%s", strerror(-err));
	/* The callback that gets the message may ask the snapshot something. */
	if (first && path[0])
		libtramp_print(TRAMP_PRINT_DEBUG, "%s: %s\n", path, strerror(-err));
	return false;
}
