// SPDX-License-Identifier: GPL-2.0
/*
 * Lines of source and addresses, both ways, of a small program (sample.c). Also how the file with
 * the debuginfo is found, on a machine of the test's own. That is a folder with the files of proc,
 * sysfs and /usr/lib/debug that count.
 */
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "../../user/trampctl/out/error.h"
#include "../../user/trampctl/run/debuginfo.h"
#include "../../user/trampctl/run/lines.h"
#include "../../user/trampctl/run/sources.h"
#include "../lib/ktap.h"

#define SLIDE 0x1e000000UL

/* The number of the line that has "MARK @word". */
static int marked(const char *file, const char *word)
{
	char *path, text[256], mark[64];
	int line = 0;
	FILE *f;

	REQUIRE(asprintf(&path, "%s/%s", SOURCES, file) > 0, "no memory");
	snprintf(mark, sizeof(mark), "MARK %s ", word);
	f = fopen(path, "r");
	REQUIRE(f, "%s: %s", path, strerror(errno));
	while (fgets(text, sizeof(text), f)) {
		line++;
		if (strstr(text, mark)) {
			fclose(f);
			free(path);
			return line;
		}
	}
	ktap_die("%s has no %s", path, mark);
}

static struct lines *open_sample(void)
{
	const char *why = NULL;
	struct lines *l = lines_open(SAMPLE, NULL, &why);

	REQUIRE(l, "%s: %s", SAMPLE, why);
	return l;
}

/* Does the instruction belong to that line, and to these functions, from the inside out? */
static void check_frames(struct lines *l, uint64_t addr, int line, const char *inner,
			 const char *outer)
{
	struct line_frames f;

	lines_at(l, addr, &f);
	if (CHECK(f.nr == (outer ? 2 : 1), "%zu frames at %#" PRIx64, f.nr, addr)) {
		CHECK_EQ(f.list[0].line, line, "at %#" PRIx64, addr);
		CHECK(!strcmp(f.list[0].function, inner), "%s", f.list[0].function);
		CHECK(!outer || !strcmp(f.list[1].function, outer), "%s", f.list[1].function);
		CHECK(!strcmp(f.list[0].file, "selftests/trampctl/sample.c"), "%s", f.list[0].file);
	}
	line_frames_free(&f);
}

static void one_place(void)
{
	struct lines *l = open_sample();
	const int line = marked("sample.c", "alone");
	struct line_found found;
	uint64_t start;

	REQUIRE(lines_symbol(l, "alone", &start), "no symbol");
	CHECK_EQ(lines_find(l, "sample.c", line, &found), 1, "places");
	CHECK_EQ(found.nr_files, 1, "files");
	CHECK(found.places[0].addr >= start && found.places[0].addr < start + 64, "at %#" PRIx64
	      ", the function at %#" PRIx64, found.places[0].addr, start);
	CHECK(!strcmp(found.places[0].function, "alone"), "%s", found.places[0].function);
	CHECK(!found.places[0].inlined, "it is inlined nowhere");
	check_frames(l, found.places[0].addr, line, "alone", NULL);
	line_found_free(&found);
	lines_free(l);
}

/* Inlined three times, in two functions: three places, each the first of its copy. */
static void inlined_copies(void)
{
	struct lines *l = open_sample();
	const int line = marked("sample.c", "copied");
	unsigned int in_stext = 0, in_twice = 0;
	struct line_found found;
	uint64_t first, second;
	size_t i;

	REQUIRE(lines_symbol(l, "_stext", &first) && lines_symbol(l, "twice", &second), "symbols");
	CHECK_EQ(lines_find(l, "sample.c", line, &found), 3, "places");
	for (i = 0; i < found.nr; i++) {
		const uint64_t addr = found.places[i].addr;

		CHECK(found.places[i].inlined, "place %zu is no copy", i);
		CHECK(!strcmp(found.places[i].function, "copied"), "%s", found.places[i].function);
		CHECK(!i || addr > found.places[i - 1].addr, "not in order");
		in_stext += addr >= first && addr < first + 32;
		in_twice += addr >= second && addr < second + 64;
	}
	CHECK_EQ(in_stext, 1, "in _stext");
	CHECK_EQ(in_twice, 2, "in twice");
	/* The last one is entered at an instruction that counts as its caller's as well. */
	for (i = 0; i < 2; i++)
		check_frames(l, found.places[i].addr, line, "copied",
			     found.places[i].addr >= first && found.places[i].addr < first + 32 ?
			     "_stext" : "twice");
	line_found_free(&found);
	/* Their caller's line is not a copy's, although it begins where one does. */
	CHECK_EQ(lines_find(l, "sample.c", marked("sample.c", "calls"), &found), 1, "places");
	CHECK(found.nr && !found.places[0].inlined && !strcmp(found.places[0].function, "_stext"),
	      "not the caller");
	line_found_free(&found);
	lines_free(l);
}

