/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Common to count, hist, stack and trace of many functions: options, functions, programs,
 * the time that they are attached, and what was lost.
 */
#ifndef TRAMPCTL_MANY_RUN_H
#define TRAMPCTL_MANY_RUN_H

#include <json-c/json.h>
#include <linux/types.h>
#include <stdbool.h>
#include <stdint.h>

#include "attach_many.h"
#include "condition.h"
#include "events.h"
#include "functions.h"
#include "many.h"
#include "member.h"

struct many;

/**
 * struct many_options - which calls of which functions
 * @events: whose, until when
 * @functions: which functions
 * @conditions: of --if
 * @min_ns: of --min-duration, or 0
 * @used: there was one of these options
 */
struct many_options {
	struct event_options *events;
	struct function_options functions;
	struct conditions conditions;
	uint64_t min_ns;
	bool used;
};

enum {
	MANY_OPT_IF, MANY_OPT_MIN_DURATION, MANY_OPT_DENY, MANY_OPT_ARG_TYPE, MANY_OPT_ARGS,
	MANY_OPT_ALL_OR_NOTHING, NR_MANY_OPTS
};

#define MANY_OPTS								\
	{ "if", 0, "CONDITION", "only calls for which it holds: 'size > 4K && ret < 0'" }, \
	{ "min-duration", 0, "TIME", "only calls that take as long: 10us, 1ms" }, \
	{ "deny", 0, "PATTERN", "leave out the functions it matches" },		\
	{ "arg-type", 0, "TYPE", "only functions with an argument of this type" }, \
	{ "args", 0, "N[-[M]]", "only functions with so many arguments" },	\
	{ "all-or-nothing", 0, NULL, "fail if a function has to be left out" }

/* The options of commands that show sums. */
enum {
	SUM_OPT_DURATION, SUM_OPT_TASKS, SUM_OPT_MANY = SUM_OPT_TASKS + NR_TASK_OPTS,
	SUM_OPT_TOP = SUM_OPT_MANY + NR_MANY_OPTS, SUM_OPT_INTERVAL, SUM_OPT_OUTPUT,
	NR_SUM_OPTS = SUM_OPT_OUTPUT + NR_OUTPUT_OPTS
};

#define SUM_OPTS(what)								\
	{ "duration", 'd', "SECONDS", "end after so long" },			\
	TASK_OPTS("calls"),							\
	MANY_OPTS,								\
	{ "top", 0, "N", "only the N " what " with most calls" },		\
	{ "interval", 'i', "SECONDS", "show what is new, every SECONDS" }, \
	OUTPUT_OPTS

/**
 * struct sum_options - options of commands that show sums
 * @events, @many: as for all
 * @top: only so many; 0: all
 * @interval_ns: of --interval, or 0
 */
struct sum_options {
	struct event_options events;
	struct many_options many;
	uint32_t top;
	uint64_t interval_ns;
};

/**
 * struct many_run - a run
 * @opts: the options
 * @mode: enum many_mode
 * @flags: MANY_F_TOGETHER, MANY_F_USTACK
 * @stacks: which stacks the events of a trace have
 * @exits: the command needs the exits of calls
 * @prints: members to show of each call; NULL: none
 * @configure: what the command needs to know of a function, put into @info; or NULL
 * @wait: waits so many milliseconds, or until it has done something; NULL: nothing is to be done
 * @arg: for both
 * @funcs: the functions
 * @infos: what the programs are told of each function; NULL: nothing
 * @members: by function, what each of @prints is there
 * @paths: by function, where the programs find what conditions compare, and @members
 * @nr_paths: of each function
 * @attachment: where the programs are
 * @skel: the programs
 * @exits_alone: of @exits: calls count as they return, whatever was at their entry
 * @session: one program runs at entries and returns
 * @tasks: whose calls
 * @attached: of the functions
 * @missed: hits that found a program running
 * @began: when everything was attached
 *
 * The first nine are the command's to set.
 */
struct many_run {
	const struct many_options *opts;
	enum many_mode mode;
	uint32_t flags;
	struct stacks_config stacks;
	bool exits;
	const struct member_list *prints;
	int (*configure)(void *arg, size_t nr, struct many_func *info);
	void (*wait)(void *arg, int ms);
	void *arg;
	struct functions funcs;
	struct many_func *infos;
	struct member *members;
	struct many_path *paths;
	size_t nr_paths;
	struct many_attachment attachment;
	struct many *skel;
	bool exits_alone, session;
	struct bpf_link *task_link;
	struct tasks tasks;
	size_t attached;
	uint64_t missed;
	uint64_t began;
};

int many_option(struct many_options *o, int opt, const char *arg);
int sum_option(struct sum_options *o, int opt, const char *arg);

int many_start(struct many_run *run, int argc, char **argv);
int many_wait(struct many_run *run, uint64_t interval_ns, int (*show)(void *arg), void *arg);
void many_halt(struct many_run *run);
uint64_t many_lost(void *arg);
void many_free(struct many_run *run);

/* many_bind.c: */
int many_bind(struct many_run *run);

const char *many_name(const struct many_run *run, size_t nr);
const struct tramp_sym *many_sym(const struct many_run *run, size_t nr);
void many_put_name(json_object *j, const struct many_run *run, size_t nr);
json_object *many_lost_json(const struct many_run *run, uint64_t unread);
void many_warn_lost(const struct many_run *run, uint64_t unread);

#endif /* TRAMPCTL_MANY_RUN_H */
