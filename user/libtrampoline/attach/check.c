// SPDX-License-Identifier: LGPL-2.1 OR BSD-2-Clause
/*
 * Why the programs of an object could not be attached, asked before libbpf loads it.
 *
 * libbpf resolves the function of a tracing program, and the kernel binds the program to it, when
 * it is loaded. Whatever is wrong with the function shows there, as an errno and a line in
 * libbpf's log. So it is asked here by the names in the sections, as tramp_explain() would be.
 */
#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "../../distance.h"
#include "../core/error.h"
#include "../core/sized.h"
#include "internal.h"

/* The first part of a section's name: what is there for. */
#define MAX_KIND	64

/* Sections of programs that we attach; others are right as well, and libbpf's. */
static const char *const kinds[] = {
	"fentry", "fexit", "fmod_ret", "fentry.s", "fexit.s", "fmod_ret.s", "kprobe", "kretprobe",
	"kprobe.multi", "kretprobe.multi", "kprobe.session",
};

/* libbpf does not know the section: which is the nearest one that it does? */
static int fail_section(const struct bpf_program *prog, const char *subject)
{
	struct libtramp_failure f = { .err = -EINVAL, .reason = TRAMP_LIB_BAD_SECTION,
				      .subject = subject };
	const char *section = bpf_program__section_name(prog), *near = NULL;
	struct libtramp_nearest nearest = { .out = &near, .max = 1 };
	const size_t len = strcspn(section, "/");
	char kind[MAX_KIND];
	size_t i;

	snprintf(kind, sizeof(kind), "%.*s", (int)(len < MAX_KIND ? len : MAX_KIND - 1), section);
	for (i = 0; i < ARRAY_SIZE(kinds); i++)
		libtramp_nearest_try(&nearest, kind, kinds[i]);
	if (!near)
		return libtramp_fail(&f, NO_DETAIL);
	f.remedy = "use that one, if it was meant, and compile the object again";
	return libtramp_fail(&f, "the nearest: SEC(\"%s%s\")", near, section + len);
}

/* A question about the function has failed: the same about the program. */
static int fail_function(const char *subject)
{
	const struct tramp_error e = *tramp_last_error();
	const struct libtramp_failure f = {
		.err = e.err, .reason = e.reason, .subject = subject, .sentence = e.sentence,
		.remedy = e.remedy, .addr = e.addr, .from_kernel = e.from_kernel,
	};

	return libtramp_fail(&f, "%s", e.detail);
}

/* Is it attached at a function's return? Then it needs an exit image. */
static bool needs_exit(const struct bpf_program *prog)
{
	return bpf_program__expected_attach_type(prog) != BPF_TRACE_FENTRY;
}

/* The module's verdict. It is no failure if the caller may not ask for it. */
static int check_verdict(struct tramp_syms *syms, const struct bpf_program *prog,
			 const char *name, const char *subject)
{
	TRAMP_OPTS(tramp_explanation, ex);
	struct libtramp_failure f = { .subject = subject, .func = name };

	if (tramp_explain(syms, name, &ex))
		return tramp_last_error()->reason == TRAMP_REASON_PERMISSION ? 0 :
		       fail_function(subject);
	if (!(ex.can & TRAMP_CAN_FENTRY))
		f.reason = ex.fentry_reason;
	else if (needs_exit(prog) && !(ex.can & TRAMP_CAN_FEXIT))
		f.reason = ex.fexit_reason;
	else
		return 0;
	f.err = tramp_reason_errno(f.reason);
	return libtramp_fail(&f, "%s", ex.holder);
}

/*
 * libbpf looks for the type by the name in the section alone, and BTF has one name of an address.
 * SYSCALL_DEFINE0() makes __x64_sys_getpid another name of __do_sys_getpid, which BTF has.
 */
static int check_name(struct tramp_syms *syms, const struct tramp_sym *sym, const char *subject)
{
	struct libtramp_failure f = {
		.err = -ENOENT, .reason = TRAMP_REASON_NO_BTF, .subject = subject,
		.sentence = "libbpf finds no BTF type by this name of the function",
		.remedy = "use that name in SEC(), and compile the object again",
	};
	int id = tramp_syms__btf_id(syms, sym, NULL);
	/* If the type is there, so is the BTF that it was found in. */
	const struct btf *btf = id < 0 ? NULL : tramp_syms__btf(syms, sym->module);
	const char *name;

	if (!btf)
		return fail_function(subject);
	name = btf__name_by_offset(btf, btf__type_by_id(btf, id)->name_off);
	return strcmp(name, sym->name) ? libtramp_fail(&f, "BTF calls it %s", name) : 0;
}

/* @ours: it will be attached by the module. */
static int check_tracing(struct tramp_syms *syms, const struct bpf_program *prog, bool ours,
			 const char *subject)
{
	const char *name = strchr(bpf_program__section_name(prog), '/');
	const struct tramp_sym *sym;
	int err;

	/* Without a name, bpf_program__set_attach_target() gives one. */
	if (!name || !*++name)
		return 0;
	sym = tramp_syms__find(syms, name);
	if (!sym) {
		/* Several of one name are libbpf's to choose from. */
		if (tramp_last_error()->reason == TRAMP_REASON_AMBIGUOUS)
			return 0;
		return fail_function(subject);
	}
	err = ours ? check_verdict(syms, prog, name, subject) : 0;
	return err ? err : check_name(syms, sym, subject);
}

int libtramp_check(struct tramp_syms **syms, const struct bpf_program *prog, bool ours,
		   const struct tramp_attach_opts *opts)
{
	struct libtramp_request r = {};
	struct libtramp_failure unsupported;
	int err;

	libtramp_prog_subject(r.subject, sizeof(r.subject), prog);
	if (bpf_program__type(prog) == BPF_PROG_TYPE_UNSPEC)
		return fail_section(prog, r.subject);
	err = ours ? libtramp_request_check(&r, prog, opts) : 0;
	if (err)
		return err;
	/*
	 * The module looks up where probes go, when they are attached. Of the other kinds of
	 * tracing programs, as SEC("tp_btf/NAME"), the name is not that of a function.
	 */
	if (bpf_program__type(prog) != BPF_PROG_TYPE_TRACING ||
	    libtramp_prog_unsupported(prog, &unsupported))
		return 0;
	if (!*syms)
		*syms = tramp_syms__load(NULL);
	/* Without symbols nothing can be asked, so nothing is refused. */
	if (!*syms)
		return 0;
	return check_tracing(*syms, prog, ours, r.subject);
}
