// SPDX-License-Identifier: GPL-2.0
/*
 * trampctl detach: detach links now, even if another process holds them.
 *
 * All links named are looked up before the first is detached, so that a wrong id
 * changes nothing. The handles and pins others have of a link remain, as those
 * of a detached link.
 */
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "../out/error.h"
#include "../out/json.h"
#include "../out/linkinfo.h"
#include "../out/text.h"
#include "../run/args.h"
#include "../trampctl.h"

enum { OPT_ALL };

static const struct cmd_opt detach_opts[] = {
	{ "all", 'a', NULL, "detach every link of the module" },
	{ NULL }
};

static bool detach_all;

static int detach_option(int opt, const char *arg)
{
	(void)arg;
	if (opt == OPT_ALL)
		detach_all = true;
	return 0;
}

struct id_list {
	uint32_t *ids;
	size_t nr, room;
};

#define FIRST_ROOM 64

static void add_id(struct id_list *l, uint32_t id)
{
	if (l->nr == l->room) {
		l->room = l->room ? 2 * l->room : FIRST_ROOM;
		l->ids = xrealloc(l->ids, l->room * sizeof(*l->ids));
	}
	l->ids[l->nr++] = id;
}

/* One that was named may have been named before. */
static void add_named(struct id_list *l, uint32_t id)
{
	size_t i;

	for (i = 0; i < l->nr; i++)
		if (l->ids[i] == id)
			return;
	add_id(l, id);
}

/* Each of them comes once, and there may be very many. */
static int add_link(const struct tramp_link_info *info, void *arg)
{
	if (info->mode != TRAMP_MODE_NONE)
		add_id(arg, info->link_id);
	return 0;
}

/* Somebody still holds it, or it would not have been found. */
static int fail_detached(uint32_t id)
{
	struct problem p = {
		.exit_code = EXIT_NOT_FOUND, .err = ENOENT,
		.reason = tramp_reason_name(TRAMP_REASON_LINK_GONE),
	};
	char *remedy = xasprintf("remove its pin, or end the process that holds it (trampctl show %u)",
				 id);

	p.remedy = remedy;
	fail(&p, "link %u is detached already", id);
	free(remedy);
	return p.exit_code;
}

static int ids_from_args(struct id_list *l, int argc, char **argv)
{
	TRAMP_OPTS(tramp_link_info, info);
	uint32_t id = 0;
	int i, rc;

	for (i = 0; i < argc; i++) {
		rc = parse_link_id(argv[i], &id);
		if (rc)
			return rc;
		add_named(l, id);
	}
	for (i = 0; i < (int)l->nr; i++) {
		if (tramp_link_info_by_id(l->ids[i], &info))
			return fail_lib(NULL, NULL);
		if (info.mode == TRAMP_MODE_NONE)
			return fail_detached(l->ids[i]);
	}
	return 0;
}

/* How many are open at once: far below the usual limit of open files. */
#define PART	256

/* Detach up to PART links. Returns how many were detached, by this or meanwhile; notes each. */
static int detach_part(const uint32_t *ids, size_t nr, json_object *done, int *rc)
{
	struct tramp_link *links[PART];
	uint32_t id[PART];
	size_t i, n = 0;
	int nr_done = 0;

	for (i = 0; i < nr; i++) {
		links[n] = tramp_link__open_by_id(ids[i]);
		id[n] = ids[i];
		if (links[n])
			n++;
		else if (errno != ENOENT)
			*rc = fail_lib(NULL, NULL);
	}
	/* If one fails the others go all the same. */
	if (tramp_link__detach_many(links, n))
		*rc = fail_lib(NULL, NULL);
	for (i = 0; i < n; i++) {
		TRAMP_OPTS(tramp_link_info, info);

		if (!tramp_link__info(links[i], &info) && info.mode == TRAMP_MODE_NONE) {
			nr_done++;
			json_object_array_add(done, json_object_new_int64(id[i]));
		}
		tramp_link__destroy(links[i]);
	}
	return nr_done;
}

static int detach_run(int argc, char **argv)
{
	json_object *done = json_object_new_array(), *top;
	struct id_list l = { NULL };
	int rc, nr_done = 0;
	size_t i;

	if (detach_all && argc)
		rc = usage_error("--all and link ids exclude each other");
	else if (!detach_all && !argc)
		rc = usage_error("detach needs the ids of links, or --all");
	else if (detach_all)
		rc = tramp_for_each(add_link, &l) < 0 ? fail_lib(NULL, NULL) : 0;
	else
		rc = ids_from_args(&l, argc, argv);
	if (rc)
		goto out;

	for (i = 0; i < l.nr; i += PART)
		nr_done += detach_part(l.ids + i, l.nr - i < PART ? l.nr - i : PART, done, &rc);
	if (json_output) {
		top = json_object_new_object();
		json_object_object_add(top, "detached", json_object_get(done));
		json_print(top);
	} else {
		printf("detached %d link%s\n", nr_done, nr_done == 1 ? "" : "s");
	}
out:
	json_object_put(done);
	free(l.ids);
	return rc;
}

const struct cmd cmd_detach = {
	.name = "detach",
	.args = "ID... | --all",
	.summary = "Detach links now, even if another process holds them",
	.details =
		"A program that still holds such a link keeps an empty handle. Nothing is detached\n"
		"if one of the ids does not exist.\n",
	.opts = detach_opts,
	.max_args = -1,
	.option = detach_option,
	.run = detach_run,
};
