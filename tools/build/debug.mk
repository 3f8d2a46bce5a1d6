# SPDX-License-Identifier: GPL-2.0
#
# The debug kernels and the tests on them. Every test that runs in a machine runs with KASAN, lockdep
# and their like looking on. tools/debug-kernel makes them, and lists their names.
# tools/debug-kernel.d has their options. K= chooses.
#
# They do not belong to $(KERNELS) and are no part of `make test`: building one takes a quarter of
# an hour. Under emulation it is about ten times as slow as Debian's.

.PHONY: debug-kernel test-debug test-coverage fuzz-ioctl

DEBUG_KERNELS	= $(or $(K),6.1-debug)
COVERAGE_KERNELS = $(or $(K),6.12-gcov 6.1-gcov)
# Sources and objects of the kernels, 3 GB each: another place outlives `make clean`.
DEBUG_DIR	?= $(O)/debug-kernel
# Every time limit is multiplied by it: of the machine, of tests, inside tests.
DEBUG_TIME_SCALE ?= 10

define debug-image
$(O)/kernels/$(1)/release: FORCE
	$$(Q)tools/debug-kernel $(1) $$(DEBUG_DIR) $$(@D)
$(O)/kernels/$(1)/vmlinuz $(O)/kernels/$(1)/vmlinux: $(O)/kernels/$(1)/release ;
endef
$(foreach k,$(shell tools/debug-kernel list),$(eval $(call debug-image,$(k))))

debug-kernel: $(call vm-images,$(DEBUG_KERNELS)) $(call vm-modules,$(DEBUG_KERNELS))

# Tests that boot machines of their own: to test the module in them, and the checkers.
DEBUG_HOST_TESTS = $(filter selftests/vm/%,$(CHOSEN_HOST)) selftests/debug/mistakes
# So many machines share the tests of a kernel. In each test_checkers comes last, whatever T=
# narrows the others to: it looks at what they have left.
MACHINES	?= 6

test-debug: $(call vm-images,$(DEBUG_KERNELS)) $(call vm-modules,$(DEBUG_KERNELS)) $(TRAMPCTL) \
		$(O)/guest-files $(CHOSEN_GUEST) $(DEBUG_HOST_TESTS)
	$(Q)O=$(O) TEST_KERNELS='$(DEBUG_KERNELS)' TIME_SCALE=$(DEBUG_TIME_SCALE) VM_MEMORY=3G \
		tools/test $(if $(T),--match '@($(T)|test_checkers)') \
		$(if $(CHOSEN_GUEST),$$(tools/split-tests $(MACHINES) selftests/debug/test_checkers \
			$(DEBUG_KERNELS) : $(CHOSEN_GUEST)) --) host $(DEBUG_HOST_TESTS)

# Which lines of the module all these tests execute: kernels whose checkers are off, and gcov on.
# Some lines are for one kernel alone. All tests on all kernels leave no line without a reason.
COVERAGE_LIMITS = $(if $(K)$(T),,COVERAGE_MIN=$${COVERAGE_MIN:-95} COVERAGE_ALL=$${COVERAGE_ALL:-1})
COVERAGE_HOST_TESTS = $(filter selftests/vm/%,$(CHOSEN_HOST))

test-coverage: $(call vm-images,$(COVERAGE_KERNELS)) $(call vm-modules,$(COVERAGE_KERNELS)) $(TRAMPCTL) \
		$(O)/guest-files $(CHOSEN_GUEST) $(COVERAGE_HOST_TESTS)
	$(Q)rm -rf $(O)/gcov
	$(Q)O=$(O) TEST_KERNELS='$(COVERAGE_KERNELS)' TIME_SCALE=3 VM_MEMORY=3G \
		GCOV_COUNTS=$(abspath $(O)/gcov) tools/test $(if $(T),--match '$(T)') \
		$(if $(CHOSEN_GUEST),$$(tools/split-tests $(MACHINES) '' $(COVERAGE_KERNELS) : \
			$(CHOSEN_GUEST)) --) host $(COVERAGE_HOST_TESTS); status=$$?; \
	$(COVERAGE_LIMITS) tools/coverage $(addprefix --unit ,$(wildcard $(COVERAGE_UNIT)/core/trace.info)) $(O)/coverage \
		$(foreach k,$(COVERAGE_KERNELS),\
		-- $(O)/modules/$(k)/trampoline $(O)/gcov/$(k).*.tgz) && exit $$status

# Random requests to the device: that many on each kernel.
CALLS		?= 200000

fuzz-ioctl: $(call vm-images,$(DEBUG_KERNELS)) $(call vm-modules,$(DEBUG_KERNELS)) $(TRAMPCTL) \
		$(O)/selftests/vm/fuzz/test_fuzz_ioctl
	$(Q)O=$(O) selftests/fuzz/ioctl $(FUZZ_DIR) $(CALLS) $(DEBUG_KERNELS)
