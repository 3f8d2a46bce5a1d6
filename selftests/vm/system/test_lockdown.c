// SPDX-License-Identifier: GPL-2.0
/*
 * Kernel lockdown. It can be raised but never lowered, so this program needs a
 * machine of its own: selftests/vm/system/alone boots one for it.
 *
 * At "integrity" attaching is allowed, as kprobes and the kernel's own fentry are. At
 * "confidentiality" it is refused, to functions and to instructions, and so is putting another
 * program into a link. Programs attached already go on, can be asked about and can be detached:
 * the lockdown column of docs/rights.md.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>
#include <linux/types.h>
#include "fixture.h"
#include "probe.h"
#include "record.h"
#include "selftests/vm/lib/probe_progs.skel.h"
#include "selftests/vm/lib/record.skel.h"

#define LOCKDOWN "/sys/kernel/security/lockdown"

#define LEVELS 2
/* Links that rows detach, in each level. */
#define SPARES 2

static struct record *skel;
static int dev, prog[4], probe_prog, many_prog, link_fd, spare[LEVELS * SPARES], nr_spares;
static struct tramp_link *first;
static uint32_t link_id;
static uint64_t insn;
/* Why the last request was refused. */
static uint32_t reason;

static struct tramp_link *try_attach(int prog_fd, uint64_t cookie)
{
	TRAMP_OPTS(tramp_attach_opts, opts, .cookie = cookie, .flags = TRAMP_ATTACH_F_COOKIE);

	return tramp_attach_fd(prog_fd, &opts);
}

static void raise_to(const char *level)
{
	int err = write_file(LOCKDOWN, "%s", level);
	char *text, marked[64];

	REQUIRE(!err, "%s: %s: %s", LOCKDOWN, level, strerror(-err));
	text = read_file(LOCKDOWN);
	snprintf(marked, sizeof(marked), "[%s]", level);
	REQUIRE(strstr(text, marked), "lockdown is '%s'", text);
	free(text);
}

/* At the test module's instruction, whose program counts by itself. */
static struct attachment try_probe(void)
{
	struct tramp_attach want = { .addr = insn };

	return attach_want(probe_clone(probe_skel->progs.count), &want);
}

/* ------------------------------------------------------------------- rows --- */

static int command(unsigned int cmd, void *arg, const struct tramp_refusal *why)
{
	int err = ioctl(tramp_device(), cmd, arg) ? -errno : 0;

	reason = why ? why->reason : TRAMP_REASON_NONE;
	return err;
}

static int attach(struct tramp_attach *a)
{
	int err;

	a->size = sizeof(*a);
	err = command(TRAMP_IOC_ATTACH, a, &a->refusal);
	if (!err)
		close(a->link_fd);
	return err;
}

static int attach_function(void)
{
	struct tramp_attach a = { .prog_fd = prog[2] };

	return attach(&a);
}

static int attach_insn_row(void)
{
	struct tramp_attach a = { .prog_fd = probe_prog, .addr = insn };

	return attach(&a);
}

static int attach_batch(void)
{
	struct tramp_attach items[2] = {
		{ .size = sizeof(items[0]), .prog_fd = prog[2] },
		{ .size = sizeof(items[0]), .prog_fd = probe_prog, .addr = insn },
	};
	struct tramp_attach_batch batch = {
		.size = sizeof(batch), .count = 2, .item_size = sizeof(items[0]),
		.items = (uintptr_t)items,
	};
	int err = command(TRAMP_IOC_ATTACH_BATCH, &batch, &batch.refusal), i;

	CHECK_EQ(batch.failed, batch.count, "it is about no item");
	for (i = 0; !err && i < 2; i++)
		close(items[i].link_fd);
	return err;
}

static int attach_multi(void)
{
	static const char name[] = "tt_hot1";
	struct tramp_attach_multi multi = {
		.size = sizeof(multi), .prog_fd = many_prog, .nr = 1, .names = (uintptr_t)name,
		.names_len = sizeof(name),
	};
	int err = command(TRAMP_IOC_ATTACH_MULTI, &multi, &multi.refusal);

	CHECK_EQ(multi.failed, multi.nr, "it is about no function");
	if (!err)
		close(multi.link_fd);
	return err;
}

/* The program counts where the link's cookie says, so either will do. */
static int link_update(void)
{
	int err = tramp_link__update_fd(first, prog[3]);

	reason = err ? tramp_last_error()->reason : TRAMP_REASON_NONE;
	return err;
}

