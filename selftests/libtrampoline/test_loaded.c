// SPDX-License-Identifier: GPL-2.0
/*
 * Attaching programs that count as loaded (kernel.h): what the module is asked for, and what is
 * made of its refusals. It does as answers.h has it.
 */
#include <bpf/libbpf.h>
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "../../user/libtrampoline/attach/internal.h"
#include "../../user/libtrampoline/core/bpf.h"
#include "answers.h"
#include "kernel.h"
#include "kinds.skel.h"
#include "sorts.skel.h"

#define PROG		50
#define MAX_ASKED	8

/* All requests, one after the other. */
static struct tramp_attach asked[MAX_ASKED];
static int nr_asked;
/* The refusal of all of them, and the item of a batch that it is about. */
static int fails;
static struct tramp_refusal refusal;
static uint32_t failed;
/* The kernel's links that are the module's too. */
static uint32_t ours;
static int query_fails, nr_detached;

static int attach_one(struct tramp_attach *cmd)
{
	REQUIRE(nr_asked < MAX_ASKED, "so many");
	CHECK_EQ(cmd->size, sizeof(*cmd), "size");
	asked[nr_asked++] = *cmd;
	if (fails) {
		cmd->refusal = refusal;
		return -fails;
	}
	cmd->link_id = 100 + nr_asked;
	cmd->link_fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
	REQUIRE(cmd->link_fd >= 0, "/dev/null");
	return 0;
}

static int attach_batch(struct tramp_attach_batch *batch)
{
	struct tramp_attach *all = (void *)(uintptr_t)batch->items;
	uint32_t i;

	if (fails) {
		batch->failed = failed;
		batch->refusal = refusal;
		return -fails;
	}
	for (i = 0; i < batch->count; i++)
		attach_one(&all[i]);
	return 0;
}

static int query(struct tramp_query *q)
{
	if (q->flags & TRAMP_QUERY_F_NEXT)
		q->link_id++;
	if (query_fails)
		return -query_fails;
	/* Of the program, and one that is detached. */
	q->prog_id = PROG;
	q->mode = q->link_id == ours ? TRAMP_MODE_DIRECT : TRAMP_MODE_NONE;
	return q->link_id <= ours ? 0 : -ENOENT;
}

static int answer(unsigned long cmd, void *arg)
{
	const struct tramp_detach_batch *detach = arg;

	switch (cmd) {
	case TRAMP_IOC_ATTACH:
		return attach_one(arg);
	case TRAMP_IOC_ATTACH_BATCH:
		return attach_batch(arg);
	case TRAMP_IOC_DETACH_BATCH:
		nr_detached += detach->count;
		return -fails;
	case TRAMP_IOC_EXPLAIN_CODE:
		return -EOPNOTSUPP;
	default:
		CHECK_EQ(cmd, TRAMP_IOC_QUERY, "command");
		return query(arg);
	}
}

static void begin(void)
{
	answers_begin(answer);
	libbpf_set_print(NULL);
	kernel.objects[0] = (struct kernel_object) { .sort = "prog", .id = PROG,
						     .type = BPF_PROG_TYPE_TRACING };
	kernel.objects[1] = (struct kernel_object) { .sort = "link", .id = 1, .prog_id = PROG,
						     .open_fails = EPERM };
	kernel.objects[2] = (struct kernel_object) { .sort = "link", .id = 2, .prog_id = PROG,
						     .info_fails = EIO };
	kernel.objects[3] = (struct kernel_object) { .sort = "link", .id = 3, .prog_id = 99 };
	kernel.objects[4] = (struct kernel_object) { .sort = "link", .id = 4, .prog_id = PROG };
	kernel.prog_fd = kernel_open("prog", PROG);
	nr_asked = fails = query_fails = nr_detached = 0;
	refusal = (struct tramp_refusal) {};
	ours = 4;
}

static void begin_refusing(int err, int reason)
{
	begin();
	fails = err;
	refusal.reason = reason;
}

static struct kinds *need_kinds(void)
{
	struct kinds *skel = kinds__open();

	REQUIRE(skel, "open: %s", strerror(errno));
	return skel;
}

static struct sorts *need_sorts(void)
{
	struct sorts *skel = sorts__open();

