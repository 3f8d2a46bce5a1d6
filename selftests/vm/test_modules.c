// SPDX-License-Identifier: GPL-2.0
/*
 * Modules that come and go: the one that holds traced functions, and our own.
 *
 * Our module refuses to be unloaded, or waits, while a link lives or a task is
 * inside an image; it never leaves a task to return into freed memory. Each test
 * leaves trampoline.ko loaded, as it found it.
 *
 * Whatever holds the device open would keep the module from being unloaded, so
 * attaching is done with a descriptor of its own, closed at once.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>
#include <linux/types.h>
#include "../kmod/trampoline_test.h"
#include "vmtest.h"
#include "record.h"
#include "selftests/vm/record.skel.h"

static struct record *skel;

static void setup(void)
{
	if (vmtest_oracle())
		ktap_skip("about our module");
	close(tt_open());
	skel = record__open_and_load();
	REQUIRE(skel, "record.bpf.o: %s", strerror(errno));
}

static int device_ioctl(unsigned int cmd, void *arg)
{
	int fd = open(TRAMP_DEVICE, O_RDWR | O_CLOEXEC), err;

	if (fd < 0)
		return -errno;
	err = ioctl(fd, cmd, arg) < 0 ? -errno : 0;
	close(fd);
	return err;
}

/* A link's descriptor or a negative errno; the reason in *reason (may be NULL). */
static int attach(int prog_fd, uint64_t cookie, unsigned int *reason)
{
	struct tramp_attach a = { .size = sizeof(a), .prog_fd = prog_fd, .cookie = cookie,
				  .flags = TRAMP_ATTACH_F_COOKIE };
	int err = device_ioctl(TRAMP_IOC_ATTACH, &a);

	if (reason)
		*reason = a.refusal.reason;
	return err ?: a.link_fd;
}

static int must_attach(int prog_fd, uint64_t cookie)
{
	unsigned int reason;
	int fd = attach(prog_fd, cookie, &reason);

	REQUIRE(fd >= 0, "attach: %s (%s)", strerror(-fd), tramp_reason_name(reason));
	return fd;
}

static struct tramp_info module_info(void)
{
	struct tramp_info info = { .size = sizeof(info) };

	REQUIRE(!device_ioctl(TRAMP_IOC_INFO, &info), "INFO");
	return info;
}

static bool settle(void)
{
	int i;

	for (i = 0; i < 300; i++) {
		struct tramp_info info = module_info();

		if (!info.images && !info.retiring)
			return true;
		usleep(100000);
	}
	return false;
}

/* Unload, trying again while it is busy for a moment; the last errno. */
static int unload(const char *name, int tries)
{
	int err;

	do {
		err = module_unload(name);
		if (err != -EAGAIN && err != -EBUSY)
			break;
		usleep(100000);
	} while (--tries > 0);
	return err;
}

static void reload_ours(void)
{
	int err = module_load(TRAMPOLINE_KO);

	REQUIRE(!err || err == -EEXIST, "loading %s: %s", TRAMPOLINE_KO, strerror(-err));
}

static bool is_busy(int err)
{
	return err == -EAGAIN || err == -EBUSY;
}

/* ------------------------------------------------------ a task that is asleep --- */

struct sleeper {
	pthread_t thread;
	uint64_t token;
	struct tt_reply reply;
};

static void *sleep_inside(void *arg)
{
	struct sleeper *s = arg;
	int fd = tt_open();

	s->reply = tt_call(fd, "tt_sleep %lu", s->token);
	close(fd);
	return NULL;
}

static void wait_for_sleepers(int fd, int n)
{
	char reply[64];
	int i;

	for (i = 0; i < 2000; i++) {
		REQUIRE(!tt_command(fd, reply, sizeof(reply), "sleepers"), "sleepers");
		if ((int)number_after(reply, "sleepers=", 0) == n)
			return;
		usleep(10000);
	}
	ktap_die("%d tasks asleep expected: %s", n, reply);
}

