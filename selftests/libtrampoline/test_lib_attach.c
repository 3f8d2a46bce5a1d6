// SPDX-License-Identifier: GPL-2.0
/*
 * libtrampoline with the module loaded: attaching programs and whole objects, and
 * replacing the program of a link.
 */
#include <bpf/libbpf.h>
#include <errno.h>
#include <pthread.h>
#include <string.h>

#include "../lib/ktap.h"
#include "guest.h"

static void test_object(void)
{
	struct kinds *skel = need_loaded(NULL);
	TRAMP_OPTS(tramp_link_info, info);
	struct tramp_links *links;
	uint32_t id;

	links = tramp_object__attach(skel->obj, NULL);
	REQUIRE(links, "%s", tramp_last_error()->message);
	CHECK_EQ(tramp_links__count(links), 2, "links");
	CHECK_EQ(links_now(), 2, "links of the module");
	call_target(CALLS);
	CHECK_EQ(skel->bss->entries, CALLS, "entries");
	CHECK_EQ(skel->bss->exits, CALLS, "exits");
	CHECK(tramp_links__get(links, 1) == tramp_links__find(links, "on_exit"), "the order");
	CHECK(!tramp_links__get(links, 2), "beyond the last");
	id = tramp_link__id(tramp_links__find(links, "on_exit"));
	need_info(id, &info);
	CHECK_EQ(info.link_id, id, "id");
	CHECK_EQ(info.kind, TRAMP_KIND_FEXIT, "kind");
	CHECK_EQ(info.mode, TRAMP_MODE_DIRECT, "mode");
	CHECK_EQ(info.nr_progs, 2, "programs");
	CHECK(info.hits >= CALLS, "%llu hits", (unsigned long long)info.hits);
	CHECK_EQ(info.misses, 0, "misses");
	CHECK(info.func_addr && info.image_addr && info.image_size, "addresses");
	CHECK(!strcmp(info.func_name, "do_unlinkat"), "%s", info.func_name);
	CHECK(!strcmp(info.prog_name, "on_exit"), "%s", info.prog_name);
	CHECK(!info.module[0], "%s", info.module);
	tramp_links__destroy(links);
	call_target(CALLS);
	CHECK_EQ(skel->bss->entries, CALLS, "entries after detaching");
	CHECK_EQ(links_now(), 0, "links of the module");
	CHECK_EQ(tramp_link_info_by_id(id, &info), -ENOENT, "gone");
	CHECK_ERROR(-ENOENT, TRAMP_REASON_LINK_GONE);
	kinds__destroy(skel);
}

static void test_all_or_nothing(void)
{
	TRAMP_OPTS(tramp_object_attach_opts, skip, .flags = TRAMP_OBJECT_F_SKIP_OTHER);
	struct kinds *skel = kinds__open();
	struct tramp_links *links;

	REQUIRE(skel, "open: %s", strerror(errno));
	bpf_program__set_autoload(skel->progs.on_raw_tp, true);
	need_loaded(skel);
	CHECK(!tramp_object__attach(skel->obj, NULL), "a kind we do not attach");
	CHECK_ERROR(-EOPNOTSUPP, TRAMP_REASON_PROG_TYPE);
	CHECK(last_error_says("program 'on_raw_tp'"), "which");
	CHECK_EQ(links_now(), 0, "nothing is left");
	call_target(CALLS);
	CHECK_EQ(skel->bss->entries, 0, "entries");
	links = tramp_object__attach(skel->obj, &skip);
	REQUIRE(links, "%s", tramp_last_error()->message);
	CHECK_EQ(tramp_links__count(links), 2, "links");
	tramp_links__destroy(links);
	kinds__destroy(skel);
}

static void test_cookie(void)
{
	struct tramp_prog_cookie cookie = { .prog_name = "on_entry", .cookie = 0x1122334455667788 };
	TRAMP_OPTS(tramp_object_attach_opts, object, .cookie_cnt = 1, .cookies = &cookie);
	TRAMP_OPTS(tramp_attach_opts, single, .cookie = 77);
	struct kinds *skel = need_loaded(NULL);
	TRAMP_OPTS(tramp_link_info, info);
	struct tramp_links *links;
	struct tramp_link *link;

	link = need_link(skel->progs.on_entry, &single);
	call_target(1);
	CHECK_EQ(skel->bss->cookie, 77, "cookie");
	need_info(tramp_link__id(link), &info);
	CHECK_EQ(info.cookie, 77, "cookie");
	tramp_link__destroy(link);
	links = tramp_object__attach(skel->obj, &object);
	REQUIRE(links, "%s", tramp_last_error()->message);
	call_target(1);
	CHECK_EQ(skel->bss->cookie, cookie.cookie, "cookie");
	tramp_links__destroy(links);
	kinds__destroy(skel);
}

