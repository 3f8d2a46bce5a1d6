// SPDX-License-Identifier: GPL-2.0
/*
 * Registers, both ways: what a program at a probe sees of them, and what the
 * probed code has of them afterwards.
 *
 * For every form of instruction (selftests/kmod/probe_forms.S), first, second and third in the
 * bytes that a jump covers. Without a probe, the test takes down what the function makes of
 * some inputs. With an int3 and with a jump at the same address it must come to the same
 * registers, flags and memory. The program must have seen the same in both, and under the
 * kernel's own kprobe.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>
#include <linux/bpf.h>
#include "fixture.h"
#include "probe.h"
#include "selftests/vm/lib/probe_progs.skel.h"

#define MAX_FORMS	PROBE_SEEN
#define INPUTS		6
#define TIMES		3	/* runs for each input */

/* Members of struct pt_regs, in its order. */
static const char *const reg_name[PROBE_REGS] = {
	"r15", "r14", "r13", "r12", "bp", "bx", "r11", "r10", "r9", "r8", "ax", "cx", "dx", "si",
	"di", "orig_ax", "ip", "cs", "flags", "sp", "ss",
};
enum { REG_BP = 4, REG_ORIG_AX = 15, REG_IP = 16, REG_CS, REG_FLAGS, REG_SP, REG_SS };
/* Where gpr[] of the test module has them. */
static const int gpr_of[15] = { 15, 14, 13, 12, 5, 3, 11, 10, 9, 8, 0, 1, 2, 6, 7 };

static struct tt_form_info forms[MAX_FORMS];
static int nr_forms, dev;
static struct tt_form_run *plain;	/* [form][input], without a probe */

static struct tt_form_run *plain_of(int form, int input)
{
	return &plain[form * INPUTS + input];
}

/* Random values; flags none, all, and as they come. Interrupts mostly on. */
static void make_input(struct tt_form_run *run, int form, int input)
{
	static const uint64_t flags[3] = { 0x200, ~0x200ULL, ~0ULL };
	uint64_t state = 0x1234 + form / 3 * 1000 + input;
	int i;

	memset(run, 0, sizeof(*run));
	run->index = form;
	run->times = TIMES;
	for (i = 0; i < 16; i++)
		run->regs.gpr[i] = rnd(&state);
	run->regs.flags = input < 3 ? flags[input] : rnd(&state) | 0x200;
	for (i = 0; i < TT_FORM_WORDS; i++) {
		run->memory[i] = rnd(&state);
		run->data[i] = rnd(&state);
	}
}

static bool dead(int form)
{
	return forms[form].flags & TT_FORM_F_DEAD;
}

static void run_form_times(struct tt_form_run *run, int form, int input, int times)
{
	make_input(run, form, input);
	run->times = times;
	REQUIRE(!ioctl(dev, TT_IOC_FORM_RUN, run), "%s: %s", forms[form].name, strerror(errno));
}

static void run_form(struct tt_form_run *run, int form, int input)
{
	run_form_times(run, form, input, TIMES);
}

static void setup(void)
{
	int form, input;

	dev = fixture_open(NULL);
	probe_setup();
	probe_many_files();
	pin_to_cpu(0);
	/* An unoptimised kprobe of the kernel has all registers as the trap found them. */
	write_file("/proc/sys/debug/kprobes-optimization", "0");
	while (nr_forms < MAX_FORMS && !form_info(dev, nr_forms, &forms[nr_forms]))
		nr_forms++;
	REQUIRE(nr_forms > 400 && nr_forms < MAX_FORMS, "%d forms", nr_forms);
	plain = calloc(nr_forms * INPUTS, sizeof(*plain));
	REQUIRE(plain, "out of memory");
	for (form = 0; form < nr_forms; form++)
		for (input = 0; input < INPUTS && !dead(form); input++) {
			run_form(plain_of(form, input), form, input);
			CHECK_EQ(plain_of(form, input)->different, 0, "%s: without a probe",
				 forms[form].name);
		}
}

static void teardown(void)
{
	write_file("/proc/sys/debug/kprobes-optimization", "1");
}

/* -------------------------------------------- what becomes of the function --- */

