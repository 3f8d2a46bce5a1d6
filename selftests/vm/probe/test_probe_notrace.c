// SPDX-License-Identifier: GPL-2.0
/*
 * Functions without an ftrace site take no probe (kernel/probe/deny.c): a function
 * tracer may run them before it can tell that it runs already, or they are copied and
 * run elsewhere.
 *
 * tracers: the way of a hit through the function tracers, with the tracers on the trap
 * path. An int3 in prepare_ftrace_return() or function_trace_call() recurses there without end.
 *
 * copied: kexec's control page, and what hibernation copies.
 *
 * rule: all functions of kallsyms, held against available_filter_functions.
 *
 * parts: foo.cold goes by foo.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "fixture.h"
#include "probe.h"
#include "selftests/vm/lib/probe_progs.skel.h"

static int dev, prog;

static void setup(void)
{
	dev = fixture_open("about our own verdicts");
	probe_setup();
	prog = bpf_program__fd(probe_skel->progs.count);
}

/* The kernel's own list comes first. */
static bool is_refusal(uint32_t reason)
{
	return reason == TRAMP_REASON_NOTRACE || reason == TRAMP_REASON_BLACKLISTED;
}

/*
 * Every instruction of a function: no mode, and no probe. Probes that are attached all the same
 * stay so, up to @room of them. Returns false if there is no such function.
 */
static bool expect_refused(const char *name, struct attachment *got, int room, int *nr)
{
	struct probe_func f;
	uint32_t i;

	if (!ksym_addr(name))
		return false;
	REQUIRE(!probe_explain(&f, ksym_addr(name), NULL, false), "%s", name);
	for (i = 0; i < f.nr; i++) {
		struct tramp_insn_info *insn = &f.insns[i];
		struct attachment p;

		CHECK(insn->mode == TRAMP_MODE_NONE && is_refusal(insn->reason),
		      "%s+%#x: %s (%s) foretold", name, insn->offset, tramp_mode_name(insn->mode),
		      tramp_reason_name(insn->reason));
		/* Long ones are of one kind throughout. */
		if (i > 100)
			continue;
		p = attach_insn_try(OURS, prog, f.addr + insn->offset, TRAMP_ATTACH_F_NO_JUMP, 0);
		CHECK(p.err == -EINVAL && p.reply.refusal.reason == insn->reason, "%s+%#x: %s (%s)",
		      name, insn->offset, strerror(-p.err),
		      tramp_reason_name(p.reply.refusal.reason));
		if (!p.err && got && *nr < room)
			got[(*nr)++] = p;
		else
			detach(&p);
	}
	probe_func_free(&f);
	return true;
}

static void tracer(const char *which)
{
	int err = write_file(TRACING "current_tracer", which);

	REQUIRE(!err, "%s: %s", which, strerror(-err));
	sync();
	write_file(TRACING "current_tracer", "nop");
}

static void test_tracers(void)
{
	static const char *const names[] = {
		"function_trace_call", "function_stack_trace_call", "prepare_ftrace_return",
		"ftrace_graph_func", "function_graph_enter", "function_graph_enter_ops",
		"ftrace_push_return_trace", "ftrace_return_to_handler", "trace_graph_entry",
		"trace_graph_return", "trace_function", "arch_ftrace_ops_list_func",
		"ftrace_ops_assist_func", "ftrace_caller", "ftrace_graph_caller",
	};
	static struct attachment got[2048];
	int nr = 0, i, found = 0, status;

	setup();
	if (write_file(TRACING "current_tracer", "nop"))
		KERNEL_LACKS("no tracers");
	for (i = 0; i < (int)(sizeof(names) / sizeof(names[0])); i++)
		found += expect_refused(names[i], got, sizeof(got) / sizeof(got[0]), &nr);
	CHECK(found >= 8, "only %d of the functions exist", found);
	/* The trap path, and something to be traced. */
	free(run_command(&status, "echo ksys_sync get_kprobe kprobe_int3_handler >%s",
			 TRACING "set_ftrace_filter"));
	REQUIRE(!status, "set_ftrace_filter");
	tracer("function_graph");
	tracer("function");
	write_file(TRACING "set_ftrace_filter", "\n");
	write_file(TRACING "trace", "\n");
	while (nr)
		detach(&got[--nr]);
}

static void test_copied(void)
{
	static const char *const names[] = {
		"relocate_kernel", "identity_mapped", "virtual_mapped", "swap_pages",
		"core_restore_code",
	};
	int i, found = 0, none = 0;

	setup();
	if (!ksym_addr("machine_kexec"))
		KERNEL_LACKS("this kernel starts no other one");
	for (i = 0; i < (int)(sizeof(names) / sizeof(names[0])); i++)
		found += expect_refused(names[i], NULL, 0, &none);
	CHECK(found >= 4, "only %d of the functions exist", found);
}

/* --------------------------------------------------------------------- rule -- */

