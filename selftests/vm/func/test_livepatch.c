// SPDX-License-Identifier: GPL-2.0
/*
 * Beside a live patch (kmod/patch.c): no direct call can be at the function. Each way to attach
 * says so, and many functions go without it. The other way round the kernel refuses the patch.
 */
#include <errno.h>
#include <linux/bpf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>
#include "fixture.h"
#include "many.h"
#include "multi.h"
#include "ownmod.h"
#include "probe.h"
#include "record.h"
#include "selftests/vm/func/multi.skel.h"
#include "selftests/vm/lib/probe_progs.skel.h"
#include "selftests/vm/lib/record.skel.h"

#define MODULE	"/opt/trampoline/trampoline_patch.ko"
#define PATCH	"/sys/kernel/livepatch/trampoline_patch/"
#define PATCHED	"cmdline_proc_show"

static struct multi *skel;
static int dev, prog;

static bool file_says(const char *path, const char *what)
{
	char *text = read_file(path);
	bool same = !strcmp(text, what);

	free(text);
	return same;
}

/* Until all tasks run what is patched. */
static void patch_come(void)
{
	int err = module_load(MODULE), i;

	REQUIRE(!err, "%s: %s", MODULE, strerror(-err));
	for (i = 0; i < 600 && !file_says(PATCH "transition", "0\n"); i++)
		usleep(100000);
	CHECK(i < 600, "some tasks keep the function as it was");
	CHECK(file_says("/proc/cmdline", "live-patched\n"), "the patch does nothing");
}

static void patch_go(void)
{
	int i;

	REQUIRE(!write_file(PATCH "enabled", "0"), "the patch stays");
	for (i = 0; i < 600 && !access(PATCH "enabled", F_OK); i++)
		usleep(100000);
	CHECK_EQ(ownmod_unload("trampoline_patch", 300), 0, "unloading the patch");
	CHECK(!file_says("/proc/cmdline", "live-patched\n"), "the patch is still there");
}

static void setup(void)
{
	dev = fixture_open("about our refusals");
	skel = FIXTURE_LOAD(multi);
	prog = bpf_program__fd(skel->progs.on_hit);
	probe_setup();
	/* Of a test that has failed. */
	if (!access(PATCH "enabled", F_OK))
		patch_go();
	patch_come();
}

/* It is the one that is refused, and left out, among others of the kernel and of a module. */
static void test_many(void)
{
	struct many *m = many_new();

	setup();
	many_add_name(m, "tt_hot1");
	many_add_name(m, "vfs_write");
	many_add_name(m, PATCHED);
	many_add_name(m, "tt_hot2");
	CHECK_EQ(many_attach_try(m, prog, 0), -EBUSY, "all of them");
	CHECK_EQ(m->cmd.refusal.reason, TRAMP_REASON_LIVEPATCHED, "%s",
		 tramp_reason_name(m->cmd.refusal.reason));
	CHECK_EQ(m->cmd.failed, 2, "the function that is refused");
	CHECK_EQ(tramp_module().links, 0, "links");
	many_attach(m, prog, TRAMP_MULTI_F_SKIP);
	CHECK_EQ(m->cmd.nr_attached, 3, "attached");
	CHECK_EQ(m->reasons[2], TRAMP_REASON_LIVEPATCHED, "%s", tramp_reason_name(m->reasons[2]));
	tt_call(dev, "tt_hot1 n=3 1");
	/* vfs_write() is called by others, too. */
	CHECK(skel->bss->hits >= 3, "%lu hits", (unsigned long)skel->bss->hits);
	many_detach(m);

	patch_go();
	m = many_new();
	many_add_name(m, PATCHED);
	many_add_name(m, "tt_hot1");
	many_attach(m, prog, 0);
	CHECK_EQ(module_load(MODULE), -EBUSY, "a patch of a function that has a program");
	many_detach(m);
}

/*
 * ftrace is asked for no direct call that it would refuse: it takes such back, and on 6.12 a CPU
 * may be about to call what is gone by then. Counted by a kprobe of the kernel.
 */
static int watch_ftrace(void)
{
	const char *name = "register_ftrace_direct_multi";
	int file = tt_open();
	uint64_t addr;
	int32_t err;

	if (!ksym_addr(name))
		name = "register_ftrace_direct";
	addr = ksym_addr(name);
	kprobes_on(file, TT_KPROBE_COUNT, &addr, &err, 1);
	REQUIRE(!err, "a kprobe at %s: %s", name, strerror(err));
	return file;
}

