// SPDX-License-Identifier: GPL-2.0
/*
 * trampctl probe: one line for each time that an instruction is reached, with the
 * registers as they are before it is executed.
 */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../out/error.h"
#include "../out/json.h"
#include "../out/linkinfo.h"
#include "../run/events.h"
#include "../run/module.h"
#include "../run/probe_places.h"
#include "../run/progress.h"
#include "../run/regs.h"
#include "../run/sources.h"
#include "../run/stack_show.h"
#include "../trampctl.h"
#include "user/trampctl/run/regprobe.skel.h"

enum { OPT_STACK = NR_EVENT_OPTS, OPT_NO_JUMP = OPT_STACK + NR_STACK_OPTS, OPT_NO_KPROBE,
       OPT_DEBUGINFO };

static const struct cmd_opt probe_opts[] = {
	EVENT_OPTS("HITS", "hits"),
	STACK_OPTS("hit"),
	{ "no-jump", 0, NULL, "stay an int3: do not become a jump" },
	{ "no-kprobe", 0, NULL, "refuse rather than use a kprobe of the kernel" },
	SOURCE_OPTS,
	{ NULL }
};

#define MAX_VARS 32

struct probe_run {
	struct regprobe *skel;
	struct probe_places places;
	struct events events;
	struct tasks tasks;
	struct stack_show show;
	const struct reg_var *vars;
	size_t nr_vars;
};

static struct event_options opts;
static struct stack_options stacks;
static uint32_t attach_flags;
static struct debuginfo_options debuginfo;

static int probe_option(int opt, const char *arg)
{
	if (opt < NR_EVENT_OPTS)
		return events_option(&opts, opt, arg);
	if (opt < OPT_NO_JUMP)
		return stacks_option(&stacks, opt - OPT_STACK, arg);
	if (opt >= OPT_DEBUGINFO)
		return source_option(&debuginfo, opt - OPT_DEBUGINFO, arg);
	attach_flags |= opt == OPT_NO_JUMP ? TRAMP_ATTACH_F_NO_JUMP : TRAMP_ATTACH_F_NO_KPROBE;
	return 0;
}

/*
 * The arguments behind the place. Of a line it is not known yet whether functions start there.
 * Returns 0 or EXIT_USAGE.
 */
static int parse_vars(struct probe_run *run, const struct tramp_place *place, bool by_line,
		      int argc, char **argv)
{
	static struct reg_var vars[MAX_VARS];
	int i, k, rc;

	if (!argc) {
		run->nr_vars = reg_vars_default(&run->vars);
		return 0;
	}
	if (argc > MAX_VARS)
		return usage_error("at most %d variables can be shown", MAX_VARS);
	for (i = 0; i < argc; i++) {
		rc = reg_var_parse(argv[i], !by_line && !place->addr && !place->offset,
				   &vars[i]);
		if (rc)
			return rc;
		for (k = 0; k < i; k++)
			if (!strcmp(vars[k].name, vars[i].name))
				return usage_error("two variables are called \"%s\"",
						   vars[i].name);
	}
	run->vars = vars;
	run->nr_vars = argc;
	return 0;
}

static int load(struct probe_run *run)
{
	int err;

	run->skel = regprobe__open();
	if (!run->skel)
		return fail_bpf(errno, "cannot open the probing program");
	memcpy((void *)&run->skel->rodata->filter, &opts.tasks.filter,
	       sizeof(opts.tasks.filter));
	memcpy((void *)&run->skel->rodata->stacks, &run->show.cfg, sizeof(run->show.cfg));
	err = tasks_share(&run->tasks, run->skel->maps.filter_cgroup,
			  run->skel->maps.filter_children);
	if (!err)
		err = regprobe__load(run->skel);
	return err ? fail_bpf(err, "cannot load the probing program") : 0;
}

static int attach(struct probe_run *run, const struct tramp_place *place, const char *spec)
{
	TRAMP_OPTS(tramp_attach_opts, where, .flags = attach_flags, .addr = place->addr);
	int err;

	if (!place->addr) {
		where.symbol = place->symbol;
		where.offset = place->offset;
		where.module = place->module[0] ? place->module : NULL;
	}
	/* The first time, the module reads the kernel's text. */
	progress_begin("reading the kernel's text");
	err = probe_places_attach_one(&run->places, run->skel->progs.probe_registers, &where);
	progress_end();
	return err ? fail_place(NULL, spec) : 0;
}

