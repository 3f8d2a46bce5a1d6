# SPDX-License-Identifier: GPL-2.0
# clac is executed where there is none.
/^static void push_flags/,/^}/s/if (g->env->smap)/if (!g->env->smap)/
