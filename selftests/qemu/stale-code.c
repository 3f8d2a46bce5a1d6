// SPDX-License-Identifier: GPL-2.0
/*
 * stale-code: does a CPU run code that is not in memory any more?
 *
 * A thread patches instructions in the way a kernel does: an int3 over each, their tails, their
 * first bytes, all CPUs synchronised after each of these steps. Another thread comes to each
 * instruction just when its first byte is written; it has not been there since the int3. After
 * the last step every instruction has to be what is in memory. A processor never fails in that.
 * QEMU does with a host thread for each CPU: docs/design/qemu.md.
 *
 *	stale-code [--seconds N] [--delay TURNS] [--again] [--remap] [--neighbour]
 *
 * The write comes up to TURNS (16384) turns of a loop after the runner has set off. With --again
 * each step is done twice, its sync too. With --remap each step writes through a new mapping.
 * With --neighbour each page has other code, which is run as well.
 *
 * Exit status: 0 nothing stale was run, 1 it was, 2 it cannot be tested here.
 */
#define _GNU_SOURCE
#include <linux/membarrier.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

enum {
	PAGE = 4096,
	SPOTS = 64,			/* each on a page of its own */
	/* A function begins here: ADDS times add $1, %ecx, which is translated with the spot. */
	ENTRY = 256, ADDS = 200, ADD_SIZE = 3,
	SPOT = ENTRY + ADDS * ADD_SIZE,	/* mov $VALUE, %eax; ret */
	NEIGHBOUR = 2048,		/* ret */
	MOV = 0xb8, RET = 0xc3, INT3 = 0xcc,
};

static struct {
	int fd;
	uint8_t *run;			/* the pages as they are executed */
	uint8_t *volatile write;	/* and as they are written */
	bool again, remap, neighbour;
	unsigned int most_delay;
	_Atomic uint64_t turn;		/* counts the runner's turns to come to a spot */
	_Atomic uint64_t gone;		/* the turn that it took */
	_Atomic uint32_t done;		/* the change that is done: the value in all spots */
	_Atomic uint32_t judged;	/* the change after which the runner has been everywhere */
	_Atomic bool stop;
	bool int3_in_memory;
	uint64_t traps, stale_int3, stale_code;
} all;

static void die(const char *what)
{
	perror(what);
	exit(2);
}

static uint8_t *map(int prot)
{
	void *at = mmap(NULL, SPOTS * PAGE, prot, MAP_SHARED | MAP_POPULATE, all.fd, 0);

	if (at == MAP_FAILED)
		die("mmap");
	return at;
}

static void begin_step(void)
{
	if (all.remap) {
		munmap(all.write, SPOTS * PAGE);
		all.write = map(PROT_READ | PROT_WRITE);
	}
}

static void end_step(void)
{
	if (syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED_SYNC_CORE, 0, 0))
		die("membarrier");
}

static volatile uint8_t *spot_to_write(int spot)
{
	return all.write + spot * PAGE + SPOT;
}

static void write_first(int spot, uint8_t byte)
{
	*spot_to_write(spot) = byte;
}

static void write_tail(int spot, uint32_t value)
{
	*(volatile uint32_t *)(spot_to_write(spot) + 1) = value;
}

/*
 * Another turn of a loop that waits for the other thread. With pause QEMU gives the host's CPU
 * away, which it must if both CPUs share a thread, and which costs more than the wait if not.
 */
static void wait_a_bit(void)
{
	static _Thread_local unsigned int turns;

	if (!(++turns % 4096))
		__builtin_ia32_pause();
}

static void delay(unsigned int most)
{
	static unsigned int random = 1;

	random = random * 1103515245 + 12345;
	for (unsigned int i = (random >> 8) % most; i; i--)
		atomic_signal_fence(memory_order_seq_cst);
}

/* Send the runner to a spot, and write there some time after it has set off. */
static void write_under_the_runner(int spot)
{
	uint64_t turn = atomic_load(&all.turn);

	/* The turn tells the spot. */
	do
		turn++;
	while (turn % SPOTS != (uint64_t)spot);
	atomic_store(&all.turn, turn);
	while (atomic_load(&all.gone) != turn)
		wait_a_bit();
	delay(all.most_delay);
	write_first(spot, MOV);
}

static void change(uint32_t value)
{
	int spot, times = 1 + all.again, i;

	for (i = 0; i < times; i++) {
		begin_step();
		for (spot = 0; spot < SPOTS; spot++)
			write_first(spot, INT3);
		end_step();
	}
	for (i = 0; i < times; i++) {
		begin_step();
		for (spot = 0; spot < SPOTS; spot++)
			write_tail(spot, value);
		end_step();
	}
	begin_step();
	for (spot = 0; spot < SPOTS; spot++)
		write_under_the_runner(spot);
	end_step();
	if (all.again) {
		begin_step();
		for (spot = 0; spot < SPOTS; spot++)
			write_first(spot, MOV);
		end_step();
	}
}

