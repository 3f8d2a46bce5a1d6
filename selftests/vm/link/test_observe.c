// SPDX-License-Identifier: GPL-2.0
/*
 * The rest of the system sees this of programs attached by us: run-time statistics,
 * PERF_RECORD_KSYMBOL and _TEXT_POKE, /proc/kallsyms, pages that are never writable and
 * executable, and the kernel's log.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <linux/types.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "probe.h"
#include "fixture.h"
#include "many.h"
#include "record.h"
#include "selftests/vm/lib/probe_progs.skel.h"
#include "selftests/vm/lib/record.skel.h"

static struct record *skel;
static int dev;

static void setup(void)
{
	dev = fixture_open(NULL);
	skel = FIXTURE_LOAD(record);
}

/* ------------------------------------------------------- run-time statistics --- */

#define STATS "/proc/sys/kernel/bpf_stats_enabled"

static void run_stats(int prog_fd, uint64_t *count, uint64_t *time)
{
	struct bpf_prog_info info = {};
	uint32_t len = sizeof(info);

	REQUIRE(!bpf_obj_get_info_by_fd(prog_fd, &info, &len), "%s", strerror(errno));
	*count = info.run_cnt;
	*time = info.run_time_ns;
}

static void test_stats(void)
{
	uint64_t count[2], time[2];
	int prog[2], i;
	struct attachment a[2];

	setup();
	prog[0] = prog_clone(skel->progs.count_entry, "tt_hot0", BPF_TRACE_FENTRY);
	prog[1] = prog_clone(skel->progs.count_exit, "tt_hot0", BPF_TRACE_FEXIT);
	for (i = 0; i < 2; i++)
		a[i] = attach_func(OURS, prog[i], &(uint64_t){ i });
	write_file(STATS, "0");
	tt_call(dev, "tt_hot0 n=100 1");
	for (i = 0; i < 2; i++) {
		run_stats(prog[i], &count[i], &time[i]);
		CHECK_EQ(count[i], 0, "off");
	}
	REQUIRE(!write_file(STATS, "1"), "%s", STATS);
	tt_call(dev, "tt_hot0 n=100 1");
	for (i = 0; i < 2; i++) {
		run_stats(prog[i], &count[i], &time[i]);
		CHECK_EQ(count[i], 100, "run_cnt while on, program %d", i);
		CHECK(time[i] > 0 && time[i] < 10000000000ULL, "run_time_ns %lu", time[i]);
	}
	REQUIRE(!write_file(STATS, "0"), "%s", STATS);
	tt_call(dev, "tt_hot0 n=100 1");
	for (i = 0; i < 2; i++) {
		uint64_t again, spent;

		run_stats(prog[i], &again, &spent);
		CHECK_EQ(again, count[i], "run_cnt after it was switched off");
		CHECK_EQ(spent, time[i], "run_time_ns after it was switched off");
		CHECK_EQ(skel->bss->counted[i], 300, "runs in all");
		detach(&a[i]);
	}
}

/* -------------------------------------------------------------- perf's records --- */

#define RING_PAGES 16
#define MAX_RINGS 64

static struct perf_event_mmap_page *rings[MAX_RINGS];

/* A record comes on the CPU that attaches, or on a worker's: one ring for each. */
static void open_rings(struct perf_event_attr *attr)
{
	int cpu, fd;

	attr->size = sizeof(*attr);
	attr->type = PERF_TYPE_SOFTWARE;
	attr->config = PERF_COUNT_SW_DUMMY;
	attr->sample_period = attr->watermark = attr->wakeup_watermark = 1;
	for (cpu = 0; cpu < nr_cpus() && cpu < MAX_RINGS; cpu++) {
		fd = syscall(SYS_perf_event_open, attr, -1, cpu, -1, PERF_FLAG_FD_CLOEXEC);
		REQUIRE(fd >= 0, "perf_event_open: %s", strerror(errno));
		rings[cpu] = mmap(NULL, (RING_PAGES + 1) * 4096, PROT_READ | PROT_WRITE, MAP_SHARED,
				  fd, 0);
		REQUIRE(rings[cpu] != MAP_FAILED, "mmap: %s", strerror(errno));
	}
}

static void read_ring(struct perf_event_mmap_page *page,
		      void (*look)(const struct perf_event_header *, void *), void *arg)
{
	char *data = (char *)page + page->data_offset, event[4096];
	uint64_t head = __atomic_load_n(&page->data_head, __ATOMIC_ACQUIRE);
	uint64_t tail = page->data_tail;

	while (tail < head) {
		struct perf_event_header *h = (void *)event;
		size_t i;

		for (i = 0; i < sizeof(*h); i++)
			event[i] = data[(tail + i) % page->data_size];
		for (; i < h->size && i < sizeof(event); i++)
			event[i] = data[(tail + i) % page->data_size];
		tail += h->size;
		look(h, arg);
	}
	__atomic_store_n(&page->data_tail, tail, __ATOMIC_RELEASE);
}

