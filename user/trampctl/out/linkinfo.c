// SPDX-License-Identifier: GPL-2.0
/*
 * Functions, places and links as text and as JSON: the same in list, show, attach,
 * dump and explain.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "json.h"
#include "linkinfo.h"
#include "table.h"
#include "text.h"

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

/*
 * Where a link's program is: the function, for a probe with its offset, or how many functions.
 * To be freed.
 */
char *place_text(const struct tramp_link_info *info)
{
	char *func, *place;

	if (info->nr_funcs)
		return xasprintf("%u function%s", info->nr_funcs, info->nr_funcs == 1 ? "" : "s");
	func = func_text(info->module, info->func_name);
	if (info->kind != TRAMP_KIND_KPROBE)
		return func;
	place = xasprintf("%s+0x%" PRIx64, func, info->offset);
	free(func);
	return place;
}

/* "jump", "int3:region-target": one word. To be freed. */
char *mode_text(uint32_t mode, uint32_t reason)
{
	return xasprintf("%s%s%s", tramp_mode_name(mode), reason ? ":" : "",
			 reason ? tramp_reason_name(reason) : "");
}

/* The image's name in kallsyms, "-" if there is none. To be freed. */
char *image_text(const struct tramp_link_info *info)
{
	if (info->mode == TRAMP_MODE_NONE || !info->image_size)
		return xasprintf("-");
	return xasprintf("trampoline_%" PRIu64 "_%u", info->key, info->index);
}

void link_table_row(struct table *t, const struct tramp_link_info *info)
{
	char *place = place_text(info), *image = image_text(info);
	char *mode = mode_text(info->mode, info->mode_reason);
	char id[16], hits[24], misses[24];

	snprintf(id, sizeof(id), "%u", info->link_id);
	snprintf(hits, sizeof(hits), "%" PRIu64, info->hits);
	snprintf(misses, sizeof(misses), "%" PRIu64, info->misses);
	table_row(t, id, tramp_kind_name(info->kind), mode, place, info->prog_name, hits, misses,
		  image, NULL);
	free(mode);
	free(place);
	free(image);
}

void json_put_func(json_object *j, const char *module, const char *func, uint64_t addr)
{
	json_put_str(j, "function", func);
	if (module[0])
		json_put_str(j, "module", module);
	json_put_hex(j, "function_address", addr);
}

/* Where BTF describes a function, and the key of its images; nothing if it does not. */
void json_put_btf(json_object *j, uint32_t obj_id, uint32_t id, uint64_t key)
{
	if (id) {
		json_put_u64(j, "btf_obj_id", obj_id);
		json_put_u64(j, "btf_id", id);
	}
	if (key)
		json_put_u64(j, "key", key);
}

/* Why something is not, or not otherwise. */
void json_put_reason(json_object *j, uint32_t reason)
{
	if (!reason)
		return;
	json_put_str(j, "reason", tramp_reason_name(reason));
	json_put_str(j, "message", tramp_reason_sentence(reason));
	if (tramp_reason_remedy(reason)[0])
		json_put_str(j, "remedy", tramp_reason_remedy(reason));
}

static void put_mode(json_object *j, const struct tramp_link_info *info)
{
	json_put_str(j, "mode", tramp_mode_name(info->mode));
	if (!info->mode_reason)
		return;
	json_put_str(j, "mode_reason", tramp_reason_name(info->mode_reason));
	/* A probe that went with its module has no address any more. */
	if (info->mode != TRAMP_MODE_NONE)
		json_put_hex(j, "reason_address", info->reason_addr);
}

static void put_probe(json_object *j, const struct tramp_link_info *info)
{
	if (info->kind == TRAMP_KIND_KPROBE) {
		json_put_u64(j, "offset", info->offset);
		json_put_hex(j, "address", info->probe_addr);
	}
	if (info->region_len)
		json_put_u64(j, "region_length", info->region_len);
}

json_object *link_to_json(const struct tramp_link_info *info)
{
	json_object *j = json_object_new_object();

	json_put_u64(j, "id", info->link_id);
	json_put_str(j, "kind", tramp_kind_name(info->kind));
	json_put_bool(j, "sleepable", info->sleepable);
	put_mode(j, info);
	/* Where a detached link was is not known any more. */
	if (info->mode != TRAMP_MODE_NONE) {
		if (info->nr_funcs)
			json_put_u64(j, "functions", info->nr_funcs);
		else
			json_put_func(j, info->module, info->func_name, info->func_addr);
		if (info->kind == TRAMP_KIND_KPROBE || info->kind == TRAMP_KIND_KRETPROBE)
			put_probe(j, info);
	}
	json_put_btf(j, info->btf_obj_id, info->btf_id, info->key);
	json_put_u64(j, "prog_id", info->prog_id);
	json_put_str(j, "prog_name", info->prog_name);
	json_put_u64(j, "cookie", info->cookie);
	json_put_u64(j, "hits", info->hits);
	json_put_u64(j, "misses", info->misses);
	json_put_u64(j, "position", info->pos);
	json_put_u64(j, "programs_on_function", info->nr_progs);
	if (info->mode != TRAMP_MODE_NONE && info->image_size) {
		char *image = image_text(info);

		json_put_u64(j, "index", info->index);
		json_put_str(j, "image", image);
		json_put_hex(j, "image_address", info->image_addr);
		json_put_u64(j, "image_size", info->image_size);
		free(image);
	}
	return j;
}
