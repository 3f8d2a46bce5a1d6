// SPDX-License-Identifier: LGPL-2.1 OR BSD-2-Clause
/*
 * The module as a whole: version, limits, counters, and its features by name.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "../core/device.h"
#include "../core/error.h"
#include "../core/sized.h"

static void fill_module_info(struct tramp_module_info *mine, const struct tramp_info *info)
{
	mine->abi_version = info->abi_version;
	mine->max_progs = info->max_progs;
	mine->max_slots = info->max_slots;
	mine->symbols_found = info->symbols_found;
	mine->symbols_missing = info->symbols_missing;
	mine->links = info->links;
	mine->features = info->features;
	mine->targets = info->targets;
	mine->images = info->images;
	mine->retiring = info->retiring;
	mine->image_bytes = info->image_bytes;
	mine->probes = info->probes;
	mine->optimised = info->optimised;
	mine->grace_periods = info->grace_periods;
	snprintf(mine->version, sizeof(mine->version), "%.*s",
		 (int)sizeof(info->version), info->version);
}

/* The names are cut where they do not fit, at the end of a whole name. */
static void get_missing(int dev, struct tramp_info *info, struct tramp_module_info *mine)
{
	char names[4 * sizeof(mine->missing)] = "";
	char *end;
	int err;

	info->missing = (uintptr_t)names;
	info->missing_len = sizeof(names);
	err = libtramp_dev_cmd(dev, TRAMP_IOC_INFO, info);
	if (err) {
		libtramp_print(TRAMP_PRINT_DEBUG, "names of missing symbols: %s\n",
			       strerror(-err));
		return;
	}
	names[sizeof(names) - 1] = '\0';
	snprintf(mine->missing, sizeof(mine->missing), "%.*s",
		 (int)sizeof(mine->missing) - 1, names);
	if (strlen(names) > strlen(mine->missing)) {
		end = strrchr(mine->missing, '\n');
		if (end)
			*end = '\0';
	}
}

int tramp_info(struct tramp_module_info *user)
{
	struct tramp_module_info mine = { .sz = sizeof(mine) };
	struct tramp_info info = { .size = sizeof(info) };
	int dev, err;

	if (!libtramp_sized_ok(user, user ? user->sz : 0, sizeof(size_t), SIZE_MAX))
		return LIBTRAMP_FAIL(-EINVAL, TRAMP_LIB_BAD_ARGUMENT, "tramp_info()",
				     "info must be declared with TRAMP_OPTS()");
	dev = libtramp_dev_open_any("module");
	if (dev < 0)
		return dev;
	err = libtramp_dev_cmd(dev, TRAMP_IOC_INFO, &info);
	/* Filled even if the versions differ: the caller wants to say which they are. */
	err = libtramp_abi_check(err, &info, "module");
	if (!err && info.symbols_missing)
		get_missing(dev, &info, &mine);
	fill_module_info(&mine, &info);
	libtramp_out(user, user->sz, &mine, sizeof(mine));
	close(dev);
	if (err)
		errno = -err;
	return err;
}

static const struct feature {
	uint64_t bit;
	const char *name;
	const char *desc;
} features[] = {
	{ TRAMP_FEAT_FENTRY, "fentry", "programs at function entry" },
	{ TRAMP_FEAT_FEXIT, "fexit", "programs at function exit" },
	{ TRAMP_FEAT_FMOD_RET, "fmod_ret", "programs that replace a function's result" },
	{ TRAMP_FEAT_SLEEPABLE, "sleepable", "programs that may sleep" },
	{ TRAMP_FEAT_COOKIE, "cookie", "a value of its own for each attachment" },
	{ TRAMP_FEAT_MODULES, "modules", "functions in kernel modules" },
	{ TRAMP_FEAT_FTRACE_OPS, "ftrace-ops", "entry programs beside another direct caller" },
	{ TRAMP_FEAT_INLINE_GUARD, "inline-guard", "guards around programs emitted inline" },
	{ TRAMP_FEAT_KSYMBOL, "ksymbol", "images announced to perf" },
	{ TRAMP_FEAT_UPDATE_PROG, "update-prog", "a link's program replaced without a gap" },
	{ TRAMP_FEAT_KPROBE, "kprobe", "programs at any instruction" },
	{ TRAMP_FEAT_JUMP, "jump", "probes that are reached by a jump instead of an int3" },
	{ TRAMP_FEAT_KRETPROBE, "kretprobe", "kprobe programs at functions' returns" },
	{ TRAMP_FEAT_MULTI, "multi", "one program on many functions" },
	{ TRAMP_FEAT_SESSION, "session", "the same as the kernel's own kprobe.session has them" },
	{ TRAMP_FEAT_MULTI_HELPERS, "multi-helpers",
	  "programs for many functions as the kernel's own kprobe.multi has them" },
	{ TRAMP_FEAT_SESSION_MAP, "session-map",
	  "programs at entries and returns of many functions, whatever the kernel has" },
};

static const struct feature *feature(unsigned int bit)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(features); i++)
		if (bit < 64 && features[i].bit == 1ULL << bit)
			return &features[i];
	return NULL;
}

const char *tramp_feature_name(unsigned int bit)
{
	const struct feature *f = feature(bit);

	return f ? f->name : NULL;
}

const char *tramp_feature_desc(unsigned int bit)
{
	const struct feature *f = feature(bit);

	return f ? f->desc : NULL;
}
