// SPDX-License-Identifier: GPL-2.0
/*
 * Images on functions that a compiler made: what programs see against what the
 * source says, and the function's own arguments and result against those
 * without an image. The compiler decides where arguments go, not us.
 *
 * The functions have five NOPs at their entry, as the kernel's have, and are
 * patched in place.
 */
#include <string.h>
#include <sys/mman.h>

#include "../../kernel/x86/fentry_image.h"
#include "../lib/ktap.h"
#include "machine.h"

/*
 * A traced function: no transformation across the call, five NOPs at the start.
 * Programs: images keep the stack aligned to 8 bytes only, as the kernel does.
 */
#define TRACED	__attribute__((noipa, patchable_function_entry(5, 0)))
#define CALLED	__attribute__((force_align_arg_pointer, target("general-regs-only")))

#define NOP5	"\x90\x90\x90\x90\x90"

struct s8 { int a, b; };
struct s12 { long a; int b; };
struct s16 { long a, b; };
struct s9 { char c[9]; };
struct s3 { char c[3]; };
union u8b { long l; char c; };

/* The programs' view: the context at the entry and at the exit. */
static u64 seen[2][TRAMP_X86_MAX_SLOTS + 1];
static u32 nr_slots, entered, exited, missed;

CALLED static u64 entry_program(const u64 *ctx, const void *insns)
{
	(void)insns;
	entered++;
	memcpy(seen[0], ctx, 8 * nr_slots);
	return 0;
}

CALLED static u64 exit_program(const u64 *ctx, const void *insns)
{
	(void)insns;
	exited++;
	memcpy(seen[1], ctx, 8 * (nr_slots + 1));
	return 0;
}

CALLED static void count_missed(u64 arg)
{
	(void)arg;
	missed++;
}

/* The functions: each mixes its arguments so that any that is wrong shows. */
#define MIX(h, v)	((h) * 0x100000001b3ULL ^ (u64)(v))

TRACED static void f_void(void)
{
	__asm__ volatile("");
}

TRACED static u64 f_1(u64 a)
{
	return MIX(7, a);
}

TRACED static int f_small(signed char a, short b, int c, unsigned char d, unsigned short e, u32 f)
{
	return a - b + c - d + e - (int)f;
}

TRACED static u64 f_6(u64 a, u64 b, u64 c, u64 d, u64 e, u64 f)
{
	return MIX(MIX(MIX(MIX(MIX(a, b), c), d), e), f);
}

TRACED static u64 f_7_int(u64 a, u64 b, u64 c, u64 d, u64 e, u64 f, int g)
{
	return MIX(MIX(MIX(MIX(MIX(MIX(a, b), c), d), e), f), g);
}

TRACED static long f_12(long a, int b, short c, char d, long e, int f, short g, char h, long i,
			int j, short k, char l)
{
	return MIX(MIX(MIX(MIX(MIX(MIX(MIX(MIX(MIX(MIX(MIX(a, b), c), d), e), f), g), h), i), j),
		       k), l);
}

TRACED static u64 f_structs(struct s8 a, struct s16 b, struct s12 c, union u8b d)
{
	return MIX(MIX(MIX(MIX(MIX(MIX(a.a, a.b), b.a), b.b), c.a), c.b), d.l);
}

/* The struct does not fit into the one register left; the char behind it does. */
TRACED static u64 f_disorder(char a, char b, char c, char d, char e, struct s12 s, char f)
{
	return MIX(MIX(MIX(MIX(MIX(MIX(MIX(a, b), c), d), e), s.a), s.b), f);
}

TRACED static u64 f_disorder_more(long a, long b, long c, long d, long e, struct s16 s,
				  struct s12 t, long f, struct s16 u)
{
	u64 h = MIX(MIX(MIX(MIX(a, b), c), d), e);

	return MIX(MIX(MIX(MIX(MIX(MIX(MIX(h, s.a), s.b), t.a), t.b), f), u.a), u.b);
}

TRACED static u64 f_bytes(struct s3 a, struct s9 b, struct s9 c, struct s3 d)
{
	u64 h = 1;
	u32 i;

	for (i = 0; i < 3; i++)
		h = MIX(MIX(h, a.c[i]), d.c[i]);
	for (i = 0; i < 9; i++)
		h = MIX(MIX(h, b.c[i]), c.c[i]);
	return h;
}

TRACED static u64 f_int128(unsigned __int128 a, int b, unsigned __int128 c)
{
	return MIX(MIX(MIX(MIX(a, a >> 64), b), c), c >> 64);
}

/* 16 bytes of alignment on the stack, and the compiler may rely on it. */
TRACED static u64 f_aligned(u64 a, u64 b, u64 c, u64 d, u64 e, u64 f, unsigned __int128 g)
{
	unsigned __int128 copy;

	__asm__("movdqa %1, %0" : "=x"(copy) : "m"(g));
	return MIX(MIX(MIX(MIX(MIX(MIX(MIX(a, b), c), d), e), f), copy), copy >> 64);
}

