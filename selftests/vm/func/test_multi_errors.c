// SPDX-License-Identifier: GPL-2.0
/*
 * Requests of ATTACH_MULTI of which something is wrong: each has its errno and reason, names
 * the function it is about, and leaves nothing behind.
 */
#include <errno.h>
#include <linux/bpf.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>
#include "fixture.h"
#include "many.h"
#include "multi.h"
#include "probe.h"
#include "record.h"
#include "selftests/vm/func/multi.skel.h"
#include "selftests/vm/lib/probe_progs.skel.h"
#include "selftests/vm/lib/record.skel.h"

static struct multi *skel;
static int dev, prog;

static void setup(void)
{
	dev = fixture_open("about our refusals");
	skel = FIXTURE_LOAD(multi);
	prog = bpf_program__fd(skel->progs.on_hit);
}

/* Refused as a whole. @failed: the function it is about. */
static void expect(const char *what, struct many *m, uint32_t flags, int err, uint32_t reason,
		   uint32_t failed)
{
	int fds = open_fds(), got = many_attach_try(m, prog, flags);

	CHECK_EQ(got, err, "%s: errno", what);
	CHECK_EQ(m->cmd.refusal.reason, reason, "%s: %s %s", what,
		 tramp_reason_name(m->cmd.refusal.reason), m->cmd.refusal.detail);
	if (m->cmd.nr)
		CHECK_EQ(m->cmd.failed, failed, "%s: function", what);
	CHECK_EQ(m->cmd.link_fd, -1, "%s: fd", what);
	CHECK_EQ(open_fds(), fds, "%s: file descriptors", what);
	CHECK_EQ(tramp_module().links, 0, "%s: links", what);
}

static void test_form(void)
{
	struct many *m;

	setup();
	m = many_new();
	expect("no functions", m, 0, -EINVAL, TRAMP_REASON_SYNTAX, 0);
	many_add_name(m, "tt_hot0");
	expect("unknown flag", m, 1U << 31, -EINVAL, TRAMP_REASON_SYNTAX, 1);
	m->cmd.names_len = 1;
	expect("addresses and names", m, 0, -EINVAL, TRAMP_REASON_SYNTAX, 1);
	m->cmd.names_len = 0;
	m->cmd.nr = TRAMP_MULTI_MAX + 1;
	expect("too many", m, 0, -EINVAL, TRAMP_REASON_SYNTAX, m->cmd.nr);
	m->cmd.nr = 1;
	m->cmd.addrs = 0;
	expect("no addresses", m, 0, -EINVAL, TRAMP_REASON_SYNTAX, 1);
	m->cmd.addrs = 8;
	expect("a bad pointer", m, 0, -EFAULT, 0, 1);
	m->cmd.addrs = (uintptr_t)m->addrs;
	m->cmd.cookies = 8;
	expect("a bad pointer to cookies", m, 0, -EFAULT, 0, 1);
	m->cmd.cookies = 0;
	m->cmd.reasons = 8;
	expect("a bad pointer to reasons", m, 0, -EFAULT, 0, 1);
	CHECK(!m->cmd.link_id && !m->cmd.kind && !m->cmd.key && !m->cmd.nr_attached,
	      "a bad pointer to reasons: link %u, kind %u, key %#llx, %u functions", m->cmd.link_id,
	      m->cmd.kind, (unsigned long long)m->cmd.key, m->cmd.nr_attached);
	m->cmd.reasons = 0;
	prog = 9999;
	expect("no program", m, 0, -EBADF, TRAMP_REASON_BAD_PROG_FD, 1);
	free(m);
}

#define MOV(reg, value)	{ .code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = (reg), .imm = (value) }
#define CALL(helper)	{ .code = BPF_JMP | BPF_CALL, .imm = (helper) }
#define EXIT		{ .code = BPF_JMP | BPF_EXIT }

/* A kprobe program of @nr instructions, or a negative errno. */
static int load(const struct bpf_insn *insns, size_t nr, uint32_t attach_type, uint32_t flags)
{
	LIBBPF_OPTS(bpf_prog_load_opts, opts, .expected_attach_type = attach_type,
		    .prog_flags = flags);

	return bpf_prog_load(BPF_PROG_TYPE_KPROBE, "of_kprobe", "GPL", insns, nr, &opts);
}

