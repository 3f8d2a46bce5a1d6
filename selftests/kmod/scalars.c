// SPDX-License-Identifier: GPL-2.0
/*
 * Targets with 0 to 13 scalar arguments of every size and sign, and results of
 * every size. Nearly all return the checksum of what they were given, so that a
 * trampoline which damages an argument on its way changes the result.
 */
#include <linux/kernel.h>
#include <linux/atomic.h>
#include "trampoline_test.h"
#include "targets.h"

u64 tt_void_sum;

#define M1(a)			TT_MIX(0ULL, a)
#define M2(a, b)		TT_MIX(M1(a), b)
#define M3(a, b, c)		TT_MIX(M2(a, b), c)
#define M4(a, b, c, d)		TT_MIX(M3(a, b, c), d)
#define M5(a, b, c, d, e)	TT_MIX(M4(a, b, c, d), e)
#define M6(a, b, c, d, e, f)	TT_MIX(M5(a, b, c, d, e), f)

/*
 * shapes.c has another one, with a symbol, more arguments and a larger result. pahole before 1.25
 * describes this one, as its file comes first.
 */
static __always_inline u64 tt_namesake(u64 a)
{
	return a + 1;
}

/* In front of the function of that name (shapes.c) among the module's symbols. */
static u64 __used tt_shadowed = 1;

TT_TARGET void tt_void0(void) { WRITE_ONCE(tt_void_sum, 0); }
TT_TARGET int tt_int0(void) { return -12345; }
TT_TARGET void tt_void1(u64 a) { WRITE_ONCE(tt_void_sum, M1(a)); }
TT_TARGET void tt_void6(u64 a, s8 b, u16 c, s32 d, void *e, u64 f)
{
	WRITE_ONCE(tt_void_sum, M6(a, b, c, d, (unsigned long)e, f));
}

TT_TARGET u8 tt_u8(u8 a) { return M1(a); }
TT_TARGET s8 tt_s8(s8 a) { return M1(a); }
TT_TARGET u16 tt_u16(u16 a) { return M1(a); }
TT_TARGET s16 tt_s16(s16 a) { return M1(a); }
TT_TARGET u32 tt_u32(u32 a) { return M1(a); }
TT_TARGET s32 tt_s32(s32 a) { return M1(a); }
TT_TARGET u64 tt_u64(u64 a) { return M1(tt_namesake(a) - 1); }
TT_TARGET s64 tt_s64(s64 a) { return M1(a); }
TT_TARGET bool tt_bool(bool a) { return !a; }
TT_TARGET void *tt_ptr(void *a) { return (void *)(unsigned long)M1((unsigned long)a); }
TT_TARGET enum tt_enum tt_enum(enum tt_enum a) { return a == TT_RED ? TT_BLUE : TT_RED; }
TT_TARGET s64 tt_identity(s64 a) { return a; }

TT_TARGET u64 tt_args2(u64 a, u64 b) { return M2(a, b); }
TT_TARGET u64 tt_args3(u64 a, u64 b, u64 c) { return M3(a, b, c); }
TT_TARGET u64 tt_args4(u64 a, u64 b, u64 c, u64 d) { return M4(a, b, c, d); }
TT_TARGET u64 tt_args5(u64 a, u64 b, u64 c, u64 d, u64 e) { return M5(a, b, c, d, e); }
TT_TARGET u64 tt_args6(u64 a, u64 b, u64 c, u64 d, u64 e, u64 f)
{
	return M6(a, b, c, d, e, f);
}

TT_TARGET u64 tt_args7(u64 a, u64 b, u64 c, u64 d, u64 e, u64 f, u64 g)
{
	return TT_MIX(M6(a, b, c, d, e, f), g);
}

/* Of the kind that mode ops has to clear above: the only one on the stack, and small. */
TT_TARGET int tt_stack7(u64 a, u64 b, u64 c, u64 d, u64 e, u64 f, int g)
{
	return TT_MIX(M6(a, b, c, d, e, f), g);
}

TT_TARGET u64 tt_args8(u64 a, u64 b, u64 c, u64 d, u64 e, u64 f, u64 g, u64 h)
{
	return TT_MIX(TT_MIX(M6(a, b, c, d, e, f), g), h);
}

TT_TARGET u64 tt_args9(u64 a, u64 b, u64 c, u64 d, u64 e, u64 f, u64 g, u64 h, u64 i)
{
	return TT_MIX(TT_MIX(TT_MIX(M6(a, b, c, d, e, f), g), h), i);
}

