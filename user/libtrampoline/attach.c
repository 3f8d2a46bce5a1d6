// SPDX-License-Identifier: LGPL-2.1 OR BSD-2-Clause
/*
 * Attaching one program. libbpf has loaded it: the verifier has checked it
 * against the function it names, so that its kind and its target are the
 * program's own and need not be said again.
 *
 * What can be told without the module (not loaded, a kind we do not attach) is
 * told here, in terms of what the user wrote; the rest is the module's to refuse.
 */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <unistd.h>

#include "internal.h"

#define ATTACH_FLAGS	(TRAMP_ATTACH_F_COOKIE | TRAMP_ATTACH_F_NO_OPS)

static const char kinds_text[] =
	"this version attaches fentry/, fexit/ and fmod_ret/ programs and their sleepable forms";

const char *libtramp_prog_subject(char *buf, size_t len, const struct bpf_program *prog)
{
	snprintf(buf, len, "program '%s' (SEC(\"%s\"))", bpf_program__name(prog),
		 bpf_program__section_name(prog));
	return buf;
}

bool libtramp_prog_supported(const struct bpf_program *prog)
{
	if (bpf_program__type(prog) != BPF_PROG_TYPE_TRACING)
		return false;
	switch (bpf_program__expected_attach_type(prog)) {
	case BPF_TRACE_FENTRY:
	case BPF_TRACE_FEXIT:
	case BPF_MODIFY_RETURN:
		return true;
	default:
		return false;
	}
}

uint32_t libtramp_prog_id(int prog_fd)
{
	struct bpf_prog_info info = {};
	__u32 len = sizeof(info);

	return bpf_obj_get_info_by_fd(prog_fd, &info, &len) ? 0 : info.id;
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

static int refused(int dev, int prog_fd, int err, const struct tramp_refusal *refusal,
		   const char *subject)
{
	uint32_t link;

	switch (refusal->reason) {
	case TRAMP_REASON_ALREADY_ATTACHED:
	case TRAMP_REASON_PROG_TARGET:
	case TRAMP_REASON_SITE_HELD:
		/* The module sees only that the place is taken; say so if it is by ourselves. */
		link = kernel_link_of(dev, prog_fd);
		if (link)
			return LIBTRAMP_FAIL(-EBUSY, TRAMP_LIB_KERNEL_ATTACHED, subject,
					     "by link %u", link);
		break;
	case TRAMP_REASON_NONE:
		/* Without a refusal these are the general ones of the ioctl. */
		if (err == -EPERM)
			return LIBTRAMP_FAIL(err, TRAMP_REASON_PERMISSION, subject, NO_DETAIL);
		if (err == -ENOMEM)
			return libtramp_fail_nomem(subject);
		return LIBTRAMP_FAIL(err, TRAMP_LIB_SYSTEM, subject, "TRAMP_IOC_ATTACH: %s",
				     strerror(-err));
	default:
		break;
	}
	return libtramp_fail_refusal(err, refusal, subject);
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

static struct tramp_link *attach_fd(int prog_fd, const struct tramp_attach_opts *opts,
				    const char *subject, const char *name)
{
	struct tramp_attach cmd = {
		.size = sizeof(cmd),
		.flags = LIBTRAMP_OPTS_GET(opts, tramp_attach_opts, flags, 0),
		.cookie = LIBTRAMP_OPTS_GET(opts, tramp_attach_opts, cookie, 0),
		.prog_fd = prog_fd,
	};
	struct tramp_link *link = NULL;
	int dev, err;

	if (cmd.cookie)
		cmd.flags |= TRAMP_ATTACH_F_COOKIE;
	dev = libtramp_dev_open(subject);
	if (dev < 0)
		return NULL;
	err = libtramp_dev_cmd(dev, TRAMP_IOC_ATTACH, &cmd);
	if (err) {
		err = refused(dev, prog_fd, err, &cmd.refusal, subject);
	} else {
		link = libtramp_link_new(cmd.link_fd, cmd.link_id, name);
		if (!link)
			err = -errno;
	}
	close(dev);
	if (!link)
		errno = -err;
	return link;
}

struct tramp_link *libtramp_attach(const struct bpf_program *prog,
				   const struct tramp_attach_opts *opts)
{
	char subject[LIBTRAMP_SUBJECT_LEN];
	int fd;

	if (!prog) {
		LIBTRAMP_FAIL(-EINVAL, TRAMP_LIB_BAD_ARGUMENT, "tramp_attach()", "prog is NULL");
		return NULL;
	}
	libtramp_prog_subject(subject, sizeof(subject), prog);
	if (check_opts(opts, subject))
		return NULL;
	if (!libtramp_prog_supported(prog)) {
		libtramp_fail(&(struct libtramp_failure) {
			.err = -EOPNOTSUPP,
			.reason = TRAMP_REASON_NOT_BUILT,
			.subject = subject,
			.remedy = "attach it with libbpf (bpf_program__attach())" },
			kinds_text);
		return NULL;
	}
	fd = bpf_program__fd(prog);
	if (fd < 0) {
		LIBTRAMP_FAIL(-EINVAL, TRAMP_LIB_NOT_LOADED, subject, NO_DETAIL);
		return NULL;
	}
	return attach_fd(fd, opts, subject, bpf_program__name(prog));
}

struct tramp_link *tramp_attach(const struct bpf_program *prog,
				const struct tramp_attach_opts *opts)
{
	struct tramp_link *link = libtramp_attach(prog, opts);

	if (!link)
		libtramp_warn_last();
	return link;
}

struct tramp_link *tramp_attach_fd(int prog_fd, const struct tramp_attach_opts *opts)
{
	struct tramp_link *link = NULL;
	char subject[32];

	snprintf(subject, sizeof(subject), "program fd %d", prog_fd);
	if (!check_opts(opts, subject))
		link = attach_fd(prog_fd, opts, subject, NULL);
	if (!link)
		libtramp_warn_last();
	return link;
}
