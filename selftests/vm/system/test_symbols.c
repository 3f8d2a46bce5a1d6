// SPDX-License-Identifier: GPL-2.0
/*
 * Our module on kernels that lack symbols. When it is loaded it asks the kernel for names, of which
 * the test has no list. Each is hidden once (selftests/kmod/hidden.c), one after the other. Then
 * those without which it loads are hidden together. (The short form hides every third, alone.)
 *
 * It does not load, and says why, or it loads and says what is missing. Then, not for each name,
 * programs are attached in many ways. Each is there and counts all calls, or INFO does not offer
 * it, and it is refused for the missing symbol. Nothing is left of it, and the module can be
 * unloaded.
 *
 * And a symbol that another module has, but not the kernel, is not taken.
 *
 * Environment: LACKING, names of symbols for the test of that name.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/types.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "attachment.h"
#include "fixture.h"
#include "many.h"
#include "ownmod.h"
#include "probe.h"
#include "record.h"
#include "../../kmod/trampoline_test.h"
#include "selftests/vm/lib/probe_progs.skel.h"
#include "selftests/vm/lib/record.skel.h"

#define CALLS 10
/* See selftests/kmod/loading.c. */
#define OF_A_MODULE "__tracepoint_notifier_run"

static int dev;
static struct probe_progs *probes;
static struct record *entries;
static uint64_t behind;		/* the first instruction behind the entry of tt_hot1 */
/* As they are with all symbols. */
static struct tramp_explain hot0;
static uint64_t all_features;
/* The name at hand, what it takes away, and what INFO says is missing. */
static char name[64], lost[512], *missing;
static struct tramp_info info;

/* ---------------------------------------------------------------- programs --- */

static struct attachment at_entry(uint64_t cookie)
{
	return attach_func_try(OURS, prog_clone(entries->progs.count_entry, "tt_hot0",
						BPF_TRACE_FENTRY), &cookie);
}

static struct attachment at_exit(uint64_t cookie)
{
	return attach_func_try(OURS, prog_clone(entries->progs.count_exit, "tt_hot0",
						BPF_TRACE_FEXIT), &cookie);
}

static struct attachment probe(const char *func, uint64_t offset, uint32_t flags, uint64_t cookie)
{
	struct tramp_attach want = { .flags = flags | TRAMP_ATTACH_F_COOKIE, .cookie = cookie,
				     .offset = offset };

	strcpy(want.symbol, func);
	return attach_want(bpf_program__fd(probes->progs.count), &want);
}

static struct attachment at_probed_entry(uint64_t cookie)
{
	return probe("tt_hot1", 0, 0, cookie);
}

static struct attachment at_int3(uint64_t cookie)
{
	return probe("tt_hot1", behind, TRAMP_ATTACH_F_NO_JUMP, cookie);
}

static struct attachment at_jump(uint64_t cookie)
{
	struct attachment a = probe("tt_hot1", behind, 0, cookie);

	if (!a.err)
		probe_flush();
	return a;
}

static struct attachment at_return(uint64_t cookie)
{
	return attach_return_try(OURS, bpf_program__fd(probes->progs.count), "tt_hot1", 0, cookie);
}

/* It has too many arguments for an exit image. */
static struct attachment at_hooked_return(uint64_t cookie)
{
	return attach_return_try(OURS, bpf_program__fd(probes->progs.count), "tt_args13", 0, cookie);
}

static struct attachment at_many(uint64_t cookie, uint32_t flags)
{
	static const char *const funcs[] = { "tt_hot1", "tt_hot2", "tt_hot3" };
	struct attachment a = { .how = OURS };
	struct many *m = many_new();
	int i;

	for (i = 0; i < 3; i++) {
		many_add_name(m, funcs[i]);
		m->cookies[i] = cookie;
	}
	m->cmd.link_fd = -1;
	a.err = many_attach_try(m, bpf_program__fd(probes->progs.count), flags);
	a.fd = m->cmd.link_fd;
	a.reply.refusal = m->cmd.refusal;
	free(m);
	return a;
}

static struct attachment at_entries(uint64_t cookie)
{
	return at_many(cookie, 0);
}

static struct attachment at_returns(uint64_t cookie)
{
	return at_many(cookie, TRAMP_MULTI_F_RETURN);
}

static struct attachment at_both(uint64_t cookie)
{
	return at_many(cookie, TRAMP_MULTI_F_SESSION);
}

