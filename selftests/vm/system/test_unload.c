// SPDX-License-Identifier: GPL-2.0
/*
 * Unloading our module right after a detach: it is in use within a second, or gone soon. Tasks may
 * be asleep or have died in what was traced, and any kprobe may stand on what was probed.
 *
 * Functions in which tasks die keep nothing: what a dead task was in is freed.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/io_uring.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include "fixture.h"
#include "ownmod.h"
#include "probe.h"
#include "record.h"
#include "selftests/vm/lib/probe_progs.skel.h"
#include "selftests/vm/lib/record.skel.h"

static struct record *skel;
static int dev;		/* the test module's */
static int link_fd = -1;
static int entry_fd = -1;	/* of a program that counts entries besides */

static void attach_exit(const char *func)
{
	int prog = prog_clone(skel->progs.count_exit, func, BPF_TRACE_FEXIT);

	link_fd = ownmod_must_attach(prog, 0);
	close(prog);
}

static void drop_link(void)
{
	close(link_fd);
	link_fd = -1;
	CHECK_EQ(ownmod_info().links, 0, "links after the detach");
}

static void setup(void)
{
	ownmod_setup();
	dev = tt_open();
	skel = FIXTURE_LOAD(record);
}

/* Milliseconds in which an answer must be there, but for grace periods that come before it. */
static uint64_t limit(void)
{
	return 1000 * (uint64_t)time_scale();
}

/*
 * A worker frees links that have gone, a moment later: then they hold the module no more. Return:
 * whether nothing does while their images wait to be freed.
 */
static bool wait_unheld(void)
{
	uint64_t begun = now_ns();

	while (module_references("trampoline") && (now_ns() - begun) / 1000000 < limit())
		usleep(500);
	return ownmod_info().retiring;
}

/* Ask once, in a child, since it might not come back. 0 or a negative errno, after @ms. */
static int unload_now(const char *when, uint64_t *ms)
{
	uint64_t begun = now_ns();
	int status;
	pid_t pid;

	fflush(stdout);
	pid = fork();
	REQUIRE(pid >= 0, "fork");
	if (!pid)
		_exit(-module_unload("trampoline"));
	while (waitpid(pid, &status, WNOHANG) != pid) {
		if ((now_ns() - begun) / 1000000 > 30 * limit())
			ktap_die("%s: unloading has not ended after 30 seconds", when);
		usleep(2000);
	}
	*ms = (now_ns() - begun) / 1000000;
	ktap_note("%s: %s after %lu ms", when, status ? strerror(WEXITSTATUS(status)) : "gone",
		  *ms);
	return -WEXITSTATUS(status);
}

/*
 * Somebody is inside for as long as he likes: it must be in use, at once. A busy host delays an
 * answer, but hardly each of three: the quickest counts.
 */
static void expect_in_use(const char *when)
{
	uint64_t ms, quickest = UINT64_MAX;
	int i, err;

	for (i = 0; i < 3 && quickest >= limit(); i++) {
		err = unload_now(when, &ms);
		if (!CHECK(ownmod_busy(err), "%s: %s", when, err ? strerror(-err) : "unloaded"))
			return;
		quickest = ms < quickest ? ms : quickest;
	}
	CHECK(quickest < limit(), "%s: the answer took %lu ms", when, quickest);
}

/* Nobody is inside, and nothing attached: it must go. Returns how many milliseconds that took. */
static uint64_t expect_gone(void)
{
	uint64_t ms;

	CHECK(ownmod_settle(), "images stay");
	CHECK_EQ(ownmod_unload_timed("trampoline", 300, &ms), 0, "unloading when nobody is inside");
	ownmod_reload();
	CHECK(ownmod_settle(), "images of the self-test stay");
	return ms;
}

/* --------------------------------------------------------- asleep and well --- */

static pid_t start_child(void (*what)(void))
{
	pid_t pid;

	fflush(stdout);
	pid = fork();
	REQUIRE(pid >= 0, "fork");
	if (!pid) {
		/* Or it would keep the program attached. */
		close(link_fd);
		close(entry_fd);
		what();
		_exit(0);
	}
	return pid;
}

static void end_child(pid_t pid)
{
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

static void sleep_long(void)
{
	struct timespec ts = { .tv_sec = 600 };

	nanosleep(&ts, NULL);
}

static void read_long(void)
{
	int fd[2];
	char c;

	if (!pipe(fd) && read(fd[0], &c, 1) < 0)
		pause();
}

static void wait_long(void)
{
	pid_t pid = fork();

	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		sleep_long();
	}
	waitpid(pid, NULL, 0);
}