static void expect_asked(int file, bool asked, const char *when)
{
	uint64_t hits, missed;

	kprobes_off(file, &hits, &missed, NULL, 1);
	CHECK_EQ(missed, 0, "%s: missed", when);
	CHECK(!hits == !asked, "%s: ftrace was asked for a direct call %lu times", when, hits);
	close(file);
}

/* EXPLAIN says what ATTACH does. A probe at the entry goes by ftrace's callbacks, if it may. */
static void test_one(void)
{
	struct tramp_attach want = { .addr = ksym_addr(PATCHED) };
	struct tramp_explain ex = { .size = sizeof(ex), .name = PATCHED };
	struct record *record;
	struct probe_func f;
	struct attachment a;
	int entry, watch;

	setup();
	record = FIXTURE_LOAD(record);
	entry = prog_clone(record->progs.count_entry, PATCHED, BPF_TRACE_FENTRY);
	CHECK_EQ(ioctl(tramp_device(), TRAMP_IOC_EXPLAIN, &ex), 0, "EXPLAIN: %s", strerror(errno));
	CHECK_EQ(ex.fentry_reason, TRAMP_REASON_LIVEPATCHED, "EXPLAIN: entry");
	CHECK_EQ(ex.fexit_reason, TRAMP_REASON_LIVEPATCHED, "EXPLAIN: exit");
	CHECK_EQ(ex.can & (TRAMP_CAN_FENTRY | TRAMP_CAN_FEXIT), 0, "EXPLAIN: can");
	watch = watch_ftrace();
	a = attach_func_try(OURS, entry, NULL);
	expect_asked(watch, false, "with the patch");
	CHECK_EQ(a.err, -EBUSY, "fentry");
	CHECK_EQ(a.reply.refusal.reason, TRAMP_REASON_LIVEPATCHED, "fentry: %s",
		 tramp_reason_name(a.reply.refusal.reason));
	REQUIRE(!probe_explain(&f, 0, PATCHED, false), "EXPLAIN_CODE");
	CHECK_EQ(f.insns[0].mode, TRAMP_MODE_FTRACE_OPS, "EXPLAIN_CODE");
	probe_func_free(&f);
	a = attach_want(bpf_program__fd(probe_skel->progs.count), &want);
	attachment_expect(&a, TRAMP_MODE_FTRACE_OPS, 0, "kprobe");
	detach(&a);
	want.flags = TRAMP_ATTACH_F_NO_OPS;
	a = attach_want(bpf_program__fd(probe_skel->progs.count), &want);
	CHECK_EQ(a.err, -EBUSY, "kprobe without ops");
	CHECK_EQ(a.reply.refusal.reason, TRAMP_REASON_LIVEPATCHED, "kprobe without ops: %s",
		 tramp_reason_name(a.reply.refusal.reason));

	patch_go();
	memset(&ex, 0, sizeof(ex));
	ex.size = sizeof(ex);
	strcpy(ex.name, PATCHED);
	CHECK_EQ(ioctl(tramp_device(), TRAMP_IOC_EXPLAIN, &ex), 0, "EXPLAIN: %s", strerror(errno));
	CHECK_EQ(ex.fentry_reason, 0, "EXPLAIN: entry, without the patch");
	watch = watch_ftrace();
	a = attach_func(OURS, entry, NULL);
	expect_asked(watch, true, "without the patch");
	CHECK_EQ(a.reply.mode, TRAMP_MODE_DIRECT, "mode, without the patch");
	detach(&a);
}

/* tt_many_000 to 099 (kmod/many.c), and what is patched as one of them. */
#define NR		100
#define THE_PATCHED	40
/* At its return: the module attaches those before it, this one, and those behind it. */
#define THE_RETURN	60

static struct tramp_attach item[NR];
static struct tramp_attach_batch cmd;

/*
 * @flags: of the one that is patched; @twice: the last but one is in it twice. Return: 0 or a
 * negative errno.
 */
