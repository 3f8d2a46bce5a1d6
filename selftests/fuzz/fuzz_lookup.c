// SPDX-License-Identifier: GPL-2.0
/*
 * Fuzz target: lookups. Any functions, at any addresses: each return address has to lead to its
 * own target, all others to the tail, in as few instructions as lookup.h says.
 *
 * Input: the address of the code (9 bytes, relative to the kernel's text), and what kind of
 * kernel it is (2). A length for a buffer that is too short (2), and where all others lead (1).
 * How many functions there are (1), and the first return address (9). Then for each function how
 * far the next one is behind it, and where it leads (1 each).
 */
#include "../../kernel/x86/asm.h"
#include "../../kernel/x86/lookup.h"
#include "image.h"

#define MAX_PAIRS	64
#define TEXT		0xffffffff81000000ULL
/* In the input, instead of a distance: not sorted, twice the same, and the other 2 GB. */
#define BACK		0xff
#define TWICE		0xfe
#define FAR_AWAY	0xfd

struct job {
	struct tramp_x86_env env;
	struct tramp_x86_lookup_pair *pairs;	/* as many as there are, NULL for none */
	struct tramp_x86_lookup req;
	u64 addr;
	u32 too_short;
	u8 *code;
	struct image img;
};

static void set_pairs(struct job *j, struct fuzz_input *in)
{
	struct tramp_x86_lookup_pair none[MAX_PAIRS] = { 0 };
	u64 ret = fuzz_text(in);
	u32 i;

	j->pairs = fuzz_array(none, j->req.nr, sizeof(*none));
	for (i = 0; i < j->req.nr; i++) {
		u32 far = fuzz_take(in, 1), where = fuzz_take(in, 1);

		j->pairs[i].ret = ret;
		/* some of them are the same, one in a while is out of reach */
		j->pairs[i].target = j->addr + 0x10000 + 0x100 * (where & 0x3f);
		if (where == 0xff)
			j->pairs[i].target += 0x100000000ULL;
		if (far == BACK)
			ret -= 0x100;
		else if (far == FAR_AWAY)
			ret += 0xffffffff00000000ULL;
		else if (far != TWICE)
			ret += 1 + (u64)far * far;
	}
}

static bool sorted(const struct job *j)
{
	u32 i;

	for (i = 1; i < j->req.nr; i++)
		if (j->pairs[i - 1].ret >= j->pairs[i].ret)
			return false;
	return j->req.nr;
}

static bool reaches(const struct job *j, u32 off, u64 target)
{
	s64 rel = (s64)(target - (j->addr + off + 5));

	return !j->addr || rel == (s32)rel;
}

/* Whether each address can be compared, and each jump can get where it leads. */
static bool in_reach(const struct job *j)
{
	u32 i;

	for (i = 0; i < j->req.nr; i++)
		if ((s64)j->pairs[i].ret != (s32)j->pairs[i].ret ||
		    !reaches(j, j->pairs[i].jump, j->pairs[i].target))
			return false;
	if (j->req.other && !reaches(j, j->req.tail, j->req.other))
		return false;
	return !j->env.return_thunk || reaches(j, j->req.size - 5, j->env.return_thunk);
}

/* The number in `cmpq $imm32, (%rsp)`. */
static u64 compared(const struct tramp_x86_insn *insn)
{
	s32 imm;

	FUZZ_CHECK(insn->len == 8 && !memcmp(insn->bytes, "\x48\x81\x3c\x24", 4));
	memcpy(&imm, insn->bytes + 4, 4);
	return (u64)(s64)imm;
}

/*
 * Execute it for a return address. Return: the offset of the jump that leaves it, or of the
 * tail. @steps: how many instructions that took
 */
