/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Shared by the tests that run in the virtual machine: having the functions of the test module
 * called, and loading a program for many functions. Also asking our module, and looking at the
 * kernel from outside (symbols, text, memory).
 *
 * Each test runs in a child process of its own (selftests/lib/ktap.h): what it
 * leaves open is closed when it ends.
 *
 * Environment:
 *   VMTEST_ORACLE=kernel  what the tests call "ours" is attached by the kernel
 *	too. Says whether a test itself is right; needs no trampoline.ko.
 */
#ifndef VMTEST_H
#define VMTEST_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <linux/trampoline.h>
#include <trampoline/trampoline.h>
#include "../../lib/ktap.h"

/* True if the tests are being tried with the kernel's own attachment. */
bool vmtest_oracle(void);

/* ------------------------------------------------------- the test module -- */

/* Have trampoline_test.ko loaded, and give a file to talk to it; ends the test on failure. */
int tt_open(void);
/* finit_module() and delete_module(); 0 or a negative errno. */
int module_load(const char *path);
int module_unload(const char *name);
bool module_loaded(const char *name);
/* How many hold a module that is loaded. */
int module_references(const char *name);
#define TT_KO		"/opt/trampoline/trampoline_test.ko"
#define TRAMPOLINE_KO	"/opt/trampoline/trampoline.ko"

struct tt_reply {
	uint64_t result, calls, different, ran;
};

/* One command; the reply as text in @reply (may be NULL). 0 or a negative errno. */
int tt_command(int fd, char *reply, size_t len, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));
/* "call ..." with the numbers of its reply; ends the test if it cannot be called. */
struct tt_reply tt_call(int fd, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* Calls of a target so far. */
uint64_t tt_calls(int fd, const char *name);
/* Call bpf_fentry_test1..8 once, through a loaded fentry or fexit program. */
int run_fentry_tests(int prog_fd);

/* -------------------------------------------------------------- programs -- */

/* A loaded function: where BTF describes it. */
struct func_btf {
	int obj_fd;	/* 0: the kernel proper */
	uint32_t obj_id;
	int id;		/* negative: not described */
};
struct func_btf func_btf(const char *func);

/*
 * Load the same instructions as @prog, which libbpf has loaded, for another
 * function and kind; maps are shared. Ends the test on failure; _try gives a
 * negative errno.
 */
int prog_clone(const struct bpf_program *prog, const char *func, enum bpf_attach_type type);
int prog_clone_try(const struct bpf_program *prog, const char *func, enum bpf_attach_type type);

/* The thunk through which a program of the kernel returns, and so all functions; "": none. */
const char *prog_return_thunk(int prog_fd);

/* --------------------------------------------------------- our module --- */

/* An open /dev/trampoline; ends the test if none. */
int tramp_device(void);
/* Close it: our module may go. The next call of tramp_device() opens it again. */
void tramp_device_close(void);
struct tramp_info tramp_module(void);
/* Wait until nothing waits to be freed; false after about 30 s. */
bool tramp_settle(void);
/* Settle, and check that no link, target, image is left. */
void check_nothing_left(void);
/* Mode, hits, ... of a link; ends the test on failure. */
struct tramp_query tramp_query_link(uint32_t id);

/* ------------------------------------------------------------ the kernel -- */

/* Address of a kernel symbol, 0 if none. */
uint64_t ksym_addr(const char *name);
/* "name+0x12" of an address, for messages and comparisons. */
const char *ksym_name(uint64_t addr, char *buf, size_t len);
/* Whether a symbol is of the bytes in front of a function: padding, or kCFI's. */
bool ksym_is_padding(const char *name);
/* Whether a symbol is a label in the middle of a function: clang leaves them in modules. */
bool ksym_is_label(const char *name);
/* Forget what was read of kallsyms and of the modules there are. */
void ksym_reload(void);
/*
 * Whether a line of kallsyms, with its type and module, is about a function that has gone: one
 * that ran at its module's load.
 */
bool ksym_is_gone(char type, const char *module, uint64_t addr);
/* Images of ours in /proc/kallsyms, read anew: trampoline_<digits>... */
int ksym_images(void);
/* The same by the test module, where it is loaded: 0.2 s less. */
int kernel_images(void);
/* Copy kernel memory through /proc/kcore; ends the test on failure. */
void kcore_read(uint64_t addr, void *buf, size_t len);
/* Files this process has open, and a constant: to be compared. */
int open_fds(void);
/* kernel.ftrace_enabled; waits for what still holds it, ends the test if it stays so. */
void ftrace_switch(bool on);
bool kernel_is_rt(void);
/* One of Debian's own builds: tables of what is in a kernel's text are about those. */
bool kernel_is_debian(void);
/* Built by clang: functions of the test module look different, and none has been cloned. */
bool kernel_is_clangs(void);
/* Skip the test, and say what it wants of the kernel. Debian's have it: there it fails. */
#define KERNEL_LACKS(...)							\
	do {									\
		REQUIRE(!kernel_is_debian(), __VA_ARGS__);			\
		ktap_skip(__VA_ARGS__);						\
	} while (0)
/* uname -r as 6 * 1000 + 12. */
int kernel_version(void);
/* A task's stack as the kernel prints it, to be freed. It leaves out functions of the scheduler. */
char *stack_of(pid_t tid);
/* Wait until a task sleeps with @func in its stack; ends the test after about 30 s. */
void wait_asleep_in(pid_t tid, const char *func);
/* The same where no signal would wake it, as one that waits for a mutex. */
void wait_stuck_in(pid_t tid, const char *func);
int nr_cpus(void);
void pin_to_cpu(int cpu);
/* Whether there is a @cpu that can go. */
bool cpu_can_go(int cpu);
/* @cpu comes or goes; one that is there, or is not, stays so. 0 or a negative errno. */
int cpu_set_online(int cpu, bool on);
/*
 * A function that the idle task calls on @cpu when that goes, behind telling RCU that it is dead.
 * It does if the last task there was a user's. To be freed. Skips the test where @cpu cannot go,
 * and where the function has become part of another one.
 */
char *called_on_dead_cpu(int cpu);

/*
 * A thread on each CPU that does @what over and over, with a file of its own to the test module
 * and the number of the round. Returns how many they are. Pauses are up to
 * @what: a slow virtual machine's CPUs must be left to the test now and then.
 */
int callers_start(void (*what)(int fd, unsigned int round));
void callers_stop(void);

uint64_t now_ns(void);
/*
 * Room to add to the limit of a count, where the kernel does a thing again each @ms: @cost
 * in @ns. A fault that the count is to show takes time as well, and must not excuse itself. So it
 * is at most @most. Limit and @most together are to be below the count that the fault makes.
 */
uint64_t time_allowance(uint64_t ns, uint64_t ms, uint64_t cost, uint64_t most);

/* Files. write_file: 0 or a negative errno. The others end the test on failure. */
int write_file(const char *path, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
char *read_file(const char *path);
size_t file_lines(const char *path);
/* Run a shell command; its stdout (and stderr) in memory to be freed. */
char *run_command(int *status, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* First number after @word in @text; @otherwise if none. */
uint64_t number_after(const char *text, const char *word, uint64_t otherwise);

#endif /* VMTEST_H */
