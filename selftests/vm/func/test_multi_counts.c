// SPDX-License-Identifier: GPL-2.0
/*
 * One program at all functions counts as the kernel's own kprobes do: a workload on one CPU,
 * and 500 of the functions that it calls, drawn at random.
 *
 * Environment: PROBE_SEED.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include "fixture.h"
#include "many.h"
#include "multi.h"
#include "probe.h"
#include "probe_sample.h"
#include "rounds.h"
#include "selftests/vm/func/multi.skel.h"

#define COMPARED	500
/* Functions that are called at least by what test_cookies() has called. */
#define WITH_COOKIES	3500

static struct multi *skel;
static volatile uint32_t *gate;
static uint64_t seed;
static int dev;

static void setup(void)
{
	dev = fixture_open("about attachments of many functions, which 6.1 has not");
	gate = mmap(NULL, sizeof(*gate), PROT_READ | PROT_WRITE, MAP_SHARED, dev, 0);
	REQUIRE(gate != MAP_FAILED, "mmap: %s", strerror(errno));
	*gate = 0;
	skel = FIXTURE_LOAD(multi);
	skel->bss->count_shut = 1;
	pin_to_cpu(0);
}

/*
 * The workload, counted by ours and by the kernel's, whichever is there. Two words in shared
 * memory say when: no system call and no page fault would be counted with one kind only. Another
 * workload comes before it, and leaves stacks and slabs as both kinds find them.
 */
static void run(void)
{
	volatile int *shut = &skel->bss->count_shut;

	workload(1);
	memset(skel->bss->counts, 0, sizeof(skel->bss->counts));
	*shut = 0;
	*gate = 1;
	workload(1);
	*gate = 0;
	*shut = 1;
}

static void add_run(struct twice *twice, bool again, uint64_t hits, bool good)
{
	twice->quiet = good && (!again || (twice->quiet && twice->hits == hits));
	twice->hits = hits;
}

/* The functions of @m, attached as they are. Cookies are their numbers. */
static void our_hits(struct many *m, struct twice *twice)
{
	uint32_t i, k;

	many_attach(m, bpf_program__fd(skel->progs.on_count), TRAMP_MULTI_F_SKIP);
	for (k = 0; k < 2; k++) {
		run();
		for (i = 0; i < m->cmd.nr; i++)
			add_run(&twice[i], k, skel->bss->counts[i], !m->reasons[i]);
	}
	close(m->cmd.link_fd);
}

/*
 * The kernel's, in so many runs. One that is missed now and then is no measure. The workload's
 * children close the files they get: there is one more with ours.
 */
static void kernel_hits(const struct many *m, struct twice *twice, uint32_t runs)
{
	int file = open("/dev/null", O_RDONLY | O_CLOEXEC);
	static uint64_t hits[COMPARED], missed[COMPARED];
	static int32_t err[COMPARED];
	uint32_t i, k;

	for (k = 0; k < runs; k++) {
		kprobes_on(dev, TT_KPROBE_COUNT, m->addrs, err, m->cmd.nr);
		run();
		kprobes_off(dev, hits, missed, NULL, m->cmd.nr);
		for (i = 0; i < m->cmd.nr; i++)
			add_run(&twice[i], k, hits[i], !err[i] && !missed[i]);
	}
	close(file);
}

/* @nr of the functions in @from whose count was the same twice and not 0, at random. */
static void draw(const struct many *from, const struct twice *twice, struct many *to,
		 struct twice *drawn, uint32_t nr)
{
	uint32_t quiet = 0, hit = 0, i;
	uint64_t state = seed;

	for (i = 0; i < from->cmd.nr; i++) {
		hit += !!twice[i].hits;
		quiet += twice[i].quiet && twice[i].hits;
	}
	ktap_note("%u functions, %u of them hit, %u as often twice", from->cmd.nr, hit, quiet);
	REQUIRE(quiet >= nr, "only %u to draw from", quiet);
	for (i = 0; nr && i < from->cmd.nr; i++) {
		if (!twice[i].quiet || !twice[i].hits)
			continue;
		if (rnd(&state) % quiet-- >= nr)
			continue;
		drawn[to->cmd.nr] = twice[i];
		many_add(to, from->addrs[i]);
		nr--;
	}
}

