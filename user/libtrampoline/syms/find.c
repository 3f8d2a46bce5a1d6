// SPDX-License-Identifier: LGPL-2.1 OR BSD-2-Clause
/*
 * Finding functions in a snapshot: by name, by address, by glob.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "../core/error.h"
#include "../core/sized.h"
#include "internal.h"

int libtramp_spec_parse(const char *spec, struct libtramp_spec *out)
{
	const char *colon;
	size_t len;

	memset(out, 0, sizeof(*out));
	if (!spec || !spec[0])
		return LIBTRAMP_FAIL(-EINVAL, TRAMP_LIB_BAD_PATTERN, "function name",
				     "it is empty");
	out->name = spec;
	colon = strchr(spec, ':');
	if (!colon)
		return 0;
	len = colon - spec;
	if (!len || len >= sizeof(out->module) || !colon[1] || strchr(colon + 1, ':'))
		return LIBTRAMP_FAIL(-EINVAL, TRAMP_LIB_BAD_PATTERN, "function name", "'%s'", spec);
	out->has_module = true;
	memcpy(out->module, spec, len);
	out->name = colon + 1;
	if (!strcmp(out->module, "vmlinux"))
		out->module[0] = '\0';
	return 0;
}

/*
 * How good an example a function is: 2 if it can be traced. Where that is not known, a static call
 * is none: it is a jump that the kernel patches itself.
 */
static int example_rank(const struct tramp_sym *sym)
{
	if (sym->flags & TRAMP_SYM_TRACEABLE)
		return 2;
	return !!strncmp(sym->name, "__SCT__", 7);
}

/* A pattern in the place of a name: say how many functions it matches, and name one. */
static int fail_pattern(const struct tramp_syms *syms, const char *text, const char *subject)
{
	struct libtramp_failure f = {
		.err = -EINVAL, .reason = TRAMP_LIB_BAD_PATTERN, .subject = subject,
		.sentence = "it is a pattern, where the name of one function is needed",
	};
	char remedy[TRAMP_SYM_LEN * 2 + 64];
	const struct tramp_sym *sym, *as = NULL;
	struct libtramp_pattern p;
	size_t i, nr = 0;

	if (libtramp_pattern_parse(text, &p))
		return tramp_last_error()->err;
	/* It marks them, if it can. */
	tramp_syms__knows_traceable(syms);
	for (i = libtramp_pattern_next(syms, &p, 0); i < syms->nr;
	     i = libtramp_pattern_next(syms, &p, i + 1)) {
		sym = &syms->syms[i];
		if (!nr++ || example_rank(sym) > example_rank(as))
			as = sym;
	}
	if (!nr) {
		f.remedy = "name one function; none matches the pattern";
		return libtramp_fail(&f, "no function matches it");
	}
	snprintf(remedy, sizeof(remedy), "name one of them, as %s%s%s", as->module,
		 as->module[0] ? ":" : "", as->name);
	f.remedy = remedy;
	return libtramp_fail(&f, "%zu function%s match%s it", nr, nr == 1 ? "" : "s",
			     nr == 1 ? "es" : "");
}

/* Fails as a name that no function has. Its reason is @f's, unless there is a better one. */
static int fail_unknown(const struct tramp_syms *syms, const struct libtramp_spec *spec, bool plain,
			struct libtramp_failure *f)
{
	struct libtramp_unknown u;

	libtramp_why_unknown(syms, spec, plain, &u);
	if (u.inlined)
		f->reason = TRAMP_LIB_INLINED;
	f->remedy = u.remedy;
	return u.detail[0] ? libtramp_fail(f, "%s", u.detail) : libtramp_fail(f, NO_DETAIL);
}

static int fail_ambiguous(const struct tramp_sym *first, size_t nr, const char *subject)
{
	struct libtramp_failure f = {
		.err = -EINVAL, .reason = TRAMP_REASON_AMBIGUOUS, .subject = subject,
	};
	char where[256] = "", remedy[384];
	size_t i, pos = 0, modules = 0;

	for (i = 0; i < nr && pos < sizeof(where); i++) {
		if (i && !strcmp(first[i].module, first[i - 1].module))
			continue;
		modules++;
		pos += snprintf(where + pos, sizeof(where) - pos, "%s%s", i ? ", " : "",
				libtramp_shown_module(&first[i]));
	}
	if (modules > 1)
		snprintf(remedy, sizeof(remedy), "say which, as %s:%s",
			 libtramp_shown_module(first), first->name);
	else
		snprintf(remedy, sizeof(remedy),
			 "only addresses tell them apart: grep -w %s /proc/kallsyms", first->name);
	f.remedy = remedy;
	return libtramp_fail(&f, "%zu of them, in %s", nr, where);
}

