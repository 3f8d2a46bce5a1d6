// SPDX-License-Identifier: GPL-2.0
/* Ends: the steps of a call of a function, as they should be; see ends.h. */
#include "ends_oracle.h"

#include "../lib/ktap.h"

#define NEED_RESCHED_INVERTED	0x80000000u

struct oracle {
	const struct ends *s;
	struct ends_level *l;
	u32 preempt;
	u64 inflight;
	u32 depth;
	bool at_return, body_ran, within, later;
	u64 result;			/* of fmod_ret programs */
	u64 returned;			/* by the last session at the entry */
};

u64 ends_cookie(u64 link, u64 entry_ip)
{
	return link * 0x9e3779b97f4a7c15 ^ entry_ip;
}

bool ends_has_multi_ctx(const struct ends *s, u32 i)
{
	u32 flags = s->calls[i].flags;

	return (flags & MULTI) && ((flags & (COOKIE | IP)) || s->progs[i].kind == ENDS_SESSION);
}

bool ends_has_trace_ctx(const struct ends *s, u32 i)
{
	return !(s->calls[i].flags & MULTI) && (s->calls[i].flags & (COOKIE | IP));
}

bool ends_is_exit(const struct ends *s)
{
	return s->req.nr_fmod_ret || s->req.nr_fexit || s->req.nr_kret || s->req.nr_session;
}

static struct ends_event *event(struct oracle *o, u32 thunk, u64 a0, u64 a1)
{
	struct ends_event *e = &o->l->log[o->l->nr_log++];

	REQUIRE(o->l->nr_log < ENDS_MAX_EVENTS, "too many events");
	*e = (struct ends_event){
		.thunk = thunk, .a0 = a0, .a1 = a1, .preempt = o->preempt,
		.inflight = o->inflight, .at_return = o->at_return, .within = o->within,
		.later = o->later, .depth = o->depth + 1, .taken_back = 1,
		.ret = 0xbad0bad0bad0bad0,
	};
	return e;
}

bool ends_is_tracing(const struct ends *s)
{
	return s->req.nr_fentry || s->req.nr_fmod_ret || s->req.nr_fexit;
}

static bool tracing(const struct ends *s, u32 i)
{
	return s->progs[i].kind >= ENDS_FENTRY && s->progs[i].kind <= ENDS_FEXIT;
}

static void run(struct oracle *o, u32 i)
{
	const struct ends *s = o->s;
	const struct tramp_x86_call *c = &s->calls[i];
	const struct ends_prog *p = &s->progs[i];
	u64 start = 0x5a5a000000000000 + i;
	struct ends_event *e;

	if (s->stats_on)
		event(o, T_STATS_ENTER, 0, 0)->ret = start;
	e = event(o, (p->muted ? T_NOTHING : T_PROG) + i, 0, c->insns);
	if (!o->at_return)
		e->ret = p->muted ? 0 : p->result;
	if (p->kind == ENDS_SESSION && !o->at_return)
		o->returned = e->ret;
	if (p->kind == ENDS_FMOD_RET)
		o->result = e->ret;
	if (p->resched_due && !p->muted)
		o->preempt &= ~NEED_RESCHED_INVERTED;
	if (s->stats_on)
		event(o, T_STATS_EXIT, c->prog, start);
}

/* Programs that have one guard. */
static void group(struct oracle *o, u32 first, u32 nr)
{
	const struct ends *s = o->s;
	bool freed = s->free_in_body && o->body_ran;
	bool miss = tracing(s, first) ? *s->progs[first].active :
					*s->word[s->progs[first].word] && !freed;
	u32 i;

	if (s->req.check_rcu) {
		event(o, T_RCU_WATCHING, 0, 0)->ret = !s->rcu_off;
		miss |= s->rcu_off;
	}
	for (i = first; i < first + nr; i++) {
		if (miss)
			event(o, T_MISSED, s->calls[i].missed_arg, 0);
		else
			run(o, i);
	}
}

static void open(struct oracle *o)
{
	o->preempt++;
}

static void close(struct oracle *o)
{
	o->preempt--;
	if (!o->preempt) {
		event(o, T_RESCHED, 0, 0);
		o->preempt |= NEED_RESCHED_INVERTED;
	}
}

/* The first program of a kind. */
static u32 first_of(const struct ends *s, enum ends_kind kind)
{
	u32 i = 0;

	while (i < s->nr && s->progs[i].kind < kind)
		i++;
	return i;
}

/* Of many functions: plain programs have the cookie looked up, once for all in one frame. */
static void look_up(struct oracle *o, u32 first, u32 nr)
{
	const struct ends *s = o->s;
	bool wanted = false;
	u32 i;

	if (!s->calls[first].link)
		return;

	for (i = first; i < first + nr; i++)
		wanted |= ends_has_trace_ctx(s, i);
	if (wanted)
		event(o, T_MULTI_COOKIE, s->calls[first].link, o->l->entry_ip)->ret =
			ends_cookie(s->calls[first].link, o->l->entry_ip);
}

