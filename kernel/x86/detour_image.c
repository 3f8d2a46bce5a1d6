// SPDX-License-Identifier: GPL-2.0
/*
 * Detour buffers: a probe's JMP leads here, and its int3 is continued here.
 *
 * The frame
 * =========
 *
 *	rbp + 16	the stack as it is at the probed instruction
 *	rbp + 8		ip + 1, in the place of a return address
 *	rbp		the old rbp
 *	saved		the outer current->bpf_ctx; with the next one only
 *	run_ctx		struct bpf_trace_run_ctx; only if a program needs it
 *	...		struct pt_regs and what must be restored, see below
 *
 * An unwinder follows frame pointers in code that it knows nothing about. To it the
 * image is a function that was called where the probe is. One byte before the return
 * address is the probed instruction (so the kernel's ORC tables know how to go on), and
 * rbp + 16 is its rsp.
 *
 * The image saves and restores the flags and the nine registers that a call may change: di,
 * si, dx, cx, ax, r8 to r11. These nine stand side by side in struct pt_regs, so saving them
 * builds that part of it. Of the other members only those that programs read are there, each
 * where struct pt_regs has it. Room is left only where the layout demands it.
 *
 * All members are read:	di and si are read:	bx and r12 are read:
 *
 *	rbp - 8	  ss			rbp - 8	 flags		rbp - 8	 bx
 *	rbp - 16  sp			rbp - 16 di		rbp - 16 (bp)
 *	rbp - 24  flags			rbp - 24 si		rbp - 24 r12
 *	rbp - 32  cs			   ...			rbp - 32 flags
 *	rbp - 40  ip			rbp - 80 r11		rbp - 40 di
 *	rbp - 48  orig_ax					   ...
 *	rbp - 56  di						rbp - 104 r11
 *	  ...
 *	rbp - 120 r11
 *	rbp - 128 bx
 *	  ...
 *	rbp - 168 r15
 *
 * In the third form no register that is saved is read, so they go below what is, and `leave`
 * drops that at no cost. In the first it must be stepped over where it stands below what is
 * restored. So the flags to be restored stand next to di, in the place of orig_ax if that is
 * not read. Flags that are read are there a second time then.
 *
 * The code, with one program that reads all
 * =========================================
 *
 *	pushq	$(ip + 1)			(1)
 *	push	%rbp
 *	mov	%rsp, %rbp
 *	push	$ss
 *	push	%rbp
 *	pushfq					(2)
 *	clac					(3)
 *	cld
 *	cli					(4)
 *	addq	$16, -16(%rbp)			sp: rbp + 16
 *	push	$cs
 *	push	$(ip + 1)
 *	push	$-1				orig_ax: no system call
 *	push	%rdi, %rsi, %rdx, %rcx, %rax, %r8 ... %r11
 *	push	%rbx
 *	push	(%rbp)				bp
 *	push	%r12 ... %r15
 *	...					guard and programs, see guard.c
 *	mov	-56(%rbp), %rdi			(5)
 *	...
 *	mov	-120(%rbp), %r11
 *	lea	-24(%rbp), %rsp
 *	popfq					(6)
 *	leave
 *	lea	8(%rsp), %rsp
 * copy:
 *	...					the relocated instructions
 *	jmp	ip + len			(7)
 *
 * (1) Five bytes, so that a JMP can be written over it while somebody executes the
 *     image. An int3 at the address would have pushed ip + 1 too, and programs see
 *     it as pt_regs.ip.
 *
 * (2) Up to here nothing may change a flag, and behind (6) neither: hence lea where
 *     add would do.
 *
 * (3) The kernel's C code counts on DF being 0, and on AC being 0 where it does not
 *     access user memory (and schedules). The probe may be anywhere.
 *
 * (4) Programs run as in the kernel's int3, where interrupts are off (guard.c). Up to
 *     here one may come, and another task run, on whatever CPU: there is nothing of ours
 *     yet but what is on the stack. From here to (6) only an NMI comes in between, or a
 *     fault that a program makes and that is fixed up. Either leaves everything as it
 *     was. (6) turns interrupts on again where they were on.
 *
 * (5) Or pops, which are shorter, where that takes no more instructions.
 *
 * (7) Not if the last of the instructions never comes here. That is a jump, or a call: it
 *     pushes the original return address and so returns to ip + len by itself. Then an
 *     int3 stops the processor from going on behind it speculatively.
 *
 * Nothing is called before interrupts are off, and the image is reached by a jump:
 * there is nothing to count for call depth accounting but the image's own calls.
 */
#include "detour_image.h"
#include "asm.h"
#include "fentry_req.h"
#include "guard.h"
#include "relocate.h"

