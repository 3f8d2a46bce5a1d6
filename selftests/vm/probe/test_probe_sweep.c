// SPDX-License-Identifier: GPL-2.0
/*
 * Probes at random instructions of the whole kernel, hundreds at a time: attached,
 * made jumps where they can be, run over, detached. No splat, no byte changed, no result of the
 * workload spoilt. We take all that the kernel's register_kprobe() takes, but in functions
 * without an ftrace site (test_probe_notrace.c) and in those by the module's list. Where it is
 * quiet enough to compare, hits are as many as its kprobes get.
 *
 * Environment: PROBE_SWEEP, how many instructions, default 5000, on -rt 2000; PROBE_BATCH, how
 * many at a time, default 1000; PROBE_SEED. selftests/stress/probes passes them on.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include "fixture.h"
#include "probe.h"
#include "probe_sample.h"
#include "rounds.h"
#include "selftests/vm/lib/probe_progs.skel.h"

#define OPTIMIZATION	"/proc/sys/debug/kprobes-optimization"
#define MAX_BATCH	PROBE_COUNTERS
#define JUMP_SIZE	5
/* Kprobes of the kernel in one comparison. */
#define MAX_COMPARED	100

static int dev, prog;
static volatile uint32_t *gate;
static uint64_t seed;
static struct sample sample[MAX_BATCH];
static struct attachment at[MAX_BATCH];
static uint64_t first[MAX_BATCH];
static int32_t kernel_says[MAX_BATCH];
static bool wrong_there[MAX_BATCH];	/* see kprobe_is_wrong() */

static struct {
	unsigned int mode[8], refused, listed, untraced, wrong, hit, compared, again, unequal;
	uint64_t hits, missed;
	unsigned int reason[TRAMP_REASON_COUNT];
} total;

/*
 * The workload, and how often each of the first @nr programs ran meanwhile. Programs and
 * kprobes of the kernel count nothing else: two words in memory that is shared say so. No
 * system call and no page fault would be counted with one kind and not with the other. A
 * workload comes before it: both kinds find the stacks, slabs and callbacks that one leaves. It
 * comes behind what is written here for ours alone: a fork write-protects, and counts, each page
 * that was written since the last one.
 */
static void run(int nr, uint64_t *hits)
{
	const volatile __u64 *counted = probe_skel->bss->counted;
	volatile int *shut = &probe_skel->bss->count_shut;
	int i;

	*shut = 1;
	for (i = 0; i < nr; i++)
		hits[i] = counted[i];
	workload(1);
	*shut = 0;
	*gate = 1;
	workload(1);
	*gate = 0;
	*shut = 1;
	for (i = 0; i < nr; i++)
		hits[i] = counted[i] - hits[i];
}

/* The NOP that ftrace patches. */
static bool is_site(uint64_t addr)
{
	uint8_t code[5];

	text_read(dev, addr, code, sizeof(code));
	return !memcmp(code, "\x0f\x1f\x44\x00\x00", sizeof(code));
}

/*
 * By the name of the function: where kprobes do harm (kernel/probe/deny.c), and at its site, where
 * not even an image is safe (kernel/text/unsafe.c). @kernel: as in check_refusal()
 */
static bool is_listed(const struct tramp_refusal *why, uint64_t addr, int kernel)
{
	if (strstr(why->detail, "listed by"))
		return true;
	return !kernel && is_site(addr) &&
	       (why->reason == TRAMP_REASON_RCU_IDLE || why->reason == TRAMP_REASON_BLACKLISTED);
}

/* The attachment @p to @addr was refused, and register_kprobe() there said @kernel. */
static void check_refusal(const struct attachment *p, uint64_t addr, int kernel, bool wrong,
			  const char *name)
{
	const struct tramp_refusal *why = &p->reply.refusal;
	bool listed = is_listed(why, addr, kernel);
	/* Where register_kprobe() goes, but the kernel's own BPF kprobes do not, either. */
	bool untraced = why->reason == TRAMP_REASON_NOTRACE;

	total.refused++;
	total.reason[why->reason]++;
	total.listed += listed;
	total.untraced += untraced;
	total.wrong += wrong;
	CHECK(kernel || listed || untraced || wrong,
	      "%s: the kernel takes a kprobe, we refuse: %s, %s %s", name, strerror(-p->err),
	      tramp_reason_name(why->reason), why->detail);
}

