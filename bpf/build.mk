# SPDX-License-Identifier: GPL-2.0
#
# BPF programs that ship: objects for `trampctl attach` (demo/), and examples
# with a user-space half. In the guest an example is a command, and all objects
# lie in /opt/trampoline.

BPF_EX_DIR	:= bpf/examples
BPF_EXAMPLES	:= unlink_snoop
BPF_DEMO_OBJ	:= $(patsubst %.c,$(O)/%.o,$(sort $(wildcard bpf/demo/*.bpf.c)))

ALL		+= $(BPF_DEMO_OBJ)
GUEST_FILES	+= $(foreach f,$(BPF_DEMO_OBJ),$(f):/opt/trampoline/$(notdir $(f)))

# BPF_PROG() makes a function of all of the target's parameters, used or not.
$(O)/bpf/%.bpf.o: BPF_CFLAGS += -Wno-unused-parameter

define bpf_example
ALL		+= $$(O)/$(BPF_EX_DIR)/$(1)/$(1)
GUEST_BINS	+= $$(O)/$(BPF_EX_DIR)/$(1)/$(1)
GUEST_FILES	+= $$(O)/$(BPF_EX_DIR)/$(1)/$(1).bpf.o:/opt/trampoline/$(1).bpf.o

$$(O)/$(BPF_EX_DIR)/$(1)/$(1).o: OWN_CFLAGS += -I$$(O)/$(BPF_EX_DIR)/$(1)
$$(O)/$(BPF_EX_DIR)/$(1)/$(1).o: $$(O)/$(BPF_EX_DIR)/$(1)/$(1).skel.h

$$(O)/$(BPF_EX_DIR)/$(1)/$(1): $$(O)/$(BPF_EX_DIR)/$(1)/$(1).o $$(LIBTRAMP_A)
	$$(call msg,LINK,$$@)
	$$(Q)$$(CC) $$(ALL_CFLAGS) $$(LDFLAGS) -static -o $$@ $$^ $$(LDLIBS_BPF)
endef
$(foreach e,$(BPF_EXAMPLES),$(eval $(call bpf_example,$(e))))

# Examples are installed as sources, to be copied.
install-hooks::
	$(call msg,INSTALL,examples)
	$(Q)for e in $(BPF_EXAMPLES); do \
		$(PUT) 644 $(DOCDIR)/examples/$$e $(BPF_EX_DIR)/$$e/* || exit 1; \
	done
