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

#define OPTIMIZE "/sys/kernel/debug/trampoline/optimize"
#define LIST "/sys/kernel/debug/trampoline/list"
#define LOCKDOWN "/sys/kernel/security/lockdown"

static struct record *skel;
static int dev, prog[4];

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

/* At the test module's instruction @f, whose program counts by itself. */
static struct attachment try_probe(const struct tt_form_info *f)
{
	struct tramp_attach want = { .addr = f->probe };

	return attach_want(probe_clone(probe_skel->progs.count), &want);
}

/* At one function, with a program of its own. Return: 0 or a negative errno. */
static int try_many(struct tramp_attach_multi *multi)
{
	static const char name[] = "tt_hot1";

	*multi = (struct tramp_attach_multi){
		.size = sizeof(*multi), .prog_fd = probe_clone(probe_skel->progs.count),
		.nr = 1, .names = (uintptr_t)name, .names_len = sizeof(name),
	};
	return ioctl(tramp_device(), TRAMP_IOC_ATTACH_MULTI, multi) ? -errno : 0;
}

/* Two programs at functions, which are refused. */
static int try_batch(struct tramp_attach_batch *batch)
{
	struct tramp_attach items[2] = {
		{ .size = sizeof(items[0]), .prog_fd = prog[2] },
		{ .size = sizeof(items[0]), .prog_fd = prog[3] },
	};

	*batch = (struct tramp_attach_batch){
		.size = sizeof(*batch), .count = 2, .item_size = sizeof(items[0]),
		.items = (uintptr_t)items,
	};
	return ioctl(tramp_device(), TRAMP_IOC_ATTACH_BATCH, batch) ? -errno : 0;
}

/* Scripts look at it before they attach. */
static int features_exit(void)
{
	int status = system("trampctl features >/dev/null 2>&1");

	return status >= 0 && WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void test_lockdown(void)
{
	struct tramp_explain ex = { .size = sizeof(ex), .name = "tt_hot0" };
	struct tramp_explain_code code = { .size = sizeof(code), .symbol = "tt_hot0" };
	struct tramp_link *link[2], *refused;
	struct tramp_attach_batch batch;
	struct tramp_attach_multi multi;
	struct bpf_link_info info = {};
	uint32_t len = sizeof(info);
	struct attachment probes[2], no_probe;
	struct tt_form_info form;
	int i, err;

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
	probes[0] = try_probe(&form);
	REQUIRE(!probes[0].err, "%s", strerror(-probes[0].err));

	raise_to("integrity");
	link[1] = try_attach(prog[1], 1);
	CHECK(link[1], "at integrity: %s", tramp_last_error()->message);
	probes[1] = try_probe(&form);
	CHECK(!probes[1].err, "at integrity: %s", strerror(-probes[1].err));

	err = try_many(&multi);
	REQUIRE(!err, "ATTACH_MULTI at integrity: %s", strerror(-err));
	close(multi.link_fd);
	err = bpf_link_update(tramp_link__fd(link[0]), prog[3], NULL);
	CHECK_EQ(err, 0, "BPF_LINK_UPDATE at integrity");
	/* The files of debugfs that change something are closed, those that only read are not. */
	CHECK(open(OPTIMIZE, O_RDWR | O_CLOEXEC) < 0 && errno == EPERM, "%s", OPTIMIZE);

	CHECK_EQ(features_exit(), 0, "trampctl features at integrity");

	raise_to("confidentiality");
	CHECK_EQ(features_exit(), 4, "trampctl features at confidentiality");
	err = tramp_link__update_fd(link[0], prog[0]);
	CHECK_EQ(err, -EPERM, "BPF_LINK_UPDATE at confidentiality");
	CHECK_EQ(tramp_last_error()->reason, TRAMP_REASON_LOCKDOWN, "%s",
		 tramp_last_error()->message);
	refused = try_attach(prog[2], 2);
	CHECK(!refused && errno == EPERM, "at confidentiality: %s",
	      refused ? "attached" : strerror(errno));
	CHECK_EQ(tramp_last_error()->reason, TRAMP_REASON_LOCKDOWN, "%s",
		 tramp_last_error()->message);
	no_probe = try_probe(&form);
	CHECK_EQ(no_probe.err, -EPERM, "a probe at confidentiality");
	CHECK_EQ(no_probe.reply.refusal.reason, TRAMP_REASON_LOCKDOWN, "%s",
		 tramp_reason_name(no_probe.reply.refusal.reason));
	CHECK_EQ(try_many(&multi), -EPERM, "ATTACH_MULTI at confidentiality");
	CHECK_EQ(multi.refusal.reason, TRAMP_REASON_LOCKDOWN, "%s",
		 tramp_reason_name(multi.refusal.reason));
	CHECK_EQ(multi.failed, multi.nr, "it is about no function");
	CHECK_EQ(try_batch(&batch), -EPERM, "ATTACH_BATCH at confidentiality");
	CHECK_EQ(batch.refusal.reason, TRAMP_REASON_LOCKDOWN, "%s",
		 tramp_reason_name(batch.refusal.reason));
	CHECK_EQ(batch.failed, batch.count, "it is about no item");
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
	CHECK_EQ(skel->bss->counted[2], 0, "refused");
	CHECK(!ioctl(tramp_device(), TRAMP_IOC_EXPLAIN, &ex), "EXPLAIN: %s", strerror(errno));
	CHECK(!ioctl(tramp_device(), TRAMP_IOC_EXPLAIN_CODE, &code), "EXPLAIN_CODE: %s",
	      strerror(errno));
	CHECK_EQ(bpf_obj_get_info_by_fd(tramp_link__fd(link[0]), &info, &len), 0, "link info");
	free(read_file(LIST));

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
