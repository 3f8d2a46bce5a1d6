// SPDX-License-Identifier: GPL-2.0
/*
 * Return probes: what a program at a function's return sees is what one of the kernel's kretprobes
 * sees, whichever way it got there. The function's caller gets what it would have got.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>
#include <linux/bpf.h>
#include <bpf/bpf.h>
#include "fixture.h"
#include "probe.h"
#include "record.h"
#include "selftests/vm/lib/probe_progs.skel.h"
#include "selftests/vm/lib/record.skel.h"

enum { REG_AX = 10, REG_IP = 16, REG_CS = 17, REG_SP = 19 };

static int dev;
static struct record *record;

static int prog_fd(const struct bpf_program *prog)
{
	return bpf_program__fd(prog);
}

static void setup(const char *about_us)
{
	dev = fixture_open(about_us);
	probe_setup();
	record = FIXTURE_LOAD(record);
	probe_skel->bss->only_pid = getpid();
}

/* The kernel's trampoline has the site while this is attached: no exit image of ours. */
static struct attachment hold_site(const char *func)
{
	return attach_func(KERNEL, prog_clone(record->progs.count_entry, func, BPF_TRACE_FENTRY),
			   NULL);
}

static const struct {
	const char *name, *args;
	int bytes;		/* of the result */
} values[] = {
	{ "tt_u8", "200", 1 }, { "tt_s8", "-100", 1 }, { "tt_u16", "60000", 2 },
	{ "tt_s32", "-5", 4 }, { "tt_u64", "0x123456789abcdef", 8 }, { "tt_s64", "-7", 8 },
	{ "tt_bool", "1", 1 }, { "tt_ptr", "0xffff888000001000", 8 }, { "tt_int0", "", 4 },
	{ "tt_args6", "1 2 3 4 5 6", 8 },
	/* On the stack. */
	{ "tt_args7", "1 2 3 4 5 6 7", 8 }, { "tt_stack8", "1 2 3 4 5 6 7 8", 2 },
	{ "tt_struct_stack", "1 2 3 4 5 6 7", 8 },
	{ "tt_args12", "1 2 3 4 5 6 7 8 9 10 11 12", 8 },
};

static uint64_t low(uint64_t value, int bytes)
{
	return bytes == 8 ? value : value & ((1ull << 8 * bytes) - 1);
}

/*
 * Each system call begins at another place of its stack: addresses there count from sp. Of cs the
 * kernel writes two bytes on some versions.
 */
static uint64_t from_sp(const struct seen_regs *seen, int k)
{
	uint64_t sp = seen->regs[REG_SP], value = seen->regs[k];

	if (k == REG_CS)
		return low(value, 2);
	return value - sp < 16384 ? value - sp : value;
}

/*
 * Whether both programs saw the same of member @k. The test module may keep in a register how many
 * calls there were before, which is one more each time.
 */
static bool alike(const struct seen_regs *seen, int k, const uint64_t *calls)
{
	if (k <= 5 && seen[OURS].regs[k] == calls[OURS] && seen[KERNEL].regs[k] == calls[KERNEL])
		return true;
	return from_sp(&seen[OURS], k) == from_sp(&seen[KERNEL], k);
}

static void check_value(unsigned int i, bool held)
{
	struct seen_regs *seen = probe_skel->bss->seen;
	struct attachment hold = {}, p;
	uint64_t result = tt_call(dev, "%s %s", values[i].name, values[i].args).result;
	const char *name = values[i].name;
	uint64_t calls[2];
	int how, k;

	memset(seen, 0, 2 * sizeof(*seen));
	if (held)
		hold = hold_site(name);
	for (how = OURS; how <= KERNEL; how++) {
		p = attach_return(how, prog_fd(probe_skel->progs.regs_all), name, 0, how);
		if (how == OURS)
			attachment_expect(&p, held ? TRAMP_MODE_RETHOOK : TRAMP_MODE_DIRECT,
					  held ? TRAMP_REASON_SITE_HELD : TRAMP_REASON_NONE, name);
		calls[how] = tt_calls(dev, name);
		CHECK_EQ(tt_call(dev, "%s %s", name, values[i].args).result, result,
			 "%s's result", name);
		CHECK_EQ(seen[how].hits, 1, "%s: hits", name);
		CHECK_EQ(low(seen[how].regs[REG_AX], values[i].bytes),
			 low(result, values[i].bytes), "%s: ax", name);
		detach(&p);
	}
	/* All that a caller may rely on, and where it goes on. */
	for (k = 0; k < PROBE_REGS; k++)
		CHECK((k > 5 && k < REG_IP && k != REG_AX) || k == 18 || k == REG_SP ||
		      alike(seen, k, calls),
		      "%s: member %d: %#llx in ours, %#llx in the kernel's", name, k,
		      seen[OURS].regs[k], seen[KERNEL].regs[k]);
	detach(&hold);
}