/* Kprobe programs that cannot be attached to many functions, as far as this kernel loads them. */
static void test_kprobe_program(void)
{
	static const struct bpf_insn plain[] = { MOV(0, 0), EXIT };
	static const struct bpf_insn func_ip[] = { CALL(BPF_FUNC_get_func_ip), MOV(0, 0), EXIT };
	static const struct bpf_insn override[] = {
		MOV(2, 0), CALL(BPF_FUNC_override_return), MOV(0, 0), EXIT,
	};
	enum { UPROBE_MULTI = 48 };	/* BPF_TRACE_UPROBE_MULTI, newer than these headers */
	struct many *m = many_new();

	setup();
	many_add_name(m, "tt_hot0");
	prog = load(plain, 2, UPROBE_MULTI, 0);
	REQUIRE(prog >= 0, "uprobe.multi: %s", strerror(-prog));
	expect("uprobe.multi", m, 0, -EINVAL, TRAMP_REASON_ATTACH_TYPE, 1);
	prog = load(plain, 2, 0, BPF_F_SLEEPABLE);
	REQUIRE(prog >= 0, "sleepable: %s", strerror(-prog));
	expect("sleepable", m, 0, -EINVAL, TRAMP_REASON_PROG_TYPE, 1);
	prog = load(func_ip, 3, 0, 0);
	REQUIRE(prog >= 0, "bpf_get_func_ip(): %s", strerror(-prog));
	expect("bpf_get_func_ip()", m, 0, -EOPNOTSUPP, TRAMP_REASON_FUNC_IP, 1);
	prog = load(override, 4, 0, 0);
	if (prog < 0)
		ktap_note("no CONFIG_BPF_KPROBE_OVERRIDE here: %s", strerror(-prog));
	else
		expect("bpf_override_return()", m, 0, -EINVAL, TRAMP_REASON_PROG_OVERRIDE, 1);
	free(m);
}

static void test_program(void)
{
	struct record *record;
	struct many *m = many_new();

	setup();
	record = FIXTURE_LOAD(record);
	many_add_name(m, "tt_hot0");
	prog = prog_clone(record->progs.count_entry, "tt_hot0", BPF_TRACE_FENTRY);
	expect("a tracing program", m, 0, -EINVAL, TRAMP_REASON_PROG_TYPE, 1);
	CHECK(strstr(m->cmd.refusal.detail, "at many functions, not kprobe"), "%s",
	      m->cmd.refusal.detail);
	free(m);
}

/* Two names in a request of two. */
static void names(const char *what, const char *text, uint32_t len, int err, uint32_t reason,
		  uint32_t failed)
{
	struct many *m = many_new();

	m->cmd.nr = 2;
	m->cmd.addrs = 0;
	m->cmd.names = (uintptr_t)text;
	m->cmd.names_len = len;
	expect(what, m, 0, err, reason, failed);
	free(m);
}

#define NAMES(text) text, sizeof(text)

static void test_names(void)
{
	char *twice = ambiguous_symbol(), text[TRAMP_SYM_LEN + 16];
	uint32_t text_len;

	setup();
	names("no such", NAMES("tt_hot1\0tt_hot"), -ENOENT, TRAMP_REASON_NO_SUCH_FUNCTION, 1);
	names("no such module", NAMES("tt_hot:tt_hot1\0tt_hot0"), -ENOENT,
	      TRAMP_REASON_NO_SUCH_FUNCTION, 0);
	text_len = sprintf(text, "tt_hot1%c%s", 0, twice) + 1;
	names("ambiguous", text, text_len, -EINVAL, TRAMP_REASON_AMBIGUOUS, 1);
	free(twice);
	names("ambiguous in a module", NAMES("tt_hot1\0trampoline_test:tt_twin"), -EINVAL,
	      TRAMP_REASON_AMBIGUOUS, 1);
	names("twice", NAMES("tt_hot1\0tt_hot1"), -EBUSY, TRAMP_REASON_ALREADY_ATTACHED, 1);
	/* So it is found, although data has its name, too. */
	names("with data of its name",
	      NAMES("trampoline_test:tt_shadowed\0trampoline_test:tt_shadowed"), -EBUSY,
	      TRAMP_REASON_ALREADY_ATTACHED, 1);
	names("and with its module", NAMES("trampoline_test:tt_hot1\0tt_hot1"), -EBUSY,
	      TRAMP_REASON_ALREADY_ATTACHED, 1);
	names("data", NAMES("tt_hot1\0jiffies"), -ENOENT, TRAMP_REASON_NO_SUCH_FUNCTION, 1);
	names("one too few", NAMES("tt_hot1"), -EINVAL, TRAMP_REASON_SYNTAX, 2);
	names("one too many", NAMES("tt_hot1\0tt_hot2\0tt_hot3"), -EINVAL, TRAMP_REASON_SYNTAX, 2);
	names("an empty one", NAMES("tt_hot1\0"), -EINVAL, TRAMP_REASON_SYNTAX, 2);
	names("without an end", "tt_hot1\0tt_hot2", 15, -EINVAL, TRAMP_REASON_SYNTAX, 2);
	names("no bytes", "", 0, -EINVAL, TRAMP_REASON_SYNTAX, 2);
	names("too many bytes", "", TRAMP_MULTI_NAMES_MAX + 1, -EINVAL, TRAMP_REASON_SYNTAX, 2);
	names("a bad pointer", (const char *)8, 100, -EFAULT, 0, 2);
}

