// SPDX-License-Identifier: LGPL-2.1 OR BSD-2-Clause
/*
 * Attaching one program. libbpf has loaded it. The verifier has checked a tracing
 * program against the function it names, so the program itself has its kind and its
 * target. A probe's place is in its section name or in the options (probe.c).
 *
 * This file refuses a program that is not loaded, and a kind that we do not attach, in
 * terms of what the user wrote. Everything else the module decides.
 */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "../ask/ask.h"
#include "../core/bpf.h"
#include "../core/device.h"
#include "../core/error.h"
#include "../core/sized.h"
#include "../syms/place.h"
#include "internal.h"

#define PROBE_FLAGS	(TRAMP_ATTACH_F_NO_JUMP | TRAMP_ATTACH_F_NO_KPROBE | TRAMP_ATTACH_F_RETURN)
#define ATTACH_FLAGS	(TRAMP_ATTACH_F_COOKIE | TRAMP_ATTACH_F_NO_OPS | PROBE_FLAGS)

const char *libtramp_prog_subject(char *buf, size_t len, const struct bpf_program *prog)
{
	snprintf(buf, len, "program '%s' (SEC(\"%s\"))", bpf_program__name(prog),
		 bpf_program__section_name(prog));
	return buf;
}

/* Types that have a place of their own, with what attaches them there. */
static const struct {
	enum bpf_prog_type type;
	const char *goes, *remedy;
} elsewhere[] = {
	{ BPF_PROG_TYPE_XDP, "an XDP program goes to a network device",
	  "attach it by ip link set dev DEVICE xdp, or bpf_program__attach_xdp()" },
	{ BPF_PROG_TYPE_SCHED_CLS, "a tc program goes to a network device",
	  "attach it by tc filter add, or bpf_program__attach_tcx()" },
	{ BPF_PROG_TYPE_LSM, "an LSM program goes to a hook of the security modules",
	  "attach it with libbpf (bpf_program__attach_lsm())" },
	{ BPF_PROG_TYPE_TRACEPOINT, "its section names a tracepoint",
	  "attach it with libbpf (bpf_program__attach_tracepoint())" },
	{ BPF_PROG_TYPE_RAW_TRACEPOINT, "its section names a tracepoint",
	  "attach it with libbpf (bpf_program__attach_raw_tracepoint())" },
	{ BPF_PROG_TYPE_PERF_EVENT, "it goes to a counter of perf",
	  "attach it with libbpf (bpf_program__attach_perf_event())" },
	{ BPF_PROG_TYPE_CGROUP_SKB, "it goes to a control group",
	  "attach it with libbpf (bpf_program__attach_cgroup())" },
	{ BPF_PROG_TYPE_STRUCT_OPS, "it goes into a struct of functions",
	  "attach its map with libbpf (bpf_map__attach_struct_ops())" },
};

static const char *where_else(enum bpf_prog_type type, const char **remedy)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(elsewhere); i++) {
		if (elsewhere[i].type != type)
			continue;
		*remedy = elsewhere[i].remedy;
		return elsewhere[i].goes;
	}
	return "it goes to no function of the kernel";
}

const char *libtramp_prog_unsupported(const struct bpf_program *prog, struct libtramp_failure *f)
{
	const enum bpf_prog_type type = bpf_program__type(prog);

	*f = (struct libtramp_failure){
		.err = -EOPNOTSUPP,
		.reason = TRAMP_REASON_PROG_TYPE,
		.remedy = "attach it with libbpf (bpf_program__attach())",
	};
	if (type == BPF_PROG_TYPE_KPROBE)
		return libtramp_not_a_probe(bpf_program__section_name(prog), f);
	if (type != BPF_PROG_TYPE_TRACING)
		return where_else(type, &f->remedy);
	switch (bpf_program__expected_attach_type(prog)) {
	case BPF_TRACE_FENTRY:
	case BPF_TRACE_FEXIT:
	case BPF_MODIFY_RETURN:
		return NULL;
	default:
		f->reason = TRAMP_REASON_ATTACH_TYPE;
		return "tracing programs of its section go to no function";
	}
}

