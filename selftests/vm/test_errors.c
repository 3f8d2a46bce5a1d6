// SPDX-License-Identifier: GPL-2.0
/*
 * Bad input through the ioctls: each case has its errno and reason in
 * include/uapi/linux/trampoline.h, and leaves nothing behind: not a link, not an
 * image, not a file descriptor.
 *
 * Everything here goes to the device as it is, without the library.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/types.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <dirent.h>
#include <unistd.h>
#include <bpf/btf.h>
#include "vmtest.h"
#include "selftests/vm/errors.skel.h"

/* Any command's struct with room for a tail. */
union arg {
	uint32_t size;
	struct tramp_info info;
	struct tramp_attach attach;
	struct tramp_explain explain;
	struct tramp_query query;
	unsigned char bytes[8192];
};

static struct errors *skel;
static int cases;

static int open_fds(void)
{
	DIR *dir = opendir("/proc/self/fd");
	int n = 0;

	REQUIRE(dir, "/proc/self/fd: %s", strerror(errno));
	while (readdir(dir))
		n++;
	closedir(dir);
	return n;
}

struct state {
	struct tramp_info info;
	int fds;
};

static struct state state_now(void)
{
	return (struct state){ .info = tramp_module(), .fds = open_fds() };
}

static void check_unchanged(const struct state *before, const char *what)
{
	struct state now = state_now();

	CHECK_EQ(now.info.links, before->info.links, "%s: links", what);
	CHECK_EQ(now.info.targets, before->info.targets, "%s: targets", what);
	CHECK_EQ(now.info.images - now.info.retiring, before->info.images - before->info.retiring,
		 "%s: images in use", what);
	CHECK_EQ(now.fds, before->fds, "%s: open files", what);
}

/* 0 or a negative errno */
static int call(unsigned int cmd, void *arg)
{
	return ioctl(tramp_device(), cmd, arg) < 0 ? -errno : 0;
}

/* One case: the errno, the reason (-1: none to look at), and nothing left behind. */
static void expect(const char *what, unsigned int cmd, void *arg, int err, int reason)
{
	const struct tramp_refusal *refusal = NULL;
	struct state before = state_now();
	union arg *a = arg;

	cases++;
	CHECK_EQ(call(cmd, arg), err, "%s", what);
	if (cmd == TRAMP_IOC_ATTACH)
		refusal = &a->attach.refusal;
	else if (cmd == TRAMP_IOC_EXPLAIN)
		refusal = &a->explain.refusal;
	else if (cmd == TRAMP_IOC_QUERY)
		refusal = &a->query.refusal;
	if (reason >= 0 && refusal)
		CHECK_EQ(refusal->reason, reason, "%s: %s (%s)", what,
			 tramp_reason_name(refusal->reason), refusal->detail);
	check_unchanged(&before, what);
}

static void setup(void)
{
	if (vmtest_oracle())
		ktap_skip("about our ioctls");
	tramp_device();
	skel = errors__open_and_load();
	REQUIRE(skel, "errors.bpf.o: %s", strerror(errno));
}

#define FD(prog) bpf_program__fd(skel->progs.prog)

static const struct {
	const char *name;
	unsigned int cmd;
	size_t size, min;
} commands[] = {
	{ "INFO", TRAMP_IOC_INFO, sizeof(struct tramp_info), TRAMP_INFO_MIN_SIZE },
	{ "ATTACH", TRAMP_IOC_ATTACH, sizeof(struct tramp_attach), TRAMP_ATTACH_MIN_SIZE },
	{ "EXPLAIN", TRAMP_IOC_EXPLAIN, sizeof(struct tramp_explain), TRAMP_EXPLAIN_MIN_SIZE },
	{ "QUERY", TRAMP_IOC_QUERY, sizeof(struct tramp_query), TRAMP_QUERY_MIN_SIZE },
};

/* A request that would be answered: what is wrong with a case is that case alone. */
static void good_request(union arg *a, unsigned int cmd)
{
	memset(a, 0, sizeof(*a));
	switch (cmd) {
	case TRAMP_IOC_INFO:
		a->size = sizeof(a->info);
		break;
	case TRAMP_IOC_ATTACH:
		a->size = sizeof(a->attach);
		a->attach.prog_fd = FD(good_entry);
		break;
	case TRAMP_IOC_EXPLAIN:
		a->size = sizeof(a->explain);
		strcpy(a->explain.name, "bpf_fentry_test2");
		break;
	case TRAMP_IOC_QUERY:
		a->size = sizeof(a->query);
		a->query.flags = TRAMP_QUERY_F_NEXT;
		break;
	}
}

