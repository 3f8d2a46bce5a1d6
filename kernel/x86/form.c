// SPDX-License-Identifier: GPL-2.0
/* The bytes at a probe's address in each of their forms, see form.h. */
#include "form.h"

#include "asm.h"

bool tramp_x86_form(const struct tramp_x86_spot *spot, enum tramp_x86_form form, u8 *bytes)
{
	struct tasm a = { .buf = bytes, .len = TRAMP_X86_JUMP_SIZE, .addr = spot->addr };
	u32 span = tramp_x86_span(spot);

	switch (form) {
	case TRAMP_X86_FORM_ORIGINAL:
		memcpy(bytes, spot->orig, span);
		return true;
	case TRAMP_X86_FORM_INT3:
		memcpy(bytes, spot->orig, span);
		memset(bytes, TRAMP_X86_INT3, spot->insn_len);
		return true;
	case TRAMP_X86_FORM_JUMP:
		if (span < TRAMP_X86_JUMP_SIZE)
			return false;
		memset(bytes, TRAMP_X86_INT3, span);
		tasm_branch(&a, TASM_JMP, spot->image);
		return !a.out_of_reach;
	}
	return false;
}
