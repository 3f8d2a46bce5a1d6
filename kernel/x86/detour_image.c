// SPDX-License-Identifier: GPL-2.0
/*
 * Detour buffers: a probe's JMP leads here, and its int3 is continued here.
 *
 * The code
 * ========
 *
 *	pushq	$(ip + 1)			(1)
 *	...					kprobe programs, see regs.c
 *	lea	8(%rsp), %rsp			(2)
 * copy:
 *	...					the relocated instructions
 *	jmp	ip + len			(3)
 *
 * (1) Without programs, a jump of five bytes. An int3 at the address
 *     would have pushed ip + 1 too, and programs see it as pt_regs.ip.
 *
 * (2) The flags are the probed code's again: add would change them.
 *
 * (3) Not if the last of the instructions never comes here. That is a jump, or a call: it
 *     pushes the original return address and so returns to ip + len by itself. Then an
 *     int3 stops the processor from going on behind it speculatively.
 *
 * Nothing is called before interrupts are off, and the image is reached by a jump:
 * there is nothing to count for call depth accounting but the image's own calls.
 */
#include "detour_image.h"
#include "fentry_req.h"
#include "regs.h"
#include "relocate.h"

struct image {
	const struct tramp_x86_detour_req *req;
	struct tramp_x86_detour_out *out;
	struct tramp_guard g;

	struct tramp_regs regs;
	bool bad_code;		/* of the probed code no copy can be made at all */
};

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
			if (img->bad_code)
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
		tasm_push_imm32(&img->g.hot.a, img->regs.ip);
		tramp_regs_emit(&img->regs, &img->g, img->out->call_off);
		tasm_lea(&img->g.hot.a, TASM_RSP, tasm_at(TASM_RSP, 8));
	} else {
		tasm_branch_to(&img->g.hot.a, TASM_JMP, TRAMP_X86_JUMP_SIZE);
	}
	emit_copy(img);
	return img->bad_code ? TRAMP_X86_BAD_REQUEST : TRAMP_X86_OK;
}

/* The request ------------------------------------------------------------ */

static bool check_request(const struct tramp_x86_detour_req *req)
{
	if (!req->len || req->len > TRAMP_X86_MAX_REGION || !tasm_fits_s32((s64)(req->ip + 1)))
		return false;
	if (req->nr_progs && req->env->nmi_count <= 0)
		return false;
	return tramp_regs_check(req->env, req->progs, req->nr_progs, req->regs, false);
}

enum tramp_x86_err tramp_x86_emit_detour(const struct tramp_x86_detour_req *req,
					 u8 *buf, size_t len, u64 addr,
					 struct tramp_x86_detour_out *out)
{
	struct image img = {
		.req = req,
		.out = out,
		.g.env = req->env,
		.regs = {
			.progs = req->progs,
			.nr_progs = req->nr_progs,
			.read = req->regs,
			.ip = (s32)(req->ip + 1),
			.orig_ax = -1,
			.any = true,
		},
	};

	*out = (struct tramp_x86_detour_out){ .call_off = out->call_off };
	if (!check_request(req))
		return TRAMP_X86_BAD_REQUEST;
	tramp_regs_lay_out(&img.regs, &img.g);
	return tramp_guard_emit(&img.g, emit_image, &img, buf, len, addr, &out->size);
}
