// SPDX-License-Identifier: GPL-2.0
/*
 * Fuzz target: detour buffers for any code, with any programs, anywhere.
 *
 * Input: the address (9 bytes) and the image's (9), which members of pt_regs are read
 * (4), what kind of kernel it is (2), a length for a buffer that is too short (2),
 * how many programs there are (1), for each its flags and which recursion counter it
 * has (1 each), how much of the code is executed out of line (1; 0: the whole
 * region), then the code.
 */
#include "../../kernel/x86/detour_image.h"
#include "../../kernel/x86/relocate.h"
#include "fuzz.h"

#define MAX_PROGS	8
#define MAX_CODE	40

enum { OLD_KERNEL = 1, NO_STATS = 2, RCU_LOCKS = 4, CALL_DEPTH = 8, SMAP = 16, FAR_PERCPU = 32,
       FAR_HELPERS = 64, FULL_PREEMPT = 128 };

struct job {
	struct tramp_x86_env env;
	struct tramp_x86_call calls[MAX_PROGS];
	struct tramp_x86_detour_req req;
	u64 addr;
	u32 too_short;
	u8 *code;
	u32 code_size;

	enum tramp_x86_err measured;
	struct tramp_x86_detour_out out;
	u32 call_off[2 * MAX_PROGS];
	u8 *image;
	u8 *starts;	/* one byte for each of the image: an instruction starts there */
};

static bool no(u64 addr, void *arg)
{
	(void)addr;
	(void)arg;
	return false;
}

static u32 nobody(u64 start, u64 end, u64 *where, void *arg)
{
	(void)start;
	(void)end;
	(void)where;
	(void)arg;
	return 0;
}

static const struct tramp_x86_world empty_world = { no, no, nobody, no };

static void set_env(struct job *j, u32 kind)
{
	u64 percpu = kind & FAR_PERCPU ? 0x123456789000ULL : 0x31000;
	u64 helpers = j->addr + (kind & FAR_HELPERS ? 0x100000000ULL : 0x100000);

	j->env = (struct tramp_x86_env){
		.preempt_count = percpu,
		.current_task = percpu + 8,
		.task_bpf_ctx = 0xb38,
		.trace_ctx_size = kind & OLD_KERNEL ? 8 : 16,
		.trace_ctx_cookie = kind & OLD_KERNEL ? 0 : 8,
		.stats_key = kind & NO_STATS ? 0 : helpers,
		.stats_enter = helpers + 0x100,
		.stats_exit = helpers + 0x200,
		.resched = kind & FULL_PREEMPT ? helpers + 0x300 : 0,
		.missed = helpers + 0x400,
		.rcu_read_lock = kind & RCU_LOCKS ? helpers + 0x500 : 0,
		.rcu_read_unlock = kind & RCU_LOCKS ? helpers + 0x600 : 0,
		.call_depth = percpu + 16,
		.has_call_depth = kind & CALL_DEPTH,
		.cs = 0x10,
		.ss = 0x18,
		.smap = kind & SMAP,
	};
}

static void set_programs(struct job *j, struct fuzz_input *in)
{
	u32 i;

	for (i = 0; i < j->req.nr_progs; i++) {
		u32 what = fuzz_take(in, 1);

		j->calls[i] = (struct tramp_x86_call){
			.func = j->addr + 0x200000 + 0x1000 * i,
			.insns = what & 0x40 ? 0xffffc90000001000ULL : 0,
			/* mostly those that a probe may have */
			.flags = (what & 7) | ((what & 0x38) == 0x38 ? TRAMP_X86_CALL_GUARDED : 0),
			.prog = 0xffff888000000000ULL + i,
			.missed_arg = 0xffff888000001000ULL + i,
			.active = 0x40000 + (what >> 7 ? 8 : 8 * i),
			.hits = 0x50000 + 8 * i,
			.cookie = 0x1122334455667788ULL * i,
		};
	}
}

/* Whether the code may be executed out of line, by what safety.h and relocate.h say. */
static bool can_copy(const struct job *j)
{
	struct tramp_x86_insn insn;
	enum tramp_x86_kind kind;
	u32 at;

	for (at = 0; at < j->req.len; at += insn.len) {
		struct tasm a = { 0 };

		if (!tramp_x86_decode(j->code + at, j->req.len - at, &insn) ||
		    tramp_x86_relocate(&a, &insn, j->req.ip + at) != TRAMP_X86_RELOC_OK)
			return false;
		kind = tramp_x86_classify(&insn);
		if (kind == TRAMP_X86_CALL || kind == TRAMP_X86_CALL_IND)
			return at + insn.len == j->req.len;
		if (!tramp_x86_falls_through(kind))
			return true;
	}
	return true;
}

