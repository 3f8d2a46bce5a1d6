// SPDX-License-Identifier: GPL-2.0
/*
 * Whether golden.txt would notice: digests of one detour, as it is and with one byte
 * changed, in what is asked for and in what comes out. And whether each line of it has a test.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../../kernel/x86/detour_image.h"
#include "../lib/ktap.h"
#include "emission.h"
#include "golden.h"

static struct tramp_x86_detour_req req;
static struct tramp_x86_detour_out out;
static u8 code[] = { 0x0f, 0x1f, 0x44, 0, 0 };

static enum tramp_x86_err emit_detour(u8 *to, size_t len, u64 addr)
{
	return tramp_x86_emit_detour(&req, to, len, addr, &out);
}

static const struct emission detour = { .emit = emit_detour, .size = &out.size };

/* Emit it; its digests alone. Nothing of it is left for golden.txt. */
static struct golden one_detour(void)
{
	const struct golden empty = { 0, GOLDEN_EMPTY, GOLDEN_EMPTY };
	struct golden one;

	golden_now = empty;
	CHECK_EQ(emit(IMAGE), TRAMP_X86_OK, "");
	one = golden_now;
	golden_now = empty;
	return one;
}

static void begin(void)
{
	emission_begin(&detour);
	req = (struct tramp_x86_detour_req){
		.env = &env, .ip = KERNEL, .code = code, .len = sizeof(code), .progs = calls,
		.nr_progs = 1, .regs = TRAMP_X86_REGS_ALL,
	};
}

static void requests(void)
{
	struct golden was, is;

	begin();
	was = one_detour();
	CHECK_EQ(was.calls, 3, "the detour, and its one instruction measured and relocated");
	is = one_detour();
	CHECK(!golden_differ(&was, &is), "the same request");

	/* parts of the request that are there, and that the image does not show */
	code[4] = 1;
	is = one_detour();
	CHECK(golden_differ(&was, &is), "another byte of code");
	code[4] = 0;
	env.rcu_watching++;
	is = one_detour();
	CHECK(golden_differ(&was, &is), "another environment");
	CHECK_EQ(was.answers, is.answers, "a detour does not ask whether RCU watches");
	env.rcu_watching--;
	calls[0].enter++;
	is = one_detour();
	CHECK(golden_differ(&was, &is), "another program");
}

static void bytes(void)
{
	static u8 other[TRAMP_X86_MAX_IMAGE];
	u64 digest, changed;
	u32 i;

	begin();
	one_detour();
	digest = golden_digest(GOLDEN_EMPTY, buf, out.size);
	for (i = 0; i < 8 * out.size; i++) {
		memcpy(other, buf, out.size);
		other[i / 8] ^= 1 << i % 8;
		changed = golden_digest(GOLDEN_EMPTY, other, out.size);
		if (!CHECK(changed != digest, "bit %u of byte %u", i % 8, i / 8))
			break;
	}
	CHECK(golden_digest(GOLDEN_EMPTY, buf, out.size - 1) != digest, "one byte less");
}

static void differences(void)
{
	static const char text[] = "a/one 1 0000000000000002 0000000000000003\n"
				   "a/one_more 4 0000000000000005 fedcba9876543210\n";
	const struct golden one = { 1, 2, 3 }, other_bytes = { 1, 2, 4 }, other_calls = { 2, 2, 3 };
	const struct golden other_requests = { 1, 4, 3 };
	struct golden was;

	CHECK(golden_find(text, "a/one_more", &was), "the second line");
	CHECK(was.calls == 4 && was.requests == 5 && was.answers == 0xfedcba9876543210, "");
	CHECK(golden_find(text, "a/one", &was), "the first line");
	CHECK(!golden_differ(&was, &one), "");
	CHECK(golden_differ(&was, &other_bytes), "");
	CHECK(golden_differ(&was, &other_calls), "");
	CHECK(golden_differ(&was, &other_requests), "");
	CHECK(!golden_find(text, "a/on", &was), "no line begins with a name and a blank");
	CHECK_EQ(was.calls, 0, "");
	CHECK(golden_differ(&was, &one), "a test that has no line");
}

/* Whether @program, beside this one, lists @test. */
static bool has_test(const char *program, const char *test)
{
	char self[4096], command[4200], name[128];
	ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);
	bool found = false;
	FILE *list;

	REQUIRE(n > 0, "/proc/self/exe: %m");
	self[n] = 0;
	*strrchr(self, '/') = 0;
	snprintf(command, sizeof(command), "'%s/%s' --list", self, program);
	list = popen(command, "r");
	REQUIRE(list, "%s: %m", command);
	while (fscanf(list, "%127s", name) == 1)
		found |= !strcmp(name, test);
	pclose(list);
	return found;
}

static void every_line_has_its_test(void)
{
	const char *line, *end;
	u32 lines = 0;

	for (line = golden_text; *line; line = end + 1) {
		char program[64], test[64];

		end = strchr(line, '\n');
		REQUIRE(end, "golden.txt: no line break at its end");
		if (*line == '#')
			continue;
		REQUIRE(sscanf(line, "%63[^/ ]/%63[^/ ] %*u %*x %*x", program, test) == 2,
			"golden.txt: a line of another form: %.60s", line);
		CHECK(has_test(program, test), "golden.txt: there is no %s/%s", program, test);
		lines++;
	}
	CHECK(lines > 50, "golden.txt has %u lines", lines);
}

static const struct ktap_test tests[] = {
	KTAP_TEST(requests),
	KTAP_TEST(bytes),
	KTAP_TEST(differences),
	KTAP_TEST(every_line_has_its_test),
};
KTAP_MAIN(tests)
