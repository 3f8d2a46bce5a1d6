// SPDX-License-Identifier: GPL-2.0
/*
 * libtrampoline with the module loaded: programs for many functions, written for the kernel's own
 * kprobe.multi, as they are, on kernels that have it and on those that have not.
 */
#include <bpf/bpf.h>
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

#include "../lib/ktap.h"
#include "guest.h"
#include "sections.skel.h"

#define COOKIE	0x1234567812345678

static struct sections *need_sections(bool session)
{
	struct sections *skel = calloc(1, sizeof(*skel));
	int err;

	tramp_set_print(NULL);
	REQUIRE(skel && !sections__create_skeleton(skel), "no memory");
	err = tramp_object__open_skeleton(skel->skeleton, NULL);
	REQUIRE(!err, "open: %s", strerror(-err));
	REQUIRE(!tramp_register_sections(), "twice: %s", tramp_last_error()->message);
	bpf_program__set_autoload(skel->progs.on_both, session);
	err = sections__load(skel);
	REQUIRE(!err, "load: %s", strerror(-err));
	skel->bss->pid = getpid();
	return skel;
}

static uint64_t target(void)
{
	struct tramp_syms *syms = tramp_syms__load(NULL);
	const struct tramp_sym *sym = syms ? tramp_syms__find(syms, "do_unlinkat") : NULL;
	uint64_t addr;

	REQUIRE(sym, "%s", tramp_last_error()->message);
	addr = sym->addr;
	tramp_syms__free(syms);
	return addr;
}

static struct tramp_link *need_multi(const struct bpf_program *prog, uint64_t addr)
{
	uint64_t cookie = COOKIE;
	TRAMP_OPTS(tramp_multi_opts, opts, .addrs = &addr, .cnt = 1, .cookies = &cookie);
	struct tramp_link *link = tramp_attach_multi(prog, &opts);

	REQUIRE(link, "%s", tramp_last_error()->message);
	return link;
}

static void test_entry(void)
{
	struct sections *skel = need_sections(false);
	uint64_t addr = target();
	struct tramp_link *link = need_multi(skel->progs.on_entry, addr);

	call_target(CALLS);
	CHECK_EQ(skel->bss->entries, CALLS, "entries");
	CHECK_EQ(skel->bss->entry_ip, addr, "bpf_get_func_ip()");
	CHECK_EQ(skel->bss->entry_cookie, COOKIE, "cookie");
	CHECK_EQ(skel->bss->names[0], skel->bss->names[1], "tramp_arg(1)");
	CHECK_EQ((int)skel->bss->first, -100, "tramp_arg(0): AT_FDCWD");
	tramp_link__destroy(link);
	sections__destroy(skel);
}

static void test_return(void)
{
	struct sections *skel = need_sections(false);
	uint64_t addr = target();
	struct tramp_link *link = need_multi(skel->progs.on_return, addr);

	call_target(CALLS);
	CHECK_EQ(skel->bss->returns, CALLS, "returns");
	CHECK_EQ(skel->bss->return_ip, addr, "bpf_get_func_ip() in a function of the program");
	CHECK_EQ(skel->bss->return_cookie, COOKIE, "cookie");
	CHECK_EQ(skel->bss->result, -ENOENT, "result");
	tramp_link__destroy(link);
	sections__destroy(skel);
}

static void test_plain(void)
{
	struct sections *skel = need_sections(false);
	uint64_t addr = target();
	struct tramp_link *link = need_multi(skel->progs.on_plain, addr);

	call_target(CALLS);
	CHECK_EQ(skel->bss->plain, CALLS, "entries");
	CHECK_EQ(skel->bss->plain_ip, addr, "tramp_func_ip()");
	tramp_link__destroy(link);
	sections__destroy(skel);
}

