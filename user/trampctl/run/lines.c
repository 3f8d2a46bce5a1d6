// SPDX-License-Identifier: GPL-2.0
/*
 * Lines of source and addresses, by libdw; see lines.h.
 *
 * A module's file is relocatable. libdwfl relocates its debuginfo for us, by the addresses of the
 * sections that sysfs tells. Of the kernel proper the file has the addresses it was linked for.
 */
#include <elfutils/libdw.h>
#include <elfutils/libdwelf.h>
#include <elfutils/libdwfl.h>
#include <fcntl.h>
#include <gelf.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../out/text.h"
#include "lines.h"
#include "lines_internal.h"

/*
 * libdw keeps the lines of each unit that was asked for. With all units of a kernel that takes
 * gigabytes, so a new handle comes after so many.
 */
#define UNITS_AT_ONCE 256

/* The file of a module, for libdwfl, which asks where that is. */
static int find_elf(Dwfl_Module *mod, void **userdata, const char *name, Dwarf_Addr base,
		    char **path, Elf **elf)
{
	int fd;

	(void)mod;
	(void)name;
	(void)base;
	*elf = NULL;
	fd = open(*userdata, O_RDONLY | O_CLOEXEC);
	*path = fd < 0 ? NULL : strdup(*userdata);
	return fd;
}

/* The file that was opened has the debuginfo. Its search is not libdwfl's, nor the network's. */
static int no_other_file(Dwfl_Module *mod, void **userdata, const char *name, Dwarf_Addr base,
			 const char *file, const char *link, GElf_Word crc, char **path)
{
	(void)mod;
	(void)userdata;
	(void)name;
	(void)base;
	(void)file;
	(void)link;
	(void)crc;
	(void)path;
	return -1;
}

/*
 * Where a section of a module lies. sysfs does not know those that the kernel has not kept. Their
 * addresses begin at 0 then, where the kernel is not.
 */
static int section_address(Dwfl_Module *mod, void **userdata, const char *name, Dwarf_Addr base,
			   const char *section, GElf_Word index, const GElf_Shdr *shdr,
			   Dwarf_Addr *addr)
{
	if (dwfl_linux_kernel_module_section_address(mod, userdata, name, base, section, index,
						     shdr, addr))
		*addr = (Dwarf_Addr)-1;
	return DWARF_CB_OK;
}

static const Dwfl_Callbacks callbacks = {
	.find_elf = find_elf,
	.find_debuginfo = no_other_file,
	.section_address = section_address,
};

static Dwfl_Module *report(struct lines *l, const char *path, const char *module)
{
	Dwfl_Module *mod;
	void **userdata;

	dwfl_report_begin(l->dwfl);
	if (!module) {
		mod = dwfl_report_offline(l->dwfl, "kernel", path, -1);
	} else {
		/* Where it lies is up to its sections. */
		mod = dwfl_report_module(l->dwfl, module, 0, UINT64_MAX);
		if (mod) {
			dwfl_module_info(mod, &userdata, NULL, NULL, NULL, NULL, NULL, NULL);
			*userdata = l->path;
		}
	}
	if (dwfl_report_end(l->dwfl, NULL, NULL))
		return NULL;
	return mod;
}

/**
 * lines_open() - open a file with debuginfo
 * @path: the file
 * @module: the loaded module that it is of; NULL: the kernel proper
 * @why: (out) why not, in words that live on
 *
 * Return: to be freed by lines_free(); NULL if it cannot be read or has no debuginfo.
 */
struct lines *lines_open(const char *path, const char *module, const char **why)
{
	struct lines *l = xcalloc(1, sizeof(*l));
	GElf_Addr elf_bias;