/* How each is called, and what is in its slots: value and size. */
static u64 c_void(void) { f_void(); return 0; }
static u64 c_1(void) { return f_1(0x1122334455667788); }
static u64 c_small(void) { return (u32)f_small(-1, -2, -3, 0xfc, 0xfffb, 0xfffffffa); }
static u64 c_6(void) { return f_6(1, 2, 3, 4, 5, 6); }
static u64 c_7_int(void) { return f_7_int(1, 2, 3, 4, 5, 6, -7); }
static u64 c_12(void) { return f_12(-1, -2, -3, -4, 5, 6, 7, 8, -9, -10, -11, 12); }
static u64 c_structs(void)
{
	return f_structs((struct s8){ 1, -2 }, (struct s16){ 3, -4 }, (struct s12){ 5, -6 },
			 (union u8b){ .l = -7 });
}
static u64 c_disorder(void) { return f_disorder(1, 2, 3, 4, 5, (struct s12){ 6, -7 }, -8); }
static u64 c_disorder_more(void)
{
	return f_disorder_more(1, 2, 3, 4, 5, (struct s16){ 6, 7 }, (struct s12){ 8, -9 }, 10,
			       (struct s16){ 11, 12 });
}
static u64 c_bytes(void)
{
	return f_bytes((struct s3){ "abc" }, (struct s9){ "defghijkl" }, (struct s9){ "mnopqrstu" },
		       (struct s3){ "vwx" });
}
static u64 c_int128(void)
{
	return f_int128(((unsigned __int128)1 << 64) | 2, -3, ((unsigned __int128)4 << 64) | 5);
}
static u64 c_aligned(void)
{
	return f_aligned(1, 2, 3, 4, 5, 6, ((unsigned __int128)8 << 64) | 7);
}

struct traced {
	const char *name;
	void *func;
	u64 (*call)(void);
	struct tramp_x86_model model;
	u32 nr_slots;
	struct {
		u64 value;
		u8 size;
	} slot[TRAMP_X86_MAX_SLOTS];
};

static struct traced traced[] = {
	{ "void", f_void, c_void, { 0, 0, { 0 } }, 0, { { 0, 0 } } },
	{ "one", f_1, c_1, { 1, 8, { 8 } }, 1, { { 0x1122334455667788, 8 } } },
	{ "small integers", f_small, c_small, { 6, 4, { 1, 2, 4, 1, 2, 4 } }, 6,
	  { { -1, 1 }, { -2, 2 }, { -3, 4 }, { 0xfc, 1 }, { 0xfffb, 2 }, { 0xfffffffa, 4 } } },
	{ "six", f_6, c_6, { 6, 8, { 8, 8, 8, 8, 8, 8 } }, 6,
	  { { 1, 8 }, { 2, 8 }, { 3, 8 }, { 4, 8 }, { 5, 8 }, { 6, 8 } } },
	{ "an int on the stack", f_7_int, c_7_int, { 7, 8, { 8, 8, 8, 8, 8, 8, 4 } }, 7,
	  { { 1, 8 }, { 2, 8 }, { 3, 8 }, { 4, 8 }, { 5, 8 }, { 6, 8 }, { (u32)-7, 8 } } },
	{ "twelve", f_12, c_12, { 12, 8, { 8, 4, 2, 1, 8, 4, 2, 1, 8, 4, 2, 1 } }, 12,
	  { { -1, 8 }, { -2, 4 }, { -3, 2 }, { -4, 1 }, { 5, 8 }, { 6, 4 }, { 7, 2 }, { 8, 1 },
	    { -9, 8 }, { -10, 4 }, { -11, 2 }, { 12, 1 } } },
	{ "structs", f_structs, c_structs, { 4, 8, { 8, 16, 16, 8 } }, 6,
	  { { 0xfffffffe00000001, 8 }, { 3, 8 }, { -4, 8 }, { 5, 8 }, { -6, 4 }, { -7, 8 } } },
	{ "disorder", f_disorder, c_disorder, { 7, 8, { 1, 1, 1, 1, 1, 16, 1 } }, 8,
	  { { 1, 1 }, { 2, 1 }, { 3, 1 }, { 4, 1 }, { 5, 1 }, { 6, 8 }, { -7, 4 }, { -8, 1 } } },
	{ "more disorder", f_disorder_more, c_disorder_more,
	  { 9, 8, { 8, 8, 8, 8, 8, 16, 16, 8, 16 } }, 12,
	  { { 1, 8 }, { 2, 8 }, { 3, 8 }, { 4, 8 }, { 5, 8 }, { 6, 8 }, { 7, 8 }, { 8, 8 },
	    { -9, 4 }, { 10, 8 }, { 11, 8 }, { 12, 8 } } },
	{ "bytes", f_bytes, c_bytes, { 4, 8, { 3, 9, 9, 3 } }, 6,
	  { { 0x636261, 3 }, { 0x6b6a696867666564, 8 }, { 'l', 1 }, { 0x74737271706f6e6d, 8 },
	    { 'u', 1 }, { 0x787776, 3 } } },
	{ "__int128", f_int128, c_int128, { 3, 8, { 16, 4, 16 } }, 5,
	  { { 2, 8 }, { 1, 8 }, { -3, 4 }, { 5, 8 }, { 4, 8 } } },
	{ "aligned stack", f_aligned, c_aligned, { 7, 8, { 8, 8, 8, 8, 8, 8, 16 } }, 8,
	  { { 1, 8 }, { 2, 8 }, { 3, 8 }, { 4, 8 }, { 5, 8 }, { 6, 8 }, { 7, 8 }, { 8, 8 } } },
};

