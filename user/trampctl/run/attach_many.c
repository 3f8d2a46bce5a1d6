// SPDX-License-Identifier: GPL-2.0
/*
 * One entry program and one return program on many functions. The callers know nothing of how.
 *
 * One link has the program on all functions: where both are wanted a session, which is at both
 * ends of a call.
 *
 * A link of many refuses some functions: somebody else's program has the entry, say. These get
 * links of their own, a kprobe and a kretprobe, if they are few. One at a time takes long, and
 * Ctrl-C is to be answered soon.
 *
 * Returns are attached first and detached last: a call that is noted at its entry then has
 * a return program ahead of it.
 */
#include <errno.h>
#include <stdlib.h>

#include "../out/error.h"
#include "../out/text.h"
#include "attach_many.h"
#include "events.h"
#include "progress.h"

/* Calls that can be inside a function whose return the kernel's rethook has. */
#define MAX_INSIDE 128

/* How often to try again if somebody else takes one of the functions meanwhile. */
#define MAX_TRIES 5

/* Why the last attachment failed, as far as it is about the function. */
static uint32_t last_reason(void)
{
	const struct tramp_error *e = tramp_last_error();

	return e->err && e->reason ? e->reason : TRAMP_LIB_SYSTEM;
}

/* ------------------------------------------------------------------ many -- */

/**
 * struct batch - the functions of one link of many
 * @nr: how many
 * @place: of each
 * @addrs: their addresses, if we see them, or
 * @names: their names, with which the module finds them
 * @cookies: their cookies
 * @reasons: (out) why each was left out
 */
struct batch {
	size_t nr;
	struct many_place **place;
	uint64_t *addrs;
	char **names;
	uint64_t *cookies;
	uint32_t *reasons;
};

static void batch_init(struct batch *b, const struct many_attachment *a)
{
	size_t i;

	*b = (struct batch){ .nr = a->nr };
	b->place = xcalloc(a->nr, sizeof(*b->place));
	b->cookies = xcalloc(a->nr, sizeof(*b->cookies));
	b->reasons = xcalloc(a->nr, sizeof(*b->reasons));
	/* kptr_restrict hides all addresses or none. */
	if (a->nr && a->places[0].what->sym->addr)
		b->addrs = xcalloc(a->nr, sizeof(*b->addrs));
	else
		b->names = xcalloc(a->nr, sizeof(*b->names));
	for (i = 0; i < a->nr; i++) {
		const struct tramp_sym *sym = a->places[i].what->sym;

		b->place[i] = &a->places[i];
		if (b->addrs)
			b->addrs[i] = sym->addr;
		else
			b->names[i] = xasprintf("%s%s%s", sym->module, sym->module[0] ? ":" : "",
						sym->name);
		b->cookies[i] = a->places[i].cookie;
	}
}

static void batch_opts(const struct batch *b, struct tramp_multi_opts *opts)
{
	opts->addrs = b->addrs;
	opts->names = (const char *const *)b->names;
	opts->cookies = b->cookies;
}

static void batch_free(struct batch *b)
{
	size_t i;

	for (i = 0; b->names && i < b->nr; i++)
		free(b->names[i]);
	free(b->names);
	free(b->place);
	free(b->addrs);
	free(b->cookies);
	free(b->reasons);
}

/* Why a link of many cannot have function @i alone. If it can by now, a link of its own will do. */
static uint32_t ask_reason(const struct bpf_program *prog, const struct batch *b, size_t i,
			   uint32_t flags)
{
	TRAMP_OPTS(tramp_multi_opts, opts, .cnt = 1, .flags = flags);
	struct tramp_link *link;

	opts.addrs = b->addrs ? &b->addrs[i] : NULL;
	opts.names = b->names ? (const char *const *)&b->names[i] : NULL;
	opts.cookies = &b->cookies[i];
	do {
		link = tramp_attach_multi(prog, &opts);
	} while (!link && errno == EINTR && !events_stopped());
	tramp_link__destroy(link);
	return link ? TRAMP_REASON_SITE_HELD : last_reason();
}

