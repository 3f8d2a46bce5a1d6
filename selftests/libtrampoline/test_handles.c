// SPDX-License-Identifier: GPL-2.0
/*
 * Handles of links without a link: what the library does around the system calls, and what it
 * makes of their errors. The calls themselves end in functions here (build.mk), which do as the
 * kernel would. A file system is BPF's if its path begins with that of a certain folder.
 */
#include <bpf/bpf.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <unistd.h>

#include "../../user/libtrampoline/attach/internal.h"
#include "../lib/ktap.h"
#include "fixture.h"
#include "kinds.skel.h"

static char top[] = "/tmp/libtrampoline-links-XXXXXX";
static char bpffs[sizeof(top) + 8];
/* The errno with which the next system call on a link fails; 0: it does not. */
static int fails;
/* How many links were asked to detach. */
static int detached;
/* How often it says EAGAIN before. */
static int again;

int __wrap_statfs(const char *path, struct statfs *st);
int __wrap_bpf_obj_pin(int fd, const char *path);
int __wrap_bpf_obj_get(const char *path);
int __wrap_bpf_link_get_fd_by_id(__u32 id);
int __wrap_bpf_link_detach(int fd);
int __wrap_bpf_link_update(int fd, int prog_fd, const struct bpf_link_update_opts *opts);

static int result(int ok)
{
	errno = fails;
	return fails ? -fails : ok;
}

static int null_device(void)
{
	int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);

	REQUIRE(fd >= 0, "/dev/null");
	return fd;
}

int __wrap_statfs(const char *path, struct statfs *st)
{
	bool is_bpf = bpffs[0] && !strncmp(path, bpffs, strlen(bpffs));

	*st = (struct statfs){ .f_type = is_bpf ? BPF_FS_MAGIC : TMPFS_MAGIC };
	return 0;
}

/* Names with a dot are the kernel's. Somebody else may remove another pin meanwhile. */
static char removed[256];
/* The pin with this number from now on fails; 0: none does. */
static int fails_after;

int __wrap_bpf_obj_pin(int fd, const char *path)
{
	const char *name = strrchr(path, '/');
	int file;

	CHECK(fcntl(fd, F_GETFD) >= 0, "pinned is what is open");
	if (fails_after && !--fails_after) {
		unlink(removed);
		errno = EIO;
		return -EIO;
	}
	if (strchr(name ? name : path, '.')) {
		errno = EPERM;
		return -EPERM;
	}
	file = open(path, O_CREAT | O_EXCL | O_WRONLY, 0600);
	if (file < 0)
		return -errno;
	close(file);
	return 0;
}

int __wrap_bpf_obj_get(const char *path)
{
	(void)path;
	return result(fails ? 0 : null_device());
}

int __wrap_bpf_link_get_fd_by_id(__u32 id)
{
	(void)id;
	if (again) {
		again--;
		errno = EAGAIN;
		return -EAGAIN;
	}
	return result(fails ? 0 : null_device());
}

int __wrap_bpf_link_detach(int fd)
{
	(void)fd;
	detached++;
	return result(0);
}

int __wrap_bpf_link_update(int fd, int prog_fd, const struct bpf_link_update_opts *opts)
{
	(void)fd, (void)prog_fd, (void)opts;
	return result(0);
}

static struct tramp_link *new_link(uint32_t id, const char *name)
{
	struct tramp_link *link = libtramp_link_new(null_device(), id, name);

	REQUIRE(link, "no handle");
	return link;
}

static bool is_open(int fd)
{
	return fcntl(fd, F_GETFD) >= 0;
}

/* ------------------------------------------------------------------ handles -- */

static void test_handle(void)
{
	struct tramp_link *link = new_link(7, "one");
	int fd = tramp_link__fd(link);

	CHECK_EQ(tramp_link__id(link), 7, "id");
	CHECK(!tramp_link__pin_path(link), "not pinned");
	CHECK_EQ(tramp_link__destroy(link), 0, "destroy");
	CHECK(!is_open(fd), "closed");

	link = new_link(8, NULL);
	fd = tramp_link__fd(link);
	tramp_link__disconnect(link);
	CHECK_EQ(tramp_link__destroy(link), 0, "destroy");
	CHECK(is_open(fd), "left open");

	link = libtramp_link_new(fd, 9, NULL);
	REQUIRE(link, "no handle");
	close(fd);
	CHECK_EQ(tramp_link__destroy(link), -EBADF, "somebody has closed it");
	CHECK_ERROR(-EBADF, TRAMP_LIB_SYSTEM);
	CHECK(last_error_says("link 9"), "which");
}