static bool same_words(const char *what, const char *name, const __u64 *a, const __u64 *b, int nr)
{
	int i;

	for (i = 0; i < nr; i++)
		if (!CHECK(a[i] == b[i], "%s: %s[%d] is %#llx with a probe, %#llx without", what, name,
			   i, a[i], b[i]))
			return false;
	return true;
}

static void compare_run(const struct tt_form_run *run, const struct tt_form_run *without,
			const char *what)
{
	CHECK_EQ(run->different, 0, "%s: runs that did not come out as the first", what);
	CHECK(run->regs.flags == without->regs.flags, "%s: flags are %#llx with a probe, %#llx without",
	      what, run->regs.flags, without->regs.flags);
	same_words(what, "gpr", run->regs.gpr, without->regs.gpr, 16);
	same_words(what, "memory", run->memory, without->memory, TT_FORM_WORDS);
	same_words(what, "data", run->data, without->data, TT_FORM_WORDS);
}

static const char *return_thunk(void)
{
	return prog_return_thunk(bpf_program__fd(probe_skel->progs.count));
}

/* Calls and returns are counted. */
static bool has_call_depth(void)
{
	return strstr(return_thunk(), "call_depth");
}

/* Where returns go through a thunk that does more than count, `ret n` works where it stands. */
static bool is_fixed_ret(int form)
{
	return !strncmp(forms[form].name, "tt_form_ret_n_", 14) && return_thunk()[0] &&
	       !has_call_depth();
}

/* The kernel's kprobes would take it for a plain return. */
static bool refused_ret(const struct attachment *p, int form, uint64_t addr)
{
	bool refused = p->err == -EOPNOTSUPP && p->reply.refusal.reason == TRAMP_REASON_INSN_FIXED;

	if (p->how == KERNEL || addr != forms[form].form || !is_fixed_ret(form))
		return false;
	CHECK(refused, "%s: not refused", forms[form].name);
	return refused;
}

/*
 * Attach; the kernel cannot probe a call through memory, and is let off. Anything
 * else that fails ends the test.
 */
static struct attachment attach_form(enum how how, struct bpf_program *prog, int form,
				     uint64_t addr, uint32_t flags)
{
	struct attachment p = attach_insn_try(how, bpf_program__fd(prog), addr, flags, form);

	if ((p.how == KERNEL && p.err == -EOPNOTSUPP) || refused_ret(&p, form, addr))
		return p;
	REQUIRE(!p.err, "attach to %s (%s): %s, %s %s", forms[form].name,
		p.how == KERNEL ? "kernel" : "ours", strerror(-p.err),
		tramp_reason_name(p.reply.refusal.reason), p.reply.refusal.detail);
	return p;
}

