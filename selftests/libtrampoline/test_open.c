// SPDX-License-Identifier: GPL-2.0
/*
 * Opening objects with sessions as on a kernel without sessions: what is linked into them, and
 * what libbpf sees of it. Nothing is loaded, so it takes neither such a kernel nor the module:
 * libtramp_session_by_map() is the test's (build.mk). test_lib_multi runs such programs.
 */
#define _GNU_SOURCE		/* memfd_create() */
#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../../user/libtrampoline/attach/internal.h"
#include "../lib/ktap.h"
#include "fixture.h"
#include "sections.skel.h"

/* The object calls what the kernel may lack, SESSION also a function that no kernel has. */
#define SECTIONS	OBJECTS "/selftests/libtrampoline/sections.bpf.o"
#define SESSION		OBJECTS "/selftests/cli/session.bpf.o"
#define NO_SESSION	OBJECTS "/selftests/libtrampoline/kinds.bpf.o"

static bool by_map = true;
/* Calls that fail, and which of each from now on; 0: none. */
enum call { MEMFD_CREATE, WRITE, FSTAT, MMAP, BTF_PARSE, NR_CALLS };
static int fail_at[NR_CALLS];

bool __wrap_libtramp_session_by_map(void);
int __real_memfd_create(const char *name, unsigned int flags);
int __wrap_memfd_create(const char *name, unsigned int flags);
ssize_t __real_write(int fd, const void *data, size_t size);
ssize_t __wrap_write(int fd, const void *data, size_t size);
int __real_fstat(int fd, struct stat *st);
int __wrap_fstat(int fd, struct stat *st);
void *__real_mmap(void *at, size_t size, int prot, int flags, int fd, off_t offset);
void *__wrap_mmap(void *at, size_t size, int prot, int flags, int fd, off_t offset);
struct btf *__real_btf__parse(const char *path, struct btf_ext **ext);
struct btf *__wrap_btf__parse(const char *path, struct btf_ext **ext);

static bool fails(enum call call)
{
	if (!fail_at[call] || --fail_at[call])
		return false;
	errno = EMFILE;
	return true;
}

bool __wrap_libtramp_session_by_map(void)
{
	return by_map;
}

int __wrap_memfd_create(const char *name, unsigned int flags)
{
	return fails(MEMFD_CREATE) ? -1 : __real_memfd_create(name, flags);
}

ssize_t __wrap_write(int fd, const void *data, size_t size)
{
	return fails(WRITE) ? -1 : __real_write(fd, data, size);
}

int __wrap_fstat(int fd, struct stat *st)
{
	return fails(FSTAT) ? -1 : __real_fstat(fd, st);
}

void *__wrap_mmap(void *at, size_t size, int prot, int flags, int fd, off_t offset)
{
	return fails(MMAP) ? MAP_FAILED : __real_mmap(at, size, prot, flags, fd, offset);
}

struct btf *__wrap_btf__parse(const char *path, struct btf_ext **ext)
{
	return fails(BTF_PARSE) ? NULL : __real_btf__parse(path, ext);
}

static void quiet(void)
{
	libbpf_set_print(NULL);
	tramp_set_print(NULL);
}

/* Has the object got what stands for the kernel's sessions? */
static bool is_linked(const struct bpf_object *obj)
{
	return bpf_object__find_map_by_name(obj, "tramp_session");
}

/* Has its BTF a section of that name? */
static bool has_section(const struct bpf_object *obj, const char *name)
{
	return btf__find_by_name_kind(bpf_object__btf(obj), name, BTF_KIND_DATASEC) > 0;
}

static size_t count_programs(const struct bpf_object *obj)
{
	struct bpf_program *prog;
	size_t nr = 0;

	bpf_object__for_each_program(prog, obj)
		nr++;
	return nr;
}

