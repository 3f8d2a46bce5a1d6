// SPDX-License-Identifier: GPL-2.0
/*
 * Questions: the library makes of the module's answers what its callers get. And it says what is
 * wrong, if it cannot ask or does not understand them.
 */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>

#include <trampoline/module.h>

#include "answers.h"

/* ------------------------------------------------------------- the device -- */

static void test_no_way_in(void)
{
	static const struct {
		int errno_, err, reason;
	} all[] = {
		{ EACCES, -EPERM, TRAMP_REASON_PERMISSION },
		{ ENXIO, -ENODEV, TRAMP_LIB_NO_DEVICE },
		{ ENODEV, -ENODEV, TRAMP_LIB_NO_DEVICE },
		{ EMFILE, -EMFILE, TRAMP_LIB_SYSTEM },
	};
	TRAMP_OPTS(tramp_explanation, ex);
	size_t i;

	answers_begin(NULL);
	for (i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		answers.open_fails = all[i].errno_;
		CHECK_EQ(tramp_explain_btf(1, 2, &ex), all[i].err, "%zu", i);
		CHECK_ERROR(all[i].err, all[i].reason);
	}
	answers.open_fails = ENOENT;
	CHECK_EQ(tramp_explain_btf(1, 2, &ex), -ENODEV, "no module");
	CHECK_ERROR(-ENODEV, TRAMP_LIB_NO_DEVICE);
	answers.loaded = true;
	CHECK_EQ(tramp_explain_btf(1, 2, &ex), -ENODEV, "no node");
	CHECK_ERROR(-ENODEV, TRAMP_LIB_NO_NODE);
	CHECK_EQ(answers.nr_commands, 0, "commands");
}

/* Opening asks for capabilities, which root may lack. It is never lockdown that refuses. */
static void test_lockdown(void)
{
	TRAMP_OPTS(tramp_explanation, ex);

	answers_begin(NULL);
	answers.open_fails = EPERM;
	CHECK_EQ(tramp_explain_btf(1, 2, &ex), -EPERM, "a kernel without lockdown");
	CHECK_ERROR(-EPERM, TRAMP_REASON_PERMISSION);
	answers.lockdown = "none [integrity] confidentiality\n";
	CHECK_EQ(tramp_explain_btf(1, 2, &ex), -EPERM, "integrity");
	CHECK_ERROR(-EPERM, TRAMP_REASON_PERMISSION);
	answers.lockdown = "none integrity [confidentiality]\n";
	CHECK_EQ(tramp_explain_btf(1, 2, &ex), -EPERM, "confidentiality");
	CHECK_ERROR(-EPERM, TRAMP_REASON_PERMISSION);
	answers.no_root = true;
	CHECK_EQ(tramp_explain_btf(1, 2, &ex), -EPERM, "somebody else");
	CHECK_ERROR(-EPERM, TRAMP_REASON_PERMISSION);
}

static void test_other_version(void)
{
	TRAMP_OPTS(tramp_explanation, ex);
	TRAMP_OPTS(tramp_module_info, mine);

	answers_begin(NULL);
	answers.info.abi_version++;
	answers.info.links = 5;
	CHECK_EQ(tramp_explain_btf(1, 2, &ex), -EPROTO, "another version");
	CHECK_ERROR(-EPROTO, TRAMP_LIB_ABI_MISMATCH);
	CHECK_EQ(answers.nr_commands, 1, "no command but INFO");
	CHECK_CLOSED();
	/* The caller learns which, as far as both know the struct. */
	CHECK_EQ(tramp_info(&mine), -EPROTO, "another version");
	CHECK_EQ(mine.abi_version, TRAMP_ABI_VERSION + 1, "which");
	CHECK_EQ(mine.links, 5, "the rest");
	CHECK_CLOSED();
}

/* How often EXPLAIN is interrupted, by @signals each time, and how it ends then. */
static const int signals[] = { SIGUSR1, SIGUSR2, 0 };
static int interrupts, explain_ends;
static volatile sig_atomic_t handled[NSIG];
/* Signals that are blocked in the first try, and in the last. */
static sigset_t blocked_first, blocked_last;