/* Has @look see each record that has come since the last time. */
static void read_rings(void (*look)(const struct perf_event_header *, void *), void *arg)
{
	int cpu;

	for (cpu = 0; cpu < nr_cpus() && cpu < MAX_RINGS; cpu++)
		read_ring(rings[cpu], look, arg);
}

struct ksymbol_event {
	struct perf_event_header header;
	uint64_t addr;
	uint32_t len;
	uint16_t type, flags;
	char name[];
};

/* The records of one name. */
struct ksymbol_seen {
	char name[128];
	int registered, unregistered;
	uint64_t addr;
	uint32_t len;
};

static void see_ksymbol(const struct perf_event_header *h, void *arg)
{
	const struct ksymbol_event *k = (const void *)h;
	struct ksymbol_seen *seen = arg;

	if (h->type != PERF_RECORD_KSYMBOL || strcmp(k->name, seen->name))
		return;
	if (k->flags & PERF_RECORD_KSYMBOL_FLAGS_UNREGISTER) {
		seen->unregistered++;
		return;
	}
	seen->registered++;
	seen->addr = k->addr;
	seen->len = k->len;
	CHECK_EQ(k->type, PERF_RECORD_KSYMBOL_TYPE_BPF, "type");
}

static void test_ksymbol(void)
{
	struct perf_event_attr attr = { .ksymbol = 1 };
	struct ksymbol_seen seen = {};
	struct tramp_query q;
	struct attachment a;
	int prog;

	if (vmtest_oracle())
		ktap_skip("about our images");
	setup();
	open_rings(&attr);
	prog = prog_clone(skel->progs.count_entry, "tt_hot0", BPF_TRACE_FENTRY);
	a = attach_func(OURS, prog, NULL);
	q = attachment_query(&a);
	snprintf(seen.name, sizeof(seen.name), "trampoline_%llu_%u", (unsigned long long)q.key,
		 q.index);
	read_rings(see_ksymbol, &seen);
	CHECK_EQ(seen.registered, 1, "records of %s", seen.name);
	CHECK_EQ(seen.addr, q.image_addr, "address");
	CHECK(seen.len >= q.image_size && seen.len <= 4096, "length %u of %u", seen.len,
	      q.image_size);
	CHECK_EQ(seen.unregistered, 0, "while attached");
	detach(&a);
	CHECK(tramp_settle(), "not freed");
	read_rings(see_ksymbol, &seen);
	CHECK_EQ(seen.unregistered, 1, "records of the end of %s", seen.name);
}

/* PERF_RECORD_TEXT_POKE: from what it tells, the text can be followed from state to state. */
#define POKED	32	/* bytes of text that are looked at */

struct poke_event {
	struct perf_event_header header;
	uint64_t addr;
	uint16_t old_len, new_len;
	uint8_t bytes[];
};

static struct {
	uint64_t addr;
	uint8_t text[POKED];	/* as told */
	struct {
		uint32_t off, len;
		uint8_t from[POKED], to[POKED];
		bool done;
	} pokes[64];
	int nr;
} told;

static void see_poke(const struct perf_event_header *h, void *arg)
{
	const struct poke_event *p = (const void *)h;

	(void)arg;
	if (h->type != PERF_RECORD_TEXT_POKE || p->addr < told.addr ||
	    p->addr + p->new_len > told.addr + POKED)
		return;
	CHECK_EQ(p->old_len, p->new_len, "lengths of a poke");
	REQUIRE(told.nr < 64 && p->old_len <= POKED, "too many pokes, or too long");
	told.pokes[told.nr].off = p->addr - told.addr;
	told.pokes[told.nr].len = p->new_len;
	memcpy(told.pokes[told.nr].from, p->bytes, p->old_len);
	memcpy(told.pokes[told.nr++].to, p->bytes + p->old_len, p->new_len);
}