static bool bad_flags(const struct job *j)
{
	u32 i, flags = 0;

	for (i = 0; i < j->req.nr_progs; i++)
		flags |= j->calls[i].flags;
	return flags & (TRAMP_X86_CALL_GUARDED | TRAMP_X86_CALL_SLEEPABLE);
}

static void measure(struct job *j)
{
	bool fine = j->req.len && tasm_fits_s32((s64)(j->req.ip + 1)) && !bad_flags(j) &&
		    can_copy(j);

	j->measured = tramp_x86_emit_detour(&j->req, NULL, 0, 0, &j->out);
	FUZZ_CHECK(j->measured == (fine ? TRAMP_X86_NO_SPACE : TRAMP_X86_BAD_REQUEST));
	FUZZ_CHECK(!j->out.size == !fine && j->out.size <= TRAMP_X86_MAX_IMAGE);
}

static enum tramp_x86_err emit(struct job *j, u32 len)
{
	struct tramp_x86_detour_out out = { .call_off = j->call_off };
	enum tramp_x86_err err;

	j->image = malloc(len ? len : 1);
	FUZZ_CHECK(j->image);
	memset(j->image, 0x5e, len);
	err = tramp_x86_emit_detour(&j->req, j->image, len, j->addr, &out);
	FUZZ_CHECK(out.size == j->out.size);
	j->out = out;
	return err;
}

/* Everything is instructions, and the places that are named are where some start. */
static void check_instructions(struct job *j)
{
	struct tramp_x86_insn insn;
	u32 off;

	for (off = 0; off < j->out.size; off += insn.len) {
		FUZZ_CHECK(tramp_x86_decode(j->image + off, j->out.size - off, &insn));
		j->starts[off] = 1;
		if (!off)
			FUZZ_CHECK(insn.len == 5);
	}
	FUZZ_CHECK(j->out.copy_off < j->out.size && j->starts[j->out.copy_off]);
	FUZZ_CHECK(j->out.copy_len && j->out.copy_off + j->out.copy_len <= j->out.size);
	FUZZ_CHECK(j->out.copy_off + j->out.copy_len == j->out.size ||
		   j->starts[j->out.copy_off + j->out.copy_len]);
}

static bool is_helper(const struct job *j, u64 to)
{
	const struct tramp_x86_env *e = &j->env;
	u32 i;

	for (i = 0; i < j->req.nr_progs; i++)
		if (to == j->calls[i].func)
			return true;
	return to == e->missed || (e->stats_key && (to == e->stats_enter || to == e->stats_exit)) ||
	       (e->resched && to == e->resched) ||
	       (e->rcu_read_lock && (to == e->rcu_read_lock || to == e->rcu_read_unlock));
}

/* Branches outside of the copy stay in the image, calls lead to programs and helpers. */
static void check_branches(const struct job *j)
{
	struct tramp_x86_insn insn;
	u32 off;

	for (off = 0; off < j->out.size; off += insn.len) {
		enum tramp_x86_kind kind;
		u64 to;

		tramp_x86_decode(j->image + off, j->out.size - off, &insn);
		if (off >= j->out.copy_off && off < j->out.copy_off + j->out.copy_len)
			continue;
		kind = tramp_x86_classify(&insn);
		to = tramp_x86_branch_target(&insn, j->addr + off);
		switch (kind) {
		case TRAMP_X86_CALL:
			FUZZ_CHECK(is_helper(j, to));
			break;
		case TRAMP_X86_JMP:
		case TRAMP_X86_JCC:
			FUZZ_CHECK(to - j->addr < j->out.size && j->starts[to - j->addr]);
			break;
		default:
			FUZZ_CHECK(kind == TRAMP_X86_PLAIN);
		}
	}
}