/*
 * The ways: which function runs the program, how often in a call, and what INFO offers it by (0:
 * INFO does not say). Whatever keeps programs on many from returns keeps sessions from them, too.
 */
static const struct way {
	const char *what, *func;
	struct attachment (*attach)(uint64_t cookie);
	uint64_t feature;
	unsigned int runs;
} ways[] = {
	{ "fentry", "tt_hot0", at_entry, TRAMP_FEAT_FENTRY, 1 },
	{ "fexit", "tt_hot0", at_exit, TRAMP_FEAT_FEXIT, 1 },
	{ "probe at an entry", "tt_hot1", at_probed_entry, TRAMP_FEAT_KPROBE, 1 },
	{ "int3", "tt_hot1", at_int3, TRAMP_FEAT_KPROBE, 1 },
	{ "jump", "tt_hot1", at_jump, TRAMP_FEAT_JUMP, 1 },
	{ "return", "tt_hot1", at_return, TRAMP_FEAT_KRETPROBE, 1 },
	{ "return by rethook", "tt_args13", at_hooked_return, 0, 1 },
	{ "entries of many", "tt_hot1", at_entries, TRAMP_FEAT_MULTI, 1 },
	{ "returns of many", "tt_hot1", at_returns, TRAMP_FEAT_SESSION_MAP, 1 },
	{ "both of many", "tt_hot1", at_both, TRAMP_FEAT_SESSION_MAP, 2 },
};
#define WAYS ((int)(sizeof(ways) / sizeof(ways[0])))

static uint64_t counted(int i)
{
	return entries->bss->counted[i] + probes->bss->counted[i];
}

/* Refused for a missing symbol, if at all. */
static void check_refusal(const char *what, int err, const struct tramp_refusal *r)
{
	if (!err)
		return;
	CHECK(err == -EOPNOTSUPP && r->reason == TRAMP_REASON_MISSING_SYMBOL,
	      "without %s: %s: %s (%s %s)", name, what, strerror(-err),
	      tramp_reason_name(r->reason), r->detail);
	snprintf(lost + strlen(lost), sizeof(lost) - strlen(lost), "%s%s", *lost ? ", " : ": no ",
		 what);
}

static void check_way(int i)
{
	const struct way *w = &ways[i];
	struct attachment a = w->attach(i);

	entries->bss->counted[i] = probes->bss->counted[i] = 0;
	tt_call(dev, "%s n=%d 5", w->func, CALLS);
	if (info.features & w->feature || (!w->feature && !a.err)) {
		CHECK(!a.err, "without %s: %s: %s (%s %s)", name, w->what, strerror(-a.err),
		      tramp_reason_name(a.reply.refusal.reason), a.reply.refusal.detail);
		CHECK_EQ(counted(i), a.err ? 0 : w->runs * CALLS, "without %s: %s", name, w->what);
	} else {
		CHECK(a.err, "without %s: not offered: %s", name, w->what);
		check_refusal(w->what, a.err, &a.reply.refusal);
		CHECK_EQ(counted(i), 0, "without %s: %s", name, w->what);
	}
	if (!a.err)
		detach(&a);
}

static void check_many(const char *what, struct many *m, int prog, uint64_t feature)
{
	int err = many_attach_try(m, prog, 0);

	check_refusal(what, err, &m->cmd.refusal);
	CHECK(err || !feature || info.features & feature, "without %s: not offered: %s", name, what);
	CHECK(!err || !(info.features & feature), "without %s: offered: %s", name, what);
	if (err)
		free(m);
	else
		many_detach(m);
}

/* A probe in the kernel's own text, which the module knows by symbols. */
static void check_kernel_text(void)
{
	struct attachment a = probe("vfs_read", 0, 0, ~0ULL);

	check_refusal("probe in the kernel", a.err, &a.reply.refusal);
	CHECK_EQ(!a.err, !!(info.features & TRAMP_FEAT_KPROBE), "without %s: a probe in the kernel",
		 name);
	detach(&a);
}

