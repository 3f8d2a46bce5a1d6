// SPDX-License-Identifier: LGPL-2.1 OR BSD-2-Clause
/*
 * Functions by their arguments: types as somebody writes them down, held against BTF.
 *
 * A type is a name and a number of stars. const, volatile and restrict do not matter, and
 * neither do the kernel's annotations. BTF has a chain of types: pointers, qualifiers,
 * typedefs, and at its end the type that all of them are made of. A typedef in the chain
 * matches by its own name. The chain goes on behind it, so it matches as well by what it
 * stands for. C has many spellings of an integer type ("unsigned long", "long unsigned int"),
 * and BTF that of the compiler: both are brought into one form.
 */
#include <bpf/btf.h>
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "../core/error.h"
#include "../core/sized.h"
#include "select.h"

#define MAX_CHAIN	64	/* types behind each other; broken BTF may go round */

static bool is_word(char c)
{
	return isalnum((unsigned char)c) || c == '_';
}

/* The next word, into @word; where it ends. An empty one: there is none. */
static const char *next_word(const char *p, char *word, size_t len)
{
	size_t n = 0;

	while (isspace((unsigned char)*p))
		p++;
	for (; is_word(*p); p++)
		if (n + 1 < len)
			word[n++] = *p;
	word[n] = '\0';
	return p;
}

static bool is_qualifier(const char *word)
{
	static const char * const known[] = {
		"const", "volatile", "restrict", "__user", "__kernel", "__iomem", "__percpu",
		"__rcu", "__force",
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(known); i++)
		if (!strcmp(word, known[i]))
			return true;
	return false;
}

/* The words of an integer type. */
struct int_words {
	unsigned int is_unsigned, is_signed, is_char, is_short, is_int, is_long;
};

static bool add_int_word(struct int_words *w, const char *word)
{
	const struct {
		const char *word;
		unsigned int *count;
	} known[] = {
		{ "unsigned", &w->is_unsigned }, { "signed", &w->is_signed },
		{ "char", &w->is_char }, { "short", &w->is_short }, { "int", &w->is_int },
		{ "long", &w->is_long },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(known); i++) {
		if (!strcmp(word, known[i].word)) {
			++*known[i].count;
			return true;
		}
	}
	return false;
}

/* One spelling for each type. A char without sign is a type of its own. */
static void int_name(const struct int_words *w, char *name, size_t len)
{
	snprintf(name, len, "%s%s", w->is_unsigned ? "unsigned " :
		 w->is_signed && w->is_char ? "signed " : "",
		 w->is_char ? "char" : w->is_short ? "short" : w->is_long > 1 ? "long long" :
		 w->is_long ? "long" : "int");
}

/* The name of BTF's integer type in that spelling, if it is made of these words. */
static const char *btf_int_name(const char *name, char *buf, size_t len)
{
	struct int_words words = { 0 };
	const char *p = name;
	char word[32];

	for (;;) {
		p = next_word(p, word, sizeof(word));
		if (!word[0])
			break;
		if (!add_int_word(&words, word))
			return name;
	}
	int_name(&words, buf, len);
	return buf;
}

static int bad_type(const char *text, const char *why)
{
	char subject[LIBTRAMP_SUBJECT_LEN];

	snprintf(subject, sizeof(subject), "argument type '%s'", text);
	return LIBTRAMP_FAIL(-EINVAL, TRAMP_LIB_BAD_ARGUMENT, subject, "%s", why);
}

static uint32_t tag_of(const char *word)
{
	if (!strcmp(word, "struct"))
		return BTF_KIND_STRUCT;
	if (!strcmp(word, "union"))
		return BTF_KIND_UNION;
	return !strcmp(word, "enum") ? BTF_KIND_ENUM : 0;
}

int libtramp_type_parse(const char *text, struct libtramp_type *type)
{
	struct int_words words = { 0 };
	bool is_int = false;
	const char *p = text;
	char word[TRAMP_SYM_LEN];

	memset(type, 0, sizeof(*type));
	for (;;) {
		p = next_word(p, word, sizeof(word));
		if (!word[0]) {
			if (!*p)
				break;
			if (*p++ != '*')
				return bad_type(text, "it is a name and stars; name functions and arrays by a typedef");
			type->stars++;
			continue;
		}
		if (is_qualifier(word))
			continue;
		if (type->stars)
			return bad_type(text, "there is a name behind a star");
		if (!type->tag && !type->name[0] && add_int_word(&words, word)) {
			is_int = true;
		} else if (is_int || type->name[0] || (type->tag && tag_of(word))) {
			return bad_type(text, "there are two names in it");
		} else if (tag_of(word)) {
			type->tag = tag_of(word);
		} else {
			memcpy(type->name, word, sizeof(type->name));
		}
	}
	if (is_int)
		int_name(&words, type->name, sizeof(type->name));
	return type->name[0] ? 0 : bad_type(text, "there is no name in it");
}

/* The end of a chain: a type with a name. */
static bool is_named(const struct btf *btf, const struct btf_type *t,
		     const struct libtramp_type *type)
{
	const char *name = btf__name_by_offset(btf, t->name_off);
	char buf[32];
	uint32_t tag = btf_kind(t);

	if (!name || !name[0])
		return false;
	switch (tag) {
	case BTF_KIND_FWD:
		tag = btf_kflag(t) ? BTF_KIND_UNION : BTF_KIND_STRUCT;
		break;
	case BTF_KIND_ENUM64:
		tag = BTF_KIND_ENUM;
		break;
	case BTF_KIND_INT:
		name = btf_int_name(name, buf, sizeof(buf));
		tag = 0;
		break;
	case BTF_KIND_FLOAT:
	case BTF_KIND_TYPEDEF:
		tag = 0;
		break;
	}
	return tag == type->tag && !strcmp(name, type->name);
}

bool libtramp_type_is(const struct btf *btf, uint32_t id, const struct libtramp_type *type)
{
	uint32_t stars = 0;
	int n;

	for (n = 0; id && n < MAX_CHAIN; n++) {
		const struct btf_type *t = btf__type_by_id(btf, id);

		if (!t)
			return false;
		if (btf_is_ptr(t)) {
			stars++;
		} else if (btf_is_typedef(t)) {
			if (stars == type->stars && is_named(btf, t, type))
				return true;
		} else if (!btf_is_mod(t)) {
			return stars == type->stars && is_named(btf, t, type);
		}
		id = t->type;
	}
	return !id && stars == type->stars && !type->tag && !strcmp(type->name, "void");
}

bool libtramp_args_pass(const struct btf *btf, uint32_t func_id, const struct libtramp_args *args)
{
	const struct btf_type *func = btf__type_by_id(btf, func_id);
	const struct btf_type *proto = func ? btf__type_by_id(btf, func->type) : NULL;
	const struct btf_param *params;
	uint32_t i, nr;

	if (!proto || !btf_is_func_proto(proto))
		return false;
	params = btf_params(proto);
	nr = btf_vlen(proto);
	/* A last parameter without type is the "...". */
	if (nr && !params[nr - 1].type)
		nr--;
	if (args->by_number && (nr < args->min || nr > args->max))
		return false;
	for (i = 0; args->by_type && i < nr; i++)
		if (libtramp_type_is(btf, params[i].type, &args->type))
			return true;
	return !args->by_type;
}