/* A line without code has the nearest ones that have some. */
static void nearest_lines(void)
{
	struct lines *l = open_sample();
	struct line_found found;

	CHECK_EQ(lines_find(l, "sample.c", marked("sample.c", "nothing"), &found), 0, "places");
	CHECK_EQ(found.above, marked("sample.c", "alone"), "above");
	CHECK_EQ(found.below, marked("sample.c", "nothing") - 1, "below");
	line_found_free(&found);
	CHECK_EQ(lines_find(l, "sample.c", 1, &found), 0, "places");
	CHECK_EQ(found.below, 0, "before the first");
	CHECK(found.above, "the first line with code");
	line_found_free(&found);
	CHECK_EQ(lines_find(l, "sample.c", 100000, &found), 0, "places");
	CHECK_EQ(found.above, 0, "behind the last");
	line_found_free(&found);
	lines_free(l);
}

static void file_names(void)
{
	static const struct {
		const char *file;
		bool is;
	} cases[] = {
		{ "sample.c", true }, { "trampctl/sample.c", true }, { "./sample.c", true },
		{ "selftests//trampctl/./sample.c", true }, { "selftests/x/../trampctl/sample.c", true },
		{ SOURCES "/sample.c", true }, { "ample.c", false }, { "/sample.c", false },
		{ "other/sample.c", false }, { "sample", false }, { "sample.cc", false },
	};
	struct lines *l = open_sample();
	const int line = marked("sample.c", "alone");
	struct line_found found;
	size_t i;

	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		CHECK_EQ(lines_find(l, cases[i].file, line, &found), cases[i].is, "%s",
			 cases[i].file);
		CHECK_EQ(found.nr_files, cases[i].is, "%s", cases[i].file);
		line_found_free(&found);
	}
	lines_free(l);
}

/* No unit has the name of a header: all are searched. */
static void header(void)
{
	struct lines *l = open_sample();
	struct line_found found;

	CHECK_EQ(lines_find(l, "sample.h", marked("sample.h", "header"), &found), 1, "places");
	CHECK(found.nr && !strcmp(found.places[0].function, "in_header"), "not the function");
	line_found_free(&found);
	lines_free(l);
}

/* With KASLR everything is higher by the same. */
static void moved(void)
{
	struct lines *l = open_sample();
	const int line = marked("sample.c", "result");
	struct line_found before, after;
	struct line_frames f;

	lines_find(l, "sample.c", line, &before);
	lines_move(l, SLIDE);
	lines_find(l, "sample.c", line, &after);
	REQUIRE(before.nr == 1 && after.nr == 1, "places");
	CHECK_EQ(after.places[0].addr, before.places[0].addr + SLIDE, "not moved");
	check_frames(l, after.places[0].addr, line, "alone", NULL);
	lines_at(l, before.places[0].addr, &f);
	CHECK_EQ(f.nr, 0, "there is nothing any more");
	line_frames_free(&f);
	line_found_free(&before);
	line_found_free(&after);
	lines_free(l);
}

static void not_debuginfo(void)
{
	const char *why = NULL;
	struct build_id a, b;
	bool has;

	CHECK(!lines_open(SAMPLE ".stripped", NULL, &why) && why, "it is stripped");
	CHECK(!lines_open("/no/such/file", NULL, &why) && why, "it is not there");
	CHECK(!lines_open(SOURCES "/sample.c", NULL, &why) && why, "it is text");
	CHECK(lines_build_id(SAMPLE, &a, &has) && has && a.len == 20, "no build ID");
	CHECK(lines_build_id(SAMPLE ".stripped", &b, &has) && !has, "no debuginfo");
	CHECK(b.len == a.len && !memcmp(a.bits, b.bits, a.len), "the same build");
	CHECK(lines_build_id(SAMPLE ".rebuilt", &b, &has) && has && b.len == 8, "another build");
	CHECK(!lines_build_id(SOURCES "/sample.c", &b, &has), "text has none");
}

/* --------------------------------------------------- a machine of our own -- */

static char root[64], release[128];

static void put(const char *path, const void *data, size_t len)
{
	char *full, *slash;
	int fd;

	REQUIRE(asprintf(&full, "%s/%s", root, path) > 0, "no memory");
	for (slash = full + strlen(root) + 1; (slash = strchr(slash, '/')); *slash++ = '/') {
		*slash = 0;
		mkdir(full, 0755);
	}
	fd = open(full, O_WRONLY | O_CREAT | O_TRUNC, 0644);
	REQUIRE(fd >= 0 && write(fd, data, len) == (ssize_t)len, "%s: %s", full, strerror(errno));
	close(fd);
	free(full);
}