static void test_asleep(void)
{
	static const struct {
		const char *func;
		void (*what)(void);
		const char *in_stack;
	} places[] = {
		/* Stacks leave it out, as the scheduler's. Its caller sleeps nowhere else. */
		{ "do_nanosleep", sleep_long, "hrtimer_nanosleep" },
		{ "vfs_read", read_long, "vfs_read" },
		{ "do_wait", wait_long, "do_wait" },
	};
	struct ownmod_sleeper s;
	unsigned int i;
	pid_t pid;

	setup();
	for (i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
		attach_exit(places[i].func);
		pid = start_child(places[i].what);
		wait_asleep_in(pid, places[i].in_stack);
		drop_link();
		expect_in_use(places[i].func);
		end_child(pid);
		expect_gone();
	}

	/* In the test module's function, twice. */
	for (i = 0; i < 2; i++) {
		attach_exit("tt_sleep");
		ownmod_sleep(&s, 7);
		ownmod_wait_for_sleepers(dev, 1);
		drop_link();
		expect_in_use("tt_sleep");
		REQUIRE(!tt_command(dev, NULL, 0, "wake"), "wake");
		ownmod_join(&s);
		expect_gone();
	}
}

/* @best of the milliseconds so far, 0 if there have been none yet. */
static void keep_quickest(uint64_t *best, uint64_t ms)
{
	if (!*best || ms < *best)
		*best = ms ?: 1;
}

/*
 * Nobody is inside: in use for a moment, or gone. Before it is gone it waits for grace periods, and
 * for one of them it does so with nothing attached, too. That is the measure of how long they take
 * on this host at the moment. Of several rounds the quickest counts, for each of both answers.
 */
static void test_retiring(void)
{
	uint64_t gone = 0, in_use = 0, plain = UINT64_MAX, allowed, ms;
	int link[8], i, err, round, unheld = 0;
	bool exit;

	setup();
	for (round = 0; round < 12; round++) {
		/*
		 * With exit programs it is in use for a moment; without, it is waited for. On -rt
		 * there may be tasks in any image.
		 */
		for (i = 0; i < 8; i++) {
			exit = round % 2 && i % 2;
			link[i] = ownmod_must_attach(prog_clone(exit ? skel->progs.count_exit :
								skel->progs.count_entry, "tt_hot0",
								exit ? BPF_TRACE_FEXIT :
								BPF_TRACE_FENTRY), i);
		}
		tt_call(dev, "tt_hot0 n=5 1");
		for (i = 0; i < 8; i++)
			close(link[i]);
		if (!(round % 2) && !kernel_is_rt())
			unheld += wait_unheld();
		err = unload_now("images retiring", &ms);
		CHECK(!err || ((round % 2 || kernel_is_rt()) && ownmod_busy(err)), "round %d: %s", round,
		      strerror(-err));
		if (!err)
			ownmod_reload();
		keep_quickest(err ? &in_use : &gone, ms);
		ms = expect_gone();
		plain = ms < plain ? ms : plain;
		allowed = limit() + 4 * plain;
		if (round >= 3 && (gone ? gone < allowed : kernel_is_rt()) && in_use &&
		    in_use < limit())
			break;
	}
	ktap_note("nothing attached: gone after %lu ms", plain);
	CHECK(unheld || kernel_is_rt(), "each time the images had gone before nothing held it");
	CHECK((gone || kernel_is_rt()) && gone < allowed, "it is gone after %lu ms (0: never)", gone);
	CHECK(in_use && in_use < limit(), "it is in use after %lu ms (0: never)", in_use);
}

static void unload_by_force(void)
{
	/* It may still be in use by the time that this is called, and goes on then. */
	_exit(syscall(SYS_delete_module, "trampoline", O_NONBLOCK | O_TRUNC) ? errno : 0);
}

/* Whether a task that unloads has come to where it waits for probes to be gone. */
static bool waits_for_probes(pid_t pid)
{
	char *stack = stack_of(pid);
	bool yes = strstr(stack, "] tramp_probe_opt_drain+");

	free(stack);
	return yes;
}

