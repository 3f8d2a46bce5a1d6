// SPDX-License-Identifier: GPL-2.0
/*
 * Returns and calls of images, as this CPU's mitigations want them. The kernel's own JIT shows
 * that in a BPF program. A return is a plain `ret`, with an int3 behind it or none, or a jump to a
 * thunk. Calls are counted (call depth tracking) or not. Ours must be the same.
 * selftests/vm/system/matrix boots CPUs on which that differs.
 *
 * Environment: MITIGATION, "NAME: TEXT": what the kernel has to say, or else it is not the machine
 * for the test. NAME is a file of /sys/devices/system/cpu/vulnerabilities; `preempt`, of which the
 * text is the model that runs (PREEMPT_DYNAMIC); or `cfi`, of which it is what the kernel log says.
 */
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>
#include <linux/bpf.h>
#include <Zydis/Zydis.h>
#include "fixture.h"
#include "many.h"
#include "../func/multi.h"
#include "probe.h"
#include "record.h"
#include "selftests/vm/lib/probe_progs.skel.h"
#include "selftests/vm/lib/record.skel.h"
#include "selftests/vm/func/multi.skel.h"

#define VULNERABILITIES	"/sys/devices/system/cpu/vulnerabilities/"
#define PREEMPT		"/sys/kernel/debug/sched/preempt"
#define MAX_CODE	32768
#define FUNC		"tt_hot0"

/**
 * struct ways - how some code calls and returns
 * @plain: `ret`
 * @guarded: of these, with an int3 behind it
 * @out: jumps out of it to @thunk, the first such target that is one
 * @calls: near calls
 * @counted: of these, with the instruction before it that counts
 */
struct ways {
	unsigned int plain, guarded, out, calls, counted;
	uint64_t thunk;
};

static ZydisDecoder decoder;

/* `sarq $5, %gs:...`: a call is about to be made. */
static bool counts(const ZydisDecodedInstruction *insn, const ZydisDecodedOperand *ops)
{
	return insn->mnemonic == ZYDIS_MNEMONIC_SAR && ops[0].type == ZYDIS_OPERAND_TYPE_MEMORY &&
	       ops[0].mem.segment == ZYDIS_REGISTER_GS && ops[1].imm.value.u == 5;
}

static bool is_thunk(uint64_t addr)
{
	char name[128];

	return strstr(ksym_name(addr, name, sizeof(name)), "thunk");
}

/* The bytes of @code, which is or was at @addr. */
static struct ways look_at(const char *what, const uint8_t *code, uint32_t size, uint64_t addr)
{
	ZydisDecodedOperand ops[ZYDIS_MAX_OPERAND_COUNT];
	ZydisDecodedInstruction insn;
	bool counted = false;
	struct ways w = {};
	uint32_t at;

	for (at = 0; at < size; at += insn.length) {
		const uint8_t *next;
		int32_t rel;

		REQUIRE(ZYAN_SUCCESS(ZydisDecoderDecodeFull(&decoder, code + at, size - at, &insn,
							    ops)),
			"%s: no instruction at byte %u", what, at);
		next = code + at + insn.length;
		memcpy(&rel, next - 4, sizeof(rel));
		if (insn.mnemonic == ZYDIS_MNEMONIC_RET) {
			w.plain++;
			w.guarded += next < code + size && *next == 0xcc;
		} else if (code[at] == 0xe9 && is_thunk(addr + at + 5 + rel)) {
			w.thunk = addr + at + 5 + rel;
			w.out++;
		} else if (code[at] == 0xe8) {
			w.calls++;
			w.counted += counted;
		}
		counted = counts(&insn, ops);
	}
	return w;
}

static void print_ways(const char *what, const struct ways *w)
{
	char name[128] = "";

	if (w->thunk)
		ksym_name(w->thunk, name, sizeof(name));
	ktap_note("%s: %u ret, %u with an int3; %u jumps to a thunk %s; %u calls, %u counted", what,
		  w->plain, w->guarded, w->out, name, w->calls, w->counted);
}

