// SPDX-License-Identifier: GPL-2.0
/*
 * kprobe.multi, kretprobe.multi and kprobe.session: one link for many functions, here with one.
 *
 * Kernels without CONFIG_FPROBE (6.1) do not have these. Ours takes a plain kprobe program
 * there; the report then compares with the kernel's kprobe and kretprobe, under other names.
 * A session's program runs twice a call, at the entry and at the return. On any kernel a plain
 * kprobe program can be one (TRAMP_MULTI_F_SESSION); it stands beside the kernel's two halves.
 */
#include <unistd.h>
#include "bench.h"

/* BPF_TRACE_KPROBE_SESSION, of Linux 6.10 */
#define KPROBE_SESSION	56

static const char *no_link(const char *why, uint32_t attach_type)
{
	struct bench_place place = bench_place(BENCH_FUNCTION, 0);
	struct bench_load as = { .type = BPF_PROG_TYPE_KPROBE, .attach_type = attach_type };
	struct bench_att a = { .addr = place.func };
	int err = -1;

	a.prog_fd = bench_load_try(BENCH_EMPTY, &as);
	if (a.prog_fd < 0)
		return why;
	err = bench_link_kernel_multi(&a, attach_type, &a.addr, 1, NULL, 0);
	close(a.prog_fd);
	if (err)
		return why;
	close(a.fd);
	return NULL;
}

/* The link is what this kernel may refuse, not the program. */
static const char *no_fprobe(void)
{
	return no_link("this kernel has no fprobe", BPF_TRACE_KPROBE_MULTI);
}

static const char *no_session(void)
{
	return no_link("this kernel has no sessions", KPROBE_SESSION);
}

static void as_multi(const struct bench_place *place, struct bench_load *as)
{
	(void)place;
	*as = (struct bench_load){ BPF_PROG_TYPE_KPROBE, BPF_TRACE_KPROBE_MULTI, NULL };
}

static void as_session(const struct bench_place *place, struct bench_load *as)
{
	(void)place;
	*as = (struct bench_load){ BPF_PROG_TYPE_KPROBE, KPROBE_SESSION, NULL };
}

static int kernel_attach(struct bench_att *a, uint32_t attach_type, uint64_t cookie, uint32_t flags)
{
	return bench_link_kernel_multi(a, attach_type, &a->addr, 1, cookie ? &cookie : NULL, flags);
}

static int kernel_entry(struct bench_att *a, const struct bench_place *place, uint64_t cookie)
{
	(void)place;
	return kernel_attach(a, BPF_TRACE_KPROBE_MULTI, cookie, 0);
}

static int kernel_return(struct bench_att *a, const struct bench_place *place, uint64_t cookie)
{
	(void)place;
	return kernel_attach(a, BPF_TRACE_KPROBE_MULTI, cookie, BPF_F_KPROBE_MULTI_RETURN);
}

static int kernel_session(struct bench_att *a, const struct bench_place *place, uint64_t cookie)
{
	(void)place;
	return kernel_attach(a, KPROBE_SESSION, cookie, 0);
}

BENCH_MECH(kernel_kprobe_multi) = {
	.name = "kprobe-multi", .title = "kprobe.multi", .side = BENCH_KERNEL, .rank = 80,
	.target = BENCH_FUNCTION, .progs = BENCH_ALL, .as = as_multi, .attach = kernel_entry,
	.missing = no_fprobe,
};

BENCH_MECH(kernel_kretprobe_multi) = {
	.name = "kretprobe-multi", .title = "kretprobe.multi", .side = BENCH_KERNEL, .rank = 90,
	.target = BENCH_FUNCTION, .progs = BENCH_ALL, .as = as_multi, .attach = kernel_return,
	.missing = no_fprobe,
};

BENCH_MECH(kernel_kprobe_session) = {
	.name = "kprobe-session", .title = "kprobe.session", .side = BENCH_KERNEL, .rank = 95,
	.target = BENCH_FUNCTION, .progs = BENCH_ALL, .runs = 2, .as = as_session,
	.attach = kernel_session, .missing = no_session,
};

static const char *no_multi(void)
{
	return tramp_module().features & TRAMP_FEAT_MULTI ? NULL :
	       "no attachments of many functions in this module";
}

static const char *no_our_session(void)
{
	return tramp_module().features & TRAMP_FEAT_SESSION ? NULL :
	       "no sessions with this kernel";
}

static void as_ours(const struct bench_place *place, struct bench_load *as)
{
	if (tramp_module().features & TRAMP_FEAT_MULTI_HELPERS)
		as_multi(place, as);
	else
		bench_as_kprobe(place, as);
}

static int our_entry(struct bench_att *a, const struct bench_place *place, uint64_t cookie)
{
	(void)place;
	return bench_link_our_multi(a, &a->addr, 1, cookie ? &cookie : NULL, 0);
}

static int our_return(struct bench_att *a, const struct bench_place *place, uint64_t cookie)
{
	(void)place;
	return bench_link_our_multi(a, &a->addr, 1, cookie ? &cookie : NULL, TRAMP_MULTI_F_RETURN);
}

static const char *no_session_map(void)
{
	return tramp_module().features & TRAMP_FEAT_SESSION_MAP ? NULL :
	       "no sessions by map in this module";
}

static int our_plain_session(struct bench_att *a, const struct bench_place *place,
			     uint64_t cookie)
{
	(void)place;
	return bench_link_our_multi(a, &a->addr, 1, cookie ? &cookie : NULL, TRAMP_MULTI_F_SESSION);
}

/* One program a function: another one is refused. */
BENCH_MECH(our_kprobe_multi) = {
	.name = "kprobe-multi", .title = "one program at many entries", .side = BENCH_OURS,
	.rank = 80, .target = BENCH_FUNCTION, .progs = BENCH_ALL, .most = 1, .as = as_ours,
	.attach = our_entry, .missing = no_multi,
};

BENCH_MECH(our_kretprobe_multi) = {
	.name = "kretprobe-multi", .title = "one program at many returns", .side = BENCH_OURS,
	.rank = 90, .target = BENCH_FUNCTION, .progs = BENCH_ALL, .most = 1, .as = as_ours,
	.attach = our_return, .missing = no_multi,
};

BENCH_MECH(our_kprobe_session) = {
	.name = "kprobe-session", .title = "a session on many functions", .side = BENCH_OURS,
	.rank = 95, .target = BENCH_FUNCTION, .progs = BENCH_ALL, .most = 1, .runs = 2,
	.as = as_session, .attach = our_entry, .missing = no_our_session,
};

BENCH_MECH(our_session_map) = {
	.name = "session-map", .title = "a session by map on many functions", .side = BENCH_OURS,
	.rank = 96, .target = BENCH_FUNCTION, .progs = BENCH_ALL, .most = 1, .runs = 2,
	.as = bench_as_kprobe, .attach = our_plain_session, .missing = no_session_map,
};
