# SPDX-License-Identifier: GPL-2.0
# Only the first byte behind the start of a region is asked for.
/^static bool no_targets/,/^}/s/addr++)/addr += 2)/
