/* SPDX-License-Identifier: GPL-2.0 */
/*
 * trampoline_test.ko: functions made to be awkward to trace, and a device
 * through which user space has them called.
 *
 * This header is what the module's files share among themselves and with the
 * tests in user space: the checksum that most targets return, and the text
 * protocol of /dev/trampoline_test.
 *
 * The device takes one command per write(); a read() then gives the reply.
 * Every open file has a reply of its own.
 *
 *   list
 *	one line a target: "NAME SPEC", see below.
 *
 *   call NAME [ctx=task|irq|softirq|nmi] [n=COUNT] [VALUE...]
 *	calls the target COUNT times (default 1) with the values, on the CPU the writer runs on.
 *	The context is the writer's own, a hard interrupt, a softirq or an NMI. Reply:
 *	"result=HEX calls=N different=N ran=N". They are the last result, how many calls were
 *	made (fewer if the writer was killed), and how many of them had another result than the
 *	first. The last number says how often the target's own body ran meanwhile (only some
 *	targets count that).
 *
 *   calls NAME
 *	reply "calls=N": all calls of this target since the module was loaded,
 *	counted by the caller, so independent of any tracing.
 *
 *   text NAME BYTES
 *	reply: the target's first bytes as they are in memory now, in hex.
 *
 *   wake
 *	ends every tt_sleep() that is asleep now.
 *
 *   sleepers
 *	reply "sleepers=N": tasks asleep in tt_sleep().
 *
 *   images
 *	reply "images=N": images of trampoline.ko that the kernel has symbols of.
 *
 *   rcu_barrier
 *	waits until all RCU callbacks that wait now have run.
 *
 *   rcu_tasks
 *	waits for a grace period of RCU-tasks.
 *
 *   pages
 *	reply "executable=N both=N aliased=N at=ADDR", see struct tt_pages.
 *
 *   pages both|aliased
 *	the same with a page planted that is to be found; "at=0": another was. For one at a time.
 *
 *   watch
 *	from now on walks them at each step of whoever changes pages (page_watch.c), and not for
 *	longer than this file is open. Reply "walks=N both=N at=ADDR in=ADDR": how many since the
 *	last reply, and the first page that could be written and executed, in which function.
 *	EBUSY: for another file.
 *
 *   watch both
 *	has a step happen with a page planted that is to be found.
 *
 *   hold MODULE coming|live
 *	holds the next load of that module at that moment (loading.c), until this file says
 *	let_go or is closed. EBUSY: something is held already.
 *
 *   held
 *	reply "held=1": it has come so far; "held=0": not yet.
 *
 *   let_go
 *	ends it.
 *
 *   hide [N|NAME...]
 *	each N-th name that this thread asks kallsyms_lookup_name() for from now on has no symbol,
 *	nor has NAME (hidden.c), and not for longer than this file is open. Reply "asked=N
 *	name=NAME": how many names the thread has asked for since the last time, and the last one
 *	hidden, "-": none.
 *	EBUSY: for another file.
 *
 *   ftrace_kill
 *	has ftrace shut down, as it does when something is wrong with the text that it
 *	patches. It does not come back.
 *
 *   ftrace_watch MS
 *	holds ftrace's lock for so many milliseconds, and looks for as many what ftrace calls.
 *	reply "direct=1": the callback of one user alone, not the kernel's function tracer's;
 *	else "direct=0". ENOENT: a symbol of ftrace is not there.
 *
 *   leak COUNT
 *	allocates so many objects in slabs, as many of 8 bytes, as many large ones, areas of
 *	vmalloc() and pages for each CPU, at most 1000. The file keeps them until it is closed.
 *
 *   mistake NAME
 *	makes a mistake that a checker of debug kernels reports (mistakes.c). ENOENT: no such.
 *
 *   overwrite ADDR HEX
 *	writes bytes, at most 16, over the text of an image, as if somebody else had done so. On
 *	no CPU may the image be executed meanwhile.
 *
 *   trap
 *	executes an int3 that is no probe's (traps.c), on this CPU. EIO: it was not noticed.
 *
 * A SPEC describes result and arguments: one word for the result, one for each
 * argument. A word is s or u (signed, unsigned, pointers are u) and the size in
 * bytes: "s4", "u8"; "v" is void. A struct by value is its members in braces,
 * joined by commas: "{u8,s4}"; "packed" among them says that it is not laid out as
 * registers are. A call takes one VALUE per member, in order. A result word in
 * lower case is the checksum of the values, converted to that type; with "!" in
 * front it is something else that the test knows.
 */
#ifndef TRAMPOLINE_TEST_H
#define TRAMPOLINE_TEST_H

#define TT_DEVICE	"/dev/trampoline_test"
/* Values of one call, members of structs counted singly. */
#define TT_MAX_VALUES	24
#define TT_REPLY_MAX	8192
/* The result of tt_sleep(token) once it was woken. */
#define TT_SLEEP_RESULT(token)	((token) * 2 + 1)

/* One step of the checksum; start with 0. The order of the values matters. */
#define TT_MIX(sum, value) ((sum) * 31 + (unsigned long long)(value) + 7)

#ifdef __KERNEL__

#include <linux/atomic.h>
#include <linux/compiler.h>
#include <linux/types.h>

/*
 * noipa: the compiler may neither inline nor clone the target, nor learn
 * anything from its body; so it is called as its prototype says. clang has no
 * such attribute. It knows nothing of a weak function, as another may take its place;
 * static ones cannot be weak, and it learns little of those that it does not optimise.
 */