static u8 *images;	/* within reach of the functions */

static void setup(void)
{
	u64 page = (u64)f_void & ~0xfffUL, addr;
	u32 i;

	machine_init();
	for (i = 1; i < 1024; i++) {
		addr = page + i * 0x100000UL;
		images = mmap((void *)addr, 0x10000, PROT_READ | PROT_WRITE | PROT_EXEC,
			      MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
		if (images == (void *)addr)
			break;
		REQUIRE(images == MAP_FAILED, "mmap does not know MAP_FIXED_NOREPLACE");
	}
	REQUIRE(i < 1024, "no free memory near the program");
	for (i = 0; i < sizeof(traced) / sizeof(traced[0]); i++) {
		page = (u64)traced[i].func & ~0xfffUL;
		REQUIRE(!mprotect((void *)page, 0x2000, PROT_READ | PROT_WRITE | PROT_EXEC),
			"mprotect: %m");
	}
}

/* NOP5 -> CALL; the site is behind ENDBR64 if the compiler makes that. */
static u8 *site_of(const struct traced *t)
{
	u8 *site = t->func;

	if (!memcmp(site, "\xf3\x0f\x1e\xfa", 4))
		site += 4;
	REQUIRE(!memcmp(site, NOP5, 5), "%s: no NOPs at its entry", t->name);
	return site;
}

static void check_slots(const struct traced *t, const u64 *ctx, const char *when)
{
	u32 i;

	for (i = 0; i < t->nr_slots; i++) {
		u64 mask = t->slot[i].size == 8 ? ~0ULL : (1ULL << 8 * t->slot[i].size) - 1;

		CHECK_EQ(ctx[i] & mask, t->slot[i].value & mask, "%s, %s: ctx[%u]", t->name, when, i);
	}
}

static void trace(const struct traced *t, bool at_entry, bool at_exit)
{
	struct tramp_x86_env env = { .missed = (u64)count_missed };
	struct tramp_x86_call entry = { .func = (u64)entry_program };
	struct tramp_x86_call exit = { .func = (u64)exit_program };
	struct tramp_x86_fentry_req req = {
		.env = &env, .model = &t->model, .func_addr = (u64)t->func,
		.fentry = &entry, .nr_fentry = at_entry, .fexit = &exit, .nr_fexit = at_exit,
	};
	struct tramp_x86_fentry_out out = { 0 };
	u8 *site = site_of(t);
	u64 plain, result;
	u32 rel;

	machine_percpu_reset();
	machine_percpu(PERCPU_NEAR, 4, &env.preempt_count);
	machine_percpu(PERCPU_NEAR, 8, &req.inflight);
	machine_percpu(PERCPU_NEAR, 4, &entry.active);
	machine_percpu(PERCPU_NEAR, 8, &entry.hits);
	machine_percpu(PERCPU_NEAR, 4, &exit.active);
	machine_percpu(PERCPU_NEAR, 8, &exit.hits);
	req.orig = (u64)site + 5;
	entered = exited = missed = 0;
	nr_slots = t->nr_slots;
	memset(seen, 0xee, sizeof(seen));

	REQUIRE(tramp_x86_emit_fentry(&req, images, 0x10000, (u64)images, &out) == TRAMP_X86_OK,
		"%s", t->name);
	plain = t->call();
	rel = (u32)((u64)images - ((u64)site + 5));
	site[0] = 0xe8;
	memcpy(site + 1, &rel, 4);
	result = t->call();
	memcpy(site, NOP5, 5);

	CHECK_EQ(result, plain, "%s: its result", t->name);
	CHECK_EQ(entered, at_entry, "%s", t->name);
	CHECK_EQ(exited, at_exit, "%s", t->name);
	CHECK_EQ(missed, 0, "%s", t->name);
	if (at_entry)
		check_slots(t, seen[0], "at entry");
	if (!at_exit)
		return;
	check_slots(t, seen[1], "at exit");
	if (t->model.ret_size == 4)
		CHECK_EQ((u32)seen[1][nr_slots], plain, "%s: its result at exit", t->name);
	else if (t->model.ret_size)
		CHECK_EQ(seen[1][nr_slots], plain, "%s: its result at exit", t->name);
}

static void compiled_functions(void)
{
	u32 i;

	setup();
	for (i = 0; i < sizeof(traced) / sizeof(traced[0]); i++) {
		struct traced *t = &traced[i];

		CHECK_EQ(tramp_x86_model_slots(&t->model, NULL, NULL), t->nr_slots, "%s", t->name);
		trace(t, true, false);
		trace(t, false, true);
		trace(t, true, true);
	}
}

static const struct ktap_test tests[] = {
	KTAP_TEST(compiled_functions),
};
KTAP_MAIN(tests)
