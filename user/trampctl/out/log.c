// SPDX-License-Identifier: GPL-2.0
/*
 * libbpf's own messages. While a command runs, we keep them aside: most of them repeat what
 * trampctl says better. --debug shows them. An error shows them too where nothing else explains
 * it, as with what the verifier found.
 *
 * The verifier tells all that it has looked at, and at the end what it did not like. So the log
 * is folded: the line of source and the instruction that it came to, and what it says of them.
 * --verbose shows all of it.
 */
#include <bpf/libbpf.h>
#include <ctype.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <trampoline/trampoline.h>

#include "error.h"
#include "log.h"
#include "text.h"

/* libbpf puts these around what the verifier says. */
#define LOG_BEGIN	"-- BEGIN PROG LOAD LOG --\n"
#define LOG_END		"-- END PROG LOAD LOG --"

/* Of a log without an instruction, the last lines. */
#define MAX_LINES	10

bool verbose_output;

static char *log_text;
static size_t log_len;

static int keep_message(enum libbpf_print_level level, const char *fmt, va_list ap)
{
	char *text;
	int n;

	if (level != LIBBPF_WARN && !debug_output)
		return 0;
	n = vasprintf(&text, fmt, ap);
	if (n < 0)
		return 0;
	if (debug_output)
		fputs(text, stderr);
	if (level != LIBBPF_WARN) {
		free(text);
		return n;
	}
	log_text = xrealloc(log_text, log_len + n + 1);
	memcpy(log_text + log_len, text, n + 1);
	log_len += n;
	free(text);
	return n;
}

static int show_message(enum tramp_print_level level, const char *fmt, va_list ap)
{
	(void)level;
	return vfprintf(stderr, fmt, ap);
}

/* From here on libbpf and the library keep quiet, unless --debug. */
void log_capture_init(void)
{
	libbpf_set_print(keep_message);
	tramp_set_print(debug_output ? show_message : NULL);
}

/* libbpf's warnings so far; empty if none. */
const char *log_captured(void)
{
	return log_text ?: "";
}

/* "12: (61) r0 = ...": an instruction. Of its registers, "12: R0=..." */
static bool is_insn(const char *line)
{
	const size_t digits = strspn(line, "0123456789");

	return digits && !strncmp(line + digits, ": (", 3);
}

/* How much it was: not why. */
static bool is_statistics(const char *line)
{
	static const char *const heads[] = { "processed ", "verification time ", "stack depth " };
	size_t i;

	for (i = 0; i < sizeof(heads) / sizeof(heads[0]); i++)
		if (!strncmp(line, heads[i], strlen(heads[i])))
			return true;
	return false;
}

static const char *next_line(const char *line, const char *end)
{
	const char *nl = memchr(line, '\n', end - line);

	return nl ? nl + 1 : end;
}

static void print_line(const char *line, const char *end)
{
	fprintf(stderr, "  %.*s", (int)(next_line(line, end) - line), line);
}

/* Shows what matters of one log of the verifier. */
static void print_folded(const char *begin, const char *end)
{
	const char *line, *source = NULL, *last_source = NULL, *insn = NULL;
	size_t nr = 0, i = 0, first;

	for (line = begin; line < end; line = next_line(line, end), nr++) {
		if (line[0] == ';')
			last_source = line;
		if (!is_insn(line))
			continue;
		insn = line;
		source = last_source;
	}
	if (source)
		print_line(source, end);
	first = nr > MAX_LINES ? nr - MAX_LINES : 0;
	for (line = begin; line < end; line = next_line(line, end), i++)
		if (!is_statistics(line) && (insn ? line >= insn : i >= first))
			print_line(line, end);
	fprintf(stderr, "  (the verifier's log has %zu lines, -v shows all of them)\n", nr);
}

/* The verifier's last words, to be freed; NULL if it has rejected nothing. */
char *log_verdict(void)
{
	const char *begin = strstr(log_captured(), LOG_BEGIN), *end, *line, *last = NULL;

	if (!begin)
		return NULL;
	begin += strlen(LOG_BEGIN);
	end = strstr(begin, LOG_END);
	if (!end)
		end = begin + strlen(begin);
	for (line = begin; line < end; line = next_line(line, end))
		if (!is_statistics(line) && !isspace((unsigned char)*line))
			last = line;
	return last ? xasprintf("the verifier says: %.*s", (int)strcspn(last, "\n"), last) :
		      xasprintf("the verifier rejects it");
}

/* Shows what was kept, on standard error. */
void log_print(void)
{
	const char *text = log_captured(), *begin, *end;

	if (debug_output)
		return;
	while (!verbose_output && (begin = strstr(text, LOG_BEGIN)) &&
	       (end = strstr(begin, LOG_END))) {
		/* Up to the line that begins the log, which has libbpf's name in front. */
		for (; text < begin && memchr(text, '\n', begin - text);
		     text = next_line(text, begin))
			fwrite(text, 1, next_line(text, begin) - text, stderr);
		print_folded(begin + strlen(LOG_BEGIN), end);
		text = next_line(end, end + strlen(end));
	}
	fputs(text, stderr);
}
