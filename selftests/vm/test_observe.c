// SPDX-License-Identifier: GPL-2.0
/*
 * What the rest of the system sees of programs attached by us: run-time
 * statistics, PERF_RECORD_KSYMBOL, /proc/kallsyms, pages that are never writable
 * and executable, and the kernel's log.
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
#include "vmtest.h"
#include "record.h"
#include "selftests/vm/record.skel.h"

static struct record *skel;
static int dev;

static void setup(void)
{
	dev = tt_open();
	skel = record__open_and_load();
	REQUIRE(skel, "record.bpf.o: %s", strerror(errno));
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
	struct att a[2];

	setup();
	prog[0] = prog_clone(skel->progs.count_entry, "tt_hot0", BPF_TRACE_FENTRY);
	prog[1] = prog_clone(skel->progs.count_exit, "tt_hot0", BPF_TRACE_FEXIT);
	for (i = 0; i < 2; i++)
		a[i] = att_do(OURS, prog[i], &(uint64_t){ i });
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
		att_drop(&a[i]);
	}
	check_nothing_left();
}

/* ------------------------------------------------------- PERF_RECORD_KSYMBOL --- */

#define RING_PAGES 16

struct ksymbol_event {
	struct perf_event_header header;
	uint64_t addr;
	uint32_t len;
	uint16_t type, flags;
	char name[];
};

struct ksymbol_seen {
	int registered, unregistered;
	uint64_t addr;
	uint32_t len;
};

/* Reads the ring and counts the records of one name. */
static void read_ksymbols(struct perf_event_mmap_page *page, const char *name,
			  struct ksymbol_seen *seen)
{
	char *data = (char *)page + page->data_offset, event[4096];
	uint64_t head = __atomic_load_n(&page->data_head, __ATOMIC_ACQUIRE);
	uint64_t tail = page->data_tail;

	while (tail < head) {
		struct perf_event_header *h = (void *)event;
		struct ksymbol_event *k = (void *)event;
		size_t i;

		for (i = 0; i < sizeof(*h); i++)
			event[i] = data[(tail + i) % page->data_size];
		for (; i < h->size && i < sizeof(event); i++)
			event[i] = data[(tail + i) % page->data_size];
		tail += h->size;
		if (h->type != PERF_RECORD_KSYMBOL || strcmp(k->name, name))
			continue;
		if (k->flags & PERF_RECORD_KSYMBOL_FLAGS_UNREGISTER) {
			seen->unregistered++;
		} else {
			seen->registered++;
			seen->addr = k->addr;
			seen->len = k->len;
			CHECK_EQ(k->type, PERF_RECORD_KSYMBOL_TYPE_BPF, "type");
		}
	}
	__atomic_store_n(&page->data_tail, tail, __ATOMIC_RELEASE);
}

static void test_ksymbol(void)
{
	struct perf_event_attr attr = {
		.size = sizeof(attr), .type = PERF_TYPE_SOFTWARE, .config = PERF_COUNT_SW_DUMMY,
		.ksymbol = 1, .sample_period = 1, .watermark = 1, .wakeup_watermark = 1,
	};
	struct perf_event_mmap_page *page[64];
	struct ksymbol_seen seen = {};
	int cpu, prog;
	struct tramp_query q;
	struct att a;
	char name[128];

	if (vmtest_oracle())
		ktap_skip("about our images");
	setup();
	/* The record comes on the CPU that attaches; unregistering on the worker's. */
	for (cpu = 0; cpu < nr_cpus() && cpu < 64; cpu++) {
		int fd = syscall(SYS_perf_event_open, &attr, -1, cpu, -1, PERF_FLAG_FD_CLOEXEC);

		REQUIRE(fd >= 0, "perf_event_open: %s", strerror(errno));
		page[cpu] = mmap(NULL, (RING_PAGES + 1) * 4096, PROT_READ | PROT_WRITE, MAP_SHARED,
				 fd, 0);
		REQUIRE(page[cpu] != MAP_FAILED, "mmap: %s", strerror(errno));
	}
	prog = prog_clone(skel->progs.count_entry, "tt_hot0", BPF_TRACE_FENTRY);
	a = att_do(OURS, prog, NULL);
	q = tramp_query_link(tramp_link__id(a.link));
	snprintf(name, sizeof(name), "trampoline_%llu_%u", (unsigned long long)q.key, q.index);
	for (cpu = 0; cpu < nr_cpus() && cpu < 64; cpu++)
		read_ksymbols(page[cpu], name, &seen);
	CHECK_EQ(seen.registered, 1, "records of %s", name);
	CHECK_EQ(seen.addr, q.image_addr, "address");
	CHECK(seen.len >= q.image_size && seen.len <= 4096, "length %u of %u", seen.len,
	      q.image_size);
	CHECK_EQ(seen.unregistered, 0, "while attached");
	att_drop(&a);
	CHECK(tramp_settle(), "not freed");
	for (cpu = 0; cpu < nr_cpus() && cpu < 64; cpu++)
		read_ksymbols(page[cpu], name, &seen);
	CHECK_EQ(seen.unregistered, 1, "records of the end of %s", name);
	check_nothing_left();
}

/* ----------------------------------------------------------------- kallsyms --- */

/* "<addr> t trampoline_<key>_<index>\t[bpf]", as long as the image is there. */
static void test_kallsyms(void)
{
	struct att a[3];
	char line[128], *text;
	int i, n = 0;

	if (vmtest_oracle())
		ktap_skip("about our images");
	setup();
	for (i = 0; i < 3; i++) {
		struct tramp_query q;

		a[n++] = att_do(OURS, prog_clone(i == 1 ? skel->progs.count_exit :
						 skel->progs.count_entry, "tt_hot0",
						 i == 1 ? BPF_TRACE_FEXIT : BPF_TRACE_FENTRY),
				NULL);
		q = tramp_query_link(tramp_link__id(a[0].link));
		sprintf(line, "%016llx t trampoline_%llu_%u\t[bpf]\n",
			(unsigned long long)q.image_addr, (unsigned long long)q.key, q.index);
		text = read_file("/proc/kallsyms");
		CHECK(strstr(text, line), "not in kallsyms: %s", line);
		free(text);
		CHECK_EQ(q.nr_progs, i + 1, "programs");
	}
	CHECK(tramp_settle(), "old images stay");
	CHECK_EQ(ksym_images(), 1, "one image for one function");
	for (i = 0; i < 3; i++)
		att_drop(&a[i]);
	check_nothing_left();
}

/* The bytes QUERY hands out are those at the address, and the site calls them. */
static void test_image_bytes(void)
{
	unsigned char image[4096], memory[4096], site[16];
	uint64_t func = 0;
	struct tramp_query q = { .size = sizeof(q) };
	struct att a;
	int32_t rel;
	int at;

	if (vmtest_oracle())
		ktap_skip("about our images");
	setup();
	a = att_do(OURS, prog_clone(skel->progs.count_exit, "tt_hot0", BPF_TRACE_FEXIT), NULL);
	q.link_id = tramp_link__id(a.link);
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
	att_drop(&a);
	kcore_read(func, site, sizeof(site));
	CHECK(!memcmp(site + at, "\x0f\x1f\x44\x00\x00", 5), "no NOP5 at the site after detach");
	check_nothing_left();
}

static const struct ktap_test tests[] = {
	{ "stats", test_stats, 60 },
	{ "ksymbol", test_ksymbol, 60 },
	{ "kallsyms", test_kallsyms, 60 },
	{ "image_bytes", test_image_bytes, 60 },
};

KTAP_MAIN(tests)