const struct tramp_sym *tramp_syms__find(const struct tramp_syms *syms, const char *spec)
{
	struct libtramp_failure f = { .err = -ENOENT, .reason = TRAMP_REASON_NO_SUCH_FUNCTION };
	char subject[LIBTRAMP_SUBJECT_LEN];
	struct libtramp_spec s;
	size_t i, first = 0, nr = 0;

	if (libtramp_spec_parse(spec, &s))
		return NULL;
	snprintf(subject, sizeof(subject), "function '%s'", spec);
	/* Those of one name stand together, and among them those of one module. */
	for (i = libtramp_syms_lower(syms, s.name);
	     i < syms->nr && !strcmp(syms->syms[i].name, s.name); i++) {
		if (s.has_module && strcmp(syms->syms[i].module, s.module))
			continue;
		if (!nr++)
			first = i;
	}
	if (nr == 1)
		return &syms->syms[first];
	f.subject = subject;
	if (nr)
		fail_ambiguous(&syms->syms[first], nr, subject);
	else if (strpbrk(spec, LIBTRAMP_WILDCARDS))
		fail_pattern(syms, spec, subject);
	else
		fail_unknown(syms, &s, true, &f);
	return NULL;
}

const uint32_t *libtramp_syms_names_at(const struct tramp_syms *syms, uint64_t addr, size_t *nr)
{
	size_t lo = 0, hi, first;
	const uint32_t *order;

	*nr = 0;
	order = libtramp_syms_by_addr(syms, &hi);
	if (!order)
		return NULL;
	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (syms->syms[order[mid]].addr <= addr)
			lo = mid + 1;
		else
			hi = mid;
	}
	for (first = lo; first; first--)
		if (syms->syms[order[first - 1]].addr != syms->syms[order[lo - 1]].addr)
			break;
	*nr = lo - first;
	return order + first;
}

const struct tramp_sym *tramp_syms__find_addr(const struct tramp_syms *syms, uint64_t addr,
					      uint64_t *off)
{
	const struct tramp_sym *sym;
	const uint32_t *names;
	size_t nr;

	names = libtramp_syms_names_at(syms, addr, &nr);
	if (!nr) {
		errno = names ? ENOENT : ENOMEM;
		return NULL;
	}
	sym = &syms->syms[names[0]];
	if (off)
		*off = addr - sym->addr;
	return sym;
}

/* -------------------------------------------------------------- patterns -- */

int libtramp_pattern_parse(const char *text, struct libtramp_pattern *p)
{
	int err = libtramp_spec_parse(text, &p->spec);

	if (!err)
		err = tramp_glob_check(p->spec.name);
	if (!err && p->spec.module[0])
		err = tramp_glob_check(p->spec.module);
	if (err)
		return err;
	p->prefix = strcspn(p->spec.name, LIBTRAMP_WILDCARDS);
	p->plain = !p->spec.name[p->prefix];
	p->single = p->plain && !strpbrk(p->spec.module, LIBTRAMP_WILDCARDS);
	return 0;
}

static bool module_matches(const struct libtramp_pattern *p, const struct tramp_sym *sym)
{
	if (!p->spec.has_module)
		return true;
	/* The kernel proper is called vmlinux; a glob does not mean it. */
	if (!p->spec.module[0] || !sym->module[0])
		return p->spec.module[0] == sym->module[0];
	return tramp_glob_match(p->spec.module, sym->module);
}

bool libtramp_pattern_matches(const struct libtramp_pattern *p, const struct tramp_sym *sym)
{
	return !strncmp(sym->name, p->spec.name, p->prefix) && module_matches(p, sym) &&
	       tramp_glob_match(p->spec.name, sym->name);
}