TT_TARGET u64 tt_args10(u64 a, u64 b, u64 c, u64 d, u64 e, u64 f, u64 g, u64 h, u64 i, u64 j)
{
	return TT_MIX(TT_MIX(TT_MIX(TT_MIX(M6(a, b, c, d, e, f), g), h), i), j);
}

TT_TARGET u64 tt_args11(u64 a, u64 b, u64 c, u64 d, u64 e, u64 f, u64 g, u64 h, u64 i, u64 j,
			u64 k)
{
	return TT_MIX(TT_MIX(TT_MIX(TT_MIX(TT_MIX(M6(a, b, c, d, e, f), g), h), i), j), k);
}

TT_TARGET u64 tt_args12(u64 a, u64 b, u64 c, u64 d, u64 e, u64 f, u64 g, u64 h, u64 i, u64 j,
			u64 k, u64 l)
{
	return TT_MIX(TT_MIX(TT_MIX(TT_MIX(TT_MIX(TT_MIX(M6(a, b, c, d, e, f),
							 g), h), i), j), k), l);
}

/* One more than the verifier lets any program be loaded for. */
TT_TARGET u64 tt_args13(u64 a, u64 b, u64 c, u64 d, u64 e, u64 f, u64 g, u64 h, u64 i, u64 j,
			u64 k, u64 l, u64 m)
{
	return TT_MIX(tt_args12(a, b, c, d, e, f, g, h, i, j, k, l), m);
}

/* Narrow arguments: their upper bytes are the caller's leftovers. */
TT_TARGET s32 tt_mixed6(u8 a, s16 b, u32 c, s64 d, void *e, s8 f)
{
	return M6(a, b, c, d, (unsigned long)e, f);
}

TT_TARGET s16 tt_narrow6(s8 a, s8 b, u8 c, u8 d, s16 e, u16 f)
{
	return M6(a, b, c, d, e, f);
}

TT_TARGET s8 tt_mixed9(s8 a, u8 b, s16 c, u16 d, s32 e, u32 f, s64 g, u64 h, void *i)
{
	return TT_MIX(TT_MIX(TT_MIX(M6(a, b, c, d, e, f), g), h), (unsigned long)i);
}

/* ... and on the stack. */
TT_TARGET s64 tt_stack12(u64 a, u64 b, u64 c, u64 d, u64 e, u64 f, s8 g, s16 h, s32 i, s64 j,
			 u8 k, u16 l)
{
	return TT_MIX(TT_MIX(TT_MIX(TT_MIX(TT_MIX(TT_MIX(M6(a, b, c, d, e, f),
							 g), h), i), j), k), l);
}

TT_TARGET u16 tt_stack8(s8 a, s8 b, s8 c, s8 d, s8 e, s8 f, s8 g, s8 h)
{
	return TT_MIX(TT_MIX(M6(a, b, c, d, e, f), g), h);
}

TT_TARGET void tt_void12(u64 a, u64 b, u64 c, u64 d, u64 e, u64 f, u64 g, u64 h, u64 i, u64 j,
			 u64 k, u64 l)
{
	WRITE_ONCE(tt_void_sum,
		   TT_MIX(TT_MIX(TT_MIX(TT_MIX(TT_MIX(TT_MIX(M6(a, b, c, d, e, f),
							     g), h), i), j), k), l));
}

#define V1	v[0]
#define V2	V1, v[1]
#define V3	V2, v[2]
#define V4	V3, v[3]
#define V5	V4, v[4]
#define V6	V5, v[5]
#define V7	V6, v[6]
#define V8	V7, v[7]
#define V9	V8, v[8]
#define V10	V9, v[9]
#define V11	V10, v[10]
#define V12	V11, v[11]

