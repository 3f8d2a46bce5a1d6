// SPDX-License-Identifier: GPL-2.0
/*
 * Kprobe programs at the entry of a function: where its site is free the function's own image
 * runs them, beside its entry and exit programs. They see what a kprobe of the kernel sees, in
 * the order in which the kernel's run. Where somebody else has the site they go through
 * ftrace's callback. test_probe_modules has functions whose module goes.
 *
 * Environment: ENTRY_ROUNDS in which all sorts come and go under calls, default 6.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <linux/bpf.h>
#include <bpf/bpf.h>
#include "fixture.h"
#include "ownmod.h"
#include "probe.h"
#include "record.h"
#include "selftests/vm/lib/probe_progs.skel.h"
#include "selftests/vm/lib/record.skel.h"

/* The kernel calls it with 16, 17, 18, 19, 20, 21 when a tracing program is tried out. */
#define FUNC	"bpf_fentry_test6"

enum {
	REG_R11 = 6, REG_R10, REG_R9, REG_R8, REG_CX = 11, REG_DX, REG_SI, REG_DI,
	REG_IP = 16, REG_FLAGS = 18,
};
static const int arg_reg[] = { REG_DI, REG_SI, REG_DX, REG_CX, REG_R8, REG_R9 };

static struct record *record;
static int trigger;		/* a program that is tried out to have FUNC called */
static uint64_t func, site;
static uint64_t calls;		/* of FUNC, by callers */

static int prog_fd(const struct bpf_program *prog)
{
	return bpf_program__fd(prog);
}

static void call(void)
{
	CHECK(!run_fentry_tests(trigger), "test run: %s", strerror(errno));
}

/* The entry as EXPLAIN_CODE describes it. */
static struct tramp_insn_info foretold(void)
{
	struct probe_func f;
	struct tramp_insn_info info;
	uint32_t i = 0;

	REQUIRE(!probe_explain(&f, 0, FUNC, false), FUNC);
	while (i < f.nr && f.insns[i].len != 5)
		i++;
	REQUIRE(i < f.nr, "no NOP5");
	func = f.addr;
	info = f.insns[i];
	probe_func_free(&f);
	return info;
}

static void setup(void)
{
	struct tramp_insn_info info;

	fixture_open("compares both");
	probe_setup();
	record = FIXTURE_LOAD(record);
	trigger = prog_clone(record->progs.count_exit, "bpf_fentry_test1", BPF_TRACE_FEXIT);
	info = foretold();
	site = func + info.offset;
	CHECK_EQ(info.mode, TRAMP_MODE_DIRECT, "foretold");
	CHECK_EQ(info.flags & TRAMP_INSN_F_PROBED, 0, "before");
}

static struct attachment put(int fd, uint64_t cookie)
{
	return attach_insn(OURS, fd, site, 0, cookie);
}

static struct attachment kernels_fentry(enum how how)
{
	return attach_func_try(how, prog_clone(record->progs.count_entry_too, FUNC,
					       BPF_TRACE_FENTRY), NULL);
}

static uint32_t mode_of(const struct attachment *a)
{
	return attachment_query(a).mode;
}

/* Registers ------------------------------------------------------------------ */

/*
 * Not compared: what is left over from another call, and what nobody may rely on at an
 * entry: r10, r11, and the flags of arithmetic.
 */
static void compare(const struct seen_regs *ours, const struct seen_regs *kernels)
{
	unsigned int i;

	CHECK_EQ(ours->hits, 1, "hits");
	CHECK_EQ(kernels->hits, 1, "hits of the kernel's");
	for (i = 0; i < PROBE_REGS; i++)
		CHECK(i == REG_R10 || i == REG_R11 || i == REG_FLAGS ||
		      ours->regs[i] == kernels->regs[i],
		      "member %u: %#llx in ours, %#llx in the kernel's", i, ours->regs[i],
		      kernels->regs[i]);
}

static void expect_args(const struct seen_regs *s)
{
	unsigned int i;

	for (i = 0; i < 6; i++)
		CHECK_EQ(s->regs[arg_reg[i]], 16 + i, "argument %u", i + 1);
	CHECK_EQ(s->regs[REG_IP], site + 1, "ip");
}

