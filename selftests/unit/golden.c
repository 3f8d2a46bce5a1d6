// SPDX-License-Identifier: GPL-2.0
/*
 * Digests of what the tests ask the emitters and of what they get, see golden.h.
 */
#define _GNU_SOURCE	/* program_invocation_short_name */
#include "golden.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../../kernel/x86/detour_image.h"
#include "../../kernel/x86/fentry_image.h"
#include "../../kernel/x86/lookup.h"
#include "../../kernel/x86/relocate.h"
#include "../lib/ktap.h"

#define NAME_SIZE	128
#define NOTHING		((struct golden){ 0, GOLDEN_EMPTY, GOLDEN_EMPTY })

/* The make rule of golden.o depends on the file. */
asm(".pushsection .rodata\n"
    ".globl golden_text\n"
    "golden_text:\n"
    "	.incbin \"selftests/unit/golden.txt\"\n"
    "	.byte 0\n"
    ".popsection\n");

struct golden golden_now = { 0, GOLDEN_EMPTY, GOLDEN_EMPTY };

/* FNV-1a, 64 bits. */
u64 golden_digest(u64 digest, const void *bytes, size_t n)
{
	const u8 *p = bytes;

	while (n--)
		digest = (digest ^ *p++) * 0x100000001b3ULL;
	return digest;
}

static void ask(const void *bytes, size_t n)
{
	golden_now.requests = golden_digest(golden_now.requests, bytes, n);
}

static void ask_number(u64 v)
{
	ask(&v, sizeof(v));
}

static void answer(const void *bytes, size_t n)
{
	golden_now.answers = golden_digest(golden_now.answers, bytes, n);
}

static void answer_number(u64 v)
{
	answer(&v, sizeof(v));
}

/* Parts of requests ----------------------------------------------------------- */

static void ask_env(const struct tramp_x86_env *e)
{
	const u64 numbers[] = {
		e->preempt_count, e->nmi_count, e->current_task, e->task_bpf_ctx,
		e->run_ctx_size, e->run_ctx_cookie, e->run_ctx_saved, e->trace_ctx_size,
		e->trace_ctx_cookie, e->stats_key, e->stats_enter, e->stats_exit, e->resched,
		e->missed, e->rcu_read_lock, e->rcu_read_unlock, e->probe_enter, e->probe_exit,
		e->rcu_watching, e->return_thunk, e->call_depth, e->no_regs,
		e->has_indirect_thunks, e->has_call_depth, e->cs, e->ss, e->smap,
	};

	ask(numbers, sizeof(numbers));
	ask(e->indirect_thunk, sizeof(e->indirect_thunk));
}

static void ask_programs(const struct tramp_x86_call *c, u32 nr)
{
	u32 i;

	ask_number(nr);
	for (i = 0; i < nr; i++) {
		const u64 numbers[] = {
			c[i].func, c[i].insns, c[i].flags, c[i].prog, c[i].missed_arg,
			c[i].active, c[i].hits, c[i].cookie, c[i].enter, c[i].exit,
		};

		ask(numbers, sizeof(numbers));
	}
}

/* A request without them is digested as it was before there were any. */
static void ask_kprobes(const struct tramp_x86_fentry_req *req)
{
	if (!req->nr_kprobe)
		return;
	ask_number(req->site);
	ask_number(req->regs);
	ask_programs(req->kprobe, req->nr_kprobe);
}

/* Programs at the return, and images of many functions; the same. */
static void ask_ends(const struct tramp_x86_fentry_req *req)
{
	const struct tramp_x86_env *e = req->env;
	const u64 numbers[] = {
		req->many, req->regs, req->ret_regs, e->multi_ctx_size, e->multi_ctx_is_return,
		e->multi_ctx_data, e->multi_ctx_link, e->multi_ctx_ip, e->multi_cookie, e->endbr,
		e->endbr_poison, e->has_session, e->no_indirect,
	};
	u64 linked = 0;
	u32 i;

	for (i = 0; i < req->nr_kprobe; i++)
		linked |= req->kprobe[i].link;
	if (!req->many && !req->nr_kret && !req->nr_session && !linked)
		return;
	ask(numbers, sizeof(numbers));
	ask_programs(req->kret, req->nr_kret);
	ask_programs(req->session, req->nr_session);
	for (i = 0; i < req->nr_kprobe; i++)
		ask_number(req->kprobe[i].link);
	for (i = 0; i < req->nr_kret; i++)
		ask_number(req->kret[i].link);
	for (i = 0; i < req->nr_session; i++)
		ask_number(req->session[i].link);
}