static void attach_all(int nr)
{
	char name[160];
	int i;

	for (i = 0; i < nr; i++) {
		wrong_there[i] = kprobe_is_wrong(dev, sample[i].addr);
		at[i] = attach_insn_try(OURS, prog, sample[i].addr, 0, i);
		if (at[i].err)
			check_refusal(&at[i], sample[i].addr, kernel_says[i], wrong_there[i],
				      sample_name(&sample[i], name, sizeof(name)));
	}
}

/*
 * Whether @reason of one of the sample is another one of it, which came after the forecast.
 * That is one in its region, or a kprobe close before it, whose jump might reach it.
 */
static bool neighbour(int i, uint32_t reason)
{
	int k;

	if (reason != TRAMP_REASON_KPROBE_THERE)
		return reason == TRAMP_REASON_REGION_PROBE;
	for (k = i - 1; k >= 0 && sample[i].addr - sample[k].addr < JUMP_SIZE; k--)
		if (!at[k].err && attachment_query(&at[k]).mode == TRAMP_MODE_KPROBE)
			return true;
	return false;
}

/* Modes as they have come out, and whether EXPLAIN_CODE foretold them. */
static void look_at_modes(int nr)
{
	char name[160];
	int i;

	for (i = 0; i < nr; i++) {
		struct tramp_query q;

		if (at[i].err)
			continue;
		q = attachment_query(&at[i]);
		total.mode[q.mode]++;
		CHECK(q.mode == sample[i].mode || neighbour(i, q.mode_reason),
		      "%s is %s (%s), foretold was %s (%s)",
		      sample_name(&sample[i], name, sizeof(name)), tramp_mode_name(q.mode),
		      tramp_reason_name(q.mode_reason), tramp_mode_name(sample[i].mode),
		      tramp_reason_name(sample[i].reason));
	}
}

static void kernel_optimises(bool on)
{
	REQUIRE(!write_file(OPTIMIZATION, "%d", on), OPTIMIZATION);
}

/*
 * Its optimiser lets go of kprobes that it had in hand when it is switched off, but frees
 * them a moment later: until then they are there for us.
 */
static void wait_for_kernel(void)
{
	bool empty = false;
	char *list;
	int i;

	kernel_optimises(false);
	kernel_optimises(true);
	for (i = 0; i < 500 && !empty; i++) {
		list = read_file("/sys/kernel/debug/kprobes/list");
		empty = !list[0];
		free(list);
		usleep(empty ? 0 : 10000);
	}
	CHECK(empty, "the kernel still has kprobes");
}

/*
 * Hits of the kernel's kprobes at @n addresses, each time, in two runs of the workload. One that
 * is missed now and then is no measure. They stay int3s: the kernel's optimiser would be at work
 * during the runs, and the switches to its tasks would count. Ours has finished by then.
 */
static void kernel_hits(const uint64_t *addr, int n, struct twice *twice)
{
	static uint64_t missed[MAX_COMPARED], hits[2][MAX_COMPARED];
	static int32_t err[MAX_COMPARED];
	int i, k;

	kernel_optimises(false);
	for (k = 0; k < 2; k++) {
		kprobes_on(dev, TT_KPROBE_COUNT, addr, err, n);
		run(0, hits[k]);
		kprobes_off(dev, hits[k], missed, NULL, n);
		for (i = 0; i < n; i++)
			twice[i].quiet = !err[i] && !missed[i] && (!k || twice[i].quiet);
	}
	kernel_optimises(true);
	for (i = 0; i < n; i++) {
		twice[i].quiet &= hits[0][i] == hits[1][i];
		twice[i].hits = hits[0][i];
	}
}

/* The same by programs of ours. Returns how many links there were. */
static int our_hits(const uint64_t *addr, int n, struct twice *twice)
{
	static struct attachment probe[MAX_COMPARED];
	static uint64_t hits[2][MAX_COMPARED];
	int i, k, links = 0;

	for (i = 0; i < n; i++) {
		probe[i] = attach_insn_try(OURS, prog, addr[i], 0, i);
		links += !probe[i].err;
	}
	probe_flush();
	for (k = 0; k < 2; k++)
		run(n, hits[k]);
	for (i = 0; i < n; i++) {
		twice[i].quiet = !probe[i].err && hits[0][i] == hits[1][i];
		twice[i].hits = hits[0][i];
		detach(&probe[i]);
	}
	probe_flush();
	return links;
}