static void test_values(void)
{
	unsigned int i;

	setup(NULL);
	for (i = 0; i < sizeof(values) / sizeof(values[0]); i++) {
		check_value(i, false);
		/* Of the others the kernel cannot hold the site on each version. */
		if (i < 10 && i % 3 == 2)
			check_value(i, true);
	}
}

/*
 * No exit image may be made of these: what is on their stack, or what they return, is not known.
 * Each is executed, with its arguments.
 */
static void test_no_exit_image(void)
{
	static const struct {
		const char *name, *args;
		uint32_t reason;
		uint64_t ax;	/* 0: the result */
	} funcs[] = {
		{ "tt_args13", "1 2 3 4 5 6 7 8 9 10 11 12 13", TRAMP_REASON_TOO_MANY_ARGS, 0 },
		{ "tt_struct24", "1 2 3", TRAMP_REASON_ARG_TYPE, 0 },
		{ "tt_variadic", "3", TRAMP_REASON_VARIADIC, 0 },
		{ "tt_ret_int128", "3 4", TRAMP_REASON_ARG_TYPE, 4 },
	};
	uint64_t result, hits, misses;
	struct attachment p;
	unsigned int i;

	setup("about our modes");
	for (i = 0; i < sizeof(funcs) / sizeof(funcs[0]); i++) {
		result = tt_call(dev, "%s %s", funcs[i].name, funcs[i].args).result;
		p = attach_return(OURS, prog_fd(probe_skel->progs.regs_all), funcs[i].name, 0, i);
		attachment_expect(&p, TRAMP_MODE_RETHOOK, funcs[i].reason, funcs[i].name);
		CHECK_EQ(tt_call(dev, "%s n=50 %s", funcs[i].name, funcs[i].args).result, result,
			 "%s's result", funcs[i].name);
		attachment_counts(&p, &hits, &misses);
		CHECK_EQ(hits, 50, "%s: hits", funcs[i].name);
		CHECK_EQ(misses, 0, "%s: misses", funcs[i].name);
		CHECK_EQ(probe_skel->bss->seen[i].regs[REG_AX], funcs[i].ax ?: result, "%s: ax",
			 funcs[i].name);
		detach(&p);
	}
}

/* In the kernel proper the hook runs from the function's own image. */
static void test_entry_image(void)
{
	const char *file = "/sys/devices/system/cpu/vulnerabilities/spectre_v1";
	uint64_t hits, misses;
	struct attachment p, other, kprobe, fentry;
	char *text;

	setup("about our modes");
	p = attach_return(OURS, prog_fd(probe_skel->progs.regs_all), "sysfs_emit", 0, 0);
	attachment_expect(&p, TRAMP_MODE_RETHOOK, TRAMP_REASON_VARIADIC, "sysfs_emit");
	kprobe = attach_insn(OURS, prog_fd(probe_skel->progs.count), ksym_addr("sysfs_emit"), 0, 1);
	attachment_expect(&kprobe, TRAMP_MODE_DIRECT, TRAMP_REASON_NONE, "kprobe");
	CHECK_EQ(attachment_query(&kprobe).pos, 0, "the hook is no kprobe program");
	text = read_file(file);
	attachment_counts(&p, &hits, &misses);
	CHECK_EQ(hits, 1, "hits");
	CHECK_EQ(misses, 0, "misses");
	CHECK_EQ(probe_skel->bss->seen[0].regs[REG_AX], strlen(text), "bytes");
	CHECK_EQ(probe_skel->bss->counted[1], 1, "kprobe");
	free(text);
	CHECK(!bpf_link_update(p.fd, prog_fd(probe_skel->progs.count_too), NULL), "update: %s",
	      strerror(errno));
	other = attach_return(OURS, prog_fd(probe_skel->progs.regs_all), "sysfs_emit", 0, 0);
	free(read_file(file));
	attachment_counts(&p, &hits, &misses);
	CHECK_EQ(hits, 2, "hits of both programs");
	attachment_counts(&other, &hits, &misses);
	CHECK_EQ(hits, 1, "hits of another");
	detach(&other);
	detach(&kprobe);
	detach(&p);

	/* Beside entry and exit programs of ours, and the kernel's kretprobe. */
	fentry = attach_func(OURS, prog_clone(record->progs.count_exit, "tt_hot1", BPF_TRACE_FEXIT),
			     NULL);
	p = attach_return(OURS, prog_fd(probe_skel->progs.regs_all), "tt_hot1", 0, 0);
	kprobe = attach_return(KERNEL, prog_fd(probe_skel->progs.count), "tt_hot1", 0, 2);
	CHECK_EQ(tt_call(dev, "tt_hot1 n=10 6").different, 0, "results");
	attachment_counts(&p, &hits, &misses);
	CHECK_EQ(hits, 10, "ours");
	CHECK_EQ(misses, 0, "missed");
	CHECK_EQ(probe_skel->bss->counted[2], 10, "the kernel's");
	attachment_counts(&fentry, &hits, &misses);
	CHECK_EQ(hits, 10, "fexit");
	detach(&fentry);
	tt_call(dev, "tt_hot1 n=10 6");
	detach(&kprobe);
	tt_call(dev, "tt_hot1 n=10 6");
	attachment_counts(&p, &hits, &misses);
	CHECK_EQ(hits, 30, "ours, alone");
	detach(&p);
}

