# SPDX-License-Identifier: GPL-2.0
# While statistics are on a program runs within itself.
/^static void ask_counter/,/^}/s/tasm_branch_label(&cold->a, TASM_JE, &first);/tasm_branch_label(\&cold->a, TASM_JMP, \&first);/
