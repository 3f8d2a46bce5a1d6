// SPDX-License-Identifier: GPL-2.0
/*
 * Modules that come and go: the one that holds traced functions, and our own.
 *
 * Our module refuses to be unloaded while a link lives or a task is inside an image
 * (test_unload.c asks at once). It never leaves a task to return into freed memory. Each test
 * leaves trampoline.ko loaded, as it found it.
 *
 * Environment: MODULE_ROUNDS, how often it comes and goes under calls, default 8.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>
#include <linux/types.h>
#include "../../kmod/trampoline_test.h"
#include "ownmod.h"
#include "fixture.h"
#include "probe.h"
#include "record.h"
#include "selftests/vm/lib/record.skel.h"

static struct record *skel;

static void setup(void)
{
	ownmod_setup();
	skel = FIXTURE_LOAD(record);
}

/* ------------------------------------------------------ a task that is asleep --- */

/* Tasks asleep in a traced function; everything is detached; the module is to go. */
static void test_asleep_in_exit_image(void)
{
	struct ownmod_sleeper s[3];
	int link[3], dev, i;
	uint64_t seen;

	setup();
	dev = tt_open();
	link[0] = ownmod_must_attach(prog_clone(skel->progs.count_entry, "tt_sleep", BPF_TRACE_FENTRY), 0);
	link[1] = ownmod_must_attach(prog_clone(skel->progs.count_exit, "tt_sleep", BPF_TRACE_FEXIT), 1);
	for (i = 0; i < 2; i++) {
		ownmod_sleep(&s[i], 100 + i);
	}
	ownmod_wait_for_sleepers(dev, 2);
	CHECK_EQ(skel->bss->counted[0], 2, "entries");

	/* A further program while they sleep: a third image, and a third sleeper. */
	link[2] = ownmod_must_attach(prog_clone(skel->progs.count_entry_too, "tt_sleep",
					 BPF_TRACE_FENTRY), 2);
	ownmod_sleep(&s[2], 102);
	ownmod_wait_for_sleepers(dev, 3);
	for (i = 0; i < 3; i++)
		close(link[i]);
	CHECK_EQ(ownmod_info().links, 0, "links");
	seen = skel->bss->counted[1];
	sleep(2);
	CHECK(ownmod_info().images, "the images they sleep in were freed");

	CHECK(ownmod_busy(module_unload("trampoline")), "unloaded under a sleeping task");
	REQUIRE(!tt_command(dev, NULL, 0, "wake"), "wake");
	for (i = 0; i < 3; i++)
		ownmod_join(&s[i]);
	CHECK_EQ(skel->bss->counted[1], seen, "exit program run after it was detached");
	CHECK(ownmod_settle(), "images stay though all have left");
	CHECK_EQ(ownmod_unload("trampoline", 300), 0, "unloading afterwards");
	ownmod_reload();
	/* The self-test of the module that was loaded just now leaves an image for a moment. */
	CHECK(ownmod_settle(), "images of the self-test stay");
	CHECK_EQ(ksym_images(), 0, "images left in kallsyms");
}

/* A process asleep in the function is killed: it returns through the image, and dies. */
static void test_killed_asleep(void)
{
	int link, dev, status, i;
	pid_t pid[4];

	setup();
	dev = tt_open();
	link = ownmod_must_attach(prog_clone(skel->progs.count_exit, "tt_sleep", BPF_TRACE_FEXIT), 0);
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
	ownmod_wait_for_sleepers(dev, 4);
	/* Two die while it is attached, two after. */
	for (i = 0; i < 4; i++) {
		if (i == 2)
			close(link);
		kill(pid[i], SIGKILL);
		waitpid(pid[i], &status, 0);
		CHECK(WIFSIGNALED(status), "the sleeper ended by itself");
	}
	CHECK_EQ(skel->bss->counted[0], 2, "exits");
	CHECK(ownmod_settle(), "images stay though all are dead");
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
	CHECK(ownmod_busy(module_unload("trampoline")), "unloaded under an open device");
	close(fd);
	/* A link. */
	link = ownmod_must_attach(prog_clone(skel->progs.count_entry, "tt_hot0", BPF_TRACE_FENTRY), 0);
	CHECK(ownmod_busy(module_unload("trampoline")), "unloaded under a link");
	/* A pinned link, nobody's. */
	unlink(pin);
	REQUIRE(!bpf_obj_pin(link, pin), "pin: %s", strerror(errno));
	close(link);
	CHECK(ownmod_busy(module_unload("trampoline")), "unloaded under a pinned link");
	tt_call(tt_open(), "tt_hot0 n=5 1");
	CHECK_EQ(skel->bss->counted[0], 5, "the program");
	REQUIRE(!unlink(pin), "unlink: %s", strerror(errno));
	CHECK_EQ(ownmod_unload("trampoline", 300), 0, "unloading when nothing is left");
	CHECK(!module_loaded("trampoline"), "still there");
	CHECK(access(TRAMP_DEVICE, F_OK), "the device is still there");
	CHECK_EQ(ksym_images(), 0, "images left in kallsyms");
	tt_call(tt_open(), "tt_hot0 n=5 1");
	CHECK_EQ(skel->bss->counted[0], 5, "the program, after");
	ownmod_reload();
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
	int round, rounds = env_int("MODULE_ROUNDS", 8), err, progs[4], i;

	setup();
	for (i = 0; i < 4; i++)
		progs[i] = prog_clone(i % 2 ? skel->progs.count_exit : skel->progs.count_entry,
				      "tt_hot0", i % 2 ? BPF_TRACE_FEXIT : BPF_TRACE_FENTRY);
	callers_start(keep_calling);
	for (round = 0; round < rounds; round++) {
		int link[4];

		for (i = 0; i < 4; i++)
			link[i] = ownmod_must_attach(progs[i], i);
		usleep(round * 20000 / rounds);
		for (i = 0; i < 4; i++)
			close(link[i]);
		/* At once, or a little later. */
		if (round % 2)
			usleep(200000);
		err = ownmod_unload("trampoline", 300);
		REQUIRE(!err, "round %d: unloading: %s", round, strerror(-err));
		ownmod_reload();
	}
	callers_stop();
	for (i = 0; i < 4; i++)
		CHECK(skel->bss->counted[i], "program %d was never run", i);
	CHECK(ownmod_settle(), "images stay");
}