static void test_regs(void)
{
	struct attachment p, k, holder = { .fd = -1 };
	struct seen_regs *seen;
	int all, held;

	setup();
	seen = probe_skel->bss->seen;
	all = prog_fd(probe_skel->progs.regs_all);
	for (held = 0; held < 2; held++) {
		memset(seen, 0, 4 * sizeof(*seen));
		if (held)
			holder = kernels_fentry(KERNEL);
		p = put(all, 0);
		attachment_expect(&p, held ? TRAMP_MODE_FTRACE_OPS : TRAMP_MODE_DIRECT,
				  TRAMP_REASON_NONE, "entry");
		call();
		CHECK_EQ(seen[0].hits, 1, "alone");
		expect_args(&seen[0]);

		/* In the very same call: the stack is elsewhere in the next one. */
		memset(seen, 0, 4 * sizeof(*seen));
		k = attach_insn(KERNEL, all, site, 0, 1);
		call();
		compare(&seen[0], &seen[1]);
		expect_args(&seen[0]);
		detach(&p);
		detach(&k);

		p = put(prog_fd(probe_skel->progs.regs_few), 2);
		call();
		CHECK_EQ(seen[2].regs[REG_DI], 16, "di alone");
		CHECK_EQ(seen[2].regs[REG_IP], site + 1, "ip alone");
		detach(&p);
	}
	detach(&holder);
}

/* Others at the function ------------------------------------------------------ */

/* Programs of all kinds on one function, coming and going in all orders. */
static void test_together(void)
{
	struct attachment a[3];
	unsigned int order, i, k;
	int prog[3];

	setup();
	prog[0] = prog_fd(probe_skel->progs.count);
	prog[1] = prog_clone(record->progs.count_entry, FUNC, BPF_TRACE_FENTRY);
	prog[2] = prog_clone(record->progs.count_exit, FUNC, BPF_TRACE_FEXIT);
	for (order = 0; order < 36; order++) {
		/* The order they come in, and the one they go in. */
		static const int perms[6][3] = {
			{ 0, 1, 2 }, { 0, 2, 1 }, { 1, 0, 2 },
			{ 1, 2, 0 }, { 2, 0, 1 }, { 2, 1, 0 },
		};
		const int *come = perms[order / 6], *go = perms[order % 6];
		uint64_t cookie, want[3] = {}, seen[3];
		bool on[3] = {};

		probe_skel->bss->counted[0] = 0;
		memset(record->bss->counted, 0, sizeof(record->bss->counted));
		for (i = 0; i < 6; i++) {
			struct tramp_query q;

			k = i < 3 ? come[i] : go[i - 3];
			cookie = k;
			on[k] = i < 3;
			if (!on[k])
				detach(&a[k]);
			else if (!k)
				a[k] = put(prog[k], 0);
			else
				a[k] = attach_func(OURS, prog[k], &cookie);
			for (k = 0; k < 3; k++) {
				want[k] += on[k];
				if (!on[k])
					continue;
				q = attachment_query(&a[k]);
				CHECK_EQ(q.mode, TRAMP_MODE_DIRECT, "mode");
				CHECK_EQ(q.nr_progs, on[0] + on[1] + on[2], "programs there");
				CHECK_EQ(q.pos, 0, "of its kind");
				CHECK_EQ(q.btf_id != 0, k != 0, "BTF, program %u", k);
			}
			CHECK_EQ(tramp_module().probes, on[0], "probed addresses");
			CHECK_EQ(tramp_module().targets, on[1] || on[2], "functions");
			CHECK_EQ(!!(foretold().flags & TRAMP_INSN_F_PROBED), on[0], "probed");
			call();
		}
		seen[0] = probe_skel->bss->counted[0];
		seen[1] = record->bss->counted[1];
		seen[2] = record->bss->counted[2];
		for (k = 0; k < 3; k++)
			CHECK_EQ(seen[k], want[k], "order %u, program %u", order, k);
	}
}

static void not_with_ops(const char *what, int fd, uint32_t flags, int err, uint32_t reason)
{
	struct attachment a = attach_insn_try(OURS, fd, site, flags, 0);

	CHECK(a.err == -err && a.reply.refusal.reason == reason, "%s: %s, %s", what,
	      strerror(-a.err), tramp_reason_name(a.reply.refusal.reason));
	detach(&a);
}