	REQUIRE(skel, "open: %s", strerror(errno));
	return skel;
}

/* The last request. */
static const struct tramp_attach *attaches(const struct bpf_program *prog,
					   const struct tramp_attach_opts *opts)
{
	struct tramp_link *link = tramp_attach(prog, opts);

	REQUIRE(link, "%s", tramp_last_error()->message);
	CHECK_EQ(tramp_link__id(link), 100 + nr_asked, "id");
	tramp_link__destroy(link);
	CHECK_CLOSED();
	CHECK_EQ(asked[nr_asked - 1].prog_fd, kernel.prog_fd, "which");
	return &asked[nr_asked - 1];
}

static void refuses(const struct bpf_program *prog, const struct tramp_attach_opts *opts, int err,
		    int reason, const char *says)
{
	errno = 0;
	CHECK(!tramp_attach(prog, opts), "%s", bpf_program__name(prog));
	CHECK_EQ(errno, -err, "errno");
	CHECK_ERROR(err, reason);
	CHECK(last_error_says(says), "what");
	CHECK(last_error_says(bpf_program__name(prog)), "which");
	CHECK_CLOSED();
}

/* -------------------------------------------------------------- requests -- */

static void test_tracing(void)
{
	TRAMP_OPTS(tramp_attach_opts, opts, .cookie = 5, .flags = TRAMP_ATTACH_F_NO_OPS);
	struct kinds *skel = need_kinds();
	const struct tramp_attach *a;

	begin();
	a = attaches(skel->progs.on_entry, NULL);
	CHECK(!a->flags && !a->cookie && !a->symbol[0] && !a->addr, "nothing but the program");
	a = attaches(skel->progs.on_entry, &opts);
	CHECK_EQ(a->cookie, 5, "cookie");
	CHECK_EQ(a->flags, TRAMP_ATTACH_F_NO_OPS | TRAMP_ATTACH_F_COOKIE, "it is meant");
	kinds__destroy(skel);
}

static void test_probes(void)
{
	TRAMP_OPTS(tramp_attach_opts, opts, .symbol = "other", .module = "mod", .offset = 4);
	struct sorts *skel = need_sorts();
	const struct tramp_attach *a;

	begin();
	a = attaches(skel->progs.on_offset, NULL);
	CHECK(!strcmp(a->symbol, "do_unlinkat") && a->offset == 8, "%s", a->symbol);
	CHECK(!a->module[0] && !a->addr && !a->flags, "no more");
	a = attaches(skel->progs.on_offset, &opts);
	CHECK(!strcmp(a->symbol, "other") && a->offset == 4, "%s", a->symbol);
	CHECK(!strcmp(a->module, "mod"), "%s", a->module);
	opts = (struct tramp_attach_opts) { .sz = sizeof(opts), .addr = 0xffffffff81000008 };
	a = attaches(skel->progs.on_offset, &opts);
	CHECK_EQ(a->addr, opts.addr, "by address");
	CHECK(!a->symbol[0] && !a->offset, "and by nothing else");
	opts = (struct tramp_attach_opts) { .sz = sizeof(opts), .maxactive = 9 };
	a = attaches(skel->progs.on_return, &opts);
	CHECK_EQ(a->flags, TRAMP_ATTACH_F_RETURN, "at the return");
	CHECK_EQ(a->maxactive, 9, "so many calls");
	sorts__destroy(skel);
}

static void test_probe_fd(void)
{
	TRAMP_OPTS(tramp_attach_opts, opts, .symbol = "do_unlinkat");
	struct tramp_link *link;
	int i;

	begin();
	kernel.objects[0].type = BPF_PROG_TYPE_KPROBE;
	/* Of one that nothing can be known about, the module gets all. */
	for (i = 0; i < 2; i++) {
		link = tramp_attach_fd(kernel.prog_fd, &opts);
		REQUIRE(link, "%d: %s", i, tramp_last_error()->message);
		CHECK(!strcmp(asked[i].symbol, "do_unlinkat"), "%d: %s", i, asked[i].symbol);
		tramp_link__destroy(link);
		kernel.objects[0].info_fails = EIO;
	}
}

