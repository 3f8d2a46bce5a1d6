// SPDX-License-Identifier: GPL-2.0
/*
 * Actors that attach programs by our module: one by one, in batches, to many functions, at
 * returns, pinned, and from processes that are killed. One looks at everything and tries to unload
 * the module.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>
#include "actors.h"
#include "busy.h"
#include "many.h"
#include "probe.h"
#include "probe_functions.h"
#include "probe_sample.h"
#include "record.h"
#include "selftests/vm/lib/probe_progs.skel.h"
#include "selftests/vm/lib/record.skel.h"
#include "selftests/vm/stress/stress.skel.h"

#define BATCH		1536	/* at most */
/* Instructions that no probe can be at. */
#define REFUSED		16
#define SINGLES		24
#define MANY_FUNCS	200
/* An entry or exit program has so many functions, beside those whose calls are counted. */
#define SINGLE_FUNCS	(SINGLES / 2 - BUSY_FUNCS)

struct actor_counts *my_counts;
uint64_t *actor_funcs;
int nr_actor_funcs;
uint64_t actor_insns[ACTOR_PLACES];
bool actor_kprobe_wrong[ACTOR_PLACES];
static uint64_t refused_insns[REFUSED];
static int nr_refused;
static struct probe_func counted[BUSY_FUNCS];
struct stress *actor_progs;

static struct record *record;

/*
 * Not all places are as cheap. Of those that the kernel's own kprobes take for us, each with grace
 * periods of its own, one in 128 is taken. Of entries one in 8: each batch waits for ftrace's locks
 * with them, which the kernel's own trampolines and tracers hold; other actors take entries alone.
 */
static bool wanted(const struct sample *s)
{
	static unsigned int kprobes, entries;

	switch (s->mode) {
	case TRAMP_MODE_NONE:
		if (nr_refused < REFUSED)
			refused_insns[nr_refused++] = s->addr;
		return false;
	case TRAMP_MODE_KPROBE:
		return ++kprobes % 128 == 0;
	case TRAMP_MODE_DIRECT:
	case TRAMP_MODE_FTRACE_OPS:
		return ++entries % 8 == 0;
	default:
		return true;
	}
}

uint64_t actor_counted(uint64_t *r)
{
	return counted[rnd(r) % BUSY_FUNCS].addr;
}

static bool is_counted(uint64_t addr)
{
	int i;

	for (i = 0; i < BUSY_FUNCS; i++) {
		if (addr >= counted[i].addr && addr < counted[i].addr + counted[i].size)
			return true;
	}
	return false;
}

/* The instructions of the counted functions take the place of the last, which are modules'. */
static void put_counted(void)
{
	char name[16];
	int i, nr = 0;
	uint32_t k;

	for (i = 0; i < BUSY_FUNCS; i++) {
		struct probe_func *f = &counted[i];

		sprintf(name, "tt_hot%d", i);
		REQUIRE(!probe_explain(f, 0, name, false), "instructions of %s", name);
		for (k = 0; k < f->nr; k++) {
			if (f->insns[k].mode != TRAMP_MODE_NONE &&
			    f->insns[k].mode != TRAMP_MODE_KPROBE)
				actor_insns[ACTOR_PLACES - ++nr] = f->addr + f->insns[k].offset;
		}
		probe_func_free(f);
	}
	ktap_note("%d instructions of functions whose calls are counted", nr);
	REQUIRE(nr > BUSY_FUNCS, "none inside of a function");
}

/* All of them at once: no two draws know of each other's places. */
static void draw_insns(uint64_t *r)
{
	static struct sample samples[2 * ACTOR_PLACES];
	int nr = 0, i;

	sample_draw(samples, 2 * ACTOR_PLACES, r);
	for (i = 0; i < 2 * ACTOR_PLACES; i++) {
		/* They are sorted: leave out as many anywhere. */
		if (wanted(&samples[i]))
			samples[nr++].addr = samples[i].addr;
	}
	REQUIRE(nr >= ACTOR_PLACES && nr_refused, "%d places, %d are refused", nr, nr_refused);
	for (i = 0; i < ACTOR_PLACES; i++)
		actor_insns[i] = samples[(uint64_t)i * nr / ACTOR_PLACES].addr;
	put_counted();
}

