// SPDX-License-Identifier: GPL-2.0
/*
 * trampctl explain, for instructions: what a probe at each would be, and why it
 * would be no better.
 *
 * The verdict and the bytes are the module's, which sees through what others have
 * patched; here they are disassembled. Without the right to see kernel addresses
 * there are no bytes, and the table has no instructions in it.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../out/disasm.h"
#include "../out/error.h"
#include "../out/json.h"
#include "../out/linkinfo.h"
#include "../out/table.h"
#include "../out/text.h"
#include "../run/module.h"
#include "../run/progress.h"
#include "../run/sources.h"
#include "explain.h"

/* A function, and how to show it. */
struct view {
	const struct tramp_code *code;
	const struct code_opts *opts;
	struct disasm *disasm;
	struct lines *lines;	/* NULL: no lines of source are wanted */
};

/* An instruction's text and bytes; false if they are hidden. */
static bool insn_text(const struct view *v, const struct tramp_insn_info *insn, char *text,
		      char *bytes)
{
	const struct tramp_code *c = v->code;

	text[0] = bytes[0] = 0;
	if (!c->code || insn->offset + (size_t)insn->len > c->code_len || !insn->len)
		return false;
	disasm_text(v->disasm, c->code + insn->offset, insn->len, c->func_addr + insn->offset,
		    text);
	disasm_bytes(c->code + insn->offset, insn->len, bytes);
	return true;
}

/* Is the reason about another place than the instruction itself? */
static bool has_where(const struct tramp_insn_info *insn)
{
	return insn->reason && insn->where != insn->offset;
}

/* The lines of an instruction, none if they are not wanted. To be freed. */
static struct line_frames insn_lines(const struct view *v, const struct tramp_insn_info *insn)
{
	struct line_frames f = { NULL };

	if (v->lines)
		lines_at(v->lines, v->code->func_addr + insn->offset, &f);
	return f;
}

/* A line for a column: of a file outside of the folder of the build its name does. To be freed. */
static char *line_text(const struct line_frames *f)
{
	const char *file = f->nr ? f->list[0].file : NULL;

	if (!file)
		return xasprintf("-");
	return xasprintf("%s:%d", file[0] == '/' ? basename(file) : file, f->list[0].line);
}

/* ------------------------------------------------------ the whole function -- */

static void add_row(const struct view *v, struct table *t, const struct tramp_insn_info *insn)
{
	char text[DISASM_TEXT], bytes[DISASM_BYTES], covers[8] = "-", *offset, *reason;
	struct line_frames f = insn_lines(v, insn);
	const char *cells[7] = { NULL };
	char *source = NULL;
	size_t nr = 0;
	bool refused = insn->mode == TRAMP_MODE_NONE;

	if (!insn_text(v, insn, text, bytes))
		strcpy(text, "?");
	if (insn->region_len)
		snprintf(covers, sizeof(covers), "%u", insn->region_len);
	offset = xasprintf("+0x%x%s", insn->offset,
			   insn->flags & TRAMP_INSN_F_PROBED ? "*" : "");
	if (has_where(insn))
		reason = xasprintf("%s@+0x%x", tramp_reason_name(insn->reason), insn->where);
	else
		reason = xasprintf("%s", insn->reason ? tramp_reason_name(insn->reason) : "-");
	cells[nr++] = offset;
	cells[nr++] = refused ? "no" : tramp_mode_name(insn->mode);
	cells[nr++] = covers;
	cells[nr++] = reason;
	if (v->lines)
		cells[nr++] = source = line_text(&f);
	if (v->opts->opcodes)
		cells[nr++] = bytes;
	cells[nr++] = text;
	/* The table takes as many as it has columns. */
	table_row(t, cells[0], cells[1], cells[2], cells[3], cells[4], cells[5], cells[6], NULL);
	line_frames_free(&f);
	free(source);
	free(offset);
	free(reason);
}

/* How many of each mode, those that there are. */
static void print_sum(const struct tramp_code *c)
{
	static const struct {
		uint32_t mode;
		const char *what;
	} modes[] = {
		{ TRAMP_MODE_JUMP, "jump" },
		{ TRAMP_MODE_INT3, "int3" },
		{ TRAMP_MODE_DIRECT, "direct" },
		{ TRAMP_MODE_FTRACE_OPS, "ops" },
		{ TRAMP_MODE_KPROBE, "kprobe" },
		{ TRAMP_MODE_NONE, "refused" },
	};
	const char *comma = "";
	size_t i, m, nr;

	for (m = 0; m < sizeof(modes) / sizeof(modes[0]); m++) {
		for (nr = i = 0; i < c->nr_insns; i++)
			nr += c->insns[i].mode == modes[m].mode;
		if (!nr)
			continue;
		printf("%s%s %zu", comma, modes[m].what, nr);
		comma = ", ";
	}
	putchar('\n');
}

