// SPDX-License-Identifier: GPL-2.0
/*
 * All memory is gone, and the kernel kills the task that has attached: in the middle of attaching
 * and detaching, and with attachments that its exit takes away. That happens with what the kernel
 * lets a victim have. Afterwards nothing is left, and the text is as before.
 *
 * Only the victims may die: selftests/vm/system/alone looks at the log.
 */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>
#include "fixture.h"
#include "many.h"
#include "memory.h"
#include "probe_functions.h"
#include "selftests/vm/lib/probe_progs.skel.h"

#define ROUNDS		4
/* Of a link that stays until the victim exits, and of one that comes and goes. */
#define STAYING		1024
#define COMING		128
#define PIECE		(8UL << 20)

static int dev;

/* Steps of the victims, in memory that they share. */
static struct {
	atomic_uint attached, detached, refused, staying;
} *shared;

static void choose_victim(const char *score)
{
	FILE *f = fopen("/proc/self/oom_score_adj", "w");

	REQUIRE(f && fputs(score, f) >= 0 && !fclose(f), "oom_score_adj: %s", strerror(errno));
}

/* Attaches and detaches until it dies. A request that finds no memory is refused. */
static void *come_and_go(void *arg)
{
	const int prog = bpf_program__fd(probe_skel->progs.nothing);
	struct many *m = many_new();

	(void)arg;
	many_fill(m, COMING);
	for (;;) {
		if (many_attach_try(m, prog, TRAMP_MULTI_F_SKIP)) {
			shared->refused++;
			continue;
		}
		shared->attached++;
		close(m->cmd.link_fd);
		shared->detached++;
	}
	return NULL;
}

static void victim(struct many *staying)
{
	const char *const forms[] = { "tt_form_inc_1", "tt_form_inc_2", "tt_form_inc_3" };
	pthread_t thread;
	unsigned int i;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	choose_victim("1000");
	many_attach(staying, bpf_program__fd(probe_skel->progs.nothing), TRAMP_MULTI_F_SKIP);
	for (i = 0; i < sizeof(forms) / sizeof(forms[0]); i++)
		attach_insn(OURS, bpf_program__fd(probe_skel->progs.count),
			    form_named(dev, forms[i]).probe, 0, i);
	shared->staying++;
	if (pthread_create(&thread, NULL, come_and_go, NULL))
		_exit(1);
	while (!shared->detached)
		usleep(1000);
	for (;;) {
		void *at = mmap(NULL, PIECE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
				-1, 0);

		if (at == MAP_FAILED)
			_exit(2);
		madvise(at, PIECE, MADV_HUGEPAGE);
		memset(at, 1, PIECE);
	}
}

static uint64_t oom_kills(void)
{
	char *text = read_file("/proc/vmstat");
	uint64_t kills = number_after(text, "oom_kill ", 0);

	free(text);
	return kills;
}

static void one_round(struct many *staying)
{
	uint64_t kills = oom_kills();
	int status;
	pid_t pid;

	atomic_store(&shared->detached, 0);
	fflush(stdout);
	pid = fork();
	REQUIRE(pid >= 0, "fork: %s", strerror(errno));
	if (!pid)
		victim(staying);
	REQUIRE(waitpid(pid, &status, 0) == pid, "waitpid: %s", strerror(errno));
	CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL, "status %#x", status);
	CHECK(oom_kills() > kills, "it was not the kernel that killed it");
	check_nothing_left();
}

static void test_victims(void)
{
	struct many *staying = many_new();
	static struct memory before, after;
	char *patched, *now;
	uint8_t *text;
	int i;

	dev = fixture_open("about attachments of many functions, which 6.1 has not");
	probe_setup();
	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
		      -1, 0);
	REQUIRE(shared != MAP_FAILED, "mmap: %s", strerror(errno));
	many_fill(staying, STAYING);
	text = text_take(dev);
	patched = read_file(TRACING "enabled_functions");
	/* The first one has the kernel make room for the victims to come. */
	one_round(staying);
	memory_measure(&before);
	for (i = 1; i < ROUNDS && ktap_failures() < 5; i++)
		one_round(staying);
	memory_measure(&after);
	ktap_note("%u victims: %u attaches, %u refused", shared->staying, shared->attached,
		  shared->refused);
	CHECK_EQ(shared->staying, ROUNDS, "victims that had attached");
	memory_compare(&before, &after, kernel_version() <= 6001 ? ROUNDS * 768 : 64);
	now = read_file(TRACING "enabled_functions");
	CHECK(!strcmp(now, patched), "ftrace still has patched: %.200s", now);
	text_check(dev, text);
	free(now);
	free(patched);
	free(text);
	free(staying);
}

static const struct ktap_test tests[] = {
	{ "victims", test_victims, 300 },
};

KTAP_MAIN(tests)
