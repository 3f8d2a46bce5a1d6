# SPDX-License-Identifier: GPL-2.0
# A short displacement counts for nothing.
/^static s32 number_at/,/^}/s/return (s8)insn->bytes\[off\];/return 0;/
