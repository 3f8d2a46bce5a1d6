// SPDX-License-Identifier: GPL-2.0
/*
 * A request that waits for its caller's memory keeps memory of the kernel, for as long as the
 * caller likes. So it counts as memory of the caller's control group, whose limit holds for it.
 * When the request ends it is given back. A group above its limit has whoever takes memory wait for
 * seconds, so nobody else waits for him meanwhile.
 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "attachment.h"
#include "control_group.h"
#include "requests.h"
#include "stuck_page.h"
#include "selftests/vm/lib/errors.skel.h"
#include "selftests/vm/link/charges.skel.h"

#define GROUP	"accounting"
#define MANY	65536
/* Bytes of names. */
#define LEN	(2 << 20)
/* This process takes other memory meanwhile, for a thread as an example. */
#define SLACK	(128 << 10)

struct request {
	const char *what;
	unsigned int cmd;
	/* The page is not there yet. */
	void (*fill)(union arg *a, void *page);
	uint64_t least;		/* bytes that it keeps, if not more */
};

/* One of them that is made. */
static union arg arg;
static int result;

static void attach_batch(union arg *a, void *page)
{
	a->batch.items = (uintptr_t)page;
	a->batch.count = MANY;
}

static void detach_batch(union arg *a, void *page)
{
	a->going.fds = (uintptr_t)page;
	a->going.count = MANY;
}

static void addresses(union arg *a, void *page)
{
	a->multi.names = a->multi.names_len = 0;
	a->multi.addrs = (uintptr_t)page;
	a->multi.nr = MANY;
}

static void names(union arg *a, void *page)
{
	a->multi.names = (uintptr_t)page;
	a->multi.names_len = LEN;
	a->multi.nr = MANY;
}

static void cookies(union arg *a, void *page)
{
	static uint64_t addrs[MANY];

	addresses(a, addrs);
	a->multi.cookies = (uintptr_t)page;
}

/*
 * A label that is the kernel's last symbol in front of a gap of a MiB: the gap is read as its
 * function.
 */
#define LONG	"__entry_text_end"

static void code(union arg *a, void *page)
{
	strcpy(a->code.symbol, LONG);
	a->code.code = (uintptr_t)page;
	a->code.code_len = UINT32_MAX;
}

static uint64_t kernel_bytes(void)
{
	return control_group_number(GROUP, "memory.stat", "kernel ");
}

static void *make_request(void *request)
{
	const struct request *r = request;

	result = call(r->cmd, &arg);
	return NULL;
}

static void expect_counted(const struct request *r)
{
	uint64_t before, during, after;
	struct stuck_page stuck;
	pthread_t thread;
	int i;

	stuck_page_make(&stuck);
	good_request(&arg, r->cmd);
	r->fill(&arg, stuck.page);
	before = kernel_bytes();
	REQUIRE(!pthread_create(&thread, NULL, make_request, (void *)r), "thread");
	stuck_page_wait(&stuck);
	during = kernel_bytes();
	stuck_page_release(&stuck, NULL);
	pthread_join(thread, NULL);
	close(stuck.fd);
	CHECK(result, "%s: a request of zeroes comes through", r->what);
	/* Memory of vmalloc() goes later. */
	for (i = 0; (after = kernel_bytes()) > before + SLACK && i < 100; i++)
		usleep(50000);
	ktap_note("%s: %lu KiB of the kernel, %lu KiB while it waits, %lu KiB afterwards", r->what,
		  before >> 10, during >> 10, after >> 10);
	CHECK(during >= before + r->least, "%s: %lu bytes, not %lu", r->what, during - before,
	      r->least);
	CHECK(after <= before + SLACK, "%s: %lu bytes stay", r->what, after - before);
}

static void test_waiting(void)
{
	static const struct request requests[] = {
		{ "ATTACH_BATCH", TRAMP_IOC_ATTACH_BATCH, attach_batch, MANY * 40 },
		{ "DETACH_BATCH", TRAMP_IOC_DETACH_BATCH, detach_batch, MANY * 8 },
		{ "ATTACH_MULTI by address", TRAMP_IOC_ATTACH_MULTI, addresses, MANY * 16 },
		{ "ATTACH_MULTI by name", TRAMP_IOC_ATTACH_MULTI, names, LEN + MANY * (8 + 16) },
		{ "cookies of ATTACH_MULTI", TRAMP_IOC_ATTACH_MULTI, cookies, MANY * 16 },
		{ "EXPLAIN_CODE", TRAMP_IOC_EXPLAIN_CODE, code, 1 << 20 },
	};
	struct state before;
	size_t i;

	setup();
	control_group_make(GROUP);
	control_group_enter(GROUP);
	before = state_now();
	for (i = 0; i < sizeof(requests) / sizeof(requests[0]); i++)
		expect_counted(&requests[i]);
	check_unchanged(&before, "all of them");
	control_group_enter("");
	control_group_remove(GROUP);
}

/* EXPLAIN_CODE takes it without tramp_mutex. */
static void test_no_mutex(void)
{
	static uint8_t code[2 << 20];
	static struct tramp_insn_info insns[1024];
	struct charges *charges = charges__open();
	struct attachment at;

	setup();
	REQUIRE(charges && ksym_addr("tramp_mutex"), "tramp_mutex");
	charges->rodata->tramp_mutex = ksym_addr("tramp_mutex");
	charges->rodata->only_pid = getpid();
	REQUIRE(!charges__load(charges), "load");
	at = attach_insn(KERNEL, bpf_program__fd(charges->progs.on_charge),
			 ksym_addr("try_charge_memcg"), 0, 0);
	control_group_make(GROUP);
	control_group_enter(GROUP);
	good_request(&arg, TRAMP_IOC_EXPLAIN_CODE);
	strcpy(arg.code.symbol, LONG);
	arg.code.code = (uintptr_t)code;
	arg.code.code_len = sizeof(code);
	arg.code.insns = (uintptr_t)insns;
	arg.code.nr_insns = sizeof(insns) / sizeof(insns[0]);
	CHECK_EQ(call(TRAMP_IOC_EXPLAIN_CODE, &arg), 0, "EXPLAIN_CODE");
	CHECK(charges->bss->charges, "no charge was seen");
	CHECK_EQ(charges->bss->with_mutex, 0, "charges of EXPLAIN_CODE with tramp_mutex held");
	ktap_note("%lu charges", (unsigned long)charges->bss->charges);
	control_group_enter("");
	control_group_remove(GROUP);
	detach(&at);
	charges__destroy(charges);
}

static const struct ktap_test tests[] = {
	{ "waiting", test_waiting, 60 },
	{ "no_mutex", test_no_mutex, 60 },
};

KTAP_MAIN(tests)
