// SPDX-License-Identifier: GPL-2.0
/*
 * Programs that the kernel interprets, as it does without its JIT (net.core.bpf_jit_enable). They
 * run in each mode, and see what the same programs see when they are compiled.
 *
 * The JIT is off for everybody while they are loaded, and for no longer.
 */
#include <errno.h>
#include <string.h>
#include <unistd.h>
#include "fixture.h"
#include "many.h"
#include "probe.h"
#include "record.h"
#include "selftests/vm/lib/probe_progs.skel.h"
#include "selftests/vm/lib/record.skel.h"

#define JIT	"/proc/sys/net/core/bpf_jit_enable"
#define FUNC	"tt_args12"
#define CALL	FUNC " n=10 1 2 3 4 5 6 7 8 9 10 11 12"
#define CALLS	10
/* The stack pointer in struct pt_regs, and the size of a stack. */
#define SP	19
#define STACK	16384UL

enum { COMPILED, INTERPRETED, KINDS };

static struct record *record;
static int dev;

static void load_from(int kind)
{
	int err = write_file(JIT, "%d", kind == COMPILED);

	if (err)
		KERNEL_LACKS("the JIT is always on");
}

static void load_end(int prog_fd, int kind)
{
	struct bpf_prog_info info = {};
	uint32_t len = sizeof(info);

	REQUIRE(!write_file(JIT, "1"), "the JIT is off");
	if (prog_fd < 0)
		return;
	REQUIRE(!bpf_obj_get_info_by_fd(prog_fd, &info, &len), "info: %s", strerror(errno));
	CHECK_EQ(info.jited_prog_len == 0, kind == INTERPRETED, "interpreted");
}

static void setup(void)
{
	dev = fixture_open(NULL);
	record = FIXTURE_LOAD(record);
}

static int clone_for(const struct bpf_program *prog, enum bpf_attach_type type, int kind)
{
	int fd;

	load_from(kind);
	fd = prog_clone_try(prog, FUNC, type);
	load_end(fd, kind);
	REQUIRE(fd >= 0, "%s", strerror(-fd));
	return fd;
}

/* The object again: its programs count in memory of their own. */
static struct probe_progs *probes_as(int kind)
{
	struct probe_progs *skel;

	load_from(kind);
	skel = probe_progs__open_and_load();
	load_end(skel ? bpf_program__fd(skel->progs.count) : -1, kind);
	return skel;
}

static void test_function(void)
{
	struct call_record entry[KINDS], exit_[KINDS];
	struct attachment a[2];
	struct tt_reply r[KINDS];
	int kind;

	setup();
	for (kind = COMPILED; kind < KINDS; kind++) {
		a[0] = attach_func(OURS, clone_for(record->progs.record_entry, BPF_TRACE_FENTRY,
						   kind), &(uint64_t){ 0x1234 });
		a[1] = attach_func(OURS, clone_for(record->progs.record_exit, BPF_TRACE_FEXIT,
						   kind), &(uint64_t){ 0x5678 });
		memset(&record->bss->on_entry, 0, sizeof(struct call_record));
		memset(&record->bss->on_exit, 0, sizeof(struct call_record));
		r[kind] = tt_call(dev, CALL);
		CHECK_EQ(r[kind].different, 0, "results");
		memcpy(&entry[kind], &record->bss->on_entry, sizeof(struct call_record));
		memcpy(&exit_[kind], &record->bss->on_exit, sizeof(struct call_record));
		detach(&a[0]);
		detach(&a[1]);
	}
	CHECK_EQ(r[INTERPRETED].result, r[COMPILED].result, "result");
	CHECK_EQ(entry[INTERPRETED].calls, CALLS, "entries");
	CHECK_EQ(exit_[INTERPRETED].calls, CALLS, "exits");
	CHECK_EQ(exit_[INTERPRETED].ret, r[COMPILED].result, "result as seen at the exit");
	CHECK(!memcmp(&entry[INTERPRETED], &entry[COMPILED], sizeof(entry[0])), "at the entry");
	CHECK(!memcmp(&exit_[INTERPRETED], &exit_[COMPILED], sizeof(exit_[0])), "at the exit");
}

