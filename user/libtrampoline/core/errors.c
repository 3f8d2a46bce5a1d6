// SPDX-License-Identifier: LGPL-2.1 OR BSD-2-Clause
/*
 * The last error: every failing call leaves, besides its errno, a record for its
 * thread that says which thing failed, why, and what mends it.
 *
 * The record is in thread-local storage with all of its texts, so that it needs
 * no allocation (it has to work when memory is what is lacking) and no freeing.
 * The strings a new record is made from may be those of the old one: outer
 * layers add to what inner ones recorded.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../remedies.h"
#include "error.h"

#define DETAIL_LEN	512
#define REMEDY_LEN	384
#define SENTENCE_LEN	160

/* The public record and the memory its texts are in. */
struct last_error {
	struct tramp_error pub;
	char sentence[SENTENCE_LEN];
	char subject[LIBTRAMP_SUBJECT_LEN];
	char detail[DETAIL_LEN];
	char remedy[REMEDY_LEN];
	char message[SENTENCE_LEN + LIBTRAMP_SUBJECT_LEN + DETAIL_LEN + REMEDY_LEN + 64];
};

static __thread struct last_error last;

static void point_at_texts(struct last_error *e)
{
	e->pub.sentence = e->sentence;
	e->pub.subject = e->subject;
	e->pub.detail = e->detail;
	e->pub.remedy = e->remedy;
	e->pub.message = e->message;
	if (!e->pub.name)
		e->pub.name = "";
}

const struct tramp_error *tramp_last_error(void)
{
	/* A thread's first look, before anything failed, finds zeroes. */
	point_at_texts(&last);
	return &last.pub;
}

void tramp_clear_error(void)
{
	memset(&last, 0, sizeof(last));
}

/* snprintf() at @pos of a buffer; the new end, which stays within the buffer. */
static size_t __attribute__((format(printf, 4, 5)))
append(char *buf, size_t len, size_t pos, const char *fmt, ...)
{
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(buf + pos, len - pos, fmt, ap);
	va_end(ap);
	if (n < 0)
		return pos;
	return (size_t)n < len - pos ? pos + n : len - 1;
}

/* subject: sentence (detail; address 0x...): remedy */
static void compose(struct last_error *e)
{
	const size_t len = sizeof(e->message);
	size_t pos = 0;

	e->message[0] = '\0';
	if (e->subject[0])
		pos = append(e->message, len, pos, "%s: ", e->subject);
	pos = append(e->message, len, pos, "%s", e->sentence);
	if (e->detail[0] && e->pub.addr)
		pos = append(e->message, len, pos, " (%s, address 0x%llx)", e->detail,
			     (unsigned long long)e->pub.addr);
	else if (e->detail[0])
		pos = append(e->message, len, pos, " (%s)", e->detail);
	else if (e->pub.addr)
		pos = append(e->message, len, pos, " (address 0x%llx)",
			     (unsigned long long)e->pub.addr);
	if (e->remedy[0])
		append(e->message, len, pos, "; %s", e->remedy);
}

static void record(struct last_error *e, const struct libtramp_failure *f)
{
	e->pub.err = f->err;
	e->pub.reason = f->reason;
	e->pub.from_kernel = f->from_kernel;
	e->pub.addr = f->addr;
	e->pub.name = tramp_reason_name(f->reason);
	/* Without a reason of its own the errno is all there is to tell. */
	snprintf(e->sentence, sizeof(e->sentence), "%s", f->sentence ?:
		 f->reason == TRAMP_REASON_NONE ? strerror(-f->err) :
		 tramp_reason_sentence(f->reason));
	snprintf(e->subject, sizeof(e->subject), "%s", f->subject ? f->subject : "");
	if (f->remedy)
		snprintf(e->remedy, sizeof(e->remedy), "%s", f->remedy);
	else
		remedy_for(tramp_reason_remedy(f->reason), f->func, e->remedy, sizeof(e->remedy));
	point_at_texts(e);
	compose(e);
}

int libtramp_fail(const struct libtramp_failure *f, const char *detail, ...)
{
	struct last_error e;
	va_list ap;

	/* Made aside: @f's strings may point into the record it replaces. */
	e.pub.name = NULL;
	e.detail[0] = '\0';
	if (detail) {
		va_start(ap, detail);
		vsnprintf(e.detail, sizeof(e.detail), detail, ap);
		va_end(ap);
	}
	record(&e, f);
	memcpy(&last, &e, sizeof(last));
	point_at_texts(&last);
	libtramp_print(TRAMP_PRINT_DEBUG, "%s\n", last.message);
	errno = -f->err;
	return f->err;
}

struct libtramp_failure libtramp_failure_of(int err, const struct tramp_refusal *refusal,
					    const char *subject)
{
	return (struct libtramp_failure){
		.err = err,
		.reason = refusal->reason,
		.subject = subject,
		.addr = refusal->addr,
		.from_kernel = true,
	};
}

int libtramp_fail_ioctl(int err, const struct tramp_refusal *refusal, const char *command,
			const char *subject)
{
	const struct libtramp_failure f = libtramp_failure_of(err, refusal, subject);

	if (refusal->reason)
		return libtramp_fail(&f, "%.*s", (int)sizeof(refusal->detail), refusal->detail);
	switch (err) {
	case -EPERM:
		return LIBTRAMP_FAIL(err, TRAMP_REASON_PERMISSION, subject, NO_DETAIL);
	case -ENOMEM:
		return libtramp_fail_nomem(subject);
	default:
		return LIBTRAMP_FAIL(err, TRAMP_LIB_SYSTEM, subject, "TRAMP_IOC_%s: %s", command,
				     strerror(-err));
	}
}

bool libtramp_refuses_caller(const struct tramp_refusal *refusal)
{
	return refusal->reason == TRAMP_REASON_PERMISSION ||
	       refusal->reason == TRAMP_REASON_LOCKDOWN;
}

int libtramp_fail_nomem(const char *subject)
{
	return LIBTRAMP_FAIL(-ENOMEM, TRAMP_REASON_NO_MEMORY, subject, NO_DETAIL);
}

void libtramp_warn_last(void)
{
	int saved = errno;

	libtramp_print(TRAMP_PRINT_WARN, "libtrampoline: %s\n", tramp_last_error()->message);
	errno = saved;
}