/* Another program for the same link; each runs with the link's cookie. */
static void test_update(void)
{
	__u64 *counted;
	uint64_t hits, misses;
	struct attachment hold = {}, p;
	int held;

	setup("about our own links");
	counted = probe_skel->bss->counted;
	for (held = 0; held < 2; held++) {
		memset(counted, 0, PROBE_COUNTERS * sizeof(*counted));
		if (held)
			hold = hold_site("tt_hot2");
		p = attach_return(OURS, prog_fd(probe_skel->progs.count), "tt_hot2", 0, 77);
		tt_call(dev, "tt_hot2 n=5 1");
		CHECK(!bpf_link_update(p.fd, prog_fd(probe_skel->progs.count_too), NULL),
		      "update: %s", strerror(errno));
		tt_call(dev, "tt_hot2 n=7 1");
		CHECK_EQ(bpf_link_update(p.fd, prog_fd(probe_skel->progs.ask_func_ip), NULL),
			 -EOPNOTSUPP, "a program that asks for the function");
		tt_call(dev, "tt_hot2 n=1 1");
		CHECK_EQ(counted[77], 5, "the first program");
		CHECK_EQ(counted[77 + PROBE_COUNTERS / 2], 8, "the second one");
		attachment_counts(&p, &hits, &misses);
		CHECK_EQ(hits, 13, "hits of the link");
		CHECK_EQ(bpf_link_detach(p.fd), 0, "detach");
		tt_call(dev, "tt_hot2 n=3 1");
		CHECK_EQ(counted[77 + PROBE_COUNTERS / 2], 8, "after the detach");
		CHECK_EQ(attachment_query(&p).mode, TRAMP_MODE_NONE, "mode");
		CHECK_EQ(attachment_query(&p).hits, 13, "hits");
		detach(&p);
		detach(&hold);
	}
}

/* Newest first, as with exit programs and the kernel's kretprobes. */
static void test_order(void)
{
	static const struct bpf_program *progs[3];
	struct attachment hold = {}, p[3];
	unsigned int i;
	int held;

	setup("about our order");
	for (held = 0; held < 2; held++) {
		probe_skel->bss->order_len = 0;
		if (held)
			hold = hold_site("tt_hot3");
		progs[0] = probe_skel->progs.in_order;
		for (i = 0; i < 3; i++)
			p[i] = attach_return(OURS, i ? probe_clone(progs[0]) : prog_fd(progs[0]),
					     "tt_hot3", 0, i);
		CHECK_EQ(attach_return_try(OURS, prog_fd(progs[0]), "tt_hot3", 0, 9).reply.refusal
			 .reason, TRAMP_REASON_ALREADY_ATTACHED, "twice");
		tt_call(dev, "tt_hot3 1");
		CHECK_EQ(probe_skel->bss->order_len, 3, "programs");
		for (i = 0; i < 3; i++) {
			CHECK_EQ(probe_skel->bss->order[i], 2 - i, "order");
			CHECK_EQ(attachment_query(&p[i]).pos, 2 - i, "position");
		}
		for (i = 0; i < 3; i++)
			detach(&p[i]);
		detach(&hold);
	}
}

