// SPDX-License-Identifier: GPL-2.0
/*
 * A machine for images to run on, see machine.h.
 */
#define _GNU_SOURCE	/* REG_RIP */
#include "machine.h"

#include "../../kernel/x86/fentry_image.h"

#include <asm/prctl.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#include "../lib/ktap.h"

/*
 * Free, where an imm32 can hold every address as it can those of the kernel; rel32
 * must not reach the C code.
 */
#define AREA_BASE	0x40000000UL

/* The gs base is in the middle of the near part: offsets of both signs. */
#define NEAR_BASE	0x5000000000UL
#define FAR_BASE	0x6000000000UL
#define FARTHER_BASE	0x7000000000UL
#define GS_BASE		(NEAR_BASE + PERCPU_SIZE / 2)

#define SITE_SIZE	64
#define RETURN_THUNK	(AREA_DATA - THUNK_SIZE)
#define BRANCH_THUNKS	(AREA_SITES - 32 * THUNK_SIZE)

extern void machine_stub(void);
extern void machine_enter(void);

u64 machine_salt;
const u64 machine_garbage[16] = {
	[RCX] = 0xbad1bad1bad1bad1, [RDX] = 0xbad2bad2bad2bad2, [RSI] = 0xbad6bad6bad6bad6,
	[RDI] = 0xbad7bad7bad7bad7, [R8] = 0xbad8bad8bad8bad8, [R9] = 0xbad9bad9bad9bad9,
	[R10] = 0xbadabadabadabada, [R11] = 0xbadbbadbbadbbadb,
};
machine_hook_fn machine_hook;
struct machine_call *machine_current;
u8 *machine_area;
u32 machine_clis;

static const u64 percpu_base[] = { NEAR_BASE, FAR_BASE, FARTHER_BASE };
static size_t percpu_used[3];

static u8 *map_at(u64 addr, size_t size, int prot)
{
	void *p = mmap((void *)addr, size, prot,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);

	if (p != (void *)addr)
		ktap_die("cannot map %zu bytes at %#lx: %m", size, (unsigned long)addr);
	return p;
}

/*
 * A fault in the area at a cli is what a process gets in its place. With the trap flag,
 * the processor would trap behind it: the one who steps learns of it. Any other fault ends the
 * test as it would without us.
 */
static void on_fault(int sig, siginfo_t *info, void *context)
{
	mcontext_t *m = &((ucontext_t *)context)->uc_mcontext;
	u8 *rip = (u8 *)m->gregs[REG_RIP];
	struct sigaction step;

	if (rip < machine_area || rip >= machine_area + AREA_SIZE || *rip != 0xfa) {
		signal(sig, SIG_DFL);
		return;
	}
	m->gregs[REG_RIP]++;
	machine_clis++;
	if (m->gregs[REG_EFL] & FLAG_TF && !sigaction(SIGTRAP, NULL, &step) &&
	    step.sa_flags & SA_SIGINFO)
		step.sa_sigaction(SIGTRAP, info, context);
}

void machine_init(void)
{
	struct sigaction sa = { .sa_sigaction = on_fault, .sa_flags = SA_SIGINFO | SA_NODEFER };
	u64 stub = (u64)machine_stub;
	u32 i;

	if (machine_area)
		return;
	if (sigaction(SIGSEGV, &sa, NULL))
		ktap_die("sigaction: %m");
	machine_area = map_at(AREA_BASE, AREA_SIZE, PROT_READ | PROT_WRITE | PROT_EXEC);
	memset(machine_area, 0xcc, AREA_SIZE);
	memset(machine_area + AREA_DATA, 0, 512 * sizeof(u64));
	for (i = 0; i < 3; i++)
		map_at(percpu_base[i], PERCPU_SIZE, PROT_READ | PROT_WRITE);
	map_at(MACHINE_ZEROS, 0x1000, PROT_READ);
	if (syscall(SYS_arch_prctl, ARCH_SET_GS, GS_BASE))
		ktap_die("arch_prctl(ARCH_SET_GS): %m");

	/* mov $nr, %r11d; jmp *0(%rip); the address of machine_stub */
	for (i = 0; i < MAX_THUNKS; i++) {
		u8 *t = machine_area + AREA_THUNKS + i * THUNK_SIZE;

		t[0] = 0x41;
		t[1] = 0xbb;
		memcpy(t + 2, &i, 4);
		memcpy(t + 6, "\xff\x25\0\0\0\0", 6);
		memcpy(t + 12, &stub, 8);
	}
	machine_percpu_reset();
}

