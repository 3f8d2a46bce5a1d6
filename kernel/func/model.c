// SPDX-License-Identifier: GPL-2.0
/*
 * From a BTF prototype to the model the emitter takes.
 *
 * The kernel's own btf_distill_func_proto() gives sizes and refuses what comes in
 * memory for its size: structs above 16 bytes, struct results. Size is not all
 * there is to it, though (System V AMD64 ABI, 3.2.3):
 *
 *  - a struct with a member off its natural alignment (packed) comes on the stack
 *    whatever its size;
 *  - a floating point member comes in an SSE register;
 *  - what is aligned to 16 bytes (__int128) skips a stack slot to be so.
 *
 * An image for such a function would take the wrong registers for its arguments
 * and give the function wrong values. So look at every member, and refuse.
 *
 * BTF does not have alignment attributes: a 16-byte struct declared with __aligned(16) and
 * passed on the stack looks like a plain one. The kernel's own trampoline has the same limit.
 */
#include <linux/btf.h>
#include "base/ksyms.h"
#include "model.h"

/* Deeper nesting than any argument of 16 bytes has, against damaged BTF. */
#define MAX_DEPTH	16

/* The layout of a type, as far as it is known. */
struct layout {
	u32 align;	/* its largest scalar's, bytes */
	bool odd;	/* not all of it is naturally aligned integers and pointers */
};

static const struct btf_type *skip_modifiers(struct btf *btf, u32 id)
{
	const struct btf_type *t = btf_type_by_id(btf, id);
	u32 depth;

	for (depth = 0; t && depth < 2 * MAX_DEPTH; depth++) {
		switch (BTF_INFO_KIND(t->info)) {
		case BTF_KIND_TYPEDEF:
		case BTF_KIND_VOLATILE:
		case BTF_KIND_CONST:
		case BTF_KIND_RESTRICT:
		case BTF_KIND_TYPE_TAG:
			t = btf_type_by_id(btf, t->type);
			break;
		default:
			return t;
		}
	}
	return NULL;
}

static struct layout type_layout(struct btf *btf, u32 id, u32 depth);

static struct layout struct_layout(struct btf *btf, const struct btf_type *t, u32 depth)
{
	const struct btf_member *m = (const struct btf_member *)(t + 1);
	struct layout sum = { .align = 1 }, l;
	u32 i, off, bits;

	for (i = 0; i < BTF_INFO_VLEN(t->info); i++, m++) {
		off = m->offset;
		bits = 0;
		if (BTF_INFO_KFLAG(t->info)) {
			bits = BTF_MEMBER_BITFIELD_SIZE(m->offset);
			off = BTF_MEMBER_BIT_OFFSET(m->offset);
		}
		l = type_layout(btf, m->type, depth + 1);
		sum.align = max(sum.align, l.align);
		sum.odd |= l.odd;
		/* A bit-field is in place if it stays inside one of its units. */
		if (bits)
			sum.odd |= off % (8 * l.align) + bits > 8 * l.align;
		else
			sum.odd |= off % (8 * l.align) != 0;
	}
	/* Packed to the end: as good as misaligned. */
	sum.odd |= t->size % sum.align != 0;
	return sum;
}

static struct layout type_layout(struct btf *btf, u32 id, u32 depth)
{
	const struct btf_type *t = skip_modifiers(btf, id);
	const struct layout unknown = { .align = 1, .odd = true };

	if (!t || depth > MAX_DEPTH)
		return unknown;
	switch (BTF_INFO_KIND(t->info)) {
	case BTF_KIND_PTR:
		return (struct layout){ .align = sizeof(void *) };
	case BTF_KIND_INT:
	case BTF_KIND_ENUM:
	case BTF_KIND_ENUM64:
		return is_power_of_2(t->size) ? (struct layout){ .align = t->size } : unknown;
	case BTF_KIND_ARRAY:
		return type_layout(btf, ((const struct btf_array *)(t + 1))->type, depth + 1);
	case BTF_KIND_STRUCT:
	case BTF_KIND_UNION:
		return struct_layout(btf, t, depth);
	default:	/* floating point, or what an argument cannot be */
		return unknown;
	}
}

/* Whether every argument is where its size alone would put it. */
static int check_args(struct btf *btf, const struct btf_type *proto, const char *name,
		      const struct btf_func_model *m, struct tramp_refusal *why)
{
	const struct btf_param *params = (const struct btf_param *)(proto + 1);
	u32 i, n, regs = 0;
	struct layout l;

	for (i = 0; i < m->nr_args; i++) {
		l = type_layout(btf, params[i].type, 0);
		n = (m->arg_size[i] + 7) / 8;
		if (l.odd)
			return tramp_refuse(why, TRAMP_REASON_ARG_TYPE, 0,
					    "%s: argument %u is packed or no integer", name,
					    i + 1);
		if (regs + n <= 6)
			regs += n;
		else if (l.align > 8)
			return tramp_refuse(why, TRAMP_REASON_ARG_TYPE, 0,
					    "%s: argument %u is aligned to %u on the stack",
					    name, i + 1, l.align);
	}
	return 0;
}

int tramp_model_from_btf(struct btf *btf, const struct btf_type *proto, const char *name,
			 struct tramp_x86_model *model, enum tramp_reason *exit_reason,
			 struct tramp_refusal *why)
{
	const struct btf_param *params = (const struct btf_param *)(proto + 1);
	u32 i, nr = BTF_INFO_VLEN(proto->info);
	struct btf_func_model m = {};
	int err;

	if (nr && !params[nr - 1].type)
		return tramp_refuse(why, TRAMP_REASON_VARIADIC, 0, "%s", name);
	if (nr > TRAMP_X86_MAX_ARGS)
		return tramp_refuse(why, TRAMP_REASON_TOO_MANY_ARGS, 0, "%s: %u arguments", name,
				    nr);
	if (KSYM(btf_distill_func_proto)(NULL, btf, proto, name, &m))
		return tramp_refuse(why, TRAMP_REASON_ARG_TYPE, 0, "%s", name);
	if (m.ret_size > 16)
		return tramp_refuse(why, TRAMP_REASON_ARG_TYPE, 0, "%s: result of %u bytes", name,
				    m.ret_size);
	err = check_args(btf, proto, name, &m, why);
	if (err)
		return err;
	if (m.ret_size > 8) {
		/* In rdx:rax, of which an exit image would lose a half. */
		*exit_reason = TRAMP_REASON_ARG_TYPE;
		m.ret_size = 8;
	}
	model->nr_args = m.nr_args;
	model->ret_size = m.ret_size;
	for (i = 0; i < m.nr_args; i++)
		model->arg_size[i] = m.arg_size[i];
	i = tramp_x86_model_slots(model, NULL, NULL);
	if (i > TRAMP_MAX_SLOTS)
		return tramp_refuse(why, TRAMP_REASON_TOO_MANY_ARGS, 0, "%s: %u argument slots",
				    name, i);
	return 0;
}
