# SPDX-License-Identifier: GPL-2.0
# A short displacement counts as a number above 0.
/^static s32 number_at/,/^}/s/return (s8)insn->bytes\[off\];/return insn->bytes[off];/
