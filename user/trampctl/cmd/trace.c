// SPDX-License-Identifier: GPL-2.0
/*
 * trampctl trace: one line for each call of the functions named.
 *
 * Patterns, conditions and trees are for trace_many.c. This is for a few functions by name,
 * whose programs are of their own type: they see all arguments, wherever those are.
 *
 * Each function gets an instance of the object calltrace.bpf.o, bound to it and
 * configured for it; all share one table of calls under way and one ring
 * buffer. Everything that can be refused is asked before anything is attached,
 * and nothing stays attached if one function fails.
 *
 * The exit program is attached first and the entry program detached first: a
 * call that is noted at entry then always has an exit program ahead of it.
 */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "../out/error.h"
#include "../out/json.h"
#include "../out/text.h"
#include "../run/events.h"
#include "../run/module.h"
#include "../trampctl.h"
#include "trace.h"
#include "user/trampctl/run/calltrace.skel.h"

enum { OPT_MANY = NR_EVENT_OPTS, OPT_STACK = OPT_MANY + NR_MANY_OPTS,
       OPT_ENTRY_ONLY = OPT_STACK + NR_STACK_OPTS, OPT_TREE, OPT_PRINT };

static const struct cmd_opt trace_opts[] = {
	EVENT_OPTS("CALLS", "calls"),
	MANY_OPTS,
	STACK_OPTS("call"),
	{ "entry-only", 0, NULL, "trace entries alone: no result, no duration" },
	{ "tree", 0, NULL, "show calls below those that they are inside of" },
	{ "print", 0, "MEMBER", "show members, too: 'file->f_inode->i_ino'" },
	{ NULL }
};

/* Each function costs a loaded object of its own; more of them share programs. */
#define MAX_FUNCS 64

struct trace_run {
	struct traced_func *funcs;
	size_t nr;
	struct tramp_syms *syms;
	struct stack_show show;
	struct events events;
	struct tasks tasks;
	uint64_t missed;
};

static struct event_options opts;
static struct trace_many_options many;
static bool entry_only;

static int trace_option(int opt, const char *arg)
{
	if (opt < NR_EVENT_OPTS)
		return events_option(&opts, opt, arg);
	if (opt < OPT_STACK)
		return many_option(&many.many, opt - OPT_MANY, arg);
	if (opt < OPT_ENTRY_ONLY)
		return stacks_option(&many.stacks, opt - OPT_STACK, arg);
	if (opt == OPT_ENTRY_ONLY)
		entry_only = true;
	else if (opt == OPT_PRINT)
		return members_parse("--print", arg, &many.prints);
	else
		many.tree = true;
	return 0;
}

/* ----------------------------------------------------------------- set-up -- */

/* Asks the module; returns 0 or the exit code. */
static int check_possible(struct trace_run *run, struct traced_func *f)
{
	TRAMP_OPTS(tramp_explanation, ex);
	uint32_t reason;
	bool at_entry;

	if (tramp_explain(run->syms, f->spec, &ex))
		return fail_lib(run->syms, f->spec);
	at_entry = ex.can & TRAMP_CAN_FENTRY;
	if (at_entry && (f->entry_only || (ex.can & TRAMP_CAN_FEXIT)))
		return 0;

	reason = at_entry ? ex.fexit_reason : ex.fentry_reason;
	{
		char *remedy = remedy_text(at_entry ? "--entry-only traces its entry alone" :
					   tramp_reason_remedy(reason), f->spec);
		struct problem p = {
			.exit_code = EXIT_REFUSED, .err = -tramp_reason_errno(reason),
			.reason = tramp_reason_name(reason), .remedy = remedy,
		};
		int rc;

		rc = fail(&p, "%s cannot be traced%s: %s%s%s", f->spec,
			  at_entry ? " at exit" : "", tramp_reason_sentence(reason),
			  ex.holder[0] ? ": " : "", ex.holder);
		free(remedy);
		return rc;
	}
}

static int resolve(struct trace_run *run, struct traced_func *f, const char *spec)
{
	size_t i;

	f->spec = spec;
	f->entry_only = entry_only;
	f->sym = tramp_syms__find(run->syms, spec);
	if (!f->sym)
		return fail_lib(run->syms, spec);
	for (i = 0; i < run->nr; i++)
		if (run->funcs[i].sym == f->sym && &run->funcs[i] != f)
			return usage_error("%s is named twice", spec);
	f->proto = tramp_syms__proto(run->syms, f->sym);
	if (!f->proto)
		return fail_lib(run->syms, spec);
	return check_possible(run, f);
}

