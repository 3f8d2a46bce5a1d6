// SPDX-License-Identifier: GPL-2.0
/*
 * The kernel's name for the first byte of an image, in backtraces and where else it names
 * addresses. It may take the byte behind one image for a part of that image. So no image
 * begins right there: it would have its neighbour's name.
 */
#include <bpf/bpf.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>
#include "fixture.h"
#include "probe.h"
#include "selftests/vm/lib/probe_progs.skel.h"
#include "selftests/vm/link/image_names.skel.h"

/* The kernel gives executable memory to BPF in pieces of that many bytes (BPF_PROG_CHUNK_SIZE). */
#define CHUNK		64
/* Programs at one function at most until its image fills its pieces to the last byte. */
#define PROGS		TRAMP_MAX_PROGS
/* Images that do, one after the other. */
#define IMAGES		8

static struct image_names *names;
static uint64_t funcs[IMAGES];
static int progs[PROGS];

static struct attachment add(uint32_t func, uint32_t i)
{
	return attach_insn(OURS, progs[i], funcs[func], 0, 0);
}

/* How many make an image whose length is a multiple of CHUNK. */
static uint32_t find_full(void)
{
	struct attachment at[PROGS];
	uint32_t nr, full = 0;

	for (nr = 0; nr < PROGS && !full; nr++) {
		at[nr] = add(0, nr);
		attachment_expect(&at[nr], TRAMP_MODE_DIRECT, 0, "at an entry");
		if (attachment_query(&at[nr]).image_size % CHUNK == 0)
			full = nr + 1;
	}
	while (nr--)
		detach(&at[nr]);
	REQUIRE(full, "no number of programs makes an image of whole pieces");
	return full;
}

/* All at once, so that there is one image and no others before it. */
static void add_all(struct tramp_attach *items, uint32_t nr, uint32_t func)
{
	struct tramp_attach_batch cmd = { .size = sizeof(cmd), .count = nr,
					  .item_size = sizeof(*items),
					  .items = (uintptr_t)items };
	uint32_t i;

	for (i = 0; i < nr; i++)
		items[i] = (struct tramp_attach){ .size = sizeof(*items), .prog_fd = progs[i],
						  .addr = funcs[func] };
	REQUIRE(!ioctl(tramp_device(), TRAMP_IOC_ATTACH_BATCH, &cmd), "%s at item %u: %s %s",
		strerror(errno), cmd.failed, tramp_reason_name(cmd.refusal.reason),
		cmd.refusal.detail);
}

static struct tramp_query query(const struct tramp_attach *item)
{
	struct tramp_query q = { .size = sizeof(q), .link_id = item->link_id };

	REQUIRE(!ioctl(tramp_device(), TRAMP_IOC_QUERY, &q), "QUERY: %s", strerror(errno));
	return q;
}

static void expect_name(const struct tramp_query *image)
{
	LIBBPF_OPTS(bpf_test_run_opts, opts);
	char wanted[64];
	int err;

	names->bss->addr = image->image_addr;
	err = bpf_prog_test_run_opts(bpf_program__fd(names->progs.say_name), &opts);
	REQUIRE(!err, "the program that asks for a name: %s", strerror(-err));
	snprintf(wanted, sizeof(wanted), "trampoline_%llu_%u+0x0/",
		 (unsigned long long)image->key, image->index);
	CHECK(!strncmp(names->bss->name, wanted, strlen(wanted)), "%s is called %s", wanted,
	      names->bss->name);
}

static void test_neighbours(void)
{
	static struct tramp_attach items[IMAGES][PROGS];
	struct tramp_query image[IMAGES];
	uint32_t full, i, k, beside = 0;
	char func[32];

	fixture_open("about our images");
	probe_setup();
	names = FIXTURE_LOAD(image_names);
	for (i = 0; i < PROGS; i++)
		progs[i] = probe_clone(probe_skel->progs.count);
	for (i = 0; i < IMAGES; i++) {
		snprintf(func, sizeof(func), "tt_many_%03u", i);
		funcs[i] = ksym_addr(func);
	}
	full = find_full();
	CHECK(tramp_settle(), "images stay");
	for (i = 0; i < IMAGES; i++) {
		add_all(items[i], full, i);
		image[i] = query(&items[i][0]);
		beside += i && image[i].image_addr - image[i - 1].image_addr ==
				image[i].image_size + CHUNK;
	}
	ktap_note("%u images of %u bytes; %u have one a piece further on", IMAGES,
		  image[0].image_size, beside);
	/* Without the byte behind them these would be beside each other. */
	CHECK(beside, "no image is near another");
	for (i = 0; i < IMAGES; i++)
		expect_name(&image[i]);
	for (i = 0; i < IMAGES; i++)
		for (k = 0; k < full; k++)
			close(items[i][k].link_fd);
	image_names__destroy(names);
}

static const struct ktap_test tests[] = {
	{ "neighbours", test_neighbours, 120 },
};

KTAP_MAIN(tests)
