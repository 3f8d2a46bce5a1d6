// SPDX-License-Identifier: GPL-2.0
/*
 * Values: what programs attached by us see of arguments and results, held
 * against known values and against what the kernel's own attachment shows.
 *
 * The test calls every function of the test module with values made up from its prototype (the
 * module tells it). It does so once with our entry and exit programs and once with the
 * kernel's, where the kernel can attach at all: 6.1 stops at six slots. Both must have seen the
 * known values, in every byte that belongs to an argument. The function must have returned what
 * it returns untraced, which says that its arguments arrived and nothing else was harmed.
 */
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <linux/bpf.h>
#include "../../kmod/trampoline_test.h"
#include "fixture.h"
#include "record.h"
#include "selftests/vm/lib/record.skel.h"

/* More than we support, so that what is beyond can be tried too. */
#define MAX_SLOTS	16

/* One function with the values it is called with and what that must look like. */
struct row {
	char name[64];
	char spec[256];
	char values[512];
	int nr_slots;
	uint64_t slot[MAX_SLOTS];
	uint64_t mask[MAX_SLOTS];	/* bytes that belong to the argument */
	int ret_size;			/* 0: void */
	bool ret_known;			/* the checksum */
	bool packed;			/* has a packed struct */
	bool big;			/* has a struct beyond 16 bytes */
	uint64_t ret;
};

static struct record *skel;
static int dev;

/* ------------------------------------------------- a row from its SPEC ---- */

static uint64_t bytes_mask(int size)
{
	return size == 8 ? ~0ULL : (1ULL << (size * 8)) - 1;
}

static uint64_t extend(uint64_t value, int size, bool is_signed)
{
	value &= bytes_mask(size);
	if (is_signed && size < 8 && value >> (size * 8 - 1))
		value |= ~bytes_mask(size);
	return value;
}

/* Values with every byte different and, in turn, both signs. */
static uint64_t next_value(uint64_t *seed, int size)
{
	*seed = *seed * 6364136223846793005ULL + 1442695040888963407ULL;
	return (*seed ^ *seed >> 29) & bytes_mask(size);
}

/* One value of the call: into the argument's memory image, the text, the checksum. */
static void add_value(struct row *r, uint64_t *sum, uint64_t *seed, const char *word,
		      int slot, int *offset)
{
	bool is_signed = word[0] == 's';
	int size = word[1] - '0', shift;
	uint64_t v = extend(next_value(seed, size), size, is_signed);

	*offset = (*offset + size - 1) / size * size;
	shift = *offset % 8 * 8;
	slot += *offset / 8;
	if (slot < MAX_SLOTS) {
		r->slot[slot] |= (v & bytes_mask(size)) << shift;
		r->mask[slot] |= bytes_mask(size) << shift;
	}
	*offset += size;
	*sum = TT_MIX(*sum, v);
	sprintf(r->values + strlen(r->values), " 0x%llx", (unsigned long long)v);
}

static void make_row(struct row *r, const char *line)
{
	char text[256], *word, *rest = text, *member;
	uint64_t sum = 0, seed = 1;
	bool ret_signed;

	memset(r, 0, sizeof(*r));
	sscanf(line, "%63s %255[^\n]", r->name, r->spec);
	for (member = r->name; *member; member++)
		seed = seed * 131 + *member;
	strcpy(text, r->spec);
	word = strsep(&rest, " ");
	r->ret_known = word[0] != '!';
	word += !r->ret_known;
	ret_signed = word[0] == 's';
	r->ret_size = word[0] == 'v' ? 0 : word[1] - '0';
	while ((word = strsep(&rest, " "))) {
		int offset = 0;

		if (word[0] != '{') {
			add_value(r, &sum, &seed, word, r->nr_slots, &offset);
		} else {
			word++;
			word[strcspn(word, "}")] = '\0';
			while ((member = strsep(&word, ",")))
				if (!strcmp(member, "packed"))
					r->packed = true;
				else
					add_value(r, &sum, &seed, member, r->nr_slots, &offset);
			r->big |= offset > 16;
		}
		r->nr_slots += (offset + 7) / 8;
	}
	/* A void target leaves the checksum where its caller finds it. */
	if (r->ret_known)
		r->ret = r->ret_size ? extend(sum, r->ret_size, ret_signed) : sum;
}

