/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Lines of source on the command line, and those of instructions.
 */
#ifndef TRAMPCTL_SOURCES_H
#define TRAMPCTL_SOURCES_H

#include <json-c/json.h>
#include <stdbool.h>

#include "debuginfo.h"

/* Options of the commands that know source lines. */
#define SOURCE_OPTS								\
	{ "vmlinux", 0, "FILE", "debuginfo of the kernel proper" },		\
	{ "ko", 0, "FILE", "debuginfo of a module" }
enum { SOURCE_OPT_VMLINUX, SOURCE_OPT_KO, NR_SOURCE_OPTS };

int source_option(struct debuginfo_options *o, int opt, const char *arg);
bool is_source_line(const char *arg);
int source_find(const struct debuginfo_options *o, const char *spec, struct line_found *found);

int source_lines(const struct debuginfo_options *o, const char *module, struct lines **lines);
void source_close(void);

char *source_text(const struct line_of_code *l);
json_object *source_to_json(const struct line_frames *f);

#endif /* TRAMPCTL_SOURCES_H */