/* What a good request gives: QUERY of the first link finds none. */
static int good_result(unsigned int cmd)
{
	return cmd == TRAMP_IOC_QUERY ? -ENOENT : 0;
}

static void drop_link(union arg *a, unsigned int cmd)
{
	if (cmd == TRAMP_IOC_ATTACH && a->attach.link_fd > 0)
		close(a->attach.link_fd);
}

/* ------------------------------------------------------- sizes and pointers --- */

static void test_sizes(void)
{
	char what[64];
	union arg a;
	size_t i;

	setup();
	for (i = 0; i < 4; i++) {
		unsigned int cmd = commands[i].cmd;
		uint32_t small[] = { 0, 1, 4, 8, commands[i].min - 1 };
		size_t s;

		for (s = 0; s < sizeof(small) / sizeof(small[0]); s++) {
			good_request(&a, cmd);
			a.size = small[s];
			sprintf(what, "%s of size %u", commands[i].name, small[s]);
			expect(what, cmd, &a, -EINVAL, -1);
		}
		good_request(&a, cmd);
		a.size = commands[i].size + 8;
		a.bytes[commands[i].size + 3] = 1;
		sprintf(what, "%s with a tail", commands[i].name);
		expect(what, cmd, &a, -E2BIG, -1);

		good_request(&a, cmd);
		a.size = commands[i].size + 1;
		a.bytes[commands[i].size] = 0x80;
		sprintf(what, "%s with a tail of one byte", commands[i].name);
		expect(what, cmd, &a, -E2BIG, -1);

		good_request(&a, cmd);
		a.size = 0xffffffff;
		sprintf(what, "%s of 4 GB", commands[i].name);
		expect(what, cmd, &a, -E2BIG, -1);

		/* The struct as it was first published. */
		good_request(&a, cmd);
		a.size = commands[i].min;
		CHECK_EQ(call(cmd, &a), good_result(cmd), "%s of the first size", commands[i].name);
		drop_link(&a, cmd);

		/* A tail of zeroes is a longer struct of a newer caller. */
		good_request(&a, cmd);
		a.size = commands[i].size + 64;
		CHECK_EQ(call(cmd, &a), good_result(cmd), "%s with a tail of zeroes",
			 commands[i].name);
		CHECK_EQ(a.size, commands[i].size + 64, "%s: size given back", commands[i].name);
		drop_link(&a, cmd);
	}
	ktap_note("%d cases", cases);
	check_nothing_left();
}

static void test_pointers(void)
{
	char what[64], *two, *read_only;
	union arg a;
	size_t i;

	setup();
	two = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	read_only = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	REQUIRE(two != MAP_FAILED && read_only != MAP_FAILED, "mmap: %s", strerror(errno));
	munmap(two + 4096, 4096);
	for (i = 0; i < 4; i++) {
		unsigned int cmd = commands[i].cmd;
		void *bad[] = { NULL, (void *)8, (void *)0xffffffff81000000ULL,
				(void *)0x8000000000000000ULL, two + 4096, two + 4096 - 16 };
		size_t b;

		for (b = 0; b < sizeof(bad) / sizeof(bad[0]); b++) {
			struct state before;

			/* The last one begins well: its size can be read. */
			if (b == 5)
				*(uint32_t *)bad[b] = commands[i].size;
			before = state_now();
			cases++;
			sprintf(what, "%s at %p", commands[i].name, bad[b]);
			CHECK_EQ(call(cmd, bad[b]), -EFAULT, "%s", what);
			check_unchanged(&before, what);
		}
		/* It can be read, but the answer cannot be written. */
		good_request(&a, cmd);
		mprotect(read_only, 4096, PROT_READ | PROT_WRITE);
		memcpy(read_only, &a, 4096);
		mprotect(read_only, 4096, PROT_READ);
		if (cmd != TRAMP_IOC_QUERY) {
			struct state before = state_now();

			cases++;
			sprintf(what, "%s in read-only memory", commands[i].name);
			CHECK_EQ(call(cmd, read_only), -EFAULT, "%s", what);
			check_unchanged(&before, what);
		}
	}
	/* Buffers that a struct points to. */
	good_request(&a, TRAMP_IOC_INFO);
	CHECK_EQ(call(TRAMP_IOC_INFO, &a), 0, "INFO");
	if (a.info.missing_len > 1) {
		a.info.missing = (uintptr_t)8;
		expect("INFO with a bad buffer", TRAMP_IOC_INFO, &a, -EFAULT, -1);
		a.info.missing = (uintptr_t)two;
		a.info.missing_len = 1;
		expect("INFO with a small buffer", TRAMP_IOC_INFO, &a, -EMSGSIZE, -1);
		CHECK(a.info.missing_len > 1, "the length needed is %u", a.info.missing_len);
	}
	ktap_note("%d cases", cases);
	check_nothing_left();
}

