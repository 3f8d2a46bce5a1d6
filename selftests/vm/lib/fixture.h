/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A test begins with fixture_open(), then FIXTURE_LOAD() of the programs it attaches.
 * The fixture checks, when the test returns, that the test has left nothing:
 *
 *   - our module has no link, no target, no image and no executable memory; what is to be
 *     freed after a grace period has 30 s for it;
 *   - /proc/kallsyms names no image;
 *   - the text of the test module is what it was.
 *
 * So a test detaches what it has attached, and need not check that itself. Our module is
 * held until the process ends: tests in which it goes have ownmod.h. The test module is held by
 * the file that fixture_open() gives: a test in which that module goes closes the file.
 */
#ifndef FIXTURE_H
#define FIXTURE_H

#include <errno.h>
#include <string.h>
#include "attachment.h"

/**
 * fixture_open() - begin a test
 * @about_us: NULL, or why the test says nothing about the kernel's own attachments: under
 *	VMTEST_ORACLE=kernel it is skipped with that reason
 *
 * The test module is loaded, our device is open.
 *
 * Return: a file to the test module, for tt_call() and the like.
 */
int fixture_open(const char *about_us);

/* Open and load a skeleton; failing ends the test. FIXTURE_LOAD(record) is a struct record *. */
#define FIXTURE_LOAD(name)							\
	({									\
		struct name *skel_ = name##__open_and_load();			\
		REQUIRE(skel_, #name ".bpf.o: %s", strerror(errno));		\
		skel_;								\
	})

/*
 * The same for an object whose programs are not loaded by themselves: only @program is. Where
 * @victim is not NULL, it is to take the place of @victim's function @func (freplace).
 * NULL and errno if the kernel refuses to load it.
 */
#define FIXTURE_LOAD_ONE(name, program, victim, func)				\
	({									\
		struct name *skel_ = name##__open();				\
		REQUIRE(skel_, #name ".bpf.o: %s", strerror(errno));		\
		int err_ = fixture_load_one(skel_->skeleton, program, victim, func); \
		if (err_) {							\
			name##__destroy(skel_);					\
			skel_ = NULL;						\
			errno = -err_;						\
		}								\
		skel_;								\
	})
int fixture_load_one(struct bpf_object_skeleton *skeleton, const char *program,
		     const struct bpf_program *victim, const char *func);

#endif /* FIXTURE_H */
