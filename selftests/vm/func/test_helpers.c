// SPDX-License-Identifier: GPL-2.0
/*
 * BPF helpers in programs attached by us: each gives what it gives when the
 * kernel attached the program. Every test runs its body once with ours and
 * once with the kernel's attachment, and checks both against known results.
 */
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <linux/bpf.h>
#include <linux/types.h>
#include "../../kmod/trampoline_test.h"
#include "fixture.h"
#include "helpers.h"
#include "selftests/vm/func/helpers.skel.h"

static struct helpers *skel;
static int dev;

static void setup(void)
{
	dev = fixture_open(NULL);
	skel = helpers__open();
	REQUIRE(skel, "helpers.bpf.o: %s", strerror(errno));
	/* The verifier of PREEMPT_RT kernels refuses timers. */
	bpf_program__set_autoload(skel->progs.use_timer, !kernel_is_rt());
	REQUIRE(!helpers__load(skel), "helpers.bpf.o: %s", strerror(errno));
}

static const char *who(enum how how)
{
	return how == OURS ? "ours" : "kernel's";
}

#define FD(prog) bpf_program__fd(skel->progs.prog)

/* Run the body for both kinds of attachment, each with fresh maps and variables. */
static void for_both(void (*body)(enum how how))
{
	int how;

	for (how = OURS; how <= KERNEL; how++) {
		setup();
		body(how);
		helpers__destroy(skel);
		close(dev);
	}
}

/* ------------------------------------------------- the trampoline's frame --- */

/* After one call of tt_args3(), which gave @result, with all of them. */
static void check_func_helpers(enum how how, uint64_t result, uint64_t cookie)
{
	CHECK_EQ(skel->bss->no_helper, 0x332211, "%s", who(how));
	CHECK_EQ(skel->bss->only_arg, 0x330000, "%s: bpf_get_func_arg()", who(how));
	CHECK_EQ(skel->bss->only_cnt, 3, "%s: bpf_get_func_arg_cnt()", who(how));
	CHECK_EQ(skel->bss->only_ret, result, "%s: bpf_get_func_ret()", who(how));
	CHECK_EQ(skel->bss->only_cookie, cookie, "%s: bpf_get_attach_cookie()", who(how));
	CHECK_EQ(skel->bss->only_ip, ksym_addr("tt_args3"), "%s: bpf_get_func_ip()", who(how));
}

static void func_helpers(enum how how)
{
	uint64_t cookie = 0xfeedface12345678ULL;
	struct attachment a[6];
	struct tt_reply reply;
	int i;

	a[0] = attach_func(how, FD(use_none), NULL);
	a[1] = attach_func(how, FD(use_cookie), &cookie);
	a[2] = attach_func(how, FD(use_arg), NULL);
	a[3] = attach_func(how, FD(use_cnt), NULL);
	a[4] = attach_func(how, FD(use_ret), NULL);
	a[5] = attach_func(how, FD(use_ip), NULL);
	reply = tt_call(dev, "tt_args3 0x11 0x2200 0x330000");
	check_func_helpers(how, reply.result, cookie);
	for (i = 0; i < 6; i++)
		detach(&a[i]);
}

/* Each alone on the function: what an image leaves out for others it must keep here. */
static void func_helpers_alone(enum how how)
{
	uint64_t cookie = 0x0123456789abcdefULL;
	const int fds[] = { FD(use_none), FD(use_cookie), FD(use_arg), FD(use_cnt), FD(use_ret),
			    FD(use_ip) };
	struct tt_reply reply;
	size_t i;

	for (i = 0; i < sizeof(fds) / sizeof(fds[0]); i++) {
		struct attachment a = attach_func(how, fds[i], &cookie);

		reply = tt_call(dev, "tt_args3 0x11 0x2200 0x330000");
		detach(&a);
	}
	check_func_helpers(how, reply.result, cookie);
}

static void in_subprogs(enum how how)
{
	uint64_t cookie = 77;
	struct attachment a = attach_func(how, FD(use_subprog), &cookie);

	tt_call(dev, "tt_args3 0x11 0x2200 0x330000");
	CHECK_EQ(skel->bss->sub_cookie, cookie, "%s", who(how));
	CHECK_EQ(skel->bss->sub_ip, ksym_addr("tt_args3"), "%s", who(how));
	CHECK_EQ(skel->bss->sub_cnt, 3, "%s", who(how));
	CHECK_EQ(skel->bss->sub_arg, 0x11, "%s", who(how));
	detach(&a);
}