void actors_setup(uint64_t *r)
{
	int left_out, dev, i, wrong = 0;

	probe_setup();
	record = record__open_and_load();
	REQUIRE(record, "record.bpf.o: %s", strerror(errno));
	actor_progs = many_open(stress);
	REQUIRE(actor_progs && !stress__load(actor_progs), "stress.bpf.o: %s", strerror(errno));
	actor_funcs = functions_take(&nr_actor_funcs, ACTOR_PLACES, r);
	left_out = functions_leave_sleepers(actor_funcs, &nr_actor_funcs);
	ktap_note("%d functions, and %d in which tasks sleep", nr_actor_funcs, left_out);
	draw_insns(r);
	/* The text has no int3 yet, which would hide what is under it. */
	dev = tt_open();
	for (i = 0; i < ACTOR_PLACES; i++) {
		actor_kprobe_wrong[i] = kprobe_is_wrong(dev, actor_insns[i]);
		wrong += actor_kprobe_wrong[i];
	}
	close(dev);
	/* The actor of kprobes draws until it has another one. */
	REQUIRE(wrong < ACTOR_PLACES / 2, "%d places are wrong for kernel kprobes", wrong);
}

static void add(uint64_t *count, uint64_t n)
{
	__atomic_fetch_add(count, n, __ATOMIC_RELAXED);
}

void refused(const char *what, int err, const struct tramp_refusal *why)
{
	static const int expected[] = {
		EBUSY, EINVAL, EOPNOTSUPP, ENOENT, ENXIO, ENODEV, E2BIG, ENOMEM, ERANGE, EINTR,
	};
	size_t i;

	add(&my_counts->refused, 1);
	for (i = 0; i < sizeof(expected) / sizeof(expected[0]); i++) {
		if (err == -expected[i])
			return;
	}
	CHECK(false, "%s: %s, %s %s", what, strerror(-err), tramp_reason_name(why->reason),
	      why->detail);
}

/* ------------------------------------------------- entry and exit programs --- */

static struct single {
	int prog[2], link;
} singles[SINGLES];

/* The functions of this process: programs are loaded for one each. */
static void singles_begin(void)
{
	char func[32];
	int i;

	for (i = 0; i < SINGLES; i++) {
		bool is_exit = i % 2;

		if (i / 2 < SINGLE_FUNCS)
			sprintf(func, "tt_many%02d", i / 2);
		else
			sprintf(func, "tt_hot%d", i / 2 - SINGLE_FUNCS);
		singles[i].prog[0] = prog_clone(is_exit ? record->progs.count_exit :
						record->progs.count_entry, func,
						is_exit ? BPF_TRACE_FEXIT : BPF_TRACE_FENTRY);
		singles[i].prog[1] = prog_clone(is_exit ? record->progs.count_exit :
						record->progs.count_entry_too, func,
						is_exit ? BPF_TRACE_FEXIT : BPF_TRACE_FENTRY);
		singles[i].link = -1;
	}
}

static void single_drop(struct single *s)
{
	close(s->link);
	s->link = -1;
	add(&my_counts->detached, 1);
}

static void singles_step(uint64_t *r)
{
	int i = rnd(r) % SINGLES, err;
	struct single *s = &singles[i];
	struct attachment a;

	if (s->link < 0) {
		a = attach_func_try(OURS, s->prog[0], NULL);
		if (a.err) {
			refused("fentry or fexit", a.err, &a.reply.refusal);
			return;
		}
		s->link = a.fd;
		add(&my_counts->attached, 1);
		my_counts->at_counted += i / 2 >= SINGLE_FUNCS;
		my_counts->done++;
		return;
	}
	my_counts->done++;
	switch (rnd(r) % 4) {
	case 0:
		/* To the other program, and back: it may be the same kind only. */
		err = bpf_link_update(s->link, s->prog[1], NULL);
		CHECK(!err, "update: %s", strerror(-err));
		CHECK_EQ(bpf_link_update(s->link, s->prog[0], NULL), 0, "update back");
		my_counts->updated += !err;
		break;
	case 1:
		err = bpf_link_detach(s->link);
		CHECK(!err, "detach: %s", strerror(-err));
		single_drop(s);
		break;
	default:
		single_drop(s);
	}
}

static void singles_end(void)
{
	int i;

	for (i = 0; i < SINGLES; i++) {
		if (singles[i].link >= 0)
			single_drop(&singles[i]);
	}
}

/* ------------------------------------------------------------------ probes --- */

static struct tramp_attach batch[BATCH];
static int batch_fds[BATCH];
static uint32_t batch_size, nr_batch;
/* Of this process: two of them may be at one place, one program may not be there twice. */
static int batch_prog;

static void probes_begin(void)
{
	batch_prog = probe_clone(probe_skel->progs.count);
	batch_size = env_int("STRESS_BATCH", BATCH);
	REQUIRE(batch_size >= 16 && batch_size <= BATCH, "STRESS_BATCH is not 16 to %d", BATCH);
}

