// SPDX-License-Identifier: GPL-2.0
/*
 * libtrampoline with the module loaded: what can be done with links. Pins, handles,
 * detaching, and the code behind them.
 */
#define _GNU_SOURCE
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../lib/ktap.h"
#include "guest.h"

static void test_pin(void)
{
	const char *path = BPFFS "/lt_test/entry";
	struct kinds *skel = need_loaded(NULL);
	struct tramp_link *link;
	unsigned long long before;
	uint32_t id;

	link = need_link(skel->progs.on_entry, NULL);
	id = tramp_link__id(link);
	CHECK(!tramp_link__pin_path(link), "not pinned yet");
	CHECK_EQ(tramp_link__unpin(link), -EINVAL, "not pinned yet");
	CHECK_ERROR(-EINVAL, TRAMP_LIB_NOT_PINNED);
	CHECK_EQ(tramp_link__pin(link, "/tmp/entry"), -EINVAL, "not bpffs");
	CHECK_ERROR(-EINVAL, TRAMP_LIB_NOT_BPFFS);
	CHECK_EQ(tramp_link__pin(link, "/tmp/lt_test/entry"), -ENOENT, "not bpffs, no folder");
	CHECK(access("/tmp/lt_test", F_OK), "nothing made outside bpffs");
	CHECK_EQ(tramp_link__pin(link, BPFFS "/has.dot"), -EINVAL, "dot");
	CHECK(last_error_says("no dot"), "why");
	CHECK_EQ(tramp_link__pin(link, BPFFS "/has.dot/entry"), -EINVAL, "dot in the folder");
	CHECK(last_error_says("no dot: 'has.dot'"), "which");
	CHECK_EQ(tramp_link__pin(link, BPFFS "/no/such/folder"), -ENOENT, "two are missing");
	CHECK_ERROR(-ENOENT, TRAMP_LIB_NO_FILE);
	CHECK_EQ(tramp_link__pin(link, path), 0, "%s", tramp_last_error()->message);
	CHECK_EQ(tramp_link__pin(link, BPFFS "/again"), -EALREADY, "twice");
	CHECK_ERROR(-EALREADY, TRAMP_LIB_ALREADY_PINNED);
	CHECK(!strcmp(tramp_link__pin_path(link), path), "%s", tramp_link__pin_path(link));
	tramp_link__destroy(link);
	call_target(CALLS);
	CHECK_EQ(skel->bss->entries, CALLS, "a pinned link lives on");

	link = tramp_link__open(path);
	REQUIRE(link, "%s", tramp_last_error()->message);
	CHECK_EQ(tramp_link__id(link), id, "the same");
	CHECK_EQ(tramp_link__unpin(link), 0, "%s", tramp_last_error()->message);
	CHECK(!tramp_link__pin_path(link), "unpinned");
	before = skel->bss->entries;	/* removing the pin was a call as well */
	call_target(CALLS);
	CHECK_EQ(skel->bss->entries, before + CALLS, "held by the handle");
	tramp_link__destroy(link);
	call_target(CALLS);
	CHECK_EQ(skel->bss->entries, before + CALLS, "gone");
	rmdir(BPFFS "/lt_test");
	kinds__destroy(skel);
}

static void test_open_fails(void)
{
	const char *path = BPFFS "/lt_prog";
	struct kinds *skel = need_loaded(NULL);
	struct bpf_link *theirs;

	CHECK(!tramp_link__open(BPFFS "/lt_none"), "no file");
	CHECK_ERROR(-ENOENT, TRAMP_LIB_NO_FILE);
	REQUIRE(!bpf_program__pin(skel->progs.on_rmdir, path), "pin a program");
	CHECK(!tramp_link__open(path), "a program");
	CHECK_ERROR(-EINVAL, TRAMP_LIB_NOT_OUR_LINK);
	CHECK(last_error_says("not a BPF link"), "why");
	bpf_program__unpin(skel->progs.on_rmdir, path);
	theirs = bpf_program__attach(skel->progs.on_rmdir);
	REQUIRE(theirs && !bpf_link__pin(theirs, path), "pin a link of the kernel's");
	CHECK(!tramp_link__open(path), "the kernel's");
	CHECK_ERROR(-EINVAL, TRAMP_LIB_NOT_OUR_LINK);
	bpf_link__unpin(theirs);
	bpf_link__destroy(theirs);
	kinds__destroy(skel);
}

