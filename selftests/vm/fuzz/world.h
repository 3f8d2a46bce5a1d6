/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The things that requests are about: programs, links, names, addresses, and the user memory that
 * requests lie in. Each process has its own.
 */
#ifndef FUZZ_WORLD_H
#define FUZZ_WORLD_H

#include <stdint.h>
#include "input.h"

#define WORLD_PROGS	64
#define WORLD_LINKS	16
#define WORLD_PLACES	512
#define WORLD_BTFS	8
/* Pieces of user memory for one request, and their size. */
#define WORLD_PIECES	12
#define WORLD_PIECE	16384

/**
 * struct world - see above
 * @dev: the device
 * @progs: file descriptors: programs that can be attached somewhere, then those that cannot, then
 *	what is no program
 * @nr_progs: how many
 * @nr_good: how many of them can be attached
 * @nr_tracing: how many of these know their function
 * @links: file descriptors of links made by requests
 * @nr_links: how many
 * @names: functions' names, some of them with a module, and some that no function has
 * @addrs: addresses of functions
 * @btfs: ids of BTF objects
 * @nr_btfs: how many
 * @rights: the process may attach
 */
struct world {
	int dev;
	int progs[WORLD_PROGS];
	unsigned int nr_progs, nr_good, nr_tracing;
	int links[WORLD_LINKS];
	unsigned int nr_links;
	const char *names[WORLD_PLACES];
	uint64_t addrs[WORLD_PLACES];
	uint32_t btfs[WORLD_BTFS];
	unsigned int nr_btfs;
	bool rights;
};

extern struct world world;

/* Set it up. Ends the test on failure. */
void world_setup(void);

/* A link has been made. The oldest one goes if there are too many. */
void world_add_link(int fd);
/* Close all links. */
void world_drop_links(void);

/* A file descriptor of a program; seldom of something else. */
int world_prog(struct input *in);
/* One of a link; seldom of something else. */
int world_link(struct input *in);
/* An address; often of a function, or of an instruction of one. */
uint64_t world_addr(struct input *in);
/* A name into @text, which has room for @len bytes. Return: its bytes, a NUL among them if any. */
size_t world_name(struct input *in, char *text, size_t len);

/*
 * Piece @i of the user memory, with room for @len bytes, all zero. Behind its last byte there is
 * no memory: neither a read nor a write beyond it goes unseen.
 */
void *world_memory(unsigned int i, size_t len);
/* The address of memory that is not as it should be: it cannot be written, or ends too early. */
uint64_t world_bad_memory(struct input *in, size_t len);

/* Whatever else may happen to links, and to functions with programs. */
void world_act(struct input *in);

#endif /* FUZZ_WORLD_H */
