# SPDX-License-Identifier: GPL-2.0
#
# make check: tools/check has the checks. CHECKS= narrows them, BASE= is what
# the format check compares with. Without CHECKS= everything in C has to compile first, tests
# included, which a change of what they call would leave behind.

.PHONY: check

check: $(if $(CHECKS),,$(filter $(O)/%,$(ALL) $(UNIT_TESTS) $(GUEST_TESTS)))
	$(Q)O=$(O) BASE=$(or $(BASE),HEAD~1) tools/check $(CHECKS)

# Accept what changed of the interface: see tools/abi.
.PHONY: abi
abi: $(O)/selftests/vm/fuzz/syzkaller
	$(call msg,GEN,docs/abi)
	$(Q)tools/abi update
	$(Q)$< >docs/abi/syzkaller.txt