/* The module refuses as such what is no program, whatever it is to do. */
static void test_no_program(void)
{
	TRAMP_OPTS(tramp_attach_opts, none);
	TRAMP_OPTS(tramp_attach_opts, place, .symbol = "do_unlinkat", .offset = 4);
	TRAMP_OPTS(tramp_attach_opts, flags, .flags = TRAMP_ATTACH_F_RETURN, .maxactive = 3);
	const struct tramp_attach_opts *all[] = { &none, &place, &flags };
	int fd, i;

	begin_refusing(EBADF, TRAMP_REASON_BAD_PROG_FD);
	fd = kernel_open("link", 4);
	for (i = 0; i < 3; i++) {
		CHECK(!tramp_attach_fd(fd, all[i]), "a link, %d", i);
		CHECK_ERROR(-EBADF, TRAMP_REASON_BAD_PROG_FD);
		CHECK(!tramp_attach_fd(-1, all[i]), "nothing, %d", i);
		CHECK_ERROR(-EBADF, TRAMP_REASON_BAD_PROG_FD);
	}
	CHECK_EQ(nr_asked, 6, "it is asked");
	CHECK_CLOSED();
	/* Of a tracing program it is known who is wrong. */
	CHECK(!tramp_attach_fd(kernel.prog_fd, &place), "a place");
	CHECK_ERROR(-EINVAL, TRAMP_LIB_BAD_ARGUMENT);
}

static void test_object(void)
{
	struct tramp_prog_cookie cookie = { .prog_name = "on_exit", .cookie = 7 };
	TRAMP_OPTS(tramp_object_attach_opts, opts, .cookies = &cookie, .cookie_cnt = 1,
		   .attach_flags = TRAMP_ATTACH_F_NO_JUMP | TRAMP_ATTACH_F_NO_OPS, .maxactive = 3);
	struct kinds *skel = need_kinds();
	struct sorts *sorts = need_sorts();
	struct tramp_links *links;

	begin();
	bpf_program__set_autoload(skel->progs.on_kprobe, true);
	links = tramp_object__attach(skel->obj, &opts);
	REQUIRE(links, "%s", tramp_last_error()->message);
	CHECK_EQ(tramp_links__count(links), 3, "links");
	CHECK_EQ(tramp_link__id(tramp_links__find(links, "on_exit")), 102, "by name");
	CHECK_EQ(asked[0].cookie, 0, "of another");
	CHECK_EQ(asked[0].flags, TRAMP_ATTACH_F_NO_OPS, "what tracing programs have");
	CHECK_EQ(asked[1].cookie, 7, "its own");
	CHECK_EQ(asked[2].flags, TRAMP_ATTACH_F_NO_JUMP | TRAMP_ATTACH_F_NO_OPS, "of a probe");
	CHECK_EQ(asked[2].maxactive, 0, "it is no return probe");
	CHECK_EQ(tramp_links__detach(links), 0, "detach");
	CHECK_EQ(nr_detached, 3, "in one command");
	/* A module that does not know the command. */
	fails = ENOTTY;
	CHECK_EQ(tramp_links__detach(links), 0, "one by one");
	tramp_links__destroy(links);

	begin();
	bpf_program__set_autoload(sorts->progs.on_return, true);
	links = tramp_object__attach(sorts->obj, &(struct tramp_object_attach_opts) {
				     .sz = sizeof(opts), .maxactive = 3 });
	REQUIRE(links, "%s", tramp_last_error()->message);
	CHECK_EQ(asked[0].maxactive, 3, "of a return probe");
	tramp_links__destroy(links);
	sorts__destroy(sorts);

	/* By the flag, SEC("kprobe/do_unlinkat") is a return probe. */
	begin();
	opts.attach_flags = TRAMP_ATTACH_F_RETURN;
	links = tramp_object__attach(skel->obj, &opts);
	REQUIRE(links, "%s", tramp_last_error()->message);
	CHECK_EQ(asked[1].flags, TRAMP_ATTACH_F_COOKIE, "of a tracing program");
	CHECK_EQ(asked[1].maxactive, 0, "of a tracing program");
	CHECK_EQ(asked[2].flags, TRAMP_ATTACH_F_RETURN, "of the probe");
	CHECK_EQ(asked[2].maxactive, 3, "of the probe");
	tramp_links__destroy(links);
	kinds__destroy(skel);
}

