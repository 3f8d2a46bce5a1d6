// SPDX-License-Identifier: GPL-2.0
/*
 * From a line of source to its instructions, and back; see lines.h.
 *
 * The compiler notes for each instruction that begins a statement which line it is of. A line may
 * have many of them: its statement is split, or the function is inlined in several places. Of each
 * function or inlined copy the lowest one is where the line begins.
 */
#include <dwarf.h>
#include <elfutils/libdw.h>
#include <stdlib.h>
#include <string.h>

#include "../out/text.h"
#include "lines.h"
#include "lines_internal.h"

/* One row of a line table that is of the line. */
struct row {
	Dwarf_Addr addr;
	Dwarf_Off scope;
	size_t place;		/* its number among the places of the result */
};

struct search {
	struct lines *l;
	const char *file;
	int line;
	Dwarf_Die *unit;	/* the one that is looked into */
	struct line_found *found;
	struct row *rows;
	size_t nr_rows;
	bool by_unit;		/* only units of that name are looked into */
};

/* ------------------------------------------------------------ file names -- */

/* A path without "./", "//" and "x/../". To be freed. */
static char *plain_path(const char *path)
{
	char *out = xcalloc(1, strlen(path) + 2), *end = out;
	const char *part = path, *rest;

	if (*path == '/')
		*end++ = '/';
	for (; *part; part = rest) {
		const size_t len = strcspn(part, "/");
		char *last;

		rest = part + len + strspn(part + len, "/");
		if (!len || (len == 1 && part[0] == '.'))
			continue;
		*end = 0;
		last = strrchr(out, '/');
		if (len == 2 && !strncmp(part, "..", 2) && end > out && strcmp(out, "/") &&
		    strcmp(last ? last + 1 : out, "..")) {
			end = last && last > out ? last : last ? last + 1 : out;
			continue;
		}
		if (end > out && end[-1] != '/')
			*end++ = '/';
		memcpy(end, part, len);
		end += len;
	}
	*end = 0;
	return out;
}

/* A file of a unit by its whole path. To be freed. */
static char *whole_path(Dwarf_Die *unit, const char *path)
{
	Dwarf_Attribute attr;
	const char *folder = dwarf_formstring(dwarf_attr(unit, DW_AT_comp_dir, &attr));
	char *joined, *plain;

	if (path[0] == '/' || !folder)
		return plain_path(path);
	joined = xasprintf("%s/%s", folder, path);
	plain = plain_path(joined);
	free(joined);
	return plain;
}

/* Is @path the file that somebody means by @file: all of it, or its end behind a slash? */
static bool is_file(Dwarf_Die *unit, const char *path, const char *file)
{
	const size_t want = strlen(file);
	char *whole;
	size_t len;
	bool is;

	/* Most of them are told by their names alone. */
	if (strcmp(basename(path), basename(file)))
		return false;
	whole = whole_path(unit, path);
	len = strlen(whole);
	is = len >= want && !strcmp(whole + len - want, file) &&
	     (len == want || (file[0] != '/' && whole[len - want - 1] == '/'));
	free(whole);
	return is;
}

/* A file as people know it: below the folder that it was compiled in. To be freed. */
static char *shown_path(Dwarf_Die *unit, const char *path)
{
	char *whole = whole_path(unit, path), *root = whole_path(unit, "."), *out = whole;
	const size_t len = strlen(root);

	if (!strncmp(whole, root, len) && whole[len] == '/') {
		out = xasprintf("%s", whole + len + 1);
		free(whole);
	}
	free(root);
	return out;
}

static void add_file(struct line_found *found, char *shown)
{
	size_t i;

	for (i = 0; i < found->nr_files && i < LINE_MAX_FILES; i++)
		if (!strcmp(found->files[i], shown)) {
			free(shown);
			return;
		}
	if (found->nr_files < LINE_MAX_FILES)
		found->files[found->nr_files] = shown;
	else
		free(shown);
	found->nr_files++;
}

/* ----------------------------------------------------------------- lines -- */

static bool is_function(Dwarf_Die *die)
{
	return dwarf_tag(die) == DW_TAG_subprogram || dwarf_tag(die) == DW_TAG_inlined_subroutine;
}

/* The innermost function, or inlined copy of one, at an address; false if there is none. */
static bool function_at(Dwarf_Die *unit, Dwarf_Addr addr, Dwarf_Die *function)
{
	Dwarf_Die *scopes = NULL;
	const int nr = dwarf_getscopes(unit, addr, &scopes);
	int i;

	for (i = 0; i < nr && !is_function(&scopes[i]); i++)
		;
	if (i < nr)
		*function = scopes[i];
	free(scopes);
	return nr > 0 && i < nr;
}

