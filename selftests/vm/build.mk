# SPDX-License-Identifier: GPL-2.0
#
# The tests that run in the virtual machine: each selftests/vm/FOLDER/test_*.c is one static
# program, linked with lib/ and the library. Which BPF programs it loads, its #include lines say.

VM_DIR		= selftests/vm
VM_FOLDERS	= func probe ret link system fuzz stress
# They cannot run beside others. A script on this side boots a machine for each. test_stress wants
# stress-ng there, and its comparison of memory, for make stress, does not hold in seconds.
VM_ALONE	= $(addprefix $(O)/$(VM_DIR)/system/test_,lockdown shutdown thunks kexec no_memory_stays oom) \
		  $(O)/$(VM_DIR)/func/test_gate_bytes $(O)/$(VM_DIR)/stress/test_stress
VM_ALL_TESTS	= $(patsubst %.c,$(O)/%,$(foreach d,$(VM_FOLDERS),$(wildcard $(VM_DIR)/$(d)/test_*.c)))
VM_TESTS	= $(filter-out $(VM_ALONE),$(VM_ALL_TESTS))
VM_SCRIPTS	= $(addprefix $(VM_DIR)/,system/alone system/its system/kexec system/lacking system/preempt \
			stress/once)

GUEST_TESTS	+= $(VM_TESTS)
HOST_TESTS	+= $(VM_SCRIPTS)

# Their goals have no recipe of their own: the programs they take into the machine.
$(VM_DIR)/system/alone: $(VM_ALONE) $(O)/$(VM_DIR)/probe/test_probe_hostile \
		$(O)/$(VM_DIR)/link/test_errors_rights
$(VM_DIR)/system/its: $(O)/$(VM_DIR)/system/test_thunks
$(VM_DIR)/system/preempt: $(addprefix $(O)/$(VM_DIR)/,func/test_values link/test_links system/test_modules)
$(VM_DIR)/system/lacking: $(addprefix $(O)/$(VM_DIR)/,system/test_symbols func/test_share func/test_last_user \
		func/test_together link/test_links probe/test_probe_batch probe/test_probe_coexist)
$(VM_DIR)/stress/once: $(O)/$(VM_DIR)/stress/test_stress
$(VM_DIR)/system/kexec: $(O)/$(VM_DIR)/system/test_kexec

# ------------------------------------------------------------- what they share --

VM_LIB		= $(O)/$(VM_DIR)/lib/libvm.a
VM_LIB_OBJS	= $(patsubst %.c,$(O)/%.o,$(filter-out %.bpf.c,$(wildcard $(VM_DIR)/lib/*.c)))

$(O)/$(VM_DIR)/%.o: OWN_CFLAGS += -I$(O) -I$(VM_DIR)/lib

$(VM_LIB): $(VM_LIB_OBJS)
	$(call msg,AR,$@)
	$(Q)rm -f $@ && $(AR) rcs $@ $^

# An #include of a skeleton is a prerequisite: "a.o:b.skel.h" for each, a rule as it stands.
VM_SKELS	:= $(shell grep -o '^.include "$(VM_DIR)/[^"]*\.skel\.h' $(wildcard $(VM_DIR)/*/*.c) | \
		   sed 's|^\(.*\)\.c:.*"\(.*\)|$(O)/\1.o:$(O)/\2|')
$(foreach rule,$(VM_SKELS),$(eval $(rule)))
.SECONDARY: $(foreach rule,$(VM_SKELS),$(patsubst %.skel.h,%.bpf.o,$(lastword $(subst :, ,$(rule)))))

# ---------------------------------------------------------------- the programs --

VM_LINK		= -static
# Zydis comes as a shared library only.
VM_ZYDIS	= $(addprefix $(O)/$(VM_DIR)/,probe/test_probe_judges probe/test_probe_gate \
		  system/test_thunks system/test_mitigations)
$(VM_ZYDIS): VM_LINK =
$(VM_ZYDIS): LDLIBS_BPF += -lZydis

$(VM_ALL_TESTS): %: %.o $(VM_LIB) $(O)/selftests/lib/ktap.o $(LIBTRAMP_A)
	$(call msg,LINK,$@)
	$(Q)$(CC) $(ALL_CFLAGS) $(LDFLAGS) $(VM_LINK) -pthread -o $@ $(filter %.o,$^) $(VM_LIB) $(LIBTRAMP_A) \
		$(LDLIBS_BPF)

$(addprefix $(O)/$(VM_DIR)/system/test_,failnth failnth_many failnth_callback): \
		$(addprefix $(O)/$(VM_DIR)/system/,failnth.o failnth_actions.o)
$(addprefix $(O)/$(VM_DIR)/system/,test_no_memory test_no_memory_stays): $(O)/$(VM_DIR)/system/no_memory.o
FUZZ_PARTS	= uapi world request answer coverage
$(O)/$(VM_DIR)/fuzz/test_fuzz_ioctl: $(patsubst %,$(O)/$(VM_DIR)/fuzz/%.o,$(FUZZ_PARTS))
$(O)/$(VM_DIR)/stress/test_stress: $(patsubst %,$(O)/$(VM_DIR)/stress/%.o,attach modules staying surroundings pressure verify)
$(addprefix $(O)/$(VM_DIR)/probe/test_probe_,batch many together): $(O)/$(VM_DIR)/probe/places.o
$(O)/$(VM_DIR)/probe/test_probe_gate: $(patsubst %,$(O)/$(VM_DIR)/probe/gate_%.o,graph tables)

# The same interface as syzkaller describes one: docs/abi/syzkaller.txt.
ALL		+= $(O)/$(VM_DIR)/fuzz/syzkaller
$(O)/$(VM_DIR)/fuzz/syzkaller: $(O)/$(VM_DIR)/fuzz/syzkaller.o $(O)/$(VM_DIR)/fuzz/uapi.o
	$(call msg,LINK,$@)
	$(Q)$(CC) $(ALL_CFLAGS) $(LDFLAGS) -o $@ $^