/* rmmod -f asks nobody, so it has to wait: the kprobe would lead to a jump into freed memory. */
static void force_with_kprobe(void)
{
	uint64_t hits, missed;
	int status = 0;
	pid_t pid = start_child(unload_by_force), over = 0;
	bool begun = false;
	int i;

	for (i = 0; i < 3000 && !over && !begun; i++) {
		usleep(10000);
		begun = waits_for_probes(pid);
		over = waitpid(pid, &status, WNOHANG);
	}
	CHECK(begun || over, "rmmod -f does not come to its wait");
	if (!over) {
		sleep(2);
		over = waitpid(pid, &status, WNOHANG);
	}
	kprobes_off(dev, &hits, &missed, NULL, 1);
	if (over && WEXITSTATUS(status) == EAGAIN && !kernel_is_debian()) {
		expect_gone();
		ktap_skip("this kernel unloads nothing by force");
	}
	CHECK_EQ(over, 0, "rmmod -f is over: status %#x", status);
	CHECK_EQ(waitpid(pid, &status, 0), pid, "rmmod -f");
	CHECK_EQ(status, 0, "rmmod -f");
	ownmod_reload();
	CHECK(ownmod_settle(), "images of the self-test stay");
}

/* A kernel kprobe on a jump of ours: ours stays in the text until it has gone. */
static void foreign_kprobe(bool force)
{
	struct tramp_attach want = { .size = sizeof(want), .flags = TRAMP_ATTACH_F_COOKIE };
	struct tt_form_info form;
	uint64_t addr, hits, missed;
	int32_t result;
	int err;

	setup();
	form = form_named(dev, "tt_form_inc_2");
	probe_setup();
	want.prog_fd = bpf_program__fd(probe_skel->progs.regs_all);
	addr = form.probe;
	want.addr = addr;
	err = ownmod_ioctl(TRAMP_IOC_ATTACH, &want);
	REQUIRE(!err, "attach: %s", strerror(-err));
	probe_flush();
	kprobes_on(dev, 0, &addr, &result, 1);
	REQUIRE(!result, "the kernel's kprobe: %s", strerror(result));
	close(want.link_fd);
	if (force) {
		force_with_kprobe();
		return;
	}
	expect_in_use("a kprobe on a jump of ours");
	kprobes_off(dev, &hits, &missed, NULL, 1);
	expect_gone();
}

static void test_foreign_kprobe(void) { foreign_kprobe(false); }
static void test_force(void) { foreign_kprobe(true); }

/* ------------------------------------------------------------------ the dead --- */

/* Each ends its process by exit status 0, or by the signal that is in the table. */

static void die_by_seccomp(void)
{
	if (!prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT))
		syscall(SYS_getpid);
}

static void *ask_what_kills(void *survived)
{
	struct sock_filter rules[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_getppid, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_THREAD),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog filter = { .len = sizeof(rules) / sizeof(rules[0]), .filter = rules };

	if (!prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) &&
	    !prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter))
		syscall(SYS_getppid);
	*(bool *)survived = true;
	return NULL;
}

/* The last thread of a process is sent a signal. Any other dies where it is. */
static void die_by_filter(void)
{
	bool survived = false;
	pthread_t thread;

	if (pthread_create(&thread, NULL, ask_what_kills, &survived))
		_exit(1);
	pthread_join(thread, NULL);
	_exit(survived);
}

static void die_by_signal(void)
{
	kill(getpid(), SIGKILL);
	pause();
}

static void die_as_thread(void)
{
	int fd = tt_open();

	/* A kernel thread that ends in tt_noreturn(). */
	tt_call(fd, "tt_exits n=2 1");
}

static void die_in_io_uring(void)
{
	struct io_uring_params p = { .flags = IORING_SETUP_SQPOLL };
	int fd = syscall(SYS_io_uring_setup, 4, &p);

	if (fd < 0)
		_exit(errno);
	usleep(100000);
	close(fd);
}

struct end {
	const char *func;
	void (*die)(void);
	int signal;	/* that ends the process; 0: it exits */
};

static void let_die(const struct end *end)
{
	pid_t pid = start_child(end->die);
	int status;

	REQUIRE(waitpid(pid, &status, 0) == pid, "waitpid");
	if (end->signal)
		CHECK(WIFSIGNALED(status) && WTERMSIG(status) == end->signal,
		      "%s: status %#x, not signal %d", end->func, status, end->signal);
	else
		CHECK_EQ(status, 0, "%s: status", end->func);
}

/* Where test_dead() counts: its programs' cookies. */
enum { EXITS, ENTRIES };

/* Calls that have not returned. The threads of the kernel may come late. */
static uint64_t never_returned(uint64_t at_least)
{
	uint64_t end = now_ns() + 10 * limit() * 1000000, nr;

	do {
		nr = skel->bss->counted[ENTRIES] - skel->bss->counted[EXITS];
		if (nr < at_least)
			usleep(10000);
	} while (nr < at_least && now_ns() < end);
	return nr;
}

