# SPDX-License-Identifier: GPL-2.0
#
# BPF programs that ship, and examples. In the guest an example is a command,
# and its object file lies in /opt/trampoline for `trampctl attach`.

BPF_EXAMPLES	:= unlink_snoop
BPF_EX_DIR	:= bpf/examples

define bpf_example
ALL		+= $$(O)/$(BPF_EX_DIR)/$(1)/$(1)
GUEST_BINS	+= $$(O)/$(BPF_EX_DIR)/$(1)/$(1)
GUEST_FILES	+= $$(O)/$(BPF_EX_DIR)/$(1)/$(1).bpf.o:/opt/trampoline/$(1).bpf.o

# BPF_PROG() makes a function of all of the target's parameters, used or not.
$$(O)/$(BPF_EX_DIR)/$(1)/%.bpf.o: BPF_CFLAGS += -Wno-unused-parameter

$$(O)/$(BPF_EX_DIR)/$(1)/$(1).o: CFLAGS += -I$$(O)/$(BPF_EX_DIR)/$(1)
$$(O)/$(BPF_EX_DIR)/$(1)/$(1).o: $$(O)/$(BPF_EX_DIR)/$(1)/$(1).skel.h

$$(O)/$(BPF_EX_DIR)/$(1)/$(1): $$(O)/$(BPF_EX_DIR)/$(1)/$(1).o $$(LIBTRAMP_A)
	$$(call msg,LINK,$$@)
	$$(Q)$$(CC) $$(CFLAGS) $$(LDFLAGS) -static -o $$@ $$^ $$(LDLIBS_BPF)
endef
$(foreach e,$(BPF_EXAMPLES),$(eval $(call bpf_example,$(e))))
