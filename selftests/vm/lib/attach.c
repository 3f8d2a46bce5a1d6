// SPDX-License-Identifier: GPL-2.0
/*
 * Attaching through our module or through the kernel, loading one program for
 * many functions, and asking the module what it holds.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>
#include <bpf/btf.h>
#include "vmtest.h"

/* libbpf says nothing unless something fails, and then all of it. */
static int drop_messages(enum libbpf_print_level level, const char *fmt, va_list ap)
{
	if (getenv("VMTEST_LIBBPF") || level == LIBBPF_WARN)
		vfprintf(stderr, fmt, ap);
	return 0;
}

__attribute__((constructor)) static void quiet_libraries(void)
{
	libbpf_set_print(drop_messages);
	tramp_set_print(NULL);
}

bool vmtest_oracle(void)
{
	const char *env = getenv("VMTEST_ORACLE");

	return env && !strcmp(env, "kernel");
}

static struct att attach_kernel(int prog_fd, const uint64_t *cookie)
{
	struct bpf_prog_info info = {};
	uint32_t len = sizeof(info);
	LIBBPF_OPTS(bpf_link_create_opts, opts);
	struct att a = { .how = KERNEL };

	if (bpf_obj_get_info_by_fd(prog_fd, &info, &len)) {
		a.err = -errno;
		return a;
	}
	if (cookie)
		opts.tracing.cookie = *cookie;
	/*
	 * BPF_LINK_CREATE wants the program's attach type, which the info does
	 * not tell: of the three, only the right one is not refused.
	 */
	a.fd = bpf_link_create(prog_fd, 0, BPF_TRACE_FENTRY, &opts);
	if (a.fd == -EINVAL)
		a.fd = bpf_link_create(prog_fd, 0, BPF_TRACE_FEXIT, &opts);
	if (a.fd == -EINVAL)
		a.fd = bpf_link_create(prog_fd, 0, BPF_MODIFY_RETURN, &opts);
	if (a.fd < 0)
		a.err = a.fd;
	return a;
}

static struct att attach_ours(int prog_fd, const uint64_t *cookie)
{
	TRAMP_OPTS(tramp_attach_opts, opts);
	struct att a = { .how = OURS };

	if (cookie) {
		opts.cookie = *cookie;
		opts.flags = TRAMP_ATTACH_F_COOKIE;
	}
	a.link = tramp_attach_fd(prog_fd, &opts);
	if (!a.link)
		a.err = -errno;
	else
		a.fd = tramp_link__fd(a.link);
	return a;
}

struct att att_try(enum how how, int prog_fd, const uint64_t *cookie)
{
	if (how == KERNEL || vmtest_oracle())
		return attach_kernel(prog_fd, cookie);
	return attach_ours(prog_fd, cookie);
}

struct att att_do(enum how how, int prog_fd, const uint64_t *cookie)
{
	struct att a = att_try(how, prog_fd, cookie);

	REQUIRE(!a.err, "attach (%s): %s (%s)", how == KERNEL ? "kernel" : "ours",
		strerror(-a.err), a.how == OURS ? tramp_last_error()->message : "");
	return a;
}

void att_drop(struct att *a)
{
	if (a->err)
		return;
	if (a->how == OURS)
		tramp_link__destroy(a->link);
	else
		close(a->fd);
	a->err = -EBADF;
}

void att_counts(const struct att *a, uint64_t *hits, uint64_t *misses)
{
	*hits = *misses = 0;
	if (a->how == OURS) {
		struct tramp_query q = tramp_query_link(tramp_link__id(a->link));

		*hits = q.hits;
		*misses = q.misses;
	}
}

/* BTF of the kernel, and of the test module as long as it stays loaded. */
static struct btf *vmlinux_btf, *test_btf;
static int test_btf_fd = -1;
static uint32_t vmlinux_btf_id, test_btf_id;

