// SPDX-License-Identifier: GPL-2.0
/*
 * Targets whose shape is awkward rather than their prototype: tail calls, recursion, bodies of
 * one instruction, loops to the function's own head, .cold parts, exception tables, calls that
 * never return. Some plain ones serve for counting (tt_hot*) and as targets of a batch
 * (tt_many*).
 */
#include <linux/kernel.h>
#include <linux/atomic.h>
#include <linux/completion.h>
#include <linux/err.h>
#include <linux/kthread.h>
#include <linux/mutex.h>
#include <linux/uaccess.h>
#include "trampoline_test.h"
#include "targets.h"

atomic64_t tt_ran;

TT_TARGET void tt_empty(void) { }
TT_TARGET u64 tt_short(u64 a) { return a; }

TT_TARGET u64 tt_tail_callee(u64 b, u64 a) { return TT_MIX(TT_MIX(0ULL, a), b); }
/* The compiler makes this a jump: the callee returns to our caller. */
TT_TARGET u64 tt_tail(u64 a, u64 b) { return tt_tail_callee(b, a); }

TT_TARGET u64 tt_factorial(u64 n)
{
	u64 below;

	if (n < 2)
		return 1;
	below = tt_factorial(n - 1);
	/* Else the compiler makes it a loop. */
	OPTIMIZER_HIDE_VAR(below);
	return n * below;
}

/* Mutual recursion, and through tail calls at that. */
TT_TARGET u64 tt_even(u64 n) { return n ? tt_odd(n - 1) : 1; }
TT_TARGET u64 tt_odd(u64 n) { return n ? tt_even(n - 1) : 0; }

/* Jumps back to the first instruction behind the patched NOP5. */
TT_TARGET u64 tt_loop_head(u64 n)
{
	u64 sum;

	asm volatile("1:\n\t"
		     "dec %[n]\n\t"
		     "jnz 1b\n\t"
		     "mov $77, %k[sum]\n\t"
		     : [n] "+D" (n), [sum] "=a" (sum) : : "cc");
	return sum;
}

/*
 * The unlikely branch lies in a part of its own, NAME.cold, which jumps back
 * into the middle. Written out, since whether the compiler splits a function is
 * its own affair.
 */
#define TT_COLD(name, a) ({						\
	u64 sum = (a) * 3;						\
									\
	asm volatile("testb $1, %b[in]\n\t"				\
		     "jnz " #name ".cold\n"				\
		     ".L" #name "_back:\n\t"				\
		     "inc %[sum]\n\t"					\
		     ".pushsection .text.unlikely, \"ax\"\n\t"		\
		     ".type " #name ".cold, @function\n"			\
		     #name ".cold:\n\t"					\
		     "add $0x5555, %[sum]\n\t"				\
		     "jmp .L" #name "_back\n\t"				\
		     ".size " #name ".cold, . - " #name ".cold\n\t"	\
		     ".popsection\n\t"					\
		     : [sum] "+r" (sum) : [in] "q" (a) : "cc");		\
	sum;								\
})

TT_TARGET u64 tt_cold(u64 a) { return TT_COLD(tt_cold, a); }

/* The same without an ftrace site: neither may be probed. */
notrace TT_TARGET u64 tt_cold_hidden(u64 a) { return TT_COLD(tt_cold_hidden, a); }

/* Not what BTF says, see scalars.c. */
TT_STATIC_TARGET struct tt_s16 tt_namesake(u64 a, u64 b, u64 c, u64 d, u64 e, u64 f)
{
	return (struct tt_s16){
		.a = TT_MIX(TT_MIX(TT_MIX(0ULL, a), b), c),
		.b = TT_MIX(TT_MIX(TT_MIX(0ULL, d), e), f),
	};
}

/* One of two functions of that name (probe_targets.c), and the other has no ftrace site. */
TT_STATIC_TARGET u64 tt_twin(u64 a) { return TT_COLD(tt_twin, a); }

/* Data has this name, too (scalars.c). */
TT_STATIC_TARGET u64 tt_shadowed(u64 a) { return a + 4; }

/* A function of the kernel proper has this name too: libbpf, asked by name, takes that one. */
TT_STATIC_TARGET u64 do_symlinkat(u64 a) { return TT_MIX(5, a); }

/* A fault inside the body is fixed up by the exception table. */
TT_TARGET s64 tt_extable(u64 addr)
{
	u64 value;

	pagefault_disable();
	__get_kernel_nofault(&value, (void *)(unsigned long)addr, u64, fault);
	pagefault_enable();
	return value;
fault:
	pagefault_enable();
	return -EFAULT;
}