static void configure(const struct trace_run *run, struct traced_func *f, struct trace_config *cfg,
		      size_t nr)
{
	cfg->func = nr;
	cfg->nr_slots = f->proto->nr_slots;
	cfg->filter = opts.tasks.filter;
	if (f->entry_only)
		cfg->flags |= TRACE_F_ENTRY_ONLY;
	cfg->stacks = run->show.cfg;
	if (!(f->proto->ret.flags & TRAMP_ARG_VOID))
		cfg->flags |= TRACE_F_RESULT;
	trace_find_strings(f, TRACE_MAX_STRS, &cfg->nr_strs);
	memcpy(cfg->str_kind, f->str_kind, sizeof(cfg->str_kind));
	cfg->ret_kind = f->ret_kind;
}

/* A pattern is of use: it is resolved to addresses, and its programs are bound to no name. */
static int fail_namesake(const struct traced_func *f)
{
	const char *name = f->sym->name, *module = f->sym->module;
	int len = strlen(name) - 1;
	char remedy[2 * TRAMP_SYM_LEN + 64];
	struct problem p = {
		.exit_code = EXIT_REFUSED, .err = ENOTUNIQ, .remedy = remedy,
		.reason = tramp_reason_name(TRAMP_REASON_AMBIGUOUS),
	};

	snprintf(remedy, sizeof(remedy), "trace it as a pattern: trampctl trace '%s:%.*s[%c]'",
		 module[0] ? module : "vmlinux", len, name, name[len]);
	return fail(&p, "%s: another function of that name would be traced instead", f->spec);
}

/*
 * libbpf looks a function up by name alone and takes the kernel's before any
 * module's. Where several have the name, make sure it took ours. The module says which
 * function that is: the list of BTF objects is for CAP_SYS_ADMIN alone.
 */
static int check_binding(struct trace_run *run, const struct traced_func *f)
{
	struct bpf_prog_info info = { 0 };
	TRAMP_OPTS(tramp_explanation, ex);
	uint32_t len = sizeof(info);
	int id;

	id = tramp_syms__btf_id(run->syms, f->sym, NULL);
	if (id < 0)
		return fail_lib(run->syms, f->spec);
	if (bpf_obj_get_info_by_fd(bpf_program__fd(f->skel->progs.trace_entry), &info, &len))
		return fail_bpf(errno, "cannot ask for the program on %s", f->spec);
	if (tramp_explain_btf(info.attach_btf_obj_id, info.attach_btf_id, &ex))
		return fail_lib(run->syms, f->spec);
	if (info.attach_btf_id == (uint32_t)id && !strcmp(ex.module, f->sym->module))
		return 0;
	return fail_namesake(f);
}

static int load(struct trace_run *run, struct traced_func *f)
{
	size_t nr = f - run->funcs;
	struct calltrace *skel, *first = run->funcs[0].skel;
	/* libbpf looks it up by the name that BTF has, which need not be the symbol's. */
	const char *name = f->proto->name;
	int err;

	skel = f->skel = calltrace__open();
	if (!skel)
		return fail_bpf(errno, "cannot open the tracing programs");
	configure(run, f, (struct trace_config *)&skel->rodata->cfg, nr);
	if (f->entry_only)
		bpf_program__set_autoload(skel->progs.trace_exit, false);
	else if ((err = bpf_program__set_attach_target(skel->progs.trace_exit, 0, name)))
		return fail_bpf(err, "cannot bind a program to %s", f->spec);
	err = bpf_program__set_attach_target(skel->progs.trace_entry, 0, name);
	if (err)
		return fail_bpf(err, "cannot bind a program to %s", f->spec);
	if (!nr) {
		err = bpf_map__set_value_size(skel->maps.calls,
					      offsetof(struct traced_call, stacks.frames) +
					      stack_bytes(&run->show));
		if (err)
			return fail_bpf(err, "cannot size the maps");
	} else {
		err = bpf_map__reuse_fd(skel->maps.calls, bpf_map__fd(first->maps.calls));
		if (!err)
			err = bpf_map__reuse_fd(skel->maps.events, bpf_map__fd(first->maps.events));
		if (err)
			return fail_bpf(err, "cannot share the maps");
	}
	err = tasks_share(&run->tasks, skel->maps.filter_cgroup, skel->maps.filter_children);
	if (err)
		return fail_bpf(err, "cannot share the maps");
	err = calltrace__load(skel);
	if (err)
		return fail_bpf(err, "cannot load the programs for %s", f->spec);
	return check_binding(run, f);
}