static void tail_calls(enum how how)
{
	int map = bpf_map__fd(skel->maps.tail_progs), callee = FD(tail_callee);
	uint64_t cookie = 0xabcdef;
	uint32_t zero = 0;
	struct attachment a;

	a = attach_func(how, FD(tail_caller), &cookie);
	tt_call(dev, "tt_args4 1 2 3 4");
	CHECK_EQ(skel->bss->tail_after, 1, "%s: nothing in the map yet", who(how));
	REQUIRE(!bpf_map_update_elem(map, &zero, &callee, 0), "prog array: %s", strerror(errno));
	tt_call(dev, "tt_args4 n=10 1 2 3 4");
	CHECK_EQ(skel->bss->tail_before, 11, "%s", who(how));
	CHECK_EQ(skel->bss->tail_reached, 10, "%s", who(how));
	CHECK_EQ(skel->bss->tail_after, 1, "%s", who(how));
	CHECK_EQ(skel->bss->tail_cookie, cookie, "%s: cookie in the called program", who(how));
	CHECK_EQ(skel->bss->tail_cnt, 4, "%s: arguments in the called program", who(how));
	CHECK_EQ(skel->bss->tail_arg, 4, "%s: argument in the called program", who(how));
	detach(&a);
}

/* ----------------------------------------------------------------- stacks --- */

/* A stack as text, without the frames of whoever attached. */
static void name_frames(const uint64_t *frame, int n, char *text, size_t len)
{
	static const char *const own[] = { "bpf_prog_", "bpf_trampoline_", "trampoline_",
					   "__bpf_prog_" };
	size_t used = 0, k;
	char name[128];
	int i;

	ksym_reload();
	text[0] = '\0';
	for (i = 0; i < n && frame[i]; i++) {
		ksym_name(frame[i], name, sizeof(name));
		for (k = 0; k < 4 && strncmp(name, own[k], strlen(own[k])); k++)
			;
		if (k < 4)
			continue;
		used += snprintf(text + used, used < len ? len - used : 0, "%s ", name);
	}
}

static char stack_text[2][2][4096];

static void stacks(enum how how)
{
	struct attachment a = attach_func(how, FD(use_stack_entry), NULL);
	struct attachment b = attach_func(how, FD(use_stack_exit), NULL);
	int map[2] = { bpf_map__fd(skel->maps.entry_stacks), bpf_map__fd(skel->maps.exit_stacks) };
	struct stack_seen *seen[2];
	int i;

	tt_call(dev, "tt_caller 1");
	seen[0] = &skel->bss->stack_entry;
	seen[1] = &skel->bss->stack_exit;
	for (i = 0; i < 2; i++) {
		uint64_t frame[STACK_MAX] = {};
		const char *when = i ? "exit" : "entry";
		char *text = stack_text[how][i], by_id[4096];
		uint32_t id = seen[i]->id;

		CHECK(seen[i]->bytes > 8 * 5, "%s, %s: bpf_get_stack() gives %lld", who(how), when,
		      (long long)seen[i]->bytes);
		name_frames((uint64_t *)seen[i]->frame, seen[i]->bytes / 8, text,
			    sizeof(stack_text[0][0]));
		CHECK(strstr(text, "tt_caller+"), "%s, %s: the caller is not in: %s", who(how),
		      when, text);
		CHECK(strstr(text, "tt_write"), "%s, %s: the caller's callers are not in: %s",
		      who(how), when, text);
		if (!CHECK(seen[i]->id >= 0, "%s, %s: bpf_get_stackid() gives %lld", who(how), when,
			   (long long)seen[i]->id))
			continue;
		CHECK(!bpf_map_lookup_elem(map[i], &id, frame), "%s: no stack %u", who(how), id);
		name_frames(frame, STACK_MAX, by_id, sizeof(by_id));
		CHECK(!strcmp(by_id, text), "%s, %s: by id: %s\nat once: %s", who(how), when, by_id,
		      text);
	}
	detach(&a);
	detach(&b);
}

