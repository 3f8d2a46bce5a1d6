// SPDX-License-Identifier: LGPL-2.1 OR BSD-2-Clause
/*
 * Texts of the reasons. Names and sentences come from the two tables that also make the
 * enums (linux/trampoline.h and trampoline/trampoline.h), remedies from ../../remedies.h.
 *
 * The compiler holds the tables against each other. A reason without a remedy names a
 * string below that is not there; a remedy without a reason is a string that nobody uses.
 */
#include <errno.h>
#include <string.h>
#include <trampoline/trampoline.h>

#include "../../remedies.h"
#include "error.h"
#include "sized.h"

struct reason_text {
	unsigned int value;
	int error;		/* 0: the library's, which has no errno of its own */
	const char *name;
	const char *sentence;
	const char *remedy;
};

#define REMEDY(NAME, status, remedy) static const char remedy_##NAME[] = remedy;
TRAMP_REMEDIES(REMEDY)
#undef REMEDY

static const struct reason_text texts[] = {
#define REASON_TEXT(value, NAME, name, error, sentence) \
	{ value, error, name, sentence, remedy_REASON_##NAME },
#define LIB_REASON_TEXT(value, NAME, name, sentence) \
	{ value, 0, name, sentence, remedy_LIB_##NAME },
	TRAMP_REASONS(REASON_TEXT)
	TRAMP_LIB_REASONS(LIB_REASON_TEXT)
#undef LIB_REASON_TEXT
#undef REASON_TEXT
};

/* NONE is no failure by itself: there is nothing to mend. */
#define CHECK_REMEDY(value, remedy)							\
	_Static_assert((value) == TRAMP_REASON_NONE || sizeof(remedy) > sizeof(""),	\
		       "a reason has an empty remedy: " #remedy);
#define CHECK_REASON(value, NAME, name, error, sentence)				\
	CHECK_REMEDY(value, remedy_REASON_##NAME)					\
	_Static_assert((error) > 0 && (error) < 4096, "a reason has no errno: " #NAME);
#define CHECK_LIB_REASON(value, NAME, name, sentence) CHECK_REMEDY(value, remedy_LIB_##NAME)
TRAMP_REASONS(CHECK_REASON)
TRAMP_LIB_REASONS(CHECK_LIB_REASON)
#undef CHECK_LIB_REASON
#undef CHECK_REASON
#undef CHECK_REMEDY

static const struct reason_text *find_text(unsigned int reason)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(texts); i++)
		if (texts[i].value == reason)
			return &texts[i];
	return NULL;
}

int tramp_reason_errno(unsigned int reason)
{
	const struct reason_text *t = find_text(reason);

	return t && t->error ? -t->error : -EOPNOTSUPP;
}

const char *tramp_reason_name(unsigned int reason)
{
	const struct reason_text *t = find_text(reason);

	return t ? t->name : "unknown";
}

const char *tramp_reason_sentence(unsigned int reason)
{
	const struct reason_text *t = find_text(reason);

	return t ? t->sentence : "a reason that this version of the library does not know";
}

int tramp_reason_by_name(const char *name)
{
	size_t i;

	for (i = 0; name && i < ARRAY_SIZE(texts); i++)
		if (!strcmp(texts[i].name, name))
			return texts[i].value;
	return -ENOENT;
}

const char *tramp_reason_remedy(unsigned int reason)
{
	const struct reason_text *t = find_text(reason);

	return t ? t->remedy : "";
}

const char *tramp_kind_name(unsigned int kind)
{
	switch (kind) {
	case TRAMP_KIND_NONE:		return "none";
	case TRAMP_KIND_FENTRY:		return "fentry";
	case TRAMP_KIND_FEXIT:		return "fexit";
	case TRAMP_KIND_FMOD_RET:	return "fmod_ret";
	case TRAMP_KIND_KPROBE:		return "kprobe";
	case TRAMP_KIND_KRETPROBE:	return "kretprobe";
	case TRAMP_KIND_KPROBE_MULTI:	return "kprobe.multi";
	case TRAMP_KIND_KRETPROBE_MULTI: return "kretprobe.multi";
	case TRAMP_KIND_KPROBE_SESSION:	return "kprobe.session";
	default:			return "unknown";
	}
}

const char *tramp_mode_name(unsigned int mode)
{
	switch (mode) {
	case TRAMP_MODE_NONE:		return "none";
	case TRAMP_MODE_DIRECT:		return "direct";
	case TRAMP_MODE_FTRACE_OPS:	return "ops";
	case TRAMP_MODE_JUMP:		return "jump";
	case TRAMP_MODE_INT3:		return "int3";
	case TRAMP_MODE_KPROBE:		return "kprobe";
	case TRAMP_MODE_RETHOOK:	return "rethook";
	default:			return "unknown";
	}
}