/* Programs in one frame. */
static void frame(struct oracle *o, u32 first, u32 end)
{
	const struct ends *s = o->s;
	u32 i, nr;

	look_up(o, first, end - first);
	open(o);
	for (i = first; i < end; i += nr) {
		for (nr = 1; i + nr < end; nr++)
			if (s->progs[i + nr].word != s->progs[i].word)
				break;
		group(o, i, nr);
	}
	close(o);
}

/* In an image of its own each of many functions has a frame, and neighbours share one. */
static void kprobes(struct oracle *o)
{
	const struct ends *s = o->s;
	u32 i, end;

	for (i = 0; i < s->req.nr_kprobe; i = end) {
		for (end = i + 1; end < s->req.nr_kprobe; end++)
			if (!s->req.many && (s->calls[i].link || s->calls[end].link))
				break;
		frame(o, i, end);
		o->later = true;
	}
}

/* A session, or a program at the return, has a frame of its own. */
static void alone(struct oracle *o, u32 i)
{
	look_up(o, i, 1);
	open(o);
	group(o, i, 1);
	close(o);
}

/* fentry and fmod_ret programs. Return: whether the original is called. */
static bool tracing_at_entry(struct oracle *o)
{
	const struct ends *s = o->s;
	u32 i, from = first_of(s, ENDS_FENTRY), to = first_of(s, ENDS_FEXIT);

	if (from == to)
		return true;
	open(o);
	for (i = from; i < to && !o->result; i++)
		group(o, i, 1);
	close(o);
	return !o->result;
}

/* @counted: calls that the image counts on the way; @taken_back: of them and of those before. */
static void body(struct oracle *o, u32 counted, u32 taken_back)
{
	struct ends_event *e;

	o->depth += counted;
	e = event(o, T_BODY, 0, 0);
	e->depth = o->depth;
	e->taken_back = taken_back;
	e->ret = o->l->result;
	o->depth -= taken_back;
	o->body_ran = true;
	o->result = o->l->result;
}

static void fexits(struct oracle *o)
{
	const struct ends *s = o->s;
	u32 i, from = first_of(s, ENDS_FEXIT);

	if (!s->req.nr_fexit)
		return;
	open(o);
	for (i = from; i < from + s->req.nr_fexit; i++)
		if (!s->progs[i].left_out)
			group(o, i, 1);
	close(o);
}

/* In an image of many the original may be gone to by a return, which is counted, too. */
static u32 nr_counted(const struct ends *s)
{
	return ends_is_exit(s) ? 1 + (s->req.many && s->env.no_indirect) : 0;
}

/* Between kprobe programs and those at the return. */
static void middle(struct oracle *o)
{
	const struct ends *s = o->s;
	bool exit = ends_is_exit(s);

	o->inflight += exit;
	if (tracing_at_entry(o))
		body(o, nr_counted(s), nr_counted(s));
	fexits(o);
	o->inflight -= exit;
}

/*
 * The part that the last session calls. Entry programs alone go on by a return. That is counted,
 * and the body's own return takes back the session's call.
 */
static void innermost(struct oracle *o)
{
	const struct ends *s = o->s;
	bool by_return = ends_is_tracing(s) && !s->req.nr_fmod_ret && !s->req.nr_fexit;

	if (!ends_is_tracing(s)) {
		body(o, nr_counted(s), nr_counted(s));
		return;
	}
	o->depth += 1 + by_return;
	if (tracing_at_entry(o))
		body(o, !by_return, 1 + by_return);
	fexits(o);
}

static void at_return(struct oracle *o, u32 i)
{
	o->at_return = true;
	if (!o->s->progs[i].left_out)
		alone(o, i);
	o->at_return = false;
}

/*
 * Session @i and all that it is around: the next one. The machine takes back no call that the
 * image itself returns from.
 */
static void sessions(struct oracle *o, u32 i)
{
	const struct ends *s = o->s;
	bool outermost = i == first_of(s, ENDS_SESSION);
	u64 returned;

	if (i == s->nr) {
		o->within = true;
		innermost(o);
		return;
	}
	o->within = !outermost;
	o->returned = 0;
	alone(o, i);
	o->later = true;
	returned = o->returned;
	o->inflight += outermost;
	o->depth += i + 1 < s->nr;
	sessions(o, i + 1);
	o->within = !outermost;
	o->inflight -= outermost;
	if (!returned)
		at_return(o, i);
}

void ends_oracle(const struct ends *s, struct ends_level *l)
{
	struct oracle o = {
		.s = s, .l = l, .preempt = *s->preempt_count, .inflight = *s->inflight,
		.depth = 1,
	};
	u32 i;

	l->nr_log = 0;
	kprobes(&o);
	if (s->req.nr_session)
		sessions(&o, first_of(s, ENDS_SESSION));
	else
		middle(&o);
	for (i = 0; i < s->req.nr_kret; i++)
		at_return(&o, first_of(s, ENDS_KRET) + i);
	l->log[l->nr_log].preempt = o.preempt;
	l->log[l->nr_log].depth = o.depth;
	l->log[l->nr_log].ret = o.result;
}
