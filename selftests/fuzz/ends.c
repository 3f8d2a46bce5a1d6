// SPDX-License-Identifier: GPL-2.0
/*
 * Entry and exit images: requests, rules, and statements. See ends.h.
 */
#include "ends.h"
#include "paths.h"

#include "../../kernel/x86/detour_image.h"

#define ON_REGS		(TRAMP_X86_CALL_COOKIE | TRAMP_X86_CALL_IP | TRAMP_X86_CALL_NARGS)

/* Requests ----------------------------------------------------------------- */

void ends_begin(struct ends *e, struct fuzz_input *in)
{
	e->addr = fuzz_image(fuzz_near(in, ENDS_FUNC), ENDS_FUNC);
	e->env = fuzz_env(e->addr, fuzz_take(in, 2));
	fuzz_break_env(&e->env, in);
	e->too_short = fuzz_take(in, 2);
	e->req.env = &e->env;
	/* far from all else, once in a while */
	e->req.inflight = e->too_short >> 12 == 0xf ? 0x765432100000ULL :
			  (e->env.preempt_count & ~0xfffffULL) + 0x60000;
}

/* An image of many takes long to look at, and has nothing new in it. */
u32 ends_count(struct fuzz_input *in)
{
	u32 n = fuzz_take(in, 1);

	return n < 0xf8 ? n % 4 : ENDS_MAX_KIND - (n & 7);
}

/* Flags that programs of a kind may have, out of any. */
static u32 fitting(const struct ends *e, u32 kind, u32 flags, bool link)
{
	if (kind == ENDS_KPROBE || kind == ENDS_KRET || kind == ENDS_SESSION) {
		if (kind == ENDS_SESSION)
			flags |= TRAMP_X86_CALL_MULTI;
		return flags & (ON_REGS | (link || e->req.many ? TRAMP_X86_CALL_MULTI : 0));
	}
	if (flags & TRAMP_X86_CALL_SLEEPABLE)
		flags |= TRAMP_X86_CALL_GUARDED;
	return flags & ~TRAMP_X86_CALL_MULTI & TRAMP_X86_CALL_ALL;
}

/* Of programs of tracing type, and others at the return, the prototype matters. */
static u32 nr_modelled(const struct ends *e)
{
	return e->nr - e->nr_of[ENDS_KPROBE] - e->nr_of[ENDS_SESSION];
}

/* Those of a kind, and nothing behind them. */
static void give(const struct ends *e, u32 kind, const struct tramp_x86_call **calls, u32 *nr)
{
	u32 i, before = 0;

	for (i = 0; i < kind; i++)
		before += e->nr_of[i];
	*nr = e->nr_of[kind];
	*calls = fuzz_array(e->calls + before, *nr, sizeof(*e->calls));
}

void ends_programs(struct ends *e, struct fuzz_input *in)
{
	struct tramp_x86_call *c = e->calls;
	u32 kind, i;

	for (kind = 0; kind < ENDS_KINDS; kind++)
		for (i = 0; i < e->nr_of[kind]; i++, c++) {
			u32 flags = fuzz_take(in, 1), what = fuzz_take(in, 1);

			if (kind == ENDS_SESSION && what < FUZZ_PROG_RAW)
				what |= FUZZ_PROG_LINK;
			if ((what & FUZZ_PROG_RAW) != FUZZ_PROG_RAW)
				flags = fitting(e, kind, flags, what & FUZZ_PROG_LINK);
			*c = fuzz_program(&e->env, e->addr, c - e->calls, flags, what);
			/* those of one image are of one link, and alike */
			if (!e->req.many || what >= FUZZ_PROG_RAW)
				continue;
			c->link = e->calls->link;
			c->flags = (c->flags & ~TRAMP_X86_CALL_MULTI) |
				   (e->calls->flags & TRAMP_X86_CALL_MULTI);
		}
	e->nr = c - e->calls;
	give(e, ENDS_KPROBE, &e->req.kprobe, &e->req.nr_kprobe);
	give(e, ENDS_FENTRY, &e->req.fentry, &e->req.nr_fentry);
	give(e, ENDS_FMOD_RET, &e->req.fmod_ret, &e->req.nr_fmod_ret);
	give(e, ENDS_FEXIT, &e->req.fexit, &e->req.nr_fexit);
	give(e, ENDS_KRET, &e->req.kret, &e->req.nr_kret);
	give(e, ENDS_SESSION, &e->req.session, &e->req.nr_session);
	/* nobody looks at the prototype of others */
	if (nr_modelled(e) && !e->req.many)
		e->req.model = fuzz_array(&e->model, 1, sizeof(e->model));
}

