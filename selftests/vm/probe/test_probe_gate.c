// SPDX-License-Identifier: GPL-2.0
/*
 * The gate: code in which no int3 of ours may be, computed from the text of the kernel that
 * runs. The walk goes from roots, by direct calls, tail jumps, static calls as they are, and
 * .cold parts. EXPLAIN_CODE must refuse each function that it reaches, at every instruction
 * (the kernel's blacklist, no ftrace site, or kernel/probe/deny.c). Or else a line in a table
 * here cuts the function off, with a reason.
 *
 * - trap: from the int3's entry to our handler, with what tracers hang into it.
 * - idle: while RCU does not watch the CPU.
 * - idt: while the CPU has no IDT.
 * - copying: while hibernation copies memory. An image is as bad there.
 * - copied: text that is copied and runs elsewhere.
 * - planted: a name that is taken from the deny list must be found.
 *
 * Indirect calls are not followed: each function that has some must be in a table that says
 * where they go, and what is hung there is among the roots.
 *
 * The debug kernels inline and call otherwise, and their checkers are on these ways as well.
 *
 * Environment: GATE_ASSUME, names separated by commas that count as refused.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "fixture.h"
#include "gate_graph.h"
#include "gate_tables.h"
#include "probe.h"

static int dev;
/* A name that counts as not refused. */
static const char *planted;

static void setup(void)
{
	dev = fixture_open("about our own verdicts");
	graph_init(dev);
}

struct walk {
	const struct gate *gate;
	size_t *from;		/* for each function: by which it was reached, + 1; 0: not */
	size_t *queue;
	size_t nr, done;
	size_t now;		/* whose edges are taken */
	uint64_t until;		/* edges from there on are not followed */
	unsigned int cuts, holes, indirect;
	char found[TRAMP_SYM_LEN];	/* the first hole */
};

static void reach(struct walk *w, size_t func, size_t from)
{
	if (func == GRAPH_NONE || w->from[func])
		return;
	w->from[func] = from + 1;
	w->queue[w->nr++] = func;
}

static void add_root(size_t func, void *arg)
{
	reach(arg, func, func);
}

static void find_until(size_t to, uint64_t at, void *arg)
{
	struct walk *w = arg;
	const struct gate_until *u;

	if (to == GRAPH_NONE)
		return;
	for (u = w->gate->until; u && u->in; u++)
		if (graph_is(w->now, u->in) && graph_is(to, u->call) && at < w->until)
			w->until = at;
}

static void follow(size_t to, uint64_t at, void *arg)
{
	struct walk *w = arg;
	const struct gate_indirect *d;
	const struct gate_cut *c;

	/* Through a register, or the thunk that stands for that. */
	if (to == GRAPH_NONE || !strncmp(graph_name(to), "__x86_indirect", 14)) {
		w->indirect++;
		for (d = w->gate->indirect; d->in; d++)
			if (graph_is(w->now, d->in))
				return;
		CHECK(planted, "%s: an indirect branch in %s, of which nothing is known",
		      w->gate->name, graph_name(w->now));
		return;
	}
	if (at > w->until)
		return;
	for (c = w->gate->cuts; c->callee; c++) {
		if ((strcmp(c->callee, "*") && !graph_is(to, c->callee)) ||
		    (c->caller && !graph_is(w->now, c->caller)))
			continue;
		w->cuts++;
		return;
	}
	reach(w, to, w->now);
}

static bool assumed(const char *name)
{
	const char *list = getenv("GATE_ASSUME"), *at = list;
	size_t len = strlen(name);

	while (at && (at = strstr(at, name))) {
		if ((at == list || at[-1] == ',') && (!at[len] || at[len] == ','))
			return true;
		at += len;
	}
	return false;
}

/* Whether no instruction of it takes an int3 (or, if that is as bad, a kernel kprobe). */
static bool is_refused(const struct walk *w, size_t func)
{
	struct probe_func f;
	bool refused = true, image = !w->gate->no_image || w->from[func] - 1 == func;
	uint32_t i;

	if (planted && graph_is(func, planted))
		return false;
	if (assumed(graph_name(func)) || probe_explain(&f, graph_addr(func), NULL, false))
		return true;	/* text of init, our own module */
	for (i = 0; i < f.nr && refused; i++)
		refused = f.insns[i].mode == TRAMP_MODE_NONE ||
			  (image && probe_is_entry(f.insns[i].mode)) ||
			  (f.insns[i].mode == TRAMP_MODE_KPROBE && w->gate->kprobe_will_do &&
			   (f.insns[i].reason == TRAMP_REASON_BLACKLISTED ||
			    f.insns[i].reason == TRAMP_REASON_RCU_IDLE));
	probe_func_free(&f);
	return refused;
}

