// SPDX-License-Identifier: GPL-2.0
/*
 * Rules that a scene's image keeps, checked without executing it, see lint.h.
 */
#include <string.h>

#include "../lib/ktap.h"
#include "lint.h"

static struct lint lint_of(const struct scene *s)
{
	return (struct lint){
		.code = s->image,
		.size = s->out.size,
		.env = &s->env,
		.calls = s->calls,
		.nr = s->nr,
		.call_off = s->call_off,
		.kprobes = s->req.nr_kprobe,
		.orig = oracle_is_exit(s) ? s->req.orig : 0,
		.counted = oracle_is_counted(s),
		.inflight = s->req.inflight,
	};
}

static void lint_out(const struct scene *s)
{
	u32 i, after = s->out.after_call;

	if (oracle_is_exit(s)) {
		u32 rel;

		REQUIRE(after >= 5 && after < s->out.size, "after_call %u", after);
		memcpy(&rel, s->image + after - 4, 4);
		CHECK(lint_starts(after) && lint_starts(after - 5) && s->image[after - 5] == 0xe8 &&
		      (u64)s->image + after + (s32)rel == s->req.orig,
		      "after_call %u is not behind the call of the original", after);
	} else {
		CHECK_EQ(after, 0, "after_call of an entry image");
	}
	for (i = 0; i < s->req.nr_fexit; i++) {
		CHECK(lint_starts(s->skip_off[i]) &&
		      !memcmp(s->image + s->skip_off[i], "\x0f\x1f\x44\0\0", 5),
		      "skip_off[%u] %u is not a NOP", i, s->skip_off[i]);
		CHECK(lint_starts(s->skip_to[i]), "skip_to[%u] %u is not an instruction", i,
		      s->skip_to[i]);
	}
}

bool lint_scene(const struct scene *s)
{
	unsigned int failures = ktap_failures();
	struct lint l = lint_of(s);

	if (!lint_image(&l))
		return false;
	lint_out(s);
	return ktap_failures() == failures;
}

u32 lint_hot_path(const struct scene *s)
{
	return lint_scene(s) ? lint_path() : ~0u;
}

void lint_print(const struct scene *s)
{
	struct lint l = lint_of(s);

	lint_show(&l);
}
