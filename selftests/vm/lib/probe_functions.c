// SPDX-License-Identifier: GPL-2.0
/*
 * Functions at random, and the whole of the kernel's text: see probe_functions.h.
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "probe_functions.h"

/* TT_IOC_TEXT gives so much at a time. */
#define CHUNK	TT_MAX_TEXT

uint64_t *functions_take(int *nr, int wanted, uint64_t *state)
{
	uint64_t first = ksym_addr("_stext"), end = ksym_addr("_etext"), a;
	uint64_t *addr = calloc(ALL_FUNCTIONS, sizeof(*addr));
	char *text = read_file("/proc/kallsyms"), *line, *next;
	unsigned int all = 0, skip;
	int n = 0;

	REQUIRE(addr, "out of memory");
	for (line = text; *line; line = strchr(line, '\n') + 1)
		all++;
	/* A third of all symbols are functions. */
	skip = all / 3 / wanted + 1;
	for (line = text; *line && n < ALL_FUNCTIONS; line = next) {
		next = strchr(line, '\n') + 1;
		a = strtoull(line, NULL, 16);
		if (a >= first && a < end && strchr("tTwW", line[17]) &&
		    !ksym_is_padding(line + 19) && (!n || a != addr[n - 1]) &&
		    rnd(state) % skip == 0)
			addr[n++] = a;
	}
	free(text);
	*nr = n;
	return addr;
}

int functions_leave_sleepers(uint64_t *addr, int *nr)
{
	uint64_t sched = ksym_addr("__sched_text_start"), end = ksym_addr("__sched_text_end");
	char *stacks, name[TRAMP_SYM_LEN + 2];
	int status, i, all = *nr;

	stacks = run_command(&status, "cat /proc/[0-9]*/task/[0-9]*/stack");
	REQUIRE(sched && end && strstr(stacks, "+0x"), "where do tasks sleep?");
	for (i = *nr = 0; i < all; i++) {
		name[0] = ' ';
		ksym_name(addr[i], name + 1, sizeof(name) - 2);
		strcpy(name + strcspn(name, "+"), "+");
		if ((addr[i] < sched || addr[i] >= end) && !strstr(stacks, name))
			addr[(*nr)++] = addr[i];
	}
	free(stacks);
	return all - *nr;
}

uint64_t behind_entry(int dev, uint64_t func)
{
	static const uint8_t endbr[] = { 0xf3, 0x0f, 0x1e, 0xfa };
	static const uint8_t sealed[] = { 0x66, 0x0f, 0x1f, 0x00 };
	static const uint8_t nop5[] = { 0x0f, 0x1f, 0x44, 0x00, 0x00 };
	uint8_t code[9];

	if (text_try(dev, func, code, sizeof(code)))
		return 0;
	if (!memcmp(code, nop5, sizeof(nop5)))
		return func + 5;
	if (memcmp(code, endbr, sizeof(endbr)) && memcmp(code, sealed, sizeof(sealed)))
		return func;
	return func + (memcmp(code + 4, nop5, sizeof(nop5)) ? 4 : 9);
}

static uint8_t *take(int dev)
{
	uint64_t first = ksym_addr("_stext"), end = ksym_addr("_etext"), at, len;
	uint8_t *text = malloc(end - first);

	REQUIRE(text, "out of memory");
	for (at = first; at < end; at += len) {
		len = end - at < CHUNK ? end - at : CHUNK;
		text_read(dev, at, text + (at - first), len);
	}
	return text;
}

/* Whether ftrace has a call in one of the functions that kernel/probe/kprobe_veto.c hooks. */
static bool kprobes_are_hooked(void)
{
	char *list = read_file(TRACING "enabled_functions");
	bool hooked = strstr(list, "arch_prepare_optimized_kprobe ");

	free(list);
	return hooked;
}

uint8_t *text_take(int dev)
{
	int i;

	/* Links of a task that was killed are detached behind its end, and its int3s with them. */
	for (i = 0; i < 300 && tramp_module().links; i++)
		usleep(100000);
	CHECK(tramp_settle(), "images wait to be freed for 30 s");
	/* Our hooks in kprobes go a second after the last probe. A tracer's may stay. */
	for (i = 0; i < 50 && kprobes_are_hooked(); i++)
		usleep(100000);
	return take(dev);
}

/*
 * Whether the byte at @addr belongs to what the kernel patches: jump labels, static calls and
 * their trampolines, the calls in ftrace's entry code.
 */
static bool kernel_patches(uint64_t addr)
{
	static const char *const calls[] = { "ftrace_call", "ftrace_regs_call", "ftrace_graph_call" };
	struct probe_func f;
	bool patches;
	uint32_t i;

	if (probe_explain(&f, addr, NULL, false))
		return false;
	patches = !strncmp(f.name, "__SCT__", 7);
	for (i = 0; i < sizeof(calls) / sizeof(calls[0]); i++)
		patches |= !strcmp(f.name, calls[i]);
	for (i = 0; i < f.nr; i++)
		if (addr - f.addr - f.insns[i].offset < f.insns[i].len)
			patches |= f.insns[i].reason == TRAMP_REASON_RESERVED;
	probe_func_free(&f);
	return patches;
}

/* How many bytes are not as before; the first few are named if @say. */
static unsigned int changes(int dev, const uint8_t *before, bool say)
{
	uint64_t first = ksym_addr("_stext"), size = ksym_addr("_etext") - first, i;
	uint8_t *now = take(dev);
	unsigned int changed = 0;
	char name[128];

	for (i = 0; i < size; i++) {
		if (now[i] == before[i] || kernel_patches(first + i))
			continue;
		if (changed++ < 10 && say)
			ktap_note("%s was %#x and is %#x",
				  ksym_name(first + i, name, sizeof(name)), before[i], now[i]);
	}
	free(now);
	return changed;
}

void text_check(int dev, const uint8_t *before)
{
	unsigned int changed, i;

	/* Here they may still be there, too. */
	for (i = 0; i < 10 && changes(dev, before, false); i++)
		sleep(1);
	changed = changes(dev, before, true);
	CHECK(!changed, "%u bytes of the kernel's text have changed", changed);
}