static void test_open(void)
{
	tramp_set_print(NULL);
	CHECK(!tramp_link__open("/a/path"), "no link");
	CHECK_ERROR(-EINVAL, TRAMP_LIB_NOT_OUR_LINK);
	CHECK(last_error_says("pinned link '/a/path'"), "which");
	fails = ENOENT;
	CHECK(!tramp_link__open("/a/path"), "no file");
	CHECK_ERROR(-ENOENT, TRAMP_LIB_NO_FILE);
	fails = EPERM;
	CHECK(!tramp_link__open("/a/path"), "no right");
	CHECK_ERROR(-EPERM, TRAMP_REASON_PERMISSION);
}

static void test_open_by_id(void)
{
	int fd = null_device();

	close(fd);
	tramp_set_print(NULL);
	again = 3;
	CHECK(!tramp_link__open_by_id(5), "no link");
	CHECK_ERROR(-EINVAL, TRAMP_LIB_NOT_OUR_LINK);
	CHECK_EQ(again, 0, "it waits");
	CHECK(!is_open(fd), "left open");
	fails = ENOENT;
	CHECK(!tramp_link__open_by_id(5), "gone");
	CHECK_ERROR(-ENOENT, TRAMP_REASON_LINK_GONE);
	fails = EPERM;
	CHECK(!tramp_link__open_by_id(5), "no right");
	CHECK_ERROR(-EPERM, TRAMP_REASON_PERMISSION);
	fails = EMFILE;
	CHECK(!tramp_link__open_by_id(5), "no descriptor");
	CHECK_ERROR(-EMFILE, TRAMP_LIB_SYSTEM);
	CHECK(last_error_says("link 5"), "which");
	/* Not for ever. */
	again = 1000;
	CHECK(!tramp_link__open_by_id(5), "always busy");
	CHECK_ERROR(-EAGAIN, TRAMP_LIB_SYSTEM);
}

/* -------------------------------------------------------- detach and update -- */

static void test_detach(void)
{
	struct tramp_link *link[] = { new_link(1, "one"), new_link(2, "two") };
	struct tramp_link *with_hole[] = { link[0], NULL, link[1] };

	tramp_set_print(NULL);
	CHECK_EQ(tramp_link__detach(link[0]), 0, "detach");
	CHECK_EQ(tramp_link__detach_many(NULL, 0), 0, "nothing");
	CHECK_EQ(tramp_link__detach_many(NULL, 2), -EINVAL, "no links");
	CHECK_ERROR(-EINVAL, TRAMP_LIB_BAD_ARGUMENT);
	CHECK_EQ(tramp_link__detach_many(link, 2), 0, "one by one");
	detached = 0;
	CHECK_EQ(tramp_link__detach_many(with_hole, 3), -EINVAL, "one is NULL");
	CHECK_ERROR(-EINVAL, TRAMP_LIB_BAD_ARGUMENT);
	CHECK_EQ(detached, 2, "the others");
	fails = ENOENT;
	CHECK_EQ(tramp_link__detach(link[1]), -ENOENT, "detach");
	CHECK_ERROR(-ENOENT, TRAMP_LIB_SYSTEM);
	CHECK(last_error_says("link 2"), "which");
	CHECK_EQ(tramp_link__detach_many(link, 2), -ENOENT, "one by one");
	tramp_link__destroy(link[0]);
	tramp_link__destroy(link[1]);
}

