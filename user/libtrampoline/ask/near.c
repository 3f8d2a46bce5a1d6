// SPDX-License-Identifier: LGPL-2.1 OR BSD-2-Clause
/*
 * A place that the module refused: which names or instructions are near, since one of them
 * was probably meant.
 */
#include <stdio.h>

#include "../core/error.h"
#include "ask.h"

/* The module said that there is no such function: say which there are. */
static int fail_unknown(const struct libtramp_failure *f, const struct tramp_place *place,
			const struct tramp_syms *syms)
{
	char spec[TRAMP_MOD_LEN + TRAMP_SYM_LEN + 1];
	struct libtramp_failure better = *f;
	const struct tramp_error *e;
	struct tramp_syms *own = NULL;
	int err;

	if (!syms)
		syms = own = tramp_syms__load(NULL);
	snprintf(spec, sizeof(spec), "%s%s%s", place->module, place->module[0] ? ":" : "",
		 place->symbol);
	if (syms && !tramp_syms__find(syms, spec)) {
		e = tramp_last_error();
		better.remedy = e->remedy;
		/* BTF knows what the module cannot: it has looked for a symbol. */
		if (e->reason == TRAMP_LIB_INLINED) {
			better.reason = e->reason;
			better.from_kernel = false;
		}
		err = libtramp_fail(&better, "%s", e->detail);
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
			const char *command, const struct tramp_place *place,
			const struct tramp_syms *syms, const char *subject)
{
	struct libtramp_failure f = libtramp_failure_of(err, refusal, subject);
	char func[TRAMP_MOD_LEN + TRAMP_SYM_LEN + 1];
	struct tramp_code *code;
	uint64_t offset;

	snprintf(func, sizeof(func), "%s%s%s", place->module, place->module[0] ? ":" : "",
		 place->symbol);
	f.func = place->addr ? NULL : func;

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
		if (place->addr)
			f.func = code->func_name;
		err = fail_between(&f, code, offset);
		tramp_code__free(code);
		return err;
	default:
		break;
	}
	if (refusal->reason)
		return libtramp_fail(&f, "%.*s", (int)sizeof(refusal->detail), refusal->detail);
	return libtramp_fail_ioctl(err, refusal, command, subject);
}