/* ----------------------------------------------------------- comparisons -- */

static void check_record(const struct row *r, const char *who, const struct call_record *rec,
			 const struct tt_reply *reply, bool is_exit)
{
	uint64_t ip = ksym_addr(r->name);
	int i;

	CHECK_EQ(rec->calls, 1, "%s: %s: calls seen", r->name, who);
	CHECK_EQ(rec->nr_slots, r->nr_slots, "%s: %s: bpf_get_func_arg_cnt()", r->name, who);
	for (i = 0; i < RECORD_SLOTS; i++) {
		if (i < r->nr_slots) {
			CHECK_EQ(rec->slot_err[i], 0, "%s: %s: slot %d", r->name, who, i);
			CHECK_EQ(rec->slot[i] & r->mask[i], r->slot[i], "%s: %s: slot %d", r->name,
				 who, i);
		} else {
			CHECK_EQ(rec->slot_err[i], -EINVAL, "%s: %s: slot %d of %d", r->name, who,
				 i, r->nr_slots);
		}
	}
	/* The kernel reports the function, with or without its ENDBR. */
	CHECK(rec->ip == ip || (!ip && rec->ip), "%s: %s: bpf_get_func_ip() %#llx, symbol at %#llx",
	      r->name, who, (unsigned long long)rec->ip, (unsigned long long)ip);
	if (!is_exit)
		return;
	CHECK_EQ(rec->ret_err, 0, "%s: %s: bpf_get_func_ret()", r->name, who);
	if (r->ret_size)
		CHECK_EQ(rec->ret & bytes_mask(r->ret_size),
			 reply->result & bytes_mask(r->ret_size), "%s: %s: result", r->name, who);
}

static struct tt_reply call_row(const struct row *r)
{
	struct tt_reply reply;

	memset(&skel->bss->on_entry, 0, sizeof(struct call_record));
	memset(&skel->bss->on_exit, 0, sizeof(struct call_record));
	reply = tt_call(dev, "%s%s", r->name, r->values);
	CHECK_EQ(reply.calls, 1, "%s", r->name);
	if (r->ret_known)
		CHECK_EQ(reply.result, r->ret, "%s: what the traced function returned", r->name);
	return reply;
}

struct seen {
	struct call_record on_entry, on_exit;
	struct tt_reply reply;
	bool attached;
};

/* Entry and exit programs on a function, one call, and what they saw of it. */
static struct seen observe(const struct row *r, enum how how)
{
	const char *who = how == OURS ? "ours" : "kernel's";
	int entry = prog_clone_try(skel->progs.record_entry, r->name, BPF_TRACE_FENTRY);
	int exit_ = prog_clone_try(skel->progs.record_exit, r->name, BPF_TRACE_FEXIT);
	uint64_t cookies[2] = { 0x1111222233334444ULL, 0x5555666677778888ULL };
	struct seen seen = {};
	struct attachment a, b;

	REQUIRE(entry >= 0 && exit_ >= 0, "%s: programs for it: %s, %s", r->name, strerror(-entry),
		strerror(-exit_));
	a = attach_func_try(how, entry, &cookies[0]);
	b = attach_func_try(how, exit_, &cookies[1]);
	if (!a.err && !b.err) {
		seen.attached = true;
		seen.reply = call_row(r);
		seen.on_entry = skel->bss->on_entry;
		seen.on_exit = skel->bss->on_exit;
		check_record(r, who, &seen.on_entry, &seen.reply, false);
		check_record(r, who, &seen.on_exit, &seen.reply, true);
		CHECK_EQ(seen.on_entry.cookie, cookies[0], "%s: %s", r->name, who);
		CHECK_EQ(seen.on_exit.cookie, cookies[1], "%s: %s", r->name, who);
	} else if (how == OURS) {
		ktap_fail("%s: attach: entry %s, exit %s (%s, %s)", r->name, strerror(-a.err),
			  strerror(-b.err), tramp_reason_name(a.reply.refusal.reason),
			  tramp_reason_name(b.reply.refusal.reason));
	}
	detach(&a);
	detach(&b);
	close(entry);
	close(exit_);
	return seen;
}

