// SPDX-License-Identifier: GPL-2.0
/*
 * The things that requests are about (world.h), chosen from the kernel that runs.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/bpf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "fixture.h"
#include "many.h"
#include "probe.h"
#include "world.h"
#include "selftests/vm/lib/errors.skel.h"
#include "selftests/vm/fuzz/fuzz.skel.h"

struct world world;
static struct fuzz *skel;
static char *memory[WORLD_PIECES], *read_only;

uint64_t input_number(struct input *in, uint64_t max)
{
	static const uint64_t limits[] = {
		0, 1, 2, 4, 8, 0x7f, 0x80, 0xff, 0x100, 0xfff, 0x1000, 0xffff, 0x10000, 0x7fffffff,
		0x80000000, 0xffffffff, 0x100000000, 0x7fffffffffffffff, 0x8000000000000000,
		0xffffffffffffffff,
	};
	uint32_t kind = input_below(in, 8);

	if (kind < 3)
		return max ? input_bytes(in, 2) % (max + 1) : 0;
	if (kind < 5)
		return max + kind - 3;
	return kind < 7 ? limits[input_below(in, sizeof(limits) / sizeof(limits[0]))] :
			  input_bytes(in, 8);
}

/* -------------------------------------------------------------- programs --- */

static void add_prog(int fd)
{
	REQUIRE(world.nr_progs < WORLD_PROGS, "too many programs");
	world.progs[world.nr_progs++] = fd;
}

/* The same programs for functions of some shapes; those that the kernel has. */
static void add_tracing(void)
{
	static const char *const funcs[] = {
		"bpf_fentry_test1", "bpf_fentry_test6", "tt_hot0", "tt_factorial", "do_unlinkat",
		"vfs_read", "security_file_open", "kmem_cache_free",
		/* Some that are refused, each for its reason. */
		"tt_variadic", "tt_args13", "tt_struct16_7", "do_exit", "tramp_ioctl",
	};
	size_t i;

	add_prog(bpf_program__fd(skel->progs.modifies));
	if (bpf_program__autoload(skel->progs.sleeps))
		add_prog(bpf_program__fd(skel->progs.sleeps));
	for (i = 0; i < sizeof(funcs) / sizeof(funcs[0]); i++) {
		int entry = prog_clone_try(skel->progs.at_entry, funcs[i], BPF_TRACE_FENTRY);
		int exit = prog_clone_try(skel->progs.at_exit, funcs[i], BPF_TRACE_FEXIT);

		if (entry >= 0)
			add_prog(entry);
		if (exit >= 0)
			add_prog(exit);
	}
	world.nr_tracing = world.nr_progs;
}

static void add_others(void)
{
	struct errors *errors = FIXTURE_LOAD(errors);
	struct bpf_program *prog;
	int closed = dup(world.dev);

	bpf_object__for_each_program(prog, errors->obj) {
		if (bpf_program__fd(prog) >= 0 && world.nr_progs < WORLD_PROGS - 8)
			add_prog(bpf_program__fd(prog));
	}
	add_prog(bpf_map__fd(skel->maps.bss));
	add_prog(world.dev);
	add_prog(STDOUT_FILENO);
	add_prog(-1);
	add_prog(INT32_MAX);
	/* Above all that requests come to. */
	add_prog(closed + 500);
	close(closed);
}

static void add_programs(void)
{
	add_tracing();
	add_prog(bpf_program__fd(skel->progs.probe));
	add_prog(bpf_program__fd(skel->progs.asks));
	add_prog(bpf_program__fd(skel->progs.many));
	add_prog(bpf_program__fd(skel->progs.session));
	world.nr_good = world.nr_progs;
	add_others();
}

/* ---------------------------------------------------------------- places --- */

