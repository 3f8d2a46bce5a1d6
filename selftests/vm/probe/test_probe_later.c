// SPDX-License-Identifier: GPL-2.0
/*
 * Kprobes of the kernel that come later than ours, at each byte that ours has written.
 *
 * The kernel takes our int3s for somebody's breakpoints, and the inside of our jump for no
 * instruction: it refuses. It takes our jump for an instruction of the function, and accepts. From
 * then on ours cannot be changed. To attach there is refused for foreign bytes. Those who are there
 * go on, and those who leave do not run any more. When the kernel's has gone all is as ever.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>
#include "fixture.h"
#include "probe.h"
#include "selftests/vm/lib/probe_progs.skel.h"

/* One instruction of 10 bytes, at which ours is. */
#define FORM		"tt_form_mov_imm64_1"
#define INSN_LEN	10
#define JUMP_LEN	5
#define TIMES		10

enum { OLD, NEW };

static int dev, prog, other_prog;
static struct tt_form_info form;
static uint64_t result;

static void setup(void)
{
	dev = fixture_open("needs two different ways to attach");
	probe_setup();
	prog = bpf_program__fd(probe_skel->progs.count);
	other_prog = probe_clone(probe_skel->progs.count);
	form = form_named(dev, FORM);
	REQUIRE(form.end == form.form + INSN_LEN, "another instruction");
	result = form_run(dev, form.index, 1, 3);
}

/* Run the instruction: ours count there, each time or never. */
static void expect(const char *when, bool old, bool new)
{
	probe_skel->bss->counted[OLD] = 0;
	probe_skel->bss->counted[NEW] = 0;
	CHECK_EQ(form_run(dev, form.index, TIMES, 3), result, "%s: result", when);
	CHECK_EQ(probe_skel->bss->counted[OLD], old ? TIMES : 0, "%s: hits", when);
	CHECK_EQ(probe_skel->bss->counted[NEW], new ? TIMES : 0, "%s: hits of the other", when);
}

/* A kprobe of the kernel there: its positive errno, or 0 and it stays. */
static int kernel_on(uint32_t at)
{
	uint64_t addr = form.probe + at, hits, missed;
	int32_t err;

	kprobes_on(dev, TT_KPROBE_COUNT, &addr, &err, 1);
	if (err)
		kprobes_off(dev, &hits, &missed, NULL, 1);
	return err;
}

static uint64_t kernel_off(void)
{
	uint64_t hits, missed;

	kprobes_off(dev, &hits, &missed, NULL, 1);
	CHECK_EQ(missed, 0, "missed by the kernel's kprobe");
	return hits;
}

/* The same by tracefs, as a user has it: 0, and it goes at once, or a negative errno. */
static int by_tracefs(uint32_t at)
{
	int err = write_file(TRACING "kprobe_events", "p:later trampoline_test:%s+%lu", FORM,
			     (unsigned long)(form.probe - form.func + at));

	if (!err)
		/* To open the file for writing removes all. */
		CHECK(!write_file(TRACING "kprobe_events", "\n"), "the event stays");
	return err;
}

static void expect_refused(uint32_t at, int err, const char *where)
{
	CHECK_EQ(kernel_on(at), err, "on byte %u of %s", at, where);
	CHECK_EQ(by_tracefs(at), -err, "by tracefs, on byte %u of %s", at, where);
}

/* On an int3 of ours the kernel says one thing or the other. */
static int int3_error(void)
{
	return kernel_version() < 6012 ? EINVAL : EILSEQ;
}

static struct attachment attach_jump(void)
{
	struct attachment a = attach_insn(OURS, prog, form.probe, 0, OLD);

	probe_flush();
	attachment_expect(&a, TRAMP_MODE_JUMP, 0, FORM);
	return a;
}

static void test_on_int3(void)
{
	struct attachment a;
	uint32_t at;

	setup();
	a = attach_insn(OURS, prog, form.probe, TRAMP_ATTACH_F_NO_JUMP, OLD);
	for (at = 0; at < INSN_LEN; at++)
		expect_refused(at, int3_error(), "an int3 of ours");
	expect("after all that was refused", true, false);
	CHECK_EQ(kernel_on(INSN_LEN), 0, "on the next instruction");
	expect("with a kprobe on the next instruction", true, false);
	CHECK_EQ(kernel_off(), TIMES, "hits of the kernel's");
	detach(&a);
	probe_flush();
	CHECK_EQ(kernel_on(0), 0, "when ours has gone");
	kernel_off();
}