/* The two saw the same of the same call, in the bytes that count. */
static void compare(const struct row *r, const struct seen *ours, const struct seen *kernels)
{
	int i;

	for (i = 0; i < r->nr_slots; i++) {
		CHECK_EQ(ours->on_entry.slot[i] & r->mask[i],
			 kernels->on_entry.slot[i] & r->mask[i], "%s: entry slot %d", r->name, i);
		CHECK_EQ(ours->on_exit.slot[i] & r->mask[i],
			 kernels->on_exit.slot[i] & r->mask[i], "%s: exit slot %d", r->name, i);
	}
	CHECK_EQ(ours->on_exit.ret_err, kernels->on_exit.ret_err, "%s", r->name);
	CHECK_EQ(ours->on_exit.nr_slots, kernels->on_exit.nr_slots, "%s", r->name);
	CHECK_EQ(ours->on_entry.ip, kernels->on_entry.ip, "%s: bpf_get_func_ip()", r->name);
	if (r->ret_size)
		CHECK_EQ(ours->on_exit.ret & bytes_mask(r->ret_size),
			 kernels->on_exit.ret & bytes_mask(r->ret_size), "%s: result", r->name);
}

/* --------------------------------------------------------------- subjects -- */

static void setup(void)
{
	dev = fixture_open(NULL);
	skel = FIXTURE_LOAD(record);
}

/* Calls @fn for every function of the module that can be traced. */
static int for_each_row(bool (*wanted)(const struct row *r), void (*fn)(const struct row *r))
{
	static char list[TT_REPLY_MAX];
	char *line, *rest = list;
	struct row row;
	int n = 0;

	REQUIRE(!tt_command(dev, list, sizeof(list), "list"), "list");
	while ((line = strsep(&rest, "\n"))) {
		if (!*line)
			continue;
		make_row(&row, line);
		if (row.nr_slots > TRAMP_MAX_SLOTS || row.big || row.packed || !wanted(&row))
			continue;
		fn(&row);
		n++;
	}
	return n;
}

static int compared, known_only;

static void compare_row(const struct row *r)
{
	struct seen ours = observe(r, OURS);
	struct seen kernels = observe(r, KERNEL);

	if (!kernels.attached) {
		CHECK(r->nr_slots > 6, "%s: the kernel cannot attach with %d slots?", r->name,
		      r->nr_slots);
		known_only++;
		return;
	}
	if (!ours.attached)
		return;
	compare(r, &ours, &kernels);
	compared++;
}

static bool is_checksum(const struct row *r)
{
	return r->ret_known && strncmp(r->name, "tt_many", 7) && strcmp(r->name, "tt_tail");
}

static bool has_struct(const struct row *r)
{
	return strchr(r->spec, '{');
}

static bool scalar_row(const struct row *r) { return is_checksum(r) && !has_struct(r); }
static bool struct_row(const struct row *r) { return is_checksum(r) && has_struct(r); }
static bool any_row(const struct row *r) { return is_checksum(r); }

/* At least @min functions that are @wanted, and @min_compared of them held against the kernel's. */
static void compare_rows(bool (*wanted)(const struct row *r), int min, int min_compared)
{
	int n;

	setup();
	n = for_each_row(wanted, compare_row);
	ktap_note("%d functions: %d as the kernel's, %d with known values only", n, compared,
		  known_only);
	CHECK(n >= min, "%d functions are too few", n);
	CHECK(compared >= min_compared, "%d functions compared with the kernel are too few",
	      compared);
}

