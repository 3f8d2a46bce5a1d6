// SPDX-License-Identifier: GPL-2.0
/*
 * Programs that freplace extends, in every order: before, while and after they are attached,
 * as a whole and in one of their functions. Whatever runs in a program's place finds the
 * context that the program would find.
 *
 * An order is a word of six letters. M and m: an extension of the program comes and goes;
 * S and s: one of its function does; A and a: the program is attached and detached. There are
 * 90 words in which each comes before it goes. EXTEND_ORDERS says how many of them are
 * gone through (all: 90); those in which a review has found a fault come first.
 */
#include <bpf/bpf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "fixture.h"
#include "probe.h"
#include "selftests/vm/link/extend.skel.h"
#include "selftests/vm/lib/probe_progs.skel.h"

#define COOKIE 0x1234567890abcdefULL
#define RUNS 3

static int dev;
static struct tt_form_info form;
static uint64_t di;	/* in the form, at the probe */

static struct extend *load(const char *program)
{
	struct extend *skel = FIXTURE_LOAD_ONE(extend, program, NULL, NULL);

	REQUIRE(skel, "%s: %s", program, strerror(errno));
	return skel;
}

/* Loads the program to take the place of @func in @prog; NULL and errno if the kernel says no. */
static struct extend *load_extension(const char *name, const struct bpf_program *prog,
				     const char *func)
{
	return FIXTURE_LOAD_ONE(extend, name, prog, func);
}

/* ------------------------------------------------------------ kprobe programs --- */

/* The things that are there now. */
static struct {
	struct extend *victim, *whole, *part;
	struct bpf_link *whole_link, *part_link;
	struct attachment probe;
	bool attached;
	bool held;	/* the kernel must refuse to extend it */
} now;

static uint32_t flags;

static void clear(void)
{
	memset(now.victim->bss, 0, sizeof(*now.victim->bss));
	memset(now.whole->bss, 0, sizeof(*now.whole->bss));
	memset(now.part->bss, 0, sizeof(*now.part->bss));
}

/* The right ones run, and the one that looks at its context finds the right values. */
static void check_runs(const char *order, int step)
{
	uint64_t wants = now.attached ? RUNS : 0;
	uint64_t whole = now.whole_link ? wants : 0, own = now.whole_link ? 0 : wants;
	uint64_t part = now.part_link ? own : 0;

	clear();
	form_run(dev, form.index, RUNS, 1);
	CHECK_EQ(now.victim->bss->calls_runs, own, "%s, step %d: the program", order, step);
	CHECK_EQ(now.victim->bss->sub_runs, own - part, "%s, step %d: its function", order, step);
	CHECK_EQ(now.part->bss->sub_extension_runs, part, "%s, step %d: the function's extension",
		 order, step);
	CHECK_EQ(now.whole->bss->extension_runs, whole, "%s, step %d: the program's extension",
		 order, step);
	if (!whole)
		return;
	CHECK_EQ(now.whole->bss->extension_di, di, "%s, step %d: di", order, step);
	CHECK_EQ(now.whole->bss->extension_ip, form.probe + 1, "%s, step %d: ip", order, step);
	CHECK_EQ(now.whole->bss->extension_cookie, COOKIE, "%s, step %d: cookie", order, step);
}

/* The kernel refuses as long as the program is held, and no longer. */
static void extend(struct bpf_link **link, const struct bpf_program *with, const char *order,
		   int step)
{
	*link = bpf_program__attach_freplace(with, 0, NULL);
	if (now.held)
		CHECK(!*link && errno == EBUSY, "%s, step %d: extended while it is held: %s", order,
		      step, *link ? "yes" : strerror(errno));
	else
		CHECK(*link, "%s, step %d: freplace: %s", order, step, strerror(errno));
}

static void take_back(struct bpf_link **link)
{
	bpf_link__destroy(*link);
	*link = NULL;
}

static void step(const char *order, int at)
{
	switch (order[at]) {
	case 'M':
		extend(&now.whole_link, now.whole->progs.extension, order, at);
		break;
	case 'm':
		take_back(&now.whole_link);
		break;
	case 'S':
		extend(&now.part_link, now.part->progs.sub_extension, order, at);
		break;
	case 's':
		take_back(&now.part_link);
		break;
	case 'A':
		now.probe = attach_insn(OURS, bpf_program__fd(now.victim->progs.calls), form.probe,
					flags, COOKIE);
		probe_flush();
		CHECK_EQ(attachment_query(&now.probe).mode,
			 flags ? TRAMP_MODE_INT3 : TRAMP_MODE_JUMP, "%s: mode", order);
		now.attached = true;
		now.held = !now.whole_link && !now.part_link;
		break;
	case 'a':
		detach(&now.probe);
		probe_flush();
		/* Until nobody can be in an image that leaves something out. */
		CHECK(tramp_settle(), "images are left");
		now.attached = false;
		now.held = false;
		break;
	}
	check_runs(order, at);
}

static void follow(const char *order)
{
	int i;

	memset(&now, 0, sizeof(now));
	now.victim = load("calls");
	now.whole = load_extension("extension", now.victim->progs.calls, "calls");
	now.part = load_extension("sub_extension", now.victim->progs.calls, "sub");
	REQUIRE(now.whole && now.part, "the extensions: %s", strerror(errno));
	for (i = 0; order[i]; i++)
		step(order, i);
	extend__destroy(now.whole);
	extend__destroy(now.part);
	extend__destroy(now.victim);
}

