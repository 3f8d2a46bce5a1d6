// SPDX-License-Identifier: GPL-2.0
/*
 * Whether standard output could be written. stdio remembers that a write failed, not why, and
 * much may happen before somebody asks. So standard output has a function of ours that writes,
 * and it notes the errno of the first write that fails.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "error.h"
#include "file.h"
#include "output.h"

/* As errors call it; the file of --output has another name. */
const char *output_name;

static int output_errno;
static const char *output_verb = "write to";
static const char *output_remedy;

/* Signals so far that end the command. */
static volatile sig_atomic_t stops;

/* One of them found a write that blocks: nobody reads, so nothing more is written. */
static bool is_blocked;

/*
 * A signal that comes before the write that blocks would not end it. So once there was one, a timer
 * goes while we write. A reader that takes nothing from one tick to the next does not read. Opening
 * a FIFO, which nobody may read, blocks likewise.
 */
#define PATIENCE_SECONDS 1

static volatile sig_atomic_t is_waiting;

static void on_alarm(int sig)
{
	(void)sig;
	if (is_waiting)
		alarm(PATIENCE_SECONDS);
}

void output_wait_begin(void)
{
	/* In this order: output_stop() sees that we wait, or we see that there was a signal. */
	is_waiting = true;
	if (stops)
		alarm(PATIENCE_SECONDS);
}

void output_wait_end(void)
{
	is_waiting = false;
	if (stops)
		alarm(0);
}

/*
 * Behind a write that blocks, what is left to say goes to standard error. If that is the same pipe
 * and stays full, it would block there.
 */
static void leave_full_pipe(void)
{
	struct pollfd room = { .fd = STDERR_FILENO, .events = POLLOUT };
	struct stat out, err;
	int fd;

	if (fstat(STDOUT_FILENO, &out) || fstat(STDERR_FILENO, &err) || S_ISCHR(err.st_mode) ||
	    out.st_dev != err.st_dev || out.st_ino != err.st_ino ||
	    poll(&room, 1, PATIENCE_SECONDS * 1000) > 0)
		return;
	fd = open("/dev/null", O_WRONLY | O_CLOEXEC);
	if (fd < 0)
		return;
	dup2(fd, STDERR_FILENO);
	close(fd);
}

/*
 * For stdio, to which less than @len is an error: it drops the rest, and comes again with the next
 * line. Behind a failure that would be another wait, or a line that follows half a line.
 */
static ssize_t write_all(void *unused, const char *buf, size_t len)
{
	const bool could_write = !output_errno;
	const sig_atomic_t before = stops;
	size_t done = 0;
	ssize_t n;

	(void)unused;
	output_wait_begin();
	while (done < len && !output_errno && !is_blocked) {
		n = write(STDOUT_FILENO, buf + done, len - done);
		if (n < 0) {
			output_set_failed(output_verb, errno, NULL);
			break;
		}
		done += n;
		/* A signal cuts a write that has begun, without an error; the next would block. */
		if (done < len && stops != before)
			output_set_failed(output_verb, EINTR, NULL);
	}
	output_wait_end();
	if (could_write && output_errno == EINTR)
		leave_full_pipe();
	return done;
}

/**
 * output_start() - have standard output note what goes wrong
 *
 * To be called before anything is printed. One line is one write: what reads the pipe sees each
 * call as it happens. A file that is larger than it may be (ulimit -f) is an error of the write,
 * and no reason to be killed.
 */
void output_start(void)
{
	FILE *f = fopencookie(NULL, "w", (cookie_io_functions_t){ .write = write_all });

	if (f)
		stdout = f;
	setvbuf(stdout, NULL, _IOLBF, 0);
	signal(SIGXFSZ, SIG_IGN);
}

/* A signal has come that ends the command. Called by its handler. */
void output_stop(void)
{
	/* Not restarting: it ends a write. */
	const struct sigaction sa = { .sa_handler = on_alarm };

	if (!stops++)
		sigaction(SIGALRM, &sa, NULL);
	if (is_waiting)
		alarm(PATIENCE_SECONDS);
}

/* Has a write to standard output failed, or what was to make room for it? */
bool output_failed(void)
{
	return output_errno;
}

/*
 * Did a signal end a write? That is no failure: the line is lost, the output is good. Only signals
 * that end the command have a handler, so others do not.
 */
bool output_was_interrupted(void)
{
	if (output_errno != EINTR)
		return false;
	output_errno = 0;
	is_blocked = true;
	clearerr(stdout);
	return true;
}

/* Is it known that nobody reads it? */
bool output_is_blocked(void)
{
	return is_blocked || output_errno == EINTR;
}

/**
 * output_set_failed() - note that something has failed; the first failure counts
 * @verb: what, as in "cannot rotate FILE"
 * @err: its errno; 0: it has not failed
 * @remedy: stays with us; NULL: that of any write with this errno
 */
void output_set_failed(const char *verb, int err, const char *remedy)
{
	if (output_errno || !err)
		return;
	output_errno = err;
	output_verb = verb;
	output_remedy = remedy;
}

static const char *remedy_of_write(int err)
{
	switch (err) {
	case ENOSPC:
	case EDQUOT:
		return output_can_rotate() ?
		       "make room, or bound what it takes: --rotate SIZE --keep N" :
		       "make room, or write to another file system";
	case EFBIG:
		return output_can_rotate() ? "write smaller files: --rotate SIZE --keep N" :
		       "allow larger files (ulimit -f), or write to another file system";
	case EPIPE:
		return "keep the program running that reads it";
	case EBADF:
		return "open it for writing, for example by >FILE";
	default:
		return "write to another file; the kernel log (dmesg) may say more";
	}
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
	if (output_was_interrupted() || !output_failed())
		return rc;
	p.err = output_errno;
	p.remedy = output_remedy ?: remedy_of_write(output_errno);
	if (!output_name)
		return fail(&p, "cannot write to standard output: %s", strerror(output_errno));
	output_cut();
	return fail(&p, "cannot %s \"%s\": %s", output_verb, output_name,
		    strerror(output_errno));
}