/*
 * A child asks for the unloading, since it may have to wait as well as be
 * refused. 1: refused; 0: still waiting after a while, *pid is the child.
 */
static int ask_for_unload(pid_t *pid)
{
	int status, i;

	fflush(stdout);
	*pid = fork();
	REQUIRE(*pid >= 0, "fork");
	if (!*pid)
		_exit(is_busy(module_unload("trampoline")) ? 0 : 7);
	for (i = 0; i < 30; i++) {
		if (waitpid(*pid, &status, WNOHANG) == *pid) {
			CHECK_EQ(status, 0, "the module was unloaded under a sleeping task");
			return 1;
		}
		usleep(100000);
	}
	return 0;
}

/* Tasks asleep in a traced function; everything is detached; the module is to go. */
static void test_asleep_in_exit_image(void)
{
	struct sleeper s[3];
	int link[3], dev, i, refused, status;
	uint64_t seen;
	pid_t pid;

	setup();
	dev = tt_open();
	link[0] = must_attach(prog_clone(skel->progs.count_entry, "tt_sleep", BPF_TRACE_FENTRY), 0);
	link[1] = must_attach(prog_clone(skel->progs.count_exit, "tt_sleep", BPF_TRACE_FEXIT), 1);
	for (i = 0; i < 2; i++) {
		s[i].token = 100 + i;
		REQUIRE(!pthread_create(&s[i].thread, NULL, sleep_inside, &s[i]), "thread");
	}
	wait_for_sleepers(dev, 2);
	CHECK_EQ(skel->bss->counted[0], 2, "entries");

	/* A further program while they sleep: a third image, and a third sleeper. */
	link[2] = must_attach(prog_clone(skel->progs.count_entry_too, "tt_sleep",
					 BPF_TRACE_FENTRY), 2);
	s[2].token = 102;
	REQUIRE(!pthread_create(&s[2].thread, NULL, sleep_inside, &s[2]), "thread");
	wait_for_sleepers(dev, 3);
	for (i = 0; i < 3; i++)
		close(link[i]);
	CHECK_EQ(module_info().links, 0, "links");
	seen = skel->bss->counted[1];
	sleep(2);
	CHECK(module_info().images, "the images they sleep in were freed");

	refused = ask_for_unload(&pid);
	ktap_note("unloading %s", refused ? "is refused" : "waits");
	REQUIRE(!tt_command(dev, NULL, 0, "wake"), "wake");
	for (i = 0; i < 3; i++) {
		pthread_join(s[i].thread, NULL);
		CHECK_EQ(s[i].reply.result, TT_SLEEP_RESULT(s[i].token), "what sleeper %d got", i);
	}
	CHECK_EQ(skel->bss->counted[1], seen, "exit program run after it was detached");
	if (!refused) {
		waitpid(pid, &status, 0);
		reload_ours();
	}
	CHECK(settle(), "images stay though all have left");
	CHECK_EQ(unload("trampoline", 50), 0, "unloading afterwards");
	reload_ours();
	/* The self-test of the module that was loaded just now leaves an image for a moment. */
	CHECK(settle(), "images of the self-test stay");
	CHECK_EQ(ksym_images(), 0, "images left in kallsyms");
}


/* A process asleep in the function is killed: it returns through the image, and dies. */
static void test_killed_asleep(void)
{
	int link, dev, status, i;
	pid_t pid[4];

	setup();
	dev = tt_open();
	link = must_attach(prog_clone(skel->progs.count_exit, "tt_sleep", BPF_TRACE_FEXIT), 0);
	for (i = 0; i < 4; i++) {
		fflush(stdout);
		pid[i] = fork();
		REQUIRE(pid[i] >= 0, "fork");
		if (!pid[i]) {
			/* It would hold the link as well. */
			close(link);
			tt_call(tt_open(), "tt_sleep 1");
			_exit(0);
		}
	}
	wait_for_sleepers(dev, 4);
	/* Two die while it is attached, two after. */
	for (i = 0; i < 4; i++) {
		if (i == 2)
			close(link);
		kill(pid[i], SIGKILL);
		waitpid(pid[i], &status, 0);
		CHECK(WIFSIGNALED(status), "the sleeper ended by itself");
	}
	CHECK_EQ(skel->bss->counted[0], 2, "exits");
	CHECK(settle(), "images stay though all are dead");
	CHECK_EQ(ksym_images(), 0, "images left in kallsyms");
}