static int by_name(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

struct names {
	char **name;
	size_t nr;
};

/* The functions that ftrace lists, sorted. */
static struct names traced(void)
{
	char *text = read_file(TRACING "available_filter_functions"), *line;
	struct names n = {};

	n.name = calloc(400000, sizeof(*n.name));
	REQUIRE(n.name, "out of memory");
	while ((line = strsep(&text, "\n")) && n.nr < 400000) {
		line[strcspn(line, " ")] = '\0';
		n.name[n.nr++] = line;
	}
	qsort(n.name, n.nr, sizeof(*n.name), by_name);
	REQUIRE(n.nr > 10000, "ftrace lists %zu functions", n.nr);
	return n;
}

static bool listed(const struct names *n, const char *name)
{
	return bsearch(&name, n->name, n->nr, sizeof(*n->name), by_name);
}

/* The name of it, or of what it is a part of: in @parent, TRAMP_SYM_LEN bytes. */
static const char *parent_of(const char *name, char *parent)
{
	char *dot;

	snprintf(parent, TRAMP_SYM_LEN, "%s", name);
	dot = strstr(parent, ".cold");
	if (dot)
		*dot = '\0';
	return parent;
}

static bool has_listed_parent(const struct names *n, const char *name)
{
	char parent[TRAMP_SYM_LEN];

	return listed(n, parent_of(name, parent));
}

/* Of functions that share a name ftrace may list some; their parts are all refused then. */
static bool several(const struct names *all, const char *of)
{
	char parent[TRAMP_SYM_LEN];
	const char *name = parent_of(of, parent);
	char **at = bsearch(&name, all->name, all->nr, sizeof(*all->name), by_name);

	return at && ((at > all->name && !strcmp(at[-1], name)) ||
		      (at + 1 < all->name + all->nr && !strcmp(at[1], name)));
}

static void test_rule(void)
{
	unsigned int sites = 0, none = 0, refused[TRAMP_REASON_COUNT] = {}, wrong = 0, i;
	struct names all = {};
	struct text_sym *syms;
	struct names ftrace;
	size_t nr, k;

	setup();
	ftrace = traced();
	syms = text_symbols(&nr);
	all.name = calloc(nr, sizeof(*all.name));
	REQUIRE(all.name, "out of memory");
	for (; all.nr < nr; all.nr++)
		all.name[all.nr] = syms[all.nr].name;
	qsort(all.name, all.nr, sizeof(*all.name), by_name);
	for (k = 0; k + 1 < nr; k++) {
		bool may = has_listed_parent(&ftrace, syms[k].name);
		struct probe_func f;

		/* Aliases have one name of several; and the gap behind a section's last symbol. */
		if ((k && syms[k].addr == syms[k - 1].addr) || syms[k].addr == syms[k + 1].addr ||
		    syms[k + 1].addr - syms[k].addr > 1 << 16)
			continue;
		/* All that have no site; some of the others, and of the padding before them. */
		if (may ? k % 16 > 1 || several(&all, syms[k].name) :
			  k % 16 && ksym_is_padding(syms[k].name))
			continue;
		if (probe_explain(&f, syms[k].addr, NULL, false))
			continue;	/* text of init */
		sites += may;
		none += !may;
		for (i = 0; i < f.nr; i++) {
			bool no = f.insns[i].mode == TRAMP_MODE_NONE;
			uint32_t reason = f.insns[i].reason;

			if (!may && !i)
				refused[reason]++;
			if (may ? !no || reason != TRAMP_REASON_NOTRACE : no)
				continue;
			if (wrong++ < 20)
				ktap_fail("%s+%#x: %s (%s), but ftrace %s it", syms[k].name,
					  f.insns[i].offset, tramp_mode_name(f.insns[i].mode),
					  tramp_reason_name(reason),
					  may ? "lists" : "does not list");
			break;
		}
		probe_func_free(&f);
	}
	ktap_note("%u functions that ftrace covers, %u that it does not", sites, none);
	for (i = 1; i < TRAMP_REASON_COUNT; i++)
		if (refused[i])
			ktap_note("  refused, %s: %u", tramp_reason_name(i), refused[i]);
	CHECK(sites > 1000 && none > 1000, "too few");
	CHECK(!wrong, "%u functions", wrong);
	free(all.name);
	free(syms);
}

/* -------------------------------------------------------------------- parts -- */

static void test_parts(void)
{
	uint64_t addr;
	struct tt_reply r;
	struct attachment p;
	int none = 0;

	setup();
	addr = ksym_addr("tt_cold.cold");
	REQUIRE(addr, "tt_cold.cold");
	p = attach_insn(OURS, prog, addr, 0, 0);
	probe_skel->bss->counted[0] = 0;
	r = tt_call(dev, "tt_cold n=10 3");
	CHECK_EQ(r.result, 9 + 0x5555 + 1, "result with a probe in the part");
	CHECK_EQ(probe_skel->bss->counted[0], 10, "hits in the part");
	detach(&p);

	CHECK(expect_refused("tt_cold_hidden", NULL, 0, &none), "tt_cold_hidden");
	CHECK(expect_refused("tt_cold_hidden.cold", NULL, 0, &none), "tt_cold_hidden.cold");
	/* Two functions are called tt_twin, and only one of them can be traced. */
	CHECK(expect_refused("tt_twin.cold", NULL, 0, &none), "tt_twin.cold");
	r = tt_call(dev, "tt_twin n=10 3");
	CHECK_EQ(r.result, 9 + 0x5555 + 1, "result of tt_twin");
}

static const struct ktap_test tests[] = {
	{ "tracers", test_tracers, 120 },
	{ "copied", test_copied, 120 },
	{ "rule", test_rule, 300 },
	{ "parts", test_parts, 60 },
};

KTAP_MAIN(tests)