/* The whole object by the patterns in its sections. */
static void test_object(void)
{
	struct sections *skel = need_sections(false);
	TRAMP_OPTS(tramp_link_info, info);
	struct tramp_link *link;

	link = tramp_attach(skel->progs.on_entry, NULL);
	REQUIRE(link, "%s", tramp_last_error()->message);
	call_target(CALLS);
	CHECK_EQ(skel->bss->entries, CALLS, "entries");
	CHECK_EQ(skel->bss->entry_cookie, 0, "no cookie");
	need_info(tramp_link__id(link), &info);
	CHECK_EQ(info.kind, TRAMP_KIND_KPROBE_MULTI, "kind");
	tramp_link__destroy(link);
	sections__destroy(skel);
}

/* A cookie of the whole program is that of each of its functions. */
static void test_cookie(void)
{
	static const struct tramp_prog_cookie cookies[] = { { "on_entry", COOKIE } };
	TRAMP_OPTS(tramp_object_attach_opts, all, .cookies = cookies, .cookie_cnt = 1);
	TRAMP_OPTS(tramp_attach_opts, one, .cookie = COOKIE + 1);
	struct sections *skel = need_sections(false);
	struct tramp_links *links;
	struct tramp_link *link;

	link = tramp_attach(skel->progs.on_entry, &one);
	REQUIRE(link, "%s", tramp_last_error()->message);
	call_target(CALLS);
	CHECK_EQ(skel->bss->entry_cookie, COOKIE + 1, "of a program");
	tramp_link__destroy(link);

	bpf_program__set_autoattach(skel->progs.on_plain, false);
	links = tramp_object__attach(skel->obj, &all);
	REQUIRE(links, "%s", tramp_last_error()->message);
	call_target(CALLS);
	CHECK_EQ(skel->bss->entry_cookie, COOKIE, "of one in an object");
	CHECK_EQ(skel->bss->returns, CALLS, "returns");
	CHECK_EQ(skel->bss->return_cookie, 0, "of the other");
	tramp_links__destroy(links);
	sections__destroy(skel);
}

static volatile sig_atomic_t ticks;

static void on_tick(int sig)
{
	(void)sig;
	ticks++;
}

/*
 * A profiler's timer, quicker than the attach. The handler has SA_RESTART. tramp_attach() begins
 * anew once, and the signals wait. tramp_attach_multi() ends: it looks for the name among all
 * symbols, which takes longer than a tick.
 */
static void test_signals(void)
{
	const struct itimerval often = { { 0, 1000 }, { 0, 1000 } }, never = { { 0, 0 }, { 0, 0 } };
	struct sigaction sa = { .sa_handler = on_tick, .sa_flags = SA_RESTART };
	const char *name = "do_unlinkat";
	TRAMP_OPTS(tramp_multi_opts, opts, .names = &name, .cnt = 1);
	struct sections *skel = need_sections(false);
	struct tramp_link *link;
	sigset_t blocked;

	REQUIRE(!sigaction(SIGALRM, &sa, NULL), "%s", strerror(errno));
	REQUIRE(!setitimer(ITIMER_REAL, &often, NULL), "%s", strerror(errno));
	link = tramp_attach_multi(skel->progs.on_entry, &opts);
	CHECK(!link && errno == EINTR, "by name: %s", strerror(link ? 0 : errno));
	link = tramp_attach(skel->progs.on_entry, NULL);
	setitimer(ITIMER_REAL, &never, NULL);
	REQUIRE(link, "%s", tramp_last_error()->message);
	CHECK(ticks, "no signal came");
	REQUIRE(!sigprocmask(SIG_BLOCK, NULL, &blocked), "%s", strerror(errno));
	CHECK(!sigismember(&blocked, SIGALRM), "signals stay blocked");
	call_target(CALLS);
	CHECK_EQ(skel->bss->entries, CALLS, "entries");
	tramp_link__destroy(link);
	sections__destroy(skel);
}

static void test_session(void)
{
	struct sections *skel = need_sections(true);
	struct tramp_link *link = need_multi(skel->progs.on_both, target());
	TRAMP_OPTS(tramp_link_info, info);

	call_target(CALLS);
	CHECK_EQ(skel->bss->entries, CALLS, "entries");
	CHECK_EQ(skel->bss->returns, CALLS, "returns");
	CHECK(skel->bss->call_return, "no stack");
	CHECK_EQ(skel->bss->call_entry, skel->bss->call_return, "both ends of one call");
	need_info(tramp_link__id(link), &info);
	CHECK_EQ(info.kind, TRAMP_KIND_KPROBE_SESSION, "kind");
	tramp_link__destroy(link);
	sections__destroy(skel);
}