/* An access that may wait for its page. */
TT_TARGET s64 tt_user(u64 addr)
{
	u64 __user *to = (u64 __user *)(unsigned long)addr;

	if (!user_write_access_begin(to, sizeof(*to)))
		return -EFAULT;
	unsafe_put_user(addr, to, fault);
	user_write_access_end();
	return 0;
fault:
	user_write_access_end();
	return -EFAULT;
}

/*
 * Fix-ups that only work at their own address: where a kernel kprobe executes a copy, they are
 * lost. The function is not called. Of the first one a #PF is all that can happen.
 */
TT_TARGET u64 tt_fixups(u64 a)
{
	u64 value = 0;

	asm volatile("1: movq (%[a]), %[v]\n2:\n"
		     _ASM_EXTABLE_TYPE(1b, 2b, EX_TYPE_DEFAULT) : [v] "+r" (value) : [a] "r" (a));
	asm volatile("1: movl %k[v], %%fs\n2:\n"
		     _ASM_EXTABLE_TYPE(1b, 2b, EX_TYPE_CLEAR_FS) : : [v] "r" (value));
	asm volatile("1: fxrstor64 (%[a])\n2:\n"
		     _ASM_EXTABLE_TYPE(1b, 2b, EX_TYPE_FPU_RESTORE) : : [a] "r" (a));
	asm volatile("1: rdmsr\n2:\n"
		     _ASM_EXTABLE_TYPE(1b, 2b, EX_TYPE_DEFAULT)
		     : "=a" (value) : "c" (value) : "rdx");
#ifdef EX_TYPE_ZEROPAD
	asm volatile("1: movq (%[a]), %[v]\n2:\n"
		     _ASM_EXTABLE_TYPE(1b, 2b, EX_TYPE_ZEROPAD | EX_DATA_REG(0))
		     : [v] "=a" (value) : [a] "r" (a));
#endif
	return value;
}

/* 200 instructions that may fault: places for kernel kprobes. It is not called. */
TT_TARGET u64 tt_extables(u64 a)
{
	u64 value = 0;

	asm volatile(".rept 200\n"
		     "1: movq (%[a]), %[v]\n2:\n"
		     _ASM_EXTABLE_TYPE(1b, 2b, EX_TYPE_DEFAULT)
		     ".endr" : [v] "+r" (value) : [a] "r" (a));
	return value;
}

TT_TARGET u64 tt_indirect(u64 (*fn)(u64 a), u64 a) { return fn(a) + 1; }

TT_TARGET u64 tt_callee(u64 a) { return a + 1; }
TT_TARGET u64 tt_caller(u64 a)
{
	u64 r = tt_callee(a);

	OPTIMIZER_HIDE_VAR(r);
	return r * 2;
}

TT_TARGET notrace u64 tt_notrace(u64 a) { return a + 3; }
TT_TARGET u64 tt_variadic(int n, ...) { return n + 4; }

/* A call that never returns: a thread that ends inside. */
static DEFINE_MUTEX(tt_exit_lock);
static DECLARE_COMPLETION(tt_exited);

TT_TARGET void __noreturn tt_noreturn(u64 a)
{
	atomic64_add(a, &tt_ran);
	kthread_complete_and_exit(&tt_exited, 0);
}

static int tt_exit_thread(void *data)
{
	tt_noreturn((unsigned long)data);
}

TT_TARGET u64 tt_exits(u64 a)
{
	struct task_struct *t;

	mutex_lock(&tt_exit_lock);
	t = kthread_run(tt_exit_thread, (void *)(unsigned long)a, "tt_noreturn");
	if (!IS_ERR(t))
		wait_for_completion(&tt_exited);
	mutex_unlock(&tt_exit_lock);
	return IS_ERR(t) ? PTR_ERR(t) : 0;
}

TT_TARGET u64 tt_hot0(u64 a) { return a + 1; }
TT_TARGET u64 tt_hot1(u64 a) { return a + 2; }
TT_TARGET u64 tt_hot2(u64 a) { return a + 3; }
TT_TARGET u64 tt_hot3(u64 a) { return a + 4; }

/* Long enough inside that calls overlap each other and an attach or detach. */
TT_TARGET u64 tt_slow(u64 a, u64 loops)
{
	while (loops--)
		cpu_relax();
	return a + 5;
}

static u64 tt_written;

/* Plain accesses that race if several CPUs are here: for KCSAN to find (test_kcsan). */
TT_TARGET u64 tt_racy(u64 a)
{
	tt_written += a;
	return a + 6;
}