static u32 look_up(const struct job *j, u64 ret, u32 *steps)
{
	const struct image_insn *x;
	u64 with = 0;
	u32 off = 0;

	for (*steps = 1; ; ++*steps) {
		FUZZ_CHECK(off < j->req.size && j->img.starts[off] && *steps < 4 * MAX_PAIRS);
		x = &j->img.at[off];
		if (off == j->req.tail || x->kind == TRAMP_X86_JMP)
			return off;
		if (x->kind == TRAMP_X86_JCC) {
			bool jae = x->insn.opcode == (TASM_JAE & 0xff);

			FUZZ_CHECK(off && (jae || x->insn.opcode == (TASM_JNE & 0xff)));
			if (jae ? ret >= with : ret != with) {
				off = x->to - j->addr;
				continue;
			}
		} else {
			with = compared(&x->insn);
		}
		off += x->insn.len;
	}
}

static u32 log2_up(u32 nr)
{
	u32 log = 0;

	while (1U << log < nr)
		log++;
	return log;
}

/* One return address: it is that of a pair, or of none. */
static void check_one(const struct job *j, u64 ret)
{
	u32 i, steps, off = look_up(j, ret, &steps), most = 2 * (log2_up(j->req.nr) + 1) + 1;

	for (i = 0; i < j->req.nr && j->pairs[i].ret != ret; i++)
		;
	if (i == j->req.nr) {
		FUZZ_CHECK(off == j->req.tail && steps <= most + 1);
		return;
	}
	FUZZ_CHECK(off == j->pairs[i].jump && off != j->req.tail && steps <= most);
	FUZZ_CHECK(j->img.at[off].insn.len == 5 && j->img.at[off].to == j->pairs[i].target);
}

/*
 * The call is counted once, where calls are. A counter that is far goes through rax.
 * Return: the offset of what follows.
 */
static u32 check_counted(const struct job *j, u32 off)
{
	const struct tramp_x86_insn *insn = &j->img.at[off].insn;
	u64 depth = j->env.call_depth, base = 0;
	bool far = (s64)depth != (s32)depth;
	s32 disp;

	if (!j->env.has_call_depth)
		return off;
	if (far) {
		FUZZ_CHECK(insn->len == 10 && !memcmp(insn->bytes, "\x48\xb8", 2));
		memcpy(&base, insn->bytes + 2, 8);
		off += insn->len;
		FUZZ_CHECK(off < j->req.size && j->img.starts[off]);
		insn = &j->img.at[off].insn;
		FUZZ_CHECK(insn->len == 5 && !memcmp(insn->bytes, "\x65\x48\xc1\x38\x05", 5));
		FUZZ_CHECK(base == depth);
	} else {
		FUZZ_CHECK(insn->len == 10 && !memcmp(insn->bytes, "\x65\x48\xc1\x3c\x25", 5));
		memcpy(&disp, insn->bytes + 5, 4);
		FUZZ_CHECK((u64)(s64)disp == depth && insn->bytes[9] == 5);
	}
	return off + insn->len;
}

/* A jump to others or a NOP, and behind it a return that is counted. */
static void check_tail(const struct job *j)
{
	u32 off = j->req.tail;
	const struct image_insn *x = &j->img.at[off];

	FUZZ_CHECK(off + 5 < j->req.size && j->img.starts[off] && j->img.starts[off + 5]);
	if (j->req.other)
		FUZZ_CHECK(x->kind == TRAMP_X86_JMP && x->insn.len == 5 && x->to == j->req.other);
	else
		FUZZ_CHECK(!memcmp(x->insn.bytes, "\x0f\x1f\x44\0\0", 5));
	off = check_counted(j, off + 5);
	FUZZ_CHECK(off < j->req.size && j->img.starts[off]);
	x = &j->img.at[off];
	if (!j->env.return_thunk) {
		FUZZ_CHECK(x->kind == TRAMP_X86_RET);
		return;
	}
	FUZZ_CHECK(x->kind == TRAMP_X86_JMP && x->to == j->env.return_thunk);
	FUZZ_CHECK(off + 5 == j->req.size);
}

static void check_code(struct job *j)
{
	u32 i;

	j->img = (struct image){
		.env = &j->env, .bytes = j->code, .size = j->req.size, .addr = j->addr,
	};
	image_instructions(&j->img);
	for (i = 0; i < j->req.nr; i++) {
		check_one(j, j->pairs[i].ret - 1);
		check_one(j, j->pairs[i].ret);
		check_one(j, j->pairs[i].ret + 1);
	}
	check_one(j, 0);
	check_one(j, ~0ULL);
	check_one(j, 1ULL << 63);
	check_tail(j);
	image_free(&j->img);
}

