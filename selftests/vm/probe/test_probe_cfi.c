// SPDX-License-Identifier: GPL-2.0
/*
 * Probes and kCFI's checks of indirect calls (6.12-cfi).
 *
 *	mov	$-hash, %r10d
 *	add	-15(%r11), %r10d
 *	je	1f
 *	ud2
 * 1:	call	*%r11
 *
 * When the ud2 is executed the kernel finds it by its address, and reads mov and add for its
 * report (kernel/text/map.c). So these three take no probe, the kernel's own included, and no jump
 * lies over them. The branch takes one. With FineIBT there are no such checks.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "fixture.h"
#include "probe.h"
#include "selftests/vm/lib/probe_progs.skel.h"

#define FUNCTIONS	4000		/* that are looked at */
#define ENOUGH		200		/* checks */
#define ATTACHED	20		/* to that many of them */

enum { MOV, ADD, JE, UD2, CHECK_INSNS };

static int dev;

static bool is_check(const struct probe_func *f, uint32_t i)
{
	const uint8_t *code = f->code + f->insns[i].offset;

	return i + CHECK_INSNS < f->nr && f->insns[i].offset + 14 <= f->code_len &&
	       !memcmp(code, "\x41\xba", 2) && code[7] == 0x03 && !memcmp(code + 10, "\x74\x02", 2) &&
	       !memcmp(code + 12, "\x0f\x0b", 2);
}

static void check_foretold(const struct probe_func *f, uint32_t i)
{
	const struct tramp_insn_info *insn = f->insns + i;
	uint32_t k, at = insn->offset;

	for (k = MOV; k < CHECK_INSNS; k++)
		CHECK((k == JE) == (insn[k].mode != TRAMP_MODE_NONE) &&
		      (k == JE || insn[k].reason == TRAMP_REASON_RESERVED), "%s+%#x: %s (%s)",
		      f->name, insn[k].offset, tramp_mode_name(insn[k].mode),
		      tramp_reason_name(insn[k].reason));
	for (k = 0; k < i; k++)
		CHECK(f->insns[k].mode != TRAMP_MODE_JUMP ||
		      f->insns[k].offset + f->insns[k].region_len <= at ||
		      f->insns[k].offset > insn[UD2].offset,
		      "%s+%#x: a jump over %u bytes, and a check at +%#x", f->name,
		      f->insns[k].offset, f->insns[k].region_len, at);
}

static void check_attached(const struct probe_func *f, uint32_t i)
{
	int prog = bpf_program__fd(probe_skel->progs.count);
	uint64_t addrs[CHECK_INSNS];
	int32_t results[CHECK_INSNS];
	uint32_t k;

	for (k = MOV; k < CHECK_INSNS; k++) {
		struct attachment p;

		addrs[k] = f->addr + f->insns[i + k].offset;
		p = attach_insn_try(OURS, prog, addrs[k], 0, 0);
		CHECK(k == JE ? !p.err : p.err == -EINVAL, "%s+%#x: %s (%s)", f->name,
		      f->insns[i + k].offset, strerror(-p.err),
		      tramp_reason_name(p.reply.refusal.reason));
		detach(&p);
	}
	/* Ours are gone from the text when the optimiser has been at it. */
	probe_flush();
	judge(dev, TT_JUDGE_REGISTER, addrs, results, CHECK_INSNS);
	for (k = MOV; k < CHECK_INSNS; k++)
		CHECK((k == JE) == !results[k], "%s+%#x: a kprobe of the kernel: %s", f->name,
		      f->insns[i + k].offset, strerror(results[k]));
}

/* Returns how many checks were found. */
static unsigned int look_at(uint64_t addr, unsigned int attached)
{
	unsigned int found = 0;
	struct probe_func f;
	uint32_t i;

	if (probe_explain(&f, addr, NULL, true))
		return 0;
	for (i = 0; i < f.nr; i++) {
		if (!is_check(&f, i) || f.insns[i].reason == TRAMP_REASON_NOTRACE ||
		    f.insns[i].reason == TRAMP_REASON_BLACKLISTED)
			continue;
		check_foretold(&f, i);
		if (attached + found++ < ATTACHED)
			check_attached(&f, i);
	}
	probe_func_free(&f);
	return found;
}

static void test_checks(void)
{
	unsigned int i, found = 0, in_modules = 0;
	struct text_sym *syms;
	uint64_t state;
	size_t nr;

	if (!ksym_addr("is_cfi_trap"))
		ktap_skip("this kernel has no kCFI");
	dev = fixture_open("about our verdicts");
	probe_setup();
	state = rnd_seed();
	syms = text_symbols(&nr);
	for (i = 0; i < FUNCTIONS && found < ENOUGH; i++) {
		const struct text_sym *s = &syms[rnd(&state) % nr];

		if (!ksym_is_padding(s->name))
			found += look_at(s->addr, found);
	}
	for (i = 0; i < nr; i++)
		if (!strcmp(syms[i].module, "trampoline_test") && !ksym_is_padding(syms[i].name))
			in_modules += look_at(syms[i].addr, ATTACHED - 2 + in_modules);
	free(syms);
	if (!found && !in_modules)
		ktap_skip("no call is checked where it is made: FineIBT, or switched off");
	ktap_note("%u checks in the kernel, %u in the test module", found, in_modules);
	CHECK(found >= ENOUGH, "%u checks in %u functions", found, i);
	CHECK(in_modules, "no check in the test module");
}

static const struct ktap_test tests[] = {
	{ "checks", test_checks, 120 },
};

KTAP_MAIN(tests)
