// SPDX-License-Identifier: GPL-2.0
/*
 * libtrampoline with the module loaded: probes. By section name and by options, alone
 * and in an object with other kinds; their descriptions; what is said of places that cannot be.
 *
 * Instructions are chosen by asking the module, since kernels differ: that they are
 * what it says is what other tests are about.
 */
#define _GNU_SOURCE	/* memmem() */
#include <bpf/libbpf.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "../lib/ktap.h"
#include "guest.h"
#include "probes.skel.h"

#define OPTIMIZE	"/sys/kernel/debug/trampoline/optimize"

/* struct pt_regs, by number. */
#define REG_DI	14
#define REG_IP	16
#define REG_CS	17

static struct probes *need_probes(struct probes *skel)
{
	int err;

	tramp_set_print(NULL);
	if (!skel)
		skel = probes__open();
	REQUIRE(skel, "open: %s", strerror(errno));
	err = probes__load(skel);
	REQUIRE(!err, "load: %s", strerror(-err));
	skel->bss->pid = getpid();
	return skel;
}

/* Returns when every probe is what it is going to be. */
static void wait_for_optimiser(void)
{
	int fd = open(OPTIMIZE, O_WRONLY);

	REQUIRE(fd >= 0 && write(fd, "1", 1) == 1, "%s: %s", OPTIMIZE, strerror(errno));
	close(fd);
}

static struct tramp_code *need_code(const char *spec)
{
	struct tramp_code *code = tramp_explain_code(NULL, spec, NULL);

	REQUIRE(code, "%s: %s", spec, tramp_last_error()->message);
	return code;
}

/* An instruction of do_unlinkat() that each call goes through and that can be a jump. */
static struct tramp_insn_info need_insn(void)
{
	struct tramp_code *code = need_code("do_unlinkat");
	struct tramp_insn_info insn = {};
	size_t i;

	/*
	 * Behind the ftrace site comes what saves registers: no branch around it. One byte on there
	 * is to be no instruction.
	 */
	for (i = 0; i < code->nr_insns && !insn.len; i++)
		if (code->insns[i].mode == TRAMP_MODE_JUMP && code->insns[i].offset &&
		    code->insns[i].len > 1)
			insn = code->insns[i];
	REQUIRE(insn.len, "no instruction can be a jump");
	tramp_code__free(code);
	return insn;
}

static void test_entry(void)
{
	struct probes *skel = need_probes(NULL);
	TRAMP_OPTS(tramp_link_info, info);
	struct tramp_link *link;
	void *image;

	link = need_link(skel->progs.at_entry, NULL);
	call_target(CALLS);
	CHECK_EQ(skel->bss->entries, CALLS, "entries");
	need_info(tramp_link__id(link), &info);
	CHECK_EQ(info.kind, TRAMP_KIND_KPROBE, "kind");
	CHECK_EQ(info.mode, TRAMP_MODE_DIRECT, "mode %s", tramp_mode_name(info.mode));
	CHECK_EQ(info.mode_reason, 0, "%s", tramp_reason_name(info.mode_reason));
	CHECK(!strcmp(info.func_name, "do_unlinkat"), "%s", info.func_name);
	CHECK(!strcmp(info.prog_name, "at_entry"), "%s", info.prog_name);
	CHECK(info.offset <= 4, "offset %llu", (unsigned long long)info.offset);
	CHECK_EQ(info.probe_addr, info.func_addr + info.offset, "address");
	CHECK(info.hits >= CALLS, "%llu hits", (unsigned long long)info.hits);
	CHECK_EQ(info.region_len, 0, "no jump");
	image = tramp_link_image(tramp_link__id(link), &info);
	CHECK(image, "the function's image: %s", tramp_last_error()->message);
	free(image);
	tramp_link__destroy(link);
	call_target(1);
	CHECK_EQ(skel->bss->entries, CALLS, "after detaching");
	probes__destroy(skel);
}

