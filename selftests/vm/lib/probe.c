// SPDX-License-Identifier: GPL-2.0
/*
 * Instructions, the optimiser, the forms of the test module: see probe.h.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <unistd.h>
#include "fixture.h"
#include "probe.h"
#include "selftests/vm/lib/probe_progs.skel.h"

#define OPTIMIZE "/sys/kernel/debug/trampoline/optimize"
#define KPROBES	"/sys/kernel/debug/kprobes/list"
/* The counter of syncs. */
#define WATCHED	(PROBE_COUNTERS - 1)

struct probe_progs *probe_skel;

void probe_setup(void)
{
	probe_skel = FIXTURE_LOAD(probe_progs);
	probe_skel->bss->only_pid = getpid();
}

void probe_flush(void)
{
	int err = vmtest_oracle() ? 0 : write_file(OPTIMIZE, "1");

	REQUIRE(!err, "%s: %s", OPTIMIZE, strerror(-err));
}

void probe_optimiser(bool on)
{
	int err = vmtest_oracle() ? 0 : write_file(OPTIMIZE, "%d", on);

	REQUIRE(!err, "%s: %s", OPTIMIZE, strerror(-err));
}

void function_tracer(const char *function)
{
	if (function) {
		REQUIRE(!write_file(TRACING "set_ftrace_filter", function), "set_ftrace_filter");
		REQUIRE(!write_file(TRACING "current_tracer", "function"), "current_tracer");
	} else {
		write_file(TRACING "current_tracer", "nop");
		write_file(TRACING "set_ftrace_filter", "\n");
		write_file(TRACING "trace", "\n");
	}
}

struct attachment probe_watch_calls(const char *func)
{
	return attach_insn(KERNEL, bpf_program__fd(probe_skel->progs.count_pid), ksym_addr(func), 0,
			   WATCHED);
}

struct attachment probe_watch_syncs(void)
{
	return probe_watch_calls(PROBE_SYNC);
}

uint64_t probe_watched(void)
{
	uint64_t n = probe_skel->bss->counted[WATCHED];

	probe_skel->bss->counted[WATCHED] = 0;
	return n;
}

void probe_many_files(void)
{
	struct rlimit limit = { 100000, 100000 };

	write_file("/proc/sys/fs/nr_open", "200000");
	write_file("/proc/sys/fs/file-max", "200000");
	REQUIRE(!setrlimit(RLIMIT_NOFILE, &limit), "RLIMIT_NOFILE: %s", strerror(errno));
}

int probe_explain(struct probe_func *f, uint64_t addr, const char *symbol, bool with_code)
{
	struct tramp_explain_code ex = { .size = sizeof(ex), .addr = addr };
	uint32_t insns = 256, code = 2048;

	memset(f, 0, sizeof(*f));
	if (symbol)
		snprintf(ex.symbol, sizeof(ex.symbol), "%s", symbol);
	for (;;) {
		f->insns = realloc(f->insns, insns * sizeof(*f->insns));
		f->code = realloc(f->code, code);
		REQUIRE(f->insns && f->code, "out of memory");
		ex.insns = (uintptr_t)f->insns;
		ex.nr_insns = insns;
		ex.code = with_code ? (uintptr_t)f->code : 0;
		ex.code_len = with_code ? code : 0;
		if (!ioctl(tramp_device(), TRAMP_IOC_EXPLAIN_CODE, &ex))
			break;
		if (errno != EMSGSIZE || (ex.nr_insns <= insns && ex.code_len <= code)) {
			int err = -errno;

			f->reason = ex.refusal.reason;
			probe_func_free(f);
			return err;
		}
		insns = ex.nr_insns > insns ? ex.nr_insns : insns;
		code = ex.code_len > code ? ex.code_len : code;
		/* The members that were written over are set anew. */
		ex.addr = addr;
		ex.module[0] = '\0';
		if (!symbol)
			ex.symbol[0] = '\0';
	}
	f->addr = ex.func_addr;
	f->size = ex.func_size;
	f->nr = ex.nr_insns;
	f->code_len = with_code ? ex.code_len : 0;
	memcpy(f->name, ex.symbol, sizeof(f->name));
	memcpy(f->module, ex.module, sizeof(f->module));
	return 0;
}

void probe_func_free(struct probe_func *f)
{
	free(f->insns);
	free(f->code);
	f->insns = NULL;
	f->code = NULL;
}

