// SPDX-License-Identifier: GPL-2.0
/*
 * Functions of an ELF file, by libelf; see elf_names.h.
 *
 * A file that was not stripped has all of them in .symtab. Otherwise .dynsym has those that others
 * may call. A mapping of a process tells places in the file, and symbols have addresses: the
 * program headers lead from one to the other.
 *
 * The file is a stranger's. It is read, not mapped: he may truncate it meanwhile. It says itself
 * how large its tables are, so there is a limit to what is read.
 */
#include <gelf.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "../out/text.h"
#include "elf_names.h"

/* Bytes of a table of symbols or strings. Those of large programs are a tenth of it. */
#define MAX_TABLE (256 << 20)

struct elf_function {
	uint64_t addr, size;
	char *name;
};

struct elf_segment {
	uint64_t pos, size, addr;
};

struct elf_names {
	struct elf_function *functions;
	struct elf_segment *segments;
	size_t nr, nr_segments;
};

static int by_address(const void *a, const void *b)
{
	const struct elf_function *x = a, *y = b;

	if (x->addr != y->addr)
		return x->addr < y->addr ? -1 : 1;
	/* Of several names the one with a size, and then always the same. */
	if (!x->size != !y->size)
		return x->size ? -1 : 1;
	return strcmp(x->name, y->name);
}

static void take_segments(struct elf_names *names, Elf *elf)
{
	size_t nr, i;
	GElf_Phdr p;

	if (elf_getphdrnum(elf, &nr))
		return;
	names->segments = xcalloc(nr + 1, sizeof(*names->segments));
	for (i = 0; i < nr; i++) {
		if (!gelf_getphdr(elf, i, &p) || p.p_type != PT_LOAD || !(p.p_flags & PF_X))
			continue;
		names->segments[names->nr_segments++] = (struct elf_segment){
			.pos = p.p_offset, .size = p.p_filesz, .addr = p.p_vaddr,
		};
	}
}

static void take_functions(struct elf_names *names, Elf *elf, Elf_Scn *scn, const GElf_Shdr *shdr)
{
	Elf_Data *data = elf_getdata(scn, NULL);
	size_t nr = data ? data->d_size / gelf_fsize(elf, ELF_T_SYM, 1, EV_CURRENT) : 0, i;
	const char *name;
	GElf_Sym sym;

	names->functions = xcalloc(nr + 1, sizeof(*names->functions));
	for (i = 0; i < nr; i++) {
		if (!gelf_getsym(data, i, &sym) || sym.st_shndx == SHN_UNDEF)
			continue;
		if (GELF_ST_TYPE(sym.st_info) != STT_FUNC &&
		    GELF_ST_TYPE(sym.st_info) != STT_GNU_IFUNC)
			continue;
		name = elf_strptr(elf, shdr->sh_link, sym.st_name);
		if (!name || !name[0])
			continue;
		names->functions[names->nr++] = (struct elf_function){
			.addr = sym.st_value, .size = sym.st_size, .name = xasprintf("%s", name),
		};
	}
	qsort(names->functions, names->nr, sizeof(*names->functions), by_address);
}

static bool has_usual_size(Elf *elf, const GElf_Shdr *shdr)
{
	GElf_Shdr strings;

	return shdr->sh_size <= MAX_TABLE &&
	       gelf_getshdr(elf_getscn(elf, shdr->sh_link), &strings) &&
	       strings.sh_size <= MAX_TABLE;
}

/* The first symbol table of a type. */
static Elf_Scn *find_table(Elf *elf, GElf_Word type, GElf_Shdr *shdr)
{
	Elf_Scn *scn = NULL;

	while ((scn = elf_nextscn(elf, scn)))
		if (gelf_getshdr(scn, shdr) && shdr->sh_type == type)
			return scn;
	return NULL;
}

/**
 * elf_names_load() - read the functions of a file
 * @fd: the file; it may be closed then
 *
 * Return: to be freed by elf_names_free(); NULL if it is no ELF file, or has no symbols, or too
 * many.
 */
struct elf_names *elf_names_load(int fd)
{
	struct elf_names *names = xcalloc(1, sizeof(*names));
	GElf_Shdr shdr;
	Elf_Scn *scn;
	Elf *elf;

	elf_version(EV_CURRENT);
	elf = elf_begin(fd, ELF_C_READ, NULL);
	if (elf && elf_kind(elf) == ELF_K_ELF) {
		scn = find_table(elf, SHT_SYMTAB, &shdr);
		if (!scn)
			scn = find_table(elf, SHT_DYNSYM, &shdr);
		if (scn && has_usual_size(elf, &shdr)) {
			take_segments(names, elf);
			take_functions(names, elf, scn, &shdr);
		}
	}
	elf_end(elf);
	if (names->nr)
		return names;
	elf_names_free(names);
	return NULL;
}

/* The address that the file was linked for, of a place in it. */
static bool address_of(const struct elf_names *names, uint64_t pos, uint64_t *addr)
{
	size_t i;

	for (i = 0; i < names->nr_segments; i++) {
		const struct elf_segment *s = &names->segments[i];

		if (pos >= s->pos && pos - s->pos < s->size) {
			*addr = pos - s->pos + s->addr;
			return true;
		}
	}
	return false;
}

/**
 * elf_names_find() - the function that a place in the file belongs to
 * @names: loaded; or NULL
 * @pos: the place
 * @offset: (out) from the function's start
 *
 * Return: its name, or NULL if it is not known.
 */
const char *elf_names_find(const struct elf_names *names, uint64_t pos, uint64_t *offset)
{
	size_t low = 0, high = names ? names->nr : 0, mid;
	const struct elf_function *f;
	uint64_t addr;

	if (!high || !address_of(names, pos, &addr))
		return NULL;
	while (low < high) {
		mid = low + (high - low) / 2;
		if (names->functions[mid].addr <= addr)
			low = mid + 1;
		else
			high = mid;
	}
	if (!low)
		return NULL;
	f = &names->functions[low - 1];
	while (f > names->functions && f[-1].addr == f->addr)
		f--;
	/* Assembly may have no size; it goes on until the next function. */
	if (f->size && addr - f->addr >= f->size)
		return NULL;
	*offset = addr - f->addr;
	return f->name;
}

void elf_names_free(struct elf_names *names)
{
	size_t i;

	if (!names)
		return;
	for (i = 0; i < names->nr; i++)
		free(names->functions[i].name);
	free(names->functions);
	free(names->segments);
	free(names);
}
