// SPDX-License-Identifier: GPL-2.0
/*
 * Explaining the code of a function that the module here (answers.h) has made up, and what is said
 * of places in it that are none.
 */
#include <errno.h>
#include <limits.h>
#include <stdio.h>

#include <trampoline/module.h>
#include <trampoline/probe.h>

#include "answers.h"
#include "kernel.h"

#define ADDR		0xffffffff81000000ULL
/* Of each instruction of the function. */
#define LEN		4

static const char kallsyms[] = "ffffffff81000000 T do_unlinkat\n";

static uint32_t nr_insns;
/* By how many it grows after it was asked for; how often. */
static uint32_t growth, grows;
/* Addresses are hidden from the caller. */
static bool hidden;
/* The module refuses once, or from then on. Before, it answers to so many commands. */
static struct tramp_refusal refusal;
static int fails, fails_after;
static bool from_then_on;

/* As the UAPI header has it. */
static int answer_whole(struct tramp_explain_code *cmd)
{
	struct tramp_insn_info *insns = (void *)(uintptr_t)cmd->insns;
	uint8_t *code = (void *)(uintptr_t)cmd->code;
	const uint32_t room = cmd->nr_insns, len = cmd->code_len, nr = nr_insns;
	uint32_t i;

	CHECK(insns, "nobody asks for no instructions");
	CHECK_EQ(cmd->offset, 0, "of the whole function");
	cmd->nr_insns = nr;
	cmd->code_len = nr * LEN;
	cmd->func_addr = hidden ? 0 : ADDR;
	cmd->func_size = nr * LEN + 7;
	strcpy(cmd->symbol, "do_unlinkat");
	strcpy(cmd->module, "mod");
	if (hidden && code) {
		cmd->refusal.reason = TRAMP_REASON_HIDDEN_ADDRESS;
		return -EPERM;
	}
	if (grows) {
		grows--;
		nr_insns += growth;
	}
	if (room < nr || (code && len < nr * LEN))
		return -EMSGSIZE;
	for (i = 0; i < nr; i++)
		insns[i] = (struct tramp_insn_info) { .offset = i * LEN, .len = LEN,
						      .mode = TRAMP_MODE_JUMP };
	if (code)
		memset(code, 0x90, nr * LEN);
	return 0;
}

static int answer_one(struct tramp_explain_code *cmd)
{
	struct tramp_insn_info *insn = (void *)(uintptr_t)cmd->insns;
	uint64_t offset = cmd->addr ? cmd->addr - ADDR : cmd->offset;

	CHECK_EQ(cmd->nr_insns, 1, "one");
	CHECK(!cmd->code, "no bytes");
	*insn = (struct tramp_insn_info) { .offset = offset, .len = LEN, .mode = TRAMP_MODE_INT3 };
	return 0;
}

static int answer_code(unsigned long cmd, void *arg)
{
	struct tramp_explain_code *code = arg;

	CHECK_EQ(cmd, TRAMP_IOC_EXPLAIN_CODE, "command");
	CHECK_EQ(code->size, sizeof(*code), "size");
	CHECK_EQ(!code->addr, !!code->symbol[0], "an address or a name");
	if (fails && fails_after-- <= 0) {
		if (!from_then_on)
			fails_after = INT_MAX;
		code->refusal = refusal;
		return -fails;
	}
	CHECK(code->addr || !strcmp(code->symbol, "do_unlinkat"), "%s", code->symbol);
	return code->flags & TRAMP_CODE_F_ONE ? answer_one(code) : answer_whole(code);
}

static void begin(uint32_t nr)
{
	answers_begin(answer_code);
	nr_insns = nr;
	fails = grows = 0;
	hidden = false;
	refusal = (struct tramp_refusal) {};
}

/* The command number @after, from 0, fails with that. */
static void begin_refusing(int err, unsigned int reason, int after)
{
	begin(10);
	fails = err;
	fails_after = after;
	refusal.reason = reason;
	refusal.addr = ADDR;
}

static struct tramp_code *need_code(const char *spec, const struct tramp_code_opts *opts)
{
	struct tramp_code *code = tramp_explain_code(NULL, spec, opts);

	REQUIRE(code, "%s: %s", spec, tramp_last_error()->message);
	CHECK(!strcmp(code->func_name, "do_unlinkat"), "%s", code->func_name);
	CHECK(!strcmp(code->module, "mod"), "%s", code->module);
	CHECK_EQ(code->func_size, nr_insns * LEN + 7, "size");
	CHECK_CLOSED();
	return code;
}

/* ----------------------------------------------------------------- answers -- */