TT_CALLER_VOID(tt_void0, tt_void0())
TT_CALLER(tt_int0, tt_int0())
TT_CALLER_VOID(tt_void1, tt_void1(V1))
TT_CALLER_VOID(tt_void6, tt_void6(v[0], v[1], v[2], v[3], (void *)(unsigned long)v[4], v[5]))
TT_CALLER(tt_u8, tt_u8(V1))
TT_CALLER(tt_s8, tt_s8(V1))
TT_CALLER(tt_u16, tt_u16(V1))
TT_CALLER(tt_s16, tt_s16(V1))
TT_CALLER(tt_u32, tt_u32(V1))
TT_CALLER(tt_s32, tt_s32(V1))
TT_CALLER(tt_u64, tt_u64(V1))
TT_CALLER(tt_s64, tt_s64(V1))
TT_CALLER(tt_bool, tt_bool(V1))
TT_CALLER(tt_ptr, (unsigned long)tt_ptr((void *)(unsigned long)v[0]))
TT_CALLER(tt_enum, tt_enum(v[0]))
TT_CALLER(tt_identity, tt_identity(V1))
TT_CALLER(tt_args2, tt_args2(V2))
TT_CALLER(tt_args3, tt_args3(V3))
TT_CALLER(tt_args4, tt_args4(V4))
TT_CALLER(tt_args5, tt_args5(V5))
TT_CALLER(tt_args6, tt_args6(V6))
TT_CALLER(tt_args7, tt_args7(V7))
TT_CALLER(tt_args8, tt_args8(V8))
TT_CALLER(tt_args9, tt_args9(V9))
TT_CALLER(tt_args10, tt_args10(V10))
TT_CALLER(tt_args11, tt_args11(V11))
TT_CALLER(tt_args12, tt_args12(V12))
TT_CALLER(tt_args13, tt_args13(V12, v[12]))
TT_CALLER(tt_mixed6, tt_mixed6(V4, (void *)(unsigned long)v[4], v[5]))
TT_CALLER(tt_narrow6, tt_narrow6(V6))
TT_CALLER(tt_mixed9, tt_mixed9(V8, (void *)(unsigned long)v[8]))
TT_CALLER(tt_stack12, tt_stack12(V12))
TT_CALLER(tt_stack8, tt_stack8(V8))
TT_CALLER(tt_stack7, tt_stack7(V7))
TT_CALLER_VOID(tt_void12, tt_void12(V12))

struct tt_target tt_scalar_targets[] = {
	TT_ROW(tt_void0, "v"),
	TT_ROW(tt_int0, "!s4"),
	TT_ROW(tt_void1, "v u8"),
	TT_ROW(tt_void6, "v u8 s1 u2 s4 u8 u8"),
	TT_ROW(tt_u8, "u1 u1"),
	TT_ROW(tt_s8, "s1 s1"),
	TT_ROW(tt_u16, "u2 u2"),
	TT_ROW(tt_s16, "s2 s2"),
	TT_ROW(tt_u32, "u4 u4"),
	TT_ROW(tt_s32, "s4 s4"),
	TT_ROW(tt_u64, "u8 u8"),
	TT_ROW(tt_s64, "s8 s8"),
	TT_ROW(tt_bool, "!u1 u1"),
	TT_ROW(tt_ptr, "u8 u8"),
	TT_ROW(tt_enum, "!u4 u4"),
	TT_ROW(tt_identity, "!s8 s8"),
	TT_ROW(tt_args2, "u8 u8 u8"),
	TT_ROW(tt_args3, "u8 u8 u8 u8"),
	TT_ROW(tt_args4, "u8 u8 u8 u8 u8"),
	TT_ROW(tt_args5, "u8 u8 u8 u8 u8 u8"),
	TT_ROW(tt_args6, "u8 u8 u8 u8 u8 u8 u8"),
	TT_ROW(tt_args7, "u8 u8 u8 u8 u8 u8 u8 u8"),
	TT_ROW(tt_args8, "u8 u8 u8 u8 u8 u8 u8 u8 u8"),
	TT_ROW(tt_args9, "u8 u8 u8 u8 u8 u8 u8 u8 u8 u8"),
	TT_ROW(tt_args10, "u8 u8 u8 u8 u8 u8 u8 u8 u8 u8 u8"),
	TT_ROW(tt_args11, "u8 u8 u8 u8 u8 u8 u8 u8 u8 u8 u8 u8"),
	TT_ROW(tt_args12, "u8 u8 u8 u8 u8 u8 u8 u8 u8 u8 u8 u8 u8"),
	TT_ROW(tt_args13, "u8 u8 u8 u8 u8 u8 u8 u8 u8 u8 u8 u8 u8 u8"),
	TT_ROW(tt_mixed6, "s4 u1 s2 u4 s8 u8 s1"),
	TT_ROW(tt_narrow6, "s2 s1 s1 u1 u1 s2 u2"),
	TT_ROW(tt_mixed9, "s1 s1 u1 s2 u2 s4 u4 s8 u8 u8"),
	TT_ROW(tt_stack12, "s8 u8 u8 u8 u8 u8 u8 s1 s2 s4 s8 u1 u2"),
	TT_ROW(tt_stack8, "u2 s1 s1 s1 s1 s1 s1 s1 s1"),
	TT_ROW(tt_stack7, "s4 u8 u8 u8 u8 u8 u8 s4"),
	TT_ROW(tt_void12, "v u8 u8 u8 u8 u8 u8 u8 u8 u8 u8 u8 u8"),
	{}
};
