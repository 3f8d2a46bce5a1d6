// SPDX-License-Identifier: GPL-2.0
/*
 * Attaching, pinning and asking without memory (starve.h), with a module and a kernel that are
 * made up (answers.h, kernel.h) and do have memory.
 */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/statfs.h>
#include <unistd.h>

#include <trampoline/probe.h>

#include "../../user/libtrampoline/core/error.h"
#include "answers.h"
#include "kernel.h"
#include "kinds.skel.h"
#include "sorts.skel.h"
#include "starve.h"

/* More than the library has room for at first. */
#define NR_INSNS	600
#define IMAGE_SIZE	3000

static struct kinds *kinds;
static struct sorts *sorts;
static struct libbpf_prog_handler_opts handler;
/* The programs for many functions that are attached have cookies. */
static bool with_cookie;

int __wrap_statfs(const char *path, struct statfs *st);
int __wrap_bpf_obj_pin(int fd, const char *path);
int __wrap_libbpf_register_prog_handler(const char *sec, enum bpf_prog_type type,
					enum bpf_attach_type attach_type,
					const struct libbpf_prog_handler_opts *opts);

int __wrap_statfs(const char *path, struct statfs *st)
{
	(void)path;
	*st = (struct statfs) { .f_type = BPF_FS_MAGIC };
	return 0;
}

int __wrap_bpf_obj_pin(int fd, const char *path)
{
	(void)fd, (void)path;
	return 0;
}

int __wrap_libbpf_register_prog_handler(const char *sec, enum bpf_prog_type type,
					enum bpf_attach_type attach_type,
					const struct libbpf_prog_handler_opts *opts)
{
	(void)sec, (void)type, (void)attach_type;
	handler = *opts;
	return 1;
}

/* ----------------------------------------------------------------- answers -- */

static int a_descriptor(void)
{
	int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);

	REQUIRE(fd >= 0, "/dev/null");
	return fd;
}

static int answer_code(struct tramp_explain_code *cmd)
{
	const bool fits = cmd->nr_insns >= NR_INSNS || cmd->flags & TRAMP_CODE_F_ONE;

	cmd->nr_insns = NR_INSNS;
	cmd->code_len = 4 * NR_INSNS;
	return fits ? 0 : -EMSGSIZE;
}

static int answer_query(struct tramp_query *q)
{
	const uint32_t room = q->image_len;

	q->mode = TRAMP_MODE_DIRECT;
	q->image_size = q->image_len = IMAGE_SIZE;
	return q->image && room < IMAGE_SIZE ? -EMSGSIZE : 0;
}

static int answer(unsigned long cmd, void *arg)
{
	struct tramp_attach_batch *batch = arg;
	struct tramp_attach_multi *multi = arg;
	struct tramp_explain *explain = arg;
	struct tramp_attach *one = arg;
	uint32_t i;

	switch (cmd) {
	case TRAMP_IOC_ATTACH:
		one->link_fd = a_descriptor();
		return 0;
	case TRAMP_IOC_ATTACH_BATCH:
		one = (struct tramp_attach *)(uintptr_t)batch->items;
		for (i = 0; i < batch->count; i++)
			one[i].link_fd = a_descriptor();
		return 0;
	case TRAMP_IOC_ATTACH_MULTI:
		CHECK_EQ(!!multi->cookies, with_cookie, "cookies");
		multi->link_fd = a_descriptor();
		return 0;
	case TRAMP_IOC_EXPLAIN:
		explain->can = TRAMP_CAN_FENTRY | TRAMP_CAN_FEXIT;
		return 0;
	case TRAMP_IOC_EXPLAIN_CODE:
		return answer_code(arg);
	case TRAMP_IOC_QUERY:
		return answer_query(arg);
	default:
		CHECK_EQ(cmd, TRAMP_IOC_DETACH_BATCH, "command");
		return 0;
	}
}

static void begin(void)
{
	answers_begin(answer);
	libbpf_set_print(NULL);
	kernel.kallsyms = fixture_text("kallsyms", "ffffffff81000000 T do_unlinkat\n"
						   "ffffffff81001000 T do_rmdir\n");
	kernel.traceable = fixture_text("traceable", "do_unlinkat\ndo_rmdir\n");
	kernel.btf = fixture_btf("do_unlinkat");
	kernel.objects[0] = (struct kernel_object) { .sort = "prog", .id = 1,
						     .type = BPF_PROG_TYPE_TRACING };
	kernel.objects[1] = (struct kernel_object) { .sort = "link", .id = 4, .prog_id = 1 };
	kernel.objects[2] = (struct kernel_object) { .sort = "btf", .id = 1, .name = "vmlinux",
						     .module = true };
	kernel.prog_fd = kernel_open("prog", 1);
	kinds = kinds__open();
	sorts = sorts__open();
	REQUIRE(kinds && sorts, "open: %s", strerror(errno));
}

/* These two keep errno. */
static bool drop_link(struct tramp_link *link)
{
	int err = errno;

	tramp_link__destroy(link);
	errno = err;
	return link;
}

static bool drop_links(struct tramp_links *links)
{
	int err = errno;

	tramp_links__destroy(links);
	errno = err;
	return links;
}

/* --------------------------------------------------------------- attaching -- */

static bool attach(void)
{
	return drop_link(tramp_attach(kinds->progs.on_entry, NULL));
}

static bool attach_many(void)
{
	const struct tramp_attach_item items[] = {
		{ .prog = kinds->progs.on_entry }, { .prog = kinds->progs.on_exit },
		{ .prog = sorts->progs.on_return },
	};

	return drop_links(tramp_attach_many(items, 3));
}

