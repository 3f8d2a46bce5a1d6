// SPDX-License-Identifier: LGPL-2.1 OR BSD-2-Clause
/*
 * Opening BPF objects whose programs may be sessions.
 *
 * bpf_session_is_return() and bpf_session_cookie() are functions of the kernel (kfuncs) from
 * Linux 6.10 on. Before, libbpf refuses to load an object that needs them. So it is linked with
 * session_map.bpf.c first, as `bpftool gen object` would do, which has functions with these
 * names. libbpf's linker takes files and makes one: here they are in memory.
 *
 * The linker leaves both names among the externs in the object's BTF (the DATASEC .ksyms). If
 * these are all, the kernel refuses the BTF, as the section is empty. If there are others, libbpf
 * refuses the object. So the BTF is mended, in place: nothing in it may move.
 */
#define _GNU_SOURCE		/* memfd_create() */
#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../core/error.h"
#include "internal.h"
#include "user/libtrampoline/attach/session_map.skel.h"

/* A file in memory, and the path that leads to it. */
struct mem_file {
	int fd;
	char path[32];
};

static int mem_create(struct mem_file *f, const void *data, size_t size)
{
	size_t done = 0;
	ssize_t n;

	f->fd = memfd_create("libtrampoline", MFD_CLOEXEC);
	if (f->fd < 0)
		return -errno;
	snprintf(f->path, sizeof(f->path), "/proc/self/fd/%d", f->fd);
	while (done < size) {
		n = write(f->fd, (const char *)data + done, size - done);
		if (n < 0 && errno != EINTR)
			return -errno;
		done += n > 0 ? (size_t)n : 0;
	}
	return 0;
}

static void mem_close(struct mem_file *f)
{
	if (f->fd >= 0)
		close(f->fd);
	f->fd = -1;
}

/* Does the object call what the kernel lacks? It may have no BTF, or be none at all. */
static bool asks_session(const char *path)
{
	static const char * const names[] = { "bpf_session_is_return", "bpf_session_cookie" };
	struct btf *btf = btf__parse(path, NULL);
	bool asks = false;
	size_t i;
	int id;

	for (i = 0; btf && !asks && i < ARRAY_SIZE(names); i++) {
		id = btf__find_by_name_kind(btf, names[i], BTF_KIND_FUNC);
		asks = id > 0 && btf_vlen(btf__type_by_id(btf, id)) == BTF_FUNC_EXTERN;
	}
	btf__free(btf);
	return asks;
}

static int link_files(const char *object, const char *answers, const char *to)
{
	struct bpf_linker *linker = bpf_linker__new(to, NULL);
	int err = linker ? 0 : -errno;

	if (!err)
		err = bpf_linker__add_file(linker, object, NULL);
	if (!err)
		err = bpf_linker__add_file(linker, answers, NULL);
	if (!err)
		err = bpf_linker__finalize(linker);
	bpf_linker__free(linker);
	return err;
}

/* The linker has found it: it is no extern any more. */
static bool is_found(const struct btf *btf, const struct btf_var_secinfo *v)
{
	const struct btf_type *t = btf__type_by_id(btf, v->type);

	return btf_is_func(t) && btf_vlen(t) != BTF_FUNC_EXTERN;
}

static __u32 any_int(const struct btf *btf)
{
	__u32 id;

	for (id = 1; id < btf__type_cnt(btf); id++)
		if (btf_is_int(btf__type_by_id(btf, id)))
			return id;
	return 0;
}

/*
 * @t: .ksyms in the object, of which @btf is a copy. With other externs in it, those that have
 * been found become one of these a second time, which libbpf allows. Otherwise it becomes a
 * struct that nothing uses, whose members take as many bytes as a section's variables.
 */
static void mend_ksyms(struct btf_type *t, const struct btf *btf)
{
	struct btf_var_secinfo *v = btf_var_secinfos(t);
	struct btf_member *m = btf_members(t);
	__u32 i, n = btf_vlen(t), found = 0, other = 0, number = any_int(btf);

	for (i = 0; i < n; i++) {
		if (is_found(btf, &v[i]))
			found++;
		else
			other = v[i].type;
	}
	for (i = 0; found && other && i < n; i++)
		if (is_found(btf, &v[i]))
			v[i].type = other;
	if (!found || other || !number)
		return;
	*t = (struct btf_type){ .info = BTF_KIND_STRUCT << 24 | n,
				.size = btf__type_by_id(btf, number)->size };
	for (i = 0; i < n; i++)
		m[i] = (struct btf_member){ .type = number };
}

/* @path leads to what @elf has a copy of. */
static int mend_btf(const char *path, void *elf, size_t size)
{
	struct btf *btf = btf__parse(path, NULL);
	const struct btf_type *t;
	const char *raw, *name;
	char *in_elf;
	__u32 id, len;

	if (!btf)
		return -errno;
	raw = btf__raw_data(btf, &len);
	in_elf = raw ? memmem(elf, size, raw, len) : NULL;
	for (id = 1; in_elf && id < btf__type_cnt(btf); id++) {
		t = btf__type_by_id(btf, id);
		name = btf__name_by_offset(btf, t->name_off);
		if (btf_is_datasec(t) && name && !strcmp(name, ".ksyms"))
			mend_ksyms((struct btf_type *)(in_elf + ((const char *)t - raw)), btf);
	}
	btf__free(btf);
	return in_elf ? 0 : -EINVAL;
}

