// SPDX-License-Identifier: GPL-2.0
/*
 * Call stacks as text and as JSON, see stack_show.h.
 *
 * A stack that is not whole says so, and why. The kernel follows frame pointers in a process. If
 * the code that makes the system call has none, nothing comes behind its first frame.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../out/error.h"
#include "../out/json.h"
#include "../out/kallsyms.h"
#include "../out/text.h"
#include "args.h"
#include "module.h"
#include "stack_show.h"

#define DEFAULT_DEPTH 32

/* The first frames of a kernel stack may be the tracing program's and the image's. */
#define OWN_FRAMES 8

/* Behind the addresses of processes, with five levels of page tables. */
#define USER_END (1ULL << 56)

/* -------------------------------------------------------------- options -- */

/* One of STACK_OPTS(). Returns 0, or EXIT_USAGE after having reported the error. */
int stacks_option(struct stack_options *o, int opt, const char *arg)
{
	if (opt == STACK_OPT_DEPTH)
		return parse_u32("--stack-depth", arg, 1, STACKS_MAX_DEPTH, &o->depth);
	if (opt == STACK_OPT_KERNEL)
		o->kernel = true;
	else
		o->user = true;
	return 0;
}

/* Frames that the kernel gives at most: the administrator may have lowered it. */
uint32_t stack_kernel_limit(void)
{
	unsigned long nr = STACKS_MAX_DEPTH;
	char line[32];

	if (read_line("/proc/sys/kernel/perf_event_max_stack", line, sizeof(line)))
		nr = strtoul(line, NULL, 10);
	return nr < STACKS_MAX_DEPTH ? nr : STACKS_MAX_DEPTH;
}

/**
 * stacks_check() - can these stacks be had?
 * @o: all options are known
 *
 * Return: 0, or the exit code of an error that has been reported.
 */
int stacks_check(const struct stack_options *o)
{
	const struct problem p = {
		.exit_code = EXIT_FAILED, .err = EINVAL, .reason = "no-stacks",
		.remedy = "allow stacks: sysctl kernel.perf_event_max_stack=127",
	};

	if (o->depth && !o->kernel && !o->user)
		return usage_error("--stack-depth is for --stack and --ustack");
	if ((o->kernel || o->user) && !stack_kernel_limit())
		return fail(&p, "the kernel gives no call stacks: kernel.perf_event_max_stack is 0");
	return 0;
}

/**
 * stack_show_configure() - set all that needs no names
 * @show: (out)
 * @o: the options
 */
void stack_show_configure(struct stack_show *show, const struct stack_options *o)
{
	const uint32_t limit = stack_kernel_limit();

	*show = (struct stack_show){ .depth = o->depth ?: DEFAULT_DEPTH };
	show->user_room = show->depth < limit ? show->depth : limit;
	show->kernel_room = show->depth + OWN_FRAMES < limit ? show->depth + OWN_FRAMES : limit;
	if (o->kernel)
		show->cfg.kernel = show->kernel_room * sizeof(__u64);
	if (o->user)
		show->cfg.user = show->user_room * sizeof(__u64);
}

/* Reads names, once ours are loaded or attached: stacks may have their images. */
void stack_show_open(struct stack_show *show)
{
	if (show->cfg.kernel)
		show->kernel = load_ksyms("callers are shown as addresses");
	if (show->cfg.user)
		show->user = user_names_open();
}

void stack_show_close(struct stack_show *show)
{
	tramp_names__free(show->kernel);
	user_names_free(show->user);
}

/* Bytes that the frames of an event take in records and maps. */
size_t stack_bytes(const struct stack_show *show)
{
	return show->cfg.kernel + show->cfg.user;
}

/* --------------------------------------------------------------- frames -- */

static struct frames not_taken(int len)
{
	return (struct frames){ .ends = strerrorname_np(-len) ?: "EFAULT" };
}

/**
 * frames_of_kernel() - what to show of the kernel's stack
 * @show: opened
 * @ip: the frames, innermost first
 * @len: their bytes, or a negative errno
 * @e: the event
 */
struct frames frames_of_kernel(const struct stack_show *show, const __u64 *ip, int len,
			       const struct stack_event *e)
{
	const size_t nr = len > 0 ? len / sizeof(*ip) : 0;
	size_t first = e->at_place && nr, i;
	struct frames f;

	if (len < 0)
		return not_taken(len);
	for (i = 0; e->function && show->kernel && i < nr && !first; i++) {
		const struct tramp_name *s = tramp_names__find_addr(show->kernel, ip[i], NULL);

		/* By its address, which may have more names, unless that is hidden. */
		if (s && (s->addr == e->function->addr || !strcmp(s->name, e->function->name)))
			first = i + 1;
	}
	f = (struct frames){ .ip = ip + first, .nr = nr - first };
	if (nr >= show->kernel_room || f.nr > show->depth)
		f.ends = "depth";
	if (f.nr > show->depth)
		f.nr = show->depth;
	if (!f.nr && !f.ends)
		f.ends = "no-callers";
	return f;
}

/**
 * frames_of_user() - what to show of a process's stack
 * @show: opened
 * @ip: the frames, innermost first
 * @len: their bytes, or a negative errno
 */
