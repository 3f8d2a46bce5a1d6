/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The functions of a program or a shared library, by where they are in its file.
 */
#ifndef TRAMPCTL_ELF_NAMES_H
#define TRAMPCTL_ELF_NAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct elf_names;
struct stat;

int elf_names_open(const char *path, struct stat *st);
struct elf_names *elf_names_load(int fd, size_t room, size_t *to_read, bool *too_many);
size_t elf_names_bytes(const struct elf_names *names);
const char *elf_names_find(const struct elf_names *names, uint64_t pos, uint64_t *offset);
void elf_names_free(struct elf_names *names);

#endif /* TRAMPCTL_ELF_NAMES_H */
