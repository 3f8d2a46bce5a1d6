// SPDX-License-Identifier: GPL-2.0
/*
 * libtrampoline with the module loaded: attaching, links, pins, updates, what
 * the module tells, and what is said when something cannot be.
 */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <linux/capability.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../lib/ktap.h"
#include "fixture.h"
#include "kinds.skel.h"

#define CALLS	5
#define BPFFS	"/sys/fs/bpf"

/* A failed unlink() runs through do_unlinkat() like any other. */
static void call_target(unsigned int times)
{
	while (times--)
		unlink("/nonexistent/file");
}

static uint32_t links_now(void)
{
	TRAMP_OPTS(tramp_module_info, info);

	REQUIRE(!tramp_info(&info), "%s", tramp_last_error()->message);
	return info.links;
}

static struct kinds *need_loaded(struct kinds *skel)
{
	int err;

	tramp_set_print(NULL);
	if (!skel)
		skel = kinds__open();
	REQUIRE(skel, "open: %s", strerror(errno));
	bpf_program__set_autoload(skel->progs.on_entry_10, true);
	bpf_program__set_autoattach(skel->progs.on_entry_10, false);
	bpf_program__set_autoload(skel->progs.on_rmdir, true);
	bpf_program__set_autoattach(skel->progs.on_rmdir, false);
	err = kinds__load(skel);
	REQUIRE(!err, "load: %s", strerror(-err));
	skel->bss->pid = getpid();
	return skel;
}

static struct tramp_link *need_link(const struct bpf_program *prog,
				    const struct tramp_attach_opts *opts)
{
	struct tramp_link *link = tramp_attach(prog, opts);

	REQUIRE(link, "%s", tramp_last_error()->message);
	return link;
}

static void need_info(uint32_t id, struct tramp_link_info *info)
{
	REQUIRE(!tramp_link_info_by_id(id, info), "%s", tramp_last_error()->message);
}

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
	CHECK_ERROR(-EOPNOTSUPP, TRAMP_REASON_NOT_BUILT);
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
	CHECK_ERROR(-ENOENT, TRAMP_LIB_NOT_BPFFS);
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
	CHECK(last_error_says("not a BPF link at all"), "why");
	bpf_program__unpin(skel->progs.on_rmdir, path);
	theirs = bpf_program__attach(skel->progs.on_rmdir);
	REQUIRE(theirs && !bpf_link__pin(theirs, path), "pin a link of the kernel's");
	CHECK(!tramp_link__open(path), "the kernel's");
	CHECK_ERROR(-EINVAL, TRAMP_LIB_NOT_OUR_LINK);
	bpf_link__unpin(theirs);
	bpf_link__destroy(theirs);
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

static void test_module_info(void)
{
	TRAMP_OPTS(tramp_module_info, info);
	struct tramp_module_info older = { .sz = offsetof(struct tramp_module_info, features) };

	CHECK_EQ(tramp_info(&info), 0, "%s", tramp_last_error()->message);
	CHECK_EQ(info.abi_version, TRAMP_ABI_VERSION, "version");
	CHECK(info.max_progs >= 38, "%u", info.max_progs);
	CHECK_EQ(info.max_slots, TRAMP_MAX_SLOTS, "slots");
	CHECK(info.symbols_found > 10, "%u", info.symbols_found);
	CHECK(info.features & TRAMP_FEAT_FENTRY, "features");
	CHECK(info.version[0], "version");
	/* A caller of an older version gets what it knows and nothing beyond. */
	CHECK_EQ(tramp_info(&older), 0, "%s", tramp_last_error()->message);
	CHECK_EQ(older.max_progs, info.max_progs, "within");
	CHECK_EQ(older.features, 0, "beyond");
}

static void test_explain(void)
{
	struct kinds *skel = need_loaded(NULL);
	TRAMP_OPTS(tramp_explanation, ex);
	TRAMP_OPTS(tramp_explanation, by_id);
	TRAMP_OPTS(tramp_link_info, info);
	struct tramp_syms *syms = tramp_syms__load(NULL);
	struct tramp_link *link;

	REQUIRE(syms, "%s", tramp_last_error()->message);
	link = need_link(skel->progs.on_entry, NULL);
	need_info(tramp_link__id(link), &info);
	REQUIRE(!tramp_explain(syms, "do_unlinkat", &ex), "%s", tramp_last_error()->message);
	CHECK_EQ(ex.can, TRAMP_CAN_FENTRY | TRAMP_CAN_FEXIT, "can");
	CHECK_EQ(ex.fentry_reason, 0, "%s", tramp_reason_name(ex.fentry_reason));
	CHECK_EQ(ex.nr_progs, 1, "programs");
	CHECK_EQ(ex.nr_args, 2, "arguments");
	CHECK_EQ(ex.nr_slots, 2, "slots");
	CHECK_EQ(ex.ret_size, 4, "result");
	CHECK_EQ(ex.key, info.key, "key");
	CHECK_EQ(ex.btf_id, info.btf_id, "type");
	CHECK_EQ(ex.func_addr, info.func_addr, "address");
	CHECK(ex.site_addr - ex.func_addr <= 4, "site");
	CHECK(!strcmp(ex.name, "do_unlinkat"), "%s", ex.name);
	REQUIRE(!tramp_explain_btf(info.btf_obj_id, info.btf_id, &by_id), "%s",
		tramp_last_error()->message);
	CHECK(!memcmp(&ex, &by_id, sizeof(ex)), "asked either way");
	REQUIRE(!tramp_explain(NULL, "vmlinux:do_unlinkat", &by_id), "%s",
		tramp_last_error()->message);
	CHECK(!memcmp(&ex, &by_id, sizeof(ex)), "without a snapshot");
	tramp_link__destroy(link);
	tramp_syms__free(syms);
	kinds__destroy(skel);
}

