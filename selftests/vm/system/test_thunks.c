// SPDX-License-Identifier: GPL-2.0
/*
 * Returns and indirect branches on a CPU with Indirect Target Selection:
 * selftests/vm/system/its boots one. The kernel leaves them plain where bit 5 of their address is
 * set, and has them jump to a thunk elsewhere; so must images, whose copies can lie anywhere.
 *
 * Functions are drawn at random and searched for returns and indirect branches that the kernel
 * has left plain. Probes go to these and to the instruction before each. Then every image is
 * decoded: nothing that returns or branches indirectly ends in the lower half of a cache line.
 * (Indirect branches are looked at where the kernel has thunks for them: with retpolines it has
 * none, and leaves plain what it holds for safe, at any address.)
 *
 * Environment: PROBE_SAMPLE, how many places, default 300; PROBE_SEED.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>
#include <Zydis/Zydis.h>
#include "fixture.h"
#include "probe.h"
#include "probe_sample.h"
#include "selftests/vm/lib/probe_progs.skel.h"

#define VULNERABILITIES	"/sys/devices/system/cpu/vulnerabilities/"
#define ALIGNED		"Mitigation: Aligned branch/return thunks"
#define MAX_FUNCTION	4096	/* larger ones are not drawn */
#define FROM_EACH	2	/* of one function */
#define MAX_IMAGE	32768

static int dev, nr_wanted, nr;
static uint64_t *addrs;
static ZydisDecoder decoder;

static void read_line(const char *path, char *line, int len)
{
	FILE *f = fopen(path, "r");

	if (!f || !fgets(line, len, f))
		*line = 0;
	line[strcspn(line, "\n")] = 0;
	if (f)
		fclose(f);
}

/* Return: whether the kernel has thunks for indirect branches as well. */
static bool setup(void)
{
	char its[128], v2[256];

	read_line(VULNERABILITIES "indirect_target_selection", its, sizeof(its));
	read_line(VULNERABILITIES "spectre_v2", v2, sizeof(v2));
	if (!*its)
		ktap_skip("this kernel does not know Indirect Target Selection");
	ktap_note("indirect_target_selection: %s; spectre_v2: %.60s", its, v2);
	REQUIRE(!strcmp(its, ALIGNED), "not the machine for this test");
	dev = fixture_open("about our images");
	nr_wanted = env_int("PROBE_SAMPLE", 300);
	addrs = calloc(nr_wanted, sizeof(*addrs));
	REQUIRE(addrs, "out of memory");
	REQUIRE(ZYAN_SUCCESS(ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64,
					      ZYDIS_STACK_WIDTH_64)), "ZydisDecoderInit");
	probe_many_files();
	probe_setup();
	return !strstr(v2, "Retpolines");
}

enum branch {
	OTHER,
	RETURN,
	INDIRECT,
};

/* The instruction at @code, and its length; 0 if it is none. */
static enum branch decode(const uint8_t *code, uint32_t avail, uint32_t *len)
{
	ZydisDecodedOperand ops[ZYDIS_MAX_OPERAND_COUNT];
	ZydisDecodedInstruction insn;

	*len = 0;
	if (ZYAN_FAILED(ZydisDecoderDecodeFull(&decoder, code, avail, &insn, ops)))
		return OTHER;
	*len = insn.length;
	if (insn.mnemonic == ZYDIS_MNEMONIC_RET)
		return RETURN;
	if ((insn.mnemonic == ZYDIS_MNEMONIC_JMP || insn.mnemonic == ZYDIS_MNEMONIC_CALL) &&
	    ops[0].type != ZYDIS_OPERAND_TYPE_IMMEDIATE)
		return INDIRECT;
	return OTHER;
}

/* Plain branches of one function, and what stands before each, but not its entry. */
static void draw_from(uint64_t func, uint32_t size)
{
	uint8_t code[MAX_FUNCTION];
	uint32_t at, len, before = 0, n = 0;

	if (text_try(dev, func, code, size))
		return;
	for (at = 0; at < size && n < FROM_EACH && nr + 2 <= nr_wanted; before = at, at += len) {
		enum branch b = decode(code + at, size - at, &len);

		if (!len)
			return;
		if (b == OTHER || !before)
			continue;
		if (!nr || addrs[nr - 1] != func + before)
			addrs[nr++] = func + before;
		addrs[nr++] = func + at;
		n++;
	}
}