/* The module gives each errno one meaning. */
static void test_update(void)
{
	static const struct {
		int errno_, err, reason;
	} all[] = {
		{ EINVAL, -EINVAL, TRAMP_REASON_PROG_MISMATCH },
		{ ENOENT, -ENOENT, TRAMP_REASON_LINK_GONE },
		{ ENOLINK, -ENOENT, TRAMP_REASON_LINK_GONE },
		{ EBADF, -EBADF, TRAMP_REASON_BAD_PROG_FD },
		{ EPERM, -EPERM, TRAMP_REASON_PERMISSION },
		/* no program: it is attached by no other link */
		{ EBUSY, -EBUSY, TRAMP_REASON_SITE_HELD },
		{ ENOMEM, -ENOMEM, TRAMP_REASON_NO_MEMORY },
		{ ENXIO, -ENXIO, TRAMP_REASON_MODULE_GONE },
		{ EOPNOTSUPP, -EOPNOTSUPP, TRAMP_REASON_FUNC_IP },
		{ EIO, -EIO, TRAMP_LIB_SYSTEM },
	};
	struct tramp_link *link = new_link(3, "three");
	struct kinds *skel = kinds__open();
	size_t i;

	REQUIRE(skel, "open: %s", strerror(errno));
	tramp_set_print(NULL);
	CHECK_EQ(tramp_link__update_fd(link, -1), 0, "update");
	CHECK_EQ(tramp_link__update_program(link, NULL), -EINVAL, "no program");
	CHECK_ERROR(-EINVAL, TRAMP_LIB_BAD_ARGUMENT);
	CHECK_EQ(tramp_link__update_program(link, skel->progs.on_entry), -EINVAL, "not loaded");
	CHECK_ERROR(-EINVAL, TRAMP_LIB_NOT_LOADED);
	for (i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		fails = all[i].errno_;
		CHECK_EQ(tramp_link__update_fd(link, -1), all[i].err, "%zu", i);
		CHECK_ERROR(all[i].err, all[i].reason);
	}
	tramp_link__destroy(link);
	kinds__destroy(skel);
}

/* --------------------------------------------------------------------- pins -- */

static void remove_folders(void)
{
	rmdir(bpffs);
	rmdir(top);
}

static void make_folders(void)
{
	tramp_set_print(NULL);
	REQUIRE(mkdtemp(top), "%s", top);
	snprintf(bpffs, sizeof(bpffs), "%s/bpf", top);
	REQUIRE(!mkdir(bpffs, 0700), "%s", bpffs);
	atexit(remove_folders);
}

/* A path below the folder for all, or below the one that is in a BPF file system. */
static const char *below(const char *folder, const char *name)
{
	static char path[256];

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	return path;
}

static void test_pin(void)
{
	struct tramp_link *link = new_link(4, "four"), *other = new_link(5, "five");

	make_folders();
	CHECK_EQ(tramp_link__pin(link, ""), -EINVAL, "no path");
	CHECK_ERROR(-EINVAL, TRAMP_LIB_BAD_ARGUMENT);
	CHECK_EQ(tramp_link__unpin(link), -EINVAL, "not pinned");
	CHECK_ERROR(-EINVAL, TRAMP_LIB_NOT_PINNED);

	CHECK_EQ(tramp_link__pin(link, below(bpffs, "four")), 0, "pin");
	CHECK(!strcmp(tramp_link__pin_path(link), below(bpffs, "four")), "where");
	CHECK_EQ(tramp_link__pin(link, below(bpffs, "again")), -EALREADY, "twice");
	CHECK_ERROR(-EALREADY, TRAMP_LIB_ALREADY_PINNED);
	CHECK_EQ(tramp_link__pin(other, below(bpffs, "four")), -EEXIST, "another there");
	CHECK_ERROR(-EEXIST, TRAMP_LIB_PIN_EXISTS);
	CHECK(!tramp_link__pin_path(other), "not pinned");
	CHECK_EQ(tramp_link__pin(other, below(bpffs, "fi.ve")), -EINVAL, "a dot");
	CHECK_ERROR(-EINVAL, TRAMP_LIB_BAD_ARGUMENT);
	CHECK(last_error_says("no dot: 'fi.ve'"), "the name");

	fails_after = 1;
	CHECK_EQ(tramp_link__pin(other, below(bpffs, "five")), -EIO, "an error");
	CHECK_ERROR(-EIO, TRAMP_LIB_SYSTEM);
	CHECK(last_error_says("bpf/five': "), "where");

	CHECK_EQ(tramp_link__unpin(link), 0, "unpin");
	CHECK(access(below(bpffs, "four"), F_OK), "it is gone");
	CHECK(!tramp_link__pin_path(link), "no path");
	CHECK_EQ(tramp_link__pin(link, below(bpffs, "four")), 0, "once more");
	CHECK(!unlink(below(bpffs, "four")), "removed by somebody else");
	CHECK_EQ(tramp_link__unpin(link), -ENOENT, "unpin");
	CHECK_ERROR(-ENOENT, TRAMP_LIB_SYSTEM);
	tramp_link__destroy(link);
	tramp_link__destroy(other);
}

