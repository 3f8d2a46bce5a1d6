// SPDX-License-Identifier: GPL-2.0
/*
 * Sleepable programs. The verifier allows them on functions that are in an error injection
 * list, which Debian's kernels do not have. Since 6.3 it also allows them on a set of
 * modifiable functions marked sleepable: the test module registers such a set.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/types.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include "../../kmod/trampoline_test.h"
#include "fixture.h"
#include "sleepable.h"
#include "stuck_page.h"
#include "selftests/vm/func/sleepable.skel.h"

static struct sleepable *skel;
static int dev;

static void setup(void)
{
	dev = fixture_open(NULL);
	if (kernel_version() < 6003)
		ktap_skip("before 6.3 the verifier allows sleepable programs only on functions of "
			  "an error injection list, which this kernel is built without");
	skel = FIXTURE_LOAD(sleepable);
}

#define FD(prog) bpf_program__fd(skel->progs.prog)

/* A page of a file that is not mapped in: reading it sleeps. */
static uint64_t *paged_out(uint64_t value)
{
	static char path[] = "/tmp/paged_out.XXXXXX";
	uint64_t words[512];
	void *page;
	int fd, i;

	for (i = 0; i < 512; i++)
		words[i] = value;
	strcpy(path + sizeof(path) - 7, "XXXXXX");
	fd = mkstemp(path);
	REQUIRE(fd >= 0, "%s: %s", path, strerror(errno));
	REQUIRE(write(fd, words, sizeof(words)) == sizeof(words), "write: %s", strerror(errno));
	page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);
	REQUIRE(page != MAP_FAILED, "mmap: %s", strerror(errno));
	close(fd);
	unlink(path);
	return page;
}

static void copies(enum how how)
{
	struct attachment a = attach_func(how, FD(sleep_entry), NULL);
	struct attachment b = attach_func(how, FD(sleep_mod), NULL);
	struct attachment c = attach_func(how, FD(sleep_exit), NULL);
	struct tt_reply r;
	uint64_t *page = paged_out(0x1122334455667788ULL);
	int result = (int)TT_MIX(TT_MIX(0ULL, 3), (unsigned long)page);

	memset(skel->bss, 0, sizeof(*skel->bss));
	r = tt_call(dev, "tt_sleepable 3 %lu", (unsigned long)page);
	CHECK_EQ((int)r.result, result, "result");
	CHECK_EQ(r.ran, 1, "the function");
	CHECK_EQ(skel->bss->on_entry.runs, 1, "entry");
	CHECK_EQ(skel->bss->on_entry.err, 0, "bpf_copy_from_user() at entry");
	CHECK_EQ(skel->bss->on_entry.value, 0x1122334455667788ULL, "at entry");
	CHECK_EQ(skel->bss->on_mod.err, 0, "bpf_copy_from_user() in fmod_ret");
	CHECK_EQ(skel->bss->on_mod.value, 0x1122334455667788ULL, "in fmod_ret");
	CHECK_EQ(skel->bss->on_exit.err, 0, "bpf_copy_from_user() at exit");
	CHECK_EQ(skel->bss->on_exit.value, 0x1122334455667788ULL, "at exit");
	CHECK_EQ((int)skel->bss->exit_ret, result, "result at exit");

	skel->bss->mod_result = -77;
	r = tt_call(dev, "tt_sleepable 3 %lu", (unsigned long)page);
	CHECK_EQ((int)r.result, -77, "modified result");
	CHECK_EQ(r.ran, 0, "the function is skipped");
	CHECK_EQ((int)skel->bss->exit_ret, -77, "result at exit");
	/* An address nothing is mapped at: the program gets an error, no more. */
	r = tt_call(dev, "tt_sleepable 3 0x1000");
	CHECK_EQ(skel->bss->on_entry.err, -EFAULT, "bpf_copy_from_user() of nothing");
	if (a.how == OURS)
		CHECK_EQ(attachment_query(&a).sleepable, 1, "QUERY");
	detach(&a);
	detach(&b);
	detach(&c);
	munmap(page, 4096);
}

static void test_copy_from_user(void)
{
	setup();
	copies(OURS);
	copies(KERNEL);
}