static void test_dead(void)
{
	static const struct end ends[] = {
		{ "__secure_computing", die_by_seccomp, SIGKILL },
		{ "__seccomp_filter", die_by_filter, 0 },
		{ "syscall_trace_enter", die_by_seccomp, SIGKILL },
		{ "get_signal", die_by_signal, SIGKILL },
		{ "arch_do_signal_or_restart", die_by_signal, SIGKILL },
		{ "exit_to_user_mode_loop", die_by_signal, SIGKILL },
		{ "tt_noreturn", die_as_thread, 0 },
		{ "kthread", die_as_thread, 0 },
		{ "ret_from_fork", die_as_thread, 0 },
		{ "io_sq_thread", die_in_io_uring, 0 },
	};
	unsigned int i, n, tried = 0;
	uint64_t nr;
	int prog, entry;

	setup();
	for (i = 0; i < sizeof(ends) / sizeof(ends[0]); i++) {
		/* ret_from_fork is assembly before 6.8. */
		prog = func_btf(ends[i].func).id < 0 ? -ENOENT :
		       prog_clone_try(skel->progs.count_exit, ends[i].func, BPF_TRACE_FEXIT);
		link_fd = prog < 0 ? prog : ownmod_attach(prog, EXITS, NULL);
		if (link_fd < 0) {
			ktap_note("%s: not on this kernel: %s", ends[i].func, strerror(-link_fd));
			continue;
		}
		tried++;
		CHECK_EQ(ownmod_info().images, 1, "%s: images", ends[i].func);
		memset(skel->bss->counted, 0, sizeof(skel->bss->counted));
		entry = prog_clone(skel->progs.count_entry, ends[i].func, BPF_TRACE_FENTRY);
		entry_fd = ownmod_must_attach(entry, ENTRIES);
		/* A call or two may have been inside before the entry program came. */
		for (n = 0; n < 6; n++)
			let_die(&ends[i]);
		nr = never_returned(4);
		CHECK(nr >= 4, "%s: %lu calls have not returned, though 6 have died there",
		      ends[i].func, nr);
		close(entry_fd);
		for (n = 0; n < 2; n++)
			let_die(&ends[i]);
		drop_link();
		for (n = 0; n < 2; n++)
			let_die(&ends[i]);
		if (!CHECK(ownmod_settle(), "%s: its image stays though all are dead", ends[i].func))
			break;
		close(entry);
		close(prog);
	}
	CHECK(tried >= (kernel_is_debian() ? 7 : 4), "only %u of the functions could be tried",
	      tried);
	expect_gone();
}

/* Some have died inside, others are inside and alive: the image stays for those. */
static void test_dead_and_alive(void)
{
	pid_t stopped[3], pid;
	int i, status;

	setup();
	attach_exit("get_signal");
	for (i = 0; i < 3; i++) {
		stopped[i] = start_child(sleep_long);
		wait_asleep_in(stopped[i], "hrtimer_nanosleep");
		kill(stopped[i], SIGSTOP);
		waitpid(stopped[i], &status, WUNTRACED);
		CHECK(WIFSTOPPED(status), "not stopped");
		waitpid(start_child(die_by_signal), NULL, 0);
		waitpid(start_child(die_by_signal), NULL, 0);
		waitpid(start_child(die_by_signal), NULL, 0);
	}
	drop_link();
	expect_in_use("three are stopped in get_signal()");
	for (i = 0; i < 3; i++) {
		sleep(2);
		CHECK(ownmod_info().images, "freed with %d tasks inside", 3 - i);
		/* The first dies where it is, the others go on and come out. */
		pid = stopped[i];
		kill(pid, i ? SIGCONT : SIGKILL);
		if (!i)
			waitpid(pid, NULL, 0);
	}
	CHECK(ownmod_settle(), "images stay though nobody is inside");
	for (i = 1; i < 3; i++)
		end_child(stopped[i]);
	expect_gone();
}

static const struct ktap_test tests[] = {
	{ "asleep", test_asleep, 240 },
	{ "retiring", test_retiring, 180 },
	{ "foreign_kprobe", test_foreign_kprobe, 120 },
	{ "force", test_force, 120 },
	{ "dead", test_dead, 180 },
	{ "dead_and_alive", test_dead_and_alive, 240 },
};

KTAP_MAIN(tests)
