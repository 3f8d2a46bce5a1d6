// SPDX-License-Identifier: GPL-2.0
/*
 * Names for addresses in processes, see user_names.h.
 *
 * Files are strangers'. The memory for their functions has a limit, and so has what is read of
 * them, which takes time also where nothing comes of it.
 *
 * A file is opened through /proc/PID/map_files, which leads to the very file that is mapped, even
 * if it was removed, or is in another mount namespace. Files are known by device, inode, size and
 * time of change, so a library is read once for all processes. A file that takes the number of one
 * that was removed is another one by its time.
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
#include "events.h"
#include "self.h"
#include "user_names.h"
#include "user_procs.h"

/* Bytes for mappings and functions. A large browser with all of its symbols takes a tenth. */
#define MAX_BYTES (1UL << 30)

/* Bytes of symbol tables that are read, in a few seconds. */
#define MAX_READ (1UL << 30)

struct user_file {
	struct user_file *next;
	uint64_t inode;
	unsigned int major, minor;
	off_t size;
	struct timespec changed;
	struct elf_names *names;	/* NULL: it has none */
};

struct user_names {
	struct user_procs *procs;
	struct user_file *files;	/* the last one that was read comes first */
	struct user_room room;
	bool other_namespace;
};

/* Returns what user_names_free() frees. */
struct user_names *user_names_open(void)
{
	struct user_names *names = xcalloc(1, sizeof(*names));
	uint32_t tgid;

	names->room = (struct user_room){ .bytes = MAX_BYTES, .to_read = MAX_READ };
	names->procs = user_procs_open(&names->room);
	/* The programs see other numbers than /proc then: it would have other processes. */
	if (self_tgid(&tgid) || tgid != (uint32_t)getpid()) {
		names->other_namespace = true;
		warn("this is not the initial PID namespace: callers in processes are shown as addresses");
	}
	return names;
}

/* ----------------------------------------------------------------- files -- */

static int open_mapped(uint32_t tgid, const struct user_mapping *m, struct stat *st)
{
	char *link = xasprintf("/proc/%u/map_files/%" PRIx64 "-%" PRIx64, tgid, m->start, m->end);
	int fd = elf_names_open(link, st);

	free(link);
	if (fd >= 0)
		return fd;
	/* The process may have gone, or is not ours to look into. */
	fd = elf_names_open(m->path, st);
	if (fd >= 0 && st->st_ino != m->inode) {
		close(fd);
		fd = -1;
	}
	return fd;
}

/* The file that was mapped, if it has been read; with @st, if it is as it was. */
static struct user_file *find_file(const struct user_names *names, const struct user_mapping *m,
				   const struct stat *st)
{
	struct user_file *f;

	for (f = names->files; f; f = f->next)
		if (f->inode == m->inode && f->major == m->major && f->minor == m->minor &&
		    (!st || (f->size == st->st_size &&
			     !memcmp(&f->changed, &st->st_ctim, sizeof(f->changed)))))
			return f;
	return NULL;
}

static struct user_file *read_file(struct user_names *names, const struct user_mapping *m, int fd,
				   const struct stat *st)
{
	struct user_room *room = &names->room;
	struct user_file *f;
	bool too_many;

	if (room->bytes < sizeof(*f)) {
		user_room_warn(room);
		return NULL;
	}
	room->bytes -= sizeof(*f);
	f = xcalloc(1, sizeof(*f));
	*f = (struct user_file){ .next = names->files, .inode = m->inode, .major = m->major,
				 .minor = m->minor, .size = st->st_size, .changed = st->st_ctim };
	f->names = elf_names_load(fd, room->bytes, &room->to_read, &too_many);
	room->bytes -= elf_names_bytes(f->names);
	if (too_many)
		user_room_warn(room);
	return names->files = f;
}

static struct user_file *file_of(struct user_names *names, uint32_t tgid, struct user_mapping *m)
{
	struct stat st;
	int fd;

	if (!m->inode || m->file)
		return m->file;
	fd = open_mapped(tgid, m, &st);
	m->file = find_file(names, m, fd < 0 ? NULL : &st);
	if (fd >= 0 && !m->file)
		m->file = read_file(names, m, fd, &st);
	if (fd >= 0)
		close(fd);
	return m->file;
}

/* ----------------------------------------------------------------- texts -- */

/*
 * Reads the mappings of a process while it is there, for frames that are shown later. A process
 * may have tens of thousands: a signal ends it.
 */
void user_names_read(struct user_names *names, uint32_t tgid, const char *comm)
{
	struct user_maps maps;
	size_t i;

	if (names->other_namespace)
		return;
	maps = user_procs_maps(names->procs, tgid, comm);
	for (i = 0; i < maps.nr && !events_stopped(); i++)
		file_of(names, tgid, &maps.map[i]);
}

/* The file's name without its folders; of what is no file, all of it. */
static const char *short_name(const struct user_mapping *m)
{
	const char *slash = m->path[0] == '/' ? strrchr(m->path, '/') : NULL;

	if (!m->path[0])
		return "no file";
	return slash ? slash + 1 : m->path;
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
	struct user_mapping *m = NULL;
	const char *function = NULL;
	uint64_t pos, offset;
	struct user_file *f;

	if (!names->other_namespace)
		m = user_procs_find(names->procs, place->tgid, place->comm, addr, place->is_past);
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
	struct user_file *f;

	if (!names)
		return;
	user_procs_free(names->procs);
	while ((f = names->files)) {
		names->files = f->next;
		elf_names_free(f->names);
		free(f);
	}
	free(names);
}
