// SPDX-License-Identifier: GPL-2.0
/*
 * How errors look: one line that says what failed, one with what to do about it,
 * and under -j an object with the same in members. All on stderr.
 */
#include <bpf/libbpf.h>
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <trampoline/trampoline.h>

#include "../../remedies.h"
#include "error.h"
#include "json.h"
#include "log.h"
#include "text.h"

bool debug_output;
bool quiet_output;
const char *current_command;

/* --------------------------------------------------------------- errors -- */

static void print_text(const struct problem *p, const char *reason, const char *msg)
{
	const char *const *s;

	fprintf(stderr, "trampctl%s%s: %s", current_command ? " " : "",
		current_command ? current_command : "", msg);
	if (reason)
		fprintf(stderr, " [%s]", reason);
	fputc('\n', stderr);
	if (p->similar && p->similar[0]) {
		fputs("  did you mean: ", stderr);
		for (s = p->similar; *s; s++)
			fprintf(stderr, "%s%s", s == p->similar ? "" : ", ", *s);
		fputc('\n', stderr);
	}
	if (p->remedy && p->remedy[0])
		fprintf(stderr, "  remedy: %s\n", p->remedy);
}

static void print_json(const struct problem *p, const char *reason, const char *msg)
{
	json_object *j = json_object_new_object(), *top = json_object_new_object();
	const char *const *s;
	json_object *list;

	if (current_command)
		json_put_str(j, "command", current_command);
	json_put_s64(j, "exit_code", p->exit_code);
	json_put_s64(j, "errno", p->err);
	if (p->err && strerrorname_np(p->err))
		json_put_str(j, "errno_name", strerrorname_np(p->err));
	if (reason)
		json_put_str(j, "reason", reason);
	json_put_str(j, "message", msg);
	if (p->remedy && p->remedy[0])
		json_put_str(j, "remedy", p->remedy);
	if (p->similar && p->similar[0]) {
		list = json_object_new_array();
		for (s = p->similar; *s; s++)
			json_object_array_add(list, json_bytes(*s, strlen(*s)));
		json_object_object_add(j, "similar", list);
	}
	if (log_captured()[0])
		json_put_bytes(j, "log", log_captured(), strlen(log_captured()));
	json_object_object_add(top, "error", j);
	json_print_to(stderr, top);
}

/**
 * fail() - report an error
 * @p: what went wrong
 * @fmt: one line without newline that names the thing
 *
 * Return: @p->exit_code, for `return fail(...)`.
 */
int fail(const struct problem *p, const char *fmt, ...)
{
	va_list ap;
	char *msg;

	fflush(stdout);
	va_start(ap, fmt);
	if (vasprintf(&msg, fmt, ap) < 0)
		msg = NULL;
	va_end(ap);
	(json_output ? print_json : print_text)(p, p->reason, msg ? msg : fmt);
	free(msg);
	return p->exit_code;
}

static int usage_problem(const char *const *similar, const char *fmt, va_list ap)
{
	struct problem p = { .exit_code = EXIT_USAGE, .err = EINVAL, .reason = "usage",
			     .similar = similar };
	char *msg, *remedy;

	remedy = current_command ? xasprintf("trampctl help %s", current_command) :
			       xasprintf("trampctl help");
	p.remedy = remedy;
	if (vasprintf(&msg, fmt, ap) < 0)
		msg = NULL;
	fail(&p, "%s", msg ? msg : fmt);
	free(remedy);
	free(msg);
	return EXIT_USAGE;
}

/* Reports a command line that makes no sense. Returns EXIT_USAGE. */
int usage_error(const char *fmt, ...)
{
	va_list ap;
	int rc;

	va_start(ap, fmt);
	rc = usage_problem(NULL, fmt, ap);
	va_end(ap);
	return rc;
}

/* The same where words are known that may have been meant: a list ended by NULL. */
int usage_error_similar(const char *const *similar, const char *fmt, ...)
{
	va_list ap;
	int rc;

	va_start(ap, fmt);
	rc = usage_problem(similar, fmt, ap);
	va_end(ap);
	return rc;
}

/* Something the user should know that is no reason to stop, unless --quiet. */
void warn(const char *fmt, ...)
{
	json_object *j;
	va_list ap;
	char *msg;

	if (quiet_output)
		return;
	va_start(ap, fmt);
	if (vasprintf(&msg, fmt, ap) < 0)
		msg = NULL;
	va_end(ap);
	if (!msg)
		return;
	if (json_output) {
		j = json_object_new_object();
		json_put_str(j, "warning", msg);
		json_print_to(stderr, j);
	} else {
		fprintf(stderr, "trampctl: %s\n", msg);
	}
	free(msg);
}

/* ------------------------------------------------ errors of the library -- */

/*
 * Which exit code a reason means; the table of trampctl(8), EXIT STATUS. A reason that is
 * newer than this program is a refusal if it is the module's.
 */
