/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Tests in which our own module comes and goes. Whatever holds the device open would keep it
 * from being unloaded, so each command opens the device for itself and closes it at once.
 */
#ifndef OWNMOD_H
#define OWNMOD_H

#include <pthread.h>
#include "vmtest.h"

/*
 * Skips under the oracle; the test module is loaded, and not held. When the test returns,
 * it is checked that nothing of ours is left.
 */
void ownmod_setup(void);
/* One command; 0 or a negative errno. */
int ownmod_ioctl(unsigned int cmd, void *arg);
/* A link's descriptor or a negative errno; the reason in *reason (may be NULL). */
int ownmod_attach(int prog_fd, uint64_t cookie, unsigned int *reason);
/* As above; failing ends the test. */
int ownmod_must_attach(int prog_fd, uint64_t cookie);
struct tramp_info ownmod_info(void);
/* Wait until no image is left; false after about 30 s. */
bool ownmod_settle(void);
/*
 * Unload a module; 0 or the last negative errno. While it is busy there is another try each tenth
 * of a second: 300 @tries take 30 s. _timed: the last one took @ms.
 */
int ownmod_unload(const char *name, int tries);
int ownmod_unload_timed(const char *name, int tries, uint64_t *ms);
/*
 * Ours cannot be unloaded any more, for the reason @why. Images that are retired keep it too, for
 * a moment: it is tried for 5 s.
 */
void ownmod_expect_pinned(const char *why);
/* Load ours, unless it is there. */
void ownmod_reload(void);
bool ownmod_busy(int err);

/* A thread asleep in the test module's tt_sleep(), or in a caller of it, until "wake". */
struct ownmod_sleeper {
	pthread_t thread;
	const char *func, *more;
	uint64_t token;
	struct tt_reply reply;
};
void ownmod_sleep(struct ownmod_sleeper *s, uint64_t token);
/* The same in tt_sleep8(), which has arguments on the stack. */
void ownmod_sleep8(struct ownmod_sleeper *s, uint64_t token);
/* Until @n are asleep; @fd is the test module's. */
void ownmod_wait_for_sleepers(int fd, int n);
/* It was woken: check what it got. */
void ownmod_join(struct ownmod_sleeper *s);

#endif /* OWNMOD_H */
