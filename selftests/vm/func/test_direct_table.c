// SPDX-License-Identifier: GPL-2.0
/*
 * ftrace's table of direct calls, which others read without a lock (kernel/ftrace/room.c, site.c).
 * No entry of ours may be on its way to another table, nor freed at once by who takes it out. And
 * it is not changed by a walk over records that may be freed meanwhile. Our own updates of ftrace,
 * which look at it, have its lock (kernel/ftrace/update.c).
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include "fixture.h"
#include "many.h"
#include "probe.h"
#include "record.h"
#include "selftests/vm/func/direct_table.skel.h"
#include "selftests/vm/lib/probe_progs.skel.h"
#include "selftests/vm/lib/record.skel.h"

/* Attached one by one, to selftests/kmod/many.c. */
#define SINGLE	6
/* So few entries stay free in front of them. */
#define FREE	3
/* Attached by one link. */
#define MANY	100
/* More than have an ops of their own (kernel/ftrace/site.c: ALONE). */
#define TOGETHER	40

static struct direct_table *skel;
static struct attachment at[TOGETHER];
static struct many *many;
static int dev;

static void setup(void)
{
	dev = fixture_open("the kernel's own entries are its own");
	probe_setup();
	many = many_new();
	skel = direct_table__open();
	REQUIRE(skel, "open");
	if (!ksym_addr("direct_functions"))
		ktap_skip("kallsyms has no data");
	skel->rodata->only_pid = getpid();
	skel->rodata->direct_functions = ksym_addr("direct_functions");
	skel->rodata->direct_mutex = ksym_addr("direct_mutex");
	skel->rodata->ftrace_lock = ksym_addr("ftrace_lock");
	REQUIRE(!direct_table__load(skel), "load");
	attach_insn(KERNEL, bpf_program__fd(skel->progs.on_look),
		    ksym_addr("__x64_sys_getpgid"), 0, 0);
}

/* Have the table looked at. */
static void look(void)
{
	skel->bss->buckets = 0;
	getpgid(0);
	REQUIRE(skel->bss->buckets, "the table was not seen");
}

static uint64_t addr_of(uint32_t i)
{
	char name[32];

	snprintf(name, sizeof(name), "tt_many_%03u", i);
	return ksym_addr(name);
}

static struct attachment attach_at(uint32_t i)
{
	struct attachment a = attach_insn(OURS, bpf_program__fd(probe_skel->progs.count),
					  addr_of(i), 0, i);

	CHECK_EQ(attachment_query(&a).mode, TRAMP_MODE_DIRECT, "number %u", i);
	return a;
}

static void expect_hits(uint32_t i, uint64_t n)
{
	probe_skel->bss->counted[i] = 0;
	tt_call(dev, "tt_many_000 n=5 12");
	CHECK_EQ(probe_skel->bss->counted[i], n, "calls of number %u", i);
}

/*
 * The table fills up while programs come one by one. The kernel would move all to a new one with
 * fewer buckets than entries; ours has more of them, and is a copy.
 */
static void test_not_moved(void)
{
	uint32_t free, i;

	setup();
	if (!ksym_addr("unregister_ftrace_direct_multi"))
		ktap_skip("hits do not read the table on this kernel");
	look();
	/* A kernel's share is two a bucket. It replaces an empty table in any case. */
	free = 2 * (skel->bss->entries ? skel->bss->buckets : 32) - skel->bss->entries;
	/* Tests of all functions leave it large. */
	if (free <= FREE || free > MANY_MAX / 4)
		ktap_skip("the table has room for %u more functions", free);
	many_fill(many, free - FREE);
	many_attach(many, probe_clone(probe_skel->progs.count_pid), 0);
	for (i = 0; i < SINGLE; i++)
		at[i] = attach_at(i);
	look();
	CHECK(skel->bss->buckets > skel->bss->entries, "%llu buckets for %llu entries",
	      (unsigned long long)skel->bss->buckets, (unsigned long long)skel->bss->entries);
	for (i = 0; i < SINGLE; i++) {
		expect_hits(i, 5);
		detach(&at[i]);
		expect_hits(i, 0);
	}
	many_detach(many);
	CHECK(tramp_settle(), "something stays");
	direct_table__destroy(skel);
}

/* Watch the entry of a function. */
static void watch(uint32_t i)
{
	skel->bss->freed = skel->bss->freed_by = 0;
	/* The site is behind an ENDBR. */
	skel->bss->wanted = addr_of(i);
	look();
	if (!skel->bss->entry) {
		skel->bss->wanted += 4;
		look();
	}
	REQUIRE(skel->bss->entry, "number %u has no entry", i);
}

/* It has left the table, and who waits for the readers has freed it. */
static void expect_retired(const char *what)
{
	int i;

	for (i = 0; i < 200 * time_scale() && !skel->bss->freed; i++)
		usleep(50000);
	CHECK(skel->bss->freed, "%s: the entry is not freed", what);
	CHECK(skel->bss->freed_by != (uint64_t)getpid(), "%s: freed at once", what);
	skel->bss->entry = 0;
	look();
	CHECK(!skel->bss->entry, "%s: still in the table", what);
}

/* They leave one by one, all of a link, and most of a link beside one that stays. */
static void test_not_freed(void)
{
	uint32_t i;

	setup();
	attach_insn(KERNEL, bpf_program__fd(skel->progs.on_kfree), ksym_addr("kfree"), 0, 0);
	at[0] = attach_at(0);
	watch(0);
	detach(&at[0]);
	expect_retired("one");

	for (i = 0; i < MANY; i++)
		many_add(many, addr_of(100 + i));
	many_attach(many, probe_clone(probe_skel->progs.count_pid), 0);
	watch(100);
	close(many->cmd.link_fd);
	expect_retired("many");

	many_attach(many, probe_clone(probe_skel->progs.count_pid), 0);
	at[1] = attach_at(150);
	watch(100);
	close(many->cmd.link_fd);
	expect_retired("many beside one");
	expect_hits(150, 5);
	watch(150);
	detach(&at[1]);
	expect_retired("the last of many");
	expect_hits(150, 0);
	direct_table__destroy(skel);
}

