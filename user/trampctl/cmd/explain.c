// SPDX-License-Identifier: GPL-2.0
/*
 * trampctl explain: could programs be attached to a function, and if not, why?
 * explain_code.c has the same for probes at its instructions.
 *
 * The module gives the verdict. Before it come the facts that a reader can check
 * for himself, each with where it was read: the symbol (/proc/kallsyms), its
 * patchable entry (ftrace's list), its type (BTF).
 */
#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../out/error.h"
#include "../out/json.h"
#include "../out/linkinfo.h"
#include "../run/module.h"
#include "../run/sources.h"
#include "../trampctl.h"
#include "explain.h"

enum { OPT_CODE, OPT_INTEL, OPT_OPCODES, OPT_SOURCE, OPT_DEBUGINFO };

static const struct cmd_opt explain_opts[] = {
	{ "code", 'c', NULL, "show what a probe at each instruction would be" },
	{ "intel", 0, NULL, "instructions in Intel's syntax; AT&T's otherwise" },
	{ "opcodes", 0, NULL, "show the bytes of each instruction" },
	{ "source", 's', NULL, "show the line of source of each instruction" },
	SOURCE_OPTS,
	{ NULL }
};

static struct code_opts code_opts;

static int explain_option(int opt, const char *arg)
{
	if (opt >= OPT_DEBUGINFO)
		return source_option(&code_opts.debuginfo, opt - OPT_DEBUGINFO, arg);
	switch (opt) {
	case OPT_CODE:
		code_opts.whole = true;
		break;
	case OPT_INTEL:
		code_opts.intel = true;
		break;
	case OPT_OPCODES:
		code_opts.opcodes = true;
		break;
	case OPT_SOURCE:
		code_opts.source = true;
		break;
	}
	return 0;
}

/* Everything that was found out about one function. */
struct findings {
	const struct tramp_sym *sym;
	struct tramp_proto *proto;
	bool knows_traceable;
	int btf_id;
	struct tramp_explanation *ex;
	uint32_t return_reason;	/* why no return probes, or none by an exit image; or 0 */
	uint32_t unasked;	/* reason why @ex says nothing; 0: it does */
};

static const char *symbol_kind(const struct tramp_sym *sym)
{
	if (sym->flags & TRAMP_SYM_WEAK)
		return "weak";
	return sym->flags & TRAMP_SYM_LOCAL ? "static" : "global";
}

static const char *entry_text(const struct findings *f)
{
	if (!f->knows_traceable)
		return "unknown: tracefs' available_filter_functions cannot be read";
	if (f->sym->flags & TRAMP_SYM_TRACEABLE)
		return "listed in available_filter_functions: ftrace can patch it";
	return "not in available_filter_functions: notrace, assembly, or in a section ftrace leaves alone";
}

static void print_verdict(const char *what, bool can, uint32_t reason, const char *extra)
{
	if (can)
		printf("  %-9s yes%s%s\n", what, extra[0] ? ", " : "", extra);
	else
		printf("  %-9s no: %s [%s]\n", what, tramp_reason_sentence(reason),
		       tramp_reason_name(reason));
}

/* A module that says nothing of return probes is older, and may not even have any. */
static uint32_t return_reason(const struct tramp_explanation *ex)
{
	return ex->ret_mode || ex->ret_reason ? ex->ret_reason : TRAMP_REASON_NOT_BUILT;
}

static void print_return(const struct findings *f)
{
	char text[64];

	snprintf(text, sizeof(text), f->return_reason ?
		 "through the kernel's rethook (slower) [%s]" : "by an exit image",
		 tramp_reason_name(f->return_reason));
	print_verdict("kretprobe", f->ex->ret_mode, f->return_reason, text);
}

static void print_remedy(uint32_t reason, const char *func)
{
	char *remedy = remedy_text(tramp_reason_remedy(reason), func);

	if (remedy[0])
		printf("  remedy    %s\n", remedy);
	free(remedy);
}

/* The answer of the module. */
static void print_answer(const struct findings *f, const char *func)
{
	const struct tramp_explanation *ex = f->ex;
	char mode[64] = "";

	if (ex->btf_id)
		printf("  BTF       object %u, type %u: %u argument%s in %u slot%s, result of %u bytes\n",
		       ex->btf_obj_id, ex->btf_id, ex->nr_args, ex->nr_args == 1 ? "" : "s",
		       ex->nr_slots, ex->nr_slots == 1 ? "" : "s", ex->ret_size);
	if (ex->holder[0])
		printf("  held by   %s\n", ex->holder);
	if (ex->nr_progs)
		printf("  now       %u program%s of ours\n", ex->nr_progs,
		       ex->nr_progs == 1 ? "" : "s");
	if (ex->nr_progs && !ex->holder[0])
		puts("  others    the kernel's own fentry and fexit (bpftrace: kfunc or fentry) get EBUSY meanwhile");
	if (ex->can & TRAMP_CAN_FENTRY)
		snprintf(mode, sizeof(mode), "%s", ex->mode == TRAMP_MODE_FTRACE_OPS ?
			 "through ftrace (slower)" : "by a direct call");
	print_verdict("fentry", ex->can & TRAMP_CAN_FENTRY, ex->fentry_reason, mode);
	print_verdict("fexit", ex->can & TRAMP_CAN_FEXIT, ex->fexit_reason, "");
	print_return(f);
	if (!(ex->can & TRAMP_CAN_FENTRY))
		print_remedy(ex->fentry_reason, func);
	else if (!(ex->can & TRAMP_CAN_FEXIT))
		print_remedy(ex->fexit_reason, func);
}

