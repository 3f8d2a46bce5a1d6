// SPDX-License-Identifier: LGPL-2.1 OR BSD-2-Clause
/*
 * Explaining a function: what the module could attach to it, or why not.
 *
 * The module answers best when asked by BTF id, since it then knows the
 * prototype; a name is its second choice. So the name is resolved here, where
 * misspellings can be met with suggestions.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "../core/device.h"
#include "../core/error.h"
#include "../core/sized.h"

static int explain(struct tramp_explain *cmd, const char *subject,
		   struct tramp_explanation *user)
{
	struct tramp_explanation ex = { .sz = sizeof(ex) };
	int dev, err;

	dev = libtramp_dev_open(subject);
	if (dev < 0)
		return dev;
	err = libtramp_dev_cmd(dev, TRAMP_IOC_EXPLAIN, cmd);
	close(dev);
	if (err)
		return libtramp_fail_ioctl(err, &cmd->refusal, "EXPLAIN", subject);
	ex.can = cmd->can;
	ex.fentry_reason = cmd->fentry_reason;
	ex.fexit_reason = cmd->fexit_reason;
	ex.mode = cmd->mode;
	ex.nr_progs = cmd->nr_progs;
	ex.nr_args = cmd->nr_args;
	ex.nr_slots = cmd->nr_slots;
	ex.ret_size = cmd->ret_size;
	ex.ret_mode = cmd->ret_mode;
	ex.ret_reason = cmd->ret_reason;
	ex.btf_obj_id = cmd->btf_obj_id;
	ex.btf_id = cmd->btf_id;
	ex.func_addr = cmd->func_addr;
	ex.site_addr = cmd->site_addr;
	ex.key = cmd->key;
	snprintf(ex.name, sizeof(ex.name), "%.*s", (int)sizeof(ex.name) - 1, cmd->name);
	snprintf(ex.module, sizeof(ex.module), "%.*s", (int)sizeof(ex.module) - 1, cmd->module);
	snprintf(ex.holder, sizeof(ex.holder), "%.*s", (int)sizeof(ex.holder) - 1, cmd->holder);
	libtramp_out(user, user->sz, &ex, sizeof(ex));
	return 0;
}

static int check_ex(const struct tramp_explanation *ex)
{
	if (libtramp_sized_ok(ex, ex ? ex->sz : 0, sizeof(size_t), SIZE_MAX))
		return 0;
	return LIBTRAMP_FAIL(-EINVAL, TRAMP_LIB_BAD_ARGUMENT, "tramp_explain()",
			     "ex must be declared with TRAMP_OPTS(tramp_explanation, ...)");
}

int tramp_explain_btf(uint32_t btf_obj_id, uint32_t btf_id, struct tramp_explanation *ex)
{
	struct tramp_explain cmd = {
		.size = sizeof(cmd),
		.btf_obj_id = btf_obj_id,
		.btf_id = btf_id,
	};
	char subject[64];
	int err;

	err = check_ex(ex);
	if (err)
		return err;
	snprintf(subject, sizeof(subject), "BTF object %u type %u", btf_obj_id, btf_id);
	/* Object 0 would ask by name, with an empty one. */
	if (!btf_obj_id || !btf_id)
		return LIBTRAMP_FAIL(-EINVAL, TRAMP_LIB_BAD_ARGUMENT, subject, "ids start at 1");
	return explain(&cmd, subject, ex);
}

static int explain_sym(struct tramp_syms *syms, const struct tramp_sym *sym, const char *spec,
		       struct tramp_explanation *ex)
{
	struct tramp_explain cmd = { .size = sizeof(cmd) };
	char subject[LIBTRAMP_SUBJECT_LEN];
	uint32_t obj_id;
	int id;

	snprintf(subject, sizeof(subject), "function '%s'", spec);
	id = tramp_syms__btf_id(syms, sym, &obj_id);
	if (id > 0) {
		cmd.btf_obj_id = obj_id;
		cmd.btf_id = id;
	} else {
		/* Without BTF, or without the right to list it, the name has to do. */
		if (strlen(sym->name) >= sizeof(cmd.name))
			return LIBTRAMP_FAIL(-ENAMETOOLONG, TRAMP_LIB_BAD_ARGUMENT, subject,
					     "names of up to %zu characters can be asked for",
					     sizeof(cmd.name) - 1);
		strcpy(cmd.name, sym->name);
		snprintf(cmd.module, sizeof(cmd.module), "%s", sym->module);
	}
	return explain(&cmd, subject, ex);
}

int tramp_explain(struct tramp_syms *syms, const char *spec, struct tramp_explanation *ex)
{
	const struct tramp_sym *sym;
	struct tramp_syms *own = NULL;
	int err;

	err = check_ex(ex);
	if (err)
		return err;
	if (!syms) {
		syms = own = tramp_syms__load(NULL);
		if (!syms)
			return -errno;
	}
	sym = tramp_syms__find(syms, spec);
	err = sym ? explain_sym(syms, sym, spec, ex) : -errno;
	tramp_syms__free(own);
	if (err)
		errno = -err;
	return err;
}
