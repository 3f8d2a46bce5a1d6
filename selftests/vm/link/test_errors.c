// SPDX-License-Identifier: GPL-2.0
/*
 * Bad requests by their form: sizes, tails, pointers, command numbers, values of members.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include "requests.h"
#include "selftests/vm/lib/errors.skel.h"

/* @result: of a good request */
static const struct {
	const char *name;
	unsigned int cmd;
	size_t size, min;
	int result;
} commands[] = {
	{ "INFO", TRAMP_IOC_INFO, sizeof(struct tramp_info), TRAMP_INFO_MIN_SIZE, 0 },
	{ "ATTACH", TRAMP_IOC_ATTACH, sizeof(struct tramp_attach), TRAMP_ATTACH_MIN_SIZE, 0 },
	{ "EXPLAIN", TRAMP_IOC_EXPLAIN, sizeof(struct tramp_explain), TRAMP_EXPLAIN_MIN_SIZE, 0 },
	{ "QUERY", TRAMP_IOC_QUERY, sizeof(struct tramp_query), TRAMP_QUERY_MIN_SIZE, -ENOENT },
	{ "EXPLAIN_CODE", TRAMP_IOC_EXPLAIN_CODE, sizeof(struct tramp_explain_code),
	  TRAMP_EXPLAIN_CODE_MIN_SIZE, 0 },
	{ "ATTACH_MULTI", TRAMP_IOC_ATTACH_MULTI, sizeof(struct tramp_attach_multi),
	  TRAMP_ATTACH_MULTI_MIN_SIZE, 0 },
	{ "ATTACH_BATCH", TRAMP_IOC_ATTACH_BATCH, sizeof(struct tramp_attach_batch),
	  TRAMP_ATTACH_BATCH_MIN_SIZE, 0 },
	{ "DETACH_BATCH", TRAMP_IOC_DETACH_BATCH, sizeof(struct tramp_detach_batch),
	  TRAMP_DETACH_BATCH_MIN_SIZE, -EBADF },
};

static void drop_link(union arg *a, unsigned int cmd)
{
	int fd = -1;

	if (cmd == TRAMP_IOC_ATTACH)
		fd = a->attach.link_fd;
	else if (cmd == TRAMP_IOC_ATTACH_MULTI)
		fd = a->multi.link_fd;
	else if (cmd == TRAMP_IOC_ATTACH_BATCH)
		fd = ((struct tramp_attach *)(uintptr_t)a->batch.items)->link_fd;
	if (fd > 0)
		close(fd);
}

/* ------------------------------------------------------- sizes and pointers --- */

static void test_sizes(void)
{
	char what[64];
	union arg a;
	size_t i;

	setup();
	for (i = 0; i < sizeof(commands) / sizeof(commands[0]); i++) {
		unsigned int cmd = commands[i].cmd;
		uint32_t small[] = { 0, 1, 4, 8, commands[i].min - 1 };
		size_t s;

		for (s = 0; s < sizeof(small) / sizeof(small[0]); s++) {
			good_request(&a, cmd);
			a.size = small[s];
			sprintf(what, "%s of size %u", commands[i].name, small[s]);
			expect(what, cmd, &a, -EINVAL, -1);
		}
		good_request(&a, cmd);
		a.size = commands[i].size + 8;
		a.bytes[commands[i].size + 3] = 1;
		sprintf(what, "%s with a tail", commands[i].name);
		expect(what, cmd, &a, -E2BIG, -1);

		good_request(&a, cmd);
		a.size = commands[i].size + 1;
		a.bytes[commands[i].size] = 0x80;
		sprintf(what, "%s with a tail of one byte", commands[i].name);
		expect(what, cmd, &a, -E2BIG, -1);

		good_request(&a, cmd);
		a.size = 0xffffffff;
		sprintf(what, "%s of 4 GB", commands[i].name);
		expect(what, cmd, &a, -E2BIG, -1);

		/* The struct as it was first published. */
		good_request(&a, cmd);
		a.size = commands[i].min;
		CHECK_EQ(call(cmd, &a), commands[i].result, "%s of the first size",
			 commands[i].name);
		drop_link(&a, cmd);

		/* A tail of zeroes is a longer struct of a newer caller. */
		good_request(&a, cmd);
		a.size = commands[i].size + 64;
		CHECK_EQ(call(cmd, &a), commands[i].result, "%s with a tail of zeroes",
			 commands[i].name);
		CHECK_EQ(a.size, commands[i].size + 64, "%s: size given back", commands[i].name);
		drop_link(&a, cmd);
	}
	ktap_note("%d cases", cases);
}