static int attach_batch(uint32_t flags, bool twice)
{
	char name[16];
	uint32_t i;

	for (i = 0; i < NR; i++) {
		snprintf(name, sizeof(name), "tt_many_%03u", i);
		item[i] = (struct tramp_attach){
			.size = sizeof(item[i]),
			.prog_fd = bpf_program__fd(probe_skel->progs.count),
			.addr = ksym_addr(i == THE_PATCHED ? PATCHED : name),
			.cookie = i,
			.flags = TRAMP_ATTACH_F_COOKIE | (i == THE_PATCHED ? flags : 0) |
				 (i == THE_RETURN ? TRAMP_ATTACH_F_RETURN : 0),
		};
	}
	if (twice)
		item[NR - 1] = item[NR - 2];
	cmd = (struct tramp_attach_batch){ .size = sizeof(cmd), .count = NR,
					   .item_size = sizeof(item[0]),
					   .items = (uintptr_t)item };
	return ioctl(tramp_device(), TRAMP_IOC_ATTACH_BATCH, &cmd) ? -errno : 0;
}

/* One call of each; the patched one is called by others, too. */
static void expect_batch_hits(uint64_t want, const char *when)
{
	__u64 *counted = probe_skel->bss->counted;
	uint32_t i;

	memset(counted, 0, NR * sizeof(*counted));
	tt_call(dev, "tt_many_000 n=1 12");
	CHECK(file_says("/proc/cmdline", "live-patched\n"), "%s: the patch does nothing", when);
	for (i = 0; i < NR; i++)
		if (!CHECK(i == THE_PATCHED ? !counted[i] == !want : counted[i] == want,
			   "%s: program %u ran %llu times", when, i, counted[i]))
			break;
}

static void expect_batch_refused(uint32_t flags, bool twice, uint32_t at, uint32_t reason)
{
	const char *what = tramp_reason_name(reason);

	CHECK_EQ(attach_batch(flags, twice), -EBUSY, "%s", what);
	CHECK_EQ(cmd.failed, at, "%s: the item", what);
	CHECK_EQ(cmd.refusal.reason, reason, "%s, not %s", tramp_reason_name(cmd.refusal.reason),
		 what);
	CHECK_EQ(tramp_module().links, 0, "%s: links", what);
	expect_batch_hits(0, what);
}

static void batch(const char *when)
{
	uint32_t i;

	REQUIRE(!attach_batch(0, false), "%s: %s at item %u: %s", when, strerror(errno), cmd.failed,
		tramp_reason_name(cmd.refusal.reason));
	for (i = 0; i < NR; i++)
		if (!CHECK_EQ(item[i].mode,
			      i == THE_PATCHED ? TRAMP_MODE_FTRACE_OPS : TRAMP_MODE_DIRECT,
			      "%s: the mode of %u", when, i))
			break;
	expect_batch_hits(1, when);
	for (i = 0; i < NR; i++)
		close(item[i].link_fd);
	expect_batch_hits(0, "closed");
	expect_batch_refused(TRAMP_ATTACH_F_NO_OPS, false, THE_PATCHED, TRAMP_REASON_LIVEPATCHED);
	expect_batch_refused(0, true, NR - 1, TRAMP_REASON_ALREADY_ATTACHED);
}

/* Among many that one call attaches, with a tracer beside them and without. */
static void test_batch(void)
{
	setup();
	batch("attached");
	function_tracer("tt_many_*");
	batch("traced");
	function_tracer(NULL);
	patch_go();
}

/* The kernel relocates its code anew when modules come and go: no probe may be there. */
static void test_inside(void)
{
	struct attachment a;
	struct probe_func f;
	uint32_t i;

	setup();
	REQUIRE(!probe_explain(&f, 0, "trampoline_patched_show", false), "EXPLAIN_CODE");
	for (i = 0; i < f.nr; i++) {
		struct tramp_attach want = { .addr = f.addr + f.insns[i].offset };
		uint32_t mode = f.insns[i].mode;

		if (mode == TRAMP_MODE_FTRACE_OPS || mode == TRAMP_MODE_DIRECT)
			continue;
		CHECK_EQ(mode, TRAMP_MODE_NONE, "at +%u", f.insns[i].offset);
		a = attach_want(bpf_program__fd(probe_skel->progs.count), &want);
		CHECK_EQ(a.err, -EINVAL, "at +%u: %s", f.insns[i].offset, strerror(-a.err));
		if (!a.err)
			detach(&a);
	}
	CHECK(f.nr > 2, "%u instructions", f.nr);
	probe_func_free(&f);
	patch_go();
}

static const struct ktap_test tests[] = {
	{ "many", test_many, 120 },
	{ "one", test_one, 120 },
	{ "batch", test_batch, 120 },
	{ "inside", test_inside, 120 },
};

KTAP_MAIN(tests)