static int count_descriptors(void)
{
	DIR *dir = opendir("/proc/self/fd");
	int nr = 0;

	REQUIRE(dir, "/proc/self/fd");
	while (readdir(dir))
		nr++;
	closedir(dir);
	return nr;
}

static void *read_file(const char *path, size_t *size)
{
	FILE *f = fopen(path, "re");
	void *elf = malloc(1 << 20);

	REQUIRE(f && elf, "%s: %s", path, strerror(errno));
	*size = fread(elf, 1, 1 << 20, f);
	fclose(f);
	return elf;
}

/* Opened in each way, it is the same object, with or without what is linked into it. */
static void opens(const char *path, const char *name, bool linked)
{
	LIBBPF_OPTS(bpf_object_open_opts, named, .object_name = "other");
	const char *const names[] = { name, "other", "other" };
	struct bpf_object *obj[3], *plain = bpf_object__open_file(path, NULL);
	size_t i, size;
	void *elf = read_file(path, &size);

	REQUIRE(plain, "%s: %s", path, strerror(errno));
	obj[0] = tramp_object__open_file(path, NULL);
	obj[1] = tramp_object__open_file(path, &named);
	obj[2] = tramp_object__open_mem(elf, size, &named);
	for (i = 0; i < 3; i++) {
		REQUIRE(obj[i], "%s: %s", path, strerror(errno));
		CHECK_EQ(is_linked(obj[i]), linked, "%s: %zu", path, i);
		CHECK_EQ(count_programs(obj[i]), count_programs(plain), "%s: %zu", path, i);
		CHECK(!strcmp(bpf_object__name(obj[i]), names[i]), "%s: %zu: %s", path, i,
		      bpf_object__name(obj[i]));
		bpf_object__close(obj[i]);
	}
	bpf_object__close(plain);
	free(elf);
}

static void test_by_map(void)
{
	int before = count_descriptors();

	quiet();
	opens(SECTIONS, "sections", true);
	opens(SESSION, "session", true);
	opens(NO_SESSION, "kinds", false);
	CHECK_EQ(count_descriptors(), before, "descriptors");
}

static void test_by_kernel(void)
{
	quiet();
	by_map = false;
	opens(SECTIONS, "sections", false);
	opens(SESSION, "session", false);
	opens(NO_SESSION, "kinds", false);
}

/*
 * libbpf's linker leaves the names of what it has found in .ksyms. Without others the section has
 * to go, or the kernel refuses it. With others it stays, or libbpf does not know them.
 */
static void test_ksyms(void)
{
	struct bpf_object *obj;

	quiet();
	obj = tramp_object__open_file(SECTIONS, NULL);
	REQUIRE(obj, "%s", strerror(errno));
	CHECK(!has_section(obj, ".ksyms"), "nothing is left in it");
	CHECK(has_section(obj, ".maps"), "others stay");
	bpf_object__close(obj);
	obj = tramp_object__open_file(SESSION, NULL);
	REQUIRE(obj, "%s", strerror(errno));
	CHECK(has_section(obj, ".ksyms"), "no_such_kfunc() is left in it");
	bpf_object__close(obj);
}

static struct sections *new_skeleton(void)
{
	struct sections *skel = calloc(1, sizeof(*skel));

	REQUIRE(skel && !sections__create_skeleton(skel), "no memory");
	return skel;
}

/* The skeleton finds its own in an object that has more. It keeps the bytes that it came with. */
static void test_skeleton(void)
{
	struct sections *skel = new_skeleton();
	const void *data = skel->skeleton->data;
	size_t size = skel->skeleton->data_sz;

	quiet();
	CHECK_EQ(tramp_object__open_skeleton(skel->skeleton, NULL), 0, "open");
	CHECK(is_linked(skel->obj), "linked");
	CHECK(skel->skeleton->data == data && skel->skeleton->data_sz == size, "the bytes");
	CHECK(!strcmp(bpf_program__name(skel->progs.on_both), "on_both"), "a program");
	CHECK(!strcmp(bpf_map__name(skel->maps.bss), "sections.bss"), "a map");
	sections__destroy(skel);
}