/* Where /proc is not mounted, the kernel tells by other means what is a link, and a program. */
static void test_no_proc(void)
{
	TRAMP_OPTS(tramp_attach_opts, place, .symbol = "do_unlinkat");
	const char *path = BPFFS "/lt_no_proc", *prog = BPFFS "/lt_prog", *map = BPFFS "/lt_map";
	struct kinds *skel = need_loaded(NULL);
	struct tramp_link *link, *opened;

	link = need_link(skel->progs.on_entry, NULL);
	REQUIRE(!tramp_link__pin(link, path), "%s", tramp_last_error()->message);
	REQUIRE(!bpf_program__pin(skel->progs.on_rmdir, prog), "pin a program");
	REQUIRE(!bpf_map__pin(skel->maps.bss, map), "pin a map");
	REQUIRE(!unshare(CLONE_NEWNS) && !mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) &&
		!umount2("/proc", MNT_DETACH), "/proc: %s", strerror(errno));
	CHECK(access("/proc/self", F_OK), "/proc is there");
	opened = tramp_link__open(path);
	CHECK(opened, "%s", tramp_last_error()->message);
	if (opened)
		CHECK_EQ(tramp_link__id(opened), tramp_link__id(link), "the same");
	tramp_link__destroy(opened);
	CHECK(!tramp_link__open(prog), "a program");
	CHECK_ERROR(-EINVAL, TRAMP_LIB_NOT_OUR_LINK);
	CHECK(last_error_says("not a BPF link"), "why");
	CHECK(!tramp_link__open(map), "a map");
	CHECK(last_error_says("not a BPF link"), "why");
	CHECK(!tramp_attach_fd(bpf_program__fd(skel->progs.on_exit), &place), "a place");
	CHECK_ERROR(-EINVAL, TRAMP_LIB_BAD_ARGUMENT);
	CHECK(!tramp_attach_fd(bpf_map__fd(skel->maps.bss), &place), "a map");
	CHECK_ERROR(-EBADF, TRAMP_REASON_BAD_PROG_FD);
	/* Asking has changed nothing. */
	call_target(CALLS);
	CHECK_EQ(skel->bss->entries, CALLS, "entries");
	CHECK_EQ(tramp_link__unpin(link), 0, "%s", tramp_last_error()->message);
	bpf_program__unpin(skel->progs.on_rmdir, prog);
	bpf_map__unpin(skel->maps.bss, map);
	tramp_link__destroy(link);
	kinds__destroy(skel);
}

static void test_pin_set(void)
{
	const char *dir = BPFFS "/lt_set";
	struct kinds *skel = need_loaded(NULL);
	struct tramp_links *links;
	struct stat st;

	links = tramp_object__attach(skel->obj, NULL);
	REQUIRE(links, "%s", tramp_last_error()->message);
	/* Something stands in the way of the second: the first is taken back. */
	REQUIRE(!mkdir(dir, 0700), "%s", dir);
	REQUIRE(!bpf_program__pin(skel->progs.on_rmdir, BPFFS "/lt_set/on_exit"), "obstacle");
	CHECK_EQ(tramp_links__pin(links, dir), -EEXIST, "obstacle");
	CHECK_ERROR(-EEXIST, TRAMP_LIB_PIN_EXISTS);
	CHECK(stat(BPFFS "/lt_set/on_entry", &st), "taken back");
	bpf_program__unpin(skel->progs.on_rmdir, BPFFS "/lt_set/on_exit");
	rmdir(dir);
	CHECK_EQ(tramp_links__pin(links, dir), 0, "%s", tramp_last_error()->message);
	CHECK(!stat(BPFFS "/lt_set/on_entry", &st) && !stat(BPFFS "/lt_set/on_exit", &st), "there");
	CHECK_EQ(tramp_links__unpin(links), 0, "%s", tramp_last_error()->message);
	CHECK_EQ(rmdir(dir), 0, "empty again");
	tramp_links__destroy(links);
	kinds__destroy(skel);
}

static void test_open_by_id(void)
{
	struct kinds *skel = need_loaded(NULL);
	struct tramp_link *link, *second;
	struct bpf_link *theirs;
	uint32_t id;

	link = need_link(skel->progs.on_entry, NULL);
	id = tramp_link__id(link);
	second = tramp_link__open_by_id(id);
	REQUIRE(second, "%s", tramp_last_error()->message);
	CHECK_EQ(tramp_link__id(second), id, "the same");
	CHECK(tramp_link__fd(second) != tramp_link__fd(link), "a descriptor of its own");
	tramp_link__destroy(link);
	call_target(CALLS);
	CHECK_EQ(skel->bss->entries, CALLS, "held by the second handle");
	tramp_link__destroy(second);
	CHECK(!tramp_link__open_by_id(id), "gone");
	CHECK_ERROR(-ENOENT, TRAMP_REASON_LINK_GONE);
	theirs = bpf_program__attach(skel->progs.on_rmdir);
	REQUIRE(theirs, "libbpf: %s", strerror(errno));
	{
		struct bpf_link_info info = {};
		__u32 len = sizeof(info);

		REQUIRE(!bpf_obj_get_info_by_fd(bpf_link__fd(theirs), &info, &len), "info");
		CHECK(!tramp_link__open_by_id(info.id), "the kernel's");
		CHECK_ERROR(-EINVAL, TRAMP_LIB_NOT_OUR_LINK);
	}
	bpf_link__destroy(theirs);
	kinds__destroy(skel);
}