static void test_instruction(void)
{
	struct tramp_insn_info insn = need_insn();
	TRAMP_OPTS(tramp_attach_opts, opts, .symbol = "do_unlinkat", .offset = insn.offset,
		   .cookie = 0x1122334455667788);
	struct probes *skel = need_probes(NULL);
	TRAMP_OPTS(tramp_module_info, module);
	TRAMP_OPTS(tramp_link_info, info);
	struct tramp_link *link;
	void *image;

	link = need_link(skel->progs.nowhere, &opts);
	call_target(CALLS);
	CHECK_EQ(skel->bss->hits, CALLS, "at once");
	CHECK_EQ(skel->bss->cookie, opts.cookie, "cookie");
	need_info(tramp_link__id(link), &info);
	CHECK_EQ(info.offset, insn.offset, "offset");
	CHECK_EQ(info.cookie, opts.cookie, "cookie");
	CHECK_EQ(skel->bss->seen[REG_IP], info.probe_addr + 1, "ip");
	CHECK_EQ(skel->bss->seen[REG_CS], 0x10, "cs");
	wait_for_optimiser();
	need_info(tramp_link__id(link), &info);
	CHECK_EQ(info.mode, TRAMP_MODE_JUMP, "mode %s: %s", tramp_mode_name(info.mode),
		 tramp_reason_name(info.mode_reason));
	CHECK_EQ(info.mode_reason, 0, "%s", tramp_reason_name(info.mode_reason));
	CHECK_EQ(info.region_len, insn.region_len, "as explained");
	memset(skel->bss->seen, 0, sizeof(skel->bss->seen));
	call_target(CALLS);
	CHECK_EQ(skel->bss->hits, 2 * CALLS, "as a jump");
	CHECK_EQ(skel->bss->seen[REG_IP], info.probe_addr + 1, "ip");
	CHECK_EQ(skel->bss->seen[REG_CS], 0x10, "cs");
	REQUIRE(!tramp_info(&module), "%s", tramp_last_error()->message);
	CHECK_EQ(module.probes, 1, "probes");
	CHECK_EQ(module.optimised, 1, "optimised");
	CHECK(module.grace_periods > 0, "grace periods");
	image = tramp_link_image(tramp_link__id(link), &info);
	CHECK(image && info.image_size > 16 && info.image_addr, "an image");
	free(image);
	tramp_link__destroy(link);
	call_target(1);
	CHECK_EQ(skel->bss->hits, 2 * CALLS, "after detaching");
	CHECK_EQ(links_now(), 0, "links");
	probes__destroy(skel);
}

static void test_no_jump(void)
{
	struct tramp_insn_info insn = need_insn();
	TRAMP_OPTS(tramp_attach_opts, opts, .symbol = "do_unlinkat", .offset = insn.offset,
		   .flags = TRAMP_ATTACH_F_NO_JUMP | TRAMP_ATTACH_F_NO_KPROBE);
	struct probes *skel = need_probes(NULL);
	TRAMP_OPTS(tramp_link_info, info);
	struct tramp_link *link;

	link = need_link(skel->progs.nowhere, &opts);
	wait_for_optimiser();
	call_target(CALLS);
	CHECK_EQ(skel->bss->hits, CALLS, "hits");
	need_info(tramp_link__id(link), &info);
	CHECK_EQ(info.mode, TRAMP_MODE_INT3, "mode %s", tramp_mode_name(info.mode));
	CHECK_EQ(info.mode_reason, TRAMP_REASON_OPT_OFF, "%s", tramp_reason_name(info.mode_reason));
	tramp_link__destroy(link);
	probes__destroy(skel);
}