/* A program runs once a return, by the exit image or by a rethook. */
static void test_once(void)
{
	const __u64 *counted;
	struct attachment hold, p[2];
	int prog[2], i;

	setup("about our own links");
	counted = probe_skel->bss->counted;
	prog[0] = prog_fd(probe_skel->progs.count);
	prog[1] = prog_fd(probe_skel->progs.count_too);
	hold = hold_site("tt_hot3");
	p[0] = attach_return(OURS, prog[0], "tt_hot3", 0, 1);
	detach(&hold);
	p[1] = attach_return(OURS, prog[1], "tt_hot3", 0, 2);
	CHECK_EQ(attachment_query(&p[0]).mode, TRAMP_MODE_RETHOOK, "the first");
	CHECK_EQ(attachment_query(&p[1]).mode, TRAMP_MODE_DIRECT, "the second");
	tt_call(dev, "tt_hot3 n=5 1");
	CHECK_EQ(counted[1], 5, "the first program");
	CHECK_EQ(counted[2 + PROBE_COUNTERS / 2], 5, "the second program");
	for (i = 0; i < 2; i++)
		CHECK_EQ(bpf_link_update(p[i].fd, prog[!i], NULL), -EBUSY, "update of link %d", i);
	tt_call(dev, "tt_hot3 n=3 1");
	CHECK_EQ(counted[1], 8, "the first program, still there");
	CHECK_EQ(counted[2 + PROBE_COUNTERS / 2], 8, "the second program, still there");
	CHECK_EQ(counted[2], 0, "the first program, by the second link");
	CHECK_EQ(counted[1 + PROBE_COUNTERS / 2], 0, "the second program, by the first link");
	for (i = 0; i < 2; i++)
		detach(&p[i]);
}

static void refused(const char *what, int prog, struct tramp_attach *want, int err, uint32_t reason)
{
	struct attachment a;

	want->flags |= TRAMP_ATTACH_F_RETURN;
	a = attach_want(prog, want);
	CHECK_EQ(a.err, err, "%s: errno", what);
	CHECK(a.reply.refusal.reason == reason, "%s: %s, not %s", what,
	      tramp_reason_name(a.reply.refusal.reason), tramp_reason_name(reason));
	detach(&a);
}

static void test_refused(void)
{
	int prog, fentry;

	setup("about our refusals");
	prog = prog_fd(probe_skel->progs.count);
	fentry = prog_clone(record->progs.count_entry, "tt_hot0", BPF_TRACE_FENTRY);
	refused("a tracing program", fentry, &(struct tramp_attach){ .symbol = "tt_hot0" }, -EINVAL,
		TRAMP_REASON_PROG_TYPE);
	refused("an offset", prog, &(struct tramp_attach){ .addr = ksym_addr("tt_hot0") + 5 +
		(kernel_version() >= 6002 ? 4 : 0) }, -EINVAL, TRAMP_REASON_SYNTAX);
	refused("too much", prog, &(struct tramp_attach){ .symbol = "tt_hot0",
		.maxactive = TRAMP_MAX_MAXACTIVE + 1 }, -EINVAL, TRAMP_REASON_SYNTAX);
	refused("a reserved member", prog, &(struct tramp_attach){ .symbol = "tt_hot0",
		.__reserved3 = 1 }, -EINVAL, TRAMP_REASON_SYNTAX);
	refused("without a site", prog, &(struct tramp_attach){ .symbol = "tt_notrace" }, -EINVAL,
		TRAMP_REASON_NOTRACE);
	refused("never returns", prog, &(struct tramp_attach){ .symbol = "do_exit" }, -EINVAL,
		TRAMP_REASON_NORETURN);
	refused("func ip", prog_fd(probe_skel->progs.ask_func_ip),
		&(struct tramp_attach){ .symbol = "tt_hot0" }, -EOPNOTSUPP,
		TRAMP_REASON_FUNC_IP);
	struct tramp_attach want = { .symbol = "tt_hot0", .maxactive = 1 };

	CHECK_EQ(attach_want(prog, &want).err, -EINVAL, "maxactive without the flag");
	CHECK(tramp_module().features & TRAMP_FEAT_KRETPROBE, "the feature");
}

static const struct ktap_test tests[] = {
	{ "values", test_values, 60 },
	{ "no_exit_image", test_no_exit_image, 60 },
	{ "entry_image", test_entry_image, 60 },
	{ "update", test_update, 60 },
	{ "once", test_once, 60 },
	{ "order", test_order, 60 },
	{ "refused", test_refused, 60 },
};

KTAP_MAIN(tests)
