// SPDX-License-Identifier: GPL-2.0
/*
 * libtrampoline with the module loaded: what it tells of the module, of functions and
 * of symbols, and what it tells whom.
 */
#include <linux/capability.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../lib/ktap.h"
#include "guest.h"

static void test_module_info(void)
{
	TRAMP_OPTS(tramp_module_info, info);
	struct tramp_module_info older = { .sz = offsetof(struct tramp_module_info, features) };

	CHECK_EQ(tramp_info(&info), 0, "%s", tramp_last_error()->message);
	CHECK_EQ(info.abi_version, TRAMP_ABI_VERSION, "version");
	CHECK_EQ(info.max_progs, 64, "programs on a function");
	CHECK_EQ(info.max_slots, TRAMP_MAX_SLOTS, "slots");
	CHECK(info.symbols_found > 10, "%u", info.symbols_found);
	CHECK(info.features & TRAMP_FEAT_FENTRY, "features");
	CHECK_EQ(info.probes | info.optimised, 0, "probes");
	CHECK(info.version[0], "version");
	/* A caller of an older version gets what it knows and nothing beyond. */
	CHECK_EQ(tramp_info(&older), 0, "%s", tramp_last_error()->message);
	CHECK_EQ(older.max_progs, info.max_progs, "within");
	CHECK_EQ(older.features, 0, "beyond");
}

static void test_explain(void)
{
	struct kinds *skel = need_loaded(NULL);
	TRAMP_OPTS(tramp_explanation, ex);
	TRAMP_OPTS(tramp_explanation, by_id);
	TRAMP_OPTS(tramp_link_info, info);
	struct tramp_syms *syms = tramp_syms__load(NULL);
	struct tramp_link *link;

	REQUIRE(syms, "%s", tramp_last_error()->message);
	link = need_link(skel->progs.on_entry, NULL);
	need_info(tramp_link__id(link), &info);
	REQUIRE(!tramp_explain(syms, "do_unlinkat", &ex), "%s", tramp_last_error()->message);
	CHECK_EQ(ex.can, TRAMP_CAN_FENTRY | TRAMP_CAN_FEXIT, "can");
	CHECK_EQ(ex.fentry_reason, 0, "%s", tramp_reason_name(ex.fentry_reason));
	CHECK_EQ(ex.nr_progs, 1, "programs");
	CHECK_EQ(ex.nr_args, 2, "arguments");
	CHECK_EQ(ex.nr_slots, 2, "slots");
	CHECK_EQ(ex.ret_size, 4, "result");
	CHECK_EQ(ex.key, info.key, "key");
	CHECK_EQ(ex.btf_id, info.btf_id, "type");
	CHECK_EQ(ex.func_addr, info.func_addr, "address");
	CHECK(ex.site_addr - ex.func_addr <= 4, "site");
	CHECK(!strcmp(ex.name, "do_unlinkat"), "%s", ex.name);
	REQUIRE(!tramp_explain_btf(info.btf_obj_id, info.btf_id, &by_id), "%s",
		tramp_last_error()->message);
	CHECK(!memcmp(&ex, &by_id, sizeof(ex)), "asked either way");
	REQUIRE(!tramp_explain(NULL, "vmlinux:do_unlinkat", &by_id), "%s",
		tramp_last_error()->message);
	CHECK(!memcmp(&ex, &by_id, sizeof(ex)), "without a snapshot");
	tramp_link__destroy(link);
	tramp_syms__free(syms);
	kinds__destroy(skel);
}

