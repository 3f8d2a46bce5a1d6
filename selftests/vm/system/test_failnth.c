// SPDX-License-Identifier: GPL-2.0
/*
 * Faults one after the other (failnth.h) in ATTACH, detach, update and the questions.
 *
 * A refused ATTACH says ENOMEM or EFAULT and leaves nothing behind: no link, image,
 * descriptor or count, and who was there before still runs. Detaching never fails,
 * whatever else does. Kmemleak finds memory that is lost without a trace, at the end of
 * `make test-debug`.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <linux/types.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>
#include "failnth.h"
#include "fixture.h"
#include "many.h"
#include "probe.h"
#include "record.h"
#include "selftests/vm/system/failnth.skel.h"
#include "selftests/vm/lib/record.skel.h"

static void test_attach_entry(void)
{
	struct way way;

	faults_setup();
	way = fentry_way();
	attach_faults("fentry", &way, NULL);
}

static void test_attach_exit(void)
{
	struct way way;

	faults_setup();
	way = fexit_way();
	attach_faults("fexit", &way, NULL);
}

static void test_attach_beside(void)
{
	struct way way, other;

	faults_setup();
	way = fexit_way();
	other = fentry_way();
	attach_faults("fexit beside fentry", &way, &other);
	/* The function's image had no type of it until then. */
	way = entry_probe_way();
	attach_faults("fentry beside a probe at the entry", &other, &way);
}

/* The program of many is called by the function's own image from then on. */
static void test_attach_among_many(void)
{
	struct many *m = many_new();
	struct way way;

	faults_setup();
	many_add_name(m, FUNC);
	many_add_name(m, "tt_hot1");
	m->cookies[0] = m->cookies[1] = COOKIES;
	many_attach(m, bpf_program__fd(skel->progs.count_probe), 0);
	way = fentry_way();
	attach_faults("fentry at one of many", &way, NULL);
	detach_faults("closing fentry at one of many", &way, NULL, detach_by_close,
		      TAKES_NO_MEMORY);
	way = fexit_way();
	attach_faults("fexit at one of many", &way, NULL);
	way = entry_probe_way();
	way.prog_fd = bpf_program__fd(skel->progs.count_probe_too);
	attach_faults("a probe at the entry of one of many", &way, NULL);
	many_detach(m);
}

/* Where the kernel's own program holds the site: through ftrace. */
static void test_attach_ops(void)
{
	struct attachment holder;
	struct way way;

	faults_setup();
	if (!(tramp_module().features & TRAMP_FEAT_FTRACE_OPS))
		ktap_skip("this module does not go through ftrace here");
	holder = hold_site(FUNC);
	way = fentry_way();
	attach_faults("fentry through ftrace", &way, NULL);
	detach(&holder);
}

/* A kprobe program at the return: by an exit image, and by the kernel's rethook. */
static void test_return(void)
{
	struct attachment holder;
	struct way way, other;

	faults_setup();
	way = return_way();
	other = fentry_way();
	attach_faults("a return", &way, NULL);
	attach_faults("a return beside fentry", &way, &other);
	detach_faults("closing a return", &way, NULL, detach_by_close, TAKES_NO_MEMORY);
	holder = hold_site(FUNC);
	attach_faults("a return by rethook", &way, NULL);
	other = way;
	other.prog_fd = bpf_program__fd(skel->progs.count_probe_too);
	attach_faults("a return beside another, by rethook", &way, &other);
	detach_faults("closing a return by rethook", &way, NULL, detach_by_close, TAKES_MEMORY);
	detach_faults("closing it beside another", &way, &other, detach_by_close, TAKES_MEMORY);
	detach(&holder);
}

static void test_attach_probe(void)
{
	struct way way;

	faults_setup();
	way = probe_way(0);
	attach_faults("probe", &way, NULL);
}

static void test_attach_probe_beside(void)
{
	struct way way, other;

	faults_setup();
	other = probe_way(0);
	way = other;
	way.prog_fd = bpf_program__fd(skel->progs.count_probe_too);
	attach_faults("probe beside another", &way, &other);
}

/* The one before it has a jump over its bytes. */
static void test_attach_probe_region(void)
{
	struct way way, before;
	struct probe_func f;
	uint32_t i = 0;
	int fd;

	faults_setup();
	way = before = probe_way(0);
	REQUIRE(!probe_explain(&f, 0, FUNC, false), "explain %s", FUNC);
	while (i + 1 < f.nr && f.insns[i].offset <= before.offset)
		i++;
	way.offset = f.insns[i].offset;
	probe_func_free(&f);
	fd = way_must_attach(&before, COOKIES);
	probe_flush();
	way.prog_fd = bpf_program__fd(skel->progs.count_probe_too);
	attach_faults("a probe in the bytes of a jump", &way, NULL);
	close(fd);
	check_nothing_left();
}