/* Members of struct pt_regs. */
enum {
	M_BP = 4,
	M_R11 = 6, M_DI = 14,	/* and what is between them: the saved ones */
	M_ORIG_AX, M_IP, M_CS, M_FLAGS, M_SP, M_SS, NR_MEMBERS,
};

#define MEMBER(n)		(1u << (n))
#define SAVED_REGS	(MEMBER(M_DI + 1) - MEMBER(M_R11))
#define CALLEE_SAVED	(MEMBER(M_R11) - 1)

/* The general-purpose ones among them; 0 (rax) where there is none. */
static const u8 reg_of[NR_MEMBERS] = {
	TASM_R15, TASM_R14, TASM_R13, TASM_R12, 0, TASM_RBX, TASM_R11, TASM_R10, TASM_R9,
	TASM_R8, TASM_RAX, TASM_RCX, TASM_RDX, TASM_RSI, TASM_RDI,
};

/* Programs that look into their run context; newer kernels' bpf_get_func_ip() does. */
#define NEED_RUN_CTX	(TRAMP_X86_CALL_COOKIE | TRAMP_X86_CALL_IP)
#define CALL_FLAGS	(NEED_RUN_CTX | TRAMP_X86_CALL_NARGS)

/**
 * struct member - a member of pt_regs on the stack
 * @what: M_*
 * @room: bytes that are left out above it
 * @saved: it is restored from here
 */
struct member {
	u8 what;
	u8 room;
	bool saved;
};

struct image {
	const struct tramp_x86_detour_req *req;
	struct tramp_x86_detour_out *out;
	struct tramp_guard g;

	u32 run_ctx_words;	/* with @saved */
	/* in the order they are pushed; the flags may be there twice */
	struct member stack[NR_MEMBERS + 1];
	u32 nr;
	s32 bottom;		/* of the frame, from rbp */
	s32 sp;			/* pt_regs.sp, from rbp */
	bool bad_code;		/* of the probed code no copy can be made at all */
};

/* The frame ------------------------------------------------------------- */

static void place(struct image *img, u32 at, u32 room, bool read, bool saved)
{
	struct member *m = &img->stack[img->nr++];

	*m = (struct member){ .what = at, .room = room, .saved = saved };
	if (saved && !(SAVED_REGS & MEMBER(at)))
		m->what = M_FLAGS;
	img->bottom -= (s32)room + 8;
	if (m->what == M_SP)
		img->sp = img->bottom;
	if (read)
		img->g.ctx = img->bottom - 8 * (s32)at;
}

/*
 * The members that are @read and those that are @saved, in their order. Between two
 * of them there is room for those that are neither, if one above and one below is
 * read. One in @saved that is no register stands for the flags.
 */
static void place_all(struct image *img, u32 read, u32 saved)
{
	u32 at, last = NR_MEMBERS, room;

	for (at = NR_MEMBERS; at-- > 0; ) {
		if (!((read | saved) & MEMBER(at)))
			continue;
		room = 8 * (last - at - 1);
		if (read < MEMBER(at + 1) || !(read & (MEMBER(at + 1) - 1)))
			room = 0;
		place(img, at, room, read & MEMBER(at), saved & MEMBER(at));
		last = at;
	}
}

/* The form that needs the fewest instructions; see above. */
static void place_members(struct image *img)
{
	u32 regs = img->req->regs, flags_at = M_ORIG_AX;
	bool ends_in_flags = (regs & MEMBER(M_FLAGS)) && !(regs & (MEMBER(M_FLAGS) - 1));

	if (!(regs & SAVED_REGS) && !ends_in_flags) {
		place_all(img, regs, 0);
		place_all(img, 0, SAVED_REGS | MEMBER(flags_at));
		return;
	}
	if (ends_in_flags || (regs & MEMBER(M_ORIG_AX)))
		flags_at = M_FLAGS;
	place_all(img, regs, SAVED_REGS | MEMBER(flags_at));
}

static void lay_out(struct image *img)
{
	const struct tramp_x86_detour_req *req = img->req;
	struct tramp_guard *g = &img->g;

	g->run_ctx_flags = NEED_RUN_CTX;
	if (tramp_x86_flags_of(req->progs, req->nr_progs) & NEED_RUN_CTX) {
		img->run_ctx_words = 1 + req->env->trace_ctx_size / 8;
		img->bottom = -8 * (s32)img->run_ctx_words;
		g->saved = -8;
		g->run_ctx = img->bottom;
		g->cookie = g->run_ctx + (s32)req->env->trace_ctx_cookie;
	}
	place_members(img);
	/* programs that read nothing get a context all the same */
	if (!req->regs) {
		g->ctx = img->bottom;
		g->ctx_addr = req->nr_progs ? req->env->no_regs : 0;
	}
}

