/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Shared by the library's tests with the module loaded: programs to attach, and calls that are
 * certain to succeed or to end the test.
 */
#ifndef SELFTESTS_LIBTRAMPOLINE_GUEST_H
#define SELFTESTS_LIBTRAMPOLINE_GUEST_H

#include <bpf/libbpf.h>

#include "fixture.h"
#include "kinds.skel.h"

#define CALLS	5
#define BPFFS	"/sys/fs/bpf"

/* Calls do_unlinkat(). */
void call_target(unsigned int times);

/* Links of the module that are attached. */
uint32_t links_now(void);

/* Load kinds.bpf.c, opened already or not, for calls by this process. */
struct kinds *need_loaded(struct kinds *skel);

struct tramp_link *need_link(const struct bpf_program *prog, const struct tramp_attach_opts *opts);
void need_info(uint32_t id, struct tramp_link_info *info);

#endif /* SELFTESTS_LIBTRAMPOLINE_GUEST_H */