/* Whether the arrays of the request are as long as it says: otherwise it was refused. */
static bool was_sound(enum tramp_x86_err err)
{
	return err == TRAMP_X86_OK || err == TRAMP_X86_NO_SPACE || err == TRAMP_X86_OUT_OF_REACH;
}

static void ask_place(const u8 *buf, size_t len, u64 addr)
{
	golden_now.calls++;
	ask_number(!buf);
	ask_number(len);
	ask_number(addr);
}

static void answer_offsets(const u32 *offsets, u32 nr)
{
	if (offsets)
		answer(offsets, nr * sizeof(*offsets));
}

/* What is in front of the emitters --------------------------------------------- */

enum tramp_x86_err __real_tramp_x86_emit_fentry(const struct tramp_x86_fentry_req *req, u8 *buf,
						size_t len, u64 addr,
						struct tramp_x86_fentry_out *out);
enum tramp_x86_err __wrap_tramp_x86_emit_fentry(const struct tramp_x86_fentry_req *req, u8 *buf,
						size_t len, u64 addr,
						struct tramp_x86_fentry_out *out);
enum tramp_x86_err __wrap_tramp_x86_emit_fentry(const struct tramp_x86_fentry_req *req, u8 *buf,
						size_t len, u64 addr,
						struct tramp_x86_fentry_out *out)
{
	enum tramp_x86_err err = __real_tramp_x86_emit_fentry(req, buf, len, addr, out);
	u32 at_return = req->nr_fexit + req->nr_kret + req->nr_session;

	ask_place(buf, len, addr);
	ask_number(req->func_addr);
	ask_number(req->orig);
	ask_number(req->inflight);
	ask_number(req->check_rcu);
	if (was_sound(err)) {
		ask_env(req->env);
		if (!req->many)
			ask(req->model, sizeof(*req->model));
		ask_programs(req->fentry, req->nr_fentry);
		ask_programs(req->fmod_ret, req->nr_fmod_ret);
		ask_programs(req->fexit, req->nr_fexit);
		ask_kprobes(req);
		ask_ends(req);
	}

	answer_number(err);
	answer_number(out->size);
	if (err != TRAMP_X86_OK)
		return err;
	answer_number(out->after_call);
	answer_offsets(out->skip_off, at_return);
	answer_offsets(out->skip_to, at_return);
	answer_offsets(out->call_off, 2 * (req->nr_kprobe + req->nr_fentry + req->nr_fmod_ret +
					   at_return + req->nr_session));
	if (buf)
		answer(buf, out->size);
	return err;
}

enum tramp_x86_err __real_tramp_x86_emit_detour(const struct tramp_x86_detour_req *req, u8 *buf,
						size_t len, u64 addr,
						struct tramp_x86_detour_out *out);
enum tramp_x86_err __wrap_tramp_x86_emit_detour(const struct tramp_x86_detour_req *req, u8 *buf,
						size_t len, u64 addr,
						struct tramp_x86_detour_out *out);
enum tramp_x86_err __wrap_tramp_x86_emit_detour(const struct tramp_x86_detour_req *req, u8 *buf,
						size_t len, u64 addr,
						struct tramp_x86_detour_out *out)
{
	enum tramp_x86_err err = __real_tramp_x86_emit_detour(req, buf, len, addr, out);

	ask_place(buf, len, addr);
	ask_number(req->ip);
	ask_number(req->len);
	ask_number(req->regs);
	if (was_sound(err)) {
		ask_env(req->env);
		ask(req->code, req->len);
		ask_programs(req->progs, req->nr_progs);
	}

	answer_number(err);
	answer_number(out->size);
	if (err == TRAMP_X86_BAD_REQUEST || err == TRAMP_X86_OUT_OF_REACH) {
		answer_number(out->reloc);
		answer_number(out->reloc_at);
	}
	if (err != TRAMP_X86_OK)
		return err;
	answer_number(out->copy_off);
	answer_number(out->copy_len);
	answer_offsets(out->call_off, 2 * req->nr_progs);
	if (buf)
		answer(buf, out->size);
	return err;
}