static void test_scalars(void)
{
	compare_rows(scalar_row, 25, 18);
}

static void test_structs(void)
{
	compare_rows(struct_row, 18, 10);
}

/* Mode ops: a callback of ftrace's puts the arguments together, registers and stack. */
static void beside_kernel(const struct row *r)
{
	int holder = prog_clone_try(skel->progs.count_entry, r->name, BPF_TRACE_FENTRY);
	int entry = prog_clone_try(skel->progs.record_entry, r->name, BPF_TRACE_FENTRY);
	uint64_t cookie = 0x1111222233334444ULL;
	struct attachment k, a;
	struct tt_reply reply;

	REQUIRE(holder >= 0 && entry >= 0, "%s: programs for it: %s, %s", r->name,
		strerror(-holder), strerror(-entry));
	k = attach_func_try(KERNEL, holder, NULL);
	if (!k.err) {
		a = attach_func(OURS, entry, &cookie);
		CHECK_EQ(a.reply.mode, TRAMP_MODE_FTRACE_OPS, "%s: mode %s", r->name,
			 tramp_mode_name(a.reply.mode));
		reply = call_row(r);
		check_record(r, "beside the kernel's", &skel->bss->on_entry, &reply, false);
		CHECK_EQ(skel->bss->on_entry.cookie, cookie, "%s", r->name);
		detach(&a);
		compared++;
	}
	detach(&k);
	close(entry);
	close(holder);
}

static void test_beside_kernel(void)
{
	if (vmtest_oracle())
		ktap_skip("about a mode of ours");
	setup();
	if (!(tramp_module().features & TRAMP_FEAT_FTRACE_OPS))
		ktap_skip("no mode ops here");
	for_each_row(any_row, beside_kernel);
	ktap_note("%d functions", compared);
	CHECK(compared >= 28, "%d functions are too few", compared);
}

/*
 * Direct access to the context: instructions made to measure, r2 = ctx[i] for
 * each slot and the result, stored in a map.
 */
#define INSN(c, d, s, o, i) \
	((struct bpf_insn){ .code = (c), .dst_reg = (d), .src_reg = (s), .off = (o), .imm = (i) })
#define DIRECT_CALLS (MAX_SLOTS)

/* The verifier lets programs read 12 slots, so no result behind 12 arguments. */
static bool reads_ret(const struct row *r, bool is_exit)
{
	return is_exit && r->ret_size && r->nr_slots < RECORD_SLOTS;
}

static int direct_prog(const struct row *r, int map, bool is_exit)
{
	struct bpf_insn insn[3 * MAX_SLOTS + 16];
	struct func_btf f = func_btf(r->name);
	LIBBPF_OPTS(bpf_prog_load_opts, opts,
		    .expected_attach_type = is_exit ? BPF_TRACE_FEXIT : BPF_TRACE_FENTRY,
		    .attach_btf_id = f.id, .attach_btf_obj_fd = f.obj_fd);
	int n = 0, i, slots = r->nr_slots + reads_ret(r, is_exit);

	insn[n++] = INSN(BPF_ALU64 | BPF_MOV | BPF_X, BPF_REG_6, BPF_REG_1, 0, 0);
	insn[n++] = INSN(BPF_LD | BPF_DW | BPF_IMM, BPF_REG_7, BPF_PSEUDO_MAP_VALUE, 0, map);
	insn[n++] = INSN(0, 0, 0, 0, 0);
	for (i = 0; i < slots; i++) {
		insn[n++] = INSN(BPF_LDX | BPF_MEM | BPF_DW, BPF_REG_2, BPF_REG_6, i * 8, 0);
		insn[n++] = INSN(BPF_STX | BPF_MEM | BPF_DW, BPF_REG_7, BPF_REG_2, i * 8, 0);
	}
	insn[n++] = INSN(BPF_ALU64 | BPF_MOV | BPF_K, BPF_REG_2, 0, 0, 1);
	insn[n++] = INSN(BPF_STX | BPF_ATOMIC | BPF_DW, BPF_REG_7, BPF_REG_2, DIRECT_CALLS * 8,
			 BPF_ADD);
	insn[n++] = INSN(BPF_ALU64 | BPF_MOV | BPF_K, BPF_REG_0, 0, 0, 0);
	insn[n++] = INSN(BPF_JMP | BPF_EXIT, 0, 0, 0, 0);
	return bpf_prog_load(BPF_PROG_TYPE_TRACING, "direct", "GPL", insn, n, &opts);
}

