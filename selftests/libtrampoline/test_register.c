// SPDX-License-Identifier: GPL-2.0
/*
 * Programs for many functions: libbpf calls the library when it loads and attaches them. Here
 * nothing is loaded. The test calls the functions that libbpf got, with programs of an object that
 * was opened. Registering and attaching go through the test (build.mk).
 */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

#include "answers.h"
#include "sorts.skel.h"

/* In the place of bpf_get_func_ip(): r0 = pt_regs::orig_ax of the context in r1. */
#define LOAD_CODE	(BPF_LDX | BPF_MEM | BPF_DW)
#define ORIG_AX		120

static struct libbpf_prog_handler_opts handler;
static int nr_registered, fail_at = -1;
/* How long registering takes, and whether a thread is at it. */
static unsigned int takes_us;
static bool registering;
/* The last request to libbpf. */
static char pattern[64];
static bool at_return, at_both;
static int attach_fails;
/* Of libbpf, 1.x. */
static uint32_t minor = 1;

int __real_libbpf_register_prog_handler(const char *sec, enum bpf_prog_type type,
					enum bpf_attach_type attach_type,
					const struct libbpf_prog_handler_opts *opts);
int __wrap_libbpf_register_prog_handler(const char *sec, enum bpf_prog_type type,
					enum bpf_attach_type attach_type,
					const struct libbpf_prog_handler_opts *opts);
struct bpf_link *__wrap_bpf_program__attach_kprobe_multi_opts(const struct bpf_program *prog,
	const char *glob, const struct bpf_kprobe_multi_opts *opts);
__u32 __wrap_libbpf_minor_version(void);

__u32 __wrap_libbpf_minor_version(void)
{
	return minor;
}

int __wrap_libbpf_register_prog_handler(const char *sec, enum bpf_prog_type type,
					enum bpf_attach_type attach_type,
					const struct libbpf_prog_handler_opts *opts)
{
	int id;

	if (nr_registered == fail_at)
		return -ENOMEM;
	CHECK(!__atomic_exchange_n(&registering, true, __ATOMIC_SEQ_CST), "two at once");
	usleep(takes_us);
	nr_registered++;
	handler = *opts;
	id = __real_libbpf_register_prog_handler(sec, type, attach_type, opts);
	__atomic_store_n(&registering, false, __ATOMIC_SEQ_CST);
	return id;
}

struct bpf_link *__wrap_bpf_program__attach_kprobe_multi_opts(const struct bpf_program *prog,
	const char *glob, const struct bpf_kprobe_multi_opts *opts)
{
	const bool *members = &opts->retprobe;

	(void)prog;
	snprintf(pattern, sizeof(pattern), "%s", glob);
	at_return = members[0];
	/* The next one, of libbpf 1.5. Others refuse what they do not know. */
	CHECK_EQ(opts->sz, sizeof(*opts), "size");
	at_both = members[1];
	errno = attach_fails;
	return attach_fails ? NULL : (struct bpf_link *)&handler;
}

static struct sorts *begin(uint64_t features)
{
	struct sorts *skel;

	answers_begin(NULL);
	libbpf_set_print(NULL);
	answers.info.features = features;
	REQUIRE(!tramp_register_sections(), "%s", tramp_last_error()->message);
	CHECK_EQ(nr_registered, 3, "sections");
	skel = sorts__open();
	REQUIRE(skel, "open: %s", strerror(errno));
	return skel;
}

/* How many instructions of a program have the code. */
static size_t count(const struct bpf_program *prog, uint8_t code)
{
	const struct bpf_insn *insn = bpf_program__insns(prog);
	size_t i, nr = 0;

	for (i = 0; i < bpf_program__insn_cnt(prog); i++)
		nr += insn[i].code == code;
	return nr;
}

/* Is it loaded as it is? Otherwise it is to become a plain program, without the helper. */
static void prepares(struct bpf_program *prog, bool as_it_is)
{
	LIBBPF_OPTS(bpf_prog_load_opts, opts,
		    .expected_attach_type = bpf_program__expected_attach_type(prog));
	const size_t calls = count(prog, BPF_JMP | BPF_CALL), nr = bpf_program__insn_cnt(prog);
	const struct bpf_insn *insn;
	size_t i, loads = 0;

	CHECK_EQ(handler.prog_prepare_load_fn(prog, &opts, 0), 0, "%s", bpf_program__name(prog));
	CHECK_CLOSED();
	CHECK_EQ(bpf_program__insn_cnt(prog), nr, "as many instructions");
	CHECK_EQ(!opts.expected_attach_type, !as_it_is, "%s: attach type %d",
		 bpf_program__name(prog), opts.expected_attach_type);
	CHECK_EQ(count(prog, BPF_JMP | BPF_CALL), as_it_is ? calls : 0, "calls");
	insn = bpf_program__insns(prog);
	for (i = 0; i < nr; i++) {
		if (insn[i].code != LOAD_CODE || insn[i].off != ORIG_AX)
			continue;
		CHECK_EQ(insn[i].dst_reg, BPF_REG_0, "the result");
		CHECK_EQ(insn[i].src_reg, BPF_REG_1, "the context");
		loads++;
	}
	CHECK_EQ(loads, as_it_is ? 0 : calls, "loads");
}

