// SPDX-License-Identifier: GPL-2.0
/*
 * trampctl dump: the code of a link's trampoline image, disassembled by Zydis.
 *
 * What an image refers to is shown by name: kernel functions, BPF programs and
 * data by /proc/kallsyms, per-CPU operands by the variable at that offset from
 * the GS base, branches inside the image by labels.
 */
#include <Zycore/Format.h>
#include <Zydis/Zydis.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "json.h"
#include "kallsyms.h"
#include "libcall.h"

enum { OPT_INTEL, OPT_OPCODES };

static const struct cmd_opt dump_opts[] = {
	{ "intel", 0, NULL, "Intel's syntax; AT&T's otherwise" },
	{ "opcodes", 0, NULL, "show the bytes of each instruction" },
	{ NULL }
};

static bool intel_syntax, show_opcodes;

static int dump_option(int opt, const char *arg)
{
	(void)arg;
	if (opt == OPT_INTEL)
		intel_syntax = true;
	else
		show_opcodes = true;
	return 0;
}

/* One instruction. */
struct line {
	uint32_t off, len;
	char text[256];
	int label;		/* number of the label here, -1: none */
	bool bad;		/* not an instruction: a byte */
};

struct listing {
	const uint8_t *code;
	uint32_t size;
	uint64_t addr;		/* 0 if hidden */
	const struct ksyms *ks;
	int *labels;		/* per byte of code: label number, -1: none */
	struct line *lines;
	size_t nr_lines;
	ZydisFormatterFunc default_abs;
};