/* Those that a fault was found in, then all the others. */
static int all_orders(char (*orders)[7], int max)
{
	static const char *const first[] = { "MSsAma", "SMmAsa", "AMSmsa", "MASsma", "SAMmsa", "MSAsma" };
	static const char letters[] = "MmSsAa";
	int nr = 0, n, i, j, code;
	char word[7] = "";

	for (i = 0; i < (int)(sizeof(first) / sizeof(first[0])) && nr < max; i++)
		strcpy(orders[nr++], first[i]);
	for (code = 0; code < 6 * 6 * 6 * 6 * 6 * 6 && nr < max; code++) {
		for (i = 0, n = code; i < 6; i++, n /= 6)
			word[i] = letters[n % 6];
		for (i = 0; i < 6; i += 2) {
			const char *up = strchr(word, letters[i]);
			const char *down = strchr(word, letters[i + 1]);

			if (!up || !down || down < up)
				break;
		}
		for (j = 0; j < nr && strcmp(orders[j], word); j++)
			;
		if (i == 6 && j == nr)
			strcpy(orders[nr++], word);
	}
	return nr;
}

static void orders_of_kprobe(uint32_t how)
{
	static char orders[90][7];
	int nr = all_orders(orders, env_int("EXTEND_ORDERS", 10)), i;
	struct attachment p;

	dev = fixture_open("the kernel's kprobes have no images");
	probe_setup();
	form = form_named(dev, "tt_form_inc_2");
	p = attach_insn(OURS, bpf_program__fd(probe_skel->progs.regs_all), form.probe, 0, 0);
	form_run(dev, form.index, 1, 1);
	di = probe_skel->bss->seen[0].regs[14];
	detach(&p);
	flags = how;
	for (i = 0; i < nr && !ktap_failures(); i++)
		follow(orders[i]);
	ktap_note("%d orders of 90", i);
}

static void test_int3(void)
{
	orders_of_kprobe(TRAMP_ATTACH_F_NO_JUMP);
}

static void test_jump(void)
{
	orders_of_kprobe(0);
}

/* ----------------------------------------------------------- tracing programs --- */

static void unlink_one(void)
{
	int fd = open("/tmp/extended", O_CREAT | O_WRONLY, 0600);

	REQUIRE(fd >= 0, "%s", strerror(errno));
	close(fd);
	CHECK(!unlink("/tmp/extended"), "unlink: %s", strerror(errno));
}

/* A program for fmod_ret may be extended at any time, and has a context at any time. */
static void fmod_ret_order(struct extend *victim, struct extend *with, const char *order)
{
	struct bpf_link *link = NULL;
	bool attached = false;
	struct attachment a;
	int i;

	for (i = 0; order[i]; i++) {
		switch (order[i]) {
		case 'M':
			link = bpf_program__attach_freplace(with->progs.modify_extension, 0, NULL);
			REQUIRE(link, "%s, step %d: %s", order, i, strerror(errno));
			break;
		case 'm':
			bpf_link__destroy(link);
			link = NULL;
			break;
		case 'A':
			a = attach_func(OURS, bpf_program__fd(victim->progs.modify), NULL);
			attached = true;
			break;
		case 'a':
			detach(&a);
			attached = false;
			break;
		}
		memset(victim->bss, 0, sizeof(*victim->bss));
		memset(with->bss, 0, sizeof(*with->bss));
		unlink_one();
		CHECK_EQ(victim->bss->modify_runs > 0, attached && !link, "%s, step %d: the program",
			 order, i);
		CHECK_EQ(with->bss->modify_extension_runs > 0, attached && link,
			 "%s, step %d: its extension", order, i);
		/* security_inode_unlink(dir, dentry) */
		if (attached && link)
			CHECK(with->bss->modify_extension_first >> 56 == 0xff,
			      "%s, step %d: the first argument is %#llx", order, i,
			      (unsigned long long)with->bss->modify_extension_first);
	}
}

static void test_fmod_ret(void)
{
	static const char *const orders[] = { "MAam", "MAma", "AMam", "AMma", "MmAa", "AaMm" };
	struct extend *victim, *with;
	unsigned int i;
	int err;

	close(fixture_open("it is our images that leave things out"));
	for (i = 0; i < sizeof(orders) / sizeof(orders[0]); i++) {
		/* Both anew: an extension is loaded for being attached once. */
		victim = load("modify");
		with = load_extension("modify_extension", victim->progs.modify, "modify");
		err = errno;
		REQUIRE(with || kernel_version() >= 6012, "6.1 extends fmod_ret programs: %s",
			strerror(err));
		if (!with)
			ktap_skip("the kernel does not extend fmod_ret programs: %s",
				  strerror(err));
		fmod_ret_order(victim, with, orders[i]);
		extend__destroy(with);
		extend__destroy(victim);
	}
}

/* No image has to reckon with these: the kernel refuses them. */
static void test_refused_by_kernel(void)
{
	static const char *const names[] = { "enters", "leaves" };
	struct extend *victim, *with;
	struct bpf_program *prog;
	unsigned int i;

	close(fixture_open(NULL));
	for (i = 0; i < 2; i++) {
		victim = load(names[i]);
		prog = bpf_object__find_program_by_name(victim->obj, names[i]);
		with = load_extension("modify_extension", prog, names[i]);
		CHECK(!with, "the kernel lets a program for %s be extended", names[i]);
	}
}

static const struct ktap_test tests[] = {
	{ "int3", test_int3, 600 },
	{ "jump", test_jump, 600 },
	{ "fmod_ret", test_fmod_ret, 60 },
	{ "refused_by_kernel", test_refused_by_kernel, 60 },
};

KTAP_MAIN(tests)
