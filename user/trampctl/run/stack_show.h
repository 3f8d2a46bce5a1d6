/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Call stacks of events: the options of trace and probe, and how stacks are shown.
 */
#ifndef TRAMPCTL_STACK_SHOW_H
#define TRAMPCTL_STACK_SHOW_H

#include <json-c/json.h>
#include <linux/types.h>
#include <stdbool.h>
#include <stdint.h>
#include <trampoline/trampoline.h>

#include "stacks.h"
#include "user_names.h"

/**
 * struct stack_options - which stacks
 * @kernel: the kernel's
 * @user: the process's
 * @depth: frames of each; 0: it was not given
 */
struct stack_options {
	bool kernel, user;
	uint32_t depth;
};

/* In the order of STACK_OPTS(). */
enum { STACK_OPT_KERNEL, STACK_OPT_USER, STACK_OPT_DEPTH, NR_STACK_OPTS };

#define STACK_OPTS(event)							\
	{ "stack", 0, NULL, "show the callers of each " event },		\
	{ "ustack", 0, NULL, "show the callers in the process of each " event }, \
	{ "stack-depth", 0, "N", "show so many callers of each, from 1 to 127 (default 32)" }

/**
 * struct stack_show - how stacks are taken and shown
 * @cfg: for the programs
 * @depth: frames to show of each
 * @kernel_room: frames that can come; of a stack with as many, more may be missing
 * @user_room: the same of the process's
 * @kernel: names of the kernel's functions; NULL: they are not known
 * @user: names in processes; NULL: none were asked for
 */
struct stack_show {
	struct stacks_config cfg;
	uint32_t depth, kernel_room, user_room;
	struct tramp_names *kernel;
	struct user_names *user;
};

/**
 * struct stack_event - an event with stacks
 * @stacks: those; only what was asked for is looked at
 * @function: only its callers in the kernel: frames before it (the program, the image) are ours,
 *	and the event's line names it; or NULL
 * @at_place: the kernel's first frame is the event's place, which its line names
 * @tgid, @comm: the process, and its task's name
 * @is_past: see struct user_place
 */
struct stack_event {
	const struct stacks *stacks;
	const struct tramp_sym *function;
	bool at_place;
	uint32_t tgid;
	const char *comm;
	bool is_past;
};

/**
 * struct frames - what is to be shown of one stack
 * @ip: the frames, innermost first
 * @nr: how many
 * @ends: why there are no more, as JSON has it; NULL: the stack is whole
 */
struct frames {
	const __u64 *ip;
	size_t nr;
	const char *ends;
};

int stacks_option(struct stack_options *o, int opt, const char *arg);
int stacks_check(const struct stack_options *o);

uint32_t stack_kernel_limit(void);
void stack_show_configure(struct stack_show *show, const struct stack_options *o);
void stack_show_open(struct stack_show *show);
void stack_show_close(struct stack_show *show);
size_t stack_bytes(const struct stack_show *show);

struct frames frames_of_kernel(const struct stack_show *show, const __u64 *ip, int len,
			       const struct stack_event *e);
struct frames frames_of_user(const struct stack_show *show, const __u64 *ip, int len);
char *user_frame_text(const struct stack_show *show, const struct frames *f, size_t i,
		      const struct stack_event *e, bool whole);

void frames_print_kernel(const struct stack_show *show, const struct frames *f, int indent);
void frames_print_user(const struct stack_show *show, const struct frames *f,
		       const struct stack_event *e, int indent);
void frames_put_kernel(json_object *j, const struct stack_show *show, const struct frames *f);
void frames_put_user(json_object *j, const struct stack_show *show, const struct frames *f,
		     const struct stack_event *e);

void stack_print(const struct stack_show *show, const struct stack_event *e);
void stack_put(json_object *j, const struct stack_show *show, const struct stack_event *e);

#endif /* TRAMPCTL_STACK_SHOW_H */