static void decoder_init(ZydisDecoder *d)
{
	ZydisDecoderInit(d, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
}

/* First pass: finds the instructions, and numbers the branch targets inside. */
static void find_lines(struct listing *l)
{
	ZydisDecodedOperand ops[ZYDIS_MAX_OPERAND_COUNT];
	ZydisDecodedInstruction insn;
	ZydisDecoder decoder;
	uint32_t off, i;
	int nr = 0;

	decoder_init(&decoder);
	for (off = 0; off < l->size; off += l->lines[l->nr_lines++].len) {
		struct line *line = &l->lines[l->nr_lines];
		uint64_t target;

		line->off = off;
		line->label = -1;
		if (ZYAN_FAILED(ZydisDecoderDecodeFull(&decoder, l->code + off, l->size - off,
						       &insn, ops))) {
			line->len = 1;
			line->bad = true;
			continue;
		}
		line->len = insn.length;
		if (insn.meta.category == ZYDIS_CATEGORY_CALL || !insn.operand_count_visible ||
		    ops[0].type != ZYDIS_OPERAND_TYPE_IMMEDIATE || !ops[0].imm.is_relative ||
		    ZYAN_FAILED(ZydisCalcAbsoluteAddress(&insn, &ops[0], l->addr + off, &target)))
			continue;
		if (target - l->addr < l->size)
			l->labels[target - l->addr] = 0;
	}
	/* In the order of addresses, and only where an instruction begins. */
	for (i = 0; i < l->nr_lines; i++) {
		struct line *line = &l->lines[i];

		if (!l->labels[line->off])
			l->labels[line->off] = line->label = ++nr;
	}
}

/* The name of what an operand refers to, or NULL. To be freed. */
static char *operand_name(const struct listing *l, const ZydisDecodedOperand *op, uint64_t addr)
{
	if (op->type == ZYDIS_OPERAND_TYPE_IMMEDIATE && addr - l->addr < l->size &&
	    l->labels[addr - l->addr] > 0)
		return xasprintf("L%d", l->labels[addr - l->addr]);
	if (op->type == ZYDIS_OPERAND_TYPE_MEMORY && op->mem.segment == ZYDIS_REGISTER_GS)
		return ksyms_percpu_text(l->ks, addr);
	return ksyms_text(l->ks, addr);
}

/* Called by Zydis for each absolute address: branch targets, %rip and %gs operands. */
static ZyanStatus print_address(const ZydisFormatter *f, ZydisFormatterBuffer *buf,
				ZydisFormatterContext *ctx)
{
	struct listing *l = ctx->user_data;
	ZyanString *string;
	uint64_t addr;
	char *name;

	ZYAN_CHECK(ZydisCalcAbsoluteAddress(ctx->instruction, ctx->operand, ctx->runtime_address,
					    &addr));
	name = operand_name(l, ctx->operand, addr);
	if (!name)
		return l->default_abs(f, buf, ctx);
	ZYAN_CHECK(ZydisFormatterBufferAppend(buf, ZYDIS_TOKEN_SYMBOL));
	ZYAN_CHECK(ZydisFormatterBufferGetString(buf, &string));
	ZYAN_CHECK(ZyanStringAppendFormat(string, "%s", name));
	free(name);
	return ZYAN_STATUS_SUCCESS;
}

/* Second pass: the texts. */
static void format_lines(struct listing *l)
{
	ZydisDecodedOperand ops[ZYDIS_MAX_OPERAND_COUNT];
	ZydisDecodedInstruction insn;
	ZydisFormatter formatter;
	ZydisDecoder decoder;
	size_t i;

	decoder_init(&decoder);
	ZydisFormatterInit(&formatter, intel_syntax ? ZYDIS_FORMATTER_STYLE_INTEL :
						      ZYDIS_FORMATTER_STYLE_ATT);
	ZydisFormatterSetProperty(&formatter, ZYDIS_FORMATTER_PROP_HEX_UPPERCASE, ZYAN_FALSE);
	ZydisFormatterSetProperty(&formatter, ZYDIS_FORMATTER_PROP_ADDR_PADDING_ABSOLUTE,
				  ZYDIS_PADDING_DISABLED);
	ZydisFormatterSetProperty(&formatter, ZYDIS_FORMATTER_PROP_DISP_PADDING,
				  ZYDIS_PADDING_DISABLED);
	ZydisFormatterSetProperty(&formatter, ZYDIS_FORMATTER_PROP_IMM_PADDING,
				  ZYDIS_PADDING_DISABLED);
	/* 64-bit immediates are addresses more often than negative numbers. */
	ZydisFormatterSetProperty(&formatter, ZYDIS_FORMATTER_PROP_IMM_SIGNEDNESS,
				  ZYDIS_SIGNEDNESS_UNSIGNED);
	l->default_abs = print_address;
	ZydisFormatterSetHook(&formatter, ZYDIS_FORMATTER_FUNC_PRINT_ADDRESS_ABS,
			      (const void **)&l->default_abs);

	for (i = 0; i < l->nr_lines; i++) {
		struct line *line = &l->lines[i];

		if (line->bad ||
		    ZYAN_FAILED(ZydisDecoderDecodeFull(&decoder, l->code + line->off, line->len,
						       &insn, ops)) ||
		    ZYAN_FAILED(ZydisFormatterFormatInstruction(&formatter, &insn, ops,
								insn.operand_count_visible,
								line->text, sizeof(line->text),
								l->addr + line->off, l)))
			snprintf(line->text, sizeof(line->text), ".byte 0x%02x",
				 l->code[line->off]);
	}
}

static void bytes_text(const struct listing *l, const struct line *line, char *buf, size_t len)
{
	size_t pos = 0;
	uint32_t i;

	buf[0] = 0;
	for (i = 0; i < line->len && pos + 4 < len; i++)
		pos += sprintf(buf + pos, "%s%02x", i ? " " : "", l->code[line->off + i]);
}

static void print_listing(const struct listing *l, const struct tramp_link_info *info)
{
	char *image = image_text(info), *func = func_text(info->module, info->func_name);
	char bytes[64];
	size_t i;

	printf("%s: %u bytes at 0x%" PRIx64 ", for %s\n", image, l->size, l->addr, func);
	for (i = 0; i < l->nr_lines; i++) {
		const struct line *line = &l->lines[i];

		if (line->label > 0)
			printf("L%d:\n", line->label);
		bytes_text(l, line, bytes, sizeof(bytes));
		if (show_opcodes)
			printf("%6x:  %-30s %s\n", line->off, bytes, line->text);
		else
			printf("%6x:  %s\n", line->off, line->text);
	}
	free(image);
	free(func);
}

static void print_listing_json(const struct listing *l, const struct tramp_link_info *info)
{
	json_object *j = link_to_json(info), *list = json_object_new_array(), *o;
	char bytes[64], label[16];
	size_t i;

	for (i = 0; i < l->nr_lines; i++) {
		const struct line *line = &l->lines[i];

		o = json_object_new_object();
		json_put_u64(o, "offset", line->off);
		if (line->label > 0) {
			snprintf(label, sizeof(label), "L%d", line->label);
			json_put_str(o, "label", label);
		}
		bytes_text(l, line, bytes, sizeof(bytes));
		json_put_str(o, "bytes", bytes);
		json_put_str(o, "text", line->text);
		json_object_array_add(list, o);
	}
	json_object_object_add(j, "code", list);
	json_print(j);
}

static int dump_run(int argc, char **argv)
{
	TRAMP_OPTS(tramp_link_info, info);
	struct listing l = { NULL };
	struct ksyms *ks = NULL;
	uint32_t id = 0, i;
	uint8_t *code;
	int rc;

	(void)argc;
	rc = parse_link_id(argv[0], &id);
	if (rc)
		return rc;
	code = tramp_link_image(id, &info);
	if (!code)
		return fail_lib(NULL, NULL);
	if (!info.image_size) {
		struct problem p = { .exit_code = EXIT_NOT_FOUND, .err = ENOENT,
				     .reason = tramp_reason_name(TRAMP_REASON_LINK_GONE) };

		free(code);
		return fail(&p, "link %u has no image: it is detached", id);
	}
	ks = ksyms_load();
	if (!ks)
		warn("/proc/kallsyms: %s: addresses are shown without names", strerror(errno));

	l.code = code;
	l.size = info.image_size;
	l.addr = info.image_addr;
	l.ks = ks;
	l.lines = xcalloc(l.size, sizeof(*l.lines));
	l.labels = xcalloc(l.size, sizeof(*l.labels));
	for (i = 0; i < l.size; i++)
		l.labels[i] = -1;
	find_lines(&l);
	format_lines(&l);
	(json_output ? print_listing_json : print_listing)(&l, &info);

	free(l.labels);
	free(l.lines);
	ksyms_free(ks);
	free(code);
	return EXIT_OK;
}

const struct cmd cmd_dump = {
	.name = "dump",
	.args = "ID",
	.summary = "Disassemble the trampoline image that a link's function runs through",
	.opts = dump_opts,
	.min_args = 1,
	.max_args = 1,
	.option = dump_option,
	.run = dump_run,
};
