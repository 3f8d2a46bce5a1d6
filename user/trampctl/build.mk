# SPDX-License-Identifier: GPL-2.0
#
# trampctl. We link statically what Debian has as a static library, so the binary
# depends on no version of libbpf at run time. Zydis comes as a shared library
# only, which makes the whole a dynamic binary.

TRAMPCTL_SRC	:= $(sort $(wildcard user/trampctl/*.c user/trampctl/*/*.c))
TRAMPCTL_SRC	:= $(filter-out %.bpf.c,$(TRAMPCTL_SRC))
TRAMPCTL_OBJ	:= $(TRAMPCTL_SRC:%.c=$(O)/%.o)
TRAMPCTL_LIBS	= -Wl,-Bstatic $(LDLIBS_BPF) -ljson-c -Wl,-Bdynamic -lZydis -lZycore

# Skeletons are generated headers: they must be there before what includes them is compiled.
$(O)/user/trampctl/cmd/trace.o: $(O)/user/trampctl/run/calltrace.skel.h
$(O)/user/trampctl/cmd/probe.o: $(O)/user/trampctl/run/regprobe.skel.h
$(O)/user/trampctl/run/many_run.o: $(O)/user/trampctl/run/many.skel.h
$(patsubst %,$(O)/user/trampctl/cmd/%.o,count hist stack sums trace_many): \
	$(O)/user/trampctl/run/many.skel.h
$(TRAMPCTL_OBJ): CFLAGS += -D_GNU_SOURCE -I$(O) -DTRAMPCTL_VERSION='"$(VERSION)"'

$(TRAMPCTL): $(TRAMPCTL_OBJ) $(LIBTRAMP_A)
	$(call msg,LD,$@)
	$(Q)$(CC) $(CFLAGS) $(LDFLAGS) -o $@ $^ $(TRAMPCTL_LIBS)

ALL += $(TRAMPCTL)
INSTALL_DEPS += $(TRAMPCTL)

# Kept, so that an unchanged program is not compiled again.
.SECONDARY: $(patsubst %,$(O)/user/trampctl/run/%.bpf.o,calltrace regprobe many)

BINDIR	= $(PREFIX)/sbin
MANDIR	= $(PREFIX)/share/man/man8
COMPDIR	= $(PREFIX)/share/bash-completion/completions

install-hooks::
	$(call msg,INSTALL,trampctl)
	$(Q)install -d $(DESTDIR)$(BINDIR) $(DESTDIR)$(MANDIR) $(DESTDIR)$(COMPDIR)
	$(Q)install -m 755 $(TRAMPCTL) $(DESTDIR)$(BINDIR)/trampctl
	$(Q)install -m 644 docs/man/trampctl.8 $(DESTDIR)$(MANDIR)/trampctl.8
	$(Q)install -m 644 tools/completion/trampctl $(DESTDIR)$(COMPDIR)/trampctl

uninstall-hooks::
	$(Q)rm -f $(DESTDIR)$(BINDIR)/trampctl $(DESTDIR)$(MANDIR)/trampctl.8 \
		$(DESTDIR)$(COMPDIR)/trampctl
