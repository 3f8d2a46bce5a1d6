// SPDX-License-Identifier: GPL-2.0
/*
 * Programs and places: copies of the programs of bench.bpf.c, loaded for
 * whatever an attachment asks for, and the functions of trampoline_bench.ko.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>
#include <bpf/btf.h>
#include "bench.h"
#include "selftests/bench/bench.skel.h"

#define BENCH_MODULE	"trampoline_bench"
#define BENCH_KO	"/opt/trampoline/trampoline_bench.ko"

static struct bench *skel;

static const struct {
	const char *name;
	bool counts;
} programs[BENCH_PROGS] = {
	[BENCH_EMPTY] = { "empty", false },
	[BENCH_MAPS] = { "maps", true },
	[BENCH_COOKIE] = { "cookie", true },
	[BENCH_REGS2] = { "regs2", true },
	[BENCH_REGS_ALL] = { "regs-all", true },
};

const char *bench_prog_name(enum bench_prog prog)
{
	return programs[prog].name;
}

bool bench_prog_counts(enum bench_prog prog)
{
	return programs[prog].counts;
}

static struct bench *skeleton(void)
{
	if (!skel) {
		skel = bench__open_and_load();
		REQUIRE(skel, "bench.bpf.o: %s", strerror(errno));
	}
	return skel;
}

static const struct bpf_program *program(enum bench_prog prog)
{
	struct bench *s = skeleton();

	switch (prog) {
	case BENCH_EMPTY:
		return s->progs.bench_empty;
	case BENCH_MAPS:
		return s->progs.bench_maps;
	case BENCH_COOKIE:
		return s->progs.bench_cookie;
	case BENCH_REGS2:
		return s->progs.bench_regs2;
	case BENCH_REGS_ALL:
		return s->progs.bench_regs_all;
	case BENCH_PROGS:
		break;
	}
	ktap_die("there is no program %d", prog);
}

uint64_t bench_hits(void)
{
	return *(volatile __u64 *)&skeleton()->bss->hits;
}

void bench_reset_hits(void)
{
	skeleton()->bss->hits = 0;
}

/* The module's BTF: only its own types are looked through, not the kernel's. */
static struct btf *btf;
static int btf_fd = -1;
static uint32_t first_own_type;

static int module_btf_fd(void)
{
	uint32_t id = 0;

	while (!bpf_btf_get_next_id(id, &id)) {
		char name[64] = "";
		struct bpf_btf_info info = { .name = (uintptr_t)name, .name_len = sizeof(name) };
		uint32_t len = sizeof(info);
		int fd = bpf_btf_get_fd_by_id(id);

		if (fd < 0)
			continue;
		if (!bpf_obj_get_info_by_fd(fd, &info, &len) && info.kernel_btf &&
		    !strcmp(name, BENCH_MODULE))
			return fd;
		close(fd);
	}
	ktap_die("no BTF object of %s", BENCH_MODULE);
}

static uint32_t function_type(const char *func)
{
	uint32_t id;

	if (!btf) {
		struct btf *base = btf__load_vmlinux_btf();

		REQUIRE(base, "the kernel's BTF: %s", strerror(errno));
		btf = btf__load_module_btf(BENCH_MODULE, base);
		REQUIRE(btf, "BTF of " BENCH_MODULE ": %s", strerror(errno));
		first_own_type = btf__type_cnt(base);
		btf_fd = module_btf_fd();
	}
	for (id = first_own_type; id < btf__type_cnt(btf); id++) {
		const struct btf_type *t = btf__type_by_id(btf, id);

		if (btf_is_func(t) && !strcmp(btf__name_by_offset(btf, t->name_off), func))
			return id;
	}
	ktap_die("BTF of " BENCH_MODULE " does not describe %s", func);
}

int bench_load_try(enum bench_prog prog, const struct bench_load *as)
{
	const struct bpf_program *p = program(prog);
	LIBBPF_OPTS(bpf_prog_load_opts, opts, .expected_attach_type = as->attach_type);

	if (as->func) {
		opts.attach_btf_id = function_type(as->func);
		opts.attach_btf_obj_fd = btf_fd;
	}
	return bpf_prog_load(as->type, bpf_program__name(p), "GPL", bpf_program__insns(p),
			     bpf_program__insn_cnt(p), &opts);
}

int bench_load(enum bench_prog prog, const struct bench_load *as)
{
	int fd = bench_load_try(prog, as);

	REQUIRE(fd >= 0, "loading program %s as type %u: %s", bench_prog_name(prog), as->type,
		strerror(-fd));
	return fd;
}

int bench_device(void)
{
	static int fd = -1;
	int err = 0;

	if (fd >= 0)
		return fd;
	if (!module_loaded(BENCH_MODULE))
		err = module_load(BENCH_KO);
	REQUIRE(!err, "cannot load %s: %s", BENCH_KO, strerror(-err));
	fd = open(BENCH_DEVICE, O_RDWR | O_CLOEXEC);
	REQUIRE(fd >= 0, "%s: %s", BENCH_DEVICE, strerror(errno));
	return fd;
}

struct bench_place bench_place(uint32_t target, uint32_t index)
{
	struct bench_place p = { .target = target, .index = index };

	if (target == BENCH_TRACEPOINT)
		return p;
	REQUIRE(!ioctl(bench_device(), BENCH_IOC_PLACE, &p), "place %u of target %u: %s", index,
		target, strerror(errno));
	return p;
}

uint64_t bench_run(uint32_t target, uint32_t calls)
{
	struct bench_run r = { .target = target, .calls = calls };

	REQUIRE(!ioctl(bench_device(), BENCH_IOC_RUN, &r), "running target %u: %s", target,
		strerror(errno));
	return r.ticks;
}
