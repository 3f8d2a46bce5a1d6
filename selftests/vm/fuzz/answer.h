/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Judging the answer to a request, by the rules in the head of include/uapi/linux/trampoline.h
 * and nothing else: which errnos there may be, what was written, which files are open now.
 */
#ifndef FUZZ_ANSWER_H
#define FUZZ_ANSWER_H

#include "request.h"

/**
 * struct answer - the result of one ioctl()
 * @error: 0, or its errno
 * @first_fd: the lowest file descriptor that was free before
 * @free_fd: the one that is now
 */
struct answer {
	int error;
	int first_fd, free_fd;
};

/* Have the module answer. */
void answer_get(const struct request *r, struct answer *a);

/*
 * The rule that it breaks, as a text that stays until the next call; NULL if it keeps them all.
 * Links that it made go to the world.
 */
const char *answer_judge(const struct request *r, const struct answer *a);

/* The refusal that it gave; NULL if there is none to read. */
const struct tramp_refusal *answer_refusal(const struct request *r, const struct answer *a);

#endif /* FUZZ_ANSWER_H */
