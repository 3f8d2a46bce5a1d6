// SPDX-License-Identifier: GPL-2.0
/*
 * Statements that must hold of every image, see image.h.
 */
#include "image.h"

void image_instructions(struct image *img)
{
	struct image_insn *x;
	u32 off;

	img->starts = calloc(1, img->size);
	img->at = malloc(img->size * sizeof(*img->at));
	FUZZ_CHECK(img->starts && img->at);
	for (off = 0; off < img->size; off += x->insn.len) {
		x = &img->at[off];
		FUZZ_CHECK(tramp_x86_decode(img->bytes + off, img->size - off, &x->insn));
		x->kind = tramp_x86_classify(&x->insn);
		x->to = tramp_x86_branch_target(&x->insn, img->addr + off);
		img->starts[off] = 1;
	}
}

void image_free(struct image *img)
{
	free(img->starts);
	free(img->at);
}

static bool may_be_called(const struct image *img, u64 to)
{
	const struct tramp_x86_env *e = img->env;
	u32 i;

	for (i = 0; i < img->nr; i++) {
		const struct tramp_x86_call *c = &img->calls[i];

		if (to == c->func)
			return true;
		if ((c->flags & TRAMP_X86_CALL_GUARDED) && (to == c->enter || to == c->exit))
			return true;
	}
	return to == e->missed || (e->stats_key && (to == e->stats_enter || to == e->stats_exit)) ||
	       (e->resched && to == e->resched) || (img->orig && to == img->orig) ||
	       (e->rcu_read_lock && (to == e->rcu_read_lock || to == e->rcu_read_unlock)) ||
	       (e->probe_enter && (to == e->probe_enter || to == e->probe_exit)) ||
	       (e->rcu_watching && to == e->rcu_watching) ||
	       (e->multi_cookie && to == e->multi_cookie);
}

/* Where a branch that stays in the image may lead. */
static bool inside(const struct image *img, u64 to)
{
	return to - img->addr < img->size && img->starts[to - img->addr];
}

void image_branches(const struct image *img, u32 from, u32 to)
{
	const struct image_insn *x;
	u32 off;

	for (off = 0; off < img->size; off += x->insn.len) {
		x = &img->at[off];
		if (off >= from && off < to)
			continue;
		switch (x->kind) {
		case TRAMP_X86_CALL:
			FUZZ_CHECK(may_be_called(img, x->to) ||
				   (img->sessions && inside(img, x->to)));
			break;
		case TRAMP_X86_CALL_IND:
			FUZZ_CHECK(img->indirect);
			break;
		case TRAMP_X86_JMP:
			if (img->env->return_thunk && x->to == img->env->return_thunk)
				break;
			/* fall through */
		case TRAMP_X86_JCC:
			FUZZ_CHECK(inside(img, x->to));
			break;
		case TRAMP_X86_RET:
			FUZZ_CHECK(!img->env->return_thunk);
			break;
		case TRAMP_X86_FIXED:
			FUZZ_CHECK(x->insn.opcode == 0xcc);
			break;
		default:
			FUZZ_CHECK(x->kind == TRAMP_X86_PLAIN);
		}
	}
}

void image_calls(const struct image *img, const u32 *call_off)
{
	const struct image_insn *x;
	u32 i;

	for (i = 0; i < 2 * (img->nr + img->sessions); i++) {
		const struct tramp_x86_call *c = &img->calls[i / 2];
		bool timed;

		if (i / 2 >= img->nr)	/* again, at the return */
			c -= img->sessions;
		timed = img->env->stats_key && !(c->flags & TRAMP_X86_CALL_GUARDED);
		if (i % 2 && !timed) {
			FUZZ_CHECK(!call_off[i]);
			continue;
		}
		FUZZ_CHECK(call_off[i] < img->size && img->starts[call_off[i]]);
		x = &img->at[call_off[i]];
		FUZZ_CHECK(x->kind == TRAMP_X86_CALL && x->insn.len == 5 && x->to == c->func);
	}
}