uint64_t probe_fixup_in(const char *symbol)
{
	struct probe_func f;
	uint64_t addr = 0;
	uint32_t i;
	int err = probe_explain(&f, 0, symbol, false);

	REQUIRE(!err, "EXPLAIN_CODE of %s: %s", symbol, strerror(-err));
	for (i = 0; i < f.nr && !addr; i++)
		if (f.insns[i].reason == TRAMP_REASON_INSN_FIXUP)
			addr = f.addr + f.insns[i].offset;
	probe_func_free(&f);
	REQUIRE(addr, "no instruction of %s has a fix-up", symbol);
	return addr;
}

uint64_t probe_behind_site(const char *symbol)
{
	struct probe_func f;
	uint64_t offset;
	uint32_t i = 2;

	REQUIRE(!probe_explain(&f, 0, symbol, false) && f.nr > 2, "%s", symbol);
	/* Or an ENDBR and the site. */
	while (i > 0 && !probe_is_entry(f.insns[i - 1].mode))
		i--;
	offset = f.insns[i].offset;
	probe_func_free(&f);
	return offset;
}

uint32_t probe_find_insns(const char *module, bool (*wanted)(const struct tramp_insn_info *insn),
			  uint64_t *addrs, uint32_t max)
{
	struct text_sym *syms;
	struct probe_func f;
	uint32_t nr = 0, k;
	size_t i, nr_syms;

	syms = text_symbols(&nr_syms);
	for (i = 0; i < nr_syms && nr < max; i++) {
		if (strcmp(syms[i].module, module) || probe_explain(&f, syms[i].addr, NULL, false))
			continue;
		for (k = 0; k < f.nr && nr < max; k++)
			if (wanted(&f.insns[k]))
				addrs[nr++] = f.addr + f.insns[k].offset;
		probe_func_free(&f);
	}
	free(syms);
	return nr;
}

/* --------------------------------------------------------- the test module -- */

int form_info(int fd, uint32_t index, struct tt_form_info *info)
{
	memset(info, 0, sizeof(*info));
	info->index = index;
	return ioctl(fd, TT_IOC_FORM_INFO, info) ? -errno : 0;
}

int probe_clone(const struct bpf_program *prog)
{
	int fd = bpf_prog_load(BPF_PROG_TYPE_KPROBE, bpf_program__name(prog), "GPL",
			       bpf_program__insns(prog), bpf_program__insn_cnt(prog), NULL);

	REQUIRE(fd >= 0, "a copy of %s: %s", bpf_program__name(prog), strerror(-fd));
	return fd;
}

struct tt_form_info form_named(int fd, const char *name)
{
	struct tt_form_info info;
	uint32_t i;

	for (i = 0; !form_info(fd, i, &info); i++)
		if (!strcmp(info.name, name))
			return info;
	ktap_die("no form %s", name);
}

static uint64_t run_form(int fd, uint32_t index, uint32_t times, uint64_t seed, bool scratch)
{
	struct tt_form_run run = { .index = index, .times = times };
	uint64_t sum = 0;
	int i;

	for (i = 0; i < 16; i++)
		run.regs.gpr[i] = rnd(&seed);
	/* Not the direction flag: the kernel's own jump kprobes run their handlers with it. */
	run.regs.flags = (rnd(&seed) | 0x200) & ~0x400ULL;
	for (i = 0; i < TT_FORM_WORDS; i++)
		run.memory[i] = run.data[i] = rnd(&seed);
	REQUIRE(!ioctl(fd, TT_IOC_FORM_RUN, &run), "form %u: %s", index, strerror(errno));
	CHECK_EQ(run.different, 0, "form %u: runs unlike the first", index);
	for (i = 0; i < 16; i++)
		if (scratch || (i != 10 && i != 11))
			sum = (sum << 5 | sum >> 59) + run.regs.gpr[i];
	for (i = 0; i < TT_FORM_WORDS; i++)
		sum = (sum << 5 | sum >> 59) + run.memory[i] + run.data[i];
	return sum ^ run.regs.flags;
}

uint64_t form_run(int fd, uint32_t index, uint32_t times, uint64_t seed)
{
	return run_form(fd, index, times, seed, true);
}

