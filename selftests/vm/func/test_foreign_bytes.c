// SPDX-License-Identifier: GPL-2.0
/*
 * Somebody has written over what ftrace has at a function's entry. ftrace would shut down for good
 * if it was asked to write there. So it is not asked: whatever wants to be attached is refused. The
 * text of one who is only in the middle of writing is waited for.
 */
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>
#include "fixture.h"
#include "many.h"
#include "probe.h"
#include "record.h"
#include "selftests/vm/lib/probe_progs.skel.h"
#include "selftests/vm/lib/record.skel.h"

#define FUNC	"tt_hot0"
#define CALLS	20

static struct record *record;
static int dev, entry, count;
static uint64_t site;

static void setup(void)
{
	uint8_t first[4];

	dev = fixture_open("the kernel's own has ftrace shut down");
	record = FIXTURE_LOAD(record);
	probe_setup();
	entry = prog_clone(record->progs.count_entry, FUNC, BPF_TRACE_FENTRY);
	count = bpf_program__fd(probe_skel->progs.count);
	site = ksym_addr(FUNC);
	text_read(dev, site, first, sizeof(first));
	if (text_is_endbr(first))
		site += sizeof(first);
}

static void overwrite(const char *hex)
{
	int err = tt_command(dev, NULL, 0, "overwrite %lx %s", site, hex);

	REQUIRE(!err, "overwrite: %s", strerror(-err));
}

static void expect_foreign(int err, uint32_t reason, const char *what, const char *bytes)
{
	CHECK_EQ(err, -EBUSY, "%s at %s: %s", what, bytes, strerror(-err));
	CHECK_EQ(reason, TRAMP_REASON_FOREIGN_BYTES, "%s at %s: %s", what, bytes,
		 tramp_reason_name(reason));
}

static void expect_refused(struct attachment a, const char *what, const char *bytes)
{
	expect_foreign(a.err, a.reply.refusal.reason, what, bytes);
	detach(&a);
}

static void expect_explained(const char *bytes)
{
	struct tramp_explain ex = { .size = sizeof(ex), .name = FUNC };
	struct probe_func f;
	uint32_t i = 0;

	REQUIRE(!ioctl(tramp_device(), TRAMP_IOC_EXPLAIN, &ex), "EXPLAIN");
	CHECK_EQ(ex.fentry_reason, TRAMP_REASON_FOREIGN_BYTES, "EXPLAIN at %s", bytes);
	CHECK_EQ(ex.fexit_reason, TRAMP_REASON_FOREIGN_BYTES, "EXPLAIN at %s", bytes);
	REQUIRE(!probe_explain(&f, 0, FUNC, false), "EXPLAIN_CODE");
	while (i < f.nr && f.addr + f.insns[i].offset + f.insns[i].len <= site)
		i++;
	REQUIRE(i < f.nr, "no entry");
	CHECK_EQ(f.insns[i].mode, TRAMP_MODE_NONE, "EXPLAIN_CODE at %s: mode", bytes);
	CHECK_EQ(f.insns[i].reason, TRAMP_REASON_FOREIGN_BYTES, "EXPLAIN_CODE at %s", bytes);
	probe_func_free(&f);
}

static void expect_all_refused(const char *bytes)
{
	int fexit = prog_clone(record->progs.count_exit, FUNC, BPF_TRACE_FEXIT), err;
	struct tramp_attach by_name = { .symbol = FUNC };
	struct many *m = many_new();

	expect_refused(attach_func_try(OURS, entry, NULL), "fentry", bytes);
	expect_refused(attach_func_try(OURS, fexit, NULL), "fexit", bytes);
	expect_refused(attach_insn_try(OURS, count, site, 0, 0), "a probe", bytes);
	/* It finds its function by a kprobe of the kernel. */
	expect_refused(attach_want(bpf_program__fd(probe_skel->progs.ask_func_ip), &by_name),
		       "a kprobe of the kernel", bytes);
	many_add_name(m, "tt_hot1");
	many_add_name(m, FUNC);
	err = many_attach_try(m, count, 0);
	expect_foreign(err, m->cmd.refusal.reason, "many", bytes);
	free(m);
	close(fexit);
	expect_explained(bytes);
}

static void expect_hits(const struct attachment *a, const char *when)
{
	CHECK_EQ(tt_call(dev, FUNC " n=%d 41", CALLS).result, 42, "%s: result", when);
	CHECK_EQ(attachment_query(a).hits, CALLS, "%s: hits", when);
}

static void test_refused(void)
{
	/* NOPs of one byte, a jump to what follows, an int3 that is nobody's. */
	static const char *const written[] = { "9090909090", "e900000000", "cc1f440000" };
	struct attachment a;
	char was[11];
	uint8_t text[5];
	int i;

	setup();
	text_read(dev, site, text, sizeof(text));
	for (i = 0; i < 5; i++)
		sprintf(was + 2 * i, "%02x", text[i]);
	for (i = 0; i < 3; i++) {
		overwrite(written[i]);
		expect_all_refused(written[i]);
		overwrite(was);
		a = attach_func(OURS, entry, NULL);
		expect_hits(&a, "as it was");
		detach(&a);
	}
}

static volatile bool stop;

static void *explain_always(void *arg)
{
	uint64_t *asked = arg;

	while (!stop) {
		struct tramp_explain ex = { .size = sizeof(ex), .name = FUNC };

		if (!CHECK(!ioctl(tramp_device(), TRAMP_IOC_EXPLAIN, &ex), "EXPLAIN") ||
		    !CHECK_EQ(ex.fentry_reason, 0, "%s", tramp_reason_name(ex.fentry_reason)))
			break;
		++*asked;
	}
	return NULL;
}

/* A tracer comes and goes there, slowly. Its text is looked at in each state, and between two. */
static void test_being_written(void)
{
	uint64_t asked = 0, sync, hits = 0, missed;
	pthread_t thread;
	int32_t err;
	int i;

	setup();
	sync = ksym_addr(PROBE_SYNC);
	kprobes_on(dev, TT_KPROBE_SLOW, &sync, &err, 1);
	REQUIRE(!err, "a kprobe of the kernel: %s", strerror(err));
	REQUIRE(!pthread_create(&thread, NULL, explain_always, &asked), "thread");
	for (i = 0; i < 20; i++) {
		function_tracer(FUNC);
		write_file(TRACING "current_tracer", "nop");
	}
	function_tracer(NULL);
	stop = true;
	pthread_join(thread, NULL);
	kprobes_off(dev, &hits, &missed, NULL, 1);
	CHECK(hits > 20, "%lu syncs", hits);
	CHECK(asked > 20, "asked %lu times", asked);
	ktap_note("asked %lu times", asked);
}

static const struct ktap_test tests[] = {
	{ "refused", test_refused, 60 },
	{ "being_written", test_being_written, 120 },
};

KTAP_MAIN(tests)
