# SPDX-License-Identifier: GPL-2.0
# The first byte of a jump is written before everybody sees the others.
/tramp_x86_plan_jump = {/,/^};/{/WRITE(INT3, JUMP, SPAN_REST)/{n;d}};s/\.nr = 7,/.nr = 6,/
