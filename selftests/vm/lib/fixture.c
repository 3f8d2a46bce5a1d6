// SPDX-License-Identifier: GPL-2.0
/*
 * The beginning of a test, and the check at its end that nothing is left: see fixture.h.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <gelf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "fixture.h"
#include "probe.h"

#define MAX_SECTIONS	16

/* ------------------------------------------------- the text of the test module -- */

static struct section {
	char name[64];
	uint64_t addr, len;
	uint8_t *before;
} sections[MAX_SECTIONS];
static unsigned int nr_sections;
/* The module's folder in sysfs, which each load makes anew. */
static ino_t loaded;

static ino_t module_folder(void)
{
	struct stat st;

	return stat("/sys/module/trampoline_test/sections", &st) ? 0 : st.st_ino;
}

/* Where the kernel has put a section of the test module; 0: nowhere. */
static uint64_t section_addr(const char *name)
{
	char path[128], line[32] = "";
	FILE *f;

	snprintf(path, sizeof(path), "/sys/module/trampoline_test/sections/%s", name);
	f = fopen(path, "re");
	if (!f)
		return 0;
	if (!fgets(line, sizeof(line), f))
		line[0] = '\0';
	fclose(f);
	return strtoull(line, NULL, 16);
}

static uint8_t *section_read(int dev, const struct section *s)
{
	uint8_t *bytes = malloc(s->len);

	REQUIRE(bytes, "out of memory");
	text_read(dev, s->addr, bytes, s->len);
	return bytes;
}

static void take_text(int dev)
{
	int fd = open(TT_KO, O_RDONLY | O_CLOEXEC);
	Elf_Scn *scn = NULL;
	GElf_Shdr header;
	size_t names;
	Elf *elf;

	elf_version(EV_CURRENT);
	elf = elf_begin(fd, ELF_C_READ, NULL);
	REQUIRE(elf && !elf_getshdrstrndx(elf, &names), TT_KO ": %s", elf_errmsg(-1));
	while ((scn = elf_nextscn(elf, scn)) && nr_sections < MAX_SECTIONS) {
		struct section *s = &sections[nr_sections];

		if (!gelf_getshdr(scn, &header) || !(header.sh_flags & SHF_EXECINSTR))
			continue;
		snprintf(s->name, sizeof(s->name), "%s", elf_strptr(elf, names, header.sh_name));
		s->addr = section_addr(s->name);
		s->len = header.sh_size;
		/* Code that ran once, at load, is gone. */
		if (!s->addr || !s->len || !strncmp(s->name, ".init", 5))
			continue;
		s->before = section_read(dev, s);
		nr_sections++;
	}
	REQUIRE(nr_sections, TT_KO " has no text");
	loaded = module_folder();
	elf_end(elf);
	close(fd);
}

/*
 * The first byte that is not as before, or 0. Of a module that has gone there is nothing to say,
 * also if it was loaded again at the same place: its other sections may lie elsewhere.
 */
static uint64_t first_change(int dev)
{
	unsigned int i;
	uint64_t at;

	if (module_folder() != loaded)
		return 0;
	for (i = 0; i < nr_sections; i++) {
		const struct section *s = &sections[i];
		uint8_t *now;

		now = section_read(dev, s);
		for (at = 0; at < s->len && now[at] == s->before[at]; at++)
			;
		free(now);
		if (at < s->len)
			return s->addr + at;
	}
	return 0;
}

/* ------------------------------------------------------------- begin and end -- */

static void check_end(const char *test)
{
	uint64_t changed;
	char name[128];
	int i, dev;

	(void)test;
	check_nothing_left();
	probe_flush();
	if (!module_loaded("trampoline_test"))
		return;
	dev = tt_open();
	/* The kernel's own kprobes and its jump labels may take a moment more. */
	for (i = 0; (changed = first_change(dev)) && i < 50; i++)
		usleep(100000);
	CHECK(!changed, "text is not as before at %s", ksym_name(changed, name, sizeof(name)));
	close(dev);
}

int fixture_open(const char *about_us)
{
	int dev;

	if (about_us && vmtest_oracle())
		ktap_skip("%s", about_us);
	dev = tt_open();
	if (vmtest_oracle() || nr_sections)
		return dev;
	tramp_device();
	probe_flush();
	take_text(dev);
	ktap_at_end(check_end);
	return dev;
}

int fixture_load_one(struct bpf_object_skeleton *skeleton, const char *program,
		     const struct bpf_program *victim, const char *func)
{
	struct bpf_program *prog = bpf_object__find_program_by_name(*skeleton->obj, program);
	int err;

	REQUIRE(prog, "no program %s", program);
	bpf_program__set_autoload(prog, true);
	if (victim) {
		err = bpf_program__set_attach_target(prog, bpf_program__fd(victim), func);
		REQUIRE(!err, "%s: its target: %s", program, strerror(-err));
	}
	return bpf_object__load_skeleton(skeleton);
}
