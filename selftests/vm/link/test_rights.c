// SPDX-License-Identifier: GPL-2.0
/*
 * docs/rights.md, row by row: who may call which ioctl, read which file, use which command
 * of links, and who is shown an address by it.
 *
 * Each subject is a process of its own with the files of one who may do everything: the
 * device, and links to a function and to an instruction.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/bpf.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include "many.h"
#include "requests.h"
#include "selftests/vm/lib/errors.skel.h"

#define FUNC	"bpf_fentry_test2"
#define LIST	"/sys/kernel/debug/trampoline/list"
#define OPTIMIZE "/sys/kernel/debug/trampoline/optimize"
#define PIN_DIR	"/sys/fs/bpf/rights"
#define PIN	PIN_DIR "/link"
#define PINNED	PIN_DIR "/pinned"

enum who {
	ROOT,
	NOBODY,		/* uid 65534, without capabilities */
	NS_ROOT,	/* root, with all capabilities in a user namespace of its own */
};

/* Somebody who asks. */
struct subject {
	const char *name;
	uint64_t caps;
	enum who who;
	int kptr_restrict;
	int perf_paranoid;
	bool use;		/* has the capabilities that attaching needs */
	bool see;		/* is shown addresses by /proc/kallsyms */
};

#define PAIR	(CAP(BPF) | CAP(PERFMON))
/* Files of debugfs, and the folder of bpffs, are root's, whatever the capabilities. */
static const struct subject subjects[] = {
	{ "root", ALL_CAPS, ROOT, 0, 2, true, true },
	{ "root, kptr_restrict 1", ALL_CAPS, ROOT, 1, 2, true, true },
	{ "root, kptr_restrict 2", ALL_CAPS, ROOT, 2, 1, true, false },
	{ "pair", PAIR, ROOT, 0, 2, true, false },
	{ "pair, perf_event_paranoid 1", PAIR, ROOT, 0, 1, true, true },
	{ "pair, kptr_restrict 1", PAIR, ROOT, 1, 1, true, false },
	{ "pair and CAP_SYSLOG", PAIR | CAP(SYSLOG), ROOT, 1, 2, true, true },
	{ "pair and CAP_SYSLOG, kptr_restrict 2", PAIR | CAP(SYSLOG), ROOT, 2, 2, true, false },
	{ "CAP_BPF", CAP(BPF), ROOT, 0, 1, false, true },
	{ "CAP_PERFMON", CAP(PERFMON), ROOT, 0, 2, false, false },
	{ "nobody", 0, NOBODY, 0, 2, false, false },
	{ "nobody, perf_event_paranoid 1", 0, NOBODY, 0, 1, false, true },
	{ "root of a user namespace", 0, NS_ROOT, 0, 2, false, false },
};

/* The things they have: the parent makes them. */
static int entry_link, probe_link, many_link, entry_prog, other_prog, probe_prog;
static uint32_t entry_id, probe_id;
static uint64_t entry_key;
static struct func_btf func;
static uint64_t func_addr, other_addr;

static int bpf_cmd(int cmd, union bpf_attr *attr)
{
	return syscall(SYS_bpf, cmd, attr, sizeof(*attr)) < 0 ? -errno : 0;
}

/* ------------------------------------------------------------------- rows --- */

/* Each returns 0 or a negative errno, and the address that it was shown. */

static int do_open(uint64_t *shown)
{
	int fd = open(TRAMP_DEVICE, O_RDWR | O_CLOEXEC);

	*shown = 0;
	return fd < 0 ? -errno : close(fd);
}

static int do_info(uint64_t *shown)
{
	union arg a;

	*shown = 0;
	good_request(&a, TRAMP_IOC_INFO);
	return call(TRAMP_IOC_INFO, &a);
}

static int explain(union arg *a, uint64_t *shown)
{
	int err = call(TRAMP_IOC_EXPLAIN, a);

	*shown = a->explain.func_addr | a->explain.site_addr | a->explain.refusal.addr;
	return err;
}

static int do_explain(uint64_t *shown)
{
	union arg a;

	good_request(&a, TRAMP_IOC_EXPLAIN);
	return explain(&a, shown);
}

static int do_explain_id(uint64_t *shown)
{
	union arg a;

	good_request(&a, TRAMP_IOC_EXPLAIN);
	a.explain.name[0] = '\0';
	a.explain.btf_obj_id = func.obj_id;
	a.explain.btf_id = func.id;
	return explain(&a, shown);
}

