// SPDX-License-Identifier: LGPL-2.1 OR BSD-2-Clause
/*
 * Whole objects: every program of an object or a skeleton attached as one, and
 * the set of links that comes of it. All or nothing, so that a caller never has
 * to find out which half of his programs is running.
 */
#include <bpf/libbpf.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../core/error.h"
#include "../core/sized.h"
#include "internal.h"

/* Which programs an attach is about: those that libbpf would attach by itself. */
static bool is_meant(const struct bpf_program *prog, uint32_t flags)
{
	struct libtramp_failure why;

	if (!bpf_program__autoload(prog) || !bpf_program__autoattach(prog) ||
	    libtramp_names_no_place(prog))
		return false;
	return !libtramp_prog_unsupported(prog, &why) || !(flags & TRAMP_OBJECT_F_SKIP_OTHER);
}

static size_t count_meant(const struct bpf_object *obj, uint32_t flags)
{
	struct bpf_program *prog;
	size_t nr = 0;

	bpf_object__for_each_program(prog, obj)
		nr += is_meant(prog, flags);
	return nr;
}

/* None is meant: is there one that lacks a place alone? */
static void fail_none(const struct bpf_object *obj, const char *subject)
{
	struct libtramp_failure f = { .err = -ENOENT, .reason = TRAMP_LIB_NO_PROGRAMS,
				      .subject = subject };
	char remedy[LIBTRAMP_SUBJECT_LEN];
	struct bpf_program *prog;

	bpf_object__for_each_program(prog, obj) {
		if (!bpf_program__autoload(prog) || !libtramp_names_no_place(prog))
			continue;
		snprintf(remedy, sizeof(remedy),
			 "write SEC(\"%s/FUNCTION\"), or give tramp_attach() the place",
			 bpf_program__section_name(prog));
		f.remedy = remedy;
		libtramp_fail(&f, "SEC(\"%s\") of '%s' names no function",
			      bpf_program__section_name(prog), bpf_program__name(prog));
		return;
	}
	libtramp_fail(&f, NO_DETAIL);
}

static int check_object_opts(const struct bpf_object *obj,
			     const struct tramp_object_attach_opts *opts, const char *subject)
{
	size_t i;

	if (!LIBTRAMP_OPTS_VALID(opts, tramp_object_attach_opts))
		return LIBTRAMP_FAIL(-EINVAL, TRAMP_LIB_BAD_ARGUMENT, subject,
				     "opts must be declared with TRAMP_OPTS(tramp_object_attach_opts, ...)");
	if (LIBTRAMP_OPTS_GET(opts, tramp_object_attach_opts, flags, 0) &
	    ~TRAMP_OBJECT_F_SKIP_OTHER)
		return LIBTRAMP_FAIL(-EINVAL, TRAMP_LIB_BAD_ARGUMENT, subject,
				     "unknown flags 0x%x", opts->flags);
	if (!LIBTRAMP_OPTS_HAS(opts, tramp_object_attach_opts, cookies))
		return 0;
	if (opts->cookie_cnt && !opts->cookies)
		return LIBTRAMP_FAIL(-EINVAL, TRAMP_LIB_BAD_ARGUMENT, subject,
				     "cookie_cnt without cookies");
	/* A cookie for a program that does not exist is a spelling error, not a wish. */
	for (i = 0; i < opts->cookie_cnt; i++) {
		const char *name = opts->cookies[i].prog_name;

		if (!name || !bpf_object__find_program_by_name(obj, name))
			return LIBTRAMP_FAIL(-EINVAL, TRAMP_LIB_BAD_ARGUMENT, subject,
					     "a cookie for program '%s', which it does not have",
					     name ? name : "");
	}
	return 0;
}

/* Of the options for all programs, those for one. */
static struct tramp_attach_opts opts_of(const struct bpf_program *prog,
					const struct tramp_object_attach_opts *opts)
{
	TRAMP_OPTS(tramp_attach_opts, o);
	size_t i;

	o.flags = libtramp_flags_for(prog, LIBTRAMP_OPTS_GET(opts, tramp_object_attach_opts,
							    attach_flags, 0));
	/* The flag makes any probe a return probe; programs of other kinds have lost it above. */
	if ((o.flags & TRAMP_ATTACH_F_RETURN) ||
	    (bpf_program__type(prog) == BPF_PROG_TYPE_KPROBE &&
	     libtramp_is_return(bpf_program__section_name(prog))))
		o.maxactive = LIBTRAMP_OPTS_GET(opts, tramp_object_attach_opts, maxactive, 0);
	for (i = 0; i < LIBTRAMP_OPTS_GET(opts, tramp_object_attach_opts, cookie_cnt, 0); i++) {
		if (strcmp(opts->cookies[i].prog_name, bpf_program__name(prog)))
			continue;
		o.cookie = opts->cookies[i].cookie;
		o.flags |= TRAMP_ATTACH_F_COOKIE;
	}
	return o;
}

static int request_one(struct libtramp_request *r, const struct bpf_program *prog,
		       const struct tramp_object_attach_opts *opts)
{
	const struct tramp_attach_opts o = opts_of(prog, opts);

	return libtramp_request(r, prog, &o);
}