/* The name in BTF, if that is another of the function's: programs are compiled for it. */
static const char *btf_name(const struct findings *f)
{
	return f->proto && strcmp(f->proto->name, f->sym->name) ? f->proto->name : NULL;
}

static void print_text(const struct findings *f)
{
	const struct tramp_explanation *ex = f->ex;
	char *func = func_text(f->sym->module, f->sym->name);

	printf("%s\n", func);
	if (f->proto)
		printf("  prototype %s\n", f->proto->text);
	else
		printf("  prototype unknown: BTF does not describe it\n");
	if (btf_name(f))
		printf("  BTF name  %s, as in SEC(\"fentry/%s\")\n", btf_name(f), btf_name(f));
	printf("  symbol    %s function in /proc/kallsyms", symbol_kind(f->sym));
	if (ex->func_addr || f->sym->addr)
		printf(", at 0x%" PRIx64, ex->func_addr ? ex->func_addr : f->sym->addr);
	printf("\n  entry     %s", entry_text(f));
	if (ex->site_addr)
		printf("; the site is at +0x%" PRIx64, ex->site_addr - ex->func_addr);
	putchar('\n');
	if (f->unasked) {
		if (f->btf_id > 0)
			printf("  BTF       type %d: %u argument%s in %u slot%s\n", f->btf_id,
			       f->proto ? f->proto->nr_args : 0,
			       f->proto && f->proto->nr_args == 1 ? "" : "s",
			       f->proto ? f->proto->nr_slots : 0,
			       f->proto && f->proto->nr_slots == 1 ? "" : "s");
		printf("  module    could not be asked: %s [%s]\n",
		       tramp_reason_sentence(f->unasked), tramp_reason_name(f->unasked));
	} else {
		print_answer(f, func);
	}
	free(func);
}

static void put_verdict(json_object *j, const char *key, bool can, uint32_t reason)
{
	json_object *v = json_object_new_object();

	json_put_bool(v, "possible", can);
	if (!can)
		json_put_reason(v, reason);
	json_object_object_add(j, key, v);
}

static json_object *to_json(const struct findings *f)
{
	const struct tramp_explanation *ex = f->ex;
	json_object *j = json_object_new_object();

	json_put_func(j, f->sym->module, f->sym->name,
		      ex->func_addr ? ex->func_addr : f->sym->addr);
	if (f->proto)
		json_put_str(j, "prototype", f->proto->text);
	if (btf_name(f))
		json_put_str(j, "btf_name", btf_name(f));
	json_put_str(j, "binding", symbol_kind(f->sym));
	if (f->knows_traceable)
		json_put_bool(j, "ftrace_can_patch", f->sym->flags & TRAMP_SYM_TRACEABLE);
	if (f->unasked) {
		if (f->proto) {
			json_put_u64(j, "args", f->proto->nr_args);
			json_put_u64(j, "slots", f->proto->nr_slots);
		}
		json_put_str(j, "module_not_asked", tramp_reason_name(f->unasked));
		return j;
	}
	json_put_hex(j, "site_address", ex->site_addr);
	json_put_btf(j, ex->btf_obj_id, ex->btf_id, ex->key);
	if (ex->btf_id) {
		json_put_u64(j, "args", ex->nr_args);
		json_put_u64(j, "slots", ex->nr_slots);
		json_put_u64(j, "result_size", ex->ret_size);
	}
	if (ex->holder[0])
		json_put_str(j, "holder", ex->holder);
	json_put_u64(j, "programs", ex->nr_progs);
	put_verdict(j, "fentry", ex->can & TRAMP_CAN_FENTRY, ex->fentry_reason);
	put_verdict(j, "fexit", ex->can & TRAMP_CAN_FEXIT, ex->fexit_reason);
	put_verdict(j, "kretprobe", ex->ret_mode, f->return_reason);
	if (ex->can & TRAMP_CAN_FENTRY)
		json_put_str(j, "mode", tramp_mode_name(ex->mode));
	if (ex->ret_mode)
		json_put_str(j, "return_mode", tramp_mode_name(ex->ret_mode));
	return j;
}