/* Among what is inlined below @die, the copy that is entered at an address. */
static bool copy_entered_at(Dwarf_Die *die, Dwarf_Addr addr, Dwarf_Die *copy)
{
	Dwarf_Die child;
	Dwarf_Addr entry;

	if (dwarf_child(die, &child))
		return false;
	do {
		const int tag = dwarf_tag(&child);

		if (tag != DW_TAG_inlined_subroutine && tag != DW_TAG_lexical_block)
			continue;
		if (tag == DW_TAG_inlined_subroutine && !dwarf_entrypc(&child, &entry) &&
		    entry == addr) {
			*copy = child;
			return true;
		}
		if (copy_entered_at(&child, addr, copy))
			return true;
	} while (!dwarf_siblingof(&child, &child));
	return false;
}

/*
 * The function that a line is written in, of those that are at an address: the one that begins
 * last in front of it. A copy is entered at instructions that may count as its caller's, so it is
 * looked for as well. *@best is the line that the function so far begins at.
 */
static void written_in(Dwarf_Die *function, const struct search *s, int *best, Dwarf_Die *found)
{
	const char *file = dwarf_decl_file(function);
	int line;

	if (!file || dwarf_decl_line(function, &line) || line > s->line || line <= *best ||
	    !is_file(s->unit, file, s->file))
		return;
	*best = line;
	*found = *function;
}

static bool function_of_line(struct search *s, Dwarf_Addr addr, Dwarf_Die *found)
{
	Dwarf_Die function, copy, *scopes = NULL;
	int nr, i, best = 0;

	if (!function_at(s->unit, addr, &function))
		return false;
	*found = function;
	while (copy_entered_at(&function, addr, &copy)) {
		function = copy;
		written_in(&function, s, &best, found);
	}
	nr = dwarf_getscopes_die(&function, &scopes);
	for (i = 0; i < nr; i++)
		if (is_function(&scopes[i]))
			written_in(&scopes[i], s, &best, found);
	free(scopes);
	return true;
}

static void add_place(struct search *s, const struct row *row, Dwarf_Die *function)
{
	struct line_found *f = s->found;
	const char *name = function ? dwarf_diename(function) : NULL;

	f->places = xrealloc(f->places, (f->nr + 1) * sizeof(*f->places));
	f->places[f->nr++] = (struct line_place){
		.addr = row->addr + s->l->bias + s->l->slide,
		.function = name ? xasprintf("%s", name) : NULL,
		.inlined = function && dwarf_tag(function) == DW_TAG_inlined_subroutine,
	};
}

/* A row that begins a statement of the line. The first one of its function and unit counts. */
static void add_row(struct search *s, Dwarf_Addr addr)
{
	struct row row = { .addr = addr };
	Dwarf_Die function;
	const bool known = function_of_line(s, addr, &function);
	size_t i;

	row.scope = dwarf_dieoffset(known ? &function : s->unit);
	for (i = 0; i < s->nr_rows; i++) {
		struct line_place *p = &s->found->places[s->rows[i].place];

		if (s->rows[i].scope != row.scope)
			continue;
		if (addr < s->rows[i].addr) {
			s->rows[i].addr = addr;
			p->addr = addr + s->l->bias + s->l->slide;
		}
		return;
	}
	row.place = s->found->nr;
	add_place(s, &row, known ? &function : NULL);
	s->rows = xrealloc(s->rows, (s->nr_rows + 1) * sizeof(*s->rows));
	s->rows[s->nr_rows++] = row;
}

static void note_near(struct search *s, int line)
{
	struct line_found *f = s->found;

	if (line < s->line && line > f->below)
		f->below = line;
	if (line > s->line && (!f->above || line < f->above))
		f->above = line;
}

/*
 * Text that the linker has dropped has no address. A module's text that the kernel has freed, or
 * never loaded, has one that begins at 0.
 */
static bool is_there(const struct lines *l, Dwarf_Addr addr)
{
	return l->own ? addr : (addr + l->bias) >> 63;
}

static void search_unit(struct search *s, Dwarf_Die *unit)
{
	const char *path, *last = NULL;
	Dwarf_Lines *lines;
	bool wanted = false, begins, ends;
	size_t nr, i;
	int number;

	if (dwarf_getsrclines(unit, &lines, &nr))
		return;
	s->unit = unit;
	for (i = 0; i < nr; i++) {
		Dwarf_Line *line = dwarf_onesrcline(lines, i);
		Dwarf_Addr addr;

		path = dwarf_linesrc(line, NULL, NULL);
		if (!path)
			continue;
		/* Names are the same pointer from row to row. */
		if (path != last) {
			wanted = is_file(unit, path, s->file);
			last = path;
			if (wanted)
				add_file(s->found, shown_path(unit, path));
		}
		if (!wanted || dwarf_lineno(line, &number) || !number ||
		    dwarf_linebeginstatement(line, &begins) || !begins ||
		    dwarf_lineendsequence(line, &ends) || ends || dwarf_lineaddr(line, &addr))
			continue;
		if (!is_there(s->l, addr))
			continue;
		if (number == s->line)
			add_row(s, addr);
		else
			note_near(s, number);
	}
}

static int by_address(const void *a, const void *b)
{
	const struct line_place *x = a, *y = b;

	return x->addr < y->addr ? -1 : x->addr > y->addr;
}