static void test_commands(void)
{
	unsigned int bad[] = { _IO(TRAMP_IOC_TYPE, 5), _IO(TRAMP_IOC_TYPE, 6),
			       _IO(TRAMP_IOC_TYPE, 0x7f), _IO(TRAMP_IOC_TYPE, 0xff),
			       _IO(TRAMP_IOC_TYPE + 1, 0), _IOWR(TRAMP_IOC_TYPE, 0, uint32_t),
			       _IOR(TRAMP_IOC_TYPE, 1, struct tramp_attach), 0, 0xffffffff,
			       /* TCGETS, of isatty() */ 0x5401 };
	char what[64], byte = 0;
	union arg a;
	size_t i;

	setup();
	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		good_request(&a, TRAMP_IOC_INFO);
		sprintf(what, "command %#x", bad[i]);
		expect(what, bad[i], &a, -ENOTTY, -1);
	}
	/* It is no file to read, write or map. */
	CHECK(read(tramp_device(), &byte, 1) < 0, "read() worked");
	CHECK(write(tramp_device(), &byte, 1) < 0, "write() worked");
	CHECK(mmap(NULL, 4096, PROT_READ, MAP_SHARED, tramp_device(), 0) == MAP_FAILED,
	      "mmap() worked");
	cases += 3;
	ktap_note("%d cases", cases);
	check_nothing_left();
}

/* ------------------------------------------------------------------ values --- */

