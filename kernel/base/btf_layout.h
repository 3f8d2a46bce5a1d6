/* SPDX-License-Identifier: GPL-2.0 */
/* Where the members of the kernel's private structs are, by its own BTF. */
#ifndef TRAMP_BTF_LAYOUT_H
#define TRAMP_BTF_LAYOUT_H

#include <linux/btf.h>

/**
 * struct tramp_btf_wanted - a member to be found
 * @name: its name
 * @size: its bytes
 * @offset: (out) its offset in bytes
 */
struct tramp_btf_wanted {
	const char *name;
	u32 size;
	u32 *offset;
};

/**
 * tramp_btf_layout() - find members of a struct of the kernel proper
 * @name: the struct
 * @wanted: the members
 * @nr: how many
 * @size: (out) the struct's bytes
 *
 * Context: may sleep.
 * Return: whether all are there, each at a multiple of its size.
 */
bool tramp_btf_layout(const char *name, const struct tramp_btf_wanted *wanted, u32 nr, u32 *size);

#endif /* TRAMP_BTF_LAYOUT_H */
