// SPDX-License-Identifier: GPL-2.0
/*
 * Functions at which no program is safe, or none at the return: kernel/text/unsafe.c and
 * kernel/func/resolve.c have them. A CPU that has reported its death calls some, the guard around a
 * program others, and calls of some are abandoned while their task lives on. Not each kernel has
 * all of them.
 */
#include <errno.h>
#include <string.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>
#include "fixture.h"
#include "many.h"
#include "probe.h"
#include "selftests/vm/lib/probe_progs.skel.h"

static int prog;
static unsigned int nr_found;

static void setup(void)
{
	fixture_open("about our refusals");
	probe_setup();
	prog = bpf_program__fd(probe_skel->progs.count);
}

static bool is_there(const char *func)
{
	bool there = ksym_addr(func);

	nr_found += there;
	if (!there)
		ktap_note("there is no %s", func);
	return there;
}

/* Reasons against programs of tracing type; 0 where BTF does not know the function. */
static int explain(const char *func, uint32_t *entry, uint32_t *exit)
{
	struct tramp_explain ex = { .size = sizeof(ex) };
	int err;

	strcpy(ex.name, func);
	err = ioctl(tramp_device(), TRAMP_IOC_EXPLAIN, &ex);
	*entry = err ? 0 : ex.fentry_reason;
	*exit = err ? 0 : ex.fexit_reason;
	if (err)
		ktap_note("%s: %s", func, tramp_reason_name(ex.refusal.reason));
	return err ? -errno : 0;
}

static uint32_t reason_at(uint64_t addr)
{
	struct attachment a = attach_insn_try(OURS, prog, addr, 0, 0);
	uint32_t reason = a.err ? a.reply.refusal.reason : 0;

	detach(&a);
	return reason;
}

static uint32_t reason_at_return(const char *func)
{
	struct attachment a = attach_return_try(OURS, prog, func, 0, 0);
	uint32_t reason = a.err ? a.reply.refusal.reason : 0;

	detach(&a);
	return reason;
}

static uint32_t reason_of_many(const char *func)
{
	struct many *m = many_new();
	uint32_t reason;

	many_add_name(m, func);
	reason = many_attach_try(m, prog, 0) ? m->cmd.refusal.reason : 0;
	if (m->cmd.link_fd >= 0)
		close(m->cmd.link_fd);
	free(m);
	return reason;
}

#define EXPECT(got, want, func, what)						\
	CHECK((got) == (want), "%s, %s: %s, not %s", func, what, tramp_reason_name(got), \
	      tramp_reason_name(want))

/* A CPU that goes: nothing at all, not even inside. Some have no site, some the kernel forbids. */
static void test_leaving(void)
{
	static const char *const funcs[] = {
		"native_play_dead", "play_dead_common", "hlt_play_dead", "cpuidle_play_dead",
		"acpi_idle_play_dead", "tboot_shutdown", "cpuhp_ap_report_dead",
		"cpu_report_death", "idle_task_exit", "arch_cpu_idle_dead",
	};
	uint32_t entry, exit, at;
	struct probe_func f;
	unsigned int i, k, sites = 0;

	setup();
	for (i = 0; i < sizeof(funcs) / sizeof(funcs[0]); i++) {
		if (!is_there(funcs[i]) || probe_explain(&f, 0, funcs[i], false))
			continue;
		for (k = 0; k < f.nr; k++)
			CHECK(f.insns[k].mode == TRAMP_MODE_NONE, "%s+%#x: %s", funcs[i],
			      f.insns[k].offset, tramp_mode_name(f.insns[k].mode));
		probe_func_free(&f);
		at = reason_at(ksym_addr(funcs[i]));
		CHECK(at, "%s: a probe at the entry", funcs[i]);
		if (at != TRAMP_REASON_RCU_IDLE)
			continue;
		sites++;
		explain(funcs[i], &entry, &exit);
		if (entry)
			EXPECT(entry, TRAMP_REASON_RCU_IDLE, funcs[i], "fentry");
		EXPECT(reason_of_many(funcs[i]), TRAMP_REASON_RCU_IDLE, funcs[i], "many");
		at = reason_at_return(funcs[i]);
		CHECK(at == TRAMP_REASON_RCU_IDLE || at == TRAMP_REASON_NORETURN, "%s, return: %s",
		      funcs[i], tramp_reason_name(at));
	}
	ktap_note("%u functions, %u of them refused for that", nr_found, sites);
	CHECK(sites >= 3, "%u functions", sites);
}

