// SPDX-License-Identifier: LGPL-2.1 OR BSD-2-Clause
/*
 * Attaching one program to many functions: from a selection, a list of addresses, or the
 * pattern in the section name to the arrays that the module takes.
 */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "../core/device.h"
#include "../core/error.h"
#include "../core/sized.h"
#include "internal.h"

#define MULTI_FLAGS	(TRAMP_MULTI_F_SKIP | TRAMP_MULTI_F_RETURN | TRAMP_MULTI_F_SESSION)

/* Sections of programs for many functions; a pattern may follow behind a slash. */
static const struct {
	const char *section;
	uint32_t flags;
} sections[] = {
	{ "kprobe.multi", 0 },
	{ "kretprobe.multi", TRAMP_MULTI_F_RETURN },
	{ "kprobe.session", TRAMP_MULTI_F_SESSION },
};

bool libtramp_is_multi(const char *section, uint32_t *flags, const char **pattern)
{
	size_t i, len;

	for (i = 0; i < ARRAY_SIZE(sections); i++) {
		len = strlen(sections[i].section);
		if (strncmp(section, sections[i].section, len) ||
		    (section[len] && section[len] != '/'))
			continue;
		*flags = sections[i].flags;
		*pattern = section[len] ? section + len + 1 : "";
		return true;
	}
	return false;
}

/**
 * struct functions - what to attach to
 * @nr: how many
 * @addrs: their addresses; NULL: there are
 * @names: their names
 * @by_pattern: a pattern chose them
 * @cookies: theirs; NULL: all are 0
 * @own: @addrs, if it is ours to free
 * @own_cookies: the same for @cookies
 * @text: the names, as the module takes them; ours to free
 * @text_len: its bytes
 */
struct functions {
	size_t nr;
	const uint64_t *addrs;
	const char *const *names;
	bool by_pattern;
	const uint64_t *cookies;
	uint64_t *own;
	uint64_t *own_cookies;
	char *text;
	size_t text_len;
};

/* Where addresses are hidden from us (kptr_restrict), the module takes names from us. */
static int take_hidden(const struct tramp_selection *sel, struct functions *f, const char *subject)
{
	const struct tramp_sym *sym;
	size_t i, len = 0;
	char *at;

	for (i = 0; i < f->nr; i++) {
		sym = tramp_selection__get(sel, i)->sym;
		len += strlen(sym->module) + strlen(sym->name) + 2;
	}
	f->text = malloc(len ? len : 1);
	if (!f->text)
		return libtramp_fail_nomem(subject);
	at = f->text;
	for (i = 0; i < f->nr; i++) {
		sym = tramp_selection__get(sel, i)->sym;
		at += sprintf(at, "%s%s%s", sym->module, sym->module[0] ? ":" : "", sym->name) + 1;
	}
	f->text_len = at - f->text;
	return 0;
}

static int take_selection(const struct tramp_selection *sel, struct functions *f,
			  const char *subject)
{
	size_t i;

	f->nr = tramp_selection__count(sel);
	if (f->nr && !tramp_selection__get(sel, 0)->sym->addr)
		return take_hidden(sel, f, subject);
	f->own = calloc(f->nr ? f->nr : 1, sizeof(*f->own));
	if (!f->own)
		return libtramp_fail_nomem(subject);
	for (i = 0; i < f->nr; i++)
		f->own[i] = tramp_selection__get(sel, i)->sym->addr;
	f->addrs = f->own;
	return 0;
}

static int take_names(struct functions *f, const char *subject)
{
	size_t i, len = 0;

	for (i = 0; i < f->nr; i++) {
		if (!f->names[i])
			return LIBTRAMP_FAIL(-EINVAL, TRAMP_LIB_BAD_ARGUMENT, subject,
					     "name %zu is NULL", i);
		len += strlen(f->names[i]) + 1;
	}
	if (len > TRAMP_MULTI_NAMES_MAX)
		return LIBTRAMP_FAIL(-EINVAL, TRAMP_LIB_BAD_ARGUMENT, subject,
				     "%zu bytes of names, at most %u", len, TRAMP_MULTI_NAMES_MAX);
	f->text = malloc(len ? len : 1);
	if (!f->text)
		return libtramp_fail_nomem(subject);
	for (i = 0; i < f->nr; i++)
		f->text_len += stpcpy(f->text + f->text_len, f->names[i]) + 1 -
			       (f->text + f->text_len);
	return 0;
}