/* The file @from, as @path on the machine, which has the release in it. */
static void copy(const char *from, const char *path)
{
	static char data[1 << 20];
	const int fd = open(from, O_RDONLY);
	ssize_t len = read(fd, data, sizeof(data));
	char place[256];

	REQUIRE(len > 0, "%s: %s", from, strerror(errno));
	close(fd);
	snprintf(place, sizeof(place), path, release);
	put(place, data, len);
}

/* The notes of sysfs: another one, then the build ID. */
static void put_notes(const struct build_id *id)
{
	static const Elf64_Nhdr other = { .n_namesz = 6, .n_descsz = 3, .n_type = 1 };
	const Elf64_Nhdr note = { .n_namesz = 4, .n_descsz = id->len, .n_type = NT_GNU_BUILD_ID };
	char notes[256];
	size_t len = 0;

	memcpy(notes, &other, sizeof(other));
	memcpy(notes + sizeof(other), "Linux\0\0\0abc\0", 12);
	len = sizeof(other) + 12;
	memcpy(notes + len, &note, sizeof(note));
	memcpy(notes + len + sizeof(note), "GNU", 4);
	memcpy(notes + len + sizeof(note) + 4, id->bits, id->len);
	put("sys/kernel/notes", notes, len + sizeof(note) + 4 + id->len);
}

/* A machine that runs the sample as its kernel, so much higher than it was linked for. */
static void machine(void)
{
	struct lines *l = open_sample();
	struct build_id id;
	struct utsname u;
	uint64_t stext;
	char text[128];
	bool has;

	uname(&u);
	snprintf(release, sizeof(release), "%s", u.release);
	strcpy(root, "/tmp/test_lines.XXXXXX");
	REQUIRE(mkdtemp(root), "%s", strerror(errno));
	debuginfo_root = root;
	REQUIRE(lines_symbol(l, "_stext", &stext), "no _stext");
	snprintf(text, sizeof(text), "0000000000000000 A percpu\n%016" PRIx64 " T _stext\n",
		 stext + SLIDE);
	put("proc/kallsyms", text, strlen(text));
	REQUIRE(lines_build_id(SAMPLE, &id, &has), "no build ID");
	put_notes(&id);
	lines_free(l);
}

static void remove_machine(void)
{
	char *command;

	REQUIRE(asprintf(&command, "rm -rf %s", root) > 0 && !system(command), "%s", root);
	free(command);
}

/* Asks for a line of the sample, by the debuginfo that is found; @said: what comes to stderr. */
static int find(const struct debuginfo_options *o, const char *spec, struct line_found *found,
		char *said, size_t len)
{
	FILE *tmp = tmpfile();
	const int err = dup(2);
	int rc;

	fflush(stderr);
	dup2(fileno(tmp), 2);
	rc = source_find(o, spec, found);
	source_close();
	fflush(stderr);
	dup2(err, 2);
	close(err);
	rewind(tmp);
	said[fread(said, 1, len - 1, tmp)] = 0;
	fclose(tmp);
	return rc;
}

static void expect(const struct debuginfo_options *o, const char *spec, int rc, const char *words)
{
	struct line_found found;
	char said[2048];

	CHECK_EQ(find(o, spec, &found, said, sizeof(said)), rc, "%s: %s", spec, said);
	CHECK(strstr(said, words), "%s: \"%s\" is not said, but: %s", spec, words, said);
	if (!rc)
		CHECK_EQ(said[0], 0, "%s", said);
	line_found_free(&found);
}

static void debuginfo_is_found(void)
{
	static const char *const places[] = {
		"usr/lib/debug/boot/vmlinux-%s", "usr/lib/debug/lib/modules/%s/vmlinux",
		"usr/lib/debug/vmlinux-%s", "boot/vmlinux-%s", "lib/modules/%s/build/vmlinux",
	};
	const struct debuginfo_options none = { NULL }, named = { .vmlinux = SAMPLE };
	const int line = marked("sample.c", "alone");
	struct line_found found;
	struct lines *l = open_sample();
	char spec[64], said[2048];
	uint64_t start;
	size_t i;

	REQUIRE(lines_symbol(l, "alone", &start), "no symbol");
	lines_free(l);
	snprintf(spec, sizeof(spec), "sample.c:%d", line);
	for (i = 0; i <= sizeof(places) / sizeof(places[0]); i++) {
		machine();
		expect(&none, spec, EXIT_NOT_FOUND, "[no-debuginfo]");
		if (i < sizeof(places) / sizeof(places[0]))
			copy(SAMPLE, places[i]);
		CHECK_EQ(find(i < sizeof(places) / sizeof(places[0]) ? &none : &named, spec, &found,
			      said, sizeof(said)), 0, "%s", said);
		CHECK_EQ(found.nr, 1, "places");
		CHECK(found.nr && found.places[0].addr >= start + SLIDE &&
		      found.places[0].addr < start + SLIDE + 64, "not where it runs");
		line_found_free(&found);
		remove_machine();
	}
}