/* ---------------------------------------------------- our module comes and goes --- */

static void test_unload_refused(void)
{
	const char *pin = "/sys/fs/bpf/keeps_module";
	int link, fd;

	setup();
	/* An open device. */
	fd = open(TRAMP_DEVICE, O_RDWR | O_CLOEXEC);
	REQUIRE(fd >= 0, "%s", strerror(errno));
	CHECK(is_busy(module_unload("trampoline")), "unloaded under an open device");
	close(fd);
	/* A link. */
	link = must_attach(prog_clone(skel->progs.count_entry, "tt_hot0", BPF_TRACE_FENTRY), 0);
	CHECK(is_busy(module_unload("trampoline")), "unloaded under a link");
	/* A pinned link, nobody's. */
	unlink(pin);
	REQUIRE(!bpf_obj_pin(link, pin), "pin: %s", strerror(errno));
	close(link);
	CHECK(is_busy(module_unload("trampoline")), "unloaded under a pinned link");
	tt_call(tt_open(), "tt_hot0 n=5 1");
	CHECK_EQ(skel->bss->counted[0], 5, "the program");
	REQUIRE(!unlink(pin), "unlink: %s", strerror(errno));
	CHECK_EQ(unload("trampoline", 100), 0, "unloading when nothing is left");
	CHECK(!module_loaded("trampoline"), "still there");
	CHECK(access(TRAMP_DEVICE, F_OK), "the device is still there");
	CHECK_EQ(ksym_images(), 0, "images left in kallsyms");
	tt_call(tt_open(), "tt_hot0 n=5 1");
	CHECK_EQ(skel->bss->counted[0], 5, "the program, after");
	reload_ours();
}

static void keep_calling(int fd, unsigned int round)
{
	(void)round;
	CHECK_EQ(tt_call(fd, "tt_hot0 n=100 41").result, 42, "result");
	usleep(500);
}

/* Load, attach, detach, unload, as fast as it goes, while the function runs. */
static void test_load_unload(void)
{
	int round, err, progs[4], i;

	setup();
	for (i = 0; i < 4; i++)
		progs[i] = prog_clone(i % 2 ? skel->progs.count_exit : skel->progs.count_entry,
				      "tt_hot0", i % 2 ? BPF_TRACE_FEXIT : BPF_TRACE_FENTRY);
	callers_start(keep_calling);
	for (round = 0; round < 20; round++) {
		int link[4];

		for (i = 0; i < 4; i++)
			link[i] = must_attach(progs[i], i);
		usleep(round * 1000);
		for (i = 0; i < 4; i++)
			close(link[i]);
		/* At once, or a little later. */
		if (round % 2)
			usleep(200000);
		err = unload("trampoline", 100);
		REQUIRE(!err, "round %d: unloading: %s", round, strerror(-err));
		reload_ours();
	}
	callers_stop();
	for (i = 0; i < 4; i++)
		CHECK(skel->bss->counted[i], "program %d was never run", i);
	CHECK(settle(), "images stay");
}

/* ------------------------------------------------- the module of the target --- */

static void test_target_module_held(void)
{
	int link;

	setup();
	link = must_attach(prog_clone(skel->progs.count_exit, "tt_hot0", BPF_TRACE_FEXIT), 0);
	CHECK(is_busy(module_unload("trampoline_test")), "unloaded under a link");
	close(link);
	CHECK(settle(), "images stay");
	record__destroy(skel);
}

