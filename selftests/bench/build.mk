# SPDX-License-Identifier: GPL-2.0
#
# The benchmark's programs: the one that runs in the guest, with its module and
# its BPF programs. tools/build/bench.mk has the goals.

BENCH_DIR	= selftests/bench
BENCH_GUEST	= $(O)/$(BENCH_DIR)/trampoline-bench

# A mechanism is one file: what is there is what is measured.
BENCH_MECHS	= $(basename $(notdir $(wildcard $(BENCH_DIR)/mech_*.c)))
BENCH_OBJS	= $(patsubst %,$(O)/$(BENCH_DIR)/%.o,main mech load links count $(BENCH_MECHS))
BENCH_SHARED	= $(O)/selftests/vm/guest.o $(O)/selftests/vm/testmod.o $(O)/selftests/vm/attach.o \
		  $(O)/selftests/lib/ktap.o

$(BENCH_OBJS): CFLAGS += -I$(O)
$(O)/$(BENCH_DIR)/load.o: $(O)/$(BENCH_DIR)/bench.skel.h
$(O)/$(BENCH_DIR)/bench.bpf.o: BPF_CFLAGS += -Wno-unused-parameter

$(BENCH_GUEST): $(BENCH_OBJS) $(BENCH_SHARED) $(LIBTRAMP_A)
	$(call msg,LINK,$@)
	$(Q)$(CC) $(CFLAGS) $(LDFLAGS) -static -o $@ $^ $(LDLIBS_BPF)

BENCH_KMOD_SRC	= $(wildcard $(BENCH_DIR)/kmod/*.[chS] $(BENCH_DIR)/kmod/Kbuild)

$(O)/modules/%/trampoline_bench.ko: $(BENCH_KMOD_SRC) tools/kmod $(O)/kernels/%/release \
		$(O)/kernels/%/vmlinux
	$(call msg,KBUILD,$@)
	$(Q)V=$(V) tools/kmod $* $(BENCH_DIR)/kmod $@
