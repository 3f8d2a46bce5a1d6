// SPDX-License-Identifier: GPL-2.0
/*
 * Our verdicts held against others', over one seeded sample of the whole text.
 *
 * coverage: what share of instructions can be a jump, an int3, a kernel's kprobe, or nothing,
 * and of the same instructions which the kernel could make jumps of
 * (arch_prepare_optimized_kprobe()). Where it can and we cannot, the reason is listed.
 *
 * branches: Zydis decodes all functions of the kernel and of modules, parts like .cold
 * included. Where we would jump over a region, no direct branch from anywhere leads into it.
 *
 * Environment: PROBE_SAMPLE, how many instructions, default 3000, on -rt 2000 (make coverage:
 * 20000); PROBE_SEED.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <Zydis/Zydis.h>
#include "fixture.h"
#include "probe.h"
#include "probe_sample.h"

/*
 * Of all instructions in functions that ftrace covers, at least so many in a hundred must be
 * able to be jumps. Of all instructions, no more than so many in a hundred are in other
 * functions, where no probe may be (kernel/probe/deny.c).
 */
#define COVERAGE 85
#define UNTRACED 15

static int dev, nr;
static struct sample *sample;

static void setup(void)
{
	uint64_t state;

	dev = fixture_open("about our verdicts");
	nr = env_int("PROBE_SAMPLE", kernel_is_rt() ? 2000 : short_form(3000, 1500));
	sample = calloc(nr, sizeof(*sample));
	REQUIRE(sample, "out of memory");
	probe_flush();
	state = rnd_seed();
	sample_draw(sample, nr, &state);
}

/* --------------------------------------------------------------- coverage -- */

static void share(const char *what, unsigned int n)
{
	ktap_note("  %-42s %6u  %5.1f %%", what, n, 100.0 * n / nr);
}

/* Why not, most frequent first. */
static void list_reasons(const char *what, const unsigned int *count)
{
	bool done[TRAMP_REASON_COUNT] = {};
	char line[80];

	for (;;) {
		unsigned int best = 0, i;

		for (i = 1; i < TRAMP_REASON_COUNT; i++)
			if (!done[i] && count[i] > (best ? count[best] : 0))
				best = i;
		if (!best)
			return;
		done[best] = true;
		snprintf(line, sizeof(line), "  %s: %s", what, tramp_reason_name(best));
		share(line, count[best]);
	}
}

/* With what errno the kernel said no, and where first. */
static void list_errnos(const char *what, const int32_t *err, const int32_t *unless)
{
	unsigned int count[256] = {};
	char line[160], name[100];
	int first[256], i;

	for (i = 0; i < nr; i++)
		if (err[i] > 0 && err[i] < 256 && (!unless || !unless[i]) && !count[err[i]]++)
			first[err[i]] = i;
	for (i = 1; i < 256; i++) {
		if (!count[i])
			continue;
		snprintf(line, sizeof(line), "  %s: %s", what, strerrorname_np(i));
		share(line, count[i]);
		ktap_note("      first %s", sample_name(&sample[first[i]], name, sizeof(name)));
	}
}

static void test_coverage(void)
{
	unsigned int mode[8] = {}, why[8][TRAMP_REASON_COUNT] = {}, only[TRAMP_REASON_COUNT] = {};
	unsigned int theirs = 0, both = 0, ours_only = 0, can_kprobe = 0, listed = 0, untraced;
	int32_t *optimise, *reg;
	uint64_t *addrs;
	char name[160];
	int i;

	setup();
	addrs = calloc(nr, sizeof(*addrs));
	optimise = calloc(nr, sizeof(*optimise));
	reg = calloc(nr, sizeof(*reg));
	REQUIRE(addrs && optimise && reg, "out of memory");
	for (i = 0; i < nr; i++)
		addrs[i] = sample[i].addr;
	judge(dev, TT_JUDGE_REGISTER, addrs, reg, nr);
	judge(dev, TT_JUDGE_OPTIMISE, addrs, optimise, nr);
	for (i = 0; i < nr; i++) {
		const struct sample *s = &sample[i];
		/* At an ftrace site the kernel's kprobe needs no jump, nor do we. */
		bool jump = s->mode == TRAMP_MODE_JUMP;
		bool they = !reg[i] && !optimise[i] && !probe_is_entry(s->mode);

		mode[s->mode & 7]++;
		why[s->mode & 7][s->reason]++;
		theirs += they;
		can_kprobe += !reg[i];
		both += jump && they;
		ours_only += jump && !they;
		if (they && !jump)
			only[s->reason]++;
	}
	ktap_note("%d instructions of the kernel's and modules' text:", nr);
	share("jump", mode[TRAMP_MODE_JUMP]);
	share("entry, by its image", mode[TRAMP_MODE_DIRECT]);
	share("entry, through ftrace", mode[TRAMP_MODE_FTRACE_OPS]);
	share("int3", mode[TRAMP_MODE_INT3]);
	list_reasons("int3", why[TRAMP_MODE_INT3]);
	share("the kernel's kprobe", mode[TRAMP_MODE_KPROBE]);
	list_reasons("kprobe", why[TRAMP_MODE_KPROBE]);
	share("refused", mode[TRAMP_MODE_NONE]);
	list_reasons("refused", why[TRAMP_MODE_NONE]);
	ktap_note("the kernel's kprobes at the same addresses:");
	share("accepted", can_kprobe);
	list_errnos("refused", reg, NULL);
	share("can be a jump", theirs);
	list_errnos("no jump", optimise, reg);
	share("  jumps of both", both);
	share("  ours only", ours_only);
	list_reasons("theirs only, ours", only);
	for (i = 0; i < nr && listed < 30; i++)
		if (!reg[i] && !optimise[i] && sample[i].mode != TRAMP_MODE_JUMP &&
		    sample[i].reason != TRAMP_REASON_NOTRACE &&
		    !probe_is_entry(sample[i].mode)) {
			char where[128];

			listed++;
			ktap_note("  theirs only: %s: %s at %s",
				  sample_name(&sample[i], name, sizeof(name)),
				  tramp_reason_name(sample[i].reason),
				  ksym_name(sample[i].where, where, sizeof(where)));
		}
	untraced = why[TRAMP_MODE_NONE][TRAMP_REASON_NOTRACE];
	ktap_note("where ftrace covers the function: %.1f %% can be jumps",
		  100.0 * mode[TRAMP_MODE_JUMP] / (nr - untraced));
	/* How many there are is a matter of the build. */
	if (kernel_is_debian())
		CHECK(untraced * 100ULL < UNTRACED * (unsigned long long)nr, "%u without a site",
		      untraced);
	CHECK(mode[TRAMP_MODE_JUMP] * 100ULL >= COVERAGE * (unsigned long long)(nr - untraced),
	      "%.1f %% can be jumps, less than %d %%",
	      100.0 * mode[TRAMP_MODE_JUMP] / (nr - untraced), COVERAGE);
	CHECK(mode[TRAMP_MODE_JUMP] > theirs, "the kernel makes more jumps than we do");
}