size_t libtramp_pattern_next(const struct tramp_syms *syms, const struct libtramp_pattern *p,
			     size_t i)
{
	/* The text before the first wildcard narrows the search to a run of names. */
	if (!i && p->prefix) {
		char start[TRAMP_SYM_LEN * 4];

		snprintf(start, sizeof(start), "%.*s", (int)p->prefix, p->spec.name);
		i = libtramp_syms_lower(syms, start);
	}
	for (; i < syms->nr; i++) {
		const struct tramp_sym *sym = &syms->syms[i];

		if (p->plain) {
			if (strcmp(sym->name, p->spec.name))
				break;
		} else {
			if (strncmp(sym->name, p->spec.name, p->prefix))
				break;
			if (!tramp_glob_match(p->spec.name, sym->name))
				continue;
		}
		if (module_matches(p, sym))
			return i;
	}
	return syms->nr;
}

static int fail_no_match(const struct tramp_syms *syms, const struct libtramp_pattern *p,
			 const char *pattern, size_t untraceable, size_t denied)
{
	char subject[LIBTRAMP_SUBJECT_LEN];
	struct libtramp_failure f = {
		.err = -ENOENT, .reason = TRAMP_LIB_NO_MATCH, .subject = subject,
	};

	snprintf(subject, sizeof(subject), "pattern '%s'", pattern);
	if (untraceable && !denied)
		return LIBTRAMP_FAIL(-ENOENT, TRAMP_LIB_NO_MATCH, subject,
				     "%zu match by name, but ftrace cannot patch their entry",
				     untraceable);
	if (denied)
		return LIBTRAMP_FAIL(-ENOENT, TRAMP_LIB_NO_MATCH, subject,
				     "all %zu that match are left out by deny patterns", denied);
	return fail_unknown(syms, &p->spec, p->plain, &f);
}

/* Deny patterns are few: parsed again for each function that the pattern matched. */
static bool is_denied(const struct tramp_sym *sym, const struct tramp_match_opts *opts)
{
	struct libtramp_pattern p;
	size_t i;

	if (!LIBTRAMP_OPTS_HAS(opts, tramp_match_opts, deny))
		return false;
	for (i = 0; i < opts->deny_cnt; i++)
		if (!libtramp_pattern_parse(opts->deny[i], &p) && libtramp_pattern_matches(&p, sym))
			return true;
	return false;
}

static int check_match_opts(const struct tramp_match_opts *opts)
{
	struct libtramp_pattern p;
	size_t i;
	int err;

	if (!LIBTRAMP_OPTS_VALID(opts, tramp_match_opts))
		return LIBTRAMP_FAIL(-EINVAL, TRAMP_LIB_BAD_ARGUMENT, "tramp_syms__match()",
				     "opts must be declared with TRAMP_OPTS(tramp_match_opts, ...)");
	if (!LIBTRAMP_OPTS_HAS(opts, tramp_match_opts, deny))
		return 0;
	if (opts->deny_cnt && !opts->deny)
		return LIBTRAMP_FAIL(-EINVAL, TRAMP_LIB_BAD_ARGUMENT, "tramp_syms__match()",
				     "deny_cnt without deny");
	for (i = 0; i < opts->deny_cnt; i++) {
		err = libtramp_pattern_parse(opts->deny[i], &p);
		if (err)
			return err;
	}
	return 0;
}

int tramp_syms__match(const struct tramp_syms *syms, const char *pattern,
		      const struct tramp_match_opts *opts, tramp_sym_cb cb, void *ctx)
{
	size_t i, untraceable = 0, denied = 0;
	bool all;
	struct libtramp_pattern p;
	int err, nr = 0;

	err = check_match_opts(opts);
	if (!err)
		err = libtramp_pattern_parse(pattern, &p);
	if (err)
		return err;
	all = LIBTRAMP_OPTS_GET(opts, tramp_match_opts, untraceable, false) ||
	      !tramp_syms__knows_traceable(syms);
	for (i = libtramp_pattern_next(syms, &p, 0); i < syms->nr;
	     i = libtramp_pattern_next(syms, &p, i + 1)) {
		const struct tramp_sym *sym = &syms->syms[i];

		if (!all && !(sym->flags & TRAMP_SYM_TRACEABLE)) {
			untraceable++;
			continue;
		}
		if (is_denied(sym, opts)) {
			denied++;
			continue;
		}
		nr++;
		err = cb ? cb(sym, ctx) : 0;
		if (err)
			return err;
	}
	return nr ? nr : fail_no_match(syms, &p, pattern, untraceable, denied);
}
