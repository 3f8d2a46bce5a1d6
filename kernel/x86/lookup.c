// SPDX-License-Identifier: GPL-2.0
/*
 * Lookups: a binary search made of compares and direct jumps.
 *
 * The call that led here has pushed its return address, and nothing was pushed since. The
 * code compares it in place, so no register changes. For four functions:
 *
 *	cmpq	$ret[2], (%rsp)
 *	jae	2f
 *	cmpq	$ret[1], (%rsp)
 *	jae	1f
 *	cmpq	$ret[0], (%rsp)			a leaf
 *	jne	tail
 *	jmp	target[0]			(1)
 * 1:	...					a leaf for 1
 * 2:	cmpq	$ret[3], (%rsp)
 *	jae	3f
 *	...					leaves for 2 and 3
 * tail: jmp	other				(1) or a NOP
 *	ret
 *
 * (1) These may be patched while others execute them, by way of an int3 in the first byte.
 *
 * The immediate is sign-extended to 64 bits, and so the compare is right only for addresses in
 * the highest (or lowest) 2 GB. The kernel's text and its modules are there. The compare
 * is unsigned, as the order of the pairs is.
 *
 * For call depth accounting the target counts the call, as it does when it is called directly.
 * The tail counts it before it returns. No indirect branch, so neither retpolines nor IBT
 * matter. And nobody is in here for long: a task can be preempted in here, but never block. So
 * the wait that an image without @inflight gets is enough to free a lookup.
 */
#include "lookup.h"
#include "asm.h"
#include "guard.h"

#define COMPARE_SIZE	8
#define JCC_SIZE	6
#define JUMP_SIZE	5
/* Bytes of a compare with what is behind it, in an inner node and in a leaf. */
#define NODE_SIZE	(COMPARE_SIZE + JCC_SIZE)
#define LEAF_SIZE	(COMPARE_SIZE + JCC_SIZE + JUMP_SIZE)

/* Each level of the search leaves one range for later. */
#define MAX_DEPTH	33

struct range {
	u32 first;
	u32 nr;
};

struct search {
	struct tramp_guard g;
	struct tramp_x86_lookup *lookup;
};

static u32 size_of(u32 nr)
{
	return nr * LEAF_SIZE + (nr - 1) * NODE_SIZE;
}

static void emit_compare(struct tasm *a, u64 ret)
{
	if (!tasm_fits_s32((s64)ret))
		a->out_of_reach = true;
	tasm_mem_op(a, TASM_CMP_IMM32, true, tasm_at(TASM_RSP, 0), (s32)ret);
}

static void emit_leaf(struct tasm *a, struct tramp_x86_lookup_pair *pair, u32 tail)
{
	emit_compare(a, pair->ret);
	tasm_branch_to(a, TASM_JNE, tail);
	pair->jump = a->off;
	tasm_branch(a, TASM_JMP, pair->target);
}

/* Return: the left half, whose code follows; @right is the other one. */
static struct range emit_node(struct tasm *a, const struct tramp_x86_lookup_pair *pairs,
			      struct range all, struct range *right)
{
	struct range left = { all.first, all.nr / 2 };

	*right = (struct range){ all.first + left.nr, all.nr - left.nr };
	emit_compare(a, pairs[right->first].ret);
	tasm_branch_to(a, TASM_JAE, a->off + JCC_SIZE + size_of(left.nr));
	return left;
}

static void emit_search(struct tasm *a, struct tramp_x86_lookup *l)
{
	struct range later[MAX_DEPTH], now = { 0, l->nr };
	u32 depth = 0;

	for (;;) {
		if (now.nr > 1) {
			now = emit_node(a, l->pairs, now, &later[depth++]);
			continue;
		}
		emit_leaf(a, &l->pairs[now.first], l->tail);
		if (!depth)
			return;
		now = later[--depth];
	}
}

static enum tramp_x86_err emit(void *arg)
{
	struct search *s = arg;
	struct tramp_x86_lookup *l = s->lookup;
	struct tramp_part *p = &s->g.hot;

	emit_search(&p->a, l);
	if (l->other)
		tasm_branch(&p->a, TASM_JMP, l->other);
	else
		tasm_nop5(&p->a);
	tramp_guard_count_call(&s->g, p);
	tramp_guard_return(&s->g);
	return TRAMP_X86_OK;
}

enum tramp_x86_err tramp_x86_emit_lookup(struct tramp_x86_lookup *l, u8 *buf, size_t len,
					 u64 addr)
{
	struct search s = { .g.env = l->env, .lookup = l };
	u32 i;

	l->size = 0;
	if (!l->nr || l->nr > 0x7fffffff / (LEAF_SIZE + NODE_SIZE + 1))
		return TRAMP_X86_BAD_REQUEST;
	for (i = 1; i < l->nr; i++)
		if (l->pairs[i - 1].ret >= l->pairs[i].ret)
			return TRAMP_X86_BAD_REQUEST;
	l->tail = size_of(l->nr);
	return tramp_guard_emit(&s.g, emit, &s, buf, len, addr, &l->size);
}