/* The kernel's own fentry: who comes first has the site. */
static void test_held(void)
{
	struct attachment k, first, second;
	int count, ask;

	setup();
	count = prog_fd(probe_skel->progs.count);
	ask = prog_fd(probe_skel->progs.ask_func_ip);
	k = kernels_fentry(KERNEL);
	REQUIRE(!k.err, "the kernel's: %s", strerror(-k.err));
	CHECK_EQ(foretold().mode, TRAMP_MODE_FTRACE_OPS, "foretold beside the kernel's");
	not_with_ops("--no-ops", count, TRAMP_ATTACH_F_NO_OPS, EBUSY, TRAMP_REASON_SITE_HELD);
	first = put(count, 0);
	attachment_expect(&first, TRAMP_MODE_FTRACE_OPS, TRAMP_REASON_NONE, "beside the kernel's");
	detach(&k);
	/* Those that are there stay, and a second one goes with them. */
	second = put(prog_fd(probe_skel->progs.count_too), 1);
	CHECK_EQ(mode_of(&first), TRAMP_MODE_FTRACE_OPS, "as it was");
	CHECK_EQ(mode_of(&second), TRAMP_MODE_FTRACE_OPS, "with the first");
	call();
	CHECK_EQ(probe_skel->bss->counted[0], 1, "first");
	CHECK_EQ(probe_skel->bss->counted[1 + PROBE_COUNTERS / 2], 1, "second");
	/* Not those whom that mode, which is there, does not do for. */
	not_with_ops("--no-ops", prog_fd(probe_skel->progs.nothing), TRAMP_ATTACH_F_NO_OPS, EBUSY,
		     TRAMP_REASON_SITE_HELD);
	not_with_ops("asks for the function", ask, 0, EOPNOTSUPP, TRAMP_REASON_FUNC_IP);
	CHECK(bpf_link_update(second.fd, ask, NULL) == -EOPNOTSUPP, "update to one that asks: %s",
	      strerror(errno));
	detach(&first);
	detach(&second);

	first = attach_insn(OURS, count, site, TRAMP_ATTACH_F_NO_OPS, 0);
	CHECK_EQ(mode_of(&first), TRAMP_MODE_DIRECT, "the site is free");
	k = kernels_fentry(KERNEL);
	CHECK(k.err == -EBUSY, "the kernel's beside ours: %s", strerror(-k.err));
	detach(&first);
	k = kernels_fentry(KERNEL);
	CHECK(!k.err, "the kernel's when ours has gone: %s", strerror(-k.err));
	detach(&k);
}

static void twice(int fd)
{
	struct attachment a = attach_insn_try(OURS, fd, site, 0, 0);

	CHECK(a.err == -EBUSY && a.reply.refusal.reason == TRAMP_REASON_ALREADY_ATTACHED,
	      "twice: %s, %s", strerror(-a.err), tramp_reason_name(a.reply.refusal.reason));
	detach(&a);
}

/* A program that asks for the function's address must run from a kprobe of the kernel. */
static void test_func_ip(void)
{
	struct attachment direct, asks, other;
	int ask;

	setup();
	ask = prog_fd(probe_skel->progs.ask_func_ip);
	direct = put(prog_fd(probe_skel->progs.count), 0);
	asks = put(ask, 0);
	attachment_expect(&asks, TRAMP_MODE_KPROBE, TRAMP_REASON_FUNC_IP, "asks");
	CHECK_EQ(mode_of(&direct), TRAMP_MODE_DIRECT, "beside it");
	call();
	CHECK_EQ(probe_skel->bss->func_ip, func, "the function");
	CHECK_EQ(probe_skel->bss->counted[0], 1, "the other one");
	/* Whichever way leads to a program, it runs once. */
	twice(prog_fd(probe_skel->progs.count));
	other = put(prog_fd(probe_skel->progs.count_too), 1);
	CHECK_EQ(mode_of(&other), TRAMP_MODE_KPROBE, "joins the kprobe");
	CHECK_EQ(bpf_link_update(other.fd, prog_fd(probe_skel->progs.count), NULL), -EBUSY,
		 "update to one in the function's image");
	CHECK_EQ(bpf_link_update(direct.fd, prog_fd(probe_skel->progs.count_too), NULL), -EBUSY,
		 "update to one of the kprobe");
	detach(&other);
	detach(&asks);
	CHECK(bpf_link_update(direct.fd, ask, NULL) == -EOPNOTSUPP, "update to it: %s",
	      strerror(errno));
	call();
	CHECK_EQ(probe_skel->bss->counted[0], 2, "after a refused update");
	detach(&direct);
}

/* Hits ------------------------------------------------------------------------ */

/* A helper reaches a function with a program, while a program runs: that is a miss. */
static void test_missed(void)
{
	struct attachment outer, inner;
	uint64_t hits, misses, at;

	setup();
	outer = put(prog_fd(probe_skel->progs.recurse), 0);
	at = ksym_addr("htab_map_delete_elem");
	inner = attach_insn(OURS, prog_fd(probe_skel->progs.count_pid), at, 0, 1);
	CHECK_EQ(mode_of(&inner), TRAMP_MODE_DIRECT, "inner");
	call();
	call();
	CHECK_EQ(probe_skel->bss->recursion_runs, 2, "outer");
	CHECK_EQ(probe_skel->bss->counted[1], 0, "inner");
	attachment_counts(&inner, &hits, &misses);
	CHECK_EQ(misses, 2, "misses");
	attachment_counts(&outer, &hits, &misses);
	CHECK_EQ(hits, 2, "hits");
	detach(&outer);
	detach(&inner);
}

