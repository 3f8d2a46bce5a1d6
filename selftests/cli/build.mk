# SPDX-License-Identifier: GPL-2.0
#
# Tests of the command line: docs.sh on the build machine, the others in the
# guest, with the BPF objects they attach.

UNIT_TESTS	+= selftests/cli/docs.sh

CLI_OBJECTS	= $(patsubst %.c,$(O)/%.o,$(wildcard selftests/cli/*.bpf.c))

GUEST_TESTS	+= $(wildcard selftests/cli/test_*)
GUEST_FILES	+= selftests/cli/ktap.sh:/opt/trampoline/cli/ktap.sh \
		   selftests/cli/common.sh:/opt/trampoline/cli/common.sh \
		   $(foreach f,$(CLI_OBJECTS),$(f):/opt/trampoline/cli/$(notdir $(f)))
# JSON is held against a parser that is not ours.
GUEST_BINS	+= $(shell command -v jq)

ALL += $(CLI_OBJECTS)

PLAIN_LIBBPF	= $(O)/selftests/cli/plain-libbpf
GUEST_BINS	+= $(PLAIN_LIBBPF)

$(PLAIN_LIBBPF): $(O)/selftests/cli/plain-libbpf.o
	$(call msg,LINK,$@)
	$(Q)$(CC) $(CFLAGS) $(LDFLAGS) -static -o $@ $^ $(LDLIBS_BPF)
