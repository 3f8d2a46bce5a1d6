// SPDX-License-Identifier: GPL-2.0
/*
 * kcov, and the module's blocks from its ELF file (coverage.h).
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <gelf.h>
#include <linux/kcov.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>
#include "coverage.h"
#include "vmtest.h"

#define KCOV		"/sys/kernel/debug/kcov"
/* Words of kcov's buffer: more than a few requests run through. */
#define WORDS		(1UL << 18)
/* Bytes of names in the report. */
#define LONGEST		4096
/* The address that the kernel is linked for. kcov says where code would be without KASLR. */
#define LINKED_AT	0xffffffff81000000ULL

static unsigned long *buffer;
static uint64_t text;

/* The module's text as kcov names it. */
static uint64_t text_address(void)
{
	char *line = read_file("/sys/module/trampoline/sections/.text");
	uint64_t addr = strtoull(line, NULL, 16);

	free(line);
	return addr - (ksym_addr("_text") - LINKED_AT);
}

bool coverage_open(void)
{
	int fd = open(KCOV, O_RDWR | O_CLOEXEC);

	if (fd < 0)
		return false;
	REQUIRE(!ioctl(fd, KCOV_INIT_TRACE, WORDS), "kcov: %s", strerror(errno));
	buffer = mmap(NULL, WORDS * sizeof(*buffer), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	REQUIRE(buffer != MAP_FAILED, "kcov: %s", strerror(errno));
	REQUIRE(!ioctl(fd, KCOV_ENABLE, KCOV_TRACE_PC), "kcov: %s", strerror(errno));
	text = text_address();
	return true;
}

void coverage_start(void)
{
	if (buffer)
		__atomic_store_n(&buffer[0], 0, __ATOMIC_RELAXED);
}

unsigned int coverage_stop(struct coverage *c)
{
	unsigned int fresh = 0;
	unsigned long nr, i;

	if (!buffer)
		return 0;
	nr = __atomic_load_n(&buffer[0], __ATOMIC_RELAXED);
	for (i = 1; i <= nr && i < WORDS; i++) {
		uint64_t at = buffer[i] - text;

		if (at < COVERAGE_TEXT && !c->run[at] &&
		    !__atomic_exchange_n(&c->run[at], 1, __ATOMIC_RELAXED))
			fresh++;
	}
	return fresh;
}

/* ---------------------------------------------------------------- report --- */

/* The module's ELF file: its text, the symbols, and where the calls of kcov are. */
struct object {
	Elf *elf;
	Elf_Data *syms, *relocs;
	size_t nr_syms, nr_relocs, strings, text;
};

static bool is_section(const struct object *o, const GElf_Shdr *head, const char *name)
{
	size_t names;
	const char *is;

	if (elf_getshdrstrndx(o->elf, &names))
		return false;
	is = elf_strptr(o->elf, names, head->sh_name);
	return is && !strcmp(is, name);
}

static void object_open(struct object *o, const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	Elf_Scn *s = NULL;
	GElf_Shdr head;

	elf_version(EV_CURRENT);
	o->elf = elf_begin(fd, ELF_C_READ_MMAP, NULL);
	REQUIRE(o->elf, "%s: %s", path, elf_errmsg(-1));
	while ((s = elf_nextscn(o->elf, s)) && gelf_getshdr(s, &head)) {
		if (head.sh_type == SHT_SYMTAB) {
			o->syms = elf_getdata(s, NULL);
			o->nr_syms = head.sh_size / head.sh_entsize;
			o->strings = head.sh_link;
		} else if (is_section(o, &head, ".text")) {
			o->text = elf_ndxscn(s);
		} else if (is_section(o, &head, ".rela.text")) {
			o->relocs = elf_getdata(s, NULL);
			o->nr_relocs = head.sh_size / head.sh_entsize;
		}
	}
	REQUIRE(o->syms && o->relocs, "%s has no symbols or no relocations", path);
}

static const char *symbol_name(const struct object *o, const GElf_Sym *sym)
{
	return elf_strptr(o->elf, o->strings, sym->st_name) ?: "";
}

/* Whether the @i-th relocation is a block's call. @at: the address behind it, as kcov has it. */
static bool is_block(const struct object *o, size_t i, uint64_t *at)
{
	GElf_Rela rela;
	GElf_Sym sym;

	if (!gelf_getrela(o->relocs, i, &rela) ||
	    !gelf_getsym(o->syms, GELF_R_SYM(rela.r_info), &sym))
		return false;
	*at = rela.r_offset + 4;
	return *at < COVERAGE_TEXT && !strcmp(symbol_name(o, &sym), "__sanitizer_cov_trace_pc");
}

/* Blocks in [from, to), and how many of them were run. */
static size_t count_blocks(const struct object *o, const struct coverage *c, uint64_t from,
			   uint64_t to, size_t *run)
{
	size_t nr = 0, i;
	uint64_t at;

	*run = 0;
	for (i = 0; i < o->nr_relocs; i++) {
		if (is_block(o, i, &at) && at > from && at <= to) {
			nr++;
			*run += c->run[at];
		}
	}
	return nr;
}

void coverage_report(const struct coverage *c)
{
	struct object o = {};
	char never[LONGEST] = "";
	size_t nr, run, i, len = 0;
	GElf_Sym sym;

	object_open(&o, TRAMPOLINE_KO);
	nr = count_blocks(&o, c, 0, COVERAGE_TEXT - 1, &run);
	ktap_note("%zu of the module's %zu blocks were run", run, nr);
	for (i = 0; i < o.nr_syms; i++) {
		if (!gelf_getsym(o.syms, i, &sym) || GELF_ST_TYPE(sym.st_info) != STT_FUNC ||
		    sym.st_shndx != o.text)
			continue;
		nr = count_blocks(&o, c, sym.st_value, sym.st_value + sym.st_size, &run);
		if (nr && !run && len < sizeof(never))
			len += snprintf(never + len, sizeof(never) - len, " %s", symbol_name(&o, &sym));
	}
	ktap_note("functions never run:%s%s", never, len < sizeof(never) ? "" : " ...");
	elf_end(o.elf);
}