/* At all places at which a line of source begins. */
static int attach_line(struct probe_run *run, const struct line_found *found)
{
	int rc;

	progress_begin("reading the kernel's text");
	rc = probe_places_attach(&run->places, run->skel->progs.probe_registers, attach_flags,
				 found);
	progress_end();
	return rc;
}

/* ------------------------------------------------------------------- run -- */

static struct stack_event stacks_of(const struct probe_hit *hit)
{
	return (struct stack_event){ .stacks = &hit->stacks, .at_place = true,
				     .tgid = hit->tgid, .comm = hit->comm };
}

static void print_hit(const struct probe_run *run, const struct probe_hit *hit,
		      const struct event_head *head)
{
	const struct stack_event event = stacks_of(hit);
	size_t i;

	event_print(head);
	printf("%s%s%s", color(COLOR_FUNCTION), probe_places_name(&run->places, hit->regs[PROBE_IP]),
	       color(COLOR_NONE));
	for (i = 0; i < run->nr_vars; i++) {
		putchar(' ');
		reg_var_print(&run->vars[i], hit->regs);
	}
	putchar('\n');
	stack_print(&run->show, &event);
}

static void print_hit_json(const struct probe_run *run, const struct probe_hit *hit,
			   const struct event_head *head)
{
	json_object *j = event_to_json("hit", head), *vars = json_object_new_object();
	json_object *regs = json_object_new_object();
	const struct stack_event event = stacks_of(hit);
	size_t i;

	for (i = 0; i < run->nr_vars; i++)
		json_object_object_add(vars, run->vars[i].name,
				       reg_var_to_json(&run->vars[i], hit->regs));
	json_put_str(j, "place", probe_places_name(&run->places, hit->regs[PROBE_IP]));
	json_object_object_add(j, "vars", vars);
	for (i = 0; i < PROBE_NR_REGS; i++)
		json_object_object_add(regs, reg_name(i), json_hex(hit->regs[i]));
	json_object_object_add(j, "registers", regs);
	stack_put(j, &run->show, &event);
	json_print(j);
}

static bool show_hit(void *arg, const void *data, size_t size)
{
	struct probe_run *run = arg;
	const struct probe_hit *hit = data;
	struct event_head head;

	if (size < offsetof(struct probe_hit, stacks.frames) + stack_bytes(&run->show))
		return false;
	head = (struct event_head){ .time = hit->time, .cpu = hit->cpu, .tgid = hit->tgid,
				    .tid = hit->tid, .comm = hit->comm };
	(json_output ? print_hit_json : print_hit)(run, hit, &head);
	return true;
}

/* The link of a single place, the links of a line of source. */
static void put_links(json_object *j, const struct probe_run *run)
{
	json_object *list = probe_places_to_json(&run->places);

	if (run->places.link && json_object_array_length(list))
		json_object_object_add(j, "link",
				       json_object_get(json_object_array_get_idx(list, 0)));
	if (!run->places.link)
		json_object_object_add(j, "links", json_object_get(list));
	json_object_put(list);
}

/* The first JSON object: from now on hits are seen. */
static void print_start(const struct probe_run *run)
{
	json_object *j = json_object_new_object();

	json_put_str(j, "type", "start");
	put_links(j, run);
	json_print(j);
}

static uint64_t lost_hits(void *arg)
{
	const struct probe_run *run = arg;
	const volatile struct probe_counts *c = &run->skel->bss->counts;

	return c->lost_ring;
}

/* Its links' part is taken while there are links. */
static json_object *end_to_json(const struct probe_run *run)
{
	json_object *j = json_object_new_object();

	json_put_str(j, "type", "end");
	put_links(j, run);
	return j;
}