#define TT_FOR_MANY(X) \
	X(00) X(01) X(02) X(03) X(04) X(05) X(06) X(07) \
	X(08) X(09) X(10) X(11) X(12) X(13) X(14) X(15) \
	X(16) X(17) X(18) X(19) X(20) X(21) X(22) X(23) \
	X(24) X(25) X(26) X(27) X(28) X(29) X(30) X(31)

#define TT_MANY(n) \
	u64 tt_many##n(u64 a); \
	TT_TARGET u64 tt_many##n(u64 a) { return TT_MIX(0ULL, a); } \
	TT_CALLER(tt_many##n, tt_many##n(v[0]))
TT_FOR_MANY(TT_MANY)

TT_CALLER(tt_empty, (tt_empty(), 0))
TT_CALLER(tt_short, tt_short(v[0]))
TT_CALLER(tt_tail, tt_tail(v[0], v[1]))
TT_CALLER(tt_tail_callee, tt_tail_callee(v[0], v[1]))
TT_CALLER(tt_factorial, tt_factorial(v[0]))
TT_CALLER(tt_even, tt_even(v[0]))
TT_CALLER(tt_odd, tt_odd(v[0]))
TT_CALLER(tt_loop_head, tt_loop_head(v[0]))
TT_CALLER(tt_cold, tt_cold(v[0]))
TT_CALLER(tt_cold_hidden, tt_cold_hidden(v[0]))
TT_CALLER(tt_namesake, ({
	struct tt_s16 s = tt_namesake(v[0], ~v[0], v[0] + 2, v[0] * 3, v[0] ^ 4, v[0] << 5);

	TT_MIX(TT_MIX(0ULL, s.a), s.b);
}))
TT_CALLER(tt_twin, tt_twin(v[0]))
TT_CALLER(do_symlinkat, do_symlinkat(v[0]))
TT_CALLER(tt_extable, tt_extable(v[0]))
TT_CALLER(tt_user, tt_user(v[0]))
TT_CALLER(tt_indirect, tt_indirect(tt_hot0, v[0]))
TT_CALLER(tt_caller, tt_caller(v[0]))
TT_CALLER(tt_callee, tt_callee(v[0]))
TT_CALLER(tt_notrace, tt_notrace(v[0]))
TT_CALLER(tt_variadic, tt_variadic(v[0], v[0]))
TT_CALLER(tt_exits, tt_exits(v[0]))
TT_CALLER(tt_hot0, tt_hot0(v[0]))
TT_CALLER(tt_hot1, tt_hot1(v[0]))
TT_CALLER(tt_hot2, tt_hot2(v[0]))
TT_CALLER(tt_hot3, tt_hot3(v[0]))
TT_CALLER(tt_slow, tt_slow(v[0], v[1]))
TT_CALLER(tt_racy, tt_racy(v[0]))

#define TT_MANY_ROW(n) TT_ROW(tt_many##n, "u8 u8"),

struct tt_target tt_shape_targets[] = {
	TT_ROW(tt_empty, "!v"),
	TT_ROW(tt_short, "!u8 u8"),
	TT_ROW(tt_tail, "u8 u8 u8"),
	TT_ROW(tt_tail_callee, "!u8 u8 u8"),
	TT_ROW(tt_factorial, "!u8 u8"),
	TT_ROW(tt_even, "!u8 u8"),
	TT_ROW(tt_odd, "!u8 u8"),
	TT_ROW(tt_loop_head, "!u8 u8"),
	TT_ROW(tt_cold, "!u8 u8"),
	TT_ROW(tt_cold_hidden, "!u8 u8"),
	TT_ROW(tt_namesake, "!u8 u8"),
	TT_ROW(tt_twin, "!u8 u8"),
	TT_ROW(do_symlinkat, "!u8 u8"),
	TT_ROW(tt_extable, "!s8 u8"),
	TT_ROW_SLEEPS(tt_user, "!s8 u8"),
	TT_ROW(tt_indirect, "!u8 u8"),
	TT_ROW(tt_caller, "!u8 u8"),
	TT_ROW(tt_callee, "!u8 u8"),
	TT_ROW(tt_notrace, "!u8 u8"),
	TT_ROW(tt_variadic, "!u8 s4"),
	TT_ROW_SLEEPS(tt_exits, "!u8 u8"),
	TT_ROW(tt_hot0, "!u8 u8"),
	TT_ROW(tt_hot1, "!u8 u8"),
	TT_ROW(tt_hot2, "!u8 u8"),
	TT_ROW(tt_hot3, "!u8 u8"),
	TT_ROW(tt_slow, "!u8 u8 u8"),
	TT_ROW(tt_racy, "!u8 u8"),
	TT_FOR_MANY(TT_MANY_ROW)
	{}
};
