# SPDX-License-Identifier: GPL-2.0
#
# make check: tools/check has the checks. CHECKS= narrows them, BASE= is what
# the format check compares with.

.PHONY: check

check:
	$(Q)O=$(O) BASE=$(or $(BASE),HEAD~1) tools/check $(CHECKS)

# Accept what changed of the interface: see tools/abi.
.PHONY: abi
abi: $(O)/selftests/vm/fuzz/syzkaller
	$(call msg,GEN,docs/abi)
	$(Q)tools/abi update
	$(Q)$< >docs/abi/syzkaller.txt