/* The id of a link that the kernel itself, not the module, attached the program by. */
static uint32_t kernel_link_of(int dev, int prog_fd)
{
	uint32_t wanted = libtramp_prog_id(prog_fd);
	__u32 id = 0;

	while (wanted && !bpf_link_get_next_id(id, &id)) {
		struct tramp_query q = { .size = sizeof(q), .link_id = id };
		struct bpf_link_info info = {};
		__u32 len = sizeof(info);
		int fd, err;

		fd = bpf_link_get_fd_by_id(id);
		if (fd < 0)
			continue;
		err = bpf_obj_get_info_by_fd(fd, &info, &len);
		close(fd);
		if (!err && info.prog_id == wanted &&
		    libtramp_dev_cmd(dev, TRAMP_IOC_QUERY, &q) == -ENOENT)
			return id;
	}
	return 0;
}

/*
 * A module of the same interface may be older: its struct tramp_attach is shorter, or it does not
 * know the flag. It cannot say that it knows no probes, or none at returns; its features do.
 *
 * Return: what it does not know; NULL if that is not why it refuses.
 */
static const char *not_known(int dev, int err, const struct tramp_refusal *refusal, uint32_t flags)
{
	struct tramp_info info = { .size = sizeof(info) };
	bool too_long = err == -E2BIG && !refusal->reason;

	if (!too_long && refusal->reason != TRAMP_REASON_SYNTAX)
		return NULL;
	if (libtramp_dev_cmd(dev, TRAMP_IOC_INFO, &info))
		return NULL;
	if (!(info.features & TRAMP_FEAT_KPROBE))
		return too_long ? "probes" : NULL;
	return (flags & TRAMP_ATTACH_F_RETURN) && !(info.features & TRAMP_FEAT_KRETPROBE) ?
	       "return probes" : NULL;
}

static int probe_refused(int dev, int err, const struct tramp_refusal *refusal,
			 const struct libtramp_request *r)
{
	const char *what = not_known(dev, err, refusal, r->flags);

	if (what)
		return LIBTRAMP_FAIL(-EOPNOTSUPP, TRAMP_REASON_NOT_BUILT, r->subject,
				     "the module is older than the library: it knows no %s", what);
	return libtramp_fail_place(dev, err, refusal, "ATTACH", &r->place, NULL, r->subject);
}

int libtramp_refused(int dev, int err, const struct tramp_refusal *refusal,
		     const struct libtramp_request *r)
{
	uint32_t link;

	if (r->probe)
		return probe_refused(dev, err, refusal, r);
	switch (refusal->reason) {
	case TRAMP_REASON_ALREADY_ATTACHED:
	case TRAMP_REASON_PROG_TARGET:
	case TRAMP_REASON_SITE_HELD:
		/* The module sees only that the place is taken; say so if it is by ourselves. */
		link = kernel_link_of(dev, r->prog_fd);
		if (link)
			return LIBTRAMP_FAIL(-EBUSY, TRAMP_LIB_KERNEL_ATTACHED, r->subject,
					     "by link %u", link);
		break;
	default:
		break;
	}
	return libtramp_fail_ioctl(err, refusal, "ATTACH", r->subject);
}

static int check_opts(const struct tramp_attach_opts *opts, const char *subject)
{
	if (!LIBTRAMP_OPTS_VALID(opts, tramp_attach_opts))
		return LIBTRAMP_FAIL(-EINVAL, TRAMP_LIB_BAD_ARGUMENT, subject,
				     "opts must be declared with TRAMP_OPTS(tramp_attach_opts, ...)");
	if (LIBTRAMP_OPTS_GET(opts, tramp_attach_opts, flags, 0) & ~ATTACH_FLAGS)
		return LIBTRAMP_FAIL(-EINVAL, TRAMP_LIB_BAD_ARGUMENT, subject,
				     "unknown attach flags 0x%x", opts->flags & ~ATTACH_FLAGS);
	return 0;
}

