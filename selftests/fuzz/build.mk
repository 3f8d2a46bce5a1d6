# SPDX-License-Identifier: GPL-2.0
#
# make fuzz: the pure core (kernel/x86/) under libFuzzer, with the address and the
# undefined behaviour sanitizers. RUNS= is how many inputs each target gets. test_fuzz has a
# short form of it.
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
		  $(addprefix fuzz/,ends env image opinion path_call path_count \
		  path_data path_words paths))
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

# Targets with a mistake in one file of the core: plants/TARGET.FILE.sed makes it in
# kernel/x86/FILE.c, and so does plants/TARGET.FILE.NAME.sed.
FUZZ_PLANTS	= $(patsubst selftests/fuzz/plants/%.sed,%,$(wildcard selftests/fuzz/plants/*.sed))
fuzz-planted	= $(FUZZ_DIR)/plants/$(1)/$(firstword $(subst ., ,$(1)))

# (plant, target, file)
define fuzz-plant
$(FUZZ_DIR)/plants/$(1)/$(3).o: selftests/fuzz/plants/$(1).sed $(FUZZ_DIR)/core/kernel/x86/$(3).o
	$$(call msg,FUZZ-CC,$$@)
	$$(Q)mkdir -p $$(@D)
	$$(Q)sed -f $$< kernel/x86/$(3).c >$$(@D)/$(3).c
	$$(Q)! cmp -s kernel/x86/$(3).c $$(@D)/$(3).c || { echo "$$< changes nothing" >&2; exit 1; }
	$$(Q)$(FUZZ_CC) $$(FUZZ_CFLAGS) $(FUZZ_SANITIZE) -Ikernel/x86 -c -o $$@ $$(@D)/$(3).c

$(FUZZ_DIR)/plants/$(1)/$(2): $(FUZZ_DIR)/rules/selftests/fuzz/$(2).o $(FUZZ_RULES) \
		$(FUZZ_DIR)/plants/$(1)/$(3).o \
		$(filter-out $(FUZZ_DIR)/core/kernel/x86/$(3).o,$(FUZZ_CORE))
	$$(call msg,FUZZ-LD,$$@)
	$$(Q)$(FUZZ_CC) -fsanitize=fuzzer,address,undefined -o $$@ $$^ -lZydis
endef
$(foreach p,$(FUZZ_PLANTS),$(eval $(call fuzz-plant,$(p),$(word 1,$(subst ., ,$(p))),$(word 2,$(subst ., ,$(p))))))

UNIT_TESTS	+= selftests/fuzz/test_fuzz

selftests/fuzz/test_fuzz: | $(FUZZ_TARGETS) $(foreach p,$(FUZZ_PLANTS),$(call fuzz-planted,$(p)))

fuzz: $(FUZZ_TARGETS)
	$(Q)selftests/fuzz/run $(FUZZ_DIR) $(RUNS) $^