/* One function of 5,000 that cannot be attached to. */
#define MANY	5000
#define BAD	1234

static void one_bad(const char *what, uint64_t addr, int err, uint32_t reason)
{
	struct many *m = many_new();
	uint32_t i;

	many_fill(m, MANY);
	m->addrs[BAD] = addr;
	expect(what, m, 0, err, reason, BAD);
	REQUIRE(!many_attach_try(m, prog, TRAMP_MULTI_F_SKIP), "%s: %s", what,
		tramp_reason_name(m->cmd.refusal.reason));
	CHECK_EQ(m->reasons[BAD], reason, "%s: %s", what, tramp_reason_name(m->reasons[BAD]));
	for (i = 0; i < m->cmd.nr; i++)
		CHECK(i == BAD || !m->reasons[i], "%s: function %u: %s", what, i,
		      tramp_reason_name(m->reasons[i]));
	CHECK_EQ(m->cmd.nr_attached, MANY - 1, "%s: attached", what);
	many_detach(m);
}

/* Names of functions, each of which means one. The snapshot keeps them. */
static void fill_names(const char **to, struct tramp_syms *syms)
{
	const char *all = "vmlinux:*";
	TRAMP_OPTS(tramp_select_opts, what, .patterns = &all, .pattern_cnt = 1);
	struct tramp_selection *sel = tramp_syms__select(syms, &what);
	size_t i, nr = 0;

	REQUIRE(sel, "%s", tramp_last_error()->message);
	for (i = 0; nr < MANY && i < tramp_selection__count(sel); i++) {
		const struct tramp_sym *sym = tramp_selection__get(sel, i)->sym;

		if (tramp_syms__find(syms, sym->name) == sym && strcmp(sym->name, MANY_HOOKED))
			to[nr++] = sym->name;
	}
	REQUIRE(nr == MANY, "%zu names", nr);
	tramp_selection__free(sel);
}

static void test_one_bad_name(void)
{
	static const char *name[MANY];
	static uint32_t reasons[MANY];
	size_t attached = 0;
	TRAMP_OPTS(tramp_multi_opts, opts, .names = name, .cnt = MANY, .reasons = reasons,
		   .attached = &attached);
	struct tramp_syms *syms;
	struct tramp_link *link;
	int fds;

	setup();
	tramp_set_print(NULL);
	syms = tramp_syms__load(NULL);
	REQUIRE(syms, "%s", tramp_last_error()->message);
	fill_names(name, syms);
	fds = open_fds();
	link = tramp_attach_multi(skel->progs.on_hit, &opts);
	REQUIRE(link, "all good: %s", tramp_last_error()->message);
	CHECK_EQ(attached, MANY, "all good");
	tramp_link__destroy(link);
	name[BAD] = "no_such_function_here";
	CHECK(!tramp_attach_multi(skel->progs.on_hit, &opts), "one bad");
	CHECK_EQ(tramp_last_error()->reason, TRAMP_REASON_NO_SUCH_FUNCTION, "%s",
		 tramp_last_error()->message);
	CHECK(strstr(tramp_last_error()->message, name[BAD]), "%s", tramp_last_error()->message);
	CHECK_EQ(tramp_module().links, 0, "links");
	CHECK_EQ(open_fds(), fds, "file descriptors");
	opts.flags = TRAMP_MULTI_F_SKIP;
	link = tramp_attach_multi(skel->progs.on_hit, &opts);
	REQUIRE(link, "skip: %s", tramp_last_error()->message);
	CHECK_EQ(attached, MANY - 1, "skip");
	CHECK_EQ(reasons[BAD], TRAMP_REASON_NO_SUCH_FUNCTION, "%s",
		 tramp_reason_name(reasons[BAD]));
	tramp_link__destroy(link);
	tramp_syms__free(syms);
}

