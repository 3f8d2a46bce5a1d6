// SPDX-License-Identifier: GPL-2.0
/* Per-CPU memory: see percpu.h. */
#include <errno.h>
#include <string.h>
#include <bpf/bpf.h>
#include "percpu.h"
#include "vmtest.h"
#include "selftests/vm/lib/percpu.skel.h"

static struct percpu *skel;

static uint64_t count(void)
{
	LIBBPF_OPTS(bpf_test_run_opts, opts);
	int err = bpf_prog_test_run_opts(bpf_program__fd(skel->progs.count_percpu), &opts);

	REQUIRE(!err, "count_percpu: %s", strerror(-err));
	REQUIRE(opts.retval && skel->bss->chunks, "no chunks of per-CPU memory, of %u lists",
		opts.retval);
	return skel->bss->allocated;
}

void percpu_load(void)
{
	if (skel)
		return;
	skel = percpu__open_and_load();
	REQUIRE(skel, "percpu.bpf.o: %s", strerror(errno));
}

uint64_t percpu_allocated(void)
{
	uint64_t bytes, before;
	int i;

	percpu_load();
	bytes = count();
	for (i = 0; i < 20; i++) {
		before = bytes;
		bytes = count();
		if (bytes == before)
			break;
	}
	return bytes;
}
