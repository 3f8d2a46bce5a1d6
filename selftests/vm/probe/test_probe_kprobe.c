// SPDX-License-Identifier: GPL-2.0
/*
 * Where only a kernel kprobe is left: instructions that it gets wrong, which are refused, and idle
 * functions, where RCU may not watch. Its misses are those of the programs there. And it runs once
 * more if the instruction does.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include "fixture.h"
#include "probe.h"
#include "selftests/vm/lib/probe_progs.skel.h"

static int dev, prog;

static void setup(void)
{
	dev = fixture_open("about our ioctls");
	probe_setup();
	prog = bpf_program__fd(probe_skel->progs.count);
}

/* A probe at @addr is refused, and says why in these words. */
static void refused(const char *what, uint64_t addr, const char *words)
{
	struct attachment p = attach_insn_try(OURS, prog, addr, 0, 0);

	CHECK(p.err == -EOPNOTSUPP && p.reply.refusal.reason == TRAMP_REASON_INSN_FIXED &&
	      strstr(p.reply.refusal.detail, words), "%s: %s (%s, '%s')", what, strerror(-p.err),
	      tramp_reason_name(p.reply.refusal.reason), p.reply.refusal.detail);
	detach(&p);
}

/* Instructions ----------------------------------------------------------------- */

/*
 * A call with a prefix. The kernel's kprobes have it return into its last byte, so they are no way
 * out for us. Nobody calls the function while the kernel's own is there.
 */
static void test_prefixed_call(void)
{
	uint64_t addr = 0, hits, missed;
	struct attachment p;
	struct probe_func f;
	struct tt_reply r;
	uint8_t code[2];
	int32_t err;
	uint32_t i;

	setup();
	REQUIRE(!probe_explain(&f, 0, "tt_prefixed", false), "tt_prefixed");
	for (i = 0; i < f.nr && !addr; i++) {
		text_read(dev, f.addr + f.insns[i].offset, code, sizeof(code));
		if (code[0] == 0x2e && code[1] == 0xe8)
			addr = f.addr + f.insns[i].offset;
	}
	probe_func_free(&f);
	REQUIRE(addr, "tt_prefixed has no such call");

	kprobes_on(dev, TT_KPROBE_COUNT, &addr, &err, 1);
	CHECK_EQ(err, 0, "a kprobe of the kernel");
	refused("where only a kprobe is left", addr, "last byte");
	kprobes_off(dev, &hits, &missed, NULL, 1);

	p = attach_insn(OURS, prog, addr, 0, 7);
	for (i = 0; i < 2; i++) {
		CHECK_EQ(attachment_query(&p).mode, i ? TRAMP_MODE_JUMP : TRAMP_MODE_INT3, "mode");
		probe_skel->bss->counted[7] = 0;
		r = tt_call(dev, "tt_prefixed n=10 4");
		CHECK_EQ(r.result, 27, "result");
		CHECK_EQ(r.different, 0, "results");
		CHECK_EQ(probe_skel->bss->counted[7], 10, "hits");
		probe_flush();
	}
	detach(&p);
}

/*
 * An idle function has no image, and the kernel's kprobe would have the CPU wait with interrupts
 * off. Whether the kernel idles there does not matter.
 */
static void test_mwait(void)
{
	struct probe_func f;
	uint64_t addr = 0;
	uint8_t code[3];
	uint32_t i;

	setup();
	if (probe_explain(&f, 0, "mwait_idle", false))
		ktap_skip("no mwait_idle() to be explained");
	for (i = 0; i < f.nr && !addr; i++) {
		kcore_read(f.addr + f.insns[i].offset, code, sizeof(code));
		if (!memcmp(code, "\x0f\x01\xc9", 3) &&
		    f.insns[i].reason != TRAMP_REASON_BLACKLISTED)
			addr = f.addr + f.insns[i].offset;
	}
	probe_func_free(&f);
	if (!addr)
		ktap_skip("no mwait in mwait_idle(), or only where the kernel has no probes");
	refused("mwait in an idle function", addr, "interrupts off");
}

