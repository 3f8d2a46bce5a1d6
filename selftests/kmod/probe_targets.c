// SPDX-License-Identifier: GPL-2.0
/*
 * Targets that are awkward for probes: text that the kernel itself patches, a loop, computed gotos,
 * and a long function for many probes at once. The results of loop and gotos say whether every step
 * was taken.
 */
#include <linux/kernel.h>
#include <linux/jump_label.h>
#include <linux/mutex.h>
#include <linux/sched/signal.h>
#include <linux/static_call.h>
#include <linux/uaccess.h>
#include "trampoline_test.h"
#include "probe_abi.h"
#include "targets.h"

/* ------------------------------------------- a static key, a static call -- */

static DEFINE_STATIC_KEY_FALSE(tt_key);

u64 tt_called_a(u64 a);
u64 tt_called_b(u64 a);

TT_TARGET u64 tt_called_a(u64 a) { return a + 3; }
/* The same result: which of the two was called is nobody's business. */
TT_TARGET u64 tt_called_b(u64 a) { return 3 + a; }

DEFINE_STATIC_CALL(tt_call, tt_called_a);

/* The result does not depend on the key either, but on every instruction here. */
TT_TARGET u64 tt_patched(u64 a)
{
	u64 sum = a ^ 0x55;

	sum += a >> 7;
	if (static_branch_unlikely(&tt_key))
		sum = (sum + 5) * 9;
	else
		sum = sum * 9 + 45;
	sum ^= a << 3;
	sum = static_call(tt_call)(sum) * 7;
	return sum ^ a;
}

/* The result that it must have, worked out elsewhere. */
static noinline u64 tt_patched_result(u64 a)
{
	return (((((((a ^ 0x55) + (a >> 7)) * 9 + 45) ^ (a << 3)) + 3) * 7)) ^ a;
}

static u64 call_tt_patched(const u64 *v)
{
	return tt_patched(v[0]) - tt_patched_result(v[0]);
}

long tt_toggle(void __user *arg)
{
	static DEFINE_MUTEX(lock);
	static bool other;
	struct tt_toggle t;
	u64 i;

	if (copy_from_user(&t, arg, sizeof(t)))
		return -EFAULT;
	mutex_lock(&lock);
	for (i = 0; i < t.times && !fatal_signal_pending(current); i++) {
		other = !other;
		if (other) {
			static_branch_enable(&tt_key);
			static_call_update(tt_call, tt_called_b);
		} else {
			static_branch_disable(&tt_key);
			static_call_update(tt_call, tt_called_a);
		}
		cond_resched();
	}
	mutex_unlock(&lock);
	return i < t.times ? -EINTR : 0;
}

/* ------------------------------------------------------ computed in steps -- */

/*
 * Loop, branches both ways, a call, loads and stores, pushes and pops: something
 * of all that compiled code has, with a result that any wrong step would spoil.
 */
TT_TARGET u64 tt_steps(u64 seed, u64 rounds)
{
	u64 word[4] = { seed, ~seed, seed * 3, 77 }, sum = 0, i;

	for (i = 0; i < rounds; i++) {
		u64 w = word[i & 3];

		if (w & 1)
			sum += tt_callee(w) ^ (w >> 5);
		else
			sum = (sum << 7 | sum >> 57) - w;
		word[(i + 1) & 3] ^= sum * 0x9e3779b97f4a7c15ULL;
		if (sum > w)
			word[i & 3]--;
		/* Else the compiler knows too much of the array. */
		OPTIMIZER_HIDE_VAR(sum);
	}
	return sum ^ word[0] ^ word[1] ^ word[2] ^ word[3];
}

static u64 call_tt_steps(const u64 *v) { return tt_steps(v[0], v[1]); }

/* ------------------------------------------------------ computed gotos -- */

#define TT_NEXT	goto *label[(ops >>= 2) & 3]

/*
 * An interpreter of operations of 2 bits each, from bit 2 on; 0 ends it. One falls through to the
 * label of the next: only the table tells that something jumps there.
 */
