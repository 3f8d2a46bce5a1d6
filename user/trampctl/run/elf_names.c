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
#include <fcntl.h>
#include <gelf.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../out/text.h"
#include "elf_names.h"

/* Bytes of a table of symbols or strings. Those of large programs are a tenth of it. */
#define MAX_TABLE (256 << 20)

/* Characters of a name; what is longer is cut. */
#define MAX_NAME 1024

struct elf_function {
	uint64_t addr, size;
	const char *name;
};

struct elf_segment {
	uint64_t pos, size, addr;
};

struct elf_names {
	struct elf_function *functions;
	struct elf_segment *segments;
	char *text;			/* all names */
	size_t nr, nr_segments, bytes;
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
	names->bytes += nr * sizeof(*names->segments);
	for (i = 0; i < nr; i++) {
		if (!gelf_getphdr(elf, i, &p) || p.p_type != PT_LOAD || !(p.p_flags & PF_X))
			continue;
		names->segments[names->nr_segments++] = (struct elf_segment){
			.pos = p.p_offset, .size = p.p_filesz, .addr = p.p_vaddr,
		};
	}
}

/* A table of symbols, and of their names. */
struct table {
	Elf_Data *symbols, *strings;
	size_t nr;
};

static bool open_table(struct table *t, Elf *elf, Elf_Scn *scn, const GElf_Shdr *shdr)
{
	t->symbols = elf_getdata(scn, NULL);
	t->strings = elf_getdata(elf_getscn(elf, shdr->sh_link), NULL);
	t->nr = t->symbols ? t->symbols->d_size / gelf_fsize(elf, ELF_T_SYM, 1, EV_CURRENT) : 0;
	return t->symbols && t->strings && t->strings->d_buf;
}

/*
 * The length of the name of symbol number @i; 0: it is no function with a name. Many symbols can
 * have one name that is as long as the file, so nobody reads more than MAX_NAME of it.
 */
static size_t function_at(const struct table *t, size_t i, GElf_Sym *sym, const char **name)
{
	size_t left;

	if (!gelf_getsym(t->symbols, i, sym) || sym->st_shndx == SHN_UNDEF ||
	    sym->st_name >= t->strings->d_size)
		return 0;
	if (GELF_ST_TYPE(sym->st_info) != STT_FUNC && GELF_ST_TYPE(sym->st_info) != STT_GNU_IFUNC)
		return 0;
	*name = (const char *)t->strings->d_buf + sym->st_name;
	left = t->strings->d_size - sym->st_name;
	return strnlen(*name, left < MAX_NAME ? left : MAX_NAME);
}

/* Returns whether they take no more than @room. */
static bool take_functions(struct elf_names *names, const struct table *t, size_t room)
{
	size_t nr = 0, text_len = 0, i, len;
	const char *name;
	GElf_Sym sym;
	char *text;

	for (i = 0; i < t->nr; i++) {
		len = function_at(t, i, &sym, &name);
		if (!len)
			continue;
		nr++;
		text_len += len + 1;
		if (names->bytes + nr * sizeof(*names->functions) + text_len > room)
			return false;
	}
	names->bytes += nr * sizeof(*names->functions) + text_len;
	names->functions = xcalloc(nr + 1, sizeof(*names->functions));
	names->text = text = xcalloc(text_len + 1, 1);
	for (i = 0; i < t->nr; i++) {
		len = function_at(t, i, &sym, &name);
		if (!len)
			continue;
		names->functions[names->nr++] = (struct elf_function){
			.addr = sym.st_value, .size = sym.st_size, .name = text,
		};
		text = mempcpy(text, name, len) + 1;
	}
	qsort(names->functions, names->nr, sizeof(*names->functions), by_address);
	return true;
}

/*
 * More headers than their number has bits for are counted elsewhere in the file, which need not be
 * true and lets libelf make room for all of them. No program has so many.
 */
static bool has_usual_header(int fd)
{
	union {
		unsigned char ident[EI_NIDENT];
		Elf32_Ehdr e32;
		Elf64_Ehdr e64;
	} h = { 0 };
	unsigned int sections, segments;

	if (pread(fd, &h, sizeof(h), 0) < (ssize_t)sizeof(h.e32))
		return false;
	sections = h.ident[EI_CLASS] == ELFCLASS32 ? h.e32.e_shnum : h.e64.e_shnum;
	segments = h.ident[EI_CLASS] == ELFCLASS32 ? h.e32.e_phnum : h.e64.e_phnum;
	return sections && segments != PN_XNUM;
}

static bool has_usual_size(Elf *elf, const GElf_Shdr *shdr, size_t *bytes)
{
	GElf_Shdr strings;

	if (shdr->sh_size > MAX_TABLE ||
	    !gelf_getshdr(elf_getscn(elf, shdr->sh_link), &strings) || strings.sh_size > MAX_TABLE)
		return false;
	*bytes = shdr->sh_size + strings.sh_size;
	return true;
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
 * elf_names_open() - open what a process has mapped, if it is a file
 * @path: its path, or a link of /proc
 * @st: (out) what it is
 *
 * Strangers choose what they map, and to open or to read a device may do something.
 *
 * Return: for elf_names_load(), or -1.
 */
int elf_names_open(const char *path, struct stat *st)
{
	int fd;

	if (stat(path, st) || !S_ISREG(st->st_mode))
		return -1;
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	/* It may be another one by now. */
	if (fd >= 0 && (fstat(fd, st) || !S_ISREG(st->st_mode))) {
		close(fd);
		fd = -1;
	}
	return fd;
}

/**
 * elf_names_load() - read the functions of a file
 * @fd: the file; it may be closed then
 * @room: bytes that they may take
 * @to_read: bytes of tables that may be read; those that are read are taken away
 * @too_many: (out) they would take more
 *
 * Return: to be freed by elf_names_free(); NULL if it is no ELF file, or has no symbols, or too
 * many.
 */
struct elf_names *elf_names_load(int fd, size_t room, size_t *to_read, bool *too_many)
{
	struct elf_names *names = xcalloc(1, sizeof(*names));
	struct table table;
	GElf_Shdr shdr;
	size_t bytes;
	Elf_Scn *scn;
	Elf *elf;

	*too_many = false;
	elf_version(EV_CURRENT);
	elf = has_usual_header(fd) ? elf_begin(fd, ELF_C_READ, NULL) : NULL;
	if (elf && elf_kind(elf) == ELF_K_ELF) {
		scn = find_table(elf, SHT_SYMTAB, &shdr);
		if (!scn)
			scn = find_table(elf, SHT_DYNSYM, &shdr);
		if (scn && has_usual_size(elf, &shdr, &bytes)) {
			*too_many = bytes > *to_read;
			*to_read -= *too_many ? 0 : bytes;
			if (!*too_many && open_table(&table, elf, scn, &shdr)) {
				take_segments(names, elf);
				*too_many = !take_functions(names, &table, room);
			}
		}
	}
	elf_end(elf);
	if (names->nr)
		return names;
	elf_names_free(names);
	return NULL;
}

/* The bytes of @room that it took; 0 for NULL. */
size_t elf_names_bytes(const struct elf_names *names)
{
	return names ? names->bytes : 0;
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
	if (!names)
		return;
	free(names->text);
	free(names->functions);
	free(names->segments);
	free(names);
}
