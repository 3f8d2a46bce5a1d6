# SPDX-License-Identifier: GPL-2.0
#
# make test-coverage-unit: which lines of the pure core and of the library the unit tests execute.
# make test-coverage (debug.mk) asks the same of the module, in a machine.
#
# It runs make once more with a build folder of its own, where everything is compiled for gcov.
# So other goals never get such objects, and `make test-unit` is as fast as ever. The kernels'
# files are the same: those are not compiled.

.PHONY: test-coverage-unit coverage-unit-programs

COVERAGE_UNIT	= $(O)/coverage-unit
# The programs that are linked with what is counted. stress-native is left out. Its threads execute
# images while others are patched, and gcov's counters are not made for threads. It also does what
# it does at random, and a line that was executed by chance is not tested.
COVERAGE_TESTS	= $(UNIT_X86_TESTS) $(LTT_UNIT)
# gcov comes with each compiler, and reads what that one writes: gcov-13 for gcc-13.
GCOV		?= $(subst gcc,gcov,$(notdir $(CC)))

# All of the library, also what no test is linked with.
coverage-unit-programs: $(COVERAGE_TESTS) $(LIBTRAMP_A)
	$(Q)GCOV='$(GCOV)' tools/coverage-unit $(O) $(COVERAGE_TESTS)

# Not optimised: lines that the compiler merges cannot be counted.
test-coverage-unit: $(O)/kernels/$(VMLINUX_H_KERNEL)/vmlinux
	$(Q)mkdir -p $(COVERAGE_UNIT)
	$(Q)ln -sfn ../kernels $(COVERAGE_UNIT)/kernels
	$(Q)$(MAKE) O=$(COVERAGE_UNIT) CC='$(CC) --coverage' CFLAGS='-O0 -g' GCOV='$(GCOV)' \
		WERROR=$(WERROR) coverage-unit-programs