/* The kernel's kprobe asks whether rcx is 0 before it counts down, so it loops once too often. */
static void test_loop(void)
{
	static const char *const forms[] = {
		"tt_form_loop_taken_1", "tt_form_loope_1", "tt_form_loopne_1",
	};
	uint64_t addr, hits, missed;
	int32_t err;
	size_t i;

	setup();
	for (i = 0; i < sizeof(forms) / sizeof(forms[0]); i++) {
		addr = form_named(dev, forms[i]).form;
		kprobes_on(dev, TT_KPROBE_COUNT, &addr, &err, 1);
		CHECK_EQ(err, 0, "a kprobe of the kernel at %s", forms[i]);
		refused(forms[i], addr, "too often");
		kprobes_off(dev, &hits, &missed, NULL, 1);
	}
}

/* Where RCU may not watch -------------------------------------------------------- */

/* Half a second, and more if the machine stood still meanwhile: @p must have been missed. */
static void missed_only(const struct attachment *p, const char *what)
{
	uint64_t hits, misses, start = now_ns();

	do {
		usleep(10000);
		attachment_counts(p, &hits, &misses);
	} while (now_ns() - start < 500000000 || (misses <= 3 && now_ns() - start < 30000000000));
	CHECK_EQ(hits, 0, "%s: runs", what);
	CHECK(misses > 3, "%s: %lu misses", what, (long)misses);
}

/*
 * At the entry of an idle function the kernel's kprobe is reached from ftrace, so no exception has
 * woken up RCU.
 */
static void test_idle_entry(void)
{
	struct tramp_attach want = { .symbol = "arch_cpu_idle" };
	struct attachment p;

	setup();
	p = attach_want(bpf_program__fd(probe_skel->progs.ask_func_ip), &want);
	if (p.err)
		ktap_skip("arch_cpu_idle(): %s", tramp_reason_name(p.reply.refusal.reason));
	attachment_expect(&p, TRAMP_MODE_KPROBE, TRAMP_REASON_FUNC_IP, "asks for the function");
	missed_only(&p, "arch_cpu_idle");
	detach(&p);
}

/* An instruction of an idle function where the kernel makes a jump of it, or 0 after 30 seconds. */
static uint64_t find_optimised(void)
{
	static const char *const funcs[] = {
		"default_idle_call", "arch_cpu_idle", "default_idle", "cpuidle_enter_state",
	};
	uint64_t addr, hits, missed, until = now_ns() + 30000000000;
	struct probe_func f;
	int32_t err;
	size_t i;
	uint32_t k;

	for (i = 0; i < sizeof(funcs) / sizeof(funcs[0]); i++) {
		if (probe_explain(&f, 0, funcs[i], false))
			continue;
		for (k = 0; k < f.nr && now_ns() < until; k++) {
			if (f.insns[k].reason != TRAMP_REASON_RCU_IDLE)
				continue;
			addr = f.addr + f.insns[k].offset;
			kprobes_on(dev, TT_KPROBE_COUNT, &addr, &err, 1);
			if (!err && kprobe_becomes_jump(addr, 3000000000)) {
				ktap_note("%s+%u", funcs[i], f.insns[k].offset);
				probe_func_free(&f);
				return addr;
			}
			kprobes_off(dev, &hits, &missed, NULL, 1);
		}
		probe_func_free(&f);
	}
	return 0;
}

/* Beside a kprobe of the kernel that is a jump there: ours makes it an int3 again. */
static void test_idle_there(void)
{
	uint64_t addr, hits, missed;
	struct attachment p;

	setup();
	addr = find_optimised();
	if (!addr)
		ktap_skip("the kernel makes no jump of a kprobe in idle functions");
	p = attach_insn(OURS, prog, addr, 0, 0);
	attachment_expect(&p, TRAMP_MODE_KPROBE, TRAMP_REASON_RCU_IDLE, "beside the kernel's");
	CHECK(!kprobe_is_jump(addr), "the kernel's kprobe is a jump still");
	kprobes_settle();
	CHECK(!kprobe_is_jump(addr), "the kernel's kprobe is a jump again");
	detach(&p);
	kprobes_off(dev, &hits, &missed, NULL, 1);
}

