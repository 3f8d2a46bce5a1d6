// SPDX-License-Identifier: GPL-2.0
/*
 * Return probes are what EXPLAIN says of them: at functions drawn at random, at those that are
 * refused for what they do, and where the kernel's trampoline has the site.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include "fixture.h"
#include "probe_functions.h"
#include "record.h"
#include "selftests/vm/lib/probe_progs.skel.h"
#include "selftests/vm/lib/record.skel.h"

/* Functions of the sample. */
#define WANTED	400

static int prog;

/* How many there were of each kind. */
static struct {
	unsigned int asked, direct, rethook, refused;
} seen;

static void setup(void)
{
	fixture_open("about our own words");
	probe_setup();
	prog = bpf_program__fd(probe_skel->progs.count);
	memset(&seen, 0, sizeof(seen));
}

/* Attach, and compare with EXPLAIN. Return: the mode, -1 where it does not know the function. */
static int check(const char *func)
{
	struct tramp_explain ex = { .size = sizeof(ex) };
	uint32_t mode, reason;
	struct attachment a;

	strcpy(ex.name, func);
	if (ioctl(tramp_device(), TRAMP_IOC_EXPLAIN, &ex))
		return -1;
	a = attach_return_try(OURS, prog, func, 1, 0);
	mode = a.err ? TRAMP_MODE_NONE : a.reply.mode;
	reason = a.err ? a.reply.refusal.reason : a.reply.mode_reason;
	detach(&a);
	CHECK(mode == ex.ret_mode && reason == ex.ret_reason, "%s: %s [%s], but explained as %s [%s]",
	      func, tramp_mode_name(mode), tramp_reason_name(reason), tramp_mode_name(ex.ret_mode),
	      tramp_reason_name(ex.ret_reason));
	seen.asked++;
	seen.direct += mode == TRAMP_MODE_DIRECT;
	seen.rethook += mode == TRAMP_MODE_RETHOOK;
	seen.refused += mode == TRAMP_MODE_NONE;
	return mode;
}

static void test_sample(void)
{
	uint64_t state = rnd_seed(), *addr;
	char name[TRAMP_SYM_LEN];
	int i, nr;

	setup();
	addr = functions_take(&nr, WANTED, &state);
	functions_leave_sleepers(addr, &nr);
	for (i = 0; i < nr; i++) {
		ksym_name(addr[i], name, sizeof(name));
		name[strcspn(name, "+")] = '\0';
		check(name);
	}
	free(addr);
	ktap_note("%u functions: %u by exit images, %u by rethooks, %u refused", seen.asked,
		  seen.direct, seen.rethook, seen.refused);
	CHECK(seen.direct && seen.refused, "only one kind was drawn");
}

/*
 * They never return, hibernation calls them while it copies memory, a CPU that goes calls them,
 * the guard around a program calls them, or their arguments are not known. Not each kernel has
 * all of them.
 */
static void test_special(void)
{
	static const char *const funcs[] = {
		"do_exit", "memory_bm_find_bit", "lookup_address_in_pgd", "cpuhp_ap_report_dead",
		"cpu_report_death", "__rcu_read_lock", "sysfs_emit", "tramp_link_attach_batch",
		"__fentry__",
	};
	unsigned int i;

	setup();
	for (i = 0; i < sizeof(funcs) / sizeof(funcs[0]); i++)
		ktap_note("%s: %s", funcs[i], tramp_mode_name(check(funcs[i])));
	CHECK(seen.rethook && seen.refused, "%u rethooks, %u refused", seen.rethook, seen.refused);
}

/* A module's function, free, and with its site held by the kernel's own trampoline. */
static void test_held(void)
{
	struct record *record;
	struct attachment hold;

	setup();
	record = FIXTURE_LOAD(record);
	CHECK_EQ(check("tt_hot1"), TRAMP_MODE_DIRECT, "free");
	hold = attach_func(KERNEL, prog_clone(record->progs.count_entry, "tt_hot1",
					      BPF_TRACE_FENTRY), NULL);
	CHECK_EQ(check("tt_hot1"), TRAMP_MODE_RETHOOK, "held");
	detach(&hold);
	CHECK_EQ(check("tt_hot1"), TRAMP_MODE_DIRECT, "free again");
}

/* A rethook needs the entry, which ftrace has. */
static void test_ftrace_off(void)
{
	setup();
	CHECK_EQ(check("sysfs_emit"), TRAMP_MODE_RETHOOK, "ftrace is on");
	ftrace_switch(false);
	CHECK_EQ(check("sysfs_emit"), TRAMP_MODE_NONE, "ftrace is off");
	CHECK_EQ(check("tt_hot1"), TRAMP_MODE_NONE, "ftrace is off");
	ftrace_switch(true);
}

static const struct ktap_test tests[] = {
	{ "sample", test_sample, 120 },
	{ "special", test_special, 60 },
	{ "held", test_held, 60 },
	{ "ftrace_off", test_ftrace_off, 60 },
};

KTAP_MAIN(tests)