/* Loaded for a function whose module is gone when it is to be attached. */
static void test_target_module_gone(void)
{
	struct tramp_explain ex = { .size = sizeof(ex) };
	struct func_btf f;
	unsigned int reason;
	int prog[2], err, i;

	setup();
	f = func_btf("tt_hot0");
	prog[0] = prog_clone(skel->progs.count_entry, "tt_hot0", BPF_TRACE_FENTRY);
	prog[1] = prog_clone(skel->progs.count_exit, "tt_hot0", BPF_TRACE_FEXIT);
	err = module_unload("trampoline_test");
	if (err) {
		CHECK(is_busy(err) && kernel_version() >= 6002, "unloading: %s", strerror(-err));
		ktap_skip("since 6.2 a loaded program holds the module of its function");
	}
	for (i = 0; i < 2; i++) {
		CHECK_EQ(attach(prog[i], 0, &reason), -ENXIO, "attach");
		CHECK_EQ(reason, TRAMP_REASON_MODULE_GONE, "%s", tramp_reason_name(reason));
	}
	ex.btf_obj_id = f.obj_id;
	ex.btf_id = f.id;
	err = device_ioctl(TRAMP_IOC_EXPLAIN, &ex);
	CHECK(err == -ENXIO || err == -ENOENT, "EXPLAIN: %s", strerror(-err));
	CHECK(ex.refusal.reason == TRAMP_REASON_MODULE_GONE ||
	      ex.refusal.reason == TRAMP_REASON_NO_BTF, "EXPLAIN: %s",
	      tramp_reason_name(ex.refusal.reason));

	/* Another module of the same name is another module. */
	close(tt_open());
	for (i = 0; i < 2; i++) {
		CHECK_EQ(attach(prog[i], 0, &reason), -ENXIO, "attach, module loaded again");
		CHECK_EQ(reason, TRAMP_REASON_MODULE_GONE, "%s", tramp_reason_name(reason));
	}
	CHECK(settle(), "images");
}

/* Unloading and loading the module of the functions again and again, with links between. */
static void test_target_module_reloaded(void)
{
	int round;

	setup();
	record__destroy(skel);
	for (round = 0; round < 5; round++) {
		struct bpf_program *prog;
		struct record *own;
		int link, err, fd;

		fd = tt_open();
		/* By libbpf, which looks the module up anew. */
		own = record__open();
		REQUIRE(own, "%s", strerror(errno));
		bpf_object__for_each_program(prog, own->obj)
			bpf_program__set_autoload(prog, prog == own->progs.count_exit);
		REQUIRE(!bpf_program__set_attach_target(own->progs.count_exit, 0, "tt_hot0"),
			"%s", strerror(errno));
		REQUIRE(!record__load(own), "%s", strerror(errno));
		link = must_attach(bpf_program__fd(own->progs.count_exit), 3);
		tt_call(fd, "tt_hot0 n=9 1");
		CHECK_EQ(own->bss->counted[3], 9, "round %d", round);
		close(link);
		record__destroy(own);
		close(fd);
		err = unload("trampoline_test", 100);
		CHECK_EQ(err, 0, "round %d: unloading the functions' module", round);
	}
	CHECK(settle(), "images stay");
}

static const struct ktap_test tests[] = {
	{ "asleep_in_exit_image", test_asleep_in_exit_image, 120 },
	{ "killed_asleep", test_killed_asleep, 60 },
	{ "unload_refused", test_unload_refused, 60 },
	{ "load_unload", test_load_unload, 180 },
	{ "target_module_held", test_target_module_held, 60 },
	{ "target_module_gone", test_target_module_gone, 60 },
	{ "target_module_reloaded", test_target_module_reloaded, 120 },
};

KTAP_MAIN(tests)
