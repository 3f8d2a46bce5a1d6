// SPDX-License-Identifier: GPL-2.0
/*
 * Expressions with members, as they are for one function: its BTF says where each member is.
 *
 * The way begins in a slot of the arguments. It stays there while the struct was passed by value.
 * The first pointer leads into memory: from then on steps add to an offset, and the next pointer
 * is read there. So all that a program has to do is to read pointers, each at an offset from the
 * one before, and the member behind the last.
 */
#include <stdio.h>
#include <string.h>

#include "arguments.h"
#include "member.h"
#include "member_type.h"

/**
 * struct walk - how far we are
 * @e: the expression
 * @done: steps of it that are done
 * @btf: that of the function
 * @type: what is there
 * @m: how to get there
 * @in_slot: it is in the slot @slot and those behind
 * @bit: where it begins, from the start of the slot or from where the last pointer leads
 * @field_bits: it is a bit field of as many; 0: it is none
 */
struct walk {
	const struct member_expr *e;
	unsigned int done;
	const struct btf *btf;
	__u32 type;
	struct member *m;
	bool in_slot;
	__u32 slot;
	__u64 bit;
	__u32 field_bits;
	struct member_refusal *no;
};

/* The expression up to where it is wrong. */
static const char *so_far(const struct walk *w)
{
	static char text[MEMBER_TEXT_LEN];
	const char *p = w->e->text + strlen(w->e->name);
	unsigned int i;

	for (i = 0; i < w->done; i++) {
		/* A step begins with "->", "." or "[", which are nowhere else in it. */
		p += *p == '-' ? 2 : 1;
		p += strcspn(p, "-.[");
	}
	snprintf(text, sizeof(text), "%.*s", (int)(p - w->e->text), w->e->text);
	return text;
}

/* Keeps the names that are near, which may go away before they are shown. */
static void keep_near(struct member_refusal *no, const struct libtramp_nearest *near)
{
	size_t i;

	for (i = 0; i < near->nr; i++) {
		snprintf(no->names[i], sizeof(no->names[i]), "%s", near->out[i]);
		no->similar[i] = no->names[i];
	}
	no->similar[i] = NULL;
}

static int enter_member(struct walk *w, const char *name)
{
	const struct btf_type *t = type_whole(w->btf, btf_skip_names(w->btf, w->type));
	struct type_member found;
	const char *out[MEMBER_MAX_NEAR];
	struct libtramp_nearest near = { .out = out, .max = MEMBER_MAX_NEAR };

	if (t && btf_is_fwd(t))
		return member_refuse(w->no, "BTF does not say what is in %s", type_kind_text(w->btf, t));
	if (type_find_member(w->btf, t, name, &found)) {
		w->bit += found.bit;
		w->field_bits = found.field_bits;
		w->type = found.type;
		return 0;
	}
	type_try_members(&near, w->btf, t, name);
	keep_near(w->no, &near);
	return member_refuse(w->no, "there is no member %s in %s", name, type_kind_text(w->btf, t));
}

/* ------------------------------------------------------------------ steps -- */

/* Goes where the pointer that we are at leads. */
static int follow(struct walk *w, const struct btf_type *ptr)
{
	struct many_path *p = &w->m->path;

	if (w->in_slot) {
		w->slot += w->bit / 64;
		if (w->bit % 64)
			return member_refuse(w->no, "the pointer %s is not aligned", so_far(w));
		w->in_slot = false;
	} else {
		if (p->nr == MANY_MAX_DEREFS)
			return member_refuse(w->no, "%s is too deep: at most %d pointers are followed in memory",
					     w->e->text, MANY_MAX_DEREFS);
		p->off[p->nr++] = w->bit / 8;
	}
	w->bit = 0;
	w->type = ptr->type;
	return 0;
}

static int step_arrow(struct walk *w, const struct btf_type *t, const char *name)
{
	const struct btf_type *to;

	if (type_is_composite(t))
		return member_refuse(w->no, "%s is %s: write .%s", so_far(w), type_kind_text(w->btf, t),
				     name);
	if (!t || !btf_is_ptr(t))
		return member_refuse(w->no, "%s is %s, and no pointer to a struct", so_far(w),
				     type_kind_text(w->btf, t));
	to = btf_skip_names(w->btf, t->type);
	if (!to || !(type_is_composite(to) || btf_is_fwd(to)))
		return member_refuse(w->no, "%s is a pointer to %s, and not to a struct", so_far(w),
				     type_kind_text(w->btf, to));
	return follow(w, t) || enter_member(w, name) ? -1 : 0;
}

static int step_dot(struct walk *w, const struct btf_type *t, const char *name)
{
	if (t && btf_is_ptr(t))
		return member_refuse(w->no, "%s is a pointer: write ->%s", so_far(w), name);
	if (!type_is_composite(t))
		return member_refuse(w->no, "%s is %s, and no struct", so_far(w),
				     type_kind_text(w->btf, t));
	return enter_member(w, name);
}