#ifdef __clang__
#define TT_TARGET __attribute__((__noinline__, __used__, __weak__))
#define TT_STATIC_TARGET static __attribute__((__noinline__, __used__, __optnone__))
#else
#define TT_TARGET __attribute__((__noipa__, __used__))
#define TT_STATIC_TARGET static TT_TARGET
#endif

/**
 * struct tt_target - one row of a table of targets
 * @name: the function's name
 * @spec: its prototype, see above
 * @call: calls it with values from the array
 * @addr: its address
 * @calls: calls made so far
 * @may_sleep: not to be called in interrupts
 */
struct tt_target {
	const char *name;
	const char *spec;
	u64 (*call)(const u64 *v);
	void *addr;
	atomic64_t calls;
	bool may_sleep;
};

/*
 * Defines the caller of a target. @expr is the call, with the values in v[];
 * its value is converted to u64 by C's rules, which extends a signed result.
 */
#define TT_CALLER(fn, expr) \
	static noinline u64 call_##fn(const u64 *v) { return (u64)(expr); }
#define TT_CALLER_VOID(fn, expr) \
	static noinline u64 call_##fn(const u64 *v) { expr; return READ_ONCE(tt_void_sum); }
#define TT_ROW(fn, spec_) { .name = #fn, .spec = spec_, .call = call_##fn, .addr = fn }
#define TT_ROW_SLEEPS(fn, spec_) \
	{ .name = #fn, .spec = spec_, .call = call_##fn, .addr = fn, .may_sleep = true }

/* Left behind by void targets: the checksum of their arguments. */
extern u64 tt_void_sum;
/* Bodies that count themselves do it here. */
extern atomic64_t tt_ran;

/* The tables, each ended by a row without a name. */
extern struct tt_target tt_scalar_targets[];
extern struct tt_target tt_struct_targets[];
extern struct tt_target tt_member_targets[];
extern struct tt_target tt_shape_targets[];
extern struct tt_target tt_context_targets[];
extern struct tt_target tt_probe_targets[];
extern struct tt_target tt_many_targets[];

/* loading.c: tt_hold() is 0 or a negative errno */
int tt_hold(const char *module, const char *when);
bool tt_held(void);
void tt_let_go(void);
int tt_loading_init(void);
void tt_loading_exit(void);

/**
 * struct tt_hidden - names without a symbol (hidden.c), since the last time
 * @asked: so many names
 * @name: the last one that was hidden
 */
struct tt_hidden {
	unsigned int asked;
	char name[64];
};

/* A number is below that. */
#define TT_HIDDEN_MAX	256
/*
 * Hide the names with the numbers in the bitmap @which, and those @named, a space before and behind
 * each, for the file with this flag. EBUSY: for another one already. May sleep.
 */
int tt_hide(bool *on, const unsigned long *which, const char *named, struct tt_hidden *was);
void tt_hide_end(bool *on);
void tt_hide_exit(void);

/* contexts.c */
u64 tt_run_in_irq(struct tt_target *t, const u64 *v, u64 n, u64 *different);
u64 tt_run_in_softirq(struct tt_target *t, const u64 *v, u64 n, u64 *different);
u64 tt_run_in_nmi(struct tt_target *t, const u64 *v, u64 n, u64 *different);
void tt_wake_all(void);
int tt_sleepers(void);

/* traps.c: an int3 that is no probe's. Return: 0, or -EIO if nobody noticed it. May sleep. */
int tt_trap(void);

/**
 * struct tt_pages - pages that can be executed
 * @executable: how many of the kernel's text, of modules and images
 * @both: of them, how many can be written, too
 * @aliased: of modules and images, how many can be written in the direct mapping
 * @at: the last of the latter two
 */
struct tt_pages {
	unsigned long executable;
	unsigned long both;
	unsigned long aliased;
	unsigned long at;
};

/* pages.c: may sleep. */
void tt_walk_pages(struct tt_pages *pages);
/*
 * The same while a page of this module is executable. It is writable as well, or is so in the
 * direct mapping (@aliased). @at is 0 if that page was not found. One at a time.
 */
int tt_walk_planted(struct tt_pages *pages, bool aliased);
/* The walk without what waits, in any context but an NMI: @aliased stays 0. */
void tt_count_pages(struct tt_pages *pages);

/**
 * struct tt_page_watch - walks at steps (page_watch.c), since the last time
 * @walks: so many
 * @both: as in struct tt_pages, added up
 * @at: the first such page
 * @in: the function that was called then
 */
struct tt_page_watch {
	unsigned long walks, both, at, in;
};

/* Walk at each step, for the file with this flag. EBUSY: for another one already. */
int tt_page_watch(bool *on);
void tt_page_watch_take(struct tt_page_watch *w);
void tt_page_watch_end(bool *on);
void tt_page_watch_exit(void);
/* A step with a page that is to be found. EOPNOTSUPP: as tt_walk_planted(). */
int tt_step_planted(void);
u64 tt_repeat(struct tt_target *t, const u64 *v, u64 n, u64 *different);
int tt_context_init(void);
/* mistakes.c: may sleep. ENOENT: no such mistake. */
int tt_mistake(const char *name);
void tt_context_exit(void);

#endif /* __KERNEL__ */
#endif /* TRAMPOLINE_TEST_H */
