// SPDX-License-Identifier: GPL-2.0
/*
 * Attaching in a module that is being loaded. Before its init has run, the module may still fail,
 * and is freed then whoever has a reference: nothing can be attached. While its init text is being
 * dropped, its tables change, which a probe without a site of its own reads: it is refused, others
 * are not. A moment later all is well.
 */
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>
#include "fixture.h"
#include "many.h"
#include "../func/multi.h"
#include "probe.h"
#include "selftests/vm/func/multi.skel.h"
#include "selftests/vm/lib/probe_progs.skel.h"

#define MODULE	"trampoline_target"
#define CALL	"/sys/module/" MODULE "/parameters/call"
#define CALLS	100

enum { ENTRY, RETURN, MIDDLE, KINDS };
static const char *const kind[KINDS] = { "entry", "return", "middle" };

static int dev;
static pthread_t loader;
static uint64_t func, middle;	/* the place in the middle: behind @func */

static void *load(void *arg)
{
	int err = module_load("/opt/trampoline/" MODULE ".ko");

	CHECK(!err, "%s: %s", MODULE, strerror(-err));
	return arg;
}

static void unload(void)
{
	int err, i;

	for (i = 0; i < 3000; i++) {
		err = module_unload(MODULE);
		if (err != -EAGAIN && err != -EBUSY)
			break;
		usleep(10000);
	}
	CHECK(!err, "unloading: %s", strerror(-err));
}

static void find_function(void)
{
	ksym_reload();
	func = ksym_addr("target_fold");
	REQUIRE(func, "no target_fold");
}

/* Where in the function a probe is a jump, seen while the module is there as usual. */
static void find_middle(void)
{
	struct probe_func f;
	uint32_t i;

	load(NULL);
	find_function();
	REQUIRE(!probe_explain(&f, func, NULL, false), "target_fold");
	for (i = 0; i < f.nr && f.insns[i].mode != TRAMP_MODE_JUMP; i++)
		;
	REQUIRE(i < f.nr, "no place for a jump");
	middle = f.insns[i].offset;
	probe_func_free(&f);
	unload();
}

/* Until the load is held in that state; 30 s are enough anywhere. */
static void load_until(const char *state)
{
	char reply[32] = "";
	int err, i;

	dev = fixture_open("about our refusals");
	probe_setup();
	find_middle();
	err = tt_command(dev, NULL, 0, "hold " MODULE " %s", state);
	REQUIRE(!err, "hold: %s", strerror(-err));
	REQUIRE(!pthread_create(&loader, NULL, load, NULL), "thread");
	for (i = 0; i < 3000 && strcmp(reply, "held=1\n"); i++) {
		usleep(10000);
		REQUIRE(!tt_command(dev, reply, sizeof(reply), "held"), "held");
	}
	REQUIRE(i < 3000, "the load has not come as far as %s", state);
	find_function();
}

static void load_the_rest(void)
{
	REQUIRE(!tt_command(dev, NULL, 0, "let_go"), "let_go");
	pthread_join(loader, NULL);
}

static struct attachment attach_at(int k)
{
	struct tramp_attach want = { .addr = func, .cookie = k, .flags = TRAMP_ATTACH_F_COOKIE };

	if (k == RETURN)
		want.flags |= TRAMP_ATTACH_F_RETURN;
	if (k == MIDDLE)
		want.addr += middle;
	return attach_want(bpf_program__fd(probe_skel->progs.count), &want);
}

/* @detail: part of it, or NULL */
static void expect_refused(int k, const char *detail)
{
	struct attachment a = attach_at(k);

	CHECK_EQ(a.err, -ENXIO, "%s: errno", kind[k]);
	CHECK_EQ(a.reply.refusal.reason, TRAMP_REASON_MODULE_GONE, "%s: %s", kind[k],
		 tramp_reason_name(a.reply.refusal.reason));
	CHECK(!detail || strstr(a.reply.refusal.detail, detail), "%s: %s", kind[k],
	      a.reply.refusal.detail);
	detach(&a);
}

static struct attachment attach_many(void)
{
	struct multi *skel = FIXTURE_LOAD(multi);
	struct many *m = many_new();
	struct attachment a = { .fd = -1 };

	many_add(m, func);
	a.err = many_attach_try(m, bpf_program__fd(skel->progs.on_hit), 0);
	a.fd = a.err ? -1 : m->cmd.link_fd;
	a.reply.refusal = m->cmd.refusal;
	multi__destroy(skel);
	free(m);
	return a;
}

