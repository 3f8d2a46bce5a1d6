// SPDX-License-Identifier: GPL-2.0
/*
 * Print the interface as syzkaller wants it described (docs/syscall_descriptions_syntax.md there),
 * from uapi.h. `make abi` writes docs/abi/syzkaller.txt by it, and a test holds that file
 * against it.
 */
#include <stdio.h>
#include <string.h>
#include "uapi.h"

static const char *int_type(const struct uapi_field *f)
{
	switch (f->len) {
	case 1:
		return "int8";
	case 2:
		return "int16";
	case 4:
		return "int32";
	default:
		return "int64";
	}
}

/* The pointer whose length that is. */
static const struct uapi_field *pointer_of(const struct uapi_command *c, const char *length)
{
	unsigned int i;

	for (i = 0; i < c->nr_fields; i++) {
		if (c->fields[i].what == UAPI_POINTER && !strcmp(c->fields[i].length, length))
			return &c->fields[i];
	}
	return NULL;
}

static void print_pointer(const struct uapi_field *f)
{
	static const char *const to[] = {
		[UAPI_BYTES] = "ptr64[out, array[int8], opt]",
		[UAPI_INSNS] = "ptr64[out, array[tramp_insn_info], opt]",
		[UAPI_REASONS] = "ptr64[out, array[int32], opt]",
		[UAPI_ADDRS] = "ptr64[in, array[kernel_addr], opt]",
		[UAPI_COOKIES] = "ptr64[in, array[int64], opt]",
		[UAPI_NAMES] = "ptr64[in, array[string[tramp_symbols]], opt]",
		[UAPI_FDS] = "ptr64[in, array[fd_tramp_link]]",
		[UAPI_ITEMS] = "ptr64[inout, array[tramp_attach]]",
	};

	printf("%s", to[f->elem]);
}

static void print_length(const struct uapi_command *c, const struct uapi_field *f)
{
	const struct uapi_field *pointer = pointer_of(c, f->name);
	const char *count = pointer->elem == UAPI_NAMES || pointer->elem == UAPI_BYTES ? "bytesize" :
			    "len";

	printf("%s[%s, int32]", count, pointer->name);
}

static void print_type(const struct uapi_command *c, const struct uapi_field *f)
{
	switch (f->what) {
	case UAPI_SIZE:
		printf("bytesize[parent, int32]");
		break;
	case UAPI_FLAGS:
		if (f->flags->name)
			printf("flags[%s_flags, int32]", c->type);
		else
			printf("const[0, int32]");
		break;
	case UAPI_NUMBER:
		printf("int32[0:%llu]", (unsigned long long)f->max);
		break;
	case UAPI_PROG_FD:
		printf("fd_bpf_prog");
		break;
	case UAPI_LINK_ID:
		printf("bpf_link_id");
		break;
	case UAPI_BTF_OBJ:
		printf("bpf_btf_id[opt]");
		break;
	case UAPI_SYMBOL:
		printf("string[tramp_symbols, %u]", f->len);
		break;
	case UAPI_MODULE:
		printf("string[tramp_modules, %u]", f->len);
		break;
	case UAPI_ADDR:
		printf("kernel_addr");
		break;
	case UAPI_POINTER:
		print_pointer(f);
		break;
	case UAPI_LENGTH:
		print_length(c, f);
		break;
	case UAPI_ELEM_SIZE:
		printf("const[%u, int32]", uapi_command("ATTACH")->size);
		break;
	case UAPI_RESERVED:
		printf("const[0, %s]", int_type(f));
		break;
	case UAPI_FD_OUT:
		printf("fd_tramp_link	(out)");
		break;
	case UAPI_REFUSAL:
	case UAPI_WHY:
		printf("tramp_refusal	(out)");
		break;
	case UAPI_OUT:
		if (f->len > 8)
			printf("array[int8, %u]	(out)", f->len);
		else
			printf("%s	(out)", int_type(f));
		break;
	default:
		printf("%s", int_type(f));
	}
}

static void print_struct(const struct uapi_command *c)
{
	unsigned int i;

	printf("\n%s {\n", c->type);
	for (i = 0; i < c->nr_fields; i++) {
		printf("\t%s\t", c->fields[i].name);
		print_type(c, &c->fields[i]);
		printf("\n");
	}
	printf("}\n");
}

static void print_flags(const struct uapi_command *c)
{
	unsigned int i;

	for (i = 0; i < c->nr_fields; i++) {
		const struct uapi_flag *f = c->fields[i].flags;

		if (c->fields[i].what != UAPI_FLAGS || !f->name)
			continue;
		printf("%s_flags = %s", c->type, f->name);
		while ((++f)->name)
			printf(", %s", f->name);
		printf("\n");
	}
}

int main(void)
{
	unsigned int i;

	printf("# SPDX-License-Identifier: GPL-2.0\n# /dev/trampoline, written by build/selftests/vm/fuzz/syzkaller (make abi).\n\n"
	       "include <uapi/linux/trampoline.h>\n\n"
	       "resource fd_trampoline[fd]\n"
	       "resource fd_tramp_link[fd_bpf_link]\n\n"
	       "openat$trampoline(fd const[AT_FDCWD], file ptr[in, string[\"/dev/trampoline\"]], "
	       "flags const[O_RDWR], mode const[0]) fd_trampoline\n");
	for (i = 0; i < UAPI_COMMANDS; i++)
		printf("ioctl$TRAMP_IOC_%s(fd fd_trampoline, cmd const[TRAMP_IOC_%s], "
		       "arg ptr[inout, %s])\n", uapi_commands[i].name, uapi_commands[i].name,
		       uapi_commands[i].type);
	printf("\ntramp_symbols = \"vfs_read\", \"do_unlinkat\", \"bpf_fentry_test1\", \"\"\n"
	       "tramp_modules = \"\", \"trampoline_test\"\n"
	       "type kernel_addr int64[0xffffffff81000000:0xffffffffff000000]\n");
	for (i = 0; i < UAPI_COMMANDS; i++)
		print_flags(&uapi_commands[i]);
	for (i = 0; i < UAPI_COMMANDS; i++)
		print_struct(&uapi_commands[i]);
	printf("\ntramp_refusal {\n\treason\tint32\n\t__reserved\tconst[0, int32]\n\taddr\tint64\n"
	       "\tdetail\tarray[int8, 128]\n}\n\n"
	       "tramp_insn_info {\n\toffset\tint32\n\tlen\tint8\n\tmode\tint8\n\tregion_len\tint8\n"
	       "\tflags\tint8\n\treason\tint32\n\twhere\tint32\n}\n");
	return 0;
}