static void search_units(struct search *s)
{
	struct line_unit unit = { .nr = 0 };

	while (lines_next_unit(s->l, &unit)) {
		const char *name = dwarf_diename(&unit.die);

		if (!s->by_unit || (name && is_file(&unit.die, name, s->file)))
			search_unit(s, &unit.die);
	}
}

/**
 * lines_find() - the places where the instructions of a line begin
 * @l: the file with debuginfo
 * @file: the file of source, or the end of its path from a slash on
 * @line: the line
 * @found: (out) to be freed by line_found_free()
 *
 * A file of source that is compiled by itself has its lines in its own unit. Only if there is none
 * of that name all units are searched: it is a header, or included by another.
 *
 * Return: how many places there are.
 */
int lines_find(struct lines *l, const char *file, int line, struct line_found *found)
{
	struct search s = { .l = l, .line = line, .found = found, .by_unit = true };
	char *plain = plain_path(file);

	*found = (struct line_found){ NULL };
	s.file = plain;
	search_units(&s);
	if (!found->nr_files) {
		s.by_unit = false;
		search_units(&s);
	}
	if (found->nr)
		qsort(found->places, found->nr, sizeof(*found->places), by_address);
	free(s.rows);
	free(plain);
	return found->nr;
}

void line_found_free(struct line_found *found)
{
	size_t i;

	for (i = 0; i < found->nr; i++)
		free(found->places[i].function);
	for (i = 0; i < found->nr_files && i < LINE_MAX_FILES; i++)
		free(found->files[i]);
	free(found->places);
	*found = (struct line_found){ NULL };
}

/* ------------------------------------------------------------- addresses -- */

/* The unit that has an address. Not every compiler writes the table that libdw looks into. */
static bool unit_at(struct lines *l, Dwarf_Addr addr, Dwarf_Die *die)
{
	struct line_unit unit = { .nr = 0 };

	if (dwarf_addrdie(l->dw, addr, die))
		return true;
	while (lines_next_unit(l, &unit))
		if (dwarf_haspc(&unit.die, addr) == 1) {
			*die = unit.die;
			return true;
		}
	return false;
}

static void add_frame(struct line_frames *f, Dwarf_Die *unit, const char *function,
		      const char *path, int line)
{
	f->list = xrealloc(f->list, (f->nr + 1) * sizeof(*f->list));
	f->list[f->nr++] = (struct line_of_code){
		.function = function ? xasprintf("%s", function) : NULL,
		.file = shown_path(unit, path),
		.line = line,
	};
}

/* Where an inlined copy is called from. */
static bool called_from(Dwarf_Die *unit, Dwarf_Die *copy, const char **path, int *line)
{
	Dwarf_Attribute attr;
	Dwarf_Files *files;
	Dwarf_Word file, number;
	size_t nr;

	if (dwarf_formudata(dwarf_attr(copy, DW_AT_call_file, &attr), &file) ||
	    dwarf_formudata(dwarf_attr(copy, DW_AT_call_line, &attr), &number) ||
	    dwarf_getsrcfiles(unit, &files, &nr) || file >= nr)
		return false;
	*path = dwarf_filesrc(files, file, NULL, NULL);
	*line = number;
	return *path;
}

/**
 * lines_at() - the lines that an instruction belongs to
 * @l: the file with debuginfo
 * @addr: the instruction in the running kernel
 * @frames: (out) the line itself, then for each inlined copy the line that calls it; none if
 *	nothing is known. To be freed by line_frames_free()
 */
void lines_at(struct lines *l, uint64_t addr, struct line_frames *frames)
{
	const Dwarf_Addr pc = addr - l->slide - l->bias;
	Dwarf_Die unit, function, *scopes = NULL;
	const char *path = NULL;
	Dwarf_Line *row;
	int line, nr, i;

	*frames = (struct line_frames){ NULL };
	if (!unit_at(l, pc, &unit))
		return;
	row = dwarf_getsrc_die(&unit, pc);
	path = row ? dwarf_linesrc(row, NULL, NULL) : NULL;
	if (!path || dwarf_lineno(row, &line) || !line)
		return;
	if (!function_at(&unit, pc, &function)) {
		add_frame(frames, &unit, NULL, path, line);
		return;
	}
	/* Now outwards, through the copies that this one is inlined in. */
	nr = dwarf_getscopes_die(&function, &scopes);
	for (i = 0; i < nr; i++) {
		if (!is_function(&scopes[i]))
			continue;
		add_frame(frames, &unit, dwarf_diename(&scopes[i]), path, line);
		if (dwarf_tag(&scopes[i]) == DW_TAG_subprogram ||
		    !called_from(&unit, &scopes[i], &path, &line))
			break;
	}
	free(scopes);
}

void line_frames_free(struct line_frames *frames)
{
	size_t i;

	for (i = 0; i < frames->nr; i++) {
		free(frames->list[i].function);
		free(frames->list[i].file);
	}
	free(frames->list);
	*frames = (struct line_frames){ NULL };
}