static void test_explain_not(void)
{
	struct tramp_syms *syms = tramp_syms__load(NULL);
	TRAMP_OPTS(tramp_explanation, ex);
	const struct tramp_sym *sym = NULL;
	size_t i;

	REQUIRE(syms, "%s", tramp_last_error()->message);
	REQUIRE(tramp_syms__knows_traceable(syms), "tracefs");
	CHECK_EQ(tramp_explain(syms, "do_unlnkat", &ex), -ENOENT, "misspelt");
	CHECK_ERROR(-ENOENT, TRAMP_REASON_NO_SUCH_FUNCTION);
	CHECK(last_error_says("do_unlinkat"), "the nearest");
	/* Some function that BTF describes and ftrace cannot patch. */
	for (i = 0; i < tramp_syms__count(syms); i++) {
		sym = tramp_syms__get(syms, i);
		if (!sym->module[0] && !(sym->flags & TRAMP_SYM_TRACEABLE) &&
		    tramp_syms__find(syms, sym->name) && tramp_syms__btf_id(syms, sym, NULL) > 0)
			break;
	}
	REQUIRE(i < tramp_syms__count(syms), "all are traceable?");
	REQUIRE(!tramp_explain(syms, sym->name, &ex), "%s", tramp_last_error()->message);
	CHECK_EQ(ex.can, 0, "%s", sym->name);
	CHECK_EQ(ex.fentry_reason, TRAMP_REASON_NOT_TRACEABLE, "%s", sym->name);
	CHECK_EQ(ex.mode, TRAMP_MODE_NONE, "%s", sym->name);
	REQUIRE(!tramp_explain(syms, "trampoline:tramp_link_attach", &ex), "%s",
		tramp_last_error()->message);
	CHECK_EQ(ex.can, 0, "ourselves");
	CHECK_EQ(ex.fentry_reason, TRAMP_REASON_OWN_MODULE, "ourselves");
	CHECK_EQ(tramp_explain_btf(0x7fffffff, 1, &ex), -ENOENT, "no such object");
	CHECK_ERROR(-ENOENT, TRAMP_REASON_NO_BTF);
	tramp_syms__free(syms);
}

static void test_kernel_symbols(void)
{
	struct tramp_syms *syms = tramp_syms__load(NULL);
	const struct tramp_sym *sym;
	struct tramp_proto *p;
	uint64_t off = 1;
	uint32_t obj_id;

	REQUIRE(syms, "%s", tramp_last_error()->message);
	CHECK(tramp_syms__count(syms) > 20000, "%zu functions", tramp_syms__count(syms));
	CHECK(tramp_syms__knows_traceable(syms), "tracefs");
	CHECK(tramp_syms__match(syms, "vfs_*", NULL, NULL, NULL) > 20, "%s",
	      tramp_last_error()->message);
	sym = tramp_syms__find(syms, "do_unlinkat");
	REQUIRE(sym, "%s", tramp_last_error()->message);
	CHECK(sym->flags & TRAMP_SYM_TRACEABLE, "traceable");
	CHECK(tramp_syms__find_addr(syms, sym->addr, &off) == sym && !off, "by address");
	p = tramp_syms__proto(syms, sym);
	REQUIRE(p, "%s", tramp_last_error()->message);
	CHECK(!strcmp(p->text, "int do_unlinkat(int dfd, struct filename *name)"), "%s", p->text);
	tramp_proto__free(p);
	CHECK(tramp_syms__btf_id(syms, sym, &obj_id) > 0 && obj_id, "%s",
	      tramp_last_error()->message);
	/* A module's functions, in its own BTF. */
	sym = tramp_syms__find(syms, "trampoline:tramp_grace_periods");
	REQUIRE(sym, "%s", tramp_last_error()->message);
	p = tramp_syms__proto(syms, sym);
	CHECK(p && p->nr_args == 0, "%s", p ? p->text : tramp_last_error()->message);
	tramp_proto__free(p);
	tramp_syms__free(syms);
}

static void test_permission(void)
{
	struct kinds *skel = need_loaded(NULL);
	TRAMP_OPTS(tramp_module_info, info);

	REQUIRE(!setgid(65534) && !setuid(65534), "drop privileges");
	CHECK_EQ(tramp_info(&info), -EPERM, "info");
	CHECK_ERROR(-EPERM, TRAMP_REASON_PERMISSION);
	CHECK(last_error_says("run as root"), "remedy");
	CHECK(!tramp_attach(skel->progs.on_entry, NULL), "attach");
	CHECK_ERROR(-EPERM, TRAMP_REASON_PERMISSION);
	CHECK(!tramp_link__open_by_id(1), "open");
	CHECK_ERROR(-EPERM, TRAMP_REASON_PERMISSION);
	kinds__destroy(skel);
}