static void take_back(struct ends *e)
{
	free((void *)e->req.kprobe);
	free((void *)e->req.fentry);
	free((void *)e->req.fmod_ret);
	free((void *)e->req.fexit);
	free((void *)e->req.kret);
	free((void *)e->req.session);
	free((void *)e->req.model);
}

/* The rules of fentry_image.h ---------------------------------------------------- */

static bool tracing_fine(const struct ends *e, const struct tramp_x86_call *c)
{
	bool guarded = c->flags & TRAMP_X86_CALL_GUARDED;

	if (c->flags & ~(TRAMP_X86_CALL_ALL & ~TRAMP_X86_CALL_MULTI) || !c->func)
		return false;
	if (guarded ? !c->enter || !c->exit : c->flags & TRAMP_X86_CALL_SLEEPABLE)
		return false;
	return !(guarded || c->flags & TRAMP_X86_CALL_COOKIE) ||
	       fuzz_run_ctx_fine(&e->env, guarded);
}

/* A kprobe program. @many: it may be of many functions */
static bool on_regs_fine(const struct ends *e, const struct tramp_x86_call *c, bool many)
{
	u32 looks = TRAMP_X86_CALL_COOKIE | TRAMP_X86_CALL_IP;

	if (c->flags & ~(ON_REGS | (many ? TRAMP_X86_CALL_MULTI : 0)) || !c->func)
		return false;
	if (c->flags & looks && !fuzz_trace_ctx_fine(&e->env))
		return false;
	if (many && c->flags & TRAMP_X86_CALL_MULTI)
		return fuzz_multi_ctx_fine(&e->env);
	return !many || !(c->flags & looks) || e->env.multi_cookie;
}

static bool session_fine(const struct ends *e, const struct tramp_x86_call *c)
{
	return e->env.has_session && c->flags & TRAMP_X86_CALL_MULTI && (e->req.many || c->link);
}

static bool programs_fine(const struct ends *e)
{
	const struct tramp_x86_call *c = e->calls;
	u32 kind, i;

	for (kind = 0; kind < ENDS_KINDS; kind++)
		for (i = 0; i < e->nr_of[kind]; i++, c++) {
			if (kind >= ENDS_FENTRY && kind <= ENDS_FEXIT) {
				if (!tracing_fine(e, c))
					return false;
				continue;
			}
			if (!on_regs_fine(e, c, e->req.many || c->link))
				return false;
			if (kind == ENDS_SESSION && !session_fine(e, c))
				return false;
		}
	return true;
}

static bool of_many_fine(const struct ends *e)
{
	const u32 *nr = e->nr_of;
	u32 i;

	if (nr[ENDS_KPROBE] != e->nr && nr[ENDS_KRET] != e->nr && nr[ENDS_SESSION] != e->nr)
		return false;
	if (nr[ENDS_SESSION] > 1)
		return false;
	for (i = 1; i < e->nr; i++)
		if (e->calls[i].link != e->calls->link ||
		    (e->calls[i].flags ^ e->calls->flags) & TRAMP_X86_CALL_MULTI)
			return false;
	return true;
}

/* Where the function comes into it. */
static bool of_one_fine(const struct ends *e)
{
	bool at_return = e->nr > e->nr_of[ENDS_KPROBE] + e->nr_of[ENDS_FENTRY];

	if (at_return && !e->req.orig)
		return false;
	if (e->nr_of[ENDS_SESSION] && (s64)e->req.orig != (s32)e->req.orig)
		return false;
	return (s64)(e->req.site + 1) == (s32)(e->req.site + 1) &&
	       (!e->req.check_rcu || e->env.rcu_watching);
}