/* The functions that the section's pattern matches, as libbpf takes them for kprobe.multi. */
static int take_pattern(const char *pattern, struct functions *f, const char *subject)
{
	TRAMP_OPTS(tramp_select_opts, what, .pattern_cnt = 1, .patterns = &pattern,
		   .flags = TRAMP_SELECT_ALL_OR_NOTHING);
	struct tramp_selection *sel = NULL;
	struct tramp_syms *syms;
	int err;

	if (!*pattern)
		return LIBTRAMP_FAIL(-EINVAL, TRAMP_LIB_BAD_ARGUMENT, subject,
				     "neither its section nor opts name a function");
	syms = tramp_syms__load(NULL);
	if (syms)
		sel = tramp_syms__select(syms, &what);
	err = sel ? take_selection(sel, f, subject) : -errno;
	tramp_selection__free(sel);
	tramp_syms__free(syms);
	return err;
}

static int take_functions(const struct tramp_multi_opts *opts, const char *pattern,
			  struct functions *f, const char *subject)
{
	const struct tramp_selection *sel = LIBTRAMP_OPTS_GET(opts, tramp_multi_opts, selection,
							      NULL);

	f->addrs = LIBTRAMP_OPTS_GET(opts, tramp_multi_opts, addrs, NULL);
	f->names = LIBTRAMP_OPTS_GET(opts, tramp_multi_opts, names, NULL);
	f->cookies = LIBTRAMP_OPTS_GET(opts, tramp_multi_opts, cookies, NULL);
	f->nr = LIBTRAMP_OPTS_GET(opts, tramp_multi_opts, cnt, 0);
	if (!!sel + !!f->addrs + !!f->names > 1 || (sel && f->nr))
		return LIBTRAMP_FAIL(-EINVAL, TRAMP_LIB_BAD_ARGUMENT, subject,
				     "opts have more than one of selection, addrs and names");
	if (!f->addrs && !f->names && f->nr)
		return LIBTRAMP_FAIL(-EINVAL, TRAMP_LIB_BAD_ARGUMENT, subject,
				     "opts have cnt without addrs and names");
	if (sel)
		return take_selection(sel, f, subject);
	if (f->names)
		return take_names(f, subject);
	if (f->addrs)
		return 0;
	if (f->cookies || LIBTRAMP_OPTS_GET(opts, tramp_multi_opts, reasons, NULL))
		return LIBTRAMP_FAIL(-EINVAL, TRAMP_LIB_BAD_ARGUMENT, subject,
				     "cookies and reasons need a list of functions");
	f->by_pattern = true;
	return take_pattern(pattern, f, subject);
}

/* The same cookie for each. */
static int take_cookie(uint64_t cookie, struct functions *f, const char *subject)
{
	size_t i;

	f->own_cookies = calloc(f->nr ? f->nr : 1, sizeof(*f->own_cookies));
	if (!f->own_cookies)
		return libtramp_fail_nomem(subject);
	for (i = 0; i < f->nr; i++)
		f->own_cookies[i] = cookie;
	f->cookies = f->own_cookies;
	return 0;
}

static int check_opts(const struct tramp_multi_opts *opts, const char *subject)
{
	uint32_t flags = LIBTRAMP_OPTS_GET(opts, tramp_multi_opts, flags, 0);

	if (!LIBTRAMP_OPTS_VALID(opts, tramp_multi_opts))
		return LIBTRAMP_FAIL(-EINVAL, TRAMP_LIB_BAD_ARGUMENT, subject,
				     "opts must be declared with TRAMP_OPTS(tramp_multi_opts, ...)");
	if (flags & ~MULTI_FLAGS)
		return LIBTRAMP_FAIL(-EINVAL, TRAMP_LIB_BAD_ARGUMENT, subject,
				     "unknown flags 0x%x", flags & ~MULTI_FLAGS);
	return 0;
}

static const char *name_at(const struct functions *f, size_t i)
{
	const char *at = f->text;

	while (i--)
		at += strlen(at) + 1;
	return at;
}

/* Say which was refused: the function's name rather than its number in the list. */
static int refused(int err, const struct tramp_attach_multi *cmd, const struct functions *f,
		   const struct tramp_selection *sel, const char *subject)
{
	char text[LIBTRAMP_SUBJECT_LEN];

	if (err == -ENOTTY)
		return LIBTRAMP_FAIL(-EOPNOTSUPP, TRAMP_REASON_NOT_BUILT, subject,
				     "the module is older than the library: it attaches to one function at a time");
	if (cmd->failed >= f->nr || libtramp_refuses_caller(&cmd->refusal))
		return libtramp_fail_ioctl(err, &cmd->refusal, "ATTACH_MULTI", subject);
	if (sel)
		snprintf(text, sizeof(text), "function '%s'",
			 tramp_selection__get(sel, cmd->failed)->sym->name);
	else if (f->text)
		snprintf(text, sizeof(text), "function '%s'", name_at(f, cmd->failed));
	else
		snprintf(text, sizeof(text), "function %u of the list (0x%llx)", cmd->failed,
			 (unsigned long long)f->addrs[cmd->failed]);
	return libtramp_fail_ioctl(err, &cmd->refusal, "ATTACH_MULTI", text);
}

