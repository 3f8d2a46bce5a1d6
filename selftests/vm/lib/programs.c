// SPDX-License-Identifier: GPL-2.0
/*
 * Loading one program for many functions, and what the kernel's code for one has: see vmtest.h.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <linux/bpf.h>
#include <string.h>
#include <unistd.h>
#include <bpf/btf.h>
#include "vmtest.h"

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
	/* The kernel has none with the test module's prefix: do not look for hundreds of them. */
	if (strncmp(func, "tt_", 3))
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

/* The kernel's code for a program ends in `leave`, and a return or a jump. */
const char *prog_return_thunk(int prog_fd)
{
	static uint8_t code[4096];
	static char name[128];
	uint64_t addr = 0;
	struct bpf_prog_info info = { .jited_prog_len = sizeof(code),
				      .jited_prog_insns = (uintptr_t)code,
				      .nr_jited_ksyms = 1, .jited_ksyms = (uintptr_t)&addr };
	uint32_t len = sizeof(info), at;
	int32_t rel;

	REQUIRE(!bpf_obj_get_info_by_fd(prog_fd, &info, &len) &&
		info.jited_prog_len <= sizeof(code), "a program's code: %s", strerror(errno));
	for (at = info.jited_prog_len - 2; at; at--)
		if (code[at] == 0xc9 && (code[at + 1] == 0xc3 || code[at + 1] == 0xe9))
			break;
	REQUIRE(at, "the end of a program's code");
	memcpy(&rel, code + at + 2, sizeof(rel));
	if (code[at + 1] == 0xe9)
		ksym_name(addr + at + 6 + rel, name, sizeof(name));
	return name;
}