/* By names, which are the kernel's; and with a program that may ask which function it is. */
static void check_more_of_many(void)
{
	static const char names[] = "vfs_read\0vfs_write";
	LIBBPF_OPTS(bpf_prog_load_opts, opts, .expected_attach_type = BPF_TRACE_KPROBE_MULTI);
	const struct bpf_insn insns[] = {
		{ .code = BPF_ALU64 | BPF_MOV | BPF_K },
		{ .code = BPF_JMP | BPF_EXIT },
	};
	struct many *m = many_new();
	int prog;

	m->cmd.nr = 2;
	m->cmd.addrs = 0;
	m->cmd.names = (uintptr_t)names;
	m->cmd.names_len = sizeof(names);
	check_many("names", m, bpf_program__fd(probes->progs.count), 0);

	/* Kernels without fprobe lack their helpers. */
	if (!(all_features & TRAMP_FEAT_MULTI_HELPERS))
		return;
	prog = bpf_prog_load(BPF_PROG_TYPE_KPROBE, "helpers", "GPL", insns, 2, &opts);
	REQUIRE(prog >= 0, "a program for many: %s", strerror(errno));
	m = many_new();
	many_add_name(m, "tt_hot1");
	check_many("helpers of many", m, prog, TRAMP_FEAT_MULTI_HELPERS);
	close(prog);
}

/* Returns of @nr functions, of which one has too many arguments for any image. */
static int returns_of(uint32_t nr, struct many **out)
{
	struct many *m = *out = many_new();

	many_add_name(m, "tt_args13");
	if (nr > 1)
		many_add_name(m, "tt_hot1");
	return many_attach_try(m, bpf_program__fd(probes->progs.count),
			       TRAMP_MULTI_F_RETURN | TRAMP_MULTI_F_SKIP);
}

/* A rethook is for it, or it is left out: then of it alone there is nothing to attach to. */
static void check_left_out(void)
{
	struct many *m;
	int err = returns_of(2, &m);
	bool left_out;

	if (err) {
		check_refusal("returns of any of many", err, &m->cmd.refusal);
		free(m);
		return;
	}
	left_out = m->cmd.nr_attached == 1;
	CHECK_EQ(m->reasons[0], left_out ? TRAMP_REASON_TOO_MANY_ARGS : 0, "without %s", name);
	many_detach(m);
	err = returns_of(1, &m);
	CHECK_EQ(err, left_out ? -EINVAL : 0, "without %s: none is left: %s", name,
		 m->cmd.refusal.detail);
	if (err)
		free(m);
	else
		many_detach(m);
}

/* A question by BTF id is answered, or this symbol is what it takes. */
static void check_by_id(void)
{
	struct tramp_explain ex = { .size = sizeof(ex), .btf_obj_id = hot0.btf_obj_id,
				    .btf_id = hot0.btf_id };
	int err = ownmod_ioctl(TRAMP_IOC_EXPLAIN, &ex);

	if (!err) {
		CHECK(!strcmp(ex.name, "tt_hot0"), "without %s: by BTF id: %s", name, ex.name);
		return;
	}
	check_refusal("functions by BTF id", err, &ex.refusal);
	CHECK(strstr(missing, ex.refusal.detail), "without %s: by BTF id: %s", name,
	      ex.refusal.detail);
}

/* The module is there without the symbol called @name. */
static void check_ways(void)
{
	int i;

	*lost = '\0';
	for (i = 0; i < WAYS; i++)
		check_way(i);
	check_kernel_text();
	check_more_of_many();
	check_left_out();
	tramp_device_close();
	check_by_id();
	ktap_note("%s%s", name, lost);
}

/* ----------------------------------------------------------------- symbols --- */

static void setup(void)
{
	ownmod_setup();
	dev = tt_open();
	probes = FIXTURE_LOAD(probe_progs);
	entries = FIXTURE_LOAD(record);
	behind = probe_behind_site("tt_hot1");
	all_features = tramp_module().features;
	tramp_device_close();
	hot0 = (struct tramp_explain){ .size = sizeof(hot0), .name = "tt_hot0" };
	REQUIRE(!ownmod_ioctl(TRAMP_IOC_EXPLAIN, &hot0) && hot0.btf_id, "explain tt_hot0");
}

static void look(void)
{
	info = ownmod_info();
	free(missing);
	missing = calloc(1, info.missing_len);
	info.missing = (uintptr_t)missing;
	REQUIRE(missing && !ownmod_ioctl(TRAMP_IOC_INFO, &info), "INFO");
}

/* The kernel's log from now on. */
static int log_open(void)
{
	int fd = open("/dev/kmsg", O_RDONLY | O_NONBLOCK | O_CLOEXEC);

	REQUIRE(fd >= 0 && lseek(fd, 0, SEEK_END) >= 0, "/dev/kmsg");
	return fd;
}

static bool log_has(int fd, const char *text)
{
	char line[2048];
	bool has = false;
	ssize_t n;

	while ((n = read(fd, line, sizeof(line) - 1)) > 0) {
		line[n] = '\0';
		has |= strstr(line, "trampoline: ") && strstr(line, text);
	}
	return has;
}

