/* SPDX-License-Identifier: LGPL-2.1 OR BSD-2-Clause */
/*
 * libtrampoline: links, what they say of themselves, and all links that there are.
 */
#ifndef TRAMPOLINE_LINK_H
#define TRAMPOLINE_LINK_H

#include <trampoline/attach.h>

#ifdef __cplusplus
extern "C" {
#endif

/**
 * tramp_link__fd() - the link's file descriptor
 * @link: the link
 *
 * Return: a plain BPF link descriptor for bpf(2); it stays the link's.
 */
TRAMP_API int tramp_link__fd(const struct tramp_link *link);

/** tramp_link__id() - the link's id, as bpftool link shows it; stable for its life */
TRAMP_API uint32_t tramp_link__id(const struct tramp_link *link);

/** tramp_link__pin_path() - where this handle pinned or opened the link; NULL if nowhere */
TRAMP_API const char *tramp_link__pin_path(const struct tramp_link *link);

/**
 * tramp_link__pin() - keep the link beyond this process
 * @link: the link
 * @path: a path in a BPF file system that does not exist yet; if only its last
 *	folder is missing, that is created
 *
 * Errors: -EALREADY (TRAMP_LIB_ALREADY_PINNED), -EINVAL (TRAMP_LIB_NOT_BPFFS), -ENOENT if the
 * folder is missing (TRAMP_LIB_NOT_BPFFS, or TRAMP_LIB_NO_FILE: so is the folder that it is in),
 * -EEXIST (TRAMP_LIB_PIN_EXISTS), and those of bpf(BPF_OBJ_PIN).
 * Return: 0 or negative errno.
 */
TRAMP_API int tramp_link__pin(struct tramp_link *link, const char *path);

/**
 * tramp_link__unpin() - remove the pin this handle made or was opened from
 * @link: the link
 *
 * The link lives on while descriptors or other pins hold it.
 *
 * Return: 0 or negative errno; -EINVAL (TRAMP_LIB_NOT_PINNED).
 */
TRAMP_API int tramp_link__unpin(struct tramp_link *link);

/**
 * tramp_link__open() - open a pinned link
 * @path: where it is pinned
 *
 * Errors: -ENOENT and those of open (TRAMP_LIB_NO_FILE), -EINVAL
 * (TRAMP_LIB_NOT_OUR_LINK) if it is no link of the trampoline module.
 * Return: a link, to be freed with tramp_link__destroy(); NULL and errno on failure.
 */
TRAMP_API struct tramp_link *tramp_link__open(const char *path);

/**
 * tramp_link__open_by_id() - open a link by its id
 * @id: its id
 *
 * The handle holds the link: it stays attached at least until
 * tramp_link__destroy().
 *
 * Errors: -ENOENT (TRAMP_REASON_LINK_GONE), -EINVAL (TRAMP_LIB_NOT_OUR_LINK), -EPERM.
 * Return: a link, to be freed with tramp_link__destroy(); NULL and errno on failure.
 */
TRAMP_API struct tramp_link *tramp_link__open_by_id(uint32_t id);

/**
 * tramp_link__detach() - detach now, whoever else holds the link
 * @link: the link
 *
 * Other handles and pins remain, as shells of a detached link. Detaching a
 * detached link succeeds.
 *
 * Return: 0 or negative errno.
 */
TRAMP_API int tramp_link__detach(struct tramp_link *link);

/**
 * tramp_link__detach_many() - detach many links now
 * @links: the links
 * @nr: how many
 *
 * The same as tramp_link__detach() of each, but faster: the kernel's text is restored for many at
 * once.
 *
 * Return: 0, or the negative errno of the first that failed, -EINVAL if it is NULL; the others are
 * detached.
 */
TRAMP_API int tramp_link__detach_many(struct tramp_link *const *links, size_t nr);

/**
 * tramp_link__update_program() - replace the link's program without a gap
 * @link: the link
 * @prog: loaded, of the same kind and for the same function
 *
 * Each call of the function is seen by the old or by the new program, none by
 * both, none by neither.
 *
 * A link of many functions keeps its program: -EINVAL (PROG_MISMATCH), as with the kernel's own.
 *
 * Errors: -EINVAL (PROG_MISMATCH), -ENOENT (LINK_GONE) after a detach, for a probe also
 * -ENXIO (MODULE_GONE) and -EOPNOTSUPP (FUNC_IP), and what tramp_attach() can say about
 * @prog.
 * Return: 0 or negative errno.
 */
TRAMP_API int tramp_link__update_program(struct tramp_link *link, const struct bpf_program *prog);

/** tramp_link__update_fd() - tramp_link__update_program() with a program's descriptor */
TRAMP_API int tramp_link__update_fd(struct tramp_link *link, int prog_fd);

/**
 * tramp_link__disconnect() - give up ownership of the link's file descriptor
 * @link: the link
 *
 * tramp_link__destroy() then frees the handle only. The descriptor (take it
 * with tramp_link__fd() before) stays open, and the program attached, until
 * the caller closes it or the process ends.
 */
TRAMP_API void tramp_link__disconnect(struct tramp_link *link);

/**
 * tramp_link__destroy() - close the link's descriptor and free the handle
 * @link: NULL is fine
 *
 * Detaches if this was the last reference: a pinned link, or one held by
 * another descriptor, lives on.
 *
 * Return: 0 or the negative errno of close().
 */
TRAMP_API int tramp_link__destroy(struct tramp_link *link);

/**
 * struct tramp_link_info - what is known of a link
 * @sz: sizeof(struct tramp_link_info)
 * @link_id: its id
 * @prog_id: its program's id
 * @kind: enum tramp_kind
 * @mode: enum tramp_mode; TRAMP_MODE_NONE once detached
 * @pos: its place, from 0, among the function's programs of its kind
 * @nr_progs: programs on the function, all kinds
 * @cookie: its cookie, 0 if none
 * @key: the target's key: the <key> in trampoline_<key>_<index>
 * @index: index of the function's current image
 * @btf_obj_id: BTF object that describes the function
 * @btf_id: its type id there
 * @image_size: bytes of the current image
 * @func_addr: the function's address; 0 if hidden from the caller
 * @image_addr: the image's address; 0 if hidden or none
 * @hits: times the program was run by this attachment
 * @misses: times it was not, because it was running already where it may not nest, or because
 *	@maxactive calls were inside (struct tramp_attach_opts)
 * @sleepable: the program may sleep
 * @func_name: the function
 * @module: its module; empty: the kernel proper
 * @prog_name: the program
 * @probe_addr: a probe: its address; 0 if hidden. @func_addr is that of its function
 * @offset: a probe: bytes from @func_name
 * @reason_addr: the address @mode_reason is about; 0 if hidden or none
 * @mode_reason: a probe that is no jump: enum tramp_reason why not, OPT_PENDING if it may
 *	become one; MODULE_GONE if it went with its module. A return probe in mode RETHOOK: why
 *	it is not DIRECT
 * @region_len: a probe that is a jump: bytes that the jump covers
 * @nr_funcs: a program on many functions: how many; @func_name is the first of them
 */
struct tramp_link_info {
	size_t sz;
	uint32_t link_id;
	uint32_t prog_id;
	uint32_t kind;
	uint32_t mode;
	uint32_t pos;
	uint32_t nr_progs;
	uint64_t cookie;
	uint64_t key;
	uint32_t index;
	uint32_t btf_obj_id;
	uint32_t btf_id;
	uint32_t image_size;
	uint64_t func_addr;
	uint64_t image_addr;
	uint64_t hits;
	uint64_t misses;
	uint32_t sleepable;
	char func_name[TRAMP_SYM_LEN];
	char module[TRAMP_MOD_LEN];
	char prog_name[32];
	uint64_t probe_addr;
	uint64_t offset;
	uint64_t reason_addr;
	uint32_t mode_reason;
	uint32_t region_len;
	uint32_t nr_funcs;
	size_t :0;
};
#define tramp_link_info__last_field nr_funcs

/**
 * tramp_link__info() - what is known of a link
 * @link: the link
 * @info: declared with TRAMP_OPTS(tramp_link_info, ...); filled up to its @sz
 *
 * After a detach it still tells what was: @mode is TRAMP_MODE_NONE, there is no
 * function and no image, hits and misses stand still.
 *
 * Return: 0 or negative errno; -ENOENT (LINK_GONE) if there is no such link.
 */
TRAMP_API int tramp_link__info(const struct tramp_link *link, struct tramp_link_info *info);

/** tramp_link_info_by_id() - tramp_link__info() without opening the link */
TRAMP_API int tramp_link_info_by_id(uint32_t id, struct tramp_link_info *info);

/** tramp_link_cb - called for each link; anything but 0 ends the walk */
typedef int (*tramp_link_cb)(const struct tramp_link_info *info, void *ctx);

/**
 * tramp_for_each() - call back for every link of the module
 * @cb: called in the order of link ids; @info is valid during the call. It may
 *	attach and detach.
 * @ctx: handed to @cb
 *
 * Detached links that somebody still holds are among them (TRAMP_MODE_NONE).
 * Links that are there all the time are seen; those made or gone meanwhile may or may not be.
 * The walk ends however fast others attach.
 *
 * Return: 0; what @cb returned if not 0; or negative errno.
 */
TRAMP_API int tramp_for_each(tramp_link_cb cb, void *ctx);

/**
 * tramp_link_image() - code of the image a link's function runs through now
 * @id: the link's id
 * @info: filled as by tramp_link_info_by_id(), of the same moment as the code:
 *	@image_size bytes, running at @image_addr
 *
 * Any program that hits reach through ftrace or through a kprobe of the kernel has no image. Entry
 * programs in mode FTRACE_OPS are like that, too.
 *
 * Errors: -ENOENT (LINK_GONE, also for a detached link; TRAMP_LIB_NO_IMAGE). -EPERM
 * (HIDDEN_ADDRESS: the caller may not see kernel addresses). -ENOMEM.
 * Return: the bytes, to be freed with free(); NULL and errno on failure.
 */
TRAMP_API void *tramp_link_image(uint32_t id, struct tramp_link_info *info);

#ifdef __cplusplus
}
#endif

#endif /* TRAMPOLINE_LINK_H */
