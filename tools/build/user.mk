# SPDX-License-Identifier: GPL-2.0
#
# Pattern rules for code that runs outside the kernel module: C of user space,
# BPF programs, and the skeletons made of them.

# stamp NAME TEXT: $(O)/NAME has this text. It is written anew when the text is another one, so that
# what depends on it is built anew, and `make -n` writes nothing.
define stamp
$(O)/$(1): $(if $(call same,$(file <$(O)/$(1)),$(2)),,FORCE)
	@mkdir -p $$(@D)
	@printf '%s\n' '$(subst ','\'',$(subst $$,$$$$,$(2)))' >$$@
endef
same		= $(and $(findstring x$(1)x,x$(2)x),$(findstring x$(2)x,x$(1)x))

# Compilers and their flags. -Werror makes no other code, and is there for some goals only. An
# installation takes what is there: sudo drops the flags that were in the environment.
first-line	= $(shell $(1) --version 2>/dev/null | head -n 1)
USER_FLAGS	:= $(strip $(call first-line,$(CC)) $(call first-line,$(BPF_CLANG)) $(CC) \
		  $(filter-out -Werror,$(ALL_CFLAGS) $(LDFLAGS) $(BPF_CLANG) $(BPF_CFLAGS)))
ifneq ($(filter-out $(NO_DEPS_GOALS) install install-hooks,$(GOALS))$(if $(wildcard $(O)/flags),,none),)
$(eval $(call stamp,flags,$(USER_FLAGS)))
else
$(O)/flags: ;
endif
$(eval $(call stamp,version,$(VERSION)))

$(O)/%.o: %.c $(O)/flags
	$(call msg,CC,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(ALL_CFLAGS) -MMD -MP -c -o $@ $<

# Assembly, which includes headers as well.
$(O)/%.o: %.S $(O)/flags
	$(call msg,AS,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) -g -MMD -MP -c -o $@ $<

# Programs are CO-RE: one object for every kernel, compiled against the types
# of the oldest.
define bpf-object
	$(call msg,BPF,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(BPF_CLANG) $(BPF_CFLAGS) -MMD -MP -MF $(@:.o=.d) -MT $@ -c -o $@ $<
endef

$(O)/%.bpf.o: %.bpf.c $(O)/vmlinux.h $(O)/flags
	$(bpf-object)

# Programs that are installed bring the types they need (kernel.bpf.h), and take no kernel.
$(O)/user/%.bpf.o: user/%.bpf.c $(O)/flags
	$(bpf-object)

# foo.skel.h declares struct foo and foo__open() and so on; a name with a hyphen gets
# an underscore there.
$(O)/%.skel.h: $(O)/%.bpf.o
	$(call msg,SKEL,$@)
	$(Q)$(BPFTOOL) gen skeleton $< name $(subst -,_,$(notdir $*)) >$@.tmp
	$(Q)mv $@.tmp $@

$(O)/vmlinux.h: $(O)/kernels/$(VMLINUX_H_KERNEL)/vmlinux
	$(call msg,BTF,$@)
	$(Q)$(BPFTOOL) btf dump file $< format c >$@.tmp
	$(Q)mv $@.tmp $@

# Headers each object was compiled with, as the compiler wrote them down. The
# tree below the modules is kbuild's, which keeps its own books. And another make builds in
# coverage-unit.
-include $(shell find $(O) \( -path '$(O)/modules' -o -path '$(O)/debug-kernel' -o -path '$(O)/kernels' \
	-o -path '$(O)/image*' -o -path '$(O)/coverage-unit' \) -prune -o -type f -name '*.d' -print 2>/dev/null)