/* Each of the files in memory is missing once. */
static void test_no_files(void)
{
	struct sections *skel = new_skeleton();
	size_t size;
	void *elf = read_file(SECTIONS, &size);
	int i, before = count_descriptors();

	quiet();
	for (i = 1; i <= 3; i++) {
		fail_at[MEMFD_CREATE] = i;
		CHECK(!tramp_object__open_mem(elf, size, NULL), "%d", i);
		CHECK_EQ(errno, EMFILE, "%d", i);
		CHECK_ERROR(-EMFILE, TRAMP_LIB_SYSTEM);
		fail_at[MEMFD_CREATE] = i;
		CHECK_EQ(tramp_object__open_skeleton(skel->skeleton, NULL), -EMFILE, "%d", i);
		CHECK_ERROR(-EMFILE, TRAMP_LIB_SYSTEM);
	}
	for (i = 1; i <= 2; i++) {
		fail_at[MEMFD_CREATE] = i;
		CHECK(!tramp_object__open_file(SECTIONS, NULL), "%d", i);
		CHECK_ERROR(-EMFILE, TRAMP_LIB_SYSTEM);
		CHECK(last_error_says("sections.bpf.o"), "which");
	}
	CHECK_EQ(count_descriptors(), before, "descriptors");
	CHECK_EQ(tramp_object__open_skeleton(skel->skeleton, NULL), 0, "with all files");
	sections__destroy(skel);
	free(elf);
}

/*
 * Each call from number @n on fails once, in libbpf too, which can do without some of them. An
 * object that can be opened has what it calls.
 */
static void fail_each(enum call call, const char *name, int n)
{
	int failed = 0, before = count_descriptors();
	struct bpf_object *obj;

	for (; n < 1000; n++) {
		tramp_clear_error();
		fail_at[call] = n;
		obj = tramp_object__open_file(SECTIONS, NULL);
		if (!obj) {
			failed++;
			CHECK_EQ(tramp_last_error()->reason, TRAMP_LIB_SYSTEM, "%s %d", name, n);
			CHECK_EQ(tramp_last_error()->err, -errno, "%s %d", name, n);
		} else {
			CHECK(is_linked(obj), "%s %d", name, n);
		}
		bpf_object__close(obj);
		CHECK_EQ(count_descriptors(), before, "%s %d: descriptors", name, n);
		if (fail_at[call])
			break;
	}
	fail_at[call] = 0;
	CHECK(obj, "%s: %s", name, tramp_last_error()->message);
	CHECK(failed, "%s: never", name);
}

static void test_failing_calls(void)
{
	quiet();
	fail_each(WRITE, "write", 1);
	fail_each(FSTAT, "fstat", 1);
	fail_each(MMAP, "mmap", 1);
	/* Of the object itself first: if that fails, libbpf says so. */
	fail_each(BTF_PARSE, "btf__parse", 2);
}

/* Anything but an object is left to libbpf, which says what is wrong with it. */
static void test_no_object(void)
{
	static const char text[64] = "no object";

	quiet();
	CHECK(!tramp_object__open_mem(text, sizeof(text), NULL), "memory");
	CHECK(!tramp_object__open_file(fixture_text("object", text), NULL), "file");
	CHECK(!tramp_object__open_file("/nowhere/object", NULL) && errno == ENOENT, "no file");
}

static const struct ktap_test tests[] = {
	{ .name = "by-map", .run = test_by_map },
	{ .name = "by-kernel", .run = test_by_kernel },
	{ .name = "ksyms", .run = test_ksyms },
	{ .name = "skeleton", .run = test_skeleton },
	{ .name = "no-files", .run = test_no_files },
	{ .name = "failing-calls", .run = test_failing_calls },
	{ .name = "no-object", .run = test_no_object },
};

KTAP_MAIN(tests)
