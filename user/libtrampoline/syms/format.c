// SPDX-License-Identifier: LGPL-2.1 OR BSD-2-Clause
/*
 * Values as text, by their BTF type.
 *
 * A slot is 64 bits wide, but only the low bytes of a narrower value mean
 * anything: the ABI leaves the rest of the register as it happens to be.
 */
#include <bpf/btf.h>
#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>

#include "internal.h"

#define MAX_ERRNO	4095
#define MAX_STRUCT	16	/* bytes of a struct that is passed in registers */

static uint64_t low_bytes(uint64_t v, uint32_t size)
{
	return size >= 8 ? v : v & ((1ULL << (size * 8)) - 1);
}

static int64_t sign_extend(uint64_t v, uint32_t size)
{
	unsigned int shift = size >= 8 ? 0 : 64 - size * 8;

	return (int64_t)(v << shift) >> shift;
}

static const char *enumerator(const struct btf *btf, const struct btf_type *t, int64_t value)
{
	int i, n = btf_vlen(t);

	if (btf_is_enum64(t)) {
		const struct btf_enum64 *e = btf_enum64(t);

		for (i = 0; i < n; i++)
			if ((int64_t)btf_enum64_value(&e[i]) == value)
				return btf__name_by_offset(btf, e[i].name_off);
	} else {
		const struct btf_enum *e = btf_enum(t);

		for (i = 0; i < n; i++) {
			int64_t v = btf_kflag(t) ? e[i].val : (int64_t)(uint32_t)e[i].val;

			if (v == value)
				return btf__name_by_offset(btf, e[i].name_off);
		}
	}
	return NULL;
}

static int format_enum(const struct btf *btf, const struct tramp_arg *arg, uint64_t v,
		       char *buf, size_t len)
{
	const struct btf_type *t = libtramp_skip_mods(btf, arg->type_id);
	bool is_signed = arg->flags & TRAMP_ARG_SIGNED;
	int64_t value = is_signed ? sign_extend(v, arg->size) : (int64_t)v;
	const char *name = t ? enumerator(btf, t, value) : NULL;

	if (name)
		return snprintf(buf, len, "%s", name);
	if (is_signed)
		return snprintf(buf, len, "%" PRId64, value);
	return snprintf(buf, len, "%" PRIu64, v);
}

static int format_char(unsigned char c, char *buf, size_t len)
{
	if (c == '\'' || c == '\\')
		return snprintf(buf, len, "'\\%c'", c);
	if (isascii(c) && isprint(c))
		return snprintf(buf, len, "'%c'", c);
	return snprintf(buf, len, "'\\x%02x'", c);
}

static int format_ptr(uint64_t v, char *buf, size_t len)
{
	int64_t err = (int64_t)v;

	if (!v)
		return snprintf(buf, len, "NULL");
	if (err < 0 && err >= -MAX_ERRNO)
		return snprintf(buf, len, "ERR_PTR(%" PRId64 ")", err);
	return snprintf(buf, len, "0x%" PRIx64, v);
}

/* Bytes in the order of memory, which is that of the slots on this machine. */
static int format_bytes(const uint64_t *slots, uint32_t size, char *buf, size_t len)
{
	const unsigned char *p = (const unsigned char *)slots;
	char text[3 * MAX_STRUCT + 8] = "{";
	uint32_t i, pos = 1;

	if (size > MAX_STRUCT)
		return snprintf(buf, len, "{...}");
	for (i = 0; i < size; i++)
		pos += snprintf(text + pos, sizeof(text) - pos, "%s%02x", i ? " " : "", p[i]);
	return snprintf(buf, len, "%s}", text);
}

int tramp_arg__format(const struct tramp_proto *proto, const struct tramp_arg *arg,
		      const uint64_t *slots, char *buf, size_t len)
{
	uint64_t v;

	if (arg->flags & TRAMP_ARG_VOID)
		return snprintf(buf, len, "void");
	/* A wide result has one slot as well: the rest of it is nowhere. */
	if (arg->slot >= proto->nr_slots && arg->size > 8)
		return snprintf(buf, len, "{...}");
	/* Wider than a slot: structs, and __int128, which has no format of its own. */
	if ((arg->flags & TRAMP_ARG_STRUCT) || arg->size > 8)
		return format_bytes(slots, arg->size, buf, len);
	v = low_bytes(slots[0], arg->size);
	if (arg->flags & TRAMP_ARG_PTR)
		return format_ptr(v, buf, len);
	if (arg->flags & TRAMP_ARG_BOOL)
		return snprintf(buf, len, "%s", v ? "true" : "false");
	if (arg->flags & TRAMP_ARG_CHAR)
		return format_char(v, buf, len);
	if (arg->flags & TRAMP_ARG_ENUM)
		return format_enum(proto->btf, arg, v, buf, len);
	if (arg->flags & TRAMP_ARG_SIGNED)
		return snprintf(buf, len, "%" PRId64, sign_extend(v, arg->size));
	/* Unsigned longs that hold kernel addresses read better as such. */
	if (v >> 63)
		return snprintf(buf, len, "0x%" PRIx64, v);
	return snprintf(buf, len, "%" PRIu64, v);
}
