/* SPDX-License-Identifier: GPL-2.0 */
/* Shared by test_share.c and its programs. */
#ifndef SHARE_H
#define SHARE_H

#define SHARE_FUNCS	4
#define SHARE_ORDER	64
#define SHARE_TAGS	16	/* a power of two, for the verifier */
/* The argument for which the first session skips its return. */
#define SHARE_SKIP	77

/* Programs note these. A session's return is one more than its entry. */
enum {
	SHARE_ENTRY1 = 1, SHARE_ENTRY2, SHARE_RETURN1, SHARE_RETURN2,
	SHARE_SESSION1, SHARE_SESSION1_RETURN, SHARE_SESSION2, SHARE_SESSION2_RETURN,
	SHARE_FENTRY, SHARE_FENTRY2, SHARE_FEXIT, SHARE_KPROBE, SHARE_KRETPROBE,
};

#endif /* SHARE_H */