static void test_explain_not(void)
{
	struct tramp_syms *syms = tramp_syms__load(NULL);
	TRAMP_OPTS(tramp_explanation, ex);
	const struct tramp_sym *sym = NULL;
	size_t i;

	REQUIRE(syms, "%s", tramp_last_error()->message);
	REQUIRE(tramp_syms__knows_traceable(syms), "tracefs");
	CHECK_EQ(tramp_explain(syms, "do_unlnkat", &ex), -ENOENT, "misspelt");
	CHECK_ERROR(-ENOENT, TRAMP_REASON_NO_SUCH_FUNCTION);
	CHECK(last_error_says("do_unlinkat"), "the nearest");
	/* Some function that BTF describes and ftrace cannot patch. */
	for (i = 0; i < tramp_syms__count(syms); i++) {
		sym = tramp_syms__get(syms, i);
		if (!sym->module[0] && !(sym->flags & TRAMP_SYM_TRACEABLE) &&
		    tramp_syms__find(syms, sym->name) && tramp_syms__btf_id(syms, sym, NULL) > 0)
			break;
	}
	REQUIRE(i < tramp_syms__count(syms), "all are traceable?");
	REQUIRE(!tramp_explain(syms, sym->name, &ex), "%s", tramp_last_error()->message);
	CHECK_EQ(ex.can, 0, "%s", sym->name);
	CHECK_EQ(ex.fentry_reason, TRAMP_REASON_NOT_TRACEABLE, "%s", sym->name);
	CHECK_EQ(ex.mode, TRAMP_MODE_NONE, "%s", sym->name);
	REQUIRE(!tramp_explain(syms, "trampoline:tramp_link_attach", &ex), "%s",
		tramp_last_error()->message);
	CHECK_EQ(ex.can, 0, "ourselves");
	CHECK_EQ(ex.fentry_reason, TRAMP_REASON_OWN_MODULE, "ourselves");
	CHECK_EQ(tramp_explain_btf(0x7fffffff, 1, &ex), -ENOENT, "no such object");
	CHECK_ERROR(-ENOENT, TRAMP_REASON_NO_BTF);
	tramp_syms__free(syms);
}

static void test_kernel_symbols(void)
{
	struct tramp_syms *syms = tramp_syms__load(NULL);
	const struct tramp_sym *sym;
	struct tramp_proto *p;
	uint64_t off = 1;
	uint32_t obj_id;

	REQUIRE(syms, "%s", tramp_last_error()->message);
	CHECK(tramp_syms__count(syms) > 20000, "%zu functions", tramp_syms__count(syms));
	CHECK(tramp_syms__knows_traceable(syms), "tracefs");
	CHECK(tramp_syms__match(syms, "vfs_*", NULL, NULL, NULL) > 20, "%s",
	      tramp_last_error()->message);
	sym = tramp_syms__find(syms, "do_unlinkat");
	REQUIRE(sym, "%s", tramp_last_error()->message);
	CHECK(sym->flags & TRAMP_SYM_TRACEABLE, "traceable");
	CHECK(tramp_syms__find_addr(syms, sym->addr, &off) == sym && !off, "by address");
	p = tramp_syms__proto(syms, sym);
	REQUIRE(p, "%s", tramp_last_error()->message);
	CHECK(!strcmp(p->text, "int do_unlinkat(int dfd, struct filename *name)"), "%s", p->text);
	tramp_proto__free(p);
	CHECK(tramp_syms__btf_id(syms, sym, &obj_id) > 0 && obj_id, "%s",
	      tramp_last_error()->message);
	/* A module's functions, in its own BTF. */
	sym = tramp_syms__find(syms, "trampoline:tramp_link_attach");
	REQUIRE(sym, "%s", tramp_last_error()->message);
	p = tramp_syms__proto(syms, sym);
	CHECK(p && p->nr_args == 3, "%s", p ? p->text : tramp_last_error()->message);
	tramp_proto__free(p);
	tramp_syms__free(syms);
}

