// SPDX-License-Identifier: GPL-2.0
/*
 * Fuzz target: any bytes as a region, in any world.
 *
 * Input: address (9 bytes), then masks for the world: targets (4), fix-ups (4), held (4). Bit n
 * is for the byte at the address + n. Then whether indirect jumps could land (1), then the
 * code. The masks are and-ed with a second set each (12), so that few bits are common.
 */
#include "../../kernel/x86/fentry_image.h"
#include "../../kernel/x86/relocate.h"
#include "../../kernel/x86/safety.h"
#include "fuzz.h"

struct world {
	u64 ip;
	u32 avail;
	u32 targets, fixups, held;
	bool indirect;
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

static const struct tramp_x86_env env;
static const struct tramp_x86_world functions = { &env, is_target, has_fixup, held, indirect };

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
		off += insn.len;
		live = live && tramp_x86_falls_through(tramp_x86_classify(&insn));
	}
	FUZZ_CHECK(v->len == off);
}

/* Word by word what a safe region promises. */
static void check_safe(const struct world *w, const u8 *code, const struct tramp_x86_verdict *v)
{
	u32 behind_first = ((1u << v->len) - 1) & ~1u, all = behind_first | 1;
	struct tramp_x86_insn insn;
	enum tramp_x86_kind kind;
	u32 off = 0;

	FUZZ_CHECK(v->where == w->ip && !v->held && !v->reloc);
	FUZZ_CHECK(w->asked == behind_first);
	FUZZ_CHECK(!(w->targets & behind_first) && !(w->held & all));
	do {
		struct tasm a = { 0 };

		FUZZ_CHECK(tramp_x86_decode(code + off, w->avail - off, &insn));
		kind = tramp_x86_classify(&insn);
		FUZZ_CHECK(!(w->fixups >> off & 1));
		FUZZ_CHECK(kind != TRAMP_X86_FIXED);
		FUZZ_CHECK(tramp_x86_relocate(&a, &insn, w->ip + off, &env) == TRAMP_X86_RELOC_OK);
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

/* A reason is one for the byte that it names. */
static void check_objection(const struct world *w, const struct tramp_x86_verdict *v)
{
	u64 off = v->where - w->ip;

	FUZZ_CHECK((v->why == TRAMP_X86_HELD) == (v->held != 0));
	FUZZ_CHECK((v->why == TRAMP_X86_STUCK) == (v->reloc != 0));
	switch (v->why) {
	case TRAMP_X86_UNDECODABLE:
		FUZZ_CHECK(!v->len && off < TRAMP_X86_JUMP_SIZE);
		return;
	case TRAMP_X86_SHORT:
		FUZZ_CHECK(!v->len && off == w->avail && off < TRAMP_X86_JUMP_SIZE);
		return;
	case TRAMP_X86_HELD:
		FUZZ_CHECK(off < v->len && w->held >> off & 1);
		return;
	case TRAMP_X86_FIXUP:
		FUZZ_CHECK(off < v->len && w->fixups >> off & 1);
		return;
	case TRAMP_X86_TARGET:
	case TRAMP_X86_INDIRECT:
		FUZZ_CHECK(off > 0 && off < v->len);
		return;
	default:
		FUZZ_CHECK(off < v->len);
	}
}

int LLVMFuzzerTestOneInput(const u8 *data, size_t size)
{
	struct fuzz_input in = { data, size };
	struct tramp_x86_verdict v, again;
	struct world w = { .ip = fuzz_text(&in) };
	u8 *code;

	w.targets = fuzz_take(&in, 4);
	w.fixups = fuzz_take(&in, 4);
	w.held = fuzz_take(&in, 4);
	w.indirect = fuzz_take(&in, 1) & 1;
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
		check_objection(&w, &v);
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