static void test_pointers(void)
{
	char what[64], *two, *read_only;
	union arg a;
	size_t i;

	setup();
	two = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	read_only = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	REQUIRE(two != MAP_FAILED && read_only != MAP_FAILED, "mmap: %s", strerror(errno));
	munmap(two + 4096, 4096);
	for (i = 0; i < sizeof(commands) / sizeof(commands[0]); i++) {
		unsigned int cmd = commands[i].cmd;
		void *bad[] = { NULL, (void *)8, (void *)0xffffffff81000000ULL,
				(void *)0x8000000000000000ULL, two + 4096, two + 4096 - 16 };
		size_t b;

		for (b = 0; b < sizeof(bad) / sizeof(bad[0]); b++) {
			struct state before;

			/* The last one begins well: its size can be read. */
			if (b == 5)
				*(uint32_t *)bad[b] = commands[i].size;
			before = state_now();
			cases++;
			sprintf(what, "%s at %p", commands[i].name, bad[b]);
			CHECK_EQ(call(cmd, bad[b]), -EFAULT, "%s", what);
			check_unchanged(&before, what);
		}
		/* It can be read, but the answer cannot be written. */
		good_request(&a, cmd);
		mprotect(read_only, 4096, PROT_READ | PROT_WRITE);
		memcpy(read_only, &a, 4096);
		mprotect(read_only, 4096, PROT_READ);
		if (!commands[i].result) {
			struct state before = state_now();

			cases++;
			sprintf(what, "%s in read-only memory", commands[i].name);
			CHECK_EQ(call(cmd, read_only), -EFAULT, "%s", what);
			check_unchanged(&before, what);
		}
	}
	/* Buffers that a struct points to. */
	good_request(&a, TRAMP_IOC_INFO);
	CHECK_EQ(call(TRAMP_IOC_INFO, &a), 0, "INFO");
	if (a.info.missing_len > 1) {
		a.info.missing = (uintptr_t)8;
		expect("INFO with a bad buffer", TRAMP_IOC_INFO, &a, -EFAULT, -1);
		a.info.missing = (uintptr_t)two;
		a.info.missing_len = 1;
		expect("INFO with a small buffer", TRAMP_IOC_INFO, &a, -EMSGSIZE, -1);
		CHECK(a.info.missing_len > 1, "the length needed is %u", a.info.missing_len);
	}
	ktap_note("%d cases", cases);
}

static void test_commands(void)
{
	unsigned int bad[] = { _IO(TRAMP_IOC_TYPE, 8), _IO(TRAMP_IOC_TYPE, 9),
			       _IO(TRAMP_IOC_TYPE, 0x7f), _IO(TRAMP_IOC_TYPE, 0xff),
			       _IO(TRAMP_IOC_TYPE + 1, 0), _IOWR(TRAMP_IOC_TYPE, 0, uint32_t),
			       _IOR(TRAMP_IOC_TYPE, 1, struct tramp_attach), 0, 0xffffffff,
			       /* TCGETS, of isatty() */ 0x5401 };
	char what[64], byte = 0;
	union arg a;
	size_t i;

	setup();
	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		good_request(&a, TRAMP_IOC_INFO);
		sprintf(what, "command %#x", bad[i]);
		expect(what, bad[i], &a, -ENOTTY, -1);
	}
	/* It is no file to read, write or map. */
	CHECK(read(tramp_device(), &byte, 1) < 0 && errno == EINVAL, "read(): errno %d", errno);
	CHECK(write(tramp_device(), &byte, 1) < 0 && errno == EINVAL, "write(): errno %d", errno);
	CHECK(mmap(NULL, 4096, PROT_READ, MAP_SHARED, tramp_device(), 0) == MAP_FAILED &&
	      errno == ENODEV, "mmap(): errno %d", errno);
	cases += 3;
	ktap_note("%d cases", cases);
}

