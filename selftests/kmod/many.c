// SPDX-License-Identifier: GPL-2.0
/*
 * Many functions for many programs at once: tt_many_000 to tt_many_299, all alike. The target
 * tt_many_000 stands for all: a call of it calls each of them once.
 */
#include <linux/kernel.h>
#include <linux/types.h>
#include "trampoline_test.h"

/* F(000) ... F(299): three decimal digits pasted together */
#define DIGIT(F, p) \
	F(p##0) F(p##1) F(p##2) F(p##3) F(p##4) F(p##5) F(p##6) F(p##7) F(p##8) F(p##9)
#define HUNDRED(F, h) \
	DIGIT(F, h##0) DIGIT(F, h##1) DIGIT(F, h##2) DIGIT(F, h##3) DIGIT(F, h##4) \
	DIGIT(F, h##5) DIGIT(F, h##6) DIGIT(F, h##7) DIGIT(F, h##8) DIGIT(F, h##9)
#define ALL(F)	HUNDRED(F, 0) HUNDRED(F, 1) HUNDRED(F, 2)

#define DEFINE(n)						\
	u64 tt_many_##n(u64 a);					\
	TT_TARGET u64 tt_many_##n(u64 a) { return TT_MIX(0, a); }

ALL(DEFINE)

#define CALL(n)	sum |= tt_many_##n(v[0]);

static noinline u64 call_tt_many_000(const u64 *v)
{
	u64 sum = 0;

	ALL(CALL)
	return sum;
}

struct tt_target tt_many_targets[] = {
	TT_ROW(tt_many_000, "u8 u8"),
	{}
};
