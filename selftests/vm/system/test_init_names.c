// SPDX-License-Identifier: GPL-2.0
/*
 * Names of functions that ran at a module's load. If a tracer is active then, ftrace keeps them
 * and goes on listing them in /proc/kallsyms. Their memory is another module's later. So the
 * library must neither find such a name, nor give it to an address.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "ownmod.h"
#include "probe.h"

/* A line of kallsyms about a function of a module. */
struct line {
	char name[128], module[64];
	uint64_t addr;
	bool gone;
};

static struct line *lines;
static size_t nr_lines, nr_gone;

static void read_lines(void)
{
	char *text = read_file("/proc/kallsyms"), *rest = text, *line;

	ksym_reload();
	while ((line = strsep(&rest, "\n"))) {
		struct line l;
		char type;

		if (sscanf(line, "%lx %c %127s [%63[^]]", &l.addr, &type, l.name, l.module) != 4 ||
		    !strchr("tT", type) || strncmp(l.module, "trampoline", 10) ||
		    ksym_is_padding(l.name) || ksym_is_label(l.name))
			continue;
		l.gone = ksym_is_gone(type, l.module, l.addr);
		nr_gone += l.gone;
		lines = realloc(lines, (nr_lines + 1) * sizeof(l));
		REQUIRE(lines, "out of memory");
		lines[nr_lines++] = l;
	}
	free(text);
}

/* Both modules are loaded anew, while the function tracer looks at a function of the kernel. */
static void load_traced(void)
{
	ownmod_setup();
	REQUIRE(!ownmod_unload("trampoline_test", 100), "unloading the test module");
	REQUIRE(!ownmod_unload("trampoline", 100), "unloading");
	function_tracer("do_unlinkat");
	ownmod_reload();
	close(tt_open());
	function_tracer(NULL);
	read_lines();
	ktap_note("%zu functions, %zu of them have gone", nr_lines, nr_gone);
	REQUIRE(nr_gone, "ftrace lists no function that has gone");
	REQUIRE(nr_lines - nr_gone > 100, "too few functions");
}

static void test_functions(void)
{
	struct tramp_syms *syms;
	size_t i;

	load_traced();
	syms = tramp_syms__load(NULL);
	REQUIRE(syms, "%s", tramp_last_error()->message);
	for (i = 0; i < nr_lines; i++) {
		const struct line *l = &lines[i];
		const struct tramp_sym *sym;
		char spec[256];

		snprintf(spec, sizeof(spec), "%s:%s", l->module, l->name);
		sym = tramp_syms__find(syms, spec);
		if (l->gone) {
			CHECK(!sym, "%s is found, at %#lx", spec, sym ? sym->addr : 0);
			sym = tramp_syms__find_addr(syms, l->addr, NULL);
			CHECK(!sym || strcmp(sym->name, l->name), "%#lx is %s", l->addr, l->name);
			continue;
		}
		CHECK(sym || tramp_last_error()->reason == TRAMP_REASON_AMBIGUOUS, "%s",
		      tramp_last_error()->message);
		sym = tramp_syms__find_addr(syms, l->addr + 1, NULL);
		CHECK(sym && !strcmp(sym->module, l->module), "%s: at its address is %s of '%s'", spec,
		      sym ? sym->name : "nothing", sym ? sym->module : "");
	}
	tramp_syms__free(syms);
}

static void test_addresses(void)
{
	struct tramp_names *names;
	size_t i;

	load_traced();
	names = tramp_names__load(NULL);
	REQUIRE(names, "%s", tramp_last_error()->message);
	for (i = 0; i < nr_lines; i++) {
		const struct line *l = &lines[i];
		const struct tramp_name *s = tramp_names__find_addr(names, l->addr + 1, NULL);

		if (l->gone)
			CHECK(!s || strcmp(s->name, l->name), "%#lx is %s", l->addr, l->name);
		else
			CHECK(s && !strcmp(s->module, l->module), "%s: at its address is %s of '%s'",
			      l->name, s ? s->name : "nothing", s ? s->module : "");
	}
	tramp_names__free(names);
}

static const struct ktap_test tests[] = {
	{ "functions", test_functions, 60 },
	{ "addresses", test_addresses, 60 },
};

KTAP_MAIN(tests)