/* Those that came out unequal once more, in rounds. Returns how many were compared. */
static uint32_t compare_again(struct many *m)
{
	static struct twice ours[COMPARED], kernels[COMPARED];
	static struct rounds r[COMPARED];
	uint32_t i, k, unequal = m->cmd.nr, compared = 0;
	char name[128];

	for (k = 0; k < ROUNDS && unequal; k++) {
		our_hits(m, ours);
		kernel_hits(m, kernels, 2);
		unequal = 0;
		for (i = 0; i < m->cmd.nr; i++) {
			r[i] = add_round(r[i], !k, ours[i], kernels[i]);
			unequal += r[i].steady && r[i].ours != r[i].kernels;
		}
	}
	for (i = 0; i < m->cmd.nr; i++) {
		compared += r[i].steady;
		CHECK(!r[i].steady || r[i].ours == r[i].kernels,
		      "%s: %lu hits of ours each time, %lu of the kernel's kprobe, PROBE_SEED=%#lx",
		      ksym_name(m->addrs[i], name, sizeof(name)), r[i].ours, r[i].kernels, seed);
	}
	return compared;
}

static void test_counts(void)
{
	struct many *all = many_new(), *some = many_new(), *again = many_new();
	static struct twice everywhere[MANY_MAX], ours[COMPARED], kernels[COMPARED];
	uint32_t i, same = 0, loud = 0, nr;
	uint64_t start = now_ns();

	setup();
	seed = rnd_seed();
	nr = COMPARED / many_fill_share(all);
	our_hits(all, everywhere);
	draw(all, everywhere, some, ours, nr);
	kernel_hits(some, kernels, 1);
	for (i = 0; i < some->cmd.nr; i++) {
		if (!kernels[i].quiet)
			loud++;
		else if (kernels[i].hits == ours[i].hits)
			same++;
		else
			many_add(again, some->addrs[i]);
	}
	ktap_note("%u counted alike by kprobes, %u otherwise, %u could not be counted, %lu s",
		  same, again->cmd.nr, loud, (now_ns() - start) / 1000000000);
	if (again->cmd.nr)
		same += compare_again(again);
	ktap_note("%u compared, %lu s", same, (now_ns() - start) / 1000000000);
	CHECK(same >= nr * 4 / 5, "only %u of %u could be compared", same, nr);
}

/* Much of what the kernel has is called by reading what it shows of itself. */
static void read_everything(void)
{
	/* A few files make their readers wait. */
	free(run_command(NULL, "find /proc/1 /proc/sys /proc/fs /proc/net /sys/class /sys/bus "
			       "/sys/devices /sys/fs /sys/kernel/mm /sys/module -type f | "
			       "xargs -n 64 timeout %d head -q -c 4096 >/dev/null",
			 15 * time_scale()));
	free(run_command(NULL, "ip link set lo up; ip addr; ip route; ip neigh; ping -c 1 127.0.0.1; "
			       "mount -t tmpfs none /mnt && umount /mnt; dmesg | tail -1; lsmod"));
}

/* All functions have another cookie: each that is called reads its own, each time. */
static void test_cookies(void)
{
	struct many *m = many_new();
	uint32_t i, hit = 0;
	char name[128];

	setup();
	many_fill_share(m);
	many_attach(m, bpf_program__fd(skel->progs.on_ip), TRAMP_MULTI_F_SKIP);
	workload(1);
	read_everything();
	close(m->cmd.link_fd);
	for (i = 0; i < m->cmd.nr; i++) {
		uint64_t ip = skel->bss->ips[i];

		hit += !!ip;
		/* Behind the NOP5, which may have an ENDBR in front. */
		CHECK(!ip || ip - m->addrs[i] == 5 || ip - m->addrs[i] == 9,
		      "%s has read a cookie at %#lx",
		      ksym_name(m->addrs[i], name, sizeof(name)), ip);
	}
	ktap_note("%u of %u functions have read their cookies, %llu times", hit, m->cmd.nr,
		  (unsigned long long)skel->bss->hits);
	CHECK_EQ(skel->bss->moved, 0, "cookies read elsewhere");
	CHECK_EQ(skel->bss->strangers, 0, "cookies that there are not");
	/* A debug kernel has fewer functions, few devices, and few files to read. */
	CHECK(hit >= WITH_COOKIES || hit >= m->cmd.nr / 10, "only %u", hit);
	free(m);
}

static const struct ktap_test tests[] = {
	{ "cookies", test_cookies, 400 },
	{ "counts", test_counts, 300 },
};

KTAP_MAIN(tests)