/* As many descriptors as there were links: the workload's children close them, which counts. */
static void open_some(int *file, int n)
{
	int i;

	for (i = 0; i < n; i++)
		file[i] = open("/dev/null", O_RDONLY | O_CLOEXEC);
}

static void close_some(int *file, int n)
{
	int i;

	for (i = 0; i < n; i++)
		close(file[i]);
}

/*
 * @n instructions whose hits were the same twice with ours, and twice with the kernel's, but
 * were not equal. That may be chance: see rounds.h.
 */
static void compare_again(const int *which, int n)
{
	static struct twice ours[MAX_COMPARED], kernels[MAX_COMPARED];
	static struct rounds r[MAX_COMPARED];
	static uint64_t addr[MAX_COMPARED];
	static int file[MAX_COMPARED];
	int i, k, links, unequal = n;
	char name[160];

	for (i = 0; i < n; i++)
		addr[i] = sample[which[i]].addr;
	for (k = 0; k < ROUNDS && unequal; k++) {
		wait_for_kernel();
		links = our_hits(addr, n, ours);
		open_some(file, links);
		wait_for_kernel();
		kernel_hits(addr, n, kernels);
		close_some(file, links);
		unequal = 0;
		for (i = 0; i < n; i++) {
			r[i] = add_round(r[i], !k, ours[i], kernels[i]);
			unequal += r[i].steady && r[i].ours != r[i].kernels;
		}
	}
	total.unequal += unequal;
	for (i = 0; i < n; i++) {
		total.compared += r[i].steady;
		/* A summary of many tests shows no notes, so all of it is said here. */
		CHECK(!r[i].steady || r[i].ours == r[i].kernels,
		      "%s: %lu hits of ours each time, %lu of the kernel's kprobe, PROBE_SEED=%#lx",
		      sample_name(&sample[which[i]], name, sizeof(name)), r[i].ours, r[i].kernels,
		      seed);
	}
}

/* Those hit as often each time, and by kprobes of the kernel: as often by those. */
static void compare(int nr)
{
	static struct twice kernels[MAX_COMPARED];
	static uint64_t addr[MAX_COMPARED];
	static int which[MAX_COMPARED];
	int i, n = 0, again = 0;

	for (i = 0; i < nr && n < MAX_COMPARED; i++)
		if (first[i] && !wrong_there[i]) {
			addr[n] = sample[i].addr;
			which[n++] = i;
		}
	if (!n)
		return;
	kernel_hits(addr, n, kernels);
	for (i = 0; i < n; i++) {
		if (!kernels[i].quiet)
			continue;
		if (kernels[i].hits == first[which[i]])
			total.compared++;
		else
			which[again++] = which[i];
	}
	total.again += again;
	compare_again(which, again);
}

static void batch(int nr, uint64_t *state)
{
	static uint64_t addrs[MAX_BATCH], second[MAX_BATCH];
	static int files[MAX_BATCH];
	char name[160];
	int i, links = 0;

	sample_draw(sample, nr, state);
	for (i = 0; i < nr; i++)
		addrs[i] = sample[i].addr;
	judge(dev, TT_JUDGE_REGISTER, addrs, kernel_says, nr);
	wait_for_kernel();

	attach_all(nr);
	workload(1);		/* some as int3s, some meanwhile jumps */
	probe_flush();
	look_at_modes(nr);
	run(nr, first);
	run(nr, second);
	for (i = 0; i < nr; i++) {
		struct tramp_query q;

		if (at[i].err)
			continue;
		links++;
		q = attachment_query(&at[i]);
		total.hits += q.hits;
		total.missed += q.misses;
		total.hit += !!q.hits;
		/* Not the same twice: too much going on there. */
		if (first[i] != second[i])
			first[i] = 0;
	}
	for (i = 0; i < nr; i++)
		detach(&at[i]);
	probe_flush();
	open_some(files, links);
	for (i = 0; i < nr; i++)
		CHECK(sample_unchanged(dev, &sample[i]), "%s: bytes have changed",
		      sample_name(&sample[i], name, sizeof(name)));
	compare(nr);
	close_some(files, links);
}