/* Probes on all forms at once; run all, each with all inputs. */
static void all_forms(const char *form_text, uint32_t flags, bool on_form)
{
	struct attachment *p = calloc(nr_forms, sizeof(*p));
	static struct tt_form_run run;
	char what[160];
	int form, input;

	REQUIRE(p, "out of memory");
	for (form = 0; form < nr_forms; form++) {
		p[form].fd = -1;
		if (forms[form].expect == TT_EXPECT_REFUSED || (on_form && dead(form)))
			continue;
		p[form] = attach_form(OURS, probe_skel->progs.count, form,
				      on_form ? forms[form].form : forms[form].probe, flags);
	}
	probe_flush();
	for (form = 0; form < nr_forms; form++) {
		if (dead(form) || p[form].fd < 0)
			continue;
		probe_skel->bss->counted[form] = 0;
		for (input = 0; input < INPUTS; input++) {
			snprintf(what, sizeof(what), "%s, %s, input %d", form_text, forms[form].name,
				 input);
			run_form(&run, form, input);
			compare_run(&run, plain_of(form, input), what);
		}
		CHECK_EQ(probe_skel->bss->counted[form], INPUTS * TIMES, "%s, %s: hits", form_text,
			 forms[form].name);
		if (!vmtest_oracle()) {
			struct tramp_query q = attachment_query(&p[form]);

			CHECK_EQ(q.hits, INPUTS * TIMES, "%s, %s: hits as the module counts them",
				 form_text, forms[form].name);
			CHECK_EQ(q.misses, 0, "%s, %s: missed", form_text, forms[form].name);
		}
	}
	for (form = 0; form < nr_forms && !on_form; form++) {
		static const uint32_t reason[] = {
			[TT_EXPECT_JUMP] = TRAMP_REASON_NONE,
			[TT_EXPECT_CALL] = TRAMP_REASON_REGION_CALL,
			[TT_EXPECT_STUCK] = TRAMP_REASON_REGION_INSN,
			[TT_EXPECT_INDIRECT] = TRAMP_REASON_REGION_INDIRECT,
			[TT_EXPECT_TARGET] = TRAMP_REASON_REGION_TARGET,
		};

		if (p[form].fd < 0)
			continue;
		if (is_fixed_ret(form))
			forms[form].expect = TT_EXPECT_STUCK;
		if (forms[form].expect == TT_EXPECT_KPROBE)
			attachment_expect(&p[form], TRAMP_MODE_KPROBE, TRAMP_REASON_INSN_FIXED,
					  form_text);
		else if (flags & TRAMP_ATTACH_F_NO_JUMP)
			attachment_expect(&p[form], TRAMP_MODE_INT3, TRAMP_REASON_OPT_OFF,
					  form_text);
		else
			attachment_expect(&p[form],
					  forms[form].expect == TT_EXPECT_JUMP ? TRAMP_MODE_JUMP :
										 TRAMP_MODE_INT3,
					  reason[forms[form].expect], form_text);
	}
	for (form = 0; form < nr_forms; form++)
		detach(&p[form]);
	free(p);
	/* And without again: nothing of the probes stays behind. */
	for (form = 0; form < nr_forms; form++) {
		if (dead(form))
			continue;
		run_form(&run, form, 3);
		compare_run(&run, plain_of(form, 3), "afterwards");
	}
}

static void test_forms_int3(void)
{
	setup();
	all_forms("int3", TRAMP_ATTACH_F_NO_JUMP, false);
	teardown();
}

static void test_forms_jump(void)
{
	setup();
	all_forms("jump", 0, false);
	teardown();
}

/* On the form itself, not where its region begins, whatever comes of that. */
static void test_forms_itself(void)
{
	setup();
	all_forms("int3 on the form", TRAMP_ATTACH_F_NO_JUMP, true);
	all_forms("jump from the form", 0, true);
	teardown();
}

/*
 * The kernel's kprobe gets these wrong: it would pop the return address and leave cs on the stack,
 * wait for an interrupt with interrupts off, or abort to elsewhere.
 */
static const char *const kprobe_wrong[] = {
	"tt_form_hlt_1", "tt_form_sti_hlt_1", "tt_form_sti_mwait_1", "tt_form_xbegin_1",
	"tt_form_lret_1",
};

/* An instruction that only works where it stands is refused, or left to the kernel's kprobe. */
static void test_forms_fixed(void)
{
	struct attachment p;
	size_t i;
	int form;

	setup();
	if (vmtest_oracle())
		ktap_skip("the kernel has its own opinion");
	for (form = 0; form < nr_forms; form++) {
		if (forms[form].expect != TT_EXPECT_REFUSED)
			continue;
		p = attach_insn_try(OURS, bpf_program__fd(probe_skel->progs.count),
				    forms[form].form, TRAMP_ATTACH_F_NO_KPROBE, 0);
		CHECK_EQ(-p.err, EOPNOTSUPP, "%s", forms[form].name);
		CHECK_EQ(p.reply.refusal.reason, TRAMP_REASON_INSN_FIXED, "%s: %s",
			 forms[form].name, tramp_reason_name(p.reply.refusal.reason));
		CHECK_EQ(p.reply.refusal.addr, forms[form].form, "%s: where", forms[form].name);
		detach(&p);
	}
	for (i = 0; i < sizeof(kprobe_wrong) / sizeof(kprobe_wrong[0]); i++) {
		p = attach_insn_try(OURS, bpf_program__fd(probe_skel->progs.count),
				    form_named(dev, kprobe_wrong[i]).form, 0, 0);
		CHECK_EQ(-p.err, EOPNOTSUPP, "%s, as a kprobe", kprobe_wrong[i]);
		CHECK_EQ(p.reply.refusal.reason, TRAMP_REASON_INSN_FIXED, "%s, as a kprobe: %s",
			 kprobe_wrong[i], tramp_reason_name(p.reply.refusal.reason));
		detach(&p);
	}
	teardown();
}

