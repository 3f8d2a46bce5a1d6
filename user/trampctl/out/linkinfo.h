/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Functions, places and links as text and as JSON.
 */
#ifndef TRAMPCTL_LINKINFO_H
#define TRAMPCTL_LINKINFO_H

#include <json-c/json.h>
#include <trampoline/trampoline.h>

struct table *link_table_new(void);
void link_table_row(struct table *t, const struct tramp_link_info *info);
json_object *link_to_json(const struct tramp_link_info *info);
char *func_text(const char *module, const char *func);
char *place_text(const struct tramp_link_info *info);
char *mode_text(uint32_t mode, uint32_t reason);
void json_put_func(json_object *j, const char *module, const char *func, uint64_t addr);
void json_put_btf(json_object *j, uint32_t obj_id, uint32_t id, uint64_t key);
void json_put_reason(json_object *j, uint32_t reason);
char *image_text(const struct tramp_link_info *info);

#endif /* TRAMPCTL_LINKINFO_H */
