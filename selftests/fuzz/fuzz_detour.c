// SPDX-License-Identifier: GPL-2.0
/*
 * Fuzz target: detour buffers for any code, with any programs, anywhere.
 *
 * Input: the address (9 bytes) and the image's (9), which members of pt_regs are read (4). Then
 * what kind of kernel it is (2), and what is wrong with it (1, or 5). Then a length for a buffer
 * that is too short (2). How many programs there are (1), for each its flags and what is special
 * about it (1 each). Then how much of the code is executed out of line (1; 0: the whole
 * region), and the code.
 */
#include "../../kernel/x86/detour_image.h"
#include "../../kernel/x86/relocate.h"
#include "opinion.h"
#include "paths.h"

#define MAX_PROGS	8	/* mostly, for the time that it takes */
#define MAX_CODE	40
#define ON_REGS		(TRAMP_X86_CALL_COOKIE | TRAMP_X86_CALL_IP | TRAMP_X86_CALL_NARGS)

struct job {
	struct tramp_x86_env env;
	struct tramp_x86_call calls[TRAMP_X86_MAX_PROGS + 1];
	struct tramp_x86_detour_req req;
	u64 addr;
	u32 too_short;
	u8 *code;
	u32 code_size;

	enum tramp_x86_err measured;
	struct tramp_x86_detour_out out;
	u32 *call_off;		/* two for each program, and no more */
	u8 *image;
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

static void set_programs(struct job *j, struct fuzz_input *in)
{
	u32 i, flags, what;

	for (i = 0; i < j->req.nr_progs; i++) {
		/* an input has no more than some: the rest are like the last */
		if (i < MAX_PROGS) {
			flags = fuzz_take(in, 1);
			what = fuzz_take(in, 1);
		}
		if ((what & FUZZ_PROG_RAW) != FUZZ_PROG_RAW)
			flags &= ON_REGS;
		j->calls[i] = fuzz_program(&j->env, j->addr, i, flags, what);
	}
}

/* The code out of line, by what safety.h, relocate.h and detour_image.h say. */
struct copy {
	bool fine;	/* there can be one, at some address */
	bool near;	/* all of it reaches what it refers to */
	u32 reloc, at;	/* else why, and where */
};

/* @addr: where it begins, 0: anywhere */
static struct copy look_at_copy(const struct job *j, u64 addr)
{
	struct tasm a = { .addr = addr };
	struct copy copy = { .near = true };
	struct tramp_x86_insn insn;
	enum tramp_x86_kind kind;
	u32 at, reloc;

	for (at = 0; at < j->req.len; at += insn.len) {
		if (!tramp_x86_decode(j->code + at, j->req.len - at, &insn)) {
			copy.at = at;
			return copy;
		}
		opinion_check(&insn, j->req.ip + at);
		reloc = tramp_x86_relocate(&a, &insn, j->req.ip + at, &j->env);
		if (reloc && !copy.reloc) {
			copy.reloc = reloc;
			copy.at = at;
		}
		if (reloc && reloc != TRAMP_X86_RELOC_REACH)
			return copy;
		kind = tramp_x86_classify(&insn);
		if (tramp_x86_is_call(kind) && at + insn.len < j->req.len) {
			copy.at = at;
			return copy;
		}
		if (tramp_x86_is_call(kind) || !tramp_x86_falls_through(kind))
			break;
	}
	if (at >= j->req.len)
		tasm_branch(&a, TASM_JMP, j->req.ip + j->req.len);
	copy.near = !a.out_of_reach;
	copy.fine = true;
	return copy;
}

/* Whether the programs can be called, by what fentry_image.h and detour_image.h say. */
static bool can_run(const struct job *j)
{
	u32 i;

	if (j->req.regs & ~TRAMP_X86_REGS_ALL || j->req.nr_progs > TRAMP_X86_MAX_PROGS)
		return false;
	if (j->req.nr_progs && (!fuzz_env_fine(&j->env) || j->env.nmi_count <= 0))
		return false;
	for (i = 0; i < j->req.nr_progs; i++) {
		if (j->calls[i].flags & ~ON_REGS || !j->calls[i].func)
			return false;
		if (j->calls[i].flags & (TRAMP_X86_CALL_COOKIE | TRAMP_X86_CALL_IP) &&
		    !fuzz_trace_ctx_fine(&j->env))
			return false;
	}
	return true;
}

static void measure(struct job *j)
{
	struct copy copy = look_at_copy(j, 0);
	bool can = j->req.len && j->req.len <= TRAMP_X86_MAX_REGION &&
		   tasm_fits_s32((s64)(j->req.ip + 1)) && can_run(j);
	bool fine = can && copy.fine;

	j->measured = tramp_x86_emit_detour(&j->req, NULL, 0, 0, &j->out);
	FUZZ_CHECK(j->measured == (fine ? TRAMP_X86_NO_SPACE : TRAMP_X86_BAD_REQUEST));
	FUZZ_CHECK(!j->out.size == !fine && j->out.size <= TRAMP_X86_MAX_IMAGE);
	FUZZ_CHECK(j->out.reloc == (can ? copy.reloc : 0));
	FUZZ_CHECK(fine || j->out.reloc_at == (can ? copy.at : 0));
}

static enum tramp_x86_err emit(struct job *j, u32 len)
{
	struct tramp_x86_detour_out out;
	enum tramp_x86_err err;

