/* SPDX-License-Identifier: LGPL-2.1 OR BSD-2-Clause */
/*
 * What the files of the library share. Names start with libtramp_, so that they
 * cannot clash with a user's when the library is linked statically.
 */
#ifndef LIBTRAMPOLINE_INTERNAL_H
#define LIBTRAMPOLINE_INTERNAL_H

#include <errno.h>
#include <pthread.h>
#include <stdio.h>

#include <trampoline/trampoline.h>

struct btf_type;

#define ARRAY_SIZE(a)	(sizeof(a) / sizeof((a)[0]))

/* Longest subject of an error: 'program "x" (SEC("y"))'. */
#define LIBTRAMP_SUBJECT_LEN	256

/* ---------------------------------------------------------------- errors -- */

/**
 * struct libtramp_failure - what libtramp_fail() records, besides the detail
 * @err: negative errno
 * @reason: enum tramp_reason or enum tramp_lib_reason
 * @subject: what it is about; NULL: nothing
 * @remedy: what to do; NULL: the reason's general remedy
 * @addr: the address it is about, 0: none
 * @from_kernel: the module refused
 */
struct libtramp_failure {
	int err;
	unsigned int reason;
	const char *subject;
	const char *remedy;
	uint64_t addr;
	bool from_kernel;
};

/* In the place of a detail: there is none. */
#define NO_DETAIL	((const char *)0)

/**
 * libtramp_fail() - record the calling thread's last error
 * @f: what failed; its strings may be those of the last error itself
 * @detail: printf format of the detail; NO_DETAIL: none
 *
 * Return: @f->err, with errno set to match.
 */
int libtramp_fail(const struct libtramp_failure *f, const char *detail, ...)
	__attribute__((format(printf, 2, 3)));

/* libtramp_fail() for the usual case: errno, reason, subject, detail... */
#define LIBTRAMP_FAIL(error, why, what, ...)				\
	libtramp_fail(&(struct libtramp_failure) {			\
		.err = (error), .reason = (why), .subject = (what) },	\
		__VA_ARGS__)

/**
 * libtramp_fail_refusal() - record a refusal of the module
 * @err: negative errno of the ioctl
 * @refusal: what the module filled in
 * @subject: what it is about; NULL: nothing
 *
 * Return: @err, with errno set to match.
 */
int libtramp_fail_refusal(int err, const struct tramp_refusal *refusal, const char *subject);

/* Record -ENOMEM. */
int libtramp_fail_nomem(const char *subject);

/* Print the last error as a warning: for calls that act, at their outermost layer. */
void libtramp_warn_last(void);