static void test_one_bad(void)
{
	setup();
	one_bad("no function", ksym_addr("tt_hot0") + 1, -ENOENT, TRAMP_REASON_NO_SUCH_FUNCTION);
	one_bad("user space", 0x1000, -ENOENT, TRAMP_REASON_NO_SUCH_FUNCTION);
	one_bad("notrace", ksym_addr("notify_die"), -EOPNOTSUPP, TRAMP_REASON_NOT_TRACEABLE);
}

static void test_twice(void)
{
	struct many *m = many_new();

	setup();
	many_add_name(m, "tt_hot0");
	many_add_name(m, "tt_hot1");
	many_add_name(m, "tt_hot0");
	expect("a function twice", m, 0, -EBUSY, TRAMP_REASON_ALREADY_ATTACHED, 2);
	REQUIRE(!many_attach_try(m, prog, TRAMP_MULTI_F_SKIP), "%s",
		tramp_reason_name(m->cmd.refusal.reason));
	CHECK_EQ(m->cmd.nr_attached, 2, "attached");
	CHECK_EQ(m->reasons[2], TRAMP_REASON_ALREADY_ATTACHED, "the second");
	tt_call(dev, "tt_hot0 n=3 1");
	CHECK_EQ(skel->bss->hits, 3, "hits");
	many_detach(m);
	/* Neither is attached to. */
	m = many_new();
	many_add_name(m, "notify_die");
	many_add_name(m, "tt_hot0");
	many_add_name(m, "notify_die");
	many_attach(m, prog, TRAMP_MULTI_F_SKIP);
	CHECK_EQ(m->cmd.nr_attached, 1, "attached");
	CHECK_EQ(m->reasons[0], TRAMP_REASON_NOT_TRACEABLE, "the first");
	CHECK_EQ(m->reasons[2], TRAMP_REASON_NOT_TRACEABLE, "the second, of one left out");
	many_detach(m);
	m = many_new();
	many_add(m, 0x1000);
	expect("none is left", m, TRAMP_MULTI_F_SKIP, -EINVAL, TRAMP_REASON_SYNTAX, 1);
	free(m);
}

/* The kernel has the site already: then it is not to be had. So have we: then it is shared. */
static void test_held(void)
{
	struct record *record;
	struct many *m = many_new(), *other = many_new();
	struct attachment a;
	int entry;

	setup();
	record = FIXTURE_LOAD(record);
	entry = prog_clone(record->progs.count_entry, "tt_hot0", BPF_TRACE_FENTRY);
	many_add_name(m, "tt_hot1");
	many_add_name(m, "tt_hot0");

	a = attach_func(KERNEL, entry, NULL);
	expect("the kernel's", m, 0, -EBUSY, TRAMP_REASON_SITE_HELD, 1);
	detach(&a);
	/* The kernel gives the site back a little later. */
	while (many_attach_try(m, prog, 0))
		usleep(10000);
	/* Ours share it, the same program as well: it runs once for each link. */
	many_add_name(other, "tt_hot1");
	many_attach(other, prog, 0);
	a = attach_func(OURS, entry, &(uint64_t){ 0 });
	CHECK_EQ(a.reply.mode, TRAMP_MODE_DIRECT, "mode");
	tt_call(dev, "tt_hot0 n=5 1");
	CHECK_EQ(skel->bss->hits, 5, "of many");
	CHECK_EQ(record->bss->counted[0], 5, "of one");
	tt_call(dev, "tt_hot1 n=5 1");
	CHECK_EQ(skel->bss->hits, 15, "of many, twice");
	detach(&a);
	many_detach(other);
	tt_call(dev, "tt_hot1 n=5 1");
	CHECK_EQ(skel->bss->hits, 20, "of many, once");
	many_detach(m);
}

/* The module of a function that is a member stays. */
static void test_module(void)
{
	struct many *m = many_new();

	setup();
	many_add_name(m, "tt_hot0");
	many_add_name(m, "vfs_read");
	many_attach(m, prog, 0);
	close(dev);
	CHECK_EQ(module_unload("trampoline_test"), -EAGAIN, "unloading it with an attachment");
	dev = tt_open();
	tt_call(dev, "tt_hot0 n=5 1");
	many_detach(m);
}

static volatile bool other_is_back;