/* Is there no module to ask? Symbols and BTF say much of a function all the same. */
static bool is_unreachable(uint32_t reason)
{
	switch (reason) {
	case TRAMP_REASON_PERMISSION:
	case TRAMP_REASON_LOCKDOWN:
	case TRAMP_LIB_NO_DEVICE:
	case TRAMP_LIB_NO_NODE:
	case TRAMP_LIB_ABI_MISMATCH:
		return true;
	default:
		return false;
	}
}

/*
 * Returns 0, with @can as the answer, or the exit code of an error that was reported. Sets
 * @unasked if the module cannot be asked.
 */
static int explain_one(struct tramp_syms *syms, const char *spec, json_object *all, bool *can,
		       bool *unasked)
{
	TRAMP_OPTS(tramp_explanation, ex);
	struct findings f = { .ex = &ex };

	f.sym = tramp_syms__find(syms, spec);
	if (!f.sym)
		return fail_lib(syms, spec);
	if (tramp_explain(syms, spec, &ex)) {
		f.unasked = tramp_last_error()->reason;
		if (!is_unreachable(f.unasked))
			return fail_lib(syms, spec);
		*unasked = true;
	} else {
		f.return_reason = return_reason(&ex);
	}
	f.btf_id = tramp_syms__btf_id(syms, f.sym, NULL);
	f.knows_traceable = tramp_syms__knows_traceable(syms);
	f.proto = tramp_syms__proto(syms, f.sym);
	if (all)
		json_object_array_add(all, to_json(&f));
	else
		print_text(&f);
	tramp_proto__free(f.proto);
	*can = ex.can;
	return 0;
}

/* An instruction rather than a function: SYM+OFF, or an address. */
static bool is_place(const char *arg)
{
	return strchr(arg, '+') || !strncasecmp(arg, "0x", 2);
}

/* Lines of source are those of instructions: of a function it is all. */
static int explain_instructions(const struct tramp_syms *syms, const char *arg, json_object *all,
				bool *can)
{
	struct code_opts opts = code_opts;

	opts.whole |= !is_place(arg);
	return explain_code(syms, arg, &opts, all, can);
}

/* Options that mean nothing together, or with these arguments. Returns 0 or EXIT_USAGE. */
static int check_options(int argc, char **argv)
{
	bool instructions = code_opts.whole || code_opts.source;
	int i;

	for (i = 0; i < argc; i++)
		instructions |= is_place(argv[i]);
	if ((code_opts.debuginfo.vmlinux || code_opts.debuginfo.ko) && !code_opts.source)
		return usage_error("--vmlinux and --ko are for --source, which is not given");
	if ((code_opts.intel || code_opts.opcodes) && !instructions)
		return usage_error("--intel and --opcodes are for instructions: "
				   "give --code, --source or an offset");
	return 0;
}

static int explain_run(int argc, char **argv)
{
	json_object *all = json_output ? json_object_new_array() : NULL;
	struct tramp_syms *syms = NULL;
	bool all_can = true, can, unasked = false;
	int i, rc;

	rc = check_options(argc, argv);
	if (!rc)
		rc = load_syms(&syms);
	if (rc)
		goto out;
	for (i = 0; i < argc; i++) {
		if (code_opts.whole || code_opts.source || is_place(argv[i]))
			rc = explain_instructions(syms, argv[i], all, &can);
		else
			rc = explain_one(syms, argv[i], all, &can, &unasked);
		if (rc)
			goto out;
		all_can &= can;
	}
	rc = all_can ? EXIT_OK : EXIT_REFUSED;
	if (all)
		json_print(json_object_get(argc == 1 ? json_object_array_get_idx(all, 0) : all));
	/* The error comes last, once for all of them. */
	if (unasked)
		rc = need_module(NULL);
out:
	source_close();
	json_object_put(all);
	tramp_syms__free(syms);
	return rc;
}

const struct cmd cmd_explain = {
	.name = "explain",
	.args = "FUNCTION[+OFFSET]...",
	.summary = "Show whether programs could be attached to a function or an instruction",
	.details =
		"FUNCTION is a name, or MODULE:NAME. With an offset, or for an address (0x...) alone, it\n"
		"shows what a probe at that instruction would be, and why it is no better. --code shows\n"
		"this for all instructions of the function, and --source the lines of source, if\n"
		"debuginfo is installed. --intel and --opcodes are for either, or an instruction alone.\n"
		"Exits with 0 if each function takes fentry or fexit programs and each instruction a\n"
		"probe, with 6 if one of them does not, with 3 if one does not exist.\n",
	.opts = explain_opts,
	.min_args = 1,
	.max_args = -1,
	.option = explain_option,
	.run = explain_run,
};
