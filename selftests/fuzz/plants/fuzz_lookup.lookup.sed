# SPDX-License-Identifier: GPL-2.0
# Of two halves the left one gets the first function of the right one.
s/emit_compare(a, pairs\[right->first\].ret);/emit_compare(a, pairs[right->first - 1].ret);/
