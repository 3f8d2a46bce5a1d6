// SPDX-License-Identifier: GPL-2.0
/*
 * Images leave out what a program does not use. So a program must not become another behind
 * their back: while it is attached the kernel refuses to extend it (freplace); one that is
 * extended already gets all there is. And what a program uses is found where it is hidden.
 */
#include <bpf/bpf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "fixture.h"
#include "many.h"
#include "probe.h"
#include "selftests/vm/link/extend.skel.h"
#include "selftests/vm/lib/probe_progs.skel.h"

#define COOKIE 0x1234567890abcdefULL

static int dev;
static uint64_t di;	/* in the form, at the probe */
static struct tt_form_info form;

/* As an int3 and as a jump. */
static const uint32_t flags_of[] = { TRAMP_ATTACH_F_NO_JUMP, 0 };

static void run(int nr)
{
	form_run(dev, form.index, nr, 1);
}

static struct attachment attach(int prog, int which)
{
	struct attachment p = attach_insn(OURS, prog, form.probe, flags_of[which], COOKIE);

	probe_flush();
	CHECK_EQ(attachment_query(&p).mode, which ? TRAMP_MODE_JUMP : TRAMP_MODE_INT3, "mode");
	return p;
}

static void setup(void)
{
	struct attachment p;

	dev = fixture_open("the kernel's kprobes have no images");
	probe_setup();
	form = form_named(dev, "tt_form_inc_2");
	p = attach_insn(OURS, bpf_program__fd(probe_skel->progs.regs_all), form.probe, 0, 0);
	run(1);
	di = probe_skel->bss->seen[0].regs[14];
	detach(&p);
	probe_flush();
}

/* @victim: NULL, or where it is to take the place of plain. */
static struct extend *load(const char *program, const struct extend *victim)
{
	struct extend *skel = FIXTURE_LOAD_ONE(extend, program, victim ? victim->progs.plain : NULL,
					       "plain");

	REQUIRE(skel, "%s: %s", program, strerror(errno));
	return skel;
}

/* NULL and errno on failure. */
static struct bpf_link *extend(const struct extend *with)
{
	return bpf_program__attach_freplace(with->progs.extension, 0, NULL);
}

static void test_later(void)
{
	struct extend *victim, *with;
	struct bpf_link *link;
	struct attachment p;
	int i;

	setup();
	victim = load("plain", NULL);
	with = load("extension", victim);
	p = attach(bpf_program__fd(victim->progs.plain), 1);
	link = extend(with);
	CHECK(!link && errno == EBUSY, "extended while it is attached: %s",
	      link ? "yes" : strerror(errno));
	bpf_link__destroy(link);
	run(10);
	CHECK_EQ(victim->bss->plain_runs, 10, "it runs");
	detach(&p);
	/* Until nobody can be in the image any more. */
	for (i = 0, link = NULL; i < 100 && !link; i++) {
		link = extend(with);
		usleep(link ? 0 : 100000);
	}
	CHECK(link, "extended once it is not: %s", strerror(errno));
	bpf_link__destroy(link);
}

static void test_before(void)
{
	struct extend *victim, *with;
	struct bpf_link *link;
	struct attachment p;
	int i;

	setup();
	victim = load("plain", NULL);
	with = load("extension", victim);
	link = extend(with);
	REQUIRE(link, "freplace: %s", strerror(errno));
	for (i = 0; i < 2; i++) {
		p = attach(bpf_program__fd(victim->progs.plain), i);
		memset(with->bss, 0, sizeof(*with->bss));
		run(10);
		CHECK_EQ(with->bss->extension_runs, 10, "the extension runs");
		CHECK_EQ(with->bss->extension_di, di, "di");
		CHECK_EQ(with->bss->extension_ip, form.probe + 1, "ip");
		CHECK_EQ(with->bss->extension_cookie, COOKIE, "cookie");
		detach(&p);
		probe_flush();
	}
	CHECK_EQ(victim->bss->plain_runs, 0, "in its place");
	bpf_link__destroy(link);
}

static void expect_refused(const struct attachment *a, const char *where)
{
	CHECK_EQ(a->err, -EOPNOTSUPP, "%s", where);
	CHECK_EQ(a->reply.refusal.reason, TRAMP_REASON_FUNC_IP, "%s: %s", where,
		 tramp_reason_name(a->reply.refusal.reason));
}

/* An extension that asks for the function, which only a kernel's kprobe at an entry knows. */
static void test_asks(void)
{
	struct many *many = many_new();
	struct extend *victim, *with;
	struct attachment p;
	struct bpf_link *link;
	uint64_t func;
	int prog;

	setup();
	func = ksym_addr("tt_hot0");
	victim = load("plain", NULL);
	with = load("asks", victim);
	link = bpf_program__attach_freplace(with->progs.asks, 0, NULL);
	REQUIRE(link, "freplace: %s", strerror(errno));
	prog = bpf_program__fd(victim->progs.plain);
	p = attach_insn(OURS, prog, func, 0, 0);
	attachment_expect(&p, TRAMP_MODE_KPROBE, TRAMP_REASON_FUNC_IP, "at an entry");
	tt_call(dev, "tt_hot0 n=10 1");
	CHECK_EQ(with->bss->asks_runs, 10, "the extension runs");
	CHECK_EQ(with->bss->asks_func, func, "the function");
	detach(&p);
	p = attach_return_try(OURS, prog, "tt_hot0", 0, 0);
	expect_refused(&p, "at a return");
	many_add_name(many, "tt_hot0");
	CHECK_EQ(many_attach_try(many, prog, 0), -EOPNOTSUPP, "many functions");
	CHECK_EQ(many->cmd.refusal.reason, TRAMP_REASON_FUNC_IP, "many functions: %s",
		 tramp_reason_name(many->cmd.refusal.reason));
	bpf_link__destroy(link);
	free(many);
}

static void test_hidden(void)
{
	struct extend *skel;
	struct attachment p;
	int i;

	setup();
	skel = load("hidden", NULL);
	for (i = 0; i < 2; i++) {
		p = attach(bpf_program__fd(skel->progs.hidden), i);
		skel->bss->hidden_di = 0;
		run(1);
		CHECK_EQ(skel->bss->hidden_di, (uint32_t)di, "half of di");
		detach(&p);
		probe_flush();
	}
}

static const struct ktap_test tests[] = {
	{ "later", test_later, 60 },
	{ "before", test_before, 60 },
	{ "asks", test_asks, 60 },
	{ "hidden", test_hidden, 60 },
};

KTAP_MAIN(tests)