static void test_address(void)
{
	struct tramp_insn_info insn = need_insn();
	struct tramp_code *code = need_code("do_unlinkat");
	TRAMP_OPTS(tramp_attach_opts, opts, .addr = code->func_addr + insn.offset);
	struct probes *skel = need_probes(NULL);
	TRAMP_OPTS(tramp_link_info, info);
	struct tramp_link *link;

	/* The address outdoes the section name. */
	link = need_link(skel->progs.at_entry, &opts);
	call_target(CALLS);
	CHECK_EQ(skel->bss->entries, CALLS, "hits");
	need_info(tramp_link__id(link), &info);
	CHECK_EQ(info.probe_addr, opts.addr, "address");
	CHECK_EQ(info.offset, insn.offset, "offset");
	tramp_link__destroy(link);
	link = tramp_attach_fd(bpf_program__fd(skel->progs.nowhere), &opts);
	REQUIRE(link, "%s", tramp_last_error()->message);
	call_target(CALLS);
	CHECK_EQ(skel->bss->hits, CALLS, "hits");
	tramp_link__destroy(link);
	CHECK(!tramp_attach_fd(bpf_program__fd(skel->progs.nowhere), NULL), "nowhere");
	CHECK_ERROR(-EINVAL, TRAMP_LIB_BAD_PLACE);
	CHECK(!tramp_attach_fd(bpf_program__fd(skel->progs.on_call), &opts), "a tracing program");
	CHECK_ERROR(-EINVAL, TRAMP_LIB_BAD_ARGUMENT);
	tramp_code__free(code);
	probes__destroy(skel);
}

/* SEC("kprobe/do_unlinkat+0x...") with an offset that this kernel has. */
static void test_section_offset(void)
{
	static const char section[] = "?kprobe/do_unlinkat+0x000";
	struct tramp_insn_info insn = need_insn();
	TRAMP_OPTS(tramp_link_info, info);
	struct bpf_program *prog;
	struct tramp_link *link;
	struct bpf_object *obj;
	unsigned char *elf, *at;
	const void *orig;
	char text[16];
	size_t size;

	REQUIRE(insn.offset < 0x1000, "+0x%x", insn.offset);
	orig = probes__elf_bytes(&size);
	elf = malloc(size);
	REQUIRE(elf, "memory");
	memcpy(elf, orig, size);
	snprintf(text, sizeof(text), "%03x", insn.offset);
	/* The name stands in the ELF file's strings and in BTF's. */
	while ((at = memmem(elf, size, section, sizeof(section))))
		memcpy(at + strlen(section) - 3, text, 3);
	obj = bpf_object__open_mem(elf, size, NULL);
	REQUIRE(obj, "open: %s", strerror(errno));
	bpf_object__for_each_program(prog, obj)
		bpf_program__set_autoload(prog, !strcmp(bpf_program__name(prog), "at_offset"));
	REQUIRE(!bpf_object__load(obj), "load");
	prog = bpf_object__find_program_by_name(obj, "at_offset");
	link = need_link(prog, NULL);
	need_info(tramp_link__id(link), &info);
	CHECK_EQ(info.offset, insn.offset, "%s", bpf_program__section_name(prog));
	tramp_link__destroy(link);
	bpf_object__close(obj);
	free(elf);
}

/* Probes and tracing programs of one object, with options for either. */
static void test_mixed(void)
{
	struct tramp_prog_cookie cookie = { .prog_name = "at_entry", .cookie = 5 };
	TRAMP_OPTS(tramp_object_attach_opts, opts, .attach_flags = TRAMP_ATTACH_F_NO_JUMP,
		   .cookie_cnt = 1, .cookies = &cookie);
	struct probes *skel = need_probes(NULL);
	TRAMP_OPTS(tramp_link_info, info);
	struct tramp_links *links;

	links = tramp_object__attach(skel->obj, &opts);
	REQUIRE(links, "%s", tramp_last_error()->message);
	CHECK_EQ(tramp_links__count(links), 2, "those that name a place");
	call_target(CALLS);
	CHECK_EQ(skel->bss->entries, CALLS, "entries");
	CHECK_EQ(skel->bss->calls, CALLS, "calls");
	CHECK_EQ(skel->bss->hits, 0, "nowhere");
	need_info(tramp_link__id(tramp_links__find(links, "at_entry")), &info);
	CHECK_EQ(info.kind, TRAMP_KIND_KPROBE, "kind");
	CHECK_EQ(info.cookie, 5, "cookie");
	need_info(tramp_link__id(tramp_links__find(links, "on_call")), &info);
	CHECK_EQ(info.kind, TRAMP_KIND_FENTRY, "kind");
	CHECK_EQ(info.mode_reason | info.probe_addr, 0, "no probe");
	tramp_links__destroy(links);
	CHECK_EQ(links_now(), 0, "links");
	probes__destroy(skel);
}