static void test_values(void)
{
	uint32_t bit, link_id;
	struct att k;
	char what[64];
	union arg a;

	setup();
	for (bit = 4; bit < 32; bit += 3) {
		good_request(&a, TRAMP_IOC_ATTACH);
		a.attach.flags = 1U << bit;
		sprintf(what, "ATTACH with flag %#x", 1U << bit);
		expect(what, TRAMP_IOC_ATTACH, &a, -EINVAL, TRAMP_REASON_SYNTAX);
	}
	good_request(&a, TRAMP_IOC_ATTACH);
	a.attach.__reserved = 1;
	expect("ATTACH with a reserved member", TRAMP_IOC_ATTACH, &a, -EINVAL,
	       TRAMP_REASON_SYNTAX);
	good_request(&a, TRAMP_IOC_ATTACH);
	a.attach.cookie = 1;
	expect("ATTACH with a cookie but no flag", TRAMP_IOC_ATTACH, &a, -EINVAL,
	       TRAMP_REASON_SYNTAX);

	good_request(&a, TRAMP_IOC_INFO);
	a.info.flags = 1;
	expect("INFO with a flag", TRAMP_IOC_INFO, &a, -EINVAL, -1);

	good_request(&a, TRAMP_IOC_EXPLAIN);
	a.explain.flags = 1;
	expect("EXPLAIN with a flag", TRAMP_IOC_EXPLAIN, &a, -EINVAL, TRAMP_REASON_SYNTAX);
	good_request(&a, TRAMP_IOC_EXPLAIN);
	a.explain.name[0] = '\0';
	expect("EXPLAIN of nothing", TRAMP_IOC_EXPLAIN, &a, -EINVAL, TRAMP_REASON_SYNTAX);
	good_request(&a, TRAMP_IOC_EXPLAIN);
	memset(a.explain.name, 'x', sizeof(a.explain.name));
	expect("EXPLAIN of a name without end", TRAMP_IOC_EXPLAIN, &a, -EINVAL,
	       TRAMP_REASON_SYNTAX);
	good_request(&a, TRAMP_IOC_EXPLAIN);
	memset(a.explain.module, 'x', sizeof(a.explain.module));
	expect("EXPLAIN in a module without end", TRAMP_IOC_EXPLAIN, &a, -EINVAL,
	       TRAMP_REASON_SYNTAX);
	good_request(&a, TRAMP_IOC_EXPLAIN);
	a.explain.btf_obj_id = func_btf("bpf_fentry_test2").obj_id;
	expect("EXPLAIN with an object but no type", TRAMP_IOC_EXPLAIN, &a, -EINVAL,
	       TRAMP_REASON_SYNTAX);
	good_request(&a, TRAMP_IOC_EXPLAIN);
	a.explain.btf_id = 5;
	expect("EXPLAIN with a type but no object", TRAMP_IOC_EXPLAIN, &a, -EINVAL,
	       TRAMP_REASON_SYNTAX);

	good_request(&a, TRAMP_IOC_QUERY);
	a.query.flags = 2;
	expect("QUERY with an unknown flag", TRAMP_IOC_QUERY, &a, -EINVAL, TRAMP_REASON_SYNTAX);
	good_request(&a, TRAMP_IOC_QUERY);
	a.query.flags = 0;
	expect("QUERY of link 0", TRAMP_IOC_QUERY, &a, -ENOENT, TRAMP_REASON_LINK_GONE);
	good_request(&a, TRAMP_IOC_QUERY);
	a.query.flags = 0;
	a.query.link_id = 0x7ffffff0;
	expect("QUERY of a link that is not", TRAMP_IOC_QUERY, &a, -ENOENT,
	       TRAMP_REASON_LINK_GONE);
	good_request(&a, TRAMP_IOC_QUERY);
	a.query.link_id = 0xffffffff;
	expect("QUERY behind the last id", TRAMP_IOC_QUERY, &a, -ENOENT, TRAMP_REASON_LINK_GONE);

	/* A link of the kernel's own is none of ours. */
	k = att_do(KERNEL, FD(good_exit), NULL);
	{
		struct bpf_link_info info = {};
		uint32_t len = sizeof(info);

		REQUIRE(!bpf_obj_get_info_by_fd(k.fd, &info, &len), "%s", strerror(errno));
		link_id = info.id;
	}
	good_request(&a, TRAMP_IOC_QUERY);
	a.query.flags = 0;
	a.query.link_id = link_id;
	expect("QUERY of the kernel's link", TRAMP_IOC_QUERY, &a, -ENOENT,
	       TRAMP_REASON_LINK_GONE);
	att_drop(&k);
	ktap_note("%d cases", cases);
	check_nothing_left();
}

/* -------------------------------------------------------- descriptors, types --- */

static void attach_fd_case(const char *what, int fd, int err, int reason)
{
	union arg a;

	good_request(&a, TRAMP_IOC_ATTACH);
	a.attach.prog_fd = fd;
	expect(what, TRAMP_IOC_ATTACH, &a, err, reason);
	CHECK(a.attach.link_fd < 0, "%s: gave descriptor %d", what, a.attach.link_fd);
}

static void test_descriptors(void)
{
	int map = bpf_map_create(BPF_MAP_TYPE_ARRAY, "m", 4, 8, 1, NULL), fds[2];
	struct func_btf f;
	struct att link;

	setup();
	f = func_btf("bpf_fentry_test2");
	link = att_do(OURS, FD(good_exit), NULL);
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
	att_drop(&link);
	ktap_note("%d cases", cases);
	check_nothing_left();
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
	check_nothing_left();
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
	check_nothing_left();
}

