// SPDX-License-Identifier: GPL-2.0
/*
 * The file of --output that cannot become as large as it would be (ulimit -f): what stays in it,
 * and that the last JSON object comes somewhere. And one that cannot be opened at once.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../../user/trampctl/out/error.h"
#include "../../user/trampctl/out/file.h"
#include "../../user/trampctl/out/json.h"
#include "../../user/trampctl/out/output.h"
#include "../lib/ktap.h"

#define CALL	"{\"type\":\"call\"}\n"
#define END	"{\"type\":\"end\"}\n"
#define NO_LIMIT -1

static char path[] = "/tmp/test_file.XXXXXX";

/* How the run ended, its file, and what was said on standard error. */
static int rc;
static char file[256], said[4096];

static json_object *object(const char *type)
{
	json_object *j = json_object_new_object();

	json_put_str(j, "type", type);
	return j;
}

static void read_text(int fd, char *text, size_t size)
{
	const ssize_t len = fd < 0 ? -1 : read(fd, text, size - 1);

	text[len > 0 ? len : 0] = 0;
}

/* A run of so many calls, as commands have it. */
static void run(int calls)
{
	output_start();
	json_output = true;
	output_option(OUTPUT_OPT_FILE, path);
	rc = output_open(false);
	if (rc)
		return;
	output_begin();
	while (calls-- && !output_failed()) {
		output_next();
		json_print(object("call"));
	}
	output_end(object("end"));
	rc = output_finish(0);
}

/* The same with another standard output and error, and with files of so many bytes at most. */
static void run_limited(int calls, long bytes)
{
	const int out = dup(STDOUT_FILENO), err = dup(STDERR_FILENO);
	FILE *before = stdout;
	struct rlimit limit, was;
	int fd, pipes[2];

	fd = mkstemp(path);
	REQUIRE(fd >= 0 && !pipe(pipes) && !getrlimit(RLIMIT_FSIZE, &was), "%s", path);
	limit = was;
	if (bytes != NO_LIMIT)
		limit.rlim_cur = bytes;
	dup2(pipes[1], STDERR_FILENO);
	setrlimit(RLIMIT_FSIZE, &limit);
	run(calls);
	setrlimit(RLIMIT_FSIZE, &was);
	stdout = before;
	dup2(out, STDOUT_FILENO);
	dup2(err, STDERR_FILENO);
	close(pipes[1]);
	read_text(pipes[0], said, sizeof(said));
	read_text(fd, file, sizeof(file));
	unlink(path);
}

/* The run failed with these contents of the file, and the last object on standard error. */
static void check_failed(const char *contents)
{
	CHECK_EQ(rc, EXIT_FAILED, "exit code");
	CHECK(!strcmp(file, contents), "the file has: %s", file);
	CHECK(!strncmp(said, END, strlen(END)), "the last object is not on standard error: %s", said);
	CHECK(strstr(said, "\"errno_name\":\"EFBIG\""), "errno: %s", said);
}

static void test_room(void)
{
	run_limited(2, NO_LIMIT);
	CHECK_EQ(rc, 0, "exit code");
	CHECK(!strcmp(file, CALL CALL END), "the file has: %s", file);
	CHECK(!said[0], "standard error has: %s", said);
}

static void test_no_room_for_call(void)
{
	run_limited(3, 2 * strlen(CALL) + 5);
	check_failed(CALL CALL);
}

/* The last object is no event: those in front of it stay. */
static void test_no_room_for_end(void)
{
	run_limited(2, 2 * strlen(CALL) + 5);
	check_failed(CALL CALL);
}

static void test_full(void)
{
	run_limited(2, 2 * strlen(CALL));
	check_failed(CALL CALL);
}

static void test_no_calls(void)
{
	run_limited(0, 5);
	check_failed("");
}

/* A signal came before a FIFO is opened that nobody reads: it is given up, which is no failure. */
static void test_fifo_after_signal(void)
{
	int fd = mkstemp(path);

	REQUIRE(fd >= 0 && !unlink(path) && !mkfifo(path, 0600), "%s", path);
	close(fd);
	output_start();
	output_option(OUTPUT_OPT_FILE, path);
	output_stop();
	CHECK_EQ(output_open(false), 0, "exit code");
	CHECK_EQ(output_finish(0), 0, "exit code");
	CHECK(!access(path, F_OK), "it stays");
	unlink(path);
}

static const struct ktap_test tests[] = {
	{ .name = "room", .run = test_room },
	{ .name = "no-room-for-call", .run = test_no_room_for_call },
	{ .name = "no-room-for-end", .run = test_no_room_for_end },
	{ .name = "full", .run = test_full },
	{ .name = "no-calls", .run = test_no_calls },
	{ .name = "fifo-after-signal", .run = test_fifo_after_signal, .seconds = 20 },
};

KTAP_MAIN(tests)