static int check_object(const struct bpf_object *obj, const struct tramp_object_attach_opts *opts)
{
	char subject[LIBTRAMP_SUBJECT_LEN];
	struct tramp_syms *syms = NULL;
	struct tramp_attach_opts o;
	struct bpf_program *prog;
	uint32_t flags;
	int err;

	if (!obj)
		return LIBTRAMP_FAIL(-EINVAL, TRAMP_LIB_BAD_ARGUMENT, "tramp_object__check()",
				     "obj is NULL");
	snprintf(subject, sizeof(subject), "object '%s'", bpf_object__name(obj));
	err = check_object_opts(obj, opts, subject);
	if (err)
		return err;
	flags = LIBTRAMP_OPTS_GET(opts, tramp_object_attach_opts, flags, 0);
	bpf_object__for_each_program(prog, obj) {
		o = opts_of(prog, opts);
		if (bpf_program__autoload(prog))
			err = libtramp_check(&syms, prog, is_meant(prog, flags), &o);
		if (err)
			break;
	}
	tramp_syms__free(syms);
	if (err)
		errno = -err;
	return err;
}

int tramp_object__check(const struct bpf_object *obj, const struct tramp_object_attach_opts *opts)
{
	int err = check_object(obj, opts);

	if (err)
		libtramp_warn_last();
	return err;
}

static struct tramp_links *attach_object(const struct bpf_object *obj,
					 const struct tramp_object_attach_opts *opts)
{
	char subject[LIBTRAMP_SUBJECT_LEN];
	struct tramp_links *links = NULL;
	struct libtramp_request *r;
	struct bpf_program *prog;
	size_t room, nr = 0;
	uint32_t flags;
	int err = 0;

	if (!obj) {
		LIBTRAMP_FAIL(-EINVAL, TRAMP_LIB_BAD_ARGUMENT, "tramp_object__attach()",
			      "obj is NULL");
		return NULL;
	}
	snprintf(subject, sizeof(subject), "object '%s'", bpf_object__name(obj));
	if (check_object_opts(obj, opts, subject))
		return NULL;
	flags = LIBTRAMP_OPTS_GET(opts, tramp_object_attach_opts, flags, 0);
	room = count_meant(obj, flags);
	if (!room) {
		fail_none(obj, subject);
		return NULL;
	}
	r = calloc(room, sizeof(*r));
	if (!r) {
		libtramp_fail_nomem(subject);
		return NULL;
	}
	bpf_object__for_each_program(prog, obj) {
		if (is_meant(prog, flags))
			err = request_one(&r[nr++], prog, opts);
		if (err)
			break;
	}
	if (!err)
		links = libtramp_attach_many(r, nr, subject);
	err = errno;
	free(r);
	errno = err;
	return links;
}

struct tramp_links *tramp_object__attach(const struct bpf_object *obj,
					 const struct tramp_object_attach_opts *opts)
{
	struct tramp_links *links = attach_object(obj, opts);

	if (!links)
		libtramp_warn_last();
	return links;
}

size_t tramp_links__count(const struct tramp_links *links)
{
	return links ? links->nr : 0;
}

struct tramp_link *tramp_links__get(const struct tramp_links *links, size_t i)
{
	if (links && i < links->nr)
		return links->link[i];
	LIBTRAMP_FAIL(-ERANGE, TRAMP_LIB_BAD_ARGUMENT, "tramp_links__get()",
		      "no link %zu in a set of %zu", i, tramp_links__count(links));
	return NULL;
}

struct tramp_link *tramp_links__find(const struct tramp_links *links, const char *prog_name)
{
	size_t i;

	for (i = 0; prog_name && i < tramp_links__count(links); i++)
		if (!strcmp(links->link[i]->name, prog_name))
			return links->link[i];
	LIBTRAMP_FAIL(-ENOENT, TRAMP_LIB_BAD_ARGUMENT, "tramp_links__find()",
		      "no link of a program '%s' in the set", prog_name ? prog_name : "");
	return NULL;
}

/* Take back the pins of the first @nr links, quietly: the last error stays that of the pinning. */
static void unpin_first(struct tramp_links *links, size_t nr)
{
	struct tramp_link *link;

	while (nr-- > 0) {
		link = links->link[nr];
		if (unlink(link->pin_path))
			continue;
		free(link->pin_path);
		link->pin_path = NULL;
	}
}

int tramp_links__pin(struct tramp_links *links, const char *dir)
{
	char path[PATH_MAX];
	struct stat st;
	bool made;
	size_t i;
	int err;

	if (!links || !dir || !dir[0])
		return LIBTRAMP_FAIL(-EINVAL, TRAMP_LIB_BAD_ARGUMENT, "tramp_links__pin()",
				     "%s", links ? "no folder" : "links is NULL");
	made = stat(dir, &st) != 0;
	for (i = 0; i < links->nr; i++) {
		if (snprintf(path, sizeof(path), "%s/%s", dir, links->link[i]->name) >=
		    (int)sizeof(path))
			err = LIBTRAMP_FAIL(-ENAMETOOLONG, TRAMP_LIB_BAD_ARGUMENT,
					    "tramp_links__pin()", "'%.64s...'", dir);
		else
			err = libtramp_link_pin(links->link[i], path);
		if (err) {
			libtramp_warn_last();
			unpin_first(links, i);
			if (made)
				rmdir(dir);
			errno = -err;
			return err;
		}
	}
	return 0;
}

int tramp_links__unpin(struct tramp_links *links)
{
	int ret = 0, err;
	size_t i;

	for (i = 0; i < tramp_links__count(links); i++) {
		if (!links->link[i]->pin_path)
			continue;
		err = tramp_link__unpin(links->link[i]);
		if (err && !ret)
			ret = err;
	}
	return ret;
}

int tramp_links__detach(struct tramp_links *links)
{
	return links ? tramp_link__detach_many(links->link, links->nr) : 0;
}