/* ------------------------------------------------ what the program sees --- */

struct view {
	__u64 regs[PROBE_REGS];
	__u64 entry_sp;
	bool looked;
};

/* Run every form once with a probe; what the program saw goes to @views. */
static void look(struct view *views, uint32_t flags, int input)
{
	struct attachment *p = calloc(nr_forms, sizeof(*p));
	struct tt_form_run run;
	int form;

	REQUIRE(p, "out of memory");
	for (form = 0; form < nr_forms; form++)
		if (!dead(form))
			p[form] = attach_form(OURS, probe_skel->progs.regs_all, form,
					      forms[form].probe, flags);
	probe_flush();
	memset(probe_skel->bss->seen, 0, sizeof(probe_skel->bss->seen));
	for (form = 0; form < nr_forms; form++) {
		if (dead(form))
			continue;
		make_input(&run, form, input);
		run.times = 1;
		REQUIRE(!ioctl(dev, TT_IOC_FORM_RUN, &run), "%s: %s", forms[form].name,
			strerror(errno));
		views[form].looked = p[form].fd >= 0;
		CHECK_EQ(probe_skel->bss->seen[form].hits, views[form].looked, "%s: hits",
			 forms[form].name);
		memcpy(views[form].regs, probe_skel->bss->seen[form].regs,
		       sizeof(views[form].regs));
		views[form].entry_sp = run.entry_sp;
	}
	for (form = 0; form < nr_forms; form++)
		if (!dead(form))
			detach(&p[form]);
	free(p);
}

/* The same with kprobes of the kernel: what a BPF program there gets is what their handler got. */
static void look_kernel(struct view *views, int input)
{
	static uint64_t addr[MAX_FORMS], hits[MAX_FORMS], missed[MAX_FORMS];
	static uint64_t regs[MAX_FORMS][PROBE_REGS];
	static int32_t err[MAX_FORMS];
	static int of[MAX_FORMS];
	struct tt_form_run run;
	int form, nr = 0, i;

	for (form = 0; form < nr_forms; form++)
		if (!dead(form)) {
			of[nr] = form;
			addr[nr++] = forms[form].probe;
		}
	/* Our int3s are gone from the text when the optimiser has been at it. */
	probe_flush();
	kprobes_on(dev, TT_KPROBE_NO_JUMP, addr, err, nr);
	for (i = 0; i < nr; i++) {
		make_input(&run, of[i], input);
		run.times = 1;
		REQUIRE(!ioctl(dev, TT_IOC_FORM_RUN, &run), "%s: %s", forms[of[i]].name,
			strerror(errno));
		views[of[i]].entry_sp = run.entry_sp;
	}
	kprobes_off(dev, hits, missed, &regs[0][0], nr);
	for (i = 0; i < nr; i++) {
		/* A call through memory is beyond it. */
		CHECK(!err[i] || err[i] == EOPNOTSUPP, "%s: the kernel's kprobe: %s",
		      forms[of[i]].name, strerror(err[i]));
		views[of[i]].looked = !err[i];
		CHECK_EQ(hits[i], !err[i], "%s: hits of the kernel's kprobe", forms[of[i]].name);
		memcpy(views[of[i]].regs, regs[i], sizeof(regs[i]));
	}
}

/* The stack begins elsewhere in each run: take out the difference. */
static __u64 level(const struct view *v, int reg)
{
	__u64 value = v->regs[reg];

	return value - v->entry_sp + 0x8000 < 0x10000 ? value - v->entry_sp : value;
}

static void compare_views(const struct view *a, const struct view *b, const char *a_name,
			  const char *b_name)
{
	int form, i;

	for (form = 0; form < nr_forms; form++) {
		if (!a[form].looked || !b[form].looked)
			continue;
		for (i = 0; i < PROBE_REGS; i++)
			CHECK(level(&a[form], i) == level(&b[form], i),
			      "%s: %s is %#llx in %s, %#llx in %s", forms[form].name, reg_name[i],
			      a[form].regs[i], a_name, b[form].regs[i], b_name);
	}
}