/* Load without the names of these numbers. Return: 0 or a negative errno. */
static int load_without(const char *numbers, unsigned int *asked)
{
	char reply[128];
	int err;

	if (module_loaded("trampoline"))
		REQUIRE(!ownmod_unload("trampoline", 300), "unloading");
	REQUIRE(!tt_command(dev, reply, sizeof(reply), "hide %s", numbers), "hide");
	err = module_load(TRAMPOLINE_KO);
	REQUIRE(!tt_command(dev, reply, sizeof(reply), "hide"), "hide");
	*asked = number_after(reply, "asked=", 0);
	REQUIRE(sscanf(reply, "%*s name=%63s", name) == 1, "reply %s", reply);
	return err;
}

/*
 * Without all @numbers. Where one is hidden the module may ask for another name, and those behind
 * it have other numbers: so not with some of them.
 */
static void check_together(const char *numbers, unsigned int nr)
{
	unsigned int asked;

	CHECK_EQ(load_without(numbers, &asked), 0, "with the required symbols alone");
	look();
	CHECK_EQ(info.symbols_missing, nr, "missing are %s", missing);
	strcpy(name, "all of those");
	check_ways();
}

static void test_each(void)
{
	unsigned int n, asked, required = 0, optional = 0, others = 0;
	/* All of them where time does not matter, elsewhere other ones each time. */
	unsigned int step = time_scale() > 1 ? 1 : kernel_is_rt() ? 5 : 3, start = now_ns() % step;
	unsigned int every = short_form(1, 3), many = 20 / every;
	char number[16], all[1000] = "";
	int log = -1, err = 0;

	setup();
	for (n = 1 + now_ns() % every; ktap_failures() < 5; n += every) {
		log = log_open();
		snprintf(number, sizeof(number), "%u", n);
		err = load_without(number, &asked);
		if (asked < n)
			break;
		CHECK(log_has(log, name), "without %s: the log does not name it", name);
		close(log);
		if (err) {
			CHECK_EQ(err, -ENOENT, "without %s", name);
			CHECK(!module_loaded("trampoline"), "without %s: it is there", name);
			required++;
			continue;
		}
		look();
		if (strstr(missing, name))
			optional++;
		else
			others++;
		if ((n / every + start) % step == 0)
			check_ways();
		REQUIRE(strlen(all) + strlen(number) + 2 < sizeof(all), "room");
		strcat(strcat(all, " "), number);
	}
	close(log);
	CHECK_EQ(err, 0, "with all symbols");
	if (every == 1)
		check_together(all, optional);
	ktap_note("%u required, %u optional, %u others", required, optional, others);
	CHECK(required > many && optional > many, "the hook does not work");
	/* For the tests that come next. */
	REQUIRE(!ownmod_unload("trampoline", 300), "unloading");
	ownmod_reload();
	look();
	CHECK(info.symbols_missing < optional, "missing are %s", missing);
	strcpy(name, "none");
	check_ways();
	CHECK(!*lost, "with all symbols%s", lost);
}

/*
 * For a machine of its own (selftests/vm/system/lacking): the module is there without the symbols
 * that the environment names, for whatever tests come next.
 */
static void test_lacking(void)
{
	char *names = getenv("LACKING"), *symbol;
	unsigned int asked;

	if (!names)
		ktap_skip("LACKING names no symbols");
	setup();
	CHECK_EQ(load_without(names, &asked), 0, "without %s", names);
	look();
	for (symbol = strtok(names, " "); symbol; symbol = strtok(NULL, " "))
		CHECK(strstr(missing, symbol), "%s is not missing", symbol);
	ktap_note("missing are %s", missing);
}

/* The test module has one of those that our module asks for. */
static void test_of_a_module(void)
{
	char *text;
	bool there;

	setup();
	text = read_file("/proc/kallsyms");
	there = strstr(text, " " OF_A_MODULE "\t[trampoline_test]");
	free(text);
	if (!there)
		ktap_skip("the kernel has " OF_A_MODULE);
	REQUIRE(!ownmod_unload("trampoline", 300), "unloading");
	ownmod_reload();
	look();
	CHECK(strstr(missing, OF_A_MODULE "\n"), "missing are only %s", missing);
}

static const struct ktap_test tests[] = {
	{ "of_a_module", test_of_a_module, 60 },
	{ "each", test_each, 600 },
	{ "lacking", test_lacking, 60 },
};

KTAP_MAIN(tests)