	l->path = xasprintf("%s", path);
	l->dwfl = dwfl_begin(&callbacks);
	l->mod = l->dwfl ? report(l, path, module) : NULL;
	/* First of all the DWARF: what asks for the ELF file of a module relocates only that. */
	l->dw = l->mod ? dwfl_module_getdwarf(l->mod, &l->bias) : NULL;
	if (l->dw && !module) {
		l->elf = dwfl_module_getelf(l->mod, &elf_bias);
		l->own = l->dw = l->elf ? dwarf_begin_elf(l->elf, DWARF_C_READ, NULL) : NULL;
	}
	if (l->dw)
		return l;
	*why = l->dwfl ? dwfl_errmsg(-1) : "out of memory";
	lines_free(l);
	return NULL;
}

void lines_free(struct lines *l)
{
	if (!l)
		return;
	if (l->own)
		dwarf_end(l->own);
	if (l->dwfl)
		dwfl_end(l->dwfl);
	free(l->path);
	free(l);
}

/* The address of a symbol, as lines_move() wants it: before anything was moved. */
bool lines_symbol(struct lines *l, const char *name, uint64_t *addr)
{
	const int nr = dwfl_module_getsymtab(l->mod);
	GElf_Sym sym;
	int i;

	for (i = 1; i < nr; i++) {
		const char *found;

		found = dwfl_module_getsym_info(l->mod, i, &sym, addr, NULL, NULL, NULL);
		if (found && !strcmp(found, name))
			return true;
	}
	return false;
}

/* All addresses are so much higher in the running kernel. */
void lines_move(struct lines *l, uint64_t slide)
{
	l->slide = slide;
}

/**
 * lines_build_id() - tell two builds of a file apart
 * @path: an ELF file
 * @id: (out) its build ID
 * @has_lines: (out) it has debuginfo
 *
 * Return: false if it is no ELF file, or cannot be read.
 */
bool lines_build_id(const char *path, struct build_id *id, bool *has_lines)
{
	const int fd = open(path, O_RDONLY | O_CLOEXEC);
	const void *bits;
	Elf_Scn *scn = NULL;
	GElf_Shdr shdr;
	size_t strings;
	ssize_t len;
	bool is_elf;
	Elf *elf;

	id->len = 0;
	*has_lines = false;
	if (fd < 0)
		return false;
	elf_version(EV_CURRENT);
	elf = elf_begin(fd, ELF_C_READ_MMAP, NULL);
	is_elf = elf && elf_kind(elf) == ELF_K_ELF;
	len = is_elf ? dwelf_elf_gnu_build_id(elf, &bits) : 0;
	if (len > 0 && (size_t)len <= sizeof(id->bits)) {
		memcpy(id->bits, bits, len);
		id->len = len;
	}
	if (is_elf && !elf_getshdrstrndx(elf, &strings))
		while ((scn = elf_nextscn(elf, scn))) {
			const char *name;

			if (!gelf_getshdr(scn, &shdr))
				continue;
			name = elf_strptr(elf, strings, shdr.sh_name);
			*has_lines |= name && shdr.sh_type != SHT_NOBITS &&
				      (!strcmp(name, ".debug_line") ||
				       !strcmp(name, ".zdebug_line"));
		}
	elf_end(elf);
	close(fd);
	return is_elf;
}

/**
 * lines_next_unit() - go through the units of compilation
 * @l: the file
 * @unit: the unit before, zero to begin; (out) the next
 *
 * Whatever was taken out of earlier units may be gone.
 *
 * Return: false if there is none.
 */
bool lines_next_unit(struct lines *l, struct line_unit *unit)
{
	Dwarf_Off this;
	size_t header;

	for (;;) {
		if (unit->nr && !(unit->nr % UNITS_AT_ONCE) && l->own) {
			dwarf_end(l->own);
			l->own = l->dw = dwarf_begin_elf(l->elf, DWARF_C_READ, NULL);
			if (!l->dw)
				return false;
		}
		this = unit->next;
		if (dwarf_nextcu(l->dw, this, &unit->next, &header, NULL, NULL, NULL))
			return false;
		unit->nr++;
		if (dwarf_offdie(l->dw, this + header, &unit->die))
			return true;
	}
}