static void test_sweep(void)
{
	int wanted = env_int("PROBE_SWEEP", kernel_is_rt() ? 2000 : short_form(5000, 2500));
	int size = env_int("PROBE_BATCH", 1000), done, i;
	uint64_t state, start = now_ns();

	REQUIRE(size > 0 && size <= MAX_BATCH, "PROBE_BATCH is at most %d", MAX_BATCH);
	dev = fixture_open("the kernel's own takes 0.15 s a detach");
	gate = mmap(NULL, sizeof(*gate), PROT_READ | PROT_WRITE, MAP_SHARED, dev, 0);
	REQUIRE(gate != MAP_FAILED, "mmap: %s", strerror(errno));
	*gate = 0;
	probe_setup();
	probe_many_files();
	probe_skel->bss->only_pid = 0;
	probe_skel->bss->count_shut = 1;
	prog = bpf_program__fd(probe_skel->progs.count);
	seed = rnd_seed();
	state = seed;
	workload(1);
	for (done = 0; done < wanted; done += size)
		batch(size, &state);
	ktap_note("%d instructions in %lu s: %u jumps, %u int3s, %u direct, "
		  "%u through ftrace, %u kprobes, %u refused", done, (now_ns() - start) / 1000000000, total.mode[TRAMP_MODE_JUMP],
		  total.mode[TRAMP_MODE_INT3], total.mode[TRAMP_MODE_DIRECT],
		  total.mode[TRAMP_MODE_FTRACE_OPS],
		  total.mode[TRAMP_MODE_KPROBE], total.refused);
	for (i = 1; i < TRAMP_REASON_COUNT; i++)
		if (total.reason[i])
			ktap_note("  refused, %s: %u", tramp_reason_name(i), total.reason[i]);
	ktap_note("  by the module's own list: %u", total.listed);
	CHECK(total.listed * 100 < (unsigned int)done, "the list is too long");
	ktap_note("  in functions without an ftrace site: %u", total.untraced);
	/* 16 % were seen with KASAN. test_probe_notrace looks at each function. */
	CHECK(total.untraced * 100 < (ksym_addr("kasan_save_stack") ? 20 : 15) * (unsigned int)done,
	      "too many have no site");
	ktap_note("  instructions that kprobes get wrong: %u", total.wrong);
	ktap_note("%u of them were hit, %lu times; %lu times missed", total.hit, total.hits,
		  total.missed);
	ktap_note("%u compared with the kernel's kprobes, %u of them again, %u counted otherwise",
		  total.compared, total.again, total.unequal);
	CHECK(total.mode[TRAMP_MODE_JUMP] > (unsigned int)done / 4, "only %u jumps",
	      total.mode[TRAMP_MODE_JUMP]);
	CHECK(total.mode[TRAMP_MODE_INT3] > (unsigned int)done / 50, "only %u int3s",
	      total.mode[TRAMP_MODE_INT3]);
	CHECK(total.hit > (unsigned int)done / 50, "only %u were hit", total.hit);
	CHECK(total.compared > (unsigned int)done / 200, "only %u were compared", total.compared);
}

/*
 * All forms of an instruction that the test module has, one after the other. Many are so rare
 * in the kernel that the sweep draws them in one run of a hundred.
 */
static void test_forms(void)
{
	struct tt_form_info form;
	struct attachment p;
	uint64_t addr;
	int32_t kernel;
	uint32_t i;

	dev = fixture_open("is about what we refuse");
	probe_setup();
	prog = bpf_program__fd(probe_skel->progs.count);
	for (i = 0; !form_info(dev, i, &form); i++) {
		addr = form.form;
		judge(dev, TT_JUDGE_REGISTER, &addr, &kernel, 1);
		p = attach_insn_try(OURS, prog, addr, 0, 0);
		if (p.err)
			check_refusal(&p, addr, kernel, kprobe_is_wrong(dev, addr), form.name);
		else
			detach(&p);
	}
	probe_flush();
	ktap_note("%u of %u forms refused, %u of them as kprobes get them wrong", total.refused, i,
		  total.wrong);
	CHECK(total.wrong && total.refused > total.wrong && total.refused * 10 < i, "refusals");
}

static const struct ktap_test tests[] = {
	{ "forms", test_forms, 300 },
	{ "sweep", test_sweep, 1500 },
};

KTAP_MAIN(tests)