static bool attach_object(void)
{
	return drop_links(tramp_object__attach(kinds->obj, NULL));
}

static bool attach_names(void)
{
	static const char *const names[] = { "do_unlinkat", "do_rmdir" };
	TRAMP_OPTS(tramp_multi_opts, opts, .names = names, .cnt = 2);

	return drop_link(tramp_attach_multi(sorts->progs.on_list, &opts));
}

static bool attach_pattern(void)
{
	return drop_link(tramp_attach_multi(sorts->progs.on_many, NULL));
}

/* Without memory for cookies it is not attached. */
static bool attach_cookie(void)
{
	TRAMP_OPTS(tramp_attach_opts, opts, .cookie = 5);
	struct tramp_link *link;

	with_cookie = true;
	link = tramp_attach(sorts->progs.on_many, &opts);
	with_cookie = false;
	return drop_link(link);
}

/* A set has one of them, which has a command of its own, between others. */
static bool attach_mixed(void)
{
	const struct tramp_attach_item items[] = {
		{ .prog = kinds->progs.on_entry }, { .prog = sorts->progs.on_many },
		{ .prog = kinds->progs.on_exit },
	};

	return drop_links(tramp_attach_many(items, 3));
}

static void test_attach(void)
{
	begin();
	starve("tramp_attach", attach);
	starve("tramp_attach_many", attach_many);
	starve("tramp_object__attach", attach_object);
	starve("tramp_attach_multi, names", attach_names);
	starve("tramp_attach_multi, a pattern", attach_pattern);
	starve("tramp_attach, many functions with a cookie", attach_cookie);
	starve("tramp_attach_many, mixed", attach_mixed);
	kernel.kallsyms = fixture_text("hidden", "0000000000000000 T do_unlinkat\n"
						 "0000000000000000 T do_rmdir\n");
	starve("tramp_attach_multi, hidden addresses", attach_pattern);
}

static bool check_object(void)
{
	return !tramp_object__check(kinds->obj, NULL);
}

static bool prepare_load(void)
{
	LIBBPF_OPTS(bpf_prog_load_opts, opts);

	return !handler.prog_prepare_load_fn(sorts->progs.on_many, &opts, 0);
}

static void test_before(void)
{
	begin();
	starve("tramp_object__check", check_object);
	REQUIRE(!tramp_register_sections(), "%s", tramp_last_error()->message);
	starve("what libbpf calls", prepare_load);
}

/* ------------------------------------------------------------------- links -- */

static bool open_pin(void)
{
	return drop_link(tramp_link__open("/bpf/4"));
}

static bool open_by_id(void)
{
	return drop_link(tramp_link__open_by_id(4));
}

/* Its folder is made. */
static bool pin(void)
{
	char dir[] = "/tmp/libtrampoline-pin-XXXXXX", path[64];
	struct tramp_link *link = tramp_link__open_by_id(4);
	int err = -errno;

	REQUIRE(mkdtemp(dir), "%s", dir);
	snprintf(path, sizeof(path), "%s/set/4", dir);
	if (link)
		err = tramp_link__pin(link, path);
	CHECK(!link || !err == !!tramp_link__pin_path(link), "pinned");
	tramp_link__destroy(link);
	*strrchr(path, '/') = '\0';
	rmdir(path);
	rmdir(dir);
	errno = -err;
	return !err;
}

/* Together, or one by one. */
static bool detach_many(void)
{
	struct tramp_link *link[2] = { tramp_link__open_by_id(4) };
	int err;

	if (link[0])
		link[1] = tramp_link__open_by_id(4);
	err = errno;
	if (link[1])
		CHECK_EQ(tramp_link__detach_many(link, 2), 0, "detach");
	tramp_link__destroy(link[0]);
	tramp_link__destroy(link[1]);
	errno = err;
	return link[1];
}

static void test_links(void)
{
	begin();
	starve("tramp_link__open", open_pin);
	starve("tramp_link__open_by_id", open_by_id);
	starve("tramp_link__pin", pin);
	starve("tramp_link__detach_many", detach_many);
}

/* --------------------------------------------------------------- questions -- */

static bool explain(void)
{
	TRAMP_OPTS(tramp_explanation, ex);

	return !tramp_explain(NULL, "do_unlinkat", &ex);
}

static bool explain_place(const char *place)
{
	struct tramp_code *code = tramp_explain_code(NULL, place, NULL);
	int err = errno;

	tramp_code__free(code);
	errno = err;
	return code;
}

static bool explain_code(void)
{
	return explain_place("do_unlinkat");
}

static bool explain_one(void)
{
	return explain_place("vmlinux:do_unlinkat+8");
}

static bool ask_image(void)
{
	TRAMP_OPTS(tramp_link_info, info);
	void *image = tramp_link_image(4, &info);
	const bool ok = image;
	int err = errno;

	free(image);
	errno = err;
	return ok;
}

static void test_questions(void)
{
	begin();
	starve("tramp_explain", explain);
	starve("tramp_explain_code", explain_code);
	starve("tramp_explain_code, one", explain_one);
	starve("tramp_link_image", ask_image);
}

static const struct ktap_test tests[] = {
	{ .name = "attach", .run = test_attach },
	{ .name = "before", .run = test_before },
	{ .name = "links", .run = test_links },
	{ .name = "questions", .run = test_questions },
};

KTAP_MAIN(tests)
