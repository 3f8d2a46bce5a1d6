// SPDX-License-Identifier: GPL-2.0
/*
 * Somebody else has written over a jump behind a gate (kernel/func/gate.c). That is the one to the
 * image of a single function, or the tail, which leads all others to the image of many. When its
 * program goes, the jump cannot be taken out. So somebody may come to the image for ever, and the
 * module stays.
 *
 * The kernel warns of it, and there is no way back: selftests/vm/system/alone.
 */
#include <string.h>
#include <unistd.h>
#include "attachment.h"
#include "many.h"
#include "ownmod.h"
#include "probe.h"
#include "selftests/vm/lib/probe_progs.skel.h"

#define CALLS	10
/* Behind the gate: cmpq $ret, (%rsp); jne tail; jmp to the image of the single function. */
#define COMPARE	8
#define JNE	6
#define NOP5	"0f1f440000"

static struct many *many;
static struct attachment one;
static int dev;

/* The branch at @addr is one by @opcode, of @len bytes, and a distance. Returns where it leads. */
static uint64_t leads_to(uint64_t addr, const char *opcode, uint32_t len)
{
	uint8_t code[2];
	int32_t distance;

	text_read(dev, addr, code, len);
	REQUIRE(!memcmp(code, opcode, len), "at %#lx is %#x %#x", addr, code[0], code[1]);
	text_read(dev, addr + len, &distance, sizeof(distance));
	return addr + len + sizeof(distance) + distance;
}

/* The code behind the gate of a function that one of many and a single program are attached to. */
static uint64_t find_lookup(const char *func)
{
	uint64_t site = ksym_addr(func);
	uint8_t code[4];

	text_read(dev, site, code, sizeof(code));
	site += text_is_endbr(code) ? sizeof(code) : 0;
	return leads_to(leads_to(site, "\xe8", 1), "\xe9", 1);
}

static void expect(const char *when, uint64_t single)
{
	struct tt_reply r;

	probe_skel->bss->counted[1] = 0;
	r = tt_call(dev, "tt_hot1 n=%d 4", CALLS);
	CHECK_EQ(r.different, 0, "%s: results", when);
	CHECK_EQ(probe_skel->bss->counted[1], single, "%s: hits", when);
}

/* Returns where the lookup is. Nobody but expect() calls these functions, so nobody executes it. */
static uint64_t setup(void)
{
	if (vmtest_oracle())
		ktap_skip("is about our module");
	dev = tt_open();
	probe_setup();
	many = many_new();
	many_add_name(many, "tt_hot0");
	many_add_name(many, "tt_hot1");
	many_attach(many, bpf_program__fd(probe_skel->progs.nothing), 0);
	one = attach_insn(OURS, bpf_program__fd(probe_skel->progs.count), ksym_addr("tt_hot1"), 0,
			  1);
	attachment_expect(&one, TRAMP_MODE_DIRECT, TRAMP_REASON_NONE, "a single one of many");
	expect("before", CALLS);
	return find_lookup("tt_hot1");
}

static void overwrite_jump(uint64_t addr)
{
	int err;

	leads_to(addr, "\xe9", 1);
	err = tt_command(dev, NULL, 0, "overwrite %lx " NOP5, addr);
	REQUIRE(!err, "overwrite: %s", strerror(-err));
}

static void expect_stays(void)
{
	CHECK_EQ(tramp_module().links, 0, "links");
	ownmod_expect_pinned("somebody may still come to the image");
	expect("when unloading was refused", 0);
}

static void test_tail(void)
{
	overwrite_jump(leads_to(setup() + COMPARE, "\x0f\x85", 2));
	many_detach(many);
	expect("many detached", CALLS);
	detach(&one);
	expect("the single one detached", 0);
	expect_stays();
}

/* From then on the function goes to the tail, that is to the program of many. */
static void test_single(void)
{
	overwrite_jump(setup() + COMPARE + JNE);
	detach(&one);
	expect("the single one detached", 0);
	many_detach(many);
	expect("many detached", 0);
	expect_stays();
}

static const struct ktap_test tests[] = {
	{ "tail", test_tail, 200 },
	{ "single", test_single, 200 },
};

KTAP_MAIN(tests)
