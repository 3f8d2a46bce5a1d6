/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Names for kernel addresses, as text: functions, data, BPF programs and images, and
 * per-CPU variables by their offset.
 */
#ifndef TRAMPCTL_KALLSYMS_H
#define TRAMPCTL_KALLSYMS_H

#include <trampoline/trampoline.h>

char *ksyms_text(const struct tramp_names *names, uint64_t addr);
char *ksyms_percpu_text(const struct tramp_names *names, uint64_t off);

#endif /* TRAMPCTL_KALLSYMS_H */
