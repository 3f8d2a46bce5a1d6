// SPDX-License-Identifier: GPL-2.0
/*
 * A file in the place of standard output, and its rotation.
 *
 * The file becomes file descriptor 1, so that all that prints goes there. It is opened before
 * anything is attached, and emptied only when everything is: a run that comes to nothing leaves
 * what was there, and no file where there was none.
 *
 * Rotation is between events: an event begins, and FILE has its size, so FILE becomes FILE.1 as
 * logrotate has it, FILE.1 FILE.2 and so on. Without --keep no file is removed before there are
 * MAX_KEEP. If a write fails, FILE is cut where the event began: all that it has is whole. Of sums,
 * what is shown at an interval counts as one event.
 *
 * A process has one output, and so this has one state.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <stdio_ext.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "error.h"
#include "file.h"
#include "json.h"
#include "output.h"
#include "text.h"

#define MAX_KEEP 9999
#define MIN_ROTATE 4096

/* It has what every process of the machine does: the owner says who else may read it. */
#define MODE 0600

static struct {
	const char *path;		/* NULL: standard output */
	uint64_t rotate;		/* 0: never */
	unsigned int keep;		/* 0: as many as can be */
	bool is_regular, is_new, has_begun, can_rotate;
	off_t whole;			/* up to here it has whole events; -1: not known */
	uint64_t events;		/* begun in this file ... */
	uint64_t *full;			/* ... and in FILE.i, as far as they are ours */
	uint64_t rotations, removed_files, removed_events;
} out = { .whole = -1 };

/* -------------------------------------------------------------- options -- */

/* The argument of --rotate. */
static int parse_size(const char *text)
{
	static const char units[] = "KMG";
	const char *unit;
	uint64_t size;
	char *end;

	if (!strspn(text, "0123456789"))
		goto bad;
	errno = 0;
	size = strtoull(text, &end, 10);
	unit = *end ? strchr(units, *end) : NULL;
	if (errno || size >> 32 || (*end && (!unit || end[1])))
		goto bad;
	if (unit)
		size <<= 10 * (unit - units + 1);
	if (size < MIN_ROTATE)
		return usage_error("--rotate must be at least 4K, not %s", text);
	out.rotate = size;
	return 0;
bad:
	return usage_error("--rotate must be a size, as 64K, 10M or 1G, not \"%s\"", text);
}

static int parse_keep(const char *text)
{
	unsigned long n;
	char *end;

	errno = 0;
	n = strtoul(text, &end, 10);
	if (!strspn(text, "0123456789") || *end || errno || !n || n > MAX_KEEP)
		return usage_error("--keep must be a number from 1 to %d, not \"%s\"", MAX_KEEP,
				   text);
	out.keep = n;
	return 0;
}

/* One of OUTPUT_OPTS or ROTATE_OPTS. Returns 0, or EXIT_USAGE after having reported the error. */
int output_option(int opt, const char *arg)
{
	switch (opt) {
	case OUTPUT_OPT_FILE:
		out.path = arg;
		return 0;
	case OUTPUT_OPT_QUIET:
		quiet_output = true;
		return 0;
	case OUTPUT_OPT_ROTATE:
		return parse_size(arg);
	default:
		return parse_keep(arg);
	}
}

/* ----------------------------------------------------------------- file -- */

static int fail_open(int err)
{
	struct problem p = {
		.exit_code = EXIT_FAILED, .err = err, .reason = "output",
		.remedy = "give a file that you may write to, in a folder that is there",
	};

	if (err == ENOENT || err == ENOTDIR)
		p.exit_code = EXIT_NOT_FOUND;
	else if (err == EACCES || err == EPERM || err == EROFS)
		p.exit_code = EXIT_PERMISSION;
	return fail(&p, "cannot write to \"%s\": %s", out.path, strerror(err));
}

/* Has standard output be FILE. Returns 0 or an errno. */
static int redirect(int flags)
{
	const int fd = open(out.path, O_WRONLY | O_APPEND | O_CLOEXEC | O_NOCTTY | flags, MODE);
	int err;

	if (fd < 0)
		return errno;
	err = dup2(fd, STDOUT_FILENO) < 0 ? errno : 0;
	close(fd);
	return err;
}

/* FILE may be there. Of a FIFO this waits for a reader, or for a signal: EINTR. */
static int open_file(void)
{
	int err;

	output_wait_begin();
	err = redirect(O_CREAT | O_EXCL);
	out.is_new = !err;
	if (err == EEXIST)
		/* In a folder for everybody the kernel looks whose it is, if it might be made. */
		err = redirect(O_CREAT);
	output_wait_end();
	return err;
}

/* Nothing was written: as if it had not been opened. */
static void leave_no_file(void)
{
	if (out.path && out.is_new && !out.has_begun)
		unlink(out.path);
}

/**
 * output_open() - open the file of --output
 * @can_rotate: the command has ROTATE_OPTS
 *
 * To be called before anything is attached. Without the option this only looks at the others.
 *
 * Return: 0, or the exit code of an error that has been reported. After a signal 0, and nothing
 * need be open: see events_stopped().
 */
int output_open(bool can_rotate)
{
	struct stat st;
	int err;

	if (out.rotate && !out.path)
		return usage_error("--rotate needs --output: standard output cannot be rotated");
	if (out.keep && !out.rotate)
		return usage_error("--keep needs --rotate: it is about full files");
	if (!out.path)
		return 0;

	err = open_file();
	/* Only signals that end the command have a handler. */
	if (err == EINTR)
		return 0;
	if (err)
		return fail_open(err);
	output_name = out.path;
	out.can_rotate = can_rotate;
	atexit(leave_no_file);
	out.is_regular = !fstat(STDOUT_FILENO, &st) && S_ISREG(st.st_mode);
	if (out.rotate && !out.is_regular)
		return usage_error("--rotate takes a regular file, and \"%s\" is none", out.path);
	if (!out.keep)
		out.keep = MAX_KEEP;
	out.full = xcalloc(out.keep + 1, sizeof(*out.full));
	return 0;
}