/* Pass a message to the print callback. */
void libtramp_print(enum tramp_print_level level, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

/* --------------------------------------------------------------- structs -- */

/**
 * libtramp_sized_ok() - is a struct whose first member is its size acceptable?
 * @user: the caller's struct; NULL is not acceptable
 * @user_sz: its @sz
 * @min: bytes every version had
 * @known: bytes this version knows
 *
 * A longer one is fine while its tail is zero: nothing is asked for that this
 * version does not know.
 */
bool libtramp_sized_ok(const void *user, size_t user_sz, size_t min, size_t known);

#define LIBTRAMP_OFFSETOFEND(type, field) \
	(offsetof(struct type, field) + sizeof(((struct type *)0)->field))

/* Options: NULL is fine, @sz covers at least itself, an unknown tail is zero. */
#define LIBTRAMP_OPTS_VALID(opts, type)						\
	(!(opts) || libtramp_sized_ok((opts), (opts)->sz, sizeof(size_t),	\
				      LIBTRAMP_OFFSETOFEND(type, type##__last_field)))

/* Is @field within the caller's version of the options? */
#define LIBTRAMP_OPTS_HAS(opts, type, field) \
	((opts) && (opts)->sz >= LIBTRAMP_OFFSETOFEND(type, field))

#define LIBTRAMP_OPTS_GET(opts, type, field, fallback) \
	(LIBTRAMP_OPTS_HAS(opts, type, field) ? (opts)->field : (fallback))

/**
 * libtramp_out() - hand a filled struct to the caller, as much of it as he knows
 * @user: his struct, its first member is @user_sz
 * @mine: ours
 * @mine_sz: its size
 */
void libtramp_out(void *user, size_t user_sz, const void *mine, size_t mine_sz);

/* ---------------------------------------------------------------- device -- */

/**
 * libtramp_dev_open() - open the module's device and check that we understand it
 * @subject: for the error
 *
 * Opened for each call and not kept: an open device holds the module.
 *
 * Return: a descriptor to close(), or negative errno with the last error filled.
 */
int libtramp_dev_open(const char *subject);

/**
 * libtramp_dev_cmd() - one ioctl
 *
 * Return: 0 or negative errno; does not touch the last error.
 */
int libtramp_dev_cmd(int dev, unsigned long cmd, void *arg);

/* Like libtramp_dev_open() without the check of the ABI, and the check itself. */
int libtramp_dev_open_any(const char *subject);
int libtramp_abi_check(int err, const struct tramp_info *info, const char *subject);

/* ----------------------------------------------------------------- links -- */

/**
 * struct tramp_link - a handle of a BPF link of the module
 * @fd: descriptor of the link, owned unless @disconnected
 * @id: the link's id
 * @disconnected: destroy leaves @fd open
 * @pin_path: where it is pinned through this handle; NULL
 * @name: its program's name as libbpf knows it; NULL if opened
 */
struct tramp_link {
	int fd;
	uint32_t id;
	bool disconnected;
	char *pin_path;
	char *name;
};

/* A handle that owns @fd; closes it on failure. @name may be NULL. */
struct tramp_link *libtramp_link_new(int fd, uint32_t id, const char *name);

/**
 * libtramp_fd_is() - is a descriptor a BPF object of a sort?
 * @sort: "link" or "prog"
 *
 * The kernel answers info requests for programs, maps and links alike, with structs
 * that only look the same: the name of the anonymous inode tells them apart.
 */
bool libtramp_fd_is(int fd, const char *sort);

/* "link 12" into @buf; returns @buf. */
const char *libtramp_link_subject(char *buf, size_t len, uint32_t id);

/* "program 'x' (SEC("y"))" into @buf; returns @buf. */
const char *libtramp_prog_subject(char *buf, size_t len, const struct bpf_program *prog);

/**
 * libtramp_prog_unsupported() - why this version does not attach a program's kind
 * @remedy: (out) what to do instead
 *
 * Return: NULL if it does.
 */
const char *libtramp_prog_unsupported(const struct bpf_program *prog, const char **remedy);

/* tramp_attach() and tramp_link__pin() without the warning. */
struct tramp_link *libtramp_attach(const struct bpf_program *prog,
				   const struct tramp_attach_opts *opts);
int libtramp_link_pin(struct tramp_link *link, const char *path);

/* Those of the attach flags that apply to the kind of a program. */
uint32_t libtramp_flags_for(const struct bpf_program *prog, uint32_t flags);

/**
 * libtramp_query() - QUERY
 * @dev: the device
 * @q: @link_id, @flags and the image buffer are the caller's; the size is set here
 * @subject: for the error
 *
 * Return: 0 or negative errno with the last error filled.
 */
int libtramp_query(int dev, struct tramp_query *q, const char *subject);

/* What QUERY failed with becomes the last error; returns @err. */
int libtramp_query_failed(int err, const struct tramp_query *q, const char *subject);

/* Fill a caller's info from a QUERY. */
void libtramp_fill_info(struct tramp_link_info *info, const struct tramp_query *q);

/* The id of a loaded program; 0 if the descriptor is none. */
uint32_t libtramp_prog_id(int prog_fd);

/* The first attached link of the module that has this program; 0: none. */
uint32_t libtramp_link_of_prog(int prog_fd);

/* ---------------------------------------------------------------- probes -- */

/* Room for the text of any place. */
#define LIBTRAMP_PLACE_LEN	(TRAMP_MOD_LEN + TRAMP_SYM_LEN + 24)

/**
 * libtramp_place_parse() - tramp_place__parse()
 * @section: it stands in a section name, where only a function and an offset can be
 * @subject: for the error
 *
 * Return: 0 or negative errno with the last error filled.
 */
int libtramp_place_parse(const char *text, bool section, struct tramp_place *place,
			 const char *subject);

/* A place out of options, perhaps with a module alone; errors as above. */
int libtramp_place_from_opts(const struct tramp_attach_opts *opts, struct tramp_place *place,
			     const char *subject);

/* The place as it is written, into @buf; returns @buf. */
const char *libtramp_place_text(const struct tramp_place *place, char *buf, size_t len);

/* Replace what only the library understands ("vmlinux") by what the module does. */
int libtramp_place_resolve(struct tramp_place *place, const struct tramp_syms *syms);

/* The place in a request to attach. */
void libtramp_place_to_cmd(const struct tramp_place *place, struct tramp_attach *cmd);

/* Like libtramp_prog_unsupported(), by the section name, for BPF_PROG_TYPE_KPROBE. */
const char *libtramp_not_a_probe(const char *section, const char **remedy);

/* A probe in a section that names no place: libbpf does not attach it by itself. */
bool libtramp_names_no_place(const struct bpf_program *prog);

/* Is one of the members given that only probes have? */
bool libtramp_opts_have_place(const struct tramp_attach_opts *opts);

/**
 * libtramp_probe_place() - where a probe goes
 * @section: its section name; "" if it has none
 * @opts: options, which outdo it; may be NULL
 * @place: (out) the place, as the module understands it
 * @subject: for the error
 *
 * Return: 0 or negative errno with the last error filled.
 */
int libtramp_probe_place(const char *section, const struct tramp_attach_opts *opts,
			 struct tramp_place *place, const char *subject);

/**
 * libtramp_fail_place() - record a refusal of the module that is about a place
 * @dev: the device, to ask what is near it
 * @place: what was refused
 * @syms: to find near names in; NULL: loaded if need be
 *
 * Like libtramp_fail_refusal(), with the nearest names or instructions.
 */
int libtramp_fail_place(int dev, int err, const struct tramp_refusal *refusal,
			const struct tramp_place *place, const struct tramp_syms *syms,
			const char *subject);

/* All instructions of a place's function; NULL if there are none, without an error. */
struct tramp_code *libtramp_code(int dev, const struct tramp_place *place);

/* --------------------------------------------------------------- symbols -- */

struct libtramp_btfs;

/**
 * struct libtramp_later - what only some who load a snapshot ask for
 * @lock: everything below; what is there once does not change any more
 * @by_addr: indices into tramp_syms::syms in the order of addresses, of those that have one
 * @nr_by_addr: how many
 * @filter_functions: as in struct tramp_syms_opts
 * @traceable_read: that file was read, or could not be
 * @traceable_err: 0 if TRAMP_SYM_TRACEABLE is meaningful, otherwise a negative errno
 */
struct libtramp_later {
	pthread_mutex_t lock;
	uint32_t *by_addr;
	size_t nr_by_addr;
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

/* Functions in the order of addresses: @nr indices, NULL if there is no memory for them. */
const uint32_t *libtramp_syms_by_addr(const struct tramp_syms *syms, size_t *nr);

/* All of a file that does not say how long it is, with a zero behind it; NULL and errno. */
char *libtramp_read_all(const char *path);

/* A number as the kernel prints addresses; strtoull() takes three times as long. */
uint64_t libtramp_parse_hex(const char *s, char **end);

/*
 * What stands in brackets at the end of a line of kallsyms or of ftrace's list; "" if
 * nothing does. NULL: not a module. The line is changed.
 */
char *libtramp_cut_module(char *rest);

/* The first function not before @name in the order of names: an index, @nr at the end. */
size_t libtramp_syms_lower(const struct tramp_syms *syms, const char *name);

/**
 * libtramp_near_misses() - what is known about a name that does not exist
 *
 * Return: what to do about it, with a text in @buf; NULL if nothing is near.
 */
const char *libtramp_near_misses(const struct tramp_syms *syms, const char *name,
				 char *buf, size_t len);

/**
 * libtramp_distance() - edits between two strings, two swapped letters being one
 * @max: give up beyond it
 *
 * Return: the distance, or @max + 1.
 */
unsigned int libtramp_distance(const char *a, const char *b, unsigned int max);

/* BTF of a snapshot: where to read it; NULL: the running kernel's. */
struct libtramp_btfs *libtramp_btfs_new(const char *vmlinux, const char *module_dir);
void libtramp_btfs_free(struct libtramp_btfs *btfs);

/* ------------------------------------------------------------------- BTF -- */

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
const struct btf_type *libtramp_skip_mods(const struct btf *btf, uint32_t id, uint32_t *out);

#endif /* LIBTRAMPOLINE_INTERNAL_H */