static int direct_map;

static void read_direct(uint64_t *values)
{
	uint32_t zero = 0;

	REQUIRE(!bpf_map_lookup_elem(direct_map, &zero, values), "map: %s", strerror(errno));
}

/* Attach entry or exit program one way, call, read: true if it could be attached. */
static bool observe_direct(const struct row *r, enum how how, bool is_exit, uint64_t *values)
{
	uint64_t zeroes[MAX_SLOTS + 1] = {};
	int fd = direct_prog(r, direct_map, is_exit), i;
	uint32_t zero = 0;
	struct tt_reply reply;
	struct attachment a;

	REQUIRE(fd >= 0, "%s: program with direct access: %s", r->name, strerror(-fd));
	a = attach_func_try(how, fd, NULL);
	close(fd);
	if (a.err) {
		CHECK(how == KERNEL && r->nr_slots > 6, "%s: attach: %s", r->name,
		      strerror(-a.err));
		return false;
	}
	REQUIRE(!bpf_map_update_elem(direct_map, &zero, zeroes, 0), "map: %s", strerror(errno));
	reply = call_row(r);
	read_direct(values);
	detach(&a);
	CHECK_EQ(values[DIRECT_CALLS], 1, "%s: calls", r->name);
	for (i = 0; i < r->nr_slots; i++)
		CHECK_EQ(values[i] & r->mask[i], r->slot[i], "%s: %s: ctx[%d]", r->name,
			 is_exit ? "exit" : "entry", i);
	if (reads_ret(r, is_exit))
		CHECK_EQ(values[r->nr_slots] & bytes_mask(r->ret_size),
			 reply.result & bytes_mask(r->ret_size), "%s: ctx[%d], the result", r->name,
			 r->nr_slots);
	return true;
}

static void direct_row(const struct row *r)
{
	uint64_t ours[MAX_SLOTS + 1], kernels[MAX_SLOTS + 1];
	int is_exit, i;

	for (is_exit = 0; is_exit < 2; is_exit++) {
		if (!observe_direct(r, OURS, is_exit, ours))
			continue;
		/* The kernel's detaching is slow, on -rt very much so: one of the two will do. */
		if (is_exit || kernel_is_rt() || !observe_direct(r, KERNEL, is_exit, kernels))
			continue;
		compared++;
		for (i = 0; i < r->nr_slots; i++)
			CHECK_EQ(ours[i] & r->mask[i], kernels[i] & r->mask[i], "%s: ctx[%d]",
				 r->name, i);
	}
}

static void test_direct_access(void)
{
	int n;

	setup();
	direct_map = bpf_map_create(BPF_MAP_TYPE_ARRAY, "direct", 4, (MAX_SLOTS + 1) * 8, 1, NULL);
	REQUIRE(direct_map >= 0, "map: %s", strerror(-direct_map));
	n = for_each_row(any_row, direct_row);
	ktap_note("%d functions, %d compared with the kernel", n, compared);
	CHECK(n >= 45, "%d functions are too few", n);
}

