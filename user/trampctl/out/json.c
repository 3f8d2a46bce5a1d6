// SPDX-License-Identifier: GPL-2.0
/*
 * JSON output: short names for what the commands need of json-c, and one place
 * that makes sure that every string is valid UTF-8, which json-c does not. Of the characters that a
 * terminal takes for commands json-c escapes those below U+0020. The others are escaped here.
 */
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "json.h"
#include "text.h"

bool json_output;
bool json_pretty;

/**
 * json_bytes() - a string out of bytes that may be anything
 * @val: the bytes, up to a zero or @len
 * @len: bytes at @val
 *
 * A byte that is not valid UTF-8 becomes \xNN, as text; json-c escapes the rest.
 */
json_object *json_bytes(const char *val, size_t len)
{
	size_t i, o = 0, used;
	json_object *obj;
	char *text;

	len = strnlen(val, len);
	text = xcalloc(len * 4 + 1, 1);
	for (i = 0; i < len; i += used) {
		if (utf8_char(val + i, len - i, &used)) {
			memcpy(text + o, val + i, used);
			o += used;
		} else {
			o += sprintf(text + o, "\\x%02x", (unsigned char)val[i]);
		}
	}
	obj = json_object_new_string_len(text, o);
	free(text);
	return obj;
}

json_object *json_hex(uint64_t val)
{
	char text[24];

	snprintf(text, sizeof(text), "0x%" PRIx64, val);
	return json_object_new_string(text);
}

void json_put_str(json_object *obj, const char *key, const char *val)
{
	json_put_bytes(obj, key, val, strlen(val));
}

void json_put_bytes(json_object *obj, const char *key, const char *val, size_t len)
{
	json_object_object_add(obj, key, json_bytes(val, len));
}

void json_put_u64(json_object *obj, const char *key, uint64_t val)
{
	json_object_object_add(obj, key, json_object_new_uint64(val));
}

void json_put_s64(json_object *obj, const char *key, int64_t val)
{
	json_object_object_add(obj, key, json_object_new_int64(val));
}

/* 0 means hidden or none, here as in the kernel: null. */
void json_put_hex(json_object *obj, const char *key, uint64_t val)
{
	json_object_object_add(obj, key, val ? json_hex(val) : NULL);
}

void json_put_bool(json_object *obj, const char *key, bool val)
{
	json_object_object_add(obj, key, json_object_new_boolean(val));
}

/* U+007F to U+009F stand in strings only, so each may be \uNNNN. */
static void put_escaped(const char *text, FILE *f)
{
	const unsigned char *u = (const unsigned char *)text;
	size_t same;

	while (*u) {
		for (same = 0; u[same] && u[same] != 0x7f; same++)
			if (u[same] == 0xc2 && u[same + 1] < 0xa0)
				break;
		fwrite(u, 1, same, f);
		u += same;
		if (*u == 0x7f)
			fputs("\\u007f", f);
		else if (*u)
			fprintf(f, "\\u%04x", *++u);
		u += !!*u;
	}
}

/* Prints a document and a newline, and frees it. */
void json_print_to(FILE *f, json_object *obj)
{
	int flags = JSON_C_TO_STRING_NOSLASHESCAPE |
		    (json_pretty ? JSON_C_TO_STRING_PRETTY : JSON_C_TO_STRING_PLAIN);

	put_escaped(json_object_to_json_string_ext(obj, flags), f);
	fputc('\n', f);
	json_object_put(obj);
}

void json_print(json_object *obj)
{
	json_print_to(stdout, obj);
}