/* ------------------------------------------------------------------ values --- */

static void flag_case(const char *name, unsigned int cmd, uint32_t flag, int reason)
{
	char what[64];
	union arg a;

	good_request(&a, cmd);
	/* In every command it is the second member. */
	((uint32_t *)&a)[1] |= flag;
	sprintf(what, "%s with flag %#x", name, flag);
	expect(what, cmd, &a, -EINVAL, reason);
}

/* Members of the commands about many things, and of EXPLAIN_CODE. */
static void test_values_many(void)
{
	struct tramp_attach *item;
	uint32_t bit;
	union arg a;

	setup();
	for (bit = 0; bit < 32; bit++) {
		if (bit > 0)
			flag_case("EXPLAIN_CODE", TRAMP_IOC_EXPLAIN_CODE, 1U << bit,
				  TRAMP_REASON_SYNTAX);
		if (bit > 2)
			flag_case("ATTACH_MULTI", TRAMP_IOC_ATTACH_MULTI, 1U << bit,
				  TRAMP_REASON_SYNTAX);
		flag_case("ATTACH_BATCH", TRAMP_IOC_ATTACH_BATCH, 1U << bit, TRAMP_REASON_SYNTAX);
		flag_case("DETACH_BATCH", TRAMP_IOC_DETACH_BATCH, 1U << bit, TRAMP_REASON_SYNTAX);
	}

	good_request(&a, TRAMP_IOC_EXPLAIN_CODE);
	a.code.symbol[0] = '\0';
	expect("EXPLAIN_CODE of nothing", TRAMP_IOC_EXPLAIN_CODE, &a, -EINVAL,
	       TRAMP_REASON_SYNTAX);
	good_request(&a, TRAMP_IOC_EXPLAIN_CODE);
	memset(a.code.symbol, 'x', sizeof(a.code.symbol));
	expect("EXPLAIN_CODE of a name without end", TRAMP_IOC_EXPLAIN_CODE, &a, -EINVAL,
	       TRAMP_REASON_SYNTAX);
	good_request(&a, TRAMP_IOC_EXPLAIN_CODE);
	memset(a.code.module, 'x', sizeof(a.code.module));
	expect("EXPLAIN_CODE in a module without end", TRAMP_IOC_EXPLAIN_CODE, &a, -EINVAL,
	       TRAMP_REASON_SYNTAX);

	good_request(&a, TRAMP_IOC_ATTACH_MULTI);
	a.multi.nr = TRAMP_MULTI_MAX + 1;
	expect("ATTACH_MULTI to too many", TRAMP_IOC_ATTACH_MULTI, &a, -EINVAL,
	       TRAMP_REASON_SYNTAX);

	good_request(&a, TRAMP_IOC_ATTACH_BATCH);
	a.batch.__reserved = 1;
	expect("ATTACH_BATCH with a reserved member", TRAMP_IOC_ATTACH_BATCH, &a, -EINVAL,
	       TRAMP_REASON_SYNTAX);
	good_request(&a, TRAMP_IOC_ATTACH_BATCH);
	a.batch.count = 0;
	expect("ATTACH_BATCH of nothing", TRAMP_IOC_ATTACH_BATCH, &a, -EINVAL,
	       TRAMP_REASON_SYNTAX);
	good_request(&a, TRAMP_IOC_ATTACH_BATCH);
	a.batch.count = TRAMP_MAX_BATCH + 1;
	expect("ATTACH_BATCH of too many", TRAMP_IOC_ATTACH_BATCH, &a, -EINVAL,
	       TRAMP_REASON_SYNTAX);
	good_request(&a, TRAMP_IOC_ATTACH_BATCH);
	a.batch.item_size = TRAMP_ATTACH_MIN_SIZE - 1;
	expect("ATTACH_BATCH of small items", TRAMP_IOC_ATTACH_BATCH, &a, -EINVAL,
	       TRAMP_REASON_SYNTAX);
	good_request(&a, TRAMP_IOC_ATTACH_BATCH);
	item = (struct tramp_attach *)(uintptr_t)a.batch.items;
	item->size--;
	expect("ATTACH_BATCH of an item of another size", TRAMP_IOC_ATTACH_BATCH, &a, -EINVAL,
	       TRAMP_REASON_SYNTAX);
	good_request(&a, TRAMP_IOC_ATTACH_BATCH);
	item->flags = 1U << 31;
	expect("ATTACH_BATCH of an item with a flag", TRAMP_IOC_ATTACH_BATCH, &a, -EINVAL,
	       TRAMP_REASON_SYNTAX);

	good_request(&a, TRAMP_IOC_DETACH_BATCH);
	a.going.count = 0;
	expect("DETACH_BATCH of nothing", TRAMP_IOC_DETACH_BATCH, &a, -EINVAL,
	       TRAMP_REASON_SYNTAX);
	good_request(&a, TRAMP_IOC_DETACH_BATCH);
	a.going.count = TRAMP_MAX_BATCH + 1;
	expect("DETACH_BATCH of too many", TRAMP_IOC_DETACH_BATCH, &a, -EINVAL,
	       TRAMP_REASON_SYNTAX);
	ktap_note("%d cases", cases);
}

