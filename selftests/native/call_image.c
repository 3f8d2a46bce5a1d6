// SPDX-License-Identifier: GPL-2.0
/*
 * Entry and exit images and the programs they call: what kernel/func/image.c asks the emitter
 * for.
 */
#include <stdlib.h>
#include <string.h>

#include "call.h"
#include "stub.h"
#include "text.h"

/* Members of pt_regs, by number. */
#define PT_REGS_AX	10
#define PT_REGS_IP	16
#define NR_ARGS		3

static struct tramp_x86_env env;
static u64 muted;
static u32 serial, last_inflight;
static bool inflight_used[NATIVE_IMAGES];
static struct rng rng;

static void stub_muted(struct tasm *a, u32 arg)
{
	(void)arg;
	stub_return(a, 0);
}

void call_images_begin(u64 seed)
{
	rng.state = seed | 1;
	memset(inflight_used, 0, sizeof(inflight_used));
	stub_env(&env, 0);
	muted = stub_make(STUB_ENV, stub_muted, 0);
}

void call_image_mute(struct call_image *image, const struct call_prog *prog)
{
	u32 i, nr;

	for (i = 0; i < 2 * (image->nr + image->nr_twice); i++) {
		nr = i / 2 < image->nr ? i / 2 : i / 2 - image->nr_twice;
		if (image->prog[nr] == prog && image->call_off[i])
			site_poke(image->code + image->call_off[i], SITE_CALL, muted);
	}
}

/* The one that was given back longest ago, or nearly so. */
static u32 inflight_get(void)
{
	u32 tries;

	for (tries = 0; tries < NATIVE_IMAGES; tries++) {
		last_inflight = (last_inflight + 1) % NATIVE_IMAGES;
		if (!inflight_used[last_inflight]) {
			inflight_used[last_inflight] = true;
			return last_inflight;
		}
	}
	native_die("too many images wait to be freed");
}

void call_inflight_put(u32 nr)
{
	inflight_used[nr] = false;
}

/* Each kind adds to its sum what its context has: see found() in call_pass.c. */
static void stub_program(struct tasm *a, u32 arg)
{
	u32 kind = arg / CALL_IDS, id = arg % CALL_IDS;
	u32 member = kind == CALL_KPROBE ? PT_REGS_IP : kind == CALL_KRET ? PT_REGS_AX :
		     kind == CALL_FEXIT ? NR_ARGS : 0;

	tasm_mem_op(a, TASM_INC, true, stub_cpu(CPU_OFF(ran) + 8 * id), 0);
	if (kind != CALL_SESSION) {
		tasm_load(a, TASM_RAX, tasm_at(TASM_RDI, (s32)(8 * member)));
		tasm_op_mem(a, true, 0x01, TASM_RAX, stub_cpu(CPU_OFF(ips) + 8 * id), 0);
	}
	/* With 0 an fmod_ret program lets the function be called, and a session comes back. */
	stub_return(a, kind == CALL_FMOD_RET || kind == CALL_SESSION ? 0 : id + 1);
}

struct call_prog *call_prog_make(struct call_member *member)
{
	struct call_prog *prog = calloc(1, sizeof(*prog));

	if (!prog)
		native_die("no memory");
	prog->member = member;
	prog->refs = 1;
	prog->page = text_page_get("program %u of function %u", member->id, member->func->nr);
	stub_put(prog->page, stub_program, member->kind * CALL_IDS + member->id);
	return prog;
}

void call_prog_put(struct call_prog *prog)
{
	if (--prog->refs)
		return;
	text_page_put(prog->page);
	free(prog);
}

static struct tramp_x86_call call_of(const struct call_prog *prog)
{
	bool session = prog->member->kind == CALL_SESSION;
	u32 id = prog->member->id;

	return (struct tramp_x86_call){
		.func = prog->page,
		.active = call_is_tracing(prog->member->kind) ? CPU_OFF(own_active) + 4 * id :
			  CPU_OFF(active),
		.hits = CPU_OFF(hits) + 8 * id,
		.flags = session ? TRAMP_X86_CALL_MULTI :
			 rng_chance(&rng, 30) ? TRAMP_X86_CALL_COOKIE : 0,
		.link = session ? id + 1 : 0,
		.cookie = rng_u64(&rng),
	};
}

/* Take up all programs; @nr is how many there are of each kind. */
static void collect(struct call_image *image, struct tramp_x86_call *calls, u32 *nr)
{
	u32 kind, i;

	for (kind = 0; kind < NR_CALL_KINDS; kind++) {
		nr[kind] = 0;
		for (i = 0; i < CALL_MEMBERS; i++) {
			struct call_prog *prog = image->func->member[kind][i].prog;

			if (!prog)
				continue;
			prog->refs++;
			calls[image->nr] = call_of(prog);
			image->prog[image->nr++] = prog;
			nr[kind]++;
		}
	}
	image->nr_twice = nr[CALL_SESSION];
	image->nr_exits = nr[CALL_FEXIT] + nr[CALL_KRET] + nr[CALL_SESSION];
	image->counted = image->nr_exits || nr[CALL_FMOD_RET];
}

struct call_image *call_image_make(struct func *func)
{
	static const struct tramp_x86_model model = {
		.nr_args = NR_ARGS, .ret_size = 8, .arg_size = { 8, 8, 8 },
	};
	struct call_image *image = calloc(1, sizeof(*image));
	u32 nr[NR_CALL_KINDS];
	struct tramp_x86_call calls[CALL_PROGS];
	struct tramp_x86_fentry_out out = { };
	static u8 code[TEXT_PAGE];
	enum tramp_x86_err err;

	if (!image)
		native_die("no memory");
	image->func = func;
	image->serial = ++serial;
	collect(image, calls, nr);
	image->code = text_page_get("image %u of function %u", serial, func->nr);
	image->inflight = inflight_get();
	out.call_off = image->call_off;
	out.skip_off = image->skip_off;
	out.skip_to = image->skip_to;
	struct tramp_x86_fentry_req req = {
		.env = &env, .model = &model, .func_addr = func->addr, .site = func->addr,
		.orig = func->addr + 5, .inflight = CPU_OFF(inflight) + 8 * image->inflight,
		.regs = 1u << PT_REGS_IP, .ret_regs = 1u << PT_REGS_AX,
		.kprobe = calls, .nr_kprobe = nr[CALL_KPROBE], .nr_fentry = nr[CALL_FENTRY],
		.nr_fmod_ret = nr[CALL_FMOD_RET], .nr_fexit = nr[CALL_FEXIT],
		.nr_kret = nr[CALL_KRET], .nr_session = nr[CALL_SESSION],
	};
	if (rng_chance(&rng, 30))
		req.regs |= (u32)rng_u64(&rng) & ((1u << 21) - 1);
	req.fentry = req.kprobe + req.nr_kprobe;
	req.fmod_ret = req.fentry + req.nr_fentry;
	req.fexit = req.fmod_ret + req.nr_fmod_ret;
	req.kret = req.fexit + req.nr_fexit;
	req.session = req.kret + req.nr_kret;
	err = tramp_x86_emit_fentry(&req, code, sizeof(code), image->code, &out);
	if (err)
		native_die("the emitter says %d of function %u", err, func->nr);
	text_store(image->code, code, out.size);
	return image;
}