/*
 * If all of them are refused, the module gives no reasons. Each has one of its own, but that of the
 * first has to do for more than can have links of their own.
 */
static void ask_reasons(const struct bpf_program *prog, struct batch *b, uint32_t flags)
{
	const size_t nr = b->nr > MANY_MAX_SINGLE ? 1 : b->nr;
	size_t i;

	for (i = 0; i < nr && !events_stopped(); i++)
		b->reasons[i] = ask_reason(prog, b, i, flags);
	for (; i < b->nr; i++)
		b->reasons[i] = b->reasons[0];
}

/*
 * Attaches a program to all functions that it can be attached to. Returns 0, also if there was
 * a signal, or the exit code of an error that has been reported.
 */
static int attach_batch(const struct bpf_program *prog, uint32_t flags, struct many_attachment *a)
{
	int tries = 0, rc = 0;
	struct batch b;
	size_t i;

	batch_init(&b, a);
	while (b.nr && !a->link && !events_stopped()) {
		TRAMP_OPTS(tramp_multi_opts, opts, .cnt = b.nr, .reasons = b.reasons,
			   .flags = flags | TRAMP_MULTI_F_SKIP);

		batch_opts(&b, &opts);
		a->link = tramp_attach_multi(prog, &opts);
		if (a->link)
			break;
		/* Signals that do not end us, like that of a terminal's new size. */
		if (errno == EINTR)
			continue;
		if (errno == EBUSY && tries++ < MAX_TRIES)
			continue;
		if (last_reason() != TRAMP_REASON_SYNTAX) {
			progress_end();
			rc = fail_lib(NULL, NULL);
			break;
		}
		ask_reasons(prog, &b, flags);
		break;
	}
	for (i = 0; i < b.nr && !rc && !events_stopped(); i++) {
		b.place[i]->reason = b.reasons[i];
		b.place[i]->served = a->link && !b.reasons[i];
	}
	batch_free(&b);
	return rc;
}

static int attach_all(const struct many_programs *progs, struct many_attachment *a)
{
	int rc;

	progress_begin("attaching");
	if (progs->session)
		rc = attach_batch(progs->session, 0, a);
	else if (progs->entry)
		rc = attach_batch(progs->entry, 0, a);
	else
		rc = attach_batch(progs->exit, TRAMP_MULTI_F_RETURN, a);
	progress_end();
	return rc;
}

/* ------------------------------------------------------------------- one -- */

/* Refused by a link of many, but perhaps not alone? */
static bool worth_trying(uint32_t reason)
{
	switch (reason) {
	case 0:
	case TRAMP_REASON_SITE_HELD:
	case TRAMP_REASON_NO_BTF:
	case TRAMP_REASON_AMBIGUOUS:
	case TRAMP_REASON_VARIADIC:
	case TRAMP_REASON_ARG_TYPE:
	case TRAMP_REASON_TOO_MANY_ARGS:
		return true;
	default:
		return false;
	}
}

static struct tramp_link *attach_single(const struct bpf_program *prog, const struct many_place *p,
					uint32_t maxactive)
{
	TRAMP_OPTS(tramp_attach_opts, opts, .cookie = p->cookie, .flags = TRAMP_ATTACH_F_COOKIE,
		   .maxactive = maxactive);
	const struct tramp_sym *sym = p->what->sym;

	if (sym->addr) {
		opts.addr = sym->addr;
	} else {
		opts.symbol = sym->name;
		opts.module = sym->module[0] ? sym->module : "vmlinux";
	}
	return tramp_attach(prog, &opts);
}

/* Gives a function links of its own. */
static void attach_one(const struct many_programs *progs, struct many_place *p)
{
	tramp_clear_error();
	p->reason = 0;
	if (progs->exit) {
		p->exit = attach_single(progs->exit, p, MAX_INSIDE);
		if (!p->exit)
			goto fail;
	}
	if (progs->entry) {
		p->entry = attach_single(progs->entry, p, 0);
		if (!p->entry)
			goto fail;
	}
	return;
fail:
	p->reason = last_reason();
	tramp_link__destroy(p->exit);
	p->exit = NULL;
}