static void test_stacks(void)
{
	for_both(stacks);
	ktap_note("entry: %s", stack_text[OURS][0]);
	ktap_note("exit:  %s", stack_text[OURS][1]);
	CHECK(!strcmp(stack_text[OURS][0], stack_text[KERNEL][0]), "entry, ours: %s\nkernel's: %s",
	      stack_text[OURS][0], stack_text[KERNEL][0]);
	CHECK(!strcmp(stack_text[OURS][1], stack_text[KERNEL][1]), "exit, ours: %s\nkernel's: %s",
	      stack_text[OURS][1], stack_text[KERNEL][1]);
}

/* ------------------------------------------------------------ ring buffer --- */

static int nr_events;

static int take_event(void *expected_ret, void *data, size_t len)
{
	struct ring_event *e = data;

	CHECK_EQ(len, sizeof(*e), "event");
	CHECK_EQ(e->how, nr_events % 2 + 1, "event %d", nr_events);
	CHECK_EQ(e->a, 5, "event %d", nr_events);
	CHECK_EQ(e->b, 6, "event %d", nr_events);
	CHECK_EQ(e->ret, *(uint64_t *)expected_ret, "event %d", nr_events);
	nr_events++;
	return 0;
}

static void ringbuf(enum how how)
{
	struct attachment a = attach_func(how, FD(use_ringbuf), NULL);
	struct tt_reply reply = tt_call(dev, "tt_args2 n=100 5 6");
	struct ring_buffer *rb = ring_buffer__new(bpf_map__fd(skel->maps.ring), take_event,
						  &reply.result, NULL);

	REQUIRE(rb, "ring buffer: %s", strerror(errno));
	nr_events = 0;
	CHECK_EQ(ring_buffer__poll(rb, 1000), 200, "%s: events", who(how));
	CHECK_EQ(nr_events, 200, "%s: events", who(how));
	ring_buffer__free(rb);
	detach(&a);
}

/* ------------------------------------------------------ locks on all CPUs --- */

#define LOCK_CALLS 20000

static void *call_on_cpu(void *cpu)
{
	int own = tt_open();

	pin_to_cpu((long)cpu);
	tt_call(own, "tt_hot0 n=%d 1", LOCK_CALLS);
	close(own);
	return NULL;
}

static void spin_locks(enum how how)
{
	struct { uint32_t lock; uint64_t one, two, torn; } l;
	struct attachment a = attach_func(how, FD(use_spin_lock), NULL);
	uint64_t hits, misses, calls = (uint64_t)nr_cpus() * LOCK_CALLS;
	pthread_t thread[64];
	uint32_t zero = 0;
	long cpu;

	for (cpu = 0; cpu < nr_cpus() && cpu < 64; cpu++)
		REQUIRE(!pthread_create(&thread[cpu], NULL, call_on_cpu, (void *)cpu), "thread");
	for (cpu = 0; cpu < nr_cpus() && cpu < 64; cpu++)
		pthread_join(thread[cpu], NULL);
	REQUIRE(!bpf_map_lookup_elem(bpf_map__fd(skel->maps.locks), &zero, &l), "map: %s",
		strerror(errno));
	attachment_counts(&a, &hits, &misses);
	CHECK_EQ(l.torn, 0, "%s: seen half done under the lock", who(how));
	CHECK_EQ(l.two, 2 * l.one, "%s", who(how));
	/*
	 * The kernel's guard takes another task's turn on the CPU for a
	 * recursion when it preempts, and leaves the program out.
	 */
	if (a.how == OURS) {
		CHECK_EQ(l.one + misses, calls, "run or missed");
		CHECK_EQ(l.one, hits, "hits the module counted");
		if (!kernel_is_rt())
			CHECK_EQ(misses, 0, "missed with preemption off");
	} else {
		CHECK(l.one <= calls && l.one > calls / 2, "%lu of %lu", l.one, calls);
	}
	detach(&a);
}

/* ---------------------------------------------------- loops, maps, timers --- */

static void loops(enum how how)
{
	uint64_t cookie = 99;
	struct attachment a = attach_func(how, FD(use_loop), &cookie);
	struct tt_reply reply = tt_call(dev, "tt_u64 3");

	CHECK_EQ(skel->bss->loop_sum, 3ULL * 999 * 1000 / 2, "%s", who(how));
	CHECK_EQ(skel->bss->loop_ret, reply.result, "%s", who(how));
	CHECK_EQ(skel->bss->loop_cookie, cookie, "%s", who(how));
	detach(&a);
}

