/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The BPF side of stacks.h: constant for the verifier, it costs nothing if unused.
 */
#ifndef TRAMPCTL_STACKS_BPF_H
#define TRAMPCTL_STACKS_BPF_H

#include "stacks.h"

/* Both stacks of the task, as far as they are wanted. */
static __always_inline void take_stacks(void *ctx, struct stacks *s,
					const volatile struct stacks_config *cfg)
{
	if (cfg->kernel)
		s->kernel_len = bpf_get_stack(ctx, s->frames, cfg->kernel, 0);
	if (cfg->user)
		s->user_len = bpf_get_stack(ctx, (void *)s->frames + cfg->kernel, cfg->user,
					    BPF_F_USER_STACK);
}

/* Bytes of a record that has them at @offset, its last member. */
static __always_inline __u64 stacks_end(__u64 offset, const volatile struct stacks_config *cfg)
{
	return offset + offsetof(struct stacks, frames) + cfg->kernel + cfg->user;
}

#endif /* TRAMPCTL_STACKS_BPF_H */
