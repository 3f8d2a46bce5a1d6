/* SPDX-License-Identifier: GPL-2.0 */
/*
 * One entry program and one exit program on many functions.
 */
#ifndef TRAMPCTL_ATTACH_MANY_H
#define TRAMPCTL_ATTACH_MANY_H

#include <bpf/libbpf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <trampoline/trampoline.h>

/**
 * struct many_place - one function
 * @what: the function
 * @cookie: what bpf_get_attach_cookie() returns in its programs
 * @reason: (out) enum tramp_reason or tramp_lib_reason, why it was left out; 0: it was not
 * @entry, @exit: its links
 */
struct many_place {
	const struct tramp_selected *what;
	uint64_t cookie;
	uint32_t reason;
	struct tramp_link *entry, *exit;
};

/**
 * struct many_programs - what goes on all of them
 * @entry: of kprobe type
 * @exit_one: of type fexit, loaded for one function; the others get copies. NULL: no exits
 */
struct many_programs {
	const struct bpf_program *entry;
	const struct bpf_program *exit_one;
};

int attach_many(const struct many_programs *progs, struct many_place *places, size_t nr,
		bool all_or_nothing);
uint64_t detach_many(struct many_place *places, size_t nr);

#endif /* TRAMPCTL_ATTACH_MANY_H */
