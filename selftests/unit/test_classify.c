// SPDX-License-Identifier: GPL-2.0
/*
 * Instructions by what they do to the flow of control: one of each that matters, in the forms
 * and with the prefixes that there are. Instructions that only look like one are here, too.
 */
#include <string.h>

#include "../../kernel/x86/insn.h"
#include "../lib/ktap.h"
#include "code.h"

#define P66	TRAMP_X86_PFX_66
#define PF2	TRAMP_X86_PFX_F2
#define PF3	TRAMP_X86_PFX_F3
#define LOCK	TRAMP_X86_PFX_LOCK

struct classified {
	enum tramp_x86_kind kind;
	struct code code;
};

static const struct classified kinds[] = {
	{ TRAMP_X86_JMP, CODE("\xeb\x05") },
	{ TRAMP_X86_JMP, CODE("\xe9\1\2\3\4") },
	{ TRAMP_X86_JMP, CODE("\x2e\xe9\1\2\3\4") },
	{ TRAMP_X86_JMP, CODE("\xf2\xe9\1\2\3\4") },		/* bnd */
	{ TRAMP_X86_JMP, CODE("\x48\xe9\1\2\3\4") },
	{ TRAMP_X86_JMP, CODE("\x67\xeb\x05") },
	{ TRAMP_X86_FIXED, CODE("\x66\xe9\1\2\3\4") },
	{ TRAMP_X86_FIXED, CODE("\x66\xeb\x05") },
	{ TRAMP_X86_JCC, CODE("\x70\x05") },
	{ TRAMP_X86_JCC, CODE("\x7f\x80") },
	{ TRAMP_X86_JCC, CODE("\x0f\x80\1\2\3\4") },
	{ TRAMP_X86_JCC, CODE("\x3e\x0f\x8f\1\2\3\4") },
	{ TRAMP_X86_FIXED, CODE("\x66\x0f\x84\1\2\3\4") },
	{ TRAMP_X86_FIXED, CODE("\x66\x74\x05") },
	{ TRAMP_X86_LOOP, CODE("\xe0\x05") },
	{ TRAMP_X86_LOOP, CODE("\xe1\x05") },
	{ TRAMP_X86_LOOP, CODE("\xe2\x05") },
	{ TRAMP_X86_LOOP, CODE("\xe3\x05") },
	{ TRAMP_X86_LOOP, CODE("\x67\xe3\x05") },
	{ TRAMP_X86_LOOP, CODE("\x48\xe2\x05") },
	{ TRAMP_X86_FIXED, CODE("\x66\xe2\x05") },
	{ TRAMP_X86_CALL, CODE("\xe8\1\2\3\4") },
	{ TRAMP_X86_CALL, CODE("\x2e\xe8\1\2\3\4") },
	{ TRAMP_X86_CALL, CODE("\x67\xe8\1\2\3\4") },
	{ TRAMP_X86_FIXED, CODE("\x66\xe8\1\2\3\4") },
	{ TRAMP_X86_CALL_IND, CODE("\xff\xd0") },
	{ TRAMP_X86_CALL_IND, CODE("\x41\xff\xd3") },
	{ TRAMP_X86_CALL_IND, CODE("\xff\x15\1\2\3\4") },
	{ TRAMP_X86_CALL_IND, CODE("\x3e\xff\x54\x24\x08") },	/* notrack */
	{ TRAMP_X86_FIXED, CODE("\x66\xff\xd0") },
	{ TRAMP_X86_JMP_IND, CODE("\xff\xe0") },
	{ TRAMP_X86_JMP_IND, CODE("\x48\xff\xe0") },
	{ TRAMP_X86_JMP_IND, CODE("\x3e\xff\x24\xc5\1\2\3\4") },
	{ TRAMP_X86_FIXED, CODE("\x66\xff\xe0") },
	{ TRAMP_X86_FIXED, CODE("\xff\x18") },			/* far call */
	{ TRAMP_X86_FIXED, CODE("\x48\xff\x28") },		/* far jmp */
	{ TRAMP_X86_PLAIN, CODE("\xff\xc0") },			/* inc */
	{ TRAMP_X86_PLAIN, CODE("\xff\xc8") },			/* dec */
	{ TRAMP_X86_PLAIN, CODE("\xff\x35\1\2\3\4") },		/* push */
	{ TRAMP_X86_RET, CODE("\xc3") },
	{ TRAMP_X86_RET, CODE("\xf3\xc3") },
	{ TRAMP_X86_RET, CODE("\xf2\xc3") },
	{ TRAMP_X86_RET, CODE("\xc2\x08\x00") },
	{ TRAMP_X86_FIXED, CODE("\x66\xc3") },
	{ TRAMP_X86_FIXED, CODE("\xcb") },			/* retf */
	{ TRAMP_X86_FIXED, CODE("\x48\xcb") },
	{ TRAMP_X86_FIXED, CODE("\xca\x08\x00") },
	{ TRAMP_X86_FIXED, CODE("\xcc") },
	{ TRAMP_X86_FIXED, CODE("\xcd\x80") },
	{ TRAMP_X86_FIXED, CODE("\xcf") },			/* iret */
	{ TRAMP_X86_FIXED, CODE("\x48\xcf") },
	{ TRAMP_X86_FIXED, CODE("\xf1") },			/* int1 */
	{ TRAMP_X86_FIXED, CODE("\xf4") },			/* hlt */
	{ TRAMP_X86_FIXED, CODE("\x0f\x05") },			/* syscall */
	{ TRAMP_X86_FIXED, CODE("\x48\x0f\x07") },		/* sysret */
	{ TRAMP_X86_FIXED, CODE("\x0f\x34") },			/* sysenter */
	{ TRAMP_X86_FIXED, CODE("\x48\x0f\x35") },		/* sysexit */
	{ TRAMP_X86_FIXED, CODE("\x0f\x37") },			/* getsec */
	{ TRAMP_X86_FIXED, CODE("\x0f\xaa") },			/* rsm */
	{ TRAMP_X86_FIXED, CODE("\x0f\x0b") },			/* ud2 */
	{ TRAMP_X86_FIXED, CODE("\x0f\xb9\x40\x10") },		/* ud1 */
	{ TRAMP_X86_FIXED, CODE("\x67\x0f\xb9\x40\x10") },
	{ TRAMP_X86_FIXED, CODE("\x0f\xff\xc0") },		/* ud0 */
	{ TRAMP_X86_FIXED, CODE("\x8e\xd0") },			/* mov ss */
	{ TRAMP_X86_PLAIN, CODE("\x8e\xd8") },			/* mov ds */
	{ TRAMP_X86_PLAIN, CODE("\x8c\xd0") },			/* from ss */
	{ TRAMP_X86_FIXED, CODE("\x0f\xb2\x00") },		/* lss */
	{ TRAMP_X86_PLAIN, CODE("\x0f\xb4\x00") },		/* lfs */
	{ TRAMP_X86_FIXED, CODE("\xc7\xf8\1\2\3\4") },		/* xbegin */
	{ TRAMP_X86_PLAIN, CODE("\xc6\xf8\x01") },		/* xabort */
	{ TRAMP_X86_PLAIN, CODE("\x0f\x01\xd5") },		/* xend */
	{ TRAMP_X86_PLAIN, CODE("\xc7\xc0\1\2\3\4") },		/* mov */
	{ TRAMP_X86_PLAIN, CODE("\xc7\x00\1\2\3\4") },
	{ TRAMP_X86_FIXED, CODE("\x0f\x01\xc0") },		/* enclv */
	{ TRAMP_X86_FIXED, CODE("\x0f\x01\xc2") },		/* vmlaunch */
	{ TRAMP_X86_FIXED, CODE("\x0f\x01\xc3") },		/* vmresume */
	{ TRAMP_X86_FIXED, CODE("\x0f\x01\xcf") },		/* encls */
	{ TRAMP_X86_FIXED, CODE("\x0f\x01\xd7") },		/* enclu */
	{ TRAMP_X86_FIXED, CODE("\x0f\x01\xd8") },		/* vmrun */
	{ TRAMP_X86_FIXED, CODE("\x0f\x01\xde") },		/* skinit */
	{ TRAMP_X86_FIXED, CODE("\xf3\x0f\x01\xec") },		/* uiret */
	{ TRAMP_X86_PLAIN, CODE("\xf3\x0f\x01\xee") },		/* clui */
	{ TRAMP_X86_PLAIN, CODE("\x0f\x01\xee") },		/* rdpkru */
	{ TRAMP_X86_PLAIN, CODE("\x0f\x01\xc1") },		/* vmcall */
	{ TRAMP_X86_PLAIN, CODE("\x0f\x01\xc4") },		/* vmxoff */
	{ TRAMP_X86_PLAIN, CODE("\x0f\x01\xc8") },		/* monitor */
	{ TRAMP_X86_PLAIN, CODE("\x0f\x01\xc9") },		/* mwait */
	{ TRAMP_X86_PLAIN, CODE("\x0f\x01\xca") },		/* clac */
	{ TRAMP_X86_PLAIN, CODE("\x0f\x01\xcb") },		/* stac */
	{ TRAMP_X86_PLAIN, CODE("\x0f\x01\xd9") },		/* vmmcall */
	{ TRAMP_X86_PLAIN, CODE("\x0f\x01\xf8") },		/* swapgs */
	{ TRAMP_X86_PLAIN, CODE("\x0f\x01\x10") },		/* lgdt */
	{ TRAMP_X86_PLAIN, CODE("\x0f\x01\x38") },		/* invlpg */
	{ TRAMP_X86_PLAIN, CODE("\xf3\x0f\xb8\xc1") },		/* popcnt */
	{ TRAMP_X86_PLAIN, CODE("\xf3\x0f\x1e\xfa") },		/* endbr64 */
	{ TRAMP_X86_PLAIN, CODE("\x9c") },			/* pushf */
	{ TRAMP_X86_PLAIN, CODE("\x9d") },			/* popf */
	{ TRAMP_X86_PLAIN, CODE("\xfa") },			/* cli */
	{ TRAMP_X86_PLAIN, CODE("\xfb") },			/* sti */
	{ TRAMP_X86_PLAIN, CODE("\x54") },			/* push rsp */
	{ TRAMP_X86_PLAIN, CODE("\x5c") },			/* pop rsp */
	{ TRAMP_X86_PLAIN, CODE("\xc9") },			/* leave */
	{ TRAMP_X86_PLAIN, CODE("\x0f\xae\xe8") },		/* lfence */
	{ TRAMP_X86_PLAIN, CODE("\x0f\x30") },			/* wrmsr */
	{ TRAMP_X86_PLAIN, CODE("\xf3\xa4") },			/* rep movsb */
	{ TRAMP_X86_FIXED, CODE("\xc5\xf8\x85\1\2\3\4") },	/* jknzd */
	{ TRAMP_X86_FIXED, CODE("\x2e\xc4\xe1\x78\x84\1\2\3\4") },
	{ TRAMP_X86_PLAIN, CODE("\xc5\xf9\x74\xc1") },		/* vpcmpeqb */
	{ TRAMP_X86_PLAIN, CODE("\xc4\xe1\x79\x75\xc1") },
	{ TRAMP_X86_PLAIN, CODE("\x62\xf1\x7d\x48\x74\xc1") },
	/* the same opcode bytes in maps where they mean something else */
	{ TRAMP_X86_PLAIN, CODE("\xc5\xf8\x77") },
	{ TRAMP_X86_PLAIN, CODE("\xc5\xfb\x70\xc1\x01") },
	{ TRAMP_X86_PLAIN, CODE("\xc4\xe2\x79\x0b\xc1") },
	{ TRAMP_X86_PLAIN, CODE("\xc5\xf9\xe8\xc1") },
	{ TRAMP_X86_PLAIN, CODE("\x66\x0f\x3a\x0b\xc1\x01") },
	{ TRAMP_X86_PLAIN, CODE("\x66\x0f\x38\x05\xc1") },
	{ TRAMP_X86_PLAIN, CODE("\x0f\xc3\x00") },		/* movnti */
	{ TRAMP_X86_PLAIN, CODE("\x0f\xe8\xc1") },		/* psubsb */
	{ TRAMP_X86_PLAIN, CODE("\x62\xf1\x7c\x48\x5b\xc1") },
};

