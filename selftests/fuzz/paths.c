// SPDX-License-Identifier: GPL-2.0
/*
 * Every path through an image: the flow of control, see paths.h.
 */
#include "path.h"
#include "../../kernel/x86/fentry_req.h"

#define MAX_TODO	4096

struct walk {
	const struct paths *p;
	u64 addr;
	u16 *place;		/* of each offset in @known, 0: no branch leads there */
	struct path *known;	/* what is known there, from 1 */
	bool *reached;
	u32 nr;
	u32 todo[MAX_TODO];
	u32 nr_todo;
	u32 slots, stack_slots;
	u8 from[TRAMP_X86_MAX_SLOTS];
	u64 ended;	/* sessions that ran or were missed at the return */
};

static const u8 arg_reg[TRAMP_X86_ARG_REGS] = {
	TASM_RDI, TASM_RSI, TASM_RDX, TASM_RCX, TASM_R8, TASM_R9,
};

/* Meetings ---------------------------------------------------------------- */

static void agree(const struct path *a, const struct path *b)
{
	FUZZ_CHECK(a->depth == b->depth && a->frame == b->frame);
	FUZZ_CHECK(a->preempt == b->preempt && a->inflight == b->inflight);
	FUZZ_CHECK(a->uncounted == b->uncounted);
	FUZZ_CHECK(a->active == b->active && a->active_off == b->active_off);
	FUZZ_CHECK(a->layer == b->layer);
	FUZZ_CHECK(a->entered == b->entered && a->counted == b->counted);
	FUZZ_CHECK(a->own_ctx == b->own_ctx && a->timed == b->timed);
	FUZZ_CHECK(a->run_ctx == b->run_ctx && !a->due && !b->due);
	FUZZ_CHECK(a->rcu == b->rcu && a->told == b->told && a->irqs_off == b->irqs_off);
}

/* Return: whether @to knows less now. */
static bool meet(struct path *to, const struct path *from)
{
	struct path old = *to;
	u32 reg;

	agree(to, from);
	to->after |= from->after;	/* where the original was left out, too */
	to->intact &= from->intact;
	to->known &= from->known;
	for (reg = 0; reg < PATH_REGS; reg++) {
		if (to->where[reg] != from->where[reg])
			to->where[reg] = 0;
		if (reg < 8 && to->value[reg] != from->value[reg])
			to->known &= ~PATH_BIT(reg);
	}
	path_words_meet(to, from);
	to->flags &= from->flags;
	to->task &= from->task;
	to->outer &= from->outer;
	to->start_in_rax &= from->start_in_rax;
	to->start_in_rsi &= from->start_in_rsi;
	to->count_in_rcx &= from->count_in_rcx;
	to->asked &= from->asked;
	to->stats = to->stats == from->stats ? to->stats : PATH_STATS_UNKNOWN;
	to->frame_addr = to->frame_addr == from->frame_addr ? to->frame_addr : 0;
	to->rsi_addr = to->rsi_addr == from->rsi_addr ? to->rsi_addr : 0;
	to->outer_at = to->outer_at == from->outer_at ? to->outer_at : 0;
	to->start_at = to->start_at == from->start_at ? to->start_at : 0;
	to->rax_in_rcx &= from->rax_in_rcx;
	to->ret_in_r11 &= from->ret_in_r11;
	to->flags_at = to->flags_at == from->flags_at ? to->flags_at : 0;
	to->rbp_at = to->rbp_at == from->rbp_at ? to->rbp_at : 0;
	to->ctx = to->ctx == from->ctx ? to->ctx : 0;
	to->r10_at = to->r10_at == from->r10_at ? to->r10_at : 0;
	to->r11_at = to->r11_at == from->r11_at ? to->r11_at : 0;
	to->back = to->back == from->back ? to->back : 0;
	to->jcc = to->asks = 0;
	if (to->looked_at != from->looked_at || to->found != from->found)
		path_look(to, 0);
	to->last = to->last == from->last ? to->last : 0;
	to->done &= from->done;
	to->done_after &= from->done_after;
	to->maybe |= from->maybe;
	to->maybe_after |= from->maybe_after;
	return memcmp(to, &old, sizeof(old));
}

