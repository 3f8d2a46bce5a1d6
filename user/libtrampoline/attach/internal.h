/* SPDX-License-Identifier: LGPL-2.1 OR BSD-2-Clause */
/*
 * Shared by the files that attach: handles of links, and which programs are attached
 * where.
 */
#ifndef LIBTRAMPOLINE_ATTACH_INTERNAL_H
#define LIBTRAMPOLINE_ATTACH_INTERNAL_H

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
 * @remedy: (out) what to do instead
 *
 * Return: NULL if it does.
 */
const char *libtramp_prog_unsupported(const struct bpf_program *prog, const char **remedy);

/* tramp_attach() and tramp_link__pin() without the warning. */
struct tramp_link *libtramp_attach(const struct bpf_program *prog,
				   const struct tramp_attach_opts *opts);
int libtramp_link_pin(struct tramp_link *link, const char *path);

/* tramp_attach_multi() without the warning. */
struct tramp_link *libtramp_attach_multi(const struct bpf_program *prog,
					 const struct tramp_multi_opts *opts);

/**
 * libtramp_is_multi() - whether a section is that of a program for many functions
 * @section: its name
 * @flags: (out) TRAMP_MULTI_F_RETURN if it runs at returns, else 0
 * @pattern: (out) what the section name says of functions; "" if nothing
 */
bool libtramp_is_multi(const char *section, uint32_t *flags, const char **pattern);

/* Those of the attach flags that apply to the kind of a program. */
uint32_t libtramp_flags_for(const struct bpf_program *prog, uint32_t flags);

/* The place in a request to attach. */
void libtramp_place_to_cmd(const struct tramp_place *place, struct tramp_attach *cmd);

/* Like libtramp_prog_unsupported(), by the section name, for BPF_PROG_TYPE_KPROBE. */
const char *libtramp_not_a_probe(const char *section, const char **remedy);

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