/* The kernel's code for a program. */
static struct ways of_program(int fd)
{
	static uint8_t code[MAX_CODE];
	uint64_t addr = 0;
	struct bpf_prog_info info = {
		.jited_prog_len = sizeof(code), .jited_prog_insns = (uintptr_t)code,
		.nr_jited_ksyms = 1, .jited_ksyms = (uintptr_t)&addr,
	};
	uint32_t len = sizeof(info);

	REQUIRE(!bpf_obj_get_info_by_fd(fd, &info, &len), "a program's code: %s", strerror(errno));
	REQUIRE(info.jited_prog_len && info.jited_prog_len <= sizeof(code), "%u bytes of code",
		info.jited_prog_len);
	return look_at("program", code, info.jited_prog_len, addr);
}

static struct ways of_image(const char *what, uint32_t link_id)
{
	static uint8_t code[MAX_CODE];
	struct tramp_query q = { .size = sizeof(q), .link_id = link_id,
				 .image = (uintptr_t)code, .image_len = sizeof(code) };

	REQUIRE(!ioctl(tramp_device(), TRAMP_IOC_QUERY, &q), "QUERY: %s", strerror(errno));
	REQUIRE(q.image_addr && q.image_size, "%s: no image", what);
	return look_at(what, code, q.image_size, q.image_addr);
}

/* @returns: it ends in a return, and does not just go on in the function. */
static void check_ways(const char *what, uint32_t link_id, const struct ways *want, bool returns)
{
	struct ways w = of_image(what, link_id);

	print_ways(what, &w);
	if (want->thunk) {
		CHECK_EQ(w.plain, 0, "%s: plain returns", what);
		CHECK(w.out || !returns, "%s: no jump to the thunk", what);
		CHECK(!w.out || w.thunk == want->thunk, "%s: another thunk", what);
	} else {
		CHECK_EQ(w.out, 0, "%s: jumps to a thunk", what);
		CHECK(w.plain || !returns, "%s: no return", what);
		CHECK(!want->guarded || w.guarded == w.plain, "%s: a return without its int3", what);
	}
	CHECK(w.calls, "%s: no calls", what);
	CHECK_EQ(w.counted, want->counted ? w.calls : 0, "%s: calls that are counted", what);
}

/* -------------------------------------------------------------- the machine --- */

/* The kernel says @text of @name: whether that is what MITIGATION wants. */
static bool says(const char *name, const char *text)
{
	const char *want = getenv("MITIGATION");
	char line[320];

	snprintf(line, sizeof(line), "%.60s: %.240s", name, text);
	if (strcmp(text, "Not affected"))
		ktap_note("%s", line);
	return want && !strncmp(line, want, strlen(want));
}

static bool says_vulnerabilities(void)
{
	DIR *dir = opendir(VULNERABILITIES);
	struct dirent *d;
	bool met = false;
	char path[512];

	REQUIRE(dir, "%s: %s", VULNERABILITIES, strerror(errno));
	while ((d = readdir(dir))) {
		char *text;

		if (d->d_name[0] == '.')
			continue;
		snprintf(path, sizeof(path), VULNERABILITIES "%s", d->d_name);
		text = read_file(path);
		text[strcspn(text, "\n")] = 0;
		met |= says(d->d_name, text);
		free(text);
	}
	closedir(dir);
	return met;
}

/* "none voluntary (full)": the one in brackets. */
static bool says_preempt(void)
{
	char *text, *model;
	bool met = false;

	if (access(PREEMPT, R_OK))
		return false;
	text = read_file(PREEMPT);
	model = strchr(text, '(');
	if (model) {
		model[strcspn(model, ")")] = 0;
		met = says("preempt", model + 1);
	}
	free(text);
	return met;
}

/* "Using kCFI", "Using FineIBT CFI", "Disabling CFI"; nothing where the kernel has none. */
static bool says_cfi(void)
{
	bool met = false;
	int status;
	char *text = run_command(&status, "dmesg | sed -n '%s'",
				 "s/.*alternatives: \\([UD].*ing .*CFI\\)$/\\1/p");

	REQUIRE(!status, "dmesg: status %d", status);
	text[strcspn(text, "\n")] = 0;
	if (text[0])
		met = says("cfi", text);
	free(text);
	return met;
}

