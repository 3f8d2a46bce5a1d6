// SPDX-License-Identifier: GPL-2.0
/*
 * The list of mechanisms, and attaching through any of them.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "bench.h"

/* Seconds that optimising a thousand kprobes may take on a busy host. */
#define SETTLE_SECONDS	300

/* Made by the linker around what BENCH_MECH() puts there. */
extern const struct bench_mech *const __start_bench_mechs[], *const __stop_bench_mechs[];

static int in_order(const void *a, const void *b)
{
	const struct bench_mech *x = *(const struct bench_mech *const *)a;
	const struct bench_mech *y = *(const struct bench_mech *const *)b;

	return x->rank != y->rank ? x->rank - y->rank : (int)x->side - (int)y->side;
}

const struct bench_mech *const *bench_mechs(void)
{
	static const struct bench_mech **sorted;
	/* cppcheck-suppress comparePointers */
	size_t nr = __stop_bench_mechs - __start_bench_mechs;

	if (!sorted) {
		sorted = calloc(nr + 1, sizeof(*sorted));
		REQUIRE(sorted, "out of memory");
		memcpy(sorted, __start_bench_mechs, nr * sizeof(*sorted));
		qsort(sorted, nr, sizeof(*sorted), in_order);
	}
	return sorted;
}

const char *bench_side_name(enum bench_side side)
{
	return side == BENCH_OURS ? "ours" : "kernel";
}

struct bench_att bench_attach(const struct bench_mech *m, const struct bench_place *place,
			      int prog_fd, uint64_t cookie)
{
	struct bench_att a = {
		.prog_fd = prog_fd, .fd = -1, .event_fd = -1,
		.addr = m->mid ? place->mid : place->func,
	};
	int err = m->attach(&a, place, cookie);

	REQUIRE(!err, "%s %s: attaching at %s: %s", bench_side_name(m->side), m->name,
		place->name, strerror(-err));
	return a;
}

/* Until @state says NULL of the attachments */
static void wait_for(const struct bench_mech *m,
		     const char *(*state)(const struct bench_att *a, unsigned int nr),
		     const struct bench_att *a, unsigned int nr)
{
	uint64_t end = now_ns() + SETTLE_SECONDS * 1000000000ULL;
	const char *waiting;

	while (state && (waiting = state(a, nr))) {
		REQUIRE(now_ns() < end, "%s %s: %u attachments: %s", bench_side_name(m->side),
			m->name, nr, waiting);
		usleep(1000);
	}
}

void bench_settle(const struct bench_mech *m, const struct bench_att *a, unsigned int nr)
{
	wait_for(m, m->settled, a, nr);
}

void bench_detach(struct bench_att *a)
{
	if (a->fd >= 0)
		close(a->fd);
	if (a->event_fd >= 0)
		close(a->event_fd);
	a->fd = a->event_fd = -1;
}

/* The module counts an image and a probe until their bytes have left the text */
static const char *ours_drained(const struct bench_att *a, unsigned int nr)
{
	struct tramp_info info = tramp_module();

	(void)a;
	(void)nr;
	if (info.images)
		return "an image is left";
	return info.probes ? "a probe is left" : NULL;
}

void bench_drain(const struct bench_mech *m, const struct bench_att *a, unsigned int nr)
{
	wait_for(m, m->side == BENCH_OURS ? ours_drained : m->drained, a, nr);
}
