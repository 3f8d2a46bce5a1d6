// SPDX-License-Identifier: GPL-2.0
/*
 * Bad input about probes: each case has its errno and reason as
 * include/uapi/linux/trampoline.h says, and leaves nothing behind: no link, no probe, no
 * descriptor, no byte of text.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include "fixture.h"
#include "probe.h"
#include "selftests/vm/lib/probe_progs.skel.h"

static int dev, prog, cases;
static struct tt_form_info inc;

static void setup(void)
{
	dev = fixture_open("about our ioctls");
	probe_setup();
	prog = bpf_program__fd(probe_skel->progs.count);
	inc = form_named(dev, "tt_form_inc_3");
}

static void done(void)
{
	ktap_note("%d cases", cases);
}

/* One case: errno, reason, and nothing left behind. Gives what ATTACH answered. */
static struct tramp_attach refused(const char *what, int prog_fd, struct tramp_attach want, int err,
				   uint32_t reason)
{
	struct tramp_info before = tramp_module(), after;
	int fds = open_fds();
	struct attachment p = attach_want(prog_fd, &want);

	cases++;
	CHECK(p.err == -err && p.reply.refusal.reason == reason, "%s: %s (%s, '%s'), not %s (%s)",
	      what, strerror(-p.err), tramp_reason_name(p.reply.refusal.reason),
	      p.reply.refusal.detail, strerror(err), tramp_reason_name(reason));
	if (p.err)
		CHECK(p.reply.link_fd < 0, "%s: descriptor %d", what, p.reply.link_fd);
	detach(&p);
	after = tramp_module();
	CHECK_EQ(after.links, before.links, "%s: links", what);
	CHECK_EQ(after.probes, before.probes, "%s: probes", what);
	CHECK_EQ(open_fds(), fds, "%s: open files", what);
	return p.reply;
}

static struct tramp_attach at_addr(uint64_t addr)
{
	return (struct tramp_attach){ .addr = addr };
}

static struct tramp_attach at_symbol(const char *symbol, uint64_t offset)
{
	struct tramp_attach a = { .offset = offset };

	snprintf(a.symbol, sizeof(a.symbol), "%s", symbol);
	return a;
}

static struct tramp_attach in_module(const char *module, const char *symbol)
{
	struct tramp_attach a = at_symbol(symbol, 0);

	snprintf(a.module, sizeof(a.module), "%s", module);
	return a;
}