/* -------------------------------------------------------------- refusals -- */

static void test_refused_probes(void)
{
	TRAMP_OPTS(tramp_attach_opts, opts, .symbol = "elsewhere");
	struct sorts *skel = need_sorts();

	begin_refusing(E2BIG, 0);
	refuses(skel->progs.on_offset, NULL, -EOPNOTSUPP, TRAMP_REASON_NOT_BUILT,
		"it knows no probes");
	refuses(skel->progs.on_return, NULL, -EOPNOTSUPP, TRAMP_REASON_NOT_BUILT,
		"it knows no probes");
	begin_refusing(EINVAL, TRAMP_REASON_NOT_BOUNDARY);
	refuses(skel->progs.on_offset, NULL, -EINVAL, TRAMP_REASON_NOT_BOUNDARY, "do_unlinkat+0x8");
	begin_refusing(EINVAL, TRAMP_REASON_NOT_TEXT);
	refuses(skel->progs.on_offset, &opts, -EINVAL, TRAMP_REASON_NOT_TEXT,
		"program 'on_offset' at elsewhere");
	sorts__destroy(skel);
}

/* Of 0.2.0, which is of our interface, and whose struct tramp_attach ends before maxactive. */
static void test_no_return_probes(void)
{
	static const struct {
		int errno_, reason;
		uint32_t maxactive;
	} all[] = {
		{ E2BIG, 0, 5 },			/* what is behind the end */
		{ EINVAL, TRAMP_REASON_SYNTAX, 0 },	/* the flag */
	};
	TRAMP_OPTS(tramp_attach_opts, opts, .flags = TRAMP_ATTACH_F_RETURN);
	struct sorts *skel = need_sorts();
	size_t i;

	for (i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		begin_refusing(all[i].errno_, all[i].reason);
		answers.info.features = TRAMP_FEAT_KPROBE;
		opts.maxactive = all[i].maxactive;
		refuses(skel->progs.on_return, &opts, -EOPNOTSUPP, TRAMP_REASON_NOT_BUILT,
			"it knows no return probes");
		/* One that knows them has another reason. */
		answers.info.features |= TRAMP_FEAT_KRETPROBE;
		CHECK(!tramp_attach(skel->progs.on_return, &opts), "%zu", i);
		CHECK_EQ(tramp_last_error()->err, -all[i].errno_, "%zu", i);
	}
	/* So has one whose kernel has no probes, and what cannot be asked. */
	answers.info.features = 0;
	refuses(skel->progs.on_return, &opts, -EINVAL, TRAMP_REASON_SYNTAX, "on_return");
	answers.info.features = TRAMP_FEAT_KPROBE;
	answers.nr_infos = 0;
	answers.again_fails = EIO;
	refuses(skel->progs.on_return, &opts, -EINVAL, TRAMP_REASON_SYNTAX, "on_return");
	/* It is no return probe. */
	answers.again_fails = 0;
	refuses(skel->progs.on_offset, NULL, -EINVAL, TRAMP_REASON_SYNTAX, "on_offset");
	sorts__destroy(skel);
}

/* The place may be taken by the kernel's own attaching of the same program. */
static void test_taken(void)
{
	struct kinds *skel = need_kinds();

	begin_refusing(EBUSY, TRAMP_REASON_SITE_HELD);
	ours = 3;
	refuses(skel->progs.on_entry, NULL, -EBUSY, TRAMP_LIB_KERNEL_ATTACHED, "by link 4");
	begin_refusing(EINVAL, TRAMP_REASON_PROG_TARGET);
	ours = 3;
	refuses(skel->progs.on_exit, NULL, -EBUSY, TRAMP_LIB_KERNEL_ATTACHED, "by link 4");
	/* Link 4 is the module's. */
	begin_refusing(EBUSY, TRAMP_REASON_ALREADY_ATTACHED);
	refuses(skel->progs.on_entry, NULL, -EBUSY, TRAMP_REASON_ALREADY_ATTACHED, "on_entry");
	begin_refusing(EBUSY, TRAMP_REASON_LIVEPATCHED);
	ours = 3;
	refuses(skel->progs.on_entry, NULL, -EBUSY, TRAMP_REASON_LIVEPATCHED, "on_entry");
	kinds__destroy(skel);
}

