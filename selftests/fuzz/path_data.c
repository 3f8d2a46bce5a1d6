// SPDX-License-Identifier: GPL-2.0
/*
 * One instruction of an image: registers, stack, and per-CPU variables behind it, see path.h.
 */
#include "path.h"

#define MAY_CHANGE	(0xffffu & ~(PATH_BIT(TASM_RBX) | PATH_BIT(TASM_RSP) | \
			 PATH_BIT(TASM_RBP) | 0xf000u))

#define NOPL		(1 << 8 | 0x1f)

/* Bytes of an instruction as a signed number. */
static s64 number_at(const struct tramp_x86_insn *insn, u32 off, u32 size)
{
	s64 v = 0;

	memcpy(&v, insn->bytes + off, size);
	return size == 1 ? (s8)v : size == 4 ? (s32)v : v;
}

struct path_op path_op(const struct tramp_x86_insn *insn)
{
	u8 modrm = tramp_x86_modrm(insn), base, sib;
	struct path_op op = {
		.code = insn->map << 8 | insn->opcode,
		.gs = insn->prefixes & TRAMP_X86_PFX_SEG,
		.wide = insn->rex & 8,
		.imm = number_at(insn, insn->imm_off, insn->imm_size),
		.disp = (s32)number_at(insn, insn->disp_off, insn->disp_size),
	};

	if (!insn->modrm_off) {
		op.reg = (insn->opcode & 7) | (insn->rex & 1) << 3;
		return op;
	}
	op.reg = (modrm >> 3 & 7) | (insn->rex & 4) << 1;
	op.mem = modrm >> 6 != 3;
	base = modrm & 7;
	op.rm = base | (insn->rex & 1) << 3;
	if (!op.mem)
		return op;
	if (op.code == NOPL)
		return op;
	if (base == 4) {	/* rsp, or nothing */
		sib = insn->bytes[insn->modrm_off + 1];
		FUZZ_CHECK(sib == 0x24 || (sib == 0x25 && !(modrm >> 6)));
		op.rm = sib == 0x25 ? TASM_NO_BASE : TASM_RSP;
	} else if (base == 5 && !(modrm >> 6)) {
		op.rm = TASM_RIP;
	}
	return op;
}

void path_lose(struct path *s, u32 reg)
{
	FUZZ_CHECK(MAY_CHANGE >> reg & 1);
	s->intact &= ~PATH_BIT(reg);
	s->known &= ~PATH_BIT(reg);
	s->reg[reg] = PATH_WORD(ANY, 0);
	if (reg == TASM_RAX)
		s->start_in_rax = false;
	if (reg == TASM_RCX)
		s->task = s->rax_in_rcx = s->count_in_rcx = false;
	if (reg == TASM_RDI)
		s->ctx = 0;
	if (reg == TASM_RSI) {
		s->rsi_addr = 0;
		s->start_in_rsi = false;
	}
	if (reg == TASM_RDX) {
		s->frame_addr = 0;
		s->outer = false;
	}
	if (reg == TASM_R10)
		s->back = 0;
	if (reg == TASM_R11)
		s->ret_in_r11 = false;
}

void path_called(struct path *s)
{
	u32 reg;

	for (reg = 0; reg < PATH_REGS; reg++)
		if (MAY_CHANGE >> reg & 1)
			path_lose(s, reg);
	s->flags = false;
	s->jcc = 0;
	if (s->found == PATH_FREE || s->found == PATH_ADMITTED)
		s->found = PATH_FOUND_NOTHING;
}

/* rsp has risen: what was below is gone. */
static void raised(struct path *s)
{
	u32 reg;

	for (reg = 0; reg < PATH_REGS; reg++)
		if (s->where[reg] > s->depth)
			s->where[reg] = 0;
	if (s->flags_at > s->depth)
		s->flags_at = 0;
	if (s->rbp_at > s->depth)
		s->rbp_at = 0;
	if (s->r10_at > s->depth)
		s->r10_at = 0;
	if (s->r11_at > s->depth)
		s->r11_at = 0;
	if (s->outer_at > s->depth)
		s->outer_at = 0;
	if (s->start_at > s->depth)
		s->start_at = 0;
	path_words_raised(s);
}