/* --------------------------------------------------------------- branches -- */

/* A bit for each byte of the text from @base on: does a direct branch lead there? */
static uint8_t *target_bits;
static uint64_t base, limit;

static void mark(uint64_t to)
{
	if (to >= base && to < limit)
		target_bits[(to - base) / 8] |= 1 << (to - base) % 8;
}

static bool marked(uint64_t at)
{
	return target_bits[(at - base) / 8] >> (at - base) % 8 & 1;
}

struct decoded {
	uint64_t instructions, branches, functions, cut;
};

/* One symbol's bytes: all direct branches in it. Bytes that are no code end it. */
static void decode_symbol(const ZydisDecoder *decoder, uint64_t addr, const uint8_t *code,
			  uint64_t len, struct decoded *d)
{
	ZydisDecodedInstruction insn;
	uint64_t at = 0;
	int i;

	d->functions++;
	while (at < len) {
		if (ZYAN_FAILED(ZydisDecoderDecodeInstruction(decoder, NULL, code + at, len - at,
							      &insn))) {
			d->cut++;
			return;
		}
		d->instructions++;
		for (i = 0; i < 2; i++)
			if (insn.raw.imm[i].size && insn.raw.imm[i].is_relative) {
				d->branches++;
				mark(addr + at + insn.length + insn.raw.imm[i].value.s);
			}
		at += insn.length;
	}
}

static void decode_all(struct decoded *d)
{
	struct text_sym *syms;
	ZydisDecoder decoder;
	uint8_t *code;
	size_t nr_syms, i;

	REQUIRE(ZYAN_SUCCESS(ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64,
					      ZYDIS_STACK_WIDTH_64)), "ZydisDecoderInit");
	ZydisDecoderEnableMode(&decoder, ZYDIS_DECODER_MODE_MINIMAL, ZYAN_TRUE);
	syms = text_symbols(&nr_syms);
	code = malloc(TT_MAX_TEXT);
	REQUIRE(code, "out of memory");
	for (i = 0; i + 1 < nr_syms; i++) {
		uint64_t len = syms[i + 1].addr - syms[i].addr;

		/* Aliases; and text of other modules, or none, behind the last one of a module. */
		if (!len || syms[i].addr < base || syms[i].addr >= limit)
			continue;
		if (len > TT_MAX_TEXT)
			len = 1 << 16;
		/* Text of init is gone. */
		if (text_try(dev, syms[i].addr, code, len))
			continue;
		decode_symbol(&decoder, syms[i].addr, code, len, d);
	}
	free(code);
	free(syms);
}

static void test_branches(void)
{
	struct decoded d = {};
	unsigned int regions = 0, bytes = 0, inside = 0;
	char name[160];
	int i, k;

	setup();
	/* The kernel and its modules lie within 2 GB, at the top. */
	base = ksym_addr("_stext") & ~0x1fffffULL;
	limit = base + (1ULL << 31) > base ? base + (1ULL << 31) : ~0ULL;
	target_bits = calloc((limit - base) / 8 + 1, 1);
	REQUIRE(target_bits, "out of memory");
	decode_all(&d);
	ktap_note("%lu instructions in %lu functions, %lu of them not to the end; %lu direct branches",
		  d.instructions, d.functions, d.cut, d.branches);
	CHECK(d.instructions > 1000000, "only %lu instructions", d.instructions);
	for (i = 0; i < nr; i++) {
		if (sample[i].mode != TRAMP_MODE_JUMP)
			continue;
		regions++;
		for (k = 1; k < sample[i].region_len; k++) {
			bytes++;
			if (!marked(sample[i].addr + k))
				continue;
			inside++;
			ktap_fail("%s: a region of %u bytes, but a branch leads to byte %d",
				  sample_name(&sample[i], name, sizeof(name)),
				  sample[i].region_len, k);
		}
	}
	ktap_note("%u regions, %u bytes behind their first: branches lead to %u", regions, bytes,
		  inside);
	CHECK(regions > (unsigned int)nr / 2, "only %u regions", regions);
}

static const struct ktap_test tests[] = {
	{ "coverage", test_coverage, 400 },
	{ "branches", test_branches, 400 },
};

KTAP_MAIN(tests)
