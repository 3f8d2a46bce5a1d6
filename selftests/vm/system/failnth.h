/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Every allocation and every copy to or from user space fails once. For each action the first
 * one of it fails, then the second, and so on, until the action comes through without having
 * met the failure. The means is /proc/thread-self/fail-nth (see Documentation/fault-injection
 * in the kernel). Kernels without fault injection have the test module's (selftests/kmod/faults.c),
 * for allocations alone. On every kernel that one has all of them fail from the n-th on, too: then
 * undoing has no memory. Or two: undoing has none, and what is tried once more has.
 *
 * An action's loop: faults_arm(n), the action, faults_disarm(), faults_outcome(). Then what has to
 * hold whatever has failed: check_errno() or check_refusal(), check_same(), check_calls(). In the
 * end faults_report(). failnth_actions.c has such loops.
 */
#ifndef FAILNTH_H
#define FAILNTH_H

#include <stdbool.h>
#include <stdint.h>
#include "attachment.h"

#define FUNC "tt_hot0"

/* More failures than any action has to offer: then something goes round in circles. */
#define MAX_FAULTS 2000

/* The cookies, which say who counts where. */
enum { FIRST, SECOND, COOKIES };

/* The programs, loaded by faults_setup(). It skips the test if nothing can be made to fail. */
extern struct failnth *skel;
extern struct record *record;
/* The test module's file, with which it makes things fail. */
extern int test_dev;
void faults_setup(void);
/* From now on what fails lasts (true), or not. Return: false if it cannot. */
bool faults_last(bool lasting);
/* From now on so many fail in a row (at first: 1). Return: false if they cannot. */
bool faults_in_a_row(unsigned int nr);
/* Neither may be from now on in this test: the kernel warns if it cannot undo its own part. */
void faults_never_last(void);

/* The chance after the @n-th that is to be taken: the next; some are left out in the short form. */
unsigned int faults_next(unsigned int n);
/* The @n-th chance to fail from now on is taken; the system calls of this thread only. */
void faults_arm(unsigned int n);
/* Disarm. Return: whether it had failed something by now. */
bool faults_disarm(void);
/* How the action with fault @n ended. Without a fault (not @fired) it is no point. */
void faults_outcome(unsigned int n, bool fired, bool refused);
/* Say how the action ended at each point since the last report. Return: how many points. */
unsigned int faults_report(const char *what);
/* The same of an action that can be refused. */
void faults_report_refused(const char *what);
/*
 * The last test of a program: those before it have had at least 300 points. Skips unless all the
 * @nr others have been started.
 */
void faults_check_points(size_t nr);
/*
 * An action that must not fail: whether it allocates memory. One that does not has no @faults. If
 * it ever does, it has to do without, and be told so here. Where copies fail as well, they count.
 */
enum takes { TAKES_NO_MEMORY, TAKES_MEMORY };
void faults_check_taken(const char *what, unsigned int faults, enum takes takes);
/* Whether the action has come through without a fault: then it has worked, and the loop ends. */
bool faults_over(const char *what, bool fired, int err);

/* An action that is refused or undone must leave this as it was. */
struct state {
	struct tramp_info info;
	int fds;
};
struct state state_now(void);
void check_same(const struct state *was, const char *what, unsigned int n);
/* FUNC works, and just those programs count that should: those of cookie FIRST, of SECOND. */
void check_calls(const char *what, unsigned int n, int first, int second);
/*
 * Refused for want of memory, with that reason, or for a copy that failed; nothing else is known to
 * fail. Only the first chance of all has no reason: the command's own memory.
 */
void check_errno(const struct tramp_refusal *r, int err, int link_fd, const char *what,
		 unsigned int n);
void check_refusal(const struct tramp_attach *a, int err, const char *what, unsigned int n);

/* An attachment as the ioctl makes it, no library in between. */
struct way {
	int prog_fd;
	const char *symbol;	/* a probe's */
	uint64_t offset;
	uint32_t flags;
	uint64_t addr;		/* or its address: no call of FUNC comes there */
};

/* Programs at FUNC. */
struct way fentry_way(void);
struct way fexit_way(void);
/* Behind the function's first instruction, the NOP5 that ftrace has: a probe of ours. */
struct way probe_way(uint32_t flags);
struct way entry_probe_way(void);
/* When the function returns. */
struct way return_way(void);

/* The request for a way. */
void way_fill(const struct way *way, uint64_t cookie, struct tramp_attach *a);
/* Return: 0 or a negative errno. */
int way_attach(const struct way *way, uint64_t cookie, struct tramp_attach *a);
/* Return: the link's descriptor; failing ends the test. */
int way_must_attach(const struct way *way, uint64_t cookie);

/* ---------------------------------------------------------------- actions --- */

/* The kernel's own program holds @func, so that no image of ours can be there. */
struct attachment hold_site(const char *func);
/* Programs at so many functions that a further one shares its ftrace_ops, until the next action. */
void attach_crowd(void);

/*
 * ATTACH, with @beside there already (its cookie is FIRST) or on its own (NULL). Its mode is always
 * the one that it has without a failure.
 */
void attach_faults(const char *what, const struct way *way, const struct way *beside);
/* Detaching, with @beside there as well (its cookie is FIRST) or on its own (NULL). */
void detach_faults(const char *what, const struct way *way, const struct way *beside,
		   int (*detach)(int fd), enum takes takes);
int detach_by_close(int fd);
/* The descriptor outlives its attachment, until the fault is over. */
int detach_by_command(int fd);
/* BPF_LINK_UPDATE to @other and back: the old program or the new one, never none and never both. */
void update_faults(const char *what, const struct way *way, int other);
/*
 * ATTACH_BATCH of two programs, and of a @third where no calls are (NULL: none): all or none. At
 * some failure each item is blamed, and at some nobody. Once more with two in a row.
 */
void batch_faults(const char *what, const struct way *one, const struct way *other,
		  const struct way *third);
/* DETACH_BATCH of two programs, and of a @third where no calls are (NULL: none): all or none. */
void detach_batch_faults(const char *what, const struct way *one, const struct way *other,
			 const struct way *third);

#endif /* FAILNTH_H */
