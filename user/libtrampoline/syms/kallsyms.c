// SPDX-License-Identifier: LGPL-2.1 OR BSD-2-Clause
/*
 * /proc/kallsyms, line by line, without functions that have gone.
 *
 * If a tracer is active while a module loads, ftrace keeps the names of the functions that ran
 * then (ftrace_mod_get_kallsym()). It goes on listing them after their memory was freed. By now
 * that may be another module's, and its addresses would get their names. So a module's functions
 * count only where /proc/modules says that its text is.
 *
 * We read that file second: a function that it rules out is gone by then, whatever came or went
 * in between. A module without a line there has no range, and all of its lines count. So do those
 * of BPF programs, images, and code made for ftrace and kprobes.
 */
#define _GNU_SOURCE	/* strchrnul() */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../core/error.h"
#include "kallsyms.h"

/* The least room for a read(). The kernel fills a page of it, or some. */
#define READ_SIZE	(64 * 1024)

/**
 * struct libtramp_module_text - where a module has its text
 * @name: the module
 * @start: the first address
 * @end: behind the last
 * @loading: its functions for that are still there
 */
struct libtramp_module_text {
	const char *name;
	uint64_t start;
	uint64_t end;
	bool loading;
};

/* ------------------------------------------------------------ files and texts -- */

char *libtramp_read_all(const char *path)
{
	size_t room = 0, len = 0;
	char *text = NULL, *more;
	ssize_t n = 0;
	int fd, err;

	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return NULL;
	do {
		if (room - len < READ_SIZE) {
			room = room ? room * 2 : 8 << 20;
			more = realloc(text, room + 1);
			if (!more)
				goto fail;
			text = more;
		}
		n = read(fd, text + len, room - len);
		len += n > 0 ? n : 0;
	} while (n > 0 || (n < 0 && errno == EINTR));
	if (n < 0)
		goto fail;
	close(fd);
	text[len] = '\0';
	return text;

fail:
	err = errno;
	close(fd);
	free(text);
	errno = err;
	return NULL;
}

uint64_t libtramp_parse_hex(const char *s, char **end)
{
	uint64_t value = 0;

	for (;; s++) {
		if (*s >= '0' && *s <= '9')
			value = value << 4 | (uint64_t)(*s - '0');
		else if (*s >= 'a' && *s <= 'f')
			value = value << 4 | (uint64_t)(*s - 'a' + 10);
		else
			break;
	}
	*end = (char *)s;
	return value;
}

char *libtramp_cut_brackets(char *rest)
{
	char *end;

	if (*rest != '[')
		return rest + strlen(rest);
	rest++;
	end = strchr(rest, ']');
	if (!end)
		return NULL;
	*end = '\0';
	return rest;
}

bool libtramp_is_module(const char *name)
{
	/* BPF programs, and code that the kernel makes for ftrace and kprobes. */
	return strcmp(name, "bpf") && strncmp(name, "__builtin__", 11);
}

/* --------------------------------------------------------- where modules are -- */

/* "NAME SIZE REFERENCES USERS STATE 0xADDRESS[ (TAINTS)]": the size is that of all sections. */
static bool parse_module(char *line, struct libtramp_module_text *m)
{
	char *field[6], *rest = NULL, *end;
	size_t i;

	for (i = 0; i < 6; i++) {
		field[i] = strtok_r(i ? NULL : line, " ", &rest);
		if (!field[i])
			return false;
	}
	if (strncmp(field[5], "0x", 2))
		return false;
	m->name = field[0];
	m->start = libtramp_parse_hex(field[5] + 2, &end);
	/* Without an address there is no text: all of its functions ran at its load. */
	m->end = m->start ? m->start + strtoull(field[1], NULL, 10) : 0;
	m->loading = !strcmp(field[4], "Loading");
	return true;
}

static int cmp_start(const void *a, const void *b)
{
	const struct libtramp_module_text *x = a, *y = b;

	return (x->start > y->start) - (x->start < y->start);
}

