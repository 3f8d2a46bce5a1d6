# SPDX-License-Identifier: GPL-2.0
#
# make coverage: how many instructions probes can be jumps at, beside what the kernel's
# kprobes can; make stress: what takes too long for `make test`.
# selftests/stress/probes has the runs.

.PHONY: coverage stress

PROBE_KERNELS	= $(or $(K),6.1 6.12)
# Those in whose surroundings the kernels differ.
HOSTILE_KERNELS	= $(TEST_KERNELS)
STRESS_KERNELS	= $(sort $(PROBE_KERNELS) $(HOSTILE_KERNELS))
PROBE_TESTS	= $(addprefix $(O)/selftests/vm/, \
			$(addprefix probe/test_probe_,judges sweep load hostile context entry) \
			$(addprefix link/test_,extend links) \
			$(addprefix func/test_,multi multi_killed) \
			$(addprefix system/test_,churn modules) stress/test_stress)
PROBE_READY	= $(call vm-images,$(STRESS_KERNELS)) $(call vm-modules,$(STRESS_KERNELS)) \
		  $(TRAMPCTL) $(PROBE_TESTS)

coverage: $(PROBE_READY)
	$(Q)O=$(O) selftests/stress/probes coverage $(PROBE_KERNELS)

stress: $(PROBE_READY)
	$(Q)O=$(O) selftests/stress/probes sweep $(PROBE_KERNELS)
	$(Q)O=$(O) selftests/stress/probes load $(PROBE_KERNELS)
	$(Q)O=$(O) selftests/stress/probes hostile $(HOSTILE_KERNELS)
	$(Q)O=$(O) selftests/stress/probes context $(PROBE_KERNELS)
	$(Q)O=$(O) selftests/stress/probes extend $(PROBE_KERNELS)
	$(Q)O=$(O) selftests/stress/probes many $(HOSTILE_KERNELS)
	$(Q)O=$(O) selftests/stress/probes killed $(PROBE_KERNELS)
	$(Q)O=$(O) selftests/stress/probes churn $(HOSTILE_KERNELS)
	$(Q)O=$(O) selftests/stress/probes entry $(HOSTILE_KERNELS)
	$(Q)O=$(O) selftests/stress/probes links $(HOSTILE_KERNELS)
	$(Q)O=$(O) selftests/stress/probes modules $(HOSTILE_KERNELS)
	$(Q)O=$(O) MINUTES=$(or $(MINUTES),30) selftests/stress/probes everything $(HOSTILE_KERNELS)
