/* SPDX-License-Identifier: LGPL-2.1 OR BSD-2-Clause */
/*
 * libtrampoline: prototypes of functions, out of BTF, and values as they have it.
 */
#ifndef TRAMPOLINE_PROTO_H
#define TRAMPOLINE_PROTO_H

#include <trampoline/symbols.h>

#ifdef __cplusplus
extern "C" {
#endif

/* tramp_arg::flags */
#define TRAMP_ARG_SIGNED	(1U << 0)	/* a signed integer or enum */
#define TRAMP_ARG_BOOL		(1U << 1)
#define TRAMP_ARG_CHAR		(1U << 2)	/* char, as declared */
#define TRAMP_ARG_ENUM		(1U << 3)
#define TRAMP_ARG_PTR		(1U << 4)
#define TRAMP_ARG_STRUCT	(1U << 5)	/* struct or union by value */
#define TRAMP_ARG_FLOAT		(1U << 6)
#define TRAMP_ARG_VOID		(1U << 7)	/* only as a result */
#define TRAMP_ARG_STR		(1U << 8)	/* pointer to char: a string, perhaps */

/**
 * struct tramp_arg - one argument of a function, or its result
 * @name: its name; "argN" where BTF has none, "ret" for the result
 * @type: its type as C writes it ("struct filename *")
 * @type_id: its BTF type
 * @size: bytes, 0 for void
 * @slot: first of its slots: ctx[@slot] in a program
 * @nr_slots: slots it takes, (size + 7) / 8
 * @flags: TRAMP_ARG_*
 *
 * It is an element of tramp_proto::args and a part of struct tramp_proto, so it never changes its
 * size. More about an argument would come by a call of its own.
 */
struct tramp_arg {
	const char *name;
	const char *type;
	uint32_t type_id;
	uint32_t size;
	uint32_t slot;
	uint32_t nr_slots;
	uint32_t flags;
};

/**
 * struct tramp_proto - a function's prototype
 * @name: the function
 * @text: all of it as C writes it: "int do_unlinkat(int dfd, struct filename *name)"
 * @btf: the BTF that describes it; belongs to whoever loaded it
 * @func_id: its BTF_KIND_FUNC type
 * @variadic: ends in "..."
 * @nr_args: arguments, without the "..."
 * @nr_slots: slots they take together; ctx[@nr_slots] is the result
 * @args: the arguments
 * @ret: the result
 *
 * Members are only ever added at the end.
 */
struct tramp_proto {
	const char *name;
	const char *text;
	const struct btf *btf;
	uint32_t func_id;
	bool variadic;
	uint32_t nr_args;
	uint32_t nr_slots;
	const struct tramp_arg *args;
	struct tramp_arg ret;
};

/**
 * tramp_proto__new() - read a function's prototype out of BTF
 * @btf: must stay as long as the prototype
 * @func_id: a BTF_KIND_FUNC type of it
 *
 * Errors: -EINVAL if @func_id is no function, -ENOMEM.
 * Return: to be freed with tramp_proto__free(); NULL and errno on failure.
 */
TRAMP_API struct tramp_proto *tramp_proto__new(const struct btf *btf, uint32_t func_id);

/** tramp_proto__free() - free a prototype; NULL is fine */
TRAMP_API void tramp_proto__free(struct tramp_proto *proto);

/**
 * tramp_syms__proto() - a function's prototype, out of the kernel's or its module's BTF
 * @syms: the snapshot
 * @sym: out of @syms
 *
 * Of a function with several names, BTF has one: the prototype is then of another name than @sym,
 * which is the one for SEC("fentry/...").
 *
 * Errors: -ENOENT (NO_BTF) if BTF does not describe it; -errno with
 * TRAMP_LIB_NO_KERNEL_BTF if there is no BTF at all.
 * Return: to be freed with tramp_proto__free(), before @syms; NULL and errno on failure.
 */
TRAMP_API struct tramp_proto *tramp_syms__proto(struct tramp_syms *syms,
						const struct tramp_sym *sym);

/**
 * tramp_syms__btf() - the BTF of the kernel or of a module
 * @syms: the snapshot
 * @module: NULL, "" or "vmlinux": the kernel proper
 *
 * Return: belongs to @syms; NULL and errno on failure (TRAMP_LIB_NO_KERNEL_BTF,
 * TRAMP_LIB_BAD_ARGUMENT for what is no name of a module).
 */
TRAMP_API const struct btf *tramp_syms__btf(struct tramp_syms *syms, const char *module);

/**
 * tramp_syms__btf_id() - where BTF describes a function
 * @syms: the snapshot
 * @sym: out of @syms
 * @btf_obj_id: receives the BTF object's id in the kernel (bpftool btf list);
 *	NULL: not wanted. Needs the right to list BTF objects (CAP_SYS_ADMIN).
 *
 * A function with several names is found by any of them, as with tramp_syms__proto().
 *
 * Return: the BTF_KIND_FUNC type id; or negative errno as tramp_syms__proto(), -EPERM.
 */
TRAMP_API int tramp_syms__btf_id(struct tramp_syms *syms, const struct tramp_sym *sym,
				 uint32_t *btf_obj_id);

/**
 * tramp_arg__format() - write a value of an argument or result as text
 * @proto: the prototype @arg belongs to
 * @arg: what it is
 * @slots: its nr_slots slots: &ctx[arg->slot]; for a result the one slot &ctx[nr_slots]
 * @buf: receives the text, cut and zero-terminated
 * @len: bytes at @buf
 *
 * Integers are written by size and sign, enums by name, pointers in hex (0 as NULL). Bools are
 * true and false, chars are quoted, small structs are their bytes in hex, void is "void".
 *
 * Return: the length of the whole text, as snprintf().
 */
TRAMP_API int tramp_arg__format(const struct tramp_proto *proto, const struct tramp_arg *arg,
				const uint64_t *slots, char *buf, size_t len);

#ifdef __cplusplus
}
#endif

#endif /* TRAMPOLINE_PROTO_H */
