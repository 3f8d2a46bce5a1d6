# SPDX-License-Identifier: GPL-2.0
#
# make test-image: our packages on a real Debian 12, and a clone on a bare one. No part of `make
# test`: it makes images of some GB, builds the module in machines, and takes root and the network.

.PHONY: test-image

test-image: $(O)/bpf/examples/unlink_snoop/unlink_snoop.bpf.o $(LIBTRAMP_A) $(LIBTRAMP_SO) $(TRAMPCTL)
	$(Q)TIME_SCALE=8 $(RUN_TESTS) host selftests/image/test_bare selftests/image/test_packages
