// SPDX-License-Identifier: GPL-2.0
/*
 * Int3s in the kernel's functions while others are at work there too. The others are tracers
 * over everything, programs at every entry and on the int3's own path, all trace events, CPUs
 * that go and come. Which functions an int3 runs into before it is recognised depends on all
 * these. The list of kernel/probe/deny.c was made without them.
 *
 * A test for each surrounding. It comes when all int3s but a few are in place, which follow, and
 * goes when a few of them have gone. In the end the kernel's text is what it was, byte by
 * byte.
 *
 * Environment: PROBE_FUNCTIONS, in how many functions, default 1000, on -rt 500, at random.
 * PROBE_AT_ONCE, how many at a time, default all. PROBE_FROM and PROBE_TO, only those from and
 * before a place in the order, to close in on one. PROBE_SEED. PROBE_KERNEL=1: kprobes of the
 * kernel instead, to see whether they fare better (0.15 s each).
 */
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include "fixture.h"
#include "probe_functions.h"
#include "probe_sample.h"
#include "selftests/vm/probe/hostile.skel.h"
#include "selftests/vm/lib/probe_progs.skel.h"

#define NOHZ	"/sys/devices/system/cpu/nohz_full"
#define OSNOISE	TRACING "osnoise/"

/* How to switch it on and off around the probes, and what else happens with them in place. */
struct surrounding {
	void (*on)(void);
	void (*off)(void);
	void (*meanwhile)(void);
	bool first;		/* it comes before any int3, and goes after them */
};

static int dev, prog;
static enum how how;
static struct hostile *hostile;

static void setup(void)
{
	dev = fixture_open("the kernel's own takes 0.15 s a detach");
	probe_setup();
	probe_many_files();
	prog = bpf_program__fd(probe_skel->progs.count);
	how = env_int("PROBE_KERNEL", 0) ? KERNEL : OURS;
}

/* ---------------------------------------------------------------- the sweep --- */

static struct {
	int attached, hit;
	uint64_t hits;
} total;

/* As many are attached and detached while the surrounding is there: it makes that slow. */
#define UNDER	50

/* One is refused for the sake of the place, which has a reason, and not for want of anything. */
static void expect_refused(const struct attachment *a, uint64_t addr)
{
	bool place = a->err == -EINVAL || a->err == -EOPNOTSUPP;
	uint32_t reason = a->reply.refusal.reason;
	char name[128];

	CHECK(how == KERNEL ? place || a->err == -EILSEQ : place && reason != TRAMP_REASON_NONE,
	      "%s: %s, %s %s", ksym_name(addr, name, sizeof(name)), strerror(-a->err),
	      tramp_reason_name(reason), a->reply.refusal.detail);
}

static void attach_all(struct attachment *probe, const uint64_t *addr, int n)
{
	int i;

	for (i = 0; i < n; i++) {
		probe[i] = attach_insn_try(how, prog, addr[i], ONLY_INT3, 0);
		if (probe[i].err)
			expect_refused(&probe[i], addr[i]);
		else
			total.attached++;
	}
}

static void detach_all(struct attachment *probe, int n)
{
	int i;

	for (i = 0; i < n; i++) {
		struct tramp_query q;

		if (probe[i].err)
			continue;
		if (how == OURS) {
			q = attachment_query(&probe[i]);
			total.hit += !!q.hits;
			total.hits += q.hits;
		}
		detach(&probe[i]);
	}
}

/* Int3s at @n addresses, attached, run over, detached. */
static void portion(const struct surrounding *s, const uint64_t *addr, int n)
{
	struct attachment *probe = calloc(n, sizeof(*probe));
	int under = n < 2 * UNDER ? 0 : UNDER;
	char first[128], last[128];

	REQUIRE(probe, "out of memory");
	attach_all(probe, addr, n - under);
	/* If the machine does not survive it, this is what is left. */
	write_file("/dev/kmsg", "int3s in %d functions, %s to %s", n,
		   ksym_name(addr[0], first, sizeof(first)),
		   ksym_name(addr[n - 1], last, sizeof(last)));
	if (s->on && !s->first)
		s->on();
	attach_all(probe + n - under, addr + n - under, under);
	workload(1);
	if (s->meanwhile)
		s->meanwhile();
	detach_all(probe, under);
	if (s->off && !s->first)
		s->off();
	workload(1);
	detach_all(probe + under, n - under);
	probe_flush();
	free(probe);
}