/* The results that are not checksums: negative, constant, bool, enum. */
static void test_results(void)
{
	static const struct {
		const char *call;
		int slots, ret_size;
		uint64_t arg, ret;
	} calls[] = {
		{ "tt_int0", 0, 4, 0, (uint64_t)-12345 },
		{ "tt_bool 1", 1, 1, 1, 0 },
		{ "tt_bool 0", 1, 1, 0, 1 },
		{ "tt_enum 1", 1, 4, 1, 0x7fff0000 },
		{ "tt_enum 2", 1, 4, 2, 1 },
		{ "tt_identity -1", 1, 8, -1, (uint64_t)-1 },
		{ "tt_identity -2147483649", 1, 8, -2147483649LL, (uint64_t)-2147483649LL },
		{ "tt_identity 0x8000000000000000", 1, 8, 1ULL << 63, 1ULL << 63 },
		{ "tt_short 0xffffffff80000000", 1, 8, 0xffffffff80000000ULL,
		  0xffffffff80000000ULL },
		{ "tt_extable 0xfffffffffffff000", 1, 8, 0xfffffffffffff000ULL,
		  (uint64_t)-EFAULT },
		{ "tt_loop_head 1000", 1, 8, 1000, 77 },
		{ "tt_cold 2", 1, 8, 2, 7 },
		{ "tt_cold 1", 1, 8, 1, 0x5555 + 4 },
		{ "tt_indirect 5", 2, 8, 5, 7 },
	};
	struct row row;
	size_t i;

	setup();
	for (i = 0; i < sizeof(calls) / sizeof(calls[0]); i++) {
		struct seen seen[2];
		int how, last = calls[i].slots - 1;

		memset(&row, 0, sizeof(row));
		row.nr_slots = calls[i].slots;
		row.ret_size = calls[i].ret_size;
		sscanf(calls[i].call, "%63s%511[^\n]", row.name, row.values);
		if (last >= 0) {
			row.mask[last] = bytes_mask(calls[i].ret_size);
			row.slot[last] = calls[i].arg & row.mask[last];
		}
		for (how = OURS; how <= KERNEL; how++) {
			seen[how] = observe(&row, how);
			REQUIRE(seen[how].attached, "%s: not attached", row.name);
			CHECK_EQ(seen[how].reply.result, calls[i].ret, "%s", calls[i].call);
		}
		compare(&row, &seen[OURS], &seen[KERNEL]);
	}
}

/* ------------------------------------ the kernel's own test functions ------ */

struct kernel_call {
	const char *func;
	int nr;
	uint64_t arg[6];
	uint64_t mask[6];
	uint64_t ret;
};

#define B1 0xffULL
#define B2 0xffffULL
#define B4 0xffffffffULL
#define B8 (~0ULL)

static const struct kernel_call kernel_calls[] = {
	{ "bpf_fentry_test1", 1, { 1 }, { B4 }, 2 },
	{ "bpf_fentry_test2", 2, { 2, 3 }, { B4, B8 }, 5 },
	{ "bpf_fentry_test3", 3, { 4, 5, 6 }, { B1, B4, B8 }, 15 },
	{ "bpf_fentry_test4", 4, { 7, 8, 9, 10 }, { B8, B1, B4, B8 }, 34 },
	{ "bpf_fentry_test5", 5, { 11, 12, 13, 14, 15 }, { B8, B8, B2, B4, B8 }, 65 },
	{ "bpf_fentry_test6", 6, { 16, 17, 18, 19, 20, 21 }, { B8, B8, B2, B4, B8, B8 }, 111 },
	{ "bpf_fentry_test7", 1, { 0 }, { B8 }, 0 },
	/* A pointer to the caller's stack. */
	{ "bpf_fentry_test8", 1, { 0 }, { 0 }, 0 },
};

