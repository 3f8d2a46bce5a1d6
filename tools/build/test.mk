# SPDX-License-Identifier: GPL-2.0
#
# Goals that run something: the tests tier by tier, and a guest's shell. `make test` and `make
# demo` (in the Makefile) use variables from here. tools/test adds up the results; K= and T=
# narrow what is run.

.PHONY: test-all test-unit test-host test-vm test-matrix shell

HOST_TESTS	+= selftests/tools/test_vm selftests/tools/test_demo
UNIT_TESTS	+= selftests/tools/test_splats selftests/tools/test_runner selftests/tools/test_abi \
		   selftests/tools/test_check selftests/tools/test_missing_lines selftests/tools/test_kbuild \
		   selftests/tools/test_deps selftests/tools/test_install selftests/tools/test_deb \
		   selftests/tools/test_ktap selftests/tools/test_kmod selftests/tools/test_make selftests/tools/test_kernel

# Scripts: they look at what is there.
selftests/tools/test_kbuild: | $(O)/modules/6.12/trampoline.ko
selftests/tools/test_kbuild selftests/tools/test_deps: | $(O)/kernels/6.1/release $(O)/kernels/6.12/release

selftests/tools/test_install selftests/tools/test_deb: | $(LIBTRAMP_A) $(LIBTRAMP_SO) $(TRAMPCTL)
selftests/tools/test_deb: | $(O)/vmlinux.h

# Files that the guest gets besides modules and trampctl, as tools/vm --add-from reads them.
GUEST_ADD	= $(foreach f,$(GUEST_BINS),$(f):/usr/bin/$(notdir $(f))) $(GUEST_FILES)
GUEST_SOURCES	= $(foreach p,$(GUEST_ADD),$(firstword $(subst :, ,$(p))))

$(O)/guest-files: $(GUEST_SOURCES) FORCE
	$(Q)mkdir -p $(@D)
	$(Q)printf '%s\n' $(GUEST_ADD) >$@.tmp
	$(Q)if cmp -s $@.tmp $@; then rm $@.tmp; else mv $@.tmp $@; fi

# The kernels that tests boot, whatever the module goals were narrowed to.
vm-images	= $(1:%=$(O)/kernels/%/vmlinuz)
vm-modules	= $(foreach k,$(1),$(MODULE_NAMES:%=$(O)/modules/$(k)/%))

# Everything the VM tiers need.
MACHINES_READY	= $(call vm-images,$(TEST_KERNELS)) $(call vm-modules,$(TEST_KERNELS))
GUEST_READY	= $(TRAMPCTL) $(O)/guest-files
VM_READY	= $(MACHINES_READY) $(GUEST_READY) $(GUEST_TESTS)
TEST_READY	= $(ALL) $(UNIT_TESTS) $(HOST_TESTS) $(VM_READY)

RUN_TESTS	= O=$(O) TEST_KERNELS='$(TEST_KERNELS)' tools/test $(if $(T),--match '$(T)')

# With T=, a tier builds what T= can match, and what that needs.
ifdef T
CHOSEN_UNIT	:= $(shell O=$(O) tools/build/select-tests '$(T)' $(UNIT_TESTS))
CHOSEN_HOST	:= $(shell O=$(O) tools/build/select-tests '$(T)' $(HOST_TESTS))
CHOSEN_GUEST	:= $(shell O=$(O) tools/build/select-tests '$(T)' $(GUEST_TESTS))
else
CHOSEN_UNIT	= $(UNIT_TESTS)
CHOSEN_HOST	= $(HOST_TESTS)
CHOSEN_GUEST	= $(GUEST_TESTS)
endif
# Programs of selftests/vm bring all they use.
more-than-vm	= $(filter-out $(O)/selftests/vm/% selftests/vm/% $(TEXT_TEST),$(1))
guest-ready	= $(if $(call more-than-vm,$(1)),$(GUEST_READY))
machines-ready	= $(if $(filter-out $(TEXT_TEST),$(1)),$(MACHINES_READY))

# make test: on this many kernels all tests would take hours. A guest's test has its turn on one of
# the stock kernels, and the next test on the other. Every fifth runs on -rt. The command line's
# take as long as all others, and it is the same one on all kernels: a fifth of them have their
# turn. Tests that boot machines themselves boot one (in_turn, selftests/vm/lib/machines.sh).
#
# TURN= is a number, by default how many commits there are. The next number has other tests. A
# shallow clone always has as many: there it comes from the commit's hash, and without git from the
# day. It is looked up once. make test-all leaves nothing to turns, nor does make test with K= or T=.
default-turn	= case $$(git rev-parse --is-shallow-repository 2>/dev/null) in \
		  false) git rev-list --count HEAD ;; \
		  true) echo $$((0x$$(git rev-parse HEAD | cut -c1-7))) ;; \
		  *) false ;; esac 2>/dev/null || echo $$(($$(date +%s) / 86400))