static enum tramp_x86_err model_fine(const struct tramp_x86_model *m)
{
	u32 i, slots = 0;

	if (m->nr_args > TRAMP_X86_MAX_ARGS)
		return TRAMP_X86_TOO_MANY_SLOTS;
	for (i = 0; i < m->nr_args; i++) {
		if (!m->arg_size[i] || m->arg_size[i] > 16)
			return TRAMP_X86_BAD_MODEL;
		slots += (m->arg_size[i] + 7) / 8;
	}
	if (m->ret_size > 8)
		return TRAMP_X86_BAD_MODEL;
	return slots > TRAMP_X86_MAX_SLOTS ? TRAMP_X86_TOO_MANY_SLOTS : TRAMP_X86_NO_SPACE;
}

static enum tramp_x86_err expected(const struct ends *e)
{
	if (!e->nr || e->nr > TRAMP_X86_MAX_PROGS || !fuzz_env_fine(&e->env))
		return TRAMP_X86_BAD_REQUEST;
	if ((e->req.regs | e->req.ret_regs) & ~TRAMP_X86_REGS_ALL || !programs_fine(e))
		return TRAMP_X86_BAD_REQUEST;
	if (e->req.many)
		return of_many_fine(e) ? TRAMP_X86_NO_SPACE : TRAMP_X86_BAD_REQUEST;
	if (!of_one_fine(e))
		return TRAMP_X86_BAD_REQUEST;
	return nr_modelled(e) ? model_fine(&e->model) : TRAMP_X86_NO_SPACE;
}

/*
 * Whether everything is within reach of the image: helpers, each of which may be called, and the
 * original. Programs always are. @sure: false if it depends on where in the image it is asked
 */
static bool in_reach(const struct ends *e, bool *sure)
{
	const u32 *nr = e->nr_of;
	/* entry programs in a session go on by a return */
	bool calls = nr[ENDS_FMOD_RET] || nr[ENDS_FEXIT] ||
		     (nr[ENDS_SESSION] ? !nr[ENDS_FENTRY] : nr[ENDS_KRET]);
	u64 limit = 0x80000000ULL, far = e->req.orig - e->addr;

	*sure = true;
	if (!e->addr)
		return true;
	if (fuzz_helpers_far(&e->env, e->addr))
		return false;
	if (!calls || e->req.many)
		return true;
	*sure = far + limit + FUZZ_ROOM >= 2 * FUZZ_ROOM &&
		far - limit + FUZZ_ROOM >= 2 * FUZZ_ROOM;
	return far + limit < 2 * limit;
}

/* Images -------------------------------------------------------------------------- */

static enum tramp_x86_err emit(struct ends *e, u32 len)
{
	u32 exits = e->req.nr_fexit + e->req.nr_kret + e->req.nr_session;
	struct tramp_x86_fentry_out out = { .size = 0x5e5e5e5e, .after_call = 0x5e5e5e5e };
	enum tramp_x86_err err;

	out.skip_off = e->skip_off = fuzz_offsets(exits);
	out.skip_to = e->skip_to = fuzz_offsets(exits);
	out.call_off = e->call_off = fuzz_offsets(2 * (e->nr + e->req.nr_session));
	e->image = malloc(len ? len : 1);
	FUZZ_CHECK(e->image);
	memset(e->image, 0x5e, len);
	err = tramp_x86_emit_fentry(&e->req, e->image, len, e->addr, &out);
	FUZZ_CHECK(out.size == e->out.size);
	e->out = out;
	return err;
}

static void end(struct ends *e)
{
	free(e->image);
	free(e->skip_off);
	free(e->skip_to);
	free(e->call_off);
}

