// SPDX-License-Identifier: GPL-2.0
/*
 * Questions must not do or tell some things. They do not use a file descriptor of the caller's,
 * and tell no addresses by the way. A prototype is not that of another function, and no
 * question takes long.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <linux/types.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <bpf/btf.h>
#include "fixture.h"
#include "ownmod.h"
#include "probe.h"
#include "requests.h"
#include "selftests/vm/lib/errors.skel.h"
#include "selftests/vm/lib/probe_progs.skel.h"

#define KPTR_RESTRICT	"/proc/sys/kernel/kptr_restrict"
#define LIST		"/sys/kernel/debug/trampoline/list"

static int explain_id(uint32_t obj_id, uint32_t id, union arg *a)
{
	good_request(a, TRAMP_IOC_EXPLAIN);
	a->explain.name[0] = '\0';
	a->explain.btf_obj_id = obj_id;
	a->explain.btf_id = id;
	return call(TRAMP_IOC_EXPLAIN, a);
}

/* --------------------------------------------------------- file descriptors --- */

static int lowest_free;
static atomic_bool stop;
static atomic_ulong taken, lost, rounds, found;

/* The lowest free number is always the same one, and nobody closes it but us. */
static void *watch_lowest(void *arg)
{
	(void)arg;
	while (!stop) {
		int fd = dup(0);

		taken += fd != lowest_free;
		lost += close(fd) != 0;
		rounds++;
	}
	return NULL;
}

static void *close_all(void *arg)
{
	(void)arg;
	while (!stop) {
		syscall(SYS_close_range, lowest_free, ~0U, 0);
		rounds++;
	}
	return NULL;
}

static void ask_beside(void *(*what)(void *arg), const struct func_btf *f)
{
	uint64_t end = now_ns() + 3000000000ull;
	pthread_t thread;
	union arg a;
	int failed = 0, asked = 0;

	stop = false;
	rounds = 0;
	REQUIRE(!pthread_create(&thread, NULL, what, NULL), "thread");
	for (; now_ns() < end; asked++)
		failed += !!explain_id(f->obj_id, f->id, &a);
	stop = true;
	pthread_join(thread, NULL);
	ktap_note("%d questions, %lu rounds", asked, rounds);
	CHECK(asked && rounds, "only one side was there");
	CHECK_EQ(failed, 0, "of %d questions: %s", asked,
		 tramp_reason_name(a.explain.refusal.reason));
}

static void test_no_descriptor(void)
{
	struct func_btf f;
	struct rlimit limit, all;
	union arg a;

	setup();
	f = func_btf("tt_hot0");
	REQUIRE(f.obj_id, "tt_hot0 is not in BTF");
	lowest_free = dup(0);
	close(lowest_free);
	ask_beside(watch_lowest, &f);
	CHECK_EQ(taken, 0, "another descriptor appeared");
	CHECK_EQ(lost, 0, "a descriptor was closed by another");
	ask_beside(close_all, &f);
	/* With as many files as are allowed. */
	REQUIRE(!getrlimit(RLIMIT_NOFILE, &all), "limit");
	limit = all;
	limit.rlim_cur = lowest_free;
	REQUIRE(!setrlimit(RLIMIT_NOFILE, &limit), "limit");
	CHECK(dup(0) < 0 && errno == EMFILE, "a descriptor is left");
	CHECK_EQ(explain_id(f.obj_id, f.id, &a), 0, "at the limit: %s",
		 tramp_reason_name(a.explain.refusal.reason));
	/* The fixture's last check opens files. */
	REQUIRE(!setrlimit(RLIMIT_NOFILE, &all), "limit");
}

/*
 * BTF objects that come and go while they are asked for. Every other module goes as soon as it
 * has come. The rest stay until a question has found them, so some questions do on any host.
 */
static void *load_unload(void *arg)
{
	unsigned long before;

	(void)arg;
	while (!stop) {
		/* It stays for as long as somebody asks about it. */
		if (module_unload("trampoline_test"))
			continue;
		before = found;
		rounds += !module_load(TT_KO);
		while (rounds % 2 && found == before && !stop)
			usleep(100);
	}
	return NULL;
}

static void test_btf_goes(void)
{
	uint64_t begun = now_ns();
	pthread_t thread;
	struct func_btf f;
	unsigned long asked = 0;
	uint32_t id;
	union arg a;
	int err;

	setup();
	/* Anew: tests may have come and gone since the module did, each with BTF objects. */
	err = ownmod_unload("trampoline_test", 300);
	REQUIRE(!err || err == -ENOENT, "unloading: %s", strerror(-err));
	close(tt_open());
	f = func_btf("tt_hot0");
	close(f.obj_fd);	/* it would stay */
	stop = false;
	rounds = 0;
	found = 0;
	REQUIRE(!pthread_create(&thread, NULL, load_unload, NULL), "thread");
	/* A busy host has few rounds. */
	while (now_ns() < begun + (found && rounds ? 5 : 30) * 1000000000ull) {
		/* Each module has the next number: it is near the last one that was found. */
		for (id = f.obj_id; id < f.obj_id + 64; id++, asked++) {
			err = explain_id(id, f.id, &a);
			if (!err) {
				found++;
				f.obj_id = id;
			}
			CHECK(!err || err == -ENOENT || err == -ENXIO, "%s", strerror(-err));
		}
	}
	stop = true;
	pthread_join(thread, NULL);
	ktap_note("%lu questions, %lu found, %lu modules", asked, found, rounds);
	/* Some when it was there, others when it was not. */
	CHECK(found && found < asked, "%lu of %lu questions found the function", found, asked);
	CHECK(rounds, "the module did not go and come");
}