/* Become nobody with CAP_BPF and CAP_PERFMON and nothing else. */
static void keep_bpf_rights(void)
{
	struct __user_cap_header_struct head = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct caps[2] = {};

	REQUIRE(!prctl(PR_SET_KEEPCAPS, 1, 0, 0, 0), "keep capabilities");
	REQUIRE(!setgid(65534) && !setuid(65534), "drop privileges");
	caps[CAP_TO_INDEX(CAP_BPF)].permitted |= CAP_TO_MASK(CAP_BPF);
	caps[CAP_TO_INDEX(CAP_PERFMON)].permitted |= CAP_TO_MASK(CAP_PERFMON);
	caps[0].effective = caps[0].permitted;
	caps[1].effective = caps[1].permitted;
	REQUIRE(!syscall(SYS_capset, &head, caps), "capset");
}

/* Everything but what needs CAP_SYS_ADMIN, and no addresses. */
static void use_without_root(void)
{
	struct kinds *skel = need_loaded(NULL);
	TRAMP_OPTS(tramp_link_info, info);
	TRAMP_OPTS(tramp_explanation, ex);
	struct tramp_code *code;
	struct tramp_link *link;

	keep_bpf_rights();
	link = need_link(skel->progs.on_entry, NULL);
	call_target(CALLS);
	CHECK_EQ(skel->bss->entries, CALLS, "entries");
	need_info(tramp_link__id(link), &info);
	CHECK(info.hits >= CALLS, "%llu hits", (unsigned long long)info.hits);
	CHECK_EQ(info.func_addr | info.image_addr, 0, "addresses are hidden");
	CHECK(!tramp_link_image(tramp_link__id(link), &info), "code is hidden");
	CHECK_ERROR(-EPERM, TRAMP_REASON_HIDDEN_ADDRESS);
	CHECK(!tramp_link__open_by_id(tramp_link__id(link)), "needs CAP_SYS_ADMIN");
	CHECK_ERROR(-EPERM, TRAMP_REASON_PERMISSION);
	CHECK_EQ(tramp_explain(NULL, "do_unlinkat", &ex), 0, "%s", tramp_last_error()->message);
	CHECK_EQ(ex.can, TRAMP_CAN_FENTRY | TRAMP_CAN_FEXIT, "by name");
	CHECK_EQ(ex.key, info.key, "the same function");
	CHECK_EQ(ex.func_addr, 0, "addresses are hidden");
	code = tramp_explain_code(NULL, "do_unlinkat", NULL);
	REQUIRE(code, "%s", tramp_last_error()->message);
	CHECK(code->nr_insns > 10, "%zu instructions", code->nr_insns);
	CHECK(!code->func_addr && !code->code && !code->code_len, "addresses and code are hidden");
	tramp_code__free(code);
	CHECK_EQ(tramp_link__detach(link), 0, "%s", tramp_last_error()->message);
	tramp_link__destroy(link);
	kinds__destroy(skel);
}

/* The device is opened up for a child, which cannot give back what it gives up. */
static void test_capabilities(void)
{
	int status = -1;
	pid_t pid;

	REQUIRE(!chmod(TRAMP_DEVICE, 0666), "chmod");
	pid = fork();
	if (!pid) {
		use_without_root();
		_exit(ktap_failures() ? 1 : 0);
	}
	if (pid > 0)
		waitpid(pid, &status, 0);
	chmod(TRAMP_DEVICE, 0600);
	CHECK_EQ(status, 0, "the child");
}

static const struct ktap_test tests[] = {
	{ .name = "module-info", .run = test_module_info },
	{ .name = "explain", .run = test_explain },
	{ .name = "explain-not", .run = test_explain_not },
	{ .name = "kernel-symbols", .run = test_kernel_symbols },
	{ .name = "permission", .run = test_permission },
	{ .name = "capabilities", .run = test_capabilities },
};

KTAP_MAIN(tests)