/* All there is, now that the module is loaded; @at: what is attached already */
static void expect_all(struct attachment *at)
{
	uint64_t hits, misses;
	int k;

	for (k = 0; k < KINDS; k++) {
		if (at[k].fd < 0)
			at[k] = attach_at(k);
		REQUIRE(!at[k].err, "%s: %s %s", kind[k],
			tramp_reason_name(at[k].reply.refusal.reason), at[k].reply.refusal.detail);
	}
	probe_flush();
	attachment_expect(&at[MIDDLE], TRAMP_MODE_JUMP, 0, kind[MIDDLE]);
	CHECK_EQ(write_file(CALL, "%d", CALLS), 0, "calls");
	for (k = 0; k < KINDS; k++) {
		attachment_counts(&at[k], &hits, &misses);
		CHECK_EQ(hits + misses, CALLS, "%s: run or missed", kind[k]);
		detach(&at[k]);
	}
	unload();
}

static void test_coming(void)
{
	struct attachment at[KINDS] = { { .fd = -1 }, { .fd = -1 }, { .fd = -1 } };
	struct probe_func f;
	int k;

	load_until("coming");
	for (k = 0; k < KINDS; k++)
		expect_refused(k, MODULE " is still coming");
	CHECK_EQ(probe_explain(&f, func, NULL, false), -ENXIO, "explain");
	load_the_rest();
	expect_all(at);
}

static void test_many_coming(void)
{
	struct attachment a;

	load_until("coming");
	a = attach_many();
	CHECK_EQ(a.err, -ENXIO, "errno");
	CHECK_EQ(a.reply.refusal.reason, TRAMP_REASON_MODULE_GONE, "%s",
		 tramp_reason_name(a.reply.refusal.reason));
	detach(&a);
	load_the_rest();
	a = attach_many();
	CHECK(!a.err, "%s", a.reply.refusal.detail);
	detach(&a);
	unload();
}

/*
 * ksym_addr() knows no text that goes. The module's function has a name of its own as well, which
 * clang drops.
 */
#define INIT	"init_module"
#define EXIT	"cleanup_module"

static uint64_t named_function(const char *name)
{
	char *text = read_file("/proc/kallsyms"), *at, line[64];
	uint64_t addr;

	snprintf(line, sizeof(line), " %s\t[" MODULE "]", name);
	at = strstr(text, line);
	REQUIRE(at, "no %s", name);
	while (at > text && at[-1] != '\n')
		at--;
	addr = strtoull(at, NULL, 16);
	free(text);
	return addr;
}

/* Init text is there for a moment, and a reference does not keep it. */
static void expect_init_text(void)
{
	struct tramp_explain ex = { .size = sizeof(ex) };
	uint64_t loaded = func;
	struct attachment a;

	func = named_function(INIT);
	a = attach_many();
	func = loaded;
	CHECK_EQ(a.err, -EINVAL, "one of many: errno");
	CHECK_EQ(a.reply.refusal.reason, TRAMP_REASON_INIT_TEXT, "one of many: %s",
		 tramp_reason_name(a.reply.refusal.reason));
	detach(&a);
	strcpy(ex.name, INIT);
	strcpy(ex.module, MODULE);
	CHECK(!ioctl(tramp_device(), TRAMP_IOC_EXPLAIN, &ex), "explain: %s", strerror(errno));
	CHECK_EQ(ex.refusal.reason, TRAMP_REASON_INIT_TEXT, "explain: %s",
		 tramp_reason_name(ex.refusal.reason));
}

/* At its entry and return it has an image like any other. */
static void test_live(void)
{
	struct attachment at[KINDS];
	int k;

	load_until("live");
	expect_refused(MIDDLE, NULL);
	expect_init_text();
	at[MIDDLE].fd = -1;
	for (k = 0; k < MIDDLE; k++) {
		at[k] = attach_at(k);
		CHECK(!at[k].err, "%s: %s", kind[k], at[k].reply.refusal.detail);
	}
	load_the_rest();
	expect_all(at);
}

/* A module of which no function was attached to may go, though it was looked at. */
static void test_left_out(void)
{
	struct multi *skel;
	struct many *m;

	dev = fixture_open("about our links");
	load(NULL);
	ksym_reload();
	skel = FIXTURE_LOAD(multi);
	m = many_new();
	many_add_name(m, "vfs_read");
	many_add(m, named_function(EXIT));	/* no function that is freed is ftrace's */
	many_attach(m, bpf_program__fd(skel->progs.on_hit), TRAMP_MULTI_F_SKIP);
	CHECK_EQ(m->reasons[0], 0, "vfs_read: %s", tramp_reason_name(m->reasons[0]));
	CHECK_EQ(m->reasons[1], TRAMP_REASON_NOT_TRACEABLE, EXIT ": %s",
		 tramp_reason_name(m->reasons[1]));
	unload();
	many_detach(m);
	multi__destroy(skel);
}

static const struct ktap_test tests[] = {
	{ "coming", test_coming, 120 },
	{ "many_coming", test_many_coming, 120 },
	{ "live", test_live, 120 },
	{ "left_out", test_left_out, 120 },
};

KTAP_MAIN(tests)
