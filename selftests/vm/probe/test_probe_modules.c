// SPDX-License-Identifier: GPL-2.0
/*
 * Probes in a module that goes away, and comes again.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>
#include "fixture.h"
#include "ownmod.h"
#include "probe.h"
#include "record.h"
#include "selftests/vm/lib/record.skel.h"
#include "selftests/vm/lib/probe_progs.skel.h"

#define MODULE	"trampoline_test"
#define KINDS	4
#define MANY	1500
#define ENTRIES	300
/* Syncs of all CPUs that this may take, jump labels of the kernel's included. */
#define FEW	50
/* Grace periods of RCU that kernel kprobes may take, those of the kernel's module code included. */
#define FEW_PERIODS	20

static int dev, prog;
static uint64_t addr[KINDS];
static const char *const kind[KINDS] = { "int3", "jump", "entry", "kernel's kprobe" };
static const uint32_t mode[KINDS] = {
	TRAMP_MODE_INT3, TRAMP_MODE_JUMP, TRAMP_MODE_DIRECT, TRAMP_MODE_KPROBE,
};

/* A place of each kind in the module as it is loaded now. */
static void find_places(void)
{
	struct tt_form_info inc;

	ksym_reload();
	dev = tt_open();
	inc = form_named(dev, "tt_form_inc_2");
	addr[0] = form_named(dev, "tt_form_add_mem_1").probe;
	addr[1] = inc.probe;
	addr[2] = ksym_addr("tt_hot0");
	addr[3] = probe_fixup_in("tt_extable");
}

static void attach(struct attachment *at)
{
	int i;

	for (i = 0; i < KINDS; i++)
		at[i] = attach_insn(OURS, prog, addr[i], i ? 0 : TRAMP_ATTACH_F_NO_JUMP, i);
	probe_flush();
	for (i = 0; i < KINDS; i++)
		CHECK_EQ(attachment_query(&at[i]).mode, mode[i], "%s", kind[i]);
}

/* Executes each place once, by what it belongs to. */
static void execute(void)
{
	memset(probe_skel->bss->counted, 0, sizeof(probe_skel->bss->counted));
	form_run(dev, form_named(dev, "tt_form_add_mem_1").index, 1, 1);
	form_run(dev, form_named(dev, "tt_form_inc_2").index, 1, 1);
	tt_call(dev, "tt_hot0 1");
	tt_call(dev, "tt_extable %#lx", ksym_addr("jiffies"));
}

static void setup(void)
{
	close(fixture_open("about our links"));
	probe_setup();
	prog = bpf_program__fd(probe_skel->progs.count);
	find_places();
}

static void unload(void)
{
	int err;

	close(dev);
	err = ownmod_unload(MODULE, 300);
	REQUIRE(!err, "unloading %s: %s", MODULE, strerror(-err));
}

/*
 * A function's image runs a probe's program beside one of fentry type. The module is held for
 * that one as long as it is there, and as long as its image is. The probe alone goes with it.
 */
static void test_beside_fentry(void)
{
	struct record *record;
	struct attachment probe, entry;
	struct tramp_query q;
	int fd;

	setup();
	record = FIXTURE_LOAD(record);
	probe = attach_insn(OURS, prog, addr[2], 0, 7);
	fd = prog_clone(record->progs.count_entry, "tt_hot0", BPF_TRACE_FENTRY);
	entry = attach_func(OURS, fd, NULL);
	q = attachment_query(&probe);
	CHECK_EQ(q.mode, TRAMP_MODE_DIRECT, "beside it");
	CHECK_EQ(q.nr_progs, 2, "programs there");
	tt_call(dev, "tt_hot0 1");
	CHECK_EQ(probe_skel->bss->counted[7], 1, "beside it");
	close(fd);
	close(dev);
	CHECK_EQ(module_unload(MODULE), -EAGAIN, "with a program of fentry type");
	detach(&entry);
	unload();
	q = attachment_query(&probe);
	CHECK_EQ(q.mode, TRAMP_MODE_NONE, "mode");
	CHECK_EQ(q.mode_reason, TRAMP_REASON_MODULE_GONE, "%s", tramp_reason_name(q.mode_reason));
	CHECK_EQ(q.hits, 1, "hits");
	CHECK_EQ(q.probe_addr, 0, "address");
	CHECK(!*q.func_name, "name %s", q.func_name);
	CHECK(bpf_link_update(probe.fd, bpf_program__fd(probe_skel->progs.count_too), NULL) ==
	      -ENXIO, "update: %s", strerror(errno));
	/* The function comes again, perhaps where it was. */
	find_places();
	entry = attach_insn(OURS, prog, addr[2], 0, 8);
	CHECK_EQ(attachment_query(&entry).mode, TRAMP_MODE_DIRECT, "again");
	tt_call(dev, "tt_hot0 1");
	CHECK_EQ(probe_skel->bss->counted[7], 1, "the one that has gone");
	CHECK_EQ(probe_skel->bss->counted[8], 1, "again");
	detach(&probe);
	tt_call(dev, "tt_hot0 1");
	CHECK_EQ(probe_skel->bss->counted[8], 2, "when the old one is detached");
	detach(&entry);
	record__destroy(record);
	close(dev);
}