static void test_helpers(void)
{
	struct sorts *skel = begin(TRAMP_FEAT_MULTI_HELPERS);

	CHECK_EQ(count(skel->progs.on_many, BPF_JMP | BPF_CALL), 1, "it calls the helper");
	prepares(skel->progs.on_many, true);
	answers.info.features = 0;
	prepares(skel->progs.on_many, false);
	prepares(skel->progs.on_returns, false);
	sorts__destroy(skel);
}

static void test_sessions(void)
{
	LIBBPF_OPTS(bpf_prog_load_opts, opts);
	struct sorts *skel = begin(TRAMP_FEAT_SESSION);

	prepares(skel->progs.on_both, true);
	answers.info.features = 0;
	CHECK_EQ(handler.prog_prepare_load_fn(skel->progs.on_both, &opts, 0), -EOPNOTSUPP, "none");
	CHECK_ERROR(-EOPNOTSUPP, TRAMP_REASON_MISSING_SYMBOL);
	CHECK(last_error_says("program 'on_both'"), "which");
	answers.info.features = TRAMP_FEAT_SESSION_MAP;
	prepares(skel->progs.on_both, false);
	sorts__destroy(skel);
}

/* Without the module nothing is changed: the kernel may know all of it. */
static void test_no_module(void)
{
	struct sorts *skel = begin(0);

	answers.open_fails = ENOENT;
	prepares(skel->progs.on_many, true);
	prepares(skel->progs.on_both, true);
	sorts__destroy(skel);
}

/* bpf_program__attach(), for those who do without us. */
static void test_attach(void)
{
	struct sorts *skel = begin(0);
	struct bpf_link *link = (void *)1;

	CHECK_EQ(handler.prog_attach_fn(skel->progs.on_many, 0, &link), 0, "attach");
	CHECK(link == (void *)&handler, "its link");
	CHECK(!strcmp(pattern, "do_*") && !at_return, "%s", pattern);
	CHECK_EQ(handler.prog_attach_fn(skel->progs.on_returns, 0, &link), 0, "attach");
	CHECK(at_return, "at returns");
	attach_fails = EPERM;
	CHECK_EQ(handler.prog_attach_fn(skel->progs.on_many, 0, &link), -EPERM, "refused");
	CHECK(!link, "no link");
	link = (void *)1;
	CHECK_EQ(handler.prog_attach_fn(skel->progs.on_list, 0, &link), 0, "no pattern");
	CHECK(!link, "no link, as libbpf has it");
	attach_fails = 0;
	CHECK_EQ(handler.prog_attach_fn(skel->progs.on_both, 0, &link), -EOPNOTSUPP, "a session");
	CHECK(!link && !at_both, "libbpf is not asked");
	/* From 1.5 on libbpf attaches them. */
	minor = 5;
	CHECK_EQ(handler.prog_attach_fn(skel->progs.on_both, 0, &link), 0, "a session");
	CHECK(link == (void *)&handler, "its link");
	CHECK(at_both && !at_return, "at both");
	CHECK_EQ(handler.prog_attach_fn(skel->progs.on_returns, 0, &link), 0, "attach");
	CHECK(at_return && !at_both, "at returns");
	sorts__destroy(skel);
}

/* One is refused: the next call goes on from there, and later ones have nothing to do. */
static void test_register(void)
{
	int i;

	answers_begin(NULL);
	for (i = 0; i < 3; i++) {
		fail_at = i;
		errno = 0;
		CHECK_EQ(tramp_register_sections(), -ENOMEM, "number %d", i);
		CHECK_EQ(errno, ENOMEM, "errno");
		CHECK_ERROR(-ENOMEM, TRAMP_LIB_SYSTEM);
		CHECK_EQ(nr_registered, i, "those before it");
	}
	fail_at = -1;
	CHECK_EQ(tramp_register_sections(), 0, "all");
	CHECK_EQ(tramp_register_sections(), 0, "again");
	CHECK_EQ(nr_registered, 3, "once each");
}

static void *open_one(void *arg)
{
	(void)arg;
	CHECK_EQ(tramp_register_sections(), 0, "%s", tramp_last_error()->message);
	CHECK_EQ(__atomic_load_n(&nr_registered, __ATOMIC_SEQ_CST), 3, "all, once it returns");
	return NULL;
}

/* Threads open objects: libbpf has no lock for its list. */
static void test_threads(void)
{
	pthread_t threads[4];
	int i;

	answers_begin(NULL);
	takes_us = 20000;
	for (i = 0; i < 4; i++)
		REQUIRE(!pthread_create(&threads[i], NULL, open_one, NULL), "thread %d", i);
	for (i = 0; i < 4; i++)
		pthread_join(threads[i], NULL);
	CHECK_EQ(nr_registered, 3, "once each");
}

static const struct ktap_test tests[] = {
	{ .name = "helpers", .run = test_helpers },
	{ .name = "sessions", .run = test_sessions },
	{ .name = "no-module", .run = test_no_module },
	{ .name = "attach", .run = test_attach },
	{ .name = "register", .run = test_register },
	{ .name = "threads", .run = test_threads },
};

KTAP_MAIN(tests)
