/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Those that keep a link: processes with a descriptor of it, and pins.
 */
#ifndef TRAMPCTL_HOLDERS_H
#define TRAMPCTL_HOLDERS_H

#include <stddef.h>
#include <stdint.h>

struct holder {
	uint32_t pid;
	char comm[64];
};

struct holders {
	struct holder *list;
	size_t nr;
	char **pins;		/* paths */
	size_t nr_pins;
};

/* Fills @h, which is all zero, with those that can be seen. */
void holders_find(struct holders *h, uint32_t id);
void holders_free(struct holders *h);

#endif /* TRAMPCTL_HOLDERS_H */
