/* SPDX-License-Identifier: GPL-2.0 */
/*
 * MANY places in one long straight function, one behind the other, and probes there that are
 * attached in one call. All can be jumps. The kernel offers nothing like it: tests with KERNEL are
 * skipped.
 */
#ifndef PLACES_H
#define PLACES_H

#include <stdint.h>
#include "probe.h"

/* More than the module attaches in one part (TRAMP_BATCH_MANY, 1,024). */
#define MANY	1100

/* The test module, the program, and the function with its instructions. */
extern int places_dev, places_prog;
extern struct probe_func places_func;
/* For each place how it is attached, with its number as the cookie; one more is free for a test. */
extern struct tramp_attach places_item[MANY + 1];
/* The links of those that places_attach() attached. */
extern int32_t places_fds[MANY];
/* The last call of places_try(). */
extern struct tramp_attach_batch places_cmd;

/* Fills these in. Ends the test on failure, as places_attach() does. */
void places_setup(void);
/* ATTACH_BATCH; 0 or a negative errno. */
int places_try(struct tramp_attach *items, uint32_t nr);
/* The first @nr of places_item. */
void places_attach(uint32_t nr);
/* DETACH_BATCH, with what it said in @d; 0 or a negative errno. */
int places_detach(const int32_t *links, uint32_t nr, struct tramp_detach_batch *d);
/* Close the first @nr of places_fds. */
void places_close(uint32_t nr);

/* Call the function so many times; returns its result. */
uint64_t places_run(int times);
/* Each of the first @nr programs has run so often since it was asked last. */
void places_expect_hits(uint32_t nr, uint64_t want, const char *when);
/* The function's text is what it was at places_setup(). */
void places_expect_text(const char *when);

#endif /* PLACES_H */