static void test_detach(void)
{
	struct kinds *skel = need_loaded(NULL);
	TRAMP_OPTS(tramp_link_info, info);
	struct tramp_link *link, *second;
	uint64_t hits;

	link = need_link(skel->progs.on_entry, NULL);
	second = tramp_link__open_by_id(tramp_link__id(link));
	REQUIRE(second, "%s", tramp_last_error()->message);
	call_target(CALLS);
	CHECK_EQ(tramp_link__detach(second), 0, "%s", tramp_last_error()->message);
	call_target(CALLS);
	CHECK_EQ(skel->bss->entries, CALLS, "detached for all");
	CHECK_EQ(tramp_link__info(link, &info), 0, "%s", tramp_last_error()->message);
	CHECK_EQ(info.mode, TRAMP_MODE_NONE, "mode");
	hits = info.hits;
	CHECK(hits >= CALLS, "%llu hits", (unsigned long long)hits);
	CHECK(!tramp_link_image(tramp_link__id(link), &info), "no image");
	CHECK_ERROR(-ENOENT, TRAMP_REASON_LINK_GONE);
	CHECK_EQ(tramp_link__detach(link), 0, "once more: %s", tramp_last_error()->message);
	CHECK_EQ(links_now(), 0, "links of the module");
	tramp_link__destroy(second);
	tramp_link__destroy(link);
	/* The program is free for another attachment. */
	tramp_link__destroy(need_link(skel->progs.on_entry, NULL));
	kinds__destroy(skel);
}

static void test_disconnect(void)
{
	struct kinds *skel = need_loaded(NULL);
	struct tramp_link *link = need_link(skel->progs.on_entry, NULL);
	int fd = tramp_link__fd(link);

	tramp_link__disconnect(link);
	CHECK_EQ(tramp_link__destroy(link), 0, "destroy");
	call_target(CALLS);
	CHECK_EQ(skel->bss->entries, CALLS, "the descriptor holds it");
	CHECK_EQ(close(fd), 0, "it is still open");
	call_target(CALLS);
	CHECK_EQ(skel->bss->entries, CALLS, "gone with it");
	kinds__destroy(skel);
}

struct seen {
	uint32_t id[8];
	int nr, stop_at;
};

static int see(const struct tramp_link_info *info, void *ctx)
{
	struct seen *s = ctx;

	if (s->nr < 8)
		s->id[s->nr++] = info->link_id;
	return s->nr == s->stop_at ? 42 : 0;
}

static void test_for_each(void)
{
	struct kinds *skel = need_loaded(NULL);
	struct seen all = {}, first = { .stop_at = 1 }, none = {};
	struct tramp_links *links;
	int i;

	CHECK_EQ(tramp_for_each(see, &none), 0, "%s", tramp_last_error()->message);
	CHECK_EQ(none.nr, 0, "no links");
	links = tramp_object__attach(skel->obj, NULL);
	REQUIRE(links, "%s", tramp_last_error()->message);
	CHECK_EQ(tramp_for_each(see, &all), 0, "%s", tramp_last_error()->message);
	REQUIRE(all.nr == 2, "%d links", all.nr);
	for (i = 0; i < 2; i++)
		CHECK_EQ(all.id[i], tramp_link__id(tramp_links__get(links, i)), "in order");
	CHECK_EQ(tramp_for_each(see, &first), 42, "the callback's");
	CHECK_EQ(first.nr, 1, "stopped");
	tramp_links__destroy(links);
	kinds__destroy(skel);
}

static void test_image(void)
{
	struct kinds *skel = need_loaded(NULL);
	struct tramp_link *link = need_link(skel->progs.on_entry, NULL);
	TRAMP_OPTS(tramp_link_info, info);
	char name[64], line[256];
	unsigned char *code;
	bool named = false;
	unsigned int i, calls = 0;
	FILE *f;

	code = tramp_link_image(tramp_link__id(link), &info);
	REQUIRE(code, "%s", tramp_last_error()->message);
	REQUIRE(info.image_size > 16, "%u bytes", info.image_size);
	for (i = 0; i + 5 <= info.image_size; i++)
		calls += code[i] == 0xe8;
	CHECK(calls > 0, "an image calls its program");
	free(code);
	snprintf(name, sizeof(name), " t trampoline_%llu_%u\t[bpf]\n",
		 (unsigned long long)info.key, info.index);
	f = fopen("/proc/kallsyms", "r");
	REQUIRE(f, "kallsyms");
	while (!named && fgets(line, sizeof(line), f))
		named = strstr(line, name) && strtoull(line, NULL, 16) == info.image_addr;
	fclose(f);
	CHECK(named, "no line '%s' at %#llx", name, (unsigned long long)info.image_addr);
	tramp_link__destroy(link);
	kinds__destroy(skel);
}

static const struct ktap_test tests[] = {
	{ .name = "pin", .run = test_pin },
	{ .name = "open-fails", .run = test_open_fails },
	{ .name = "no-proc", .run = test_no_proc },
	{ .name = "pin-set", .run = test_pin_set },
	{ .name = "open-by-id", .run = test_open_by_id },
	{ .name = "detach", .run = test_detach },
	{ .name = "disconnect", .run = test_disconnect },
	{ .name = "for-each", .run = test_for_each },
	{ .name = "image", .run = test_image },
};

KTAP_MAIN(tests)
