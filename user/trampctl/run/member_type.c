// SPDX-License-Identifier: GPL-2.0
/*
 * Types of BTF, as expressions with members need them: what a type is in words, where its members
 * are, and what characters are.
 */
#include <stdio.h>
#include <string.h>

#include "member_type.h"

/* Types behind each other, and anonymous structs inside of each other; broken BTF may go round. */
#define MAX_CHAIN	64
#define MAX_NESTING	16

/* The type without typedefs and qualifiers; NULL: void. */
const struct btf_type *btf_skip_names(const struct btf *btf, __u32 id)
{
	int n;

	for (n = 0; id && n < MAX_CHAIN; n++) {
		const struct btf_type *t = btf__type_by_id(btf, id);

		if (!t || (!btf_is_mod(t) && !btf_is_typedef(t)))
			return t;
		id = t->type;
	}
	return NULL;
}

/* "" for one without a name */
const char *type_name(const struct btf *btf, __u32 off)
{
	const char *name = btf__name_by_offset(btf, off);

	return name ? name : "";
}

/* "u8" or "enum tt_colour": the first name of a number's type. */
const char *type_text(const struct btf *btf, __u32 id)
{
	static char text[128];
	const struct btf_type *t = btf__type_by_id(btf, id);
	const char *name;
	int n;

	for (n = 0; n < MAX_CHAIN && t && btf_is_mod(t); n++)
		t = btf__type_by_id(btf, t->type);
	name = t ? type_name(btf, t->name_off) : "";
	if (!name[0])
		return type_kind_text(btf, t);
	snprintf(text, sizeof(text), "%s%s", btf_is_any_enum(t) ? "enum " : "", name);
	return text;
}

bool type_is_composite(const struct btf_type *t)
{
	return t && (btf_is_struct(t) || btf_is_union(t));
}

/* "struct dentry", or what else it is, for errors. */
const char *type_kind_text(const struct btf *btf, const struct btf_type *t)
{
	static char text[128];
	const char *name = t ? type_name(btf, t->name_off) : "";

	if (!t)
		return "void";
	switch (btf_kind(t)) {
	case BTF_KIND_STRUCT:
	case BTF_KIND_UNION:
	case BTF_KIND_FWD:
		snprintf(text, sizeof(text), "a %s%s%s",
			 btf_is_union(t) || (btf_is_fwd(t) && btf_kflag(t)) ? "union" : "struct",
			 name[0] ? " " : " without a name", name);
		return text;
	case BTF_KIND_PTR:
		return "a pointer";
	case BTF_KIND_ARRAY:
		return "an array";
	case BTF_KIND_FLOAT:
		return "a floating point number";
	case BTF_KIND_FUNC_PROTO:
		return "a function";
	default:
		return "a number";
	}
}

/* ---------------------------------------------------------------- members -- */

static bool find_in(const struct btf *btf, const struct btf_type *t, const char *name, int depth,
		    struct type_member *found)
{
	const struct btf_member *m = btf_members(t);
	int i;

	for (i = 0; i < btf_vlen(t) && depth < MAX_NESTING; i++) {
		const char *its = type_name(btf, m[i].name_off);
		const struct btf_type *inner;

		if (its[0] && !strcmp(its, name)) {
			found->bit = btf_member_bit_offset(t, i);
			found->field_bits = btf_member_bitfield_size(t, i);
			found->type = m[i].type;
			return true;
		}
		inner = its[0] ? NULL : btf_skip_names(btf, m[i].type);
		if (type_is_composite(inner) && find_in(btf, inner, name, depth + 1, found)) {
			found->bit += btf_member_bit_offset(t, i);
			return true;
		}
	}
	return false;
}

/* Finds a member, also in anonymous structs and unions. */
bool type_find_member(const struct btf *btf, const struct btf_type *t, const char *name,
		      struct type_member *found)
{
	return find_in(btf, t, name, 0, found);
}

static void try_in(struct libtramp_nearest *near, const struct btf *btf,
		   const struct btf_type *t, const char *name, int depth)
{
	const struct btf_member *m = btf_members(t);
	int i;

	for (i = 0; i < btf_vlen(t) && depth < MAX_NESTING; i++) {
		const char *its = type_name(btf, m[i].name_off);
		const struct btf_type *inner = its[0] ? NULL : btf_skip_names(btf, m[i].type);

		if (its[0])
			libtramp_nearest_try(near, name, its);
		else if (type_is_composite(inner))
			try_in(near, btf, inner, name, depth + 1);
	}
}

/* Tries the names of all members. */
void type_try_members(struct libtramp_nearest *near, const struct btf *btf,
		      const struct btf_type *t, const char *name)
{
	try_in(near, btf, t, name, 0);
}

/* BTF has structs that are declared only, where others have their members. */
const struct btf_type *type_whole(const struct btf *btf, const struct btf_type *t)
{
	const __u32 kind = t && btf_is_fwd(t) && btf_kflag(t) ? BTF_KIND_UNION : BTF_KIND_STRUCT;
	int id;

	if (!t || !btf_is_fwd(t))
		return t;
	id = btf__find_by_name_kind(btf, type_name(btf, t->name_off), kind);
	return id > 0 ? btf__type_by_id(btf, id) : t;
}

/* ----------------------------------------------------------------- values -- */

/*
 * Characters, and not numbers of one byte. The kernel has texts of unsigned char, too; who means
 * a number says u8.
 */
bool type_is_char(const struct btf *btf, __u32 id)
{
	const struct btf_type *t = btf__type_by_id(btf, id);
	int n;

	for (n = 0; id && t && n < MAX_CHAIN && (btf_is_mod(t) || btf_is_typedef(t)); n++) {
		const char *name = type_name(btf, t->name_off);

		if (btf_is_typedef(t) && (strstr(name, "u8") || strstr(name, "s8") ||
					  strstr(name, "int8_t")))
			return false;
		id = t->type;
		t = btf__type_by_id(btf, id);
	}
	return id && t && btf_is_int(t) && t->size == 1 &&
	       !(btf_int_encoding(t) & BTF_INT_BOOL);
}

/* TRAMP_ARG_*: of an integer, an enum or a pointer. */
__u32 type_flags(const struct btf *btf, const struct btf_type *t)
{
	__u32 flags = 0;

	if (btf_is_ptr(t))
		return TRAMP_ARG_PTR;
	if (btf_is_any_enum(t))
		return TRAMP_ARG_ENUM | (btf_kflag(t) ? TRAMP_ARG_SIGNED : 0);
	if (btf_int_encoding(t) & BTF_INT_SIGNED)
		flags |= TRAMP_ARG_SIGNED;
	if (btf_int_encoding(t) & BTF_INT_BOOL)
		flags |= TRAMP_ARG_BOOL;
	if (!strcmp(type_name(btf, t->name_off), "char"))
		flags |= TRAMP_ARG_CHAR;
	return flags;
}
