# SPDX-License-Identifier: GPL-2.0
# A jump covers what others have written behind the first instruction.
/tramp_x86_plan_jump = {/,/^};/s/CHECK(INT3, SPAN)/CHECK(INT3, INSN)/
