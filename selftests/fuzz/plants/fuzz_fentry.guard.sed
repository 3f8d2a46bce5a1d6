# SPDX-License-Identifier: GPL-2.0
# Behind a program that was missed a register is taken for what it was.
/^static void release_counter/,/^}/s/tramp_part_bind(hot, next);/tasm_bind(\&hot->a, next);/