/* Where a probe goes. Refuses what only return probes have for another, and the reverse. */
static int find_place(const char *section, bool returns, const struct tramp_attach_opts *opts,
		      struct tramp_place *place, const char *subject)
{
	int err;

	if (!returns && LIBTRAMP_OPTS_GET(opts, tramp_attach_opts, maxactive, 0))
		return LIBTRAMP_FAIL(-EINVAL, TRAMP_LIB_BAD_ARGUMENT, subject,
				     "maxactive is for return probes");
	err = libtramp_probe_place(section, opts, place, subject);
	if (!err && returns && place->has_offset)
		err = LIBTRAMP_FAIL(-EINVAL, TRAMP_LIB_BAD_PLACE, subject,
				    "a return probe goes to a function, without an offset");
	return err;
}

void libtramp_request_cmd(const struct libtramp_request *r, struct tramp_attach *cmd)
{
	*cmd = (struct tramp_attach){ .size = sizeof(*cmd), .flags = r->flags, .cookie = r->cookie,
				      .prog_fd = r->prog_fd, .maxactive = r->maxactive };
	if (cmd->cookie)
		cmd->flags |= TRAMP_ATTACH_F_COOKIE;
	if (r->probe)
		libtramp_place_to_cmd(&r->place, cmd);
}

struct tramp_link *libtramp_attach(const struct libtramp_request *r)
{
	struct tramp_link *link = NULL;
	struct tramp_attach cmd;
	int dev, err;

	if (r->multi)
		return libtramp_attach_multi(r->multi, NULL, r);
	libtramp_request_cmd(r, &cmd);
	dev = libtramp_dev_open(r->subject);
	if (dev < 0)
		return NULL;
	err = libtramp_dev_cmd(dev, TRAMP_IOC_ATTACH, &cmd);
	if (err) {
		err = libtramp_refused(dev, err, &cmd.refusal, r);
	} else {
		link = libtramp_link_new(cmd.link_fd, cmd.link_id, r->name);
		if (!link)
			err = -errno;
	}
	close(dev);
	if (!link)
		errno = -err;
	return link;
}

/* Refuses options of probes for a tracing program. */
static int check_no_place(const struct tramp_attach_opts *opts, const char *subject)
{
	uint32_t flags = LIBTRAMP_OPTS_GET(opts, tramp_attach_opts, flags, 0);

	if (LIBTRAMP_OPTS_GET(opts, tramp_attach_opts, maxactive, 0))
		return LIBTRAMP_FAIL(-EINVAL, TRAMP_LIB_BAD_ARGUMENT, subject,
				     "maxactive is for return probes");
	if (libtramp_opts_have_place(opts))
		return LIBTRAMP_FAIL(-EINVAL, TRAMP_LIB_BAD_ARGUMENT, subject,
				     "the function of a tracing program is fixed when it is loaded");
	if (flags & PROBE_FLAGS)
		return LIBTRAMP_FAIL(-EINVAL, TRAMP_LIB_BAD_ARGUMENT, subject,
				     "attach flags 0x%x are for probes", flags & PROBE_FLAGS);
	return 0;
}

static bool wants_return(const struct tramp_attach_opts *opts)
{
	return LIBTRAMP_OPTS_GET(opts, tramp_attach_opts, flags, 0) & TRAMP_ATTACH_F_RETURN;
}

static void set_opts(struct libtramp_request *r, const struct tramp_attach_opts *opts)
{
	r->flags = LIBTRAMP_OPTS_GET(opts, tramp_attach_opts, flags, 0);
	r->cookie = LIBTRAMP_OPTS_GET(opts, tramp_attach_opts, cookie, 0);
	r->maxactive = LIBTRAMP_OPTS_GET(opts, tramp_attach_opts, maxactive, 0);
}