static uint64_t sum_of(struct bpf_map *map, uint32_t key, bool per_cpu)
{
	uint64_t value[256] = {}, sum = 0;
	int i, n = per_cpu ? libbpf_num_possible_cpus() : 1;

	if (bpf_map_lookup_elem(bpf_map__fd(map), &key, value))
		return 0;
	for (i = 0; i < n && i < 256; i++)
		sum += value[i];
	return sum;
}

static void maps(enum how how)
{
	struct attachment a = attach_func(how, FD(use_maps), NULL);
	int key, cpu;

	for (key = 0; key < 8; key++) {
		for (cpu = 0; cpu < nr_cpus(); cpu++) {
			pin_to_cpu(cpu);
			tt_call(dev, "tt_hot1 n=%d %d", 100 + key, key);
		}
	}
	for (key = 0; key < 8; key++) {
		uint64_t calls = (uint64_t)nr_cpus() * (100 + key);

		CHECK_EQ(sum_of(skel->maps.in_array, key, false), calls, "%s: array", who(how));
		CHECK_EQ(sum_of(skel->maps.in_percpu_array, key, true), calls,
			 "%s: per-CPU array", who(how));
		CHECK_EQ(sum_of(skel->maps.in_hash, key, false), calls, "%s: hash", who(how));
		CHECK_EQ(sum_of(skel->maps.in_percpu_hash, key, true), calls, "%s: per-CPU hash",
			 who(how));
		CHECK_EQ(sum_of(skel->maps.in_lru_hash, key, false), calls, "%s: LRU hash",
			 who(how));
	}
	detach(&a);
}

static void timers(enum how how)
{
	struct attachment a = attach_func(how, FD(use_timer), NULL);
	int i;

	tt_call(dev, "tt_hot2 1");
	CHECK_EQ(skel->data->timer_init_err, 0, "%s: bpf_timer_init()", who(how));
	CHECK_EQ(skel->data->timer_start_err, 0, "%s: bpf_timer_start()", who(how));
	for (i = 0; i < 300 && !*(volatile __u64 *)&skel->bss->timer_fired; i++)
		usleep(10000);
	CHECK_EQ(skel->bss->timer_fired, 1, "%s: callbacks", who(how));
	detach(&a);
}

static void task(enum how how)
{
	struct attachment a = attach_func(how, FD(use_task), NULL);

	tt_call(dev, "tt_hot3 1");
	CHECK_EQ(skel->bss->task_pid_tgid >> 32, getpid(), "%s", who(how));
	CHECK_EQ(skel->bss->task_btf_pid, getpid(), "%s", who(how));
	CHECK(!strncmp(skel->bss->task_comm, "test_helpers", 12), "%s: comm '%.16s'", who(how),
	      skel->bss->task_comm);
	detach(&a);
}

static void test_func_helpers(void) { for_both(func_helpers); }
static void test_func_helpers_alone(void) { for_both(func_helpers_alone); }
static void test_subprograms(void) { for_both(in_subprogs); }
static void test_tail_calls(void) { for_both(tail_calls); }
static void test_ringbuf(void) { for_both(ringbuf); }
static void test_spin_locks(void) { for_both(spin_locks); }
static void test_loops(void) { for_both(loops); }
static void test_maps(void) { for_both(maps); }
static void test_timers(void)
{
	if (kernel_is_rt())
		ktap_skip("the verifier of PREEMPT_RT kernels refuses bpf_timer");
	for_both(timers);
}

static void test_task(void) { for_both(task); }

static const struct ktap_test tests[] = {
	{ "func_helpers", test_func_helpers, 60 },
	{ "func_helpers_alone", test_func_helpers_alone, 60 },
	{ "subprograms", test_subprograms, 60 },
	{ "tail_calls", test_tail_calls, 60 },
	{ "stacks", test_stacks, 60 },
	{ "ringbuf", test_ringbuf, 60 },
	{ "spin_locks", test_spin_locks, 120 },
	{ "loops", test_loops, 60 },
	{ "maps", test_maps, 60 },
	{ "timers", test_timers, 60 },
	{ "task", test_task, 60 },
};

KTAP_MAIN(tests)
