// SPDX-License-Identifier: GPL-2.0
/*
 * trampctl dump: the code of a link's trampoline image, disassembled. Branches
 * inside the image go to labels; what leaves it is shown by name (disasm.c).
 */
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include "../out/disasm.h"
#include "../out/error.h"
#include "../out/json.h"
#include "../out/linkinfo.h"
#include "../out/text.h"
#include "../run/args.h"
#include "../run/module.h"
#include "../trampctl.h"

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
	char text[DISASM_TEXT];
	int label;		/* number of the label here, -1: none */
};

struct listing {
	const uint8_t *code;
	uint32_t size;
	uint64_t addr;		/* 0 if hidden */
	int *labels;		/* per byte of code: label number, -1: none */
	struct line *lines;
	size_t nr_lines;
};

static char *label_name(uint64_t addr, void *ctx)
{
	const struct listing *l = ctx;

	if (addr - l->addr >= l->size || l->labels[addr - l->addr] <= 0)
		return NULL;
	return xasprintf("L%d", l->labels[addr - l->addr]);
}

/* First pass: finds the instructions, and numbers the branch targets inside. */
static void find_lines(struct listing *l, struct disasm *d)
{
	uint32_t off, i;
	int nr = 0;

	for (off = 0; off < l->size; off += l->lines[l->nr_lines++].len) {
		struct line *line = &l->lines[l->nr_lines];
		uint64_t target;

		line->off = off;
		line->label = -1;
		line->len = disasm_length(d, l->code + off, l->size - off);
		if (!line->len)
			line->len = 1;	/* not an instruction: a byte */
		else if (disasm_branch_target(d, l->code + off, l->size - off, l->addr + off,
					      &target) && target - l->addr < l->size)
			l->labels[target - l->addr] = 0;
	}
	/* In the order of addresses, and only where an instruction begins. */
	for (i = 0; i < l->nr_lines; i++) {
		struct line *line = &l->lines[i];

		if (!l->labels[line->off])
			l->labels[line->off] = line->label = ++nr;
	}
}

/* Second pass: the texts. */
static void format_lines(struct listing *l, struct disasm *d)
{
	size_t i;

	for (i = 0; i < l->nr_lines; i++) {
		struct line *line = &l->lines[i];

		disasm_text(d, l->code + line->off, line->len, l->addr + line->off, line->text);
	}
}

static void print_listing(const struct listing *l, const struct tramp_link_info *info)
{
	char *image = image_text(info), *place = place_text(info);
	char bytes[DISASM_BYTES];
	size_t i;

	printf("%s: %u bytes at 0x%" PRIx64 ", for %s\n", image, l->size, l->addr, place);
	for (i = 0; i < l->nr_lines; i++) {
		const struct line *line = &l->lines[i];

		if (line->label > 0)
			printf("L%d:\n", line->label);
		disasm_bytes(l->code + line->off, line->len, bytes);
		if (show_opcodes)
			printf("%6x:  %-33s %s\n", line->off, bytes, line->text);
		else
			printf("%6x:  %s\n", line->off, line->text);
	}
	free(image);
	free(place);
}

static void print_listing_json(const struct listing *l, const struct tramp_link_info *info)
{
	json_object *j = link_to_json(info), *list = json_object_new_array(), *o;
	char bytes[DISASM_BYTES], label[16];
	size_t i;

	for (i = 0; i < l->nr_lines; i++) {
		const struct line *line = &l->lines[i];

		o = json_object_new_object();
		json_put_u64(o, "offset", line->off);
		if (line->label > 0) {
			snprintf(label, sizeof(label), "L%d", line->label);
			json_put_str(o, "label", label);
		}
		disasm_bytes(l->code + line->off, line->len, bytes);
		json_put_str(o, "bytes", bytes);
		json_put_str(o, "text", line->text);
		json_object_array_add(list, o);
	}
	json_object_object_add(j, "code", list);
	json_print(j);
}

static int dump_run(int argc, char **argv)
{
	struct disasm_opts opts = { .intel = intel_syntax, .label = label_name };
	TRAMP_OPTS(tramp_link_info, info);
	struct listing l = { NULL };
	struct tramp_names *ks;
	struct disasm *d;
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
	ks = load_ksyms("addresses are shown without names");
	opts.ks = ks;
	opts.ctx = &l;
	d = disasm_new(&opts);

	l.code = code;
	l.size = info.image_size;
	l.addr = info.image_addr;
	l.lines = xcalloc(l.size, sizeof(*l.lines));
	l.labels = xcalloc(l.size, sizeof(*l.labels));
	for (i = 0; i < l.size; i++)
		l.labels[i] = -1;
	find_lines(&l, d);
	format_lines(&l, d);
	(json_output ? print_listing_json : print_listing)(&l, &info);

	disasm_free(d);
	free(l.labels);
	free(l.lines);
	tramp_names__free(ks);
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
