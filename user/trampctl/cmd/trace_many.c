// SPDX-License-Identifier: GPL-2.0
/*
 * trampctl trace of many functions: the same lines as for a few, from one pair of programs.
 *
 * With --tree, the calls of a task inside of each other come together, when the outermost
 * returns. Calls arrive as they return, inner ones first. They are kept, by the task and by
 * when its outermost call began, until its end is there. Then they are shown in the order
 * of their beginnings, each indented below those that had not returned.
 */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../out/error.h"
#include "../out/json.h"
#include "../out/output.h"
#include "../out/text.h"
#include "../run/arguments.h"
#include "../run/many_run.h"
#include "../run/member.h"
#include "../run/module.h"
#include "../run/signals.h"
#include "../trampctl.h"
#include "trace.h"
#include "user/trampctl/run/many.skel.h"

/* Calls of one tree; of more, those that came first are shown as a tree of their own. */
#define MAX_TREE 16384

/* Trees that are under way, by task: a table with lists. */
#define TREE_SLOTS 1024

struct tree {
	struct tree *next;
	uint64_t task, top;
	struct many_event **calls;
	size_t nr, room;
};

struct trace_many {
	const struct trace_many_options *opts;
	struct many_run many;
	struct traced_func *funcs;
	struct stack_show show;
	struct events events;
	struct tree *trees[TREE_SLOTS];
	size_t shown;
};

/* ---------------------------------------------------------------- trees -- */

static struct tree **tree_slot(struct trace_many *run, uint64_t task)
{
	return &run->trees[(task >> 6) * 0x9e3779b97f4a7c15ULL >> 54];
}

static int earlier_first(const void *a, const void *b)
{
	const struct traced_call *x = &(*(struct many_event *const *)a)->call;
	const struct traced_call *y = &(*(struct many_event *const *)b)->call;

	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	/* Two that began within one tick of the clock: the outer one ended later. */
	return x->end > y->end ? -1 : x->end < y->end;
}

static void show_call(struct trace_many *run, const struct many_event *e, int depth)
{
	const struct traced_call *call = &e->call;
	const struct member_list *list = &run->opts->prints;
	const struct trace_members members = {
		.list = list, .found = e->print,
		.members = list->nr ? &run->many.members[call->func * list->nr] : NULL,
	};

	trace_print_call(&run->funcs[call->func], call, list->nr ? &members : NULL, &run->show,
			 depth);
	run->shown += !output_failed();
}

/* Forgets the calls of a tree from number @i on. */
static void drop_calls(struct tree *t, size_t i)
{
	while (i < t->nr)
		free(t->calls[i++]);
	t->nr = 0;
}

/* Shows a tree, and forgets it. */
static void show_tree(struct trace_many *run, struct tree *t)
{
	uint64_t ends[MANY_MAX_DEPTH];
	size_t i, depth = 0;
	bool over = run->events.blocked;

	qsort(t->calls, t->nr, sizeof(*t->calls), earlier_first);
	for (i = 0; i < t->nr && !over; i++) {
		const struct many_event *e = t->calls[i];

		while (depth && ends[depth - 1] <= e->call.start)
			depth--;
		show_call(run, e, depth);
		if (depth < MANY_MAX_DEPTH)
			ends[depth++] = e->call.end;
		over = events_give_up(&run->events);
		free(t->calls[i]);
	}
	/* The line that a signal interrupted is lost, too, and one that could not be written. */
	run->events.unread += t->nr - i + (i && (run->events.blocked || output_failed()));
	drop_calls(t, i);
}

static void free_tree(struct tree *t)
{
	drop_calls(t, 0);
	free(t->calls);
	free(t);
}

/*
 * Shows what is left at the end: calls inside of others that have not returned. It must come soon,
 * so after a while the rest is only counted.
 */
static void show_trees(struct trace_many *run)
{
	struct tree *t;
	size_t i;

	run->events.end = now_ns() + LEFTOVER_NS;
	for (i = 0; i < TREE_SLOTS; i++)
		for (t = run->trees[i]; t; t = t->next) {
			if (run->events.blocked || output_failed() ||
			    (run->events.late > LEFTOVER_MIN && now_ns() > run->events.end))
				run->events.unread += t->nr;
			else
				show_tree(run, t);
		}
}

