// SPDX-License-Identifier: GPL-2.0
/*
 * No page of ours is ever writable and executable. The test module walks the page tables over and
 * over, in a thread of its own, while programs of all kinds come, change and go.
 */
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include "fixture.h"
#include "many.h"
#include "probe.h"
#include "record.h"
#include "selftests/vm/lib/probe_progs.skel.h"
#include "selftests/vm/lib/record.skel.h"

#define SINGLES	40
#define PLACES	100
#define FUNCS	1000

static int dev;
static struct record *record;
static const char *volatile step = "before";
static volatile bool stop;
static unsigned long walks, most;

struct pages {
	unsigned long executable, both, aliased, at;
};

/* @planted: a page that is to be found, see selftests/kmod/trampoline_test.h */
static struct pages walk(int fd, const char *planted)
{
	struct pages p;
	char reply[128];
	int err = tt_command(fd, reply, sizeof(reply), "pages%s", planted);

	REQUIRE(!err, "pages: %s", strerror(-err));
	REQUIRE(sscanf(reply, "executable=%lu both=%lu aliased=%lu at=%lx", &p.executable, &p.both,
		       &p.aliased, &p.at) == 4, "pages: reply '%s'", reply);
	return p;
}

static void *walk_on(void *arg)
{
	int fd = tt_open();
	struct pages p;

	while (!stop) {
		p = walk(fd, "");
		CHECK_EQ(p.both, 0, "%s: writable and executable, at %#lx", step, p.at);
		CHECK_EQ(p.aliased, 0, "%s: writable in the direct mapping, at %#lx", step, p.at);
		most = p.executable > most ? p.executable : most;
		walks++;
		usleep(2000);
	}
	close(fd);
	return arg;
}

/* Walks begin and end after this. */
static void look(const char *what)
{
	unsigned long before = walks;

	step = what;
	while (walks < before + 2 && !stop)
		usleep(1000);
}

static void entries(void)
{
	int prog = bpf_program__fd(probe_skel->progs.count);
	struct attachment at[SINGLES], exit_of[SINGLES];
	char name[32];
	int i;

	look("entries come");
	for (i = 0; i < SINGLES; i++) {
		snprintf(name, sizeof(name), "tt_many_%03d", i);
		at[i] = attach_insn(OURS, prog, ksym_addr(name), 0, i);
	}
	look("exits come");
	for (i = 0; i < SINGLES; i++) {
		snprintf(name, sizeof(name), "tt_many_%03d", i);
		exit_of[i] = attach_return(OURS, prog, name, 0, i);
	}
	tt_call(dev, "tt_many_000 n=3 12");
	look("exits go");
	for (i = 0; i < SINGLES; i++)
		detach(&exit_of[i]);
	look("entries go");
	for (i = 0; i < SINGLES; i++)
		detach(&at[i]);
	look("entries retire");
	tramp_settle();
}

static void update(void)
{
	struct attachment a;

	a = attach_func(OURS, prog_clone(record->progs.count_entry, "tt_hot0", BPF_TRACE_FENTRY),
			NULL);
	look("an update");
	CHECK_EQ(bpf_link_update(a.fd, prog_clone(record->progs.count_entry_too, "tt_hot0",
						  BPF_TRACE_FENTRY), NULL), 0, "update");
	look("updated");
	detach(&a);
}

static void probes(void)
{
	int i, n = 0, prog = bpf_program__fd(probe_skel->progs.count);
	struct attachment at[PLACES];
	struct probe_func f;
	uint64_t end = 0;

	REQUIRE(!probe_explain(&f, 0, "tt_long", false), "tt_long");
	look("probes come");
	for (i = 0; i < (int)f.nr && n < PLACES; i++) {
		uint64_t addr = f.addr + f.insns[i].offset;

		if (f.insns[i].mode != TRAMP_MODE_JUMP || addr < end)
			continue;
		end = addr + f.insns[i].region_len;
		at[n++] = attach_insn(OURS, prog, addr, 0, i % PROBE_COUNTERS);
	}
	look("probes become jumps");
	probe_flush();
	tt_call(dev, "tt_long n=3 12345");
	look("probes go");
	while (n)
		detach(&at[--n]);
	look("their text is restored");
	probe_flush();
}

static void many(void)
{
	int prog = bpf_program__fd(probe_skel->progs.count);
	struct many *m = many_new();

	many_fill(m, FUNCS);
	look("many come");
	many_attach(m, prog, TRAMP_MULTI_F_SKIP);
	look("many go");
	many_detach(m);
	look("many retire");
	tramp_settle();
}

static void test_write_exec(void)
{
	pthread_t thread;
	struct pages p;

	dev = fixture_open("about pages of ours");
	probe_setup();
	record = FIXTURE_LOAD(record);
	p = walk(dev, " both");
	CHECK(p.both == 1 && !p.aliased && p.at, "planted: %lu writable and executable", p.both);
	p = walk(dev, " aliased");
	CHECK(!p.both && p.aliased == 1 && p.at, "planted: %lu writable in the direct mapping",
	      p.aliased);
	p = walk(dev, "");
	CHECK_EQ(p.both, 0, "before: writable and executable, at %#lx", p.at);
	CHECK_EQ(p.aliased, 0, "before: writable in the direct mapping, at %#lx", p.at);
	REQUIRE(p.executable > 1000, "only %lu pages are executable", p.executable);
	REQUIRE(!pthread_create(&thread, NULL, walk_on, NULL), "a thread");
	entries();
	update();
	probes();
	many();
	stop = true;
	pthread_join(thread, NULL);
	ktap_note("%lu walks; %lu pages were executable before, %lu at most", walks, p.executable,
		  most);
	CHECK(most > p.executable, "no page of ours was seen");
	check_nothing_left();
}

static const struct ktap_test tests[] = {
	{ "write_exec", test_write_exec, 180 },
};

KTAP_MAIN(tests)
