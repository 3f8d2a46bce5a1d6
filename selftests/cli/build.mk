# SPDX-License-Identifier: GPL-2.0
#
# Tests of the command line: docs.sh on the build machine, the others in the
# guest, with the BPF objects they attach and some helpers.

UNIT_TESTS	+= selftests/cli/docs.sh
selftests/cli/docs.sh: | $(TRAMPCTL)

CLI_OBJECTS	= $(patsubst %.c,$(O)/%.o,$(wildcard selftests/cli/*.bpf.c))
CLI_HELPERS	= $(O)/selftests/cli/plain-libbpf $(addprefix $(O)/selftests/cli/,bad-pointer pending thread-exec)

$(CLI_HELPERS): $(O)/selftests/cli/%: $(O)/selftests/cli/%.o
	$(call msg,LINK,$@)
	$(Q)$(CC) $(ALL_CFLAGS) $(LDFLAGS) -static -o $@ $^ $(LDLIBS_BPF)

# Stacks have its functions.
CALLER		= $(O)/selftests/cli/caller
$(CALLER).o: OWN_CFLAGS += -fno-omit-frame-pointer -mno-red-zone
$(CALLER): $(CALLER).o
	$(call msg,LINK,$@)
	$(Q)$(CC) $(ALL_CFLAGS) $(LDFLAGS) -static -o $@ $^

ALL		+= $(CLI_OBJECTS) $(CLI_HELPERS) $(CALLER)
GUEST_TESTS	+= $(sort $(wildcard selftests/cli/test_*))
# script gives a command a terminal, setpriv some capabilities without the others, unshare a clock
# of its own. JSON is held against a parser that is not ours. It starts hundreds of times: the guest's jq is gojq, the same
# language, which under emulation starts five times as fast.
GUEST_BINS	+= $(CLI_HELPERS) $(CALLER)
GUEST_FILES	+= $(shell command -v gojq):/usr/bin/jq \
		   $(addsuffix :/usr/bin/script,$(shell command -v script)) \
		   $(addsuffix :/usr/bin/setpriv,$(shell command -v setpriv)) \
		   $(addsuffix :/usr/bin/unshare,$(shell command -v unshare)) \
		   selftests/cli/ktap.sh:/opt/trampoline/cli/ktap.sh \
		   selftests/cli/common.sh:/opt/trampoline/cli/common.sh \
		   selftests/cli/many.sh:/opt/trampoline/cli/many.sh \
		   selftests/cli/rows.sh:/opt/trampoline/cli/rows.sh \
		   selftests/cli/errors.table:/opt/trampoline/cli/errors.table \
		   selftests/kmod/scalars.c:/opt/trampoline/cli/scalars.c \
		   selftests/kmod/device.c:/opt/trampoline/cli/device.c \
		   selftests/cli/metrics.awk:/opt/trampoline/cli/metrics.awk \
		   docs/examples/node_exporter/trampoline-stats.service:/opt/trampoline/cli/trampoline-stats.service \
		   $(foreach f,$(CLI_OBJECTS),$(f):/opt/trampoline/cli/$(notdir $(f)))

# For the tests of test_cli_agree that run bpftrace. With its libraries it is too large for every run.
GUEST_FILES	+= $(if $(BPFTRACE),$(BPFTRACE):/usr/bin/bpftrace)
