# SPDX-License-Identifier: LGPL-2.1 OR BSD-2-Clause
#
# libtrampoline: static and shared library, pkg-config file, and the check that
# header, symbol map, shared object and man pages name the same functions.

LT		:= user/libtrampoline
LT_SONAME	:= libtrampoline.so.0
LT_FILE		:= libtrampoline.so.$(VERSION)
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

$(LT_OBJ) $(LT_PIC): CFLAGS += -fvisibility=hidden -I$(O)

# A generated header, which is there before what includes it is compiled.
$(patsubst %,$(O)/$(LT)/attach/open.%,o pic.o): $(O)/$(LT)/attach/session_map.skel.h
.SECONDARY: $(O)/$(LT)/attach/session_map.bpf.o

$(O)/$(LT)/%.pic.o: $(LT)/%.c
	$(call msg,CC,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(CFLAGS) -fPIC -MMD -MP -c -o $@ $<

# Built anew: ar would keep members whose source is gone.
$(LIBTRAMP_A): $(LT_OBJ)
	$(call msg,AR,$@)
	$(Q)rm -f $@
	$(Q)$(AR) rcs $@ $^

# The soname's link beside it lets programs run from the build folder.
$(LIBTRAMP_SO): $(LT_PIC) $(LT)/libtrampoline.map
	$(call msg,LD,$@)
	$(Q)$(CC) $(CFLAGS) $(LDFLAGS) -shared -Wl,-soname,$(LT_SONAME) -Wl,-z,defs \
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
	$(Q)install -d $(DESTDIR)$(PREFIX)/lib/pkgconfig $(DESTDIR)$(PREFIX)/include/trampoline \
		$(DESTDIR)$(PREFIX)/include/linux \
		$(DESTDIR)$(PREFIX)/share/man/man3 $(DESTDIR)$(PREFIX)/share/man/man7
	$(Q)install -m 644 $(LIBTRAMP_A) $(DESTDIR)$(PREFIX)/lib/
	$(Q)install -m 755 $(LIBTRAMP_SO) $(DESTDIR)$(PREFIX)/lib/$(LT_FILE)
	$(Q)ln -sf $(LT_FILE) $(DESTDIR)$(PREFIX)/lib/$(LT_SONAME)
	$(Q)ln -sf $(LT_SONAME) $(DESTDIR)$(PREFIX)/lib/libtrampoline.so
	$(Q)sed 's|@PREFIX@|$(PREFIX)|; s|@VERSION@|$(VERSION)|' $(LT)/libtrampoline.pc.in \
		>$(DESTDIR)$(PREFIX)/lib/pkgconfig/libtrampoline.pc
	$(Q)install -m 644 $(LT_HEADERS) $(LT_BPF_HEADER) $(DESTDIR)$(PREFIX)/include/trampoline/
	$(Q)install -m 644 include/uapi/linux/trampoline.h $(DESTDIR)$(PREFIX)/include/linux/
	$(Q)install -m 644 $(filter %.3,$(LT_MAN)) $(DESTDIR)$(PREFIX)/share/man/man3/
	$(Q)install -m 644 $(filter %.7,$(LT_MAN)) $(DESTDIR)$(PREFIX)/share/man/man7/

uninstall-hooks::
	$(Q)rm -f $(addprefix $(DESTDIR)$(PREFIX)/lib/,libtrampoline.a libtrampoline.so \
		$(LT_SONAME) $(LT_FILE) pkgconfig/libtrampoline.pc)
	$(Q)rm -f $(LT_HEADERS:%=$(DESTDIR)$(PREFIX)/%) \
		$(LT_BPF_HEADER:bpf/%=$(DESTDIR)$(PREFIX)/include/trampoline/%) \
		$(DESTDIR)$(PREFIX)/include/linux/trampoline.h
	$(Q)rm -f $(patsubst docs/man/%.3,$(DESTDIR)$(PREFIX)/share/man/man3/%.3,$(filter %.3,$(LT_MAN))) \
		$(patsubst docs/man/%.7,$(DESTDIR)$(PREFIX)/share/man/man7/%.7,$(filter %.7,$(LT_MAN)))
