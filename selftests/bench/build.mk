# SPDX-License-Identifier: GPL-2.0
#
# The benchmark's programs: the one that runs in the guest, with its module and
# its BPF programs. tools/build/bench.mk has the goals.

BENCH_DIR	= selftests/bench
BENCH_GUEST	= $(O)/$(BENCH_DIR)/trampoline-bench

# A mechanism is one file: what is there is what is measured.
BENCH_MECHS	= $(basename $(notdir $(wildcard $(BENCH_DIR)/mech_*.c)))
BENCH_OBJS	= $(patsubst %,$(O)/$(BENCH_DIR)/%.o,main mech load links count many batch walk $(BENCH_MECHS))
BENCH_SHARED	= $(O)/selftests/vm/lib/libvm.a \
		  $(O)/selftests/lib/ktap.o
# Of one program at many functions.
BENCH_OBJS	+= $(patsubst %,$(O)/$(BENCH_DIR)/%.o,links_multi multi multi_memory)

$(BENCH_OBJS): OWN_CFLAGS += -I$(O)
$(O)/$(BENCH_DIR)/load.o: $(O)/$(BENCH_DIR)/bench.skel.h
$(O)/$(BENCH_DIR)/bench.bpf.o: BPF_CFLAGS += -Wno-unused-parameter

$(BENCH_GUEST): $(BENCH_OBJS) $(BENCH_SHARED) $(LIBTRAMP_A)
	$(call msg,LINK,$@)
	$(Q)$(CC) $(ALL_CFLAGS) $(LDFLAGS) -o $@ $^ -Wl,-Bstatic $(LDLIBS_BPF) -Wl,-Bdynamic -lZydis

BENCH_KMOD_SRC	= $(wildcard $(BENCH_DIR)/kmod/*.[chS] $(BENCH_DIR)/kmod/Kbuild)

$(O)/modules/%/trampoline_bench.ko: $(BENCH_KMOD_SRC) tools/kmod $(O)/kernels/%/release \
		$(O)/kernels/%/vmlinux
	$(call msg,KBUILD,$@)
	$(Q)V=$(V) tools/kmod $* $(BENCH_DIR)/kmod $@

# The report runs here.
BENCH_REPORT	= $(O)/$(BENCH_DIR)/bench-report
BENCH_REPORT_OBJS = $(patsubst %,$(O)/$(BENCH_DIR)/%.o,report report_figures report_table report_json \
		    report_svg)
BENCH_REPORT_OBJS += $(O)/$(BENCH_DIR)/report_multi.o

$(BENCH_REPORT): $(BENCH_REPORT_OBJS)
	$(call msg,LINK,$@)
	$(Q)$(CC) $(ALL_CFLAGS) $(LDFLAGS) -o $@ $^ -lm

# Executes images here. Code in the unit tests' machine calls functions of the program
# by rel32, so it must be where it was linked to.
BENCH_NATIVE	= $(O)/$(BENCH_DIR)/bench-native
BENCH_NATIVE_OBJS = $(patsubst %,$(O)/%.o,$(BENCH_DIR)/native $(BENCH_DIR)/native_outside \
		    selftests/unit/machine selftests/unit/stubs selftests/lib/ktap \
		    kernel/x86/fentry_image kernel/x86/fentry_req kernel/x86/guard \
		    kernel/x86/regs kernel/x86/ret)

$(BENCH_NATIVE): $(BENCH_NATIVE_OBJS)
	$(call msg,LINK,$@)
	$(Q)$(CC) $(LDFLAGS) -no-pie -fsanitize=undefined -o $@ $^

UNIT_TESTS	+= $(BENCH_DIR)/test_report
$(BENCH_DIR)/test_report: $(BENCH_REPORT)
