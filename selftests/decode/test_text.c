// SPDX-License-Identifier: GPL-2.0
/*
 * The decoder and what is built on it, over the whole text of real kernels.
 *
 * objdump is the judge of where instructions start: it reads .text from one end to the
 * other as we do. Then every instruction is classified and relocated, to see that
 * nothing in a kernel is beyond what relocation was made for, and that what it
 * refuses is rare.
 */
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../../kernel/x86/fentry_image.h"
#include "../../kernel/x86/relocate.h"
#include "../lib/ktap.h"

struct text {
	char path[512];
	const u8 *bytes;
	u64 addr;
	u64 size;
};

/* The .text of $O/kernels/NAME/vmlinux, which has no symbols, but sections. */
static void open_text(struct text *t, const char *name)
{
	const char *build = getenv("O");
	const Elf64_Shdr *sh;
	const Elf64_Ehdr *eh;
	const char *names;
	struct stat st;
	const u8 *map;
	int fd, i;

	snprintf(t->path, sizeof(t->path), "%s/kernels/%s/vmlinux", build ? build : "build", name);
	fd = open(t->path, O_RDONLY);
	if (fd < 0 && errno == ENOENT)
		ktap_skip("%s is not there; run: make test-host", t->path);
	REQUIRE(fd >= 0 && !fstat(fd, &st), "%s: %m", t->path);
	map = mmap(NULL, st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	REQUIRE(map != MAP_FAILED, "%s: %m", t->path);
	close(fd);

	eh = (const Elf64_Ehdr *)map;
	REQUIRE((size_t)st.st_size > sizeof(*eh) && !memcmp(eh->e_ident, ELFMAG, SELFMAG), "%s",
		t->path);
	sh = (const Elf64_Shdr *)(map + eh->e_shoff);
	names = (const char *)map + sh[eh->e_shstrndx].sh_offset;
	for (i = 0; i < eh->e_shnum; i++) {
		if (strcmp(names + sh[i].sh_name, ".text"))
			continue;
		t->bytes = map + sh[i].sh_offset;
		t->addr = sh[i].sh_addr;
		t->size = sh[i].sh_size;
	}
	REQUIRE(t->bytes, "%s has no .text", t->path);
}

/* Where we are in the text. */
struct sweep {
	const struct text *text;
	u64 off;
	struct tramp_x86_insn insn;	/* the one at @off */
	bool ok;			/* it is one */
	u64 nr;
};

static void look(struct sweep *s)
{
	u64 left = s->text->size - s->off;

	s->ok = tramp_x86_decode(s->text->bytes + s->off,
				 left < TRAMP_X86_MAX_INSN ? left : TRAMP_X86_MAX_INSN, &s->insn);
}

static void start(struct sweep *s, const struct text *t)
{
	*s = (struct sweep){ .text = t };
	look(s);
}

static u64 addr_of(const struct sweep *s)
{
	return s->text->addr + s->off;
}

/* A byte that begins no instruction counts as one byte, as it does to objdump. */
static void step(struct sweep *s)
{
	s->off += s->ok ? s->insn.len : 1;
	s->nr++;
	if (s->off < s->text->size)
		look(s);
}

/* A line of objdump: "address:<tab>[prefix]... mnemonic operands [# address]". */
struct line {
	u64 addr;
	char *text;
	char *mnemonic;
	char *operands;
};

static bool parse(char *text, struct line *l)
{
	static const char *const prefixes[] = {
		"addr32", "bnd", "cs", "data16", "ds", "es", "fs", "gs", "lock", "notrack", "rep",
		"repnz", "repz", "rex", "ss", "xacquire", "xrelease",
	};
	char *p;
	u32 i;

	l->addr = strtoull(text, &p, 16);
	if (p == text || p[0] != ':' || p[1] != '\t')
		return false;
	l->text = p + 2;
	l->text[strcspn(l->text, "\n")] = 0;
	l->mnemonic = l->text;
	for (i = 0; i < sizeof(prefixes) / sizeof(prefixes[0]); i++) {
		size_t len = strlen(prefixes[i]);

		if (strncmp(l->mnemonic, prefixes[i], len))
			continue;
		if (!strncmp(prefixes[i], "rex", len))
			len = strcspn(l->mnemonic, " ");
		if (l->mnemonic[len] == ' ' && l->mnemonic[len + 1]) {
			l->mnemonic += len + 1;
			i = -1;		/* from the first one again */
		}
	}
	l->operands = l->mnemonic + strcspn(l->mnemonic, " ");
	l->operands += strspn(l->operands, " ");
	return true;
}

static bool starts(const char *text, const char *with)
{
	return !strncmp(text, with, strlen(with));
}

/* The kind by the name that objdump has for it. */
static enum tramp_x86_kind kind_by_name(const struct line *l)
{
	static const char *const fixed[] = {
		"(bad)", "encl", "getsec", "hlt", "int ", "int1", "int3", "iret", "lcall", "ljmp", "lret",
		"lss", "rsm", "sysc", "sysent", "sysexit", "sysret", "ud0", "ud1", "ud2", "uiret",
		"vmlaunch", "vmresume", "vmrun", "xbegin",
	};
	const char *m = l->mnemonic;
	bool indirect = *l->operands == '*';
	u32 i;

	for (i = 0; i < sizeof(fixed) / sizeof(fixed[0]); i++)
		if (starts(m, fixed[i]))
			return TRAMP_X86_FIXED;
	if (starts(m, "mov ") && strstr(l->operands, ",%ss"))
		return TRAMP_X86_FIXED;
	if (starts(m, "call"))
		return indirect ? TRAMP_X86_CALL_IND : TRAMP_X86_CALL;
	if (starts(m, "jmp"))
		return indirect ? TRAMP_X86_JMP_IND : TRAMP_X86_JMP;
	if (starts(m, "ret"))
		return TRAMP_X86_RET;
	if (starts(m, "loop") || starts(m, "jrcxz") || starts(m, "jecxz"))
		return TRAMP_X86_LOOP;
	if (*m == 'j')
		return TRAMP_X86_JCC;
	return TRAMP_X86_PLAIN;
}

/* Kind, target of a branch, and address of a rip-relative operand are what it says. */
static bool same(const struct sweep *s, const struct line *l)
{
	enum tramp_x86_kind kind = tramp_x86_classify(&s->insn);
	const char *comment = strstr(l->operands, "# 0x");
	u64 to;

	if (kind != kind_by_name(l))
		return false;
	switch (kind) {
	case TRAMP_X86_JMP:
	case TRAMP_X86_JCC:
	case TRAMP_X86_LOOP:
	case TRAMP_X86_CALL:
		to = strtoull(l->operands, NULL, 16);
		return to == tramp_x86_branch_target(&s->insn, l->addr);
	default:
		break;
	}
	if (!tramp_x86_rip_relative(&s->insn))
		return !strstr(l->operands, "(%rip)");
	to = l->addr + s->insn.len + (u64)(s64)tramp_x86_disp(&s->insn);
	return comment && strtoull(comment + 2, NULL, 16) == to;
}

static void differ(const struct sweep *s, const struct line *l)
{
	char text[3 * TRAMP_X86_MAX_INSN + 1] = "";
	u32 i;

	for (i = 0; i < TRAMP_X86_MAX_INSN && s->off + i < s->text->size; i++)
		snprintf(text + 3 * i, 4, "%02x ", s->text->bytes[s->off + i]);
	ktap_fail("%s: at %#lx we have %s(%u bytes), objdump at %#lx %s", s->text->path, addr_of(s),
		  text, s->ok ? s->insn.len : 0, l->addr, l->text);
}

/*
 * Once something is no instruction to either of us, we may go on at different
 * places, and it can take a few instructions until we meet again.
 */
#define MAX_UNKNOWN	8

static void compare(const char *kernel)
{
	u64 unknown = 0, emulated = 0, lines = 0;
	bool astray = false;
	char cmd[640], text[512];
	struct text t = { 0 };
	struct sweep s;
	struct line l;
	FILE *f;

	open_text(&t, kernel);
	start(&s, &t);
	snprintf(cmd, sizeof(cmd), "LC_ALL=C objdump -d -j .text --no-show-raw-insn '%s'", t.path);
	f = popen(cmd, "r");
	REQUIRE(f, "%s: %m", cmd);
	while (ktap_failures() < 10 && fgets(text, sizeof(text), f)) {
		if (!parse(text, &l))
			continue;
		lines++;
		if (l.addr < emulated)
			continue;	/* to objdump each part is an instruction */
		if (l.addr != addr_of(&s) && !astray)
			differ(&s, &l);
		while (addr_of(&s) < l.addr && s.off < t.size)
			step(&s);
		if (addr_of(&s) != l.addr)
			continue;
		astray = !s.ok;
		if (s.ok != !strstr(l.text, "(bad)") || (s.ok && !same(&s, &l)))
			differ(&s, &l);
		unknown += astray;
		if (tramp_x86_emulate_prefix(t.bytes + s.off, t.size - s.off))
			emulated = addr_of(&s) + s.insn.len;
		step(&s);
	}
	if (!ktap_failures())
		CHECK_EQ(s.off, t.size, "%s: the end", t.path);
	while (fgets(text, sizeof(text), f))
		;
	CHECK_EQ(pclose(f), 0, "%s", cmd);
	CHECK(unknown <= MAX_UNKNOWN, "%lu places without an instruction", unknown);
	ktap_note("%s: %lu instructions, %lu lines of objdump, %lu places without an instruction",
		  kernel, s.nr, lines, unknown);
}

static void objdump_6_1(void)
{
	compare("6.1");
}

static void objdump_6_12(void)
{
	compare("6.12");
}

/* Where modules and images are, as seen from the kernel's text. */
#define IMAGE	0xffffffffc0800000ULL

/* A kernel without thunks. */
static const struct tramp_x86_env env;

static void relocate_one(const struct sweep *s, u64 *count)
{
	u8 buf[TRAMP_X86_MAX_RELOCATED];
	struct tasm a = { .buf = buf, .len = sizeof(buf), .addr = IMAGE }, measure = { 0 };
	enum tramp_x86_reloc err = tramp_x86_relocate(&a, &s->insn, addr_of(s), &env);
	struct tramp_x86_insn copy;
	u32 off;

	count[err]++;
	if (err == TRAMP_X86_RELOC_FIXED) {
		CHECK_EQ(tramp_x86_classify(&s->insn), TRAMP_X86_FIXED, "%#lx", addr_of(s));
		return;
	}
	CHECK_EQ(err, TRAMP_X86_RELOC_OK, "%#lx", addr_of(s));
	CHECK(!a.overflow, "%#lx", addr_of(s));
	tramp_x86_relocate(&measure, &s->insn, addr_of(s), &env);
	CHECK_EQ(measure.off, a.off, "%#lx", addr_of(s));
	for (off = 0; off < a.off; off += copy.len)
		if (!CHECK(tramp_x86_decode(buf + off, a.off - off, &copy), "%#lx", addr_of(s)))
			return;
}

static void relocate(const char *kernel)
{
	u64 count[TRAMP_X86_RELOC_RETURN + 1] = { 0 }, padding = 0;
	struct text t = { 0 };
	struct sweep s;

	open_text(&t, kernel);
	for (start(&s, &t); s.off < t.size && ktap_failures() < 10; step(&s)) {
		if (s.ok && s.insn.opcode == 0xcc && s.insn.len == 1)
			padding++;
		else if (s.ok)
			relocate_one(&s, count);
	}
	ktap_note("%s: %lu instructions relocate, %lu do not, not counting %lu int3", kernel,
		  count[TRAMP_X86_RELOC_OK], count[TRAMP_X86_RELOC_FIXED], padding);
	/* what remains are BUGs and WARNs, and a few instructions of assembly */
	CHECK(count[TRAMP_X86_RELOC_FIXED] < count[TRAMP_X86_RELOC_OK] / 100, "%lu of %lu do not",
	      count[TRAMP_X86_RELOC_FIXED], s.nr - padding);
}

static void relocation_6_1(void)
{
	relocate("6.1");
}

static void relocation_6_12(void)
{
	relocate("6.12");
}

static const struct ktap_test tests[] = {
	KTAP_TEST_SECONDS(objdump_6_1, 300),
	KTAP_TEST_SECONDS(objdump_6_12, 300),
	KTAP_TEST(relocation_6_1),
	KTAP_TEST(relocation_6_12),
};
KTAP_MAIN(tests)