static void arrive(struct walk *w, const struct path *s, u32 off)
{
	u16 place;

	FUZZ_CHECK(off < w->p->img->size && w->p->img->starts[off]);
	place = w->place[off];
	FUZZ_CHECK(place);
	if (w->reached[place] && !meet(&w->known[place], s))
		return;
	if (!w->reached[place])
		w->known[place] = *s;
	w->known[place].jcc = w->known[place].asks = 0;
	w->reached[place] = true;
	FUZZ_CHECK(w->nr_todo < MAX_TODO);
	w->todo[w->nr_todo++] = off;
}

/* The original, and ends ---------------------------------------------------- */

static u64 all(u32 first, u32 nr)
{
	return nr ? (nr < 64 ? PATH_BIT(nr) - 1 : ~0ULL) << first : 0;
}

/* Registers that a function needs where it begins, whatever its prototype says. */
static u32 needed(void)
{
	u32 i, regs = 0;

	for (i = 0; i < TRAMP_X86_ARG_REGS; i++)
		regs |= PATH_BIT(arg_reg[i]);
	return regs;
}

/* The function goes on: now all that runs before it has run. */
static void begins(const struct walk *w, const struct path *s)
{
	const struct tramp_x86_fentry_req *req = w->p->req;
	u32 entry = req->nr_kprobe + req->nr_fentry;
	u64 before = all(w->p->img->nr - req->nr_session, req->nr_session) |
		     all(0, entry + !!req->nr_fmod_ret);
	u64 maybe = all(entry, req->nr_fmod_ret);
	u32 regs = needed();

	path_clean(s);
	FUZZ_CHECK((s->intact & regs) == regs);
	FUZZ_CHECK((s->done & before) == before && !s->after);
	/* each but the first is left out by a result, which a walk does not know */
	FUZZ_CHECK((s->maybe & maybe) == maybe);
}

/* A call of the original, or of a layer: it is inside, and comes back with a result. */
static void goes_inside(struct path *s)
{
	FUZZ_CHECK(s->inflight == 1);
	path_called(s);
	s->intact |= PATH_BIT(TASM_RAX) | PATH_BIT(TASM_RDX);
	memset(s->where, 0, sizeof(s->where));
	s->after = true;
}

static void calls_original(const struct walk *w, struct path *s)
{
	bool tracing = !w->p->req->many && !w->p->req->nr_session;
	u32 i;

	begins(w, s);
	if (tracing && w->stack_slots) {
		/* they are aligned as they were, and go with the frame: nobody needs them now */
		FUZZ_CHECK((s->depth - PATH_TOP) % 16 == 0);
		for (i = 0; i < w->stack_slots; i++)
			FUZZ_CHECK(path_word_is(s, s->depth - 8 * (s32)i, PATH_STACK_ARG, i));
		s->depth -= 8 * (s32)w->stack_slots;
		FUZZ_CHECK(s->depth >= s->frame);
	}
	goes_inside(s);
}

/* Which programs run at the end of the layer, and therefore have run now. */
static void check_ran(const struct walk *w, const struct path *s)
{
	const struct tramp_x86_fentry_req *req = w->p->req;
	u32 exits = req->nr_kprobe + req->nr_fentry + req->nr_fmod_ret;
	u32 kret = exits + req->nr_fexit;
	u64 ran = all(0, req->nr_kprobe);

	if (s->layer == req->nr_session && !req->many)
		ran |= all(req->nr_kprobe, req->nr_fentry + !!req->nr_fmod_ret) |
		       all(exits, req->nr_fexit);
	if (!s->layer)
		ran |= all(kret, req->nr_kret);
	if (req->nr_session)
		ran |= all(kret + req->nr_kret, s->layer + (s->layer < req->nr_session));
	FUZZ_CHECK((s->done & ran) == ran);
}