static void free_trees(struct trace_many *run)
{
	struct tree *t;
	size_t i;

	for (i = 0; i < TREE_SLOTS; i++)
		while ((t = run->trees[i])) {
			run->trees[i] = t->next;
			free_tree(t);
		}
}

/*
 * The tree of a task. It may have another one, whose end was lost: the task has begun a new
 * one, so that is shown.
 */
static struct tree **find_tree(struct trace_many *run, uint64_t task, uint64_t top)
{
	struct tree **at = tree_slot(run, task);

	while (*at && (*at)->task != task)
		at = &(*at)->next;
	if (*at && (*at)->top != top) {
		show_tree(run, *at);
		(*at)->top = top;
	}
	if (!*at) {
		*at = xcalloc(1, sizeof(**at));
		(*at)->task = task;
		(*at)->top = top;
	}
	return at;
}

/* @has_call: it is more than the end of its tree */
static void add_call(struct trace_many *run, const struct many_event *e, bool has_call)
{
	const size_t size = offsetof(struct many_event, call.stacks.frames) +
			    stack_bytes(&run->show);
	struct tree **at = find_tree(run, e->task, e->top), *t = *at;

	if (has_call) {
		if (t->nr == t->room) {
			t->room = t->room ? 2 * t->room : 8;
			t->calls = xrealloc(t->calls, t->room * sizeof(*t->calls));
		}
		/* Many may be kept: only stacks that were asked for take room. */
		t->calls[t->nr] = xcalloc(1, size);
		memcpy(t->calls[t->nr++], e, size);
	}
	if (e->last || t->nr >= MAX_TREE)
		show_tree(run, t);
	if (e->last) {
		*at = t->next;
		free_tree(t);
	}
}

/* ------------------------------------------------------------------ run -- */

static bool show_event(void *arg, const void *data, size_t size)
{
	const size_t end = offsetof(struct many_event, print);
	const size_t least = offsetof(struct many_event, call.str);
	struct trace_many *run = arg;
	struct many_event e = { 0 };

	/* Records end behind their last string: what is cut off reads as zero. */
	memcpy(&e, data, size < sizeof(e) ? size : sizeof(e));
	if (size < end)
		return false;
	if (size < least) {
		if (run->opts->tree)
			add_call(run, &e, false);
		return run->opts->tree;
	}
	if (e.call.func >= run->many.funcs.nr)
		return false;
	if (!run->opts->tree) {
		show_call(run, &e, -1);
		return true;
	}
	/* With --tree the number is one of trees. */
	add_call(run, &e, true);
	return e.last && !output_failed();
}

/* Gives the members that are texts their places among the strings, the last ones. */
static int place_texts(struct trace_many *run, size_t nr, __u8 *nr_strs)
{
	const struct member_list *list = &run->opts->prints;
	const struct conditions *c = &run->opts->many.conditions;
	struct member *m = list->nr ? &run->many.members[nr * list->nr] : NULL;
	__u8 texts = 0;
	unsigned int i;

	for (i = 0; i < list->nr; i++)
		texts += m[i].is_text;
	if (texts > TRACE_MAX_STRS)
		return usage_error("--print shows at most %d texts of a call, not %d",
				   TRACE_MAX_STRS, texts);
	trace_find_strings(&run->funcs[nr], TRACE_MAX_STRS - texts, nr_strs);
	for (i = 0; i < list->nr; i++)
		if (m[i].is_text) {
			m[i].path.str = (*nr_strs)++;
			run->many.paths[nr * run->many.nr_paths + c->nr + i] = m[i].path;
		}
	return 0;
}