/* A place for an int3. */
static bool takes_int3(const struct tramp_insn_info *insn)
{
	return insn->mode == TRAMP_MODE_JUMP || insn->mode == TRAMP_MODE_INT3;
}

/* How often the function @costs is called while the module goes, with so many attachments. */
static uint64_t unload_under(struct tramp_attach *item, uint32_t nr, const char *what,
			     const char *costs)
{
	struct tramp_attach_batch b = { .size = sizeof(b), .item_size = sizeof(*item), .count = nr,
					.items = (uintptr_t)item };
	struct attachment watch;
	uint64_t calls;
	uint32_t i;

	REQUIRE(!ioctl(tramp_device(), TRAMP_IOC_ATTACH_BATCH, &b), "item %u: %s", b.failed,
		tramp_reason_name(b.refusal.reason));
	watch = probe_watch_calls(costs);
	unload();
	calls = probe_watched();
	detach(&watch);
	ktap_note("%u %s went with their module in %lu calls of %s", nr, what, calls, costs);
	CHECK(calls, "%s is not called", costs);
	for (i = 0; i < nr; i++)
		close(item[i].link_fd);
	return calls;
}

/* Their text is given back together, not by syncs for each, with all others waiting. */
static void test_many(void)
{
	static struct tramp_attach item[MANY];
	static uint64_t addrs[MANY];
	uint64_t syncs;
	uint32_t nr, i;

	setup();
	probe_many_files();
	nr = probe_find_insns(MODULE, takes_int3, addrs, MANY);
	for (i = 0; i < nr; i++)
		item[i] = (struct tramp_attach){
			.size = sizeof(*item), .prog_fd = prog, .addr = addrs[i],
			.flags = TRAMP_ATTACH_F_NO_JUMP | TRAMP_ATTACH_F_NO_KPROBE,
		};
	CHECK(nr >= MANY / 2, "%u places", nr);
	syncs = unload_under(item, nr, "probes", PROBE_SYNC);
	CHECK(syncs <= FEW, "%lu syncs", syncs);
}

static void take_entries(struct tramp_attach *item, int fd)
{
	char name[32];
	uint32_t i;

	for (i = 0; i < ENTRIES; i++) {
		snprintf(name, sizeof(name), "tt_many_%03u", i);
		item[i] = (struct tramp_attach){ .size = sizeof(*item), .prog_fd = fd,
						 .addr = ksym_addr(name) };
	}
}

/* The same of entries, whose images go. */
static void test_many_entries(void)
{
	static struct tramp_attach item[ENTRIES];
	uint64_t syncs;

	setup();
	probe_many_files();
	take_entries(item, prog);
	syncs = unload_under(item, ENTRIES, "entries", PROBE_SYNC);
	CHECK(syncs <= FEW, "%lu syncs", syncs);
}

/* Kernel kprobes go with few grace periods: a program that asks for the function has one. */
static void test_many_kprobes(void)
{
	static struct tramp_attach item[ENTRIES];
	uint64_t periods;

	setup();
	probe_many_files();
	take_entries(item, bpf_program__fd(probe_skel->progs.ask_func_ip));
	periods = unload_under(item, ENTRIES, "kernel kprobes", "synchronize_rcu");
	CHECK_EQ(item[0].mode, TRAMP_MODE_KPROBE, "mode");
	CHECK(periods <= FEW_PERIODS, "%lu grace periods", periods);
}