/* One of several cannot be: none is. */
static void test_all_or_nothing(void)
{
	struct probes *skel = probes__open();

	REQUIRE(skel, "open: %s", strerror(errno));
	bpf_program__set_autoload(skel->progs.on_return, true);
	need_probes(skel);
	CHECK(!tramp_object__attach(skel->obj, NULL), "a return probe with an offset");
	CHECK_ERROR(-EINVAL, TRAMP_LIB_BAD_PLACE);
	CHECK(last_error_says("program 'on_return'"), "which");
	CHECK_EQ(links_now(), 0, "nothing is left");
	probes__destroy(skel);
}

/* The commands for many get ENOTTY from now on, as from a module that does not know them. */
static void be_older(void)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_ioctl, 0, 3),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[1])),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, TRAMP_IOC_ATTACH_BATCH, 2, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, TRAMP_IOC_DETACH_BATCH, 1, 0),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOTTY),
	};
	struct sock_fprog prog = { .len = sizeof(code) / sizeof(code[0]), .filter = code };

	REQUIRE(!prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) &&
		!prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &prog), "seccomp: %s", strerror(errno));
}

static void many(const char *module)
{
	TRAMP_OPTS(tramp_attach_opts, at, .symbol = "do_unlinkat", .offset = need_insn().offset,
		   .cookie = 7);
	TRAMP_OPTS(tramp_attach_opts, bad, .symbol = "do_unlinkat", .offset = at.offset + 1);
	struct probes *skel = need_probes(NULL);
	struct tramp_attach_item items[] = {
		{ skel->progs.nowhere, &at },
		{ skel->progs.on_call, NULL },
		{ skel->progs.nowhere_10, &at },
		{ skel->progs.nowhere, &bad },
	};
	TRAMP_OPTS(tramp_link_info, info);
	struct tramp_links *links;
	int i;

	CHECK(!tramp_attach_many(items, 4), "%s: one is no instruction", module);
	CHECK_ERROR(-EINVAL, TRAMP_REASON_NOT_BOUNDARY);
	CHECK(last_error_says("program 'nowhere' at do_unlinkat+"), "%s: which", module);
	CHECK_EQ(links_now(), 0, "%s: nothing is left", module);
	items[3].opts = &at;
	CHECK(!tramp_attach_many(items, 4), "%s: one of them twice", module);
	CHECK_ERROR(-EBUSY, TRAMP_REASON_ALREADY_ATTACHED);
	CHECK(!tramp_attach_many(items, 0), "%s: none", module);
	CHECK_ERROR(-EINVAL, TRAMP_LIB_BAD_ARGUMENT);

	links = tramp_attach_many(items, 3);
	REQUIRE(links, "%s: %s", module, tramp_last_error()->message);
	CHECK_EQ(tramp_links__count(links), 3, "%s: links", module);
	need_info(tramp_link__id(tramp_links__get(links, 0)), &info);
	CHECK_EQ(info.cookie, 7, "%s: cookie", module);
	CHECK(!strcmp(info.prog_name, "nowhere"), "%s: first is %s", module, info.prog_name);
	need_info(tramp_link__id(tramp_links__get(links, 1)), &info);
	CHECK_EQ(info.kind, TRAMP_KIND_FENTRY, "%s: kind of the second", module);
	call_target(CALLS);
	CHECK_EQ(skel->bss->hits, 11 * CALLS, "%s: hits", module);
	CHECK_EQ(skel->bss->calls, CALLS, "%s: calls", module);

	CHECK_EQ(tramp_links__detach(links), 0, "%s: detach", module);
	CHECK_EQ(links_now(), 0, "%s: detached", module);
	call_target(CALLS);
	CHECK_EQ(skel->bss->hits, 11 * CALLS, "%s: hits when detached", module);
	tramp_links__destroy(links);

	/* A pinned one stays. */
	links = tramp_attach_many(items, 3);
	REQUIRE(links, "%s: %s", module, tramp_last_error()->message);
	CHECK_EQ(tramp_link__pin(tramp_links__get(links, 1), BPFFS "/many"), 0, "pin");
	tramp_links__destroy(links);
	CHECK_EQ(links_now(), 1, "%s: the pinned one is left", module);
	/* The kernel lets go of it a moment after that. */
	unlink(BPFFS "/many");
	for (i = 0; i < 200 && links_now(); i++)
		usleep(10000);
	CHECK_EQ(links_now(), 0, "%s: unpinned", module);
	probes__destroy(skel);
}