static void check_whole(uint32_t nr)
{
	struct tramp_code *code = need_code("do_unlinkat", NULL);
	uint32_t i;

	CHECK_EQ(code->nr_insns, nr, "instructions");
	CHECK_EQ(code->code_len, nr * LEN, "bytes");
	CHECK_EQ(code->func_addr, ADDR, "address");
	for (i = 0; i < code->nr_insns; i++)
		CHECK_EQ(code->insns[i].offset, i * LEN, "%u", i);
	for (i = 0; i < code->code_len; i++)
		CHECK_EQ(code->code[i], 0x90, "%u", i);
	tramp_code__free(code);
}

static void test_whole(void)
{
	begin(10);
	check_whole(10);
	CHECK_EQ(answers.nr_commands, 2, "INFO and one");
	/* It is longer than most are. */
	begin(1500);
	check_whole(1500);
	CHECK_EQ(answers.nr_commands, 3, "INFO and two");
	/* Its module is loaded anew meanwhile. */
	begin(1100);
	grows = 2;
	growth = 300;
	check_whole(1700);
	CHECK_EQ(answers.nr_commands, 5, "INFO and four");
	begin(0);
	tramp_code__free(need_code("do_unlinkat", NULL));
}

static void check_one(const char *spec)
{
	struct tramp_code *code = need_code(spec, NULL);

	CHECK_EQ(code->nr_insns, 1, "%s: instructions", spec);
	CHECK_EQ(code->insns[0].offset, 8, "%s: which", spec);
	CHECK_EQ(code->insns[0].mode, TRAMP_MODE_INT3, "%s: its own answer", spec);
	CHECK_EQ(code->code_len, nr_insns * LEN, "%s: bytes of all", spec);
	tramp_code__free(code);
}

static void test_one(void)
{
	TRAMP_OPTS(tramp_code_opts, opts, .whole = true);
	struct tramp_code *code;

	begin(10);
	check_one("do_unlinkat+8");
	check_one("0xffffffff81000008");
	code = need_code("do_unlinkat+8", &opts);
	CHECK_EQ(code->nr_insns, 10, "it is in there");
	tramp_code__free(code);
	code = need_code("0xffffffff81000008", &opts);
	CHECK_EQ(code->nr_insns, 10, "it is in there");
	tramp_code__free(code);
}

/* Instructions without addresses: no bytes, from which those could be told. */
static void test_hidden(void)
{
	struct tramp_code *code;

	begin(10);
	hidden = true;
	code = need_code("do_unlinkat", NULL);
	CHECK_EQ(code->nr_insns, 10, "instructions");
	CHECK_EQ(code->func_addr, 0, "address");
	CHECK_EQ(code->code_len, 0, "bytes");
	CHECK(!code->code, "bytes");
	tramp_code__free(code);
}

/* ---------------------------------------------------------------- refusals -- */

static void refuses(const struct tramp_syms *syms, const char *spec, int err, unsigned int reason,
		    const char *says)
{
	errno = 0;
	CHECK(!tramp_explain_code(syms, spec, NULL), "%s", spec);
	CHECK_EQ(errno, -err, "%s: errno", spec);
	CHECK_ERROR(err, reason);
	CHECK(last_error_says(says), "%s", spec);
	CHECK_CLOSED();
}

static void test_not_asked(void)
{
	begin(10);
	answers.open_fails = EACCES;
	refuses(NULL, "do_unlinkat", -EPERM, TRAMP_REASON_PERMISSION, "place 'do_unlinkat'");
	/* The library looks for functions of vmlinux, if it can read the symbols. */
	refuses(NULL, "vmlinux:do_unlinkat", -ENOENT, TRAMP_LIB_NO_KALLSYMS, "/proc/kallsyms");
	kernel.kallsyms = fixture_text("kallsyms", kallsyms);
	refuses(NULL, "vmlinux:do_unlinkt", -ENOENT, TRAMP_REASON_NO_SUCH_FUNCTION, "do_unlinkat");
	CHECK_EQ(answers.nr_commands, 0, "commands");
	answers.open_fails = 0;
	tramp_code__free(need_code("vmlinux:do_unlinkat", NULL));
}

static void test_refused(void)
{
	begin_refusing(ENOTTY, 0, 0);
	refuses(NULL, "do_unlinkat", -EOPNOTSUPP, TRAMP_REASON_NOT_BUILT, "knows no probes");
	begin_refusing(EINVAL, TRAMP_REASON_OFFSET_RANGE, 0);
	strcpy(refusal.detail, "why");
	refuses(NULL, "do_unlinkat+0x999", -EINVAL, TRAMP_REASON_OFFSET_RANGE, "(why, address 0x");
	CHECK(tramp_last_error()->from_kernel, "it is");
	begin_refusing(EIO, 0, 0);
	refuses(NULL, "do_unlinkat", -EIO, TRAMP_LIB_SYSTEM, "TRAMP_IOC_EXPLAIN_CODE");
	/* It goes between the instruction and its function. */
	begin_refusing(ENXIO, TRAMP_REASON_MODULE_GONE, 1);
	refuses(NULL, "do_unlinkat+8", -ENXIO, TRAMP_REASON_MODULE_GONE, "do_unlinkat+0x8");
}

