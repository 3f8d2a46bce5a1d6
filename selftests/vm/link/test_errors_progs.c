// SPDX-License-Identifier: GPL-2.0
/*
 * Attaching what cannot be: descriptors of other things, programs of other kinds, with
 * other targets, or attached already.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>
#include <bpf/btf.h>
#include "requests.h"
#include "selftests/vm/lib/errors.skel.h"

static void test_descriptors(void)
{
	int map = bpf_map_create(BPF_MAP_TYPE_ARRAY, "m", 4, 8, 1, NULL), fds[2];
	struct func_btf f;
	struct attachment link;

	setup();
	f = func_btf("bpf_fentry_test2");
	link = attach_func(OURS, FD(good_exit), NULL);
	REQUIRE(!pipe(fds), "pipe");
	attach_fd_case("fd -1", -1, -EBADF, TRAMP_REASON_BAD_PROG_FD);
	attach_fd_case("fd -2147483648", INT32_MIN, -EBADF, TRAMP_REASON_BAD_PROG_FD);
	attach_fd_case("an fd that is not open", 900, -EBADF, TRAMP_REASON_BAD_PROG_FD);
	attach_fd_case("a huge fd", INT32_MAX, -EBADF, TRAMP_REASON_BAD_PROG_FD);
	attach_fd_case("a file", open("/proc/self/exe", O_RDONLY), -EBADF,
		       TRAMP_REASON_BAD_PROG_FD);
	attach_fd_case("a folder", open("/", O_RDONLY), -EBADF, TRAMP_REASON_BAD_PROG_FD);
	attach_fd_case("an O_PATH file", open("/proc/self/exe", O_PATH), -EBADF,
		       TRAMP_REASON_BAD_PROG_FD);
	attach_fd_case("/dev/null", open("/dev/null", O_RDWR), -EBADF, TRAMP_REASON_BAD_PROG_FD);
	attach_fd_case("a pipe", fds[0], -EBADF, TRAMP_REASON_BAD_PROG_FD);
	attach_fd_case("an epoll", epoll_create1(0), -EBADF, TRAMP_REASON_BAD_PROG_FD);
	attach_fd_case("a map", map, -EBADF, TRAMP_REASON_BAD_PROG_FD);
	attach_fd_case("a link", link.fd, -EBADF, TRAMP_REASON_BAD_PROG_FD);
	attach_fd_case("a BTF object", bpf_btf_get_fd_by_id(f.obj_id), -EBADF,
		       TRAMP_REASON_BAD_PROG_FD);
	attach_fd_case("the device itself", tramp_device(), -EBADF, TRAMP_REASON_BAD_PROG_FD);
	detach(&link);
	ktap_note("%d cases", cases);
}

static void test_program_types(void)
{
	union arg a;

	setup();
	attach_fd_case("socket filter", FD(of_socket), -EINVAL, TRAMP_REASON_PROG_TYPE);
	/* At home here, but it has to be told where to. */
	attach_fd_case("kprobe", FD(of_kprobe), -EINVAL, TRAMP_REASON_SYNTAX);
	attach_fd_case("xdp", FD(of_xdp), -EINVAL, TRAMP_REASON_PROG_TYPE);
	attach_fd_case("tracepoint", FD(of_tracepoint), -EINVAL, TRAMP_REASON_PROG_TYPE);
	attach_fd_case("raw tracepoint", FD(of_raw_tp), -EINVAL, TRAMP_REASON_PROG_TYPE);
	attach_fd_case("tc", FD(of_tc), -EINVAL, TRAMP_REASON_PROG_TYPE);
	attach_fd_case("cgroup_skb", FD(of_cgroup_skb), -EINVAL, TRAMP_REASON_PROG_TYPE);
	attach_fd_case("perf_event", FD(of_perf_event), -EINVAL, TRAMP_REASON_PROG_TYPE);
	attach_fd_case("sk_lookup", FD(of_sk_lookup), -EINVAL, TRAMP_REASON_PROG_TYPE);
	attach_fd_case("lsm", FD(of_lsm), -EINVAL, TRAMP_REASON_PROG_TYPE);
	attach_fd_case("tp_btf", FD(of_tp_btf), -EINVAL, TRAMP_REASON_ATTACH_TYPE);
	attach_fd_case("iter", FD(of_iter), -EINVAL, TRAMP_REASON_ATTACH_TYPE);
	/* The text names what it got. */
	good_request(&a, TRAMP_IOC_ATTACH);
	a.attach.prog_fd = FD(of_xdp);
	call(TRAMP_IOC_ATTACH, &a);
	CHECK(a.attach.refusal.detail[0], "no detail with a wrong program type");
	ktap_note("%d cases", cases);
}

