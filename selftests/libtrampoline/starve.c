// SPDX-License-Identifier: GPL-2.0
/* Calls without memory, see starve.h. The linker sends allocations to the functions here. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "../lib/ktap.h"
#include "fixture.h"
#include "starve.h"

static long fail_at, asked, live;
static bool failed;

bool starve_fails(void)
{
	if (!fail_at || ++asked != fail_at)
		return false;
	failed = true;
	errno = ENOMEM;
	return true;
}

void *__real_malloc(size_t size);
void *__real_calloc(size_t nr, size_t size);
void *__real_realloc(void *p, size_t size);
char *__real_strdup(const char *s);
void __real_free(void *p);

void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t nr, size_t size);
void *__wrap_realloc(void *p, size_t size);
char *__wrap_strdup(const char *s);
void __wrap_free(void *p);

/* Those of libc that allocate for their callers. */
FILE *__real_open_memstream(char **text, size_t *len);
int __real_fclose(FILE *f);

FILE *__wrap_open_memstream(char **text, size_t *len);
int __wrap_fclose(FILE *f);

/* Memory that is allocated now. libc's own (open_memstream()) is freed here, but not counted. */
static void *owned[256];

static void *count(void *p)
{
	size_t i;

	for (i = 0; p && i < sizeof(owned) / sizeof(owned[0]); i++) {
		if (!owned[i]) {
			owned[i] = p;
			live++;
			break;
		}
	}
	return p;
}

static void discount(const void *p)
{
	size_t i;

	for (i = 0; p && i < sizeof(owned) / sizeof(owned[0]); i++) {
		if (owned[i] == p) {
			owned[i] = NULL;
			live--;
			break;
		}
	}
}

void *__wrap_malloc(size_t size)
{
	return starve_fails() ? NULL : count(__real_malloc(size));
}

void *__wrap_calloc(size_t nr, size_t size)
{
	return starve_fails() ? NULL : count(__real_calloc(nr, size));
}

void *__wrap_realloc(void *p, size_t size)
{
	if (starve_fails())
		return NULL;
	discount(p);
	return count(__real_realloc(p, size));
}

char *__wrap_strdup(const char *s)
{
	return starve_fails() ? NULL : count(__real_strdup(s));
}

void __wrap_free(void *p)
{
	discount(p);
	__real_free(p);
}

FILE *__wrap_open_memstream(char **text, size_t *len)
{
	return starve_fails() ? NULL : __real_open_memstream(text, len);
}

/* The text may need memory only now. The stream is closed in any case. */
int __wrap_fclose(FILE *f)
{
	int err = __real_fclose(f);

	return starve_fails() ? EOF : err;
}

/* The next descriptor: it says whether some were left open. */
static int next_descriptor(void)
{
	int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);

	REQUIRE(fd >= 0, "/dev/null");
	close(fd);
	return fd;
}

void starve(const char *what, bool (*call)(void))
{
	const int descriptor = next_descriptor();
	long n;

	for (n = 1; n < 1000; n++) {
		long before = live;
		bool ok;
		int err;

		fail_at = n;
		asked = 0;
		failed = false;
		tramp_clear_error();
		errno = 0;
		ok = call();
		err = errno;
		fail_at = 0;
		CHECK_EQ(next_descriptor(), descriptor, "%s, allocation %ld: descriptors", what, n);
		if (!failed) {
			CHECK(ok, "%s: %s", what, tramp_last_error()->message);
			CHECK_EQ(live, before, "%s leaks", what);
			ktap_note("%s: %ld allocations", what, n - 1);
			CHECK(n > 1, "%s allocates nothing?", what);
			return;
		}
		if (!ok) {
			CHECK_EQ(tramp_last_error()->err, -ENOMEM, "%s, allocation %ld: %s", what, n,
				 tramp_last_error()->message);
			CHECK_EQ(tramp_last_error()->reason, TRAMP_REASON_NO_MEMORY,
				 "%s, allocation %ld: %s", what, n, tramp_last_error()->message);
			CHECK_EQ(err, ENOMEM, "%s, allocation %ld", what, n);
		}
		CHECK_EQ(live, before, "%s leaks when allocation %ld fails", what, n);
	}
	ktap_fail("%s: no end", what);
}