/* No such function: which are near. */
static void test_unknown(void)
{
	struct tramp_syms *syms = fixture_syms(kallsyms, NULL);

	begin_refusing(ENOENT, TRAMP_REASON_NO_SUCH_FUNCTION, 0);
	refuses(syms, "do_unlinkt", -ENOENT, TRAMP_REASON_NO_SUCH_FUNCTION,
		"the nearest: do_unlinkat");
	CHECK(tramp_last_error()->from_kernel, "the module has said so");
	/* It is there by now. */
	begin_refusing(ENOENT, TRAMP_REASON_NO_SUCH_FUNCTION, 0);
	refuses(syms, "do_unlinkat", -ENOENT, TRAMP_REASON_NO_SUCH_FUNCTION, "place 'do_unlinkat'");
	tramp_syms__free(syms);
	/* BTF knows better than the module, which has looked for a symbol. */
	begin_refusing(ENOENT, TRAMP_REASON_NO_SUCH_FUNCTION, 0);
	kernel.btf = fixture_btf("do_inlined");
	syms = fixture_syms(kallsyms, NULL);
	refuses(syms, "do_inlined", -ENOENT, TRAMP_LIB_INLINED, "place 'do_inlined'");
	CHECK(!tramp_last_error()->from_kernel, "the library has found it");
	/* Symbols are read for it, or there are none. */
	begin_refusing(ENOENT, TRAMP_REASON_NO_SUCH_FUNCTION, 0);
	kernel.kallsyms = fixture_text("kallsyms", kallsyms);
	refuses(NULL, "mod:do_unlinkt", -ENOENT, TRAMP_REASON_NO_SUCH_FUNCTION, "'mod'");
	begin_refusing(ENOENT, TRAMP_REASON_NO_SUCH_FUNCTION, 0);
	refuses(NULL, "do_unlinkt", -ENOENT, TRAMP_REASON_NO_SUCH_FUNCTION, "place 'do_unlinkt'");
	/* An address has no near names. */
	begin_refusing(ENOENT, TRAMP_REASON_NO_SUCH_FUNCTION, 0);
	refuses(syms, "0x1000", -ENOENT, TRAMP_REASON_NO_SUCH_FUNCTION, "place '0x1000'");
	tramp_syms__free(syms);
}

/* Between two instructions: which. */
static void test_boundary(void)
{
	static const char between[] =
		"it is in the instruction at do_unlinkat+0x8, the next one is at +0xc";

	begin_refusing(EINVAL, TRAMP_REASON_NOT_BOUNDARY, 0);
	refuses(NULL, "do_unlinkat+10", -EINVAL, TRAMP_REASON_NOT_BOUNDARY, between);
	begin_refusing(EINVAL, TRAMP_REASON_NOT_BOUNDARY, 0);
	refuses(NULL, "0xffffffff8100000a", -EINVAL, TRAMP_REASON_NOT_BOUNDARY, between);
	/* Which it is cannot be told without the function's address. */
	begin_refusing(EINVAL, TRAMP_REASON_NOT_BOUNDARY, 0);
	hidden = true;
	refuses(NULL, "0xffffffff8100000a", -EINVAL, TRAMP_REASON_NOT_BOUNDARY, "0xffffffff8100000a");
	CHECK(!strstr(tramp_last_error()->message, "do_unlinkat+"), "nothing is made up");
	/* The function has no instruction by now. */
	begin_refusing(EINVAL, TRAMP_REASON_NOT_BOUNDARY, 0);
	nr_insns = 0;
	refuses(NULL, "do_unlinkat+10", -EINVAL, TRAMP_REASON_NOT_BOUNDARY, "do_unlinkat+0xa");
	/* Nor is it there any more. */
	begin_refusing(EINVAL, TRAMP_REASON_NOT_BOUNDARY, 0);
	from_then_on = true;
	refuses(NULL, "do_unlinkat+10", -EINVAL, TRAMP_REASON_NOT_BOUNDARY, "do_unlinkat+0xa");
}

static const struct ktap_test tests[] = {
	{ .name = "whole", .run = test_whole },
	{ .name = "one", .run = test_one },
	{ .name = "hidden", .run = test_hidden },
	{ .name = "not-asked", .run = test_not_asked },
	{ .name = "refused", .run = test_refused },
	{ .name = "unknown", .run = test_unknown },
	{ .name = "boundary", .run = test_boundary },
};

KTAP_MAIN(tests)
