// SPDX-License-Identifier: GPL-2.0
/*
 * Tasks whose events count, see tasks.h: options, the question whether there is such a process,
 * thread, user or control group, and the maps that the programs ask.
 */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/magic.h>
#include <pwd.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "../out/error.h"
#include "../out/json.h"
#include "../out/text.h"
#include "args.h"
#include "self.h"
#include "tasks.h"
#include "user/trampctl/run/children.skel.h"

/* -------------------------------------------------------------- options -- */

/* The argument of --comm. */
static int set_comm(struct task_filter *f, const char *comm)
{
	if (!comm[0] || strlen(comm) >= FILTER_COMM_LEN)
		return usage_error("--comm takes a name of 1 to %d bytes, as ps shows it",
				   FILTER_COMM_LEN - 1);
	memset(f->comm, 0, sizeof(f->comm));
	memcpy(f->comm, comm, strlen(comm));
	f->by |= FILTER_BY_COMM;
	return 0;
}

/* The argument of --uid: a number or a name. */
static int set_user(struct task_filter *f, const char *user)
{
	struct problem p = { .exit_code = EXIT_NOT_FOUND, .reason = "no-user",
			     .remedy = "give the number that id -u shows" };
	const struct passwd *pw;

	f->by |= FILTER_BY_UID;
	if (isdigit((unsigned char)user[0]))
		return parse_u32("--uid", user, 0, UINT32_MAX - 1, &f->uid);
	pw = getpwnam(user);
	if (!pw)
		return fail(&p, "--uid \"%s\": there is no such user", user);
	f->uid = pw->pw_uid;
	return 0;
}

/* The argument of --cpu: numbers and ranges. */
static int set_cpus(struct task_filter *f, const char *text)
{
	unsigned long first, last;
	const char *p = text;
	char *end;

	f->by |= FILTER_BY_CPU;
	for (;;) {
		if (!isdigit((unsigned char)*p))
			break;
		first = last = strtoul(p, &end, 10);
		if (*end == '-') {
			p = end + 1;
			if (!isdigit((unsigned char)*p))
				break;
			last = strtoul(p, &end, 10);
		}
		if (last >= FILTER_MAX_CPUS || first > last)
			break;
		for (; first <= last; first++)
			f->cpus[first / 64] |= 1ULL << (first % 64);
		if (!*end)
			return 0;
		if (*end != ',')
			break;
		p = end + 1;
	}
	return usage_error("--cpu needs numbers up to %d, as 0,2-3, not \"%s\"",
			   FILTER_MAX_CPUS - 1, text);
}

/* One of TASK_OPTS(). Returns 0, or the exit code after having reported the error. */
int task_option(struct task_options *o, int opt, const char *arg)
{
	switch (opt) {
	case TASK_OPT_PID:
		return parse_u32("--pid", arg, 1, 1 << 22, &o->filter.tgid);
	case TASK_OPT_CHILDREN:
		o->filter.by |= FILTER_CHILDREN;
		return 0;
	case TASK_OPT_TID:
		return parse_u32("--tid", arg, 1, 1 << 22, &o->filter.tid);
	case TASK_OPT_UID:
		return set_user(&o->filter, arg);
	case TASK_OPT_COMM:
		return set_comm(&o->filter, arg);
	case TASK_OPT_CPU:
		return set_cpus(&o->filter, arg);
	case TASK_OPT_CGROUP:
		o->cgroup = arg;
		return 0;
	default:
		o->self = true;
		return 0;
	}
}

/* Do the options fit each other? Returns 0, or EXIT_USAGE after having reported the error. */
int tasks_check(const struct task_options *o)
{
	if (o->filter.by & FILTER_CHILDREN && !o->filter.tgid)
		return usage_error("--children needs --pid: whose children?");
	return 0;
}

/* ---------------------------------------------------- does it exist at all -- */

/* Numbers of processes are the initial namespace's, and only there they can be looked up. */
static bool sees_all_processes(void)
{
	char ns[64] = "";

	return readlink("/proc/self/ns/pid", ns, sizeof(ns) - 1) > 0 &&
	       !strcmp(ns, "pid:[4026531836]");
}

/* The process that a thread belongs to; 0 if there is no such thread, or nobody may know. */
static uint32_t process_of(uint32_t tid)
{
	char path[64], line[128];
	uint32_t tgid = 0;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%u/status", tid);
	f = fopen(path, "re");
	if (!f)
		return 0;
	while (!tgid && fgets(line, sizeof(line), f))
		sscanf(line, "Tgid: %u", &tgid);
	fclose(f);
	return tgid;
}

/*
 * Refuses to wait for a process or thread that does not exist. @option: --pid or --tid;
 * @is_process: @id is a process and not any of its threads.
 */
