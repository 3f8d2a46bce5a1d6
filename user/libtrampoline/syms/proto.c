// SPDX-License-Identifier: LGPL-2.1 OR BSD-2-Clause
/*
 * A function's prototype: its arguments by name, type and place in the context
 * that a program sees, and all of it as a line of C.
 */
#include <bpf/btf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../core/error.h"
#include "internal.h"

#define MAX_TYPE	2048

static bool is_char(const struct btf *btf, const struct btf_type *t)
{
	const char *name = btf__name_by_offset(btf, t->name_off);

	return btf_is_int(t) && t->size == 1 && name && !strcmp(name, "char");
}

static uint32_t int_flags(const struct btf *btf, const struct btf_type *t)
{
	uint32_t flags = 0;

	if (btf_int_encoding(t) & BTF_INT_SIGNED)
		flags |= TRAMP_ARG_SIGNED;
	if (btf_int_encoding(t) & BTF_INT_BOOL)
		flags |= TRAMP_ARG_BOOL;
	if (is_char(btf, t))
		flags |= TRAMP_ARG_CHAR;
	return flags;
}

static uint32_t type_flags(const struct btf *btf, const struct btf_type *t)
{
	const struct btf_type *to;

	switch (btf_kind(t)) {
	case BTF_KIND_INT:
		return int_flags(btf, t);
	case BTF_KIND_ENUM:
	case BTF_KIND_ENUM64:
		return TRAMP_ARG_ENUM | (btf_kflag(t) ? TRAMP_ARG_SIGNED : 0);
	case BTF_KIND_PTR:
		to = libtramp_skip_mods(btf, t->type);
		return TRAMP_ARG_PTR | (to && is_char(btf, to) ? TRAMP_ARG_STR : 0);
	case BTF_KIND_STRUCT:
	case BTF_KIND_UNION:
		return TRAMP_ARG_STRUCT;
	case BTF_KIND_FLOAT:
		return TRAMP_ARG_FLOAT;
	default:
		return 0;
	}
}

static int fill_arg(const struct btf *btf, struct tramp_arg *arg, uint32_t type_id,
		    const char *name)
{
	const struct btf_type *t;
	char text[MAX_TYPE];
	int64_t size;
	int err;

	arg->name = strdup(name);
	if (!arg->name)
		return -ENOMEM;
	err = libtramp_type_decl(btf, type_id, "", text, sizeof(text));
	if (err == -EINVAL)
		return err;
	arg->type = strdup(text);
	if (!arg->type)
		return -ENOMEM;
	arg->type_id = type_id;
	if (!type_id) {
		arg->flags = TRAMP_ARG_VOID;
		return 0;
	}
	t = libtramp_skip_mods(btf, type_id);
	size = t ? btf__resolve_size(btf, type_id) : 0;
	/* "const void" as a result has no type behind it, and is void as well. */
	arg->flags = t ? type_flags(btf, t) : TRAMP_ARG_VOID;
	if (size < 0)
		return -EINVAL;
	arg->size = size;
	arg->nr_slots = (size + 7) / 8;
	return 0;
}

/*
 * The whole line. The parameters are part of the declarator, as C has it: the
 * result's type goes around "name(parameters)".
 */
static char *render(const struct btf *btf, const struct tramp_proto *p,
		    const struct btf_param *params)
{
	char text[MAX_TYPE], *inner = NULL;
	size_t len = 0;
	uint32_t i;
	FILE *f;

	f = open_memstream(&inner, &len);
	if (!f)
		return NULL;
	fprintf(f, "%s(", p->name);
	for (i = 0; i < p->nr_args; i++) {
		libtramp_type_decl(btf, params[i].type, p->args[i].name, text, sizeof(text));
		fprintf(f, "%s%s", i ? ", " : "", text);
	}
	if (p->variadic)
		fputs(p->nr_args ? ", ..." : "...", f);
	else if (!p->nr_args)
		fputs("void", f);
	fputc(')', f);
	if (fclose(f)) {
		free(inner);
		return NULL;
	}
	libtramp_type_decl(btf, p->ret.type_id, inner, text, sizeof(text));
	free(inner);
	return strdup(text);
}

static int fill_args(const struct btf *btf, struct tramp_proto *p, struct tramp_arg *args,
		     const struct btf_param *params)
{
	char fallback[16];
	uint32_t i;
	int err;

	for (i = 0; i < p->nr_args; i++) {
		const char *name = btf__name_by_offset(btf, params[i].name_off);

		snprintf(fallback, sizeof(fallback), "arg%u", i);
		err = fill_arg(btf, &args[i], params[i].type, name && name[0] ? name : fallback);
		if (err)
			return err;
		args[i].slot = p->nr_slots;
		p->nr_slots += args[i].nr_slots;
	}
	return 0;
}

struct tramp_proto *tramp_proto__new(const struct btf *btf, uint32_t func_id)
{
	const struct btf_type *func = btf ? btf__type_by_id(btf, func_id) : NULL, *sig;
	const struct btf_param *params;
	char subject[64];
	struct tramp_proto *p;
	int err;

	snprintf(subject, sizeof(subject), "BTF type %u", func_id);
	if (!func_id || !func || !btf_is_func(func)) {
		LIBTRAMP_FAIL(-EINVAL, TRAMP_LIB_BAD_ARGUMENT, subject, "it is not a function");
		return NULL;
	}
	sig = btf__type_by_id(btf, func->type);
	if (!sig || !btf_is_func_proto(sig)) {
		LIBTRAMP_FAIL(-EINVAL, TRAMP_REASON_NO_BTF, subject, "the BTF is broken");
		return NULL;
	}
	p = calloc(1, sizeof(*p));
	if (!p)
		goto no_memory;
	params = btf_params(sig);
	p->btf = btf;
	p->func_id = func_id;
	p->nr_args = btf_vlen(sig);
	/* A last parameter without type is the "...". */
	if (p->nr_args && !params[p->nr_args - 1].type) {
		p->variadic = true;
		p->nr_args--;
	}
	p->name = strdup(btf__name_by_offset(btf, func->name_off) ?: "");
	p->args = calloc(p->nr_args + 1, sizeof(*p->args));
	if (!p->name || !p->args)
		goto no_memory;
	err = fill_args(btf, p, (struct tramp_arg *)p->args, params);
	if (!err)
		err = fill_arg(btf, &p->ret, sig->type, "ret");
	if (err == -ENOMEM)
		goto no_memory;
	if (err) {
		LIBTRAMP_FAIL(err, TRAMP_REASON_NO_BTF, subject, "the BTF is broken");
		goto fail;
	}
	p->ret.slot = p->nr_slots;
	p->text = render(btf, p, params);
	if (!p->text)
		goto no_memory;
	return p;

no_memory:
	libtramp_fail_nomem(subject);
fail:
	tramp_proto__free(p);
	errno = -tramp_last_error()->err;
	return NULL;
}

static void free_arg(const struct tramp_arg *arg)
{
	free((void *)arg->name);
	free((void *)arg->type);
}

void tramp_proto__free(struct tramp_proto *p)
{
	uint32_t i;

	if (!p)
		return;
	for (i = 0; p->args && i < p->nr_args; i++)
		free_arg(&p->args[i]);
	free_arg(&p->ret);
	free((void *)p->args);
	free((void *)p->name);
	free((void *)p->text);
	free(p);
}