static void other_builds_are_refused(void)
{
	const struct debuginfo_options none = { NULL }, other = { .vmlinux = SAMPLE ".rebuilt" },
		stripped = { .vmlinux = SAMPLE ".stripped" }, text = { .vmlinux = SOURCES "/sample.c" },
		missing = { .vmlinux = "/no/such/vmlinux" };

	machine();
	copy(SAMPLE ".rebuilt", "usr/lib/debug/boot/vmlinux-%s");
	expect(&none, "sample.c:1", EXIT_NOT_FOUND, "[wrong-debuginfo]");
	expect(&none, "sample.c:1", EXIT_NOT_FOUND, release);
	expect(&other, "sample.c:1", EXIT_NOT_FOUND, "feedface01234567");
	expect(&stripped, "sample.c:1", EXIT_NOT_FOUND, "has no debuginfo [no-debuginfo]");
	expect(&text, "sample.c:1", EXIT_NOT_FOUND, "it is no ELF file [no-file]");
	expect(&missing, "sample.c:1", EXIT_NOT_FOUND, "No such file");
	/* The right one further on in the list is taken nevertheless. */
	copy(SAMPLE, "boot/vmlinux-%s");
	expect(&none, "sample.c:1", EXIT_NOT_FOUND, "[no-code]");
	remove_machine();
}

static void bad_lines(void)
{
	const struct debuginfo_options named = { .vmlinux = SAMPLE };
	const int nothing = marked("sample.c", "nothing");
	char spec[64], near[128];

	machine();
	snprintf(spec, sizeof(spec), "trampctl/sample.c:%d", nothing);
	snprintf(near, sizeof(near), "did you mean: selftests/trampctl/sample.c:%d, selftests/trampctl/sample.c:%d",
		 nothing - 1, nothing + 1);
	expect(&named, spec, EXIT_NOT_FOUND, "[no-code]");
	expect(&named, spec, EXIT_NOT_FOUND, near);
	expect(&named, "namei.c:1", EXIT_NOT_FOUND, "knows no file namei.c [no-source]");
	expect(&named, "sample.c:0", EXIT_USAGE, "a line is a number from 1 on");
	expect(&named, "sample.c:99999999999", EXIT_USAGE, "a line is a number from 1 on");
	expect(&named, ":sample.c:1", EXIT_USAGE, "[usage]");
	expect(&named, "vmlinux:sample.c:1", EXIT_NOT_FOUND, "[no-code]");
	expect(&named, "ext4:sample.c:1", EXIT_NOT_FOUND, "the module ext4 is not loaded [no-module]");
	put("sys/module/ext4/refcnt", "1", 1);
	expect(&named, "ext4:sample.c:1", EXIT_NOT_FOUND, "no debuginfo of the module ext4");
	remove_machine();
}

/* To those who may not see addresses the kernel shows zeroes. */
static void hidden_addresses(void)
{
	static const char hidden[] = "0000000000000000 T _stext\n";
	const struct debuginfo_options named = { .vmlinux = SAMPLE };

	machine();
	put("proc/kallsyms", hidden, strlen(hidden));
	expect(&named, "sample.c:1", EXIT_PERMISSION, "[hidden-address]");
	remove_machine();
}

static void source_lines_and_places(void)
{
	static const struct {
		const char *arg;
		bool is;
	} cases[] = {
		{ "fs/namei.c:4200", true }, { "ext4:inode.c:7", true }, { "x:1", true },
		{ "do_unlinkat", false }, { "do_unlinkat+0x9", false }, { "ext4:ext4_iget", false },
		{ "ext4:ext4_iget+9", false }, { "0xffffffff81000000", false }, { ":9", false },
		{ "namei.c:", false }, { "namei.c:9x", false },
	};
	size_t i;

	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		CHECK_EQ(is_source_line(cases[i].arg), cases[i].is, "%s", cases[i].arg);
}

static const struct ktap_test tests[] = {
	KTAP_TEST(one_place),
	KTAP_TEST(inlined_copies),
	KTAP_TEST(nearest_lines),
	KTAP_TEST(file_names),
	KTAP_TEST(header),
	KTAP_TEST(moved),
	KTAP_TEST(not_debuginfo),
	KTAP_TEST(debuginfo_is_found),
	KTAP_TEST(other_builds_are_refused),
	KTAP_TEST(bad_lines),
	KTAP_TEST(hidden_addresses),
	KTAP_TEST(source_lines_and_places),
};

KTAP_MAIN(tests)