static void on_signal(int sig)
{
	handled[sig]++;
}

static void on_signal_info(int sig, siginfo_t *info, void *ctx)
{
	(void)info, (void)ctx;
	handled[sig]++;
}

static void blocked_now(sigset_t *set)
{
	REQUIRE(!pthread_sigmask(SIG_BLOCK, NULL, set), "pthread_sigmask");
}

static int answer_interrupted(unsigned long cmd, void *arg)
{
	const struct tramp_explain *e = arg;
	size_t i;

	CHECK_EQ(cmd, TRAMP_IOC_EXPLAIN, "command");
	CHECK(e->btf_obj_id == 1 && e->btf_id == 2, "the same question");
	blocked_now(answers.nr_commands == 2 ? &blocked_first : &blocked_last);
	if (!interrupts)
		return explain_ends;
	interrupts--;
	for (i = 0; signals[i]; i++)
		raise(signals[i]);
	return -EINTR;
}

static void handle(int sig, void (*plain)(int sig), void (*info)(int, siginfo_t *, void *))
{
	struct sigaction sa = { .sa_handler = plain };

	if (info) {
		sa.sa_sigaction = info;
		sa.sa_flags = SA_SIGINFO;
	}
	REQUIRE(!sigaction(sig, &sa, NULL), "signal %d", sig);
}

/*
 * A signal ends a wait of the module's before it has done anything, and others may come in each
 * further try. Handlers of the caller's wait until the command is done. Signals without one do as
 * ever, so the process can be ended.
 */
static void test_interrupted(void)
{
	TRAMP_OPTS(tramp_explanation, ex);
	sigset_t before, after, own;
	int sig;

	answers_begin(answer_interrupted);
	handle(SIGUSR1, on_signal, NULL);
	handle(SIGUSR2, NULL, on_signal_info);
	handle(SIGRTMAX, on_signal, NULL);
	handle(SIGHUP, SIG_IGN, NULL);
	handle(SIGTERM, SIG_DFL, NULL);
	sigemptyset(&own);
	sigaddset(&own, SIGALRM);
	REQUIRE(!pthread_sigmask(SIG_BLOCK, &own, NULL), "pthread_sigmask");
	blocked_now(&before);

	CHECK_EQ(tramp_explain_btf(1, 2, &ex), 0, "no signal");
	CHECK_EQ(answers.nr_commands, 2, "INFO and one try");

	answers.nr_commands = 0;
	interrupts = 3;
	CHECK_EQ(tramp_explain_btf(1, 2, &ex), 0, "%s", tramp_last_error()->message);
	CHECK_EQ(answers.nr_commands, 5, "INFO and four tries");
	blocked_now(&after);
	for (sig = 1; sig < NSIG; sig++) {
		CHECK_EQ(sigismember(&blocked_first, sig), sigismember(&before, sig),
			 "signal %d in the first try", sig);
		CHECK_EQ(sigismember(&after, sig), sigismember(&before, sig), "signal %d after it",
			 sig);
	}
	CHECK(sigismember(&blocked_last, SIGUSR1), "a handler");
	CHECK(sigismember(&blocked_last, SIGUSR2), "one with siginfo");
	CHECK(sigismember(&blocked_last, SIGRTMAX), "the last signal");
	CHECK(sigismember(&blocked_last, SIGALRM), "the caller's own");
	CHECK(!sigismember(&blocked_last, SIGHUP), "an ignored one");
	CHECK(!sigismember(&blocked_last, SIGTERM), "one that ends the process");
	CHECK(!sigismember(&blocked_last, SIGINT), "one that nobody has touched");
	/* One in the first try, and those that came later as one. */
	CHECK_EQ(handled[SIGUSR1], 2, "it is not lost");
	CHECK_EQ(handled[SIGUSR2], 2, "it is not lost");

	/* Another error ends it as well. */
	interrupts = 2;
	explain_ends = -EIO;
	CHECK_EQ(tramp_explain_btf(1, 2, &ex), -EIO, "refused");
	CHECK_ERROR(-EIO, TRAMP_LIB_SYSTEM);
	blocked_now(&after);
	CHECK(!sigismember(&after, SIGUSR1), "signals stay blocked");
	CHECK_CLOSED();
}