/* ------------------------------------------------------------- rotation -- */

/* FILE.@i, to be freed. */
static char *full_name(unsigned int i)
{
	return xasprintf("%s.%u", out.path, i);
}

static bool is_there(unsigned int i)
{
	struct stat st;
	char *name = full_name(i);
	const bool there = !lstat(name, &st);

	free(name);
	return there;
}

/* FILE.@i becomes FILE.@i+1; number 0 is FILE. Returns 0 or an errno. */
static int shift(unsigned int i)
{
	char *from = i ? full_name(i) : xasprintf("%s", out.path), *to = full_name(i + 1);
	const int err = rename(from, to) ? errno : 0;

	free(from);
	free(to);
	out.full[i + 1] = i ? out.full[i] : out.events;
	return err;
}

/* FILE.@i could not become FILE.@i+1. */
static char *remedy_of_shift(unsigned int i, int err)
{
	switch (err) {
	case EISDIR:
		return xasprintf("move the folder \"%s.%u\" away", out.path, i + 1);
	case ENOTDIR:
		return xasprintf("move the folder \"%s.%u\" away", out.path, i);
	case EEXIST:
	case ENOENT:
		return xasprintf("let nothing else make, move or remove its files meanwhile");
	case ENOSPC:
	case EDQUOT:
		return xasprintf("make room for one more name in its folder");
	default:
		return xasprintf("write to a folder where you may make and rename files");
	}
}

/* Returns whether it did; otherwise standard output is what it was. */
static bool rotate(void)
{
	unsigned int i, gap = 1;
	uint64_t removed;
	bool removes;
	int err = 0;

	fflush(stdout);
	while (gap < out.keep && is_there(gap))
		gap++;
	removes = is_there(gap);
	removed = out.full[gap];
	for (i = gap; i && !err; i--)
		err = shift(i - 1);
	if (!err && removes) {
		out.removed_files++;
		out.removed_events += removed;
	}
	if (!err)
		err = redirect(O_CREAT | O_EXCL);
	if (err) {
		output_set_failed("rotate", err, remedy_of_shift(i, err));
		return false;
	}
	out.rotations++;
	out.events = 0;
	out.whole = 0;
	return true;
}

/*
 * To be called once, in front of the first line. The text of an earlier run goes: with --rotate,
 * to FILE.1.
 */
void output_begin(void)
{
	struct stat st;

	if (!out.path)
		return;
	out.has_begun = true;
	if (!out.is_regular || fstat(STDOUT_FILENO, &st))
		return;
	if (st.st_size && out.rotate)
		rotate();
	else if (st.st_size && ftruncate(STDOUT_FILENO, 0))
		output_set_failed("empty", errno, NULL);
	else
		out.whole = 0;
	out.rotations = 0;
}

/* All that was printed is whole. Returns false if it could not be written. */
static bool note_whole(void)
{
	struct stat st;

	fflush(stdout);
	/* The text in front of it may just have failed, and is not whole then. */
	if (output_failed())
		return false;
	if (out.is_regular && out.has_begun && !fstat(STDOUT_FILENO, &st))
		out.whole = st.st_size;
	return true;
}

/**
 * output_next() - an event begins
 *
 * Return: whether it is the first of a new file, which has no head yet.
 */
bool output_next(void)
{
	bool is_new;

	if (!out.path || !note_whole())
		return false;
	if (!out.rotate || (uint64_t)out.whole < out.rotate) {
		out.events++;
		return false;
	}
	is_new = rotate();
	out.events++;
	return is_new;
}

/* -------------------------------------------------------------- the end -- */

/*
 * A write has failed: the event that it was part of goes, as what is kept of it must not follow.
 * main() reports the errno.
 */
void output_cut(void)
{
	if (!out.is_regular || out.whole < 0)
		return;
	__fpurge(stdout);
	if (ftruncate(STDOUT_FILENO, out.whole))
		return;
}

bool output_is_file(void)
{
	return out.path;
}

bool output_can_rotate(void)
{
	return out.can_rotate;
}

/* Where the last JSON object goes: to a reader that hangs it would not, or behind half a line. */
FILE *output_for_end(void)
{
	if (output_is_blocked())
		return stderr;
	return out.path && output_failed() ? stderr : stdout;
}

/* Prints the last JSON object, and frees it. Half of it is no use to anybody. */
void output_end(json_object *j)
{
	FILE *f;

	/* If it cannot be written, all events stay. */
	if (out.path)
		note_whole();
	f = output_for_end();
	json_print_to(f, json_object_get(j));
	fflush(f);
	if (f != stderr && output_for_end() == stderr)
		json_print_to(stderr, json_object_get(j));
	json_object_put(j);
}

/* Members of an object: what became of full files. */
void output_put(json_object *j)
{
	if (!out.rotate)
		return;
	json_put_u64(j, "rotations", out.rotations);
	json_put_u64(j, "removed_files", out.removed_files);
	json_put_u64(j, "removed_events", out.removed_events);
}

/* The same in words, as far as something is gone. @things: "calls" */
void output_warn(const char *things)
{
	if (out.removed_files)
		warn("removed %" PRIu64 " full files, with %" PRIu64 " %s of this run: --keep is %u",
		     out.removed_files, out.removed_events, things, out.keep);
}