static void caller(int fd, unsigned int round)
{
	(void)fd;
	(void)round;
	run_fentry_tests(trigger);
	__atomic_fetch_add(&calls, 1, __ATOMIC_RELAXED);
}

/*
 * While FUNC is called on all CPUs, others come and go: kprobe, entry and exit programs, the
 * function tracer, a kernel's kprobe, another program in the place of one. One that stays sees
 * each call once.
 */
static void test_busy(void)
{
	struct attachment stays, a, b;
	uint64_t hits, misses, before;
	int count, too, entry, exit, i, rounds = env_int("ENTRY_ROUNDS", 6);

	setup();
	count = prog_fd(probe_skel->progs.count);
	too = prog_fd(probe_skel->progs.count_too);
	entry = prog_clone(record->progs.count_entry, FUNC, BPF_TRACE_FENTRY);
	exit = prog_clone(record->progs.count_exit, FUNC, BPF_TRACE_FEXIT);
	stays = put(count, 1);
	callers_start(caller);
	for (i = 0; i < rounds; i++) {
		a = put(too, 2);
		b = attach_func(OURS, i % 2 ? entry : exit, NULL);
		detach(&a);
		function_tracer(FUNC);
		a = attach_insn(KERNEL, too, site, 0, 3);
		detach(&b);
		REQUIRE(!bpf_link_update(stays.fd, too, NULL), "update: %s", strerror(errno));
		function_tracer(NULL);
		detach(&a);
		REQUIRE(!bpf_link_update(stays.fd, count, NULL), "update: %s", strerror(errno));
	}
	callers_stop();
	CHECK_EQ(mode_of(&stays), TRAMP_MODE_DIRECT, "mode");
	attachment_counts(&stays, &hits, &misses);
	CHECK_EQ(hits + misses, calls, "%lu hits, %lu misses", (long)hits, (long)misses);
	CHECK_EQ(probe_skel->bss->counted[1] +
		 probe_skel->bss->counted[1 + PROBE_COUNTERS / 2], hits, "counted with its cookie");
	ktap_note("%lu calls, %lu missed", (long)calls, (long)misses);
	CHECK(calls > 100, "%lu calls", (long)calls);
	before = hits;
	detach(&stays);
	call();
	CHECK_EQ(probe_skel->bss->counted[1] +
		 probe_skel->bss->counted[1 + PROBE_COUNTERS / 2], before, "once it has gone");
}

/* The first one -------------------------------------------------------------- */

/* Attach to @offset of FUNC, and detach. Return: how long it took to attach. */
static uint64_t attaching(uint64_t offset)
{
	struct tramp_attach a = {
		.size = sizeof(a), .prog_fd = prog_fd(probe_skel->progs.count),
		.symbol = FUNC, .offset = offset,
	};
	uint64_t start = now_ns();
	int err = ownmod_ioctl(TRAMP_IOC_ATTACH, &a);

	start = now_ns() - start;
	REQUIRE(!err, "%s+%lu: %s, %s", FUNC, (long)offset, strerror(-err),
		tramp_reason_name(a.refusal.reason));
	close(a.link_fd);
	return start;
}

static uint64_t least(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/*
 * The first probe ever reads what branches where in the kernel's text, but not at an entry. If the
 * machine stands still meanwhile, it takes long there as well. Then another round is measured, of
 * a module that is loaded anew. An entry that waits does so in each round.
 */
static void test_first(void)
{
	uint64_t entry = UINT64_MAX, inside = UINT64_MAX;
	uint32_t word;
	int round;

	ownmod_setup();
	probe_setup();
	kcore_read(ksym_addr(FUNC), &word, sizeof(word));
	for (round = 0; round < 3 && entry >= inside / 3; round++) {
		REQUIRE(!ownmod_unload("trampoline", 300), "unloading");
		ownmod_reload();
		entry = least(entry, attaching(0));
		/* Behind the NOP5, and ENDBR or the NOP4 in its place. */
		inside = least(inside, attaching(word == 0xfa1e0ff3 || word == 0x001f0f66 ? 9 : 5));
		ktap_note("the first at an entry: %lu us, elsewhere: %lu us", (long)entry / 1000,
			  (long)inside / 1000);
	}
	CHECK(entry < inside / 3, "the first at an entry waits");
	/* By name again: what was read must fit. */
	attaching(0);
}

static const struct ktap_test tests[] = {
	{ "regs", test_regs, 60 },
	{ "together", test_together, 120 },
	{ "held", test_held, 60 },
	{ "func_ip", test_func_ip, 60 },
	{ "missed", test_missed, 60 },
	{ "busy", test_busy, 120 },
	{ "first", test_first, 100 },
};

KTAP_MAIN(tests)
