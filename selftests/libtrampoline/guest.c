// SPDX-License-Identifier: GPL-2.0
/*
 * Shared by the library's tests with the module loaded, see guest.h.
 */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "../lib/ktap.h"
#include "guest.h"

/* A failed unlink() runs through do_unlinkat() like any other. */
void call_target(unsigned int times)
{
	while (times--)
		unlink("/nonexistent/file");
}

uint32_t links_now(void)
{
	TRAMP_OPTS(tramp_module_info, info);

	REQUIRE(!tramp_info(&info), "%s", tramp_last_error()->message);
	return info.links;
}

struct kinds *need_loaded(struct kinds *skel)
{
	int err;

	tramp_set_print(NULL);
	if (!skel)
		skel = kinds__open();
	REQUIRE(skel, "open: %s", strerror(errno));
	bpf_program__set_autoload(skel->progs.on_entry_10, true);
	bpf_program__set_autoattach(skel->progs.on_entry_10, false);
	bpf_program__set_autoload(skel->progs.on_rmdir, true);
	bpf_program__set_autoattach(skel->progs.on_rmdir, false);
	err = kinds__load(skel);
	REQUIRE(!err, "load: %s", strerror(-err));
	skel->bss->pid = getpid();
	return skel;
}

struct tramp_link *need_link(const struct bpf_program *prog, const struct tramp_attach_opts *opts)
{
	struct tramp_link *link = tramp_attach(prog, opts);

	REQUIRE(link, "%s", tramp_last_error()->message);
	return link;
}

void need_info(uint32_t id, struct tramp_link_info *info)
{
	REQUIRE(!tramp_link_info_by_id(id, info), "%s", tramp_last_error()->message);
}