/* --------------------------------------------------------------- INFO -- */

static void test_info(void)
{
	TRAMP_OPTS(tramp_module_info, mine);
	char many[3000];
	size_t i;

	answers_begin(NULL);
	answers.info.max_progs = 2;
	answers.info.features = 1ULL << 40 | 1;
	answers.info.image_bytes = 1ULL << 33;
	answers.info.grace_periods = 7;
	memset(answers.info.version, 'v', sizeof(answers.info.version));
	CHECK_EQ(tramp_info(&mine), 0, "info");
	CHECK_EQ(mine.max_progs, 2, "programs");
	CHECK_EQ(mine.features, 1ULL << 40 | 1, "features");
	CHECK_EQ(mine.image_bytes, 1ULL << 33, "bytes");
	CHECK_EQ(mine.grace_periods, 7, "the last");
	CHECK_EQ(strlen(mine.version), sizeof(mine.version) - 1, "it ends");
	CHECK(!mine.missing[0], "nothing is missing");

	answers.info.symbols_missing = 2;
	answers.missing = "one\ntwo";
	CHECK_EQ(tramp_info(&mine), 0, "info");
	CHECK(!strcmp(mine.missing, answers.missing), "%s", mine.missing);

	/* Names of four letters and a newline: the last that fits is whole. */
	for (i = 0; i + 5 < sizeof(many); i += 5)
		memcpy(many + i, "abcd\n", 5);
	many[i] = '\0';
	answers.missing = many;
	CHECK_EQ(tramp_info(&mine), 0, "info");
	CHECK_EQ(strlen(mine.missing) % 5, 4, "whole names in %zu", strlen(mine.missing));
	CHECK(strlen(mine.missing) > sizeof(mine.missing) - 7, "as many as fit");

	answers.missing_fails = -EFAULT;
	memset(mine.missing, 0, sizeof(mine.missing));
	CHECK_EQ(tramp_info(&mine), 0, "the rest is known");
	CHECK(!mine.missing[0], "no names");
	CHECK_CLOSED();
}

/* -------------------------------------------------------------- QUERY -- */

/* Links 1 to NR_LINKS. Link 3 is detached. One that fails, and one with a long image. */
#define NR_LINKS	6
static uint32_t fails_at, image_size, grows;
/* The last link; with @coming each question adds one. Those of @late are there from then on. */
static uint32_t last_link = NR_LINKS, late, late_after;
static bool coming;
static int query_fails;

static int answer_query(unsigned long cmd, void *arg)
{
	struct tramp_query *q = arg;

	CHECK_EQ(cmd, TRAMP_IOC_QUERY, "command");
	last_link += coming;
	if (late_after && !--late_after)
		late = 0;
	if (q->flags & TRAMP_QUERY_F_NEXT)
		q->link_id++;
	while (q->link_id < 32 && late & 1U << q->link_id)
		q->link_id++;
	if (q->link_id > last_link)
		return -ENOENT;
	if (q->link_id == fails_at) {
		q->refusal.reason = TRAMP_REASON_HIDDEN_ADDRESS;
		return query_fails;
	}
	q->mode = q->link_id == 3 ? TRAMP_MODE_NONE : TRAMP_MODE_DIRECT;
	q->hits = 1000 + q->link_id;
	q->nr_funcs = 9;
	memset(q->func_name, 'f', sizeof(q->func_name));
	if (q->mode == TRAMP_MODE_NONE)
		return 0;
	q->image_size = image_size;
	if (q->image && q->image_len < image_size) {
		q->image_len = image_size;
		/* Until the next attempt. */
		if (grows) {
			image_size += 100;
			grows--;
		}
		return -EMSGSIZE;
	}
	if (q->image)
		memset((void *)(uintptr_t)q->image, 0xcc, image_size);
	return 0;
}

