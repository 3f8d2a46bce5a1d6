/* SPDX-License-Identifier: GPL-2.0 */
/*
 * One entry program and one return program on many functions.
 */
#ifndef TRAMPCTL_ATTACH_MANY_H
#define TRAMPCTL_ATTACH_MANY_H

#include <bpf/libbpf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <trampoline/trampoline.h>

/* Functions that get links of their own, because the link of many cannot have them. */
#define MANY_MAX_SINGLE 256

/**
 * struct many_place - one function
 * @what: the function
 * @cookie: what bpf_get_attach_cookie() returns in its programs
 * @reason: (out) enum tramp_reason or tramp_lib_reason, why it was left out, or 0
 * @too_many: (out) it was left out as one of more than MANY_MAX_SINGLE
 * @served: (out) the link of many has it
 * @entry, @exit: (out) its own links
 */
struct many_place {
	const struct tramp_selected *what;
	uint64_t cookie;
	uint32_t reason;
	bool too_many, served;
	struct tramp_link *entry, *exit;
};

static inline bool is_left_out(const struct many_place *p)
{
	return p->reason || p->too_many;
}

/**
 * struct many_programs - what goes on all of them
 * @entry: of kprobe type; NULL: nothing runs at entries
 * @exit: of kprobe type, for returns; NULL: nothing runs at returns
 * @session: one program for both; NULL: only one of the two is wanted
 */
struct many_programs {
	const struct bpf_program *entry, *exit, *session;
};

/**
 * struct many_attachment - programs on many functions
 * @places: the functions
 * @nr: how many
 * @link: (out) the link of many
 */
struct many_attachment {
	struct many_place *places;
	size_t nr;
	struct tramp_link *link;
};

int attach_many(const struct many_programs *progs, struct many_attachment *a, bool all_or_nothing);
uint64_t missed_by_many(const struct many_attachment *a);
void detach_many(struct many_attachment *a);
char *left_out_text(const struct many_place *p, const char **reason);
int fail_left_out(const struct many_place *p, bool all_of_them);

#endif /* TRAMPCTL_ATTACH_MANY_H */
