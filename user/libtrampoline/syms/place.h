/* SPDX-License-Identifier: LGPL-2.1 OR BSD-2-Clause */
/*
 * Places of probes, as text and as the module takes them.
 */
#ifndef LIBTRAMPOLINE_SYMS_PLACE_H
#define LIBTRAMPOLINE_SYMS_PLACE_H

#include <trampoline/trampoline.h>

/* Room for the text of any place. */
#define LIBTRAMP_PLACE_LEN	(TRAMP_MOD_LEN + TRAMP_SYM_LEN + 24)

/**
 * libtramp_place_parse() - tramp_place__parse()
 * @section: it stands in a section name, where only a function and an offset can be
 * @subject: for the error
 *
 * Return: 0 or negative errno with the last error filled.
 */
int libtramp_place_parse(const char *text, bool section, struct tramp_place *place,
			 const char *subject);

/* A place out of options, perhaps with a module alone; errors as above. */
int libtramp_place_from_opts(const struct tramp_attach_opts *opts, struct tramp_place *place,
			     const char *subject);

/* The place as it is written, into @buf; returns @buf. */
const char *libtramp_place_text(const struct tramp_place *place, char *buf, size_t len);

/* Replace what only the library understands ("vmlinux") by what the module does. */
int libtramp_place_resolve(struct tramp_place *place, const struct tramp_syms *syms);

#endif /* LIBTRAMPOLINE_SYMS_PLACE_H */