static void test_many(void)
{
	many("this module");
	be_older();
	many("an older module");
}

static void test_several(void)
{
	struct tramp_insn_info insn = need_insn();
	TRAMP_OPTS(tramp_attach_opts, opts, .symbol = "do_unlinkat", .offset = insn.offset);
	struct probes *skel = need_probes(NULL);
	struct tramp_link *first, *second;
	TRAMP_OPTS(tramp_link_info, info);

	first = need_link(skel->progs.nowhere, &opts);
	second = need_link(skel->progs.nowhere_10, &opts);
	call_target(CALLS);
	CHECK_EQ(skel->bss->hits, 11 * CALLS, "both");
	need_info(tramp_link__id(second), &info);
	CHECK_EQ(info.pos, 1, "the second");
	CHECK_EQ(info.nr_progs, 2, "of two");
	CHECK(!tramp_attach(skel->progs.nowhere, &opts), "it is there");
	CHECK_ERROR(-EBUSY, TRAMP_REASON_ALREADY_ATTACHED);
	tramp_link__destroy(first);
	call_target(1);
	CHECK_EQ(skel->bss->hits, 11 * CALLS + 10, "one is left");
	tramp_link__destroy(second);
	probes__destroy(skel);
}

static void test_update(void)
{
	struct tramp_insn_info insn = need_insn();
	TRAMP_OPTS(tramp_attach_opts, opts, .symbol = "do_unlinkat", .offset = insn.offset);
	struct probes *skel = need_probes(NULL);
	struct tramp_link *link;

	link = need_link(skel->progs.nowhere, &opts);
	call_target(1);
	CHECK_EQ(tramp_link__update_program(link, skel->progs.nowhere_10), 0, "%s",
		 tramp_last_error()->message);
	call_target(1);
	CHECK_EQ(skel->bss->hits, 11, "one call each");
	CHECK_EQ(tramp_link__update_program(link, skel->progs.on_call), -EINVAL, "another kind");
	CHECK_ERROR(-EINVAL, TRAMP_REASON_PROG_MISMATCH);
	tramp_link__destroy(link);
	probes__destroy(skel);
}

