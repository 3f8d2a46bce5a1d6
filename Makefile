# SPDX-License-Identifier: GPL-2.0
#
# One make for everything: the module for each kernel, the library and the
# command, the BPF programs, the virtual machines and the tests in them.
#
# This file holds what is common: variables, quiet output, the goals. The rules
# live beside what they build, in fragments that are included here, so that one
# make sees every dependency. A fragment may use or add to these:
#
#   O                 build folder; every output goes below it, at its source's path
#   Q, msg            $(Q) hides a command unless V=1; $(call msg,CC,$@) is its quiet line
#   CC, ALL_CFLAGS    user code. OWN_CFLAGS are those it needs, and take more by +=; CFLAGS, CPPFLAGS
#                     and LDFLAGS belong to whoever types make, and nobody else sets them
#   LDLIBS_BPF        libbpf and what it needs
#   LIBTRAMP_A, LIBTRAMP_SO, TRAMPCTL    the library and the command
#   $(O)/%.bpf.o, $(O)/%.skel.h, $(O)/%.o    pattern rules (tools/build/user.mk)
#   ALL               += what `make all` builds
#   UNIT_TESTS        += KTAP programs that run here, without a VM
#   HOST_TESTS        += KTAP programs that run here and boot VMs themselves
#   GUEST_TESTS       += KTAP programs that run in the VM
#   GUEST_BINS        += files for the guest's /usr/bin
#   GUEST_FILES       += HOST:GUEST pairs, any other file for the guest
#   INSTALL_DEPS      += files that `make install` needs
#   install-hooks     a double-colon goal: `install-hooks::` recipes are run by `make install`, and
#                     put files where they go by $(PUT) and its like (tools/build/install.mk)

MAKEFLAGS += --no-builtin-rules --no-builtin-variables
.DELETE_ON_ERROR:
.SUFFIXES:
SHELL := /bin/bash

# `all` is the default goal, whatever the fragments define first.
.DEFAULT_GOAL := all

O	?= build
export O
# Where fragments and tools look for the repository's root.
ROOT	:= $(CURDIR)

# To make a blank ends a name: rules would be for other files than those that are meant.
ifneq ($(words $(CURDIR)),1)
$(error the path of this tree has a blank: '$(CURDIR)'; move it to one without)
endif
ifneq ($(words $(O)),1)
$(error O= is the build folder, one path without blanks, and not '$(O)')
endif

KERNELS		= 6.1 6.12 6.1-rt 6.12-rt
# K= narrows modules and VM tests to one kernel (or a few), T= to one test.
MODULE_KERNELS	= $(or $(K),$(KERNELS))
TEST_KERNELS	= $(or $(K),6.1 6.12 6.12-rt)
DEMO_KERNEL	= $(or $(K),6.12)
VMLINUX_H_KERNEL = 6.1

# The module says the version, everything else follows it.
VERSION := $(shell sed -n 's/^\#define TRAMP_VERSION "\(.*\)"/\1/p' kernel/base/tramp.h)
PREFIX	?= /usr/local
DESTDIR	?=
GOALS	:= $(or $(MAKECMDGOALS),$(.DEFAULT_GOAL))

# ------------------------------------------------------------ quiet output --

V ?= 0
ifeq ($(V),1)
Q	=
msg	=
else
Q	= @
msg	= @printf '  %-8s %s\n' '$(1)' '$(patsubst $(O)/%,%,$(2))'
MAKEFLAGS += --no-print-directory
endif

# ------------------------------------------------------------------- tools --

# make has defaults for these, which are not meant. Elsewhere they come from the environment
# or the command line.
ifneq ($(filter default undefined,$(origin CC)),)
CC	= gcc
endif
ifneq ($(filter default undefined,$(origin AR)),)
AR	= ar
endif
# bpftool and modinfo are in sbin, which a plain user's PATH lacks.
export PATH := $(PATH):/usr/sbin:/sbin
BPFTOOL	= bpftool

# Warnings are errors to those who develop: .ci/run says so, and whoever checks. To others, who
# run the tests too, a compiler that is newer than ours must not end the build.
WERROR	?= $(if $(filter check,$(GOALS)),1,0)
WERROR_CFLAGS = $(if $(filter 1,$(WERROR)),-Werror)

CFLAGS	?= -O2 -g
CPPFLAGS ?=
LDFLAGS	?=
OWN_CFLAGS = -std=gnu11 -Wall -Wextra $(WERROR_CFLAGS) -Iinclude -Iinclude/uapi
ALL_CFLAGS = $(OWN_CFLAGS) $(CPPFLAGS) $(CFLAGS)
LDLIBS_BPF = -lbpf -lelf -lz

