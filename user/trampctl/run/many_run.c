// SPDX-License-Identifier: GPL-2.0
/*
 * A run of programs on many functions, from the choice of functions to what was lost.
 *
 * A signal ends it at any point: each step that takes long looks for one. The kernel takes
 * the programs away with the process, whatever ends it.
 */
#include <bpf/bpf.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "../out/error.h"
#include "../out/json.h"
#include "../out/output.h"
#include "../out/text.h"
#include "many_run.h"
#include "module.h"
#include "progress.h"
#include "signals.h"
#include "user/trampctl/run/many.skel.h"

/* How often to look for a signal. */
#define POLL_NS 50000000ULL

/* A program of fexit type is loaded for some function first; its copies are for those wanted. */
#define EXIT_TEMPLATE "vfs_read"

/* --------------------------------------------------------------- set-up -- */

static int open_cgroup(struct many_run *run)
{
	__u32 zero = 0;

	if (!run->opts->cgroup)
		return 0;
	run->cgroup_fd = open(run->opts->cgroup, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (run->cgroup_fd < 0 ||
	    bpf_map_update_elem(bpf_map__fd(run->skel->maps.cgroup), &zero, &run->cgroup_fd,
				BPF_ANY)) {
		struct problem p = {
			.exit_code = errno == ENOENT ? EXIT_NOT_FOUND : EXIT_FAILED, .err = errno,
			.reason = "no-file",
			.remedy = "give a folder of the cgroup2 file system, as /sys/fs/cgroup/user.slice",
		};

		return fail(&p, "%s is no control group: %s", run->opts->cgroup, strerror(errno));
	}
	return 0;
}

static void configure(struct many_run *run)
{
	struct many_config *cfg = (struct many_config *)&run->skel->rodata->cfg;
	const struct many_options *o = run->opts;

	cfg->mode = run->mode;
	cfg->flags = run->flags | (run->exits ? MANY_F_EXIT : 0) |
		     (o->conditions.nr ? MANY_F_TERMS : 0);
	cfg->nr_funcs = run->funcs.nr;
	cfg->tid = o->tid;
	cfg->by_cpu = o->by_cpu;
	cfg->by_cgroup = !!o->cgroup;
	cfg->min_ns = o->min_ns;
	memcpy(cfg->cpus, o->cpus, sizeof(cfg->cpus));
	cfg->filter = o->events->filter;
}

/* Maps that a run does not use are as small as can be. */
static int size_maps(struct many_run *run)
{
	const struct many *s = run->skel;
	const uint32_t nr = run->funcs.nr, together = run->flags & MANY_F_TOGETHER;
	const bool trace = run->mode == MANY_TRACE, hist = run->mode == MANY_HIST;
	int err = bpf_map__set_max_entries(s->maps.funcs, nr);

	if (!err && (run->mode == MANY_COUNT || together))
		err = bpf_map__set_max_entries(s->maps.calls, nr);
	if (!err && hist && !together)
		err = bpf_map__set_max_entries(s->maps.hists, nr);
	if (!err && !run->exits)
		err = bpf_map__set_max_entries(s->maps.tasks, 1);
	if (!err && run->mode != MANY_STACK)
		err = bpf_map__set_max_entries(s->maps.stacks, 1);
	if (!err && run->mode != MANY_STACK)
		err = bpf_map__set_max_entries(s->maps.stack_calls, 1);
	if (!err && !trace)
		err = bpf_map__set_max_entries(s->maps.inflight, 1);
	if (!err && !trace)
		err = bpf_map__set_max_entries(s->maps.events, 4096);
	return err;
}

static int load(struct many_run *run)
{
	struct many *s;
	int err, rc;

	s = run->skel = many__open();
	if (!s)
		return fail_bpf(errno, "cannot open the tracing programs");
	configure(run);
	bpf_program__set_autoload(s->progs.many_exit, false);
	bpf_program__set_autoload(s->progs.many_exit_one, run->exits);
	bpf_program__set_autoload(s->progs.many_task_gone, run->exits);
	err = size_maps(run);
	if (!err && run->exits)
		err = bpf_program__set_attach_target(s->progs.many_exit_one, 0, EXIT_TEMPLATE);
	progress_begin("loading programs");
	if (!err)
		err = many__load(s);
	progress_end();
	if (err)
		return fail_bpf(err, "cannot load the tracing programs");
	rc = open_cgroup(run);
	if (rc || !run->exits)
		return rc;
	run->task_link = bpf_program__attach(s->progs.many_task_gone);
	return run->task_link ? 0 : fail_bpf(errno, "cannot attach to the end of tasks");
}

/* Leaves out functions for which the conditions make no sense. Returns 0 or the exit code. */
static int bind_conditions(struct many_run *run)
{
	const struct many_options *o = run->opts;
	struct functions *f = &run->funcs;
	struct tramp_proto *proto;
	struct many_func info;
	size_t i, n = 0;
	const char *why = NULL;
	int rc = 0;

	if (!o->conditions.nr)
		return 0;
	progress_begin("reading prototypes");
	for (i = 0; i < f->nr && !events_stopped() && !rc; i++) {
		const char *name = f->func[i]->sym->name;

		progress(i, f->nr);
		proto = tramp_syms__proto(f->syms, f->func[i]->sym);
		if (!proto) {
			progress_end();
			rc = fail_lib(f->syms, name);
			break;
		}
		why = conditions_bind(&o->conditions, proto, &info);
		tramp_proto__free(proto);
		if (!why)
			f->func[n++] = f->func[i];
		else if (o->functions.all_or_nothing)
			break;
		else
			functions_leave_out(f, "condition", why, name);
	}
	progress_end();
	if (!rc && why && o->functions.all_or_nothing)
		rc = usage_error("--if makes no sense for %s: %s", f->func[i]->sym->name, why);
	if (!rc && !n && f->nr && !events_stopped())
		rc = usage_error("--if makes no sense for any of the functions, as %s: %s",
				 f->func[0]->sym->name, why);
	f->nr = n;
	return rc;
}

/* Tells the programs about each function. */
static int fill_funcs(struct many_run *run)
{
	const int fd = bpf_map__fd(run->skel->maps.funcs);
	const struct many_options *o = run->opts;
	struct functions *f = &run->funcs;
	__u32 i;

	if (!o->conditions.nr && !run->configure)
		return 0;
	for (i = 0; i < f->nr && !events_stopped(); i++) {
		struct many_func info = { 0 };
		int rc;

		if (o->conditions.nr) {
			struct tramp_proto *proto = tramp_syms__proto(f->syms, f->func[i]->sym);

			if (!proto)
				return fail_lib(f->syms, f->func[i]->sym->name);
			conditions_bind(&o->conditions, proto, &info);
			tramp_proto__free(proto);
		}
		rc = run->configure ? run->configure(run->arg, i, &info) : 0;
		if (rc)
			return rc;
		if (bpf_map_update_elem(fd, &i, &info, BPF_ANY))
			return fail_bpf(errno, "cannot tell the programs about %s",
					f->func[i]->sym->name);
	}
	return 0;
}

static int attach(struct many_run *run)
{
	const struct many_programs progs = {
		.entry = run->skel->progs.many_entry,
		.exit_one = run->exits ? run->skel->progs.many_exit_one : NULL,
	};
	struct functions *f = &run->funcs;
	size_t i;
	int rc;

	run->places = xcalloc(f->nr, sizeof(*run->places));
	for (i = 0; i < f->nr; i++) {
		run->places[i].what = f->func[i];
		run->places[i].cookie = i;
	}
	rc = attach_many(&progs, run->places, f->nr, run->opts->functions.all_or_nothing);
	if (rc || events_stopped())
		return rc;
	for (i = 0; i < f->nr; i++) {
		if (run->places[i].reason)
			functions_leave_out(f, tramp_reason_name(run->places[i].reason),
					    tramp_reason_sentence(run->places[i].reason),
					    f->func[i]->sym->name);
		else
			run->attached++;
	}
	if (!run->attached) {
		const unsigned int reason = run->places[0].reason;
		struct problem p = {
			.exit_code = EXIT_REFUSED, .err = EOPNOTSUPP,
			.reason = tramp_reason_name(reason), .remedy = tramp_reason_remedy(reason),
		};

		return fail(&p, "%s cannot be traced%s: %s", f->func[0]->sym->name,
			    f->nr > 1 ? ", nor any other of the functions" : "",
			    tramp_reason_sentence(reason));
	}
	functions_warn(f);
	return 0;
}

/**
 * many_start() - choose functions, load the programs and attach them
 * @run: its first members are set; to be freed also after a failure
 * @argc, @argv: patterns
 *
 * Return: 0, or the exit code of an error that has been reported. After a signal 0, and
 * nothing need be attached: see events_stopped().
 */
int many_start(struct many_run *run, int argc, char **argv)
{
	const struct many_options *o = run->opts;
	int rc;

	run->cgroup_fd = -1;
	if (o->min_ns || conditions_on_result(&o->conditions))
		run->exits = true;
	rc = need_module(NULL);
	if (!rc)
		rc = events_leave_out_self(o->events);
	/* Until exits need no prototype, neither. */
	if (!rc)
		rc = functions_select(&run->funcs, &o->functions,
				      o->conditions.nr || run->configure || run->exits, argc, argv);
	if (!rc && !events_stopped())
		rc = bind_conditions(run);
	if (!rc && !events_stopped())
		rc = load(run);
	if (!rc && !events_stopped())
		rc = fill_funcs(run);
	if (!rc && !events_stopped())
		rc = attach(run);
	run->began = now_ns();
	return rc;
}

/* ----------------------------------------------------------------- time -- */

/**
 * many_wait() - let the programs run
 * @run: started
 * @interval_ns: call @show as often; 0: never
 * @show: returns 0 or an exit code, which ends it
 * @arg: for @show
 *
 * Ends with a signal, after the time that the options say, and when standard output
 * cannot be written to.
 *
 * Return: 0, or what @show returned.
 */
int many_wait(struct many_run *run, uint64_t interval_ns, int (*show)(void *arg), void *arg)
{
	const uint64_t ns = run->opts->events->duration_ns;
	const uint64_t end = ns && ns < UINT64_MAX - run->began ? run->began + ns : UINT64_MAX;
	uint64_t now = now_ns(), next = interval_ns ? now + interval_ns : UINT64_MAX, until;
	int rc = 0;

	progress_begin("running");
	while (!rc && !events_stopped() && !output_failed() && now < end) {
		if (now >= next) {
			progress_end();
			rc = show(arg);
			progress_begin("running");
			next += interval_ns;
		}
		until = now + POLL_NS;
		until = until < end ? until : end;
		until = until < next ? until : next;
		if (until > now) {
			struct timespec ts = { .tv_nsec = until - now };

			nanosleep(&ts, NULL);
		}
		now = now_ns();
	}
	progress_end();
	return rc;
}

/* Detaches. The counts of the programs are still there. */
void many_stop(struct many_run *run)
{
	if (run->places)
		run->missed += detach_many(run->places, run->funcs.nr);
	bpf_link__destroy(run->task_link);
	run->task_link = NULL;
}

void many_free(struct many_run *run)
{
	many_stop(run);
	many__destroy(run->skel);
	if (run->cgroup_fd >= 0)
		close(run->cgroup_fd);
	free(run->places);
	functions_free(&run->funcs);
}

/* --------------------------------------------------------------- output -- */

const char *many_name(const struct many_run *run, size_t nr)
{
	return run->funcs.func[nr]->sym->name;
}

/* "function", and "module" if it is in one. */
void many_put_name(json_object *j, const struct many_run *run, size_t nr)
{
	const struct tramp_sym *sym = run->funcs.func[nr]->sym;

	json_put_str(j, "function", sym->name);
	if (sym->module[0])
		json_put_str(j, "module", sym->module);
}

static uint64_t lost_calls(const volatile struct many_counts *c)
{
	return c->lost_tasks + c->lost_depth + c->lost_inflight;
}

/* All that was not seen, as an object. @unread: events that were left over at the end. */
json_object *many_lost_json(const struct many_run *run, uint64_t unread)
{
	const volatile struct many_counts *c = &run->skel->bss->counts;
	json_object *j = json_object_new_object();

	json_put_u64(j, "lost_inflight", lost_calls(c));
	json_put_u64(j, "lost_exit", c->lost_exit);
	if (run->mode == MANY_STACK)
		json_put_u64(j, "lost_stack", c->lost_stacks);
	if (run->mode == MANY_TRACE)
		json_put_u64(j, "lost_ring", c->lost_ring + unread);
	json_put_u64(j, "missed", run->missed);
	return j;
}

/* The same in words. */
void many_warn_lost(const struct many_run *run, uint64_t unread)
{
	const volatile struct many_counts *c = &run->skel->bss->counts;

	if (c->lost_ring + unread)
		warn("lost %llu calls: they came faster than they could be shown",
		     c->lost_ring + unread);
	if (lost_calls(c))
		warn("lost %" PRIu64 " calls: more than %d tasks or %d calls were under way, more than %d inside of each other, or they interrupted the tracing itself",
		     lost_calls(c), MANY_MAX_TASKS, TRACE_MAX_INFLIGHT, MANY_MAX_DEPTH);
	if (c->lost_exit)
		warn("lost %llu calls: their exits were missed", c->lost_exit);
	if (c->lost_stacks)
		warn("lost %llu calls: there are more than %d call stacks, or two of them share a place",
		     c->lost_stacks, MANY_MAX_STACKS);
	if (run->missed)
		warn("missed %" PRIu64 " times: a tracing program was running on that CPU already",
		     run->missed);
}
