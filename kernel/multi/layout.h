/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The structs in which the kernel's helpers look for the data of a program that was loaded
 * for many functions (kprobe.multi, kprobe.session).
 */
#ifndef TRAMP_MULTI_LAYOUT_H
#define TRAMP_MULTI_LAYOUT_H

#include <linux/types.h>

/**
 * struct tramp_multi_layout - sizes and offsets in bytes, from the kernel's own BTF
 * @known: the kernel has these structs, and they are as expected
 * @sessions: with @known: it has sessions, too
 * @link_size: of struct bpf_kprobe_multi_link
 * @link_addrs: of its pointer to the functions' addresses, in ascending order
 * @link_cookies: of its pointer to their cookies, in the same order; NULL: all are 0
 * @link_cnt: of its u32: how many functions
 */
struct tramp_multi_layout {
	bool known;
	bool sessions;
	u32 link_size;
	u32 link_addrs;
	u32 link_cookies;
	u32 link_cnt;
};
extern struct tramp_multi_layout tramp_multi_layout;

/*
 * Look them up, and fill in the emitter's part (struct tramp_x86_env). Module init, after the
 * helpers. Return: 0. Without them it takes plain kprobe programs only.
 */
int tramp_multi_layout_init(void);

#endif /* TRAMP_MULTI_LAYOUT_H */