static int step_index(struct walk *w, const struct btf_type *t, __u32 index)
{
	__s64 size;

	if (t && btf_is_array(t)) {
		const struct btf_array *a = btf_array(t);

		/* The last member of a struct may go on behind it. */
		if (a->nelems && index >= a->nelems)
			return member_refuse(w->no, "%s has %u elements, from [0] to [%u]",
					     so_far(w), a->nelems, a->nelems - 1);
		w->type = a->type;
	} else if (t && btf_is_ptr(t)) {
		if (follow(w, t))
			return -1;
	} else {
		return member_refuse(w->no, "%s is %s, and no array or pointer", so_far(w),
				     type_kind_text(w->btf, t));
	}
	size = btf__resolve_size(w->btf, w->type);
	if (size <= 0 || size * index > UINT32_MAX)
		return member_refuse(w->no, "%s has no elements of a known size", so_far(w));
	w->bit += (__u64)size * index * 8;
	return 0;
}

static int walk_steps(struct walk *w)
{
	for (; w->done < w->e->nr; w->done++) {
		const struct member_step *s = &w->e->step[w->done];
		const struct btf_type *t = btf_skip_names(w->btf, w->type);
		int err;

		if (w->field_bits)
			return member_refuse(w->no, "%s is a bit field", so_far(w));
		if (s->op == MEMBER_ARROW)
			err = step_arrow(w, t, s->name);
		else if (s->op == MEMBER_DOT)
			err = step_dot(w, t, s->name);
		else
			err = step_index(w, t, s->index);
		if (err)
			return err;
		if (w->bit / 8 > UINT32_MAX)
			return member_refuse(w->no, "%s is too far behind", so_far(w));
	}
	return 0;
}

/* ------------------------------------------------------------------ value -- */

static int end_in_text(struct walk *w, const struct btf_type *t)
{
	struct many_path *p = &w->m->path;

	if (btf_is_ptr(t)) {
		if (follow(w, t))
			return -1;
	} else if (w->in_slot) {
		return member_refuse(w->no, "%s is in registers, and a text there is not shown",
				     w->e->text);
	} else {
		const __u32 len = btf_array(t)->nelems;

		/* A longer one is cut like any other text. */
		p->text_len = len < TRACE_STR_LEN ? len : 0;
	}
	w->m->is_text = true;
	p->kind = MANY_PATH_TEXT;
	p->last = w->bit / 8;
	return 0;
}

static int end_in_number(struct walk *w, const struct btf_type *t)
{
	struct member *m = w->m;
	struct many_path *p = &m->path;

	m->bits = w->field_bits ? w->field_bits : t->size * 8;
	if (btf_is_ptr(t))
		m->bits = 64;
	m->arg.type_id = w->type;
	m->arg.size = btf_is_ptr(t) ? 8 : t->size;
	m->arg.nr_slots = 1;
	m->arg.flags = type_flags(w->btf, t);
	if (w->in_slot) {
		p->kind = MANY_PATH_SLOT;
		w->slot += w->bit / 64;
		m->shift = w->bit % 64;
		return m->shift + m->bits <= 64 ? 0 :
		       member_refuse(w->no, "%s is in two registers", w->e->text);
	}
	p->kind = MANY_PATH_NUMBER;
	p->last = w->bit / 8;
	m->shift = w->bit % 8;
	/* As little as can be: what lies behind may be out of reach. */
	p->size = (m->shift + m->bits + 7) / 8;
	return p->size <= 8 ? 0 :
	       member_refuse(w->no, "the bits of %s lie in 9 bytes", w->e->text);
}

static int end_of_walk(struct walk *w, enum member_want want)
{
	const struct btf_type *t = btf_skip_names(w->btf, w->type);
	bool chars, number;

	chars = t && ((btf_is_ptr(t) && type_is_char(w->btf, t->type)) ||
		      (btf_is_array(t) && type_is_char(w->btf, btf_array(t)->type)));
	number = t && (btf_is_ptr(t) ||
		       ((btf_is_int(t) || btf_is_any_enum(t)) && t->size && t->size <= 8));
	if (chars && want != MEMBER_NUMBER)
		return end_in_text(w, t);
	if (number && want != MEMBER_TEXT)
		return end_in_number(w, t);
	if (want == MEMBER_TEXT)
		return member_refuse(w->no, "%s is %s, and no text", w->e->text,
				     type_kind_text(w->btf, t));
	if (chars)
		return member_refuse(w->no, "%s is a text: compare it with a \"TEXT\"",
				     w->e->text);
	if (t && btf_is_array(t))
		return member_refuse(w->no, "%s is an array: add [N] for one of its elements",
				     w->e->text);
	if (type_is_composite(t))
		return member_refuse(w->no, "%s is %s: name one of its members", w->e->text,
				     type_kind_text(w->btf, t));
	return member_refuse(w->no, "%s is %s: it cannot be shown or compared", w->e->text,
			     type_kind_text(w->btf, t));
}