static int explain_code(union arg *a, uint64_t *shown)
{
	int err = call(TRAMP_IOC_EXPLAIN_CODE, a);

	*shown = a->code.func_addr | a->code.refusal.addr;
	return err;
}

static int do_code(uint64_t *shown)
{
	union arg a;

	good_request(&a, TRAMP_IOC_EXPLAIN_CODE);
	return explain_code(&a, shown);
}

static int do_code_addr(uint64_t *shown)
{
	union arg a;

	good_request(&a, TRAMP_IOC_EXPLAIN_CODE);
	a.code.symbol[0] = '\0';
	a.code.addr = func_addr;
	return explain_code(&a, shown);
}

static int do_code_bytes(uint64_t *shown)
{
	unsigned char code[8192];
	union arg a;

	good_request(&a, TRAMP_IOC_EXPLAIN_CODE);
	a.code.code = (uintptr_t)code;
	a.code.code_len = sizeof(code);
	return explain_code(&a, shown);
}

static int attach(union arg *a, uint64_t *shown)
{
	int err = call(TRAMP_IOC_ATTACH, a);

	*shown = a->attach.func_addr | a->attach.refusal.addr;
	if (!err)
		close(a->attach.link_fd);
	return err;
}

static int do_attach(uint64_t *shown)
{
	union arg a;

	good_request(&a, TRAMP_IOC_ATTACH);
	a.attach.prog_fd = other_prog;
	return attach(&a, shown);
}

static int do_attach_symbol(uint64_t *shown)
{
	union arg a;

	good_request(&a, TRAMP_IOC_ATTACH);
	a.attach.prog_fd = probe_prog;
	strcpy(a.attach.symbol, "bpf_fentry_test3");
	return attach(&a, shown);
}

static int do_attach_addr(uint64_t *shown)
{
	union arg a;

	good_request(&a, TRAMP_IOC_ATTACH);
	a.attach.prog_fd = probe_prog;
	a.attach.addr = other_addr;
	return attach(&a, shown);
}

static void good_multi(struct tramp_attach_multi *multi)
{
	multi->size = sizeof(*multi);
	multi->prog_fd = probe_prog;
	multi->nr = 1;
}

static int attach_multi(struct tramp_attach_multi *multi, uint64_t *shown)
{
	int err;

	good_multi(multi);
	err = call(TRAMP_IOC_ATTACH_MULTI, multi);
	*shown = multi->refusal.addr;
	if (!err)
		close(multi->link_fd);
	return err;
}

static int do_attach_multi(uint64_t *shown)
{
	static const char name[] = "bpf_fentry_test3";
	struct tramp_attach_multi multi = { .names = (uintptr_t)name, .names_len = sizeof(name) };

	return attach_multi(&multi, shown);
}

static int do_attach_multi_addr(uint64_t *shown)
{
	struct tramp_attach_multi multi = { .addrs = (uintptr_t)&other_addr };

	return attach_multi(&multi, shown);
}

/* ftrace has no site there, and the refusal tells the address. */
static int do_attach_multi_refused(uint64_t *shown)
{
	static const char name[] = "notify_die";
	struct tramp_attach_multi multi = { .names = (uintptr_t)name, .names_len = sizeof(name) };
	int err = attach_multi(&multi, shown);

	if (!CHECK(err, "notify_die takes a program"))
		return -EEXIST;
	return multi.refusal.reason == TRAMP_REASON_NOT_TRACEABLE ? 0 : err;
}

static int attach_batch(union arg *item, uint64_t *shown)
{
	struct tramp_attach_batch batch = { .size = sizeof(batch), .count = 1,
					    .item_size = sizeof(item->attach),
					    .items = (uintptr_t)item };
	int err = call(TRAMP_IOC_ATTACH_BATCH, &batch);

	*shown = batch.refusal.addr;
	if (!err) {
		*shown |= item->attach.func_addr;
		close(item->attach.link_fd);
	}
	return err;
}

static int do_attach_batch(uint64_t *shown)
{
	union arg a;

	good_request(&a, TRAMP_IOC_ATTACH);
	a.attach.prog_fd = other_prog;
	return attach_batch(&a, shown);
}

static int do_attach_batch_addr(uint64_t *shown)
{
	union arg a;

	good_request(&a, TRAMP_IOC_ATTACH);
	a.attach.prog_fd = probe_prog;
	a.attach.addr = other_addr;
	return attach_batch(&a, shown);
}

