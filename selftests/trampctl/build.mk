# SPDX-License-Identifier: GPL-2.0
#
# Tests of trampctl's own parts that need no module: they are linked with its objects.
#
# sample is a program whose debuginfo is read. It has flags of its own, as its lines must not be
# elsewhere when somebody else builds it. stripped is the same without debuginfo, and rebuilt has
# another build ID.

TCT		:= selftests/trampctl
TCT_SAMPLE	:= $(O)/$(TCT)/sample
TCT_OBJ		:= $(filter $(O)/user/trampctl/run/% $(O)/user/trampctl/out/%,$(TRAMPCTL_OBJ))

UNIT_TESTS	+= $(addprefix $(O)/$(TCT)/,test_lines test_elf_names test_arguments test_explain \
		   test_bind test_detach test_file test_metrics)

$(TCT_SAMPLE) $(TCT_SAMPLE).rebuilt: $(TCT)/sample.c $(TCT)/sample.h
	$(call msg,CC,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) -g -O2 -fno-pie -no-pie -fcf-protection=none \
		-Wl,--build-id=$(if $(filter %.rebuilt,$@),0xfeedface01234567,sha1) -o $@ $<

$(TCT_SAMPLE).stripped: $(TCT_SAMPLE)
	$(Q)strip -o $@ $<

$(O)/$(TCT)/test_lines.o: OWN_CFLAGS += -D_GNU_SOURCE -DSAMPLE='"$(abspath $(TCT_SAMPLE))"' \
	-DSOURCES='"$(abspath $(TCT))"'
$(O)/$(TCT)/test_lines: | $(TCT_SAMPLE) $(TCT_SAMPLE).rebuilt $(TCT_SAMPLE).stripped
$(filter $(O)/$(TCT)/%,$(UNIT_TESTS)): %: %.o $(O)/selftests/lib/ktap.o $(TCT_OBJ) $(LIBTRAMP_A)
	$(call msg,LINK,$@)
	$(Q)$(CC) $(ALL_CFLAGS) $(LDFLAGS) -pthread -o $@ $(filter-out %.a,$^) $(LIBTRAMP_A) \
		$(TRAMPCTL_LIBS)

# With the module and the kernel that the library's tests have.
$(addprefix $(O)/$(TCT)/,test_explain test_bind test_detach): \
		$(addprefix $(O)/selftests/libtrampoline/,answers.o kernel.o fixture.o)
$(addprefix $(O)/$(TCT)/,test_explain test_bind test_detach): override LDFLAGS += $(LTT_ANSWERS)
$(O)/$(TCT)/test_explain: $(addprefix $(O)/user/trampctl/cmd/,explain.o explain_code.o)
$(O)/$(TCT)/test_detach: $(O)/user/trampctl/cmd/detach.o

$(O)/$(TCT)/test_metrics: $(O)/user/trampctl/cmd/stats_metrics.o