/* Code ------------------------------------------------------------------ */

/* add would change flags */
static void move_rsp(struct tasm *a, s32 by)
{
	if (by)
		tasm_lea(a, TASM_RSP, tasm_at(TASM_RSP, by));
}

static void push_flags(struct image *img, bool saved)
{
	const struct tramp_x86_detour_req *req = img->req;
	struct tasm *a = &img->g.hot.a;

	tasm_op(a, TASM_PUSHFQ);
	if (!saved)
		return;
	/* from here on they may change */
	if (req->env->smap)
		tasm_op(a, TASM_CLAC);
	tasm_op(a, TASM_CLD);
	tasm_op(a, TASM_CLI);
	if (req->regs & MEMBER(M_SP))
		tasm_mem_op(a, TASM_ADD_IMM8, true, tasm_at(TASM_RBP, img->sp), 16);
}

static void push_member(struct image *img, const struct member *m)
{
	const struct tramp_x86_detour_req *req = img->req;
	struct tasm *a = &img->g.hot.a;

	switch (m->what) {
	case M_SS:
		tasm_push_imm(a, req->env->ss);
		break;
	case M_SP:
		tasm_push(a, TASM_RBP);		/* made right in push_flags() */
		break;
	case M_FLAGS:
		push_flags(img, m->saved);
		break;
	case M_CS:
		tasm_push_imm(a, req->env->cs);
		break;
	case M_IP:
		tasm_push_imm(a, (s32)(req->ip + 1));
		break;
	case M_ORIG_AX:
		tasm_push_imm(a, -1);
		break;
	case M_BP:
		tasm_mem_op(a, TASM_PUSH_MEM, false, tasm_at(TASM_RBP, 0), 0);
		break;
	default:
		tasm_push(a, reg_of[m->what]);
	}
}

static void emit_save(struct image *img)
{
	struct tasm *a = &img->g.hot.a;
	u32 i;

	tasm_push_imm32(a, (s32)(img->req->ip + 1));
	tasm_push(a, TASM_RBP);
	tasm_mov(a, TASM_RBP, TASM_RSP);
	for (i = 0; i < img->run_ctx_words; i++)
		tasm_push_imm(a, 0);
	for (i = 0; i < img->nr; i++) {
		move_rsp(a, -(s32)img->stack[i].room);
		push_member(img, &img->stack[i]);
	}
}

static void emit_programs(struct image *img)
{
	const struct tramp_x86_detour_req *req = img->req;
	u32 i, nr;

	img->g.call_off = img->out->call_off;
	for (i = 0; img->g.call_off && i < 2 * req->nr_progs; i++)
		img->g.call_off[i] = 0;
	tramp_guard_open(&img->g);
	for (i = 0; i < req->nr_progs; i += nr) {
		for (nr = 1; i + nr < req->nr_progs; nr++)
			if (req->progs[i + nr].active != req->progs[i].active)
				break;
		tramp_guard_programs(&img->g, &req->progs[i], nr);
	}
	tramp_guard_close(&img->g);
}

/* The other way round; what is above the flags goes with rbp's frame. */
static void pop_saved(struct image *img)
{
	struct tasm *a = &img->g.hot.a;
	const struct member *m = &img->stack[img->nr];
	s32 skip = 0;

	do {
		m--;
		if (!m->saved) {
			skip += 8 + m->room;
			continue;
		}
		move_rsp(a, skip);
		if (m->what == M_FLAGS)
			break;
		tasm_pop(a, reg_of[m->what]);
		skip = m->room;
	} while (m > img->stack);
}

/* One instruction for each register, one for rsp. */
static void load_saved(struct image *img)
{
	struct tasm *a = &img->g.hot.a;
	s32 flags = 0, at = -8 * (s32)img->run_ctx_words;
	u32 i;

	for (i = 0; i < img->nr; i++) {
		const struct member *m = &img->stack[i];

		at -= 8 + (s32)m->room;
		if (m->saved && m->what == M_FLAGS)
			flags = at;
		else if (m->saved)
			tasm_load(a, reg_of[m->what], tasm_at(TASM_RBP, at));
	}
	tasm_lea(a, TASM_RSP, tasm_at(TASM_RBP, flags));
}

