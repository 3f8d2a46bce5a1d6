// SPDX-License-Identifier: GPL-2.0
/*
 * The functions of a run, and what its conditions mean for each, on a machine made of files. One
 * function has two names, and BTF knows one of them.
 */
#include "../../user/trampctl/run/many_run.h"
#include "../libtrampoline/answers.h"
#include "../libtrampoline/kernel.h"

static struct functions funcs;

/* Chooses functions with a prototype. */
static void choose(const char *pattern)
{
	static const struct function_options opts;
	char *argv[] = { (char *)pattern, NULL };

	answers_begin(NULL);
	kernel.kallsyms = fixture_text("kallsyms", "ffffffff81001000 T do_name\n"
						   "ffffffff81001000 T sys_name\n"
						   "ffffffff81002000 T sys_none\n");
	kernel.traceable = fixture_text("traceable", "do_name\nsys_none\n");
	kernel.btf = fixture_btf("do_name");
	REQUIRE(!functions_select(&funcs, &opts, true, 1, argv), "%s", pattern);
}

static void check_proto(const char *pattern)
{
	struct tramp_proto *proto;

	choose(pattern);
	REQUIRE(funcs.nr == 1, "%s: %zu functions", pattern, funcs.nr);
	proto = functions_proto(&funcs, 0);
	CHECK(proto, "%s: %s", pattern, tramp_last_error()->message);
	CHECK(proto && !strcmp(proto->name, "do_name"), "%s: another prototype", pattern);
	tramp_proto__free(proto);
	functions_free(&funcs);
	funcs = (struct functions){ 0 };
}

/* Whatever was selected for having a prototype has one, under any of its names. */
static void test_protos(void)
{
	check_proto("do_*");
	check_proto("sys_*");
	check_proto("sys_name");
}

static void test_conditions(void)
{
	struct many_options opts = { 0 };
	struct many_func info = { 0 };
	struct many_run run = { .opts = &opts, .infos = &info };

	REQUIRE(!many_option(&opts, MANY_OPT_IF, "ret == 1"), "condition");
	choose("sys_*");
	run.funcs = funcs;
	CHECK_EQ(many_bind(&run), 0, "exit code");
	CHECK_EQ(run.funcs.nr, 1, "functions for which it makes sense");
	CHECK_EQ(info.terms[0].value, 1, "number to compare with");
	functions_free(&run.funcs);
}

static const struct ktap_test tests[] = {
	{ .name = "protos", .run = test_protos },
	{ .name = "conditions", .run = test_conditions },
};

KTAP_MAIN(tests)