static int do_detach_batch(uint64_t *shown)
{
	int32_t fd = probe_link;
	struct tramp_detach_batch batch = { .size = sizeof(batch), .count = 1,
					    .fds = (uintptr_t)&fd };

	*shown = 0;
	return call(TRAMP_IOC_DETACH_BATCH, &batch);
}

static int query(uint32_t id, void *image, uint32_t len, uint64_t *shown)
{
	union arg a;
	int err;

	good_request(&a, TRAMP_IOC_QUERY);
	a.query.flags = 0;
	a.query.link_id = id;
	a.query.image = (uintptr_t)image;
	a.query.image_len = len;
	err = call(TRAMP_IOC_QUERY, &a);
	*shown = a.query.func_addr | a.query.image_addr | a.query.probe_addr |
		 a.query.reason_addr | a.query.refusal.addr;
	return err;
}

static int do_query(uint64_t *shown)
{
	return query(entry_id, NULL, 0, shown);
}

static int do_query_probe(uint64_t *shown)
{
	return query(probe_id, NULL, 0, shown);
}

static int do_query_image(uint64_t *shown)
{
	unsigned char image[4096];

	return query(entry_id, image, sizeof(image), shown);
}

/* Reads a file whose lines with @word in them may begin with an address. */
static int read_lines(const char *path, const char *word, uint64_t *shown)
{
	FILE *f = fopen(path, "re");
	char line[512];
	int found = 0;

	if (!f)
		return -errno;
	while (fgets(line, sizeof(line), f)) {
		if (!strstr(line, word))
			continue;
		found++;
		*shown |= strtoull(line, NULL, 16);
	}
	fclose(f);
	CHECK(found, "%s has no %s", path, word);
	return 0;
}

static int do_list(uint64_t *shown)
{
	return read_lines(LIST, " link ", shown);
}

static int do_optimize(uint64_t *shown)
{
	int fd = open(OPTIMIZE, O_RDWR | O_CLOEXEC);

	*shown = 0;
	return fd < 0 ? -errno : close(fd);
}

static int do_kallsyms(uint64_t *shown)
{
	char image[64];

	/* Whatever its index is. The kernel has names of its own that begin like that. */
	snprintf(image, sizeof(image), " trampoline_%lu_", entry_key);
	return read_lines("/proc/kallsyms", image, shown);
}

static int do_fdinfo(uint64_t *shown)
{
	char path[64];
	char *text;

	snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", probe_link);
	if (access(path, R_OK))
		return -errno;
	text = read_file(path);
	CHECK(strstr(text, "place:\t" FUNC "+"), "%s", text);
	*shown = !!strstr(text, "ffffffff");
	free(text);
	return 0;
}

static int do_update(uint64_t *shown)
{
	union bpf_attr attr = { .link_update = { .link_fd = entry_link,
						 .new_prog_fd = other_prog } };

	*shown = 0;
	return bpf_cmd(BPF_LINK_UPDATE, &attr);
}

/* Newer than this system's headers: struct bpf_link_info from 6.6 on. */
struct link_info {
	struct bpf_link_info base;
	unsigned char room[128];
};
#define KPROBE_ADDR 40	/* offset of perf_event.kprobe.addr */

static int link_info(int fd, struct link_info *info)
{
	union bpf_attr attr = { .info = { .bpf_fd = fd, .info_len = sizeof(*info),
					  .info = (uintptr_t)info } };

	memset(info, 0, sizeof(*info));
	return bpf_cmd(BPF_OBJ_GET_INFO_BY_FD, &attr);
}

static int do_link_info(uint64_t *shown)
{
	struct link_info info;
	int err = link_info(entry_link, &info);

	*shown = 0;
	CHECK_EQ(info.base.tracing.attach_type, BPF_TRACE_FENTRY, "attach type");
	return err;
}

static int do_probe_info(uint64_t *shown)
{
	struct link_info info;
	int err = link_info(probe_link, &info);

	memcpy(shown, (char *)&info + KPROBE_ADDR, sizeof(*shown));
	return err;
}

static int do_many_info(uint64_t *shown)
{
	uint64_t addr = 0;
	struct many_info info = { .addrs = (uintptr_t)&addr, .count = 1 };
	int err = many_info(many_link, &info);

	*shown = addr;
	return err;
}

static int do_by_id(uint64_t *shown)
{
	union bpf_attr attr = { .link_id = entry_id };
	int fd = syscall(SYS_bpf, BPF_LINK_GET_FD_BY_ID, &attr, sizeof(attr));

	*shown = 0;
	return fd < 0 ? -errno : close(fd);
}