/* The last resort: asked for, refused if it is not wanted, and not swapped in. */
static void test_func_ip(void)
{
	TRAMP_OPTS(tramp_attach_opts, opts, .symbol = "do_unlinkat");
	TRAMP_OPTS(tramp_attach_opts, ours, .symbol = "do_unlinkat",
		   .flags = TRAMP_ATTACH_F_NO_KPROBE);
	struct probes *skel = need_probes(NULL);
	TRAMP_OPTS(tramp_link_info, info);
	struct tramp_link *link;

	CHECK(!tramp_attach(skel->progs.asks_func_ip, &ours), "no kprobe");
	CHECK_ERROR(-EOPNOTSUPP, TRAMP_REASON_FUNC_IP);
	link = need_link(skel->progs.asks_func_ip, &opts);
	call_target(1);
	need_info(tramp_link__id(link), &info);
	CHECK_EQ(info.mode, TRAMP_MODE_KPROBE, "mode %s", tramp_mode_name(info.mode));
	CHECK_EQ(info.mode_reason, TRAMP_REASON_FUNC_IP, "%s", tramp_reason_name(info.mode_reason));
	CHECK_EQ(skel->bss->cookie, info.func_addr, "the function's address");
	CHECK(!tramp_link_image(tramp_link__id(link), &info), "no image");
	CHECK_ERROR(-ENOENT, TRAMP_LIB_NO_IMAGE);
	tramp_link__destroy(link);
	link = need_link(skel->progs.nowhere, &ours);
	CHECK_EQ(tramp_link__update_program(link, skel->progs.asks_func_ip), -EOPNOTSUPP, "update");
	CHECK_ERROR(-EOPNOTSUPP, TRAMP_REASON_FUNC_IP);
	call_target(CALLS);
	CHECK_EQ(skel->bss->hits, CALLS, "a refused update changes nothing");
	tramp_link__destroy(link);
	probes__destroy(skel);
}

static void test_link(void)
{
	const char *path = BPFFS "/lt_probe";
	struct tramp_insn_info insn = need_insn();
	TRAMP_OPTS(tramp_attach_opts, opts, .symbol = "do_unlinkat", .offset = insn.offset);
	struct probes *skel = need_probes(NULL);
	TRAMP_OPTS(tramp_link_info, info);
	struct tramp_link *link, *second;
	uint32_t id;

	link = need_link(skel->progs.nowhere, &opts);
	id = tramp_link__id(link);
	CHECK_EQ(tramp_link__pin(link, path), 0, "%s", tramp_last_error()->message);
	tramp_link__destroy(link);
	link = tramp_link__open(path);
	REQUIRE(link, "%s", tramp_last_error()->message);
	CHECK_EQ(tramp_link__id(link), id, "the same");
	second = tramp_link__open_by_id(id);
	REQUIRE(second, "%s", tramp_last_error()->message);
	CHECK_EQ(tramp_link__unpin(link), 0, "%s", tramp_last_error()->message);
	skel->bss->hits = 0;	/* removing the pin was a call as well */
	call_target(CALLS);
	CHECK_EQ(skel->bss->hits, CALLS, "hits");
	CHECK_EQ(tramp_link__detach(second), 0, "%s", tramp_last_error()->message);
	call_target(1);
	CHECK_EQ(skel->bss->hits, CALLS, "detached for all");
	need_info(id, &info);
	CHECK_EQ(info.mode, TRAMP_MODE_NONE, "mode");
	CHECK_EQ(info.mode_reason, 0, "%s", tramp_reason_name(info.mode_reason));
	tramp_link__destroy(second);
	tramp_link__destroy(link);
	CHECK_EQ(links_now(), 0, "links");
	probes__destroy(skel);
}

/* Attaching at @symbol + @offset fails so. */
static void check_refused(struct probes *skel, const char *symbol, uint64_t offset, int err,
			  unsigned int reason, const char *says)
{
	TRAMP_OPTS(tramp_attach_opts, opts, .symbol = symbol, .offset = offset);

	if (!CHECK(!tramp_attach(skel->progs.nowhere, &opts), "%s+%#llx", symbol,
		   (unsigned long long)offset))
		return;
	CHECK_ERROR(err, reason);
	CHECK(last_error_says(says), "%s+%#llx", symbol, (unsigned long long)offset);
}

/* A name that two functions of the kernel proper have; NULL if there is none. */
static const char *ambiguous_name(const struct tramp_syms *syms)
{
	const struct tramp_sym *a, *b;
	size_t i;

	for (i = 1; i < tramp_syms__count(syms); i++) {
		a = tramp_syms__get(syms, i - 1);
		b = tramp_syms__get(syms, i);
		if (!strcmp(a->name, b->name) && !a->module[0] && !b->module[0] &&
		    !strchr(a->name, '.') && a->addr != b->addr)
			return b->name;
	}
	return NULL;
}

