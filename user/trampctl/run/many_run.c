// SPDX-License-Identifier: GPL-2.0
/*
 * A run of programs on many functions, from the choice of functions to what was lost.
 *
 * A signal ends it at any point: each step that takes long looks for one. The kernel takes
 * the programs away with the process, whatever ends it.
 */
#include <bpf/bpf.h>
#include <errno.h>
#include <inttypes.h>
#include <linux/membarrier.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
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
#include "stack_show.h"
#include "user/trampctl/run/many.skel.h"

/* How often to look for a signal. */
#define POLL_NS 50000000ULL

/* --------------------------------------------------------------- set-up -- */

static void configure(struct many_run *run)
{
	struct many_config *cfg = (struct many_config *)&run->skel->rodata->cfg;
	const struct many_options *o = run->opts;

	cfg->mode = run->mode;
	cfg->flags = run->flags | (o->conditions.nr ? MANY_F_TERMS : 0) |
		     (run->infos ? MANY_F_FUNCS : 0);
	if (run->exits)
		cfg->flags |= run->exits_alone ? MANY_F_EXIT_ONLY : MANY_F_EXIT;
	cfg->nr_funcs = run->funcs.nr;
	cfg->min_ns = o->min_ns;
	cfg->filter = o->events->tasks.filter;
	cfg->stacks = run->stacks;
	conditions_configure(&o->conditions, cfg);
	cfg->nr_paths = run->nr_paths;
	if (run->prints)
		cfg->flags |= MANY_F_PRINTS;
}

/* Maps that a run does not use are as small as can be. */
static int size_maps(struct many_run *run)
{
	const struct many *s = run->skel;
	const uint32_t nr = run->funcs.nr, together = run->flags & MANY_F_TOGETHER;
	const bool trace = run->mode == MANY_TRACE, hist = run->mode == MANY_HIST;
	int err = 0;

	if (run->infos)
		err = bpf_map__set_max_entries(s->maps.funcs, nr);
	if (!err && run->nr_paths)
		err = bpf_map__set_max_entries(s->maps.paths, nr * run->nr_paths);
	if (!err && (run->mode == MANY_COUNT || together))
		err = bpf_map__set_max_entries(s->maps.calls, nr);
	if (!err && hist && !together)
		err = bpf_map__set_max_entries(s->maps.hists, nr);
	if (!err && (!run->exits || run->exits_alone))
		err = bpf_map__set_max_entries(s->maps.tasks, 1);
	/* The kernel makes no map for more frames than it gives, which may be none. */
	if (!err && run->mode == MANY_STACK)
		err = bpf_map__set_value_size(s->maps.stacks,
					      sizeof(__u64) * stack_kernel_limit());
	else if (!err)
		err = bpf_map__set_autocreate(s->maps.stacks, false);
	if (!err && run->mode != MANY_STACK)
		err = bpf_map__set_max_entries(s->maps.stack_calls, 1);
	if (!err && !trace)
		err = bpf_map__set_max_entries(s->maps.inflight, 1);
	/* many_print_member() is a global function: for it the verifier wants all of the struct. */
	if (!err && !run->prints)
		err = bpf_map__set_value_size(s->maps.inflight,
					      offsetof(struct many_event, call.stacks.frames) +
					      run->stacks.kernel + run->stacks.user);
	if (!err && !trace)
		err = bpf_map__set_max_entries(s->maps.events,
					       run->flags & MANY_F_USTACK ? 1 << 18 : 4096);
	return err;
}

/* As many__open() does, but a session may be one by map. */
static struct many *open_skeleton(void)
{
	struct many *s = xcalloc(1, sizeof(*s));
	int err;

	if (!many__create_skeleton(s) && !tramp_object__open_skeleton(s->skeleton, NULL))
		return s;
	err = errno;
	many__destroy(s);
	errno = err;
	return NULL;
}

