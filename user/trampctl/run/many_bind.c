// SPDX-License-Identifier: GPL-2.0
/*
 * The expressions of a run with many functions, in --if and --print: what they mean for each.
 */
#include <stdlib.h>
#include <string.h>

#include "../out/error.h"
#include "../out/text.h"
#include "many_run.h"
#include "progress.h"

/* The expressions of a run, as they are for a function, which becomes number @n. */
static int bind_function(struct many_run *run, const struct tramp_proto *proto, size_t n,
			 const char **option, struct member_refusal *no)
{
	const struct conditions *c = &run->opts->conditions;
	struct many_path *paths = run->paths ? &run->paths[n * run->nr_paths] : NULL;
	unsigned int i;
	int err;

	*option = "--if";
	err = conditions_bind(c, proto, &run->infos[n], paths, no);
	for (i = 0; run->prints && i < run->prints->nr && !err; i++) {
		struct member *m = &run->members[n * run->prints->nr + i];

		*option = "--print";
		err = member_bind(&run->prints->expr[i], proto, MEMBER_ANY, m, no);
		paths[c->nr + i] = m->path;
	}
	return err;
}

static void make_paths(struct many_run *run)
{
	const struct conditions *c = &run->opts->conditions;
	const size_t nr = run->prints ? run->prints->nr : 0;

	if (!nr && !conditions_use_paths(c))
		return;
	run->nr_paths = c->nr + nr;
	run->paths = xcalloc(run->funcs.nr * run->nr_paths, sizeof(*run->paths));
	if (nr)
		run->members = xcalloc(run->funcs.nr * nr, sizeof(*run->members));
}

/**
 * many_bind() - find out what conditions and members to show mean for each function
 * @run: its functions are chosen
 *
 * Leaves out functions for which they make no sense.
 *
 * Return: 0, or the exit code of an error that has been reported.
 */
int many_bind(struct many_run *run)
{
	const struct many_options *o = run->opts;
	struct functions *f = &run->funcs;
	struct member_refusal no;
	const char *option = NULL, *name;
	struct tramp_proto *proto;
	size_t i, n = 0;
	int rc = 0, err = 0;

	if (!o->conditions.nr && !run->prints)
		return 0;
	make_paths(run);
	progress_begin("reading prototypes");
	for (i = 0; i < f->nr && !events_stopped() && !rc; i++) {
		name = f->func[i]->sym->name;
		progress(i, f->nr);
		proto = functions_proto(f, i);
		if (!proto) {
			progress_end();
			rc = fail_lib(f->syms, name);
			break;
		}
		err = bind_function(run, proto, n, &option, &no);
		tramp_proto__free(proto);
		if (!err)
			f->func[n++] = f->func[i];
		else if (o->functions.all_or_nothing)
			break;
		else
			functions_leave_out(f, strcmp(option, "--if") ? "print" : "condition",
					    no.why, name);
	}
	progress_end();
	if (!rc && err && o->functions.all_or_nothing)
		rc = usage_error_similar(no.similar, "%s makes no sense for %s: %s", option,
					 f->func[i]->sym->name, no.why);
	if (!rc && !n && f->nr && !events_stopped())
		rc = usage_error_similar(no.similar, "%s makes no sense for any of the functions, as %s: %s",
					 option, f->func[f->nr - 1]->sym->name, no.why);
	f->nr = n;
	return rc;
}
