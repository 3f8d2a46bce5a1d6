# SPDX-License-Identifier: GPL-2.0
#
# make stale-code: does QEMU, with a host thread for each CPU, run code that is not in memory any
# more? It fails if so. QEMU= names another one, K= a kernel. docs/design/qemu.md has the answers.

STALE_CODE	= $(O)/selftests/qemu/stale-code
STALE_KERNEL	= $(firstword $(K) 6.12)
STALE_RUN	= /opt/stale-code --delay 100000 --seconds $(or $(SECONDS),30)

ALL		+= $(STALE_CODE)

$(STALE_CODE): $(STALE_CODE).o
	$(call msg,LINK,$@)
	$(Q)$(CC) $(ALL_CFLAGS) $(LDFLAGS) -static -pthread -o $@ $^

.PHONY: stale-code

# Pages without other code first, then pages with some.
stale-code: $(STALE_CODE) $(O)/kernels/$(STALE_KERNEL)/vmlinuz
	$(Q)SLOW_QEMU=$(or $(QEMU),qemu-system-x86_64) QEMU=selftests/qemu/slow O=$(O) \
		tools/vm run --mttcg --kernel $(STALE_KERNEL) --no-module --quiet-guest \
		--add $<:/opt/stale-code -- \
		sh -c '$(STALE_RUN); alone=$$?; $(STALE_RUN) --neighbour && exit $$alone'
