// SPDX-License-Identifier: GPL-2.0
/*
 * Security modules (LSM): a policy that refuses somebody BPF_LINK_CREATE or BPF_LINK_DETACH refuses
 * the same by our device, and sees which program it is about. The kernel's own trampoline puts the
 * policy at security_bpf(), so no security module has to be set up at boot.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <bpf/bpf.h>
#include "many.h"
#include "requests.h"
#include "selftests/vm/lib/errors.skel.h"
#include "selftests/vm/link/lsm.skel.h"

#define OTHER	"bpf_fentry_test3"

static struct lsm *lsm;

static void enforce(uint32_t cmd, int error)
{
	lsm->bss->policy_cmd = cmd;
	lsm->bss->policy_error = -error;
	lsm->bss->asked = 0;
	lsm->bss->policy_tgid = getpid();
}

static void relax(void)
{
	lsm->bss->policy_tgid = 0;
}

static void begin(void)
{
	setup();
	lsm = lsm__open_and_load();
	REQUIRE(lsm && !lsm__attach(lsm), "fmod_ret/security_bpf: %s", strerror(errno));
}

static void end(void)
{
	lsm__destroy(lsm);
}

static int attach_by(int prog_fd, const char *symbol, struct tramp_refusal *why, int *link_fd)
{
	union arg a;
	int err;

	good_request(&a, TRAMP_IOC_ATTACH);
	a.attach.prog_fd = prog_fd;
	strcpy(a.attach.symbol, symbol);
	err = call(TRAMP_IOC_ATTACH, &a);
	*why = a.attach.refusal;
	*link_fd = a.attach.link_fd;
	return err;
}

static int attach_entry(int prog_fd, struct tramp_refusal *why, int *link_fd)
{
	return attach_by(prog_fd, "", why, link_fd);
}

static int attach_probe(int prog_fd, struct tramp_refusal *why, int *link_fd)
{
	return attach_by(prog_fd, OTHER, why, link_fd);
}

static int attach_one_of_batch(int prog_fd, struct tramp_refusal *why, int *link_fd)
{
	struct tramp_attach_batch batch = { .size = sizeof(batch), .count = 1 };
	union arg a;
	int err;

	good_request(&a, TRAMP_IOC_ATTACH);
	a.attach.prog_fd = prog_fd;
	batch.item_size = sizeof(a.attach);
	batch.items = (uintptr_t)&a;
	err = call(TRAMP_IOC_ATTACH_BATCH, &batch);
	CHECK_EQ(batch.failed, !err, "the item");
	*why = batch.refusal;
	*link_fd = err ? -1 : a.attach.link_fd;
	return err;
}

static int attach_to_many(int prog_fd, struct tramp_refusal *why, int *link_fd)
{
	struct many *m = many_new();
	int err;

	many_add_name(m, OTHER);
	err = many_attach_try(m, prog_fd, 0);
	*why = m->cmd.refusal;
	*link_fd = m->cmd.link_fd;
	free(m);
	return err;
}

static void test_attach(void)
{
	static const struct {
		const char *name;
		int (*attach)(int prog_fd, struct tramp_refusal *why, int *link_fd);
		bool probe;
	} ways[] = {
		{ "ATTACH to a function", attach_entry, false },
		{ "ATTACH to a symbol", attach_probe, true },
		{ "ATTACH_BATCH", attach_one_of_batch, false },
		{ "ATTACH_MULTI", attach_to_many, true },
	};
	struct tramp_refusal why;
	struct state before;
	int prog, link;
	size_t i;

	begin();
	before = state_now();
	for (i = 0; i < sizeof(ways) / sizeof(ways[0]); i++) {
		prog = ways[i].probe ? FD(of_kprobe) : FD(good_entry);
		enforce(BPF_LINK_CREATE, EACCES);
		CHECK_EQ(ways[i].attach(prog, &why, &link), -EPERM, "%s", ways[i].name);
		CHECK_EQ(why.reason, TRAMP_REASON_LSM, "%s", ways[i].name);
		CHECK(strstr(why.detail, "BPF_LINK_CREATE") && strstr(why.detail, "13"), "%s: '%s'",
		      ways[i].name, why.detail);
		CHECK_EQ(link, -1, "%s", ways[i].name);
		CHECK_EQ(lsm->bss->asked, 1, "%s: asked", ways[i].name);
		CHECK_EQ(lsm->bss->asked_fd, prog, "%s: the program", ways[i].name);
		CHECK_EQ(lsm->bss->asked_type,
			 ways[i].probe ? BPF_PERF_EVENT : BPF_TRACE_FENTRY, "%s", ways[i].name);
		CHECK(lsm->bss->asked_size >= 64, "%s: %u bytes", ways[i].name,
		      lsm->bss->asked_size);
		check_unchanged(&before, ways[i].name);

		enforce(BPF_LINK_CREATE, 0);
		CHECK_EQ(ways[i].attach(prog, &why, &link), 0, "%s: %s", ways[i].name, why.detail);
		CHECK_EQ(lsm->bss->asked, 1, "%s: asked", ways[i].name);
		relax();
		close(link);
	}
	end();
}

static void test_detach(void)
{
	int32_t fds[2];
	struct tramp_detach_batch batch = { .size = sizeof(batch), .count = 2,
					    .fds = (uintptr_t)fds };
	struct tramp_refusal why;
	int i;

	begin();
	REQUIRE(!attach_entry(FD(good_entry), &why, &fds[0]), "%s", why.detail);
	REQUIRE(!attach_probe(FD(of_kprobe), &why, &fds[1]), "%s", why.detail);
	enforce(BPF_LINK_DETACH, EPERM);
	CHECK_EQ(call(TRAMP_IOC_DETACH_BATCH, &batch), -EPERM, "DETACH_BATCH");
	CHECK_EQ(batch.refusal.reason, TRAMP_REASON_LSM, "%s", batch.refusal.detail);
	CHECK_EQ(batch.failed, 0, "the descriptor");
	CHECK_EQ(lsm->bss->asked, 1, "asked");
	CHECK_EQ(lsm->bss->asked_fd, fds[0], "the link");
	CHECK_EQ(tramp_module().targets, 1, "functions");
	enforce(BPF_LINK_DETACH, 0);
	CHECK_EQ(call(TRAMP_IOC_DETACH_BATCH, &batch), 0, "%s", batch.refusal.detail);
	CHECK_EQ(lsm->bss->asked, 2, "asked");
	relax();
	CHECK_EQ(tramp_module().targets, 0, "functions");
	for (i = 0; i < 2; i++)
		close(fds[i]);
	end();
}

static const struct ktap_test tests[] = {
	{ "attach", test_attach, 60 },
	{ "detach", test_detach, 60 },
};

KTAP_MAIN(tests)