static void attach_rest(const struct many_programs *progs, struct many_attachment *a)
{
	size_t i, nr = 0, done = 0;

	for (i = 0; i < a->nr; i++)
		nr += !a->places[i].served && worth_trying(a->places[i].reason);
	progress_begin("attaching one by one");
	for (i = 0; i < a->nr && !events_stopped(); i++) {
		struct many_place *p = &a->places[i];

		if (p->served || !worth_trying(p->reason))
			continue;
		if (nr > MANY_MAX_SINGLE) {
			p->too_many = true;
			continue;
		}
		progress(done++, nr);
		attach_one(progs, p);
	}
	progress_end();
}

/* Why a function was left out, and the short name of that. The text is to be freed. */
char *left_out_text(const struct many_place *p, const char **reason)
{
	const char *why = tramp_reason_sentence(p->reason);

	*reason = tramp_reason_name(p->reason);
	if (!p->too_many)
		return xasprintf("%s", why);
	return xasprintf("%s, and so it is with more than the %d functions that get links of their own",
			 why, MANY_MAX_SINGLE);
}

/* Reports that a function was left out, as the exit code says. */
int fail_left_out(const struct many_place *p, bool all_of_them)
{
	struct problem problem = {
		.exit_code = EXIT_REFUSED, .err = -tramp_reason_errno(p->reason),
	};
	char *text = left_out_text(p, &problem.reason);
	char *remedy = remedy_text(p->too_many ? "name fewer functions, or use --deny" :
				   tramp_reason_remedy(p->reason), p->what->sym->name);
	int rc;

	problem.remedy = remedy;
	rc = fail(&problem, "%s cannot be traced%s: %s", p->what->sym->name,
		  all_of_them ? ", nor any other of the functions" : "", text);
	free(remedy);
	free(text);
	return rc;
}

/* Reports the first function that was left out, if there is one. */
static int refuse(const struct many_attachment *a)
{
	size_t i;

	for (i = 0; i < a->nr; i++)
		if (is_left_out(&a->places[i]))
			return fail_left_out(&a->places[i], false);
	return 0;
}

/**
 * attach_many() - attach
 * @progs: the programs
 * @a: the functions
 * @all_or_nothing: fail if one of them is refused
 *
 * Return: 0, also if there was a signal; or the exit code of an error that has been reported.
 * Whatever was attached is the caller's to detach.
 */
int attach_many(const struct many_programs *progs, struct many_attachment *a, bool all_or_nothing)
{
	int rc = attach_all(progs, a);

	if (rc || events_stopped())
		return rc;
	attach_rest(progs, a);
	return all_or_nothing && !events_stopped() ? refuse(a) : 0;
}

/* ---------------------------------------------------------------- detach -- */

static uint64_t missed_by(const struct tramp_link *link)
{
	TRAMP_OPTS(tramp_link_info, info);

	return link && !tramp_link__info(link, &info) ? info.misses : 0;
}

/* How often the programs were missed until now. */
uint64_t missed_by_many(const struct many_attachment *a)
{
	uint64_t misses = missed_by(a->link);
	size_t i;

	for (i = 0; i < a->nr; i++)
		misses += missed_by(a->places[i].entry) + missed_by(a->places[i].exit);
	return misses;
}

static void drop(struct tramp_link **link)
{
	tramp_link__destroy(*link);
	*link = NULL;
}

void detach_many(struct many_attachment *a)
{
	size_t i;

	progress_begin("detaching");
	drop(&a->link);
	for (i = 0; i < a->nr; i++)
		drop(&a->places[i].entry);
	for (i = 0; i < a->nr; i++)
		drop(&a->places[i].exit);
	progress_end();
}
