// SPDX-License-Identifier: GPL-2.0
/*
 * trampctl explain: what it makes of the module's answers, which come from the test.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../user/trampctl/out/json.h"
#include "../../user/trampctl/trampctl.h"
#include "../libtrampoline/answers.h"
#include "../libtrampoline/kernel.h"

/* Its verdict of exit programs, and of return probes. */
static uint32_t fexit_reason, ret_mode, ret_reason;

static int answer(unsigned long cmd, void *arg)
{
	struct tramp_explain *e = arg;

	CHECK_EQ(cmd, TRAMP_IOC_EXPLAIN, "command");
	e->can = TRAMP_CAN_FENTRY | (fexit_reason ? 0 : TRAMP_CAN_FEXIT);
	e->fexit_reason = fexit_reason;
	e->mode = TRAMP_MODE_DIRECT;
	e->ret_mode = ret_mode;
	e->ret_reason = ret_reason;
	return 0;
}

/* The output about one function. */
static char *explain_name(const char *name, uint32_t mode, uint32_t reason)
{
	char *argv[] = { (char *)name, NULL }, *text = NULL;
	FILE *before = stdout;
	size_t len;

	answers_begin(answer);
	kernel.kallsyms = fixture_text("kallsyms", "ffffffff81001000 T do_unlinkat\n"
						   "ffffffff81001000 T sys_name\n");
	kernel.traceable = fixture_text("traceable", "do_unlinkat\n");
	kernel.btf = fixture_btf("do_unlinkat");
	fexit_reason = TRAMP_REASON_VARIADIC;
	ret_mode = mode;
	ret_reason = reason;
	stdout = open_memstream(&text, &len);
	REQUIRE(stdout, "no memory");
	CHECK_EQ(cmd_explain.run(1, argv), 0, "it takes entry programs");
	fclose(stdout);
	stdout = before;
	CHECK_CLOSED();
	return text;
}

static char *explain(uint32_t mode, uint32_t reason)
{
	return explain_name("do_unlinkat", mode, reason);
}

static void says(uint32_t mode, uint32_t reason, const char *line)
{
	char *text = explain(mode, reason);

	CHECK(strstr(text, line), "%s is not in:\n%s", line, text);
	free(text);
}

/* Whether a return probe can be there is the module's to say, beside its word on exit programs. */
static void test_returns(void)
{
	says(TRAMP_MODE_DIRECT, 0, "  kretprobe yes, by an exit image\n");
	says(TRAMP_MODE_RETHOOK, TRAMP_REASON_NO_BTF,
	     "  kretprobe yes, through the kernel's rethook (slower) [no-btf]\n");
	says(TRAMP_MODE_NONE, TRAMP_REASON_BLACKLISTED, "  kretprobe no: ");
	says(TRAMP_MODE_NONE, TRAMP_REASON_BLACKLISTED, "[blacklisted]\n");
	/* A module of before there were any. */
	says(TRAMP_MODE_NONE, 0,
	     "  kretprobe no: this build of the module does not have the feature [not-built]\n");
}

static void test_returns_json(void)
{
	char *text;

	json_output = true;
	text = explain(TRAMP_MODE_RETHOOK, TRAMP_REASON_VARIADIC);
	CHECK(strstr(text, "\"return_mode\": \"rethook\"") || strstr(text, "\"return_mode\":\"rethook\""),
	      "%s", text);
	CHECK(!strstr(text, "not-built"), "%s", text);
	free(text);
	text = explain(TRAMP_MODE_NONE, 0);
	CHECK(!strstr(text, "return_mode"), "%s", text);
	CHECK(strstr(text, "not-built"), "%s", text);
	free(text);
}

/* It has the prototype that BTF has under the other name, and says which that is. */
static void test_other_name(void)
{
	char *text = explain_name("sys_name", TRAMP_MODE_DIRECT, 0);

	CHECK(strstr(text, " do_unlinkat("), "no prototype in:\n%s", text);
	CHECK(strstr(text, "  BTF name  do_unlinkat, "), "no name in:\n%s", text);
	free(text);
	text = explain(TRAMP_MODE_DIRECT, 0);
	CHECK(!strstr(text, "BTF name"), "%s", text);
	free(text);
}

static const struct ktap_test tests[] = {
	{ .name = "returns", .run = test_returns },
	{ .name = "returns-json", .run = test_returns_json },
	{ .name = "other-name", .run = test_other_name },
};

KTAP_MAIN(tests)