static int do_pin(uint64_t *shown)
{
	*shown = 0;
	if (bpf_obj_pin(entry_link, PIN))
		return -errno;
	return unlink(PIN) ? -errno : 0;
}

static int do_get(uint64_t *shown)
{
	int fd = bpf_obj_get(PINNED);

	*shown = 0;
	return fd < 0 ? -errno : close(fd);
}

static int do_detach(uint64_t *shown)
{
	union bpf_attr attr = { .link_detach = { .link_fd = entry_link } };

	*shown = 0;
	return bpf_cmd(BPF_LINK_DETACH, &attr);
}

/* ------------------------------------------------------------------- table --- */

enum needs {
	NOTHING,	/* but the file or link */
	DEVICE,		/* the capabilities, and the owner of the device node */
	CAPS,		/* the capabilities */
	CAPS_ADDR,	/* and that addresses may be seen */
	OWNER,		/* root's files */
	ADMIN,		/* CAP_SYS_ADMIN */
};

static const struct row {
	const char *name;
	int (*run)(uint64_t *shown);
	enum needs needs;
	bool shows;	/* an address, to whom may see it */
} rows[] = {
	{ "open()", do_open, DEVICE, false },
	{ "INFO", do_info, NOTHING, false },
	{ "EXPLAIN by name", do_explain, CAPS, true },
	{ "EXPLAIN by BTF id", do_explain_id, CAPS, true },
	{ "EXPLAIN_CODE by symbol", do_code, CAPS, true },
	{ "EXPLAIN_CODE by address", do_code_addr, CAPS_ADDR, true },
	{ "EXPLAIN_CODE with the bytes", do_code_bytes, CAPS_ADDR, true },
	{ "ATTACH to a function", do_attach, CAPS, true },
	{ "ATTACH to a symbol", do_attach_symbol, CAPS, true },
	{ "ATTACH to an address", do_attach_addr, CAPS_ADDR, true },
	{ "ATTACH_BATCH to a function", do_attach_batch, CAPS, true },
	{ "ATTACH_BATCH to an address", do_attach_batch_addr, CAPS_ADDR, true },
	{ "ATTACH_MULTI by name", do_attach_multi, CAPS, false },
	{ "ATTACH_MULTI by address", do_attach_multi_addr, CAPS_ADDR, false },
	{ "ATTACH_MULTI that is refused", do_attach_multi_refused, CAPS, true },
	{ "QUERY of a function's link", do_query, CAPS, true },
	{ "QUERY of a probe's link", do_query_probe, CAPS, true },
	{ "QUERY with the image", do_query_image, CAPS_ADDR, true },
	{ "debugfs list", do_list, OWNER, true },
	{ "debugfs optimize", do_optimize, OWNER, false },
	{ "fdinfo", do_fdinfo, NOTHING, false },
	{ "/proc/kallsyms", do_kallsyms, NOTHING, true },
	{ "BPF_LINK_UPDATE", do_update, CAPS, false },
	{ "link info of a function's link", do_link_info, NOTHING, false },
	{ "link info of a probe's link", do_probe_info, NOTHING, true },
	{ "link info of many functions' link", do_many_info, NOTHING, true },
	{ "BPF_LINK_GET_FD_BY_ID", do_by_id, ADMIN, false },
	{ "BPF_OBJ_PIN", do_pin, OWNER, false },
	{ "BPF_OBJ_GET", do_get, OWNER, false },
	/* The last: they are gone then. */
	{ "BPF_LINK_DETACH", do_detach, NOTHING, false },
	{ "DETACH_BATCH", do_detach_batch, NOTHING, false },
};

static int expected(const struct row *row, const struct subject *s)
{
	switch (row->needs) {
	case DEVICE:
		return s->who == NOBODY ? -EACCES : s->use ? 0 : -EPERM;
	case CAPS:
		return s->use ? 0 : -EPERM;
	case CAPS_ADDR:
		return s->use && s->see ? 0 : -EPERM;
	case OWNER:
		return s->who == NOBODY ? -EACCES : 0;
	case ADMIN:
		return s->caps & CAP(SYS_ADMIN) ? 0 : -EPERM;
	case NOTHING:
		break;
	}
	return 0;
}