#define SESSION	"/opt/trampoline/cli/session.bpf.o"

/* The only variable of the object, which comes first in its map. */
struct counted {
	uint64_t entries, returns, unpaired, last_ip;
};

static void read_counted(struct bpf_object *obj, struct counted *c)
{
	struct bpf_map *map = bpf_object__find_map_by_name(obj, "session.bss");
	char value[4096];
	uint32_t key = 0;

	REQUIRE(map && bpf_map__value_size(map) <= sizeof(value), "session.bss");
	REQUIRE(!bpf_map_lookup_elem(bpf_map__fd(map), &key, value), "%s", strerror(errno));
	memcpy(c, value, sizeof(*c));
}

static void check_object(struct bpf_object *obj, const char *how)
{
	struct tramp_link *link;
	struct counted c;
	int err;

	REQUIRE(obj, "%s: %s", how, strerror(errno));
	err = bpf_object__load(obj);
	REQUIRE(!err, "%s: load: %s", how, strerror(-err));
	link = tramp_attach(bpf_object__find_program_by_name(obj, "both"), NULL);
	REQUIRE(link, "%s: %s", how, tramp_last_error()->message);
	call_target(CALLS);
	read_counted(obj, &c);
	CHECK(c.entries >= CALLS, "%s: %llu entries", how, (unsigned long long)c.entries);
	CHECK_EQ(c.returns, c.entries, "%s: returns", how);
	CHECK_EQ(c.unpaired, 0, "%s: unpaired", how);
	CHECK_EQ(c.last_ip, target(), "%s: bpf_get_func_ip()", how);
	tramp_link__destroy(link);
	bpf_object__close(obj);
}

static void *read_object(size_t *size)
{
	FILE *f = fopen(SESSION, "re");
	void *elf = malloc(1 << 20);

	REQUIRE(f && elf, "%s: %s", SESSION, strerror(errno));
	*size = fread(elf, 1, 1 << 20, f);
	fclose(f);
	return elf;
}

/* An object that calls functions which the kernel may lack, opened in either way. */
static void test_open(void)
{
	LIBBPF_OPTS(bpf_object_open_opts, named, .object_name = "session");
	size_t size;
	void *elf = read_object(&size);

	tramp_set_print(NULL);
	check_object(tramp_object__open_file(SESSION, NULL), "file");
	check_object(tramp_object__open_file(SESSION, &named), "file and options");
	check_object(tramp_object__open_mem(elf, size, &named), "memory");
	memset(elf, 0, size);
	CHECK(!tramp_object__open_mem(elf, size, &named), "zeros are an object");
	free(elf);
}

/* libbpf alone does not know what it is to call. */
static void test_libbpf_alone(void)
{
	TRAMP_OPTS(tramp_module_info, info);
	struct bpf_object *obj;
	int err;

	tramp_set_print(NULL);
	libbpf_set_print(NULL);
	REQUIRE(!tramp_info(&info), "%s", tramp_last_error()->message);
	REQUIRE(!tramp_register_sections(), "%s", tramp_last_error()->message);
	obj = bpf_object__open_file(SESSION, NULL);
	REQUIRE(obj, "%s", strerror(errno));
	err = bpf_object__load(obj);
	CHECK(!err == !!(info.features & TRAMP_FEAT_SESSION), "%s", strerror(-err));
	bpf_object__close(obj);
}

static const struct ktap_test tests[] = {
	{ "entry", test_entry, 30 },
	{ "return", test_return, 30 },
	{ "plain", test_plain, 30 },
	{ "object", test_object, 30 },
	{ "cookie", test_cookie, 30 },
	{ "signals", test_signals, 30 },
	{ "session", test_session, 30 },
	{ "open", test_open, 60 },
	{ "libbpf_alone", test_libbpf_alone, 30 },
};

KTAP_MAIN(tests)
