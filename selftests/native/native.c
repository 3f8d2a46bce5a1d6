// SPDX-License-Identifier: GPL-2.0
/* Shared by the files of stress-native, see native.h. */
#define _GNU_SOURCE
#include "native.h"

#include <asm/prctl.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "../lib/ktap.h"
#include "plant.h"
#include "runner.h"

struct native_options native = { .seconds = 60, .threads = 2 };
u64 native_round_seed;

static atomic_bool failed, said;

static struct {
	const char *what, *step;
	u64 addr;
} doing;

void native_set_cpu(struct native_cpu *cpu)
{
	if (syscall(SYS_arch_prctl, ARCH_SET_GS, cpu))
		native_die("arch_prctl(ARCH_SET_GS): %m");
}

void native_cpu_init(struct native_cpu *cpu)
{
	memset(cpu, 0, sizeof(*cpu));
	cpu->preempt_count = PREEMPT_NONE;
	cpu->current_task = (u64)cpu->task;
	cpu->task[1] = ~0ULL;
}

double native_now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

void native_sleep_us(u32 us)
{
	const struct timespec t = { .tv_nsec = us * 1000L };

	if (us)
		nanosleep(&t, NULL);
	else
		sched_yield();
}

void native_doing(const char *what, const char *step, u64 addr)
{
	doing.what = what;
	doing.step = step;
	doing.addr = addr;
}

bool native_failed(void)
{
	return atomic_load(&failed);
}

static void report(const char *fmt, va_list ap)
{
	char text[512];

	atomic_store(&runners_stop, true);
	if (atomic_exchange(&failed, true))
		return;
	vsnprintf(text, sizeof(text), fmt, ap);
	ktap_fail("%s", text);
	ktap_note("the patcher: %s %s, %#lx; the round's seed: %#lx",
		  doing.what ? doing.what : "nothing yet", doing.step ? doing.step : "",
		  doing.addr, native_round_seed);
	atomic_store(&said, true);
}

void native_fail(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	report(fmt, ap);
	va_end(ap);
}

void native_die(const char *fmt, ...)
{
	va_list ap;
	u32 i;

	va_start(ap, fmt);
	report(fmt, ap);
	va_end(ap);
	/* Another thread may have come first, and must be heard. */
	for (i = 0; i < 1000 && !atomic_load(&said); i++)
		native_sleep_us(1000);
	_exit(1);
}
