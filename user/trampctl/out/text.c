// SPDX-License-Identifier: GPL-2.0
/*
 * Strings, memory, and one-line files.
 *
 * Running out of memory in a command line tool has one right answer, so the
 * allocators here give it: they say so and exit. Nothing of ours is left in the
 * kernel then, since links go with their file descriptors.
 *
 * Text that comes from the kernel (file names, task names) may hold any byte; it
 * must neither break the terminal nor make JSON invalid. A byte that is not printable
 * UTF-8 appears as \xNN.
 */
#include <inttypes.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "error.h"
#include "text.h"

static void out_of_memory(void)
{
	fputs("trampctl: out of memory\n", stderr);
	exit(EXIT_FAILED);
}

void *xcalloc(size_t nr, size_t size)
{
	void *p = calloc(nr ? nr : 1, size ? size : 1);

	if (!p)
		out_of_memory();
	return p;
}

void *xrealloc(void *p, size_t size)
{
	p = realloc(p, size ? size : 1);
	if (!p)
		out_of_memory();
	return p;
}

/* Returns a new string, to be freed by the caller. */
char *xasprintf(const char *fmt, ...)
{
	va_list ap;
	char *s;
	int n;

	va_start(ap, fmt);
	n = vasprintf(&s, fmt, ap);
	va_end(ap);
	if (n < 0)
		out_of_memory();
	return s;
}

/**
 * utf8_char() - is there one whole character of valid UTF-8?
 * @s: text, not necessarily zero terminated
 * @len: bytes at @s
 * @used: (out) bytes of the character; 1 if it is not valid
 *
 * Overlong forms, surrogates and what lies above U+10FFFF are invalid.
 */
bool utf8_char(const char *s, size_t len, size_t *used)
{
	const unsigned char *u = (const unsigned char *)s;
	size_t n, i;

	*used = 1;
	if (!len)
		return false;
	if (u[0] < 0x80)
		return true;
	if (u[0] >= 0xc2 && u[0] <= 0xdf)
		n = 2;
	else if (u[0] >= 0xe0 && u[0] <= 0xef)
		n = 3;
	else if (u[0] >= 0xf0 && u[0] <= 0xf4)
		n = 4;
	else
		return false;
	if (len < n)
		return false;
	for (i = 1; i < n; i++)
		if ((u[i] & 0xc0) != 0x80)
			return false;
	if ((u[0] == 0xe0 && u[1] < 0xa0) || (u[0] == 0xed && u[1] > 0x9f) ||
	    (u[0] == 0xf0 && u[1] < 0x90) || (u[0] == 0xf4 && u[1] > 0x8f))
		return false;
	*used = n;
	return true;
}

/* Does a terminal take this character for a command? U+0080 to U+009F are two bytes of UTF-8. */
static bool is_control(const char *s, size_t used)
{
	const unsigned char *u = (const unsigned char *)s;

	return u[0] < 0x20 || u[0] == 0x7f || (used == 2 && u[0] == 0xc2 && u[1] < 0xa0);
}

/**
 * quote_text() - make text safe to show
 * @s: the text, up to a zero or @len
 * @len: bytes at @s
 *
 * Control characters, with those behind ASCII (U+0080 to U+009F), and bytes that are not
 * UTF-8 become \n, \t, \r, or \xNN; a backslash and a double quote get a backslash.
 *
 * Return: a new string without surrounding quotes, to be freed by the caller.
 */
char *quote_text(const char *s, size_t len)
{
	size_t i = 0, o = 0, used;
	char *out;

	len = strnlen(s, len);
	out = xcalloc(len * 4 + 1, 1);
	while (i < len) {
		unsigned char c = s[i];

		if (!utf8_char(s + i, len - i, &used) || is_control(s + i, used)) {
			if (c == '\n' || c == '\t' || c == '\r') {
				out[o++] = '\\';
				out[o++] = c == '\n' ? 'n' : c == '\t' ? 't' : 'r';
				i++;
				continue;
			}
			for (; used; used--)
				o += sprintf(out + o, "\\x%02x", (unsigned char)s[i++]);
			continue;
		}
		if (c == '"' || c == '\\')
			out[o++] = '\\';
		memcpy(out + o, s + i, used);
		o += used;
		i += used;
	}
	return out;
}

/* The first line of a file, without its end; false if there is none. */
bool read_line(const char *path, char *buf, size_t len)
{
	FILE *f = fopen(path, "r");
	bool ok;

	if (!f)
		return false;
	ok = fgets(buf, len, f);
	fclose(f);
	if (ok)
		buf[strcspn(buf, "\n")] = 0;
	return ok;
}

/* A duration in the unit that fits: 12.3us. */
void duration_text(uint64_t ns, char *buf, size_t len)
{
	if (ns < 1000)
		snprintf(buf, len, "%" PRIu64 "ns", ns);
	else if (ns < 1000000)
		snprintf(buf, len, "%" PRIu64 ".%" PRIu64 "us", ns / 1000, ns % 1000 / 100);
	else if (ns < 1000000000)
		snprintf(buf, len, "%" PRIu64 ".%03" PRIu64 "ms", ns / 1000000, ns % 1000000 / 1000);
	else
		snprintf(buf, len, "%" PRIu64 ".%03" PRIu64 "s", ns / 1000000000, ns % 1000000000 / 1000000);
}
