# SPDX-License-Identifier: GPL-2.0
# A jump is written while tasks may be between the instructions that it covers.
/tramp_x86_plan_jump = {/,/^};/{/WAIT,/d};s/\.nr = 7,/.nr = 6,/
