// SPDX-License-Identifier: GPL-2.0
/*
 * Names for addresses in processes, see user_names.h.
 *
 * The mappings of a process are read when its first event is shown, and kept: later events may
 * come when it has gone. They are read again if no mapping has an address, or if the task has
 * another name than before and the process another program. That is how a process that has called
 * execve() is found, or another one with the same number. The name alone would not do: threads of
 * one process have names of their own, and their events come by turns. The same file executed anew
 * lies where it was, or at random, where no mapping is known.
 *
 * Processes and their files are strangers': the memory for what they say has a limit.
 *
 * A file is opened through /proc/PID/map_files, which leads to the very file that is mapped, even
 * if it was removed, or is in another mount namespace. Files are known by device and inode, so a
 * library is read once for all processes.
 */
#include <inttypes.h>
#include <linux/types.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../out/error.h"
#include "../out/text.h"
#include "elf_names.h"
#include "filter.h"
#include "self.h"
#include "user_names.h"

/* Processes that are kept. The next one takes the place of another. */
#define MAX_PROCESSES 1024

/* Bytes for mappings and functions. A large browser with all of its symbols takes a tenth. */
#define MAX_BYTES (1UL << 30)

struct file {
	struct file *next;
	uint64_t inode;
	unsigned int major, minor;
	struct elf_names *names;	/* NULL: it has none */
};

struct mapping {
	uint64_t start, end, pos, inode;
	unsigned int major, minor;
	char *path;			/* empty: no file */
	struct file *file;		/* NULL: not looked at yet */
};

struct process {
	uint32_t tgid;
	char comm[FILTER_COMM_LEN];	/* of the last event's task */
	struct program {
		dev_t dev;		/* the file that it executes */
		ino_t inode;		/* 0: not known */
	} program;
	struct mapping *maps;
	size_t nr, bytes;
	uint64_t unknown;		/* the last address that no mapping had */
};

struct user_names {
	struct process processes[MAX_PROCESSES];
	struct file *files;
	size_t left;			/* of MAX_BYTES */
	bool other_namespace, has_warned;
};

/* Returns what user_names_free() frees. */
struct user_names *user_names_open(void)
{
	struct user_names *names = xcalloc(1, sizeof(*names));
	uint32_t tgid;

	names->left = MAX_BYTES;
	/* The programs see other numbers than /proc then: it would have other processes. */
	if (self_tgid(&tgid) || tgid != (uint32_t)getpid()) {
		names->other_namespace = true;
		warn("this is not the initial PID namespace: callers in processes are shown as addresses");
	}
	return names;
}

/* ------------------------------------------------------------- processes -- */

static void warn_too_many(struct user_names *names)
{
	if (!names->has_warned)
		warn("mappings and functions of processes take more than %lu MiB: some callers are shown without their functions",
		     MAX_BYTES >> 20);
	names->has_warned = true;
}

static void forget(struct user_names *names, struct process *p)
{
	size_t i;

	names->left += p->bytes;
	for (i = 0; i < p->nr; i++)
		free(p->maps[i].path);
	free(p->maps);
	*p = (struct process){ 0 };
}

/* A line of /proc/PID/maps, if instructions may be there. Returns whether there was room. */
static bool take_mapping(struct user_names *names, struct process *p, const char *line)
{
	struct mapping m = { 0 };
	char rights[5];
	size_t bytes;
	int path = 0;

	if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %4s %" SCNx64 " %x:%x %" SCNu64 " %n", &m.start,
		   &m.end, rights, &m.pos, &m.major, &m.minor, &m.inode, &path) < 7 ||
	    rights[2] != 'x' || !path)
		return true;
	bytes = sizeof(m) + strlen(line + path) + 1;
	if (bytes > names->left)
		return false;
	names->left -= bytes;
	p->bytes += bytes;
	m.path = xasprintf("%.*s", (int)strcspn(line + path, "\n"), line + path);
	p->maps = xrealloc(p->maps, (p->nr + 1) * sizeof(*p->maps));
	p->maps[p->nr++] = m;
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

/* Replaces what was known of a process, if it is still there. */
static void read_process(struct user_names *names, struct process *p, uint32_t tgid,
			 const char *comm)
{
	char *path = xasprintf("/proc/%u/maps", tgid), *line = NULL;
	struct process now = { .tgid = tgid };
	FILE *f = fopen(path, "re");
	size_t size = 0;

	free(path);
	now.program = read_program(tgid);
	while (f && getline(&line, &size, f) > 0) {
		if (take_mapping(names, &now, line))
			continue;
		warn_too_many(names);
		break;
	}
	free(line);
	if (f)
		fclose(f);
	memcpy(now.comm, comm, sizeof(now.comm));
	if (!now.nr && p->tgid == tgid && !memcmp(p->comm, comm, sizeof(p->comm)))
		return;
	forget(names, p);
	*p = now;
}

static struct process *find_process(struct user_names *names, uint32_t tgid, const char *comm)
{
	struct process *p = &names->processes[tgid % MAX_PROCESSES];
	struct program now = { 0 };

