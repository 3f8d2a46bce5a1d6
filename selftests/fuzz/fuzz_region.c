// SPDX-License-Identifier: GPL-2.0
/*
 * Fuzz target: any bytes as a region, in any world.
 *
 * Input: address (9 bytes), then masks for the world: targets (4), fix-ups (4), held (4). Bit n
 * is for the byte at the address + n. Then whether indirect jumps could land, and what is asked
 * of copies: bit 1 for thunks of returns, 2 for those of indirect branches, 3 for counted calls
 * (1). Then the code. The masks are and-ed with a second set each (12), so that few bits are
 * common.
 */
#include "../../kernel/x86/fentry_image.h"
#include "../../kernel/x86/relocate.h"
#include "../../kernel/x86/safety.h"
#include "fuzz.h"
#include "opinion.h"

struct world {
	u64 ip;
	u32 avail;
	u32 targets, fixups, held;
	bool indirect;
	struct tramp_x86_env env;
	u32 asked;	/* bytes that were asked for as targets */
};

static u32 at(const struct world *w, u64 addr)
{
	FUZZ_CHECK(addr - w->ip < w->avail && addr - w->ip < TRAMP_X86_MAX_REGION);
	return addr - w->ip;
}

static bool is_target(u64 addr, void *arg)
{
	struct world *w = arg;

	w->asked |= 1u << at(w, addr);
	return w->targets >> at(w, addr) & 1;
}

static bool has_fixup(u64 addr, void *arg)
{
	struct world *w = arg;

	return w->fixups >> at(w, addr) & 1;
}

static u32 held(u64 start, u64 end, u64 *where, void *arg)
{
	struct world *w = arg;
	u64 addr;

	FUZZ_CHECK(start == w->ip && end != start);
	for (addr = start; addr != end; addr++) {
		if (w->held >> at(w, addr) & 1) {
			*where = addr;
			return 7;
		}
	}
	return 0;
}

static bool indirect(u64 ip, void *arg)
{
	struct world *w = arg;

	FUZZ_CHECK(ip == w->ip);
	return w->indirect;
}

/* Thunks for returns, for all registers but rsp, and whether calls are counted. */
static void set_env(struct world *w, u32 what)
{
	u32 reg;

	w->env.return_thunk = what & 2 ? w->ip + 0x1000 : 0;
	w->env.has_indirect_thunks = what & 4;
	w->env.has_call_depth = what & 8;
	for (reg = 0; reg < 16; reg++)
		w->env.indirect_thunk[reg] = reg == 4 ? 0 : w->ip + 0x2000 + 64 * reg;
}

/* The rules for a region, whatever the verdict, once its length is known. */
static void check_length(const struct world *w, const u8 *code, const struct tramp_x86_verdict *v)
{
	struct tramp_x86_insn insn;
	u32 off = 0;
	bool live = true;

	FUZZ_CHECK(v->len >= TRAMP_X86_JUMP_SIZE && v->len <= TRAMP_X86_MAX_REGION);
	FUZZ_CHECK(v->len <= w->avail);
	while (off < TRAMP_X86_JUMP_SIZE) {
		if (!tramp_x86_decode(code + off, w->avail - off, &insn)) {
			FUZZ_CHECK(!live);
			off = TRAMP_X86_JUMP_SIZE;
			break;
		}
		opinion_check(&insn, w->ip + off);
		off += insn.len;
		live = live && tramp_x86_falls_through(tramp_x86_classify(&insn));
	}
	FUZZ_CHECK(v->len == off);
}

/* A region's instructions, as bits: n for the byte at the address + n. */
struct seen {
	u32 live;	/* one that is live does */
	u32 endbr;	/* an ENDBR does, behind the first */
	u32 into;	/* a branch of a live one leads there */
	u32 inside;	/* a live call, and its end is not that of the region */
	u32 stuck;	/* a live one that cannot run elsewhere */
	u32 first;	/* where the first one ends */
	enum tramp_x86_reloc reloc[TRAMP_X86_JUMP_SIZE];	/* why, by its offset */
};