static void add_places(void)
{
	static const char *const first[] = {
		"bpf_fentry_test1", "tt_hot0", "tt_factorial", "trampoline_test:tt_hot1", "vfs_read",
		"do_unlinkat", "tt_sleepable", "getname_flags", "no_such_function_here", "",
		"trampoline:tramp_ioctl", "no_such_module:vfs_read", ":", "vfs_read:", "kvfree+1",
		"int3_magic", "asm_exc_int3", "notify_die", "__fentry__", "%s%s%n", "vfs\xff\xfe",
		"tt_variadic", "tt_args13", "do_exit", "tt_form_popf_1", "default_idle",
	};
	const unsigned int nr_first = sizeof(first) / sizeof(first[0]);
	struct text_sym *syms;
	size_t nr, i;

	syms = text_symbols(&nr);
	REQUIRE(nr > WORLD_PLACES, "%zu functions in kallsyms", nr);
	for (i = 0; i < WORLD_PLACES; i++) {
		const struct text_sym *sym = &syms[i * nr / WORLD_PLACES];
		char name[TRAMP_SYM_LEN + TRAMP_MOD_LEN];

		/* The first ones are what most requests are about. */
		snprintf(name, sizeof(name), "%s%s%s", sym->module, *sym->module ? ":" : "",
			 sym->name);
		world.names[i] = strdup(i < nr_first ? first[i] : name);
		world.addrs[i] = i < nr_first ? ksym_addr(first[i]) : 0;
		if (!world.addrs[i])
			world.addrs[i] = sym->addr;
	}
	free(syms);
}

static void add_btfs(void)
{
	uint32_t id = 0;

	while (world.nr_btfs < WORLD_BTFS && !bpf_btf_get_next_id(id, &id))
		world.btfs[world.nr_btfs++] = id;
}

/* ---------------------------------------------------------------- memory --- */