/* Tells the programs what a trace needs to know of a function. */
static int configure(void *arg, size_t nr, struct many_func *info)
{
	struct trace_many *run = arg;
	struct traced_func *f;
	uint32_t nr_slots;
	int i, rc;

	if (!run->funcs)
		run->funcs = xcalloc(run->many.funcs.nr, sizeof(*run->funcs));
	f = &run->funcs[nr];
	f->sym = run->many.funcs.func[nr]->sym;
	f->spec = f->sym->name;
	f->entry_only = run->opts->entry_only;
	f->proto = functions_proto(&run->many.funcs, nr);
	if (!f->proto)
		return fail_lib(run->many.funcs.syms, f->spec);
	rc = place_texts(run, nr, &info->nr_strs);
	if (rc)
		return rc;
	info->ret_kind = f->ret_kind;
	for (i = 0; i < TRACE_MAX_SLOTS; i++)
		info->ret_str += !!f->str_kind[i];
	memcpy(info->str_kind, f->str_kind, sizeof(info->str_kind));
	nr_slots = f->proto->nr_slots;
	info->nr_slots = nr_slots < TRACE_MAX_SLOTS ? nr_slots : TRACE_MAX_SLOTS;
	arguments_locate(f->proto, info->slot_where, TRACE_MAX_SLOTS);
	for (i = 0; i < TRACE_MAX_SLOTS; i++)
		f->slot_unseen[i] = info->slot_where[i] == MANY_NOWHERE;
	f->ret_unseen = !arguments_result_seen(f->proto);
	return 0;
}

static void summarize(const struct trace_many *run)
{
	const volatile struct many_counts *c = &run->many.skel->bss->counts;
	const uint64_t inside = c->entered - c->returned - c->lost_exit;
	json_object *j;

	if (json_output) {
		j = many_lost_json(&run->many, run->events.unread);
		json_put_str(j, "type", "end");
		json_put_u64(j, "calls", run->shown);
		json_put_u64(j, "not_returned", inside);
		output_put(j);
		output_end(j);
		return;
	}
	many_warn_lost(&run->many, run->events.unread);
	if (inside)
		warn("%" PRIu64 " call%s had not returned%s", inside, inside == 1 ? "" : "s",
		     run->many.missed ? ", or the return was missed" : "");
	output_warn("calls");
}

static uint64_t lost_so_far(void *arg)
{
	struct trace_many *run = arg;

	return many_lost(&run->many);
}

static int collect(struct trace_many *run)
{
	const uint64_t max = run->opts->many.events->max;
	int rc;

	rc = events_begin();
	if (rc)
		return rc;
	if (json_output)
		trace_print_start(run->funcs, run->many.funcs.nr);
	else if (!run->opts->many.events->no_header && !quiet_output)
		trace_print_header(run->opts->tree, &run->opts->prints);
	fflush(stdout);
	if (output_failed())
		return 0;

	rc = events_collect(&run->events);
	many_halt(&run->many);
	if (rc)
		return rc;
	events_finish(&run->events);
	/* With as many trees as were asked for, others do not matter. */
	if (!max || run->events.shown < max)
		show_trees(run);
	if (!output_failed() || output_is_file())
		summarize(run);
	return 0;
}

/* Returns the exit code. */
int trace_many(const struct trace_many_options *opts, int argc, char **argv)
{
	struct trace_many run = {
		.opts = opts,
		.many = { .opts = &opts->many, .mode = MANY_TRACE, .exits = !opts->entry_only,
			  .prints = opts->prints.nr ? &opts->prints : NULL,
			  .configure = configure },
		.events = { .opts = opts->many.events, .show = show_event, .things = "calls",
			    .lost = lost_so_far },
	};
	size_t i;
	int rc;

	stack_show_configure(&run.show, &opts->stacks);
	run.many.stacks = run.show.cfg;
	run.many.arg = &run;
	run.events.arg = &run;
	rc = many_start(&run.many, argc, argv);
	if (!rc && run.many.attached) {
		stack_show_open(&run.show);
		rc = events_open(&run.events, bpf_map__fd(run.many.skel->maps.events));
		if (!rc)
			rc = collect(&run);
	}
	events_close(&run.events);
	free_trees(&run);
	for (i = 0; run.funcs && i < run.many.funcs.nr; i++)
		tramp_proto__free(run.funcs[i].proto);
	free(run.funcs);
	stack_show_close(&run.show);
	many_free(&run.many);
	return rc;
}