/* The way around leaves out this program, and of sessions their call at the return. */
static void check_skipped(const struct ends *e, u32 exits)
{
	u32 i, before = e->nr - exits, sessions = e->req.nr_session;

	for (i = 0; i < exits; i++) {
		bool session = i >= exits - sessions;
		u32 call = e->call_off[2 * (before + i + (session ? sessions : 0))];

		FUZZ_CHECK(call > e->skip_off[i] && call < e->skip_to[i]);
		if (session)
			FUZZ_CHECK(e->call_off[2 * (before + i)] < e->skip_off[i]);
	}
}

/* The call of the original is where it is said to be, and so are the ways around programs. */
static void check_exits(const struct ends *e, const struct image *img)
{
	u32 i, exits = e->req.nr_fexit + e->req.nr_kret + e->req.nr_session;
	bool calls = exits || e->req.nr_fmod_ret;
	u32 after = e->out.after_call;

	FUZZ_CHECK(!after == !calls && (!calls || (after < img->size && img->starts[after])));
	if (calls && !e->req.many && !e->req.nr_session) {
		FUZZ_CHECK(after >= 5 && img->starts[after - 5]);
		FUZZ_CHECK(img->at[after - 5].to == e->req.orig);
	}
	for (i = 0; i < exits; i++) {
		FUZZ_CHECK(e->skip_off[i] + 5 <= img->size && img->starts[e->skip_off[i]]);
		FUZZ_CHECK(!memcmp(img->bytes + e->skip_off[i], "\x0f\x1f\x44\0\0", 5));
		FUZZ_CHECK(e->skip_to[i] < img->size && img->starts[e->skip_to[i]]);
		FUZZ_CHECK(e->skip_to[i] > e->skip_off[i]);
	}
	check_skipped(e, exits);
}

static void check_image(struct ends *e)
{
	struct image img = {
		.env = &e->env, .calls = e->calls, .nr = e->nr, .bytes = e->image,
		.size = e->out.size, .addr = e->addr, .orig = e->req.many ? 0 : e->req.orig,
		.sessions = e->req.nr_session, .indirect = e->req.many && !e->env.no_indirect,
	};
	struct paths paths = {
		.img = &img, .req = &e->req, .skip_off = e->skip_off, .skip_to = e->skip_to,
	};

	image_instructions(&img);
	image_branches(&img, 0, 0);
	image_calls(&img, e->call_off);
	check_exits(e, &img);
	paths_walk(&paths);
	image_free(&img);
}

void ends_run(struct ends *e)
{
	enum tramp_x86_err measured = tramp_x86_emit_fentry(&e->req, NULL, 0, 0, &e->out);
	u32 size, i;
	bool near, sure;

	FUZZ_CHECK(measured == expected(e));
	FUZZ_CHECK(!e->out.size == (measured != TRAMP_X86_NO_SPACE));
	FUZZ_CHECK(e->out.size <= TRAMP_X86_MAX_IMAGE);
	if (!e->out.size) {
		take_back(e);
		return;
	}

	size = e->out.size;
	near = in_reach(e, &sure);
	switch (emit(e, size)) {
	case TRAMP_X86_OK:
		FUZZ_CHECK(near || !sure);
		if (e->addr)	/* else operands are not computed */
			check_image(e);
		break;
	case TRAMP_X86_OUT_OF_REACH:
		FUZZ_CHECK(!near || !sure);
		for (i = 0; i < size; i++)
			FUZZ_CHECK(e->image[i] == 0xcc);
		break;
	default:
		FUZZ_CHECK(false);
	}
	end(e);

	FUZZ_CHECK(emit(e, e->too_short % size) == TRAMP_X86_NO_SPACE);
	for (i = 0; i < e->too_short % size; i++)
		FUZZ_CHECK(e->image[i] == 0x5e);
	end(e);

	/* a buffer that is too long ends in int3s */
	if (emit(e, size + 7) == TRAMP_X86_OK)
		for (i = size; i < size + 7; i++)
			FUZZ_CHECK(e->image[i] == 0xcc);
	end(e);
	take_back(e);
}