/* The links stay, and say what happened; detaching them is as always. */
static void test_unload(void)
{
	struct attachment at[KINDS];
	struct tramp_query q;
	uint64_t gone[KINDS];
	int i, round, other_prog;

	setup();
	other_prog = bpf_program__fd(probe_skel->progs.count_too);
	for (round = 0; round < 3; round++) {
		attach(at);
		execute();
		for (i = 0; i < KINDS; i++)
			CHECK_EQ(probe_skel->bss->counted[i], 1, "%s", kind[i]);
		CHECK_EQ(tramp_module().probes, KINDS, "probes");
		CHECK_EQ(tramp_module().optimised, 1, "jumps");
		memcpy(gone, addr, sizeof(gone));
		unload();
		CHECK_EQ(tramp_module().probes, 0, "probes, without their module");
		CHECK_EQ(tramp_module().optimised, 0, "jumps, without their module");
		for (i = 0; i < KINDS; i++) {
			q = attachment_query(&at[i]);
			CHECK_EQ(q.mode, TRAMP_MODE_NONE, "%s: mode", kind[i]);
			CHECK_EQ(q.mode_reason, TRAMP_REASON_MODULE_GONE, "%s: %s", kind[i],
				 tramp_reason_name(q.mode_reason));
			CHECK_EQ(q.hits, 1, "%s: hits", kind[i]);
			CHECK_EQ(q.misses, 0, "%s: misses", kind[i]);
			CHECK_EQ(bpf_link_update(at[i].fd, other_prog, NULL), -ENXIO, "%s: update",
				 kind[i]);
		}
		free(read_file("/sys/kernel/debug/trampoline/list"));
		/* The place is gone. */
		if (!round)
			for (i = 0; i < KINDS; i++) {
				struct attachment p = attach_insn_try(OURS, prog, gone[i], 0, 0);

				CHECK(p.err == -EINVAL &&
					      p.reply.refusal.reason == TRAMP_REASON_NOT_TEXT,
				      "%s: attaching where it was: %s, %s", kind[i],
				      strerror(-p.err), tramp_reason_name(p.reply.refusal.reason));
				detach(&p);
			}
		/* Links of old and new at once, or the old ones closed before. */
		if (round == 1)
			for (i = 0; i < KINDS; i++)
				detach(&at[i]);
		find_places();
		execute();
		for (i = 0; i < KINDS; i++)
			CHECK_EQ(probe_skel->bss->counted[i], 0, "%s: loaded again", kind[i]);
		if (round == 2) {
			struct attachment new[KINDS];

			for (i = 0; i < KINDS; i++)
				CHECK_EQ(attachment_query(&at[i]).mode, TRAMP_MODE_NONE, "%s",
					 kind[i]);
			attach(new);
			execute();
			for (i = 0; i < KINDS; i++)
				CHECK_EQ(probe_skel->bss->counted[i], 1, "%s: attached again",
					 kind[i]);
			for (i = 0; i < KINDS; i++)
				detach(&new[i]);
		}
		for (i = 0; i < KINDS; i++)
			detach(&at[i]);
	}
}

/*
 * A kernel kprobe whose module has gone stays in the kernel's table, with the byte that was there.
 * The module that comes to its place has another one: an int3, which the test writes.
 */
static void test_kprobe_gone(void)
{
	struct attachment k;
	struct probe_func f;
	uint64_t at;
	uint8_t was;
	uint32_t i;

	setup();
	at = addr[1];
	k = attach_insn(KERNEL, prog, at, 0, 0);
	unload();
	find_places();
	if (addr[1] != at) {
		detach(&k);
		ktap_skip("the module came to another place");
	}
	REQUIRE(!probe_explain(&f, at, NULL, true), "explain");
	was = f.code[at - f.addr];
	probe_func_free(&f);
	REQUIRE(!tt_command(dev, NULL, 0, "overwrite %lx cc", at), "overwrite");
	REQUIRE(!probe_explain(&f, at, NULL, false), "explain");
	for (i = 0; i < f.nr && f.addr + f.insns[i].offset < at; i++)
		;
	REQUIRE(i < f.nr, "it ends at %#lx", at);
	CHECK_EQ(f.addr + f.insns[i].offset, at, "an instruction");
	CHECK_EQ(f.insns[i].len, 1, "length of an int3");
	CHECK_EQ(f.insns[i].mode, TRAMP_MODE_NONE, "mode");
	probe_func_free(&f);
	REQUIRE(!tt_command(dev, NULL, 0, "overwrite %lx %02x", at, was), "overwrite");
	detach(&k);
	execute();
}