/* Only the last folder is made, and only in a BPF file system. */
static void test_pin_folders(void)
{
	struct tramp_link *link = new_link(6, "six");
	char path[400];

	make_folders();
	CHECK_EQ(tramp_link__pin(link, below(bpffs, "a/six")), 0, "a folder is made");
	CHECK_EQ(tramp_link__unpin(link), 0, "unpin");
	CHECK(!rmdir(below(bpffs, "a")), "the folder stays");

	CHECK_EQ(tramp_link__pin(link, below(bpffs, "a/b/c/six")), -ENOENT, "more than one");
	CHECK_ERROR(-ENOENT, TRAMP_LIB_NO_FILE);
	CHECK(last_error_says("mkdir -p /tmp/"), "the remedy");
	CHECK(last_error_says("bpf/a/b"), "the remedy");
	CHECK(access(below(bpffs, "a"), F_OK), "none is made");

	CHECK_EQ(tramp_link__pin(link, below(top, "six")), -EINVAL, "another file system");
	CHECK_ERROR(-EINVAL, TRAMP_LIB_NOT_BPFFS);
	CHECK_EQ(tramp_link__pin(link, below(top, "a/six")), -ENOENT, "no folder there");
	CHECK_ERROR(-ENOENT, TRAMP_LIB_NOT_BPFFS);
	CHECK_EQ(tramp_link__pin(link, below(top, "a/b/six")), -ENOENT, "no folders there");
	CHECK_ERROR(-ENOENT, TRAMP_LIB_NOT_BPFFS);
	CHECK(last_error_says("/a', and '/tmp/"), "which");
	CHECK(access(below(top, "a"), F_OK), "none is made");

	CHECK_EQ(tramp_link__pin(link, below(bpffs, "nothing/../a/six")), -ENOENT, "no way");
	/* A folder that no file system makes. */
	snprintf(path, sizeof(path), "%s/%0300d/six", bpffs, 0);
	CHECK_EQ(tramp_link__pin(link, path), -ENAMETOOLONG, "a long name");
	CHECK_ERROR(-ENAMETOOLONG, TRAMP_LIB_SYSTEM);
	CHECK(last_error_says("/bpf/000"), "which");
	CHECK(!tramp_link__pin_path(link), "not pinned");
	tramp_link__destroy(link);
}

/* --------------------------------------------------------------------- sets -- */

static struct tramp_links *new_set(void)
{
	struct tramp_links *links = calloc(1, sizeof(*links) + 3 * sizeof(links->link[0]));

	REQUIRE(links, "no memory");
	links->link[links->nr++] = new_link(1, "one");
	links->link[links->nr++] = new_link(2, "two");
	links->link[links->nr++] = new_link(3, "three");
	return links;
}

static void test_set(void)
{
	struct tramp_links *links = new_set();
	int fd[3], i;

	tramp_set_print(NULL);
	CHECK_EQ(tramp_links__count(links), 3, "count");
	CHECK_EQ(tramp_link__id(tramp_links__get(links, 2)), 3, "the third");
	CHECK(!tramp_links__get(links, 3), "no fourth");
	CHECK(tramp_links__find(links, "two") == tramp_links__get(links, 1), "by name");
	CHECK(!tramp_links__find(links, "four"), "by no name");
	CHECK_ERROR(-ENOENT, TRAMP_LIB_BAD_ARGUMENT);
	CHECK_EQ(tramp_links__detach(links), 0, "detach");
	CHECK_EQ(tramp_links__detach(NULL), 0, "nothing");
	for (i = 0; i < 3; i++)
		fd[i] = tramp_link__fd(tramp_links__get(links, i));
	tramp_links__destroy(links);
	for (i = 0; i < 3; i++)
		CHECK(!is_open(fd[i]), "%d of a row is closed", i);

	/* One that stays, and two that are no row without it. */
	links = new_set();
	for (i = 0; i < 3; i++)
		fd[i] = tramp_link__fd(tramp_links__get(links, i));
	tramp_link__disconnect(tramp_links__get(links, 1));
	tramp_links__destroy(links);
	for (i = 0; i < 3; i++)
		CHECK_EQ(is_open(fd[i]), i == 1, "%d", i);
	close(fd[1]);
}