/* The copy is what relocate() makes of each instruction, and then the way back. */
static void check_copy(const struct job *j)
{
	u8 buf[TRAMP_X86_MAX_RELOCATED];
	u32 at = 0, off = j->out.copy_off, end = off + j->out.copy_len;
	struct tramp_x86_insn insn, last;
	enum tramp_x86_kind kind;

	do {
		struct tasm a = { .buf = buf, .len = sizeof(buf), .addr = j->addr + off };

		FUZZ_CHECK(tramp_x86_decode(j->code + at, j->req.len - at, &insn));
		FUZZ_CHECK(tramp_x86_relocate(&a, &insn, j->req.ip + at) == TRAMP_X86_RELOC_OK);
		FUZZ_CHECK(off + a.off <= end && !memcmp(j->image + off, buf, a.off));
		kind = tramp_x86_classify(&insn);
		at += insn.len;
		off += a.off;
	} while (at < j->req.len && tramp_x86_falls_through(kind));

	FUZZ_CHECK(tramp_x86_decode(j->image + off, end - off, &last) && off + last.len == end);
	if (kind == TRAMP_X86_CALL || kind == TRAMP_X86_CALL_IND ||
	    !tramp_x86_falls_through(kind)) {
		FUZZ_CHECK(last.opcode == 0xcc);
	} else {
		FUZZ_CHECK(tramp_x86_classify(&last) == TRAMP_X86_JMP);
		FUZZ_CHECK(tramp_x86_branch_target(&last, j->addr + off) == j->req.ip + j->req.len);
	}
}

static void check_calls(const struct job *j)
{
	struct tramp_x86_insn insn;
	u32 i, off;

	for (i = 0; i < 2 * j->req.nr_progs; i++) {
		off = j->call_off[i];
		if (!off) {
			FUZZ_CHECK(i % 2 && !j->env.stats_key);
			continue;
		}
		FUZZ_CHECK(off < j->out.size && j->starts[off]);
		FUZZ_CHECK(tramp_x86_decode(j->image + off, j->out.size - off, &insn));
		FUZZ_CHECK(tramp_x86_classify(&insn) == TRAMP_X86_CALL && insn.len == 5);
		FUZZ_CHECK(tramp_x86_branch_target(&insn, j->addr + off) == j->calls[i / 2].func);
	}
}

static void check_image(struct job *j)
{
	j->starts = calloc(1, j->out.size);
	FUZZ_CHECK(j->starts);
	check_instructions(j);
	check_branches(j);
	check_copy(j);
	check_calls(j);
	free(j->starts);
}

/* As the module does: measure, allocate, emit. */
static void run(struct job *j)
{
	u32 size, i;

	measure(j);
	if (j->measured != TRAMP_X86_NO_SPACE)
		return;
	size = j->out.size;
	switch (emit(j, size)) {
	case TRAMP_X86_OK:
		if (j->addr)	/* else operands are not computed */
			check_image(j);
		break;
	case TRAMP_X86_OUT_OF_REACH:
		for (i = 0; i < size; i++)
			FUZZ_CHECK(j->image[i] == 0xcc);
		break;
	default:
		FUZZ_CHECK(false);
	}
	free(j->image);

	FUZZ_CHECK(emit(j, j->too_short % size) == TRAMP_X86_NO_SPACE);
	for (i = 0; i < j->too_short % size; i++)
		FUZZ_CHECK(j->image[i] == 0x5e);
	free(j->image);
}

int LLVMFuzzerTestOneInput(const u8 *data, size_t size)
{
	struct fuzz_input in = { data, size };
	struct tramp_x86_verdict v;
	struct job j = { 0 };
	u32 kind, len;

	j.req.ip = fuzz_text(&in);
	j.addr = fuzz_near(&in, j.req.ip);
	j.req.regs = fuzz_take(&in, 4) & TRAMP_X86_REGS_ALL;
	kind = fuzz_take(&in, 2);
	j.too_short = fuzz_take(&in, 2);
	j.req.nr_progs = fuzz_take(&in, 1) % (MAX_PROGS + 1);
	set_env(&j, kind);
	set_programs(&j, &in);
	len = fuzz_take(&in, 1) % (TRAMP_X86_MAX_REGION + 1);

	j.code_size = in.size < MAX_CODE ? in.size : MAX_CODE;
	j.code = fuzz_exact(in.data, j.code_size);
	tramp_x86_check_region(j.req.ip, j.code, j.code_size, &empty_world, NULL, &v);
	if (len > j.code_size)
		len = j.code_size;
	j.req.len = len ? len : v.len;
	j.req.env = &j.env;
	j.req.code = j.code;
	j.req.progs = j.calls;

	run(&j);
	/* what is safe to jump over can be executed elsewhere */
	if (v.why == TRAMP_X86_SAFE && j.req.len == v.len && !bad_flags(&j) &&
	    tasm_fits_s32((s64)(j.req.ip + 1)))
		FUZZ_CHECK(j.measured == TRAMP_X86_NO_SPACE);
	fuzz_free(j.code, j.code_size);
	return 0;
}
