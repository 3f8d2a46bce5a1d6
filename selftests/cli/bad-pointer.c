// SPDX-License-Identifier: GPL-2.0
/* A system call with a string where nothing is mapped. */
#include <stdint.h>
#include <unistd.h>

int main(void)
{
	const char *nowhere = (const char *)(uintptr_t)0x10;
	char buf[8];

	return readlink(nowhere, buf, sizeof(buf)) < 0 ? 0 : 1;
}
