/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A kernel as a test has it, beside the module of answers.h. It has files that the library reads
 * by itself, and bpf(2) with loaded programs, links and BTF objects. So tests load no program, and
 * need no right to.
 */
#ifndef SELFTESTS_LIBTRAMPOLINE_KERNEL_H
#define SELFTESTS_LIBTRAMPOLINE_KERNEL_H

#include <bpf/libbpf.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#define KERNEL_MAX_OBJECTS	8

/**
 * struct kernel_object - one of bpf(2)
 * @sort: "prog", "link" or "btf"; NULL: there are no more
 * @id: its id, which grows within a sort
 * @type: of a program
 * @prog_id: of a link, its program
 * @name: of a BTF object
 * @module: BTF of the kernel or a module, not of a program
 * @open_fails: the errno with which it cannot be opened; 0: it can
 * @info_fails: likewise, information on it cannot be had
 */
struct kernel_object {
	const char *sort;
	uint32_t id, prog_id;
	enum bpf_prog_type type;
	const char *name;
	bool module;
	int open_fails, info_fails;
};

/**
 * struct kernel - the kernel
 * @kallsyms: the file that stands for /proc/kallsyms; NULL: there is none
 * @traceable: likewise for ftrace's list, without addresses
 * @btf: likewise for /sys/kernel/btf/vmlinux
 * @objects: those of bpf(2)
 * @list_fails: the errno with which objects cannot be listed
 * @update_fails: likewise, a link gets no other program
 * @no_proc: /proc is not mounted, as far as descriptors are looked up there
 * @prog_fd: descriptor of every program of an object that was opened; -1: it is not loaded
 */
struct kernel {
	const char *kallsyms, *traceable, *btf;
	struct kernel_object objects[KERNEL_MAX_OBJECTS];
	int list_fails, update_fails;
	bool no_proc;
	int prog_fd;
};

extern struct kernel kernel;

/* One with symbols, and nothing else. */
void kernel_begin(const char *kallsyms);

/* A descriptor of an object, the caller's to close. */
int kernel_open(const char *sort, uint32_t id);

/* The file to open for @path; NULL: the kernel has it not, and errno says so. */
const char *kernel_path(const char *path);

/* A descriptor is closed: it is no object any more. */
void kernel_closed(int fd);

#endif /* SELFTESTS_LIBTRAMPOLINE_KERNEL_H */