static uint32_t btf_id_of(const char *module, int *fd)
{
	uint32_t id = 0;

	while (!bpf_btf_get_next_id(id, &id)) {
		char name[64] = "";
		struct bpf_btf_info info = { .name = (uintptr_t)name, .name_len = sizeof(name) };
		uint32_t len = sizeof(info);
		int one = bpf_btf_get_fd_by_id(id);

		if (one < 0)
			continue;
		if (!bpf_obj_get_info_by_fd(one, &info, &len) && info.kernel_btf &&
		    !strcmp(name, module)) {
			if (fd)
				*fd = one;
			else
				close(one);
			return id;
		}
		close(one);
	}
	return 0;
}

struct func_btf func_btf(const char *func)
{
	struct func_btf f = { .id = -ENOENT };

	if (!vmlinux_btf) {
		vmlinux_btf = btf__load_vmlinux_btf();
		REQUIRE(vmlinux_btf, "the kernel's BTF: %s", strerror(errno));
		vmlinux_btf_id = btf_id_of("vmlinux", NULL);
	}
	f.id = btf__find_by_name_kind(vmlinux_btf, func, BTF_KIND_FUNC);
	f.obj_id = vmlinux_btf_id;
	if (f.id > 0 || !module_loaded("trampoline_test"))
		return f;
	if (!test_btf) {
		test_btf = btf__load_module_btf("trampoline_test", vmlinux_btf);
		REQUIRE(test_btf, "BTF of trampoline_test: %s", strerror(errno));
		test_btf_id = btf_id_of("trampoline_test", &test_btf_fd);
		REQUIRE(test_btf_id, "no BTF object of trampoline_test");
	}
	f.obj_fd = test_btf_fd;
	f.obj_id = test_btf_id;
	f.id = btf__find_by_name_kind(test_btf, func, BTF_KIND_FUNC);
	return f;
}

int prog_clone_try(const struct bpf_program *prog, const char *func, enum bpf_attach_type type)
{
	struct func_btf f = func_btf(func);
	LIBBPF_OPTS(bpf_prog_load_opts, opts,
		    .expected_attach_type = type,
		    .attach_btf_id = f.id,
		    .attach_btf_obj_fd = f.obj_fd,
		    .prog_flags = bpf_program__flags(prog));

	if (f.id < 0)
		return f.id;
	return bpf_prog_load(BPF_PROG_TYPE_TRACING, bpf_program__name(prog), "GPL",
			     bpf_program__insns(prog), bpf_program__insn_cnt(prog), &opts);
}

int prog_clone(const struct bpf_program *prog, const char *func, enum bpf_attach_type type)
{
	int fd = prog_clone_try(prog, func, type);

	REQUIRE(fd >= 0, "loading %s for %s: %s", bpf_program__name(prog), func, strerror(-fd));
	return fd;
}

int tramp_device(void)
{
	static int fd = -1;

	if (fd < 0)
		fd = open(TRAMP_DEVICE, O_RDWR | O_CLOEXEC);
	REQUIRE(fd >= 0, "%s: %s", TRAMP_DEVICE, strerror(errno));
	return fd;
}

struct tramp_info tramp_module(void)
{
	struct tramp_info info = { .size = sizeof(info) };

	if (vmtest_oracle())
		return info;
	REQUIRE(!ioctl(tramp_device(), TRAMP_IOC_INFO, &info), "INFO: %s", strerror(errno));
	return info;
}

bool tramp_settle(void)
{
	int i;

	for (i = 0; i < 300; i++) {
		struct tramp_info info = tramp_module();

		if (!info.retiring && info.images == info.targets)
			return true;
		usleep(100000);
	}
	return false;
}

void check_nothing_left(void)
{
	struct tramp_info info;

	if (vmtest_oracle())
		return;
	CHECK(tramp_settle(), "images wait to be freed for 30 s");
	info = tramp_module();
	CHECK_EQ(info.links, 0, "links left");
	CHECK_EQ(info.targets, 0, "targets left");
	CHECK_EQ(info.images, 0, "images left");
	CHECK_EQ(info.image_bytes, 0, "executable memory left");
	CHECK_EQ(ksym_images(), 0, "images left in kallsyms");
}

struct tramp_query tramp_query_link(uint32_t id)
{
	struct tramp_query q = { .size = sizeof(q), .link_id = id };

	REQUIRE(!ioctl(tramp_device(), TRAMP_IOC_QUERY, &q), "QUERY of link %u: %s", id,
		strerror(errno));
	return q;
}