/* All pins or none, and the folder goes again if it was made. */
static void test_pin_set(void)
{
	char dir[sizeof(bpffs) + 8], endless[5000];
	struct tramp_links *links = new_set();
	size_t i;

	make_folders();
	snprintf(dir, sizeof(dir), "%s/set", bpffs);
	CHECK_EQ(tramp_links__pin(links, dir), 0, "pin");
	for (i = 0; i < 3; i++)
		CHECK(!access(tramp_link__pin_path(tramp_links__get(links, i)), F_OK), "%zu", i);
	CHECK(!strcmp(tramp_link__pin_path(tramp_links__find(links, "two")), below(dir, "two")),
	      "the program's name");
	/* One is missing: the others go. */
	CHECK(!unlink(below(dir, "two")), "removed by somebody else");
	CHECK_EQ(tramp_links__unpin(links), -ENOENT, "unpin");
	CHECK(!rmdir(dir), "the folder is empty");
	free(links->link[1]->pin_path);
	links->link[1]->pin_path = NULL;
	CHECK_EQ(tramp_links__unpin(links), 0, "nothing left");

	free(links->link[2]->name);
	links->link[2]->name = strdup("th.ree");
	CHECK_EQ(tramp_links__pin(links, dir), -EINVAL, "no such name");
	CHECK_ERROR(-EINVAL, TRAMP_LIB_BAD_ARGUMENT);
	CHECK(access(dir, F_OK), "the folder is gone");
	REQUIRE(!mkdir(dir, 0700), "%s", dir);
	CHECK_EQ(tramp_links__pin(links, dir), -EINVAL, "no such name");
	CHECK(!rmdir(dir), "the folder stays, and is empty");
	for (i = 0; i < 3; i++)
		CHECK(!tramp_link__pin_path(tramp_links__get(links, i)), "%zu", i);

	memset(endless, 'x', sizeof(endless) - 1);
	endless[sizeof(endless) - 1] = '\0';
	CHECK_EQ(tramp_links__pin(links, endless), -ENAMETOOLONG, "long");
	CHECK_ERROR(-ENAMETOOLONG, TRAMP_LIB_BAD_ARGUMENT);
	tramp_links__destroy(links);
}

/* The first pin is removed by somebody else while the second fails: that stays the error. */
static void test_pin_removed(void)
{
	struct tramp_links *links = new_set();

	make_folders();
	fails_after = 2;
	snprintf(removed, sizeof(removed), "%s/one", bpffs);
	CHECK_EQ(tramp_links__pin(links, bpffs), -EIO, "the second");
	CHECK_ERROR(-EIO, TRAMP_LIB_SYSTEM);
	CHECK(last_error_says("bpf/two': "), "which");
	CHECK(tramp_link__pin_path(tramp_links__get(links, 0)), "it was not unpinned by us");
	CHECK(access(below(bpffs, "one"), F_OK), "it is gone");
	tramp_links__destroy(links);
}

static const struct ktap_test tests[] = {
	{ .name = "handle", .run = test_handle },
	{ .name = "open", .run = test_open },
	{ .name = "open-by-id", .run = test_open_by_id },
	{ .name = "detach", .run = test_detach },
	{ .name = "update", .run = test_update },
	{ .name = "pin", .run = test_pin },
	{ .name = "pin-folders", .run = test_pin_folders },
	{ .name = "set", .run = test_set },
	{ .name = "pin-set", .run = test_pin_set },
	{ .name = "pin-removed", .run = test_pin_removed },
};

KTAP_MAIN(tests)
