# SPDX-License-Identifier: GPL-2.0
#
# The tests that run in the virtual machine: one static program a subject, all
# linked with what they share, and the BPF programs they load.

VM_SUBJECTS	= values
VM_COMMON	= vmtest testmod guest attach
VM_BPF		= $(basename $(basename $(notdir $(wildcard selftests/vm/*.bpf.c))))

VM_TESTS	= $(VM_SUBJECTS:%=$(O)/selftests/vm/test_%)
VM_OBJS		= $(VM_COMMON:%=$(O)/selftests/vm/%.o)

GUEST_TESTS	+= $(VM_TESTS)

$(VM_TESTS:=.o) $(VM_OBJS): CFLAGS += -I$(O) -Iselftests/vm
$(VM_TESTS:=.o): $(VM_BPF:%=$(O)/selftests/vm/%.skel.h)

$(VM_TESTS): $(O)/selftests/vm/test_%: $(O)/selftests/vm/test_%.o $(VM_OBJS) $(LIBTRAMP_A)
	$(call msg,LINK,$@)
	$(Q)$(CC) $(CFLAGS) $(LDFLAGS) -static -pthread -o $@ $^ $(LDLIBS_BPF)