static int load(struct many_run *run)
{
	const bool pairs = run->exits && !run->exits_alone;
	struct many *s;
	int err;

	s = run->skel = open_skeleton();
	if (!s)
		return fail_bpf(errno, "cannot open the tracing programs");
	configure(run);
	run->session = pairs;
	bpf_program__set_autoload(s->progs.many_session, pairs);
	/* With a session, too: there may be functions that it cannot have. */
	bpf_program__set_autoload(s->progs.many_entry, !run->exits_alone);
	bpf_program__set_autoload(s->progs.many_exit, run->exits);
	bpf_program__set_autoload(s->progs.many_task_gone, pairs);
	err = size_maps(run);
	if (!err)
		err = tasks_share(&run->tasks, s->maps.filter_cgroup, s->maps.filter_children);
	progress_begin("loading programs");
	if (!err)
		err = many__load(s);
	progress_end();
	if (err)
		return fail_bpf(err, "cannot load the tracing programs");
	if (!pairs)
		return 0;
	run->task_link = bpf_program__attach(s->progs.many_task_gone);
	return run->task_link ? 0 : fail_bpf(errno, "cannot attach to the end of tasks");
}

/* Has the command describe each function. */
static int describe_functions(struct many_run *run)
{
	size_t i;
	int rc = 0;

	if (!run->configure)
		return 0;
	progress_begin("reading prototypes");
	for (i = 0; i < run->funcs.nr && !events_stopped() && !rc; i++) {
		progress(i, run->funcs.nr);
		rc = run->configure(run->arg, i, &run->infos[i]);
	}
	progress_end();
	return rc;
}

/* Tells the programs about each function. */
static int fill_funcs(struct many_run *run)
{
	const int fd = bpf_map__fd(run->skel->maps.funcs);
	__u32 i;

	for (i = 0; run->infos && i < run->funcs.nr && !events_stopped(); i++)
		if (bpf_map_update_elem(fd, &i, &run->infos[i], BPF_ANY))
			return fail_bpf(errno, "cannot tell the programs about %s",
					run->funcs.func[i]->sym->name);
	for (i = 0; i < run->funcs.nr * run->nr_paths && !events_stopped(); i++)
		if (bpf_map_update_elem(bpf_map__fd(run->skel->maps.paths), &i, &run->paths[i],
					BPF_ANY))
			return fail_bpf(errno, "cannot tell the programs about members");
	return 0;
}

/* Notes which functions were left out. Returns 0 or the exit code. */
static int take_reasons(struct many_run *run)
{
	const struct many_place *places = run->attachment.places;
	struct functions *f = &run->funcs;
	const char *reason;
	char *text;
	size_t i;

	for (i = 0; i < f->nr; i++) {
		if (!is_left_out(&places[i])) {
			run->attached++;
			continue;
		}
		text = left_out_text(&places[i], &reason);
		functions_leave_out(f, reason, text, f->func[i]->sym->name);
		free(text);
	}
	/* The error has the reason of the first, and that may be the only one. */
	if (run->attached || f->nr_left > 1)
		functions_warn(f);
	return run->attached ? 0 : fail_left_out(&places[0], f->nr > 1);
}

static int attach(struct many_run *run)
{
	const struct many_programs progs = {
		.entry = run->exits_alone ? NULL : run->skel->progs.many_entry,
		.exit = run->exits ? run->skel->progs.many_exit : NULL,
		.session = run->session ? run->skel->progs.many_session : NULL,
	};
	struct many_attachment *a = &run->attachment;
	size_t i;
	int rc;

	a->nr = run->funcs.nr;
	a->places = xcalloc(a->nr, sizeof(*a->places));
	for (i = 0; i < a->nr; i++) {
		a->places[i].what = run->funcs.func[i];
		a->places[i].cookie = i;
	}
	rc = attach_many(&progs, a, run->opts->functions.all_or_nothing);
	return rc || events_stopped() ? rc : take_reasons(run);
}

/*
 * Which programs the run needs. Results alone are judged at returns alone. But whose call it is,
 * and where, is asked as it enters.
 */