static void *detach_other(void *link)
{
	CHECK_EQ(bpf_link_detach(*(int *)link), 0, "the first BPF_LINK_DETACH");
	other_is_back = true;
	return NULL;
}

/* How many functions ftrace has somebody at. */
static int enabled_functions(void)
{
	return file_lines("/sys/kernel/tracing/enabled_functions");
}

/* A task that comes while another one detaches a link of all functions waits, too. */
static void test_detached_twice(void)
{
	struct many *m;
	pthread_t other;
	uint64_t begin;
	int before, n;
	bool late;

	setup();
	before = enabled_functions();
	m = many_new();
	many_fill_all(m);
	many_attach(m, prog, TRAMP_MULTI_F_SKIP);
	REQUIRE(!pthread_create(&other, NULL, detach_other, &m->cmd.link_fd), "a thread");
	/* It is under way. */
	while (tramp_query_link(m->cmd.link_id).mode != TRAMP_MODE_NONE)
		usleep(1000);
	begin = now_ns();
	late = other_is_back;
	CHECK_EQ(bpf_link_detach(m->cmd.link_fd), 0, "the second BPF_LINK_DETACH");
	CHECK(!late, "the first was over before the second one began");
	ktap_note("waited %lu ms", (now_ns() - begin) / 1000000);
	/* ftrace is kept switched on by one more, for a second. */
	n = enabled_functions() - before;
	CHECK(n <= 1, "%d functions are still traced", n);
	pthread_join(other, NULL);
	many_detach(m);
	check_nothing_left();
}

/* A probe of ours at the first instruction of a function that can have an int3. */
static struct attachment put_probe(const char *func)
{
	struct attachment a;
	struct probe_func f;
	uint32_t i = 0;

	REQUIRE(!probe_explain(&f, 0, func, false), "%s cannot be explained", func);
	while (i < f.nr && f.insns[i].mode != TRAMP_MODE_INT3 && f.insns[i].mode != TRAMP_MODE_JUMP)
		i++;
	REQUIRE(i < f.nr, "%s has no place for a probe", func);
	a = attach_insn(OURS, bpf_program__fd(probe_skel->progs.count),
			f.addr + f.insns[i].offset, 0, 0);
	probe_func_free(&f);
	return a;
}

/*
 * Probes of ours have a hook at a function of the kernel's, beside which no direct call can be. So
 * it is left out, and its hook is there when probes come later.
 */
static void test_hooked(void)
{
	struct attachment probe = {};
	struct many *m;
	int before;
	uint32_t mode;

	setup();
	probe_setup();
	for (before = 1; before >= 0; before--) {
		if (before)
			probe = put_probe("tt_hot2");
		m = many_new();
		many_add_name(m, MANY_HOOKED);
		many_add_name(m, "tt_hot1");
		skel->bss->hits = 0;
		many_attach(m, prog, TRAMP_MULTI_F_SKIP);
		CHECK_EQ(m->cmd.nr_attached, 1, "attached");
		CHECK_EQ(m->reasons[0], TRAMP_REASON_SITE_HELD, "the hooked function");
		tt_call(dev, "tt_hot1 n=3 1");
		CHECK_EQ(skel->bss->hits, 3, "hits");
		if (!before)
			probe = put_probe("tt_hot2");
		mode = attachment_query(&probe).mode;
		CHECK(mode == TRAMP_MODE_INT3 || mode == TRAMP_MODE_JUMP, "the probe: mode %u",
		      mode);
		detach(&probe);
		many_detach(m);
		/* Until the hook is given back. */
		sleep(2);
	}
	m = many_new();
	many_add_name(m, "tt_hot1");
	many_add_name(m, MANY_HOOKED);
	expect("the hooked function", m, 0, -EBUSY, TRAMP_REASON_SITE_HELD, 1);
	CHECK(strstr(m->cmd.refusal.detail, "hooks"), "%s", m->cmd.refusal.detail);
	free(m);
}

static const struct ktap_test tests[] = {
	{ "form", test_form, 60 },
	{ "names", test_names, 60 },
	{ "program", test_program, 60 },
	{ "kprobe_program", test_kprobe_program, 60 },
	{ "one_bad_name", test_one_bad_name, 120 },
	{ "one_bad", test_one_bad, 120 },
	{ "twice", test_twice, 60 },
	{ "held", test_held, 60 },
	{ "hooked", test_hooked, 60 },
	{ "module", test_module, 60 },
	{ "detached_twice", test_detached_twice, 120 },
};

KTAP_MAIN(tests)
