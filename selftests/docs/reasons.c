// SPDX-License-Identifier: GPL-2.0
/*
 * Print the reasons as the rows of docs/reasons.md, from the tables that the
 * module and the library are made of: `reasons module`, `reasons library`.
 */
#include <stdio.h>
#include <string.h>
#include <trampoline/trampoline.h>

static void print_row(unsigned int value)
{
	const char *remedy = tramp_reason_remedy(value);

	printf("| `%s` | %s | %s |\n", tramp_reason_name(value), tramp_reason_sentence(value),
	       remedy);
}

int main(int argc, char **argv)
{
	unsigned int value;

	if (argc == 2 && !strcmp(argv[1], "module")) {
		for (value = TRAMP_REASON_NONE + 1; value < TRAMP_REASON_COUNT; value++)
			print_row(value);
		return 0;
	}
	if (argc == 2 && !strcmp(argv[1], "library")) {
		for (value = TRAMP_LIB_NO_DEVICE; value < TRAMP_LIB_REASON_END; value++)
			print_row(value);
		return 0;
	}
	fprintf(stderr, "usage: reasons module|library\n");
	return 2;
}
