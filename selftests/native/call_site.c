// SPDX-License-Identifier: GPL-2.0
/*
 * Five bytes that become another instruction while they are executed: text_poke_bp() of the
 * kernel, by which ftrace patches sites and the module leaves exit programs out. For those who
 * trap meanwhile the new instruction is emulated.
 */
#define _GNU_SOURCE
#include <stdio.h>
#include <string.h>
#include <ucontext.h>

#include "call.h"
#include "text.h"

#define INT3	0xcc

/* The one that is being written. The version is odd while it changes. */
static struct {
	atomic_uint version;
	atomic_ulong addr;
	atomic_uint insn;
	atomic_ulong target;
} poking;

static void set_poking(u64 addr, enum site_insn insn, u64 target)
{
	atomic_fetch_add(&poking.version, 1);
	atomic_store(&poking.addr, addr);
	atomic_store(&poking.insn, insn);
	atomic_store(&poking.target, target);
	atomic_fetch_add(&poking.version, 1);
}

void site_poke(u64 addr, enum site_insn insn, u64 target)
{
	static const u8 int3 = INT3;
	u8 bytes[5] = { insn == SITE_CALL ? 0xe8 : 0xe9 };
	u32 rel = (u32)(target - (addr + 5));

	if (insn == SITE_NOP)
		memcpy(bytes, "\x0f\x1f\x44\0\0", 5);
	else
		memcpy(bytes + 1, &rel, 4);
	set_poking(addr, insn, target);
	native_doing("poke", "int3", addr);
	text_write(addr, &int3, 1);
	text_sync();
	native_doing("poke", "rest", addr);
	text_write(addr + 1, bytes + 1, 4);
	text_sync();
	native_doing("poke", "first", addr);
	text_write(addr, bytes, 1);
	text_sync();
	native_doing("between pokes", "", 0);
}

static void emulate(mcontext_t *m, u64 addr, enum site_insn insn, u64 target)
{
	u64 *sp;

	switch (insn) {
	case SITE_NOP:
		m->gregs[REG_RIP] = (long long)(addr + 5);
		break;
	case SITE_CALL:
		sp = (u64 *)m->gregs[REG_RSP] - 1;
		*sp = addr + 5;
		m->gregs[REG_RSP] = (long long)sp;
		/* fallthrough */
	case SITE_JUMP:
		m->gregs[REG_RIP] = (long long)target;
		break;
	}
}

bool call_take(struct runner *r, u64 ip, mcontext_t *m)
{
	u32 version, insn;
	u64 addr, target;
	u8 byte;

	if (!rng_below(&r->sig_rng, 100))
		runner_preempt(r, true);
	do {
		version = atomic_load(&poking.version);
		addr = atomic_load(&poking.addr);
		insn = atomic_load(&poking.insn);
		target = atomic_load(&poking.target);
		byte = text_byte(ip);
	} while (version & 1 || version != atomic_load(&poking.version));
	if (addr == ip) {
		emulate(m, ip, (enum site_insn)insn, target);
		r->counts.traps++;
		return true;
	}
	if (byte == INT3)
		return false;
	/* It has been written since. */
	m->gregs[REG_RIP] = (long long)ip;
	r->counts.late++;
	return true;
}

void call_where(u64 addr, char *text, size_t len)
{
	u32 i;

	if (addr >= TEXT_PAGES)
		text_page_where(addr, text, len);
	for (i = 0; i < FUNCS; i++)
		if (addr >= funcs[i].addr && addr < funcs[i].addr + 32)
			snprintf(text, len, " (byte %lu of function %u)", addr - funcs[i].addr, i);
}