static int info(void)
{
	struct tramp_info i = { .size = sizeof(i) };

	return command(TRAMP_IOC_INFO, &i, NULL);
}

static int explain(void)
{
	struct tramp_explain ex = { .size = sizeof(ex), .name = "tt_hot0" };

	return command(TRAMP_IOC_EXPLAIN, &ex, &ex.refusal);
}

static int explain_code(void)
{
	struct tramp_explain_code code = { .size = sizeof(code), .symbol = "tt_hot0" };

	return command(TRAMP_IOC_EXPLAIN_CODE, &code, &code.refusal);
}

static int explain_bytes(void)
{
	static uint8_t bytes[4096];
	struct tramp_explain_code code = {
		.size = sizeof(code), .addr = insn, .code = (uintptr_t)bytes,
		.code_len = sizeof(bytes),
	};

	return command(TRAMP_IOC_EXPLAIN_CODE, &code, &code.refusal);
}

static int query(void)
{
	struct tramp_query q = { .size = sizeof(q), .link_id = link_id };

	return command(TRAMP_IOC_QUERY, &q, &q.refusal);
}

static int query_image(void)
{
	static uint8_t image[4096];
	struct tramp_query q = {
		.size = sizeof(q), .link_id = link_id, .image = (uintptr_t)image,
		.image_len = sizeof(image),
	};

	return command(TRAMP_IOC_QUERY, &q, &q.refusal);
}

static int detach_batch(void)
{
	int fd = spare[--nr_spares];
	struct tramp_detach_batch d = { .size = sizeof(d), .count = 1, .fds = (uintptr_t)&fd };
	int err = command(TRAMP_IOC_DETACH_BATCH, &d, &d.refusal);

	close(fd);
	return err;
}

static int link_detach(void)
{
	int fd = spare[--nr_spares], err = bpf_link_detach(fd);

	close(fd);
	return err;
}

static int link_info(void)
{
	struct bpf_link_info i = {};
	uint32_t len = sizeof(i);

	return bpf_obj_get_info_by_fd(link_fd, &i, &len);
}

static int by_id(void)
{
	int fd = bpf_link_get_fd_by_id(link_id);

	return fd < 0 ? fd : close(fd);
}

static int opened(const char *path, int flags)
{
	int fd = open(path, flags | O_CLOEXEC);
	char byte;

	if (fd < 0)
		return -errno;
	CHECK((flags & O_ACCMODE) != O_RDONLY || read(fd, &byte, 1) == 1, "%s is empty", path);
	return close(fd);
}

static int fdinfo(void)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", link_fd);
	return opened(path, O_RDONLY);
}

static int list(void)
{
	return opened("/sys/kernel/debug/trampoline/list", O_RDONLY);
}

static int optimize(void)
{
	return opened("/sys/kernel/debug/trampoline/optimize", O_RDWR);
}

/* The table of docs/threat-model.md. Refused by us with @why, or by the kernel (0). */
static const struct row {
	const char *what;
	int (*run)(void);
	int err[LEVELS];
	uint32_t why;
} rows[] = {
	{ "ATTACH to a function", attach_function, { 0, -EPERM }, TRAMP_REASON_LOCKDOWN },
	{ "ATTACH to an instruction", attach_insn_row, { 0, -EPERM }, TRAMP_REASON_LOCKDOWN },
	{ "ATTACH_BATCH", attach_batch, { 0, -EPERM }, TRAMP_REASON_LOCKDOWN },
	{ "ATTACH_MULTI", attach_multi, { 0, -EPERM }, TRAMP_REASON_LOCKDOWN },
	{ "BPF_LINK_UPDATE", link_update, { 0, -EPERM }, TRAMP_REASON_LOCKDOWN },
	{ "INFO", info, {}, 0 },
	{ "EXPLAIN", explain, {}, 0 },
	{ "EXPLAIN_CODE", explain_code, {}, 0 },
	{ "EXPLAIN_CODE of an address, with bytes", explain_bytes, {}, 0 },
	{ "QUERY", query, {}, 0 },
	{ "QUERY with the image", query_image, {}, 0 },
	{ "DETACH_BATCH", detach_batch, {}, 0 },
	{ "BPF_LINK_DETACH", link_detach, {}, 0 },
	{ "link info", link_info, {}, 0 },
	{ "BPF_LINK_GET_FD_BY_ID", by_id, {}, 0 },
	{ "fdinfo", fdinfo, {}, 0 },
	{ "list", list, {}, 0 },
	/* The files of debugfs that change something are closed, those that only read are not. */
	{ "optimize", optimize, { -EPERM, -EPERM }, 0 },
};