/* ------------------------------------------------- the module of the target --- */

static void test_target_module_held(void)
{
	int link;

	setup();
	link = ownmod_must_attach(prog_clone(skel->progs.count_exit, "tt_hot0", BPF_TRACE_FEXIT), 0);
	CHECK(ownmod_busy(module_unload("trampoline_test")), "unloaded under a link");
	close(link);
	CHECK(ownmod_settle(), "images stay");
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
		CHECK(ownmod_busy(err) && kernel_version() >= 6002, "unloading: %s", strerror(-err));
		ktap_skip("since 6.2 a loaded program holds the module of its function");
	}
	for (i = 0; i < 2; i++) {
		CHECK_EQ(ownmod_attach(prog[i], 0, &reason), -ENXIO, "attach");
		CHECK_EQ(reason, TRAMP_REASON_MODULE_GONE, "%s", tramp_reason_name(reason));
	}
	ex.btf_obj_id = f.obj_id;
	ex.btf_id = f.id;
	err = ownmod_ioctl(TRAMP_IOC_EXPLAIN, &ex);
	CHECK(err == -ENXIO || err == -ENOENT, "EXPLAIN: %s", strerror(-err));
	CHECK(ex.refusal.reason == TRAMP_REASON_MODULE_GONE ||
	      ex.refusal.reason == TRAMP_REASON_NO_BTF, "EXPLAIN: %s",
	      tramp_reason_name(ex.refusal.reason));

	/* Another module of the same name is another module. */
	close(tt_open());
	for (i = 0; i < 2; i++) {
		CHECK_EQ(ownmod_attach(prog[i], 0, &reason), -ENXIO, "attach, module loaded again");
		CHECK_EQ(reason, TRAMP_REASON_MODULE_GONE, "%s", tramp_reason_name(reason));
	}
	CHECK(ownmod_settle(), "images");
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
		link = ownmod_must_attach(bpf_program__fd(own->progs.count_exit), 3);
		tt_call(fd, "tt_hot0 n=9 1");
		CHECK_EQ(own->bss->counted[3], 9, "round %d", round);
		close(link);
		record__destroy(own);
		close(fd);
		err = ownmod_unload("trampoline_test", 300);
		CHECK_EQ(err, 0, "round %d: unloading the functions' module", round);
	}
	CHECK(ownmod_settle(), "images stay");
}

static volatile bool enough;
/* How often the tracer has come. */
static volatile unsigned int came;

static void *trace_now_and_then(void *arg)
{
	while (!enough) {
		CHECK(!write_file(TRACING "current_tracer", "function"), "the function tracer");
		came++;
		CHECK(!write_file(TRACING "current_tracer", "nop"), "no tracer");
	}
	return arg;
}

/*
 * The self-test calls through a site to which a tracer comes meanwhile, and which it leaves. The
 * filter holds for the module that is still to come, and is gone with it.
 */
static void test_load_under_tracer(void)
{
	unsigned int before, meanwhile = 0;
	pthread_t tracer;
	char *filter;
	int i, err;

	setup();
	enough = false;
	REQUIRE(!pthread_create(&tracer, NULL, trace_now_and_then, NULL), "pthread_create");
	for (i = 0; i < 5 && !ktap_failures(); i++) {
		err = ownmod_unload("trampoline", 300);
		CHECK(!err, "round %d: unloading: %s", i, strerror(-err));
		CHECK(!write_file(TRACING "set_ftrace_filter", ":mod:trampoline"), "the filter");
		before = came;
		err = module_load(TRAMPOLINE_KO);
		meanwhile += came - before;
		CHECK(!err, "round %d: loading: %s", i, strerror(-err));
		filter = read_file(TRACING "set_ftrace_filter");
		CHECK(strstr(filter, "[trampoline]"), "round %d: the tracer is not at ours", i);
		free(filter);
	}
	ktap_note("the tracer came %u times while it was loaded %d times", meanwhile, i);
	CHECK(meanwhile, "no tracer came while it was loaded");
	enough = true;
	pthread_join(tracer, NULL);
	write_file(TRACING "set_ftrace_filter", "\n");
	ownmod_reload();
	CHECK(ownmod_settle(), "images of the self-test stay");
}

static const struct ktap_test tests[] = {
	{ "asleep_in_exit_image", test_asleep_in_exit_image, 120 },
	{ "killed_asleep", test_killed_asleep, 60 },
	{ "unload_refused", test_unload_refused, 60 },
	{ "load_unload", test_load_unload, 180 },
	{ "load_under_tracer", test_load_under_tracer, 300 },
	{ "target_module_held", test_target_module_held, 60 },
	{ "target_module_gone", test_target_module_gone, 60 },
	{ "target_module_reloaded", test_target_module_reloaded, 120 },
};

KTAP_MAIN(tests)