static void test_values(void)
{
	uint32_t bit, link_id;
	struct attachment k;
	char what[64];
	union arg a;

	setup();
	for (bit = 5; bit < 32; bit += 3) {
		good_request(&a, TRAMP_IOC_ATTACH);
		a.attach.flags = 1U << bit;
		sprintf(what, "ATTACH with flag %#x", 1U << bit);
		expect(what, TRAMP_IOC_ATTACH, &a, -EINVAL, TRAMP_REASON_SYNTAX);
	}
	good_request(&a, TRAMP_IOC_ATTACH);
	a.attach.__reserved = 1;
	expect("ATTACH with a reserved member", TRAMP_IOC_ATTACH, &a, -EINVAL,
	       TRAMP_REASON_SYNTAX);
	good_request(&a, TRAMP_IOC_ATTACH);
	a.attach.__reserved3 = 1;
	expect("ATTACH with a reserved member at the end", TRAMP_IOC_ATTACH, &a, -EINVAL,
	       TRAMP_REASON_SYNTAX);
	good_request(&a, TRAMP_IOC_ATTACH);
	a.attach.maxactive = 1;
	expect("ATTACH with maxactive but no flag", TRAMP_IOC_ATTACH, &a, -EINVAL,
	       TRAMP_REASON_SYNTAX);
	good_request(&a, TRAMP_IOC_ATTACH);
	a.attach.flags = TRAMP_ATTACH_F_RETURN;
	expect("ATTACH of a tracing program to a return", TRAMP_IOC_ATTACH, &a, -EINVAL,
	       TRAMP_REASON_PROG_TYPE);
	good_request(&a, TRAMP_IOC_ATTACH);
	a.attach.cookie = 1;
	expect("ATTACH with a cookie but no flag", TRAMP_IOC_ATTACH, &a, -EINVAL,
	       TRAMP_REASON_SYNTAX);

	good_request(&a, TRAMP_IOC_INFO);
	a.info.flags = 1;
	expect("INFO with a flag", TRAMP_IOC_INFO, &a, -EINVAL, -1);

	good_request(&a, TRAMP_IOC_EXPLAIN);
	a.explain.flags = 1;
	expect("EXPLAIN with a flag", TRAMP_IOC_EXPLAIN, &a, -EINVAL, TRAMP_REASON_SYNTAX);
	good_request(&a, TRAMP_IOC_EXPLAIN);
	a.explain.name[0] = '\0';
	expect("EXPLAIN of nothing", TRAMP_IOC_EXPLAIN, &a, -EINVAL, TRAMP_REASON_SYNTAX);
	good_request(&a, TRAMP_IOC_EXPLAIN);
	memset(a.explain.name, 'x', sizeof(a.explain.name));
	expect("EXPLAIN of a name without end", TRAMP_IOC_EXPLAIN, &a, -EINVAL,
	       TRAMP_REASON_SYNTAX);
	good_request(&a, TRAMP_IOC_EXPLAIN);
	memset(a.explain.module, 'x', sizeof(a.explain.module));
	expect("EXPLAIN in a module without end", TRAMP_IOC_EXPLAIN, &a, -EINVAL,
	       TRAMP_REASON_SYNTAX);
	good_request(&a, TRAMP_IOC_EXPLAIN);
	a.explain.btf_obj_id = func_btf("bpf_fentry_test2").obj_id;
	expect("EXPLAIN with an object but no type", TRAMP_IOC_EXPLAIN, &a, -EINVAL,
	       TRAMP_REASON_SYNTAX);
	good_request(&a, TRAMP_IOC_EXPLAIN);
	a.explain.btf_id = 5;
	expect("EXPLAIN with a type but no object", TRAMP_IOC_EXPLAIN, &a, -EINVAL,
	       TRAMP_REASON_SYNTAX);

	good_request(&a, TRAMP_IOC_QUERY);
	a.query.flags = 2;
	expect("QUERY with an unknown flag", TRAMP_IOC_QUERY, &a, -EINVAL, TRAMP_REASON_SYNTAX);
	good_request(&a, TRAMP_IOC_QUERY);
	a.query.flags = 0;
	expect("QUERY of link 0", TRAMP_IOC_QUERY, &a, -ENOENT, TRAMP_REASON_LINK_GONE);
	good_request(&a, TRAMP_IOC_QUERY);
	a.query.flags = 0;
	a.query.link_id = 0x7ffffff0;
	expect("QUERY of a link that is not", TRAMP_IOC_QUERY, &a, -ENOENT,
	       TRAMP_REASON_LINK_GONE);
	good_request(&a, TRAMP_IOC_QUERY);
	a.query.link_id = 0xffffffff;
	expect("QUERY behind the last id", TRAMP_IOC_QUERY, &a, -ENOENT, TRAMP_REASON_LINK_GONE);

	/* A link of the kernel's own is not ours. */
	k = attach_func(KERNEL, FD(good_exit), NULL);
	{
		struct bpf_link_info info = {};
		uint32_t len = sizeof(info);

		REQUIRE(!bpf_obj_get_info_by_fd(k.fd, &info, &len), "%s", strerror(errno));
		link_id = info.id;
	}
	good_request(&a, TRAMP_IOC_QUERY);
	a.query.flags = 0;
	a.query.link_id = link_id;
	expect("QUERY of the kernel's link", TRAMP_IOC_QUERY, &a, -ENOENT,
	       TRAMP_REASON_LINK_GONE);
	detach(&k);
	ktap_note("%d cases", cases);
}

static const struct ktap_test tests[] = {
	/* The first EXPLAIN_CODE reads all text. */
	{ "sizes", test_sizes, 120 },
	{ "pointers", test_pointers, 120 },
	{ "commands", test_commands, 60 },
	{ "values", test_values, 60 },
	{ "values_many", test_values_many, 120 },
};

KTAP_MAIN(tests)
