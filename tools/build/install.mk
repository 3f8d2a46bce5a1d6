# SPDX-License-Identifier: GPL-2.0
#
# Files that are put onto this machine, or below DESTDIR, and how they go away again.
#
#   user           build what install puts there, and nothing else
#   install        library, headers, command, manuals, below PREFIX
#   install-dkms   sources of the module for dkms, and what loads it at boot
#   dkms           that, and build it for every installed kernel that has its headers
#   uninstall, uninstall-dkms    each removes all that was put there, folders included
#
# tools/install-files notes each file in a manifest, which is what uninstall goes by. Fragments
# install by $(PUT), $(PUT_AS) and $(PUT_LINK) in their install-hooks.

.PHONY: user install install-hooks uninstall uninstall-user install-dkms uninstall-dkms dkms deb

# Where Debian and its like keep libraries: a folder for each architecture below /usr. Elsewhere
# 64-bit ones are in lib64, if that is no link. /usr/local and others have plain lib.
MULTIARCH	:= $(shell $(CC) -print-multiarch 2>/dev/null)
usr-lib		= $(if $(and $(MULTIARCH),$(wildcard /usr/lib/$(MULTIARCH))),lib/$(MULTIARCH),$(strip \
		  $(if $(shell [ -d /usr/lib64 -a ! -L /usr/lib64 ] && echo y),lib64,lib)))
LIBDIR		?= $(PREFIX)/$(if $(filter /usr /usr/,$(PREFIX)),$(usr-lib),lib)
INCLUDEDIR	?= $(PREFIX)/include
SBINDIR		?= $(PREFIX)/sbin
DATADIR		?= $(PREFIX)/share
MANDIR		?= $(DATADIR)/man
# The examples; Debian has them in the folder of the package that they come with. Those of the
# command are for users who have no package for developers.
DOCDIR		?= $(DATADIR)/doc/libtrampoline
TRAMPCTL_DOCDIR	?= $(DATADIR)/doc/trampctl
# Settings are read from /usr/lib if they belong to a package, and from /etc if to the machine.
CONFDIR		?= $(if $(filter /usr /usr/,$(PREFIX)),/usr/lib,/etc)

USER_MANIFEST	= $(DATADIR)/libtrampoline/installed
FILES		= env DESTDIR='$(DESTDIR)' MANIFEST='$(USER_MANIFEST)' tools/install-files
PUT		= $(FILES) put
PUT_AS		= $(FILES) as
PUT_LINK	= $(FILES) link

# The dynamic linker's cache is this machine's: not with DESTDIR, and not for a folder that
# the linker does not look into.
define ldconfig
	$(Q)if [ -z '$(DESTDIR)' ] && [ "$$(id -u)" = 0 ] && command -v ldconfig >/dev/null && \
		ldconfig -N -X -v 2>/dev/null | grep -q '^$(LIBDIR):'; then ldconfig; fi
endef

user: $(INSTALL_DEPS)

install: user install-hooks
	$(ldconfig)
install-hooks::

uninstall: uninstall-user uninstall-dkms
uninstall-user:
	$(call msg,REMOVE,$(DESTDIR)$(PREFIX))
	$(Q)$(FILES) remove '/usr/src/trampoline-*/.installed'
	$(ldconfig)

# -------------------------------------------------------------------- dkms --

# Each of these can be left out by =0.
AUTOLOAD	?= 1
UDEV		?= 1
MODPROBE	?= 1

DKMS_SRC	= /usr/src/trampoline-$(VERSION)
# Its own manifest, so that each of the two can go alone.
DKMS_FILES	= env DESTDIR='$(DESTDIR)' MANIFEST='$(DKMS_SRC)/.installed' tools/install-files
BOOT		= tools/boot

# Sources of the module where dkms looks for them, and nothing else. Those of a package stay; below
# DESTDIR there are none.
install-dkms:
	$(Q)$(if $(DESTDIR),,tools/dkms --free $(VERSION))
	$(call msg,INSTALL,$(DESTDIR)$(DKMS_SRC))
	$(Q)find kernel include/uapi -type f \( -name '*.[ch]' -o -name Kbuild \) -printf '%h\n' | \
		sort -u | while read -r dir; do \
		find $$dir -maxdepth 1 -type f \( -name '*.[ch]' -o -name Kbuild \) \
			-exec $(DKMS_FILES) put 644 $(DKMS_SRC)/$$dir '{}' + || exit 1; done
	$(Q)sed 's/^PACKAGE_VERSION=.*/PACKAGE_VERSION="$(VERSION)"/' dkms.conf | \
		$(DKMS_FILES) as 644 $(DKMS_SRC)/dkms.conf -
	$(Q)$(if $(filter 1,$(AUTOLOAD)),$(DKMS_FILES) as 644 $(CONFDIR)/modules-load.d/trampoline.conf \
		$(BOOT)/modules-load.conf)
	$(Q)$(if $(filter 1,$(UDEV)),$(DKMS_FILES) as 644 $(CONFDIR)/udev/rules.d/60-trampoline.rules \
		$(BOOT)/trampoline.rules && \
		$(DKMS_FILES) as 644 $(CONFDIR)/sysusers.d/trampoline.conf $(BOOT)/sysusers.conf)
	$(Q)$(if $(filter 1,$(MODPROBE)),$(DKMS_FILES) as 644 $(CONFDIR)/modprobe.d/trampoline.conf \
		$(BOOT)/modprobe.conf)

dkms: install-dkms
	$(Q)tools/dkms $(VERSION)

# Every version that we have put there. Modules that dkms has built go first: without the
# sources it cannot find them any more.
uninstall-dkms:
	$(Q)for dir in $(DESTDIR)/usr/src/trampoline-*/; do \
		[ -e "$$dir/.installed" ] || continue; \
		dir=$${dir%/}; \
		printf '  %-8s %s\n' REMOVE "$$dir"; \
		if [ ! -w "$$dir" ]; then \
			echo "left there: $$dir is root's; as root: make uninstall-dkms" >&2; \
			continue; \
		fi; \
		if [ -z '$(DESTDIR)' ] && [ -d "/var/lib/dkms/trampoline/$${dir##*-}" ]; then \
			dkms remove "trampoline/$${dir##*-}" --all || exit 1; \
		fi; \
		rm -f "$$dir/.built"; \
		DESTDIR='$(DESTDIR)' MANIFEST="/usr/src/$${dir##*/}/.installed" \
			tools/install-files remove '$(USER_MANIFEST)' \
			'/usr/src/trampoline-*/.installed' || exit 1; \
		: 'objects of a module that was built there by hand'; \
		rm -rf "$$dir"; \
	done

# ----------------------------------------------------------------- packages --

# tools/deb builds from a copy: `clean` of a package must not take this build folder with it.
deb:
	$(Q)tools/deb $(O)/deb