static void sweep(const struct surrounding *s)
{
	uint64_t seed = rnd_seed(), start = now_ns(), *addr;
	int nr, n, from, to, at_once, wanted = kernel_is_rt() ? 500 : short_form(1000, 500);
	uint8_t *text;

	text = text_take(dev);
	/* A machine that does not survive prints no result, and so no note. */
	write_file("/dev/kmsg", "PROBE_SEED=%#lx", seed);
	addr = functions_take(&nr, env_int("PROBE_FUNCTIONS", wanted), &seed);
	at_once = env_int("PROBE_AT_ONCE", nr);
	from = env_int("PROBE_FROM", 0);
	to = env_int("PROBE_TO", nr);
	to = to < nr ? to : nr;
	nr = to - from;
	/* Now: a tracer has calls where functions begin with ftrace's no-ops. */
	for (n = from; n < to; n++)
		addr[n] = behind_entry(dev, addr[n]);
	if (s->first)
		s->on();
	for (; from < to; from += n) {
		n = to - from < at_once ? to - from : at_once;
		portion(s, addr + from, n);
	}
	if (s->first)
		s->off();
	ktap_note("%d functions, in %d of them an int3, %d were hit, %lu times, %lu.%lu minutes", nr,
		  total.attached, total.hit, total.hits, (now_ns() - start) / 60000000000,
		  (now_ns() - start) / 6000000000 % 10);
	CHECK(total.attached > nr / 2, "hardly one was attached");
	CHECK(how == KERNEL || total.hit > total.attached / 100, "hardly one was hit");
	text_check(dev, text);
	free(text);
	free(addr);
}

/* ------------------------------------------------------------------ tracers --- */

/* The one that is switched on. */
static const char *tracer;

static void tracer_on(void)
{
	REQUIRE(!write_file(TRACING "current_tracer", "%s", tracer), "%s", tracer);
}

static void tracer_off(void)
{
	CHECK(!write_file(TRACING "current_tracer", "nop"), "nop");
	write_file(TRACING "trace", "\n");
}

static void under_tracer(const char *name, void (*meanwhile)(void))
{
	const struct surrounding s = { .on = tracer_on, .off = tracer_off, .meanwhile = meanwhile };
	char *all = read_file(TRACING "available_tracers"), *rest = all, *one;

	while ((one = strsep(&rest, " \n")) && strcmp(one, name))
		;
	if (!one)
		ktap_skip("this kernel has no tracer %s", name);
	free(all);
	setup();
	tracer = name;
	sweep(&s);
}

/* With no filter: every function that has a site. */
static void test_function(void)
{
	under_tracer("function", NULL);
}

static void test_function_graph(void)
{
	under_tracer("function_graph", NULL);
}

/* Those that measure by the second want a few. */
static void work_for_a_while(void)
{
	uint64_t end = now_ns() + 6000000000ULL;

	while (now_ns() < end)
		workload(1);
}

/* Half of each second with interrupts off, in its thread. */
static void test_hwlat(void)
{
	under_tracer("hwlat", work_for_a_while);
}

/* Half of the time: the sweep needs the CPUs too. */
static void test_osnoise(void)
{
	write_file(OSNOISE "runtime_us", "500000");
	under_tracer("osnoise", work_for_a_while);
}

static void events_on(void)
{
	REQUIRE(!write_file(TRACING "events/enable", "1"), "events/enable");
}

static void events_off(void)
{
	CHECK(!write_file(TRACING "events/enable", "0"), "events/enable");
	write_file(TRACING "trace", "\n");
}

static void test_events(void)
{
	const struct surrounding s = { .on = events_on, .off = events_off };

	setup();
	sweep(&s);
}