static void print_function(const struct view *v)
{
	/* With or without lines of source, and bytes. */
	static const char *const heads[2][2][8] = {
		{ { "OFFSET", "MODE", "COVERS", "REASON", "INSTRUCTION" },
		  { "OFFSET", "MODE", "COVERS", "REASON", "BYTES", "INSTRUCTION" } },
		{ { "OFFSET", "MODE", "COVERS", "REASON", "SOURCE", "INSTRUCTION" },
		  { "OFFSET", "MODE", "COVERS", "REASON", "SOURCE", "BYTES", "INSTRUCTION" } },
	};
	const struct tramp_code *c = v->code;
	const bool source = v->lines, bytes = v->opts->opcodes;
	char *func = func_text(c->module, c->func_name);
	struct table *t = table_new(heads[source][bytes], source && bytes ? "llrllll" :
				    source || bytes ? "llrlll" : "llrll");
	bool probed = false;
	size_t i;

	printf("%s: %" PRIu64 " bytes", func, c->func_size);
	if (c->func_addr)
		printf(" at 0x%" PRIx64, c->func_addr);
	printf(", %zu instructions\n", c->nr_insns);
	for (i = 0; i < c->nr_insns; i++) {
		add_row(v, t, &c->insns[i]);
		probed |= c->insns[i].flags & TRAMP_INSN_F_PROBED;
	}
	table_print(t, stdout);
	print_sum(c);
	if (probed)
		puts("*: a probe of ours is there now");
	table_free(t);
	free(func);
}

/* --------------------------------------------------------- one instruction -- */

static void print_mode(const struct tramp_insn_info *insn)
{
	switch (insn->mode) {
	case TRAMP_MODE_JUMP:
		printf("yes, by a jump that covers %u bytes, up to +0x%x\n", insn->region_len,
		       insn->offset + insn->region_len);
		return;
	case TRAMP_MODE_DIRECT:
		printf("yes, by a direct call, at the function's entry\n");
		return;
	case TRAMP_MODE_FTRACE_OPS:
		printf("yes, through ftrace, at the function's entry\n");
		return;
	case TRAMP_MODE_INT3:
		printf("yes, by an int3");
		break;
	case TRAMP_MODE_KPROBE:
		printf("yes, by a kprobe of the kernel, unless that refuses");
		break;
	default:
		printf("no");
		break;
	}
	if (insn->reason)
		printf(": %s [%s]", tramp_reason_sentence(insn->reason),
		       tramp_reason_name(insn->reason));
	if (has_where(insn))
		printf(", +0x%x", insn->where);
	putchar('\n');
}

static void print_lines(const struct view *v, const struct tramp_insn_info *insn)
{
	struct line_frames f = insn_lines(v, insn);
	size_t i;

	for (i = 0; i < f.nr; i++) {
		char *text = source_text(&f.list[i]);

		printf("  %-11s %s\n", i ? "inlined at" : "source", text);
		free(text);
	}
	if (v->lines && !f.nr)
		puts("  source      unknown: the debuginfo has no line of it");
	line_frames_free(&f);
}

static void print_insn(const struct view *v)
{
	const struct tramp_code *c = v->code;
	const struct tramp_insn_info *insn = &c->insns[0];
	char text[DISASM_TEXT], bytes[DISASM_BYTES];
	char *func = func_text(c->module, c->func_name), *remedy;

	printf("%s+0x%x\n", func, insn->offset);
	if (insn_text(v, insn, text, bytes))
		printf("  instruction %s\n", text);
	printf("  length      %u byte%s", insn->len, insn->len == 1 ? "" : "s");
	if (v->opts->opcodes && bytes[0])
		printf(": %s", bytes);
	if (c->func_addr)
		printf(", at 0x%" PRIx64, c->func_addr + insn->offset);
	putchar('\n');
	print_lines(v, insn);
	printf("  probe       ");
	print_mode(insn);
	if (insn->flags & TRAMP_INSN_F_PROBED)
		printf("  now         a probe of ours is there\n");
	remedy = remedy_text(tramp_reason_remedy(insn->reason), func);
	if (insn->mode == TRAMP_MODE_NONE && remedy[0])
		printf("  remedy      %s\n", remedy);
	free(remedy);
	free(func);
}

/* -------------------------------------------------------------------- both -- */

