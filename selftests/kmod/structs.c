// SPDX-License-Identifier: GPL-2.0
/*
 * Targets that take structs by value. A struct of up to 8 bytes is in one register, one of up
 * to 16 in two, or on the stack where two registers are not left. Later arguments can be in
 * registers after earlier ones on the stack. The slots are in another order than the arguments
 * then: trampolines that copy "six registers, then the stack" get this wrong.
 */
#include <linux/kernel.h>
#include <linux/atomic.h>
#include "trampoline_test.h"
#include "targets.h"

#define P8(sum, s)	TT_MIX(TT_MIX(sum, (s).a), (s).b)
#define P16(sum, s)	TT_MIX(TT_MIX(sum, (s).a), (s).b)

TT_TARGET u64 tt_struct2(struct tt_s2 s) { return TT_MIX(TT_MIX(0ULL, s.a), s.b); }
TT_TARGET u64 tt_struct4(struct tt_s4 s) { return TT_MIX(TT_MIX(0ULL, s.a), s.b); }
TT_TARGET s32 tt_struct8(struct tt_s8 s) { return P8(0ULL, s); }
TT_TARGET u64 tt_struct12(struct tt_s12 s)
{
	return TT_MIX(TT_MIX(TT_MIX(0ULL, s.a), s.b), s.c);
}

TT_TARGET u64 tt_struct16(struct tt_s16 s) { return P16(0ULL, s); }
TT_TARGET u64 tt_struct16_padded(struct tt_s16p s) { return P16(0ULL, s); }
TT_TARGET u64 tt_struct16_2(struct tt_s16 s, struct tt_s16 t) { return P16(P16(0ULL, s), t); }
TT_TARGET u64 tt_struct16_3(struct tt_s16 s, struct tt_s16 t, struct tt_s16 u)
{
	return P16(P16(P16(0ULL, s), t), u);
}

/* Three fill the six registers, the rest is on the stack. */
TT_TARGET u64 tt_struct16_4(struct tt_s16 s, struct tt_s16 t, struct tt_s16 u, struct tt_s16 w)
{
	return P16(P16(P16(P16(0ULL, s), t), u), w);
}

TT_TARGET u64 tt_struct16_6(struct tt_s16 s, struct tt_s16 t, struct tt_s16 u, struct tt_s16 w,
			    struct tt_s16 x, struct tt_s16 y)
{
	return P16(P16(P16(P16(P16(P16(0ULL, s), t), u), w), x), y);
}

/* 14 slots: more than anybody supports. */
TT_TARGET u64 tt_struct16_7(struct tt_s16 s, struct tt_s16 t, struct tt_s16 u, struct tt_s16 w,
			    struct tt_s16 x, struct tt_s16 y, struct tt_s16 z)
{
	return P16(tt_struct16_6(s, t, u, w, x, y), z);
}

/* The last two registers. */
TT_TARGET u64 tt_struct_reg56(u64 a, u64 b, u64 c, u64 d, struct tt_s16 s)
{
	return P16(TT_MIX(TT_MIX(TT_MIX(TT_MIX(0ULL, a), b), c), d), s);
}

/* One register is left: the struct goes to the stack, and nothing after it. */
TT_TARGET u64 tt_struct_stack(u64 a, u64 b, u64 c, u64 d, u64 e, struct tt_s16 s)
{
	return P16(TT_MIX(TT_MIX(TT_MIX(TT_MIX(TT_MIX(0ULL, a), b), c), d), e), s);
}

/* ... but f still gets that register: disorder. */
TT_TARGET u64 tt_struct_disorder(u64 a, u64 b, u64 c, u64 d, u64 e, struct tt_s16 s, u64 f)
{
	return TT_MIX(P16(TT_MIX(TT_MIX(TT_MIX(TT_MIX(TT_MIX(0ULL, a), b), c), d), e), s), f);
}

TT_TARGET s64 tt_struct_disorder2(u64 a, struct tt_s16 s, u64 b, u64 c, struct tt_s16 t, s8 d,
				  struct tt_s8 u)
{
	return P8(TT_MIX(P16(TT_MIX(TT_MIX(P16(TT_MIX(0ULL, a), s), b), c), t), d), u);
}

TT_TARGET u64 tt_struct_disorder3(struct tt_s16 s, struct tt_s16 t, u8 a, struct tt_s16 u,
				  struct tt_s8 w, s32 b, u64 c)
{
	return TT_MIX(TT_MIX(P8(P16(TT_MIX(P16(P16(0ULL, s), t), a), u), w), b), c);
}

TT_TARGET u64 tt_struct_mixed(u64 a, struct tt_s8 s, u32 b, struct tt_s16 t, s8 c)
{
	return TT_MIX(P16(TT_MIX(P8(TT_MIX(0ULL, a), s), b), t), c);
}

