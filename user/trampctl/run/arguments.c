// SPDX-License-Identifier: GPL-2.0
/*
 * Where a function has its arguments and its result, by the calling convention (System V AMD64
 * ABI, 3.2.3).
 *
 * A type of up to 16 bytes is one or two eightbytes, each of them in an integer register or in one
 * of SSE. It is in memory instead if it is larger, or if a member of it is off its natural
 * alignment. An argument in memory is on the stack. A result in memory is where the caller wants
 * it: the address is a hidden first argument.
 *
 * BTF does not have alignment attributes: a struct of 16 bytes declared with __aligned(16) looks
 * like a plain one.
 */
#include <bpf/btf.h>

#include "arguments.h"
#include "member_type.h"

#define MAX_BITS	128	/* of what can be in registers */
#define MAX_NESTING	16	/* structs inside of each other, against damaged BTF */
#define SSE_REGS	8
#define STACK_SLOTS	MANY_ON_STACK	/* that many_term::where has numbers for */

/**
 * struct passing - how a type is passed
 * @memory: in memory, whatever registers are left
 * @align: of its largest scalar, bytes
 * @integer: which eightbytes are in integer registers; the others are in those of SSE
 */
struct passing {
	bool memory;
	__u32 align;
	bool integer[2];
};

static void add_integer(struct passing *p, __u64 bit, __u64 bits)
{
	if (!bits || bit + bits > MAX_BITS)
		return;
	p->integer[bit / 64] = true;
	p->integer[(bit + bits - 1) / 64] = true;
}

static void add_scalar(struct passing *p, const struct btf_type *t, __u64 bit)
{
	const __u32 size = btf_is_ptr(t) ? 8 : t->size;

	if (size > p->align)
		p->align = size;
	if (!size || bit % (8ULL * size))
		p->memory = true;
	if (!btf_is_float(t))
		add_integer(p, bit, 8ULL * size);
	else if (size > 8)
		p->memory = true;	/* long double */
}

/* A member at @bit of the whole, or all of it. */
static void add_type(struct passing *p, const struct btf *btf, __u32 id, __u64 bit,
		     unsigned int depth)
{
	const struct btf_type *t = btf_skip_names(btf, id);
	__u32 i, n;

	if (!t || depth > MAX_NESTING) {
		p->memory = true;
	} else if (btf_is_array(t)) {
		const struct btf_array *a = btf_array(t);
		const __s64 size = btf__resolve_size(btf, a->type);

		/* Of those that are too far behind, the first says what they are aligned to. */
		for (i = 0; i < a->nelems && (!i || (size > 0 && bit < MAX_BITS)); i++) {
			add_type(p, btf, a->type, bit, depth + 1);
			bit += 8 * size;
		}
	} else if (type_is_composite(t)) {
		for (i = 0, n = btf_vlen(t); i < n; i++) {
			const __u64 at = bit + btf_member_bit_offset(t, i);
			const __u32 bits = btf_member_bitfield_size(t, i);

			/* Bit fields are where they are, packed or not. */
			if (bits)
				add_integer(p, at, bits);
			else
				add_type(p, btf, btf_members(t)[i].type, at, depth + 1);
		}
	} else if (btf_is_ptr(t) || btf_is_int(t) || btf_is_any_enum(t) || btf_is_float(t)) {
		add_scalar(p, t, bit);
	} else {
		p->memory = true;
	}
}

static struct passing passing_of(const struct tramp_proto *proto, const struct tramp_arg *arg)
{
	struct passing p = { .memory = arg->nr_slots > 2, .align = 1 };

	add_type(&p, proto->btf, arg->type_id, 0, 0);
	/* A packed one, whose members are in place nevertheless. */
	if (arg->size % p.align)
		p.align = 1;
	return p;
}

/**
 * arguments_locate() - where the calling convention has each slot
 * @proto: the function
 * @where: (out) per slot as many_term::where
 * @max: entries at @where
 *
 * An argument of one or two slots is passed in registers if there are enough left for all of it,
 * otherwise on the stack. Later ones get the registers that are left.
 */
void arguments_locate(const struct tramp_proto *proto, __u8 *where, unsigned int max)
{
	const bool hidden = proto->ret.flags & TRAMP_ARG_STRUCT &&
			    passing_of(proto, &proto->ret).memory;
	unsigned int i, k, regs = hidden, sse = 0, stack = 0;

	for (i = 0; i < proto->nr_args; i++) {
		const struct tramp_arg *a = &proto->args[i];
		const struct passing p = passing_of(proto, a);
		unsigned int integers = 0;
		bool in_regs;

		for (k = 0; k < a->nr_slots && k < 2; k++)
			integers += p.integer[k];
		in_regs = !p.memory && regs + integers <= MANY_REGS &&
			  sse + a->nr_slots - integers <= SSE_REGS;
		if (!in_regs && p.align > 8)
			stack += stack % 2;
		for (k = 0; k < a->nr_slots; k++) {
			unsigned int at = MANY_NOWHERE;

			if (!in_regs)
				at = stack < STACK_SLOTS ? MANY_ON_STACK + stack++ : MANY_NOWHERE;
			else if (p.integer[k])
				at = regs++;
			else
				sse++;
			if (a->slot + k < max)
				where[a->slot + k] = at;
		}
	}
}

/* Is (the first slot of) the result what the register of results has? */
bool arguments_result_seen(const struct tramp_proto *proto)
{
	struct passing p;

	if (proto->ret.flags & TRAMP_ARG_VOID || !proto->ret.size)
		return true;
	p = passing_of(proto, &proto->ret);
	return !p.memory && p.integer[0];
}
