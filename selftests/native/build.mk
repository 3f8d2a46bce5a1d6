# SPDX-License-Identifier: GPL-2.0
#
# stress-native: the module's plans and images under real parallelism, in a process. A minute of
# it and the planted mistakes are part of `make test`; make stress-native runs it longer: for
# MINUTES=, or SECONDS=.

NATIVE		= $(O)/selftests/native/stress-native
NATIVE_OBJS	= $(patsubst %.c,$(O)/%.o,$(wildcard selftests/native/*.c)) $(O)/selftests/native/enter.o \
		  $(patsubst %.c,$(O)/%.o,$(wildcard kernel/x86/*.c)) \
		  $(O)/selftests/unit/machine.o $(O)/selftests/unit/stubs.o $(O)/selftests/lib/ktap.o $(O)/selftests/lib/decode.o

UNIT_TESTS	+= $(NATIVE)

$(NATIVE): $(NATIVE_OBJS)
	$(call msg,LD,$@)
	$(Q)$(CC) $(LDFLAGS) -pthread -fsanitize=undefined -o $@ $^ -lZydis

.PHONY: stress-native

stress-native: $(NATIVE)
	$(Q)$(NATIVE) --seconds $(or $(SECONDS),$$((60 * $(or $(MINUTES),60)))) probes calls
