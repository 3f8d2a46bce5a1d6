// SPDX-License-Identifier: GPL-2.0
/*
 * The part that count, hist and stack share, see sums.h.
 */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../out/error.h"
#include "../out/json.h"
#include "../out/output.h"
#include "../out/text.h"
#include "../run/signals.h"
#include "../trampctl.h"
#include "sums.h"

/* Entries of a map that are read by one system call. */
#define READ_AT_ONCE 4096

/**
 * sums_read_map() - read an array map
 * @fd: the map
 * @values: (out) its values
 * @value_size: of one, for all CPUs if it is a map by CPU
 * @nr: how many
 *
 * With 40,000 functions, a system call for each takes seconds on a slow machine.
 *
 * Return: 0, or the exit code of an error that has been reported.
 */
int sums_read_map(int fd, void *values, size_t value_size, size_t nr)
{
	__u32 keys[READ_AT_ONCE], next, *from = NULL;
	size_t done = 0;

	while (done < nr) {
		__u32 n = nr - done < READ_AT_ONCE ? nr - done : READ_AT_ONCE;
		const int err = bpf_map_lookup_batch(fd, from, &next, keys,
						     (char *)values + done * value_size, &n, NULL);

		/* ENOENT says that these were the last. */
		if (err && (err != -ENOENT || done + n < nr))
			return fail_bpf(err, "cannot read what was counted");
		done += n;
		from = &next;
	}
	return 0;
}

static int more_calls_first(const void *a, const void *b)
{
	const struct sum *x = a, *y = b;

	if (x->calls != y->calls)
		return x->calls < y->calls ? 1 : -1;
	return x->nr < y->nr ? -1 : 1;
}

/* Most calls first, and no more than --top. @nr: how many were found. */
void sums_sort(struct sums *s, size_t nr)
{
	const uint32_t top = s->opts->top;

	qsort(s->found, nr, sizeof(*s->found), more_calls_first);
	s->nr = top && top < nr ? top : nr;
}

/* "function" or "function [module]"; good until the next call. */
const char *sum_name(const struct many_run *run, size_t nr)
{
	const struct tramp_sym *sym = run->funcs.func[nr]->sym;
	static char *text;

	if (!sym->module[0])
		return sym->name;
	free(text);
	text = xasprintf("%s [%s]", sym->name, sym->module);
	return text;
}

static void show_json(struct sums *s, const char *type)
{
	json_object *j = json_object_new_object(), *list = json_object_new_array();
	const uint64_t now = now_ns();
	size_t i;

	json_put_str(j, "type", type);
	json_put_u64(j, "duration_ns", now - s->since);
	json_put_u64(j, "attached", s->many.attached);
	if (s->kind->add_json)
		s->kind->add_json(s, j);
	for (i = 0; i < s->nr; i++)
		json_object_array_add(list, s->kind->to_json(s, &s->found[i]));
	json_object_object_add(j, s->kind->list, list);
	if (!strcmp(type, "end"))
		json_object_object_add(j, "lost", many_lost_json(&s->many, 0));
	if (strcmp(type, "end"))
		json_print(j);
	else
		output_end(j);
	s->since = now;
}

static int show(struct sums *s, const char *type)
{
	const int rc = s->kind->read(s);

	if (rc)
		return rc;
	/* If the disk is full, the file ends here. */
	output_next();
	if (json_output)
		show_json(s, type);
	else
		s->kind->print(s);
	return 0;
}

static int show_interval(void *arg)
{
	struct sums *s = arg;
	const int rc = show(s, "interval");

	if (!json_output && s->kind->blank_line)
		putchar('\n');
	fflush(stdout);
	return rc;
}

/* Returns the exit code. */
int sums_run(struct sums *s, int argc, char **argv)
{
	int rc;

	s->opts->many.events = &s->opts->events;
	s->many.opts = &s->opts->many;
	events_catch_signals();
	rc = output_open(false);
	if (!rc && !events_stopped())
		rc = many_start(&s->many, argc, argv);
	if (!rc && s->many.attached) {
		output_begin();
		s->since = s->many.began;
		if (s->kind->begin)
			s->kind->begin(s);
		rc = many_wait(&s->many, s->opts->interval_ns, show_interval, s);
		many_halt(&s->many);
		if (!rc)
			rc = show(s, "end");
		if ((!output_failed() || output_is_blocked()) && !json_output)
			many_warn_lost(&s->many, 0);
	}
	free(s->found);
	many_free(&s->many);
	return rc;
}