/* The kernel begins its stack elsewhere at each system call. */
static void relative_to_stack(struct seen_regs *seen)
{
	uint64_t sp = seen->regs[SP];
	int i;

	for (i = 0; i < PROBE_REGS; i++)
		if (seen->regs[i] - sp + STACK < 2 * STACK)
			seen->regs[i] -= sp;
}

/* The registers at an instruction. */
static void test_instruction(void)
{
	struct seen_regs seen[KINDS];
	struct tt_form_info form;
	struct probe_progs *skel;
	struct attachment a;
	int kind, jump;

	setup();
	form = form_named(dev, "tt_form_inc_3");
	for (jump = 0; jump < 2; jump++) {
		for (kind = COMPILED; kind < KINDS; kind++) {
			skel = probes_as(kind);
			REQUIRE(skel, "probe_progs: %s", strerror(errno));
			a = attach_insn(OURS, bpf_program__fd(skel->progs.regs_all), form.probe,
					jump ? 0 : TRAMP_ATTACH_F_NO_JUMP, 0);
			probe_flush();
			if (!vmtest_oracle())
				CHECK_EQ(attachment_query(&a).mode,
					 jump ? TRAMP_MODE_JUMP : TRAMP_MODE_INT3, "mode");
			form_run(dev, form.index, CALLS, 3);
			memcpy(&seen[kind], &skel->bss->seen[0], sizeof(seen[0]));
			relative_to_stack(&seen[kind]);
			detach(&a);
			probe_flush();
			probe_progs__destroy(skel);
		}
		CHECK_EQ(seen[INTERPRETED].hits, CALLS, "hits");
		CHECK(!memcmp(&seen[INTERPRETED], &seen[COMPILED], sizeof(seen[0])), "registers");
	}
}

static void test_others(void)
{
	static const struct {
		const char *what;
		uint32_t flags;
	} ways[] = { { "many", 0 }, { "many, at the return", TRAMP_MULTI_F_RETURN } };
	struct probe_progs *skel;
	struct attachment a;
	struct many *m;
	size_t i;

	setup();
	if (vmtest_oracle())
		ktap_skip("about our ways to attach");
	skel = probes_as(INTERPRETED);
	REQUIRE(skel, "probe_progs: %s", strerror(errno));
	for (i = 0; i < sizeof(ways) / sizeof(ways[0]); i++) {
		m = many_new();
		many_add_name(m, "tt_hot0");
		many_add_name(m, "tt_hot1");
		m->cookies[0] = m->cookies[1] = i;
		many_attach(m, bpf_program__fd(skel->progs.count), ways[i].flags);
		tt_call(dev, "tt_hot0 n=%d 1", CALLS);
		tt_call(dev, "tt_hot1 n=%d 1", CALLS);
		CHECK_EQ(skel->bss->counted[i], 2 * CALLS, "%s", ways[i].what);
		many_detach(m);
	}
	/* It may ask for the function, for all that is known. */
	a = attach_return_try(OURS, bpf_program__fd(skel->progs.count), "tt_hot0", 0, i);
	CHECK_EQ(a.err, -EOPNOTSUPP, "a return");
	CHECK_EQ(a.reply.refusal.reason, TRAMP_REASON_FUNC_IP, "a return");
	detach(&a);
	a = attach_insn(OURS, bpf_program__fd(skel->progs.count), ksym_addr("tt_hot0"), 0, i);
	attachment_expect(&a, TRAMP_MODE_KPROBE, TRAMP_REASON_FUNC_IP, "an entry");
	tt_call(dev, "tt_hot0 n=%d 1", CALLS);
	CHECK_EQ(skel->bss->counted[i], CALLS, "an entry");
	detach(&a);
	a = attach_insn(OURS, bpf_program__fd(skel->progs.ask_func_ip), ksym_addr("tt_hot0"), 0, 0);
	tt_call(dev, "tt_hot0 n=%d 1", CALLS);
	CHECK_EQ(skel->bss->func_ip, ksym_addr("tt_hot0"), "the function");
	detach(&a);
	probe_progs__destroy(skel);
}

static const struct ktap_test tests[] = {
	{ "function", test_function, 60 },
	{ "instruction", test_instruction, 60 },
	{ "others", test_others, 60 },
};

KTAP_MAIN(tests)
