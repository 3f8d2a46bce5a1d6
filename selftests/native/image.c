// SPDX-License-Identifier: GPL-2.0
/*
 * Detour buffers of probes: kernel/probe/image.c, and what its images call.
 */
#include <stdlib.h>

#include "plant.h"
#include "probe.h"
#include "stub.h"
#include "text.h"

#define PT_REGS_IP	16	/* number of that member */

struct tramp_x86_env probe_env;

static u32 serial;
static struct rng rng;

static void stub_program(struct tasm *a, u32 nr)
{
	tasm_mem_op(a, TASM_INC, true, stub_cpu(CPU_OFF(ran) + 8 * nr), 0);
	tasm_load(a, TASM_RAX, tasm_at(TASM_RDI, 8 * PT_REGS_IP));
	/* add %rax, %gs:ips */
	tasm_op_mem(a, true, 0x01, TASM_RAX, stub_cpu(CPU_OFF(ips) + 8 * nr), 0);
	stub_return(a, nr);
}

void probe_images_begin(u64 seed)
{
	u32 i, nr = SCENES * SCENE_INSNS * PROBE_PROGS;

	_Static_assert(SCENES * SCENE_INSNS * PROBE_PROGS <= NATIVE_PROGS, "counters");
	rng.state = seed | 1;
	for (i = 0; i < nr; i++)
		stub_make(i, stub_program, i);
	stub_env(&probe_env, nr);
}

/*
 * A process may not execute cli. Signals come in its place, and they leave everything as it
 * was.
 */
static void without_cli(u8 *code, u32 len)
{
	struct tramp_x86_insn insn;
	u32 at;

	for (at = 0; at < len && tramp_x86_decode(code + at, len - at, &insn); at += insn.len)
		if (insn.len == 1 && code[at] == TASM_CLI)
			code[at] = 0x90;
}

static u32 list_calls(const struct probe *p, struct tramp_x86_call *calls)
{
	u32 n, nr = 0;

	for (n = 0; n < PROBE_PROGS; n++) {
		if (!(p->progs & 1u << n))
			continue;
		calls[nr++] = (struct tramp_x86_call){
			.func = TEXT_STUBS + (p->counter + n) * STUB_SIZE,
			.active = CPU_OFF(active),
			.hits = CPU_OFF(hits) + 8 * (p->counter + n),
			.flags = rng_chance(&rng, 30) ? TRAMP_X86_CALL_COOKIE : 0,
			.cookie = rng_u64(&rng),
		};
	}
	if (nr && plant_is(PLANT_TWICE) && !(serial % 16)) {
		calls[nr] = calls[0];
		nr++;
	}
	if (nr && plant_is(PLANT_NEVER) && !(serial % 16))
		nr--;
	return nr;
}

struct probe_image *probe_image_make(struct probe *p, u32 len)
{
	struct tramp_x86_call calls[PROBE_PROGS + 1];
	struct probe_image *image = calloc(1, sizeof(*image));
	u32 call_off[2 * (PROBE_PROGS + 1)];
	struct tramp_x86_detour_out out = { .call_off = call_off };
	struct tramp_x86_detour_req req = {
		.env = &probe_env, .ip = p->addr, .code = p->orig, .len = len, .progs = calls,
	};
	static u8 code[TEXT_PAGE];
	enum tramp_x86_err err;

	if (!image)
		native_die("no memory");
	serial++;
	req.nr_progs = list_calls(p, calls);
	req.regs = 1u << PT_REGS_IP;
	if (rng_chance(&rng, 60))
		req.regs |= rng_chance(&rng, 50) ? TRAMP_X86_REGS_ALL :
			    (u32)rng_u64(&rng) & TRAMP_X86_REGS_ALL;
	image->serial = serial;
	image->probe = p;
	image->len = len;
	image->code = text_page_get("image %u of instruction %u of scene %u", serial, p->insn,
				    p->scene->nr);
	err = tramp_x86_emit_detour(&req, code, sizeof(code), image->code, &out);
	if (err)
		native_die("the emitter says %d of instruction %u of scene %u", err, p->insn,
			   p->scene->nr);
	without_cli(code, out.copy_off);
	image->copy_off = out.copy_off;
	text_store(image->code, code, out.size);
	return image;
}

static void image_free(struct retire *r)
{
	struct probe_image *image = (struct probe_image *)r;

	text_page_put(image->code);
	free(image);
}

void probe_image_retire(struct probe_image *image)
{
	static const struct retire_ops ops = { .free = image_free };

	retire_add(&image->retire, &ops);
}
