/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Types of BTF, as expressions with members need them.
 */
#ifndef TRAMPCTL_MEMBER_TYPE_H
#define TRAMPCTL_MEMBER_TYPE_H

#include <bpf/btf.h>
#include <linux/types.h>
#include <stdbool.h>
#include <trampoline/trampoline.h>

#include "../../distance.h"

/**
 * struct type_member - where a member is
 * @type: its type
 * @bit: where it begins in the struct
 * @field_bits: it is a bit field of as many; 0: it is none
 */
struct type_member {
	__u32 type;
	__u64 bit;
	__u32 field_bits;
};

const struct btf_type *btf_skip_names(const struct btf *btf, __u32 id);
const char *type_name(const struct btf *btf, __u32 name_off);
const char *type_kind_text(const struct btf *btf, const struct btf_type *t);
const char *type_text(const struct btf *btf, __u32 id);
bool type_is_composite(const struct btf_type *t);
const struct btf_type *type_whole(const struct btf *btf, const struct btf_type *t);
bool type_find_member(const struct btf *btf, const struct btf_type *t, const char *name,
		      struct type_member *found);
void type_try_members(struct libtramp_nearest *near, const struct btf *btf,
		      const struct btf_type *t, const char *name);
bool type_is_char(const struct btf *btf, __u32 id);
__u32 type_flags(const struct btf *btf, const struct btf_type *t);

#endif /* TRAMPCTL_MEMBER_TYPE_H */
