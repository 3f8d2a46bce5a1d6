/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Requests to the device, as they are, without the library, of which one thing is wrong. Each
 * has its errno and reason in include/uapi/linux/trampoline.h. Each leaves nothing behind: not
 * a link, not an image, not a file descriptor.
 */
#ifndef REQUESTS_H
#define REQUESTS_H

#include <linux/capability.h>
#include <linux/types.h>
#include "attachment.h"

/* Any command's struct with room for a tail. */
union arg {
	uint32_t size;
	struct tramp_info info;
	struct tramp_attach attach;
	struct tramp_explain explain;
	struct tramp_query query;
	struct tramp_explain_code code;
	struct tramp_attach_multi multi;
	struct tramp_attach_batch batch;
	struct tramp_detach_batch going;
	unsigned char bytes[8192];
};

/* The programs, loaded by setup(); it skips the test where it is not about us. */
extern struct errors *skel;
void setup(void);
#define FD(prog) bpf_program__fd(skel->progs.prog)

/* Cases so far. */
extern int cases;

/* A case must leave this as it was. */
struct state {
	struct tramp_info info;
	int fds;
};
struct state state_now(void);
void check_unchanged(const struct state *before, const char *what);

/* Give up all capabilities but these. */
void set_caps(uint64_t caps);
#define CAP(name) (1ULL << (CAP_ ## name))
/* All up to CAP_CHECKPOINT_RESTORE. */
#define ALL_CAPS ((1ULL << 41) - 1)

/* 0 or a negative errno */
int call(unsigned int cmd, void *arg);
/* One case: the errno, the reason (-1: none to look at), and nothing left behind. */
void expect(const char *what, unsigned int cmd, void *arg, int err, int reason);
/*
 * A request that would be answered: what is wrong with a case is that case alone. QUERY finds no
 * link, and DETACH_BATCH is about fd -1.
 */
void good_request(union arg *a, unsigned int cmd);
/* Attach what is no program to attach. */
void attach_fd_case(const char *what, int fd, int err, int reason);

#endif /* REQUESTS_H */
