# SPDX-License-Identifier: GPL-2.0
# While statistics are on a program is not timed.
/^static void run_timed/,/^}/{
/stats_enter/d
/tasm_push/d
/tasm_pop/d
/c->prog/d
/stats_exit/d
}