static void report(struct walk *w, size_t func)
{
	char path[400];
	size_t at = func;
	int n = 0;

	if (!w->holes++)
		snprintf(w->found, sizeof(w->found), "%s", graph_name(func));
	if (planted || w->holes > 60)
		return;
	n = snprintf(path, sizeof(path), "%s", graph_name(at));
	while (w->from[at] - 1 != at && n < (int)sizeof(path) - 140) {
		at = w->from[at] - 1;
		n += snprintf(path + n, sizeof(path) - n, " < %s", graph_name(at));
	}
	ktap_note("hole: %s", path);
}

/* Walk through all that the roots reach. Returns the functions that are not refused. */
static unsigned int walk(const struct gate *g, struct walk *w)
{
	int i, roots = 0;

	*w = (struct walk){ .gate = g };
	w->from = calloc(graph_size(), sizeof(*w->from));
	w->queue = calloc(graph_size(), sizeof(*w->queue));
	REQUIRE(w->from && w->queue, "out of memory");
	for (i = 0; g->roots[i]; i++)
		roots += graph_named(g->roots[i], add_root, w);
	REQUIRE(roots, "no root exists");
	for (; w->done < w->nr; w->done++) {
		w->now = w->queue[w->done];
		if (!is_refused(w, w->now)) {
			/* The functions it calls are no better; the report leaves them out. */
			report(w, w->now);
			continue;
		}
		w->until = ~0ULL;
		graph_edges(w->now, find_until, w);
		graph_edges(w->now, follow, w);
	}
	free(w->from);
	free(w->queue);
	return w->holes;
}

static void check(const struct gate *g)
{
	struct walk w;

	setup();
	walk(g, &w);
	ktap_note("%s: %zu functions reached, %u edges cut off, %u indirect branches, %u holes",
		  g->name, w.nr, w.cuts, w.indirect, w.holes);
	CHECK(!w.holes, "%s: %u functions may be probed, the first is %s", g->name, w.holes,
	      w.found);
}

static void test_trap(void) { check(&gate_trap); }
static void test_idle(void) { check(&gate_idle); }
static void test_idt(void) { check(&gate_idt); }

static bool hibernates(void)
{
	return kernel_is_debian() || ksym_addr("swsusp_save");
}

static void test_copying(void)
{
	if (!hibernates())
		ktap_skip("the kernel was built without hibernation");
	check(&gate_copying);
}

static void take_range(size_t func, void *arg)
{
	size_t *range = arg;

	range[0] = func < range[0] ? func : range[0];
	range[1] = func > range[1] ? func : range[1];
}

static void test_copied(void)
{
	struct walk w = { .gate = &gate_idt };
	size_t range[2] = { GRAPH_NONE, 0 }, f;
	unsigned int n = 0;
	int i;

	if (!hibernates())
		ktap_skip("the kernel was built without hibernation");
	setup();
	for (i = 0; gate_copied[i]; i++)
		n += graph_named(gate_copied[i], take_range, range);
	CHECK(n >= 4 && range[1] - range[0] < 10, "%u functions, %zu apart", n,
	      range[1] - range[0]);
	for (f = range[0]; f <= range[1]; f++)
		CHECK(is_refused(&w, f), "%s may be probed", graph_name(f));
	REQUIRE(graph_named("core_restore_code", take_range, range), "core_restore_code");
	CHECK(is_refused(&w, graph_at(ksym_addr("core_restore_code"))), "core_restore_code");
}

static void plant(const struct gate *g, const char *name)
{
	struct walk w;

	REQUIRE(ksym_addr(name), "there is no %s", name);
	planted = name;
	walk(g, &w);
	planted = NULL;
	if (CHECK(w.holes == 1 && !strcmp(w.found, name), "%s: %u holes, not 1 in %s", g->name,
		  w.holes, name))
		ktap_note("%s without %s: found", g->name, name);
}

static void test_planted(void)
{
	setup();
	plant(&gate_trap, "__rcu_read_lock");
	plant(&gate_idt, "load_current_idt");
	plant(&gate_idle, "native_play_dead");
	if (hibernates())
		plant(&gate_copying, "memory_bm_find_bit");
}

static const struct ktap_test tests[] = {
	{ "trap", test_trap, 200 },
	{ "idle", test_idle, 200 },
	{ "idt", test_idt, 200 },
	{ "copying", test_copying, 200 },
	{ "copied", test_copied, 60 },
	{ "planted", test_planted, 400 },
};

KTAP_MAIN(tests)
