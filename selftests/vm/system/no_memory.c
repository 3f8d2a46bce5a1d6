// SPDX-License-Identifier: GPL-2.0
/* Two functions, one in a module that may go, and a thread without memory: see no_memory.h. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>
#include "no_memory.h"
#include "ones.h"
#include "selftests/vm/lib/probe_progs.skel.h"

#define CALL		"/sys/module/" MODULE "/parameters/call"

uint64_t func[FUNCS];
struct attachment one[FUNCS];
static int dev, prog;

void load(void)
{
	int err = module_load("/opt/trampoline/" MODULE ".ko");

	REQUIRE(!err, "%s: %s", MODULE, strerror(-err));
	ksym_reload();
	func[THERE] = ksym_addr("target_fold");
	func[HERE] = ksym_addr("tt_hot1");
	REQUIRE(func[THERE] && func[HERE], "no function");
}

void memory_ends(uint32_t nth, uint32_t lasting)
{
	fault_begin(dev, (struct tt_fault){ .nth = nth, .lasting = lasting });
}

bool memory_comes(void)
{
	return fault_end(dev, NULL);
}

void expect(const char *when, uint64_t there, uint64_t here)
{
	__u64 *counted = probe_skel->bss->counted;
	struct tt_reply r;

	counted[THERE] = counted[HERE] = 0;
	CHECK_EQ(write_file(CALL, "%u", CALLS), 0, "%s: results of the module", when);
	r = tt_call(dev, "tt_hot1 n=%d 4", CALLS);
	CHECK_EQ(r.different, 0, "%s: results", when);
	CHECK_EQ(counted[THERE], there, "%s: hits in the module", when);
	CHECK_EQ(counted[HERE], here, "%s: hits", when);
}

void begin(int fd)
{
	dev = fd;
	fault_needed(dev);
	probe_setup();
	prog = bpf_program__fd(probe_skel->progs.count);
	load();
}

struct attachment attach_to(int i)
{
	return attach_insn_try(OURS, prog, func[i], 0, i);
}

/* The attachment of many lets go of the module when its image has gone. */
static void wait_unheld(void)
{
	int i;

	for (i = 0; i < 3000 * time_scale() && module_references(MODULE); i++)
		usleep(10000);
	CHECK(!module_references(MODULE), "the module is held");
}

struct many *come_many(void)
{
	struct many *m = many_new();
	int i;

	for (i = 0; i < FUNCS; i++)
		many_add(m, func[i]);
	many_attach(m, bpf_program__fd(probe_skel->progs.nothing), 0);
	return m;
}

void come_by_gate(void)
{
	struct many *m = come_many();
	int i;

	for (i = 0; i < FUNCS; i++) {
		one[i] = attach_to(i);
		REQUIRE(!one[i].err, "at the gate: %s", strerror(-one[i].err));
	}
	many_detach(m);
	wait_unheld();
	expect("by the gate", CALLS, CALLS);
}

void come_in_group(void)
{
	struct tramp_attach item[FUNCS];
	int32_t fd[FUNCS];
	int i;

	for (i = 0; i < FUNCS; i++)
		item[i] = (struct tramp_attach){
			.size = sizeof(item[i]), .addr = func[i], .cookie = i,
			.prog_fd = prog, .flags = TRAMP_ATTACH_F_COOKIE,
		};
	ones_come(item, fd, FUNCS);
	for (i = 0; i < FUNCS; i++)
		one[i] = (struct attachment){ .how = OURS, .fd = fd[i], .reply = item[i] };
	expect("in a group", CALLS, CALLS);
}
