// SPDX-License-Identifier: GPL-2.0
/*
 * Many functions to attach to: bench_many_000 to bench_many_999, all alike.
 */
#include <linux/kernel.h>
#include <linux/types.h>
#include "trampoline_bench.h"

/* F(000) ... F(999): three decimal digits pasted together */
#define DIGIT(F, p) \
	F(p##0) F(p##1) F(p##2) F(p##3) F(p##4) F(p##5) F(p##6) F(p##7) F(p##8) F(p##9)
#define HUNDRED(F, h) \
	DIGIT(F, h##0) DIGIT(F, h##1) DIGIT(F, h##2) DIGIT(F, h##3) DIGIT(F, h##4) \
	DIGIT(F, h##5) DIGIT(F, h##6) DIGIT(F, h##7) DIGIT(F, h##8) DIGIT(F, h##9)
#define THOUSAND(F) \
	HUNDRED(F, 0) HUNDRED(F, 1) HUNDRED(F, 2) HUNDRED(F, 3) HUNDRED(F, 4) \
	HUNDRED(F, 5) HUNDRED(F, 6) HUNDRED(F, 7) HUNDRED(F, 8) HUNDRED(F, 9)

#define DEFINE(n)							\
	extern const unsigned long bench_many_##n##_mid;		\
	u64 bench_many_##n(u64 a, u64 b);				\
	BENCH_TARGET u64 bench_many_##n(u64 a, u64 b)			\
	{								\
		return BENCH_BODY(bench_many_##n, a, b);		\
	}

#define ROW(n) { bench_many_##n, &bench_many_##n##_mid, "bench_many_" #n },

THOUSAND(DEFINE)

const struct bench_one bench_many[BENCH_MANY_NR] = { THOUSAND(ROW) };