int libtramp_request_check(struct libtramp_request *r, const struct bpf_program *prog,
			   const struct tramp_attach_opts *opts)
{
	struct libtramp_failure unsupported;
	const char *why, *section, *pattern;
	uint32_t multi;
	bool returns;
	int err;

	if (!prog)
		return LIBTRAMP_FAIL(-EINVAL, TRAMP_LIB_BAD_ARGUMENT, "tramp_attach()",
				     "prog is NULL");
	libtramp_prog_subject(r->subject, sizeof(r->subject), prog);
	err = check_opts(opts, r->subject);
	if (err)
		return err;
	why = libtramp_prog_unsupported(prog, &unsupported);
	if (why) {
		unsupported.subject = r->subject;
		return libtramp_fail(&unsupported, "%s", why);
	}
	section = bpf_program__section_name(prog);
	r->probe = bpf_program__type(prog) == BPF_PROG_TYPE_KPROBE;
	if (r->probe && libtramp_is_multi(section, &multi, &pattern)) {
		r->multi = prog;
		r->cookie = LIBTRAMP_OPTS_GET(opts, tramp_attach_opts, cookie, 0);
		return check_no_place(opts, r->subject);
	}
	returns = r->probe && (libtramp_is_return(section) || wants_return(opts));
	err = r->probe ? find_place(section, returns, opts, &r->place, r->subject) :
			 check_no_place(opts, r->subject);
	if (err)
		return err;
	r->name = bpf_program__name(prog);
	set_opts(r, opts);
	if (returns)
		r->flags |= TRAMP_ATTACH_F_RETURN;
	return 0;
}

int libtramp_request(struct libtramp_request *r, const struct bpf_program *prog,
		     const struct tramp_attach_opts *opts)
{
	char text[LIBTRAMP_PLACE_LEN];
	int err = libtramp_request_check(r, prog, opts);

	if (err || r->multi)
		return err;
	r->prog_fd = bpf_program__fd(prog);
	if (r->prog_fd < 0)
		return LIBTRAMP_FAIL(-EINVAL, TRAMP_LIB_NOT_LOADED, r->subject, NO_DETAIL);
	/* Its section is not where it goes. */
	if (r->probe && libtramp_opts_have_place(opts))
		snprintf(r->subject, sizeof(r->subject), "program '%s' at %s",
			 bpf_program__name(prog),
			 libtramp_place_text(&r->place, text, sizeof(text)));
	return 0;
}

struct tramp_link *tramp_attach(const struct bpf_program *prog,
				const struct tramp_attach_opts *opts)
{
	struct tramp_link *link = NULL;
	struct libtramp_request r = {};

	if (!libtramp_request(&r, prog, opts))
		link = libtramp_attach(&r);
	if (!link)
		libtramp_warn_last();
	return link;
}

uint32_t libtramp_flags_for(const struct bpf_program *prog, uint32_t flags)
{
	const char *section = bpf_program__section_name(prog), *pattern;
	uint32_t multi;

	if (bpf_program__type(prog) == BPF_PROG_TYPE_KPROBE &&
	    !libtramp_is_multi(section, &multi, &pattern))
		return flags;
	return flags & ~PROBE_FLAGS;
}

static struct tramp_link *attach_by_fd(int prog_fd, const struct tramp_attach_opts *opts)
{
	struct libtramp_request r = { .prog_fd = prog_fd };
	struct bpf_prog_info info;
	int err = 0;
	bool known;

	snprintf(r.subject, sizeof(r.subject), "program fd %d", prog_fd);
	if (check_opts(opts, r.subject))
		return NULL;
	/* If this is no program at all, the module refuses it, whatever is asked for it. */
	known = libtramp_prog_info(prog_fd, &info);
	r.probe = known ? info.type == BPF_PROG_TYPE_KPROBE : libtramp_opts_have_place(opts);
	if (r.probe)
		err = find_place("", wants_return(opts), opts, &r.place, r.subject);
	else if (known)
		err = check_no_place(opts, r.subject);
	if (err)
		return NULL;
	set_opts(&r, opts);
	return libtramp_attach(&r);
}

struct tramp_link *tramp_attach_fd(int prog_fd, const struct tramp_attach_opts *opts)
{
	struct tramp_link *link = attach_by_fd(prog_fd, opts);

	if (!link)
		libtramp_warn_last();
	return link;
}
