// SPDX-License-Identifier: GPL-2.0
/*
 * The rules of safety.h.
 *
 * First the region is walked: its live instructions are those that control reaches
 * from its start, its dead ones stand behind one that does not fall through. Then
 * each rule looks at the whole region. Those that say most come first: somebody owns the
 * bytes; an instruction could not run elsewhere at all; the jump alone is in the way.
 */
#include "safety.h"

#include "relocate.h"

/* No more instructions start in the first five bytes. */
#define MAX_INSNS	TRAMP_X86_JUMP_SIZE

/* One instruction of the region. */
struct part {
	u64 addr;
	enum tramp_x86_kind kind;
	struct tramp_x86_insn insn;
};

struct region {
	u64 ip;
	u32 len;
	u32 nr;			/* instructions, as far as they decode */
	u32 nr_live;		/* the first so many of them are live, at least one */
	struct part part[MAX_INSNS];
	const struct tramp_x86_world *world;
	void *arg;
	struct tramp_x86_verdict *v;
};

/* For a rule that does not hold: the reason. */
static bool object(struct region *r, enum tramp_x86_why why, u64 where)
{
	r->v->why = why;
	r->v->where = where;
	return false;
}

static bool take_insn(struct region *r, const u8 *code, u32 avail)
{
	struct part *p = &r->part[r->nr];

	if (!tramp_x86_decode(code + r->len, avail - r->len, &p->insn))
		return false;
	p->addr = r->ip + r->len;
	p->kind = tramp_x86_classify(&p->insn);
	r->len += p->insn.len;
	r->nr++;
	return true;
}

static bool walk_live(struct region *r, const u8 *code, u32 avail)
{
	bool goes_on = true;

	while (goes_on && r->len < TRAMP_X86_JUMP_SIZE) {
		if (r->len >= avail)
			return object(r, TRAMP_X86_SHORT, r->ip + avail);
		if (!take_insn(r, code, avail))
			return object(r, TRAMP_X86_UNDECODABLE, r->ip + r->len);
		r->nr_live = r->nr;
		goes_on = tramp_x86_falls_through(r->part[r->nr - 1].kind);
	}
	if (avail < TRAMP_X86_JUMP_SIZE)
		return object(r, TRAMP_X86_SHORT, r->ip + avail);
	return true;
}

/*
 * Dead bytes are jumped over and never run. Usually they are padding, or a block that
 * something jumps to, which other rules find out. Bytes there that do not decode end
 * the region where the jump ends.
 */
static void walk_dead(struct region *r, const u8 *code, u32 avail)
{
	while (r->len < TRAMP_X86_JUMP_SIZE)
		if (!take_insn(r, code, avail))
			r->len = TRAMP_X86_JUMP_SIZE;
}

static bool nobody_holds_it(struct region *r)
{
	u64 where = r->ip;
	u32 held = r->world->held(r->ip, r->ip + r->len, &where, r->arg);

	if (!held)
		return true;
	r->v->held = held;
	return object(r, TRAMP_X86_HELD, where);
}

/* An exception in the copy would be looked up by the copy's address, and not found. */
static bool no_fixups(struct region *r)
{
	u32 i;

	for (i = 0; i < r->nr_live; i++)
		if (r->world->has_fixup(r->part[i].addr, r->arg))
			return object(r, TRAMP_X86_FIXUP, r->part[i].addr);
	return true;
}

static bool all_relocate(struct region *r)
{
	const struct part *last = &r->part[r->nr_live - 1];
	enum tramp_x86_reloc reloc;
	u32 i;

	for (i = 0; i < r->nr_live; i++) {
		struct tasm measure = { 0 };

		reloc = tramp_x86_relocate(&measure, &r->part[i].insn, r->part[i].addr,
					   r->world->env);
		if (reloc != TRAMP_X86_RELOC_OK) {
			r->v->reloc = reloc;
			return object(r, TRAMP_X86_STUCK, r->part[i].addr);
		}
	}
	/* behind the copy of the last one there is a jump, see tramp_x86_is_sti() */
	if (tramp_x86_is_sti(&last->insn)) {
		r->v->reloc = TRAMP_X86_RELOC_FIXED;
		return object(r, TRAMP_X86_STUCK, last->addr);
	}
	return true;
}

/* A call may return to what is behind the region, not to anything in it. */
static bool no_call_inside(struct region *r)
{
	u32 i;

	for (i = 0; i < r->nr_live; i++) {
		const struct part *p = &r->part[i];

		if (tramp_x86_is_call(p->kind) && p->addr + p->insn.len != r->ip + r->len)
			return object(r, TRAMP_X86_MID_CALL, p->addr);
	}
	return true;
}

static bool is_direct(enum tramp_x86_kind kind)
{
	return kind == TRAMP_X86_JMP || kind == TRAMP_X86_JCC || kind == TRAMP_X86_LOOP ||
	       kind == TRAMP_X86_CALL;
}

/*
 * Every byte is asked for, not only where instructions start: a branch past a prefix
 * leads into an instruction, and behind the jump the last one becomes NOPs.
 * The region's own branches are looked at as well, whatever the world knows of them.
 */
static bool no_targets(struct region *r)
{
	u64 addr, into;
	u32 i;

	for (addr = r->ip + 1; addr != r->ip + r->len; addr++)
		if (r->world->is_target(addr, r->arg))
			return object(r, TRAMP_X86_TARGET, addr);
	for (i = 0; i < r->nr_live; i++) {
		const struct part *p = &r->part[i];

		if (!is_direct(p->kind))
			continue;
		into = tramp_x86_branch_target(&p->insn, p->addr) - r->ip;
		if (into > 0 && into < r->len)
			return object(r, TRAMP_X86_TARGET, r->ip + into);
	}
	return true;
}

/*
 * Indirect jumps lead to where instructions start, and an ENDBR says that one does.
 * A region of one instruction has no such place behind its first byte.
 */
static bool no_indirect(struct region *r)
{
	u32 i, first = r->part[0].insn.len;

	for (i = 1; i < r->nr; i++)
		if (tramp_x86_is_endbr(&r->part[i].insn))
			return object(r, TRAMP_X86_INDIRECT, r->part[i].addr);
	if (r->len > first && r->world->indirect(r->ip, r->arg))
		return object(r, TRAMP_X86_INDIRECT, r->ip + first);
	return true;
}

enum tramp_x86_why tramp_x86_check_region(u64 ip, const u8 *code, u32 avail,
					  const struct tramp_x86_world *world, void *arg,
					  struct tramp_x86_verdict *v)
{
	struct region r = { .ip = ip, .world = world, .arg = arg, .v = v };

	*v = (struct tramp_x86_verdict){ .why = TRAMP_X86_SAFE, .where = ip };
	if (!walk_live(&r, code, avail))
		return v->why;
	walk_dead(&r, code, avail);
	v->len = r.len;
	if (nobody_holds_it(&r) && no_fixups(&r) && all_relocate(&r) && no_call_inside(&r) &&
	    no_targets(&r))
		no_indirect(&r);
	return v->why;
}