/* A return from the image, or from a layer of it. */
static void returns(struct walk *w, const struct path *s)
{
	const struct tramp_x86_fentry_req *req = w->p->req;
	bool inner = req->nr_session && s->layer == req->nr_session;
	bool exits = s->after || (!req->many && (req->nr_fmod_ret || req->nr_fexit) &&
				  (inner || !req->nr_session));

	FUZZ_CHECK(req);
	path_clean(s);
	check_ran(w, s);
	w->ended |= s->maybe_after;
	FUZZ_CHECK(!s->frame && s->inflight == (s->layer ? 1 : 0));
	FUZZ_CHECK(s->depth == PATH_TOP - (exits ? 8 : 0));
	if (exits)
		FUZZ_CHECK(s->intact & PATH_BIT(TASM_RAX));
	/* a result of 16 bytes, unless an fmod_ret program may have made one of its own */
	if (exits && !(req->nr_fmod_ret && (inner || !req->nr_session)))
		FUZZ_CHECK(s->intact & PATH_BIT(TASM_RDX));
	if (!exits)
		begins(w, s);
	/* an entry in a layer goes on by a return that no call belongs to */
	if (w->p->img->env->has_call_depth)
		FUZZ_CHECK(s->uncounted == (!exits && s->layer ? 1 : 0));
}

/* `ret`. Return: whether it is a call of the original, which goes on at s->back. */
static bool is_call_by_return(const struct walk *w, struct path *s, u32 *back)
{
	if (!w->p->req || !w->p->req->many || !s->r11_at || s->r11_at != s->depth ||
	    s->r10_at != s->depth - 8)
		return false;
	*back = s->back - (u32)w->addr;
	s->depth -= 16;
	s->r10_at = s->r11_at = 0;
	FUZZ_CHECK(w->p->img->env->no_indirect && *back);
	calls_original(w, s);
	s->uncounted -= 2;
	return true;
}

/* One instruction ------------------------------------------------------------ */

/* The layer that a call in the image leads to: it begins with a push of the original. */
static void enter_layer(struct walk *w, const struct path *s, u32 off)
{
	const struct tramp_x86_fentry_req *req = w->p->req;
	struct path_op op = path_op(&w->p->img->at[off].insn);
	struct path in = *s;

	FUZZ_CHECK(req && req->nr_session > s->layer && op.code == 0x68);
	FUZZ_CHECK(op.imm == (s64)req->orig);
	in.layer++;
	in.depth = PATH_TOP - 8;
	in.frame = 0;
	in.flags_at = in.rbp_at = in.r10_at = in.r11_at = in.outer_at = in.start_at = 0;
	memset(in.where, 0, sizeof(in.where));
	memset(in.word, 0, sizeof(in.word));
	memset(in.number, 0, sizeof(in.number));
	arrive(w, &in, off);
}

static void call(struct walk *w, struct path *s, u64 dest)
{
	const struct tramp_x86_fentry_req *req = w->p->req;

	if (w->p->img->env->has_call_depth)
		FUZZ_CHECK(--s->uncounted >= 0);
	if (dest - w->addr < w->p->img->size) {
		path_clean(s);
		enter_layer(w, s, dest - w->addr);
		goes_inside(s);
	} else if (req && !req->many && req->orig && dest == req->orig) {
		calls_original(w, s);
	} else {
		path_call(w->p, s, dest);
	}
}

/* At a NOP that may be a jump: then the program is left out, as if it had run. */
static void maybe_skip(struct walk *w, const struct path *s, u32 off)
{
	const struct tramp_x86_fentry_req *req = w->p->req;
	u32 i, first, nr = req ? req->nr_fexit + req->nr_kret + req->nr_session : 0;
	struct path skips = *s;

	for (i = 0; i < nr && w->p->skip_off[i] != off; i++)
		;
	FUZZ_CHECK(i < nr);
	first = req->nr_kprobe + req->nr_fentry + req->nr_fmod_ret;
	if (i < req->nr_fexit + req->nr_kret) {
		FUZZ_CHECK(!(s->maybe >> (first + i) & 1));
		skips.done |= PATH_BIT(first + i);
		skips.maybe |= PATH_BIT(first + i);
	} else {
		FUZZ_CHECK(s->after && !(s->maybe_after >> (first + i) & 1));
		skips.maybe_after |= PATH_BIT(first + i);
	}
	arrive(w, &skips, w->p->skip_to[i]);
}