static void test_link_info(void)
{
	TRAMP_OPTS(tramp_link_info, mine);

	answers_begin(answer_query);
	CHECK_EQ(tramp_link_info_by_id(2, &mine), 0, "info");
	CHECK_EQ(mine.link_id, 2, "id");
	CHECK_EQ(mine.hits, 1002, "hits");
	CHECK_EQ(mine.nr_funcs, 9, "the last");
	CHECK_EQ(strlen(mine.func_name), sizeof(mine.func_name) - 1, "it ends");
	CHECK_EQ(tramp_link_info_by_id(NR_LINKS + 1, &mine), -ENOENT, "no such link");
	CHECK_ERROR(-ENOENT, TRAMP_REASON_LINK_GONE);
	fails_at = 2;
	query_fails = -EPERM;
	CHECK_EQ(tramp_link_info_by_id(2, &mine), -EPERM, "refused");
	CHECK_ERROR(-EPERM, TRAMP_REASON_HIDDEN_ADDRESS);
	CHECK_CLOSED();
}

static uint32_t seen;
static uint32_t stop_at;

static int see(const struct tramp_link_info *link, void *ctx)
{
	CHECK(ctx == &seen, "context");
	seen |= link->link_id < 32 ? 1U << link->link_id : 0;
	return link->link_id == stop_at ? 77 : 0;
}

static int never(const struct tramp_link_info *link, void *ctx)
{
	(void)ctx;
	CHECK(false, "link %u", link->link_id);
	return 0;
}

static void test_for_each(void)
{
	answers_begin(answer_query);
	CHECK_EQ(tramp_for_each(see, &seen), 0, "walk");
	CHECK_EQ(seen, 0x7e, "all, the detached one too");
	last_link = 0;
	CHECK_EQ(tramp_for_each(never, NULL), 0, "there is none");
	last_link = NR_LINKS;
	stop_at = 2;
	seen = 0;
	CHECK_EQ(tramp_for_each(see, &seen), 77, "the callback ends it");
	CHECK_EQ(seen, 0x6, "two");
	fails_at = 2;
	query_fails = -EPERM;
	CHECK_EQ(tramp_for_each(see, &seen), -EPERM, "refused");
	CHECK_ERROR(-EPERM, TRAMP_REASON_HIDDEN_ADDRESS);
	/* The walk asks for the end first, and that fails at this one. */
	fails_at = NR_LINKS;
	CHECK_EQ(tramp_for_each(never, NULL), -EPERM, "refused before the first");
	CHECK_ERROR(-EPERM, TRAMP_REASON_HIDDEN_ADDRESS);
	CHECK(last_error_says("list of links: "), "all of them");
	/* The end is no error. */
	tramp_clear_error();
	fails_at = stop_at = 0;
	CHECK_EQ(tramp_for_each(see, &seen), 0, "walk");
	CHECK_EQ(tramp_last_error()->err, 0, "%s", tramp_last_error()->message);
	CHECK_CLOSED();
}

/* Others attach: those that were there in the beginning are seen, and there is an end. */
static void test_others_attach(void)
{
	answers_begin(answer_query);
	/* Ids 1, 2, 4 and 5 were reserved first, and their links are there once we have begun. */
	answers.info.links = 1;
	late = 0x36;
	late_after = 2;
	CHECK_EQ(tramp_for_each(see, &seen), 0, "walk");
	CHECK_EQ(seen, 0x7e, "all");
	/* Only when the walk is under way. */
	late = 0x36;
	late_after = 36;
	seen = 0;
	CHECK_EQ(tramp_for_each(see, &seen), 0, "walk");
	CHECK(seen & 1U << NR_LINKS && seen & 1U << 3, "0x%x", seen);
	/* Without an end the walk would go on for ever. */
	coming = true;
	seen = 0;
	CHECK_EQ(tramp_for_each(see, &seen), 0, "walk");
	CHECK_EQ(seen & 0x7e, 0x7e, "0x%x", seen);
	CHECK_CLOSED();
}