static void draw(void)
{
	uint64_t start = ksym_addr("_stext"), end = ksym_addr("_etext"), state = rnd_seed();
	struct text_sym *syms;
	size_t nr_syms, i;
	int tries;

	syms = text_symbols(&nr_syms);
	for (tries = 0; nr + 2 <= nr_wanted && tries < 100 * nr_wanted; tries++) {
		i = rnd(&state) % (nr_syms - 1);
		if (syms[i].addr < start || syms[i + 1].addr > end ||
		    syms[i + 1].addr - syms[i].addr > MAX_FUNCTION ||
		    ksym_is_padding(syms[i].name))
			continue;
		draw_from(syms[i].addr, syms[i + 1].addr - syms[i].addr);
	}
	free(syms);
	REQUIRE(nr + 2 > nr_wanted, "only %d places", nr);
}

/* The contents of images: [kind][whether it ends in the upper half of a cache line] */
struct found {
	unsigned int plain[3][2], to_thunk, images, mode[8];
	uint64_t hits;
};

static void look_at(const struct attachment *p, uint64_t thunk, bool indirect, struct found *f)
{
	static uint8_t image[MAX_IMAGE];
	struct tramp_query q = { .size = sizeof(q), .link_id = p->reply.link_id,
				 .image = (uint64_t)image, .image_len = sizeof(image) };
	uint32_t at, len, rel;

	REQUIRE(!ioctl(tramp_device(), TRAMP_IOC_QUERY, &q), "QUERY: %s", strerror(errno));
	f->mode[q.mode & 7]++;
	f->hits += q.hits;
	if (q.mode != TRAMP_MODE_JUMP && q.mode != TRAMP_MODE_INT3)
		return;
	REQUIRE(q.image_addr && q.image_size, "no image");
	f->images++;
	for (at = 0; at < q.image_size; at += len) {
		enum branch b = decode(image + at, q.image_size - at, &len);
		bool upper;

		REQUIRE(len, "%s+%#llx: no instruction at byte %u of the image", q.func_name,
			(unsigned long long)q.offset, at);
		upper = (q.image_addr + at + len - 1) & 0x20;
		f->plain[b][upper]++;
		if (f->plain[b][0] <= 3 && (b == RETURN || (b == INDIRECT && indirect)))
			CHECK(upper, "%s+%#llx: a plain branch at %#llx", q.func_name,
			      (unsigned long long)q.offset, (unsigned long long)q.image_addr + at);
		memcpy(&rel, image + at + 1, 4);
		f->to_thunk += image[at] == 0xe9 && len == 5 &&
			       q.image_addr + at + 5 + (int32_t)rel == thunk;
	}
}

static void test_images(void)
{
	uint64_t thunk = ksym_addr("its_return_thunk");
	struct found f = {};
	struct attachment *probes;
	bool indirect;
	int i, prog, refused = 0;

	indirect = setup();
	REQUIRE(thunk, "no its_return_thunk");
	draw();
	prog = bpf_program__fd(probe_skel->progs.count);
	probes = calloc(nr, sizeof(*probes));
	REQUIRE(probes, "out of memory");
	for (i = 0; i < nr; i++) {
		probes[i] = attach_insn_try(OURS, prog, addrs[i], 0, i);
		refused += !!probes[i].err;
	}
	probe_flush();
	workload(1);
	for (i = 0; i < nr; i++)
		if (!probes[i].err)
			look_at(&probes[i], thunk, indirect, &f);
	ktap_note("%d places: %u jumps, %u int3s, %u kprobes, %d refused; %llu hits", nr,
		  f.mode[TRAMP_MODE_JUMP], f.mode[TRAMP_MODE_INT3], f.mode[TRAMP_MODE_KPROBE],
		  refused, (unsigned long long)f.hits);
	ktap_note("%u images: %u jumps to the return thunk; plain returns: %u in a lower half, %u in an upper",
		  f.images, f.to_thunk, f.plain[RETURN][0], f.plain[RETURN][1]);
	ktap_note("plain indirect branches: %u in a lower half, %u in an upper; thunks for them: %s",
		  f.plain[INDIRECT][0], f.plain[INDIRECT][1], indirect ? "yes" : "no");
	CHECK_EQ(f.plain[RETURN][0], 0, "plain returns in a lower half");
	CHECK(!indirect || !f.plain[INDIRECT][0], "plain indirect branches in a lower half");
	CHECK(f.to_thunk + f.plain[RETURN][1] >= (unsigned int)nr / 4, "too few returns in images");
	for (i = 0; i < nr; i++)
		detach(&probes[i]);
}

static const struct ktap_test tests[] = {
	{ "images", test_images, 100 },
};

KTAP_MAIN(tests)