static void test_refused(void)
{
	struct tramp_syms *syms = tramp_syms__load(NULL);
	struct tramp_code *code = need_code("do_unlinkat");
	struct probes *skel = need_probes(NULL);
	const struct tramp_insn_info *in = NULL;
	char says[96];
	size_t i;

	REQUIRE(syms, "%s", tramp_last_error()->message);
	for (i = 0; i + 1 < code->nr_insns && !in; i++)
		if (code->insns[i].len > 2)
			in = &code->insns[i];
	REQUIRE(in, "no long instruction");
	snprintf(says, sizeof(says), "in the instruction at do_unlinkat+0x%x, the next one is at +0x%x",
		 in->offset, in->offset + in->len);
	check_refused(skel, "do_unlinkat", in->offset + 1, -EINVAL, TRAMP_REASON_NOT_BOUNDARY, says);
	check_refused(skel, "do_unlinkat", in->offset + 2, -EINVAL, TRAMP_REASON_NOT_BOUNDARY, says);
	CHECK(last_error_says("program 'nowhere' at do_unlinkat+0x"), "which");
	CHECK(tramp_last_error()->from_kernel, "who says so");
	check_refused(skel, "do_unlinkat", code->func_size, -EINVAL, TRAMP_REASON_OFFSET_RANGE,
		      "bytes");
	check_refused(skel, "do_unlinkat", 1ULL << 40, -EINVAL, TRAMP_REASON_OFFSET_RANGE, "bytes");
	check_refused(skel, "do_unlnkat", 0, -ENOENT, TRAMP_REASON_NO_SUCH_FUNCTION,
		      "the nearest: do_unlinkat");
	check_refused(skel, "tramp_link_attach", 0, -EOPNOTSUPP, TRAMP_REASON_OWN_MODULE, "itself");
	if (ambiguous_name(syms))
		check_refused(skel, ambiguous_name(syms), 0, -EINVAL, TRAMP_REASON_AMBIGUOUS,
			      "several functions");
	{
		TRAMP_OPTS(tramp_attach_opts, user, .addr = 0x400000);
		TRAMP_OPTS(tramp_attach_opts, data, .addr = 0xffffffffffffe000);

		CHECK(!tramp_attach(skel->progs.nowhere, &user), "a user's address");
		CHECK_ERROR(-EINVAL, TRAMP_REASON_NOT_TEXT);
		CHECK(!tramp_attach(skel->progs.nowhere, &data), "no text");
		CHECK_ERROR(-EINVAL, TRAMP_REASON_NOT_TEXT);
	}
	CHECK_EQ(links_now(), 0, "nothing is left");
	tramp_code__free(code);
	tramp_syms__free(syms);
	probes__destroy(skel);
}

static void test_explain(void)
{
	TRAMP_OPTS(tramp_code_opts, whole, .whole = true);
	struct tramp_insn_info insn = need_insn();
	struct tramp_code *code = need_code("do_unlinkat"), *one, *again;
	uint32_t next = 0;
	char spec[64];
	size_t i;

	CHECK(!strcmp(code->func_name, "do_unlinkat") && !code->module[0], "%s", code->func_name);
	CHECK(code->func_addr && code->code && code->code_len == code->func_size, "code");
	for (i = 0; i < code->nr_insns; i++) {
		CHECK_EQ(code->insns[i].offset, next, "one behind the other");
		CHECK(code->insns[i].len > 0 && code->insns[i].len <= 15, "length");
		CHECK(!!code->insns[i].region_len == (code->insns[i].mode == TRAMP_MODE_JUMP),
		      "a region belongs to a jump");
		next += code->insns[i].len;
	}
	CHECK(next <= code->func_size, "%u bytes of %llu", next,
	      (unsigned long long)code->func_size);
	snprintf(spec, sizeof(spec), "do_unlinkat+%u", insn.offset);
	one = need_code(spec);
	CHECK_EQ(one->nr_insns, 1, "one");
	CHECK(!memcmp(one->insns, &insn, sizeof(insn)), "the same as in the list");
	CHECK(one->code && one->code_len == code->code_len, "with all of the code");
	tramp_code__free(one);
	snprintf(spec, sizeof(spec), "0x%llx", (unsigned long long)code->func_addr + insn.offset);
	one = need_code(spec);
	CHECK(one->nr_insns == 1 && one->insns[0].offset == insn.offset, "by address");
	tramp_code__free(one);
	again = tramp_explain_code(NULL, spec, &whole);
	REQUIRE(again, "%s", tramp_last_error()->message);
	CHECK_EQ(again->nr_insns, code->nr_insns, "all, by address");
	CHECK(again->code && !memcmp(again->code, code->code, code->code_len), "the same code");
	tramp_code__free(again);
	one = need_code("vmlinux:do_unlinkat");
	CHECK_EQ(one->nr_insns, code->nr_insns, "of the kernel proper");
	tramp_code__free(one);
	tramp_code__free(code);
}

