/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The files with debuginfo of the kernel that runs and of its modules: where they are, and
 * whether they are of this very build.
 */
#ifndef TRAMPCTL_DEBUGINFO_H
#define TRAMPCTL_DEBUGINFO_H

#include "lines.h"

/**
 * struct debuginfo_options - files that the user has named
 * @vmlinux: that of the kernel proper; NULL: it is looked for
 * @ko: that of a module; NULL: it is looked for
 */
struct debuginfo_options {
	const char *vmlinux;
	const char *ko;
};

/* Put before every path that is looked at: a test has a machine of its own. */
extern const char *debuginfo_root;

int debuginfo_open(const struct debuginfo_options *o, const char *module, struct lines **lines);
int debuginfo_module_of(const char *ko, char **module);

#endif /* TRAMPCTL_DEBUGINFO_H */