static void push(struct path *s, u32 reg)
{
	s->depth += 8;
	path_word_set(s, s->depth, s->reg[reg]);
	if (reg == TASM_RBP) {
		path_word_set(s, s->depth, s->frame ? PATH_WORD(SP, 0) : PATH_WORD(RBP, 0));
		if (!s->frame)
			s->rbp_at = s->depth;
	} else if (s->intact >> reg & 1) {
		s->where[reg] = s->depth;
	}
	if (reg == TASM_R10 && s->back)
		s->r10_at = s->depth;
	if (reg == TASM_R11 && s->ret_in_r11)
		s->r11_at = s->depth;
	if (reg == TASM_RAX && s->start_in_rax)
		s->start_at = s->depth;
}

static void pop(struct path *s, u32 reg)
{
	s32 place = s->depth;

	if (reg == TASM_RBP) {
		FUZZ_CHECK(s->frame == place);
		s->frame = 0;
	} else {
		path_lose(s, reg);
		s->reg[reg] = path_word_at(s, place);
		if (s->where[reg] == place)
			s->intact |= PATH_BIT(reg);
		s->start_in_rsi |= reg == TASM_RSI && s->start_at == place;
	}
	s->depth -= 8;
	raised(s);
}

static bool overlap(s32 at, s32 place)
{
	return at < place + 8 && at > place - 8;
}

/* Something is written to the frame: not above it, and not below rsp. */
static void stored(struct path *s, s32 place)
{
	u32 reg;

	FUZZ_CHECK(place > s->frame && place <= s->depth);
	for (reg = 0; reg < PATH_REGS; reg++)
		if (overlap(s->where[reg], place))
			s->where[reg] = 0;
	path_words_stored(s, place);
	FUZZ_CHECK(!overlap(s->flags_at, place));
	if (overlap(s->outer_at, place))
		s->outer_at = 0;
	if (overlap(s->start_at, place))
		s->start_at = 0;
}

static void store(const struct paths *p, struct path *s, const struct path_op *op)
{
	s32 place;

	if (op->rm == TASM_RCX) {
		FUZZ_CHECK(op->wide && s->task && op->disp == (s32)p->img->env->task_bpf_ctx);
		FUZZ_CHECK(op->reg == TASM_RDX);
		/* the frame's, with the outer one saved; or that one is put back */
		if (s->own_ctx)
			FUZZ_CHECK(s->outer);
		else
			FUZZ_CHECK(s->frame_addr && s->outer_at);
		s->own_ctx = !s->own_ctx;
		s->run_ctx = s->own_ctx ? s->frame_addr : 0;
		return;
	}
	FUZZ_CHECK(op->wide && op->rm == TASM_RBP);
	place = path_place(s, op->disp);
	stored(s, place);
	path_word_set(s, place, s->reg[op->reg]);
	if (s->intact >> op->reg & 1)
		s->where[op->reg] = place;
	if (op->reg == TASM_RDX && s->outer)
		s->outer_at = place;
	if (op->reg == TASM_RAX && s->start_in_rax)
		s->start_at = place;
}

static void load(const struct paths *p, struct path *s, const struct path_op *op)
{
	s32 place;
	u64 off;
	u32 i;

	if (op->gs) {
		off = path_percpu(s, op);
		FUZZ_CHECK(op->reg == TASM_RCX);
		path_lose(s, TASM_RCX);
		s->task = op->wide && off == p->img->env->current_task;
		for (i = 0; i < p->img->nr && !s->task; i++)
			if (off == p->img->calls[i].active && !op->wide)
				break;
		FUZZ_CHECK(s->task || i < p->img->nr);
		s->count_in_rcx = !s->task;
		if (!s->task)
			path_look(s, off);
		return;
	}
	path_lose(s, op->reg);
	if (op->rm == TASM_RCX) {
		FUZZ_CHECK(op->wide && s->task && op->disp == (s32)p->img->env->task_bpf_ctx);
		s->outer = op->reg == TASM_RDX && !s->own_ctx;
		return;
	}
	FUZZ_CHECK(op->rm == TASM_RBP);
	place = path_place(s, op->disp);
	FUZZ_CHECK(place <= s->depth);
	s->reg[op->reg] = path_operand(s, op->disp);
	/* of a single small argument only the lower half counts */
	FUZZ_CHECK(op->wide || s->reg[op->reg].what == PATH_STACK_ARG);
	s->reg[op->reg].number |= op->wide ? 0 : PATH_HALF;
	if (op->wide && s->where[op->reg] == place)
		s->intact |= PATH_BIT(op->reg);
	s->outer = op->wide && op->reg == TASM_RDX && s->outer_at == place;
	s->start_in_rsi |= op->wide && op->reg == TASM_RSI && s->start_at == place;
	s->ret_in_r11 = op->wide && op->reg == TASM_R11 && place == PATH_TOP && !s->layer;
}

