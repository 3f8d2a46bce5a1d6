// SPDX-License-Identifier: GPL-2.0
/*
 * stress-ng beside us: it does one sort of work after the other for some seconds, and looks whether
 * the results are right (--verify). `make stress` puts it into the machine. STRESS_NG in the
 * environment is where it is.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#include "actors.h"
#include "probe.h"

#define OUTPUT "/tmp/stress-ng.out"
/* stress-ng(1), EXIT STATUS: the machine lacks memory, files or the like; it has no such thing. */
#define NO_RESOURCE	3
#define NOT_IMPLEMENTED	4

/*
 * Those that look at their results (stress-ng --verifiable), and want no more than 16 MB and no
 * device. Files are in the folder where it runs: on a disk, if there is one.
 */
static const char *const stressors[][4] = {
	{ "--cpu", "1" },
	{ "--fallocate", "1", "--fallocate-bytes=4M" },
	{ "--fork", "1" },
	{ "--futex", "1" },
	{ "--hash", "1" },
	{ "--hdd", "1", "--hdd-bytes=4M" },
	{ "--heapsort", "1", "--heapsort-size=4096" },
	{ "--iomix", "1", "--iomix-bytes=4M" },
	{ "--malloc", "1", "--malloc-bytes=8M" },
	{ "--memcpy", "1" },
	{ "--mmap", "1", "--mmap-bytes=4M" },
	{ "--msg", "1" },
	{ "--pipe", "1" },
	{ "--qsort", "1", "--qsort-size=4096" },
	{ "--rename", "1" },
	{ "--sem", "1" },
	{ "--sendfile", "1", "--sendfile-size=4M" },
	{ "--shm-sysv", "1", "--shm-sysv-bytes=4M" },
	{ "--sock", "1" },
	{ "--sockpair", "1" },
	{ "--str", "1" },
	{ "--switch", "1" },
	{ "--vm", "1", "--vm-bytes=8M" },
	{ "--zlib", "1" },
};
#define NR ((int)(sizeof(stressors) / sizeof(stressors[0])))

/*
 * For this process alone an empty folder covers what sysfs says of the CPUs. stress-ng 0.15.06
 * (Debian 12) reads all about their caches at its start. Where a read() fails, it writes a 0 as
 * many bytes before its buffer as errno says (stress_system_read()). ENODEV, of a CPU that goes
 * meanwhile, takes a byte of a pointer, and it dies by SIGSEGV.
 */
static bool hide_cpus(void)
{
	return !unshare(CLONE_NEWNS) && !mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) &&
	       !mount("none", "/sys/devices/system/cpu", "tmpfs", 0, NULL);
}

static void run_stressor(const char *program, const char *const *what, const char *seed)
{
	const char *argv[] = {
		program, "--verify", "--timeout", "4", "--seed", seed, "--temp-path", ".",
		what[0], what[1], what[2], NULL,
	};
	int out = open(OUTPUT, O_WRONLY | O_CREAT | O_TRUNC, 0600);

	if (out < 0 || dup2(out, 1) < 0 || dup2(out, 2) < 0)
		_exit(127);
	if (!hide_cpus() || chdir("/mnt")) {
		perror("before stress-ng: /sys/devices/system/cpu or /mnt");
		_exit(127);
	}
	setpriority(PRIO_PROCESS, 0, WORK_NICE);
	execv(program, (char *const *)argv);
	perror(program);
	_exit(127);
}

static void note_output(void)
{
	char *text = read_file(OUTPUT), *rest = text, *line;

	while ((line = strsep(&rest, "\n")))
		ktap_note("%s", line);
	free(text);
}

void verify_begin(void)
{
	REQUIRE(getenv("STRESS_NG"), "STRESS_NG does not say where stress-ng is");
}

void verify_step(uint64_t *r)
{
	const char *program = getenv("STRESS_NG"), *const *what = stressors[rnd(r) % NR];
	char seed[24];
	int status;
	pid_t pid;

	snprintf(seed, sizeof(seed), "%lu", (unsigned long)rnd(r) >> 1);
	pid = fork();
	REQUIRE(pid >= 0, "fork: %s", strerror(errno));
	if (!pid)
		run_stressor(program, what, seed);
	REQUIRE(waitpid(pid, &status, 0) == pid, "waitpid");
	if (status && !(WIFEXITED(status) && (WEXITSTATUS(status) == NO_RESOURCE ||
					      WEXITSTATUS(status) == NOT_IMPLEMENTED))) {
		note_output();
		CHECK(false, "%s %s --seed %s: status %#x", program, what[0], seed, status);
	}
	my_counts->refused += !!status;
	my_counts->done += !status;
}