/* The kernel's guard calls them before it asks whether the program runs already. */
static void test_guards(void)
{
	static const char *const funcs[] = {
		"__rcu_read_lock", "__rcu_read_unlock", "rcu_read_unlock_special",
	};
	uint32_t entry, exit, want;
	unsigned int i;

	setup();
	/* Guards of our own take no lock, but for lock debugging. */
	want = kernel_is_rt() || ksym_addr("lock_acquire") ? TRAMP_REASON_BLACKLISTED : 0;
	for (i = 0; i < sizeof(funcs) / sizeof(funcs[0]); i++) {
		if (!is_there(funcs[i]))
			continue;
		CHECK_EQ(explain(funcs[i], &entry, &exit), 0, "EXPLAIN of %s", funcs[i]);
		EXPECT(entry, want, funcs[i], "fentry");
		if (ksym_addr("lock_acquire")) {
			EXPECT(reason_at(ksym_addr(funcs[i])), want, funcs[i], "entry");
			EXPECT(reason_at_return(funcs[i]), want, funcs[i], "return");
			EXPECT(reason_of_many(funcs[i]), want, funcs[i], "many");
		}
	}
	if (!nr_found)
		ktap_skip("this kernel's readers of RCU call nothing");
}

/* Hibernation calls them while it copies memory, and runs the others without a per-CPU base. */
static void test_snapshot(void)
{
	static const char *const funcs[] = {
		"memory_bm_next_pfn", "memory_bm_set_bit", "kernel_page_present",
	};
	static const char *const inside[] = {
		"create_image", "hibernation_snapshot", "swsusp_save",
	};
	uint32_t entry, exit;
	struct probe_func f;
	unsigned int i, k;

	setup();
	for (i = 0; i < sizeof(funcs) / sizeof(funcs[0]); i++) {
		if (!is_there(funcs[i]))
			continue;
		explain(funcs[i], &entry, &exit);
		EXPECT(entry, TRAMP_REASON_BLACKLISTED, funcs[i], "fentry");
		EXPECT(reason_at(ksym_addr(funcs[i])), TRAMP_REASON_BLACKLISTED, funcs[i], "entry");
		EXPECT(reason_at_return(funcs[i]), TRAMP_REASON_BLACKLISTED, funcs[i], "return");
		EXPECT(reason_of_many(funcs[i]), TRAMP_REASON_BLACKLISTED, funcs[i], "many");
	}
	for (i = 0; i < sizeof(inside) / sizeof(inside[0]); i++) {
		if (!is_there(inside[i]) || probe_explain(&f, 0, inside[i], false))
			continue;
		for (k = 0; k < f.nr; k++)
			CHECK(f.insns[k].mode == TRAMP_MODE_NONE || probe_is_entry(f.insns[k].mode),
			      "%s+%#x: %s", inside[i], f.insns[k].offset,
			      tramp_mode_name(f.insns[k].mode));
		probe_func_free(&f);
	}
	if (!nr_found)
		ktap_skip("this kernel does not hibernate");
}

static void test_abandoned(void)
{
	static const char *const funcs[] = {
		"do_idle", "bpf_throw", "x86_acpi_enter_sleep_state", "acpi_enter_sleep_state",
		"acpi_hw_legacy_sleep", "swsusp_save", "acpi_write",
		"acpi_os_write_memory",
	};
	uint32_t entry, exit;
	unsigned int i;

	setup();
	for (i = 0; i < sizeof(funcs) / sizeof(funcs[0]); i++) {
		if (!is_there(funcs[i]))
			continue;
		explain(funcs[i], &entry, &exit);
		if (exit)
			EXPECT(exit, TRAMP_REASON_NORETURN, funcs[i], "fexit");
		EXPECT(reason_at_return(funcs[i]), TRAMP_REASON_NORETURN, funcs[i], "return");
	}
	CHECK(nr_found, "the kernel has no such function");
}

/* Its end may be on the user's side, where RCU does not watch. */
static void test_fork(void)
{
	setup();
	if (!ksym_addr("ret_from_fork") || reason_at(ksym_addr("ret_from_fork")))
		ktap_skip("ret_from_fork is no function of C");
	EXPECT(reason_of_many("ret_from_fork"), TRAMP_REASON_RCU_IDLE, "ret_from_fork", "many");
}

static const struct ktap_test tests[] = {
	{ "leaving", test_leaving, 60 },
	{ "guards", test_guards, 60 },
	{ "snapshot", test_snapshot, 100 },
	{ "abandoned", test_abandoned, 60 },
	{ "fork", test_fork, 60 },
};

KTAP_MAIN(tests)
