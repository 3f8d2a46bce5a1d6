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
#include "../run/progress.h"
#include "../run/regs.h"
#include "../trampctl.h"
#include "user/trampctl/run/regprobe.skel.h"

enum { OPT_NO_JUMP = NR_EVENT_OPTS, OPT_NO_KPROBE };

static const struct cmd_opt probe_opts[] = {
	EVENT_OPTS("HITS", "hits"),
	{ "no-jump", 0, NULL, "stay an int3: do not become a jump" },
	{ "no-kprobe", 0, NULL, "refuse rather than use a kprobe of the kernel" },
	{ NULL }
};

#define MAX_VARS 32

struct probe_run {
	struct regprobe *skel;
	struct tramp_link *link;
	struct events events;
	struct tasks tasks;
	const struct reg_var *vars;
	size_t nr_vars;
	char *place;		/* as list shows it */
};

static struct event_options opts;
static uint32_t attach_flags;

static int probe_option(int opt, const char *arg)
{
	if (opt < NR_EVENT_OPTS)
		return events_option(&opts, opt, arg);
	attach_flags |= opt == OPT_NO_JUMP ? TRAMP_ATTACH_F_NO_JUMP : TRAMP_ATTACH_F_NO_KPROBE;
	return 0;
}

/* The arguments behind the place. Returns 0 or EXIT_USAGE. */
static int parse_vars(struct probe_run *run, const struct tramp_place *place, int argc,
		      char **argv)
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
		rc = reg_var_parse(argv[i], !place->addr && !place->offset, &vars[i]);
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
	err = tasks_share(&run->tasks, run->skel->maps.filter_cgroup,
			  run->skel->maps.filter_children);
	if (!err)
		err = regprobe__load(run->skel);
	return err ? fail_bpf(err, "cannot load the probing program") : 0;
}

static int attach(struct probe_run *run, const struct tramp_place *place, const char *spec)
{
	TRAMP_OPTS(tramp_attach_opts, where, .flags = attach_flags, .addr = place->addr);
	TRAMP_OPTS(tramp_link_info, info);

	if (!place->addr) {
		where.symbol = place->symbol;
		where.offset = place->offset;
		where.module = place->module[0] ? place->module : NULL;
	}
	/* The first time, the module reads the kernel's text. */
	progress_begin("reading the kernel's text");
	run->link = tramp_attach(run->skel->progs.probe_registers, &where);
	progress_end();
	if (!run->link || tramp_link__info(run->link, &info))
		return fail_place(NULL, spec);
	run->place = place_text(&info);
	return 0;
}

/* ------------------------------------------------------------------- run -- */

static void print_hit(const struct probe_run *run, const struct probe_hit *hit,
		      const struct event_head *head)
{
	size_t i;

	event_print(head);
	printf("%s%s%s", color(COLOR_FUNCTION), run->place, color(COLOR_NONE));
	for (i = 0; i < run->nr_vars; i++) {
		putchar(' ');
		reg_var_print(&run->vars[i], hit->regs);
	}
	putchar('\n');
}

static void print_hit_json(const struct probe_run *run, const struct probe_hit *hit,
			   const struct event_head *head)
{
	json_object *j = event_to_json("hit", head), *vars = json_object_new_object();
	json_object *regs = json_object_new_object();
	size_t i;

	for (i = 0; i < run->nr_vars; i++)
		json_object_object_add(vars, run->vars[i].name,
				       reg_var_to_json(&run->vars[i], hit->regs));
	json_object_object_add(j, "vars", vars);
	for (i = 0; i < PROBE_NR_REGS; i++)
		json_object_object_add(regs, reg_name(i), json_hex(hit->regs[i]));
	json_object_object_add(j, "registers", regs);
	json_print(j);
}

static bool show_hit(void *arg, const void *data, size_t size)
{
	struct probe_run *run = arg;
	const struct probe_hit *hit = data;
	struct event_head head;

	if (size < sizeof(*hit))
		return false;
	head = (struct event_head){ .time = hit->time, .cpu = hit->cpu, .tgid = hit->tgid,
				    .tid = hit->tid, .comm = hit->comm };
	(json_output ? print_hit_json : print_hit)(run, hit, &head);
	return true;
}