/* How many of @n are what they become in the end, and how many wait for that. */
static void count_states(const struct attachment *at, int n, int *jumps, int *wait)
{
	struct tramp_query q;

	*jumps = *wait = 0;
	while (n--) {
		q = attachment_query(&at[n]);
		*jumps += q.mode == TRAMP_MODE_JUMP;
		*wait += q.mode_reason == TRAMP_REASON_OPT_PENDING;
	}
}

/* At how many of them the text is not what it was yet: a jump, or an int3. */
static int not_restored(const uint64_t *where, int n)
{
	uint8_t byte;
	int left = 0;

	while (n--) {
		text_read(dev, where[n], &byte, 1);
		left += byte == 0xe9 || byte == 0xcc;
	}
	return left;
}

/* Unloaded when the optimiser has work to do there, of either sort. */
static void test_pending(void)
{
	struct probe_func f;
	struct attachment at[64];
	uint32_t i;
	int round, n, jumps, wait, waited = 0, left = 0;
	uint64_t where[64];

	setup();
	probe_many_files();
	for (round = 0; round < 6; round++) {
		REQUIRE(!probe_explain(&f, 0, "tt_long", false), "tt_long");
		for (n = 0, i = 10; i < f.nr && n < 64; i += 7)
			if (f.insns[i].mode == TRAMP_MODE_JUMP)
				at[n++] = attach_insn(OURS, prog, f.addr + f.insns[i].offset, 0, 0);
		probe_func_free(&f);
		CHECK_EQ(n, 64, "places");
		/* Waiting to become jumps; jumps; waiting to be restored. */
		if (round % 3)
			probe_flush();
		count_states(at, n, &jumps, &wait);
		CHECK_EQ(round % 3 ? jumps : jumps + wait, 64, "round %d: jumps", round);
		waited += wait;
		for (i = 0; i < 64; i++)
			where[i] = at[i].reply.func_addr;
		if (round % 3 == 2) {
			while (n)
				detach(&at[--n]);
			left += not_restored(where, 64);
		}
		unload();
		while (n)
			detach(&at[--n]);
		find_places();
		CHECK_EQ(tt_call(dev, "tt_long n=10 5").different, 0, "results");
	}
	ktap_note("%d waited to become jumps, %d to be restored", waited, left);
	CHECK(waited, "no probe waited to become a jump");
	CHECK(left, "no jump waited to be restored");
}

/* By name: the module named, any module, and no module any more. */
static void test_names(void)
{
	struct tramp_attach want = { .symbol = "tt_steps", .module = MODULE };
	struct tramp_query q;
	struct attachment p;

	setup();
	p = attach_want(prog, &want);
	REQUIRE(!p.err, "%s: %s", strerror(-p.err), p.reply.refusal.detail);
	q = attachment_query(&p);
	CHECK(!strcmp(q.func_name, "tt_steps") && !strcmp(q.module, MODULE), "'%s' in '%s'",
	      q.func_name, q.module);
	unload();
	q = attachment_query(&p);
	CHECK_EQ(q.mode, TRAMP_MODE_NONE, "gone");
	detach(&p);
	memset(&want, 0, sizeof(want));
	strcpy(want.symbol, "tt_steps");
	p = attach_want(prog, &want);
	CHECK(p.err == -ENOENT && p.reply.refusal.reason == TRAMP_REASON_NO_SUCH_FUNCTION, "%s, %s",
	      strerror(-p.err), tramp_reason_name(p.reply.refusal.reason));
	find_places();
	memset(&want, 0, sizeof(want));
	strcpy(want.symbol, "tt_steps");
	p = attach_want(prog, &want);
	CHECK(!p.err, "%s: %s", strerror(-p.err), p.reply.refusal.detail);
	detach(&p);
}

static const struct ktap_test tests[] = {
	{ "beside_fentry", test_beside_fentry, 60 },
	{ "many_entries", test_many_entries, 60 },
	{ "many", test_many, 120 },
	{ "many_kprobes", test_many_kprobes, 180 },
	{ "unload", test_unload, 120 },
	{ "kprobe_gone", test_kprobe_gone, 60 },
	{ "pending", test_pending, 120 },
	{ "names", test_names, 60 },
};

KTAP_MAIN(tests)