TURN		?= $(eval TURN := $$(shell $$(default-turn)))$(TURN)
turn-on		= $(1)=$(shell echo $$((($(TURN) + $(2)) % $(3))))/$(3)
stock-in-turn	= $(call turn-on,$(word 1,$(STOCK)),0,$(1)) $(call turn-on,$(word 2,$(STOCK)),$(2),$(1))
STOCK		= $(filter-out %-rt,$(TEST_KERNELS))
RT_TEST_KERNELS	= $(filter %-rt,$(TEST_KERNELS))
RT_IN_TURN	= $(call turn-on,$(RT_TEST_KERNELS),0,5)

# Of the command line's tests, -rt has only the one in which what
# is traced sleeps. (And some tests do less of the same there, which is slower.) Verdicts on
# instructions are held against others' on 6.1 and 6.12. They come from bytes and tables, and no
# lock or context has a part in them. test_probe_sweep goes by them on -rt, too. How long many hold
# up others (test_hold) comes from the text that they have written.
SAME_ON_RT	= $(filter-out %/test_cli_trace,$(filter selftests/cli/%,$(GUEST_TESTS))) \
		  $(filter %/test_probe_judges %/test_hold,$(GUEST_TESTS))
RT_TESTS	= $(filter-out $(SAME_ON_RT),$(GUEST_TESTS))

# The longest first, so that no processor is idle in the end.
LONGEST_HOST	= %/alone
HOST_LONGEST_FIRST = $(filter $(LONGEST_HOST),$(HOST_TESTS)) \
		  $(filter-out $(LONGEST_HOST),$(HOST_TESTS))
vm-section	= $(if $(1),-- vm $(1) : $(2))
CLI_TESTS	= $(filter selftests/cli/%,$(GUEST_TESTS))
NOT_CLI_TESTS	= $(filter-out selftests/cli/%,$(GUEST_TESTS))
ALL_SECTIONS	= unit $(UNIT_TESTS) $(call vm-section,$(STOCK),$(NOT_CLI_TESTS)) \
		  $(call vm-section,$(STOCK),$(CLI_TESTS)) \
		  $(call vm-section,$(RT_TEST_KERNELS),$(RT_TESTS)) -- host $(HOST_LONGEST_FIRST)
STOCK_IN_TURN	= $(call vm-section,$(call stock-in-turn,2,1),$(NOT_CLI_TESTS))
HOST_IN_TURN	= -- host $(HOST_LONGEST_FIRST)
REST_IN_TURN	= $(call vm-section,$(RT_IN_TURN),$(RT_TESTS)) \
		  $(call vm-section,$(call stock-in-turn,10,5),$(CLI_TESTS))
# A slow machine leaves out what comes last (TEST_SECONDS): -rt and the command line in two turns,
# tests on the stock kernels in the next two. Two, for the next turn swaps the stock kernels. No test
# may have its turn in every fourth only: it would always come first, or always last.
TURN_SECTIONS	= unit $(UNIT_TESTS) $(if $(filter 0 1,$(shell echo $$(($(TURN) % 4)))), \
		  $(STOCK_IN_TURN) $(HOST_IN_TURN) $(REST_IN_TURN), \
		  $(REST_IN_TURN) $(HOST_IN_TURN) $(STOCK_IN_TURN))
TEST_SECTIONS	= $(if $(K)$(T),$(ALL_SECTIONS),$(TURN_SECTIONS))

test-all: $(TEST_READY)
	$(Q)$(RUN_TESTS) $(ALL_SECTIONS)

test-unit: $(CHOSEN_UNIT)
	$(Q)$(RUN_TESTS) unit $(CHOSEN_UNIT)

test-host: $(CHOSEN_HOST) $(call machines-ready,$(CHOSEN_HOST)) $(call guest-ready,$(CHOSEN_HOST)) \
		$(if $(call more-than-vm,$(CHOSEN_HOST)),$(ALL))
	$(Q)$(RUN_TESTS) host $(CHOSEN_HOST)

test-vm: $(CHOSEN_GUEST) $(call machines-ready,$(CHOSEN_GUEST)) $(call guest-ready,$(CHOSEN_GUEST))
	$(Q)$(if $(call guest-ready,$(CHOSEN_GUEST)),,GUEST_FILES=/dev/null) \
		$(RUN_TESTS) vm $(TEST_KERNELS) : $(CHOSEN_GUEST)

MATRIX		= selftests/vm/system/matrix
MATRIX_KERNELS	= $(or $(K),6.1 6.12)

test-matrix: $(call vm-images,$(MATRIX_KERNELS)) $(call vm-modules,$(MATRIX_KERNELS)) $(GUEST_READY) \
		$(addprefix $(O)/selftests/vm/,system/test_mitigations func/test_values \
		probe/test_probe_regs ret/test_ret_values link/test_traced) $(BPF_DEMO_OBJ) \
		$(O)/bpf/examples/unlink_snoop/unlink_snoop
	$(Q)O=$(O) TEST_KERNELS='$(MATRIX_KERNELS)' tools/test $(if $(T),--match '$(T)') host $(MATRIX)

shell: $(call vm-images,$(DEMO_KERNEL)) $(call vm-modules,$(DEMO_KERNEL)) $(TRAMPCTL) $(O)/guest-files
	$(Q)O=$(O) tools/vm shell --kernel $(DEMO_KERNEL) --add-from $(O)/guest-files
