// SPDX-License-Identifier: GPL-2.0
/*
 * Fuzz target: entry and exit images for any prototype, with any programs. Requests
 * that contradict themselves are part of it.
 *
 * Input: mode and address of the image (9 bytes, relative to the function), what kind of kernel
 * it is (2), a length for a buffer that is too short (2). Then the size of the result (1), how
 * many arguments (1) and their sizes (1 each). Then how many programs of each kind (1 each),
 * for each its flags (1).
 */
#include "../../kernel/x86/insn.h"
#include "image.h"

#define MAX_KIND	24	/* of each kind; some more than an image takes, together */
#define MAX_PROGS	(3 * MAX_KIND)
#define FUNC		0xffffffff81234560ULL

struct job {
	struct tramp_x86_env env;
	struct tramp_x86_model model;
	struct tramp_x86_call calls[MAX_PROGS];
	struct tramp_x86_fentry_req req;
	u32 nr;
	u64 addr;
	u32 too_short;

	enum tramp_x86_err measured;
	struct tramp_x86_fentry_out out;
	u32 skip_off[MAX_PROGS], skip_to[MAX_PROGS];
	u32 call_off[2 * MAX_PROGS];
	u8 *image;
};

static void set_model(struct job *j, struct fuzz_input *in)
{
	u32 i;

	/* a little more than is allowed, but no more than there is room for */
	j->model.ret_size = fuzz_take(in, 1) % 10;
	j->model.nr_args = fuzz_take(in, 1) % (TRAMP_X86_MAX_ARGS + 1);
	for (i = 0; i < j->model.nr_args; i++)
		j->model.arg_size[i] = fuzz_take(in, 1) % 18;
}

/* A few mostly: an image of many takes long to look at, and has nothing new in it. */
static u32 take_count(struct fuzz_input *in)
{
	u32 n = fuzz_take(in, 1);

	return n < 0xf8 ? n % 4 : MAX_KIND - (n & 7);
}

static void set_programs(struct job *j, struct fuzz_input *in)
{
	u32 i;

	j->req.nr_fentry = take_count(in);
	j->req.nr_fmod_ret = take_count(in);
	j->req.nr_fexit = take_count(in);
	j->nr = j->req.nr_fentry + j->req.nr_fmod_ret + j->req.nr_fexit;
	for (i = 0; i < j->nr; i++) {
		u32 what = fuzz_take(in, 1), flags = what & TRAMP_X86_CALL_ALL;

		/* mostly without contradiction */
		if (what & 0x20 && flags & TRAMP_X86_CALL_SLEEPABLE)
			flags |= TRAMP_X86_CALL_GUARDED;
		j->calls[i] = fuzz_program(j->addr, i, flags, what & 0x40, what & 0x80);
	}
	j->req.fentry = j->calls;
	j->req.fmod_ret = j->req.fentry + j->req.nr_fentry;
	j->req.fexit = j->req.fmod_ret + j->req.nr_fmod_ret;
}

/* The rules of fentry_image.h about requests that cannot be. */
static enum tramp_x86_err expected(const struct job *j)
{
	u32 i, slots = 0;

	if (!j->nr || j->nr > TRAMP_X86_MAX_PROGS)
		return TRAMP_X86_BAD_REQUEST;
	for (i = 0; i < j->nr; i++)
		if ((j->calls[i].flags & (TRAMP_X86_CALL_SLEEPABLE | TRAMP_X86_CALL_GUARDED)) ==
		    TRAMP_X86_CALL_SLEEPABLE)
			return TRAMP_X86_BAD_REQUEST;
	for (i = 0; i < j->model.nr_args; i++) {
		if (!j->model.arg_size[i] || j->model.arg_size[i] > 16)
			return TRAMP_X86_BAD_MODEL;
		slots += (j->model.arg_size[i] + 7) / 8;
	}
	if (j->model.ret_size > 8)
		return TRAMP_X86_BAD_MODEL;
	return slots > TRAMP_X86_MAX_SLOTS ? TRAMP_X86_TOO_MANY_SLOTS : TRAMP_X86_NO_SPACE;
}

static enum tramp_x86_err emit(struct job *j, u32 len)
{
	struct tramp_x86_fentry_out out = {
		.skip_off = j->skip_off, .skip_to = j->skip_to, .call_off = j->call_off,
	};
	enum tramp_x86_err err;

	j->image = malloc(len ? len : 1);
	FUZZ_CHECK(j->image);
	memset(j->image, 0x5e, len);
	err = tramp_x86_emit_fentry(&j->req, j->image, len, j->addr, &out);
	FUZZ_CHECK(out.size == j->out.size);
	j->out = out;
	return err;
}

static void check_exits(const struct job *j, const struct image *img)
{
	bool exit = j->req.nr_fmod_ret || j->req.nr_fexit;
	u32 i, after = j->out.after_call;
	struct tramp_x86_insn call;

	FUZZ_CHECK(!after == !exit);
	if (exit) {
		FUZZ_CHECK(after >= 5 && after < img->size && img->starts[after - 5]);
		FUZZ_CHECK(tramp_x86_decode(img->bytes + after - 5, 5, &call));
		FUZZ_CHECK(tramp_x86_branch_target(&call, img->addr + after - 5) == j->req.orig);
	}
	for (i = 0; i < j->req.nr_fexit; i++) {
		FUZZ_CHECK(j->skip_off[i] + 5 <= img->size && img->starts[j->skip_off[i]]);
		FUZZ_CHECK(!memcmp(img->bytes + j->skip_off[i], "\x0f\x1f\x44\0\0", 5));
		FUZZ_CHECK(j->skip_to[i] < img->size && img->starts[j->skip_to[i]]);
		FUZZ_CHECK(j->skip_to[i] > j->skip_off[i]);
	}
}

static void check_image(struct job *j)
{
	struct image img = {
		.env = &j->env, .calls = j->calls, .nr = j->nr, .bytes = j->image,
		.size = j->out.size, .addr = j->addr, .orig = j->req.orig,
	};

	image_instructions(&img);
	image_branches(&img, 0, 0);
	image_calls(&img, j->call_off);
	check_exits(j, &img);
	free(img.starts);
}

/* As the module does: measure, allocate, emit. */
static void run(struct job *j)
{
	u32 size, i;

	j->measured = tramp_x86_emit_fentry(&j->req, NULL, 0, 0, &j->out);
	FUZZ_CHECK(j->measured == expected(j));
	FUZZ_CHECK(!j->out.size == (j->measured != TRAMP_X86_NO_SPACE));
	FUZZ_CHECK(j->out.size <= TRAMP_X86_MAX_IMAGE);
	if (!j->out.size)
		return;

	size = j->out.size;
	switch (emit(j, size)) {
	case TRAMP_X86_OK:
		if (j->addr)
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
	struct job j = { 0 };
	u32 kind;

	j.addr = fuzz_near(&in, FUNC);
	kind = fuzz_take(&in, 2);
	j.too_short = fuzz_take(&in, 2);
	set_model(&j, &in);
	set_programs(&j, &in);
	j.env = fuzz_env(j.addr, kind, kind >> 8 == 0xff);
	j.req.env = &j.env;
	j.req.model = &j.model;
	j.req.func_addr = FUNC;
	j.req.orig = FUNC + 5;
	j.req.inflight = 0x60000;
	run(&j);
	return 0;
}
