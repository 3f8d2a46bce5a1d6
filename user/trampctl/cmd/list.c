// SPDX-License-Identifier: GPL-2.0
/*
 * trampctl list: every link of the module, one a line.
 */
#include "../out/error.h"
#include "../out/json.h"
#include "../out/linkinfo.h"
#include "../out/table.h"
#include "../trampctl.h"

struct list_ctx {
	struct table *table;
	json_object *json;
};

static int add_link(const struct tramp_link_info *info, void *arg)
{
	struct list_ctx *c = arg;

	/* Detached, and kept by somebody's handle or pin. */
	if (info->mode == TRAMP_MODE_NONE)
		return 0;

	if (c->json)
		json_object_array_add(c->json, link_to_json(info));
	else
		link_table_row(c->table, info);
	return 0;
}

static int list_run(int argc, char **argv)
{
	struct list_ctx c = { NULL };
	int rc = EXIT_OK;

	(void)argc;
	(void)argv;
	if (json_output)
		c.json = json_object_new_array();
	else
		c.table = link_table_new();

	if (tramp_for_each(add_link, &c) < 0) {
		rc = fail_lib(NULL, NULL);
		if (c.json)
			json_object_put(c.json);
	} else if (c.json) {
		json_print(c.json);
	} else {
		table_print(c.table, stdout);
	}
	if (c.table)
		table_free(c.table);
	return rc;
}

const struct cmd cmd_list = {
	.name = "list",
	.alias = "ls",
	.summary = "Show every program that is attached through the module",
	.details =
		"One line a link: its id, kind, mode, function, program, hits, misses, and the image's\n"
		"name in /proc/kallsyms. The mode says how hits reach the program. direct: the function\n"
		"calls our image. ops: through ftrace, since another direct caller holds the function.\n"
		"jump, int3, kprobe: a probe; after a colon, why it is no jump. rethook: a return probe\n"
		"through the kernel's rethook; after a colon, why it is not direct. The kinds are fentry,\n"
		"fexit, fmod_ret, kprobe and kretprobe; kprobe.multi, kretprobe.multi and kprobe.session\n"
		"are on many functions, whose number stands for the function.\n"
		"Links that are detached, or that went with their module, are left out, also if\n"
		"somebody still holds them.\n",
	.run = list_run,
};