/* @again: after a signal that has a handler. */
static struct tramp_link *attach(int prog_fd, uint32_t flags, const struct functions *f,
				 const struct tramp_multi_opts *opts, bool again,
				 const char *subject, const char *name)
{
	uint32_t *reasons = LIBTRAMP_OPTS_GET(opts, tramp_multi_opts, reasons, NULL);
	size_t *attached = LIBTRAMP_OPTS_GET(opts, tramp_multi_opts, attached, NULL);
	struct tramp_attach_multi cmd = {
		.size = sizeof(cmd),
		.flags = flags,
		.prog_fd = prog_fd,
		.nr = f->nr,
		.addrs = (uintptr_t)f->addrs,
		.names = (uintptr_t)f->text,
		.names_len = f->text_len,
		.cookies = (uintptr_t)f->cookies,
		.reasons = (uintptr_t)reasons,
		/* A module that ends before the first may leave it so. */
		.failed = f->nr,
	};
	struct tramp_link *link = NULL;
	int dev, err;

	if (!f->nr || f->nr > TRAMP_MULTI_MAX) {
		LIBTRAMP_FAIL(-EINVAL, TRAMP_LIB_BAD_ARGUMENT, subject,
			      "%zu functions: from 1 to %u can be attached to at once", f->nr,
			      TRAMP_MULTI_MAX);
		return NULL;
	}
	dev = libtramp_dev_open(subject);
	if (dev < 0)
		return NULL;
	if (again)
		err = libtramp_dev_cmd(dev, TRAMP_IOC_ATTACH_MULTI, &cmd);
	else
		err = ioctl(dev, TRAMP_IOC_ATTACH_MULTI, &cmd) ? -errno : 0;
	if (err) {
		err = refused(err, &cmd, f,
			      LIBTRAMP_OPTS_GET(opts, tramp_multi_opts, selection, NULL), subject);
	} else {
		link = libtramp_link_new(cmd.link_fd, cmd.link_id, name);
		if (!link)
			err = -errno;
		if (attached)
			*attached = cmd.nr_attached;
	}
	close(dev);
	if (!link)
		errno = -err;
	return link;
}

struct tramp_link *libtramp_attach_multi(const struct bpf_program *prog,
					 const struct tramp_multi_opts *opts,
					 const struct libtramp_request *r)
{
	uint32_t flags = 0, from_section = 0;
	char subject[LIBTRAMP_SUBJECT_LEN];
	struct tramp_link *link = NULL;
	struct functions f = {};
	const char *pattern = "";
	int fd, err;

	if (!prog) {
		LIBTRAMP_FAIL(-EINVAL, TRAMP_LIB_BAD_ARGUMENT, "tramp_attach_multi()",
			      "prog is NULL");
		return NULL;
	}
	libtramp_prog_subject(subject, sizeof(subject), prog);
	if (check_opts(opts, subject))
		return NULL;
	libtramp_is_multi(bpf_program__section_name(prog), &from_section, &pattern);
	/* Where the kernel has sessions, the attach type says it. An older module knows no flag. */
	if (!libtramp_session_by_map())
		from_section &= ~TRAMP_MULTI_F_SESSION;
	flags = LIBTRAMP_OPTS_GET(opts, tramp_multi_opts, flags, 0) | from_section;
	fd = bpf_program__fd(prog);
	if (fd < 0) {
		LIBTRAMP_FAIL(-EINVAL, TRAMP_LIB_NOT_LOADED, subject, NO_DETAIL);
		return NULL;
	}
	err = take_functions(opts, pattern, &f, subject);
	if (!err && r && r->cookie)
		err = take_cookie(r->cookie, &f, subject);
	/* A pattern says what is wanted wherever it is possible. */
	if (!err)
		link = attach(fd, f.by_pattern ? flags | TRAMP_MULTI_F_SKIP : flags, &f, opts,
			      r != NULL, subject, bpf_program__name(prog));
	free(f.own);
	free(f.own_cookies);
	free(f.text);
	return link;
}

struct tramp_link *tramp_attach_multi(const struct bpf_program *prog,
				      const struct tramp_multi_opts *opts)
{
	/* Not again after a signal: it may take seconds, and the caller may want to end. */
	struct tramp_link *link = libtramp_attach_multi(prog, opts, NULL);

	if (!link)
		libtramp_warn_last();
	return link;
}