/*
 * An image takes another's place without modify_ftrace_direct(), which goes through ftrace's
 * records without its lock: those of a module that is unloaded may be freed meanwhile. Counted
 * by a kprobe of the kernel. The kernel's own second program does it, which shows that it counts.
 */
static void test_not_modified(void)
{
	const char *name = "modify_ftrace_direct_multi";
	uint64_t addr, hits, missed;
	struct attachment second, own[2];
	struct record *record;
	int32_t err;
	int i;

	setup();
	record = FIXTURE_LOAD(record);
	if (!ksym_addr(name))
		name = "modify_ftrace_direct";
	addr = ksym_addr(name);
	REQUIRE(addr, "no %s", name);
	at[0] = attach_at(0);
	kprobes_on(dev, TT_KPROBE_COUNT, &addr, &err, 1);
	REQUIRE(!err, "a kprobe at %s: %s", name, strerror(err));
	second = attach_insn(OURS, probe_clone(probe_skel->progs.count), addr_of(0), 0, 1);
	expect_hits(0, 5);
	expect_hits(1, 5);
	detach(&second);
	expect_hits(0, 5);
	kprobes_off(dev, &hits, &missed, NULL, 1);
	CHECK_EQ(hits + missed, 0, "calls of %s", name);
	detach(&at[0]);

	kprobes_on(dev, TT_KPROBE_COUNT, &addr, &err, 1);
	REQUIRE(!err, "a kprobe at %s: %s", name, strerror(err));
	for (i = 0; i < 2; i++)
		own[i] = attach_func(KERNEL, prog_clone(record->progs.count_entry, "tt_hot0",
							BPF_TRACE_FENTRY), NULL);
	kprobes_off(dev, &hits, &missed, NULL, 1);
	CHECK(hits, "the kernel calls %s as well, and it does not count", name);
	for (i = 0; i < 2; i++)
		detach(&own[i]);
	record__destroy(record);
	direct_table__destroy(skel);
}

/* ftrace was updated since this was asked last, and each time its table was locked. */
static void expect_locked(const char *what)
{
	CHECK(skel->bss->updates, "%s: no update of ftrace was seen", what);
	CHECK_EQ(skel->bss->unlocked, 0, "%s: updates without direct_mutex", what);
	skel->bss->updates = skel->bss->unlocked = 0;
}

/* Programs at entries that the kernel's have, which are run by callbacks. */
static void beside_the_kernel(const char *func, const char *other)
{
	struct record *record = FIXTURE_LOAD(record);
	struct attachment theirs[2], entry[2], ours;
	const char *const names[] = { func, other };
	int i;

	for (i = 0; i < 2; i++)
		theirs[i] = attach_func(KERNEL, prog_clone(record->progs.count_entry, names[i],
							   BPF_TRACE_FENTRY), NULL);
	skel->bss->updates = skel->bss->unlocked = 0;
	ours = attach_func(OURS, prog_clone(record->progs.count_entry, func, BPF_TRACE_FENTRY),
			   NULL);
	attachment_expect(&ours, TRAMP_MODE_FTRACE_OPS, 0, "beside the kernel's");
	expect_locked("a callback comes");
	detach(&ours);
	expect_locked("a callback goes");
	for (i = 0; i < 2; i++) {
		entry[i] = attach_insn(OURS, bpf_program__fd(probe_skel->progs.count),
				       ksym_addr(names[i]), 0, 0);
		attachment_expect(&entry[i], TRAMP_MODE_FTRACE_OPS, 0, "kprobe");
		expect_locked("a probe comes to an entry");
	}
	for (i = 0; i < 2; i++) {
		detach(&entry[i]);
		expect_locked("a probe goes from an entry");
	}
	for (i = 0; i < 2; i++)
		detach(&theirs[i]);
	record__destroy(record);
}

/* Each way on which functions come to an ops of ours and leave it. */
static void test_locked(void)
{
	struct attachment second;
	uint32_t i;

	setup();
	attach_insn(KERNEL, bpf_program__fd(skel->progs.on_sync), ksym_addr(PROBE_SYNC), 0, 0);
	for (i = 0; i < TOGETHER; i++) {
		at[i] = attach_at(i);
		expect_locked("one more comes");
	}
	second = attach_insn(OURS, probe_clone(probe_skel->progs.count), addr_of(TOGETHER - 1), 0,
			     TOGETHER);
	expect_locked("a second program comes");
	detach(&second);
	expect_locked("a second program goes");
	for (i = 0; i < TOGETHER; i++) {
		detach(&at[i]);
		expect_locked("one goes");
	}

	for (i = 0; i < MANY; i++)
		many_add(many, addr_of(100 + i));
	many_attach(many, probe_clone(probe_skel->progs.count_pid), 0);
	expect_locked("many come");
	at[0] = attach_at(150);
	many_detach(many);
	expect_locked("all but one go");
	detach(&at[0]);
	expect_locked("the last one goes");

	if (!kernel_is_rt())
		beside_the_kernel("tt_hot0", "tt_hot1");
	direct_table__destroy(skel);
}

static const struct ktap_test tests[] = {
	{ "not_moved", test_not_moved, 120 },
	{ "not_freed", test_not_freed, 60 },
	{ "not_modified", test_not_modified, 60 },
	{ "locked", test_locked, 120 },
};

KTAP_MAIN(tests)
