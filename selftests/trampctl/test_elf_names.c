// SPDX-License-Identifier: GPL-2.0
/*
 * Functions of ELF files, which are strangers': of a small one, and of those that lie about how
 * much there is in them.
 */
#define _GNU_SOURCE
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../../user/trampctl/run/elf_names.h"
#include "../lib/ktap.h"

#define ROOM		(8UL << 20)
#define BASE		0x400000
#define TEXT_LEN	0x10000
#define MAX_SYMBOLS	65536

/* A file with one segment and two sections besides the empty one. */
struct file {
	Elf64_Ehdr head;
	Elf64_Phdr segment;
	Elf64_Shdr sections[3];
};

static int make_file(const struct file *f, const Elf64_Sym *symbols, const char *strings)
{
	int fd = memfd_create("elf", MFD_CLOEXEC);

	REQUIRE(fd >= 0, "memfd_create(): %s", strerror(errno));
	REQUIRE(write(fd, f, sizeof(*f)) == sizeof(*f) &&
		pwrite(fd, symbols, f->sections[1].sh_size, f->sections[1].sh_offset) ==
			(ssize_t)f->sections[1].sh_size &&
		pwrite(fd, strings, f->sections[2].sh_size, f->sections[2].sh_offset) ==
			(ssize_t)f->sections[2].sh_size, "write(): %s", strerror(errno));
	return fd;
}

static struct file usual(size_t nr, size_t len)
{
	struct file f = {
		.head = {
			.e_ident = { ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB,
				     EV_CURRENT },
			.e_type = ET_EXEC, .e_machine = EM_X86_64, .e_version = EV_CURRENT,
			.e_ehsize = sizeof(Elf64_Ehdr),
			.e_phoff = offsetof(struct file, segment),
			.e_phentsize = sizeof(Elf64_Phdr), .e_phnum = 1,
			.e_shoff = offsetof(struct file, sections),
			.e_shentsize = sizeof(Elf64_Shdr), .e_shnum = 3,
		},
		.segment = { .p_type = PT_LOAD, .p_flags = PF_R | PF_X, .p_vaddr = BASE,
			     .p_filesz = TEXT_LEN, .p_memsz = TEXT_LEN },
		.sections[1] = { .sh_type = SHT_SYMTAB, .sh_link = 2, .sh_offset = sizeof(f),
				 .sh_size = nr * sizeof(Elf64_Sym),
				 .sh_entsize = sizeof(Elf64_Sym) },
		.sections[2] = { .sh_type = SHT_STRTAB, .sh_size = len,
				 .sh_offset = sizeof(f) + nr * sizeof(Elf64_Sym) },
	};

	return f;
}

static Elf64_Sym symbol(uint32_t name, uint64_t pos, uint64_t size)
{
	return (Elf64_Sym){ .st_name = name, .st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC),
			    .st_shndx = 1, .st_value = BASE + pos, .st_size = size };
}

/* As much may be read as any of these files has. */
static struct elf_names *load(int fd, size_t room, bool *too_many)
{
	size_t to_read = 16 << 20;

	return elf_names_load(fd, room, &to_read, too_many);
}

static void check_name(const struct elf_names *names, uint64_t pos, const char *expected,
		       uint64_t expected_offset)
{
	uint64_t offset = 0;
	const char *name = elf_names_find(names, pos, &offset);

	CHECK(name && !strcmp(name, expected), "at %llu: %s, not %s", (unsigned long long)pos,
	      name ? name : "nothing", expected);
	CHECK_EQ(offset, expected_offset, "offset in %s", expected);
}

static void test_names(void)
{
	static const char strings[] = "\0first\0second\0assembly";
	const Elf64_Sym symbols[] = {
		symbol(0, 0, 0), symbol(7, 0x200, 0x10), symbol(1, 0x100, 0x80),
		symbol(14, 0x300, 0), symbol(sizeof(strings), 0x120, 8), symbol(~0U, 0x130, 8),
	};
	struct file f = usual(6, sizeof(strings));
	int fd = make_file(&f, symbols, strings);
	struct elf_names *names;
	uint64_t offset;
	bool too_many;

	names = load(fd, ROOM, &too_many);
	REQUIRE(names && !too_many, "no names");
	check_name(names, 0x100, "first", 0);
	check_name(names, 0x17f, "first", 0x7f);
	check_name(names, 0x205, "second", 5);
	check_name(names, 0x3ff, "assembly", 0xff);
	CHECK(!elf_names_find(names, 0x80, &offset), "a function in front of the first");
	CHECK(!elf_names_find(names, 0x180, &offset), "a function behind the end of one");
	CHECK(!elf_names_find(names, TEXT_LEN, &offset), "a function behind the segment");
	CHECK(elf_names_bytes(names) > sizeof(strings), "%zu bytes", elf_names_bytes(names));
	elf_names_free(names);

	CHECK(!load(fd, 64, &too_many) && too_many, "names without room");
	close(fd);
}

/* Tables are counted before they are read, and those that are too large are not. */
static void test_to_read(void)
{
	static const char strings[] = "\0first";
	const Elf64_Sym symbols[] = { symbol(0, 0, 0), symbol(1, 0x100, 0x80) };
	const size_t bytes = sizeof(symbols) + sizeof(strings);
	const struct file f = usual(2, sizeof(strings));
	const int fd = make_file(&f, symbols, strings);
	size_t to_read = 2 * bytes - 1;
	struct elf_names *names;
	bool too_many;

	names = elf_names_load(fd, ROOM, &to_read, &too_many);
	CHECK(names && !too_many, "no names");
	CHECK_EQ(to_read, bytes - 1, "bytes left");
	elf_names_free(names);

	CHECK(!elf_names_load(fd, ROOM, &to_read, &too_many), "it was read");
	CHECK(too_many, "it does not say so");
	CHECK_EQ(to_read, bytes - 1, "bytes left");
	close(fd);
}

