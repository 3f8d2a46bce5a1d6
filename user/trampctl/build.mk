# SPDX-License-Identifier: GPL-2.0
#
# trampctl. We link statically what Debian has as a static library, so the binary
# depends on no version of libbpf at run time. Zydis comes as a shared library
# only, which makes the whole a dynamic binary. libdw wants the libelf of its own
# version, and one only, so both are shared. Other distributions have no static
# libraries; STATIC=0 leaves them out where they are there.

TRAMPCTL_SRC	:= $(sort $(wildcard user/trampctl/*.c user/trampctl/*/*.c))
TRAMPCTL_SRC	:= $(filter-out %.bpf.c,$(TRAMPCTL_SRC))
TRAMPCTL_OBJ	:= $(TRAMPCTL_SRC:%.c=$(O)/%.o)
TRAMPCTL_DEBIAN	:= bpf z json-c
STATIC		?= $(if $(filter-out /%,$(foreach l,$(TRAMPCTL_DEBIAN),$(shell $(CC) -print-file-name=lib$(l).a))),0,1)
TRAMPCTL_LIBS	= $(if $(filter 1,$(STATIC)),-Wl$(comma)-Bstatic) $(TRAMPCTL_DEBIAN:%=-l%) \
		  -Wl,-Bdynamic -ldw -lelf -lZydis -lZycore

# Skeletons are generated headers: they must be there before what includes them is compiled.
$(O)/user/trampctl/cmd/trace.o: $(O)/user/trampctl/run/calltrace.skel.h
$(O)/user/trampctl/cmd/probe.o: $(O)/user/trampctl/run/regprobe.skel.h
$(O)/user/trampctl/run/tasks.o: $(O)/user/trampctl/run/children.skel.h
$(O)/user/trampctl/run/many_run.o: $(O)/user/trampctl/run/many.skel.h
$(patsubst %,$(O)/user/trampctl/cmd/%.o,count hist stack sums trace_many): \
	$(O)/user/trampctl/run/many.skel.h
$(TRAMPCTL_OBJ): OWN_CFLAGS += -D_GNU_SOURCE -I$(O) -DTRAMPCTL_VERSION='"$(VERSION)"'
$(TRAMPCTL_OBJ): $(O)/version

$(TRAMPCTL): $(TRAMPCTL_OBJ) $(LIBTRAMP_A)
	$(call msg,LD,$@)
	$(Q)$(CC) $(ALL_CFLAGS) $(LDFLAGS) -o $@ $^ $(TRAMPCTL_LIBS)

ALL += $(TRAMPCTL)
INSTALL_DEPS += $(TRAMPCTL)

# Kept, so that an unchanged program is not compiled again.
.SECONDARY: $(patsubst %,$(O)/user/trampctl/run/%.bpf.o,calltrace regprobe many children)

# Pages for users, and what they link.
PAGES = README.md $(addprefix docs/,NEWS.md benchmarks.md limits.md reasons.md recipes.md rights.md \
	threat-model.md troubleshooting.md user-guide.md)
PAGE_FILES = $(wildcard docs/benchmarks/*.svg docs/examples/node_exporter/*)

install-hooks:: $(TRAMPCTL)
	$(call msg,INSTALL,trampctl)
	$(Q)$(PUT) 755 $(SBINDIR) $(TRAMPCTL)
	$(Q)$(PUT) 644 $(MANDIR)/man8 docs/man/trampctl.8
	$(Q)$(PUT) 644 $(DATADIR)/bash-completion/completions tools/completion/trampctl
	$(Q)$(PUT) 644 $(TRAMPCTL_DOCDIR)/examples/node_exporter \
		$(wildcard docs/examples/node_exporter/*)
	$(Q)$(PUT) 644 $(TRAMPCTL_DOCDIR)/benchmarks $(wildcard docs/benchmarks/*.svg)
	$(Q)set -o pipefail; for page in $(PAGES); do \
		tools/installed-page $$page $(PAGES) $(PAGE_FILES) | \
			$(PUT_AS) 644 $(TRAMPCTL_DOCDIR)/$${page##*/} - || exit 1; done
