/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The commands of include/uapi/linux/trampoline.h as a description that programs can read: each
 * member of each struct, with its meaning to whoever makes up requests or judges answers. The
 * fuzzer does both (world.h, request.h, answer.h), and docs/abi/syzkaller.txt is written
 * from it (syzkaller.c).
 *
 * Every byte of a struct belongs to one member here: uapi_hole() finds those that do not.
 */
#ifndef FUZZ_UAPI_H
#define FUZZ_UAPI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A member by its meaning. */
enum uapi_what {
	UAPI_SIZE,	/* the struct's size */
	UAPI_FLAGS,	/* some of @flags */
	UAPI_NUMBER,	/* up to @max */
	UAPI_ANY,	/* 64 bits without a meaning to the module */
	UAPI_PROG_FD,
	UAPI_LINK_ID,
	UAPI_BTF_OBJ,	/* the id of a BTF object */
	UAPI_BTF_ID,	/* the id of a type in it */
	UAPI_SYMBOL,	/* text of a fixed size: a function's name */
	UAPI_MODULE,	/* the same of a module */
	UAPI_ADDR,	/* an address in the kernel */
	UAPI_OFFSET,	/* bytes from a function's beginning */
	UAPI_POINTER,	/* to user memory with as many @elem as the member @length says */
	UAPI_LENGTH,	/* of the memory that another member points to */
	UAPI_ELEM_SIZE,	/* of one item there */
	UAPI_RESERVED,	/* must be 0 */
	UAPI_OUT,	/* the module writes it, whatever it held */
	UAPI_FD_OUT,	/* the same, a file descriptor of a link */
	UAPI_REFUSAL,	/* the same, a struct tramp_refusal */
	UAPI_WHY,	/* the same, which says something of an answer as well */
};

/* A pointer's elements. */
enum uapi_elem {
	UAPI_BYTES,	/* (out) bytes */
	UAPI_INSNS,	/* (out) struct tramp_insn_info */
	UAPI_REASONS,	/* (out) u32 */
	UAPI_ADDRS,	/* u64, each an address */
	UAPI_COOKIES,	/* u64 of any value */
	UAPI_NAMES,	/* texts, one behind the other, each with its NUL */
	UAPI_FDS,	/* s32, file descriptors of links */
	UAPI_ITEMS,	/* struct tramp_attach */
};

struct uapi_flag {
	const char *name;
	uint32_t value;
};

/**
 * struct uapi_field - a member of a command's struct
 * @name: its name
 * @what: its meaning
 * @at: where in the struct, in bytes
 * @len: its size in bytes
 * @back: the module writes it, although it is read as well
 * @elem: what a pointer leads to
 * @length: the member that says how much is there
 * @flags: the names of flags, ended by one without a name
 * @max: the largest number that is in range
 */
struct uapi_field {
	const char *name;
	enum uapi_what what;
	uint16_t at, len;
	bool back;
	enum uapi_elem elem;
	const char *length;
	const struct uapi_flag *flags;
	uint64_t max;
};

/**
 * struct uapi_command - a command
 * @name: its name, as in TRAMP_IOC_<name>
 * @type: its struct
 * @nr: its number, as ioctl() takes it
 * @size: sizeof its struct
 * @min: the smallest that the module takes
 * @fields: its members, in order
 * @nr_fields: how many
 * @errnos: those that the header names for it, besides the ones for every command; ended by 0
 * @open_only: needs no rights but the open device
 */
struct uapi_command {
	const char *name, *type;
	unsigned int nr;
	uint16_t size, min;
	const struct uapi_field *fields;
	unsigned int nr_fields;
	const int *errnos;
	bool open_only;
};

#define UAPI_COMMANDS 8
extern const struct uapi_command uapi_commands[UAPI_COMMANDS];

/* A command by its name, and a member by its name. The name must be one that is there. */
const struct uapi_command *uapi_command(const char *name);
const struct uapi_field *uapi_field(const struct uapi_command *c, const char *name);

/* Whether the header has that errno for the command. */
bool uapi_may_fail(const struct uapi_command *c, int error);

/*
 * The first byte of a command's struct that belongs to no member or to two of them; -1 if there is
 * none.
 */
int uapi_hole(const struct uapi_command *c);

#endif /* FUZZ_UAPI_H */
