# SPDX-License-Identifier: GPL-2.0
#
# Tests of README and docs/: what can be looked up, and every command they show.

DOCS_REASONS	= $(O)/selftests/docs/reasons

UNIT_TESTS	+= selftests/docs/test_pages
HOST_TESTS	+= selftests/docs/test_commands
ALL		+= $(DOCS_REASONS)

$(DOCS_REASONS): $(O)/selftests/docs/reasons.o $(LIBTRAMP_A)
	$(call msg,LINK,$@)
	$(Q)$(CC) $(ALL_CFLAGS) $(LDFLAGS) -o $@ $^ $(LDLIBS_BPF)

# test_pages asks them all.
selftests/docs/test_pages: | $(O)/kernels/6.1/vmlinux $(O)/kernels/6.12/vmlinux $(DOCS_REASONS) $(TRAMPCTL) $(O)/selftests/vm/fuzz/syzkaller
