# SPDX-License-Identifier: GPL-2.0
#
# make bench: the kernel's mechanisms and ours, measured side by side;
# make bench-check: have ratios become worse? tools/bench has the steps,
# selftests/bench what is measured.

.PHONY: bench bench-check bench-build

BENCH_KERNELS	= $(or $(K),6.1 6.12)

bench-build: $(call vm-images,$(BENCH_KERNELS)) $(call vm-modules,$(BENCH_KERNELS)) \
		$(BENCH_KERNELS:%=$(O)/modules/%/trampoline_bench.ko) \
		$(BENCH_GUEST) $(BENCH_REPORT) $(BENCH_NATIVE)

bench: bench-build
	$(Q)O=$(O) tools/bench run $(BENCH_KERNELS)

bench-check: bench-build
	$(Q)O=$(O) tools/bench check $(BENCH_KERNELS)
