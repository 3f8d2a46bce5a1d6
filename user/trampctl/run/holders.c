// SPDX-License-Identifier: GPL-2.0
/*
 * Those that keep a link. Processes are found the way bpftool finds them: by the link_id line
 * in the fdinfo of every open file. Pins are files of the BPF file systems, which we open one
 * after the other, and ask for the same line.
 */
#include <bpf/bpf.h>
#include <ctype.h>
#include <dirent.h>
#include <ftw.h>
#include <mntent.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../out/text.h"
#include "holders.h"

static bool fdinfo_is_link(const char *path, uint32_t id)
{
	FILE *f = fopen(path, "r");
	unsigned int found;
	bool same = false;
	char line[256];

	if (!f)
		return false;
	while (!same && fgets(line, sizeof(line), f))
		same = sscanf(line, "link_id: %u", &found) == 1 && found == id;
	fclose(f);
	return same;
}

static bool process_holds(const char *pid, uint32_t id)
{
	char dir[64], path[384];
	struct dirent *e;
	bool holds = false;
	DIR *d;

	snprintf(dir, sizeof(dir), "/proc/%.20s/fdinfo", pid);
	d = opendir(dir);
	if (!d)
		return false;
	while (!holds && (e = readdir(d))) {
		if (!isdigit((unsigned char)e->d_name[0]))
			continue;
		snprintf(path, sizeof(path), "%s/%s", dir, e->d_name);
		holds = fdinfo_is_link(path, id);
	}
	closedir(d);
	return holds;
}

static void find_processes(struct holders *h, uint32_t id)
{
	struct dirent *e;
	char path[64];
	DIR *d;

	d = opendir("/proc");
	if (!d)
		return;
	while ((e = readdir(d))) {
		struct holder *n;

		if (!isdigit((unsigned char)e->d_name[0]) || !process_holds(e->d_name, id))
			continue;
		h->list = xrealloc(h->list, (h->nr + 1) * sizeof(*h->list));
		n = &h->list[h->nr++];
		n->pid = strtoul(e->d_name, NULL, 10);
		snprintf(path, sizeof(path), "/proc/%.20s/comm", e->d_name);
		if (!read_line(path, n->comm, sizeof(n->comm)))
			strcpy(n->comm, "?");
	}
	closedir(d);
}

/* nftw() hands nothing on. */
static struct holders *walked;
static uint32_t wanted;

static int look_at(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	char fdinfo[64];
	int fd;

	(void)st;
	(void)ftw;
	if (type != FTW_F)
		return 0;
	fd = bpf_obj_get(path);
	if (fd < 0)
		return 0;
	snprintf(fdinfo, sizeof(fdinfo), "/proc/self/fdinfo/%d", fd);
	if (fdinfo_is_link(fdinfo, wanted)) {
		walked->pins = xrealloc(walked->pins,
					(walked->nr_pins + 1) * sizeof(*walked->pins));
		walked->pins[walked->nr_pins++] = xasprintf("%s", path);
	}
	close(fd);
	return 0;
}

static void find_pins(struct holders *h, uint32_t id)
{
	FILE *mounts = setmntent("/proc/self/mounts", "re");
	struct mntent *m;

	if (!mounts)
		return;
	walked = h;
	wanted = id;
	while ((m = getmntent(mounts)))
		if (!strcmp(m->mnt_type, "bpf"))
			nftw(m->mnt_dir, look_at, 16, FTW_PHYS | FTW_MOUNT);
	endmntent(mounts);
}

void holders_find(struct holders *h, uint32_t id)
{
	find_processes(h, id);
	find_pins(h, id);
}

void holders_free(struct holders *h)
{
	while (h->nr_pins)
		free(h->pins[--h->nr_pins]);
	free(h->pins);
	free(h->list);
}