static char *new_piece(void)
{
	char *piece = mmap(NULL, WORLD_PIECE + 4096, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	REQUIRE(piece != MAP_FAILED && !mprotect(piece + WORLD_PIECE, 4096, PROT_NONE),
		"memory: %s", strerror(errno));
	return piece;
}

void *world_memory(unsigned int i, size_t len)
{
	REQUIRE(i < WORLD_PIECES && len <= WORLD_PIECE, "piece %u of %zu bytes", i, len);
	memset(memory[i], 0, WORLD_PIECE);
	return memory[i] + WORLD_PIECE - len;
}

uint64_t world_bad_memory(struct input *in, size_t len)
{
	uint64_t end = (uintptr_t)memory[0] + WORLD_PIECE;

	switch (input_below(in, 7)) {
	case 0:
		return 8;
	case 1:
		return world.addrs[input_below(in, WORLD_PLACES)];
	case 2:
		return 0x8000000000000000ULL | input_bytes(in, 4);
	case 3:
		return end;
	case 4:
		return end - input_below(in, len ?: 1);
	case 5:
		/* The end of user space, and of our stack without ASLR: 8 bytes nobody reads. */
		return 0x7ffffffff000ULL - input_below(in, 8);
	default:
		return (uintptr_t)read_only;
	}
}

/* ----------------------------------------------------------------- links --- */

void world_add_link(int fd)
{
	if (world.nr_links == WORLD_LINKS) {
		close(world.links[0]);
		memmove(world.links, world.links + 1, sizeof(world.links) - sizeof(world.links[0]));
		world.nr_links--;
	}
	world.links[world.nr_links++] = fd;
}

void world_drop_links(void)
{
	while (world.nr_links)
		close(world.links[--world.nr_links]);
}

/* --------------------------------------------------------------- choices --- */

int world_prog(struct input *in)
{
	if (input_odds(in, 40))
		return world.progs[world.nr_good + input_below(in, world.nr_progs - world.nr_good)];
	return world.progs[input_below(in, world.nr_good)];
}

int world_link(struct input *in)
{
	if (!world.nr_links || input_odds(in, 16))
		return world.progs[input_below(in, world.nr_progs)];
	return world.links[input_below(in, world.nr_links)];
}

uint64_t world_addr(struct input *in)
{
	uint64_t addr = world.addrs[input_below(in, input_odds(in, 128) ? WORLD_PLACES : 16)];

	if (input_odds(in, 16))
		return input_number(in, addr);
	return input_odds(in, 160) ? addr + input_below(in, 64) : addr;
}

size_t world_name(struct input *in, char *text, size_t len)
{
	const char *name = world.names[input_below(in, input_odds(in, 128) ? WORLD_PLACES : 16)];
	size_t n = strnlen(name, len - 1);

	memcpy(text, name, n);
	text[n] = 0;
	if (input_odds(in, 8)) {
		memset(text, 'a', len);
		return len;
	}
	if (n && input_odds(in, 8))
		text[input_below(in, n)] = input_bytes(in, 1);
	return n + 1;
}

/* --------------------------------------------------------------- actions --- */

static void read_fdinfo(int fd)
{
	char path[64], text[4096];
	int f;

	snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", fd);
	f = open(path, O_RDONLY | O_CLOEXEC);
	if (f < 0)
		return;
	while (read(f, text, sizeof(text)) > 0)
		;
	close(f);
}

/* As for a link of many functions, whatever it is: with room for some, none, or bad room. */
static void link_info(struct input *in, int fd)
{
	struct many_info info = {};
	uint32_t len = sizeof(info);

	if (input_odds(in, 200))
		info.count = input_below(in, 32);
	if (input_odds(in, 128))
		info.addrs = (uintptr_t)world_memory(0, 32 * 8);
	if (input_odds(in, 96))
		info.cookies = (uintptr_t)world_memory(1, 32 * 8);
	if (input_odds(in, 8))
		info.addrs = world_bad_memory(in, 32 * 8);
	bpf_obj_get_info_by_fd(fd, (void *)&info, &len);
}

static void run_functions(void)
{
	char text[64];
	int f = open("/proc/self/comm", O_RDONLY | O_CLOEXEC);

	if (f >= 0) {
		if (read(f, text, sizeof(text)) < 0)
			text[0] = 0;
		close(f);
	}
	unlink("/tmp/fuzz-no-such-file");
	if (world.rights)
		run_fentry_tests(bpf_program__fd(skel->progs.at_entry));
}

/* Not the files that stay: what is in the pool of links only. */
void world_act(struct input *in)
{
	unsigned int i;

	if (!world.nr_links) {
		run_functions();
		return;
	}
	i = input_below(in, world.nr_links);
	switch (input_below(in, 8)) {
	case 0:
		close(world.links[i]);
		world.links[i] = world.links[--world.nr_links];
		break;
	case 1:
		bpf_link_detach(world.links[i]);
		break;
	case 2:
		bpf_link_update(world.links[i], world_prog(in), NULL);
		break;
	case 3:
		read_fdinfo(world.links[i]);
		break;
	case 4:
		link_info(in, world.links[i]);
		break;
	default:
		run_functions();
	}
}

void world_setup(void)
{
	unsigned int i;

	world.dev = open(TRAMP_DEVICE, O_RDWR | O_CLOEXEC);
	REQUIRE(world.dev >= 0, "%s: %s", TRAMP_DEVICE, strerror(errno));
	skel = many_open(fuzz);
	REQUIRE(skel, "fuzz.bpf.o: %s", strerror(errno));
	/* Before that no function of a module is sleepable to the verifier. */
	bpf_program__set_autoload(skel->progs.sleeps, kernel_version() >= 6003);
	REQUIRE(!fuzz__load(skel), "fuzz.bpf.o: %s", strerror(errno));
	add_programs();
	add_places();
	add_btfs();
	for (i = 0; i < WORLD_PIECES; i++)
		memory[i] = new_piece();
	read_only = mmap(NULL, WORLD_PIECE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	REQUIRE(read_only != MAP_FAILED, "memory: %s", strerror(errno));
	world.rights = true;
}
