// SPDX-License-Identifier: LGPL-2.1 OR BSD-2-Clause
/*
 * Attaching kprobe programs: which of the many programs of that type are probes at
 * an instruction, where they go, and what to say of a place that is refused.
 *
 * BPF_PROG_TYPE_KPROBE is the type of much else: return probes, probes in user
 * space, programs for many functions. Only the section name tells.
 */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "internal.h"

/*
 * Sections of programs of the type that are no probes of ours, longer names before
 * their beginnings. A dot or a slash may follow ("uprobe.s/...").
 */
static const struct {
	const char *section, *why, *remedy;
} others[] = {
	{ "kprobe.multi", "one program on many functions is not part of this version",
	  "attach a program to each with SEC(\"kprobe/FUNC\"), or attach it with libbpf" },
	{ "kretprobe.multi", "one program on many functions is not part of this version",
	  "attach a program to each with SEC(\"fexit/FUNC\"), or attach it with libbpf" },
	{ "kprobe.session", "one program on many functions is not part of this version",
	  "attach it with libbpf" },
	{ "kretprobe", "return probes are not part of this version",
	  "use SEC(\"fexit/FUNC\"), or attach it with libbpf" },
	{ "ksyscall", "system calls have no names of their own in this version",
	  "use SEC(\"kprobe/__x64_sys_NAME\"), or attach it with libbpf" },
	{ "kretsyscall", "return probes are not part of this version",
	  "use SEC(\"fexit/__x64_sys_NAME\"), or attach it with libbpf" },
	{ "uprobe", "it is for user space", "attach it with libbpf" },
	{ "uretprobe", "it is for user space", "attach it with libbpf" },
	{ "usdt", "it is for user space", "attach it with libbpf" },
};

const char *libtramp_not_a_probe(const char *section, const char **remedy)
{
	size_t i, len;

	for (i = 0; i < ARRAY_SIZE(others); i++) {
		len = strlen(others[i].section);
		if (strncmp(section, others[i].section, len) || !strchr("./", section[len]))
			continue;
		*remedy = others[i].remedy;
		return others[i].why;
	}
	return NULL;
}

/* What stands behind "kprobe/" in a section name; NULL: nothing. */
static const char *section_place(const char *section)
{
	return strncmp(section, "kprobe/", 7) ? NULL : section + 7;
}

bool libtramp_names_no_place(const struct bpf_program *prog)
{
	return bpf_program__type(prog) == BPF_PROG_TYPE_KPROBE &&
	       !strcmp(bpf_program__section_name(prog), "kprobe");
}

bool libtramp_opts_have_place(const struct tramp_attach_opts *opts)
{
	return LIBTRAMP_OPTS_GET(opts, tramp_attach_opts, symbol, NULL) ||
	       LIBTRAMP_OPTS_GET(opts, tramp_attach_opts, module, NULL) ||
	       LIBTRAMP_OPTS_GET(opts, tramp_attach_opts, offset, 0) ||
	       LIBTRAMP_OPTS_GET(opts, tramp_attach_opts, addr, 0);
}

int libtramp_probe_place(const char *section, const struct tramp_attach_opts *opts,
			 struct tramp_place *place, const char *subject)
{
	const char *text = section_place(section);
	struct tramp_place from_section;
	int err;

	err = libtramp_place_from_opts(opts, place, subject);
	if (err)
		return err;
	if (!place->symbol[0] && !place->addr) {
		if (!text)
			return LIBTRAMP_FAIL(-EINVAL, TRAMP_LIB_BAD_PLACE, subject,
					     "neither its section nor opts say where it goes");
		err = libtramp_place_parse(text, true, &from_section, subject);
		if (err)
			return err;
		memcpy(from_section.module, place->module, sizeof(place->module));
		*place = from_section;
	}
	return libtramp_place_resolve(place, NULL);
}

void libtramp_place_to_cmd(const struct tramp_place *place, struct tramp_attach *cmd)
{
	cmd->addr = place->addr;
	if (place->addr)
		return;
	cmd->offset = place->offset;
	memcpy(cmd->symbol, place->symbol, sizeof(cmd->symbol));
	memcpy(cmd->module, place->module, sizeof(cmd->module));
}

/* --------------------------------------------------------- what was meant -- */

/* The module said that there is no such function: say which there are. */
static int fail_unknown(const struct libtramp_failure *f, const struct tramp_place *place,
			const struct tramp_syms *syms)
{
	char spec[TRAMP_MOD_LEN + TRAMP_SYM_LEN + 1];
	struct libtramp_failure better = *f;
	struct tramp_syms *own = NULL;
	int err;

	if (!syms)
		syms = own = tramp_syms__load(NULL);
	snprintf(spec, sizeof(spec), "%s%s%s", place->module, place->module[0] ? ":" : "",
		 place->symbol);
	if (syms && !tramp_syms__find(syms, spec)) {
		better.remedy = tramp_last_error()->remedy;
		err = libtramp_fail(&better, "%s", tramp_last_error()->detail);
	} else {
		err = libtramp_fail(f, NO_DETAIL);
	}
	tramp_syms__free(own);
	return err;
}

/* Between two instructions: name both. */
static int fail_between(const struct libtramp_failure *f, const struct tramp_code *code,
			uint64_t offset)
{
	const struct tramp_insn_info *at = NULL;
	size_t i;

	for (i = 0; i < code->nr_insns && code->insns[i].offset < offset; i++)
		at = &code->insns[i];
	if (!at)
		return libtramp_fail(f, NO_DETAIL);
	return libtramp_fail(f, "it is in the instruction at %s+0x%x, the next one is at +0x%x",
			     code->func_name, at->offset, at->offset + at->len);
}

int libtramp_fail_place(int dev, int err, const struct tramp_refusal *refusal,
			const struct tramp_place *place, const struct tramp_syms *syms,
			const char *subject)
{
	const struct libtramp_failure f = {
		.err = err,
		.reason = refusal->reason,
		.subject = subject,
		.addr = refusal->addr,
		.from_kernel = true,
	};
	struct tramp_code *code;
	uint64_t offset;

	switch (refusal->reason) {
	case TRAMP_REASON_NO_SUCH_FUNCTION:
		if (!place->symbol[0])
			break;
		return fail_unknown(&f, place, syms);
	case TRAMP_REASON_NOT_BOUNDARY:
		code = libtramp_code(dev, place);
		if (!code)
			break;
		/* By address, and addresses are hidden: which offset it is cannot be told. */
		if (place->addr && !code->func_addr) {
			tramp_code__free(code);
			break;
		}
		offset = place->addr ? place->addr - code->func_addr : place->offset;
		err = fail_between(&f, code, offset);
		tramp_code__free(code);
		return err;
	default:
		break;
	}
	return libtramp_fail_refusal(err, refusal, subject);
}