TT_TARGET u64 tt_array16(struct tt_a16 s) { return TT_MIX(TT_MIX(0ULL, s.a[0]), s.a[1]); }
TT_TARGET void tt_struct_void(struct tt_s16 s, s32 a)
{
	WRITE_ONCE(tt_void_sum, TT_MIX(P16(0ULL, s), a));
}

/* Beyond 16 bytes a struct is in memory, whatever registers are left. */
TT_TARGET u64 tt_struct24(struct tt_s24 s)
{
	return TT_MIX(TT_MIX(TT_MIX(0ULL, s.a), s.b), s.c);
}

/*
 * A member that is not at its natural alignment puts the struct in memory too
 * (AMD64 ABI, 3.2.3), though it is small enough for two registers. Nothing but
 * the member offsets in BTF tells.
 */
TT_TARGET u64 tt_struct_packed(struct tt_packed s, u64 a)
{
	return TT_MIX(TT_MIX(TT_MIX(0ULL, s.a), s.b), a);
}

/*
 * On the stack an __int128 is aligned to 16 bytes: there is a hole between g and
 * h, which sizes alone do not tell.
 */
TT_TARGET u64 tt_int128(u64 a, u64 b, u64 c, u64 d, u64 e, u64 f, u64 g, unsigned __int128 h)
{
	return TT_MIX(TT_MIX(TT_MIX(TT_MIX(0ULL, a), g), (u64)h), (u64)(h >> 64));
}

/* A result in two registers that is no struct. */
TT_TARGET unsigned __int128 tt_ret_int128(u64 a, u64 b)
{
	return (unsigned __int128)(b + 2) << 64 | (a + 1);
}

/* A struct as result: in two registers ... */
TT_TARGET struct tt_s16 tt_ret_struct16(u64 a, s64 b)
{
	return (struct tt_s16){ .a = a + 1, .b = b + 2 };
}

/* ... or where the caller wants it, whose address takes the first register. */
TT_TARGET struct tt_s24 tt_ret_struct24(u64 a, const char *text, s32 c)
{
	return (struct tt_s24){ .a = a + 1, .b = text[0], .c = c + 3 };
}

/* The same for a small one that is packed. */
TT_TARGET struct tt_packed tt_ret_packed(u64 a, u64 b)
{
	return (struct tt_packed){ .a = a + 1, .b = b + 2 };
}

static struct tt_s16 mk16(const u64 *v)
{
	return (struct tt_s16){ .a = v[0], .b = v[1] };
}

static struct tt_s8 mk8(const u64 *v)
{
	return (struct tt_s8){ .a = v[0], .b = v[1] };
}

TT_CALLER(tt_struct2, tt_struct2((struct tt_s2){ v[0], v[1] }))
TT_CALLER(tt_struct4, tt_struct4((struct tt_s4){ v[0], v[1] }))
TT_CALLER(tt_struct8, tt_struct8(mk8(v)))
TT_CALLER(tt_struct12, tt_struct12((struct tt_s12){ v[0], v[1], v[2] }))
TT_CALLER(tt_struct16, tt_struct16(mk16(v)))
TT_CALLER(tt_struct16_padded, tt_struct16_padded((struct tt_s16p){ v[0], v[1] }))
TT_CALLER(tt_struct16_2, tt_struct16_2(mk16(v), mk16(v + 2)))
TT_CALLER(tt_struct16_3, tt_struct16_3(mk16(v), mk16(v + 2), mk16(v + 4)))
TT_CALLER(tt_struct16_4, tt_struct16_4(mk16(v), mk16(v + 2), mk16(v + 4), mk16(v + 6)))
TT_CALLER(tt_struct16_6, tt_struct16_6(mk16(v), mk16(v + 2), mk16(v + 4), mk16(v + 6),
				       mk16(v + 8), mk16(v + 10)))
TT_CALLER(tt_struct16_7, tt_struct16_7(mk16(v), mk16(v + 2), mk16(v + 4), mk16(v + 6),
				       mk16(v + 8), mk16(v + 10), mk16(v + 12)))
TT_CALLER(tt_struct_reg56, tt_struct_reg56(v[0], v[1], v[2], v[3], mk16(v + 4)))
TT_CALLER(tt_struct_stack, tt_struct_stack(v[0], v[1], v[2], v[3], v[4], mk16(v + 5)))
TT_CALLER(tt_struct_disorder, tt_struct_disorder(v[0], v[1], v[2], v[3], v[4], mk16(v + 5), v[7]))
TT_CALLER(tt_struct_disorder2, tt_struct_disorder2(v[0], mk16(v + 1), v[3], v[4], mk16(v + 5), v[7],
						   mk8(v + 8)))