/* The request itself. */
static void test_syntax(void)
{
	struct tramp_attach a;
	unsigned char tail[sizeof(a) + 64];

	setup();
	refused("no place at all", prog, at_addr(0), EINVAL, TRAMP_REASON_SYNTAX);
	a = at_symbol("vfs_read", 0);
	a.addr = inc.probe;
	refused("address and symbol", prog, a, EINVAL, TRAMP_REASON_SYNTAX);
	a = at_addr(inc.probe);
	a.offset = 1;
	refused("address and offset", prog, a, EINVAL, TRAMP_REASON_SYNTAX);
	a = at_addr(inc.probe);
	strcpy(a.module, "trampoline_test");
	refused("address and module", prog, a, EINVAL, TRAMP_REASON_SYNTAX);
	a = at_symbol("", 0);
	strcpy(a.module, "trampoline_test");
	refused("module without symbol", prog, a, EINVAL, TRAMP_REASON_SYNTAX);
	a = at_symbol("", 4);
	refused("offset without symbol", prog, a, EINVAL, TRAMP_REASON_SYNTAX);
	memset(a.symbol, 'a', sizeof(a.symbol));
	refused("symbol without its zero", prog, a, EINVAL, TRAMP_REASON_SYNTAX);
	a = at_symbol("vfs_read", 0);
	memset(a.module, 'a', sizeof(a.module));
	refused("module without its zero", prog, a, EINVAL, TRAMP_REASON_SYNTAX);
	a = at_addr(inc.probe);
	a.flags = 1U << 4;
	refused("unknown flag", prog, a, EINVAL, TRAMP_REASON_SYNTAX);
	a.flags = 1U << 31;
	refused("highest flag", prog, a, EINVAL, TRAMP_REASON_SYNTAX);
	a = at_addr(inc.probe);
	a.__reserved = 1;
	refused("reserved", prog, a, EINVAL, TRAMP_REASON_SYNTAX);
	a = at_addr(inc.probe);
	a.__reserved2 = 1;
	refused("second reserved", prog, a, EINVAL, TRAMP_REASON_SYNTAX);
	a = at_addr(inc.probe);
	a.cookie = 1;
	refused("cookie without its flag", prog, a, EINVAL, TRAMP_REASON_SYNTAX);

	CHECK(ioctl(tramp_device(), TRAMP_IOC_ATTACH, NULL) && errno == EFAULT, "NULL");
	memset(tail, 0, sizeof(tail));
	a = (struct tramp_attach){ .size = sizeof(tail), .prog_fd = prog, .addr = inc.probe };
	memcpy(tail, &a, sizeof(a));
	tail[sizeof(tail) - 1] = 1;
	CHECK(ioctl(tramp_device(), TRAMP_IOC_ATTACH, tail) && errno == E2BIG, "a tail not 0: %s",
	      strerror(errno));
	/* The first published size has no place in it. */
	a.size = TRAMP_ATTACH_MIN_SIZE;
	CHECK(ioctl(tramp_device(), TRAMP_IOC_ATTACH, &a) && errno == EINVAL, "a short struct: %s",
	      strerror(errno));
	a.size = TRAMP_ATTACH_MIN_SIZE - 8;
	CHECK(ioctl(tramp_device(), TRAMP_IOC_ATTACH, &a) && errno == EINVAL, "too short: %s",
	      strerror(errno));
	cases += 4;
	done();
}

/* Addresses that are no instruction of anybody. */
static void test_not_text(void)
{
	struct attachment p;
	uint64_t buf[2];
	int i;
	static const struct {
		const char *what;
		uint64_t addr;
	} wild[] = {
		{ "1", 1 },
		{ "a user address", 0x400000 },
		{ "the highest user address", 0x7ffffffff000 },
		{ "not canonical", 0x8000000000000000 },
		{ "not canonical either", 0x0000800000000000 },
		{ "the direct map", 0xffff888000001000 },
		{ "the vsyscall page", 0xffffffffff600000 },
		{ "between kernel and modules", 0xffffffffbf000000 },
		{ "the last byte", ~0ULL },
	};

	setup();
	for (i = 0; i < (int)(sizeof(wild) / sizeof(wild[0])); i++)
		refused(wild[i].what, prog, at_addr(wild[i].addr), EINVAL, TRAMP_REASON_NOT_TEXT);
	refused("a stack of ours", prog, at_addr((uintptr_t)buf), EINVAL, TRAMP_REASON_NOT_TEXT);
	refused("kernel data", prog, at_addr(ksym_addr("jiffies")), EINVAL, TRAMP_REASON_NOT_TEXT);
	refused("read-only data", prog, at_addr(ksym_addr("linux_banner")), EINVAL,
		TRAMP_REASON_NOT_TEXT);
	refused("data of a module", prog, at_addr(ksym_addr("tt_form_data")), EINVAL,
		TRAMP_REASON_NOT_TEXT);
	refused("kernel data by name", prog, at_symbol("jiffies", 0), EINVAL, TRAMP_REASON_NOT_TEXT);
	p = attach_insn(OURS, prog, inc.probe, 0, 0);
	refused("an image of ours", prog, at_addr(attachment_query(&p).image_addr), EINVAL,
		TRAMP_REASON_NOT_TEXT);
	detach(&p);
	done();
}

