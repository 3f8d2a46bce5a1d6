# SPDX-License-Identifier: GPL-2.0
# Nothing is within reach.
/^enum tramp_x86_err tramp_guard_emit/,/^}/s/if (hot->out_of_reach /if (addr || hot->out_of_reach /
