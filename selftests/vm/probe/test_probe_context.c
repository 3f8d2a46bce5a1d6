// SPDX-License-Identifier: GPL-2.0
/*
 * Helpers do the same in the programs of probes as in the kernel's own int3. This holds where
 * nothing is locked, and at every instruction of the maps, the ring buffer and the allocators
 * they use, inside of a program that uses the same maps. Nothing hangs.
 *
 * One program is run by this process, on one CPU. It uses maps; the program of the probes on
 * its way uses them, too, and writes down what each helper says at each place. First the
 * kernel's kprobes stay int3s there (debug.kprobes-optimization), then come ours, as int3s, then
 * ours as jumps where they can be some.
 *
 * Left out, since the kernel's int3 hangs there, or worse:
 *  - LRU maps in code that may run with the lock of an LRU list held. These locks are taken
 *    without a look at in_nmi(). LPM tries, whose lock is such a one, are used where nothing
 *    is locked only;
 *  - replacing an element of a preallocated hash from within alloc_htab_elem(), or from within
 *    htab_map_update_elem(), which calls it. A map has one spare element for each CPU, and takes
 *    it by a load and a store: who comes in between takes the same. The old element becomes the
 *    spare before it is taken off its list: who comes in between takes it from there. The lists
 *    of the buckets are corrupt then (6.1: an oops, by the kernel's own int3 kprobes alone, at
 *    htab_map_update_elem+0x15f in 4 of 6 runs). The locks are no help: those of two buckets
 *    are two, as often as not;
 *  - instructions that the kernel's kprobes get wrong (kprobe_is_wrong()), as calls of retpolines
 *    in clang's kernels.
 *
 * Environment: PROBE_MAPS, how many functions, default 6, on -rt 1, -1 for all; PROBE_SEED.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <linux/perf_event.h>
#include "fixture.h"
#include "probe.h"
#include "probe_context.h"
#include "selftests/vm/probe/probe_context.skel.h"

#define OPTIMIZATION	"/proc/sys/debug/kprobes-optimization"
#define PAGE		4096UL
#define STRIDE		4	/* jumps at a time: every so many instructions */
#define MIN_COMPARED	50U	/* at least so many hits are looked at in the forms */
#define REFUSED		~0ULL	/* hits of a probe that is not there */

static const char *const op_name[] = {
#define OP_NAME(name) #name,
	CONTEXT_OPS(OP_NAME)
};

enum form { KERNEL_INT3, OUR_INT3, OUR_JUMP, NR_FORMS };
static const char *const form_name[] = { "the kernel's int3", "our int3", "our jump" };

static struct probe_context *skel;
static int dev;
static struct attachment at[CONTEXT_PLACES];
static struct context_seen saw[NR_FORMS][CONTEXT_PLACES];
static volatile unsigned long *consumer, *producer;
static volatile sig_atomic_t signals;

static struct {
	unsigned int functions, hit, compared, jumps, unlike, refused;
} total;

static void on_signal(int sig)
{
	(void)sig;
	signals++;
}

/* The ring buffer's pages with its positions, and a buffer for perf events that is never full. */
static void map_rings(void)
{
	struct perf_event_attr attr = {
		.size = sizeof(attr), .type = PERF_TYPE_SOFTWARE,
		.config = PERF_COUNT_SW_BPF_OUTPUT, .sample_type = PERF_SAMPLE_RAW,
		.sample_period = 1,
	};
	int ring = bpf_map__fd(skel->maps.ring), event;
	uint32_t cpu = 0;

	consumer = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, ring, 0);
	producer = mmap(NULL, PAGE, PROT_READ, MAP_SHARED, ring, PAGE);
	REQUIRE(consumer != MAP_FAILED && producer != MAP_FAILED, "ring buffer: %s", strerror(errno));
	event = syscall(SYS_perf_event_open, &attr, -1, cpu, -1, PERF_FLAG_FD_CLOEXEC);
	REQUIRE(event >= 0, "perf event: %s", strerror(errno));
	REQUIRE(mmap(NULL, 9 * PAGE, PROT_READ, MAP_SHARED, event, 0) != MAP_FAILED,
		"perf buffer: %s", strerror(errno));
	REQUIRE(!bpf_map_update_elem(bpf_map__fd(skel->maps.events), &cpu, &event, 0) &&
		!ioctl(event, PERF_EVENT_IOC_ENABLE, 0), "perf event: %s", strerror(errno));
}

