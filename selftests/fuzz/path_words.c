// SPDX-License-Identifier: GPL-2.0
/*
 * Words of the stack, and registers, on a path through an image: what they are, as far as
 * programs find it there. See path.h.
 */
#include "path.h"

static bool is_word(s32 place)
{
	return place > 0 && place % 8 == 0 && place / 8 < PATH_WORDS;
}

void path_word_set(struct path *s, s32 place, struct path_word word)
{
	if (!is_word(place))
		return;
	s->word[place / 8] = word.what;
	s->number[place / 8] = word.number;
}

struct path_word path_word_at(const struct path *s, s32 place)
{
	if (!is_word(place))
		return PATH_WORD(ANY, 0);
	return (struct path_word){ s->word[place / 8], s->number[place / 8] };
}

bool path_word_is(const struct path *s, s32 place, enum path_what what, u64 number)
{
	struct path_word word = path_word_at(s, place);

	return word.what == what && word.number == number;
}

void path_words_stored(struct path *s, s32 place)
{
	u32 i;

	for (i = 0; i < PATH_WORDS; i++)
		if ((s32)(8 * i) > place - 8 && (s32)(8 * i) < place + 8)
			path_word_set(s, 8 * i, PATH_WORD(ANY, 0));
}

void path_words_raised(struct path *s)
{
	u32 i;

	for (i = PATH_WORDS; i-- > 0 && (s32)(8 * i) > s->depth; )
		path_word_set(s, 8 * i, PATH_WORD(ANY, 0));
}

/* Both know a word in the same way. A result or cookie is 0 until there is one. */
static struct path_word common(struct path_word a, struct path_word b)
{
	if (a.what == b.what && a.number == b.number)
		return a;
	if (a.what == PATH_NUMBER && !a.number && (b.what == PATH_RESULT || b.what == PATH_SESSION))
		return b;
	if (b.what == PATH_NUMBER && !b.number && (a.what == PATH_RESULT || a.what == PATH_SESSION))
		return a;
	return PATH_WORD(ANY, 0);
}

void path_words_meet(struct path *to, const struct path *from)
{
	u32 i;

	for (i = 0; i < PATH_WORDS; i++)
		path_word_set(to, 8 * i, common(path_word_at(to, 8 * i),
						path_word_at(from, 8 * i)));
	for (i = 0; i < PATH_REGS; i++)
		to->reg[i] = common(to->reg[i], from->reg[i]);
}

struct path_word path_operand(const struct path *s, s32 disp)
{
	if (disp == 8)
		return PATH_WORD(RETURN, 0);
	if (disp == 0)
		return PATH_WORD(RBP, 0);
	if (disp >= 24)
		return PATH_WORD(STACK_ARG, (u64)(disp - 24) / 8);
	return path_word_at(s, path_place(s, disp));
}

void path_func(const struct paths *p, struct path *s, s32 disp)
{
	struct path_word *rcx = &s->reg[TASM_RCX], is = *rcx;
	bool endbr = p->img->env->endbr;

	path_lose(s, TASM_RCX);
	if (is.what == PATH_RETURN && disp == (endbr ? -9 : -5))
		rcx->what = endbr ? PATH_ENDBR : PATH_FUNC;
	else if (is.what == PATH_ENDBR && is.number == 3 && disp == 4)
		rcx->what = PATH_FUNC;
	else
		FUZZ_CHECK(false);
}

u32 path_slots(const struct tramp_x86_model *m, u8 *from, u32 *nr_stack)
{
	u32 i, left = 6, nr = 0, regs = 0, stack = 0;

	for (i = 0; i < m->nr_args; i++) {
		bool two = m->arg_size[i] > 8;

		/* both halves of an argument are passed in the same way */
		if (left >= (two ? 2 : 1)) {
			from[nr++] = regs++;
			if (two)
				from[nr++] = regs++;
			left = 6 - regs;
		} else {
			from[nr++] = 6 + stack++;
			if (two)
				from[nr++] = 6 + stack++;
		}
	}
	*nr_stack = stack;
	return nr;
}

s32 path_result(const struct paths *p, const struct path *s)
{
	const struct tramp_x86_fentry_req *req = p->req;
	u32 nr_stack, slots, regs = 0, kept = 0, i;
	u8 from[TRAMP_X86_MAX_SLOTS];

	/* a layer's frame has a session's result, and nothing else */
	if (req->many || !req->model || s->layer < req->nr_session)
		return s->frame + 8;
	slots = path_slots(req->model, from, &nr_stack);
	for (i = 0; i < slots; i++)
		regs += from[i] < 6;
	if (req->nr_fentry || req->nr_fmod_ret)
		kept = 6 - regs;
	/* rdx is the third; if it was kept for the function, its place serves the result, too */
	if (req->nr_fexit && (!kept || regs > 2))
		kept++;
	return s->frame + 8 + 8 * (s32)kept;
}

/* Run contexts ---------------------------------------------------------------- */

/* Words that are apart, as in every kernel that there is. */
static bool apart(u32 a, u32 b)
{
	return a % 8 == 0 && b % 8 == 0 && a != b;
}

static void check_multi(const struct paths *p, const struct path *s,
			const struct tramp_x86_call *c, bool session)
{
	const struct tramp_x86_env *env = p->img->env;
	u32 ip = env->multi_ctx_ip, link = env->multi_ctx_link;
	u32 data = env->multi_ctx_data, ret = env->multi_ctx_is_return;

	if (!apart(ip, link) || !apart(data, link) || !apart(ret, link) || !apart(data, ip) ||
	    !apart(ret, ip) || !apart(ret, data))
		return;
	FUZZ_CHECK(path_word_is(s, s->run_ctx - (s32)ip, PATH_FUNC, 0));
	FUZZ_CHECK(path_word_is(s, s->run_ctx - (s32)link, PATH_NUMBER, c->link));
	if (!session)
		return;
	FUZZ_CHECK(path_word_is(s, s->run_ctx - (s32)ret, PATH_NUMBER, s->after));
	FUZZ_CHECK(path_word_is(s, s->run_ctx - (s32)data, PATH_PLACE, (u64)(s->frame + 16)));
}

void path_check_run_ctx(const struct paths *p, const struct path *s, const struct tramp_x86_call *c,
			bool on_regs, bool session)
{
	const struct tramp_x86_env *env = p->img->env;
	u64 cookie = c->flags & TRAMP_X86_CALL_COOKIE ? c->cookie : 0;
	bool of_many = on_regs && p->req && (p->req->many || c->link);
	bool multi = of_many && c->flags & TRAMP_X86_CALL_MULTI;
	u32 size = multi ? env->multi_ctx_size : on_regs ? env->trace_ctx_size :
		   env->run_ctx_size;
	u32 at = on_regs ? env->trace_ctx_cookie : env->run_ctx_cookie;

	FUZZ_CHECK(s->run_ctx && s->run_ctx <= s->depth);
	FUZZ_CHECK(s->run_ctx - (s32)size + 8 > s->frame);
	if (multi)
		check_multi(p, s, c, session);
	else if (at % 8)
		return;
	else if (of_many)
		FUZZ_CHECK(path_word_is(s, s->run_ctx - (s32)at, PATH_COOKIE, 0));
	else
		FUZZ_CHECK(path_word_is(s, s->run_ctx - (s32)at, PATH_NUMBER, cookie));
}