static json_object *insn_to_json(const struct view *v, const struct tramp_insn_info *insn)
{
	char text[DISASM_TEXT], bytes[DISASM_BYTES];
	json_object *j = json_object_new_object();

	json_put_u64(j, "offset", insn->offset);
	json_put_u64(j, "length", insn->len);
	if (insn_text(v, insn, text, bytes)) {
		json_put_str(j, "bytes", bytes);
		json_put_str(j, "text", text);
	}
	json_put_bool(j, "possible", insn->mode != TRAMP_MODE_NONE);
	json_put_str(j, "mode", tramp_mode_name(insn->mode));
	if (insn->region_len)
		json_put_u64(j, "region_length", insn->region_len);
	json_put_reason(j, insn->reason);
	if (has_where(insn))
		json_put_u64(j, "reason_offset", insn->where);
	json_put_bool(j, "probed", insn->flags & TRAMP_INSN_F_PROBED);
	if (v->lines) {
		struct line_frames f = insn_lines(v, insn);

		json_object_object_add(j, "source", source_to_json(&f));
		line_frames_free(&f);
	}
	return j;
}

static json_object *to_json(const struct view *v)
{
	json_object *j = json_object_new_object(), *list = json_object_new_array();
	const struct tramp_code *c = v->code;
	size_t i;

	json_put_func(j, c->module, c->func_name, c->func_addr);
	json_put_u64(j, "function_size", c->func_size);
	for (i = 0; i < c->nr_insns; i++)
		json_object_array_add(list, insn_to_json(v, &c->insns[i]));
	json_object_object_add(j, "instructions", list);
	return j;
}

static bool any_possible(const struct tramp_code *c)
{
	size_t i;

	for (i = 0; i < c->nr_insns; i++)
		if (c->insns[i].mode != TRAMP_MODE_NONE)
			return true;
	return false;
}

/* Lines are found by address. */
static int fail_hidden(const char *spec)
{
	struct problem p = { .exit_code = EXIT_PERMISSION, .err = EPERM,
			     .reason = tramp_reason_name(TRAMP_REASON_HIDDEN_ADDRESS),
			     .remedy = tramp_reason_remedy(TRAMP_REASON_HIDDEN_ADDRESS) };

	return fail(&p, "%s: %s", spec, tramp_reason_sentence(TRAMP_REASON_HIDDEN_ADDRESS));
}

/* Opens the debuginfo of what a function is in. One that is not found gets its error later. */
static int open_lines_of(const struct tramp_syms *syms, const char *spec,
			 const struct debuginfo_options *o)
{
	char *func = strndup(spec, strcspn(spec, "+"));
	const struct tramp_sym *sym = func ? tramp_syms__find(syms, func) : NULL;
	struct lines *lines;

	free(func);
	return sym ? source_lines(o, sym->module, &lines) : 0;
}

/**
 * explain_code() - explain a function's instructions, or one of them
 * @syms: to suggest names from
 * @spec: FUNCTION+OFFSET or an address; a FUNCTION if all of it is wanted
 * @opts: how
 * @all: JSON array to add to; NULL: print text
 * @can: (out) a probe can be somewhere there
 *
 * Return: 0, or the exit code of an error that has been reported.
 */
int explain_code(const struct tramp_syms *syms, const char *spec, const struct code_opts *opts,
		 json_object *all, bool *can)
{
	struct disasm_opts dopts = { .intel = opts->intel };
	TRAMP_OPTS(tramp_code_opts, copts, .whole = opts->whole);
	struct tramp_names *ks = NULL;
	struct tramp_code *code;
	struct view v;
	int rc = 0;

	/* That of a function can be had now; what follows takes long. */
	if (opts->source)
		rc = open_lines_of(syms, spec, &opts->debuginfo);
	if (rc)
		return rc;
	/* The first time, the module reads the kernel's text. */
	progress_begin("reading the kernel's text");
	code = tramp_explain_code(syms, spec, &copts);
	progress_end();
	v = (struct view){ .code = code, .opts = opts };
	if (!code)
		return fail_place(syms, spec);
	if (opts->source)
		rc = source_lines(&opts->debuginfo, code->module, &v.lines);
	if (!rc && opts->source && !code->func_addr)
		rc = fail_hidden(spec);
	if (rc)
		goto out;
	if (code->code)
		dopts.ks = ks = load_ksyms("addresses are shown without names");
	v.disasm = disasm_new(&dopts);
	if (all)
		json_object_array_add(all, to_json(&v));
	else if (opts->whole)
		print_function(&v);
	else
		print_insn(&v);
	*can = any_possible(code);
	disasm_free(v.disasm);
	tramp_names__free(ks);
out:
	tramp_code__free(code);
	return rc;
}