/* Beside programs that may not sleep, attached before and after. */
static void test_beside_plain(void)
{
	struct attachment a, b, c;
	uint64_t *page;

	setup();
	page = paged_out(5);
	a = attach_func(OURS, FD(plain_entry), NULL);
	b = attach_func(OURS, FD(sleep_entry), NULL);
	c = attach_func(OURS, FD(sleep_exit), NULL);
	tt_call(dev, "tt_sleepable n=50 3 %lu", (unsigned long)page);
	CHECK_EQ(skel->bss->plain_runs, 50, "plain program");
	CHECK_EQ(skel->bss->on_entry.runs, 50, "sleepable entry program");
	CHECK_EQ(skel->bss->on_exit.runs, 50, "sleepable exit program");
	detach(&a);
	tt_call(dev, "tt_sleepable n=50 3 %lu", (unsigned long)page);
	CHECK_EQ(skel->bss->plain_runs, 50, "plain program");
	CHECK_EQ(skel->bss->on_entry.runs, 100, "sleepable entry program");
	detach(&b);
	detach(&c);
}

static struct attachment refused_beside(const char *what, int prog)
{
	struct attachment a = attach_func_try(OURS, prog, NULL);

	CHECK(a.err == -EBUSY && a.reply.refusal.reason == TRAMP_REASON_SITE_HELD,
	      "a %s one: %s (%s)", what, strerror(-a.err),
	      tramp_reason_name(a.reply.refusal.reason));
	return a;
}

/* Beside the kernel's: a callback of ftrace's cannot run what may sleep, as all may on -rt. */
static void test_beside_kernel(void)
{
	struct attachment holder, a, b;
	bool rt = kernel_is_rt();
	int plain;

	if (vmtest_oracle())
		ktap_skip("about our refusals");
	setup();
	holder = attach_func(KERNEL, FD(plain_entry), NULL);
	plain = prog_clone(skel->progs.plain_entry, "tt_sleepable", BPF_TRACE_FENTRY);
	a = rt ? refused_beside("plain", plain) : attach_func(OURS, plain, NULL);
	if (!rt)
		attachment_expect(&a, TRAMP_MODE_FTRACE_OPS, 0, "beside it");
	b = refused_beside("sleepable", FD(sleep_entry));
	if (!rt)
		CHECK_EQ(bpf_link_update(a.fd, FD(sleep_entry), NULL), -EBUSY, "update to it");
	skel->bss->plain_runs = 0;
	tt_call(dev, "tt_sleepable n=50 3 0");
	CHECK_EQ(skel->bss->plain_runs, rt ? 50 : 100, "the plain ones");
	detach(&b);
	detach(&a);
	detach(&holder);
}

/* ------------------------------- asleep inside a program while it is detached --- */

static void *call_it(void *page)
{
	int own = tt_open();
	static struct tt_reply r;

	r = tt_call(own, "tt_sleepable 3 %lu", (unsigned long)page);
	close(own);
	return &r;
}

/*
 * A task faults in bpf_copy_from_user(), on a page that only we can supply, and sleeps there
 * for as long as we like. The image it will return into has to stay.
 */
static void test_detached_asleep(void)
{
	static uint64_t words[512] = { 4242 };
	struct tt_reply *r;
	struct stuck_page stuck;
	struct attachment a, b;
	pthread_t thread;

	setup();
	stuck_page_make(&stuck);
	a = attach_func(OURS, FD(sleep_entry), NULL);
	b = attach_func(OURS, FD(sleep_exit), NULL);
	REQUIRE(!pthread_create(&thread, NULL, call_it, stuck.page), "thread");
	stuck_page_wait(&stuck);
	/* It sleeps in the entry program now. */
	detach(&a);
	detach(&b);
	sleep(2);
	if (!vmtest_oracle()) {
		struct tramp_info info = tramp_module();

		CHECK_EQ(info.links, 0, "links");
		CHECK(info.images, "the image a task sleeps in was freed");
		CHECK_EQ(module_unload("trampoline"), -EAGAIN, "unloading the module");
	}
	stuck_page_release(&stuck, words);
	pthread_join(thread, (void **)&r);
	CHECK_EQ(skel->bss->on_entry.value, 4242, "what the program read in the end");
	CHECK_EQ((int)r->result, (int)TT_MIX(TT_MIX(0ULL, 3), (unsigned long)stuck.page), "result");
	CHECK_EQ(r->ran, 1, "the function");
}

static const struct ktap_test tests[] = {
	{ "copy_from_user", test_copy_from_user, 60 },
	{ "beside_plain", test_beside_plain, 60 },
	{ "beside_kernel", test_beside_kernel, 60 },
	{ "detached_asleep", test_detached_asleep, 60 },
};

KTAP_MAIN(tests)
