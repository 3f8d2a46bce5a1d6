// SPDX-License-Identifier: GPL-2.0
/*
 * The functions of a run. An argument of the command line is PATTERN[|PATTERN]..., or @FILE
 * with a pattern a line. The library selects; here is what options mean to it, and what is
 * said of functions that were left out.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "../out/error.h"
#include "../out/text.h"
#include "args.h"
#include "events.h"
#include "functions.h"
#include "module.h"
#include "progress.h"

/* Names said of each reason, where there are more. */
#define NAMES_SHOWN 5

struct left_group {
	char *reason;
	char *sentence;
	size_t nr;
	char *names[NAMES_SHOWN];
};

/* The argument of --args: N, MIN- or MIN-MAX. Returns 0 or EXIT_USAGE. */
int function_args_option(struct function_options *o, const char *arg)
{
	unsigned int min, max;
	char end;

	/* %u takes a sign. */
	if (strspn(arg, "0123456789-") == strlen(arg) && arg[0] != '-' && !strstr(arg, "--")) {
		if (sscanf(arg, "%4u-%4u%c", &min, &max, &end) == 2 && min <= max)
			goto good;
		max = UINT16_MAX;
		if (sscanf(arg, "%4u%c%c", &min, &end, &end) == 2 && end == '-')
			goto good;
		if (sscanf(arg, "%4u%c", &min, &end) == 1) {
			max = min;
			goto good;
		}
	}
	return usage_error("--args needs a number of arguments, as 2, 2- or 0-3, not \"%s\"", arg);
good:
	o->min_args = min;
	o->max_args = max;
	o->by_args = true;
	return 0;
}

/**
 * functions_leave_out() - note a function that the run has to do without
 * @f: the functions; @f->func is the caller's to change
 * @reason: short name of the reason
 * @sentence: the reason in words
 * @name: the function
 */
void functions_leave_out(struct functions *f, const char *reason, const char *sentence,
			 const char *name)
{
	struct left_group *g;
	size_t i;

	for (i = 0; i < f->nr_left; i++)
		if (!strcmp(f->left[i].sentence, sentence))
			break;
	if (i == f->nr_left) {
		f->left = xrealloc(f->left, ++f->nr_left * sizeof(*f->left));
		memset(&f->left[i], 0, sizeof(f->left[i]));
		f->left[i].reason = xasprintf("%s", reason);
		f->left[i].sentence = xasprintf("%s", sentence);
	}
	g = &f->left[i];
	if (g->nr < NAMES_SHOWN)
		g->names[g->nr] = xasprintf("%s", name);
	g->nr++;
}

/* One line for each reason: how many, why, and the first of their names. */
void functions_warn(const struct functions *f)
{
	size_t i, k;

	for (i = 0; i < f->nr_left; i++) {
		const struct left_group *g = &f->left[i];
		char *names = xasprintf("%s", g->names[0]);

		for (k = 1; k < g->nr && k < NAMES_SHOWN; k++) {
			char *more = xasprintf("%s, %s", names, g->names[k]);

			free(names);
			names = more;
		}
		warn("left out %zu function%s: %s%s: %s [%s]", g->nr, g->nr == 1 ? "" : "s", names,
		     g->nr > NAMES_SHOWN ? ", ..." : "", g->sentence, g->reason);
		free(names);
	}
}

/* Places inside of functions, and addresses, are what probe takes. */
int functions_check(int argc, char **argv)
{
	int i, rc;

	for (i = 0; i < argc; i++) {
		const char *word = argv[i];
		bool addr = !strncasecmp(word, "0x", 2);
		struct problem p = {
			.exit_code = EXIT_USAGE, .err = EINVAL,
			.reason = tramp_reason_name(TRAMP_LIB_BAD_PATTERN),
		};
		char *remedy;

		if (word[0] == '@' || (!addr && !strchr(word, '+')))
			continue;
		remedy = xasprintf("trampctl probe %s shows each time it is reached", word);
		p.remedy = remedy;
		rc = fail(&p, "%s is %s, and %s takes functions", word,
			  addr ? "an address" : "a place inside of a function", current_command);
		free(remedy);
		return rc;
	}
	return 0;
}

static int on_progress(size_t done, size_t total, void *ctx)
{
	(void)ctx;
	progress(done, total);
	return events_stopped();
}

/* The arguments, at each | apart, into patterns and names of files. */
struct words {
	char *copy;
	const char **patterns, **files;
	size_t nr_patterns, nr_files;
};

static void split(struct words *w, int argc, char **argv)
{
	size_t len = 1, max = argc;
	char *p;
	int i;

	for (i = 0; i < argc; i++) {
		len += strlen(argv[i]) + 1;
		for (p = argv[i]; *p; p++)
			max += *p == '|';
	}
	w->copy = xcalloc(len, 1);
	w->patterns = xcalloc(max, sizeof(*w->patterns));
	w->files = xcalloc(max, sizeof(*w->files));
	for (i = 0, p = w->copy; i < argc; i++, p += strlen(p) + 1)
		strcpy(p, argv[i]);
	for (i = 0, len = 0; i < argc; i++) {
		char *word = w->copy + len;

		len += strlen(argv[i]) + 1;
		if (argv[i][0] == '@') {
			w->files[w->nr_files++] = word + 1;
			continue;
		}
		/* Nothing between two of them is a pattern as well: one that is refused. */
		while ((p = strsep(&word, "|")))
			w->patterns[w->nr_patterns++] = p;
	}
}

