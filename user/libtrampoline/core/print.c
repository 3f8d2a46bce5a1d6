// SPDX-License-Identifier: LGPL-2.1 OR BSD-2-Clause
/*
 * Messages and the version: where the library talks to the person rather than
 * to the program.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "error.h"

static int print_default(enum tramp_print_level level, const char *fmt, va_list args)
{
	if (level == TRAMP_PRINT_DEBUG) {
		const char *debug = getenv("LIBTRAMPOLINE_DEBUG");

		if (!debug || !debug[0])
			return 0;
	}
	return vfprintf(stderr, fmt, args);
}

/* Read and written whole by any thread, in no order with anything else. */
static tramp_print_fn_t print_fn = print_default;

tramp_print_fn_t tramp_set_print(tramp_print_fn_t fn)
{
	return __atomic_exchange_n(&print_fn, fn, __ATOMIC_RELAXED);
}

void libtramp_print(enum tramp_print_level level, const char *fmt, ...)
{
	tramp_print_fn_t fn = __atomic_load_n(&print_fn, __ATOMIC_RELAXED);
	int saved = errno;
	va_list ap;

	if (!fn)
		return;
	va_start(ap, fmt);
	fn(level, fmt, ap);
	va_end(ap);
	errno = saved;
}

uint32_t tramp_major_version(void)
{
	return TRAMP_MAJOR_VERSION;
}

uint32_t tramp_minor_version(void)
{
	return TRAMP_MINOR_VERSION;
}

#define STR_(x)	#x
#define STR(x)	STR_(x)

const char *tramp_version_string(void)
{
	return "v" STR(TRAMP_MAJOR_VERSION) "." STR(TRAMP_MINOR_VERSION);
}
