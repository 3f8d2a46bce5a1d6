# SPDX-License-Identifier: GPL-2.0
#
# make fuzz: the pure core (kernel/x86/) under libFuzzer, with the address and the
# undefined behaviour sanitizers. RUNS= is how many inputs each target gets.
#
# The core is compiled once more for it, by clang, below $(O)/selftests/fuzz/.

.PHONY: fuzz

RUNS		?= 500000
FUZZ_CC		= clang
FUZZ_CFLAGS	= -std=gnu11 -O1 -g -Wall -Wextra $(WERROR_CFLAGS) -fno-omit-frame-pointer \
		  -fsanitize=fuzzer-no-link,address,undefined -fno-sanitize-recover=all
FUZZ_DIR	= $(O)/selftests/fuzz
FUZZ_TARGETS	= $(patsubst selftests/fuzz/%.c,$(FUZZ_DIR)/%,$(wildcard selftests/fuzz/fuzz_*.c))
FUZZ_CORE	= $(patsubst %.c,$(FUZZ_DIR)/core/%.o,$(wildcard kernel/x86/*.c) selftests/lib/decode.c \
		  selftests/fuzz/image.c)

$(FUZZ_DIR)/core/%.o: %.c
	$(call msg,FUZZ-CC,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(FUZZ_CC) $(FUZZ_CFLAGS) -MMD -MP -c -o $@ $<

$(FUZZ_DIR)/fuzz_%.o: selftests/fuzz/fuzz_%.c
	$(call msg,FUZZ-CC,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(FUZZ_CC) $(FUZZ_CFLAGS) -MMD -MP -c -o $@ $<

$(FUZZ_TARGETS): %: %.o $(FUZZ_CORE)
	$(call msg,FUZZ-LD,$@)
	$(Q)$(FUZZ_CC) -fsanitize=fuzzer,address,undefined -o $@ $^ -lZydis

fuzz: $(FUZZ_TARGETS)
	$(Q)selftests/fuzz/run $(FUZZ_DIR) $(RUNS) $^