BPF_CLANG	= clang
# clang -target bpf does not look into the multiarch folder, where asm/ is. Objects become part of
# programs that are installed, and shall not depend on the folder that they were built in.
BPF_CFLAGS	= -target bpf -mcpu=v3 -g -O2 -ffile-prefix-map=$(ROOT)=. -Wall -Wextra -Wno-unused-parameter $(WERROR_CFLAGS) \
		  -D__TARGET_ARCH_x86 \
		  -I$(O) -Ibpf -Iinclude/uapi -I/usr/include/$(shell $(CC) -print-multiarch)

LIBTRAMP_A	= $(O)/user/libtrampoline/libtrampoline.a
LIBTRAMP_SO	= $(O)/user/libtrampoline/libtrampoline.so
TRAMPCTL	= $(O)/user/trampctl/trampctl

# ------------------------------------------------------------ dependencies --

# Goals that must work on a machine where nothing is installed, and one for which another goal has
# looked already.
NO_DEPS_GOALS = help deps clean uninstall install-dkms uninstall-dkms coverage-unit-programs
# The packages of a goal: installing and packaging take no machines and no kernels.
LIB_GOALS	= user install install-hooks
DEPS_GOALS	:= $(filter-out $(NO_DEPS_GOALS),$(GOALS))
DEPS_GROUPS	= $(if $(filter $(LIB_GOALS) deb,$(DEPS_GOALS)),lib) \
		  $(if $(filter-out $(LIB_GOALS) dkms deb,$(DEPS_GOALS)),build vm) \
		  $(filter check dkms deb,$(DEPS_GOALS)) \
		  $(if $(filter stress test test-all test-host test-debug,$(DEPS_GOALS)),stress) \
		  $(if $(filter fuzz test test-unit,$(DEPS_GOALS)),fuzz) \
		  $(if $(filter test-image,$(DEPS_GOALS)),deb image) \
		  $(if $(filter debug-kernel test-debug test-coverage fuzz-ioctl,$(DEPS_GOALS)),debug) \
		  $(if $(and $(DEPS_GOALS),$(filter %-cfi,$(K))),debug cfi) \
		  $(if $(filter test test-unit test-coverage test-coverage-unit,$(DEPS_GOALS)),coverage)

# Look for missing packages before any rule runs: a no-op of a few milliseconds when all are
# there. NO_DEPS=1 looks for commands and headers only, and installs nothing. Not under `make -n`,
# which must change nothing.
ifneq ($(DEPS_GOALS),)
ifeq ($(findstring n,$(filter-out --%,$(firstword -$(MAKEFLAGS)))),)
$(shell CC='$(CC)' $(if $(filter 1,$(NO_DEPS)),tools/missing,tools/deps) $(DEPS_GROUPS) >&2)
ifneq ($(.SHELLSTATUS),0)
$(error something is missing, see above)
endif
endif
endif

# --------------------------------------------------------------- fragments --

comma		:= ,

ALL		:=
UNIT_TESTS	:=
HOST_TESTS	:=
GUEST_TESTS	:=
GUEST_BINS	:=
GUEST_FILES	:=
INSTALL_DEPS	:=

include tools/build/user.mk
include tools/build/kernel.mk
-include $(wildcard user/libtrampoline/build.mk)
-include $(wildcard user/trampctl/build.mk)
-include $(wildcard bpf/build.mk)
-include $(wildcard selftests/*/build.mk)
include tools/build/test.mk
include tools/build/probes.mk
include tools/build/bench.mk
include tools/build/debug.mk
include tools/build/coverage.mk
include tools/build/check.mk
include tools/build/install.mk

# ------------------------------------------------------------------- goals --

.PHONY: all demo test deps clean help FORCE

all: $(ALL) modules

demo: $(call vm-images,$(DEMO_KERNEL)) $(call vm-modules,$(DEMO_KERNEL)) $(TRAMPCTL) $(ALL)
	$(Q)tools/demo $(DEMO_KERNEL)

test: $(TEST_READY)
	$(Q)$(if $(K)$(T),,TEST_TURN=$(TURN) TEST_SHORT=1) $(RUN_TESTS) $(TEST_SECTIONS)

# Packages first: the kernels are unpacked by tools that they bring.
deps:
	$(Q)tools/deps --update build vm check fuzz coverage stress
	$(Q)for k in $(MODULE_KERNELS); do tools/kernel --update $$k $(O)/kernels/$$k || exit 1; done

clean:
	$(call msg,CLEAN,$(O))
	$(Q)rm -rf $(O)

help:
	@tools/build/help.sh

FORCE:
