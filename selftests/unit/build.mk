# SPDX-License-Identifier: GPL-2.0
#
# Unit tests of the pure core (kernel/x86/): native programs that execute what
# it emits. The core is compiled with the undefined behaviour sanitizer, and a
# finding ends the test.

UNIT_X86_CORE	= $(patsubst %,$(O)/kernel/x86/%.o,fentry_image fentry_req guard detour_image regs ret lookup insn relocate \
		  safety form plan)
UNIT_X86_LIB	= $(patsubst %,$(O)/selftests/unit/%.o,machine stubs oracle scene scene_setup scene_lint lint hit twice \
		  emission patched ends ends_oracle ends_setup) \
		  $(O)/selftests/lib/ktap.o $(O)/selftests/lib/decode.o
UNIT_X86_TESTS	= $(patsubst selftests/unit/%.c,$(O)/selftests/unit/%,$(wildcard selftests/unit/test_*.c))

UNIT_TESTS	+= $(UNIT_X86_TESTS) selftests/unit/coverage
# It has make compile them anew, for gcov.
selftests/unit/coverage: | $(O)/kernels/$(VMLINUX_H_KERNEL)/vmlinux $(O)/vmlinux.h

# The tests whose images are held against golden.txt, and how (golden.h).
UNIT_GOLDEN_TESTS = $(filter-out %/test_fentry_abi,$(UNIT_X86_TESTS))
UNIT_GOLDEN	= $(O)/selftests/unit/golden.o
UNIT_WRAP	= $(patsubst %,-Wl$(comma)--wrap=tramp_x86_%,emit_fentry emit_detour emit_lookup relocate)

$(UNIT_X86_CORE): OWN_CFLAGS += -fsanitize=undefined -fno-sanitize-recover=undefined

$(UNIT_GOLDEN): selftests/unit/golden.txt
$(UNIT_GOLDEN_TESTS): $(UNIT_GOLDEN)
$(UNIT_GOLDEN_TESTS): UNIT_LDFLAGS = $(UNIT_WRAP)

$(UNIT_X86_TESTS): %: %.o $(UNIT_X86_LIB) $(UNIT_X86_CORE)
	$(call msg,LD,$@)
	$(Q)$(CC) $(LDFLAGS) $(UNIT_LDFLAGS) -fsanitize=undefined -o $@ $^ -lZydis

.PHONY: update-golden

update-golden: $(filter-out %/test_golden,$(UNIT_GOLDEN_TESTS))
	$(Q)selftests/unit/update-golden $(O) $^
