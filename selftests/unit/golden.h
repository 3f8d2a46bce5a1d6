/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The bytes of all images that the unit tests ask for, held against those of the commit before.
 * So a change of the emitters that is not meant to change an image does not.
 *
 * The linker sends the tests' calls of tramp_x86_emit_fentry(), tramp_x86_emit_detour() and
 * tramp_x86_relocate() through golden.c, and those calls of relocate that the emitters make.
 * Their requests and the answers go into two digests for each test. When the test has returned,
 * its digests are compared with its line in golden.txt:
 *
 *	PROGRAM/TEST CALLS REQUESTS ANSWERS
 *
 * Requests are digested by value, without the addresses of the test's own memory. So they are
 * the same in every process and on every machine, and two lines whose REQUESTS agree
 * are about the same images. Random tests have fixed seeds; with another seed or count
 * (TRAMP_SEED, TRAMP_COUNT) nothing is compared.
 *
 * A change that is meant to change images, or the tests' requests, comes with a new
 * golden.txt: `make update-golden` writes it and says which tests have other bytes.
 *
 * The one program that is left out is test_fentry_abi (build.mk): the functions that it
 * traces are where the compiler and the loader have put them.
 */
#ifndef SELFTESTS_UNIT_GOLDEN_H
#define SELFTESTS_UNIT_GOLDEN_H

#include "../../kernel/x86/types.h"

/**
 * struct golden - what one test asked and got
 * @calls: calls of an emitter
 * @requests: digest of all requests, in order
 * @answers: digest of all results: error, size, offsets, bytes
 */
struct golden {
	u64 calls;
	u64 requests;
	u64 answers;
};

/* The digest of @n bytes behind those that @digest stands for; GOLDEN_EMPTY: nothing. */
#define GOLDEN_EMPTY	0xcbf29ce484222325ULL
u64 golden_digest(u64 digest, const void *bytes, size_t n);

/* The running test's requests and answers so far. */
extern struct golden golden_now;

/* golden.txt, as it was when the program was built. */
extern const char golden_text[];

/*
 * The line that @text has of a test, PROGRAM/TEST. Return: false if it has no such line, then
 * all of @was is as for a test that asks nothing.
 */
bool golden_find(const char *text, const char *name, struct golden *was);

/* Return: in what they differ, NULL if they do not. */
const char *golden_differ(const struct golden *was, const struct golden *is);

#endif /* SELFTESTS_UNIT_GOLDEN_H */