/* ----------------------------------------------------------------- programs --- */

static void load_hostile(void)
{
	hostile = FIXTURE_LOAD(hostile);
}

/* Every function that ftrace can trace, but those of modules. */
static unsigned long *traceable;
static unsigned int nr_traceable;
static int multi_link;

/* Where the kernel's own tests of kprobe.multi do not attach either. */
static bool left_out(const char *name)
{
	return !strncmp(name, "rcu_", 4) || !strcmp(name, "arch_cpu_idle") ||
	       !strcmp(name, "default_idle") || !strncmp(name, "bpf_dispatcher_", 15) ||
	       !strncmp(name, "__ftrace_invalid_", 17);
}

static void read_traceable(void)
{
	char *text = read_file(TRACING "available_filter_functions_addrs"), *rest = text, *line;

	traceable = calloc(ALL_FUNCTIONS, sizeof(*traceable));
	REQUIRE(traceable, "out of memory");
	while ((line = strsep(&rest, "\n")) && nr_traceable < ALL_FUNCTIONS) {
		unsigned long long addr;
		char name[256], module[64];

		if (sscanf(line, "%llx %255s %63s", &addr, name, module) == 2 && !left_out(name))
			traceable[nr_traceable++] = addr;
	}
	free(text);
}

static void multi_on(void)
{
	LIBBPF_OPTS(bpf_link_create_opts, opts, .kprobe_multi.addrs = traceable,
		    .kprobe_multi.cnt = nr_traceable);

	multi_link = bpf_link_create(bpf_program__fd(hostile->progs.multi), 0,
				     BPF_TRACE_KPROBE_MULTI, &opts);
	REQUIRE(multi_link >= 0, "kprobe.multi: %s", strerror(-multi_link));
}

static void multi_off(void)
{
	close(multi_link);
}

static void test_kprobe_multi(void)
{
	const struct surrounding s = { .on = multi_on, .off = multi_off };

	if (kernel_version() < 6012)
		ktap_skip("this kernel has no CONFIG_FPROBE");
	setup();
	load_hostile();
	read_traceable();
	REQUIRE(nr_traceable > 10000, "%u functions", nr_traceable);
	sweep(&s);
	ktap_note("kprobe.multi at %u functions, %llu hits", nr_traceable,
		  (unsigned long long)hostile->bss->multis);
	CHECK(hostile->bss->multis > 1000, "hardly a hit");
}

/*
 * An int3 goes through these before our handler knows of it: those with a site and BTF. (Not
 * __rcu_read_lock(): 6.1 takes a program there, and recurses without any probe.)
 */
static const char *const int3_path[] = {
	"get_kprobe", "kprobe_int3_handler", "notify_die", "atomic_notifier_call_chain",
	"notifier_call_chain", "kprobe_exceptions_notify", "hw_breakpoint_exceptions_notify",
	"kgdb_notify", "kgdb_ll_trap", "arch_uprobe_exception_notify", "do_int3", "do_int3_user",
	"kprobe_busy_begin", "kprobe_busy_end", "ftrace_int3_handler", "preempt_schedule",
	"preempt_schedule_irq", "irqentry_exit_cond_resched",
};

/* Their trampolines call these outside of any recursion check: an int3 would be the end. */
static const char *const in_trampolines[] = {
	"migrate_disable", "migrate_enable", "rcu_read_unlock_strict", "__rcu_read_lock",
	"__rcu_read_unlock",
};

static void check_in_trampolines(void)
{
	size_t i;

	for (i = 0; i < sizeof(in_trampolines) / sizeof(in_trampolines[0]); i++) {
		uint64_t addr = ksym_addr(in_trampolines[i]);
		struct attachment p;

		if (!addr)
			continue;
		p = attach_insn_try(OURS, prog, behind_entry(dev, addr), ONLY_INT3, 0);
		REQUIRE(p.err == -EINVAL && p.reply.refusal.reason == TRAMP_REASON_BLACKLISTED,
			"an int3 in %s(): %s, %s", in_trampolines[i], strerror(-p.err),
			tramp_reason_name(p.reply.refusal.reason));
	}
}

