/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Entry and exit images: requests from an input, the rules of fentry_image.h about them, and
 * what must hold of what is made. Shared by fuzz_fentry and fuzz_many.
 */
#ifndef SELFTESTS_FUZZ_ENDS_H
#define SELFTESTS_FUZZ_ENDS_H

#include "image.h"

#define ENDS_MAX_KIND	24	/* of each kind; some more than an image takes, together */
#define ENDS_KINDS	6
#define ENDS_MAX_PROGS	(ENDS_KINDS * ENDS_MAX_KIND)
#define ENDS_FUNC	0xffffffff81234560ULL

/* In the order of struct tramp_x86_fentry_out::call_off. */
enum { ENDS_KPROBE, ENDS_FENTRY, ENDS_FMOD_RET, ENDS_FEXIT, ENDS_KRET, ENDS_SESSION };

/**
 * struct ends - a request, and what comes of it
 * @env: the kernel
 * @model: the function's prototype
 * @calls: all programs
 * @req: the request; its programs and prototype are copies of exactly their size
 * @nr_of: programs of each kind
 * @nr: of all kinds
 * @addr: where the image is to be
 * @too_short: makes the length of a buffer that is too short
 * @out: what was emitted; its arrays are the next ones
 * @image: the bytes
 */
struct ends {
	struct tramp_x86_env env;
	struct tramp_x86_model model;
	struct tramp_x86_call calls[ENDS_MAX_PROGS];
	struct tramp_x86_fentry_req req;
	u32 nr_of[ENDS_KINDS];
	u32 nr;
	u64 addr;
	u32 too_short;
	struct tramp_x86_fentry_out out;
	u32 *skip_off, *skip_to, *call_off;
	u8 *image;
};

/*
 * Address of the image (9 bytes, relative to the function). The kind of kernel (2), and what is
 * wrong with it (1, or 5). A length for a buffer that is too short (2).
 */
void ends_begin(struct ends *e, struct fuzz_input *in);

/* How many programs of a kind (1): a few mostly. */
u32 ends_count(struct fuzz_input *in);

/*
 * For each program its flags and what is special about it (1 each); @nr_of is set, and @model if
 * that matters.
 */
void ends_programs(struct ends *e, struct fuzz_input *in);

/* As the module does: measure, allocate, emit. And hold all of it against the rules. */
void ends_run(struct ends *e);

#endif /* SELFTESTS_FUZZ_ENDS_H */
