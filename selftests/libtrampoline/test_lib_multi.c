// SPDX-License-Identifier: GPL-2.0
/*
 * libtrampoline with the module loaded: programs for many functions, written for the kernel's own
 * kprobe.multi, as they are, on kernels that have it and on those that have not.
 */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "../lib/ktap.h"
#include "guest.h"
#include "sections.skel.h"

#define COOKIE	0x1234567812345678

static struct sections *need_sections(bool session)
{
	struct sections *skel;
	int err;

	tramp_set_print(NULL);
	REQUIRE(!tramp_register_sections(), "%s", tramp_last_error()->message);
	REQUIRE(!tramp_register_sections(), "twice: %s", tramp_last_error()->message);
	skel = sections__open();
	REQUIRE(skel, "open: %s", strerror(errno));
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

static void test_session(void)
{
	TRAMP_OPTS(tramp_module_info, info);
	struct sections *skel;
	struct tramp_link *link;

	REQUIRE(!tramp_info(&info), "%s", tramp_last_error()->message);
	if (info.features & TRAMP_FEAT_SESSION) {
		skel = need_sections(true);
		link = need_multi(skel->progs.on_both, target());
		call_target(CALLS);
		CHECK_EQ(skel->bss->entries, CALLS, "entries");
		CHECK_EQ(skel->bss->returns, CALLS, "returns");
		CHECK(skel->bss->call_return, "no stack");
		CHECK_EQ(skel->bss->call_entry, skel->bss->call_return, "both ends of one call");
		tramp_link__destroy(link);
	} else {
		tramp_set_print(NULL);
		libbpf_set_print(NULL);
		REQUIRE(!tramp_register_sections(), "%s", tramp_last_error()->message);
		skel = sections__open();
		REQUIRE(skel, "open: %s", strerror(errno));
		bpf_program__set_autoload(skel->progs.on_both, true);
		CHECK_EQ(sections__load(skel), -EOPNOTSUPP, "load");
		CHECK_EQ(tramp_last_error()->reason, TRAMP_REASON_MISSING_SYMBOL, "%s",
			 tramp_last_error()->message);
	}
	sections__destroy(skel);
}

static const struct ktap_test tests[] = {
	{ "entry", test_entry, 30 },
	{ "return", test_return, 30 },
	{ "plain", test_plain, 30 },
	{ "object", test_object, 30 },
	{ "session", test_session, 30 },
};

KTAP_MAIN(tests)
