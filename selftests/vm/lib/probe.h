/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Shared by the tests of probes: their programs, the optimiser, instructions of functions, and
 * the ioctls of the test module. attachment.h has how one is attached.
 */
#ifndef PROBE_H
#define PROBE_H

#include <linux/types.h>
#include "attachment.h"
#include "probe_progs.h"
#include "../../kmod/probe_abi.h"

/* The programs, loaded; ends the test on failure. */
extern struct probe_progs *probe_skel;
void probe_setup(void);

/*
 * Have the optimiser do all it has to do: probes get the form they will have in the end. The
 * text of those that are gone is as it was.
 */
void probe_flush(void);
/* Switch the optimiser off (false) and on. */
void probe_optimiser(bool on);
#define TRACING	"/sys/kernel/tracing/"
/* Have ftrace's function tracer trace one function; NULL: switch it off, empty the trace. */
void function_tracer(const char *function);

/*
 * Count how often this process calls a function of the kernel, by a kernel kprobe. It has the last
 * one of the programs' counters, so one function at a time.
 */
struct attachment probe_watch_calls(const char *func);
/* The same of what has all CPUs see new text. */
#define PROBE_SYNC	"on_each_cpu_cond_mask"
struct attachment probe_watch_syncs(void);
/* How often it did since it was asked last. */
uint64_t probe_watched(void);

/* As many files as the system allows. */
void probe_many_files(void);

/* The instructions of a function, as EXPLAIN_CODE lists them; @insns is to be freed. */
struct probe_func {
	uint64_t addr, size;
	char name[TRAMP_SYM_LEN], module[TRAMP_MOD_LEN];
	struct tramp_insn_info *insns;
	uint32_t nr;
	uint8_t *code;			/* its original bytes, if they were wanted */
	uint32_t code_len;
	uint32_t reason;		/* if it could not be explained */
};
/* Of the function at @addr, or named @symbol; 0 or a negative errno. */
int probe_explain(struct probe_func *f, uint64_t addr, const char *symbol, bool with_code);
/* Whether that mode is one of a function's entry. */
static inline bool probe_is_entry(uint32_t mode)
{
	return mode == TRAMP_MODE_DIRECT || mode == TRAMP_MODE_FTRACE_OPS;
}
void probe_func_free(struct probe_func *f);
/* The first instruction of @symbol with a fix-up. Only a kernel kprobe can be there. */
uint64_t probe_fixup_in(const char *symbol);
/* The offset of the first instruction behind a function's entry; it runs once a call. */
uint64_t probe_behind_site(const char *symbol);
/* Instructions of a module ("": the kernel proper) that are @wanted, at most @max; how many. */
uint32_t probe_find_insns(const char *module, bool (*wanted)(const struct tramp_insn_info *insn),
			  uint64_t *addrs, uint32_t max);

/* --------------------------------------------------------- the test module -- */

int form_info(int fd, uint32_t index, struct tt_form_info *info);
/* A program of its own with the same instructions; maps are shared. */
int probe_clone(const struct bpf_program *prog);
/* A form by its name ("tt_form_inc_1"); ends the test if there is none. */
struct tt_form_info form_named(int fd, const char *name);
/* Run a form with inputs that follow from @seed; returns what its registers come to, mixed. */
uint64_t form_run(int fd, uint32_t index, uint32_t times, uint64_t seed);
/* The same but for r10 and r11, which something at the entry need not keep. */
uint64_t form_run_entry(int fd, uint32_t index, uint32_t times, uint64_t seed);
/* Asks the kernel's kprobes about addresses; errnos (positive) in @results. */
void judge(int fd, uint32_t what, const uint64_t *addrs, int32_t *results, uint32_t nr);
/* Kernel kprobes that count. */
void kprobes_on(int fd, uint32_t what, const uint64_t *addrs, int32_t *results, uint32_t nr);
/* @regs: 21 words for each, may be NULL. */
void kprobes_off(int fd, uint64_t *hits, uint64_t *missed, uint64_t *regs, uint32_t nr);
/* Whether the kernel's kprobes take the instruction at @addr, and do harm when it is hit. */
bool kprobe_is_wrong(int fd, uint64_t addr);
/* Whether the kernel has made a jump of its kprobe at @addr; wait for it @ns at most. */
bool kprobe_is_jump(uint64_t addr);
bool kprobe_becomes_jump(uint64_t addr, uint64_t ns);
/*
 * Wait until the kernel's optimiser has been at all of its kprobes that are there now: one that
 * comes behind them is a jump in the text. That fails the test if it takes more than 10 s.
 */
void kprobes_settle(void);
/* Kernel memory as it is now; 0 or a negative errno. */
int text_try(int fd, uint64_t addr, void *buf, uint64_t len);
void text_read(int fd, uint64_t addr, void *buf, uint64_t len);
/* Four bytes: ENDBR64, or what the kernel seals it with where nothing branches to indirectly. */
bool text_is_endbr(const uint8_t *code);
void toggle(int fd, uint64_t times);
/* Whether this thread's allocations can be made to fail: 0 or a negative errno. None does now. */
int fault_possible(int fd);
/* Skips the test where they cannot. */
void fault_needed(int fd);
/* Allocations fail from now on, as @f says. */
void fault_begin(int fd, struct tt_fault f);
/* None does. Return: whether any has failed, and @where the first was (may be NULL). */
bool fault_end(int fd, uint64_t *where);

/* Functions of /proc/kallsyms, sorted by address, BPF programs and images left out. */
struct text_sym {
	uint64_t addr;
	char type;
	char *name;
	char *module;	/* empty: the kernel proper */
};
/* Read anew; to be freed, and the names are gone with it. */
struct text_sym *text_symbols(size_t *nr);
/* The name of two functions of the kernel proper; to be freed. */
char *ambiguous_symbol(void);

/* ------------------------------------------------------------------ others -- */

/* A random number generator of our own: the same everywhere, from one seed. */
uint64_t rnd(uint64_t *state);
/* The seed: from the environment (PROBE_SEED), or a new one; printed. */
uint64_t rnd_seed(void);
int env_int(const char *name, int otherwise);
/* How many times longer things take than with a stock kernel (TIME_SCALE). */
int time_scale(void);
/* How much of it a test does: @all, or @few in the short form that make test has (TEST_SHORT). */
int short_form(int all, int few);

#endif /* PROBE_H */
