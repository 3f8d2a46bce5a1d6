// SPDX-License-Identifier: GPL-2.0
/*
 * Processes and what they have mapped, see user_procs.h.
 *
 * The mappings of a process are read when its first event is shown, and kept: later events may
 * come when it has gone. They are read again if no mapping has an address, and once they are a
 * second old: files come and go. They are also read again if the task has another name than before
 * and the process another program. That is how a process that has called execve() is found, or
 * another one with the same number. The name alone would not do: threads of one process have names
 * of their own, and their events come by turns. So the names that a process was seen with are
 * kept, and one that has gone is known by these. Nothing takes the place of the mappings that were
 * read of it.
 *
 * Processes are strangers'. The memory for what they say has a limit. Reading takes a small part of
 * the time, however long the list of mappings is. For that it rests after it has read one, some
 * times as long as that took.
 */
#include <inttypes.h>
#include <linux/types.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "../out/error.h"
#include "../out/text.h"
#include "filter.h"
#include "user_procs.h"

/* Processes that are kept. The next one takes the place of the oldest. A power of two. */
#define MAX_PROCESSES 16384

/* Names of its tasks that are kept for each. */
#define MAX_COMMS 16

/* Mappings as old as this are read again, in ns. */
#define MAX_AGE 1000000000ULL

/* They are read again when so many times as long has gone by as it took. */
#define REST 5

struct program {
	dev_t dev;			/* the file that it executes */
	ino_t inode;			/* 0: not known */
};

struct process {
	struct process *next;		/* with the same hash */
	uint32_t tgid;			/* 0: a free place */
	char comms[MAX_COMMS][FILTER_COMM_LEN];
	unsigned int nr_comms;		/* those that came; the last MAX_COMMS are kept */
	struct program program;
	struct user_maps maps;
	size_t bytes;			/* that it takes of the room */
	uint64_t read_at, took;		/* CLOCK_MONOTONIC in ns */
};

struct user_procs {
	struct user_room *room;
	struct process *hash[MAX_PROCESSES];
	struct process processes[MAX_PROCESSES];
	size_t oldest;
};

void user_room_warn(struct user_room *room)
{
	if (!room->has_warned)
		warn("mappings and functions of processes are too many to read: some callers are shown without their functions");
	room->has_warned = true;
}

/* Returns what user_procs_free() frees. The mappings take of @room. */
struct user_procs *user_procs_open(struct user_room *room)
{
	struct user_procs *procs = xcalloc(1, sizeof(*procs));

	procs->room = room;
	return procs;
}

static uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000000000ULL + ts.tv_nsec;
}

/* ------------------------------------------------------------ the table -- */

static struct process **head_of(struct user_procs *procs, uint32_t tgid)
{
	return &procs->hash[tgid % MAX_PROCESSES];
}

static struct process *lookup(struct user_procs *procs, uint32_t tgid)
{
	struct process *p = *head_of(procs, tgid);

	while (p && p->tgid != tgid)
		p = p->next;
	return p;
}

static void free_maps(struct user_procs *procs, struct process *p)
{
	size_t i;

	for (i = 0; i < p->maps.nr; i++)
		free(p->maps.map[i].path);
	free(p->maps.map);
	procs->room->bytes += p->bytes;
	p->maps = (struct user_maps){ 0 };
	p->bytes = 0;
}

/* A place for one more: that of the oldest. */
static struct process *take_place(struct user_procs *procs, uint32_t tgid)
{
	struct process *p = &procs->processes[procs->oldest++ % MAX_PROCESSES], **at;

	if (p->tgid) {
		for (at = head_of(procs, p->tgid); *at != p;)
			at = &(*at)->next;
		*at = p->next;
		free_maps(procs, p);
	}
	*p = (struct process){ .tgid = tgid, .next = *head_of(procs, tgid) };
	*head_of(procs, tgid) = p;
	return p;
}

void user_procs_free(struct user_procs *procs)
{
	size_t i;

	if (!procs)
		return;
	for (i = 0; i < MAX_PROCESSES; i++)
		free_maps(procs, &procs->processes[i]);
	free(procs);
}

/* -------------------------------------------------------------- reading -- */

/* A line of /proc/PID/maps, if instructions may be there. Returns whether there was room. */
static bool take_mapping(struct user_procs *procs, struct process *p, const char *line)
{
	struct user_mapping m = { 0 };
	char rights[5];
	size_t bytes;
	int path = 0;

	if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %4s %" SCNx64 " %x:%x %" SCNu64 " %n", &m.start,
		   &m.end, rights, &m.pos, &m.major, &m.minor, &m.inode, &path) < 7 ||
	    rights[2] != 'x' || !path)
		return true;
	bytes = sizeof(m) + strlen(line + path) + 1;
	if (bytes > procs->room->bytes)
		return false;
	procs->room->bytes -= bytes;
	p->bytes += bytes;
	m.path = xasprintf("%.*s", (int)strcspn(line + path, "\n"), line + path);
	p->maps.map = xrealloc(p->maps.map, (p->maps.nr + 1) * sizeof(*p->maps.map));
	p->maps.map[p->maps.nr++] = m;
	return true;
}

