// SPDX-License-Identifier: GPL-2.0
/*
 * Whether standard output could be written. stdio remembers that a write failed, not
 * why: the errno is taken here, at once, before anything else can change it.
 */
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "error.h"
#include "output.h"

static int output_errno;

/**
 * output_failed() - has a write to standard output failed?
 *
 * To be called right behind the writes, with their errno. The first failure counts.
 */
bool output_failed(void)
{
	if (!output_errno && ferror(stdout))
		output_errno = errno ? errno : EIO;
	return output_errno;
}

/**
 * output_finish() - write out what is still kept, and report it if that or an earlier
 *	write failed
 * @rc: what the command exits with
 *
 * Return: @rc, or the exit code of the failed write.
 */
int output_finish(int rc)
{
	struct problem p = { .exit_code = EXIT_FAILED, .reason = "output" };

	fflush(stdout);
	if (!output_failed())
		return rc;
	p.err = output_errno;
	return fail(&p, "cannot write to standard output: %s", strerror(output_errno));
}