/* Each of many symbols has the same name, which is as long as the file. */
static void test_long_names(void)
{
	static Elf64_Sym symbols[MAX_SYMBOLS];
	static char strings[8 << 20];
	struct file f = usual(MAX_SYMBOLS, sizeof(strings));
	struct rlimit limit = { .rlim_cur = 512UL << 20, .rlim_max = 512UL << 20 };
	struct elf_names *names;
	uint64_t offset;
	bool too_many;
	int i, fd;

	memset(strings + 1, 'x', sizeof(strings) - 1);
	for (i = 0; i < MAX_SYMBOLS; i++)
		symbols[i] = symbol(1, i, 1);
	fd = make_file(&f, symbols, strings);
	REQUIRE(!setrlimit(RLIMIT_AS, &limit), "setrlimit(): %s", strerror(errno));
	CHECK(!load(fd, ROOM, &too_many), "%u names of 8 MiB each", MAX_SYMBOLS);
	CHECK(too_many, "it does not say so");
	close(fd);

	f.sections[1].sh_size = 100 * sizeof(symbols[0]);
	fd = make_file(&f, symbols, strings);
	names = load(fd, ROOM, &too_many);
	REQUIRE(names, "no names");
	CHECK_EQ(strlen(elf_names_find(names, 50, &offset)), 1024, "characters of a name");
	elf_names_free(names);
	close(fd);
}

/* Numbers of sections and of segments that no program has, in a file that is mostly a hole. */
static void expect_refused(const struct file *f, const char *what)
{
	static const char strings[] = "\0first";
	const Elf64_Sym symbols[] = { symbol(0, 0, 0), symbol(1, 0x100, 0x80) };
	struct elf_names *names;
	bool too_many;
	int fd = make_file(f, symbols, strings);

	REQUIRE(!ftruncate(fd, 1L << 36), "ftruncate(): %s", strerror(errno));
	names = load(fd, ROOM, &too_many);
	CHECK(!names, "names of a file with 2^28 %s", what);
	elf_names_free(names);
	close(fd);
}

static void test_large_numbers(void)
{
	struct file sections = usual(2, sizeof("\0first")), segments = sections;
	struct rlimit limit = { .rlim_cur = 512UL << 20, .rlim_max = 512UL << 20 };

	REQUIRE(!setrlimit(RLIMIT_AS, &limit), "setrlimit(): %s", strerror(errno));
	sections.head.e_shnum = 0;
	sections.sections[0].sh_size = 1UL << 28;
	expect_refused(&sections, "sections");
	segments.head.e_phnum = PN_XNUM;
	segments.sections[0].sh_info = 1U << 28;
	expect_refused(&segments, "segments");
}

/* Less than a header, and others that are no programs. */
static void test_no_program(void)
{
	static const char * const texts[] = { "", "\177ELF", "#!/bin/sh\n" };
	bool too_many;
	size_t i;
	int fd;

	for (i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		fd = memfd_create("text", MFD_CLOEXEC);
		REQUIRE(fd >= 0 && write(fd, texts[i], strlen(texts[i])) >= 0, "%s",
			strerror(errno));
		CHECK(!load(fd, ROOM, &too_many), "text %zu has functions", i);
		CHECK(!too_many, "text %zu has too many", i);
		close(fd);
	}
}

/* @path is opened if, and only if, it is a regular file. */
static void open_one(const char *path, bool regular)
{
	const int watch = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
	struct inotify_event e;
	struct stat st;
	int fd;

	REQUIRE(watch >= 0 && inotify_add_watch(watch, path, IN_OPEN) >= 0, "inotify: %s",
		strerror(errno));
	fd = elf_names_open(path, &st);
	CHECK_EQ(fd >= 0, regular, "%s", path);
	CHECK_EQ(read(watch, &e, sizeof(e)) > 0, regular, "%s was opened", path);
	if (fd >= 0)
		close(fd);
	close(watch);
}

/* Others may map what does something when it is opened or read. */
static void test_open(void)
{
	char folder[] = "/tmp/elf_names.XXXXXX", fifo[64], file[64];
	int fd;

	REQUIRE(mkdtemp(folder), "%s", strerror(errno));
	snprintf(fifo, sizeof(fifo), "%s/fifo", folder);
	snprintf(file, sizeof(file), "%s/file", folder);
	fd = open(file, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	REQUIRE(fd >= 0 && !mkfifo(fifo, 0600), "%s", strerror(errno));
	close(fd);
	open_one(file, true);
	open_one(fifo, false);
	open_one("/dev/zero", false);
	unlink(file);
	unlink(fifo);
	rmdir(folder);
}

static const struct ktap_test tests[] = {
	{ "names", test_names, 10 },
	{ "to_read", test_to_read, 10 },
	{ "long_names", test_long_names, 60 },
	{ "large_numbers", test_large_numbers, 60 },
	{ "no_program", test_no_program, 10 },
	{ "open", test_open, 10 },
};

KTAP_MAIN(tests)