static void test_on_jump(void)
{
	struct attachment a;
	uint32_t at;

	setup();
	a = attach_jump();
	for (at = 1; at < INSN_LEN; at++)
		expect_refused(at, at < JUMP_LEN ? EILSEQ : int3_error(), "a jump of ours");
	expect("after all that was refused", true, false);
	CHECK_EQ(by_tracefs(0), 0, "by tracefs, on our jump");
	CHECK_EQ(kernel_on(0), 0, "on our jump");
	/* Its optimiser must leave it alone. */
	kprobes_settle();
	expect("with a kprobe on our jump", true, false);
	CHECK_EQ(kernel_off(), TIMES, "hits of the kernel's");
	expect("without it", true, false);
	detach(&a);
}

/* ------------------------------------------------------------- foreign bytes --- */

static struct tramp_attach want(uint64_t addr)
{
	return (struct tramp_attach){ .size = sizeof(struct tramp_attach), .addr = addr,
				      .prog_fd = other_prog, .flags = TRAMP_ATTACH_F_COOKIE,
				      .cookie = NEW };
}

static void expect_foreign(uint64_t addr, const char *what)
{
	struct tramp_attach w = want(addr), items[2] = { want(form.end), want(addr) };
	struct tramp_attach_batch batch = { .size = sizeof(batch), .count = 2,
					    .item_size = sizeof(w), .items = (uintptr_t)items };
	struct attachment a = attach_want(other_prog, &w);

	CHECK_EQ(a.err, -EBUSY, "%s", what);
	CHECK_EQ(a.reply.refusal.reason, TRAMP_REASON_FOREIGN_BYTES, "%s: %s", what,
		 tramp_reason_name(a.reply.refusal.reason));
	detach(&a);
	CHECK(ioctl(tramp_device(), TRAMP_IOC_ATTACH_BATCH, &batch) && errno == EBUSY,
	      "%s, in a batch: %s", what, strerror(errno));
	CHECK_EQ(batch.refusal.reason, TRAMP_REASON_FOREIGN_BYTES, "%s, in a batch: %s", what,
		 tramp_reason_name(batch.refusal.reason));
	CHECK_EQ(batch.failed, 1, "%s, in a batch: the item", what);
	CHECK_EQ(tramp_module().probes, 1, "%s: probes", what);
}

/* Nobody comes to a jump with a kprobe of the kernel on it, and nobody takes a place there. */
static void test_attach(void)
{
	struct attachment a, b;

	setup();
	a = attach_jump();
	REQUIRE(!kernel_on(0), "a kprobe on our jump");
	expect_foreign(form.probe, "a second program");
	CHECK_EQ(bpf_link_update(a.fd, other_prog, NULL), -EBUSY, "another program in its place");
	expect("after that", true, false);
	CHECK_EQ(kernel_off(), TIMES, "hits of the kernel's");
	b = attach_insn(OURS, other_prog, form.probe, 0, NEW);
	expect("when the kernel's has gone", true, true);
	detach(&b);
	expect("and the other as well", true, false);
	detach(&a);
}

/* One of two goes, then the other: neither runs any more. */
static void test_detach(void)
{
	struct attachment a, b;

	setup();
	a = attach_jump();
	b = attach_insn(OURS, other_prog, form.probe, 0, NEW);
	probe_flush();
	attachment_expect(&a, TRAMP_MODE_JUMP, 0, FORM);
	REQUIRE(!kernel_on(0), "a kprobe on our jump");
	expect("with a kprobe on our jump", true, true);
	detach(&a);
	expect("one has gone", false, true);
	detach(&b);
	expect("both have gone", false, false);
	CHECK_EQ(tramp_module().probes, 0, "probes");
	/* Its jump stands there still. */
	a = attach_insn_try(OURS, prog, form.probe, 0, OLD);
	CHECK_EQ(a.err, -EBUSY, "attaching to what is being taken away");
	CHECK_EQ(a.reply.refusal.reason, TRAMP_REASON_FOREIGN_BYTES, "%s",
		 tramp_reason_name(a.reply.refusal.reason));
	CHECK_EQ(kernel_off(), 3 * TIMES, "hits of the kernel's");
	a = attach_jump();
	expect("when the kernel's has gone", true, false);
	detach(&a);
}

static const struct ktap_test tests[] = {
	{ "on_int3", test_on_int3, 60 },
	{ "on_jump", test_on_jump, 60 },
	{ "attach", test_attach, 60 },
	{ "detach", test_detach, 60 },
};

KTAP_MAIN(tests)