/* Where a preemption count of 0 leads: to the call of resched(), which may be counted. */
static void check_resched(const struct walk *w, u64 to)
{
	const struct image *img = w->p->img;
	u32 off = to - w->addr;

	FUZZ_CHECK(off < img->size && img->starts[off]);
	while (img->env->has_call_depth && off < img->size && img->at[off].kind == TRAMP_X86_PLAIN)
		off += img->at[off].insn.len;
	FUZZ_CHECK(off < img->size && img->at[off].kind == TRAMP_X86_CALL);
	FUZZ_CHECK(img->at[off].to == img->env->resched);
}

/* Behind the jump it is known whether that is 0. */
static void answer(struct path *s, enum path_asks asks, bool zero)
{
	switch (asks) {
	case PATH_ASKS_COUNTER:
		s->found = zero ? PATH_FREE : PATH_UP;
		if (s->stats == PATH_STATS_IF_FREE)
			s->stats = zero ? PATH_STATS_ON : PATH_STATS_UNKNOWN;
		break;
	case PATH_ASKS_BOTH:
		s->found = zero ? PATH_FREE : PATH_FOUND_NOTHING;
		s->stats = zero ? PATH_STATS_OFF : PATH_STATS_IF_FREE;
		break;
	case PATH_ASKS_STATS:
		s->stats = zero ? PATH_STATS_OFF : PATH_STATS_ON;
		break;
	case PATH_ASKS_RCU:
		s->found = zero ? PATH_UNWATCHED : PATH_FOUND_NOTHING;
		s->asked = !zero;
		break;
	case PATH_ASKS_ENTER:
		s->found = zero ? PATH_REFUSED : PATH_ADMITTED;
		break;
	case PATH_ASKS_NOTHING:
		break;
	}
}

/* A conditional jump: the flags must tell what it asks. */
static void jcc(struct walk *w, struct path *s, const struct image_insn *x)
{
	enum path_asks asks = s->asks;
	struct path other;

	FUZZ_CHECK(s->jcc && x->insn.map == 1 && x->insn.opcode == s->jcc);
	if (s->due)
		check_resched(w, x->to);
	s->jcc = s->asks = 0;
	s->due = false;
	other = *s;
	answer(&other, asks, x->insn.opcode == 0x84);
	answer(s, asks, x->insn.opcode == 0x85);
	/* there it is */
	if (other.reg[TASM_RCX].what == PATH_ENDBR)
		other.reg[TASM_RCX] = PATH_WORD(FUNC, 0);
	arrive(w, &other, x->to - w->addr);
}

/* Return: the offset of what comes next, 0: nothing. */
static u32 step(struct walk *w, struct path *s, u32 off)
{
	const struct image_insn *x = &w->p->img->at[off];
	const struct tramp_x86_insn *insn = &x->insn;
	u32 next = off + insn->len;

	FUZZ_CHECK(!s->due || x->kind == TRAMP_X86_JCC);
	switch (x->kind) {
	case TRAMP_X86_CALL:
		call(w, s, x->to);
		return next;
	case TRAMP_X86_CALL_IND:
		FUZZ_CHECK(w->p->req && w->p->req->many && !w->p->img->env->no_indirect);
		FUZZ_CHECK(path_op(insn).rm == TASM_R11 && !path_op(insn).mem && s->ret_in_r11);
		if (w->p->img->env->has_call_depth)
			FUZZ_CHECK(--s->uncounted >= 0);
		calls_original(w, s);
		return next;
	case TRAMP_X86_JCC:
		jcc(w, s, x);
		return next;
	case TRAMP_X86_JMP:
		if (x->to - w->addr < w->p->img->size) {
			arrive(w, s, x->to - w->addr);
			return 0;
		}
		FUZZ_CHECK(w->p->img->env->return_thunk && x->to == w->p->img->env->return_thunk);
		/* fall through */
	case TRAMP_X86_RET:
		if (is_call_by_return(w, s, &next)) {
			arrive(w, s, next);
			return 0;
		}
		FUZZ_CHECK(w->p->req);
		returns(w, s);
		return 0;
	case TRAMP_X86_PLAIN:
		if (insn->map == 1 && insn->opcode == 0x1f)
			maybe_skip(w, s, off);
		path_data(w->p, s, insn, w->addr + off);
		return next;
	default:
		FUZZ_CHECK(false);
		return 0;
	}
}