/* Where /proc is not mounted, descriptors are what they are elsewhere. */
static void test_no_proc(void)
{
	TRAMP_OPTS(tramp_attach_opts, place, .symbol = "do_unlinkat");
	struct kinds *skel = need_kinds();
	struct tramp_link *link;

	begin_refusing(EBUSY, TRAMP_REASON_SITE_HELD);
	kernel.no_proc = true;
	link = tramp_link__open("/bpf/4");
	REQUIRE(link, "%s", tramp_last_error()->message);
	CHECK(libtramp_fd_is(tramp_link__fd(link), "link"), "a link");
	CHECK(!libtramp_fd_is(tramp_link__fd(link), "prog"), "a link is no program");
	tramp_link__destroy(link);
	CHECK(libtramp_fd_is(kernel.prog_fd, "prog"), "a program");
	CHECK(!libtramp_fd_is(kernel.prog_fd, "link"), "a program is no link");
	CHECK(!libtramp_fd_is(STDIN_FILENO, "prog"), "a file");
	CHECK(!libtramp_fd_is(-1, "link"), "nothing");
	ours = 3;
	refuses(skel->progs.on_entry, NULL, -EBUSY, TRAMP_LIB_KERNEL_ATTACHED, "by link 4");
	CHECK(!tramp_attach_fd(kernel.prog_fd, &place), "a place for a tracing program");
	CHECK_ERROR(-EINVAL, TRAMP_LIB_BAD_ARGUMENT);
	kinds__destroy(skel);
}

static void test_refused_many(void)
{
	struct kinds *skel = need_kinds();
	const struct tramp_attach_item items[] = {
		{ .prog = skel->progs.on_entry }, { .prog = skel->progs.on_exit },
	};

	begin_refusing(EBUSY, TRAMP_REASON_LIVEPATCHED);
	failed = 1;
	CHECK(!tramp_attach_many(items, 2), "refused");
	CHECK_ERROR(-EBUSY, TRAMP_REASON_LIVEPATCHED);
	CHECK(last_error_says("'on_exit'"), "which");
	/* It is about no one of them. */
	begin_refusing(EMFILE, 0);
	failed = 2;
	CHECK(!tramp_attach_many(items, 2), "refused");
	CHECK_ERROR(-EMFILE, TRAMP_LIB_SYSTEM);
	CHECK(last_error_says("2 programs: "), "all");
	answers.open_fails = ENOENT;
	CHECK(!tramp_attach_many(items, 2), "no device");
	CHECK_EQ(errno, ENODEV, "errno");
	CHECK_ERROR(-ENODEV, TRAMP_LIB_NO_DEVICE);
	CHECK_CLOSED();
	kinds__destroy(skel);
}

/* ----------------------------------------------------------------- links -- */

static void test_open(void)
{
	TRAMP_OPTS(tramp_link_info, info);
	struct tramp_link *link;

	begin();
	link = tramp_link__open("/bpf/4");
	REQUIRE(link, "%s", tramp_last_error()->message);
	CHECK_EQ(tramp_link__id(link), 4, "id");
	CHECK(!strcmp(tramp_link__pin_path(link), "/bpf/4"), "%s", tramp_link__pin_path(link));
	CHECK_EQ(tramp_link__info(link, &info), 0, "info");
	CHECK_EQ(info.link_id, 4, "its own");
	tramp_link__destroy(link);
	link = tramp_link__open_by_id(3);
	REQUIRE(link, "%s", tramp_last_error()->message);
	CHECK_EQ(tramp_link__id(link), 3, "id");
	tramp_link__destroy(link);
	CHECK_CLOSED();
}

static void open_fails(int err, int reason, const char *says)
{
	int before = open("/dev/null", O_RDONLY | O_CLOEXEC), after;

	errno = 0;
	CHECK(!tramp_link__open("/bpf/4"), "opened");
	CHECK_EQ(errno, -err, "errno");
	CHECK_ERROR(err, reason);
	CHECK(last_error_says(says), "what");
	after = open("/dev/null", O_RDONLY | O_CLOEXEC);
	CHECK_EQ(after, before + 1, "descriptors are left open");
	close(before);
	close(after);
	CHECK_CLOSED();
}

