// SPDX-License-Identifier: GPL-2.0
/*
 * Version, features, limits and totals of the module as JSON: the same in features and stats.
 */
#include <string.h>

#include "moduleinfo.h"

json_object *module_to_json(const struct tramp_module_info *m)
{
	json_object *j = json_object_new_object(), *feat = json_object_new_object();
	json_object *list = json_object_new_array();
	const char *s = m->missing, *nl;
	unsigned int bit;

	json_put_str(j, "version", m->version);
	json_put_u64(j, "interface", m->abi_version);
	for (bit = 0; bit < 64; bit++)
		if (tramp_feature_name(bit))
			json_put_bool(feat, tramp_feature_name(bit), m->features & (1ULL << bit));
	json_object_object_add(j, "features", feat);
	json_put_u64(j, "max_progs", m->max_progs);
	json_put_u64(j, "max_slots", m->max_slots);
	json_put_u64(j, "symbols_found", m->symbols_found);
	json_put_u64(j, "symbols_missing", m->symbols_missing);
	for (; *s; s = *nl ? nl + 1 : nl) {
		nl = strchrnul(s, '\n');
		json_object_array_add(list, json_bytes(s, nl - s));
	}
	json_object_object_add(j, "missing", list);
	json_put_u64(j, "links", m->links);
	json_put_u64(j, "targets", m->targets);
	json_put_u64(j, "images", m->images);
	json_put_u64(j, "retiring", m->retiring);
	json_put_u64(j, "image_bytes", m->image_bytes);
	json_put_u64(j, "probes", m->probes);
	json_put_u64(j, "optimised", m->optimised);
	json_put_u64(j, "grace_periods", m->grace_periods);
	return j;
}