static void check_rows(int level, const char *name)
{
	size_t i;

	for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const struct row *r = &rows[i];
		int err;

		reason = TRAMP_REASON_NONE;
		err = r->run();
		ktap_note("%-40s %-16s %s", r->what, name, err ? strerror(-err) : "ok");
		CHECK_EQ(err, r->err[level], "%s at %s", r->what, name);
		CHECK_EQ(reason, r->err[level] ? r->why : TRAMP_REASON_NONE, "%s at %s: %s",
			 r->what, name, tramp_reason_name(reason));
	}
}

/* ------------------------------------------------------------------ the test --- */

/* Scripts look at it before they attach. */
static int features_exit(void)
{
	int status = system("trampctl features >/dev/null 2>&1");

	return status >= 0 && WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/* The means of the rows; links to detach, attached while everything may be. */
static void prepare_rows(struct tramp_link *link, const struct tt_form_info *form)
{
	int i;

	insn = form->probe;
	probe_prog = probe_clone(probe_skel->progs.count);
	many_prog = probe_clone(probe_skel->progs.count);
	first = link;
	link_fd = tramp_link__fd(link);
	link_id = tramp_link__id(link);
	for (i = 0; i < LEVELS * SPARES; i++) {
		struct tramp_attach want = { .symbol = "tt_hot2" };
		struct attachment a = attach_want(probe_clone(probe_skel->progs.count), &want);

		REQUIRE(!a.err, "%s", strerror(-a.err));
		spare[nr_spares++] = a.fd;
	}
}

static void test_lockdown(void)
{
	struct tramp_link *link[2];
	struct attachment probes[2];
	struct tt_form_info form;
	int i;

	if (access(LOCKDOWN, F_OK))
		KERNEL_LACKS("this kernel has no lockdown");
	dev = tt_open();
	skel = FIXTURE_LOAD(record);
	for (i = 0; i < 4; i++)
		prog[i] = prog_clone(skel->progs.count_entry, "tt_hot0", BPF_TRACE_FENTRY);
	link[0] = try_attach(prog[0], 0);
	REQUIRE(link[0], "%s", tramp_last_error()->message);
	probe_setup();
	form = form_named(dev, "tt_form_inc_2");
	prepare_rows(link[0], &form);
	probes[0] = try_probe();
	REQUIRE(!probes[0].err, "%s", strerror(-probes[0].err));

	raise_to("integrity");
	check_rows(0, "integrity");
	CHECK_EQ(features_exit(), 0, "trampctl features at integrity");
	link[1] = try_attach(prog[1], 1);
	CHECK(link[1], "at integrity: %s", tramp_last_error()->message);
	probes[1] = try_probe();
	CHECK(!probes[1].err, "at integrity: %s", strerror(-probes[1].err));

	raise_to("confidentiality");
	check_rows(1, "confidentiality");
	CHECK_EQ(features_exit(), 4, "trampctl features at confidentiality");
	CHECK_EQ(tramp_module().links, 4, "links");
	/* Probes in the making go on as well: they become jumps. debugfs is closed now. */
	for (i = 0; i < 200 && attachment_query(&probes[1]).mode != TRAMP_MODE_JUMP; i++)
		usleep(50000);
	form_run(dev, form.index, 10, 1);
	for (i = 0; i < 2; i++) {
		CHECK_EQ(attachment_query(&probes[i]).mode, TRAMP_MODE_JUMP, "probe %d", i);
		CHECK_EQ(attachment_query(&probes[i]).hits, 10, "probe %d", i);
	}
	detach(&probes[0]);
	detach(&probes[1]);
	tt_call(dev, "tt_hot0 n=10 1");
	CHECK_EQ(skel->bss->counted[0], 10, "attached before");
	CHECK_EQ(skel->bss->counted[1], 10, "attached at integrity");

	tramp_link__destroy(link[0]);
	tramp_link__destroy(link[1]);
	tt_call(dev, "tt_hot0 n=10 1");
	CHECK_EQ(skel->bss->counted[0], 10, "detached");
	CHECK(tramp_settle(), "images stay");
	CHECK_EQ(tramp_module().links, 0, "links");
	CHECK_EQ(tramp_module().images, 0, "images");
}

static const struct ktap_test tests[] = {
	{ "lockdown", test_lockdown, 60 },
};

KTAP_MAIN(tests)