/* Where nothing ran between, it is known what the registers must be. */
static void compare_truth(const struct view *v, const char *name, int input)
{
	struct tt_form_run in;
	int form, i;

	for (form = 0; form < nr_forms; form++) {
		const __u64 *regs = v[form].regs;

		if (!v[form].looked)
			continue;
		CHECK_EQ(regs[REG_IP], forms[form].probe + 1, "%s in %s", forms[form].name, name);
		CHECK_EQ(regs[REG_CS], 0x10, "%s in %s", forms[form].name, name);
		CHECK_EQ(regs[REG_SS], 0x18, "%s in %s", forms[form].name, name);
		CHECK_EQ(regs[REG_ORIG_AX], ~0ULL, "%s in %s", forms[form].name, name);
		if (!(forms[form].flags & TT_FORM_F_BARE))
			continue;
		make_input(&in, form, input);
		for (i = 0; i < REG_ORIG_AX; i++) {
			__u64 want = in.regs.gpr[gpr_of[i]];

			if (i == REG_BP)
				want = v[form].entry_sp;
			/* bx, r12 and r8 are the module's. */
			if (i != 3 && i != 5 && i != 9)
				CHECK(regs[i] == want, "%s in %s: %s is %#llx, not %#llx",
				      forms[form].name, name, reg_name[i], regs[i], want);
		}
		CHECK_EQ(regs[REG_SP], v[form].entry_sp, "%s in %s", forms[form].name, name);
		/* Of those flags that a test may choose. */
		CHECK_EQ(regs[REG_FLAGS] & 0x240fd5, (in.regs.flags & 0x240ed5),
			 "%s in %s", forms[form].name, name);
	}
}

static void test_seen(void)
{
	static struct view int3[MAX_FORMS], jump[MAX_FORMS], kernel[MAX_FORMS];
	int input;

	setup();
	for (input = 1; input < INPUTS; input += 2) {
		look(int3, TRAMP_ATTACH_F_NO_JUMP, input);
		look(jump, 0, input);
		look_kernel(kernel, input);
		compare_truth(kernel, "the kernel's kprobe", input);
		compare_truth(int3, "int3", input);
		compare_truth(jump, "jump", input);
		compare_views(int3, kernel, "int3", "the kernel's kprobe");
		compare_views(jump, int3, "jump", "int3");
	}
	teardown();
}

/* A program that reads few registers gets those few right. */
static void test_few(void)
{
	static const int asked[] = { 14, REG_IP, REG_SP };
	struct seen_regs few, all;
	struct tt_form_run run;
	struct attachment p[2];
	int form = 0, jump, i;

	setup();
	while (form < nr_forms && strcmp(forms[form].name, "tt_form_add_mem_1"))
		form++;
	REQUIRE(form < nr_forms, "no such form");
	for (jump = 0; jump < 2; jump++) {
		uint32_t flags = jump ? 0 : TRAMP_ATTACH_F_NO_JUMP;

		memset(probe_skel->bss->seen, 0, 2 * sizeof(probe_skel->bss->seen[0]));
		/* Alone, then beside one that reads them all. */
		p[0] = attach_insn(OURS, bpf_program__fd(probe_skel->progs.regs_few),
				   forms[form].probe, flags, 0);
		probe_flush();
		run_form(&run, form, 3);
		few = probe_skel->bss->seen[0];
		CHECK_EQ(few.hits, TIMES, "hits, alone");
		memset(&probe_skel->bss->seen[0], 0, sizeof(few));
		p[1] = attach_insn(OURS, bpf_program__fd(probe_skel->progs.regs_all),
				   forms[form].probe, flags, 1);
		probe_flush();
		run_form(&run, form, 3);
		compare_run(&run, plain_of(form, 3), "few");
		all = probe_skel->bss->seen[1];
		CHECK_EQ(probe_skel->bss->seen[0].hits, TIMES, "hits, beside another");
		CHECK_EQ(all.hits, TIMES, "hits of the one that reads all");
		for (i = 0; i < 3; i++) {
			CHECK(asked[i] == REG_SP || few.regs[asked[i]] == all.regs[asked[i]],
			      "%s is %#llx for few, %#llx for all", reg_name[asked[i]],
			      few.regs[asked[i]], all.regs[asked[i]]);
			CHECK_EQ(probe_skel->bss->seen[0].regs[asked[i]], all.regs[asked[i]], "%s",
				 reg_name[asked[i]]);
		}
		/* The sooner there, the first to go. */
		detach(&p[0]);
		probe_flush();
		run_form(&run, form, 4);
		compare_run(&run, plain_of(form, 4), "all alone");
		detach(&p[1]);
	}
	teardown();
}