static void test_already_attached(void)
{
	struct att ours, kernels;

	setup();
	ours = att_do(OURS, FD(good_entry), NULL);
	attach_fd_case("attached by us", FD(good_entry), -EBUSY, TRAMP_REASON_ALREADY_ATTACHED);
	att_drop(&ours);
	/* Detached, it can be attached again. */
	ours = att_do(OURS, FD(good_entry), NULL);
	att_drop(&ours);
	/*
	 * Attached by the kernel it can be attached by us beside it: an entry program
	 * then runs twice a call; an exit program finds the site held.
	 */
	kernels = att_do(KERNEL, FD(good_entry), NULL);
	if (tramp_module().features & TRAMP_FEAT_FTRACE_OPS) {
		ours = att_do(OURS, FD(good_entry), NULL);
		CHECK_EQ(tramp_query_link(tramp_link__id(ours.link)).mode, TRAMP_MODE_FTRACE_OPS,
			 "beside the kernel's");
		att_drop(&ours);
	}
	att_drop(&kernels);
	kernels = att_do(KERNEL, FD(good_exit), NULL);
	attach_fd_case("an exit program, attached by the kernel", FD(good_exit), -EBUSY,
		       TRAMP_REASON_SITE_HELD);
	att_drop(&kernels);
	ours = att_do(OURS, FD(good_entry), NULL);
	att_drop(&ours);
	check_nothing_left();
}

/* ----------------------------------------------------------------- EXPLAIN --- */

static void explain_case(const char *what, const char *name, const char *module, int err,
			 int reason)
{
	union arg a;

	good_request(&a, TRAMP_IOC_EXPLAIN);
	strcpy(a.explain.name, name);
	strcpy(a.explain.module, module);
	expect(what, TRAMP_IOC_EXPLAIN, &a, err, reason);
}

static void explain_id_case(const char *what, uint32_t obj, uint32_t id, int err, int reason)
{
	union arg a;

	good_request(&a, TRAMP_IOC_EXPLAIN);
	a.explain.name[0] = '\0';
	a.explain.btf_obj_id = obj;
	a.explain.btf_id = id;
	expect(what, TRAMP_IOC_EXPLAIN, &a, err, reason);
}

/* Asked by BTF id: can it be, and why not? */
static void can_case(const char *func, uint32_t can, unsigned int fentry, unsigned int fexit)
{
	struct func_btf f = func_btf(func);
	union arg a;

	if (!CHECK(f.id > 0, "%s is not in BTF", func))
		return;
	cases++;
	good_request(&a, TRAMP_IOC_EXPLAIN);
	a.explain.name[0] = '\0';
	a.explain.btf_obj_id = f.obj_id;
	a.explain.btf_id = f.id;
	CHECK_EQ(call(TRAMP_IOC_EXPLAIN, &a), 0, "%s", func);
	CHECK_EQ(a.explain.can, can, "%s", func);
	CHECK_EQ(a.explain.fentry_reason, fentry, "%s: %s", func,
		 tramp_reason_name(a.explain.fentry_reason));
	CHECK_EQ(a.explain.fexit_reason, fexit, "%s: %s", func,
		 tramp_reason_name(a.explain.fexit_reason));
	CHECK(!strcmp(a.explain.name, func), "%s: name '%s'", func, a.explain.name);
}

