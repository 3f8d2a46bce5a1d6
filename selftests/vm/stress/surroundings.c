// SPDX-License-Identifier: GPL-2.0
/*
 * Actors that are the surroundings of those in attach.c. There are the kernel's own probes,
 * trampolines and tracers at the same functions, a profiler, and CPUs that go and come. They keep
 * our device closed, and go on while our module goes and comes.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <asm/perf_regs.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "actors.h"
#include "probe.h"
#include "selftests/vm/lib/probe_progs.skel.h"
#include "selftests/vm/stress/stress.skel.h"

#define MAX_PROFILED	8

/*
 * A CPU that goes tells RCU so, and executes some more functions (cpuhp_report_idle_dead(),
 * kernel/cpu.c). A BPF program at a kernel kprobe runs there all the same, and lockdep reports it.
 * Ours are missed there (kernel/text/unsafe.c). So where lockdep looks on, a CPU goes and comes
 * while there is no kernel kprobe.
 */
#define HOTPLUG_LOCK	"/tmp/stress-hotplug"

static void hotplug_lock(bool on)
{
	static int fd = -1;

	if (access("/proc/lockdep_stats", F_OK))
		return;
	if (fd < 0)
		fd = open(HOTPLUG_LOCK, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	REQUIRE(fd >= 0 && !lockf(fd, on ? F_LOCK : F_ULOCK, 0), "%s: %s", HOTPLUG_LOCK,
		strerror(errno));
}

/* ---------------------------------------------------------- the kernel's own --- */

#define KPROBES		8
#define NO_PAGE		4096

static uint64_t faulting;
static int test_dev;

static void kprobes_begin(void)
{
	test_dev = tt_open();
	/* That asks our module. */
	faulting = probe_fixup_in("tt_user");
	tramp_device_close();
}

/*
 * The instruction of one of them faults: the kernel takes the next int3 on that CPU for a part of
 * its kprobe, if that is no kprobe's (kernel/probe/guard.c).
 */
static void kprobes_step(uint64_t *r)
{
	struct attachment a[KPROBES];
	bool any = false;
	uint64_t at;
	int i, place;

	hotplug_lock(true);
	for (i = 0; i < KPROBES; i++) {
		do {
			place = rnd(r) % ACTOR_PLACES;
		} while (actor_kprobe_wrong[place]);
		at = i ? actor_insns[place] : faulting;
		a[i] = attach_insn_try(KERNEL, bpf_program__fd(probe_skel->progs.count), at, 0, 0);
		any |= !a[i].err;
	}
	my_counts->done += any;
	for (i = 0; i < 3; i++) {
		CHECK_EQ(tt_call(test_dev, "tt_user %d", NO_PAGE).result, -EFAULT, "tt_user");
		usleep(rnd(r) % 7000);
	}
	for (i = 0; i < KPROBES; i++)
		detach(&a[i]);
	hotplug_lock(false);
}

static int fentry;

static void fentry_begin(void)
{
	/* A function that the actor of entries and exits has, too. */
	fentry = bpf_program__fd(actor_progs->progs.kernel_entry);
}

static void fentry_step(uint64_t *r)
{
	struct attachment a = attach_func_try(KERNEL, fentry, NULL);

	CHECK(!a.err || a.err == -EBUSY, "the kernel's fentry: %s", strerror(-a.err));
	my_counts->done += !a.err;
	usleep(rnd(r) % 20000);
	detach(&a);
}

static void tracer_step(uint64_t *r)
{
	char name[128];

	/* Not all of them can be traced. */
	ksym_name(rnd(r) % 2 ? actor_counted(r) : actor_funcs[rnd(r) % nr_actor_funcs], name,
		  sizeof(name));
	name[strcspn(name, "+")] = '\0';
	if (write_file(TRACING "set_ftrace_filter", "%s\n", name))
		return;
	CHECK_EQ(write_file(TRACING "current_tracer", "function"), 0, "function tracer");
	my_counts->done++;
	usleep(rnd(r) % 100000);
	function_tracer(NULL);
}

/* ---------------------------------------------------------------- profiling --- */

/* Samples with call stacks, of all CPUs, as a profiler takes them: interrupts anywhere. */
static void profile_step(uint64_t *r)
{
	struct perf_event_attr attr = {
		.size = sizeof(attr), .type = PERF_TYPE_SOFTWARE, .config = PERF_COUNT_SW_CPU_CLOCK,
		.freq = 1, .sample_freq = 50,
		.sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_CALLCHAIN | PERF_SAMPLE_REGS_INTR,
		.sample_regs_intr = 1ULL << PERF_REG_X86_SP,
	};
	size_t size = 9 * sysconf(_SC_PAGESIZE);
	int cpu, fd[MAX_PROFILED];
	struct perf_event_mmap_page *ring[MAX_PROFILED];
	bool sampled = false;

	for (cpu = 0; cpu < MAX_PROFILED; cpu++) {
		fd[cpu] = syscall(SYS_perf_event_open, &attr, -1, cpu, -1, PERF_FLAG_FD_CLOEXEC);
		/* A CPU that is away at the moment, or has never been there. */
		CHECK(fd[cpu] >= 0 || errno == ENODEV || errno == EINVAL, "profiling: %s",
		      strerror(errno));
		ring[cpu] = fd[cpu] < 0 ? MAP_FAILED :
			    mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd[cpu], 0);
	}
	usleep(rnd(r) % 500000);
	for (cpu = 0; cpu < MAX_PROFILED; cpu++) {
		if (ring[cpu] != MAP_FAILED) {
			sampled |= ring[cpu]->data_head;
			munmap(ring[cpu], size);
		}
		if (fd[cpu] >= 0)
			close(fd[cpu]);
	}
	my_counts->done += sampled;
}

/* --------------------------------------------------------------------- CPUs --- */

static int last_cpu;

static void hotplug_begin(void)
{
	last_cpu = nr_cpus() - 1;
}

static void cpu_goes_or_comes(bool online)
{
	hotplug_lock(true);
	CHECK_EQ(cpu_set_online(last_cpu, online), 0, "a CPU %s", online ? "comes" : "goes");
	hotplug_lock(false);
}

static void hotplug_step(uint64_t *r)
{
	cpu_goes_or_comes(false);
	usleep(rnd(r) % 500000);
	cpu_goes_or_comes(true);
	usleep(rnd(r) % 2000000);
	my_counts->done++;
}

const struct actor surrounding_actors[] = {
	/* Each step holds locks that ours wait for, as long as its grace periods take. */
	{ "kernel kprobes", kprobes_begin, kprobes_step, NULL, 2000000 },
	{ "kernel fentry", fentry_begin, fentry_step, NULL, 2000000 },
	{ "function tracer", NULL, tracer_step, NULL, 5000000 },
	{ "profiler", NULL, profile_step, NULL, 300000 },
	{ "hotplug", hotplug_begin, hotplug_step, NULL, 0 },
	{ "memory", NULL, pressure_step, NULL, 300000 },
	{ "stress-ng", verify_begin, verify_step, NULL, 4000000 },
};
const unsigned int nr_surrounding_actors =
	sizeof(surrounding_actors) / sizeof(surrounding_actors[0]);