static void classification(void)
{
	struct tramp_x86_insn i;
	u32 n;

	for (n = 0; n < NR(kinds); n++) {
		const char *text = hex(&kinds[n].code);

		if (CHECK(code_decode(&kinds[n].code, &i), "%s", text)) {
			CHECK_EQ(i.len, kinds[n].code.len, "%s", text);
			CHECK_EQ(tramp_x86_classify(&i), kinds[n].kind, "%s", text);
		}
	}
	/* a decoder that lets such a one through (Zydis does not) */
	i = (struct tramp_x86_insn){ .len = 3, .opcode = 0xeb, .prefixes = LOCK };
	CHECK_EQ(tramp_x86_classify(&i), TRAMP_X86_FIXED, "lock jmp");
	/* and of instructions that Zydis is too old for */
	i = (struct tramp_x86_insn){ .bytes = { 0xf3, 0x0f, 0x01, 0xca }, .len = 4, .map = 1,
				     .opcode = 0x01, .opcode_off = 2, .modrm_off = 3,
				     .prefixes = PF3 };
	CHECK_EQ(tramp_x86_classify(&i), TRAMP_X86_FIXED, "eretu");
	i.prefixes = PF2;
	CHECK_EQ(tramp_x86_classify(&i), TRAMP_X86_FIXED, "erets");
	i.bytes[3] = 0xcd;
	i.prefixes = P66;
	CHECK_EQ(tramp_x86_classify(&i), TRAMP_X86_FIXED, "seamret");
	i.bytes[3] = 0xcf;
	CHECK_EQ(tramp_x86_classify(&i), TRAMP_X86_PLAIN, "seamcall");
	i = (struct tramp_x86_insn){ .bytes = { 0x0f, 0xb8 }, .len = 6, .map = 1,
				     .opcode = 0xb8, .opcode_off = 1 };
	CHECK_EQ(tramp_x86_classify(&i), TRAMP_X86_FIXED, "jmpe");
}

