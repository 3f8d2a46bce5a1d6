/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the tests that run in the virtual machine share: running tests by name
 * with KTAP output, having the test module's functions called, attaching a
 * program through our module or through the kernel, and looking at the kernel
 * from outside (symbols, text, memory).
 *
 * Each test runs in a child process of its own. What it leaves open is closed
 * when it ends, and one that crashes fails alone.
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
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <linux/trampoline.h>
#include <trampoline/trampoline.h>

/* ----------------------------------------------------------------- tests -- */

struct vmtest {
	const char *name;
	void (*run)(void);
};

/* The program's main(): --list, or tests by name, or all. */
int vmtest_main(int argc, char **argv, const struct vmtest *tests, size_t nr);
#define VMTEST_MAIN(tests) \
	int main(int argc, char **argv) \
	{ \
		return vmtest_main(argc, argv, tests, sizeof(tests) / sizeof((tests)[0])); \
	}

/* A diagnostic line. */
void vmtest_note(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
/* The test has failed; it goes on. */
void vmtest_fail(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
/* The test ends, as failed if anything failed before, otherwise as skipped. */
void vmtest_skip(const char *fmt, ...) __attribute__((format(printf, 1, 2), noreturn));
/* The test ends as failed. */
void vmtest_die(const char *fmt, ...) __attribute__((format(printf, 1, 2), noreturn));

/* Checks: CHECK goes on and gives the condition back, REQUIRE ends the test. */
#define CHECK(cond, fmt, ...) \
	({ \
		bool ok_ = !!(cond); \
		if (!ok_) \
			vmtest_fail("%s:%d: %s: " fmt, __FILE_NAME__, __LINE__, #cond, \
				    ##__VA_ARGS__); \
		ok_; \
	})
#define REQUIRE(cond, fmt, ...) \
	do { \
		if (!(cond)) \
			vmtest_die("%s:%d: %s: " fmt, __FILE_NAME__, __LINE__, #cond, \
				   ##__VA_ARGS__); \
	} while (0)
/* Two numbers are the same. */
#define CHECK_EQ(a, b, fmt, ...) \
	({ \
		unsigned long long a_ = (unsigned long long)(a), b_ = (unsigned long long)(b); \
		if (a_ != b_) \
			vmtest_fail("%s:%d: %s is %lld (%#llx), %s is %lld (%#llx): " fmt, \
				    __FILE_NAME__, __LINE__, #a, a_, a_, #b, b_, b_, \
				    ##__VA_ARGS__); \
		a_ == b_; \
	})

/* True if the tests are being tried with the kernel's own attachment. */
bool vmtest_oracle(void);

/* ------------------------------------------------------- the test module -- */

/* Have trampoline_test.ko loaded, and give a file to talk to it; ends the test on failure. */
int tt_open(void);
/* finit_module() and delete_module(); 0 or a negative errno. */
int module_load(const char *path);
int module_unload(const char *name);
bool module_loaded(const char *name);
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

/* ---------------------------------------------------------------- attach -- */

enum how {
	OURS,		/* through trampoline.ko */
	KERNEL,		/* through the kernel's own trampoline */
};

struct att {
	enum how how;
	struct tramp_link *link;
	int fd;		/* the link's */
	int err;	/* 0 or a negative errno */
};

/* Attach; ->err says whether it worked. Detach by closing the link. */
struct att att_try(enum how how, int prog_fd, const uint64_t *cookie);
/* As att_try(), but failing ends the test. */
struct att att_do(enum how how, int prog_fd, const uint64_t *cookie);
void att_drop(struct att *a);
/* hits and misses as the module counts them (0 for the kernel's). */
void att_counts(const struct att *a, uint64_t *hits, uint64_t *misses);

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
/* Open for a skeleton: EXPECT_LOADED(skel) ends the test with libbpf's reason. */
void quiet_libbpf(void);

/* --------------------------------------------------------- our module --- */

/* An open /dev/trampoline; ends the test if there is none. */
int tramp_device(void);
struct tramp_info tramp_module(void);
/* Wait until nothing waits to be freed; false after about 30 s. */
bool tramp_settle(void);
/* Settle, and check that no link, target, image is left. */
void check_nothing_left(void);
/* Mode, hits, ... of a link; ends the test on failure. */
struct tramp_query tramp_query_link(uint32_t id);

/* ------------------------------------------------------------ the kernel -- */

/* Address of a kernel symbol, 0 if there is none. */
uint64_t ksym_addr(const char *name);
/* "name+0x12" of an address, for messages and comparisons. */
const char *ksym_name(uint64_t addr, char *buf, size_t len);
/* Forget what was read of kallsyms. */
void ksym_reload(void);
/* Images of ours in /proc/kallsyms, read anew: trampoline_<digits>... */
int ksym_images(void);
/* Copy kernel memory through /proc/kcore; ends the test on failure. */
void kcore_read(uint64_t addr, void *buf, size_t len);
bool kernel_is_rt(void);
/* uname -r as 6 * 1000 + 12. */
int kernel_version(void);
int nr_cpus(void);
void pin_to_cpu(int cpu);
uint64_t now_ns(void);

/* Files. write_file: 0 or a negative errno. read_file: ends the test on failure. */
int write_file(const char *path, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
char *read_file(const char *path);
/* Run a shell command; its stdout (and stderr) in memory to be freed. */
char *run_command(int *status, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* First number after @word in @text; @otherwise if there is none. */
uint64_t number_after(const char *text, const char *word, uint64_t otherwise);

#endif /* VMTEST_H */
