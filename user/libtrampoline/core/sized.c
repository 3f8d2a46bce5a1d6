// SPDX-License-Identifier: LGPL-2.1 OR BSD-2-Clause
/*
 * Structs that carry their size: a caller may have been compiled with an older
 * or a newer header than the library. We read an older caller's struct as if
 * zeroes followed it, and write only as far as it goes. We accept a newer
 * caller's struct if the part that this library does not know is zero.
 */
#include <string.h>

#include "sized.h"

bool libtramp_sized_ok(const void *user, size_t user_sz, size_t min, size_t known)
{
	const unsigned char *p = user;
	size_t i;

	if (!user || user_sz < min)
		return false;
	for (i = known; i < user_sz; i++)
		if (p[i])
			return false;
	return true;
}

void libtramp_out(void *user, size_t user_sz, const void *mine, size_t mine_sz)
{
	const size_t sz = sizeof(size_t);

	/* His @sz stays his; what is beyond ours stays as it is. */
	if (user_sz > mine_sz)
		user_sz = mine_sz;
	if (user_sz > sz)
		memcpy((char *)user + sz, (const char *)mine + sz, user_sz - sz);
}