#define ON_PATH ((int)(sizeof(int3_path) / sizeof(int3_path[0])))

static struct attachment at_path[ON_PATH];
static int clones[ON_PATH];

static void path_on(void)
{
	int i;

	for (i = 0; i < ON_PATH; i++)
		if (clones[i] >= 0)
			at_path[i] = attach_func(KERNEL, clones[i], NULL);
}

static void path_off(void)
{
	int i;

	for (i = 0; i < ON_PATH; i++)
		if (clones[i] >= 0)
			detach(&at_path[i]);
}

static void test_fentry(void)
{
	/* Later they could not: kprobe_int3_handler() is ours then, for a direct call. */
	const struct surrounding s = { .on = path_on, .off = path_off, .first = true };
	char names[512] = "";
	int i, n = 0;

	setup();
	if (how == OURS)
		check_in_trampolines();
	load_hostile();
	for (i = 0; i < ON_PATH; i++) {
		struct attachment a;

		clones[i] = prog_clone_try(hostile->progs.entry, int3_path[i], BPF_TRACE_FENTRY);
		if (clones[i] < 0)
			continue;
		a = attach_func_try(KERNEL, clones[i], NULL);
		if (a.err) {
			clones[i] = -1;
			continue;
		}
		detach(&a);
		n += snprintf(names + n, sizeof(names) - n, " %s", int3_path[i]);
	}
	ktap_note("programs at%s", names);
	REQUIRE(strstr(names, " get_kprobe"), "not at get_kprobe()");
	sweep(&s);
	ktap_note("%llu hits of theirs", (unsigned long long)hostile->bss->entries);
	CHECK(hostile->bss->entries > total.hits, "not at every int3");
}

/* --------------------------------------------------------------------- CPUs --- */

static void cpu_goes_and_comes(void)
{
	int i;

	for (i = 0; i < 3; i++)
		CHECK(!cpu_set_online(1, false) && !cpu_set_online(1, true), "CPU 1");
}

static void test_hotplug(void)
{
	const struct surrounding s = { .meanwhile = cpu_goes_and_comes };

	if (!cpu_can_go(1))
		ktap_skip("there is no second CPU that can go");
	setup();
	sweep(&s);
}

/* Alone on a CPU without a tick, now in user space, now in the kernel. */
static void alone_without_tick(void)
{
	uint64_t end;
	int status;
	pid_t pid;

	fflush(stdout);
	pid = fork();
	REQUIRE(pid >= 0, "fork: %s", strerror(errno));
	if (!pid) {
		pin_to_cpu(1);
		for (end = now_ns() + 3000000000ULL; now_ns() < end;) {
			volatile int i;

			for (i = 0; i < 10000000; i++)
				;
			getppid();
		}
		workload(2);
		_exit(!!ktap_failures());
	}
	CHECK(waitpid(pid, &status, 0) == pid && !status, "status %#x", status);
}

/* Its machine is booted with nohz_full=1; see selftests/vm/system/alone. */
static void test_nohz_full(void)
{
	const struct surrounding s = { .meanwhile = alone_without_tick };
	char *cpus = access(NOHZ, R_OK) ? NULL : read_file(NOHZ);

	if (!cpus || atoi(cpus) != 1)
		ktap_skip("the machine was not booted with nohz_full=1");
	free(cpus);
	setup();
	sweep(&s);
}

static const struct ktap_test tests[] = {
	{ "function", test_function, 400 },
	{ "function_graph", test_function_graph, 400 },
	{ "kprobe_multi", test_kprobe_multi, 400 },
	{ "fentry", test_fentry, 400 },
	{ "events", test_events, 400 },
	{ "hwlat", test_hwlat, 400 },
	{ "osnoise", test_osnoise, 400 },
	{ "hotplug", test_hotplug, 400 },
	{ "nohz_full", test_nohz_full, 400 },
};

KTAP_MAIN(tests)