/* Names. */
static void test_names(void)
{
	char *twice;
	struct tramp_attach a;

	setup();
	refused("unknown symbol", prog, at_symbol("no_such_function", 0), ENOENT,
		TRAMP_REASON_NO_SUCH_FUNCTION);
	refused("unknown symbol in a module", prog, in_module("trampoline_test", "no_such_function"),
		ENOENT, TRAMP_REASON_NO_SUCH_FUNCTION);
	refused("symbol of another module", prog, in_module("trampoline", "tt_hot0"), ENOENT,
		TRAMP_REASON_NO_SUCH_FUNCTION);
	refused("unknown module", prog, in_module("no_such_module", "tt_hot0"), ENOENT,
		TRAMP_REASON_NO_SUCH_FUNCTION);
	refused("kernel symbol in a module", prog, in_module("trampoline_test", "vfs_read"), ENOENT,
		TRAMP_REASON_NO_SUCH_FUNCTION);
	refused("symbol with its offset in it", prog, at_symbol("vfs_read+0x4", 0), ENOENT,
		TRAMP_REASON_NO_SUCH_FUNCTION);
	a = at_symbol("", 0);
	memset(a.symbol, 'a', sizeof(a.symbol) - 1);
	refused("the longest symbol", prog, a, ENOENT, TRAMP_REASON_NO_SUCH_FUNCTION);
	a = at_symbol("%s%n%p", 0);
	refused("a format", prog, a, ENOENT, TRAMP_REASON_NO_SUCH_FUNCTION);

	twice = ambiguous_symbol();
	a = refused(twice, prog, at_symbol(twice, 0), EINVAL, TRAMP_REASON_AMBIGUOUS);
	CHECK(a.refusal.detail[0], "ambiguous, without a word");
	refused("two in a module", prog, in_module("trampoline_test", "tt_twin"), EINVAL,
		TRAMP_REASON_AMBIGUOUS);
	refused("the same by its name alone", prog, at_symbol("tt_twin", 0), EINVAL,
		TRAMP_REASON_AMBIGUOUS);
	free(twice);
	done();
}

/* Inside a function, but not where an instruction starts; and behind its end. */
static void test_boundaries(void)
{
	struct tramp_attach a;
	struct probe_func f;
	struct attachment p;
	uint32_t i, n = 0;

	setup();
	REQUIRE(!probe_explain(&f, 0, "vfs_read", false), "vfs_read");
	for (i = 1; i < f.nr && n < 10; i++) {
		struct tramp_insn_info *insn = &f.insns[i];

		if (insn->len < 2)
			continue;
		n++;
		a = refused("second byte, by address", prog, at_addr(f.addr + insn->offset + 1),
			    EINVAL, TRAMP_REASON_NOT_BOUNDARY);
		CHECK_EQ(a.refusal.addr, f.addr + insn->offset, "the nearest boundary");
		a = refused("last byte, by offset", prog,
			    at_symbol("vfs_read", insn->offset + insn->len - 1), EINVAL,
			    TRAMP_REASON_NOT_BOUNDARY);
		CHECK_EQ(a.refusal.addr, f.addr + insn->offset, "the nearest boundary");
	}
	a = refused("end of the function", prog, at_symbol("vfs_read", f.size), EINVAL,
		    TRAMP_REASON_OFFSET_RANGE);
	CHECK(a.refusal.detail[0], "how long it is");
	refused("behind the function", prog, at_symbol("vfs_read", f.size + 100), EINVAL,
		TRAMP_REASON_OFFSET_RANGE);
	refused("far behind", prog, at_symbol("vfs_read", 1ULL << 40), EINVAL,
		TRAMP_REASON_OFFSET_RANGE);
	refused("offset -1", prog, at_symbol("vfs_read", ~0ULL), EINVAL, TRAMP_REASON_OFFSET_RANGE);
	probe_func_free(&f);

	/* The middle of our own jump, and of the NOPs behind our own int3. */
	p = attach_insn(OURS, prog, inc.form, TRAMP_ATTACH_F_NO_JUMP, 0);
	a = refused("behind our int3", prog, at_addr(inc.form + 1), EINVAL,
		    TRAMP_REASON_NOT_BOUNDARY);
	CHECK_EQ(a.refusal.addr, inc.form, "the nearest boundary");
	detach(&p);
	p = attach_insn(OURS, prog, inc.form, 0, 0);
	probe_flush();
	attachment_expect(&p, TRAMP_MODE_JUMP, 0, "a jump");
	for (i = 1; i < 6; i++) {
		if (inc.form + i == inc.end)	/* where the next instruction starts */
			continue;
		a = refused("middle of our own jump", prog, at_addr(inc.form + i), EINVAL,
			    TRAMP_REASON_NOT_BOUNDARY);
		CHECK_EQ(a.refusal.addr, inc.form + i < inc.end ? inc.form : inc.end,
			 "the nearest boundary");
	}
	/* The refusals have not changed the probe. */
	attachment_expect(&p, TRAMP_MODE_JUMP, 0, "still a jump");
	detach(&p);
	done();
}