/* ---------------------------------------------------------------- addresses --- */

/* One question about an address; everything it said, the address itself aside. */
static int ask_addr(unsigned int cmd, uint64_t addr, uint32_t flags, union arg *a)
{
	int err;

	good_request(a, cmd);
	if (cmd == TRAMP_IOC_EXPLAIN_CODE) {
		a->code.symbol[0] = '\0';
		a->code.addr = addr;
		a->code.flags = flags;
		err = call(cmd, a);
		CHECK_EQ(a->code.refusal.reason, TRAMP_REASON_HIDDEN_ADDRESS, "%s",
			 tramp_reason_name(a->code.refusal.reason));
		a->code.addr = 0;
	} else {
		a->attach.prog_fd = FD(of_kprobe);
		a->attach.addr = addr;
		a->attach.flags = flags;
		err = call(cmd, a);
		CHECK_EQ(a->attach.refusal.reason, TRAMP_REASON_HIDDEN_ADDRESS, "%s",
			 tramp_reason_name(a->attach.refusal.reason));
		if (!err)
			close(a->attach.link_fd);
		a->attach.addr = 0;
	}
	CHECK_EQ(err, -EPERM, "command %#x", cmd);
	return err;
}

/* Text, the middle of an instruction, data, nothing: all the same to who may not know. */
static void test_scan(void)
{
	uint64_t addrs[5];
	static const struct {
		unsigned int cmd;
		uint32_t flags;
	} asks[] = {
		{ TRAMP_IOC_EXPLAIN_CODE, 0 }, { TRAMP_IOC_EXPLAIN_CODE, TRAMP_CODE_F_ONE },
		{ TRAMP_IOC_ATTACH, 0 }, { TRAMP_IOC_ATTACH, TRAMP_ATTACH_F_NO_KPROBE },
	};
	static union arg first, now;
	size_t i, k;

	setup();
	addrs[0] = 0x1000;
	addrs[1] = ksym_addr("vfs_read");
	addrs[2] = addrs[1] + 1;
	addrs[3] = ksym_addr("_stext");
	addrs[4] = ksym_addr("jiffies");
	REQUIRE(!write_file(KPTR_RESTRICT, "2"), "kptr_restrict");
	for (i = 0; i < sizeof(asks) / sizeof(asks[0]); i++)
		for (k = 0; k < sizeof(addrs) / sizeof(addrs[0]); k++) {
			ask_addr(asks[i].cmd, addrs[k], asks[i].flags, k ? &now : &first);
			CHECK(!k || !memcmp(&now, &first, sizeof(now)), "address %zu, %#x", k,
			      asks[i].cmd);
		}
	write_file(KPTR_RESTRICT, "0");
}

/* The answers about a probe whose module has gone. */
static void test_gone_probe(void)
{
	char path[64], *text, *place;
	struct tt_form_info form;
	struct attachment p;
	int dev, err;

	setup();
	probe_setup();
	dev = fixture_open(NULL);
	form = form_named(dev, "tt_form_inc_2");
	close(dev);
	p = attach_insn(OURS, bpf_program__fd(probe_skel->progs.count), form.probe, 0, 0);
	snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", p.fd);
	text = read_file(path);
	CHECK(strstr(text, "place:\ttt_form_inc_2+0x") ||
	      strstr(text, "place:\ttt_form_inc_2_"), "%s", text);
	free(text);
	err = ownmod_unload("trampoline_test", 300);
	REQUIRE(!err, "unloading: %s", strerror(-err));
	text = read_file(path);
	place = strstr(text, "place:\t");
	CHECK(place && !strncmp(place, "place:\t-\n", 9), "%s", text);
	CHECK(strstr(text, "reason:\tmodule-gone"), "%s", text);
	CHECK(!strstr(text, "ffffffff"), "%s", text);
	free(text);
	text = read_file(LIST);
	CHECK(!strstr(text, "ffffffff"), "%s", text);
	free(text);
	detach(&p);
}

/* -------------------------------------------------------------- stray symbols --- */

/* A struct of 8 bytes that is a union of @many unions, each of them one of @many, and so on. */
static int nested(struct btf *btf, int many)
{
	int i, depth, type = btf__add_int(btf, "long", 8, BTF_INT_SIGNED), inner;

	for (depth = 0; depth < 15; depth++) {
		inner = type;
		type = btf__add_union(btf, NULL, 8);
		for (i = 0; i < many; i++)
			REQUIRE(!btf__add_field(btf, "m", inner, 0, 0), "member");
	}
	inner = type;
	type = btf__add_struct(btf, "s", 8);
	REQUIRE(!btf__add_field(btf, "u", inner, 0, 0), "member");
	return type;
}