static void look_at_live(const struct world *w, const struct tramp_x86_insn *insn, u32 off,
			 u32 len, struct seen *seen)
{
	enum tramp_x86_kind kind = tramp_x86_classify(insn);
	u32 end = off + insn->len;
	struct tasm a = { 0 };
	u64 to;

	seen->live |= 1u << off;
	seen->reloc[off] = tramp_x86_relocate(&a, insn, w->ip + off, &w->env);
	/* the next one would not follow at once, see tramp_x86_is_sti() */
	if (tramp_x86_is_sti(insn) && end >= TRAMP_X86_JUMP_SIZE)
		seen->reloc[off] = TRAMP_X86_RELOC_FIXED;
	if (seen->reloc[off])
		seen->stuck |= 1u << off;
	switch (kind) {
	case TRAMP_X86_CALL:
	case TRAMP_X86_CALL_IND:
		if (end != len)
			seen->inside |= 1u << off;
		if (kind == TRAMP_X86_CALL_IND)
			return;
		break;
	case TRAMP_X86_JMP:
	case TRAMP_X86_JCC:
	case TRAMP_X86_LOOP:
		break;
	default:
		return;
	}
	to = tramp_x86_branch_target(insn, w->ip + off) - w->ip;
	if (to > 0 && to < len)
		seen->into |= 1u << to;
}

static struct seen look(const struct world *w, const u8 *code, u32 len)
{
	struct tramp_x86_insn insn;
	struct seen seen = { 0 };
	bool live = true;
	u32 off;

	for (off = 0; off < TRAMP_X86_JUMP_SIZE; off += insn.len) {
		if (!tramp_x86_decode(code + off, w->avail - off, &insn))
			break;
		if (!off)
			seen.first = insn.len;
		else if (tramp_x86_is_endbr(&insn))
			seen.endbr |= 1u << off;
		if (live)
			look_at_live(w, &insn, off, len, &seen);
		live = live && tramp_x86_falls_through(tramp_x86_classify(&insn));
	}
	return seen;
}

/* The first of the reasons that there are, in the order of safety.h. */
static enum tramp_x86_why first_reason(const struct world *w, const struct seen *seen, u32 len)
{
	u32 all = (1u << len) - 1;

	if (w->held & all)
		return TRAMP_X86_HELD;
	if (w->fixups & seen->live)
		return TRAMP_X86_FIXUP;
	if (seen->stuck)
		return TRAMP_X86_STUCK;
	if (seen->inside)
		return TRAMP_X86_MID_CALL;
	if ((w->targets | seen->into) & all & ~1u)
		return TRAMP_X86_TARGET;
	if (seen->endbr || (w->indirect && len > seen->first))
		return TRAMP_X86_INDIRECT;
	return TRAMP_X86_SAFE;
}

/* Word by word what a safe region promises. */
static void check_safe(const struct world *w, const u8 *code, const struct tramp_x86_verdict *v)
{
	u32 behind_first = ((1u << v->len) - 1) & ~1u, all = behind_first | 1;
	struct tramp_x86_insn insn;
	enum tramp_x86_kind kind;
	struct seen seen;
	u32 off = 0;

	FUZZ_CHECK(v->where == w->ip && !v->held && !v->reloc);
	seen = look(w, code, v->len);
	FUZZ_CHECK(first_reason(w, &seen, v->len) == TRAMP_X86_SAFE);
	FUZZ_CHECK(w->asked == behind_first);
	FUZZ_CHECK(!(w->targets & behind_first) && !(w->held & all));
	do {
		struct tasm a = { 0 };

		FUZZ_CHECK(tramp_x86_decode(code + off, w->avail - off, &insn));
		kind = tramp_x86_classify(&insn);
		FUZZ_CHECK(!(w->fixups >> off & 1));
		FUZZ_CHECK(kind != TRAMP_X86_FIXED);
		FUZZ_CHECK(tramp_x86_relocate(&a, &insn, w->ip + off, &w->env) ==
			   TRAMP_X86_RELOC_OK);
		FUZZ_CHECK(!off || !w->indirect);
		FUZZ_CHECK(!off || !tramp_x86_is_endbr(&insn));
		if (kind == TRAMP_X86_JMP || kind == TRAMP_X86_JCC || kind == TRAMP_X86_LOOP ||
		    kind == TRAMP_X86_CALL) {
			u64 to = tramp_x86_branch_target(&insn, w->ip + off) - w->ip;

			FUZZ_CHECK(to == 0 || to >= v->len);
		}
		off += insn.len;
		if (kind == TRAMP_X86_CALL || kind == TRAMP_X86_CALL_IND || tramp_x86_is_sti(&insn))
			FUZZ_CHECK((off == v->len) == !tramp_x86_is_sti(&insn));
	} while (off < v->len && tramp_x86_falls_through(kind));

	/* what is dead is nowhere that an indirect jump could land either */
	FUZZ_CHECK(off == v->len || !w->indirect);
	while (off < v->len && tramp_x86_decode(code + off, w->avail - off, &insn)) {
		FUZZ_CHECK(!tramp_x86_is_endbr(&insn));
		off += insn.len;
	}
}