TT_CALLER(tt_struct_disorder3, tt_struct_disorder3(mk16(v), mk16(v + 2), v[4], mk16(v + 5),
						   mk8(v + 7), v[9], v[10]))
TT_CALLER(tt_struct_mixed, tt_struct_mixed(v[0], mk8(v + 1), v[3], mk16(v + 4), v[6]))
TT_CALLER(tt_array16, tt_array16((struct tt_a16){ { v[0], v[1] } }))
TT_CALLER_VOID(tt_struct_void, tt_struct_void(mk16(v), v[2]))
TT_CALLER(tt_struct24, tt_struct24((struct tt_s24){ v[0], v[1], v[2] }))
TT_CALLER(tt_struct_packed, tt_struct_packed((struct tt_packed){ v[0], v[1] }, v[2]))
TT_CALLER(tt_ret_struct16, ({ struct tt_s16 s = tt_ret_struct16(v[0], v[1]); P16(0ULL, s); }))
TT_CALLER(tt_ret_struct24, ({
	const char *text = "a text";
	struct tt_s24 s;

	/* clang would call a copy of the function, made for this text. */
	OPTIMIZER_HIDE_VAR(text);
	s = tt_ret_struct24(v[0], text, v[1]);
	TT_MIX(TT_MIX(TT_MIX(0ULL, s.a), s.b), s.c);
}))
TT_CALLER(tt_ret_packed, ({ struct tt_packed s = tt_ret_packed(v[0], v[1]); P16(0ULL, s); }))

TT_CALLER(tt_int128, tt_int128(v[0], v[1], v[2], v[3], v[4], v[5], v[6],
			       (unsigned __int128)v[8] << 64 | v[7]))
TT_CALLER(tt_ret_int128, ({
	unsigned __int128 r = tt_ret_int128(v[0], v[1]);

	TT_MIX(TT_MIX(0ULL, (u64)r), (u64)(r >> 64));
}))

struct tt_target tt_struct_targets[] = {
	TT_ROW(tt_struct2, "u8 {u1,s1}"),
	TT_ROW(tt_struct4, "u8 {u2,s2}"),
	TT_ROW(tt_struct8, "s4 {u4,s4}"),
	TT_ROW(tt_struct12, "u8 {u4,s4,u4}"),
	TT_ROW(tt_struct16, "u8 {u8,s8}"),
	TT_ROW(tt_struct16_padded, "u8 {u8,s1}"),
	TT_ROW(tt_struct16_2, "u8 {u8,s8} {u8,s8}"),
	TT_ROW(tt_struct16_3, "u8 {u8,s8} {u8,s8} {u8,s8}"),
	TT_ROW(tt_struct16_4, "u8 {u8,s8} {u8,s8} {u8,s8} {u8,s8}"),
	TT_ROW(tt_struct16_6, "u8 {u8,s8} {u8,s8} {u8,s8} {u8,s8} {u8,s8} {u8,s8}"),
	TT_ROW(tt_struct16_7, "u8 {u8,s8} {u8,s8} {u8,s8} {u8,s8} {u8,s8} {u8,s8} {u8,s8}"),
	TT_ROW(tt_struct_reg56, "u8 u8 u8 u8 u8 {u8,s8}"),
	TT_ROW(tt_struct_stack, "u8 u8 u8 u8 u8 u8 {u8,s8}"),
	TT_ROW(tt_struct_disorder, "u8 u8 u8 u8 u8 u8 {u8,s8} u8"),
	TT_ROW(tt_struct_disorder2, "s8 u8 {u8,s8} u8 u8 {u8,s8} s1 {u4,s4}"),
	TT_ROW(tt_struct_disorder3, "u8 {u8,s8} {u8,s8} u1 {u8,s8} {u4,s4} s4 u8"),
	TT_ROW(tt_struct_mixed, "u8 u8 {u4,s4} u4 {u8,s8} s1"),
	TT_ROW(tt_array16, "u8 {u8,u8}"),
	TT_ROW(tt_struct_void, "v {u8,s8} s4"),
	TT_ROW(tt_struct24, "u8 {u8,u8,u8}"),
	TT_ROW(tt_struct_packed, "u8 {packed,u1,u8} u8"),
	/* Their callers give the device the checksum of the members. */
	TT_ROW(tt_ret_struct16, "!u8 u8 s8"),
	TT_ROW(tt_ret_struct24, "!u8 u8 s4"),
	TT_ROW(tt_ret_packed, "!u8 u8 u8"),
	TT_ROW(tt_ret_int128, "!u8 u8 u8"),
	TT_ROW(tt_int128, "!u8 u8 u8 u8 u8 u8 u8 u8 {packed,u8,u8}"),
	{}
};