static int check_task(const char *option, uint32_t id, bool is_process)
{
	struct problem p = { .exit_code = EXIT_NOT_FOUND, .err = ESRCH, .reason = "no-process",
			     .remedy = "look it up by ps -e, or give the name: --comm NAME" };
	char *remedy = NULL;
	uint32_t tgid;
	int rc = 0;

	if (!id || !sees_all_processes())
		return 0;
	if (kill(id, 0) && errno == ESRCH)
		return fail(&p, "%s %u: there is no such %s", option, id,
			    is_process ? "process" : "thread");
	tgid = process_of(id);
	if (is_process && tgid && tgid != id) {
		p.remedy = remedy = xasprintf("--pid %u means all threads of that process", tgid);
		rc = fail(&p, "%s %u: that is a thread of process %u", option, id, tgid);
	}
	free(remedy);
	return rc;
}

/* ----------------------------------------------------------------- maps -- */

static int open_cgroup(struct tasks *t, const char *dir)
{
	struct problem p = {
		.exit_code = EXIT_FAILED, .reason = "no-file",
		.remedy = "give a folder of the cgroup2 file system, as /sys/fs/cgroup/user.slice",
	};
	struct statfs fs;
	int fd;

	fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0) {
		p.err = errno;
		if (p.err == ENOENT)
			p.exit_code = EXIT_NOT_FOUND;
		else if (p.err == EACCES || p.err == EPERM)
			p.exit_code = EXIT_PERMISSION;
		return fail(&p, "\"%s\" is no control group: %s", dir, strerror(p.err));
	}
	t->cgroup_fd = fd;
	if (fstatfs(fd, &fs) || fs.f_type != CGROUP2_SUPER_MAGIC) {
		p.err = EINVAL;
		return fail(&p, "\"%s\" is no control group: it is in another file system", dir);
	}
	return 0;
}

static int load_children(struct tasks *t, const struct task_options *o)
{
	const bool follow = o->filter.by & FILTER_CHILDREN;
	struct children *s;
	__u32 zero = 0;
	int err = 0;

	s = t->skel = children__open();
	if (!s)
		return fail_bpf(errno, "cannot open the programs that follow processes");
	s->rodata->root = o->filter.tgid;
	bpf_program__set_autoload(s->progs.children_fork, follow);
	bpf_program__set_autoload(s->progs.children_free, follow);
	if (follow)
		err = bpf_map__set_max_entries(s->maps.filter_children, FILTER_MAX_CHILDREN);
	if (!err)
		err = children__load(s);
	if (err)
		return fail_bpf(err, "cannot load the programs that follow processes");
	if (o->cgroup && bpf_map_update_elem(bpf_map__fd(s->maps.filter_cgroup), &zero,
					     &t->cgroup_fd, BPF_ANY))
		return fail_bpf(errno, "cannot ask for the control group %s", o->cgroup);
	err = follow ? children__attach(s) : 0;
	return err ? fail_bpf(err, "cannot attach to the beginning and the end of processes") : 0;
}

/**
 * tasks_open() - complete the filter
 * @t: zeroed; to be closed also after a failure
 * @o: tasks_check() has seen them
 *
 * For what is not trampctl itself the kernel is asked. From here on children are followed: to be
 * called before any program that asks is attached.
 *
 * Return: 0, or the exit code of an error that has been reported.
 */
int tasks_open(struct tasks *t, struct task_options *o)
{
	struct task_filter *f = &o->filter;
	int rc;

	rc = check_task("--pid", f->tgid, true);
	if (!rc)
		rc = check_task("--tid", f->tid, false);
	if (!rc && !o->self)
		rc = self_tgid(&f->not_tgid);
	if (!rc && o->cgroup) {
		f->by |= FILTER_BY_CGROUP;
		rc = open_cgroup(t, o->cgroup);
	}
	if (!rc && f->by & (FILTER_BY_CGROUP | FILTER_CHILDREN))
		rc = load_children(t, o);
	return rc;
}

/**
 * tasks_share() - give an object that asks the filter its maps
 * @t: opened
 * @cgroup, @children: the maps of that object, which is not loaded yet
 *
 * Return: 0, or what libbpf says.
 */
int tasks_share(const struct tasks *t, struct bpf_map *cgroup, struct bpf_map *children)
{
	int err;

	if (!t->skel)
		return 0;
	err = bpf_map__reuse_fd(cgroup, bpf_map__fd(t->skel->maps.filter_cgroup));
	return err ?: bpf_map__reuse_fd(children, bpf_map__fd(t->skel->maps.filter_children));
}

/* How many processes there was no place for, and so none for those that they started. */
uint64_t tasks_not_followed(const struct tasks *t)
{
	const volatile uint64_t *n = t->skel ? (uint64_t *)&t->skel->bss->not_followed : NULL;

	return n ? *n : 0;
}

/* The same as a member of an object, where processes are followed. */
void tasks_put(const struct tasks *t, json_object *j)
{
	if (t->skel && t->skel->links.children_fork)
		json_put_u64(j, "not_followed", tasks_not_followed(t));
}

/* The same in words. */
void tasks_warn(const struct tasks *t)
{
	const uint64_t n = tasks_not_followed(t);

	if (n)
		warn("%" PRIu64 " processes were not followed: %d others that --pid had started were there",
		     n, FILTER_MAX_CHILDREN);
}

void tasks_close(struct tasks *t)
{
	children__destroy(t->skel);
	if (t->cgroup_fd > 0)
		close(t->cgroup_fd);
}
