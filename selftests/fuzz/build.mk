# SPDX-License-Identifier: GPL-2.0
#
# make fuzz: the pure core (kernel/x86/) under libFuzzer, with the address and the
# undefined behaviour sanitizers. RUNS= is how many inputs each target gets.
#
# The core is compiled once more for it, by clang, below $(O)/selftests/fuzz/.

.PHONY: fuzz

RUNS		?= 500000
FUZZ_CC		= clang
FUZZ_CFLAGS	= -std=gnu11 -O2 -g -Wall -Wextra $(WERROR_CFLAGS) -fno-omit-frame-pointer
# Without a look at what is compared: that takes a third of the time, and finds nothing more.
FUZZ_SANITIZE	= -fsanitize=fuzzer-no-link,address,undefined -fno-sanitize-recover=all \
		  -fno-sanitize-coverage=trace-cmp
FUZZ_DIR	= $(O)/selftests/fuzz
FUZZ_TARGETS	= $(patsubst selftests/fuzz/%.c,$(FUZZ_DIR)/%,$(wildcard selftests/fuzz/fuzz_*.c))
# Requests and statements are not what is looked at. An input is worth keeping for what the core
# does with it, and no time goes into watching the rest.
FUZZ_RULES	= $(patsubst %,$(FUZZ_DIR)/rules/selftests/%.o,lib/decode \
		  $(addprefix fuzz/,ends env image path_call path_data paths))
FUZZ_CORE	= $(patsubst %.c,$(FUZZ_DIR)/core/%.o,$(wildcard kernel/x86/*.c))

$(FUZZ_DIR)/core/%.o: %.c
	$(call msg,FUZZ-CC,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(FUZZ_CC) $(FUZZ_CFLAGS) $(FUZZ_SANITIZE) -MMD -MP -c -o $@ $<

$(FUZZ_DIR)/rules/%.o: %.c
	$(call msg,FUZZ-CC,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(FUZZ_CC) $(FUZZ_CFLAGS) -MMD -MP -c -o $@ $<

$(FUZZ_TARGETS): $(FUZZ_DIR)/%: $(FUZZ_DIR)/rules/selftests/fuzz/%.o $(FUZZ_RULES) $(FUZZ_CORE)
	$(call msg,FUZZ-LD,$@)
	$(Q)$(FUZZ_CC) -fsanitize=fuzzer,address,undefined -o $@ $^ -lZydis

fuzz: $(FUZZ_TARGETS)
	$(Q)selftests/fuzz/run $(FUZZ_DIR) $(RUNS) $^
