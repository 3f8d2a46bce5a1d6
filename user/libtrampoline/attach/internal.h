/* SPDX-License-Identifier: LGPL-2.1 OR BSD-2-Clause */
/*
 * Shared by the files that attach: handles of links, and which programs are attached
 * where.
 */
#ifndef LIBTRAMPOLINE_ATTACH_INTERNAL_H
#define LIBTRAMPOLINE_ATTACH_INTERNAL_H

#include "../core/error.h"
#include "../core/sized.h"
#include "../syms/place.h"

/**
 * struct tramp_link - a handle of a BPF link of the module
 * @fd: descriptor of the link, owned unless @disconnected
 * @id: the link's id
 * @disconnected: destroy leaves @fd open
 * @pin_path: where it is pinned through this handle; NULL
 * @name: its program's name as libbpf knows it; NULL if opened
 */
struct tramp_link {
	int fd;
	uint32_t id;
	bool disconnected;
	char *pin_path;
	char *name;
};

/* A handle that owns @fd; closes it on failure. @name may be NULL. */
struct tramp_link *libtramp_link_new(int fd, uint32_t id, const char *name);

/* "program 'x' (SEC("y"))" into @buf; returns @buf. */
const char *libtramp_prog_subject(char *buf, size_t len, const struct bpf_program *prog);

/**
 * libtramp_prog_unsupported() - why this version does not attach a program's kind
 * @f: (out) the failure that this is, without its subject
 *
 * Return: the detail; NULL if it does.
 */
const char *libtramp_prog_unsupported(const struct bpf_program *prog, struct libtramp_failure *f);

/**
 * struct libtramp_request - one program to attach, checked
 * @prog_fd: the program
 * @flags: TRAMP_ATTACH_F_*
 * @cookie: its cookie
 * @maxactive: of a return probe
 * @multi: one for many functions, which its section names; of the rest only @cookie
 *	matters then
 * @probe: it goes to @place
 * @place: where a probe goes; refers to strings of the caller's options and the program
 * @name: the program's name as libbpf knows it; NULL
 * @subject: for errors
 */
struct libtramp_request {
	int prog_fd;
	uint32_t flags;
	uint64_t cookie;
	uint32_t maxactive;
	const struct bpf_program *multi;
	bool probe;
	struct tramp_place place;
	const char *name;
	char subject[LIBTRAMP_SUBJECT_LEN];
};

/* Check a request and fill it in. Return: 0 or negative errno with the last error filled. */
int libtramp_request(struct libtramp_request *r, const struct bpf_program *prog,
		     const struct tramp_attach_opts *opts);

/* The same of a program that need not be loaded: without its descriptor. */
int libtramp_request_check(struct libtramp_request *r, const struct bpf_program *prog,
			   const struct tramp_attach_opts *opts);

/**
 * libtramp_check() - find out why a program that is not loaded could not be attached
 * @syms: a snapshot, taken when it is needed first; the caller's to free
 * @ours: it will be attached by the module; otherwise it needs only to be loaded
 * @opts: of the attach to come
 *
 * Return: 0 or negative errno with the last error filled.
 */
int libtramp_check(struct tramp_syms **syms, const struct bpf_program *prog, bool ours,
		   const struct tramp_attach_opts *opts);

/* The module's command for it. */
void libtramp_request_cmd(const struct libtramp_request *r, struct tramp_attach *cmd);

/* The module has refused it: fills the last error. Return: negative errno. */
int libtramp_refused(int dev, int err, const struct tramp_refusal *refusal,
		     const struct libtramp_request *r);

/**
 * struct tramp_links - a set of links
 * @nr: how many
 * @link: the links
 */
struct tramp_links {
	size_t nr;
	struct tramp_link *link[];
};

/*
 * Attach all or none. Return: the links in the same order; NULL and errno with the last error
 * filled. @subject is what the error is about if it is about no one of them.
 */
struct tramp_links *libtramp_attach_many(const struct libtramp_request *r, size_t nr,
					 const char *subject);

/* tramp_attach() and tramp_link__pin() without the warning. */
struct tramp_link *libtramp_attach(const struct libtramp_request *r);
int libtramp_link_pin(struct tramp_link *link, const char *path);

/*
 * tramp_attach_multi() without the warning. @r: on behalf of tramp_attach() and its like: all
 * functions get its cookie, and it begins anew after a signal; otherwise NULL.
 */
struct tramp_link *libtramp_attach_multi(const struct bpf_program *prog,
					 const struct tramp_multi_opts *opts,
					 const struct libtramp_request *r);

/**
 * libtramp_is_multi() - whether a section is that of a program for many functions
 * @section: its name
 * @flags: (out) TRAMP_MULTI_F_RETURN if it runs at returns, else 0
 * @pattern: (out) what the section name says of functions; "" if nothing
 */
bool libtramp_is_multi(const char *section, uint32_t *flags, const char **pattern);

/* Does the module run sessions here, but not the kernel? They are loaded as plain programs. */
bool libtramp_session_by_map(void);

/* Those of the attach flags that apply to the kind of a program. */
uint32_t libtramp_flags_for(const struct bpf_program *prog, uint32_t flags);

/* The place in a request to attach. */
void libtramp_place_to_cmd(const struct tramp_place *place, struct tramp_attach *cmd);

/* Like libtramp_prog_unsupported(), by the section name, for BPF_PROG_TYPE_KPROBE. */
const char *libtramp_not_a_probe(const char *section, struct libtramp_failure *f);

/* Does a section name say that its program is a return probe? */
bool libtramp_is_return(const char *section);

/* A probe in a section that names no place: libbpf does not attach it by itself. */
bool libtramp_names_no_place(const struct bpf_program *prog);

/* Is one of the members given that only probes have? */
bool libtramp_opts_have_place(const struct tramp_attach_opts *opts);

/**
 * libtramp_probe_place() - where a probe goes
 * @section: its section name; "" if it has none
 * @opts: options, which outdo it; may be NULL
 * @place: (out) the place, as the module understands it
 * @subject: for the error
 *
 * Return: 0 or negative errno with the last error filled.
 */
int libtramp_probe_place(const char *section, const struct tramp_attach_opts *opts,
			 struct tramp_place *place, const char *subject);

#endif /* LIBTRAMPOLINE_ATTACH_INTERNAL_H */
