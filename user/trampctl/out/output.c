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
#include "file.h"
#include "output.h"

/* As errors call it; the file of --output has another name. */
const char *output_name;

static int output_errno;
static const char *output_verb = "write to";

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

/* Something else than a write has failed, with errno @err; 0: it has not. @verb: "rotate" */
void output_set_failed(const char *verb, int err)
{
	if (output_errno || !err)
		return;
	output_errno = err;
	output_verb = verb;
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
	if (!output_name)
		return fail(&p, "cannot write to standard output: %s", strerror(output_errno));
	output_cut();
	if (p.err == ENOSPC || p.err == EDQUOT || p.err == EFBIG)
		p.remedy = "make room, or bound what it takes: --rotate SIZE --keep N";
	return fail(&p, "cannot %s \"%s\": %s", output_verb, output_name,
		    strerror(output_errno));
}
