/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Names for kernel addresses: functions, data, BPF programs and images, and
 * per-CPU variables by their offset. The library's symbol snapshot knows
 * functions that can be attached to; a disassembly and a stack need the rest.
 */
#ifndef TRAMPCTL_KALLSYMS_H
#define TRAMPCTL_KALLSYMS_H

#include <stdint.h>

struct ksyms;

struct ksyms *ksyms_load(void);
void ksyms_free(struct ksyms *ks);
const char *ksyms_find(const struct ksyms *ks, uint64_t addr, uint64_t *off, const char **module);
char *ksyms_text(const struct ksyms *ks, uint64_t addr);
char *ksyms_percpu_text(const struct ksyms *ks, uint64_t off);

#endif /* TRAMPCTL_KALLSYMS_H */
