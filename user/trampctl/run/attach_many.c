// SPDX-License-Identifier: GPL-2.0
/*
 * One entry program and one exit program on many functions. The callers know nothing of how:
 * here it is one function after the other. The entry program has one link for each function.
 * An exit program is of one function only; its instructions are loaded again for each.
 *
 * Exits are attached first and detached last: a call that is noted at its entry then has
 * an exit program ahead of it.
 */
#include <bpf/bpf.h>
#include <errno.h>
#include <unistd.h>

#include "../out/error.h"
#include "attach_many.h"
#include "events.h"
#include "progress.h"

/* A copy of the exit program for another function: an fd, or a negative errno. */
static int load_exit(const struct bpf_program *prog, const struct tramp_selected *what)
{
	LIBBPF_OPTS(bpf_prog_load_opts, opts, .expected_attach_type = BPF_TRACE_FEXIT,
		    .attach_btf_id = what->btf_id);
	int btf = 0, fd;

	if (what->sym->module[0]) {
		btf = bpf_btf_get_fd_by_id(what->btf_obj_id);
		if (btf < 0)
			return btf;
		opts.attach_btf_obj_fd = btf;
	}
	fd = bpf_prog_load(BPF_PROG_TYPE_TRACING, "many_exit", "GPL", bpf_program__insns(prog),
			   bpf_program__insn_cnt(prog), &opts);
	if (btf)
		close(btf);
	return fd;
}

static struct tramp_link *attach_exit(const struct bpf_program *prog, const struct many_place *p)
{
	TRAMP_OPTS(tramp_attach_opts, opts, .cookie = p->cookie, .flags = TRAMP_ATTACH_F_COOKIE);
	struct tramp_link *link;
	int fd;

	fd = load_exit(prog, p->what);
	if (fd < 0)
		return NULL;
	link = tramp_attach_fd(fd, &opts);
	close(fd);
	return link;
}

static struct tramp_link *attach_entry(const struct bpf_program *prog, const struct many_place *p)
{
	TRAMP_OPTS(tramp_attach_opts, opts, .cookie = p->cookie, .flags = TRAMP_ATTACH_F_COOKIE);
	const struct tramp_sym *sym = p->what->sym;

	if (sym->addr) {
		opts.addr = sym->addr;
	} else {
		opts.symbol = sym->name;
		opts.module = sym->module[0] ? sym->module : "vmlinux";
	}
	return tramp_attach(prog, &opts);
}

/* Why the last attachment failed, as far as it is about the function. */
static uint32_t last_reason(void)
{
	const struct tramp_error *e = tramp_last_error();

	return e->err && e->reason ? e->reason : TRAMP_LIB_SYSTEM;
}

static void attach_one(const struct many_programs *progs, struct many_place *p)
{
	tramp_clear_error();
	if (progs->exit_one) {
		p->exit = attach_exit(progs->exit_one, p);
		if (!p->exit) {
			p->reason = last_reason();
			return;
		}
	}
	p->entry = attach_entry(progs->entry, p);
	if (!p->entry) {
		p->reason = last_reason();
		tramp_link__destroy(p->exit);
		p->exit = NULL;
	}
}

/**
 * attach_many() - attach
 * @progs: the programs
 * @places: the functions
 * @nr: how many
 * @all_or_nothing: end at the first that is refused
 *
 * Return: 0, also if there was a signal; or the exit code of an error that has been reported.
 * Whatever was attached is the caller's to detach.
 */
int attach_many(const struct many_programs *progs, struct many_place *places, size_t nr,
		bool all_or_nothing)
{
	size_t i;
	int rc = 0;

	progress_begin("attaching");
	for (i = 0; i < nr && !events_stopped(); i++) {
		progress(i, nr);
		attach_one(progs, &places[i]);
		if (places[i].reason && all_or_nothing) {
			progress_end();
			if (tramp_last_error()->err)
				rc = fail_lib(NULL, places[i].what->sym->name);
			else
				rc = fail_bpf(errno, "cannot load the exit program for %s",
					      places[i].what->sym->name);
			break;
		}
	}
	progress_end();
	return rc;
}

static uint64_t link_misses(const struct tramp_link *link)
{
	TRAMP_OPTS(tramp_link_info, info);

	return link && !tramp_link__info(link, &info) ? info.misses : 0;
}

/* Detaches. Returns how often the programs were missed. */
uint64_t detach_many(struct many_place *places, size_t nr)
{
	uint64_t misses = 0;
	size_t i;

	progress_begin("detaching");
	for (i = 0; i < nr; i++) {
		progress(i, 2 * nr);
		misses += link_misses(places[i].entry) + link_misses(places[i].exit);
		tramp_link__destroy(places[i].entry);
		places[i].entry = NULL;
	}
	for (i = 0; i < nr; i++) {
		progress(nr + i, 2 * nr);
		tramp_link__destroy(places[i].exit);
		places[i].exit = NULL;
	}
	progress_end();
	return misses;
}