/* It notes where the instruction may lead to. */
static void test_attach_probe_branch(void)
{
	struct way way;

	faults_setup();
	way = probe_way(0);
	way.symbol = NULL;
	way.addr = form_named(test_dev, "tt_form_jz8_back_1").probe;
	attach_faults("a probe at a branch", &way, NULL);
}

static void test_attach_probe_entry(void)
{
	struct way way;

	faults_setup();
	way = entry_probe_way();
	attach_faults("probe at an entry", &way, NULL);
}

/* At a function that shares its ops with others. */
static void test_crowded(void)
{
	struct way way;

	faults_setup();
	way = entry_probe_way();
	attach_crowd();
	attach_faults("probe at an entry, beside many functions", &way, NULL);
	attach_crowd();
	detach_faults("closing it", &way, NULL, detach_by_close, TAKES_MEMORY);
	way = fexit_way();
	attach_crowd();
	attach_faults("fexit beside many functions", &way, NULL);
	attach_crowd();
	detach_faults("closing that", &way, NULL, detach_by_close, TAKES_MEMORY);
}

/* The last program of a function goes with its ftrace_ops, which takes no memory. */
static void test_detach(void)
{
	struct way way;

	faults_setup();
	way = fentry_way();
	detach_faults("closing fentry", &way, NULL, detach_by_close, TAKES_NO_MEMORY);
	detach_faults("detaching fentry", &way, NULL, detach_by_command, TAKES_NO_MEMORY);
	way = fexit_way();
	detach_faults("closing fexit", &way, NULL, detach_by_close, TAKES_NO_MEMORY);
}

/* Those that stay need a new image, which there is no memory for. */
static void test_detach_beside(void)
{
	struct way way, other;

	faults_setup();
	way = fexit_way();
	other = fentry_way();
	detach_faults("closing fexit beside fentry", &way, &other, detach_by_close, TAKES_MEMORY);
	detach_faults("closing fentry beside fexit", &(struct way){ .prog_fd = other.prog_fd },
		      &(struct way){ .prog_fd = way.prog_fd }, detach_by_close, TAKES_MEMORY);
	detach_faults("detaching fexit beside fentry", &way, &other, detach_by_command,
		      TAKES_MEMORY);
}

static void test_detach_probe(void)
{
	struct way way, other;

	faults_setup();
	way = probe_way(0);
	detach_faults("closing a probe", &way, NULL, detach_by_close, TAKES_NO_MEMORY);
	detach_faults("detaching a probe", &way, NULL, detach_by_command, TAKES_NO_MEMORY);
	other = way;
	other.prog_fd = bpf_program__fd(skel->progs.count_probe_too);
	detach_faults("closing a probe beside another", &way, &other, detach_by_close,
		      TAKES_MEMORY);
	way = entry_probe_way();
	detach_faults("closing a probe at an entry", &way, NULL, detach_by_close, TAKES_NO_MEMORY);
}

static void test_update(void)
{
	struct attachment holder;
	struct way way;
	int probe;

	faults_setup();
	way = fentry_way();
	update_faults("updating fentry", &way,
		      prog_clone(record->progs.count_entry, FUNC, BPF_TRACE_FENTRY));
	probe = bpf_program__fd(skel->progs.count_probe_too);
	way = probe_way(0);
	update_faults("updating a probe", &way, probe);
	way = entry_probe_way();
	update_faults("updating a probe at an entry", &way, probe);
	way = return_way();
	update_faults("updating a return", &way, probe);
	holder = hold_site(FUNC);
	update_faults("updating a return by rethook", &way, probe);
	detach(&holder);
}

/* ------------------------------------------------------------- questions --- */

union question {
	struct tramp_info info;
	struct tramp_explain explain;
	struct tramp_explain_code code;
	struct tramp_query query;
};

/* A question attaches nothing, and so has nothing to undo but memory. */
static void question_faults(const char *what, unsigned int cmd, const union question *q)
{
	struct state before = state_now();
	unsigned int n;

	for (n = 1; n < MAX_FAULTS && ktap_failures() < 5; n++) {
		union question asked = *q;
		bool fired;
		int err;

		faults_arm(n);
		err = ioctl(tramp_device(), cmd, &asked) < 0 ? -errno : 0;
		fired = faults_disarm();
		faults_outcome(n, fired, err);
		CHECK(!err || err == -ENOMEM || err == -EFAULT, "%s, fault %u: %s", what, n,
		      strerror(-err));
		if (faults_over(what, fired, err))
			break;
	}
	check_same(&before, what, n);
	faults_report_refused(what);
}