/* fentry on another BPF program, and a program that replaces one (freplace). */
static void test_program_targets(void)
{
	struct bpf_insn insns[] = {
		{ .code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = 0, .imm = 0 },
		{ .code = BPF_JMP | BPF_EXIT },
	};
	static const struct {
		const char *what;
		enum bpf_prog_type type;
		enum bpf_attach_type attach;
		int reason;
	} kinds[] = {
		{ "fentry on a program", BPF_PROG_TYPE_TRACING, BPF_TRACE_FENTRY,
		  TRAMP_REASON_PROG_TARGET },
		{ "fexit on a program", BPF_PROG_TYPE_TRACING, BPF_TRACE_FEXIT,
		  TRAMP_REASON_PROG_TARGET },
	};
	struct bpf_prog_info info = {};
	uint32_t len = sizeof(info);
	struct errors *replacing;
	struct bpf_program *prog;
	struct btf *btf;
	int id, fd;
	size_t i;

	setup();
	REQUIRE(!bpf_obj_get_info_by_fd(FD(of_xdp), &info, &len), "%s", strerror(errno));
	btf = btf__load_from_kernel_by_id(info.btf_id);
	REQUIRE(btf, "the program's BTF: %s", strerror(errno));
	id = btf__find_by_name_kind(btf, "of_xdp", BTF_KIND_FUNC);
	REQUIRE(id > 0, "of_xdp is not in its BTF");
	for (i = 0; i < 2; i++) {
		LIBBPF_OPTS(bpf_prog_load_opts, opts, .expected_attach_type = kinds[i].attach,
			    .attach_prog_fd = FD(of_xdp), .attach_btf_id = id);

		fd = bpf_prog_load(kinds[i].type, "on_prog", "GPL", insns, 2, &opts);
		REQUIRE(fd >= 0, "loading %s: %s", kinds[i].what, strerror(-fd));
		attach_fd_case(kinds[i].what, fd, -EINVAL, kinds[i].reason);
		close(fd);
	}
	btf__free(btf);

	replacing = errors__open();
	REQUIRE(replacing, "errors.bpf.o: %s", strerror(errno));
	bpf_object__for_each_program(prog, replacing->obj)
		bpf_program__set_autoload(prog, prog == replacing->progs.replaces);
	REQUIRE(!bpf_program__set_attach_target(replacing->progs.replaces, FD(of_xdp), "of_xdp"),
		"freplace: %s", strerror(errno));
	REQUIRE(!errors__load(replacing), "freplace: %s", strerror(errno));
	attach_fd_case("freplace", bpf_program__fd(replacing->progs.replaces), -EINVAL,
		       TRAMP_REASON_PROG_TYPE);
	errors__destroy(replacing);
}

static void test_already_attached(void)
{
	struct attachment ours, kernels;

	setup();
	ours = attach_func(OURS, FD(good_entry), NULL);
	attach_fd_case("attached by us", FD(good_entry), -EBUSY, TRAMP_REASON_ALREADY_ATTACHED);
	detach(&ours);
	/* Detached, it can be attached again. */
	ours = attach_func(OURS, FD(good_entry), NULL);
	detach(&ours);
	/*
	 * Attached by the kernel it can be attached by us beside it: an entry program
	 * then runs twice a call; an exit program finds the site held.
	 */
	kernels = attach_func(KERNEL, FD(good_entry), NULL);
	if (tramp_module().features & TRAMP_FEAT_FTRACE_OPS) {
		ours = attach_func(OURS, FD(good_entry), NULL);
		CHECK_EQ(attachment_query(&ours).mode, TRAMP_MODE_FTRACE_OPS,
			 "beside the kernel's");
		detach(&ours);
	}
	detach(&kernels);
	kernels = attach_func(KERNEL, FD(good_exit), NULL);
	attach_fd_case("an exit program, attached by the kernel", FD(good_exit), -EBUSY,
		       TRAMP_REASON_SITE_HELD);
	detach(&kernels);
	ours = attach_func(OURS, FD(good_entry), NULL);
	detach(&ours);
}

static const struct ktap_test tests[] = {
	{ "descriptors", test_descriptors, 60 },
	{ "program_types", test_program_types, 60 },
	{ "program_targets", test_program_targets, 60 },
	{ "already_attached", test_already_attached, 60 },
};

KTAP_MAIN(tests)