/* Members below the saved ones, or among them, take an instruction each to skip. */
static bool pops_are_fewer(const struct image *img)
{
	bool gap = false;
	u32 i, moves = 0;

	for (i = img->nr; i-- > 0; ) {
		const struct member *m = &img->stack[i];

		if (m->saved) {
			moves += gap;
			gap = m->room;
			if (m->what == M_FLAGS)
				break;
		} else {
			gap = true;
		}
	}
	return moves <= 1;
}

static void emit_restore(struct image *img)
{
	struct tasm *a = &img->g.hot.a;

	if (pops_are_fewer(img))
		pop_saved(img);
	else
		load_saved(img);
	tasm_op(a, TASM_POPFQ);
	tasm_op(a, TASM_LEAVE);
	move_rsp(a, 8);
}

/* Return: whether control gets behind the copies. */
static bool emit_relocated(struct image *img)
{
	const struct tramp_x86_detour_req *req = img->req;
	struct tramp_x86_detour_out *out = img->out;
	struct tasm *a = &img->g.hot.a;
	struct tramp_x86_insn insn;
	enum tramp_x86_reloc reloc;
	enum tramp_x86_kind kind;
	u32 at;

	for (at = 0; at < req->len; at += insn.len) {
		if (!tramp_x86_decode(req->code + at, req->len - at, &insn)) {
			img->bad_code = true;
			out->reloc_at = at;
			return true;
		}
		reloc = tramp_x86_relocate(a, &insn, req->ip + at, req->env);
		if (reloc && !out->reloc) {
			out->reloc = reloc;
			out->reloc_at = at;
		}
		if (reloc && reloc != TRAMP_X86_RELOC_REACH) {
			img->bad_code = true;
			return true;
		}
		kind = tramp_x86_classify(&insn);
		if (!tramp_x86_falls_through(kind))
			return false;
		if (tramp_x86_is_call(kind)) {
			/* it would return into the jump */
			img->bad_code = at + insn.len < req->len;
			out->reloc_at = at;
			return false;
		}
	}
	return true;
}

static void emit_copy(struct image *img)
{
	struct tasm *a = &img->g.hot.a;

	img->out->copy_off = a->off;
	if (emit_relocated(img))
		tasm_branch(a, TASM_JMP, img->req->ip + img->req->len);
	else
		tasm_op(a, TASM_INT3);
	img->out->copy_len = a->off - img->out->copy_off;
}

static enum tramp_x86_err emit_image(void *arg)
{
	struct image *img = arg;

	if (img->req->nr_progs) {
		emit_save(img);
		emit_programs(img);
		emit_restore(img);
	} else {
		tasm_branch_to(&img->g.hot.a, TASM_JMP, TRAMP_X86_JUMP_SIZE);
	}
	emit_copy(img);
	return img->bad_code ? TRAMP_X86_BAD_REQUEST : TRAMP_X86_OK;
}

/* The request ------------------------------------------------------------ */

static bool check_run_ctx(const struct tramp_x86_env *env)
{
	return env->trace_ctx_size <= TRAMP_X86_MAX_RUN_CTX && env->trace_ctx_size % 8 == 0 &&
	       env->trace_ctx_cookie <= env->trace_ctx_size &&
	       env->trace_ctx_size - env->trace_ctx_cookie >= 8 &&
	       env->task_bpf_ctx <= 0x7fffffff;
}

static bool check_request(const struct tramp_x86_detour_req *req)
{
	u32 i;

	if (!req->len || req->len > TRAMP_X86_MAX_REGION || !tasm_fits_s32((s64)(req->ip + 1)))
		return false;
	if (req->nr_progs > TRAMP_X86_MAX_PROGS || (req->regs & ~TRAMP_X86_REGS_ALL))
		return false;
	if (req->nr_progs && (!tramp_x86_check_env(req->env) || req->env->nmi_count <= 0))
		return false;
	for (i = 0; i < req->nr_progs; i++) {
		const struct tramp_x86_call *c = &req->progs[i];

		if ((c->flags & ~CALL_FLAGS) || !c->func)
			return false;
		if ((c->flags & NEED_RUN_CTX) && !check_run_ctx(req->env))
			return false;
	}
	return true;
}

enum tramp_x86_err tramp_x86_emit_detour(const struct tramp_x86_detour_req *req,
					 u8 *buf, size_t len, u64 addr,
					 struct tramp_x86_detour_out *out)
{
	struct image img = {
		.req = req, .out = out, .g.env = req->env, .g.probe = true,
	};

	*out = (struct tramp_x86_detour_out){ .call_off = out->call_off };
	if (!check_request(req))
		return TRAMP_X86_BAD_REQUEST;
	lay_out(&img);
	return tramp_guard_emit(&img.g, emit_image, &img, buf, len, addr, &out->size);
}