/* INFO with the list of what is missing, EXPLAIN by name and by BTF. */
static void ask_about_functions(void)
{
	union question q = { .info = { .size = sizeof(q.info) } };
	char missing[256];

	question_faults("INFO", TRAMP_IOC_INFO, &q);
	q.info.missing = (uintptr_t)missing;
	q.info.missing_len = sizeof(missing);
	question_faults("INFO, what is missing", TRAMP_IOC_INFO, &q);
	q = (union question){ .explain = { .size = sizeof(q.explain), .name = FUNC } };
	question_faults("EXPLAIN", TRAMP_IOC_EXPLAIN, &q);
	REQUIRE(!ioctl(tramp_device(), TRAMP_IOC_EXPLAIN, &q), "EXPLAIN: %s", strerror(errno));
	q = (union question){ .explain = { .size = sizeof(q.explain),
					   .btf_obj_id = q.explain.btf_obj_id,
					   .btf_id = q.explain.btf_id } };
	question_faults("EXPLAIN by BTF", TRAMP_IOC_EXPLAIN, &q);
}

/* QUERY of the next link and of one by its number, with the image's bytes. */
static void ask_about_link(void)
{
	union question q = { .query = { .size = sizeof(q.query), .flags = TRAMP_QUERY_F_NEXT } };
	static uint8_t image[4096];
	struct way way = fentry_way();
	int fd = way_must_attach(&way, FIRST);

	question_faults("QUERY", TRAMP_IOC_QUERY, &q);
	REQUIRE(!ioctl(tramp_device(), TRAMP_IOC_QUERY, &q), "QUERY: %s", strerror(errno));
	q = (union question){ .query = { .size = sizeof(q.query), .link_id = q.query.link_id,
					 .image = (uintptr_t)image,
					 .image_len = sizeof(image) } };
	question_faults("QUERY, the image", TRAMP_IOC_QUERY, &q);
	close(fd);
}

static void ask_about_code(void)
{
	struct tramp_insn_info insns[64];
	uint8_t code[256];
	union question q = { .code = { .size = sizeof(q.code), .symbol = FUNC,
				       .insns = (uintptr_t)insns, .nr_insns = 64 } };

	question_faults("EXPLAIN_CODE", TRAMP_IOC_EXPLAIN_CODE, &q);
	q.code.code = (uintptr_t)code;
	q.code.code_len = sizeof(code);
	question_faults("EXPLAIN_CODE, the bytes", TRAMP_IOC_EXPLAIN_CODE, &q);
}

static void test_questions(void)
{
	faults_setup();
	ask_about_functions();
	ask_about_link();
	if (tramp_module().features & TRAMP_FEAT_KPROBE)
		ask_about_code();
	check_nothing_left();
}

static void test_points(void);

static const struct ktap_test tests[] = {
	KTAP_TEST_SECONDS(test_attach_entry, 120),
	KTAP_TEST_SECONDS(test_attach_exit, 120),
	KTAP_TEST_SECONDS(test_attach_beside, 240),
	KTAP_TEST_SECONDS(test_attach_among_many, 240),
	KTAP_TEST_SECONDS(test_attach_ops, 120),
	KTAP_TEST_SECONDS(test_attach_probe, 120),
	KTAP_TEST_SECONDS(test_attach_probe_beside, 120),
	KTAP_TEST_SECONDS(test_attach_probe_region, 120),
	KTAP_TEST_SECONDS(test_attach_probe_branch, 120),
	KTAP_TEST_SECONDS(test_attach_probe_entry, 120),
	KTAP_TEST_SECONDS(test_return, 240),
	KTAP_TEST_SECONDS(test_crowded, 240),
	KTAP_TEST_SECONDS(test_detach, 120),
	KTAP_TEST_SECONDS(test_detach_beside, 120),
	KTAP_TEST_SECONDS(test_detach_probe, 120),
	KTAP_TEST_SECONDS(test_update, 240),
	KTAP_TEST(test_questions),
	KTAP_TEST(test_points),
};

static void test_points(void)
{
	faults_check_points(sizeof(tests) / sizeof(tests[0]) - 1);
}

KTAP_MAIN(tests)