static void plan(struct many_run *run)
{
	const struct many_options *o = run->opts;
	const struct task_options *tasks = &o->events->tasks;
	size_t i;

	run->exits_alone = !run->exits && !o->min_ns && o->conditions.nr &&
			   !(tasks->filter.by & ~FILTER_CHILDREN) && !tasks->cgroup &&
			   (run->mode == MANY_COUNT || run->mode == MANY_STACK);
	for (i = 0; i < o->conditions.nr; i++)
		if (!member_on_result(&o->conditions.term[i].member))
			run->exits_alone = false;
	if (o->min_ns || conditions_on_result(&o->conditions))
		run->exits = true;
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
	const bool told = o->conditions.nr || run->prints || run->configure;
	int rc;

	plan(run);
	rc = tasks_check(&o->events->tasks);
	if (!rc)
		rc = need_module(NULL);
	if (!rc)
		rc = tasks_open(&run->tasks, &o->events->tasks);
	if (!rc)
		rc = functions_select(&run->funcs, &o->functions, told, argc, argv);
	if (!rc && told)
		run->infos = xcalloc(run->funcs.nr, sizeof(*run->infos));
	if (!rc && !events_stopped())
		rc = many_bind(run);
	if (!rc && !events_stopped())
		rc = describe_functions(run);
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

static uint64_t lost_calls(const volatile struct many_counts *c)
{
	return c->lost_tasks + c->lost_depth + c->lost_inflight;
}

/* How many calls were lost so far, whatever the cause. : struct many_run. */
uint64_t many_lost(void *arg)
{
	const struct many_run *run = arg;
	const volatile struct many_counts *c = &run->skel->bss->counts;

	return lost_calls(c) + c->lost_exit + c->lost_stacks + c->lost_ring;
}

/**
 * many_wait() - let the programs run
 * @run: started
 * @interval_ns: call @show each time so long has passed; 0: never
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

	progress_begin_losses("running", "calls", many_lost, run);
	while (!rc && !events_stopped() && !output_failed() && now < end) {
		if (now >= next) {
			progress_end();
			rc = show(arg);
			progress_begin_losses("running", "calls", many_lost, run);
			/* A stopped process does not catch up. */
			now = now_ns();
			next = next + interval_ns > now ? next + interval_ns : now + interval_ns;
		}
		until = now + POLL_NS;
		until = until < end ? until : end;
		until = until < next ? until : next;
		if (until > now && run->wait) {
			run->wait(run->arg, (until - now) / 1000000 + 1);
		} else if (until > now) {
			struct timespec ts = { .tv_nsec = until - now };

			nanosleep(&ts, NULL);
		}
		now = now_ns();
	}
	progress_end();
	return rc;
}

/**
 * many_halt() - have the programs do nothing any more
 * @run: started
 *
 * With thousands of functions the kernel needs seconds to take the programs away, and all that
 * time somebody waits for what they found. So they stop first, and many_free() detaches when
 * that is shown. Nothing changes after this: a program that had begun has ended, as
 * MEMBARRIER_CMD_GLOBAL waits for an RCU grace period (kernel/sched/membarrier.c), and programs
 * are in RCU read-side sections. Kernels with nohz_full CPUs refuse it; a call that is just
 * being counted may be left out there.
 */
void many_halt(struct many_run *run)
{
	run->skel->bss->halted = true;
	syscall(SYS_membarrier, MEMBARRIER_CMD_GLOBAL, 0, 0);
	run->missed = missed_by_many(&run->attachment);
}

/* Detaches what is attached, after all that was printed is out. */
void many_free(struct many_run *run)
{
	fflush(stdout);
	if (run->attachment.places)
		detach_many(&run->attachment);
	bpf_link__destroy(run->task_link);
	many__destroy(run->skel);
	tasks_close(&run->tasks);
	free(run->attachment.places);
	free(run->infos);
	free(run->members);
	free(run->paths);
	functions_free(&run->funcs);
}

/* --------------------------------------------------------------- output -- */

/* Function number @nr. */
const struct tramp_sym *many_sym(const struct many_run *run, size_t nr)
{
	return run->funcs.func[nr]->sym;
}

const char *many_name(const struct many_run *run, size_t nr)
{
	return many_sym(run, nr)->name;
}

/* "function", and "module" if it is in one. */
void many_put_name(json_object *j, const struct many_run *run, size_t nr)
{
	const struct tramp_sym *sym = run->funcs.func[nr]->sym;

	json_put_str(j, "function", sym->name);
	if (sym->module[0])
		json_put_str(j, "module", sym->module);
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
	tasks_put(&run->tasks, j);
	return j;
}

/* The same in words. */
void many_warn_lost(const struct many_run *run, uint64_t unread)
{
	const volatile struct many_counts *c = &run->skel->bss->counts;

	if (c->lost_ring + unread)
		warn("lost %llu calls: %s", c->lost_ring + unread, events_why_lost());
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
	tasks_warn(&run->tasks);
}
