/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The text: memory that runners execute and the patcher writes, through a second mapping of it.
 *
 * Bytes that are written under execution come to the processors in one of two orders:
 *
 *  - ORDER_WRITTEN: as the patcher writes them. Then the real processors say what is seen.
 *
 *  - ORDER_ANY: each byte for itself, in a random order, at any time up to the next sync. The
 *    architecture allows a processor to fetch so, and the plans must hold under it. A step in
 *    the wrong order or a missing sync is seen within moments, whatever this processor does.
 *
 * ORDER_MIXED changes between the two. A sync is membarrier() with SYNC_CORE, after which every
 * thread of the process executes a serialising instruction before it goes on.
 */
#ifndef SELFTESTS_NATIVE_TEXT_H
#define SELFTESTS_NATIVE_TEXT_H

#include "native.h"

#define TEXT_BASE	0x40000000UL
#define TEXT_CODE	TEXT_BASE		/* code that is patched */
#define TEXT_DATA	(TEXT_BASE + 0x100000)	/* words it reads; nobody executes them */
#define TEXT_STUBS	(TEXT_BASE + 0x110000)	/* programs, and what images call */
#define TEXT_PAGES	(TEXT_BASE + 0x200000)	/* images, and programs that are freed */
#define TEXT_NR_PAGES	2048u
#define TEXT_PAGE	0x1000UL
#define TEXT_END	(TEXT_PAGES + TEXT_NR_PAGES * TEXT_PAGE)

enum text_order { ORDER_MIXED, ORDER_WRITTEN, ORDER_ANY };

/* Map it; skips the test where the kernel cannot sync processors. */
void text_init(void);

/* A new round: everything is int3, all pages are free, no byte is on its way. */
void text_begin(u64 seed);

static inline bool text_has(u64 addr)
{
	return addr >= TEXT_BASE && addr < TEXT_END;
}

/* Write what nobody executes. */
void text_store(u64 addr, const void *bytes, u32 len);

/* The same, as the processors see it now. */
u8 text_byte(u64 addr);

/* Write what somebody may execute. */
void text_write(u64 addr, const u8 *bytes, u32 len);

/* Read what the patcher has written there, whether anybody sees it yet or not. */
void text_read(u64 addr, u8 *bytes, u32 len);

/* No processor executes what it fetched before. */
void text_sync(void);

/* A moment passes: some of the bytes on their way may arrive. */
void text_drip(void);

/* A page that can be executed, for what @fmt says; and the end of one: from then on it faults. */
u64 text_page_get(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
void text_page_put(u64 page);

/* Say what an address in such a page belongs to, or did last. */
void text_page_where(u64 addr, char *text, size_t len);
u32 text_pages_used(void);

/* Steps that matter to who may be where: writes, syncs, frees. */
extern atomic_ulong text_events;
extern u64 text_syncs, text_writes;

#endif /* SELFTESTS_NATIVE_TEXT_H */
