/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A hit: a function whose first instructions are probed, the programs on it, how they behave,
 * and the state of the processor when it is called. The test itself is hit_run(): it emits the
 * detour and executes it in every form in which it can be reached. It holds what programs see
 * and what comes out against the function without a probe.
 *
 * Set one up in this order: hit_init(), the code and behaviour, hit_add() for each
 * program, hit_run().
 */
#ifndef SELFTESTS_UNIT_HIT_H
#define SELFTESTS_UNIT_HIT_H

#include "../../kernel/x86/asm.h"
#include "../../kernel/x86/detour_image.h"
#include "lint.h"
#include "machine.h"
#include "scene.h"

#define HIT_MAX_PROGS	TRAMP_X86_MAX_PROGS
#define HIT_MAX_CODE	64	/* bytes of the probed function */
#define HIT_MAX_WORDS	4	/* recursion counters */

#define FLAG_AC		(1UL << 18)

/* Members of struct pt_regs. */
enum {
	PT_R15, PT_R14, PT_R13, PT_R12, PT_BP, PT_BX, PT_R11, PT_R10, PT_R9, PT_R8, PT_AX,
	PT_CX, PT_DX, PT_SI, PT_DI, PT_ORIG_AX, PT_IP, PT_CS, PT_FLAGS, PT_SP, PT_SS, NR_PT,
};

/* One program: what it is and how it behaves. */
struct hit_prog {
	u32 word;		/* which recursion counter */
	u64 *hits;
	bool resched_due;	/* a reschedule becomes due while it runs */
	bool muted;		/* its calls are patched to call T_NOTHING */
};

/* How control gets to the probed code. */
enum hit_form {
	HIT_PLAIN,		/* no probe */
	HIT_JUMP,		/* a JMP over the region leads to the image */
	HIT_ENTRY,		/* to the image, as from an int3 */
	HIT_COPY,		/* to the copy, as from an int3 whose programs are skipped */
	NR_HIT_FORMS,
};

struct hit {
	/* what is asked for */
	const char *name;
	struct tramp_x86_env env;
	struct tramp_x86_detour_req req;
	struct tramp_x86_call calls[HIT_MAX_PROGS];
	struct hit_prog progs[HIT_MAX_PROGS];
	u32 nr;
	u8 code[HIT_MAX_CODE];	/* of the function; int3 follows */
	u32 image_off;		/* where in AREA_IMAGES */

	/* how things are when the function is called */
	u64 regs[NR_REGS];
	u64 flags;
	bool odd_stack;		/* rsp is 8 modulo 16 at the call */
	u64 words[2];		/* what machine_word(WORD_DATA) and the next hold */
	bool taken[HIT_MAX_WORDS];	/* the recursion counter is up already */
	u32 preempt_start;
	u32 stats_on;		/* value of the stats key's counter */

	/* the machine's variables */
	u32 *word[HIT_MAX_WORDS];
	u64 word_off[HIT_MAX_WORDS];
	u32 *preempt_count;
	u64 *current_task;
	u64 *call_depth;
	u8 *task;
	u64 outer_ctx;		/* current->bpf_ctx outside */

	/* what came out */
	enum tramp_x86_err err;
	struct tramp_x86_detour_out out;
	u32 call_off[2 * HIT_MAX_PROGS];
	u8 *image;
	u32 ran[HIT_MAX_PROGS];	/* in the last form that was executed, as are the next */
	u32 missed[HIT_MAX_PROGS];
	u32 pos;		/* calls that the image made */

	/* while it runs */
	enum hit_form form;
	struct machine_call plain;	/* the run without a probe */
	u64 plain_words[2];
	struct machine_call call;
	struct expect *log;
	u32 nr_log;
};

/* The words in the area that probed code may use as its data. */
#define WORD_DATA	8

/* Where the probed function is, and other code in the area may be. */
#define HIT_SITE	AREA_ADDR(AREA_IMAGES - 0x1000)
#define HIT_ELSEWHERE	AREA_ADDR(AREA_IMAGES - 0x800)

/*
 * A function of a 5-byte NOP and a return, the NOP probed, no programs, all registers
 * asked for, all variables near. Sets the machine up if need be.
 */
void hit_init(struct hit *h, const char *name, struct rng *rng);
/* The same, each variable somewhere else. */
void hit_scatter(struct hit *h, struct rng *rng);

/*
 * The function's code, @len bytes; the first @region of them are the request's. With
 * bytes that depend on the address: it will be at HIT_SITE.
 */
void hit_code(struct hit *h, const void *code, u32 len, u32 region);
/* The same, from an encoder that wrote to @a->buf. */
void hit_code_of(struct hit *h, const struct tasm *a, u32 region);

/*
 * Add a program; @where its hit counter is. Return: it, to change how it behaves.
 * Its recursion counter is that of hit_word() with @word, the first by default.
 */
struct hit_prog *hit_add(struct hit *h, u32 flags, enum percpu_where where);
void hit_word(struct hit *h, struct hit_prog *p, u32 word);

/* Emit into the area; h->err says how it went. */
void hit_emit(struct hit *h);
/*
 * Emit, call the function in every form, check everything. Return: true if all
 * was as expected; otherwise the test has failed and the hit has been described.
 */
bool hit_run(struct hit *h);
/* The same without emitting anew; one form only. */
bool hit_rerun(struct hit *h);
bool hit_execute(struct hit *h, enum hit_form form);

/* Instructions from the entry of the image to the end of its copy. */
u32 hit_path(const struct hit *h);

/* Diagnostics. */
void hit_describe(const struct hit *h);
void hit_show(const struct hit *h);

#endif /* SELFTESTS_UNIT_HIT_H */