static void test_attach_fd(void)
{
	TRAMP_OPTS(tramp_attach_opts, probe, .symbol = "do_unlinkat",
		   .flags = TRAMP_ATTACH_F_NO_JUMP);
	struct kinds *skel = need_loaded(NULL);
	struct tramp_link *link;

	link = tramp_attach_fd(bpf_program__fd(skel->progs.on_entry), NULL);
	REQUIRE(link, "%s", tramp_last_error()->message);
	call_target(CALLS);
	CHECK_EQ(skel->bss->entries, CALLS, "entries");
	CHECK(!tramp_attach_fd(bpf_program__fd(skel->progs.on_entry), NULL), "again");
	CHECK_ERROR(-EBUSY, TRAMP_REASON_ALREADY_ATTACHED);
	CHECK(!tramp_attach_fd(bpf_map__fd(skel->maps.bss), NULL), "a map");
	CHECK_ERROR(-EBADF, TRAMP_REASON_BAD_PROG_FD);
	CHECK(!tramp_attach_fd(-1, NULL), "nothing");
	CHECK_ERROR(-EBADF, TRAMP_REASON_BAD_PROG_FD);
	CHECK(tramp_last_error()->from_kernel, "who says so");
	CHECK(!tramp_attach_fd(bpf_map__fd(skel->maps.bss), &probe), "a map, with a place");
	CHECK_ERROR(-EBADF, TRAMP_REASON_BAD_PROG_FD);
	CHECK(!tramp_attach_fd(-1, &probe), "nothing, with a place");
	CHECK_ERROR(-EBADF, TRAMP_REASON_BAD_PROG_FD);
	CHECK(!tramp_attach_fd(bpf_program__fd(skel->progs.on_entry), &probe), "a place");
	CHECK_ERROR(-EINVAL, TRAMP_LIB_BAD_ARGUMENT);
	tramp_link__destroy(link);
	kinds__destroy(skel);
}

static void test_kernel_attached(void)
{
	struct kinds *skel = need_loaded(NULL);
	struct bpf_link *theirs;
	struct tramp_link *ours;

	theirs = bpf_program__attach(skel->progs.on_exit);
	REQUIRE(theirs, "libbpf: %s", strerror(errno));
	ours = tramp_attach(skel->progs.on_exit, NULL);
	CHECK(!ours, "the kernel has it");
	CHECK_ERROR(-EBUSY, TRAMP_LIB_KERNEL_ATTACHED);
	CHECK(last_error_says("by link "), "which");
	CHECK(!tramp_link__open_by_id(0xffffff), "no such link");
	CHECK_ERROR(-ENOENT, TRAMP_REASON_LINK_GONE);
	bpf_link__destroy(theirs);
	kinds__destroy(skel);
}

static void test_update(void)
{
	struct kinds *skel = need_loaded(NULL);
	struct tramp_link *link, *other;

	link = need_link(skel->progs.on_entry, NULL);
	call_target(1);
	CHECK_EQ(tramp_link__update_program(link, skel->progs.on_entry_10), 0, "%s",
		 tramp_last_error()->message);
	call_target(1);
	CHECK_EQ(skel->bss->entries, 11, "one call each");
	CHECK_EQ(tramp_link__update_program(link, skel->progs.on_exit), -EINVAL, "another kind");
	CHECK_ERROR(-EINVAL, TRAMP_REASON_PROG_MISMATCH);
	CHECK_EQ(tramp_link__update_program(link, skel->progs.on_rmdir), -EINVAL, "another function");
	CHECK_ERROR(-EINVAL, TRAMP_REASON_PROG_MISMATCH);
	CHECK_EQ(tramp_link__update_program(link, skel->progs.on_kprobe), -EINVAL, "not loaded");
	CHECK_ERROR(-EINVAL, TRAMP_LIB_NOT_LOADED);
	CHECK_EQ(tramp_link__update_fd(link, -1), -EBADF, "no program");
	CHECK_ERROR(-EBADF, TRAMP_REASON_BAD_PROG_FD);
	call_target(1);
	CHECK_EQ(skel->bss->entries, 21, "a refused update changes nothing");
	other = need_link(skel->progs.on_entry, NULL);
	CHECK_EQ(tramp_link__update_program(link, skel->progs.on_entry), -EBUSY, "it is there already");
	CHECK_ERROR(-EBUSY, TRAMP_REASON_ALREADY_ATTACHED);
	tramp_link__destroy(other);
	REQUIRE(!tramp_link__detach(link), "%s", tramp_last_error()->message);
	CHECK_EQ(tramp_link__update_program(link, skel->progs.on_entry), -ENOENT, "detached");
	CHECK_ERROR(-ENOENT, TRAMP_REASON_LINK_GONE);
	tramp_link__destroy(link);
	kinds__destroy(skel);
}

static void *attach_and_detach(void *ctx)
{
	struct kinds *skel = ctx;
	unsigned int i;

	for (i = 0; i < 10; i++) {
		struct tramp_links *links = tramp_object__attach(skel->obj, NULL);

		if (!CHECK(links, "%s", tramp_last_error()->message))
			break;
		call_target(1);
		tramp_links__destroy(links);
	}
	return NULL;
}

static void test_threads(void)
{
	struct kinds *skel[4];
	pthread_t thread[4];
	int i;

	for (i = 0; i < 4; i++)
		skel[i] = need_loaded(NULL);
	for (i = 0; i < 4; i++)
		REQUIRE(!pthread_create(&thread[i], NULL, attach_and_detach, skel[i]), "thread");
	for (i = 0; i < 4; i++) {
		pthread_join(thread[i], NULL);
		CHECK(skel[i]->bss->entries >= 10, "%llu", skel[i]->bss->entries);
		CHECK(skel[i]->bss->exits >= 10, "%llu", skel[i]->bss->exits);
		kinds__destroy(skel[i]);
	}
	CHECK_EQ(links_now(), 0, "links of the module");
}

static const struct ktap_test tests[] = {
	{ .name = "object", .run = test_object },
	{ .name = "all-or-nothing", .run = test_all_or_nothing },
	{ .name = "cookie", .run = test_cookie },
	{ .name = "attach-fd", .run = test_attach_fd },
	{ .name = "kernel-attached", .run = test_kernel_attached },
	{ .name = "update", .run = test_update },
	{ .name = "threads", .run = test_threads },
};

KTAP_MAIN(tests)
