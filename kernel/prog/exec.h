/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Executable memory with a name in kallsyms. Every image lies in such memory.
 */
#ifndef TRAMP_EXEC_H
#define TRAMP_EXEC_H

#include <linux/bpf.h>
#include "base/tramp.h"

/**
 * struct tramp_exec - one image's memory and name
 * @ksym: its name and range in kallsyms
 * @code: address of its first instruction, 0 without memory
 * @size: bytes of code
 * @mem_size: bytes at @mem
 * @mem: the allocation, which may start before @code
 */
struct tramp_exec {
	struct bpf_ksym ksym;
	unsigned long code;
	u32 size;
	u32 mem_size;
	void *mem;
};

/**
 * tramp_exec_alloc() - executable memory, filled with int3
 * @exec: all zero
 * @size: bytes of code
 * @why: why not: NO_EXEC_MEMORY
 *
 * Context: may sleep.
 * Return: 0 or a negative errno; tramp_exec_free() either way.
 */
int tramp_exec_alloc(struct tramp_exec *exec, u32 size, struct tramp_refusal *why);

/**
 * tramp_exec_publish() - write the code and name it
 * @exec: allocated
 * @buf: the code, @exec->size bytes, emitted for @exec->code
 * @key: the name is trampoline_<key>_<index>
 * @index: see @key
 * @why: why not: NO_EXEC_MEMORY
 *
 * Context: may sleep.
 * Return: 0 or a negative errno.
 */
int tramp_exec_publish(struct tramp_exec *exec, const u8 *buf, u64 key, u32 index,
		       struct tramp_refusal *why);

/*
 * Take the name back and free the memory. Nobody can be inside. Readers of kallsyms may still
 * look at @exec->ksym: the struct around it goes behind an RCU grace period. May sleep.
 */
void tramp_exec_free(struct tramp_exec *exec);

/* Named images that exist, how many of them wait to be freed, their code; for INFO. */
void tramp_exec_totals(u32 *images, u32 *retiring, u64 *bytes);
void tramp_exec_count_retiring(int change);

#endif /* TRAMP_EXEC_H */