/* The object at @path with the answers in it: *@elf is to be unmapped. */
static int link_answers(const char *path, void **elf, size_t *size)
{
	struct mem_file answers = { .fd = -1 }, linked = { .fd = -1 };
	struct stat st;
	size_t len;
	const void *data = session_map__elf_bytes(&len);
	int err = mem_create(&answers, data, len);

	if (!err)
		err = mem_create(&linked, NULL, 0);
	if (!err)
		err = link_files(path, answers.path, linked.path);
	if (!err && fstat(linked.fd, &st))
		err = -errno;
	if (!err) {
		*size = (size_t)st.st_size;
		*elf = mmap(NULL, *size, PROT_READ | PROT_WRITE, MAP_PRIVATE, linked.fd, 0);
		if (*elf == MAP_FAILED) {
			*elf = NULL;
			err = -errno;
		}
	}
	if (!err)
		err = mend_btf(linked.path, *elf, *size);
	if (err && *elf) {
		munmap(*elf, *size);
		*elf = NULL;
	}
	mem_close(&answers);
	mem_close(&linked);
	return err ? LIBTRAMP_FAIL(err, TRAMP_LIB_SYSTEM, path,
				   "libbpf cannot link it with what stands for sessions") : 0;
}

/* An object that is opened in the place of another; @elf is NULL if that is as it should be. */
struct linked {
	void *elf;
	size_t size;
};

static int prepare(const char *path, struct linked *l)
{
	int err = tramp_register_sections();

	if (err || !libtramp_session_by_map() || !asks_session(path))
		return err;
	err = link_answers(path, &l->elf, &l->size);
	if (err)
		libtramp_warn_last();
	return err;
}

/* The same for one in memory. */
static int prepare_mem(const void *elf, size_t size, struct linked *l)
{
	struct mem_file file = { .fd = -1 };
	int err = mem_create(&file, elf, size);

	if (err) {
		LIBTRAMP_FAIL(err, TRAMP_LIB_SYSTEM, "a BPF object", "cannot have a file in memory");
		libtramp_warn_last();
	} else {
		err = prepare(file.path, l);
	}
	mem_close(&file);
	return err;
}

/* libbpf has taken what it needs of it. Leaves errno alone. */
static void release(struct linked *l)
{
	int err = errno;

	if (l->elf)
		munmap(l->elf, l->size);
	errno = err;
}

static int bad_argument(const char *function, const char *what)
{
	LIBTRAMP_FAIL(-EINVAL, TRAMP_LIB_BAD_ARGUMENT, function, "%s is NULL", what);
	libtramp_warn_last();
	errno = EINVAL;
	return -EINVAL;
}

/* As libbpf derives it from a path: without what follows the first dot. */
static void name_of(char *name, size_t len, const char *path)
{
	const char *slash = strrchr(path, '/');

	snprintf(name, len, "%s", slash ? slash + 1 : path);
	name[strcspn(name, ".")] = '\0';
}

static struct bpf_object *open_linked(const char *path, const struct linked *l,
				      const struct bpf_object_open_opts *opts)
{
	LIBBPF_OPTS(bpf_object_open_opts, named);
	char name[64];

	if (opts)
		memcpy(&named, opts, opts->sz < sizeof(named) ? opts->sz : sizeof(named));
	named.sz = sizeof(named);
	name_of(name, sizeof(name), path);
	if (!named.object_name)
		named.object_name = name;
	return bpf_object__open_mem(l->elf, l->size, &named);
}

struct bpf_object *tramp_object__open_file(const char *path,
					   const struct bpf_object_open_opts *opts)
{
	struct linked l = {};
	struct bpf_object *obj;
	int err;

	err = path ? prepare(path, &l) : bad_argument(__func__, "path");
	if (err) {
		errno = -err;
		return NULL;
	}
	obj = l.elf ? open_linked(path, &l, opts) : bpf_object__open_file(path, opts);
	release(&l);
	return obj;
}

struct bpf_object *tramp_object__open_mem(const void *elf, size_t size,
					  const struct bpf_object_open_opts *opts)
{
	struct linked l = {};
	struct bpf_object *obj;
	int err;

	err = elf ? prepare_mem(elf, size, &l) : bad_argument(__func__, "elf");
	if (err) {
		errno = -err;
		return NULL;
	}
	obj = bpf_object__open_mem(l.elf ? l.elf : elf, l.elf ? l.size : size, opts);
	release(&l);
	return obj;
}

int tramp_object__open_skeleton(struct bpf_object_skeleton *skeleton,
				const struct bpf_object_open_opts *opts)
{
	struct linked l = {};
	const void *elf;
	size_t size;
	int err;

	if (!skeleton)
		return bad_argument(__func__, "skeleton");
	elf = skeleton->data;
	size = skeleton->data_sz;
	err = prepare_mem(elf, size, &l);
	if (err) {
		errno = -err;
		return err;
	}
	if (l.elf) {
		skeleton->data = l.elf;
		skeleton->data_sz = l.size;
	}
	err = bpf_object__open_skeleton(skeleton, opts);
	skeleton->data = elf;
	skeleton->data_sz = size;
	release(&l);
	return err;
}