static void lea(const struct paths *p, struct path *s, const struct path_op *op, u64 end)
{
	s32 place;

	FUZZ_CHECK(op->wide && !op->gs);
	if (op->reg == TASM_RSP) {
		FUZZ_CHECK(op->rm == TASM_RSP || op->rm == TASM_RBP);
		s->depth = op->rm == TASM_RSP ? s->depth - op->disp : path_place(s, op->disp);
		FUZZ_CHECK(s->depth >= s->frame - 8);
		raised(s);
		return;
	}
	if (op->rm == TASM_RCX) {	/* the function's address */
		FUZZ_CHECK(op->reg == TASM_RCX);
		path_func(p, s, op->disp);
		return;
	}
	path_lose(s, op->reg);
	if (op->rm == TASM_RIP) {
		FUZZ_CHECK(op->reg == TASM_R10);
		s->back = (u32)(end + (u64)(s64)op->disp);
		return;
	}
	FUZZ_CHECK(op->rm == TASM_RBP);
	place = path_place(s, op->disp);
	s->reg[op->reg] = PATH_WORD(PLACE, (u64)place);
	FUZZ_CHECK(place >= s->frame);
	if (op->reg == TASM_RDI)	/* of a context only what is read is there */
		s->ctx = place;
	else
		FUZZ_CHECK(place <= s->depth);
	if (op->reg == TASM_RDX)
		s->frame_addr = place;
	if (op->reg == TASM_RSI)
		s->rsi_addr = place;
}

static void move(struct path *s, const struct path_op *op)
{
	struct path_word word = s->reg[op->reg];

	FUZZ_CHECK(op->wide);
	if (op->rm == TASM_RBP) {
		FUZZ_CHECK(op->reg == TASM_RSP && s->rbp_at == s->depth && !s->frame);
		s->frame = s->depth;
		return;
	}
	if (op->rm == TASM_RCX && op->reg == TASM_RAX) {
		path_lose(s, TASM_RCX);
		s->rax_in_rcx = s->intact & PATH_BIT(TASM_RAX);
		return;
	}
	path_lose(s, op->rm);
	s->reg[op->rm] = word;
	if (op->rm == TASM_RAX && op->reg == TASM_RCX && s->rax_in_rcx)
		s->intact |= PATH_BIT(TASM_RAX);
}

static void number(const struct paths *p, struct path *s, u32 reg, u64 value)
{
	path_lose(s, reg);
	s->reg[reg] = PATH_WORD(NUMBER, value);
	/* programs of many functions find there where the function has called the image */
	if (reg == TASM_R11) {
		FUZZ_CHECK(p->req && !p->req->many && value == p->req->orig);
		s->reg[reg] = PATH_WORD(RETURN, 0);
	}
	if (reg < 8) {
		s->known |= PATH_BIT(reg);
		s->value[reg] = value;
	}
}

/* rsp and a number */
static void move_rsp(struct path *s, const struct path_op *op)
{
	FUZZ_CHECK(op->wide && op->rm == TASM_RSP && (op->reg == 0 || op->reg == 5));
	s->flags = false;
	s->depth += op->reg ? (s32)op->imm : -(s32)op->imm;
	FUZZ_CHECK(s->depth >= s->frame - 8);
	raised(s);
}

/* Or it is added. */
static void store_number(struct path *s, const struct path_op *op)
{
	s32 place = path_place(s, op->disp);
	struct path_word was = path_word_at(s, place), word = PATH_WORD(NUMBER, (u64)op->imm);

	stored(s, place);
	if (op->code == 0x83) {
		FUZZ_CHECK(was.what == PATH_SP && !was.number);
		word = PATH_WORD(SP, 16);
	} else if (!op->wide) {	/* the lower half of a small number */
		word.number = (u32)op->imm;
		if (was.what != PATH_NUMBER || was.number >> 32)
			word = PATH_WORD(ANY, 0);
	}
	path_word_set(s, place, word);
}

