# SPDX-License-Identifier: LGPL-2.1 OR BSD-2-Clause
#
# libtrampoline: static and shared library, pkg-config file, and the check that
# header, symbol map, shared object and man pages name the same functions.

LT		:= user/libtrampoline
LT_SONAME	:= libtrampoline.so.1
LT_FILE		:= $(LT_SONAME).$(VERSION)
LT_HEADER	:= include/trampoline/trampoline.h
LT_HEADERS	:= $(sort $(wildcard include/trampoline/*.h))
# For the BPF programs of those who use the library.
LT_BPF_HEADER	:= bpf/trampoline_helpers.bpf.h
LT_SRC		:= $(filter-out %.bpf.c,$(sort $(wildcard $(LT)/*/*.c)))
LT_OBJ		:= $(LT_SRC:%.c=$(O)/%.o)
LT_PIC		:= $(LT_SRC:%.c=$(O)/%.pic.o)
LT_MAN		:= $(sort $(wildcard docs/man/libtrampoline.7 docs/man/tramp_*.3))

ALL		+= $(LIBTRAMP_A) $(LIBTRAMP_SO) $(O)/$(LT)/exports.checked
INSTALL_DEPS	+= $(LIBTRAMP_A) $(LIBTRAMP_SO)

$(LT_OBJ) $(LT_PIC): OWN_CFLAGS += -fvisibility=hidden -I$(O)

# A generated header, which is there before what includes it is compiled.
$(patsubst %,$(O)/$(LT)/attach/open.%,o pic.o): $(O)/$(LT)/attach/session_map.skel.h
.SECONDARY: $(O)/$(LT)/attach/session_map.bpf.o

$(O)/$(LT)/%.pic.o: $(LT)/%.c $(O)/flags
	$(call msg,CC,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(ALL_CFLAGS) -fPIC -MMD -MP -c -o $@ $<

# Built anew: ar would keep members whose source is gone.
$(LIBTRAMP_A): $(LT_OBJ)
	$(call msg,AR,$@)
	$(Q)rm -f $@
	$(Q)$(AR) rcs $@ $^

# The soname's link beside it lets programs run from the build folder.
$(LIBTRAMP_SO): $(LT_PIC) $(LT)/libtrampoline.map
	$(call msg,LD,$@)
	$(Q)$(CC) $(ALL_CFLAGS) $(LDFLAGS) -shared -Wl,-soname,$(LT_SONAME) -Wl,-z,defs \
		-Wl,--version-script=$(LT)/libtrampoline.map -o $@ $(LT_PIC) -lbpf
	$(Q)ln -sf $(@F) $(@D)/$(LT_SONAME)

$(O)/$(LT)/exports.checked: $(LIBTRAMP_SO) $(LT_HEADERS) include/uapi/linux/trampoline.h \
			    $(LT)/libtrampoline.map $(LT)/exports.sh \
			    $(LT_MAN)
	$(call msg,CHECK,$@)
	$(Q)CC=$(CC) $(LT)/exports.sh header $(LT_HEADER) -Iinclude -Iinclude/uapi >$@.header
	$(Q)$(LT)/exports.sh map $(LT)/libtrampoline.map >$@.map
	$(Q)$(LT)/exports.sh so $(LIBTRAMP_SO) >$@.so
	$(Q)$(LT)/exports.sh compare 'the header' $@.header 'the symbol map' $@.map
	$(Q)$(LT)/exports.sh compare 'the header' $@.header 'the library' $@.so
	$(Q)$(LT)/exports.sh man $(LT_MAN) >$@.man
	$(Q)$(LT)/exports.sh compare 'the header' $@.header 'the man pages' $@.man
	$(Q)CC=$(CC) $(LT)/exports.sh reasons $(LT_HEADER) -Iinclude -Iinclude/uapi >$@.reasons
	$(Q)$(LT)/exports.sh man-reasons docs/man/tramp_last_error.3 >$@.man-reasons
	$(Q)$(LT)/exports.sh compare 'the headers' $@.reasons tramp_last_error.3 $@.man-reasons
	$(Q)touch $@

install-hooks:: $(LIBTRAMP_A) $(LIBTRAMP_SO)
	$(call msg,INSTALL,libtrampoline)
	$(Q)$(PUT) 644 $(LIBDIR) $(LIBTRAMP_A)
	$(Q)$(PUT_AS) 755 $(LIBDIR)/$(LT_FILE) $(LIBTRAMP_SO)
	$(Q)$(PUT_LINK) $(LT_FILE) $(LIBDIR)/$(LT_SONAME)
	$(Q)$(PUT_LINK) $(LT_SONAME) $(LIBDIR)/libtrampoline.so
	$(Q)sed -e 's|@PREFIX@|$(PREFIX)|' -e 's|@LIBDIR@|$(patsubst $(PREFIX)/%,$${prefix}/%,$(LIBDIR))|' \
		-e 's|@INCLUDEDIR@|$(patsubst $(PREFIX)/%,$${prefix}/%,$(INCLUDEDIR))|' \
		-e 's|@VERSION@|$(VERSION)|' $(LT)/libtrampoline.pc.in | $(PUT_AS) 644 $(LIBDIR)/pkgconfig/libtrampoline.pc -
	$(Q)$(PUT) 644 $(INCLUDEDIR)/trampoline $(LT_HEADERS) $(LT_BPF_HEADER)
	$(Q)$(PUT) 644 $(INCLUDEDIR)/linux include/uapi/linux/trampoline.h
	$(Q)$(PUT) 644 $(MANDIR)/man3 $(filter %.3,$(LT_MAN))
	$(Q)$(PUT) 644 $(MANDIR)/man7 $(filter %.7,$(LT_MAN))
