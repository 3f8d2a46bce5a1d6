// SPDX-License-Identifier: GPL-2.0
/*
 * The rules for answers (answer.h).
 */
#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>
#include "answer.h"

static char wrong[256];

#define WRONG(fmt, ...)								\
	({									\
		snprintf(wrong, sizeof(wrong), fmt, ##__VA_ARGS__);		\
		(const char *)wrong;						\
	})

static int free_fd(void)
{
	int fd = dup(world.dev);

	close(fd);
	return fd;
}

void answer_get(const struct request *r, struct answer *a)
{
	a->first_fd = free_fd();
	a->error = ioctl(world.dev, r->nr, r->arg) < 0 ? errno : 0;
	a->free_fd = a->error ? free_fd() : -1;
}

/* ------------------------------------------------ what needs no look inside --- */

/* An errno that follows from the struct's size and place alone; 0 if none does. */
static int form_error(const struct request *r)
{
	if (!r->c)
		return ENOTTY;
	if (!r->room)
		return -1;
	if (r->size < r->c->min)
		return EINVAL;
	if (r->size > 4096 || !r->zero_tail)
		return E2BIG;
	return 0;
}

/* The memory that a bad pointer leads to may be good enough for some of it. */
static const char *judge_bad_place(const struct answer *a)
{
	switch (a->error) {
	case EFAULT:
	case EINVAL:
	case E2BIG:
		return NULL;
	}
	return WRONG("errno %d of a struct in bad memory", a->error);
}

/* ------------------------------------------------------- what was written --- */

static bool written(const struct uapi_field *f)
{
	return f->back || (f->what >= UAPI_OUT && f->what <= UAPI_WHY);
}

/* An out member that is still what the caller happened to have there. */
static bool is_stale(const struct request *r, const struct uapi_field *f)
{
	uint32_t at;

	if ((uint32_t)f->at + f->len > r->room)
		return false;
	for (at = f->at; at < (uint32_t)f->at + f->len; at++) {
		if (r->arg[at] != REQUEST_STALE)
			return false;
	}
	return true;
}

static const char *judge_out(const struct request *r)
{
	unsigned int i;

	for (i = 0; i < r->c->nr_fields; i++) {
		const struct uapi_field *f = &r->c->fields[i];

		if (written(f) && is_stale(r, f))
			return WRONG("%s is as it was", f->name);
	}
	return NULL;
}

/* Members that the module does not write are as they were. */
static const char *judge_bytes(const struct request *r, bool all)
{
	unsigned int i;
	uint32_t at;

	for (i = 0; !all && i < r->c->nr_fields; i++) {
		const struct uapi_field *f = &r->c->fields[i];

		for (at = f->at; at < (uint32_t)f->at + f->len && at < r->room; at++) {
			if (!written(f) && r->arg[at] != r->before[at])
				return WRONG("wrote into %s", f->name);
		}
	}
	for (at = all ? 0 : r->c->size; at < r->room; at++) {
		if (r->arg[at] != r->before[at])
			return WRONG("wrote byte %u, which it does not know", at);
	}
	return NULL;
}

const struct tramp_refusal *answer_refusal(const struct request *r, const struct answer *a)
{
	static struct tramp_refusal refusal;
	unsigned int i;

	if (form_error(r) || a->error == EFAULT)
		return NULL;
	for (i = 0; i < r->c->nr_fields; i++) {
		const struct uapi_field *f = &r->c->fields[i];

		if ((f->what == UAPI_REFUSAL || f->what == UAPI_WHY) &&
		    (uint32_t)f->at + f->len <= r->room) {
			memcpy(&refusal, r->arg + f->at, sizeof(refusal));
			return &refusal;
		}
	}
	return NULL;
}

/* @explains: a refusal may be part of what the command answers. */
static const char *judge_refusal(const struct tramp_refusal *why, int error, bool explains)
{
	static const int errnos[] = {
#define ERRNO_OF(value, NAME, name, error, sentence) [value] = error,
		TRAMP_REASONS(ERRNO_OF)
	};

	if (!error && why->reason && !explains)
		return WRONG("accepted, with the reason %u", why->reason);
	if (why->reason >= TRAMP_REASON_COUNT)
		return WRONG("reason %u", why->reason);
	if (why->__reserved)
		return WRONG("a reserved member is %#x", why->__reserved);
	if (strnlen(why->detail, sizeof(why->detail)) == sizeof(why->detail))
		return WRONG("a detail without its NUL");
	if (error && why->reason && errnos[why->reason] != error)
		return WRONG("errno %d with the reason %u (%s)", error, why->reason, why->detail);
	if (!world.rights && why->addr)
		return WRONG("an address for a caller who may see none");
	return NULL;
}

/* --------------------------------------------------------------- the files --- */

/* Links of an ATTACH_BATCH: each item's, one file descriptor behind the other. */
static const char *take_batch(const struct request *r, int first_fd)
{
	const struct tramp_attach *items = (void *)request_get(r, "items");
	uint32_t nr = request_get(r, "count"), i;
	const char *bad = NULL;

	for (i = 0; i < nr; i++) {
		if (items[i].link_fd < first_fd)
			bad = WRONG("item %u has file %d", i, items[i].link_fd);
		else
			world_add_link(items[i].link_fd);
	}
	return bad;
}

static const char *judge_files(const struct request *r, const struct answer *a)
{
	unsigned int i;

	if (a->error && a->free_fd != a->first_fd)
		return WRONG("refused (%d), and file %d is open", a->error, a->first_fd);
	if (a->error == EFAULT)
		return NULL;
	for (i = 0; i < r->c->nr_fields; i++) {
		const struct uapi_field *f = &r->c->fields[i];
		int fd;

		if (f->what != UAPI_FD_OUT || (uint32_t)f->at + f->len > r->room)
			continue;
		fd = request_get(r, f->name);
		if (fd != (a->error ? -1 : a->first_fd))
			return WRONG("errno %d gave file %d, %d was free", a->error, fd, a->first_fd);
		if (!a->error)
			world_add_link(fd);
	}
	return !a->error && r->c->nr == TRAMP_IOC_ATTACH_BATCH ? take_batch(r, a->first_fd) : NULL;
}

/* --------------------------------------------------------------- the errno --- */

static const char *judge_errno(const struct request *r, const struct answer *a)
{
	bool entitled = world.rights || r->c->open_only;

	if (!entitled && a->error != EPERM && a->error != EFAULT)
		return WRONG("errno %d for a caller without rights", a->error);
	if (!a->error)
		return NULL;
	if (!uapi_may_fail(r->c, a->error))
		return WRONG("errno %d, which the header does not list", a->error);
	if (a->error == EFAULT && !r->may_fault)
		return WRONG("EFAULT, but all memory is good");
	return NULL;
}

const char *answer_judge(const struct request *r, const struct answer *a)
{
	const struct tramp_refusal *why;
	int form = form_error(r);
	const char *bad;

	if (form && a->free_fd != a->first_fd)
		return WRONG("errno %d, and file %d is open", a->error, a->first_fd);
	if (form < 0)
		return judge_bad_place(a);
	if (form && a->error != form)
		return WRONG("errno %d instead of %d", a->error, form);
	if (form)
		return r->c ? judge_bytes(r, true) : NULL;
	why = answer_refusal(r, a);
	bad = judge_files(r, a) ?: judge_errno(r, a) ?: judge_bytes(r, false);
	if (!bad && a->error != EFAULT)
		bad = judge_out(r);
	return bad || !why ? bad : judge_refusal(why, a->error, uapi_field(r->c, "refusal")->what == UAPI_WHY);
}