static void test_image(void)
{
	TRAMP_OPTS(tramp_link_info, mine);
	uint8_t *image;
	uint32_t i;

	answers_begin(answer_query);
	image_size = 5000;
	grows = 2;
	image = tramp_link_image(1, &mine);
	REQUIRE(image, "%s", tramp_last_error()->message);
	CHECK_EQ(mine.image_size, 5200, "of the moment of the code");
	for (i = 0; i < mine.image_size; i++)
		CHECK_EQ(image[i], 0xcc, "byte %u", i);
	free(image);
	CHECK(!tramp_link_image(3, &mine), "detached");
	CHECK_ERROR(-ENOENT, TRAMP_REASON_LINK_GONE);
	image_size = 0;
	CHECK(!tramp_link_image(1, &mine), "without an image");
	CHECK_ERROR(-ENOENT, TRAMP_LIB_NO_IMAGE);
	CHECK(last_error_says("mode direct"), "which");
	fails_at = 1;
	query_fails = -EPERM;
	CHECK(!tramp_link_image(1, &mine), "hidden");
	CHECK_ERROR(-EPERM, TRAMP_REASON_HIDDEN_ADDRESS);
	CHECK_CLOSED();
}

/* ------------------------------------------------------------ EXPLAIN -- */

static int answer_explain(unsigned long cmd, void *arg)
{
	struct tramp_explain *e = arg;

	CHECK_EQ(cmd, TRAMP_IOC_EXPLAIN, "command");
	if (e->btf_id == 99) {
		e->refusal.reason = TRAMP_REASON_NO_BTF;
		return -ENOENT;
	}
	e->can = TRAMP_CAN_FENTRY;
	e->fexit_reason = TRAMP_REASON_SITE_HELD;
	e->nr_args = 3;
	e->key = 1ULL << 40;
	memset(e->name, 'n', sizeof(e->name));
	memset(e->holder, 'h', sizeof(e->holder));
	return 0;
}

static void test_explain(void)
{
	TRAMP_OPTS(tramp_explanation, ex);

	answers_begin(answer_explain);
	CHECK_EQ(tramp_explain_btf(4, 5, &ex), 0, "explain");
	CHECK_EQ(ex.btf_obj_id, 4, "object");
	CHECK_EQ(ex.btf_id, 5, "type");
	CHECK_EQ(ex.can, TRAMP_CAN_FENTRY, "can");
	CHECK_EQ(ex.fexit_reason, TRAMP_REASON_SITE_HELD, "why not");
	CHECK_EQ(ex.key, 1ULL << 40, "key");
	CHECK_EQ(strlen(ex.name), sizeof(ex.name) - 1, "it ends");
	CHECK_EQ(strlen(ex.holder), sizeof(ex.holder) - 1, "it ends");
	answers.nr_commands = 0;
	CHECK_EQ(tramp_explain_btf(0, 5, &ex), -EINVAL, "no object");
	CHECK_EQ(tramp_explain_btf(4, 0, &ex), -EINVAL, "no type");
	CHECK_ERROR(-EINVAL, TRAMP_LIB_BAD_ARGUMENT);
	CHECK_EQ(answers.nr_commands, 0, "nobody is asked");
	CHECK_EQ(tramp_explain_btf(4, 99, &ex), -ENOENT, "refused");
	CHECK_ERROR(-ENOENT, TRAMP_REASON_NO_BTF);
	CHECK(tramp_last_error()->from_kernel, "it is");
	CHECK_CLOSED();
}

static const struct ktap_test tests[] = {
	{ .name = "no-way-in", .run = test_no_way_in },
	{ .name = "lockdown", .run = test_lockdown },
	{ .name = "other-version", .run = test_other_version },
	{ .name = "interrupted", .run = test_interrupted },
	{ .name = "info", .run = test_info },
	{ .name = "link-info", .run = test_link_info },
	{ .name = "for-each", .run = test_for_each },
	{ .name = "others-attach", .run = test_others_attach },
	{ .name = "image", .run = test_image },
	{ .name = "explain", .run = test_explain },
};

KTAP_MAIN(tests)