/* -------------------------------------------------------------- functions -- */

static const struct tramp_arg *find_arg(const struct tramp_proto *proto, const char *name,
					struct member_refusal *no)
{
	const char *out[MEMBER_MAX_NEAR];
	struct libtramp_nearest near = { .out = out, .max = MEMBER_MAX_NEAR };
	unsigned int i, n;
	char end;

	for (i = 0; i < proto->nr_args; i++)
		if (!strcmp(proto->args[i].name, name))
			return &proto->args[i];
	/* No more digits than an unsigned int has place for. */
	if (sscanf(name, "arg%4u%c", &n, &end) == 1 && n >= 1 && n <= proto->nr_args)
		return &proto->args[n - 1];
	for (i = 0; i < proto->nr_args; i++)
		libtramp_nearest_try(&near, name, proto->args[i].name);
	keep_near(no, &near);
	return NULL;
}

/**
 * member_bind() - what an expression is for one function
 * @e: the expression
 * @proto: the function's prototype
 * @want: what it has to be
 * @m: (out) the member
 * @no: (out) why it is none
 *
 * Return: 0, or -1 with @no filled.
 */
int member_bind(const struct member_expr *e, const struct tramp_proto *proto,
		enum member_want want, struct member *m, struct member_refusal *no)
{
	const bool result = member_on_result(e);
	const struct tramp_arg *a;
	__u8 where[TRACE_MAX_SLOTS] = { 0 };
	struct walk w = { .e = e, .btf = proto->btf, .m = m, .in_slot = true, .no = no };

	memset(m, 0, sizeof(*m));
	memset(no, 0, sizeof(*no));
	a = result ? &proto->ret : find_arg(proto, e->name, no);
	if (!a)
		return member_refuse(no, "it has no argument of that name: %s", e->name);
	if (result && (a->flags & TRAMP_ARG_VOID))
		return member_refuse(no, "it returns nothing");
	if (result && (a->flags & TRAMP_ARG_STRUCT))
		return member_refuse(no, "it returns a struct");
	w.slot = result ? 0 : a->slot;
	w.type = a->type_id;
	if (walk_steps(&w) || end_of_walk(&w, want))
		return -1;
	if (!result && w.slot >= TRACE_MAX_SLOTS)
		return member_refuse(no, "that argument is too far behind");
	arguments_locate(proto, where, TRACE_MAX_SLOTS);
	m->path.where = result ? MANY_RESULT : where[w.slot];
	if (m->path.where == MANY_NOWHERE)
		return member_refuse(no, "%s is in a register of SSE, which programs do not see",
				     e->text);
	return 0;
}

/**
 * member_enumerator() - the value of an enumerator of a member's type
 * @proto: the function's prototype
 * @m: the member
 * @name: the enumerator
 * @value: (out) its value
 * @no: (out) why there is none
 *
 * Return: 0, or -1 with @no filled.
 */
int member_enumerator(const struct tramp_proto *proto, const struct member *m, const char *name,
		      __u64 *value, struct member_refusal *no)
{
	const struct btf_type *t = btf_skip_names(proto->btf, m->arg.type_id);
	const char *out[MEMBER_MAX_NEAR];
	struct libtramp_nearest near = { .out = out, .max = MEMBER_MAX_NEAR };
	int i;

	if (!(m->arg.flags & TRAMP_ARG_ENUM))
		return member_refuse(no, "%s is no number, and what it is compared with no enum",
				     name);
	for (i = 0; i < btf_vlen(t); i++) {
		const bool wide = btf_is_enum64(t);
		const char *its = type_name(proto->btf, wide ? btf_enum64(t)[i].name_off :
							     btf_enum(t)[i].name_off);

		if (!strcmp(its, name)) {
			*value = wide ? btf_enum64_value(&btf_enum64(t)[i]) :
				 btf_kflag(t) ? (__u64)(__s64)btf_enum(t)[i].val :
						(__u32)btf_enum(t)[i].val;
			return 0;
		}
		libtramp_nearest_try(&near, name, its);
	}
	keep_near(no, &near);
	return member_refuse(no, "there is no %s in its enum", name);
}

/* The number that a member is, out of what was read. */
__u64 member_number(const struct member *m, __u64 value)
{
	const unsigned int unused = 64 - m->bits;

	value = value >> m->shift << unused;
	return m->arg.flags & TRAMP_ARG_SIGNED ? (__u64)((__s64)value >> unused) : value >> unused;
}
