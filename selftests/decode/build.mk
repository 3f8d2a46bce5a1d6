# SPDX-License-Identifier: GPL-2.0
#
# The decoder over the text of whole kernels: it needs their files, but boots nothing.

TEXT_TEST	= $(O)/selftests/decode/test_text

HOST_TESTS	+= $(TEXT_TEST)

$(TEXT_TEST): $(TEXT_TEST).o $(patsubst %,$(O)/kernel/x86/%.o,insn relocate) \
		$(patsubst %,$(O)/selftests/lib/%.o,decode ktap) \
		| $(O)/kernels/6.1/vmlinux $(O)/kernels/6.12/vmlinux
	$(call msg,LD,$@)
	$(Q)$(CC) $(LDFLAGS) -fsanitize=undefined -o $@ $^ -lZydis