struct frames frames_of_user(const struct stack_show *show, const __u64 *ip, int len)
{
	struct frames f = { .ip = ip, .nr = len > 0 ? len / sizeof(*ip) : 0 };
	size_t i;

	if (len < 0)
		return not_taken(len);
	if (!f.nr)
		f.ends = "kernel-thread";
	else if (f.nr >= show->user_room)
		f.ends = "depth";
	else if (f.nr == 1)
		f.ends = "no-frame-pointer";
	/* Where there was no frame pointer, the kernel may have taken a number for an address. */
	for (i = 0; i < f.nr; i++)
		if (ip[i] >= USER_END) {
			f.nr = i;
			f.ends = "no-frame-pointer";
		}
	return f;
}

/* In words, why there are no more frames. */
static const char *end_text(const struct frames *f)
{
	static const struct {
		const char *ends, *text;
	} texts[] = {
		{ "depth", "there may be more: the stack is cut here" },
		{ "no-callers", "no callers" },
		{ "no-frame-pointer", "callers unknown: it has no frame pointer" },
		{ "kernel-thread", "no user stack: it is a kernel thread" },
		{ "EFAULT", "the stack could not be read: EFAULT" },
	};
	size_t i;

	for (i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		if (!strcmp(f->ends, texts[i].ends))
			return texts[i].text;
	return f->ends;
}

/* "name+0x10 [module]", or the address. To be freed. */
static char *kernel_frame_text(const struct stack_show *show, uint64_t ip)
{
	char *text = ksyms_text(show->kernel, ip);

	return text ? text : xasprintf("0x%" PRIx64, ip);
}

/* Frame @i in the process of @e, see user_names_text(). To be freed. */
char *user_frame_text(const struct stack_show *show, const struct frames *f, size_t i,
		      const struct stack_event *e, bool whole)
{
	const struct user_place place = { .tgid = e->tgid, .comm = e->comm, .addr = f->ip[i],
					  .is_return = i > 0, .is_past = e->is_past };

	return user_names_text(show->user, &place, whole);
}

/* --------------------------------------------------------------- output -- */

/* Files and functions of a process have the names that a stranger gave them. */
static void print_frame(char *text, int indent)
{
	char *quoted = quote_text(text, strlen(text));

	printf("%*s%s\n", indent, "", quoted);
	free(quoted);
	free(text);
}

static void print_end(const struct frames *f, int indent)
{
	if (f->ends)
		printf("%*s[%s]\n", indent, "", end_text(f));
}

void frames_print_kernel(const struct stack_show *show, const struct frames *f, int indent)
{
	size_t i;

	for (i = 0; i < f->nr; i++)
		print_frame(kernel_frame_text(show, f->ip[i]), indent);
	print_end(f, indent);
}

void frames_print_user(const struct stack_show *show, const struct frames *f,
		       const struct stack_event *e, int indent)
{
	size_t i;

	for (i = 0; i < f->nr; i++)
		print_frame(user_frame_text(show, f, i, e, true), indent);
	print_end(f, indent);
}

static void add_text(json_object *list, char *text)
{
	json_object_array_add(list, json_bytes(text, strlen(text)));
	free(text);
}

/* "stack", and "stack_ends" if it is not whole. */
void frames_put_kernel(json_object *j, const struct stack_show *show, const struct frames *f)
{
	json_object *list = json_object_new_array();
	size_t i;

	for (i = 0; i < f->nr; i++)
		add_text(list, kernel_frame_text(show, f->ip[i]));
	json_object_object_add(j, "stack", list);
	if (f->ends)
		json_put_str(j, "stack_ends", f->ends);
}

/* "user_stack", and "user_stack_ends" if it is not whole. */
void frames_put_user(json_object *j, const struct stack_show *show, const struct frames *f,
		     const struct stack_event *e)
{
	json_object *list = json_object_new_array();
	size_t i;

	for (i = 0; i < f->nr; i++)
		add_text(list, user_frame_text(show, f, i, e, true));
	json_object_object_add(j, "user_stack", list);
	if (f->ends)
		json_put_str(j, "user_stack_ends", f->ends);
}

static struct frames kernel_of(const struct stack_show *show, const struct stack_event *e)
{
	return frames_of_kernel(show, e->stacks->frames, e->stacks->kernel_len, e);
}

static struct frames user_of(const struct stack_show *show, const struct stack_event *e)
{
	return frames_of_user(show, e->stacks->frames + show->cfg.kernel / sizeof(__u64),
			      e->stacks->user_len);
}

/* The stacks of an event, below its line. */
void stack_print(const struct stack_show *show, const struct stack_event *e)
{
	struct frames f;

	if (show->cfg.kernel) {
		f = kernel_of(show, e);
		frames_print_kernel(show, &f, 8);
	}
	if (show->cfg.user) {
		f = user_of(show, e);
		frames_print_user(show, &f, e, 8);
	}
}

/* The same, as members of its object. */
void stack_put(json_object *j, const struct stack_show *show, const struct stack_event *e)
{
	struct frames f;

	if (show->cfg.kernel) {
		f = kernel_of(show, e);
		frames_put_kernel(j, show, &f);
	}
	if (show->cfg.user) {
		f = user_of(show, e);
		frames_put_user(j, show, &f, e);
	}
}