static void setup(void)
{
	static __u64 there = 1;
	cpu_set_t first;

	/*
	 * It reports the kernel's own int3 kprobes: what takes a lock of a map counts as an NMI
	 * there, and elsewhere takes it outside of one. After that it looks at no lock any more.
	 */
	if (!access("/proc/lockdep_stats", F_OK))
		ktap_skip("lockdep reports the kernel's own int3 kprobes, and stops");
	dev = fixture_open("has both kinds itself");
	CPU_ZERO(&first);
	CPU_SET(0, &first);
	REQUIRE(!sched_setaffinity(0, sizeof(first), &first), "CPU 0: %s", strerror(errno));
	signal(SIGUSR1, on_signal);
	skel = FIXTURE_LOAD(probe_context);
	map_rings();
	skel->bss->only_pid = getpid();
	skel->bss->user_there = (uintptr_t)&there;
	skel->bss->user_absent = (uintptr_t)mmap(NULL, PAGE, PROT_READ | PROT_WRITE,
						 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	skel->bss->signal_nr = SIGUSR1;
	REQUIRE(!write_file(OPTIMIZATION, "0"), OPTIMIZATION);
	/* The kernel waits for a grace period for each kprobe that goes. */
	write_file("/sys/kernel/rcu_expedited", "1");
}

/*
 * Lockdep reports the kernel's own int3 kprobes there: what takes a lock of a map counts as an
 * NMI, and elsewhere the lock is taken outside of one. It does not look at locks any more then.
 */
static void skip_with_lockdep(void)
{
	if (!access("/proc/lockdep_stats", F_OK))
		ktap_skip("lockdep reports the kernel's own int3 kprobes, and stops");
}

/*
 * The operations where nothing is locked. LPM tries allocate from the slab
 * (bpf_map_kmalloc_node()). KASAN keeps a stack trace of that. It warns of each one that comes from
 * an NMI, which an int3 counts as, the kernel's own as well (stack_depot_save_flags() in
 * lib/stackdepot.c).
 */
static uint64_t alone_ops(void)
{
	if (!ksym_addr("kasan_save_stack"))
		return C_ALL;
	ktap_note("nothing is put into LPM tries: KASAN warns of it");
	return C_ALL & ~(1ULL << C_TRIE_UPDATE | 1ULL << C_TRIE_AGAIN);
}

static void finish(void)
{
	write_file("/sys/kernel/rcu_expedited", "0");
	REQUIRE(!write_file(OPTIMIZATION, "1"), OPTIMIZATION);
	munmap((void *)consumer, PAGE);
	munmap((void *)producer, PAGE);
	probe_context__destroy(skel);
	close(dev);
	check_nothing_left();
}

static void run(struct bpf_program *prog)
{
	LIBBPF_OPTS(bpf_test_run_opts, opts);
	int err = bpf_prog_test_run_opts(bpf_program__fd(prog), &opts);

	REQUIRE(!err, "running %s: %s", bpf_program__name(prog), strerror(-err));
}

/*
 * 6.1 makes room for a task's storage by kmalloc(). A new slab is shuffled by random numbers, and
 * their seed is renewed once a minute. The code that does it warns of an NMI (irq_fpu_usable()),
 * whoever comes by int3. So the seed is renewed here if it is due.
 */
static void renew_seed(void)
{
	char byte;

	REQUIRE(getrandom(&byte, 1, 0) == 1, "getrandom: %s", strerror(errno));
}

/* Programs may not delete these. */
static void forget_stacks(struct bpf_map *map)
{
	uint32_t key, i;

	for (i = 0; i < bpf_map__max_entries(map) &&
		    !bpf_map_get_next_key(bpf_map__fd(map), NULL, &key); i++)
		bpf_map_delete_elem(bpf_map__fd(map), &key);
}

/* Maps as they were at the start. */
static void tidy(void)
{
	run(skel->progs.tidy);
	forget_stacks(skel->maps.stacks);
	forget_stacks(skel->maps.builds);
	*consumer = *producer;
	memset(skel->bss->seen, 0, sizeof(skel->bss->seen));
}

static struct attachment attach(enum form form, uint64_t addr, uint64_t cookie)
{
	uint32_t flags = form == OUR_INT3 ? TRAMP_ATTACH_F_NO_JUMP : 0;

	return attach_insn_try(form == KERNEL_INT3 ? KERNEL : OURS,
			       bpf_program__fd(skel->progs.inside), addr, flags, cookie);
}

/* A set of results, as a text: "0 -16". */
static const char *says(const struct context_seen *s, int op, char *buf, size_t len)
{
	size_t at = 0;
	int bit;

	snprintf(buf, len, "nothing");
	for (bit = 0; bit < 64 && at < len; bit++)
		if (s->said[op] >> bit & 1)
			at += snprintf(buf + at, len - at, at ? " %d" : "%d",
				       bit < 2 ? bit : bit - 64);
	return buf;
}

static bool alike(enum form form, int place, uint64_t addr, uint64_t ops)
{
	const struct context_seen *k = &saw[KERNEL_INT3][place], *o = &saw[form][place];
	char name[160], ours[32], kernels[32];
	bool same = true;
	int op;

	for (op = 0; op < NR_CONTEXT_OPS; op++) {
		if (!(ops >> op & 1) || k->said[op] == o->said[op])
			continue;
		same = false;
		CHECK(false, "%s: %s gives %s in %s, %s in %s",
		      ksym_name(addr, name, sizeof(name)), op_name[op],
		      says(o, op, ours, sizeof(ours)), form_name[form],
		      says(k, op, kernels, sizeof(kernels)), form_name[KERNEL_INT3]);
	}
	return same;
}

/* ------------------------------------------------- where nothing is locked --- */

/* A function of the test module, called by this process and in interrupts. */
static void helpers(void)
{
	static const char *const context[] = { "task", "irq" };
	struct probe_func f;
	unsigned int i, form, sent[NR_FORMS], inner = 0;
	uint64_t ops;
	char text[64];
	int err, op;

	skip_with_lockdep();
	setup();
	err = probe_explain(&f, 0, "tt_hot0", false);
	REQUIRE(!err, "tt_hot0: %s", strerror(-err));
	while (inner < f.nr && f.insns[inner].mode != TRAMP_MODE_JUMP)
		inner++;
	REQUIRE(inner < f.nr, "no jump is possible in tt_hot0");
	skel->bss->inner_ops = ops = alone_ops();
	for (i = 0; i < 2; i++) {
		for (form = 0; form < NR_FORMS; form++) {
			uint64_t addr = f.addr + f.insns[inner].offset;
			struct attachment p;

			probe_flush();
			p = attach(form, addr, 0);
			REQUIRE(!p.err, "tt_hot0: %s", strerror(-p.err));
			if (form == OUR_JUMP) {
				probe_flush();
				attachment_expect(&p, TRAMP_MODE_JUMP, 0, "tt_hot0");
			}
			tidy();
			renew_seed();
			signals = 0;
			tt_call(dev, "tt_hot0 ctx=%s n=1 1", context[i]);
			saw[form][0] = skel->bss->seen[0];
			usleep(10000);
			sent[form] = signals;
			detach(&p);
			CHECK_EQ(saw[form][0].hits, 1, "%s, %s: hits", context[i], form_name[form]);
			CHECK_EQ(sent[form], sent[KERNEL_INT3], "%s, %s: signals", context[i],
				 form_name[form]);
			if (form)
				alike(form, 0, addr, ops);
		}
		for (op = 0; op < NR_CONTEXT_OPS; op++)
			if (saw[0][0].said[op] & ~(C_SAID(0) | C_SAID(1)))
				ktap_note("%s: %s gives %s in each", context[i], op_name[op],
					  says(&saw[0][0], op, text, sizeof(text)));
	}
	CHECK_EQ(saw[OUR_INT3][0].said[C_WRITE_USER], C_SAID(-EPERM), "as where an interrupt is counted");
	probe_func_free(&f);
	finish();
}

/* --------------------------------------------------- in what is being used --- */

/* Programs of probes may do this in a function, by the list of what is left out. */
static uint64_t allowed_in(const char *name)
{
	if (strstr(name, "lru") || !strncmp(name, "__local_list", 12))
		return C_NO_LRU;
	if (!strncmp(name, "alloc_htab_elem", 15) || !strncmp(name, "htab_map_update_elem", 20))
		return C_ANYWHERE & ~(1ULL << C_HASH_AGAIN);
	return C_ANYWHERE;
}

/* Code that runs when memory gets short, in interrupts and callbacks: not the same each time. */
static bool any_time(const char *name)
{
	static const char *const by_itself[] = {
		"bpf_mem_refill", "alloc_bulk", "free_bulk", "__free_rcu", "do_call_rcu", "__alloc",
		"enque_to_free", "irq_work_raise", "bpf_mem_alloc_", "prefill", "check_",
	};
	unsigned int i;

	for (i = 0; i < sizeof(by_itself) / sizeof(by_itself[0]); i++)
		if (!strncmp(name, by_itself[i], strlen(by_itself[i])))
			return true;
	return false;
}

static bool of_interest(const struct text_sym *s)
{
	static const char *const start[] = {
		"htab_", "__htab_", "lookup_elem_raw", "lookup_nulls_elem", "alloc_htab_elem",
		"free_htab_elem", "prealloc_lru_pop", "pcpu_copy_value", "pcpu_init_value",
		"copy_map_value", "check_and_free", "bpf_lru_", "__bpf_lru_", "__local_list_",
		"bpf_common_lru", "bpf_percpu_lru", "queue_map_", "stack_map_", "queue_stack_map_",
		"__queue_map", "__stack_map", "bpf_ringbuf_", "__bpf_ringbuf_", "ringbuf_",
		"pcpu_freelist_", "__pcpu_freelist_", "___pcpu_freelist_", "bpf_mem_", "unit_alloc",
		"unit_free", "array_map_", "percpu_array_", "bpf_percpu_", "bloom_map_",
		"bpf_get_stack", "__bpf_get_stack", "stack_map_get", "bpf_task_storage_",
		"__bpf_task_storage", "bpf_local_storage_", "__bpf_local_storage", "bpf_selem_",
		"bpf_map_lookup_elem", "bpf_map_update_elem", "bpf_map_delete_elem", "bpf_map_push_",
		"bpf_map_pop_", "bpf_map_peek_", "bpf_for_each_map", "alloc_bulk", "free_bulk",
		"do_call_rcu", "__free_rcu", "irq_work_raise", "enque_to_free", "notrace_irq_work",
	};
	unsigned int i;

	if (s->module[0] || ksym_is_padding(s->name) || strstr(s->name, ".cold"))
		return false;
	for (i = 0; i < sizeof(start) / sizeof(start[0]); i++)
		if (!strncmp(s->name, start[i], strlen(start[i])))
			return true;
	return false;
}

/* Every @step of the places is probed, and the program run once. */
static void once(enum form form, const uint64_t *addr, int nr, int from, int step)
{
	char name[160];
	int k, jumps = 0;

	/* no kprobe can come where an int3 of ours still is */
	if (form == KERNEL_INT3)
		probe_flush();
	for (k = from; k < nr; k += step) {
		at[k] = attach(form, addr[k], k);
		/* an ENDBR stands for the place behind it, as for the kernel */
		if (at[k].reply.refusal.reason == TRAMP_REASON_ALREADY_ATTACHED)
			continue;
		if (at[k].err && !total.refused++)
			ktap_note("%s is refused as %s: %s, %s",
				  ksym_name(addr[k], name, sizeof(name)), form_name[form],
				  strerror(-at[k].err),
				  tramp_reason_name(at[k].reply.refusal.reason));
	}
	if (form == OUR_JUMP)
		probe_flush();
	for (k = from; form == OUR_JUMP && k < nr; k += step)
		jumps += !at[k].err && attachment_query(&at[k]).mode == TRAMP_MODE_JUMP;
	total.jumps += jumps;
	tidy();
	renew_seed();
	run(skel->progs.outside);
	for (k = from; k < nr; k += step) {
		saw[form][k] = skel->bss->seen[k];
		if (at[k].err)
			saw[form][k].hits = REFUSED;
		detach(&at[k]);
	}
}

static void look(const char *name, const uint64_t *addr, int nr, uint64_t ops)
{
	char where[160];
	int i, form;

	for (i = 0; i < nr; i++) {
		for (form = OUR_INT3; form < NR_FORMS; form++) {
			uint64_t kernels = saw[KERNEL_INT3][i].hits, ours = saw[form][i].hits;

			if (kernels == REFUSED || ours == REFUSED || any_time(name) ||
			    !(kernels + ours))
				continue;
			total.compared++;
			/*
			 * How often may differ: two stacks of one hash, and an element more
			 * is pushed and popped.
			 */
			if (!CHECK(ours && kernels, "%s: %lu hits in %s, %lu in %s",
				   ksym_name(addr[i], where, sizeof(where)), ours,
				   form_name[form], kernels, form_name[KERNEL_INT3]) ||
			    !alike(form, i, addr[i], ops))
				total.unlike++;
		}
	}
}

static void one_function(const char *name, uint64_t *addr, int nr)
{
	uint64_t ops = allowed_in(name);
	int i, hit = 0;

	/* The last line of the log, if it hangs. */
	write_file("/dev/kmsg", "probe_context: %s, %d instructions\n", name, nr);
	skel->bss->outer_ops = C_ANYWHERE | 1ULL << C_STORAGE_DELETE;
	skel->bss->inner_ops = ops;
	once(OUR_INT3, addr, nr, 0, 1);
	for (i = 0; i < nr; i++)
		if (saw[OUR_INT3][i].hits && saw[OUR_INT3][i].hits != REFUSED)
			addr[hit++] = addr[i];
	if (!hit)
		return;
	once(KERNEL_INT3, addr, hit, 0, 1);
	once(OUR_INT3, addr, hit, 0, 1);
	for (i = 0; i < STRIDE; i++)
		once(OUR_JUMP, addr, hit, i, STRIDE);
	look(name, addr, hit, ops);
	total.functions++;
	total.hit += hit;
}

static void whole_function(const struct text_sym *s)
{
	static uint64_t addr[CONTEXT_PLACES];
	struct probe_func f;
	uint32_t i, nr = 0;

	if (probe_explain(&f, s->addr, NULL, false))
		return;
	for (i = 0; i < f.nr; i++) {
		uint64_t place = f.addr + f.insns[i].offset;

		if ((f.insns[i].mode == TRAMP_MODE_INT3 || f.insns[i].mode == TRAMP_MODE_JUMP) &&
		    !kprobe_is_wrong(dev, place))
			addr[nr++] = place;
		if (nr == CONTEXT_PLACES || (nr && i + 1 == f.nr)) {
			one_function(s->name, addr, nr);
			nr = 0;
		}
	}
	probe_func_free(&f);
}

static void note_total(void)
{
	ktap_note("%u functions with %u instructions that were hit, %u comparisons, %u jumps, %u unlike, %u refused",
		  total.functions, total.hit, total.compared, total.jumps, total.unlike,
		  total.refused);
}

/*
 * Under the ring buffer's lock, where a program that reserves is reserving: the place that hung.
 * The helper tries the lock, and fails where it is held.
 */
static void ring_buffer(void)
{
	size_t nr, i;
	struct text_sym *syms;
	unsigned int place, locked[NR_FORMS] = {}, form;

	setup();
	syms = text_symbols(&nr);
	for (i = 0; i < nr && strcmp(syms[i].name, "__bpf_ringbuf_reserve"); i++)
		;
	REQUIRE(i < nr, "no __bpf_ringbuf_reserve");
	whole_function(&syms[i]);
	for (form = 0; form < NR_FORMS; form++)
		for (place = 0; place < CONTEXT_PLACES; place++)
			locked[form] += saw[form][place].said[C_RESERVE] & C_SAID(0);
	for (form = 0; form < NR_FORMS; form++)
		ktap_note("%s: no room is reserved at %u instructions", form_name[form],
			  locked[form]);
	CHECK(locked[OUR_INT3] > 5, "the lock is held at %u instructions", locked[OUR_INT3]);
	note_total();
	CHECK(total.jumps > total.hit / 2, "only %u of %u became jumps", total.jumps, total.hit);
	free(syms);
	finish();
}

/* Those of @nr functions that the program comes by. Return: how many, in front. */
static size_t executed(struct text_sym *syms, size_t nr)
{
	static uint64_t entry[CONTEXT_PLACES];
	size_t i, from, some, kept = 0;

	skel->bss->inner_ops = 0;
	skel->bss->outer_ops = C_ANYWHERE | 1ULL << C_STORAGE_DELETE;
	for (from = 0; from < nr; from += some) {
		some = nr - from < CONTEXT_PLACES ? nr - from : CONTEXT_PLACES;
		for (i = 0; i < some; i++)
			entry[i] = syms[from + i].addr;
		once(OUR_INT3, entry, some, 0, 1);
		for (i = 0; i < some; i++)
			if (saw[OUR_INT3][i].hits)
				syms[kept++] = syms[from + i];
	}
	total.refused = 0;
	return kept;
}

static void maps(void)
{
	int wanted = env_int("PROBE_MAPS", kernel_is_rt() ? 1 : 6);
	struct text_sym *syms;
	size_t nr, i, found = 0;
	uint64_t state;

	skip_with_lockdep();
	setup();
	state = rnd_seed();
	syms = text_symbols(&nr);
	for (i = 0; i < nr; i++)
		if (of_interest(&syms[i]))
			syms[found++] = syms[i];
	i = found;
	found = executed(syms, found);
	ktap_note("%zu functions, %zu of them executed", i, found);
	/* A function may have two instructions: go on until there is something to compare. */
	for (i = 0; i < found && (wanted < 0 || total.functions < (unsigned int)wanted ||
				  total.compared <= MIN_COMPARED); i++) {
		size_t k = i + rnd(&state) % (found - i);
		struct text_sym s = syms[k];

		syms[k] = syms[i];
		whole_function(&s);
	}
	note_total();
	CHECK(total.compared > MIN_COMPARED, "only %u comparisons", total.compared);
	/* Half the comparisons are with jumps. */
	CHECK(total.jumps > MIN_COMPARED / 4, "only %u jumps", total.jumps);
	free(syms);
	finish();
}

static const struct ktap_test tests[] = {
	{ "helpers", helpers, 60 },
	{ "ring_buffer", ring_buffer, 240 },
	{ "maps", maps, 400 },
};

KTAP_MAIN(tests)