/* Says what was not seen, and how hits arrived in the end. */
static void summarize(const struct probe_run *run, const struct probe_sums *sums, json_object *j)
{
	const volatile struct probe_counts *c = &run->skel->bss->counts;
	const uint64_t lost = c->lost_ring + run->events.unread;

	if (json_output) {
		json_put_u64(j, "hits", run->events.shown);
		json_put_u64(j, "lost_ring", lost);
		json_put_u64(j, "missed", sums->misses);
		tasks_put(&run->tasks, j);
		output_put(j);
		output_end(j);
		return;
	}
	if (lost)
		warn("lost %" PRIu64 " hits: %s", lost, events_why_lost());
	if (sums->misses)
		warn("missed %" PRIu64 " hits: a BPF program of kprobe type was running on that CPU already",
		     sums->misses);
	tasks_warn(&run->tasks);
	output_warn("hits");
	if (sums->gone)
		warn("the probe is gone: %s", sums->reason ?
		     tramp_reason_sentence(sums->reason) : "it was detached");
}

static int collect(struct probe_run *run)
{
	struct probe_sums sums;
	json_object *end = NULL;
	int rc;

	rc = events_begin();
	if (rc)
		return rc;
	if (json_output)
		print_start(run);
	else if (!opts.no_header && !quiet_output)
		event_print_heads("PLACE VARIABLES");
	fflush(stdout);

	rc = events_collect(&run->events);
	if (!rc)
		rc = probe_places_sum(&run->places, &sums);
	if (!rc && json_output)
		end = end_to_json(run);
	probe_places_detach(&run->places);
	if (rc)
		return rc;
	events_finish(&run->events);
	summarize(run, &sums, end);
	return 0;
}

static int probe_run(int argc, char **argv)
{
	TRAMP_OPTS(tramp_place, place);
	const bool by_line = is_source_line(argv[0]);
	struct line_found found = { NULL };
	struct probe_run run = { .events = { .opts = &opts, .show = show_hit, .things = "hits",
					   .lost = lost_hits, .arg = &run } };
	int rc;

	if (!by_line && (debuginfo.vmlinux || debuginfo.ko))
		return usage_error("--vmlinux and --ko are for a line of source, and %s is none",
				   argv[0]);
	if (!by_line && tramp_place__parse(argv[0], &place))
		return fail_lib(NULL, NULL);
	rc = stacks_check(&stacks);
	if (!rc)
		rc = tasks_check(&opts.tasks);
	if (!rc)
		rc = parse_vars(&run, &place, by_line, argc - 1, argv + 1);
	if (rc)
		return rc;
	events_catch_signals();
	stack_show_configure(&run.show, &stacks);
	rc = output_open(true);
	if (rc || events_stopped())
		return rc;
	rc = need_module(NULL);
	if (!rc && by_line)
		rc = source_find(&debuginfo, argv[0], &found);
	if (!rc)
		rc = tasks_open(&run.tasks, &opts.tasks);
	if (!rc)
		rc = load(&run);
	if (!rc)
		rc = events_open(&run.events, bpf_map__fd(run.skel->maps.hits));
	if (!rc && !events_stopped())
		rc = by_line ? attach_line(&run, &found) : attach(&run, &place, argv[0]);
	if (!rc)
		stack_show_open(&run.show);
	if (!rc && run.places.nr)
		rc = collect(&run);

	probe_places_free(&run.places);
	events_close(&run.events);
	regprobe__destroy(run.skel);
	stack_show_close(&run.show);
	tasks_close(&run.tasks);
	line_found_free(&found);
	source_close();
	return rc;
}

const struct cmd cmd_probe = {
	.name = "probe",
	.args = "PLACE [[NAME=]%REG[:TYPE]]...",
	.summary = "Show the registers each time that an instruction is reached",
	.details =
		"PLACE is FUNCTION or FUNCTION+OFFSET, with MODULE: in front for a module's, or an\n"
		"address (0x...); `trampctl explain --code FUNCTION` lists the instructions. It may also\n"
		"be a line of source, [MODULE:]FILE:LINE, if debuginfo is installed: then each place at\n"
		"which the line begins is probed. Variables\n"
		"are registers as they are before the instruction: %ax %bx %cx %dx %si %di %bp %sp %r8\n"
		"to %r15 %ip %flags %cs %ss %orig_ax, where a function starts also $arg1 to $arg6.\n"
		"TYPE is x, u or s (hexadecimal, unsigned, signed) and 8, 16, 32 or 64 bits; x64 if\n"
		"left out. Ends with Ctrl-C, and then says how many hits were lost.\n",
	.opts = probe_opts,
	.min_args = 1,
	.max_args = -1,
	.option = probe_option,
	.run = probe_run,
};