/* Misses ------------------------------------------------------------------------- */

/* The kernel's own kprobe in @form calls tt_hot3() from its handler, where others are missed. */
static void miss(const struct tt_form_info *form, int times)
{
	uint64_t hits, missed, where = form->probe;
	int32_t err;

	kprobes_on(dev, TT_KPROBE_CALL, &where, &err, 1);
	REQUIRE(!err, "a kprobe of the kernel: %s", strerror(err));
	form_run(dev, form->index, times, 1);
	kprobes_off(dev, &hits, &missed, NULL, 1);
	CHECK_EQ(hits, times, "hits of the kernel's kprobe");
}

static void expect_misses(const struct attachment *p, uint64_t misses, const char *what)
{
	char path[64], *text;

	snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", p->fd);
	text = read_file(path);
	CHECK_EQ(number_after(text, "misses:", UINT64_MAX), misses, "%s", what);
	free(text);
}

/* Each program has the misses of its time there, and keeps them when the kprobe has gone. */
static void test_misses(void)
{
	struct tramp_attach want = { .symbol = "tt_hot3" };
	struct attachment p[2];
	struct tt_form_info form;

	setup();
	form = form_named(dev, "tt_form_inc_1");
	p[0] = attach_want(bpf_program__fd(probe_skel->progs.ask_func_ip), &want);
	REQUIRE(!p[0].err, "%s", p[0].reply.refusal.detail);
	attachment_expect(&p[0], TRAMP_MODE_KPROBE, TRAMP_REASON_FUNC_IP, want.symbol);
	miss(&form, 10);
	p[1] = attach_want(prog, &want);
	REQUIRE(!p[1].err, "%s", p[1].reply.refusal.detail);
	miss(&form, 7);
	expect_misses(&p[0], 17, "the first program");
	expect_misses(&p[1], 7, "the one that came later");
	CHECK_EQ(bpf_link_detach(p[0].fd), 0, "detach");
	miss(&form, 3);
	expect_misses(&p[0], 17, "the first program, detached");
	expect_misses(&p[1], 10, "the one that stays");
	CHECK_EQ(bpf_link_detach(p[1].fd), 0, "detach");
	miss(&form, 5);
	expect_misses(&p[1], 10, "detached as well");
	detach(&p[0]);
	detach(&p[1]);
}

/* An access that waits for its page begins anew once it is there, and its kprobe is hit again. */
static void test_page_wait(void)
{
	static const uint32_t runs[] = { 2, 1, 1 };
	static const char *const pages[] = { "one that comes", "one that is there", "none" };
	long size = sysconf(_SC_PAGESIZE);
	struct attachment p;
	struct tt_reply r;
	uint32_t i;
	void *to;

	setup();
	to = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	REQUIRE(to != MAP_FAILED, "mmap: %s", strerror(errno));
	p = attach_insn(OURS, prog, probe_fixup_in("tt_user"), 0, 7);
	attachment_expect(&p, TRAMP_MODE_KPROBE, TRAMP_REASON_INSN_FIXUP, "tt_user");
	for (i = 0; i < 3; i++) {
		if (i == 2)
			munmap(to, size);
		probe_skel->bss->counted[7] = 0;
		r = tt_call(dev, "tt_user %p", to);
		CHECK_EQ(r.result, i == 2 ? -EFAULT : 0, "result, the page is %s", pages[i]);
		CHECK_EQ(probe_skel->bss->counted[7], runs[i], "runs, the page is %s", pages[i]);
	}
	CHECK_EQ(attachment_query(&p).hits, 4, "hits");
	detach(&p);
}

static const struct ktap_test tests[] = {
	{ "prefixed_call", test_prefixed_call, 60 },
	{ "loop", test_loop, 60 },
	{ "mwait", test_mwait, 60 },
	{ "idle_entry", test_idle_entry, 100 },
	{ "idle_there", test_idle_there, 200 },
	{ "misses", test_misses, 60 },
	{ "page_wait", test_page_wait, 60 },
};

KTAP_MAIN(tests)
