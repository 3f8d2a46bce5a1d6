# SPDX-License-Identifier: GPL-2.0
#
# The debug kernel, one more kernel by the name of `debug`, and the tests on it. Every test that
# runs in a machine runs with KASAN, lockdep and their like looking on. tools/debug-kernel makes
# it, and tools/debug-kernel.config has its options.
#
# It does not belong to $(KERNELS) and is no part of `make test`: building it takes a quarter of
# an hour. Under emulation it is about ten times as slow as Debian's.

.PHONY: debug-kernel test-debug

# Sources and objects of the kernel, 3 GB: another place outlives `make clean`.
DEBUG_DIR	?= $(O)/debug-kernel
# Every time limit is multiplied by it: of the machine, of tests, inside tests.
DEBUG_TIME_SCALE ?= 10

$(O)/kernels/debug/release: FORCE
	$(Q)tools/debug-kernel $(DEBUG_DIR) $(@D)

$(O)/kernels/debug/vmlinuz $(O)/kernels/debug/vmlinux: $(O)/kernels/debug/release ;

debug-kernel: $(call vm-images,debug) $(call vm-modules,debug)

# Tests that boot machines of their own to test the module in them.
DEBUG_HOST_TESTS = $(filter selftests/vm/%,$(CHOSEN_HOST))
# The last one looks at what all the others have left, whatever T= narrows them to.
DEBUG_GUEST_TESTS = $(CHOSEN_GUEST) selftests/debug/test_checkers

test-debug: $(call vm-images,debug) $(call vm-modules,debug) $(TRAMPCTL) $(O)/guest-files \
		$(DEBUG_GUEST_TESTS) $(DEBUG_HOST_TESTS)
	$(Q)O=$(O) TEST_KERNELS=debug TIME_SCALE=$(DEBUG_TIME_SCALE) VM_MEMORY=3G tools/test \
		$(if $(T),--match '@($(T)|test_checkers)') vm debug : $(DEBUG_GUEST_TESTS) \
		-- host $(DEBUG_HOST_TESTS)