static void test_kernel_functions(void)
{
	size_t i;
	int how;

	setup();
	skel->bss->only_pid = getpid();
	for (i = 0; i < sizeof(kernel_calls) / sizeof(kernel_calls[0]); i++) {
		const struct kernel_call *c = &kernel_calls[i];
		struct call_record seen[2][2];
		int slot;

		for (how = OURS; how <= KERNEL; how++) {
			int entry = prog_clone(skel->progs.record_entry, c->func, BPF_TRACE_FENTRY);
			int exit_ = prog_clone(skel->progs.record_exit, c->func, BPF_TRACE_FEXIT);
			struct attachment a = attach_func(how, entry, NULL);
			struct attachment b = attach_func(how, exit_, NULL);
			struct call_record *rec = seen[how];
			int e;

			memset(&skel->bss->on_entry, 0, sizeof(struct call_record));
			memset(&skel->bss->on_exit, 0, sizeof(struct call_record));
			CHECK(!run_fentry_tests(entry), "%s: BPF_PROG_TEST_RUN: the functions' results "
			      "are wrong", c->func);
			rec[0] = skel->bss->on_entry;
			rec[1] = skel->bss->on_exit;
			detach(&a);
			detach(&b);
			close(entry);
			close(exit_);
			for (e = 0; e < 2; e++) {
				CHECK_EQ(rec[e].calls, 1, "%s: calls", c->func);
				CHECK_EQ(rec[e].nr_slots, c->nr, "%s: slots", c->func);
				CHECK_EQ(rec[e].ip, ksym_addr(c->func), "%s: ip", c->func);
				for (slot = 0; slot < c->nr; slot++)
					CHECK_EQ(rec[e].slot[slot] & c->mask[slot], c->arg[slot],
						 "%s: %s slot %d", c->func, e ? "exit" : "entry",
						 slot);
			}
			CHECK_EQ((uint32_t)rec[1].ret, c->ret, "%s: result", c->func);
		}
		CHECK_EQ((uint32_t)seen[OURS][1].ret, (uint32_t)seen[KERNEL][1].ret, "%s", c->func);
		CHECK_EQ(seen[OURS][0].ip, seen[KERNEL][0].ip, "%s: ip", c->func);
	}
}

/* fmod_ret where the kernel lists the function as modifiable (not 6.1 without error injection). */
static void test_modify_return(void)
{
	struct bpf_test_run_opts run = { .sz = sizeof(run) };
	uint32_t retval[2];
	int how, fd;

	setup();
	skel->bss->only_pid = getpid();
	fd = prog_clone_try(skel->progs.record_mod, "bpf_modify_return_test", BPF_MODIFY_RETURN);
	if (fd < 0)
		ktap_skip("the verifier refuses fmod_ret on bpf_modify_return_test here: no "
			    "CONFIG_FUNCTION_ERROR_INJECTION");
	close(fd);
	for (how = OURS; how <= KERNEL; how++) {
		struct attachment a;

		fd = prog_clone(skel->progs.record_mod, "bpf_modify_return_test",
				BPF_MODIFY_RETURN);
		skel->bss->mod_result = -7;
		memset(&skel->bss->on_mod, 0, sizeof(struct call_record));
		a = attach_func(how, fd, NULL);
		run.retval = 0;
		CHECK(!bpf_prog_test_run_opts(fd, &run), "%s", strerror(errno));
		retval[how] = run.retval;
		detach(&a);
		close(fd);
		CHECK_EQ(skel->bss->on_mod.calls, 1, "calls");
		CHECK_EQ((uint32_t)skel->bss->on_mod.slot[0], 1, "first argument");
	}
	CHECK_EQ(retval[OURS], retval[KERNEL], "what the caller got");
}

static const struct ktap_test tests[] = {
	{ "scalars", test_scalars, 300 },
	{ "structs", test_structs, 300 },
	{ "beside_kernel", test_beside_kernel, 300 },
	{ "direct_access", test_direct_access, 300 },
	{ "results", test_results, 120 },
	{ "kernel_functions", test_kernel_functions, 120 },
	{ "modify_return", test_modify_return, 60 },
};

KTAP_MAIN(tests)