static int exit_code_of_reason(unsigned int reason)
{
	switch (reason) {
#define REASON_STATUS(NAME, status, remedy) case TRAMP_##NAME: return EXIT_##status;
	TRAMP_REMEDIES(REASON_STATUS)
#undef REASON_STATUS
	}
	return reason < TRAMP_LIB_NO_DEVICE ? EXIT_REFUSED : EXIT_FAILED;
}

static int exit_code_of(const struct tramp_error *e)
{
	int code = exit_code_of_reason(e->reason);

	/* An errno about rights says more than these. */
	if ((code == EXIT_REFUSED || code == EXIT_FAILED || code == EXIT_NOT_FOUND) &&
	    (e->err == -EPERM || e->err == -EACCES))
		return EXIT_PERMISSION;
	return code;
}

/* The library's message without the remedy, which has a line of its own. To be freed. */
static char *lib_message(const struct tramp_error *e)
{
	/* The module may name the link or function once more. */
	const char *detail = strcmp(e->detail, e->subject) ? e->detail : "";
	bool more = detail[0] || e->addr;
	char addr[40] = "";

	if (e->addr)
		snprintf(addr, sizeof(addr), "%saddress 0x%" PRIx64, detail[0] ? ", " : "",
			 e->addr);
	return xasprintf("%s%s%s%s%s%s%s", e->subject, e->subject[0] ? ": " : "", e->sentence,
			 more ? " (" : "", detail, addr, more ? ")" : "");
}

/* A remedy of the library with @func for each FUNCTION in it; to be freed. */
char *remedy_text(const char *remedy, const char *func)
{
	char buf[512];

	remedy_for(remedy, func, buf, sizeof(buf));
	return xasprintf("%s", buf);
}

/**
 * fail_lib() - report the library's last error
 * @syms: to suggest names from if a function was not found; NULL: a snapshot is taken
 *	when that is needed
 * @what: the function or link it was about, as the user wrote it; may be NULL
 *
 * Return: the exit code.
 */
int fail_lib(const struct tramp_syms *syms, const char *what)
{
	const struct tramp_error *e = tramp_last_error();
	struct problem p = {
		.exit_code = exit_code_of(e), .err = -e->err,
		.reason = e->reason ? e->name : NULL,
	};
	const char *similar[8 + 1] = { NULL };
	const char *colon = what ? strchr(what, ':') : NULL;
	char *msg = lib_message(e), *remedy = xasprintf("%s", e->remedy ?: "");
	struct tramp_syms *own = NULL;

	/* A copy: what is asked below may be the next to fail. */
	p.remedy = remedy;
	/* In words, the library's message has the nearest names already. */
	if (what && json_output && e->reason == TRAMP_REASON_NO_SUCH_FUNCTION) {
		if (!syms)
			syms = own = tramp_syms__load(NULL);
		if (syms)
			tramp_syms__suggest(syms, colon ? colon + 1 : what, similar, 8);
		p.similar = similar;
	}
	fail(&p, "%s", msg);
	free(msg);
	free(remedy);
	tramp_syms__free(own);
	return p.exit_code;
}

/* fail_lib() about a place: of [MODULE:]FUNCTION[+OFFSET] the function counts. */
int fail_place(const struct tramp_syms *syms, const char *spec)
{
	char *func = strndup(spec, strcspn(spec, "+"));
	int rc = fail_lib(syms, func);

	free(func);
	return rc;
}

/**
 * fail_bpf() - report a failure of libbpf
 * @err: what it returned, positive or negative
 * @fmt: what was tried
 *
 * Shows libbpf's own messages as well. The reason is `system`, unless it is known better.
 *
 * Return: the exit code.
 */
int fail_bpf(int err, const char *fmt, ...)
{
	struct problem p = {
		.exit_code = EXIT_FAILED, .err = err < 0 ? -err : err, .reason = "system",
	};
	char why[128], *what = NULL, *verdict = log_verdict();
	va_list ap;

	if (p.err == EPERM || p.err == EACCES) {
		p.exit_code = EXIT_PERMISSION;
		p.reason = "permission";
		p.remedy = "run it as root, or with CAP_BPF and CAP_PERFMON";
	} else if (p.err == ENOENT) {
		p.exit_code = EXIT_NOT_FOUND;
	}
	/* It says EACCES when it does not like a program, and other things. */
	if (verdict) {
		p.exit_code = EXIT_FAILED;
		p.reason = "verifier";
		p.remedy = "change the program where the verifier's words above point";
	}
	libbpf_strerror(p.err, why, sizeof(why));
	if (!p.remedy)
		p.remedy = tramp_reason_remedy(TRAMP_LIB_SYSTEM);
	/* Its own numbers, which are no errnos: they are about the file. */
	if (p.err >= __LIBBPF_ERRNO__START) {
		p.err = EINVAL;
		p.reason = "bad-object";
		p.remedy = "give it what clang -g -target bpf makes";
	}
	va_start(ap, fmt);
	if (vasprintf(&what, fmt, ap) < 0)
		what = NULL;
	va_end(ap);
	if (!json_output)
		log_print();
	fail(&p, "%s: %s", what ? what : fmt, verdict ? verdict : why);
	free(verdict);
	free(what);
	return p.exit_code;
}
