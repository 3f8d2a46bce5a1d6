# SPDX-License-Identifier: GPL-2.0
# int n is taken for an instruction like others.
/^static enum tramp_x86_kind classify_one_byte/,/^}/{/case 0xcd:/d}
