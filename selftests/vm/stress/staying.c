// SPDX-License-Identifier: GPL-2.0
/*
 * Programs that stay at functions which are called a known number of times: at entry and exit,
 * inside, at the return, and as one of many functions. The counts of the module are held against
 * those calls, and against what the programs count themselves.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "actors.h"
#include "busy.h"
#include "fixture.h"
#include "many.h"
#include "probe.h"
#include "record.h"
#include "selftests/vm/lib/probe_progs.skel.h"
#include "selftests/vm/lib/record.skel.h"

enum { ENTRY, EXIT, INSIDE, RETURN, MANY, PLACES };
static const char *const place[PLACES] = { "entry", "exit", "inside", "return", "many" };
/* Of tt_hot0 to tt_hot3. */
static const int called[PLACES] = { 0, 0, 1, 2, 3 };

struct staying {
	struct attachment at[PLACES];
	struct record *record;
	int progs[2];
};

/* Where the program at @k counts. Actors' programs count at 0 of probe_progs. */
static uint64_t cookie(int k)
{
	return k < INSIDE ? k : PROBE_COUNTERS - 1 - k;
}

static uint64_t counted(const struct staying *s, int k)
{
	return k < INSIDE ? s->record->bss->counted[cookie(k)] :
			    probe_skel->bss->counted[cookie(k)];
}

static struct attachment attach_many_at(const char *func)
{
	struct many *m = many_new();
	struct attachment a = { .how = OURS, .fd = -1 };

	many_add_name(m, func);
	m->cookies[0] = cookie(MANY);
	many_attach(m, bpf_program__fd(probe_skel->progs.count), 0);
	a.fd = m->cmd.link_fd;
	a.reply.link_id = m->cmd.link_id;
	free(m);
	return a;
}

/* Behind the first instructions: each is executed once a call. */
static uint64_t inside(const char *func)
{
	struct probe_func f;
	uint64_t addr;

	REQUIRE(!probe_explain(&f, 0, func, false) && f.nr > 2, "instructions of %s", func);
	addr = f.addr + f.insns[f.nr > 3 ? 2 : 1].offset;
	probe_func_free(&f);
	return addr;
}

struct staying *staying_attach(void)
{
	int count = bpf_program__fd(probe_skel->progs.count), k;
	struct staying *s = calloc(1, sizeof(*s));
	uint64_t own[2] = { cookie(ENTRY), cookie(EXIT) };

	REQUIRE(s, "out of memory");
	s->record = FIXTURE_LOAD(record);
	s->progs[0] = prog_clone(s->record->progs.count_entry, "tt_hot0", BPF_TRACE_FENTRY);
	s->progs[1] = prog_clone(s->record->progs.count_exit, "tt_hot0", BPF_TRACE_FEXIT);
	for (k = INSIDE; k < PLACES; k++)
		probe_skel->bss->counted[cookie(k)] = 0;
	for (k = ENTRY; k <= EXIT; k++)
		s->at[k] = attach_func(OURS, s->progs[k], &own[k]);
	s->at[INSIDE] = attach_insn(OURS, count, inside("tt_hot1"), 0, cookie(INSIDE));
	s->at[RETURN] = attach_return(OURS, count, "tt_hot2", 64, cookie(RETURN));
	s->at[MANY] = attach_many_at("tt_hot3");
	return s;
}

void staying_close(struct staying *s)
{
	int k;

	for (k = 0; k < PLACES; k++)
		detach(&s->at[k]);
}

void staying_check(struct staying *s, const uint64_t *calls)
{
	uint64_t hits, misses;
	int k;

	for (k = 0; k < PLACES; k++) {
		attachment_counts(&s->at[k], &hits, &misses);
		ktap_note("%-8s %lu calls: %lu run, %lu missed", place[k], calls[called[k]], hits,
			  misses);
		CHECK_EQ(hits + misses, calls[called[k]], "%s: run or missed", place[k]);
		CHECK_EQ(hits, counted(s, k), "%s: hits, as the program counted", place[k]);
		CHECK(hits >= misses, "%s: more missed than run", place[k]);
		detach(&s->at[k]);
	}
	for (k = 0; k < 2; k++)
		close(s->progs[k]);
	record__destroy(s->record);
	free(s);
}
