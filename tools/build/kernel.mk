# SPDX-License-Identifier: GPL-2.0
#
# Kernels and modules: the images that the VMs boot, and trampoline.ko and
# trampoline_test.ko for each of them.
#
#   $(O)/kernels/K/release   "release package-version", rewritten when `make deps` moves the
#                            kernel to another version
#   $(O)/kernels/K/vmlinuz   the bzImage of the very same version
#   $(O)/kernels/K/headers   what modules for it are built with
#   $(O)/kernels/K/vmlinux   the ELF file inside the bzImage (BTF, no symbols)
#   $(O)/modules/K/*.ko      modules with BTF
#
# kbuild writes beside the sources, and four kernels are built from the same
# ones. So each module gets a tree of symbolic links, $(O)/modules/K/NAME, that
# mirrors its folder and include/, and kbuild runs there.

.PHONY: modules kernels
.PRECIOUS: $(O)/kernels/%/release $(O)/kernels/%/vmlinuz $(O)/kernels/%/vmlinux

$(O)/kernels/%/release: FORCE
	$(Q)tools/kernel $* $(@D)

$(O)/kernels/%/vmlinuz: $(O)/kernels/%/release ;

$(O)/kernels/%/vmlinux: $(O)/kernels/%/vmlinuz tools/vmlinux-elf
	$(call msg,ELF,$@)
	$(Q)tools/vmlinux-elf $< $@

kernels: $(MODULE_KERNELS:%=$(O)/kernels/%/vmlinuz)

KMOD_SRC	= $(wildcard kernel/*.[chS] kernel/*/*.[chS] kernel/*/*/*.[chS] kernel/Kbuild include/uapi/linux/*.h)
TARGET_DIR	= selftests/vm/stress/kmod
PATCH_DIR	= selftests/vm/func/kmod
KMOD_TEST_SRC	= $(wildcard selftests/kmod/*.[chS] selftests/kmod/Kbuild)

MODULE_NAMES	= $(if $(wildcard kernel/Kbuild),trampoline.ko) \
		  $(if $(wildcard selftests/kmod/Kbuild),trampoline_test.ko) \
		  $(if $(wildcard $(TARGET_DIR)/Kbuild),trampoline_target.ko) \
		  $(if $(wildcard $(PATCH_DIR)/Kbuild),trampoline_patch.ko)

modules: $(foreach k,$(MODULE_KERNELS),$(MODULE_NAMES:%=$(O)/modules/$(k)/%))

# tools/kmod builds one folder of sources for one kernel and puts the finished
# module, BTF included, at its last argument.
$(O)/modules/%/trampoline.ko: $(KMOD_SRC) tools/kmod $(O)/kernels/%/release $(O)/kernels/%/vmlinux
	$(call msg,KBUILD,$@)
	$(Q)V=$(V) tools/kmod $* kernel $@

$(O)/modules/%/trampoline_test.ko: $(KMOD_TEST_SRC) $(wildcard include/uapi/linux/*.h) tools/kmod \
		$(O)/kernels/%/release $(O)/kernels/%/vmlinux
	$(call msg,KBUILD,$@)
	$(Q)V=$(V) tools/kmod $* selftests/kmod $@

# test-module NAME FOLDER
define test-module
$(O)/modules/%/$(1): $(wildcard $(2)/*) tools/kmod $(O)/kernels/%/release $(O)/kernels/%/vmlinux
	$$(call msg,KBUILD,$$@)
	$$(Q)V=$$(V) tools/kmod $$* $(2) $$@
endef
$(eval $(call test-module,trampoline_target.ko,$(TARGET_DIR)))
$(eval $(call test-module,trampoline_patch.ko,$(PATCH_DIR)))
