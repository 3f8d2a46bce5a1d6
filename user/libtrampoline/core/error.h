/* SPDX-License-Identifier: LGPL-2.1 OR BSD-2-Clause */
/*
 * The last error of a thread, and messages to the person.
 */
#ifndef LIBTRAMPOLINE_CORE_ERROR_H
#define LIBTRAMPOLINE_CORE_ERROR_H

#include <errno.h>
#include <stdio.h>

#include <trampoline/trampoline.h>

/* Longest subject of an error: 'program "x" (SEC("y"))'. */
#define LIBTRAMP_SUBJECT_LEN	256

/**
 * struct libtramp_failure - what libtramp_fail() records, besides the detail
 * @err: negative errno
 * @reason: enum tramp_reason or enum tramp_lib_reason
 * @subject: what it is about; NULL: nothing
 * @remedy: what to do; NULL: the reason's general remedy
 * @sentence: why; NULL: the reason's general sentence
 * @func: what stands for FUNCTION in the general remedy; NULL: that is not known
 * @addr: the address it is about, 0: none
 * @from_kernel: the module refused
 */
struct libtramp_failure {
	int err;
	unsigned int reason;
	const char *subject;
	const char *remedy;
	const char *sentence;
	const char *func;
	uint64_t addr;
	bool from_kernel;
};

/* In the place of a detail: there is none. */
#define NO_DETAIL	((const char *)0)

/**
 * libtramp_fail() - record the calling thread's last error
 * @f: what failed; its strings may be those of the last error itself
 * @detail: printf format of the detail; NO_DETAIL: none
 *
 * Return: @f->err, with errno set to match.
 */
int libtramp_fail(const struct libtramp_failure *f, const char *detail, ...)
	__attribute__((format(printf, 2, 3)));

/* libtramp_fail() for the usual case: errno, reason, subject, detail... */
#define LIBTRAMP_FAIL(error, why, what, ...)				\
	libtramp_fail(&(struct libtramp_failure) {			\
		.err = (error), .reason = (why), .subject = (what) },	\
		__VA_ARGS__)

/* The failure that a refusal of the module is, for libtramp_fail(). */
struct libtramp_failure libtramp_failure_of(int err, const struct tramp_refusal *refusal,
					    const char *subject);

/**
 * libtramp_fail_ioctl() - record that a command of the module failed
 * @err: negative errno of the ioctl
 * @refusal: the reply's; without a reason in it the errno says all
 * @command: the ioctl's name, without TRAMP_IOC_
 * @subject: what it is about; NULL: nothing
 *
 * Return: @err, with errno set to match.
 */
int libtramp_fail_ioctl(int err, const struct tramp_refusal *refusal, const char *command,
			const char *subject);

/*
 * Is a refusal about the caller, rather than about one of the things that he asked for? Then
 * nothing of the kind would be done for him.
 */
bool libtramp_refuses_caller(const struct tramp_refusal *refusal);

/* Record -ENOMEM. */
int libtramp_fail_nomem(const char *subject);

/* Print the last error as a warning: for calls that act, at their outermost layer. */
void libtramp_warn_last(void);

/* Pass a message to the print callback. */
void libtramp_print(enum tramp_print_level level, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

#endif /* LIBTRAMPOLINE_CORE_ERROR_H */