static void free_words(struct words *w)
{
	free(w->copy);
	free(w->patterns);
	free(w->files);
}

/* Notes what the library had to leave out. A pattern as a whole is a typing error, mostly. */
static int take_left_out(struct functions *f)
{
	size_t i, nr = tramp_selection__count_left(f->sel);
	int rc = 0;

	for (i = 0; i < nr && !rc; i++) {
		const struct tramp_left_out *l = tramp_selection__get_left(f->sel, i);

		if (l->sym) {
			functions_leave_out(f, tramp_reason_name(l->reason),
					    tramp_reason_sentence(l->reason), l->sym->name);
			continue;
		}
		{
			struct problem p = {
				.exit_code = EXIT_NOT_FOUND, .err = ENOENT,
				.reason = tramp_reason_name(l->reason), .remedy = l->remedy,
			};

			rc = fail(&p, "%s%s%s: %s%s%s%s", l->file ? l->file : "", l->file ? ": " : "",
				  l->pattern, tramp_reason_sentence(l->reason),
				  l->detail[0] ? " (" : "", l->detail, l->detail[0] ? ")" : "");
		}
	}
	return rc;
}

static int nothing_left(struct functions *f)
{
	struct problem p = {
		.exit_code = EXIT_NOT_FOUND, .err = ENOENT,
		.reason = f->nr_left ? f->left[0].reason :
				       tramp_reason_name(TRAMP_LIB_NO_MATCH),
	};
	const char *general;
	char *remedy;
	int rc;

	if (!f->nr_left) {
		p.remedy = "change --arg-type or --args, or choose other functions";
		return fail(&p, "no function is of that type of argument, or number of arguments");
	}
	general = tramp_reason_remedy(tramp_reason_by_name(p.reason));
	if (!general[0])
		general = "choose other functions; trampctl explain FUNCTION says more of it";
	remedy = remedy_text(general, f->left[0].names[0]);
	p.remedy = remedy;
	rc = fail(&p, "no function is left: %s: %s", f->left[0].names[0], f->left[0].sentence);
	free(remedy);
	return rc;
}

/**
 * functions_select() - choose the functions of a run
 * @f: (out) the functions, to be freed also after a failure
 * @o: what the options say
 * @need_btf: leave out those without a prototype
 * @argc, @argv: patterns and files
 *
 * Return: 0, or the exit code of an error that has been reported. With a signal, 0 and
 * perhaps no functions.
 */
int functions_select(struct functions *f, const struct function_options *o, bool need_btf,
		     int argc, char **argv)
{
	TRAMP_OPTS(tramp_select_opts, opts);
	struct words w = { 0 };
	size_t i;
	int rc;

	rc = functions_check(argc, argv);
	if (!rc)
		rc = load_syms(&f->syms);
	if (rc)
		return rc;
	split(&w, argc, argv);
	opts.patterns = w.patterns;
	opts.pattern_cnt = w.nr_patterns;
	opts.files = w.files;
	opts.file_cnt = w.nr_files;
	opts.deny = o->deny;
	opts.deny_cnt = o->nr_deny;
	opts.arg_type = o->arg_type;
	if (o->by_args) {
		opts.min_args = o->min_args;
		opts.max_args = o->max_args;
		opts.flags |= TRAMP_SELECT_ARGS;
	}
	if (o->all_or_nothing)
		opts.flags |= TRAMP_SELECT_ALL_OR_NOTHING;
	if (need_btf)
		opts.flags |= TRAMP_SELECT_BTF;
	opts.progress = on_progress;

	progress_begin("choosing functions");
	f->sel = tramp_syms__select(f->syms, &opts);
	progress_end();
	if (!f->sel) {
		rc = events_stopped() ? 0 : fail_lib(f->syms, argc == 1 ? argv[0] : NULL);
	} else {
		f->nr = tramp_selection__count(f->sel);
		f->func = xcalloc(f->nr, sizeof(*f->func));
		for (i = 0; i < f->nr; i++)
			f->func[i] = tramp_selection__get(f->sel, i);
		rc = take_left_out(f);
		if (!rc && !f->nr)
			rc = nothing_left(f);
	}
	free_words(&w);
	return rc;
}

/**
 * functions_proto() - the prototype of a function of a run
 * @f: selected, those without a prototype being left out
 * @nr: its number
 *
 * The selection knows which type it is: BTF may describe the function by another of its names.
 *
 * Return: to be freed with tramp_proto__free(), before @f; NULL with the last error filled.
 */
struct tramp_proto *functions_proto(const struct functions *f, size_t nr)
{
	const struct tramp_selected *what = f->func[nr];
	const struct btf *btf = tramp_syms__btf(f->syms, what->sym->module);

	return btf ? tramp_proto__new(btf, what->btf_id) : NULL;
}

void functions_free(struct functions *f)
{
	size_t i, k;

	for (i = 0; i < f->nr_left; i++) {
		free(f->left[i].reason);
		free(f->left[i].sentence);
		for (k = 0; k < NAMES_SHOWN; k++)
			free(f->left[i].names[k]);
	}
	free(f->left);
	free(f->func);
	tramp_selection__free(f->sel);
	tramp_syms__free(f->syms);
}
