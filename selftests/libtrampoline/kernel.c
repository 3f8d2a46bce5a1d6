// SPDX-License-Identifier: GPL-2.0
/* A kernel as a test has it, see kernel.h. Its functions stand for those of libbpf (build.mk). */
#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../lib/ktap.h"
#include "kernel.h"

#define MAX_FDS		256

struct kernel kernel;
/* The object of each descriptor; NULL: there is none. */
static struct kernel_object *opened[MAX_FDS];

ssize_t __real_readlink(const char *path, char *buf, size_t len);
ssize_t __wrap_readlink(const char *path, char *buf, size_t len);
struct btf *__wrap_btf__load_vmlinux_btf(void);
int __wrap_bpf_program__fd(const struct bpf_program *prog);
int __wrap_bpf_obj_get(const char *path);
int __wrap_bpf_obj_get_info_by_fd(int fd, void *info, __u32 *len);
int __wrap_bpf_link_get_next_id(__u32 id, __u32 *next);
int __wrap_bpf_link_get_fd_by_id(__u32 id);
int __wrap_bpf_link_update(int fd, int prog_fd, const struct bpf_link_update_opts *opts);
int __wrap_bpf_prog_bind_map(int fd, int map_fd, const struct bpf_prog_bind_opts *opts);
int __wrap_bpf_link_detach(int fd);
int __wrap_bpf_btf_get_next_id(__u32 id, __u32 *next);
int __wrap_bpf_btf_get_fd_by_id(__u32 id);

void kernel_begin(const char *kallsyms)
{
	kernel = (struct kernel) { .kallsyms = kallsyms, .prog_fd = -1 };
}

/* As libbpf returns it. */
static int result(int err)
{
	errno = -err;
	return err;
}

/* ---------------------------------------------------------------- files -- */

const char *kernel_path(const char *path)
{
	const char *file = path;

	if (!strcmp(path, "/proc/kallsyms"))
		file = kernel.kallsyms;
	else if (!strcmp(path, "/sys/kernel/tracing/available_filter_functions"))
		file = kernel.traceable;
	else if (!strncmp(path, "/sys/kernel/", 12) || !strcmp(path, "/proc/modules"))
		file = NULL;
	if (!file)
		errno = ENOENT;
	return file;
}

struct btf *__wrap_btf__load_vmlinux_btf(void)
{
	if (kernel.btf)
		return btf__parse(kernel.btf, NULL);
	errno = ENOENT;
	return NULL;
}

/* The name of an anonymous inode. */
ssize_t __wrap_readlink(const char *path, char *buf, size_t len)
{
	static const char fds[] = "/proc/self/fd/";
	int fd = strncmp(path, fds, strlen(fds)) ? -1 : atoi(path + strlen(fds));

	if (kernel.no_proc)
		return result(-ENOENT);
	if (fd < 0 || fd >= MAX_FDS || !opened[fd])
		return __real_readlink(path, buf, len);
	return snprintf(buf, len, "anon_inode:%s%s", opened[fd]->sort[0] == 'l' ? "bpf_" : "bpf-",
			opened[fd]->sort);
}

/* -------------------------------------------------------------- objects -- */

static struct kernel_object *find(const char *sort, uint32_t id)
{
	struct kernel_object *o;

	for (o = kernel.objects; o < kernel.objects + KERNEL_MAX_OBJECTS && o->sort; o++)
		if (!strcmp(o->sort, sort) && o->id == id)
			return o;
	return NULL;
}

static int open_object(const char *sort, uint32_t id)
{
	struct kernel_object *o = find(sort, id);
	int fd;

	if (!o)
		return result(-ENOENT);
	if (o->open_fails)
		return result(-o->open_fails);
	fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
	REQUIRE(fd >= 0 && fd < MAX_FDS, "descriptor %d", fd);
	opened[fd] = o;
	return fd;
}

int kernel_open(const char *sort, uint32_t id)
{
	int fd = open_object(sort, id);

	REQUIRE(fd >= 0, "%s %u", sort, id);
	return fd;
}

void kernel_closed(int fd)
{
	if (fd >= 0 && fd < MAX_FDS)
		opened[fd] = NULL;
}

static int next_id(const char *sort, __u32 id, __u32 *next)
{
	const struct kernel_object *o;

	if (kernel.list_fails)
		return result(-kernel.list_fails);
	for (o = kernel.objects; o < kernel.objects + KERNEL_MAX_OBJECTS && o->sort; o++) {
		if (!strcmp(o->sort, sort) && o->id > id) {
			*next = o->id;
			return 0;
		}
	}
	return result(-ENOENT);
}

int __wrap_bpf_obj_get_info_by_fd(int fd, void *info, __u32 *len)
{
	const struct kernel_object *o = fd >= 0 && fd < MAX_FDS ? opened[fd] : NULL;
	struct bpf_btf_info *btf = info;

	if (!CHECK(o, "a question about no object"))
		return result(-EBADF);
	if (o->info_fails)
		return result(-o->info_fails);
	if (!strcmp(o->sort, "prog")) {
		CHECK_EQ(*len, sizeof(struct bpf_prog_info), "of a program");
		*(struct bpf_prog_info *)info = (struct bpf_prog_info) {
			.id = o->id, .type = o->type };
	} else if (!strcmp(o->sort, "link")) {
		CHECK_EQ(*len, sizeof(struct bpf_link_info), "of a link");
		*(struct bpf_link_info *)info = (struct bpf_link_info) {
			.id = o->id, .prog_id = o->prog_id };
	} else {
		CHECK_EQ(*len, sizeof(struct bpf_btf_info), "of BTF");
		btf->id = o->id;
		btf->kernel_btf = o->module;
		snprintf((char *)(uintptr_t)btf->name, btf->name_len, "%s", o->name);
	}
	return 0;
}

int __wrap_bpf_program__fd(const struct bpf_program *prog)
{
	(void)prog;
	return kernel.prog_fd < 0 ? result(-ENOENT) : kernel.prog_fd;
}

/* A pin is a link with its id as the name. */
int __wrap_bpf_obj_get(const char *path)
{
	const char *name = strrchr(path, '/');

	return open_object("link", atoi(name ? name + 1 : path));
}

int __wrap_bpf_link_get_next_id(__u32 id, __u32 *next)
{
	return next_id("link", id, next);
}

int __wrap_bpf_link_get_fd_by_id(__u32 id)
{
	return open_object("link", id);
}

/* Looks at its descriptors one after the other; the second one is none. */
static int no_second(int fd, const char *sort)
{
	return result(opened[fd] && !strcmp(opened[fd]->sort, sort) ? -EBADF : -EINVAL);
}

int __wrap_bpf_link_update(int fd, int prog_fd, const struct bpf_link_update_opts *opts)
{
	(void)opts;
	return prog_fd < 0 ? no_second(fd, "link") : result(-kernel.update_fails);
}

int __wrap_bpf_prog_bind_map(int fd, int map_fd, const struct bpf_prog_bind_opts *opts)
{
	(void)opts;
	CHECK_EQ(map_fd, -1, "a map");
	return no_second(fd, "prog");
}

int __wrap_bpf_link_detach(int fd)
{
	(void)fd;
	return result(0);
}

int __wrap_bpf_btf_get_next_id(__u32 id, __u32 *next)
{
	return next_id("btf", id, next);
}

int __wrap_bpf_btf_get_fd_by_id(__u32 id)
{
	return open_object("btf", id);
}
