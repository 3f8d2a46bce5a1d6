// SPDX-License-Identifier: GPL-2.0
/*
 * trampoline-bench: the half of the benchmark that runs in the guest. It writes
 * figures, one a line (bench_record()), which the report on the other side reads.
 */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>
#include "bench.h"

void bench_record(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vprintf(fmt, ap);
	va_end(ap);
	putchar('\n');
	fflush(stdout);
}

static const struct {
	const char *name;
	void (*run)(void);
	const char *what;
} parts[] = {
	{ "count", bench_count, "instructions per hit; needs -icount" },
	{ "times", bench_times, "attaching, optimising and detaching many" },
	{ "memory", bench_memory, "memory an attachment takes" },
	{ "multi", bench_multi, "one program at many functions: times and memory" },
};

int main(int argc, char **argv)
{
	struct utsname u;
	size_t i;

	for (i = 0; argc == 2 && i < sizeof(parts) / sizeof(parts[0]); i++) {
		if (strcmp(argv[1], parts[i].name))
			continue;
		uname(&u);
		bench_record("release %s", u.release);
		parts[i].run();
		bench_record("done %s", parts[i].name);
		return 0;
	}
	fprintf(stderr, "usage: trampoline-bench PART\n\n");
	for (i = 0; i < sizeof(parts) / sizeof(parts[0]); i++)
		fprintf(stderr, "  %-8s %s\n", parts[i].name, parts[i].what);
	return 2;
}