u64 machine_thunk(u32 nr)
{
	REQUIRE(nr < MAX_THUNKS, "thunk %u", nr);
	return AREA_ADDR(AREA_THUNKS + nr * THUNK_SIZE);
}

u64 *machine_word(u32 nr)
{
	REQUIRE(nr < 512, "word %u", nr);
	return (u64 *)(machine_area + AREA_DATA) + nr;
}

void machine_percpu_reset(void)
{
	u32 i;

	for (i = 0; i < 3; i++) {
		memset((void *)percpu_base[i], 0, percpu_used[i]);
		percpu_used[i] = 0;
	}
}

void *machine_percpu(enum percpu_where where, size_t size, u64 *off)
{
	u64 addr;

	size = (size + 7) & ~7UL;
	REQUIRE(percpu_used[where] + size <= PERCPU_SIZE, "per-CPU memory is used up");
	addr = percpu_base[where] + percpu_used[where];
	percpu_used[where] += size;
	*off = addr - GS_BASE;
	return (void *)addr;
}

static void put_rel32(u8 *at, u8 opcode, u64 target)
{
	u32 rel = (u32)(target - ((u64)at + 5));

	at[0] = opcode;
	memcpy(at + 1, &rel, 4);
}

static u8 *site_at(u32 nr)
{
	REQUIRE(AREA_SITES + (nr + 1) * SITE_SIZE <= AREA_IMAGES, "site %u", nr);
	return machine_area + AREA_SITES + nr * SITE_SIZE;
}

u64 machine_site(u32 nr, bool endbr, u64 image, u32 body)
{
	u8 *func = site_at(nr), *call = func;

	memset(func, 0xcc, SITE_SIZE);
	if (endbr) {
		memcpy(func, "\xf3\x0f\x1e\xfa", 4);
		call += 4;
	}
	put_rel32(call, 0xe8, image);
	put_rel32(call + 5, 0xe9, machine_thunk(body));
	return (u64)func;
}

u64 machine_site_after(u32 nr, bool endbr)
{
	return (u64)site_at(nr) + (endbr ? 4 : 0) + 5;
}

u64 machine_return_thunk(const u64 *counter)
{
	u8 *t = machine_area + RETURN_THUNK;
	u32 rel = (u32)((u64)counter - ((u64)t + 7));

	/* incq counter(%rip); ret */
	memcpy(t, "\x48\xff\x05", 3);
	memcpy(t + 3, &rel, 4);
	t[7] = 0xc3;
	return (u64)t;
}

void machine_branch_thunks(struct tramp_x86_env *env)
{
	u8 *t = machine_area + BRANCH_THUNKS;
	u32 reg;

	env->has_indirect_thunks = true;
	for (reg = 0; reg < NR_REGS; reg++, t += THUNK_SIZE) {
		memcpy(t, "\x41\xff\xe0", 3);		/* jmp *%r8 */
		t[2] |= reg & 7;
		env->indirect_thunk[reg] = (u64)t + (reg < R8);
	}
	*t = 0xc3;
	env->return_thunk = (u64)t;
}

/* Called by machine_stub with the thunk's number and the registers. */
u64 machine_stub_c(u32 thunk, struct thunk_frame *frame);
u64 machine_stub_c(u32 thunk, struct thunk_frame *frame)
{
	return machine_hook(thunk, frame);
}

void machine_run(struct machine_call *call)
{
	struct machine_call *outer = machine_current;

	machine_current = call;
	machine_enter();
	machine_current = outer;
}

void machine_poke_jmp(u8 *at, const u8 *to)
{
	put_rel32(at, 0xe9, (u64)to);
}

void machine_poke_call(u8 *at, u64 to)
{
	put_rel32(at, 0xe8, to);
}

u64 rng_u64(struct rng *r)
{
	r->state ^= r->state >> 12;
	r->state ^= r->state << 25;
	r->state ^= r->state >> 27;
	return r->state * 0x2545f4914f6cdd1dULL;
}

u32 rng_below(struct rng *r, u32 n)
{
	return (u32)((rng_u64(r) >> 32) * n >> 32);
}

bool rng_chance(struct rng *r, u32 percent)
{
	return rng_below(r, 100) < percent;
}