static void probes_detach(void)
{
	struct tramp_detach_batch d = { .size = sizeof(d), .count = nr_batch,
					.fds = (uintptr_t)batch_fds };

	if (!nr_batch)
		return;
	CHECK(!ioctl(tramp_device(), TRAMP_IOC_DETACH_BATCH, &d), "DETACH_BATCH: %s",
	      strerror(errno));
	while (nr_batch) {
		close(batch_fds[--nr_batch]);
		add(&my_counts->detached, 1);
	}
}

/* Some are jumps by themselves; once the optimiser has been through, all that can be. */
static void probes_leave(bool flush)
{
	uint32_t i;

	if (flush)
		probe_flush();
	for (i = 0; i < nr_batch; i += batch_size / 16)
		add(&my_counts->jumps,
		    tramp_query_link(batch[i].link_id).mode == TRAMP_MODE_JUMP);
	probes_detach();
}

static void probes_end(void)
{
	if (nr_batch)
		probes_leave(true);
}

static void probe_fill(uint32_t i, uint64_t addr, uint64_t *r)
{
	struct tramp_attach *a = &batch[i];

	memset(a, 0, sizeof(*a));
	a->size = sizeof(*a);
	a->prog_fd = batch_prog;
	a->addr = addr;
	a->flags = TRAMP_ATTACH_F_COOKIE;
	if (rnd(r) % 4 == 0)
		a->flags |= TRAMP_ATTACH_F_NO_JUMP;
}

/*
 * Different places. A batch is all or nothing: without the one that is refused, it is tried
 * once more. Some batches have one that cannot be granted, so that all goes back.
 */
static void probes_step(uint64_t *r)
{
	struct tramp_attach_batch b = { .size = sizeof(b), .item_size = sizeof(batch[0]),
					.items = (uintptr_t)batch };
	uint32_t place = rnd(r) % ACTOR_PLACES, step = 1 + rnd(r) % (ACTOR_PLACES - 1), i;
	uint64_t at_counted = 0;

	if (nr_batch) {
		probes_leave(rnd(r) % 2);
		add(&my_counts->done, 1);
		return;
	}
	for (i = 0; i < batch_size; i++, place = (place + step) % ACTOR_PLACES)
		probe_fill(i, actor_insns[place], r);
	if (rnd(r) % 4 == 0)
		probe_fill(rnd(r) % batch_size, refused_insns[rnd(r) % nr_refused], r);
	for (b.count = batch_size; b.count;) {
		if (!ioctl(tramp_device(), TRAMP_IOC_ATTACH_BATCH, &b))
			break;
		refused("ATTACH_BATCH", -errno, &b.refusal);
		if (b.failed >= b.count)
			return;
		batch[b.failed] = batch[--b.count];
	}
	for (nr_batch = 0; nr_batch < b.count; nr_batch++) {
		batch_fds[nr_batch] = batch[nr_batch].link_fd;
		at_counted += is_counted(batch[nr_batch].addr);
	}
	add(&my_counts->at_counted, at_counted);
	add(&my_counts->attached, b.count);
	add(&my_counts->done, 1);
}

/* ---------------------------------------------------------- many functions --- */

static struct many *some;

static void many_begin(void)
{
	some = many_new();
}

static void many_step(uint64_t *r)
{
	uint32_t kind = rnd(r) % 3, i;
	int err;

	some->cmd.nr = 0;
	for (i = 0; i < MANY_FUNCS; i++)
		many_add(some, actor_funcs[rnd(r) % nr_actor_funcs]);
	many_add(some, actor_counted(r));
	err = many_attach_try(some, bpf_program__fd(kind == 2 ? actor_progs->progs.session :
						    actor_progs->progs.many),
			      TRAMP_MULTI_F_SKIP | (kind == 1 ? TRAMP_MULTI_F_RETURN : 0) |
			      (kind == 2 ? many_session() : 0));
	if (err) {
		refused("ATTACH_MULTI", err, &some->cmd.refusal);
		return;
	}
	add(&my_counts->attached, 1);
	add(&my_counts->at_counted, !some->reasons[MANY_FUNCS]);
	usleep(rnd(r) % 50000);
	close(some->cmd.link_fd);
	add(&my_counts->detached, 1);
	add(&my_counts->done, 1);
}

/* -------------------------------------------------------- returns and pins --- */

/* Of this process, as some that stay have the plain one. */
static int own_prog;

