// SPDX-License-Identifier: LGPL-2.1 OR BSD-2-Clause
/*
 * Attaching kprobe programs: which of the many programs of that type are probes at
 * an instruction or at a function's return, and where they go.
 *
 * BPF_PROG_TYPE_KPROBE is the type of much else: probes in user space, programs for many
 * functions. Only the section name tells.
 */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <string.h>

#include "../core/error.h"
#include "../core/sized.h"
#include "../syms/place.h"
#include "internal.h"

/*
 * Sections of programs of the type that are no probes of ours, longer names before
 * their beginnings. A dot or a slash may follow ("uprobe.s/...").
 */
static const struct {
	const char *section;
	unsigned int reason;
	const char *why, *remedy;
} others[] = {
	{ "ksyscall", TRAMP_REASON_NOT_BUILT,
	  "system calls have no names of their own in this version",
	  "use SEC(\"kprobe/__x64_sys_NAME\"), or attach it with libbpf" },
	{ "kretsyscall", TRAMP_REASON_NOT_BUILT,
	  "system calls have no names of their own in this version",
	  "use SEC(\"kretprobe/__x64_sys_NAME\"), or attach it with libbpf" },
	{ "uprobe", TRAMP_REASON_PROG_TYPE, "it is for user space", "attach it with libbpf" },
	{ "uretprobe", TRAMP_REASON_PROG_TYPE, "it is for user space", "attach it with libbpf" },
	{ "usdt", TRAMP_REASON_PROG_TYPE, "it is for user space", "attach it with libbpf" },
};

const char *libtramp_not_a_probe(const char *section, struct libtramp_failure *f)
{
	size_t i, len;

	for (i = 0; i < ARRAY_SIZE(others); i++) {
		len = strlen(others[i].section);
		if (strncmp(section, others[i].section, len) || !strchr("./", section[len]))
			continue;
		f->reason = others[i].reason;
		f->remedy = others[i].remedy;
		return others[i].why;
	}
	return NULL;
}

/* The place after "kprobe/" or "kretprobe/" in a section name; NULL: there is neither. */
static const char *section_place(const char *section)
{
	if (!strncmp(section, "kretprobe/", 10))
		return section + 10;
	return strncmp(section, "kprobe/", 7) ? NULL : section + 7;
}

bool libtramp_is_return(const char *section)
{
	return !strncmp(section, "kretprobe/", 10) || !strcmp(section, "kretprobe");
}

bool libtramp_names_no_place(const struct bpf_program *prog)
{
	const char *section = bpf_program__section_name(prog);

	return bpf_program__type(prog) == BPF_PROG_TYPE_KPROBE &&
	       (!strcmp(section, "kprobe") || !strcmp(section, "kretprobe"));
}

bool libtramp_opts_have_place(const struct tramp_attach_opts *opts)
{
	return LIBTRAMP_OPTS_GET(opts, tramp_attach_opts, symbol, NULL) ||
	       LIBTRAMP_OPTS_GET(opts, tramp_attach_opts, module, NULL) ||
	       LIBTRAMP_OPTS_GET(opts, tramp_attach_opts, offset, 0) ||
	       LIBTRAMP_OPTS_GET(opts, tramp_attach_opts, addr, 0);
}

int libtramp_probe_place(const char *section, const struct tramp_attach_opts *opts,
			 struct tramp_place *place, const char *subject)
{
	const char *text = section_place(section);
	struct tramp_place from_section;
	int err;

	err = libtramp_place_from_opts(opts, place, subject);
	if (err)
		return err;
	if (!place->symbol[0] && !place->addr) {
		if (!text)
			return LIBTRAMP_FAIL(-EINVAL, TRAMP_LIB_BAD_PLACE, subject,
					     "neither its section nor opts say where it goes");
		err = libtramp_place_parse(text, true, &from_section, subject);
		if (err)
			return err;
		memcpy(from_section.module, place->module, sizeof(place->module));
		*place = from_section;
	}
	return libtramp_place_resolve(place, NULL);
}

void libtramp_place_to_cmd(const struct tramp_place *place, struct tramp_attach *cmd)
{
	cmd->addr = place->addr;
	if (place->addr)
		return;
	cmd->offset = place->offset;
	memcpy(cmd->symbol, place->symbol, sizeof(cmd->symbol));
	memcpy(cmd->module, place->module, sizeof(cmd->module));
}