	if (p->tgid == tgid && !memcmp(p->comm, comm, sizeof(p->comm)))
		return p;
	if (p->tgid == tgid)
		now = read_program(tgid);
	if (same_program(&p->program, &now))
		memcpy(p->comm, comm, sizeof(p->comm));
	else
		read_process(names, p, tgid, comm);
	return p;
}

static struct mapping *find_mapping(struct process *p, uint64_t addr)
{
	size_t i;

	for (i = 0; i < p->nr; i++)
		if (addr >= p->maps[i].start && addr < p->maps[i].end)
			return &p->maps[i];
	return NULL;
}

/* ----------------------------------------------------------------- files -- */

static int open_mapped(uint32_t tgid, const struct mapping *m)
{
	char *link = xasprintf("/proc/%u/map_files/%" PRIx64 "-%" PRIx64, tgid, m->start, m->end);
	struct stat st;
	int fd = elf_names_open(link, &st);

	free(link);
	if (fd >= 0)
		return fd;
	/* The process may have gone, or is not ours to look into. */
	fd = elf_names_open(m->path, &st);
	if (fd >= 0 && st.st_ino != m->inode) {
		close(fd);
		fd = -1;
	}
	return fd;
}

static struct file *file_of(struct user_names *names, uint32_t tgid, struct mapping *m)
{
	bool too_many;
	struct file *f;
	int fd;

	if (!m->inode || m->file)
		return m->file;
	for (f = names->files; f; f = f->next)
		if (f->inode == m->inode && f->major == m->major && f->minor == m->minor)
			return m->file = f;
	fd = open_mapped(tgid, m);
	if (fd < 0)
		return NULL;
	if (names->left < sizeof(*f)) {
		warn_too_many(names);
		close(fd);
		return NULL;
	}
	names->left -= sizeof(*f);
	f = xcalloc(1, sizeof(*f));
	*f = (struct file){ .next = names->files, .inode = m->inode, .major = m->major,
			    .minor = m->minor };
	f->names = elf_names_load(fd, names->left, &too_many);
	names->left -= elf_names_bytes(f->names);
	if (too_many)
		warn_too_many(names);
	close(fd);
	names->files = f;
	return m->file = f;
}

/* ----------------------------------------------------------------- texts -- */

/* Reads the mappings of a process while it is there, for frames that are shown later. */
void user_names_read(struct user_names *names, uint32_t tgid, const char *comm)
{
	struct process *p;
	size_t i;

	if (names->other_namespace)
		return;
	p = find_process(names, tgid, comm);
	for (i = 0; i < p->nr; i++)
		file_of(names, tgid, &p->maps[i]);
}

/* The file's name without its folders; of what is no file, all of it. */
static const char *short_name(const struct mapping *m)
{
	const char *slash = m->path[0] == '/' ? strrchr(m->path, '/') : NULL;

	if (!m->path[0])
		return "no file";
	return slash ? slash + 1 : m->path;
}

/* The mapping that an address is in; NULL if it is not known. */
static struct mapping *mapping_of(struct user_names *names, const struct user_place *place,
				  uint64_t addr)
{
	struct process *p;
	struct mapping *m;

	if (names->other_namespace)
		return NULL;
	p = find_process(names, place->tgid, place->comm);
	m = find_mapping(p, addr);
	if (!m && p->unknown != addr) {
		read_process(names, p, place->tgid, place->comm);
		m = find_mapping(p, addr);
		p->unknown = m ? 0 : addr;
	}
	return m;
}

/**
 * user_names_text() - an address in a process, as text
 * @names: opened
 * @place: the address, and whose
 * @whole: "function+0x10 (file+0x1234)", or the address instead of the function; if not, one word
 *
 * Return: to be freed.
 */
char *user_names_text(struct user_names *names, const struct user_place *place, bool whole)
{
	/* The call is the instruction before: it may be the last one of its function. */
	const uint64_t back = place->is_return ? 1 : 0, addr = place->addr - back;
	struct mapping *m = mapping_of(names, place, addr);
	const char *function = NULL;
	uint64_t pos, offset;
	struct file *f;

	if (!m)
		return xasprintf("0x%" PRIx64, place->addr);
	pos = addr - m->start + m->pos;
	f = file_of(names, place->tgid, m);
	if (f)
		function = elf_names_find(f->names, pos, &offset);
	if (!whole)
		return xasprintf(function || m->path[0] == '[' ? "%s" : "[%s]",
				 function ?: short_name(m));
	if (function)
		return xasprintf("%s+0x%" PRIx64 " (%s+0x%" PRIx64 ")", function, offset + back,
				 short_name(m), pos + back);
	if (!m->inode)
		return xasprintf("0x%" PRIx64 " (%s)", place->addr, short_name(m));
	return xasprintf("0x%" PRIx64 " (%s+0x%" PRIx64 ")", place->addr, short_name(m), pos + back);
}

void user_names_free(struct user_names *names)
{
	struct file *f;
	size_t i;

	if (!names)
		return;
	for (i = 0; i < MAX_PROCESSES; i++)
		forget(names, &names->processes[i]);
	while ((f = names->files)) {
		names->files = f->next;
		elf_names_free(f->names);
		free(f);
	}
	free(names);
}