/* An operand in memory, which is not only loaded or stored. */
static void change(const struct paths *p, struct path *s, const struct path_op *op, u64 end)
{
	if (op->code == 0xff && op->reg == 6) {	/* push */
		if (op->rm != TASM_RBP)
			FUZZ_CHECK(false);
		s->depth += 8;
		path_word_set(s, s->depth, path_operand(s, op->disp));
		return;
	}
	if (op->code != 0xc7)
		s->flags = false;
	/* pt_regs.sp: rbp was pushed, and the stack is above it and the return address */
	if (!op->gs && op->code == 0x83 && !op->reg)
		FUZZ_CHECK(op->wide && op->imm == 16);
	if (op->gs)
		path_count(p, s, op);
	else if ((op->code == 0x83 || op->code == 0x81) && op->reg == 7)
		path_compare(p, s, op, end);
	else if (op->rm == TASM_RBP && (op->code == 0xc7 || (op->code == 0x83 && !op->reg)))
		store_number(s, op);
	else
		FUZZ_CHECK(false);
}

static void data_mem(const struct paths *p, struct path *s, const struct path_op *op, u64 end)
{
	switch (op->code) {
	case 0x89:
		store(p, s, op);
		break;
	case 0x8b:
		load(p, s, op);
		break;
	case 0x03:
		path_add_endbr(p, s, op);
		break;
	case 0x0b:
		FUZZ_CHECK(op->rm == TASM_RIP && op->reg == TASM_RCX && s->count_in_rcx);
		FUZZ_CHECK(p->img->env->stats_key &&
			   end + (u64)(s64)op->disp == p->img->env->stats_key);
		path_lose(s, TASM_RCX);
		s->flags = false;
		s->asks = PATH_ASKS_BOTH;
		s->jcc = 0x85;
		break;
	case 0x8d:
		lea(p, s, op, end);
		break;
	case NOPL:
		break;
	case 0xff:
	case 0x81:
	case 0x83:
	case 0xc1:
	case 0xc7:
		change(p, s, op, end);
		break;
	default:
		FUZZ_CHECK(false);
	}
}

static void data_plain(const struct paths *p, struct path *s, const struct path_op *op)
{
	switch (op->code) {
	case 0x9c:
		s->depth += 8;
		path_word_set(s, s->depth, PATH_WORD(FLAGS, s->flags));
		if (s->flags)
			s->flags_at = s->depth;
		break;
	case 0x9d:
		s->flags = s->flags_at && s->flags_at == s->depth;
		s->irqs_off = false;
		s->depth -= 8;
		raised(s);
		break;
	case 0xc9:
		FUZZ_CHECK(s->frame);
		s->depth = s->frame - 8;
		s->frame = 0;
		raised(s);
		break;
	case 0x6a:
	case 0x68:
		s->depth += 8;
		path_word_set(s, s->depth, PATH_WORD(NUMBER, (u64)op->imm));
		/* where the result will be, which is 0 until there is one */
		if (!op->imm && s->frame && p->req && s->depth == path_result(p, s))
			s->where[TASM_RAX] = s->depth;
		break;
	case 0xfa:
		s->irqs_off = true;
		s->flags = false;
		break;
	case 1 << 8 | 0x01:	/* clac */
		FUZZ_CHECK(p->img->env->smap);
		/* fall through */
	case 0xfc:
		s->flags = false;
		break;
	default:
		FUZZ_CHECK(false);
	}
}

/* Of what rcu_watching() or enter() returned: 0 leads to a miss. */
static void test(struct path *s, const struct path_op *op)
{
	bool rcu = s->reg[TASM_RAX].what == PATH_WATCHING;

	FUZZ_CHECK(op->wide && op->rm == TASM_RAX && op->reg == TASM_RAX);
	FUZZ_CHECK(rcu || (s->entered && s->start_in_rax));
	s->asks = rcu ? PATH_ASKS_RCU : PATH_ASKS_ENTER;
	s->flags = false;
	s->jcc = 0x84;
}

void path_data(const struct paths *p, struct path *s, const struct tramp_x86_insn *insn, u64 at)
{
	struct path_op op = path_op(insn);
	u32 base = op.code & ~7u;

	s->jcc = s->asks = 0;
	if (op.mem)
		data_mem(p, s, &op, at + insn->len);
	else if (base == 0x50)
		push(s, op.reg);
	else if (base == 0x58)
		pop(s, op.reg);
	else if (base == 0xb8)
		number(p, s, op.reg, insn->imm_size == 4 ? (u32)op.imm : (u64)op.imm);
	else if (op.code == 0xc7)
		number(p, s, op.rm, (u64)op.imm);
	else if (op.code == 0x89)
		move(s, &op);
	else if (op.code == 0x81 || op.code == 0x83)
		move_rsp(s, &op);
	else if (op.code == 0x85)
		test(s, &op);
	else
		data_plain(p, s, &op);
}