TT_TARGET u64 tt_threaded(u64 ops, u64 x)
{
	static const void *const label[] __annotate_jump_table = {
		&&end, &&add, &&twice, &&flip,
	};

	TT_NEXT;
add:
	asm volatile("addq $3, %0" : "+r" (x) : : "cc");
twice:
	asm volatile("addq %0, %0" : "+r" (x) : : "cc");
flip:
	asm volatile("xorq $0x55, %0" : "+r" (x) : : "cc");
	TT_NEXT;
end:
	return x;
}

static u64 call_tt_threaded(const u64 *v) { return tt_threaded(v[0], v[1]); }

/* With one indirect jump, and room behind it. */
TT_TARGET u64 tt_goto(u64 op, u64 x)
{
	static const void *const label[] __annotate_jump_table = {
		&&end, &&add, &&twice, &&flip,
	};

	goto *label[op & 3];
add:
	asm volatile(".fill 24, 1, 0x90\n\taddq $3, %0" : "+r" (x) : : "cc");
twice:
	asm volatile("addq %0, %0" : "+r" (x) : : "cc");
flip:
	asm volatile("xorq $0x55, %0" : "+r" (x) : : "cc");
end:
	return x;
}

static u64 call_tt_goto(const u64 *v) { return tt_goto(v[0], v[1]); }

/* ------------------------------------------------------- a long one -- */

#define TT_STEP1(k)	do { x = x * 5 + (k); y ^= x >> 3; OPTIMIZER_HIDE_VAR(y); } while (0)
#define TT_STEP2(k)	do { TT_STEP1(k); TT_STEP1((k) + 1); } while (0)
#define TT_STEP4(k)	do { TT_STEP2(k); TT_STEP2((k) + 2); } while (0)
#define TT_STEP8(k)	do { TT_STEP4(k); TT_STEP4((k) + 4); } while (0)
#define TT_STEP16(k)	do { TT_STEP8(k); TT_STEP8((k) + 8); } while (0)
#define TT_STEP32(k)	do { TT_STEP16(k); TT_STEP16((k) + 16); } while (0)
#define TT_STEP64(k)	do { TT_STEP32(k); TT_STEP32((k) + 32); } while (0)
#define TT_STEP128(k)	do { TT_STEP64(k); TT_STEP64((k) + 64); } while (0)
#define TT_STEP256(k)	do { TT_STEP128(k); TT_STEP128((k) + 128); } while (0)

/* Some thousands of instructions in one straight line. */
TT_TARGET u64 tt_long(u64 x)
{
	u64 y = 1;

	TT_STEP256(0);
	TT_STEP256(256);
	TT_STEP256(512);
	TT_STEP256(768);
	return x + y;
}

static u64 call_tt_long(const u64 *v) { return tt_long(v[0]); }

u64 tt_prefixed_callee(u64 a);
u64 tt_prefixed(u64 a);

TT_TARGET u64 tt_prefixed_callee(u64 a) { return a + 5; }

/* A call of 6 bytes, as the compiler makes those of retpolines for r8 to r15. */
TT_TARGET u64 tt_prefixed(u64 a)
{
	u64 ret;

	asm volatile(".byte 0x2e\n\tcall tt_prefixed_callee"
		     : "=a" (ret), "+D" (a), ASM_CALL_CONSTRAINT
		     :: "rcx", "rdx", "rsi", "r8", "r9", "r10", "r11", "memory", "cc");
	return ret * 3;
}

static u64 call_tt_prefixed(const u64 *v) { return tt_prefixed(v[0]); }

/* The other function of this name, which has a part (shapes.c); this one has no ftrace site. */
notrace TT_STATIC_TARGET u64 tt_twin(u64 a) { return a + 3; }

struct tt_target tt_probe_targets[] = {
	TT_ROW(tt_patched, "!u8 u8"),
	TT_ROW(tt_steps, "!u8 u8 u8"),
	TT_ROW(tt_threaded, "!u8 u8 u8"),
	TT_ROW(tt_goto, "!u8 u8 u8"),
	TT_ROW(tt_long, "!u8 u8"),
	TT_ROW(tt_prefixed, "!u8 u8"),
	{}
};