static void check_machine(void)
{
	const char *want = getenv("MITIGATION");
	bool met = !want;

	met |= says_vulnerabilities();
	met |= says_preempt();
	met |= says_cfi();
	REQUIRE(met, "not the machine for this test: it has no \"%s\"", want);
}

/* ------------------------------------------------------------------- tests --- */

/* How the kernel's JIT has a program call and return. */
static struct ways setup(void)
{
	struct ways want;

	check_machine();
	REQUIRE(ZYAN_SUCCESS(ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64,
					      ZYDIS_STACK_WIDTH_64)), "ZydisDecoderInit");
	probe_setup();
	want = of_program(bpf_program__fd(probe_skel->progs.regs_all));
	print_ways("program", &want);
	REQUIRE(want.plain || want.out, "the program does not return");
	return want;
}

static void test_images(void)
{
	struct attachment entry, exit, probe, by_kprobe, at_return;
	int dev, count;
	struct record *record;
	struct probe_func f;
	struct ways want;

	dev = fixture_open("about our images");
	want = setup();
	count = bpf_program__fd(probe_skel->progs.count);
	record = FIXTURE_LOAD(record);
	entry = attach_func(OURS, prog_clone(record->progs.count_entry, FUNC, BPF_TRACE_FENTRY),
			    NULL);
	check_ways("entry image", entry.reply.link_id, &want, true);
	by_kprobe = attach_insn(OURS, count, ksym_addr(FUNC), 0, 0);
	check_ways("entry image with a kprobe program", by_kprobe.reply.link_id, &want, true);
	exit = attach_func(OURS, prog_clone(record->progs.count_exit, FUNC, BPF_TRACE_FEXIT),
			   NULL);
	check_ways("exit image", exit.reply.link_id, &want, true);
	at_return = attach_return(OURS, probe_clone(probe_skel->progs.count), FUNC, 0, 0);
	check_ways("exit image with a kretprobe program", at_return.reply.link_id, &want, true);
	REQUIRE(!probe_explain(&f, 0, FUNC, false) && f.nr > 2, "instructions of " FUNC);
	probe = attach_insn(OURS, count, f.addr + f.insns[f.nr > 3 ? 2 : 1].offset, 0, 0);
	probe_flush();
	check_ways("detour image", probe.reply.link_id, &want, false);
	tt_call(dev, FUNC " 1");
	CHECK(attachment_query(&entry).hits && attachment_query(&exit).hits &&
	      attachment_query(&by_kprobe).hits && attachment_query(&at_return).hits, "hits");
	probe_func_free(&f);
	detach(&probe);
	detach(&at_return);
	detach(&exit);
	detach(&by_kprobe);
	detach(&entry);
}

/* Two functions share an image. */
static void check_many(const char *what, int prog, uint32_t flags, const struct ways *want, int dev)
{
	struct many *m = many_new();
	int err;

	many_add_name(m, "tt_hot1");
	many_add_name(m, "tt_hot2");
	err = many_attach_try(m, prog, flags);
	REQUIRE(!err, "%s: %s", what, strerror(-err));
	check_ways(what, m->cmd.link_id, want, true);
	tt_call(dev, "tt_hot1 1");
	tt_call(dev, "tt_hot2 1");
	CHECK(tramp_query_link(m->cmd.link_id).hits >= 2, "%s: hits", what);
	many_detach(m);
}

static void test_images_of_many(void)
{
	int dev = fixture_open("about our images");
	struct ways want = setup();
	struct multi *multi = many_open(multi);

	REQUIRE(multi, "%s", strerror(errno));
	bpf_program__set_autoload(multi->progs.on_session, true);
	REQUIRE(!multi__load(multi), "%s", strerror(errno));
	check_many("image of many", bpf_program__fd(multi->progs.on_plain_entry), 0, &want, dev);
	check_many("exit image of many", bpf_program__fd(multi->progs.on_plain_return),
		   TRAMP_MULTI_F_RETURN, &want, dev);
	check_many("session of many", bpf_program__fd(multi->progs.on_session), many_session(),
		   &want, dev);
}

static const struct ktap_test tests[] = {
	{ "images", test_images, 100 },
	{ "images_of_many", test_images_of_many, 100 },
};

KTAP_MAIN(tests)