/* The first JSON object: from now on hits are seen. */
static void print_start(const struct probe_run *run)
{
	TRAMP_OPTS(tramp_link_info, info);
	json_object *j = json_object_new_object();

	json_put_str(j, "type", "start");
	if (!tramp_link__info(run->link, &info))
		json_object_object_add(j, "link", link_to_json(&info));
	json_print(j);
}

static uint64_t lost_hits(void *arg)
{
	const struct probe_run *run = arg;
	const volatile struct probe_counts *c = &run->skel->bss->counts;

	return c->lost_ring;
}

/* Says what was not seen, and how hits arrived in the end. */
static void summarize(const struct probe_run *run, const struct tramp_link_info *info)
{
	const volatile struct probe_counts *c = &run->skel->bss->counts;
	const uint64_t lost = c->lost_ring + run->events.unread;
	json_object *j;

	if (json_output) {
		j = json_object_new_object();
		json_put_str(j, "type", "end");
		json_put_u64(j, "hits", run->events.shown);
		json_put_u64(j, "lost_ring", lost);
		json_put_u64(j, "missed", info->misses);
		json_object_object_add(j, "link", link_to_json(info));
		tasks_put(&run->tasks, j);
		output_put(j);
		json_print_to(output_for_end(), j);
		return;
	}
	if (lost)
		warn("lost %" PRIu64 " hits: %s", lost, events_why_lost());
	if (info->misses)
		warn("missed %" PRIu64 " hits: a BPF program of kprobe type was running on that CPU already",
		     info->misses);
	tasks_warn(&run->tasks);
	output_warn("hits");
	if (info->mode == TRAMP_MODE_NONE)
		warn("the probe is gone: %s", info->mode_reason ?
		     tramp_reason_sentence(info->mode_reason) : "it was detached");
}

static int collect(struct probe_run *run)
{
	TRAMP_OPTS(tramp_link_info, info);
	int rc;

	events_begin();
	if (json_output)
		print_start(run);
	else if (!opts.no_header && !quiet_output)
		event_print_heads("PLACE VARIABLES");
	fflush(stdout);

	rc = events_collect(&run->events);
	if (tramp_link__info(run->link, &info) && !rc)
		rc = fail_lib(NULL, NULL);
	tramp_link__destroy(run->link);
	run->link = NULL;
	if (rc)
		return rc;
	events_finish(&run->events);
	summarize(run, &info);
	return 0;
}

static int probe_run(int argc, char **argv)
{
	TRAMP_OPTS(tramp_place, place);
	struct probe_run run = { .events = { .opts = &opts, .show = show_hit, .things = "hits",
					   .lost = lost_hits, .arg = &run } };
	int rc;

	if (tramp_place__parse(argv[0], &place))
		return fail_lib(NULL, NULL);
	rc = tasks_check(&opts.tasks);
	if (!rc)
		rc = parse_vars(&run, &place, argc - 1, argv + 1);
	if (rc)
		return rc;
	events_catch_signals();
	rc = output_open();
	if (!rc)
		rc = need_module(NULL);
	if (!rc)
		rc = tasks_open(&run.tasks, &opts.tasks);
	if (!rc)
		rc = load(&run);
	if (!rc)
		rc = events_open(&run.events, bpf_map__fd(run.skel->maps.hits));
	if (!rc && !events_stopped())
		rc = attach(&run, &place, argv[0]);
	if (!rc && run.link)
		rc = collect(&run);

	tramp_link__destroy(run.link);
	events_close(&run.events);
	regprobe__destroy(run.skel);
	tasks_close(&run.tasks);
	free(run.place);
	return rc;
}

const struct cmd cmd_probe = {
	.name = "probe",
	.args = "PLACE [[NAME=]%REG[:TYPE]]...",
	.summary = "Show the registers each time that an instruction is reached",
	.details =
		"PLACE is FUNCTION or FUNCTION+OFFSET, with MODULE: in front for a module's, or an\n"
		"address (0x...); `trampctl explain --code FUNCTION` lists the instructions. Variables\n"
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
