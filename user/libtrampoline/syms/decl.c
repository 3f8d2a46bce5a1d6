// SPDX-License-Identifier: LGPL-2.1 OR BSD-2-Clause
/*
 * C declarations out of BTF types.
 *
 * C declares a thing by showing its use, from the name outwards: "*" to the
 * left, "[]" and "()" to the right. The latter two bind stronger. So we follow the
 * chain of types and build the declarator around the name. It gets parentheses
 * where a pointer points to an array or a function. The base type goes in front at
 * the end:
 *
 *	name  ->  *name  ->  (*name)(int)  ->  void (*name)(int)
 */
#include <bpf/btf.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "internal.h"

#define MAX_DECL	2048
#define MAX_CHAIN	64	/* types behind each other; broken BTF may go round */
#define MAX_DEPTH	4	/* functions that take functions that ... */

/* A text that grows on either side, from the middle of its buffer. */
struct declarator {
	char buf[2 * MAX_DECL];
	size_t start, end;
	bool cut;
};

static void put_after(struct declarator *d, const char *s)
{
	size_t n = strlen(s);

	if (d->end + n >= sizeof(d->buf)) {
		d->cut = true;
		return;
	}
	memcpy(d->buf + d->end, s, n);
	d->end += n;
}

static void put_before(struct declarator *d, const char *s)
{
	size_t n = strlen(s);

	if (n > d->start) {
		d->cut = true;
		return;
	}
	d->start -= n;
	memcpy(d->buf + d->start, s, n);
}

const struct btf_type *libtramp_skip_mods(const struct btf *btf, uint32_t id)
{
	const struct btf_type *t = btf__type_by_id(btf, id);
	int n;

	for (n = 0; t && n < MAX_CHAIN; n++) {
		if (!btf_is_mod(t) && !btf_is_typedef(t))
			return id ? t : NULL;
		id = t->type;
		t = btf__type_by_id(btf, id);
	}
	return NULL;
}

static const char *qualifier(const struct btf_type *t)
{
	switch (btf_kind(t)) {
	case BTF_KIND_CONST:	return "const";
	case BTF_KIND_VOLATILE:	return "volatile";
	case BTF_KIND_RESTRICT:	return "restrict";
	default:		return NULL;	/* a type tag, which C does not show */
	}
}

/* Does an array or a function stand behind a pointer? Then "*" needs parentheses. */
static bool binds_stronger(const struct btf *btf, uint32_t id)
{
	const struct btf_type *t = btf__type_by_id(btf, id);
	int n;

	for (n = 0; id && t && btf_is_mod(t) && n < MAX_CHAIN; n++)
		t = btf__type_by_id(btf, t->type);
	return id && t && (btf_is_array(t) || btf_is_func_proto(t));
}

static void put_base(struct declarator *d, const struct btf *btf, const struct btf_type *t,
		     const char *quals)
{
	const char *name = t ? btf__name_by_offset(btf, t->name_off) : "void";
	const char *tag = "";
	char base[MAX_DECL];

	if (t) {
		switch (btf_kind(t)) {
		case BTF_KIND_STRUCT:
			tag = "struct ";
			break;
		case BTF_KIND_UNION:
			tag = "union ";
			break;
		case BTF_KIND_ENUM:
		case BTF_KIND_ENUM64:
			tag = "enum ";
			break;
		case BTF_KIND_FWD:
			tag = btf_kflag(t) ? "union " : "struct ";
			break;
		}
	}
	if (!name || !name[0])
		name = "{...}";
	if (snprintf(base, sizeof(base), "%s%s%s%s", quals, tag, name,
		     d->end > d->start && d->buf[d->start] != '[' ? " " : "") >= (int)sizeof(base))
		d->cut = true;
	put_before(d, base);
}

static int declare(struct declarator *d, const struct btf *btf, uint32_t id, int depth);

static int put_params(struct declarator *d, const struct btf *btf, const struct btf_type *proto,
		      int depth)
{
	const struct btf_param *p = btf_params(proto);
	int i, n = btf_vlen(proto), err;

	put_after(d, "(");
	for (i = 0; i < n; i++) {
		struct declarator arg = { .start = MAX_DECL, .end = MAX_DECL };

		put_after(d, i ? ", " : "");
		if (!p[i].type && i == n - 1) {
			put_after(d, "...");
			break;
		}
		err = declare(&arg, btf, p[i].type, depth + 1);
		if (err)
			return err;
		d->cut |= arg.cut;
		arg.buf[arg.end < sizeof(arg.buf) ? arg.end : sizeof(arg.buf) - 1] = '\0';
		put_after(d, arg.buf + arg.start);
	}
	put_after(d, n ? ")" : "void)");
	return 0;
}

/* Wrap the declarator in @d into the type @id. */
static int declare(struct declarator *d, const struct btf *btf, uint32_t id, int depth)
{
	char quals[64] = "", text[96];
	int n, err;

	if (depth > MAX_DEPTH)
		return -EINVAL;
	for (n = 0; n < MAX_CHAIN; n++) {
		const struct btf_type *t = id ? btf__type_by_id(btf, id) : NULL;

		if (id && !t)
			return -EINVAL;
		if (!t || (!btf_is_ptr(t) && !btf_is_mod(t) && !btf_is_array(t) &&
			   !btf_is_func_proto(t))) {
			put_base(d, btf, t, quals);
			return 0;
		}
		switch (btf_kind(t)) {
		case BTF_KIND_PTR:
			/* Qualifiers met on the way are the pointer's own: "*const name". */
			snprintf(text, sizeof(text), "*%s", quals);
			if (quals[0] && d->end == d->start)
				text[strlen(text) - 1] = '\0';
			put_before(d, text);
			quals[0] = '\0';
			if (binds_stronger(btf, t->type)) {
				put_before(d, "(");
				put_after(d, ")");
			}
			id = t->type;
			break;
		case BTF_KIND_ARRAY:
			snprintf(text, sizeof(text), "[%u]", btf_array(t)->nelems);
			put_after(d, text);
			id = btf_array(t)->type;
			break;
		case BTF_KIND_FUNC_PROTO:
			err = put_params(d, btf, t, depth);
			if (err)
				return err;
			id = t->type;
			break;
		default:
			if (qualifier(t) && strlen(quals) + 12 < sizeof(quals)) {
				strcat(quals, qualifier(t));
				strcat(quals, " ");
			}
			id = t->type;
			break;
		}
	}
	return -EINVAL;
}

int libtramp_type_decl(const struct btf *btf, uint32_t type_id, const char *name,
		       char *buf, size_t len)
{
	struct declarator d = { .start = MAX_DECL, .end = MAX_DECL };
	size_t n;
	int err;

	put_after(&d, name);
	err = declare(&d, btf, type_id, 0);
	n = d.end - d.start;
	if (n >= len) {
		n = len - 1;
		d.cut = true;
	}
	memcpy(buf, d.buf + d.start, n);
	buf[n] = '\0';
	return err ? err : d.cut ? -ENAMETOOLONG : 0;
}
