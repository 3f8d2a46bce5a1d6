# SPDX-License-Identifier: GPL-2.0
#
# The tests that run in the virtual machine: one static program a subject, all
# linked with what they share, and the BPF programs they load.

VM_SUBJECTS	= values helpers modify sleepable links shapes coexist observe $(VM_REQUESTS) \
		  modules unload churn failnth
# Bad requests: with what they share.
VM_REQUESTS	= errors errors_progs errors_rights rights rights_ask
# Probes at instructions: with what only they share.
VM_PROBES	= probe_regs probe_order probe_errors probe_batch probe_load probe_coexist \
		  probe_direct probe_recursion probe_context probe_modules probe_extend extend probe_hotplug \
		  probe_hostile probe_sweep probe_judges probe_link_info \
		  probe_notrace probe_gate
VM_SAMPLES	= $(patsubst %,$(O)/selftests/vm/%.o,probe_sample workload)
VM_FUNCTIONS	= $(O)/selftests/vm/probe_functions.o
# What cannot run beside others: booted by a script on this side.
VM_ALONE	= lockdown shutdown thunks kexec
VM_COMMON	= testmod guest attach memory callers
VM_LINK		= -static
VM_BPF		= $(basename $(basename $(notdir $(wildcard selftests/vm/*.bpf.c))))

VM_TESTS	= $(patsubst %,$(O)/selftests/vm/test_%,$(VM_SUBJECTS) $(VM_PROBES))
VM_TESTS_ALONE	= $(VM_ALONE:%=$(O)/selftests/vm/test_%)
VM_OBJS		= $(VM_COMMON:%=$(O)/selftests/vm/%.o) $(O)/selftests/lib/ktap.o

GUEST_TESTS	+= $(VM_TESTS)
HOST_TESTS	+= selftests/vm/alone selftests/vm/its selftests/vm/kexec selftests/vm/preempt

# Their goals have no recipe of their own: the programs they take into the machine.
selftests/vm/alone: $(VM_TESTS_ALONE) $(O)/selftests/vm/test_probe_hostile
selftests/vm/its: $(VM_TESTS_ALONE)
selftests/vm/preempt: $(VM_TESTS)
selftests/vm/kexec: $(O)/selftests/vm/test_kexec

VM_ALL_TESTS	= $(VM_TESTS) $(VM_TESTS_ALONE)
$(VM_ALL_TESTS:=.o) $(VM_OBJS): CFLAGS += -I$(O) -Iselftests/vm
$(VM_ALL_TESTS:=.o): $(VM_BPF:%=$(O)/selftests/vm/%.skel.h)

$(VM_ALL_TESTS): $(O)/selftests/vm/test_%: $(O)/selftests/vm/test_%.o $(VM_OBJS) $(LIBTRAMP_A)
	$(call msg,LINK,$@)
	$(Q)$(CC) $(CFLAGS) $(LDFLAGS) $(VM_LINK) -pthread -o $@ $^ $(LDLIBS_BPF)

$(patsubst %,$(O)/selftests/vm/test_%,$(VM_PROBES) $(VM_ALONE) unload observe rights_ask): $(O)/selftests/vm/probe.o
$(patsubst %,$(O)/selftests/vm/test_%,modules unload): $(O)/selftests/vm/ownmod.o
$(VM_REQUESTS:%=$(O)/selftests/vm/test_%): $(O)/selftests/vm/requests.o
$(O)/selftests/vm/requests.o: $(O)/selftests/vm/errors.skel.h
$(patsubst %,$(O)/selftests/vm/test_%,kexec probe_sweep probe_judges probe_hotplug probe_hostile): $(VM_SAMPLES)
$(patsubst %,$(O)/selftests/vm/test_%,kexec probe_hostile): $(VM_FUNCTIONS)
# Zydis comes as a shared library only.
VM_ZYDIS	= $(patsubst %,$(O)/selftests/vm/test_%,probe_judges probe_gate thunks)
$(VM_ZYDIS): VM_LINK =
$(VM_ZYDIS): LDLIBS_BPF += -lZydis
$(O)/selftests/vm/test_thunks: $(O)/selftests/vm/workload.o
VM_GATE		= $(patsubst %,$(O)/selftests/vm/gate_%.o,graph tables)
$(O)/selftests/vm/test_probe_gate: $(VM_GATE)
$(patsubst %,$(O)/selftests/vm/%.o,probe requests ownmod) $(VM_SAMPLES) $(VM_GATE) $(VM_FUNCTIONS): CFLAGS += -I$(O) -Iselftests/vm
$(O)/selftests/vm/probe.o: $(O)/selftests/vm/probe_progs.skel.h

# Programs have the signature they are called with, whatever they use of it.
$(VM_BPF:%=$(O)/selftests/vm/%.bpf.o): BPF_CFLAGS += -Wno-unused-parameter