uint64_t form_run_entry(int fd, uint32_t index, uint32_t times, uint64_t seed)
{
	uint64_t first = run_form(fd, index, 1, seed, false);

	while (--times)
		CHECK_EQ(run_form(fd, index, 1, seed, false), first, "form %u: another result",
			 index);
	return first;
}

void judge(int fd, uint32_t what, const uint64_t *addrs, int32_t *results, uint32_t nr)
{
	uint32_t at, some;

	for (at = 0; at < nr; at += some) {
		struct tt_addrs a = { .what = what };

		some = nr - at < TT_MAX_ADDRS ? nr - at : TT_MAX_ADDRS;
		a.nr = some;
		a.addrs = (uintptr_t)(addrs + at);
		a.results = (uintptr_t)(results + at);
		REQUIRE(!ioctl(fd, TT_IOC_JUDGE, &a), "JUDGE %u: %s", what, strerror(errno));
	}
}

void kprobes_on(int fd, uint32_t what, const uint64_t *addrs, int32_t *results, uint32_t nr)
{
	struct tt_addrs a = { .what = what, .nr = nr, .addrs = (uintptr_t)addrs,
			      .results = (uintptr_t)results };

	REQUIRE(!ioctl(fd, TT_IOC_KPROBES_ON, &a), "KPROBES_ON: %s", strerror(errno));
}

void kprobes_off(int fd, uint64_t *hits, uint64_t *missed, uint64_t *regs, uint32_t nr)
{
	struct tt_addrs a = {
		.nr = nr, .hits = (uintptr_t)hits, .missed = (uintptr_t)missed,
		.regs = (uintptr_t)regs,
	};

	REQUIRE(!ioctl(fd, TT_IOC_KPROBES_OFF, &a), "KPROBES_OFF: %s", strerror(errno));
}

bool kprobe_is_jump(uint64_t addr)
{
	char *list = read_file(KPROBES), *line, *rest = list;
	bool yes = false;

	while ((line = strsep(&rest, "\n"))) {
		if (strtoull(line, NULL, 16) == addr && strstr(line, "[OPTIMIZED]"))
			yes = true;
	}
	free(list);
	return yes;
}

bool kprobe_becomes_jump(uint64_t addr, uint64_t ns)
{
	uint64_t start = now_ns();

	do {
		if (kprobe_is_jump(addr))
			return true;
		usleep(20000);
	} while (now_ns() - start < ns);
	return false;
}

/* The kernel says of a kprobe that it is a jump when it has queued it. So the text is looked at. */
void kprobes_settle(void)
{
	int fd = tt_open(), tries = 1000 * time_scale();
	uint64_t addr = form_named(fd, "tt_form_add_reg32_3").probe, hits, missed;
	uint8_t byte = 0;
	int32_t err;

	/* The file has kprobes of its own. */
	kprobes_on(fd, TT_KPROBE_COUNT, &addr, &err, 1);
	REQUIRE(!err, "a kprobe of the kernel: %s", strerror(err));
	while (byte != 0xe9 && tries--) {
		usleep(10000);
		text_read(fd, addr, &byte, 1);
	}
	CHECK(byte == 0xe9 || !kernel_is_debian(), "the kernel's kprobe is no jump");
	kprobes_off(fd, &hits, &missed, NULL, 1);
	close(fd);
}

int text_try(int fd, uint64_t addr, void *buf, uint64_t len)
{
	struct tt_text t = { .addr = addr, .len = len, .buf = (uintptr_t)buf };

	return ioctl(fd, TT_IOC_TEXT, &t) ? -errno : 0;
}

bool text_is_endbr(const uint8_t *code)
{
	return !memcmp(code, "\xf3\x0f\x1e\xfa", 4) || !memcmp(code, "\x66\x0f\x1f\x00", 4);
}

void text_read(int fd, uint64_t addr, void *buf, uint64_t len)
{
	int err = text_try(fd, addr, buf, len);

	REQUIRE(!err, "text at %#lx: %s", addr, strerror(-err));
}

void toggle(int fd, uint64_t times)
{
	struct tt_toggle t = { .times = times };

	REQUIRE(!ioctl(fd, TT_IOC_TOGGLE, &t), "TOGGLE: %s", strerror(errno));
}

static int fault_set(int fd, struct tt_fault *f)
{
	return ioctl(fd, TT_IOC_FAULT, f) ? -errno : 0;
}

int fault_possible(int fd)
{
	return fault_set(fd, &(struct tt_fault){});
}

