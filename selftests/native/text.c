// SPDX-License-Identifier: GPL-2.0
/*
 * Memory that is executed and written, see text.h.
 */
#define _GNU_SOURCE
#include "text.h"

#include <linux/membarrier.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "../lib/ktap.h"

#define INT3		0xcc
#define MAX_COMING	512	/* bytes on their way */
#define MIXED_SYNCS	64	/* so many in one order, then perhaps in the other */

struct coming {
	u64 addr;
	u8 byte;
};

static u8 *alias;
static struct coming coming[MAX_COMING];
static u32 nr_coming;
static bool any_order;
static struct rng rng;

/* Page numbers, the one that was freed longest ago first. */
static u16 free_pages[TEXT_NR_PAGES];
static u32 first_free, nr_free;
static struct {
	char what[56];
	bool used;
} pages[TEXT_NR_PAGES];

atomic_ulong text_events;
u64 text_syncs, text_writes;

static u8 *at(u64 addr)
{
	return alias + (addr - TEXT_BASE);
}

static int membarrier(int cmd)
{
	return (int)syscall(SYS_membarrier, cmd, 0, 0);
}

void text_init(void)
{
	u64 size = TEXT_END - TEXT_BASE;
	int fd, can = membarrier(MEMBARRIER_CMD_QUERY);
	void *p;

	if (can < 0 || !(can & MEMBARRIER_CMD_PRIVATE_EXPEDITED_SYNC_CORE))
		ktap_skip("this kernel has no membarrier() that syncs processors");
	if (membarrier(MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED_SYNC_CORE))
		ktap_die("membarrier: %m");
	fd = memfd_create("text", MFD_CLOEXEC);
	if (fd < 0 || ftruncate(fd, (off_t)size))
		ktap_die("memfd: %m");
	p = mmap((void *)TEXT_BASE, size, PROT_READ | PROT_EXEC,
		 MAP_SHARED | MAP_FIXED_NOREPLACE, fd, 0);
	if (p != (void *)TEXT_BASE)
		ktap_die("cannot map the text at %#lx: %m", TEXT_BASE);
	alias = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (alias == MAP_FAILED)
		ktap_die("cannot map the text a second time: %m");
	close(fd);
}

void text_begin(u64 seed)
{
	u32 i;

	rng.state = seed | 1;
	nr_coming = 0;
	any_order = native.order == ORDER_ANY;
	memset(alias, INT3, TEXT_END - TEXT_BASE);
	memset(at(TEXT_DATA), 0, TEXT_STUBS - TEXT_DATA);
	if (mprotect((void *)TEXT_PAGES, TEXT_END - TEXT_PAGES, PROT_NONE))
		native_die("mprotect: %m");
	for (i = 0; i < TEXT_NR_PAGES; i++)
		free_pages[i] = (u16)i;
	memset(pages, 0, sizeof(pages));
	first_free = 0;
	nr_free = TEXT_NR_PAGES;
}

void text_store(u64 addr, const void *bytes, u32 len)
{
	memcpy(at(addr), bytes, len);
}

u8 text_byte(u64 addr)
{
	return *(volatile u8 *)addr;
}

static void put_byte(u64 addr, u8 byte)
{
	*(volatile u8 *)at(addr) = byte;
}

/* Let others run for a moment, or for longer. */
static void moment(void)
{
	u32 n = rng_below(&rng, 64);

	if (!n)
		native_sleep_us(rng_below(&rng, 100));
	else if (n < 20)
		for (n = rng_below(&rng, 600); n; n--)
			__builtin_ia32_pause();
}

/* One of the bytes arrives; of those at one address the oldest. */
static void arrive(void)
{
	u32 i, one = rng_below(&rng, nr_coming);

	for (i = 0; i < one; i++)
		if (coming[i].addr == coming[one].addr)
			one = i;
	put_byte(coming[one].addr, coming[one].byte);
	nr_coming--;
	memmove(&coming[one], &coming[one + 1], (nr_coming - one) * sizeof(coming[0]));
}

void text_write(u64 addr, const u8 *bytes, u32 len)
{
	u32 i;

	text_writes++;
	atomic_fetch_add(&text_events, 1);
	if (!any_order) {
		memcpy(at(addr), bytes, len);
		moment();
		return;
	}
	for (i = 0; i < len; i++) {
		if (nr_coming == MAX_COMING)
			arrive();
		coming[nr_coming++] = (struct coming){ addr + i, bytes[i] };
	}
	text_drip();
}

void text_read(u64 addr, u8 *bytes, u32 len)
{
	u32 i;

	memcpy(bytes, at(addr), len);
	for (i = 0; i < nr_coming; i++)
		if (coming[i].addr >= addr && coming[i].addr < addr + len)
			bytes[coming[i].addr - addr] = coming[i].byte;
}

void text_drip(void)
{
	while (nr_coming && rng_chance(&rng, 50)) {
		arrive();
		moment();
	}
}

void text_sync(void)
{
	while (nr_coming) {
		arrive();
		moment();
	}
	if (membarrier(MEMBARRIER_CMD_PRIVATE_EXPEDITED_SYNC_CORE))
		native_die("membarrier: %m");
	atomic_fetch_add(&text_events, 1);
	if (!(++text_syncs % MIXED_SYNCS) && native.order == ORDER_MIXED)
		any_order = rng_chance(&rng, 60);
	moment();
}

u64 text_page_get(const char *fmt, ...)
{
	u32 nr = free_pages[first_free];
	va_list ap;
	u64 page;

	if (!nr_free)
		native_die("no page is left: images are not freed");
	va_start(ap, fmt);
	vsnprintf(pages[nr].what, sizeof(pages[nr].what), fmt, ap);
	va_end(ap);
	pages[nr].used = true;
	page = TEXT_PAGES + nr * TEXT_PAGE;
	first_free = (first_free + 1) % TEXT_NR_PAGES;
	nr_free--;
	memset(at(page), INT3, TEXT_PAGE);
	if (mprotect((void *)page, TEXT_PAGE, PROT_READ | PROT_EXEC))
		native_die("mprotect: %m");
	return page;
}

void text_page_put(u64 page)
{
	u32 nr;

	if (mprotect((void *)page, TEXT_PAGE, PROT_NONE))
		native_die("mprotect: %m");
	nr = (u32)((page - TEXT_PAGES) / TEXT_PAGE);
	pages[nr].used = false;
	free_pages[(first_free + nr_free) % TEXT_NR_PAGES] = (u16)nr;
	nr_free++;
	atomic_fetch_add(&text_events, 1);
}

void text_page_where(u64 addr, char *text, size_t len)
{
	u32 nr = (u32)((addr - TEXT_PAGES) / TEXT_PAGE);

	snprintf(text, len, " (byte %#lx of %s%s)", addr % TEXT_PAGE,
		 pages[nr].what[0] ? pages[nr].what : "nothing",
		 pages[nr].used ? "" : ", freed");
}

u32 text_pages_used(void)
{
	return TEXT_NR_PAGES - nr_free;
}
