// SPDX-License-Identifier: GPL-2.0
/*
 * A link as a table row and as JSON: the same in list, show, attach and detach.
 */
#include <inttypes.h>
#include <stdlib.h>

#include "json.h"
#include "libcall.h"

static const char *const heads[] = {
	"ID", "KIND", "MODE", "FUNCTION", "PROG", "HITS", "MISSES", "IMAGE", NULL
};

struct table *link_table_new(void)
{
	return table_new(heads, "rllllrrl");
}

/* A function as trace and explain take it: NAME or MODULE:NAME. To be freed. */
char *func_text(const char *module, const char *func)
{
	return xasprintf("%s%s%s", module, module[0] ? ":" : "", func);
}

/* The image's name in kallsyms, "-" if there is none. To be freed. */
char *image_text(const struct tramp_link_info *info)
{
	if (info->mode == TRAMP_MODE_NONE)
		return xasprintf("-");
	return xasprintf("trampoline_%" PRIu64 "_%u", info->key, info->index);
}

void link_table_row(struct table *t, const struct tramp_link_info *info)
{
	char *func = func_text(info->module, info->func_name), *image = image_text(info);
	char id[16], hits[24], misses[24];

	snprintf(id, sizeof(id), "%u", info->link_id);
	snprintf(hits, sizeof(hits), "%" PRIu64, info->hits);
	snprintf(misses, sizeof(misses), "%" PRIu64, info->misses);
	table_row(t, id, tramp_kind_name(info->kind), tramp_mode_name(info->mode), func,
		  info->prog_name, hits, misses, image, NULL);
	free(func);
	free(image);
}

json_object *link_to_json(const struct tramp_link_info *info)
{
	json_object *j = json_object_new_object();
	char *image = image_text(info);

	json_put_u64(j, "id", info->link_id);
	json_put_str(j, "kind", tramp_kind_name(info->kind));
	json_put_bool(j, "sleepable", info->sleepable);
	json_put_str(j, "mode", tramp_mode_name(info->mode));
	json_put_str(j, "function", info->func_name);
	if (info->module[0])
		json_put_str(j, "module", info->module);
	json_put_hex(j, "function_address", info->func_addr);
	json_put_u64(j, "btf_obj_id", info->btf_obj_id);
	json_put_u64(j, "btf_id", info->btf_id);
	json_put_u64(j, "prog_id", info->prog_id);
	json_put_str(j, "prog_name", info->prog_name);
	json_put_u64(j, "cookie", info->cookie);
	json_put_u64(j, "hits", info->hits);
	json_put_u64(j, "misses", info->misses);
	json_put_u64(j, "position", info->pos);
	json_put_u64(j, "programs_on_function", info->nr_progs);
	json_put_u64(j, "key", info->key);
	if (info->mode != TRAMP_MODE_NONE) {
		json_put_u64(j, "index", info->index);
		json_put_str(j, "image", image);
		json_put_hex(j, "image_address", info->image_addr);
		json_put_u64(j, "image_size", info->image_size);
	}
	free(image);
	return j;
}

/* A link's id on the command line. Returns 0, or EXIT_USAGE after reporting. */
int parse_link_id(const char *text, uint32_t *id)
{
	return parse_u32("a link's ID", text, 1, UINT32_MAX, id);
}
