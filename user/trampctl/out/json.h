/* SPDX-License-Identifier: GPL-2.0 */
/*
 * JSON output, on top of json-c.
 *
 * Conventions of trampctl's JSON: kernel addresses and pointers are strings in
 * hex ("0xffffffff81000000"), since numbers above 2^53 do not survive many
 * readers. Everything else that is a number is a number. A value that is absent
 * is left out or null, never "" or -1.
 */
#ifndef TRAMPCTL_JSON_H
#define TRAMPCTL_JSON_H

#include <json-c/json.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

/* Set by main.c. */
extern bool json_output;	/* -j or -p */
extern bool json_pretty;	/* -p */

void json_put_str(json_object *obj, const char *key, const char *val);
void json_put_bytes(json_object *obj, const char *key, const char *val, size_t len);
void json_put_u64(json_object *obj, const char *key, uint64_t val);
void json_put_s64(json_object *obj, const char *key, int64_t val);
void json_put_hex(json_object *obj, const char *key, uint64_t val);
void json_put_bool(json_object *obj, const char *key, bool val);
json_object *json_bytes(const char *val, size_t len);
json_object *json_hex(uint64_t val);
void json_print(json_object *obj);
void json_print_to(FILE *f, json_object *obj);

#endif /* TRAMPCTL_JSON_H */
