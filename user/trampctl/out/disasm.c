// SPDX-License-Identifier: GPL-2.0
/*
 * Instructions as text, see disasm.h: kernel functions, BPF programs and data by
 * /proc/kallsyms, per-CPU operands by the variable at that offset from the GS base.
 */
#include <Zycore/Format.h>
#include <Zydis/Zydis.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "disasm.h"
#include "text.h"

struct disasm {
	struct disasm_opts opts;
	ZydisDecoder decoder;
	ZydisFormatter formatter;
	ZydisFormatterFunc default_abs;
};

/* The name of what an operand refers to, or NULL. To be freed. */
static char *operand_name(const struct disasm *d, const ZydisDecodedOperand *op, uint64_t addr)
{
	char *name = NULL;

	if (op->type == ZYDIS_OPERAND_TYPE_IMMEDIATE && d->opts.label)
		name = d->opts.label(addr, d->opts.ctx);
	if (name)
		return name;
	if (op->type == ZYDIS_OPERAND_TYPE_MEMORY && op->mem.segment == ZYDIS_REGISTER_GS)
		return ksyms_percpu_text(d->opts.ks, addr);
	return ksyms_text(d->opts.ks, addr);
}

/* Called by Zydis for each absolute address: branch targets, %rip and %gs operands. */
static ZyanStatus print_address(const ZydisFormatter *f, ZydisFormatterBuffer *buf,
				ZydisFormatterContext *ctx)
{
	struct disasm *d = ctx->user_data;
	ZyanString *string;
	ZyanStatus status;
	uint64_t addr;
	char *name;

	ZYAN_CHECK(ZydisCalcAbsoluteAddress(ctx->instruction, ctx->operand, ctx->runtime_address,
					    &addr));
	name = operand_name(d, ctx->operand, addr);
	if (!name)
		return d->default_abs(f, buf, ctx);
	status = ZydisFormatterBufferAppend(buf, ZYDIS_TOKEN_SYMBOL);
	if (ZYAN_SUCCESS(status))
		status = ZydisFormatterBufferGetString(buf, &string);
	if (ZYAN_SUCCESS(status))
		status = ZyanStringAppendFormat(string, "%s", name);
	free(name);
	return status;
}

/* Returns what is to be freed with disasm_free(). */
struct disasm *disasm_new(const struct disasm_opts *opts)
{
	struct disasm *d = xcalloc(1, sizeof(*d));

	d->opts = *opts;
	ZydisDecoderInit(&d->decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
	ZydisFormatterInit(&d->formatter, opts->intel ? ZYDIS_FORMATTER_STYLE_INTEL :
							ZYDIS_FORMATTER_STYLE_ATT);
	ZydisFormatterSetProperty(&d->formatter, ZYDIS_FORMATTER_PROP_HEX_UPPERCASE, ZYAN_FALSE);
	ZydisFormatterSetProperty(&d->formatter, ZYDIS_FORMATTER_PROP_ADDR_PADDING_ABSOLUTE,
				  ZYDIS_PADDING_DISABLED);
	ZydisFormatterSetProperty(&d->formatter, ZYDIS_FORMATTER_PROP_DISP_PADDING,
				  ZYDIS_PADDING_DISABLED);
	ZydisFormatterSetProperty(&d->formatter, ZYDIS_FORMATTER_PROP_IMM_PADDING,
				  ZYDIS_PADDING_DISABLED);
	/* 64-bit immediates are addresses more often than negative numbers. */
	ZydisFormatterSetProperty(&d->formatter, ZYDIS_FORMATTER_PROP_IMM_SIGNEDNESS,
				  ZYDIS_SIGNEDNESS_UNSIGNED);
	d->default_abs = print_address;
	ZydisFormatterSetHook(&d->formatter, ZYDIS_FORMATTER_FUNC_PRINT_ADDRESS_ABS,
			      (const void **)&d->default_abs);
	return d;
}

void disasm_free(struct disasm *d)
{
	free(d);
}

static bool decode(struct disasm *d, const uint8_t *code, uint32_t max,
		   ZydisDecodedInstruction *insn, ZydisDecodedOperand *ops)
{
	return ZYAN_SUCCESS(ZydisDecoderDecodeFull(&d->decoder, code, max, insn, ops));
}

/* Bytes of the instruction at @code, of at most @max; 0 if it is none. */
uint32_t disasm_length(struct disasm *d, const uint8_t *code, uint32_t max)
{
	ZydisDecodedOperand ops[ZYDIS_MAX_OPERAND_COUNT];
	ZydisDecodedInstruction insn;

	return decode(d, code, max, &insn, ops) ? insn.length : 0;
}

/* Where a direct jump at @addr goes; false if the instruction is none. */
bool disasm_branch_target(struct disasm *d, const uint8_t *code, uint32_t max, uint64_t addr,
			  uint64_t *target)
{
	ZydisDecodedOperand ops[ZYDIS_MAX_OPERAND_COUNT];
	ZydisDecodedInstruction insn;

	return decode(d, code, max, &insn, ops) &&
	       insn.meta.category != ZYDIS_CATEGORY_CALL && insn.operand_count_visible &&
	       ops[0].type == ZYDIS_OPERAND_TYPE_IMMEDIATE && ops[0].imm.is_relative &&
	       ZYAN_SUCCESS(ZydisCalcAbsoluteAddress(&insn, &ops[0], addr, target));
}

/* The instruction of @len bytes that runs at @addr, into @text of DISASM_TEXT bytes. */
void disasm_text(struct disasm *d, const uint8_t *code, uint32_t len, uint64_t addr, char *text)
{
	ZydisDecodedOperand ops[ZYDIS_MAX_OPERAND_COUNT];
	ZydisDecodedInstruction insn;

	if (!decode(d, code, len, &insn, ops) ||
	    ZYAN_FAILED(ZydisFormatterFormatInstruction(&d->formatter, &insn, ops,
							insn.operand_count_visible, text,
							DISASM_TEXT, addr, d)))
		snprintf(text, DISASM_TEXT, ".byte 0x%02x", code[0]);
}

/* Bytes in hex, into @text of DISASM_BYTES bytes. */
void disasm_bytes(const uint8_t *code, uint32_t len, char *text)
{
	size_t pos = 0;
	uint32_t i;

	text[0] = 0;
	for (i = 0; i < len && pos + 4 < DISASM_BYTES; i++)
		pos += sprintf(text + pos, "%s%02x", i ? " " : "", code[i]);
}