/*
 * BTF of our own with one function of that name: its id in *obj_id. It has no argument, or, with
 * @many, one that is nested().
 */
static int lone_btf(const char *name, int many, uint32_t *obj_id, uint32_t *id)
{
	struct btf *btf = btf__new_empty();
	struct bpf_btf_info info = {};
	uint32_t len = sizeof(info);
	int fd, type, proto, arg;

	REQUIRE(btf, "BTF: %s", strerror(errno));
	type = btf__add_int(btf, "int", 4, BTF_INT_SIGNED);
	arg = many ? nested(btf, many) : 0;
	proto = btf__add_func_proto(btf, type);
	if (many)
		REQUIRE(!btf__add_func_param(btf, "arg", arg), "argument");
	*id = btf__add_func(btf, name, BTF_FUNC_GLOBAL, proto);
	REQUIRE(!btf__load_into_kernel(btf), "BTF: %s", strerror(errno));
	fd = dup(btf__fd(btf));
	btf__free(btf);
	REQUIRE(!bpf_obj_get_info_by_fd(fd, &info, &len), "BTF: %s", strerror(errno));
	*obj_id = info.id;
	return fd;
}

static void expect_no_btf(const char *what, int fd, uint32_t obj_id, uint32_t id)
{
	uint64_t began = now_ns();
	union arg a;

	CHECK_EQ(explain_id(obj_id, id, &a), -ENOENT, "%s", what);
	CHECK_EQ(a.explain.refusal.reason, TRAMP_REASON_NO_BTF, "%s: %s", what,
		 tramp_reason_name(a.explain.refusal.reason));
	CHECK(!strstr(a.explain.refusal.detail, "vfs_read"), "%s: %s", what,
	      a.explain.refusal.detail);
	CHECK(!a.explain.nr_args && !a.explain.ret_size, "%s: a prototype", what);
	CHECK((now_ns() - began) / 1000000000 < 5, "%s took %lu s", what,
	      (now_ns() - began) / 1000000000);
	close(fd);
}

/*
 * BTF of another process: the kernel tells of it to CAP_SYS_ADMIN only, so we tell nobody. Its
 * types may also be made to take for ever: unions of unions, each in @many ways.
 */
static void test_btf_of_others(void)
{
	uint32_t obj_id, id;
	int fd;

	setup();
	fd = lone_btf("vfs_read", 0, &obj_id, &id);
	expect_no_btf("a name of the kernel's", fd, obj_id, id);
	fd = lone_btf("vfs_read", 8, &obj_id, &id);
	expect_no_btf("unions of unions", fd, obj_id, id);
	expect_no_btf("none at all", -1, 1000000, 1);
}

/* -------------------------------------------------------------------- padding --- */

#define LARGE	(64 << 10)

/* The symbols of the kernel's text that reach far: padding follows on what they name. */
static void test_padding(void)
{
	struct text_sym *syms;
	uint64_t end, next, began, took, most = 0;
	struct probe_func f;
	size_t nr, i;
	int large = 0;

	setup();
	syms = text_symbols(&nr);
	end = ksym_addr("_etext");
	REQUIRE(!probe_explain(&f, 0, "vfs_read", false), "vfs_read");	/* reads all text */
	probe_func_free(&f);
	for (i = 0; i < nr && syms[i].addr < end; i++) {
		next = i + 1 < nr && syms[i + 1].addr < end ? syms[i + 1].addr : end;
		if (next - syms[i].addr < LARGE)
			continue;
		large++;
		began = now_ns();
		REQUIRE(!probe_explain(&f, next - 1, NULL, true), "%s: %s", syms[i].name,
			tramp_reason_name(f.reason));
		took = (now_ns() - began) / 1000000;
		most = took > most ? took : most;
		ktap_note("%s: %lu bytes, %u instructions, %lu ms", syms[i].name, f.size, f.nr,
			  took);
		CHECK(f.nr < LARGE, "%s: %u instructions", syms[i].name, f.nr);
		CHECK_EQ(f.code_len, f.size, "%s: bytes", syms[i].name);
		/* No instruction has more than 15 bytes: the rest is padding. */
		if (f.nr * 15UL < f.size)
			CHECK_EQ(f.code[f.code_len - 1], 0xcc, "%s: the last byte", syms[i].name);
		CHECK(took < 5000, "%s: %lu ms", syms[i].name, took);
		probe_func_free(&f);
	}
	ktap_note("%d symbols of more than %d bytes, %lu ms at most", large, LARGE, most);
	CHECK(large || !kernel_is_debian(), "no such symbol");
	free(syms);
}

static const struct ktap_test tests[] = {
	{ "no_descriptor", test_no_descriptor, 60 },
	{ "btf_goes", test_btf_goes, 90 },
	{ "scan", test_scan, 60 },
	{ "gone_probe", test_gone_probe, 60 },
	{ "btf_of_others", test_btf_of_others, 60 },
	{ "padding", test_padding, 120 },
};

KTAP_MAIN(tests)