static void own_begin(void)
{
	own_prog = probe_clone(probe_skel->progs.count);
}

/* At a function whose calls are counted, every other time. */
static struct attachment own_attach(const char *what, struct tramp_attach *want, uint64_t *r)
{
	bool at_counted = rnd(r) % 2;
	struct attachment a;

	want->addr = at_counted ? actor_counted(r) : actor_funcs[rnd(r) % nr_actor_funcs];
	a = attach_want(own_prog, want);
	if (a.err) {
		refused(what, a.err, &a.reply.refusal);
		return a;
	}
	add(&my_counts->attached, 1);
	add(&my_counts->at_counted, at_counted);
	return a;
}

static void returns_step(uint64_t *r)
{
	struct tramp_attach want = { .flags = TRAMP_ATTACH_F_RETURN, .maxactive = rnd(r) % 64 };
	struct attachment a = own_attach("kretprobe", &want, r);

	if (a.err)
		return;
	usleep(rnd(r) % 20000);
	detach(&a);
	add(&my_counts->detached, 1);
	add(&my_counts->done, 1);
}

static void pins_step(uint64_t *r)
{
	struct tramp_attach want = {};
	struct attachment a = own_attach("kprobe", &want, r);
	char path[64];
	int fd;

	if (a.err)
		return;
	snprintf(path, sizeof(path), "/sys/fs/bpf/stress-%d", getpid());
	CHECK_EQ(bpf_obj_pin(a.fd, path), 0, "pin");
	detach(&a);
	fd = bpf_obj_get(path);
	CHECK(fd >= 0, "a pinned link: %s", strerror(-fd));
	unlink(path);
	close(fd);
	add(&my_counts->detached, 1);
	my_counts->done++;
}

/* --------------------------------------------------- processes that are killed --- */

static void mortal(uint64_t r, bool grows)
{
	/* Those have to work; what follows need not. */
	probes_begin();
	many_begin();
	own_begin();
	if (grows)
		group_enter();
	while (!ktap_failures()) {
		/* At the end it is to be killed soon. */
		if (!grows || !actors_stop()) {
			probes_step(&r);
			many_step(&r);
			returns_step(&r);
		}
		if (grows)
			group_use();
	}
	_exit(1);
}

/* By us at any time, or by the kernel for want of memory. */
static void mortal_step(uint64_t *r)
{
	bool grows = rnd(r) % 2;
	uint64_t own = rnd(r);
	int status;
	pid_t pid;

	pid = fork();
	REQUIRE(pid >= 0, "fork: %s", strerror(errno));
	if (!pid)
		mortal(own, grows);
	if (!grows) {
		usleep(rnd(r) % 300000);
		kill(pid, SIGKILL);
	}
	REQUIRE(waitpid(pid, &status, 0) == pid, "waitpid");
	CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL,
	      "the child ended by itself: %#x", status);
	add(&my_counts->done, 1);
}

/* ---------------------------------------------------------------- observers --- */

static int look_at(const struct tramp_link_info *info, void *ctx)
{
	(void)info;
	return ++*(unsigned int *)ctx > 200;
}

static void observer_step(uint64_t *r)
{
	unsigned int seen = 0;

	switch (rnd(r) % 4) {
	case 0:
		CHECK(tramp_for_each(look_at, &seen) >= 0, "%s", tramp_last_error()->message);
		break;
	case 1:
		free(read_file("/sys/kernel/debug/trampoline/list"));
		break;
	case 2:
		ksym_images();
		break;
	default:
		/* This process has the device open, as others have. */
		CHECK(module_unload("trampoline"), "our module is gone");
	}
	my_counts->done++;
}

const struct actor attach_actors[] = {
	{ "entries and exits", singles_begin, singles_step, singles_end, 1000 },
	/* Most attachments are theirs. While one waits for a lock, others go on. */
	{ "probes", probes_begin, probes_step, probes_end, 5000 },
	{ "probes, too", probes_begin, probes_step, probes_end, 5000 },
	{ "more probes", probes_begin, probes_step, probes_end, 5000 },
	{ "many", many_begin, many_step, NULL, 10000 },
	{ "returns", own_begin, returns_step, NULL, 1000 },
	{ "modules", NULL, modules_step, NULL, 10000 },
	{ "pins", own_begin, pins_step, NULL, 10000 },
	{ "killed", NULL, mortal_step, NULL, 10000 },
	{ "observer", NULL, observer_step, NULL, 50000 },
};
const unsigned int nr_attach_actors = sizeof(attach_actors) / sizeof(attach_actors[0]);