/*
 * At the function's entry, where its image runs the programs. Three things mean nothing there
 * and may change: r10, r11 and the flags of arithmetic. So no form that begins with a branch.
 */
static void test_entry(void)
{
	/* CF, PF, AF, ZF, SF, OF */
	enum { ARITHMETIC = 0x8d5 };
	static struct view ours[4], kernel[4];
	struct tt_form_run run;
	int i, how;

	setup();
	for (i = 0; i < 4; i++) {
		/* Forms of a kind each: plain, jump, call, return. */
		static const char *const names[4] = { "tt_form_inc_1", "tt_form_jmp32_1",
						      "tt_form_call32_1", "tt_form_ret_1" };
		struct view *views[2] = { &ours[i], &kernel[i] };
		uint64_t site;
		int form = 0, k;

		while (form < nr_forms && strcmp(forms[form].name, names[i]))
			form++;
		REQUIRE(form < nr_forms, "%s", names[i]);
		site = forms[form].func;
		/* Behind ENDBR, if there is one. */
		text_read(dev, site, &k, sizeof(k));
		if (k == (int)0xfa1e0ff3)
			site += 4;
		for (how = OURS; how <= KERNEL; how++) {
			struct attachment p = attach_insn(
				how, bpf_program__fd(probe_skel->progs.regs_all), site, 0, how);

			if (how == OURS)
				attachment_expect(&p, TRAMP_MODE_DIRECT, TRAMP_REASON_NONE,
						  "entry");
			memset(probe_skel->bss->seen, 0, 2 * sizeof(probe_skel->bss->seen[0]));
			/* Not in one request: they may change differently each time. */
			for (k = 0; k < TIMES; k++) {
				run_form_times(&run, form, 3, 1);
				run.regs.gpr[10] = plain_of(form, 3)->regs.gpr[10];
				run.regs.gpr[11] = plain_of(form, 3)->regs.gpr[11];
				run.regs.flags &= ~ARITHMETIC;
				run.regs.flags |= plain_of(form, 3)->regs.flags & ARITHMETIC;
				compare_run(&run, plain_of(form, 3), names[i]);
			}
			CHECK_EQ(probe_skel->bss->seen[how].hits, TIMES, "%s: hits", names[i]);
			memcpy(views[how]->regs, probe_skel->bss->seen[how].regs,
			       sizeof(views[how]->regs));
			views[how]->entry_sp = run.entry_sp;
			detach(&p);
		}
		CHECK_EQ(ours[i].regs[REG_IP], site + 1, "%s: ip", names[i]);
		for (k = 0; k < PROBE_REGS; k++) {
			/* To count the call changes flags that nobody relies on at an entry. */
			uint64_t lost = k == REG_FLAGS && has_call_depth() ? ARITHMETIC : 0;

			CHECK((level(&ours[i], k) & ~lost) == (level(&kernel[i], k) & ~lost),
			      "%s: %s is %#llx in ours, %#llx in the kernel's", names[i], reg_name[k],
			      ours[i].regs[k], kernel[i].regs[k]);
		}
	}
	teardown();
}

static const struct ktap_test tests[] = {
	{ "forms_int3", test_forms_int3, 120 },
	{ "forms_jump", test_forms_jump, 120 },
	{ "forms_itself", test_forms_itself, 120 },
	{ "forms_fixed", test_forms_fixed, 60 },
	{ "seen", test_seen, 200 },
	{ "few", test_few, 60 },
	{ "entry", test_entry, 60 },
};

KTAP_MAIN(tests)