static void test_explain(void)
{
	struct bpf_prog_info info = {};
	uint32_t len = sizeof(info);
	struct func_btf f;
	int fd;

	setup();
	fd = tt_open();
	f = func_btf("bpf_fentry_test2");
	explain_case("unknown function", "no_such_function_at_all", "", -ENOENT,
		     TRAMP_REASON_NO_SUCH_FUNCTION);
	explain_case("a variable", "jiffies", "", -ENOENT, TRAMP_REASON_NO_SUCH_FUNCTION);
	explain_case("unknown module", "tt_hot0", "no_such_module", -ENOENT,
		     TRAMP_REASON_NO_SUCH_FUNCTION);
	explain_case("another module's function", "tt_hot0", "trampoline", -ENOENT,
		     TRAMP_REASON_NO_SUCH_FUNCTION);
	explain_id_case("unknown BTF object", 0x7fffffff, 1, -ENOENT, TRAMP_REASON_NO_BTF);
	explain_id_case("type id beyond the last", f.obj_id, 0x7fffffff, -ENOENT,
			TRAMP_REASON_NO_BTF);
	explain_id_case("a type that is no function", f.obj_id, 1, -ENOENT, TRAMP_REASON_NO_BTF);
	REQUIRE(!bpf_obj_get_info_by_fd(FD(good_entry), &info, &len), "%s", strerror(errno));
	explain_id_case("BTF of a program", info.btf_id, 1, -ENOENT, TRAMP_REASON_NO_BTF);

	can_case("bpf_fentry_test2", TRAMP_CAN_FENTRY | TRAMP_CAN_FEXIT, 0, 0);
	can_case("tt_args12", TRAMP_CAN_FENTRY | TRAMP_CAN_FEXIT, 0, 0);
	can_case("tt_notrace", 0, TRAMP_REASON_NOT_TRACEABLE, TRAMP_REASON_NOT_TRACEABLE);
	can_case("tt_args13", 0, TRAMP_REASON_TOO_MANY_ARGS, TRAMP_REASON_TOO_MANY_ARGS);
	can_case("tt_struct16_7", 0, TRAMP_REASON_TOO_MANY_ARGS, TRAMP_REASON_TOO_MANY_ARGS);
	can_case("tt_struct24", 0, TRAMP_REASON_ARG_TYPE, TRAMP_REASON_ARG_TYPE);
	can_case("tt_variadic", 0, TRAMP_REASON_VARIADIC, TRAMP_REASON_VARIADIC);
	can_case("do_exit", TRAMP_CAN_FENTRY, 0, TRAMP_REASON_NORETURN);
	close(fd);
	ktap_note("%d cases", cases);
	check_nothing_left();
}

/* ------------------------------------------------------------- capabilities --- */

static void set_caps(uint64_t caps)
{
	struct __user_cap_header_struct head = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct data[2] = {
		{ .effective = (uint32_t)caps, .permitted = (uint32_t)caps },
		{ .effective = caps >> 32, .permitted = caps >> 32 },
	};

	REQUIRE(!syscall(SYS_capset, &head, data), "capset: %s", strerror(errno));
}

#define CAP(name) (1ULL << (CAP_ ## name))
/* All up to CAP_CHECKPOINT_RESTORE but one. */
#define ALL_CAPS ((1ULL << 41) - 1)

/* In a child with these capabilities: open() and ATTACH through an open file. */
static void caps_case(const char *what, uint64_t caps, bool allowed)
{
	struct state before = state_now();
	int status;
	pid_t pid;

	cases++;
	fflush(stdout);
	pid = fork();
	REQUIRE(pid >= 0, "fork");
	if (!pid) {
		union arg a;
		int err, fd;

		set_caps(caps);
		fd = open(TRAMP_DEVICE, O_RDWR | O_CLOEXEC);
		CHECK_EQ(fd < 0 ? -errno : 0, allowed ? 0 : -EPERM, "%s: open", what);
		good_request(&a, TRAMP_IOC_ATTACH);
		err = call(TRAMP_IOC_ATTACH, &a);
		CHECK_EQ(err, allowed ? 0 : -EPERM, "%s: ATTACH", what);
		if (!allowed)
			CHECK_EQ(a.attach.refusal.reason, TRAMP_REASON_PERMISSION, "%s", what);
		if (!allowed)
			CHECK(a.attach.link_fd <= 0, "%s: descriptor %d", what, a.attach.link_fd);
		/* INFO needs no more than the open file. */
		good_request(&a, TRAMP_IOC_INFO);
		CHECK_EQ(call(TRAMP_IOC_INFO, &a), 0, "%s: INFO", what);
		exit(ktap_failures() ? 1 : 0);
	}
	waitpid(pid, &status, 0);
	CHECK_EQ(status, 0, "%s", what);
	check_unchanged(&before, what);
}

static void test_capabilities(void)
{
	setup();
	caps_case("none", 0, false);
	caps_case("CAP_BPF", CAP(BPF), false);
	caps_case("CAP_PERFMON", CAP(PERFMON), false);
	caps_case("all but CAP_SYS_ADMIN and CAP_BPF",
		  ALL_CAPS & ~(CAP(SYS_ADMIN) | CAP(BPF)), false);
	caps_case("all but CAP_SYS_ADMIN and CAP_PERFMON",
		  ALL_CAPS & ~(CAP(SYS_ADMIN) | CAP(PERFMON)), false);
	caps_case("CAP_BPF and CAP_PERFMON", CAP(BPF) | CAP(PERFMON), true);
	caps_case("CAP_SYS_ADMIN", CAP(SYS_ADMIN), true);
	check_nothing_left();
}