static int load_modules(struct libtramp_kallsyms *k, const char *path)
{
	struct libtramp_module_text *more;
	char *line, *next;
	size_t i, room = 0;

	k->modules_text = libtramp_read_all(path);
	if (!k->modules_text)
		return -errno;
	for (line = k->modules_text; *line; line = next) {
		next = strchrnul(line, '\n');
		if (*next)
			*next++ = '\0';
		if (k->nr_modules == room) {
			room = room ? room * 2 : 256;
			more = realloc(k->modules, room * sizeof(*more));
			if (!more)
				return -ENOMEM;
			k->modules = more;
		}
		k->nr_modules += parse_module(line, &k->modules[k->nr_modules]);
	}
	if (!k->nr_modules)
		return 0;
	qsort(k->modules, k->nr_modules, sizeof(*k->modules), cmp_start);
	/* Since 6.4 a module's sections lie apart: its text ends where the next one begins. */
	for (i = 0; i + 1 < k->nr_modules; i++)
		if (k->modules[i].end > k->modules[i + 1].start)
			k->modules[i].end = k->modules[i + 1].start;
	/* Addresses are hidden from us. */
	if (!k->modules[k->nr_modules - 1].start)
		k->nr_modules = 0;
	return 0;
}

/* Lines of a module follow each other. */
static const struct libtramp_module_text *find_module(struct libtramp_kallsyms *k,
						      const char *name)
{
	size_t i;

	if (k->last < k->nr_modules && !strcmp(k->modules[k->last].name, name))
		return &k->modules[k->last];
	for (i = 0; i < k->nr_modules; i++) {
		if (!strcmp(k->modules[i].name, name)) {
			k->last = i;
			return &k->modules[i];
		}
	}
	return NULL;
}

static bool is_gone(struct libtramp_kallsyms *k, const struct libtramp_ksym *sym)
{
	const struct libtramp_module_text *m;

	if (!sym->addr || !sym->module[0] || !libtramp_is_module(sym->module))
		return false;
	m = find_module(k, sym->module);
	return m && !m->loading && (sym->addr < m->start || sym->addr >= m->end);
}

/* ------------------------------------------------------------- the symbol table -- */

int libtramp_kallsyms_open(struct libtramp_kallsyms *k, const char *path, const char *modules)
{
	const char *usual = path ? NULL : "/proc/modules";
	int err;

	*k = (struct libtramp_kallsyms) {};
	if (!path)
		path = "/proc/kallsyms";
	k->text = libtramp_read_all(path);
	if (!k->text && errno == ENOMEM)
		return libtramp_fail_nomem(path);
	if (!k->text)
		return LIBTRAMP_FAIL(-errno, TRAMP_LIB_NO_KALLSYMS, path, "%s", strerror(errno));
	k->next = k->text;
	err = modules || usual ? load_modules(k, modules ? modules : usual) : 0;
	/* A kernel without modules has no such file. */
	if (!err || (err != -ENOMEM && !modules))
		return 0;
	libtramp_kallsyms_close(k);
	free(k->text);
	if (err == -ENOMEM)
		return libtramp_fail_nomem("symbols");
	return LIBTRAMP_FAIL(err, TRAMP_LIB_NO_FILE, modules, "%s", strerror(-err));
}

static bool is_code(char type)
{
	return type == 'T' || type == 't' || type == 'W' || type == 'w';
}

/* "ADDRESS TYPE NAME[\t[MODULE]]". Whether it is wanted. */
static bool parse_line(char *line, bool code, struct libtramp_ksym *sym)
{
	char *p = strchrnul(line, ' '), *name, *rest, *end;

	if (p == line || !*p || !p[1] || p[2] != ' ')
		return false;
	/* First of all: every other line is data. */
	sym->type = p[1];
	if (code && !is_code(sym->type))
		return false;
	sym->addr = libtramp_parse_hex(line, &end);
	if (end != p)
		return false;
	name = p + 3;
	p = name + strcspn(name, " \t");
	if (p == name)
		return false;
	rest = p + strspn(p, " \t");
	*p = '\0';
	sym->name = name;
	sym->module = libtramp_cut_brackets(rest);
	return sym->module;
}

bool libtramp_kallsyms_next(struct libtramp_kallsyms *k, bool code, struct libtramp_ksym *sym)
{
	while (*k->next) {
		char *line = k->next;

		k->next = strchrnul(line, '\n');
		if (*k->next)
			*k->next++ = '\0';
		if (parse_line(line, code, sym) && !(is_code(sym->type) && is_gone(k, sym)))
			return true;
	}
	return false;
}

void libtramp_kallsyms_close(struct libtramp_kallsyms *k)
{
	free(k->modules);
	free(k->modules_text);
}