static void be(const struct subject *s)
{
	if (s->who == NOBODY)
		REQUIRE(!setgroups(0, NULL) && !setresgid(65534, 65534, 65534) &&
			!setresuid(65534, 65534, 65534), "uid 65534: %s", strerror(errno));
	else if (s->who == NS_ROOT)
		REQUIRE(!unshare(CLONE_NEWUSER), "a user namespace: %s", strerror(errno));
	else
		set_caps(s->caps);
}

static void run_rows(const struct subject *s)
{
	const struct row *row;
	uint64_t shown;
	size_t i;
	int err;

	be(s);
	for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		row = &rows[i];
		shown = 0;
		err = row->run(&shown);
		CHECK_EQ(err, expected(row, s), "%s: %s", s->name, row->name);
		/* Link info tells no addresses before 6.6. */
		if ((row->run == do_probe_info || row->run == do_many_info) &&
		    kernel_version() < 6006)
			CHECK_EQ(shown, 0, "%s: %s", s->name, row->name);
		else
			CHECK_EQ(!!shown, !err && row->shows && s->see, "%s: %s, %#lx", s->name,
				 row->name, shown);
	}
}

static void make_links(void)
{
	struct tramp_attach_multi multi = { .addrs = (uintptr_t)&other_addr };
	union arg a;

	good_request(&a, TRAMP_IOC_ATTACH);
	a.attach.prog_fd = entry_prog;
	REQUIRE(!call(TRAMP_IOC_ATTACH, &a), "%s", a.attach.refusal.detail);
	entry_link = a.attach.link_fd;
	entry_id = a.attach.link_id;
	entry_key = a.attach.key;
	REQUIRE(!bpf_obj_pin(entry_link, PINNED), "%s: %s", PINNED, strerror(errno));
	good_request(&a, TRAMP_IOC_ATTACH);
	a.attach.prog_fd = FD(of_kprobe);
	strcpy(a.attach.symbol, FUNC);
	REQUIRE(!call(TRAMP_IOC_ATTACH, &a), "%s", a.attach.refusal.detail);
	probe_link = a.attach.link_fd;
	probe_id = a.attach.link_id;
	good_multi(&multi);
	REQUIRE(!call(TRAMP_IOC_ATTACH_MULTI, &multi), "%s", multi.refusal.detail);
	many_link = multi.link_fd;
}

static void drop_links(void)
{
	REQUIRE(!unlink(PINNED), "%s: %s", PINNED, strerror(errno));
	close(entry_link);
	close(probe_link);
	close(many_link);
}

static void set(const char *sysctl, int value)
{
	int err = write_file(sysctl, "%d", value);

	REQUIRE(!err, "%s: %s", sysctl, strerror(-err));
}

#define KPTR_RESTRICT	"/proc/sys/kernel/kptr_restrict"
#define PARANOID	"/proc/sys/kernel/perf_event_paranoid"

static void test_table(void)
{
	const int restrict_before = atoi(read_file(KPTR_RESTRICT));
	const int paranoid_before = atoi(read_file(PARANOID));
	const struct subject *s;
	unsigned int before;
	int status;
	size_t i;
	pid_t pid;

	setup();
	func = func_btf(FUNC);
	func_addr = ksym_addr(FUNC);
	other_addr = ksym_addr("bpf_fentry_test4");
	REQUIRE(!mkdir(PIN_DIR, 0700), "%s: %s", PIN_DIR, strerror(errno));
	entry_prog = FD(good_entry);
	other_prog = prog_clone(skel->progs.good_entry, FUNC, BPF_TRACE_FENTRY);
	probe_prog = FD(of_kprobe);
	for (i = 0; i < sizeof(subjects) / sizeof(subjects[0]); i++) {
		s = &subjects[i];
		if (s->who == NS_ROOT && access("/proc/self/ns/user", F_OK)) {
			ktap_note("this kernel has no user namespaces: nobody is %s", s->name);
			continue;
		}
		make_links();
		set(KPTR_RESTRICT, s->kptr_restrict);
		set(PARANOID, s->perf_paranoid);
		fflush(stdout);
		pid = fork();
		REQUIRE(pid >= 0, "fork");
		if (!pid) {
			before = ktap_failures();
			run_rows(s);
			exit(ktap_failures() != before);
		}
		waitpid(pid, &status, 0);
		set(KPTR_RESTRICT, restrict_before);
		set(PARANOID, paranoid_before);
		CHECK_EQ(status, 0, "%s", s->name);
		drop_links();
	}
	rmdir(PIN_DIR);
}

static const struct ktap_test tests[] = {
	{ "table", test_table, 240 },
};

KTAP_MAIN(tests)
