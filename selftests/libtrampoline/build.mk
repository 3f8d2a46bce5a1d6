# SPDX-License-Identifier: GPL-2.0
#
# Tests of libtrampoline: what needs no kernel module runs here, the rest in the
# virtual machine. They are linked statically, and so reach the library's inner
# functions too.

LTT		:= selftests/libtrampoline
LTT_UNIT	:= $(addprefix $(O)/$(LTT)/test_,symbols names select glob proto errors memory places handles open \
		   answers batch code explain precheck loaded functions register types unknown memory_attach)
LTT_GUEST	:= $(addprefix $(O)/$(LTT)/test_lib_,attach links ask probes multi)
LTT_COMMON	:= $(O)/$(LTT)/fixture.o $(O)/selftests/lib/ktap.o
# A kernel whose types are printed, all of them.
LTT_VMLINUX	:= $(O)/kernels/$(VMLINUX_H_KERNEL)/vmlinux

UNIT_TESTS	+= $(LTT_UNIT) $(LTT)/install.sh $(LTT)/reasons.sh
GUEST_TESTS	+= $(LTT_GUEST) $(LTT)/test_example

$(O)/$(LTT)/test_proto.o: OWN_CFLAGS += -DVMLINUX='"$(abspath $(LTT_VMLINUX))"'
$(O)/$(LTT)/test_proto: | $(LTT_VMLINUX)

# The skeletons that each program includes.
LTT_KINDS	:= $(addprefix $(O)/$(LTT)/,test_errors.o test_handles.o test_precheck.o test_loaded.o test_memory_attach.o guest.o) $(LTT_GUEST:%=%.o)
LTT_PROBES	:= $(O)/$(LTT)/test_places.o $(O)/$(LTT)/test_lib_probes.o
$(LTT_KINDS) $(LTT_PROBES): OWN_CFLAGS += -I$(O)/$(LTT)
$(O)/$(LTT)/test_lib_multi.o $(O)/$(LTT)/test_open.o: $(O)/$(LTT)/sections.skel.h
$(O)/$(LTT)/test_open.o: OWN_CFLAGS += -I$(O)/$(LTT) -DOBJECTS='"$(abspath $(O))"'
$(O)/$(LTT)/test_open: | $(O)/$(LTT)/kinds.bpf.o $(O)/selftests/cli/session.bpf.o
$(LTT_KINDS): $(O)/$(LTT)/kinds.skel.h
$(LTT_PROBES): $(O)/$(LTT)/probes.skel.h
$(LTT_GUEST): $(O)/$(LTT)/guest.o

LTT_SORTS	:= $(addprefix $(O)/$(LTT)/test_,precheck.o loaded.o functions.o register.o memory_attach.o)
$(LTT_SORTS): OWN_CFLAGS += -I$(O)/$(LTT)
$(LTT_SORTS): $(O)/$(LTT)/sorts.skel.h

# Programs take their context whether they use it or not.
$(O)/$(LTT)/kinds.bpf.o: BPF_CFLAGS += -Wno-unused-parameter

# Kept, so that unchanged programs are not compiled again.
.SECONDARY: $(addprefix $(O)/$(LTT)/,kinds.bpf.o probes.bpf.o sections.bpf.o sorts.bpf.o)

# Allocations of the library go through the test. Shared, so that only its own are:
# those of libc and libbpf, which are linked already, stay as they are.
LTT_STARVED	:= $(addprefix $(O)/$(LTT)/test_,memory memory_attach)
LTT_STARVE	:= $(foreach f,malloc calloc realloc strdup free open_memstream fclose,-Wl,--wrap=$(f))
$(LTT_STARVED): LTT_LINK = $(LTT_STARVE)
$(LTT_STARVED): $(O)/$(LTT)/starve.o
# Likewise reads of a list.
$(O)/$(LTT)/test_memory: LTT_LINK += -Wl,--wrap=fopen
$(filter-out $(LTT_STARVED),$(LTT_UNIT)) $(LTT_GUEST): LTT_LINK = -static
# System calls on links go through the test, whichever program makes them.
$(O)/$(LTT)/test_handles: LTT_LINK = -static $(foreach f,statfs bpf_obj_pin bpf_obj_get bpf_link_get_fd_by_id \
				   bpf_link_detach bpf_link_update,-Wl,--wrap=$(f))
$(O)/$(LTT)/test_select: $(O)/$(LTT)/select_fixture.o
# Likewise all that goes to the module, and what the kernel is asked.
LTT_ANSWERED	:= $(addprefix $(O)/$(LTT)/test_,answers batch code explain precheck loaded functions register)
LTT_ANSWERS	:= $(foreach f,open close ioctl fopen access geteuid readlink btf__load_vmlinux_btf bpf_program__fd \
		   $(addprefix bpf_,obj_get obj_get_info_by_fd link_get_next_id link_get_fd_by_id link_update \
		   link_detach prog_bind_map btf_get_next_id btf_get_fd_by_id),-Wl,--wrap=$(f))
$(LTT_ANSWERED): LTT_LINK = -static $(LTT_ANSWERS)
$(LTT_ANSWERED) $(O)/$(LTT)/test_memory_attach: $(O)/$(LTT)/answers.o $(O)/$(LTT)/kernel.o
$(O)/$(LTT)/test_memory_attach: LTT_LINK += $(LTT_ANSWERS) $(foreach f,statfs bpf_obj_pin \
					    libbpf_register_prog_handler,-Wl,--wrap=$(f))
$(O)/$(LTT)/test_register: LTT_LINK += $(foreach f,libbpf_register_prog_handler libbpf_minor_version \
				       bpf_program__attach_kprobe_multi_opts,-Wl,--wrap=$(f))
# Likewise whether the module runs sessions, and what files in memory take.
$(O)/$(LTT)/test_open: LTT_LINK = -static $(foreach f,libtramp_session_by_map memfd_create write fstat mmap \
				  btf__parse,-Wl,--wrap=$(f))

$(LTT_UNIT) $(LTT_GUEST): $(O)/$(LTT)/test_%: $(O)/$(LTT)/test_%.o $(LTT_COMMON) $(LIBTRAMP_A)
	$(call msg,LINK,$@)
	$(Q)$(CC) $(ALL_CFLAGS) $(LDFLAGS) $(LTT_LINK) -pthread -o $@ $(filter %.o,$^) $(LIBTRAMP_A) $(LDLIBS_BPF)

# A script: what it looks at has to be there.
$(LTT)/install.sh: | $(LIBTRAMP_A) $(LIBTRAMP_SO) $(O)/vmlinux.h
