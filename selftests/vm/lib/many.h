/* SPDX-License-Identifier: GPL-2.0 */
/* One program attached to many functions by ATTACH_MULTI, without the library. */
#ifndef MANY_H
#define MANY_H

#include <stdlib.h>
#include <trampoline/trampoline.h>
#include "vmtest.h"

/* More than any kernel has. */
#define MANY_MAX 65536
/* Held by our module's probes, so never to be had for a direct call. */
#define MANY_HOOKED "arch_prepare_optimized_kprobe"

/**
 * struct many - a request, and what came of it
 * @cmd: its nr is how many functions there are
 * @addrs: the functions
 * @cookies: a cookie for each: its number
 * @reasons: why each was left out
 */
struct many {
	struct tramp_attach_multi cmd;
	uint64_t addrs[MANY_MAX];
	uint64_t cookies[MANY_MAX];
	uint32_t reasons[MANY_MAX];
};

/* An empty one. */
struct many *many_new(void);
/* One more function, by address or by name; the name must be a symbol's. */
void many_add(struct many *m, uint64_t addr);
void many_add_name(struct many *m, const char *name);
/*
 * Functions that ftrace can patch and that are not on the deny list, until there are @nr.
 * MANY_HOOKED is not among them, nor below.
 */
void many_fill(struct many *m, uint32_t nr);
/* All of them, modules' as well. */
void many_fill_all(struct many *m);
/*
 * The same, but in the short form on a debug kernel every fourth: that takes ten minutes to attach
 * to all, and everything is slow from then on. Returns that: 4, or 1.
 */
int many_fill_share(struct many *m);
/* 0 or a negative errno; many_attach() fails the test. */
int many_attach_try(struct many *m, int prog_fd, uint32_t flags);
void many_attach(struct many *m, int prog_fd, uint32_t flags);
void many_detach(struct many *m);

/*
 * struct bpf_link_info of a link to many functions, which this system's headers need not have:
 * from 6.6 on, with cookies from 6.9 on.
 */
struct many_info {
	uint32_t type, id, prog_id, pad;
	uint64_t addrs;
	uint32_t count, flags;
	uint64_t missed, cookies;
};
/* BPF_OBJ_GET_INFO_BY_FD. Return: 0 or a negative errno. */
int many_info(int link_fd, struct many_info *info);

/* For a program in SEC("kprobe.session"), which is a plain one before 6.10. */
uint32_t many_session(void);

/*
 * foo__open() for foo.skel.h by way of the library, so that programs for many functions load on
 * any kernel. The header is to be included first.
 */
#define many_open(name) ({							\
	struct name *skel_ = calloc(1, sizeof(*skel_));				\
										\
	if (skel_ && (name##__create_skeleton(skel_) ||				\
		      tramp_object__open_skeleton(skel_->skeleton, NULL))) {	\
		name##__destroy(skel_);						\
		skel_ = NULL;							\
	}									\
	skel_;									\
})

#endif /* MANY_H */
