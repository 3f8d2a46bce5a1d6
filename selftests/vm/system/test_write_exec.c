// SPDX-License-Identifier: GPL-2.0
/*
 * No page of ours is ever writable and executable. The test module walks the page tables over and
 * over, in a thread of its own, while programs of all kinds come, change and go. With fewer of them
 * it walks at each step (selftests/kmod/page_watch.c).
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

static int dev, watch_fd = -1;
/* How many programs there are. */
static int singles = SINGLES, places = PLACES, funcs = FUNCS;
static struct record *record;
static struct probe_func text;	/* tt_long() */
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

struct watch {
	unsigned long walks, both, at, in;
};

/* From the last time on. @planted: as above */
static struct watch watch(const char *planted)
{
	struct watch w;
	char reply[128];
	int err = tt_command(watch_fd, reply, sizeof(reply), "watch%s", planted);

	REQUIRE(!err, "watch: %s", strerror(-err));
	REQUIRE(sscanf(reply, "walks=%lu both=%lu at=%lx in=%lx", &w.walks, &w.both, &w.at,
		       &w.in) == 4, "watch: reply '%s'", reply);
	return w;
}

/* Of the step that ends here. */
static void check_steps(void)
{
	struct watch w = watch("");
	char name[128];

	ktap_note("%s: %lu walks", step, w.walks);
	CHECK(w.walks, "%s: no step was seen", step);
	CHECK(!w.both, "%s: writable and executable, at %#lx, in %s", step, w.at,
	      ksym_name(w.in, name, sizeof(name)));
}

/* Walks begin and end after this. */
static void look(const char *what)
{
	unsigned long before = walks;

	if (watch_fd >= 0) {
		check_steps();
		step = what;
		return;
	}
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
	for (i = 0; i < singles; i++) {
		snprintf(name, sizeof(name), "tt_many_%03d", i);
		at[i] = attach_insn(OURS, prog, ksym_addr(name), 0, i);
	}
	look("exits come");
	for (i = 0; i < singles; i++) {
		snprintf(name, sizeof(name), "tt_many_%03d", i);
		exit_of[i] = attach_return(OURS, prog, name, 0, i);
	}
	tt_call(dev, "tt_many_000 n=3 12");
	look("exits go");
	for (i = 0; i < singles; i++)
		detach(&exit_of[i]);
	look("entries go");
	for (i = 0; i < singles; i++)
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
	uint64_t end = 0;

	look("probes come");
	for (i = 0; i < (int)text.nr && n < places; i++) {
		uint64_t addr = text.addr + text.insns[i].offset;

		if (text.insns[i].mode != TRAMP_MODE_JUMP || addr < end)
			continue;
		end = addr + text.insns[i].region_len;
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

	many_fill(m, funcs);
	look("many come");
	many_attach(m, prog, TRAMP_MULTI_F_SKIP);
	look("many go");
	many_detach(m);
	look("many retire");
	tramp_settle();
}

static void setup(void)
{
	dev = fixture_open("about pages of ours");
	probe_setup();
	record = FIXTURE_LOAD(record);
	REQUIRE(!probe_explain(&text, 0, "tt_long", false), "tt_long");
}

static void test_write_exec(void)
{
	pthread_t thread;
	struct pages p;

	setup();
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

static void test_each_step(void)
{
	struct attachment a;
	struct watch w;

	setup();
	singles = 2;
	places = 3;
	funcs = 4;
	/* The first probe has text read, in thousands of calls. */
	a = attach_insn(OURS, bpf_program__fd(probe_skel->progs.count), ksym_addr("tt_hot0"), 0, 0);
	detach(&a);
	watch_fd = tt_open();
	watch("");
	w = watch(" both");
	CHECK(w.both, "planted: %lu writable and executable at %lu steps", w.both, w.walks);
	step = "nothing";
	tramp_module();
	entries();
	update();
	probes();
	many();
	check_steps();
	close(watch_fd);
	check_nothing_left();
}

static const struct ktap_test tests[] = {
	{ "write_exec", test_write_exec, 180 },
	{ "each_step", test_each_step, 180 },
};

KTAP_MAIN(tests)