/* The size is that of any other functions, as many. */
static void check_size(const struct job *j)
{
	struct tramp_x86_lookup_pair pairs[MAX_PAIRS];
	struct tramp_x86_lookup other = j->req;
	u32 i;

	for (i = 0; i < j->req.nr; i++)
		pairs[i] = (struct tramp_x86_lookup_pair){ .ret = i };
	other.pairs = pairs;
	other.other = !j->req.other;
	FUZZ_CHECK(tramp_x86_emit_lookup(&other, NULL, 0, 0) == TRAMP_X86_NO_SPACE);
	FUZZ_CHECK(other.size == j->req.size);
	FUZZ_CHECK(j->req.size <= TRAMP_X86_LOOKUP_PAIR * j->req.nr + TRAMP_X86_LOOKUP_REST);
}

static void emit(struct job *j, u32 len, enum tramp_x86_err want)
{
	u32 size = j->req.size, i;

	j->code = malloc(len ? len : 1);
	FUZZ_CHECK(j->code);
	memset(j->code, 0x5e, len);
	FUZZ_CHECK(tramp_x86_emit_lookup(&j->req, j->code, len, j->addr) == want);
	FUZZ_CHECK(j->req.size == size);
	if (want == TRAMP_X86_OK && j->addr)
		check_code(j);
	for (i = want == TRAMP_X86_OK ? size : 0; i < len; i++)
		FUZZ_CHECK(j->code[i] == (want == TRAMP_X86_NO_SPACE ? 0x5e : 0xcc));
	free(j->code);
}

/* More than an image can have: refused before anybody looks at one of them. */
static void check_too_many(struct job *j)
{
	struct tramp_x86_lookup many = { .env = &j->env, .nr = 0xffffffff };

	FUZZ_CHECK(tramp_x86_emit_lookup(&many, NULL, 0, 0) == TRAMP_X86_BAD_REQUEST);
	FUZZ_CHECK(!many.size);
	many.nr = 0x80000000 / (8 + 6 + 5);	/* of leaves alone */
	FUZZ_CHECK(tramp_x86_emit_lookup(&many, NULL, 0, 0) == TRAMP_X86_BAD_REQUEST);
}

int LLVMFuzzerTestOneInput(const u8 *data, size_t size)
{
	struct fuzz_input in = { data, size };
	struct job j = { 0 };
	u32 where;

	j.addr = fuzz_image(fuzz_near(&in, TEXT), TEXT);
	j.env = fuzz_env(j.addr, fuzz_take(&in, 2));
	j.too_short = fuzz_take(&in, 2);
	where = fuzz_take(&in, 1);
	j.req.nr = fuzz_take(&in, 1) % (MAX_PAIRS + 1);
	set_pairs(&j, &in);
	check_too_many(&j);
	j.req.env = &j.env;
	j.req.pairs = j.pairs;
	j.req.other = where & 1 ? j.addr + 0x20000 + (where == 0xff ? 0x100000000ULL : 0) : 0;

	if (!sorted(&j)) {
		FUZZ_CHECK(tramp_x86_emit_lookup(&j.req, NULL, 0, 0) == TRAMP_X86_BAD_REQUEST);
		FUZZ_CHECK(!j.req.size);
		free(j.pairs);
		return 0;
	}
	FUZZ_CHECK(tramp_x86_emit_lookup(&j.req, NULL, 0, 0) == TRAMP_X86_NO_SPACE);
	check_size(&j);
	emit(&j, j.req.size, in_reach(&j) ? TRAMP_X86_OK : TRAMP_X86_OUT_OF_REACH);
	emit(&j, j.req.size + 7, in_reach(&j) ? TRAMP_X86_OK : TRAMP_X86_OUT_OF_REACH);
	emit(&j, j.too_short % j.req.size, TRAMP_X86_NO_SPACE);
	free(j.pairs);
	return 0;
}