/* The walk --------------------------------------------------------------------- */

static void mark(struct walk *w, u64 off)
{
	FUZZ_CHECK(off < w->p->img->size && w->p->img->starts[off] && w->nr < 0xffff);
	if (!w->place[off])
		w->place[off] = ++w->nr;
}

static void mark_all(struct walk *w)
{
	const struct paths *p = w->p;
	u32 i, off, end = p->req ? p->img->size : p->stop, size = p->img->size;
	const struct image_insn *x;

	for (off = 0; off < size; off += x->insn.len) {
		x = &p->img->at[off];
		if (off >= end && off < p->stop_end)
			continue;
		if ((x->kind == TRAMP_X86_CALL || x->kind == TRAMP_X86_JMP ||
		     x->kind == TRAMP_X86_JCC) && x->to - w->addr < size)
			mark(w, x->to - w->addr);
		if (x->insn.opcode == 0x8d && !x->insn.map && tramp_x86_rip_relative(&x->insn))
			mark(w, off + x->insn.len + (u64)(s64)tramp_x86_disp(&x->insn));
	}
	if (p->req)
		for (i = 0; i < p->req->nr_fexit + p->req->nr_kret + p->req->nr_session; i++)
			mark(w, p->skip_to[i]);
	mark(w, p->stop);
}

static void begin(struct walk *w)
{
	bool detour = !w->p->req;
	struct path s = {
		.depth = PATH_TOP - (detour ? 8 : 0),
		.intact = 0xffff,
		.flags = true,
		.uncounted = detour ? 0 : -1,	/* the call that led here */
	};

	arrive(w, &s, 0);
}

static void stops(const struct path *s, u32 nr)
{
	path_clean(s);
	FUZZ_CHECK(s->depth == PATH_TOP - 8 && !s->frame && s->flags && s->intact == 0xffff);
	FUZZ_CHECK(s->done == all(0, nr) && !s->uncounted);
}

/* Only then the prototype matters, and has been looked at. */
static bool has_tracing(const struct tramp_x86_fentry_req *req)
{
	return req->nr_fentry || req->nr_fmod_ret || req->nr_fexit || req->nr_kret;
}

void paths_walk(const struct paths *p)
{
	struct walk w = { .p = p, .addr = p->img->addr };
	u8 from[TRAMP_X86_MAX_SLOTS];
	bool stopped = false;
	u32 off, stack;

	if (p->req && p->req->model && !p->req->many && has_tracing(p->req)) {
		w.slots = path_slots(p->req->model, w.from, &w.stack_slots);
		FUZZ_CHECK(tramp_x86_model_slots(p->req->model, from, &stack) == w.slots);
		FUZZ_CHECK(stack == w.stack_slots && !memcmp(from, w.from, w.slots));
	}
	w.place = calloc(p->img->size, sizeof(*w.place));
	FUZZ_CHECK(w.place);
	mark(&w, 0);
	mark_all(&w);
	w.known = calloc(w.nr + 1, sizeof(*w.known));
	w.reached = calloc(w.nr + 1, sizeof(*w.reached));
	FUZZ_CHECK(w.known && w.reached);
	begin(&w);
	while (w.nr_todo) {
		u32 from = w.todo[--w.nr_todo];
		struct path s = w.known[w.place[from]];

		for (off = from; ; ) {
			if (!p->req && off == p->stop) {
				stops(&s, p->img->nr);
				stopped = true;
				break;
			}
			off = step(&w, &s, off);
			if (!off)
				break;
			FUZZ_CHECK(off < p->img->size);
			if (w.place[off] && (p->req || off != p->stop)) {
				arrive(&w, &s, off);
				break;
			}
		}
	}
	FUZZ_CHECK(p->req || stopped);
	if (p->req)
		FUZZ_CHECK(w.ended == all(p->img->nr - p->req->nr_session, p->req->nr_session));
	free(w.place);
	free(w.known);
	free(w.reached);
}