/* Each ring has its own order: take what fits the text as it is so far. */
static void follow_pokes(const char *when)
{
	uint8_t now[POKED];
	int i, left;

	told.nr = 0;
	memset(told.pokes, 0, sizeof(told.pokes));
	read_rings(see_poke, NULL);
	for (i = 0, left = told.nr; i < told.nr; i++) {
		if (told.pokes[i].done ||
		    memcmp(told.text + told.pokes[i].off, told.pokes[i].from, told.pokes[i].len))
			continue;
		memcpy(told.text + told.pokes[i].off, told.pokes[i].to, told.pokes[i].len);
		told.pokes[i].done = true;
		left--;
		i = -1;
	}
	text_read(dev, told.addr, now, sizeof(now));
	CHECK(told.nr > 0, "%s: no pokes are told", when);
	CHECK_EQ(left, 0, "%s: pokes of %d that do not fit", when, told.nr);
	CHECK(!memcmp(now, told.text, sizeof(now)), "%s: the text is another than was told", when);
}

static void test_text_poke(void)
{
	struct perf_event_attr attr = { .text_poke = 1 };
	struct tt_form_info form;
	struct attachment p;

	if (vmtest_oracle())
		ktap_skip("about our probes");
	setup();
	form = form_named(dev, "tt_form_inc_2");
	probe_setup();
	open_rings(&attr);
	told.addr = form.probe;
	text_read(dev, told.addr, told.text, sizeof(told.text));
	p = attach_insn(OURS, bpf_program__fd(probe_skel->progs.regs_all), form.probe, 0, 0);
	probe_flush();
	CHECK_EQ(attachment_query(&p).mode, TRAMP_MODE_JUMP, "mode");
	follow_pokes("a jump");
	detach(&p);
	probe_flush();
	follow_pokes("restored");
}

/* ----------------------------------------------------------------- kallsyms --- */

/* "<addr> t trampoline_<key>_<index>\t[bpf]", as long as the image is there. */
static void test_kallsyms(void)
{
	struct attachment a[3];
	char line[128], *text;
	int i, n = 0, prog;

	if (vmtest_oracle())
		ktap_skip("about our images");
	setup();
	for (i = 0; i < 3; i++) {
		struct tramp_query q;

		prog = i == 1 ? prog_clone(skel->progs.count_exit, "tt_hot0", BPF_TRACE_FEXIT) :
				prog_clone(skel->progs.count_entry, "tt_hot0", BPF_TRACE_FENTRY);
		a[n++] = attach_func(OURS, prog, NULL);
		q = attachment_query(&a[0]);
		sprintf(line, "%016llx t trampoline_%llu_%u\t[bpf]\n",
			(unsigned long long)q.image_addr, (unsigned long long)q.key, q.index);
		text = read_file("/proc/kallsyms");
		CHECK(strstr(text, line), "not in kallsyms: %s", line);
		free(text);
		CHECK_EQ(q.nr_progs, i + 1, "programs");
	}
	CHECK(tramp_settle(), "old images stay");
	CHECK_EQ(ksym_images(), 1, "one image for one function");
	CHECK_EQ(kernel_images(), 1, "one image, by the test module");
	for (i = 0; i < 3; i++)
		detach(&a[i]);
}

/* Places for names lie over each other in blocks of some fifty. */
#define NAMES	140

struct name {
	struct attachment a;
	char line[96];
};

/* At the next function where a probe may be. */
static void name_add(struct name *n, const struct many *m)
{
	static uint32_t next;
	struct tramp_query q;

	do {
		REQUIRE(next < m->cmd.nr, "%u functions are too few", m->cmd.nr);
		n->a = attach_insn_try(OURS, bpf_program__fd(probe_skel->progs.count),
				       m->addrs[next++], 0, 0);
	} while (n->a.err);
	q = attachment_query(&n->a);
	REQUIRE(q.image_addr, "%#llx has no image but mode %s", (unsigned long long)q.func_addr,
		tramp_mode_name(q.mode));
	sprintf(n->line, "%016llx t trampoline_%llu_%u\t[bpf]\n", (unsigned long long)q.image_addr,
		(unsigned long long)q.key, q.index);
}

/* From the first line of BPF on: a line of ours is there or nowhere, 100,000 others come before. */
static const char *bpf_lines(const char *text)
{
	const char *at = strstr(text, "\t[bpf]\n");

	if (!at)
		return "";
	while (at > text && at[-1] != '\n')
		at--;
	return at;
}

/* All are there but those of every @without-th, 0: all. */
static void names_check(const struct name *names, int without, const char *when)
{
	char *text = read_file("/proc/kallsyms");
	const char *bpf = bpf_lines(text);
	int i, gone = 0;

	for (i = 0; i < NAMES; i++) {
		bool here = !without || i % without;

		gone += !here;
		CHECK(!strstr(bpf, names[i].line) == !here, "%s: %s kallsyms: %s", when,
		      here ? "not in" : "still in", names[i].line);
	}
	CHECK_EQ(ksym_images(), NAMES - gone, "%s: images", when);
	CHECK_EQ(kernel_images(), NAMES - gone, "%s: images, by the test module", when);
	free(text);
}