static int attach(struct trace_run *run, struct traced_func *f)
{
	if (!f->entry_only) {
		f->exit = tramp_attach(f->skel->progs.trace_exit, NULL);
		if (!f->exit)
			return fail_lib(run->syms, f->spec);
	}
	f->entry = tramp_attach(f->skel->progs.trace_entry, NULL);
	return f->entry ? 0 : fail_lib(run->syms, f->spec);
}

static uint64_t link_misses(const struct tramp_link *link)
{
	TRAMP_OPTS(tramp_link_info, info);

	return link && !tramp_link__info(link, &info) ? info.misses : 0;
}

static void detach(struct trace_run *run)
{
	size_t i;

	for (i = 0; i < run->nr; i++) {
		run->missed += link_misses(run->funcs[i].entry);
		run->missed += link_misses(run->funcs[i].exit);
		tramp_link__destroy(run->funcs[i].entry);
		run->funcs[i].entry = NULL;
	}
	for (i = 0; i < run->nr; i++) {
		tramp_link__destroy(run->funcs[i].exit);
		run->funcs[i].exit = NULL;
	}
}

/* ------------------------------------------------------------------- run -- */

static bool show_call(void *arg, const void *data, size_t size)
{
	const size_t least = offsetof(struct traced_call, str);
	struct traced_call call = { 0 };
	struct trace_run *run = arg;

	if (size < least)
		return false;
	/* Records end behind their last string: what is cut off reads as zero. */
	memcpy(&call, data, size < sizeof(call) ? size : sizeof(call));
	if (call.func >= run->nr)
		return false;
	trace_print_call(&run->funcs[call.func], &call, NULL, &run->show, -1);
	return true;
}

static struct trace_counts sum_up(const struct trace_run *run)
{
	struct trace_counts sum = { 0 };
	size_t i;

	for (i = 0; i < run->nr; i++) {
		const volatile struct trace_counts *c = &run->funcs[i].skel->bss->counts;

		sum.entered += c->entered;
		sum.reported += c->reported;
		sum.lost_inflight += c->lost_inflight;
		sum.lost_ring += c->lost_ring;
	}
	return sum;
}

static uint64_t lost_calls(void *arg)
{
	const struct trace_counts sum = sum_up(arg);

	return sum.lost_ring + sum.lost_inflight;
}

/* Says what was not seen. */
static void summarize(const struct trace_run *run)
{
	struct trace_counts sum = sum_up(run);
	uint64_t inflight;
	json_object *j;

	inflight = sum.entered - sum.reported - sum.lost_ring;
	/* Reported to us, but not shown. */
	sum.lost_ring += run->events.unread;

	if (json_output) {
		j = json_object_new_object();
		json_put_str(j, "type", "end");
		json_put_u64(j, "calls", run->events.shown);
		json_put_u64(j, "lost_ring", sum.lost_ring);
		json_put_u64(j, "lost_inflight", sum.lost_inflight);
		json_put_u64(j, "missed", run->missed);
		json_put_u64(j, "not_returned", inflight);
		tasks_put(&run->tasks, j);
		output_put(j);
		output_end(j);
		return;
	}
	if (sum.lost_ring)
		warn("lost %llu calls: %s", sum.lost_ring, events_why_lost());
	if (sum.lost_inflight)
		warn("lost %llu calls: more than %d were under way, or they interrupted the tracing itself",
		     sum.lost_inflight, TRACE_MAX_INFLIGHT);
	if (run->missed)
		warn("missed %" PRIu64 " times: the tracing program was running on that CPU already",
		     run->missed);
	/* A call whose exit program was missed looks like one that is still under way. */
	if (inflight)
		warn("%" PRIu64 " call%s had not returned%s", inflight, inflight == 1 ? "" : "s",
		     run->missed ? ", or the return was missed" : "");
	tasks_warn(&run->tasks);
	output_warn("calls");
}

