/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What can be said of an image without executing it, by a decoder that is not
 * ours (Zydis).
 */
#ifndef SELFTESTS_UNIT_LINT_H
#define SELFTESTS_UNIT_LINT_H

#include "scene.h"

/*
 * Check the image of a scene: every byte belongs to an instruction of the few
 * kinds that images have, every instruction can be reached, every branch leads
 * to the start of an instruction or to an address of the request, per-CPU and
 * rip-relative operands are the request's, int3 follows the end, and what
 * struct tramp_x86_fentry_out says is so.
 *
 * Return: true if so; otherwise the test has failed.
 */
bool lint_scene(const struct scene *s);

/*
 * The instructions that a call executes in the image if no branch to the cold
 * part is taken, from the image's entry to its return. Calls count as one.
 */
u32 lint_hot_path(const struct scene *s);

/* Print the image's disassembly as diagnostics. */
void lint_print(const struct scene *s);

#endif /* SELFTESTS_UNIT_LINT_H */