/* Many names, some of which go, and others that take their places. */
static void test_kallsyms_many(void)
{
	static struct name names[NAMES];
	struct many *m = many_new();
	int i, wait;

	if (vmtest_oracle())
		ktap_skip("about our images");
	setup();
	probe_setup();
	many_fill(m, 3 * NAMES);
	for (i = 0; i < NAMES; i++)
		name_add(&names[i], m);
	names_check(names, 0, "attached");
	for (i = 0; i < NAMES; i += 3)
		detach(&names[i].a);
	for (wait = 0; wait < 300 && tramp_module().retiring; wait++)
		usleep(100000);
	names_check(names, 3, "a third detached");
	for (i = 0; i < NAMES; i += 3)
		name_add(&names[i], m);
	names_check(names, 0, "attached again");
	for (i = 0; i < NAMES; i++)
		detach(&names[i].a);
}

/* The bytes QUERY hands out are those at the address, and the site calls them. */
static void test_image_bytes(void)
{
	unsigned char image[4096], memory[4096], site[16];
	uint64_t func = 0;
	struct tramp_query q = { .size = sizeof(q) };
	struct attachment a;
	int32_t rel;
	int at;

	if (vmtest_oracle())
		ktap_skip("about our images");
	setup();
	a = attach_func(OURS, prog_clone(skel->progs.count_exit, "tt_hot0", BPF_TRACE_FEXIT), NULL);
	q.link_id = a.reply.link_id;
	q.image = (uintptr_t)image;
	q.image_len = 1;
	CHECK(ioctl(tramp_device(), TRAMP_IOC_QUERY, &q) && errno == EMSGSIZE, "%s",
	      strerror(errno));
	CHECK(q.image_len > 1 && q.image_len <= sizeof(image), "needs %u bytes", q.image_len);
	REQUIRE(!ioctl(tramp_device(), TRAMP_IOC_QUERY, &q), "%s", strerror(errno));
	CHECK_EQ(q.image_len, q.image_size, "length");
	kcore_read(q.image_addr, memory, q.image_len);
	CHECK(!memcmp(image, memory, q.image_len), "the image is not what is in memory");

	func = ksym_addr("tt_hot0");
	CHECK_EQ(q.func_addr, func, "function");
	kcore_read(func, site, sizeof(site));
	/* Behind the ENDBR, where there is one. */
	at = site[0] == 0xf3 && site[1] == 0x0f && site[2] == 0x1e && site[3] == 0xfa ? 4 : 0;
	CHECK_EQ(site[at], 0xe8, "a CALL at the site");
	memcpy(&rel, site + at + 1, 4);
	CHECK_EQ(func + at + 5 + rel, q.image_addr, "where the site calls to");
	detach(&a);
	kcore_read(func, site, sizeof(site));
	CHECK(!memcmp(site + at, "\x0f\x1f\x44\x00\x00", 5), "no NOP5 at the site after detach");
}

/* The switch of the optimiser says what it was set to, and takes nothing else. */
static void test_optimize_file(void)
{
	static const char file[] = "/sys/kernel/debug/trampoline/optimize";
	static const struct {
		const char *text;
		int err, then;
	} writes[] = {
		{ "0", 0, 0 }, { "2", -EINVAL, 0 }, { "1", 0, 1 }, { "-1", -EINVAL, 1 },
		{ "on", -EINVAL, 1 }, { "", -EINVAL, 1 },
	};
	char *text;
	size_t i;

	close(fixture_open("about our files"));
	if (access(file, F_OK))
		ktap_skip("this module has no probes");
	for (i = 0; i < sizeof(writes) / sizeof(writes[0]); i++) {
		CHECK_EQ(write_file(file, "%s", writes[i].text), writes[i].err, "'%s'",
			 writes[i].text);
		text = read_file(file);
		CHECK_EQ(atoi(text), writes[i].then, "after '%s'", writes[i].text);
		free(text);
	}
}

static const struct ktap_test tests[] = {
	{ "optimize_file", test_optimize_file, 60 },
	{ "stats", test_stats, 60 },
	{ "text_poke", test_text_poke, 60 },
	{ "ksymbol", test_ksymbol, 60 },
	{ "kallsyms", test_kallsyms, 60 },
	{ "kallsyms_many", test_kallsyms_many, 270 },
	{ "image_bytes", test_image_bytes, 60 },
};

KTAP_MAIN(tests)
