// SPDX-License-Identifier: GPL-2.0
/*
 * Asking the device for what it should refuse (requests.h).
 */
#define _GNU_SOURCE
#include <errno.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "fixture.h"
#include "requests.h"
#include "selftests/vm/lib/errors.skel.h"

struct errors *skel;
int cases;

struct state state_now(void)
{
	struct state now;
	int i;

	/* Images that wait to be freed go by themselves. */
	for (i = 0; i < 300; i++) {
		now.info = tramp_module();
		if (!now.info.retiring)
			break;
		usleep(10000);
	}
	now.fds = open_fds();
	return now;
}

void check_unchanged(const struct state *before, const char *what)
{
	struct state now = state_now();

	CHECK_EQ(now.info.links, before->info.links, "%s: links", what);
	CHECK_EQ(now.info.targets, before->info.targets, "%s: targets", what);
	CHECK_EQ(now.info.images - now.info.retiring, before->info.images - before->info.retiring,
		 "%s: images in use", what);
	CHECK_EQ(now.fds, before->fds, "%s: open files", what);
}

void set_caps(uint64_t caps)
{
	struct __user_cap_header_struct head = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct data[2] = {
		{ .effective = (uint32_t)caps, .permitted = (uint32_t)caps },
		{ .effective = caps >> 32, .permitted = caps >> 32 },
	};

	REQUIRE(!syscall(SYS_capset, &head, data), "capset: %s", strerror(errno));
}

int call(unsigned int cmd, void *arg)
{
	return ioctl(tramp_device(), cmd, arg) < 0 ? -errno : 0;
}

void expect(const char *what, unsigned int cmd, void *arg, int err, int reason)
{
	const struct tramp_refusal *refusal = NULL;
	struct state before = state_now();
	union arg *a = arg;

	cases++;
	CHECK_EQ(call(cmd, arg), err, "%s", what);
	if (cmd == TRAMP_IOC_ATTACH)
		refusal = &a->attach.refusal;
	else if (cmd == TRAMP_IOC_EXPLAIN)
		refusal = &a->explain.refusal;
	else if (cmd == TRAMP_IOC_QUERY)
		refusal = &a->query.refusal;
	else if (cmd == TRAMP_IOC_EXPLAIN_CODE)
		refusal = &a->code.refusal;
	else if (cmd == TRAMP_IOC_ATTACH_MULTI)
		refusal = &a->multi.refusal;
	else if (cmd == TRAMP_IOC_ATTACH_BATCH)
		refusal = &a->batch.refusal;
	else if (cmd == TRAMP_IOC_DETACH_BATCH)
		refusal = &a->going.refusal;
	if (reason >= 0 && refusal)
		CHECK_EQ(refusal->reason, reason, "%s: %s (%s)", what,
			 tramp_reason_name(refusal->reason), refusal->detail);
	check_unchanged(&before, what);
}

void setup(void)
{
	close(fixture_open("about our ioctls"));
	skel = FIXTURE_LOAD(errors);
}

void good_request(union arg *a, unsigned int cmd)
{
	static const char name[] = "bpf_fentry_test2";
	static struct tramp_attach item;
	static int32_t no_fd = -1;

	memset(a, 0, sizeof(*a));
	switch (cmd) {
	case TRAMP_IOC_INFO:
		a->size = sizeof(struct tramp_info);
		break;
	case TRAMP_IOC_ATTACH:
		a->size = sizeof(struct tramp_attach);
		a->attach.prog_fd = FD(good_entry);
		break;
	case TRAMP_IOC_EXPLAIN:
		a->size = sizeof(struct tramp_explain);
		strcpy(a->explain.name, "bpf_fentry_test2");
		break;
	case TRAMP_IOC_QUERY:
		a->size = sizeof(struct tramp_query);
		a->query.flags = TRAMP_QUERY_F_NEXT;
		break;
	case TRAMP_IOC_EXPLAIN_CODE:
		a->size = sizeof(struct tramp_explain_code);
		strcpy(a->code.symbol, "bpf_fentry_test2");
		break;
	case TRAMP_IOC_ATTACH_MULTI:
		a->size = sizeof(struct tramp_attach_multi);
		a->multi.prog_fd = FD(of_kprobe);
		a->multi.nr = 1;
		a->multi.names = (uintptr_t)name;
		a->multi.names_len = sizeof(name);
		break;
	case TRAMP_IOC_ATTACH_BATCH:
		item = (struct tramp_attach){ .size = sizeof(item), .prog_fd = FD(good_entry) };
		a->size = sizeof(struct tramp_attach_batch);
		a->batch.count = 1;
		a->batch.item_size = sizeof(item);
		a->batch.items = (uintptr_t)&item;
		break;
	case TRAMP_IOC_DETACH_BATCH:
		a->size = sizeof(struct tramp_detach_batch);
		a->going.count = 1;
		a->going.fds = (uintptr_t)&no_fd;
		break;
	}
}

void attach_fd_case(const char *what, int fd, int err, int reason)
{
	union arg a;

	good_request(&a, TRAMP_IOC_ATTACH);
	a.attach.prog_fd = fd;
	expect(what, TRAMP_IOC_ATTACH, &a, err, reason);
	CHECK(a.attach.link_fd < 0, "%s: gave descriptor %d", what, a.attach.link_fd);
}