enum tramp_x86_err __real_tramp_x86_emit_lookup(struct tramp_x86_lookup *lookup, u8 *buf,
						size_t len, u64 addr);
enum tramp_x86_err __wrap_tramp_x86_emit_lookup(struct tramp_x86_lookup *lookup, u8 *buf,
						size_t len, u64 addr);
enum tramp_x86_err __wrap_tramp_x86_emit_lookup(struct tramp_x86_lookup *lookup, u8 *buf,
						size_t len, u64 addr)
{
	enum tramp_x86_err err = __real_tramp_x86_emit_lookup(lookup, buf, len, addr);
	u32 i;

	ask_place(buf, len, addr);
	ask_number(lookup->nr);
	ask_number(lookup->other);
	if (was_sound(err)) {
		ask_env(lookup->env);
		for (i = 0; i < lookup->nr; i++) {
			ask_number(lookup->pairs[i].ret);
			ask_number(lookup->pairs[i].target);
		}
	}

	answer_number(err);
	answer_number(lookup->size);
	if (err != TRAMP_X86_OK)
		return err;
	answer_number(lookup->tail);
	for (i = 0; i < lookup->nr; i++)
		answer_number(lookup->pairs[i].jump);
	if (buf)
		answer(buf, lookup->size);
	return err;
}

enum tramp_x86_reloc __real_tramp_x86_relocate(struct tasm *a, const struct tramp_x86_insn *insn,
					       u64 ip, const struct tramp_x86_env *env);
enum tramp_x86_reloc __wrap_tramp_x86_relocate(struct tasm *a, const struct tramp_x86_insn *insn,
					       u64 ip, const struct tramp_x86_env *env);
enum tramp_x86_reloc __wrap_tramp_x86_relocate(struct tasm *a, const struct tramp_x86_insn *insn,
					       u64 ip, const struct tramp_x86_env *env)
{
	u32 start = a->off, len = a->len;
	enum tramp_x86_reloc err = __real_tramp_x86_relocate(a, insn, ip, env);

	ask_place(a->buf, len, a->addr);
	ask_number(start);
	ask_number(ip);
	ask(insn->bytes, insn->len);
	ask_env(env);

	answer_number(err);
	answer_number(a->off);
	answer_number(a->overflow);
	answer_number(a->out_of_reach);
	if (a->buf && !a->overflow)
		answer(a->buf + start, a->off - start);
	return err;
}

/* Was and is -------------------------------------------------------------------- */

bool golden_find(const char *text, const char *name, struct golden *was)
{
	size_t n = strlen(name);
	const char *line = text;

	*was = NOTHING;
	while (line && (strncmp(line, name, n) || line[n] != ' ')) {
		line = strchr(line, '\n');
		line = line ? line + 1 : NULL;
	}
	return line && sscanf(line + n, " %" SCNu64 " %" SCNx64 " %" SCNx64, &was->calls,
			      &was->requests, &was->answers) == 3;
}

const char *golden_differ(const struct golden *was, const struct golden *is)
{
	if (was->calls != is->calls || was->requests != is->requests)
		return "the test asks for something else";
	return was->answers != is->answers ? "the same requests get other bytes" : NULL;
}

static void append(const char *path, const char *line)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);

	if (fd < 0 || write(fd, line, strlen(line)) != (ssize_t)strlen(line))
		ktap_die("%s: %m", path);
	close(fd);
}

/* At the end of each test. */
static void compare(const char *test)
{
	const char *path = getenv("TRAMP_GOLDEN_OUT"), *why;
	const struct golden is = golden_now;
	char name[NAME_SIZE], line[NAME_SIZE + 64];
	struct golden was;

	snprintf(name, sizeof(name), "%s/%s", program_invocation_short_name, test);
	if (path) {
		snprintf(line, sizeof(line), "%s %" PRIu64 " %016" PRIx64 " %016" PRIx64 "\n", name,
			 is.calls, is.requests, is.answers);
		if (is.calls)
			append(path, line);
		return;
	}
	if (getenv("TRAMP_SEED") || getenv("TRAMP_COUNT"))
		return;
	golden_find(golden_text, name, &was);
	why = golden_differ(&was, &is);
	if (why)
		ktap_fail("selftests/unit/golden.txt: %s: %s (if it is meant to be: make update-golden)",
			  name, why);
}

__attribute__((constructor)) static void at_start(void)
{
	ktap_at_end(compare);
}
