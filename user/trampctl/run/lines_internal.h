/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Shared by lines.c, which opens files, and lines_find.c, which looks into them.
 */
#ifndef TRAMPCTL_LINES_INTERNAL_H
#define TRAMPCTL_LINES_INTERNAL_H

#include <elfutils/libdw.h>
#include <elfutils/libdwfl.h>
#include <stdbool.h>

/**
 * struct lines - a file with debuginfo
 * @path: the file
 * @dwfl: libdwfl's handle, with one module
 * @mod: that one
 * @elf: its ELF file; only that of the kernel proper
 * @dw: its DWARF
 * @own: @dw, if it is ours to end: that of the kernel proper
 * @bias: to be added to addresses of @dw, for those of @mod
 * @slide: to be added to those, for the addresses of the running kernel
 */
struct lines {
	char *path;
	Dwfl *dwfl;
	Dwfl_Module *mod;
	Elf *elf;
	Dwarf *dw, *own;
	Dwarf_Addr bias;
	uint64_t slide;
};

/**
 * struct line_unit - a unit of compilation
 * @die: what DWARF says of it
 * @next: where the next one is
 * @nr: how many there were
 */
struct line_unit {
	Dwarf_Die die;
	Dwarf_Off next;
	size_t nr;
};

bool lines_next_unit(struct lines *l, struct line_unit *unit);

#endif /* TRAMPCTL_LINES_INTERNAL_H */