static void cleanup(struct trace_run *run)
{
	size_t i;

	detach(run);
	events_close(&run->events);
	for (i = 0; i < run->nr; i++) {
		calltrace__destroy(run->funcs[i].skel);
		tramp_proto__free(run->funcs[i].proto);
	}
	tasks_close(&run->tasks);
	free(run->funcs);
	stack_show_close(&run->show);
	tramp_syms__free(run->syms);
}

static int prepare(struct trace_run *run, int argc, char **argv)
{
	int i, rc;

	rc = need_module(NULL);
	if (!rc)
		rc = load_syms(&run->syms);
	if (rc)
		return rc;
	run->funcs = xcalloc(argc, sizeof(*run->funcs));
	for (i = 0; i < argc; i++) {
		run->nr = i + 1;
		rc = resolve(run, &run->funcs[i], argv[i]);
		if (rc)
			return rc;
	}
	rc = tasks_open(&run->tasks, &opts.tasks);
	if (rc)
		return rc;
	for (i = 0; i < argc && !events_stopped(); i++) {
		rc = load(run, &run->funcs[i]);
		if (rc)
			return rc;
	}
	stack_show_open(&run->show);
	if (events_stopped())
		return 0;
	rc = events_open(&run->events, bpf_map__fd(run->funcs[0].skel->maps.events));
	if (rc)
		return rc;
	for (i = 0; i < argc && !events_stopped(); i++) {
		rc = attach(run, &run->funcs[i]);
		if (rc)
			return rc;
	}
	return 0;
}

/* Patterns and conditions are the business of programs that go on many functions. */
static bool for_many(int argc, char **argv)
{
	int i;

	for (i = 0; i < argc; i++)
		if (strpbrk(argv[i], "*?[@|"))
			return true;
	return many.many.used || many.tree || many.prints.nr || argc > MAX_FUNCS;
}

static int trace_run(int argc, char **argv)
{
	struct trace_run run = { .events = { .opts = &opts, .show = show_call, .things = "calls",
					   .lost = lost_calls, .arg = &run } };
	unsigned int i;
	int rc;

	if (many.tree && entry_only)
		return usage_error("--tree and --entry-only exclude each other: only an exit ends a call");
	if (entry_only && (many.many.min_ns || conditions_on_result(&many.many.conditions)))
		return usage_error("--entry-only sees neither results nor durations");
	for (i = 0; i < many.prints.nr; i++)
		if (entry_only && member_on_result(&many.prints.expr[i]))
			return usage_error("--entry-only sees no result to show %s of",
					   many.prints.expr[i].text);
	rc = stacks_check(&many.stacks);
	if (!rc)
		rc = tasks_check(&opts.tasks);
	if (!rc)
		rc = functions_check(argc, argv);
	if (rc)
		return rc;
	events_catch_signals();
	rc = output_open(true);
	if (rc || events_stopped())
		return rc;
	if (for_many(argc, argv)) {
		many.many.events = &opts;
		many.entry_only = entry_only;
		return trace_many(&many, argc, argv);
	}
	stack_show_configure(&run.show, &many.stacks);
	rc = prepare(&run, argc, argv);
	if (rc || events_stopped())
		goto out;

	rc = events_begin();
	if (rc)
		goto out;
	if (json_output)
		trace_print_start(run.funcs, run.nr);
	else if (!opts.no_header && !quiet_output)
		trace_print_header(false, NULL);
	fflush(stdout);

	rc = events_collect(&run.events);
	detach(&run);
	if (!rc)
		events_finish(&run.events);
	summarize(&run);
out:
	cleanup(&run);
	return rc;
}

const struct cmd cmd_trace = {
	.name = "trace",
	.args = "PATTERN...",
	.summary = "Show each call of functions, with arguments and result",
	.details =
		"PATTERN is a function or a glob, with MODULE: in front for a module's; several may be\n"
		"joined by |, and @FILE has one a line. One line a call, when it returns: time of entry,\n"
		"CPU, task, process, arguments and result by their BTF types, duration. For char *,\n"
		"struct filename *, dentry *, file * and qstr * it shows the string, as it was at entry.\n"
		"MEMBER is what an argument or ret leads to, as C writes it; several have commas between.\n"
		"Ends with Ctrl-C, and then says how many calls were lost.\n",
	.opts = trace_opts,
	.min_args = 1,
	.max_args = -1,
	.option = trace_option,
	.run = trace_run,
};
