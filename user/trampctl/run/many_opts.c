// SPDX-License-Identifier: GPL-2.0
/*
 * Options of the commands on many functions.
 */
#include <ctype.h>
#include <stdlib.h>

#include "../out/error.h"
#include "../out/text.h"
#include "args.h"
#include "many_run.h"

/* The argument of --cpu: numbers and ranges. */
static int parse_cpus(struct many_options *o, const char *text)
{
	unsigned long first, last;
	const char *p = text;
	char *end;

	o->by_cpu = true;
	for (;;) {
		if (!isdigit((unsigned char)*p))
			break;
		first = last = strtoul(p, &end, 10);
		if (*end == '-') {
			p = end + 1;
			if (!isdigit((unsigned char)*p))
				break;
			last = strtoul(p, &end, 10);
		}
		if (last >= MANY_MAX_CPUS || first > last)
			break;
		for (; first <= last; first++)
			o->cpus[first / 64] |= 1ULL << (first % 64);
		if (!*end)
			return 0;
		if (*end != ',')
			break;
		p = end + 1;
	}
	return usage_error("--cpu needs numbers up to %d, as 0,2-3, not \"%s\"", MANY_MAX_CPUS - 1,
			   text);
}

/* One of MANY_OPTS. Returns 0, or EXIT_USAGE after having reported the error. */
int many_option(struct many_options *o, int opt, const char *arg)
{
	struct function_options *f = &o->functions;

	o->used = true;
	switch (opt) {
	case MANY_OPT_TID:
		return parse_u32("--tid", arg, 1, 1 << 22, &o->tid);
	case MANY_OPT_CPU:
		return parse_cpus(o, arg);
	case MANY_OPT_CGROUP:
		o->cgroup = arg;
		return 0;
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

/* One of SUM_OPTS. Returns 0, or EXIT_USAGE after having reported the error. */
int sum_option(struct sum_options *o, int opt, const char *arg)
{
	o->many.events = &o->events;
	if (opt < SUM_OPT_MANY)
		return events_option(&o->events, opt + EVENT_OPT_DURATION, arg);
	if (opt < SUM_OPT_TOP)
		return many_option(&o->many, opt - SUM_OPT_MANY, arg);
	if (opt == SUM_OPT_TOP)
		return parse_u32("--top", arg, 1, UINT32_MAX, &o->top);
	return parse_seconds("--interval", arg, &o->interval_ns);
}