/* The program of a process; not known if the process has gone. */
static struct program read_program(uint32_t tgid)
{
	char *path = xasprintf("/proc/%u/exe", tgid);
	struct program program = { 0 };
	struct stat st;

	if (!stat(path, &st))
		program = (struct program){ .dev = st.st_dev, .inode = st.st_ino };
	free(path);
	return program;
}

static bool same_program(const struct program *a, const struct program *b)
{
	return a->inode && a->inode == b->inode && a->dev == b->dev;
}

static bool has_comm(const struct process *p, const char *comm)
{
	unsigned int i;

	for (i = 0; i < p->nr_comms && i < MAX_COMMS; i++)
		if (!memcmp(p->comms[i], comm, FILTER_COMM_LEN))
			return true;
	return false;
}

static void add_comm(struct process *p, const char *comm)
{
	if (!has_comm(p, comm))
		memcpy(p->comms[p->nr_comms++ % MAX_COMMS], comm, FILTER_COMM_LEN);
}

/* As a process is now; without mappings if it has gone. */
static struct process read_now(struct user_procs *procs, uint32_t tgid)
{
	char *path = xasprintf("/proc/%u/maps", tgid), *line = NULL;
	struct process now = { .tgid = tgid, .read_at = now_ns() };
	FILE *f = fopen(path, "re");
	size_t size = 0;

	free(path);
	now.program = read_program(tgid);
	while (f && getline(&line, &size, f) > 0) {
		if (take_mapping(procs, &now, line))
			continue;
		user_room_warn(procs->room);
		break;
	}
	free(line);
	if (f)
		fclose(f);
	now.took = now_ns() - now.read_at;
	return now;
}

/* Replaces what was known of a process, if it is still there. Returns it; NULL: it is not. */
static struct process *read_process(struct user_procs *procs, uint32_t tgid, const char *comm)
{
	struct process *p = lookup(procs, tgid), now = read_now(procs, tgid);

	if (p) {
		p->read_at = now.read_at;
		p->took = now.took;
	}
	if (!now.maps.nr)
		return NULL;
	if (!p)
		p = take_place(procs, tgid);
	if (!same_program(&p->program, &now.program))
		p->nr_comms = 0;
	free_maps(procs, p);
	p->maps = now.maps;
	p->bytes = now.bytes;
	p->program = now.program;
	p->read_at = now.read_at;
	p->took = now.took;
	add_comm(p, comm);
	return p;
}

/* Whether @least ns have gone by since it was read, and enough for the time that it took. */
static bool may_read(const struct process *p, uint64_t least)
{
	const uint64_t age = now_ns() - p->read_at;

	return age >= least && age >= REST * p->took;
}

/* NULL: nothing is known of it. With @is_past what was read in its time is preferred. */
static struct process *find_process(struct user_procs *procs, uint32_t tgid, const char *comm,
				    bool is_past)
{
	struct process *p = lookup(procs, tgid), *anew;
	struct program now;

	if (p && !has_comm(p, comm)) {
		now = read_program(tgid);
		if (same_program(&p->program, &now))
			add_comm(p, comm);
	}
	if (p && has_comm(p, comm) && (is_past || !may_read(p, MAX_AGE)))
		return p;
	anew = read_process(procs, tgid, comm);
	if (anew)
		return anew;
	return p && has_comm(p, comm) ? p : NULL;
}

static struct user_mapping *find_mapping(const struct process *p, uint64_t addr)
{
	size_t low = 0, high = p ? p->maps.nr : 0, mid;

	while (low < high) {
		mid = (low + high) / 2;
		if (addr < p->maps.map[mid].start)
			high = mid;
		else if (addr >= p->maps.map[mid].end)
			low = mid + 1;
		else
			return &p->maps.map[mid];
	}
	return NULL;
}

/**
 * user_procs_maps() - all mappings of a process
 * @procs: opened
 * @tgid: the process, in the initial PID namespace
 * @comm: its task's name, FILTER_COMM_LEN bytes
 *
 * Return: what has instructions; none if nothing is known of it.
 */
struct user_maps user_procs_maps(struct user_procs *procs, uint32_t tgid, const char *comm)
{
	const struct process *p = find_process(procs, tgid, comm, false);

	return p ? p->maps : (struct user_maps){ 0 };
}

/**
 * user_procs_find() - the mapping that an address is in
 * @procs, @tgid, @comm: as for user_procs_maps()
 * @addr: the address
 * @is_past: the address is from a while ago
 *
 * Return: valid until the next call; NULL if it is not known.
 */
struct user_mapping *user_procs_find(struct user_procs *procs, uint32_t tgid, const char *comm,
				     uint64_t addr, bool is_past)
{
	struct process *p = find_process(procs, tgid, comm, is_past);
	struct user_mapping *m = find_mapping(p, addr);
	struct program now;

	if (m || !p)
		return m;
	now = read_program(tgid);
	if (same_program(&p->program, &now) && !may_read(p, 0))
		return NULL;
	return find_mapping(read_process(procs, tgid, comm), addr);
}
