// SPDX-License-Identifier: LGPL-2.1 OR BSD-2-Clause
/*
 * How the place of a probe is written: in a section name, in options, on a
 * command line.
 *
 * libbpf takes the part of a section name behind "kprobe/" apart with
 * sscanf("%m[a-zA-Z0-9_.]+%li") and ignores what follows. The same texts mean the
 * same here; those that it would misread (a module's name for a function, 010 for 8)
 * or cut short are refused.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../core/error.h"
#include "../core/sized.h"
#include "place.h"

static const char name_chars[] =
	"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.";

static int bad_place(const char *subject, const char *text, const char *why)
{
	return LIBTRAMP_FAIL(-EINVAL, TRAMP_LIB_BAD_PLACE, subject, "'%s': %s", text, why);
}

/* All of @text as a number: decimal, or hexadecimal with 0x. NULL, or what is wrong. */
static const char *parse_number(const char *text, uint64_t *val)
{
	const bool hex = text[0] == '0' && (text[1] == 'x' || text[1] == 'X');
	const char *digits = hex ? text + 2 : text;
	const size_t len = strspn(digits, hex ? "0123456789abcdefABCDEF" : "0123456789");

	if (!len || digits[len])
		return "a number is decimal, or hexadecimal with 0x";
	if (!hex && digits[0] == '0' && len > 1)
		return "a number with a zero in front would be octal to libbpf";
	errno = 0;
	*val = strtoull(digits, NULL, hex ? 16 : 10);
	return errno ? "the number is too large" : NULL;
}

/* Cut @name of @len characters out; NULL, or what is wrong. */
static const char *take_name(const char *name, size_t len, char *out, size_t room)
{
	if (!len)
		return "there is no name";
	if (len >= room)
		return "the name is too long";
	memcpy(out, name, len);
	out[len] = '\0';
	return NULL;
}

int libtramp_place_parse(const char *text, bool section, struct tramp_place *place,
			 const char *subject)
{
	const char *name = text, *colon, *rest, *wrong;
	size_t len;

	memset(place, 0, sizeof(*place));
	if (!text || !text[0])
		return LIBTRAMP_FAIL(-EINVAL, TRAMP_LIB_BAD_PLACE, subject, "it is empty");
	if (text[0] >= '0' && text[0] <= '9') {
		if (section)
			return bad_place(subject, text, "a section names a function; an address "
					 "goes into tramp_attach_opts::addr");
		wrong = parse_number(text, &place->addr);
		if (!wrong && text[1] != 'x' && text[1] != 'X')
			wrong = "an address is hexadecimal with 0x";
		if (!wrong && !place->addr)
			wrong = "there is nothing at address 0";
		return wrong ? bad_place(subject, text, wrong) : 0;
	}
	colon = strchr(text, ':');
	if (colon && section)
		return bad_place(subject, text, "a section names no module; "
				 "that goes into tramp_attach_opts::module");
	if (colon) {
		wrong = take_name(text, colon - text, place->module, sizeof(place->module));
		if (wrong)
			return bad_place(subject, text, wrong);
		name = colon + 1;
	}
	len = strspn(name, name_chars);
	rest = name + len;
	wrong = take_name(name, len, place->symbol, sizeof(place->symbol));
	if (!wrong && *rest == '+') {
		wrong = parse_number(rest + 1, &place->offset);
		place->has_offset = true;
	} else if (!wrong && *rest == '-') {
		wrong = "an offset is not negative";
	} else if (!wrong && strchr("*?[", *rest) && *rest) {
		wrong = section ? "it is a pattern, which goes into SEC(\"kprobe.multi/PATTERN\")" :
				  "it is a pattern, and a probe goes to one place";
	} else if (!wrong && *rest) {
		wrong = "only letters, digits, '_' and '.' make up a function's name";
	}
	return wrong ? bad_place(subject, text, wrong) : 0;
}

int tramp_place__parse(const char *text, struct tramp_place *user)
{
	struct tramp_place place;
	int err;

	if (!libtramp_sized_ok(user, user ? user->sz : 0, sizeof(size_t), SIZE_MAX))
		return LIBTRAMP_FAIL(-EINVAL, TRAMP_LIB_BAD_ARGUMENT, "tramp_place__parse()",
				     "place must be declared with TRAMP_OPTS(tramp_place, ...)");
	err = libtramp_place_parse(text, false, &place, "place");
	if (!err)
		libtramp_out(user, user->sz, &place, sizeof(place));
	return err;
}

/* A place by its options: the same rules, member by member. */
int libtramp_place_from_opts(const struct tramp_attach_opts *opts, struct tramp_place *place,
			     const char *subject)
{
	const char *symbol = LIBTRAMP_OPTS_GET(opts, tramp_attach_opts, symbol, NULL);
	const char *module = LIBTRAMP_OPTS_GET(opts, tramp_attach_opts, module, NULL);
	const uint64_t offset = LIBTRAMP_OPTS_GET(opts, tramp_attach_opts, offset, 0);
	const uint64_t addr = LIBTRAMP_OPTS_GET(opts, tramp_attach_opts, addr, 0);
	const char *wrong;

	memset(place, 0, sizeof(*place));
	if (addr && (symbol || module || offset))
		return LIBTRAMP_FAIL(-EINVAL, TRAMP_LIB_BAD_PLACE, subject,
				     "addr stands beside symbol, module or offset");
	if (offset && !symbol)
		return LIBTRAMP_FAIL(-EINVAL, TRAMP_LIB_BAD_PLACE, subject,
				     "offset without symbol");
	place->addr = addr;
	place->offset = offset;
	place->has_offset = offset != 0;
	if (symbol) {
		wrong = take_name(symbol, strlen(symbol), place->symbol, sizeof(place->symbol));
		if (!wrong && symbol[strspn(symbol, name_chars)])
			wrong = "only letters, digits, '_' and '.' make up a function's name";
		if (wrong)
			return bad_place(subject, symbol, wrong);
	}
	if (module) {
		wrong = take_name(module, strlen(module), place->module, sizeof(place->module));
		if (wrong)
			return bad_place(subject, module, wrong);
	}
	return 0;
}

const char *libtramp_place_text(const struct tramp_place *place, char *buf, size_t len)
{
	char offset[24] = "";

	if (place->addr) {
		snprintf(buf, len, "0x%llx", (unsigned long long)place->addr);
		return buf;
	}
	if (place->has_offset)
		snprintf(offset, sizeof(offset), "+0x%llx", (unsigned long long)place->offset);
	snprintf(buf, len, "%s%s%s%s", place->module, place->module[0] ? ":" : "",
		 place->symbol, offset);
	return buf;
}

/*
 * The module knows no name for the kernel proper, but that is where it looks first when no
 * module is named.
 */
int libtramp_place_resolve(struct tramp_place *place, const struct tramp_syms *syms)
{
	char spec[TRAMP_SYM_LEN + sizeof("vmlinux:")];
	struct tramp_syms *own = NULL;
	int err = 0;

	if (strcmp(place->module, "vmlinux"))
		return 0;
	if (!syms) {
		syms = own = tramp_syms__load(NULL);
		if (!syms)
			return -errno;
	}
	snprintf(spec, sizeof(spec), "vmlinux:%s", place->symbol);
	if (tramp_syms__find(syms, spec))
		place->module[0] = '\0';
	else
		err = -errno;
	tramp_syms__free(own);
	return err;
}
