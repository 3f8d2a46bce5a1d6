// SPDX-License-Identifier: LGPL-2.1 OR BSD-2-Clause
/*
 * libbpf's handling of the sections of programs for many functions.
 *
 * libbpf before 1.5 does not know SEC("kprobe.session"). And a kernel without kprobe.multi loads
 * such programs, but its helpers tell them nothing. There each is loaded as a plain kprobe
 * program, whose cookie works. Its function's address the module puts into pt_regs.orig_ax
 * (struct tramp_attach_multi). The call of bpf_get_func_ip() becomes a load from there: r1 has
 * the context, the helper's argument. So one instruction takes the place of one. By then libbpf
 * has relocated the program and appended the functions that it calls.
 *
 * A session is loaded so where the kernel has none, and runs by map (open.c, TRAMP_SESSION_MAP).
 */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "../core/error.h"
#include "internal.h"

#include <trampoline/module.h>

/* Of Linux 6.10, which the headers may be older than. */
#define ATTACH_SESSION	((enum bpf_attach_type)56)
/* Of struct pt_regs, in bytes. */
#define PT_REGS_ORIG_AX	120

static bool is_func_ip(const struct bpf_insn *insn)
{
	return insn->code == (BPF_JMP | BPF_CALL) && !insn->src_reg &&
	       insn->imm == BPF_FUNC_get_func_ip;
}

/* Have the program take its function's address from the context. */
static int load_func_ip(struct bpf_program *prog)
{
	const struct bpf_insn load = {
		.code = BPF_LDX | BPF_MEM | BPF_DW,
		.dst_reg = BPF_REG_0,
		.src_reg = BPF_REG_1,
		.off = PT_REGS_ORIG_AX,
	};
	size_t i, nr = bpf_program__insn_cnt(prog);
	struct bpf_insn *insns;
	int err;

	insns = malloc(nr * sizeof(*insns));
	if (!insns)
		return libtramp_fail_nomem(bpf_program__name(prog));
	memcpy(insns, bpf_program__insns(prog), nr * sizeof(*insns));
	for (i = 0; i < nr; i++) {
		if (is_func_ip(&insns[i]))
			insns[i] = load;
	}
	err = bpf_program__set_insns(prog, insns, nr);
	free(insns);
	return err;
}

/* The module's features; all of them if it cannot be asked, so that nothing is changed. */
static uint64_t features(void)
{
	TRAMP_OPTS(tramp_module_info, info);

	if (!tramp_info(&info))
		return info.features;
	/* Its absence is no failure of the caller's. */
	tramp_clear_error();
	return ~0ULL;
}

bool libtramp_session_by_map(void)
{
	return (features() & (TRAMP_FEAT_SESSION | TRAMP_FEAT_SESSION_MAP)) ==
	       TRAMP_FEAT_SESSION_MAP;
}

static int prepare_load(struct bpf_program *prog, struct bpf_prog_load_opts *opts, long cookie)
{
	char subject[LIBTRAMP_SUBJECT_LEN];
	uint64_t has = features();

	(void)cookie;
	if (bpf_program__expected_attach_type(prog) == ATTACH_SESSION) {
		if (has & TRAMP_FEAT_SESSION)
			return 0;
		libtramp_prog_subject(subject, sizeof(subject), prog);
		if (!(has & TRAMP_FEAT_SESSION_MAP))
			return LIBTRAMP_FAIL(-EOPNOTSUPP, TRAMP_REASON_MISSING_SYMBOL, subject,
					     "neither this kernel nor the module has sessions");
	} else if (has & TRAMP_FEAT_MULTI_HELPERS) {
		return 0;
	}
	opts->expected_attach_type = 0;
	return load_func_ip(prog);
}

/* Options of libbpf, whose headers may be older than the library: @session came with 1.5. */
union many_opts {
	struct bpf_kprobe_multi_opts opts;
	struct {
		size_t sz;
		const char **syms;
		const unsigned long *addrs;
		const __u64 *cookies;
		size_t cnt;
		bool retprobe;
		bool session;
	} newer;
};
_Static_assert(offsetof(union many_opts, newer.retprobe) ==
	       offsetof(union many_opts, opts.retprobe), "the options of libbpf are others");

static bool libbpf_has_sessions(void)
{
	return libbpf_major_version() > 1 ||
	       (libbpf_major_version() == 1 && libbpf_minor_version() >= 5);
}

/* For those who attach by libbpf, which asks us before itself: as it does without us. */
static int attach(const struct bpf_program *prog, long cookie, struct bpf_link **link)
{
	const char *pattern = "";
	union many_opts many;
	uint32_t flags = 0;

	(void)cookie;
	*link = NULL;
	libtramp_is_multi(bpf_program__section_name(prog), &flags, &pattern);
	if (!*pattern)
		return 0;
	/* Its end is looked at: what is there must be 0 or known. */
	memset(&many, 0, sizeof(many));
	many.newer.sz = sizeof(many);
	many.newer.retprobe = flags & TRAMP_MULTI_F_RETURN;
	many.newer.session = bpf_program__expected_attach_type(prog) == ATTACH_SESSION;
	if (many.newer.session && !libbpf_has_sessions())
		return -EOPNOTSUPP;
	*link = bpf_program__attach_kprobe_multi_opts(prog, pattern, &many.opts);
	return *link ? 0 : -errno;
}

int tramp_register_sections(void)
{
	static const struct {
		const char *section;
		enum bpf_attach_type type;
	} sections[] = {
		{ "kprobe.multi+", BPF_TRACE_KPROBE_MULTI },
		{ "kretprobe.multi+", BPF_TRACE_KPROBE_MULTI },
		{ "kprobe.session+", ATTACH_SESSION },
	};
	LIBBPF_OPTS(libbpf_prog_handler_opts, opts,
		    .prog_prepare_load_fn = prepare_load, .prog_attach_fn = attach);
	/* libbpf has a list of them, and no lock of its own. */
	static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
	/*
	 * If one is refused, those before it stay, and the next call goes on from there. The
	 * list of libbpf 1.1 must not get empty again: it would free it twice.
	 */
	static size_t nr;
	int err = 0;

	pthread_mutex_lock(&lock);
	while (err >= 0 && nr < ARRAY_SIZE(sections)) {
		err = libbpf_register_prog_handler(sections[nr].section, BPF_PROG_TYPE_KPROBE,
						   sections[nr].type, &opts);
		nr += err >= 0;
	}
	pthread_mutex_unlock(&lock);
	if (err >= 0)
		return 0;
	LIBTRAMP_FAIL(err, TRAMP_LIB_SYSTEM, "tramp_register_sections()",
		      "libbpf refuses a handler");
	libtramp_warn_last();
	return err;
}
