# SPDX-License-Identifier: GPL-2.0
# Indirect jumps are feared where none could land.
/^static bool no_indirect/,/^}/s/ && r->world->indirect(r->ip, r->arg))/)/