/* Addresses and code only to those whom /proc/kallsyms would show them. */
static void test_hidden_addresses(void)
{
	struct att link;
	int status;
	pid_t pid;

	setup();
	link = att_do(OURS, FD(good_entry), NULL);
	REQUIRE(!write_file("/proc/sys/kernel/kptr_restrict", "2"), "kptr_restrict");
	fflush(stdout);
	pid = fork();
	REQUIRE(pid >= 0, "fork");
	if (!pid) {
		unsigned char image[4096];
		union arg a;

		good_request(&a, TRAMP_IOC_QUERY);
		CHECK_EQ(call(TRAMP_IOC_QUERY, &a), 0, "QUERY");
		CHECK_EQ(a.query.func_addr, 0, "address of the function");
		CHECK_EQ(a.query.image_addr, 0, "address of the image");
		good_request(&a, TRAMP_IOC_QUERY);
		a.query.image = (uintptr_t)image;
		a.query.image_len = sizeof(image);
		CHECK_EQ(call(TRAMP_IOC_QUERY, &a), -EPERM, "QUERY of the image");
		CHECK_EQ(a.query.refusal.reason, TRAMP_REASON_HIDDEN_ADDRESS, "QUERY");
		good_request(&a, TRAMP_IOC_EXPLAIN);
		CHECK_EQ(call(TRAMP_IOC_EXPLAIN, &a), 0, "EXPLAIN");
		CHECK_EQ(a.explain.func_addr, 0, "address of the function");
		CHECK_EQ(a.explain.site_addr, 0, "address of the site");
		good_request(&a, TRAMP_IOC_ATTACH);
		CHECK_EQ(call(TRAMP_IOC_ATTACH, &a), -EBUSY, "ATTACH");
		CHECK_EQ(a.attach.refusal.addr, 0, "address in the refusal");
		CHECK(!strstr(a.attach.refusal.detail, "ffffffff"), "'%s'",
		      a.attach.refusal.detail);
		exit(ktap_failures() ? 1 : 0);
	}
	waitpid(pid, &status, 0);
	write_file("/proc/sys/kernel/kptr_restrict", "0");
	CHECK_EQ(status, 0, "in the child");
	att_drop(&link);
	check_nothing_left();
}

/* ---------------------------------------------------------- ftrace switched off --- */

#define FTRACE_ENABLED "/proc/sys/kernel/ftrace_enabled"

static void test_ftrace_disabled(void)
{
	struct att link;
	int err;

	setup();
	REQUIRE(!write_file(FTRACE_ENABLED, "0"), "%s", FTRACE_ENABLED);
	attach_fd_case("ftrace switched off", FD(good_entry), -ENODEV,
		       TRAMP_REASON_FTRACE_DISABLED);
	REQUIRE(!write_file(FTRACE_ENABLED, "1"), "%s", FTRACE_ENABLED);
	/* While something is attached it would lose hits silently: the kernel refuses. */
	link = att_do(OURS, FD(good_entry), NULL);
	err = write_file(FTRACE_ENABLED, "0");
	CHECK_EQ(err, -EBUSY, "switching ftrace off under a link");
	if (!err)
		write_file(FTRACE_ENABLED, "1");
	CHECK(!run_fentry_tests(FD(good_exit)), "the functions");
	CHECK_EQ(tramp_query_link(tramp_link__id(link.link)).hits, 1, "hits");
	att_drop(&link);
	check_nothing_left();
}

static const struct ktap_test tests[] = {
	{ "sizes", test_sizes, 60 },
	{ "pointers", test_pointers, 60 },
	{ "commands", test_commands, 60 },
	{ "values", test_values, 60 },
	{ "descriptors", test_descriptors, 60 },
	{ "program_types", test_program_types, 60 },
	{ "program_targets", test_program_targets, 60 },
	{ "already_attached", test_already_attached, 60 },
	{ "explain", test_explain, 60 },
	{ "capabilities", test_capabilities, 60 },
	{ "hidden_addresses", test_hidden_addresses, 60 },
	{ "ftrace_disabled", test_ftrace_disabled, 60 },
};

KTAP_MAIN(tests)
