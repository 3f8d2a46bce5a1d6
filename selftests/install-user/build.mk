# SPDX-License-Identifier: GPL-2.0
#
# A user's own tool. It is built by its own Makefile, against what `make install` puts into a
# folder, as C and as C++, with the shared and with the static library. All four run in the guest.
# test_deb builds it against packages, too.

IU		:= selftests/install-user
IU_PREFIX	= $(abspath $(O)/$(IU)/prefix)
IU_PROGRAMS	:= $(foreach l,c cxx,$(foreach k,shared static,$(O)/$(IU)/rmwatch-$(l)-$(k)))
IU_STAMP	= $(O)/$(IU)/built

ALL		+= $(IU_STAMP)
GUEST_TESTS	+= $(IU)/test_user_tool
GUEST_BINS	+= $(IU_PROGRAMS)
# Where the guest's dynamic linker looks.
IU_LIBRARY	:= $(O)/$(IU)/prefix/lib/libtrampoline.so.1
GUEST_FILES	+= $(IU_LIBRARY):/usr/lib/libtrampoline.so.1

# Folders that whoever types make has named are for `make install`. This one is ours, each part of
# it, and no make above says otherwise. (Nor is one of these run by `make -n`.)
IU_MAKE		= env -u MAKEFLAGS -u MFLAGS -u MAKELEVEL -u MAKEOVERRIDES \
		  PKG_CONFIG_PATH=$(IU_PREFIX)/lib/pkgconfig make -s
IU_INSTALL	= $(IU_MAKE) -f selftests/libtrampoline/install.mk O=$(O) CC='$(CC)' DESTDIR= \
		  PREFIX=$(IU_PREFIX) $(subst =,=$(IU_PREFIX)/,LIBDIR=lib INCLUDEDIR=include SBINDIR=sbin \
			DATADIR=share MANDIR=share/man DOCDIR=share/doc/libtrampoline)

# Installed into a folder of its own, anew each time: what is not installed any more is not there.
$(IU_STAMP): $(wildcard $(IU)/rmwatch* $(IU)/Makefile) $(LIBTRAMP_A) $(LIBTRAMP_SO) $(O)/vmlinux.h \
		$(LT_HEADERS) include/uapi/linux/trampoline.h $(LT)/libtrampoline.pc.in
	$(call msg,USER,$(O)/$(IU))
	$(Q)rm -rf $(@D)
	$(Q)mkdir -p $(@D)
	$(Q)$(IU_INSTALL) install-hooks
	$(Q)$(IU_MAKE) -C $(IU) OUT=$(abspath $(@D)) \
		CC='$(CC)' CFLAGS='-O2 -g -Wall -Wextra $(WERROR_CFLAGS)' \
		VMLINUX_H=$(abspath $(O)/vmlinux.h)
	$(Q)touch $@

$(IU_PROGRAMS) $(IU_LIBRARY): $(IU_STAMP) ;