void fault_needed(int fd)
{
	int err = fault_possible(fd);

	if (err)
		KERNEL_LACKS("allocations cannot be made to fail here: %s", strerror(-err));
}

void fault_begin(int fd, struct tt_fault f)
{
	int err = fault_set(fd, &f);

	REQUIRE(!err, "FAULT: %s", strerror(-err));
}

bool fault_end(int fd, uint64_t *where)
{
	struct tt_fault f = {};
	int err = fault_set(fd, &f);

	REQUIRE(!err, "FAULT: %s", strerror(-err));
	if (where)
		*where = f.where;
	return f.taken;
}

static int text_by_addr(const void *a, const void *b)
{
	const struct text_sym *x = a, *y = b;

	return x->addr < y->addr ? -1 : x->addr > y->addr;
}

/* A line of kallsyms, "ffffffff81000000 T name" or "... t name\t[module]", taken apart in place. */
static bool text_line(char *line, struct text_sym *s)
{
	char *end, *name, *module;

	s->addr = strtoull(line, &end, 16);
	if (end == line || end[0] != ' ' || !end[1] || end[2] != ' ' || !strchr("tTwW", end[1]))
		return false;
	s->type = end[1];
	name = end + 3;
	end = name + strcspn(name, "\t");
	module = *end ? end + 2 : end;
	*end = '\0';
	module[strcspn(module, "]")] = '\0';
	if (end - name >= TRAMP_SYM_LEN)
		name[TRAMP_SYM_LEN - 1] = '\0';
	s->name = name;
	s->module = module;
	return !ksym_is_label(name) && strncmp(module, "bpf", 3) &&
	       strcmp(module, "__builtin__kprobes") &&
	       strcmp(module, "__builtin__ftrace") && !ksym_is_gone(s->type, module, s->addr);
}

/* There are 100,000 and more: one block holds them and then the text, with all their names. */
struct text_sym *text_symbols(size_t *nr)
{
	char *text = read_file("/proc/kallsyms"), *rest, *line;
	size_t lines = 1, len = strlen(text);
	struct text_sym *syms;

	for (rest = text; (rest = strchr(rest, '\n')); rest++)
		lines++;
	syms = malloc(lines * sizeof(*syms) + len + 1);
	REQUIRE(syms, "out of memory");
	rest = memcpy(&syms[lines], text, len + 1);
	free(text);
	*nr = 0;
	while ((line = strsep(&rest, "\n")))
		*nr += text_line(line, &syms[*nr]);
	REQUIRE(*nr > 1000, "/proc/kallsyms has %zu functions", *nr);
	qsort(syms, *nr, sizeof(*syms), text_by_addr);
	return syms;
}

char *ambiguous_symbol(void)
{
	struct text_sym *syms;
	size_t nr, i, k;
	char *name;

	syms = text_symbols(&nr);
	for (i = 0; i < nr; i++) {
		if (syms[i].module[0] || syms[i].type != 't')
			continue;
		for (k = i + 1; k < nr && k < i + 20000; k++)
			if (!syms[k].module[0] && !strcmp(syms[i].name, syms[k].name))
				goto found;
	}
found:
	REQUIRE(i < nr, "no ambiguous name in this kernel");
	name = strdup(syms[i].name);
	REQUIRE(name, "out of memory");
	free(syms);
	return name;
}

/* ------------------------------------------------------------------ others -- */

uint64_t rnd(uint64_t *state)
{
	uint64_t z = (*state += 0x9e3779b97f4a7c15ULL);

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ULL;
	z = (z ^ z >> 27) * 0x94d049bb133111ebULL;
	return z ^ z >> 31;
}

uint64_t rnd_seed(void)
{
	const char *text = getenv("PROBE_SEED");
	uint64_t seed;

	if (text)
		seed = strtoull(text, NULL, 0);
	else if (getrandom(&seed, sizeof(seed), 0) != sizeof(seed))
		seed = now_ns();
	ktap_note("PROBE_SEED=%#lx", seed);
	return seed;
}

int env_int(const char *name, int otherwise)
{
	const char *text = getenv(name);

	return text ? atoi(text) : otherwise;
}

int time_scale(void)
{
	return env_int("TIME_SCALE", 1);
}

int short_form(int all, int few)
{
	return env_int("TEST_SHORT", 0) ? few : all;
}