static void test_open_fails(void)
{
	begin();
	ours = 3;
	open_fails(-EINVAL, TRAMP_LIB_NOT_OUR_LINK, "link 4");
	query_fails = EPERM;
	open_fails(-EPERM, TRAMP_REASON_PERMISSION, "'/bpf/4'");
	answers.open_fails = ENOENT;
	open_fails(-ENODEV, TRAMP_LIB_NO_DEVICE, "'/bpf/4'");
	kernel.objects[4].info_fails = EIO;
	open_fails(-EIO, TRAMP_LIB_SYSTEM, "BPF_OBJ_GET_INFO_BY_FD");
}

/* One errno for two reasons: is the program attached by another link? And is it lockdown? */
static void test_update(void)
{
	struct kinds *skel = need_kinds();
	struct tramp_link *link;

	begin();
	link = tramp_link__open_by_id(3);
	REQUIRE(link, "%s", tramp_last_error()->message);
	CHECK_EQ(tramp_link__update_program(link, skel->progs.on_entry), 0, "update");
	kernel.update_fails = EBUSY;
	answers.info.links = 4;
	CHECK_EQ(tramp_link__update_program(link, skel->progs.on_entry), -EBUSY, "update");
	CHECK_ERROR(-EBUSY, TRAMP_REASON_ALREADY_ATTACHED);
	CHECK(last_error_says("(link 4)"), "which");
	/* By this one. */
	ours = 3;
	CHECK_EQ(tramp_link__update_program(link, skel->progs.on_entry), -EBUSY, "update");
	CHECK_ERROR(-EBUSY, TRAMP_REASON_SITE_HELD);
	/* And one for two more: the module tells which one it is that refuses to attach. */
	kernel.update_fails = fails = EPERM;
	refusal.reason = TRAMP_REASON_LOCKDOWN;
	CHECK_EQ(tramp_link__update_program(link, skel->progs.on_entry), -EPERM, "lockdown");
	CHECK_EQ(errno, EPERM, "errno");
	CHECK_ERROR(-EPERM, TRAMP_REASON_LOCKDOWN);
	CHECK(last_error_says("link 3: "), "which");
	CHECK_EQ(asked[nr_asked - 1].prog_fd, -1, "nothing was attached");
	CHECK_CLOSED();
	refusal.reason = TRAMP_REASON_PERMISSION;
	CHECK_EQ(tramp_link__update_program(link, skel->progs.on_entry), -EPERM, "no right");
	CHECK_ERROR(-EPERM, TRAMP_REASON_PERMISSION);
	fails = EBADF;
	refusal.reason = TRAMP_REASON_BAD_PROG_FD;
	CHECK_EQ(tramp_link__update_program(link, skel->progs.on_entry), -EPERM, "somebody else");
	CHECK_ERROR(-EPERM, TRAMP_REASON_PERMISSION);
	answers.open_fails = EACCES;
	CHECK_EQ(tramp_link__update_program(link, skel->progs.on_entry), -EPERM, "no device");
	CHECK_ERROR(-EPERM, TRAMP_REASON_PERMISSION);
	tramp_link__destroy(link);
	kinds__destroy(skel);
}

static const struct ktap_test tests[] = {
	{ .name = "tracing", .run = test_tracing },
	{ .name = "probes", .run = test_probes },
	{ .name = "probe-fd", .run = test_probe_fd },
	{ .name = "no-program", .run = test_no_program },
	{ .name = "object", .run = test_object },
	{ .name = "refused-probes", .run = test_refused_probes },
	{ .name = "no-return-probes", .run = test_no_return_probes },
	{ .name = "taken", .run = test_taken },
	{ .name = "no-proc", .run = test_no_proc },
	{ .name = "refused-many", .run = test_refused_many },
	{ .name = "open", .run = test_open },
	{ .name = "open-fails", .run = test_open_fails },
	{ .name = "update", .run = test_update },
};

KTAP_MAIN(tests)