/* A trap goes here. It is not on one of the pages, which may have no other code. */
static uint32_t trapped(void)
{
	return UINT32_MAX;
}

static void on_trap(int sig, siginfo_t *info, void *context)
{
	ucontext_t *uc = context;
	const uint8_t *after = (const uint8_t *)(uintptr_t)uc->uc_mcontext.gregs[REG_RIP];

	(void)sig;
	(void)info;
	all.traps++;
	all.int3_in_memory = *(volatile const uint8_t *)(after - 1) == INT3;
	uc->uc_mcontext.gregs[REG_RIP] = (greg_t)(uintptr_t)trapped;
}

static uint32_t call(int spot, int offset)
{
	uint32_t (*code)(void) = (uint32_t (*)(void))(uintptr_t)(all.run + spot * PAGE + offset);

	return code();
}

/* No change is under way. */
static void judge(uint32_t value)
{
	for (int spot = 0; spot < SPOTS; spot++) {
		uint32_t is = call(spot, ENTRY);

		if (is == value)
			continue;
		if (is != UINT32_MAX)
			all.stale_code++;
		else if (!all.int3_in_memory)
			all.stale_int3++;
		else
			printf("# change %u has left an int3 in memory\n", value);
	}
	atomic_store(&all.judged, value);
}

static void stay_on(int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	if (sched_setaffinity(0, sizeof(set), &set))
		die("sched_setaffinity");
}

static void *runner(void *unused)
{
	stay_on(1);
	while (!atomic_load(&all.stop)) {
		uint64_t turn = atomic_load(&all.turn);
		uint32_t done = atomic_load(&all.done);

		if (turn != atomic_load(&all.gone)) {
			if (all.neighbour)
				call((int)(turn % SPOTS), NEIGHBOUR);
			atomic_store(&all.gone, turn);
			call((int)(turn % SPOTS), ENTRY);
		} else if (done != atomic_load(&all.judged)) {
			judge(done);
		} else {
			wait_a_bit();
		}
	}
	return unused;
}

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void prepare(void)
{
	struct sigaction trap = { .sa_sigaction = on_trap, .sa_flags = SA_SIGINFO };
	static const uint8_t add[ADD_SIZE] = { 0x83, 0xc1, 0x01 };
	static const uint8_t code[] = { MOV, 0, 0, 0, 0, RET };

	all.fd = memfd_create("code", 0);
	if (all.fd < 0 || ftruncate(all.fd, SPOTS * PAGE))
		die("memfd_create");
	all.run = map(PROT_READ | PROT_EXEC);
	all.write = map(PROT_READ | PROT_WRITE);
	memset(all.write, RET, SPOTS * PAGE);
	for (int spot = 0; spot < SPOTS; spot++) {
		for (int i = 0; i < ADDS; i++)
			memcpy(all.write + spot * PAGE + ENTRY + i * ADD_SIZE, add, ADD_SIZE);
		memcpy(all.write + spot * PAGE + SPOT, code, sizeof(code));
	}
	if (sigaction(SIGTRAP, &trap, NULL))
		die("sigaction");
	if (syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED_SYNC_CORE, 0, 0))
		die("membarrier");
}

static double arguments(char **arg)
{
	double seconds = 10;

	all.most_delay = 16384;
	while (*++arg) {
		if (!strcmp(*arg, "--again"))
			all.again = true;
		else if (!strcmp(*arg, "--remap"))
			all.remap = true;
		else if (!strcmp(*arg, "--neighbour"))
			all.neighbour = true;
		else if (!strcmp(*arg, "--seconds") && arg[1])
			seconds = atof(*++arg);
		else if (!strcmp(*arg, "--delay") && arg[1])
			all.most_delay = (unsigned int)strtoul(*++arg, NULL, 0) ?: 1;
		else {
			fprintf(stderr, "usage: stale-code [--seconds N] [--delay TURNS] [--again] "
				"[--remap] [--neighbour]\n");
			exit(2);
		}
	}
	return seconds;
}

int main(int argc, char **argv)
{
	double seconds = arguments(argv), begin = now();
	uint32_t changes = 0;
	pthread_t thread;

	(void)argc;
	stay_on(0);
	prepare();
	if (pthread_create(&thread, NULL, runner, NULL))
		die("pthread_create");
	while (now() - begin < seconds) {
		change(++changes);
		atomic_store(&all.done, changes);
		while (atomic_load(&all.judged) != changes)
			wait_a_bit();
	}
	atomic_store(&all.stop, true);
	pthread_join(thread, NULL);
	printf("%u instructions patched in %.0f s, %llu traps; after it, an int3 that was not in memory "
	       "was run at %llu, older code at %llu\n", changes * SPOTS, now() - begin,
	       (unsigned long long)all.traps, (unsigned long long)all.stale_int3,
	       (unsigned long long)all.stale_code);
	return all.stale_int3 || all.stale_code;
}
