// SPDX-License-Identifier: GPL-2.0
/*
 * The description of the interface (uapi.h), from include/uapi/linux/trampoline.h.
 */
#include <errno.h>
#include <linux/trampoline.h>
#include <stdlib.h>
#include <string.h>
#include "uapi.h"

#define FLAG(name) { #name, name }

static const struct uapi_flag none[] = { { NULL, 0 } };
static const struct uapi_flag attach_flags[] = {
	FLAG(TRAMP_ATTACH_F_COOKIE), FLAG(TRAMP_ATTACH_F_NO_OPS), FLAG(TRAMP_ATTACH_F_NO_JUMP),
	FLAG(TRAMP_ATTACH_F_NO_KPROBE), FLAG(TRAMP_ATTACH_F_RETURN), { NULL, 0 },
};
static const struct uapi_flag query_flags[] = { FLAG(TRAMP_QUERY_F_NEXT), { NULL, 0 } };
static const struct uapi_flag code_flags[] = { FLAG(TRAMP_CODE_F_ONE), { NULL, 0 } };
static const struct uapi_flag multi_flags[] = {
	FLAG(TRAMP_MULTI_F_RETURN), FLAG(TRAMP_MULTI_F_SKIP), FLAG(TRAMP_MULTI_F_SESSION),
	{ NULL, 0 },
};

