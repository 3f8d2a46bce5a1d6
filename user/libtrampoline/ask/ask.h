/* SPDX-License-Identifier: LGPL-2.1 OR BSD-2-Clause */
/*
 * Questions to the module on behalf of other files: about its links, and about the place of
 * a probe.
 */
#ifndef LIBTRAMPOLINE_ASK_ASK_H
#define LIBTRAMPOLINE_ASK_ASK_H

#include <trampoline/trampoline.h>

/* Records the failure of a QUERY as the last error; returns @err. */
int libtramp_query_failed(int err, const struct tramp_query *q, const char *subject);

/* The first attached link of the module that has this program; 0: none. */
uint32_t libtramp_link_of_prog(int prog_fd);

/**
 * libtramp_fail_place() - record that a command about a place failed
 * @dev: the device, to ask for the instructions near the place
 * @place: the place that the module refused
 * @syms: to find near names in; NULL: loaded if need be
 *
 * Like libtramp_fail_ioctl(), with the nearest names or instructions.
 */
int libtramp_fail_place(int dev, int err, const struct tramp_refusal *refusal,
			const char *command, const struct tramp_place *place,
			const struct tramp_syms *syms, const char *subject);

/* All instructions of a place's function; NULL if there are none, without an error. */
struct tramp_code *libtramp_code(int dev, const struct tramp_place *place);

#endif /* LIBTRAMPOLINE_ASK_ASK_H */