	memset(&out, 0x5e, sizeof(out));
	out.call_off = j->call_off = fuzz_offsets(2 * j->req.nr_progs);
	j->image = malloc(len ? len : 1);
	FUZZ_CHECK(j->image);
	memset(j->image, 0x5e, len);
	err = tramp_x86_emit_detour(&j->req, j->image, len, j->addr, &out);
	FUZZ_CHECK(out.size == j->out.size);
	j->out = out;
	return err;
}

static void end(struct job *j)
{
	free(j->image);
	free(j->call_off);
}

/* Out of reach is a reason only if something is. */
static void check_reach(const struct job *j, enum tramp_x86_err err)
{
	struct copy copy = look_at_copy(j, j->addr ? j->addr + j->out.copy_off : 0);
	bool far = j->addr && j->req.nr_progs && fuzz_helpers_far(&j->env, j->addr);

	FUZZ_CHECK(err == (copy.near && !far ? TRAMP_X86_OK : TRAMP_X86_OUT_OF_REACH));
	FUZZ_CHECK(j->out.reloc == copy.reloc);
	FUZZ_CHECK(!copy.reloc || j->out.reloc_at == copy.at);
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
		FUZZ_CHECK(tramp_x86_relocate(&a, &insn, j->req.ip + at, &j->env) ==
			   TRAMP_X86_RELOC_OK);
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

/* Where there are thunks, nothing in the copy branches as it should not. */
static void check_thunks(const struct job *j, u32 off, u32 end)
{
	struct tramp_x86_insn insn;
	enum tramp_x86_kind kind;

	for (; off < end; off += insn.len) {
		FUZZ_CHECK(tramp_x86_decode(j->image + off, end - off, &insn));
		kind = tramp_x86_classify(&insn);
		FUZZ_CHECK(!j->env.return_thunk || j->env.has_call_depth || kind != TRAMP_X86_RET);
		FUZZ_CHECK(!j->env.has_indirect_thunks ||
			   (kind != TRAMP_X86_JMP_IND && kind != TRAMP_X86_CALL_IND));
	}
}

/* Behind the saved flags interrupts go off; an NMI is counted, and taken away in the end. */
static void check_context(const struct job *j)
{
	static const struct {
		u8 opcode, extension;
	} want[] = {
		{ 0x9c, 0 }, { 0xfc, 0 }, { 0xfa, 0 }, { 0x81, 0 }, { 0x81, 5 }, { 0x9d, 0 },
	};
	u32 off, i = 0, clis = 0, clds = 0, clacs = 0, nr = sizeof(want) / sizeof(*want);
	struct tramp_x86_insn insn;

	for (off = 0; j->req.nr_progs && off < j->out.copy_off; off += insn.len) {
		const u8 *end;

		FUZZ_CHECK(tramp_x86_decode(j->image + off, j->out.copy_off - off, &insn));
		end = j->image + off + insn.len;
		clis += !insn.map && insn.opcode == 0xfa;
		clds += !insn.map && insn.opcode == 0xfc;
		clacs += insn.len == 3 && !memcmp(insn.bytes, "\x0f\x01\xca", 3);
		/* C code is called with AC and DF clear */
		if (tramp_x86_classify(&insn) == TRAMP_X86_CALL)
			FUZZ_CHECK(clds == 1 && clacs == j->env.smap);
		if (i == nr || insn.map || insn.opcode != want[i].opcode ||
		    (insn.opcode == 0x81 && (j->image[off] != 0x65 ||
		     memcmp(end - 4, &j->env.nmi_count, 4))))
			continue;
		if (insn.opcode == 0x81)
			FUZZ_CHECK((insn.bytes[insn.modrm_off] >> 3 & 7) == want[i].extension);
		i++;
	}
	FUZZ_CHECK(!j->req.nr_progs ||
		   (i == nr && clis == 1 && clds == 1 && clacs == j->env.smap));
}

static void check_image(struct job *j)
{
	u32 copy = j->out.copy_off, end = copy + j->out.copy_len;
	struct image img = {
		.env = &j->env, .calls = j->calls, .nr = j->req.nr_progs,
		.bytes = j->image, .size = j->out.size, .addr = j->addr,
	};
	struct paths paths = {
		.img = &img, .ip = j->req.ip + 1, .regs = j->req.regs,
		.stop = copy, .stop_end = end,
	};

	image_instructions(&img);
	FUZZ_CHECK(img.size > 5 && !memchr(img.starts + 1, 1, 4) && img.starts[5]);
	FUZZ_CHECK(copy < end && end <= img.size && img.starts[copy]);
	FUZZ_CHECK(end == img.size || img.starts[end]);
	image_branches(&img, copy, end);
	image_calls(&img, j->call_off);
	check_copy(j);
	check_thunks(j, copy, end);
	check_context(j);
	paths_walk(&paths);
	image_free(&img);
}

/* As the module does: measure, allocate, emit. */
static void run(struct job *j)
{
	enum tramp_x86_err err;
	u32 size, i;

	measure(j);
	if (j->measured != TRAMP_X86_NO_SPACE)
		return;
	size = j->out.size;
	err = emit(j, size);
	check_reach(j, err);
	if (err == TRAMP_X86_OK && j->addr)	/* else operands are not computed */
		check_image(j);
	for (i = 0; err == TRAMP_X86_OUT_OF_REACH && i < size; i++)
		FUZZ_CHECK(j->image[i] == 0xcc);
	end(j);

	/* a buffer that is too long ends in int3s */
	if (emit(j, size + 7) == TRAMP_X86_OK)
		for (i = size; i < size + 7; i++)
			FUZZ_CHECK(j->image[i] == 0xcc);
	end(j);

	FUZZ_CHECK(emit(j, j->too_short % size) == TRAMP_X86_NO_SPACE);
	for (i = 0; i < j->too_short % size; i++)
		FUZZ_CHECK(j->image[i] == 0x5e);
	end(j);
}

int LLVMFuzzerTestOneInput(const u8 *data, size_t size)
{
	struct fuzz_input in = { data, size };
	struct tramp_x86_verdict v;
	struct job j = { 0 };
	const struct tramp_x86_world world = { &j.env, no, no, nobody, no };
	struct tramp_x86_call *progs;
	u32 kind, len, regs, nr;
	u8 *exact;

	j.req.ip = fuzz_text(&in);
	j.addr = fuzz_image(fuzz_near(&in, j.req.ip), j.req.ip);
	regs = fuzz_take(&in, 4);
	/* some that are none, once in a while */
	j.req.regs = regs >> 24 == 0xff ? regs : regs & TRAMP_X86_REGS_ALL;
	kind = fuzz_take(&in, 2);
	j.env = fuzz_env(j.addr, kind);
	fuzz_break_env(&j.env, &in);
	j.too_short = fuzz_take(&in, 2);
	nr = fuzz_take(&in, 1);
	/* all that can be, and one more */
	j.req.nr_progs = nr >= 0xfe ? TRAMP_X86_MAX_PROGS + (nr & 1) : nr % (MAX_PROGS + 1);
	set_programs(&j, &in);
	len = fuzz_take(&in, 1) % (TRAMP_X86_MAX_REGION + 2);

	j.code_size = in.size < MAX_CODE ? in.size : MAX_CODE;
	j.code = fuzz_exact(in.data, j.code_size);
	tramp_x86_check_region(j.req.ip, j.code, j.code_size, &world, NULL, &v);
	if (len > j.code_size)
		len = j.code_size;
	j.req.len = len ? len : v.len;
	j.req.env = &j.env;
	/* behind them is nothing */
	j.req.code = exact = fuzz_exact(j.code, j.req.len);
	j.req.progs = progs = fuzz_array(j.calls, j.req.nr_progs, sizeof(*j.calls));

	run(&j);
	/* what is safe to jump over can be executed elsewhere */
	if (v.why == TRAMP_X86_SAFE && j.req.len == v.len && can_run(&j) &&
	    tasm_fits_s32((s64)(j.req.ip + 1)))
		FUZZ_CHECK(j.measured == TRAMP_X86_NO_SPACE);
	fuzz_free(j.code, j.code_size);
	fuzz_free(exact, j.req.len);
	free(progs);
	return 0;
}