/* Code that must not be probed. */
static void test_forbidden(void)
{
	static const char *const blacklisted[] = {
		"exc_int3", "do_int3", "asm_exc_int3", "entry_SYSCALL_64", "notify_die",
		"kprobe_int3_handler", "get_kprobe", "exc_page_fault", "ct_nmi_enter",
	};
	static const char *const init[] = { "start_kernel", "kernel_init_freeable", "trap_init" };
	struct tramp_attach a = at_addr(0);
	struct text_sym *syms;
	struct probe_func f;
	uint32_t n = 0, k;
	size_t nr, i;

	setup();
	for (i = 0; i < sizeof(blacklisted) / sizeof(blacklisted[0]); i++) {
		uint64_t addr = ksym_addr(blacklisted[i]);

		if (!addr)
			continue;
		n++;
		refused(blacklisted[i], prog, at_symbol(blacklisted[i], 0), EINVAL,
			TRAMP_REASON_BLACKLISTED);
		refused(blacklisted[i], prog, at_addr(addr), EINVAL, TRAMP_REASON_BLACKLISTED);
	}
	CHECK(n >= 5, "only %u of the blacklisted functions exist", n);
	for (n = 0, i = 0; i < sizeof(init) / sizeof(init[0]); i++) {
		uint64_t addr = ksym_addr(init[i]);

		if (!addr)
			continue;
		n++;
		refused(init[i], prog, at_addr(addr), EINVAL, TRAMP_REASON_INIT_TEXT);
	}
	CHECK(n, "no function of init exists");

	syms = text_symbols(&nr);
	for (n = 0, i = 0; i < nr && n < 5; i++)
		if (!strcmp(syms[i].module, "trampoline")) {
			refused(syms[i].name, prog, at_addr(syms[i].addr), EOPNOTSUPP,
				TRAMP_REASON_OWN_MODULE);
			n++;
		}
	CHECK(n, "trampoline.ko has no functions");
	free(syms);

	/* Text that the kernel patches itself. */
	REQUIRE(!probe_explain(&f, 0, "tt_patched", false), "tt_patched");
	for (n = 0, k = 0; k < f.nr; k++) {
		if (f.insns[k].reason != TRAMP_REASON_RESERVED ||
		    f.insns[k].mode != TRAMP_MODE_NONE)
			continue;
		n++;
		refused("a jump label or static call", prog, at_addr(f.addr + f.insns[k].offset),
			EINVAL, TRAMP_REASON_RESERVED);
	}
	CHECK_EQ(n, 2, "tt_patched: a jump label and a static call");
	probe_func_free(&f);

	/* An int3 that is part of the code: the kernel's kprobe, which takes none, is not asked. */
	a = at_addr(form_named(dev, "tt_form_int3_1").form);
	a = refused("int3 in the text", prog, a, EOPNOTSUPP, TRAMP_REASON_INSN_FIXED);
	CHECK(!a.refusal.detail[0], "'%s'", a.refusal.detail);
	done();
}

/* Probes that are possible, but not under the conditions that the caller made. */
static void test_conditions(void)
{
	struct tramp_attach a;
	struct attachment p;
	uint64_t hits, missed, form;
	int32_t err;
	int other;

	setup();
	p = attach_insn(OURS, prog, inc.probe, 0, 0);
	refused("the same program again", prog, at_addr(inc.probe), EBUSY,
		TRAMP_REASON_ALREADY_ATTACHED);
	detach(&p);

	a = at_addr(probe_fixup_in("tt_extable"));
	a.flags = TRAMP_ATTACH_F_NO_KPROBE;
	refused("a fix-up, no kprobe", prog, a, EOPNOTSUPP, TRAMP_REASON_INSN_FIXUP);

	other = bpf_program__fd(probe_skel->progs.ask_func_ip);
	a = at_symbol("tt_hot0", 0);
	a.flags = TRAMP_ATTACH_F_NO_KPROBE;
	refused("an entry, for bpf_get_func_ip()", other, a, EOPNOTSUPP, TRAMP_REASON_FUNC_IP);

	probe_flush();
	form = inc.form;
	kprobes_on(dev, TT_KPROBE_COUNT, &form, &err, 1);
	CHECK_EQ(err, 0, "a kprobe of the kernel");
	a = at_addr(inc.form);
	a.flags = TRAMP_ATTACH_F_NO_KPROBE;
	refused("where the kernel has a kprobe", prog, a, EBUSY, TRAMP_REASON_KPROBE_THERE);
	kprobes_off(dev, &hits, &missed, NULL, 1);

	ftrace_switch(false);
	refused("an entry, ftrace switched off", prog, at_symbol("tt_hot0", 0), ENODEV,
		TRAMP_REASON_FTRACE_DISABLED);
	a = at_addr(inc.form);
	a.flags = TRAMP_ATTACH_F_NO_KPROBE;
	refused("an int3, ftrace switched off", prog, a, ENODEV, TRAMP_REASON_FTRACE_DISABLED);
	ftrace_switch(true);
	done();
}

/* Programs. */
static int load(enum bpf_prog_type type, enum bpf_attach_type attach, uint32_t flags)
{
	static const struct bpf_insn insns[] = {
		{ .code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0, .imm = 0 },
		{ .code = BPF_JMP | BPF_EXIT },
	};
	LIBBPF_OPTS(bpf_prog_load_opts, opts, .expected_attach_type = attach,
		    .prog_flags = flags);

	return bpf_prog_load(type, "vmtest", "GPL", insns, 2, &opts);
}

#define MULTI	42	/* BPF_TRACE_KPROBE_MULTI */
#define SLEEPS	(1U << 4) /* BPF_F_SLEEPABLE */

