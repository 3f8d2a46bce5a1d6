// SPDX-License-Identifier: GPL-2.0
/*
 * Options of the commands on many functions.
 */
#include <stdlib.h>

#include "../out/error.h"
#include "../out/text.h"
#include "args.h"
#include "many_run.h"

/* One of MANY_OPTS. Returns 0, or EXIT_USAGE after having reported the error. */
int many_option(struct many_options *o, int opt, const char *arg)
{
	struct function_options *f = &o->functions;

	o->used = true;
	switch (opt) {
	case MANY_OPT_IF:
		return conditions_parse(&o->conditions, arg);
	case MANY_OPT_MIN_DURATION:
		return parse_time("--min-duration", arg, &o->min_ns);
	case MANY_OPT_DENY:
		f->deny = xrealloc(f->deny, (f->nr_deny + 1) * sizeof(*f->deny));
		f->deny[f->nr_deny++] = arg;
		return 0;
	case MANY_OPT_ARG_TYPE:
		f->arg_type = arg;
		return 0;
	case MANY_OPT_ARGS:
		return function_args_option(f, arg);
	default:
		f->all_or_nothing = true;
		return 0;
	}
}

/* One of SUM_OPTS. Returns 0, or the exit code after having reported the error. */
int sum_option(struct sum_options *o, int opt, const char *arg)
{
	o->many.events = &o->events;
	if (opt == SUM_OPT_DURATION)
		return parse_seconds("--duration", arg, &o->events.duration_ns);
	if (opt < SUM_OPT_MANY)
		return task_option(&o->events.tasks, opt - SUM_OPT_TASKS, arg);
	if (opt < SUM_OPT_TOP)
		return many_option(&o->many, opt - SUM_OPT_MANY, arg);
	if (opt >= SUM_OPT_OUTPUT)
		return output_option(opt - SUM_OPT_OUTPUT, arg);
	if (opt == SUM_OPT_TOP)
		return parse_u32("--top", arg, 1, UINT32_MAX, &o->top);
	return parse_seconds("--interval", arg, &o->interval_ns);
}