/* A probe changes the bytes in memory, not the answers about them. */
static void test_explain_probed(void)
{
	struct tramp_insn_info insn = need_insn();
	TRAMP_OPTS(tramp_attach_opts, opts, .symbol = "do_unlinkat", .offset = insn.offset);
	struct tramp_code *before = need_code("do_unlinkat"), *after;
	struct probes *skel = need_probes(NULL);
	struct tramp_link *link;
	size_t i, probed = 0;

	link = need_link(skel->progs.nowhere, &opts);
	wait_for_optimiser();
	after = need_code("do_unlinkat");
	REQUIRE(after->nr_insns == before->nr_insns, "%zu instructions", after->nr_insns);
	CHECK(!memcmp(after->code, before->code, before->code_len), "original bytes");
	for (i = 0; i < after->nr_insns; i++)
		probed += !!(after->insns[i].flags & TRAMP_INSN_F_PROBED);
	CHECK_EQ(probed, 1, "one is probed");
	tramp_code__free(after);
	tramp_link__destroy(link);
	tramp_code__free(before);
	probes__destroy(skel);
}

static void test_explain_refused(void)
{
	CHECK(!tramp_explain_code(NULL, "do_unlnkat", NULL), "misspelt");
	CHECK_ERROR(-ENOENT, TRAMP_REASON_NO_SUCH_FUNCTION);
	CHECK(last_error_says("place 'do_unlnkat'"), "which");
	CHECK(last_error_says("the nearest: do_unlinkat"), "near");
	CHECK(!tramp_explain_code(NULL, "do_unlinkat+0x100000", NULL), "beyond the end");
	CHECK_ERROR(-EINVAL, TRAMP_REASON_OFFSET_RANGE);
	CHECK(!tramp_explain_code(NULL, "0x400000", NULL), "a user's address");
	CHECK_ERROR(-EINVAL, TRAMP_REASON_NOT_TEXT);
	CHECK(!tramp_explain_code(NULL, "nosuchmodule:do_unlinkat", NULL), "no such module");
	CHECK_ERROR(-ENOENT, TRAMP_REASON_NO_SUCH_FUNCTION);
	CHECK(last_error_says("vmlinux has one"), "near");
}

static const struct ktap_test tests[] = {
	{ .name = "entry", .run = test_entry },
	{ .name = "instruction", .run = test_instruction },
	{ .name = "no-jump", .run = test_no_jump },
	{ .name = "address", .run = test_address },
	{ .name = "section-offset", .run = test_section_offset },
	{ .name = "mixed", .run = test_mixed },
	{ .name = "all-or-nothing", .run = test_all_or_nothing },
	{ .name = "many", .run = test_many },
	{ .name = "several", .run = test_several },
	{ .name = "update", .run = test_update },
	{ .name = "func-ip", .run = test_func_ip },
	{ .name = "link", .run = test_link },
	{ .name = "refused", .run = test_refused },
	{ .name = "explain", .run = test_explain },
	{ .name = "explain-probed", .run = test_explain_probed },
	{ .name = "explain-refused", .run = test_explain_refused },
};

KTAP_MAIN(tests)