static void test_programs(void)
{
	static const struct {
		const char *what;
		enum bpf_prog_type type;
		int attach;
		uint32_t flags, reason;
	} types[] = {
		{ "socket filter", BPF_PROG_TYPE_SOCKET_FILTER, 0, 0, TRAMP_REASON_PROG_TYPE },
		{ "tracepoint", BPF_PROG_TYPE_TRACEPOINT, 0, 0, TRAMP_REASON_PROG_TYPE },
		{ "raw tracepoint", BPF_PROG_TYPE_RAW_TRACEPOINT, 0, 0, TRAMP_REASON_PROG_TYPE },
		{ "XDP", BPF_PROG_TYPE_XDP, 0, 0, TRAMP_REASON_PROG_TYPE },
		{ "perf event", BPF_PROG_TYPE_PERF_EVENT, 0, 0, TRAMP_REASON_PROG_TYPE },
		{ "traffic control", BPF_PROG_TYPE_SCHED_CLS, 0, 0, TRAMP_REASON_PROG_TYPE },
		{ "kprobe.multi", BPF_PROG_TYPE_KPROBE, MULTI, 0, TRAMP_REASON_ATTACH_TYPE },
		{ "for user space, sleepable", BPF_PROG_TYPE_KPROBE, 0, SLEEPS,
		  TRAMP_REASON_PROG_TYPE },
	};
	struct tramp_attach want = at_addr(0);
	struct bpf_object *obj;
	struct attachment p;
	int i, fd;

	setup();
	want.addr = inc.probe;
	for (i = 0; i < (int)(sizeof(types) / sizeof(types[0])); i++) {
		fd = load(types[i].type, types[i].attach, types[i].flags);
		if (fd < 0) {
			ktap_note("%s: this kernel loads none: %s", types[i].what, strerror(-fd));
			continue;
		}
		refused(types[i].what, fd, want, EINVAL, types[i].reason);
		close(fd);
	}
	fd = prog_clone(probe_skel->progs.count, "tt_hot0", BPF_TRACE_FENTRY);
	refused("fentry, with an address", fd, want, EINVAL, TRAMP_REASON_SYNTAX);
	refused("fentry, with a symbol", fd, at_symbol("tt_hot0", 0), EINVAL, TRAMP_REASON_SYNTAX);
	close(fd);
	obj = probe_skel->obj;
	refused("no descriptor", -1, want, EBADF, TRAMP_REASON_BAD_PROG_FD);
	refused("a closed descriptor", 9999, want, EBADF, TRAMP_REASON_BAD_PROG_FD);
	refused("a file", dev, want, EBADF, TRAMP_REASON_BAD_PROG_FD);
	refused("a map", bpf_map__fd(bpf_object__find_map_by_name(obj, "recursed")), want, EBADF,
		TRAMP_REASON_BAD_PROG_FD);
	p = attach_insn(OURS, prog, inc.form, 0, 0);
	refused("a link", p.fd, want, EBADF, TRAMP_REASON_BAD_PROG_FD);
	fd = load(BPF_PROG_TYPE_TRACEPOINT, 0, 0);
	CHECK(bpf_link_update(p.fd, fd, NULL) == -EINVAL, "update to a tracepoint program");
	close(fd);
	fd = load(BPF_PROG_TYPE_KPROBE, MULTI, 0);
	if (fd >= 0)
		CHECK(bpf_link_update(p.fd, fd, NULL) == -EINVAL, "update to a kprobe.multi program");
	close(fd);
	cases += 2;
	form_run(dev, inc.index, 5, 1);
	CHECK_EQ(attachment_query(&p).hits, 5, "what was there before goes on");
	detach(&p);
	done();
}

/* The right to attach: a child with @caps alone tries. */
static void caps_case(const char *what, uint64_t caps, int err, uint32_t reason)
{
	struct __user_cap_header_struct head = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct data[2] = {
		{ .effective = (uint32_t)caps, .permitted = (uint32_t)caps },
		{ .effective = caps >> 32, .permitted = caps >> 32 },
	};
	int status;
	pid_t pid;

	tramp_device();
	fflush(stdout);
	pid = fork();
	REQUIRE(pid >= 0, "fork");
	if (!pid) {
		struct tramp_attach want = at_addr(inc.probe);
		struct attachment p;

		REQUIRE(!syscall(SYS_capset, &head, data), "capset: %s", strerror(errno));
		p = attach_want(prog, &want);
		CHECK_EQ(-p.err, err, "%s", what);
		if (err)
			CHECK_EQ(p.reply.refusal.reason, reason, "%s", what);
		exit(ktap_failures() ? 1 : 0);
	}
	waitpid(pid, &status, 0);
	CHECK_EQ(status, 0, "%s", what);
	cases++;
}

/* The place is an address, which not everybody may name (test_rights.c has the rest). */
static void test_permissions(void)
{
	const uint64_t bpf = 1ULL << CAP_BPF, perfmon = 1ULL << CAP_PERFMON;
	const uint64_t syslog = 1ULL << CAP_SYSLOG;

	setup();
	caps_case("no capability", 0, EPERM, TRAMP_REASON_PERMISSION);
	caps_case("CAP_BPF", bpf, EPERM, TRAMP_REASON_PERMISSION);
	caps_case("CAP_PERFMON", perfmon, EPERM, TRAMP_REASON_PERMISSION);
	caps_case("CAP_BPF and CAP_PERFMON", bpf | perfmon, EPERM, TRAMP_REASON_HIDDEN_ADDRESS);
	caps_case("these and CAP_SYSLOG", bpf | perfmon | syslog, 0, 0);
	done();
}

/* EXPLAIN_CODE. */
static void explain_case(const char *what, struct tramp_explain_code ex, int err, uint32_t reason)
{
	int got;

	ex.size = sizeof(ex);
	got = ioctl(tramp_device(), TRAMP_IOC_EXPLAIN_CODE, &ex) ? errno : 0;
	cases++;
	CHECK(got == err && ex.refusal.reason == reason, "%s: %s (%s, '%s'), not %s (%s)", what,
	      strerror(got), tramp_reason_name(ex.refusal.reason), ex.refusal.detail, strerror(err),
	      tramp_reason_name(reason));
}

static void test_explain(void)
{
	static struct tramp_insn_info insns[16];
	static uint8_t code[16];
	struct tramp_explain_code ex;

	setup();
#define EX(...) ((struct tramp_explain_code){ __VA_ARGS__ })
	explain_case("nothing asked", EX(.flags = 0), EINVAL, TRAMP_REASON_SYNTAX);
	explain_case("unknown flag", EX(.flags = 2, .symbol = "vfs_read"), EINVAL,
		     TRAMP_REASON_SYNTAX);
	explain_case("address and symbol", EX(.addr = inc.func, .symbol = "vfs_read"), EINVAL,
		     TRAMP_REASON_SYNTAX);
	explain_case("an offset without F_ONE", EX(.offset = 4, .symbol = "vfs_read"), EINVAL,
		     TRAMP_REASON_SYNTAX);
	explain_case("unknown symbol", EX(.symbol = "no_such_function"), ENOENT,
		     TRAMP_REASON_NO_SUCH_FUNCTION);
	explain_case("data", EX(.addr = ksym_addr("jiffies")), EINVAL, TRAMP_REASON_NOT_TEXT);
	explain_case("beyond the function",
		     EX(.flags = TRAMP_CODE_F_ONE, .symbol = "vfs_read", .offset = 1 << 20), EINVAL,
		     TRAMP_REASON_OFFSET_RANGE);
	explain_case("between instructions",
		     EX(.flags = TRAMP_CODE_F_ONE, .addr = inc.form + 1), EINVAL,
		     TRAMP_REASON_NOT_BOUNDARY);
	explain_case("few entries", EX(.symbol = "vfs_read", .insns = (uintptr_t)insns,
				       .nr_insns = 16), EMSGSIZE, TRAMP_REASON_NONE);
	explain_case("few bytes", EX(.symbol = "vfs_read", .code = (uintptr_t)code,
				     .code_len = 16), EMSGSIZE, TRAMP_REASON_NONE);
	explain_case("a bad buffer", EX(.symbol = "vfs_read", .insns = 0x1000, .nr_insns = 100000),
		     EFAULT, TRAMP_REASON_NONE);
	memset(&ex, 0, sizeof(ex));
	memset(ex.symbol, 'a', sizeof(ex.symbol));
	explain_case("a name without its zero", ex, EINVAL, TRAMP_REASON_SYNTAX);
	done();
}

static const struct ktap_test tests[] = {
	{ "syntax", test_syntax, 60 },
	{ "not_text", test_not_text, 60 },
	{ "names", test_names, 60 },
	{ "boundaries", test_boundaries, 60 },
	{ "forbidden", test_forbidden, 60 },
	{ "conditions", test_conditions, 60 },
	{ "programs", test_programs, 60 },
	{ "permissions", test_permissions, 60 },
	{ "explain", test_explain, 60 },
};

KTAP_MAIN(tests)
