// SPDX-License-Identifier: GPL-2.0
/*
 * The program whose debuginfo test_lines reads. It is found by words behind MARK, so lines may
 * come and go. In this program _stext is a function like any other.
 */
static volatile int sink;

#include "sample.h"

static inline __attribute__((always_inline)) void copied(int x)
{
	sink = x * 3;		/* MARK copied */
}

__attribute__((noinline)) int _stext(int x)
{
	copied(x);		/* MARK calls */
	return x + sink;
}

__attribute__((noinline)) int twice(int x)
{
	copied(x);
	copied(x + sink);
	return x - sink;
}

__attribute__((noinline)) int alone(int x)
{
	/* MARK nothing */
	sink = x ^ 5;		/* MARK alone */
	in_header(x);

	return sink;		/* MARK result */
}

int main(int argc, char **argv)
{
	(void)argv;
	return _stext(argc) + twice(argc) + alone(argc);
}