/* A reason is the first there is, and one for the byte that it names. */
static void check_objection(const struct world *w, const u8 *code,
			    const struct tramp_x86_verdict *v)
{
	u64 off = v->where - w->ip;
	struct tramp_x86_insn insn;
	struct seen seen;

	FUZZ_CHECK((v->why == TRAMP_X86_HELD) == (v->held != 0));
	FUZZ_CHECK((v->why == TRAMP_X86_STUCK) == (v->reloc != 0));
	if (!v->len) {
		FUZZ_CHECK(off < TRAMP_X86_JUMP_SIZE);
		if (v->why == TRAMP_X86_SHORT)
			FUZZ_CHECK(off == w->avail);
		else
			FUZZ_CHECK(v->why == TRAMP_X86_UNDECODABLE && off < w->avail &&
				   !tramp_x86_decode(code + off, w->avail - off, &insn));
		return;
	}
	FUZZ_CHECK(off < v->len);
	seen = look(w, code, v->len);
	FUZZ_CHECK(v->why == first_reason(w, &seen, v->len));
	switch (v->why) {
	case TRAMP_X86_HELD:
		FUZZ_CHECK(v->held == 7 && w->held >> off & 1);
		return;
	case TRAMP_X86_FIXUP:
		FUZZ_CHECK(w->fixups & seen.live & 1u << off);
		return;
	case TRAMP_X86_STUCK:
		FUZZ_CHECK(seen.stuck >> off & 1 && v->reloc == seen.reloc[off]);
		return;
	case TRAMP_X86_MID_CALL:
		FUZZ_CHECK(seen.inside >> off & 1);
		return;
	case TRAMP_X86_TARGET:
		FUZZ_CHECK(off && (w->targets | seen.into) >> off & 1);
		return;
	case TRAMP_X86_INDIRECT:
		FUZZ_CHECK(seen.endbr >> off & 1 || off == seen.first);
		return;
	default:
		FUZZ_CHECK(false);
	}
}

int LLVMFuzzerTestOneInput(const u8 *data, size_t size)
{
	struct fuzz_input in = { data, size };
	struct tramp_x86_verdict v, again;
	struct world w = { .ip = fuzz_text(&in) };
	const struct tramp_x86_world functions = { &w.env, is_target, has_fixup, held, indirect };
	u32 what;
	u8 *code;

	w.targets = fuzz_take(&in, 4);
	w.fixups = fuzz_take(&in, 4);
	w.held = fuzz_take(&in, 4);
	what = fuzz_take(&in, 1);
	w.indirect = what & 1;
	set_env(&w, what);
	w.targets &= fuzz_take(&in, 4);
	w.fixups &= fuzz_take(&in, 4);
	w.held &= fuzz_take(&in, 4);
	w.avail = in.size < 40 ? in.size : 40;
	code = fuzz_exact(in.data, w.avail);
	tramp_x86_check_region(w.ip, code, w.avail, &functions, &w, &v);
	if (v.len)
		check_length(&w, code, &v);
	if (v.why == TRAMP_X86_SAFE)
		check_safe(&w, code, &v);
	else
		check_objection(&w, code, &v);
	fuzz_free(code, w.avail);

	/* the region's own bytes, or those of a longest region, are enough */
	if (w.avail > TRAMP_X86_MAX_REGION) {
		w.avail = TRAMP_X86_MAX_REGION;
		code = fuzz_exact(in.data, w.avail);
		tramp_x86_check_region(w.ip, code, w.avail, &functions, &w, &again);
		FUZZ_CHECK(again.why == v.why && again.len == v.len && again.where == v.where);
		fuzz_free(code, w.avail);
	}
	return 0;
}