static void falling_through(void)
{
	CHECK(!tramp_x86_falls_through(TRAMP_X86_JMP), "");
	CHECK(!tramp_x86_falls_through(TRAMP_X86_JMP_IND), "");
	CHECK(!tramp_x86_falls_through(TRAMP_X86_RET), "");
	CHECK(tramp_x86_falls_through(TRAMP_X86_PLAIN), "");
	CHECK(tramp_x86_falls_through(TRAMP_X86_JCC), "");
	CHECK(tramp_x86_falls_through(TRAMP_X86_LOOP), "");
	CHECK(tramp_x86_falls_through(TRAMP_X86_CALL), "");
	CHECK(tramp_x86_falls_through(TRAMP_X86_CALL_IND), "");
}

static void endbr_and_sti(void)
{
	static const struct {
		struct code code;
		bool endbr, sti;
	} codes[] = {
		{ CODE("\xf3\x0f\x1e\xfa"), true, false },
		{ CODE("\xf3\x0f\x1e\xfb"), true, false },
		{ CODE("\xf3\xf2\x0f\x1e\xfa"), true, false },	/* or a NOP: see insn.h */
		{ CODE("\xf2\xf3\x0f\x1e\xfa"), true, false },
		{ CODE("\xf2\x0f\x1e\xfa"), false, false },
		{ CODE("\xf3\x48\x0f\x1e\xc8"), false, false },	/* rdsspq */
		{ CODE("\x0f\x1e\xfa"), false, false },		/* without F3: a NOP */
		{ CODE("\x66\x0f\x1f\x00"), false, false },	/* what a sealed one becomes */
		{ CODE("\xfb"), false, true },
		{ CODE("\xfa"), false, false },
		{ CODE("\x0f\xfb\xc1"), false, false },
		{ CODE("\xc5\xf9\xfb\xc1"), false, false },
	};
	struct tramp_x86_insn i;
	u32 n;

	for (n = 0; n < NR(codes); n++) {
		if (!CHECK(code_decode(&codes[n].code, &i), "%s", hex(&codes[n].code)))
			continue;
		CHECK_EQ(tramp_x86_is_endbr(&i), codes[n].endbr, "%s", hex(&codes[n].code));
		CHECK_EQ(tramp_x86_is_sti(&i), codes[n].sti, "%s", hex(&codes[n].code));
	}
}

static const struct ktap_test tests[] = {
	KTAP_TEST(classification),
	KTAP_TEST(falling_through),
	KTAP_TEST(endbr_and_sti),
};
KTAP_MAIN(tests)