static void test_permission(void)
{
	struct kinds *skel = need_loaded(NULL);
	TRAMP_OPTS(tramp_module_info, info);

	REQUIRE(!setgid(65534) && !setuid(65534), "drop privileges");
	CHECK_EQ(tramp_info(&info), -EPERM, "info");
	CHECK_ERROR(-EPERM, TRAMP_REASON_PERMISSION);
	CHECK(last_error_says("run as root"), "remedy");
	CHECK(!tramp_attach(skel->progs.on_entry, NULL), "attach");
	CHECK_ERROR(-EPERM, TRAMP_REASON_PERMISSION);
	CHECK(!tramp_link__open_by_id(1), "open");
	CHECK_ERROR(-EPERM, TRAMP_REASON_PERMISSION);
	kinds__destroy(skel);
}

/* Become nobody with CAP_BPF and CAP_PERFMON and nothing else. */
static void keep_bpf_rights(void)
{
	struct __user_cap_header_struct head = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct caps[2] = {};

	REQUIRE(!prctl(PR_SET_KEEPCAPS, 1, 0, 0, 0), "keep capabilities");
	REQUIRE(!setgid(65534) && !setuid(65534), "drop privileges");
	caps[CAP_TO_INDEX(CAP_BPF)].permitted |= CAP_TO_MASK(CAP_BPF);
	caps[CAP_TO_INDEX(CAP_PERFMON)].permitted |= CAP_TO_MASK(CAP_PERFMON);
	caps[0].effective = caps[0].permitted;
	caps[1].effective = caps[1].permitted;
	REQUIRE(!syscall(SYS_capset, &head, caps), "capset");
}

/* Everything but what needs CAP_SYS_ADMIN, and no addresses. */
static void use_without_root(void)
{
	struct kinds *skel = need_loaded(NULL);
	TRAMP_OPTS(tramp_link_info, info);
	TRAMP_OPTS(tramp_explanation, ex);
	struct tramp_link *link;

	keep_bpf_rights();
	link = need_link(skel->progs.on_entry, NULL);
	call_target(CALLS);
	CHECK_EQ(skel->bss->entries, CALLS, "entries");
	need_info(tramp_link__id(link), &info);
	CHECK(info.hits >= CALLS, "%llu hits", (unsigned long long)info.hits);
	CHECK_EQ(info.func_addr | info.image_addr, 0, "addresses are hidden");
	CHECK(!tramp_link_image(tramp_link__id(link), &info), "code is hidden");
	CHECK_ERROR(-EPERM, TRAMP_REASON_HIDDEN_ADDRESS);
	CHECK(!tramp_link__open_by_id(tramp_link__id(link)), "needs CAP_SYS_ADMIN");
	CHECK_ERROR(-EPERM, TRAMP_REASON_PERMISSION);
	CHECK_EQ(tramp_explain(NULL, "do_unlinkat", &ex), 0, "%s", tramp_last_error()->message);
	CHECK_EQ(ex.can, TRAMP_CAN_FENTRY | TRAMP_CAN_FEXIT, "by name");
	CHECK_EQ(ex.key, info.key, "the same function");
	CHECK_EQ(ex.func_addr, 0, "addresses are hidden");
	CHECK_EQ(tramp_link__detach(link), 0, "%s", tramp_last_error()->message);
	tramp_link__destroy(link);
	kinds__destroy(skel);
}

/* The device is opened up for a child, which cannot give back what it gives up. */
static void test_capabilities(void)
{
	int status = -1;
	pid_t pid;

	REQUIRE(!chmod(TRAMP_DEVICE, 0666), "chmod");
	pid = fork();
	if (!pid) {
		use_without_root();
		_exit(ktap_failures() ? 1 : 0);
	}
	if (pid > 0)
		waitpid(pid, &status, 0);
	chmod(TRAMP_DEVICE, 0600);
	CHECK_EQ(status, 0, "the child");
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
	{ .name = "pin", .run = test_pin },
	{ .name = "open-fails", .run = test_open_fails },
	{ .name = "pin-set", .run = test_pin_set },
	{ .name = "open-by-id", .run = test_open_by_id },
	{ .name = "update", .run = test_update },
	{ .name = "detach", .run = test_detach },
	{ .name = "disconnect", .run = test_disconnect },
	{ .name = "for-each", .run = test_for_each },
	{ .name = "image", .run = test_image },
	{ .name = "module-info", .run = test_module_info },
	{ .name = "explain", .run = test_explain },
	{ .name = "explain-not", .run = test_explain_not },
	{ .name = "kernel-symbols", .run = test_kernel_symbols },
	{ .name = "permission", .run = test_permission },
	{ .name = "capabilities", .run = test_capabilities },
	{ .name = "threads", .run = test_threads },
};

KTAP_MAIN(tests)
