/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Members of structs that arguments and results lead to. Part of many.bpf.c.
 *
 * Each read may fault, and says so: nothing here takes an address on trust. User and kernel
 * addresses differ in their top bit, see string.bpf.h.
 */
#ifndef TRAMPCTL_MANY_MEMBER_BPF_H
#define TRAMPCTL_MANY_MEMBER_BPF_H

#include "many.h"
#include "string.bpf.h"

/* Constant for the verifier, so that what a run does without costs nothing. */
const volatile struct many_config cfg = {};

/* By function and many_config::nr_paths. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct many_path);
} paths SEC(".maps");

/* NULL leads to no member, even where somebody has mapped something there. */
#define NULL_PAGE	4096
#define FAULT		(-14)	/* EFAULT */

static __always_inline int read_at(void *dst, __u32 size, __u64 base, __u64 addr)
{
	if (base < NULL_PAGE)
		return FAULT;
	if ((__s64)addr >= 0)
		return bpf_probe_read_user(dst, size, (void *)addr);
	return bpf_probe_read_kernel(dst, size, (void *)addr);
}

/* The end of a path: a number; of a text its address; or the address that is no good. */
struct many_value {
	__u64 value;
};

/*
 * Follows a path from an argument or a result. Returns 0, or a negative errno. Not static: the
 * verifier looks at it once, not for each path.
 */
__noinline int many_fetch(const struct many_path *p, __u64 slot, struct many_value *v)
{
	__u64 base = slot, addr, val;
	__u32 size;
	int i, err;

	if (!p || !v)
		return FAULT;
	v->value = slot;
	if (p->kind == MANY_PATH_SLOT)
		return 0;
	for (i = 0; i < MANY_MAX_DEREFS; i++) {
		if (i >= p->nr)
			break;
		addr = base + p->off[i];
		v->value = addr;
		val = 0;
		err = read_at(&val, sizeof(val), base, addr);
		if (err)
			return err;
		base = val;
	}
	addr = base + p->last;
	v->value = addr;
	if (p->kind == MANY_PATH_TEXT)
		return base < NULL_PAGE ? FAULT : 0;
	size = p->size;
	if (size > sizeof(val))
		return FAULT;
	val = 0;
	err = read_at(&val, size, base, addr);
	if (!err)
		v->value = val;
	return err;
}

struct many_string {
	char text[TRACE_STR_LEN];
};

/*
 * Reads a text into a string that is all zeroes. @len: of the array that it is in, or 0. Returns
 * its length with a zero, or of an array that of all of it, or a negative errno.
 */
__noinline int many_read_text(struct many_string *dst, __u64 addr, __u32 len)
{
	int err;

	if (!dst)
		return 0;
	if (!len || len >= TRACE_STR_LEN)
		return read_str(dst->text, addr, TRACE_STR_CHARS);
	/* For the verifier, which does not follow the compiler there. */
	barrier_var(len);
	len &= TRACE_STR_LEN - 1;
	err = read_at(dst->text, len, addr, addr);
	return err ? err : len;
}

/* Is the text of comparison @nr at an address? Returns 1 or 0, or a negative errno. */
__noinline int many_text_is(__u64 addr, __u32 len, __u32 nr)
{
	char text[MANY_TEXT_LEN] = {};
	int err, i;

	nr &= MANY_MAX_TERMS - 1;
	/* One that is longer than any to compare with is cut, and equal to none. */
	if (!len || len >= sizeof(text)) {
		err = (__s64)addr >= 0 ?
		      bpf_probe_read_user_str(text, sizeof(text), (void *)addr) :
		      bpf_probe_read_kernel_str(text, sizeof(text), (void *)addr);
	} else {
		barrier_var(len);
		len &= MANY_TEXT_LEN - 1;
		err = read_at(text, len, addr, addr);
	}
	if (err < 0)
		return err;
	for (i = 0; i < MANY_TEXT_LEN; i++) {
		if (text[i] != cfg.text[nr][i])
			return 0;
		if (!text[i])
			break;
	}
	return 1;
}

/* Shows what a path leads to as number @nr of a call's members. */
__noinline int many_print_member(struct many_event *e, const struct many_path *p, __u64 slot,
				 __u32 nr)
{
	struct many_value v = {};
	__u32 str;
	int err;

	if (!e || !p || nr >= MANY_MAX_PRINTS)
		return 0;
	err = many_fetch(p, slot, &v);
	str = p->str;
	if (!err && p->kind == MANY_PATH_TEXT && str < TRACE_MAX_STRS) {
		err = many_read_text((struct many_string *)e->call.str[str], v.value, p->text_len);
		e->call.str_len[str] = err;
	} else if (!err) {
		err = 1;
	}
	e->print[nr].value = v.value;
	e->print[nr].status = err;
	return 0;
}

#endif /* TRAMPCTL_MANY_MEMBER_BPF_H */