/* A member, and what more there is to say of it. */
#define FIELD(member, meaning, ...)						\
	{ .name = #member, .what = UAPI_##meaning, .at = offsetof(struct STRUCT, member), \
	  .len = sizeof(((struct STRUCT *)0)->member), ##__VA_ARGS__ }
#define OUT(member)		FIELD(member, OUT)
#define POINTER(member, elements, length_member)				\
	FIELD(member, POINTER, .elem = UAPI_##elements, .length = #length_member)

#define STRUCT tramp_info
static const struct uapi_field info[] = {
	FIELD(size, SIZE), FIELD(flags, FLAGS, .flags = none), OUT(abi_version), OUT(max_progs),
	OUT(max_slots), OUT(symbols_found), OUT(symbols_missing),
	FIELD(missing_len, LENGTH, .back = true), OUT(features), OUT(links), OUT(targets),
	OUT(images), OUT(retiring), OUT(image_bytes), POINTER(missing, BYTES, missing_len),
	OUT(version), OUT(probes), OUT(optimised), OUT(grace_periods),
};
#undef STRUCT

#define STRUCT tramp_attach
static const struct uapi_field attach[] = {
	FIELD(size, SIZE), FIELD(flags, FLAGS, .flags = attach_flags), FIELD(prog_fd, PROG_FD),
	FIELD(__reserved, RESERVED), FIELD(cookie, ANY), FIELD(link_fd, FD_OUT), OUT(link_id),
	OUT(mode), OUT(kind), OUT(key), OUT(func_addr), FIELD(refusal, REFUSAL), FIELD(addr, ADDR),
	FIELD(offset, OFFSET), FIELD(symbol, SYMBOL), FIELD(module, MODULE), OUT(mode_reason),
	FIELD(__reserved2, RESERVED), FIELD(maxactive, NUMBER, .max = TRAMP_MAX_MAXACTIVE),
	FIELD(__reserved3, RESERVED),
};
#undef STRUCT

#define STRUCT tramp_explain
static const struct uapi_field explain[] = {
	FIELD(size, SIZE), FIELD(flags, FLAGS, .flags = none),
	FIELD(btf_obj_id, BTF_OBJ, .back = true), FIELD(btf_id, BTF_ID, .back = true),
	FIELD(name, SYMBOL, .back = true), FIELD(module, MODULE, .back = true), OUT(can),
	OUT(fentry_reason), OUT(fexit_reason),
	OUT(mode), OUT(nr_progs), OUT(nr_args), OUT(nr_slots), OUT(ret_size), OUT(func_addr),
	OUT(site_addr), OUT(key), OUT(holder), FIELD(refusal, WHY), OUT(ret_mode),
	OUT(ret_reason),
};
#undef STRUCT

#define STRUCT tramp_query
static const struct uapi_field query[] = {
	FIELD(size, SIZE), FIELD(flags, FLAGS, .flags = query_flags),
	FIELD(link_id, LINK_ID, .back = true), OUT(prog_id), OUT(kind), OUT(mode), OUT(pos),
	OUT(nr_progs), OUT(cookie), OUT(key), OUT(index), OUT(btf_obj_id), OUT(btf_id),
	OUT(image_size), OUT(func_addr), OUT(image_addr), OUT(hits), OUT(misses),
	POINTER(image, BYTES, image_len), FIELD(image_len, LENGTH, .back = true), OUT(sleepable),
	OUT(func_name), OUT(module), OUT(prog_name), FIELD(refusal, REFUSAL), OUT(probe_addr),
	OUT(offset), OUT(mode_reason), OUT(region_len), OUT(reason_addr), OUT(nr_funcs),
	OUT(__reserved),
};
#undef STRUCT

#define STRUCT tramp_explain_code
static const struct uapi_field explain_code[] = {
	FIELD(size, SIZE), FIELD(flags, FLAGS, .flags = code_flags), FIELD(addr, ADDR),
	FIELD(offset, OFFSET), FIELD(symbol, SYMBOL, .back = true),
	FIELD(module, MODULE, .back = true), OUT(func_addr), OUT(func_size),
	POINTER(insns, INSNS, nr_insns), FIELD(nr_insns, LENGTH, .back = true),
	FIELD(code_len, LENGTH, .back = true), POINTER(code, BYTES, code_len),
	FIELD(refusal, REFUSAL),
};
#undef STRUCT

#define STRUCT tramp_attach_multi
static const struct uapi_field attach_multi[] = {
	FIELD(size, SIZE), FIELD(flags, FLAGS, .flags = multi_flags), FIELD(prog_fd, PROG_FD),
	FIELD(nr, LENGTH), POINTER(addrs, ADDRS, nr), POINTER(names, NAMES, names_len),
	POINTER(cookies, COOKIES, nr), POINTER(reasons, REASONS, nr), FIELD(link_fd, FD_OUT),
	OUT(link_id), OUT(kind), OUT(nr_attached), OUT(key), OUT(failed), FIELD(names_len, LENGTH),
	FIELD(refusal, REFUSAL),
};
#undef STRUCT

#define STRUCT tramp_attach_batch
static const struct uapi_field attach_batch[] = {
	FIELD(size, SIZE), FIELD(flags, FLAGS, .flags = none), FIELD(count, LENGTH),
	FIELD(item_size, ELEM_SIZE), POINTER(items, ITEMS, count), OUT(failed),
	FIELD(__reserved, RESERVED), FIELD(refusal, REFUSAL),
};
#undef STRUCT

#define STRUCT tramp_detach_batch
static const struct uapi_field detach_batch[] = {
	FIELD(size, SIZE), FIELD(flags, FLAGS, .flags = none), FIELD(count, LENGTH), OUT(failed),
	POINTER(fds, FDS, count), FIELD(refusal, REFUSAL),
};
#undef STRUCT

/* Those for every command, and what the commands have besides. */
static const int everywhere[] = { EINVAL, E2BIG, EFAULT, EOPNOTSUPP, EMSGSIZE, EPERM, ENOMEM, 0 };
static const int of_info[] = { 0 };
static const int of_attach[] = { EBADF, ENOENT, ENXIO, EBUSY, ENODEV, ERANGE, 0 };
static const int of_explain[] = { ENOENT, ENXIO, 0 };
static const int of_query[] = { ENOENT, 0 };
static const int of_explain_code[] = { ENOENT, ENXIO, EINTR, 0 };
static const int of_attach_multi[] = { EBADF, ENOENT, ENXIO, EBUSY, ENODEV, ERANGE, EINTR, 0 };
static const int of_attach_batch[] = { EBADF, ENOENT, ENXIO, EBUSY, ENODEV, ERANGE, EINTR, EMFILE,
				       ENFILE, 0 };
static const int of_detach_batch[] = { EBADF, 0 };

#define COMMAND(NAME, members, ...)						\
	{ .name = #NAME, .type = "tramp_" #members, .nr = TRAMP_IOC_##NAME,	\
	  .size = sizeof(struct tramp_##members), .min = TRAMP_##NAME##_MIN_SIZE, \
	  .fields = members, .nr_fields = sizeof(members) / sizeof((members)[0]), \
	  .errnos = of_##members, ##__VA_ARGS__ }

const struct uapi_command uapi_commands[UAPI_COMMANDS] = {
	COMMAND(INFO, info, .open_only = true),
	COMMAND(ATTACH, attach),
	COMMAND(EXPLAIN, explain),
	COMMAND(QUERY, query),
	COMMAND(EXPLAIN_CODE, explain_code),
	COMMAND(ATTACH_MULTI, attach_multi),
	COMMAND(ATTACH_BATCH, attach_batch),
	COMMAND(DETACH_BATCH, detach_batch, .open_only = true),
};

const struct uapi_command *uapi_command(const char *name)
{
	unsigned int i;

	for (i = 0; i < UAPI_COMMANDS; i++) {
		if (!strcmp(uapi_commands[i].name, name))
			return &uapi_commands[i];
	}
	abort();
}

const struct uapi_field *uapi_field(const struct uapi_command *c, const char *name)
{
	unsigned int i;

	for (i = 0; i < c->nr_fields; i++) {
		if (!strcmp(c->fields[i].name, name))
			return &c->fields[i];
	}
	abort();
}

static bool lists(const int *errnos, int error)
{
	while (*errnos && *errnos != error)
		errnos++;
	return *errnos;
}

bool uapi_may_fail(const struct uapi_command *c, int error)
{
	return lists(everywhere, error) || lists(c->errnos, error);
}

int uapi_hole(const struct uapi_command *c)
{
	unsigned int i, next = 0;

	for (i = 0; i < c->nr_fields; i++) {
		if (c->fields[i].at != next)
			return next;
		next += c->fields[i].len;
	}
	return next == c->size ? -1 : (int)next;
}
