/* SPDX-License-Identifier: LGPL-2.1 OR BSD-2-Clause */
/*
 * Shared by the files of the snapshot: its functions, names in it, and its BTF types.
 */
#ifndef LIBTRAMPOLINE_SYMS_INTERNAL_H
#define LIBTRAMPOLINE_SYMS_INTERNAL_H

#include <pthread.h>

#include <trampoline/trampoline.h>

struct btf_entry;
struct btf_type;
struct libtramp_btfs;

/**
 * struct libtramp_later - what only some who load a snapshot ask for
 * @lock: everything below; what is there once does not change any more
 * @by_addr: indices into tramp_syms::syms in the order of addresses, of those that have one
 * @nr_by_addr: how many
 * @lines: lines of ftrace's list without an address, by the first function of their name and
 *	module; 255 if there are more
 * @filter_functions: as in struct tramp_syms_opts
 * @traceable_read: that file was read, or could not be
 * @traceable_err: 0 if TRAMP_SYM_TRACEABLE is meaningful, otherwise a negative errno
 */
struct libtramp_later {
	pthread_mutex_t lock;
	uint32_t *by_addr;
	size_t nr_by_addr;
	uint8_t *lines;
	char *filter_functions;
	bool traceable_read;
	int traceable_err;
};

/**
 * struct tramp_syms - a snapshot
 * @syms: functions, in the order of name, module ("" first), address
 * @nr: how many
 * @text: what was read; strings are pieces of it
 * @later: what is made when it is asked for
 * @btfs: BTF of the kernel and its modules, loaded when asked for (btf.c)
 */
struct tramp_syms {
	struct tramp_sym *syms;
	size_t nr;
	char *text;
	struct libtramp_later *later;
	struct libtramp_btfs *btfs;
};

/* A name or a pattern, with the module before the colon cut off. */
struct libtramp_spec {
	bool has_module;
	char module[TRAMP_MOD_LEN];	/* "" with has_module: the kernel proper */
	const char *name;
};

/* Split "module:name"; negative errno with the last error filled if malformed. */
int libtramp_spec_parse(const char *spec, struct libtramp_spec *out);

/**
 * struct libtramp_pattern - a pattern, read once
 * @spec: its two globs
 * @prefix: characters of the name before the first wildcard
 * @plain: there is no wildcard in the name
 * @single: nor in the module
 */
struct libtramp_pattern {
	struct libtramp_spec spec;
	size_t prefix;
	bool plain, single;
};

/* Keeps pointers into @text; negative errno with the last error filled if malformed. */
int libtramp_pattern_parse(const char *text, struct libtramp_pattern *p);

/* Does it match a function? */
bool libtramp_pattern_matches(const struct libtramp_pattern *p, const struct tramp_sym *sym);

/*
 * The first function that matches, not before number @i: 0, or behind the last that matched.
 * Returns syms->nr if there is none.
 */
size_t libtramp_pattern_next(const struct tramp_syms *syms, const struct libtramp_pattern *p,
			     size_t i);

/* Functions in the order of addresses: @nr indices, NULL if there is no memory for them. */
const uint32_t *libtramp_syms_by_addr(const struct tramp_syms *syms, size_t *nr);

/*
 * Names of the last function that does not begin behind an address, in the order of names: @nr
 * indices, 0 if there is none. Returns NULL if there is no memory.
 */
const uint32_t *libtramp_syms_names_at(const struct tramp_syms *syms, uint64_t addr, size_t *nr);

/*
 * Functions of a name in a module: how many, and is it known of each whether ftrace can patch
 * it? A list without addresses says so only if it has a line for each.
 */
struct libtramp_namesakes {
	uint32_t nr;
	bool each_known;
};
struct libtramp_namesakes libtramp_syms_namesakes(const struct tramp_syms *syms,
						  const struct tramp_sym *sym);

/* The first function not before @name in the order of names: an index, @nr at the end. */
size_t libtramp_syms_lower(const struct tramp_syms *syms, const char *name);

/* Characters that make a pattern of a name. */
#define LIBTRAMP_WILDCARDS	"*?["

/* The module of a function, as a person writes it in front of the name. */
static inline const char *libtramp_shown_module(const struct tramp_sym *sym)
{
	return sym->module[0] ? sym->module : "vmlinux";
}

/**
 * struct libtramp_unknown - why no function has a name
 * @inlined: BTF describes one that the compiler inlined everywhere, or dropped
 * @remedy: what to do; NULL: the reason says it all
 * @detail: the module that is missing, the nearest names; may be empty
 * @way: @remedy, if it was made for the name
 */
struct libtramp_unknown {
	bool inlined;
	const char *remedy;
	char detail[384], way[384];
};

/**
 * libtramp_why_unknown() - what is known about a name that no function has
 * @syms: the snapshot
 * @spec: the name
 * @plain: it is no pattern; of one, only the module can be missing
 * @u: (out) the answer
 */
void libtramp_why_unknown(const struct tramp_syms *syms, const struct libtramp_spec *spec,
			  bool plain, struct libtramp_unknown *u);

/* BTF of a snapshot: where to read it; NULL: the running kernel's. */
struct libtramp_btfs *libtramp_btfs_new(const char *vmlinux, const char *module_dir);
void libtramp_btfs_free(struct libtramp_btfs *btfs);

/* A module's BTF, for those who ask about many functions. */
struct libtramp_btf {
	const struct btf_entry *entry;	/* NULL: there is none */
	const struct btf *btf;
	uint32_t obj_id;		/* 0: not known to the caller */
};

/* The BTF of a module, "" for the kernel proper; negative errno with the last error filled. */
int libtramp_btf_of(struct tramp_syms *syms, const char *module, struct libtramp_btf *out);

/*
 * The type of a function that has several names: BTF knows it by one of them. Names that other
 * functions of the module have as well do not count: BTF does not say whose type it is.
 * Returns 0, and no error, if there is none.
 */
uint32_t libtramp_btf_function(const struct tramp_syms *syms, const struct libtramp_btf *btf,
			       const char *module, const uint32_t *names, size_t nr);

/**
 * libtramp_type_decl() - write a declaration as C does
 * @btf: where the type is
 * @type_id: the type, 0: void
 * @name: what is declared; "" for the type alone
 * @buf: receives the text, cut and zero-terminated
 * @len: bytes at @buf
 *
 * Return: 0; -ENAMETOOLONG if it was cut; -EINVAL if the type is broken.
 */
int libtramp_type_decl(const struct btf *btf, uint32_t type_id, const char *name,
		       char *buf, size_t len);

/* The type behind typedefs, const and their like; NULL if broken or void. */
const struct btf_type *libtramp_skip_mods(const struct btf *btf, uint32_t id);

#endif /* LIBTRAMPOLINE_SYMS_INTERNAL_H */
