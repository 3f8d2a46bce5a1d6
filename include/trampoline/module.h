/* SPDX-License-Identifier: LGPL-2.1 OR BSD-2-Clause */
/*
 * libtrampoline: what the module on this kernel can do.
 */
#ifndef TRAMPOLINE_MODULE_H
#define TRAMPOLINE_MODULE_H

#include <trampoline/common.h>

#ifdef __cplusplus
extern "C" {
#endif

/**
 * struct tramp_module_info - what the module on this kernel can do
 * @sz: sizeof(struct tramp_module_info)
 * @abi_version: the module's TRAMP_ABI_VERSION
 * @max_progs: programs on one function, all kinds together
 * @max_slots: argument slots of a function that can be attached to
 * @symbols_found: unexported kernel symbols in use
 * @symbols_missing: optional ones this kernel lacks
 * @links: attached links
 * @features: TRAMP_FEAT_*
 * @targets: functions with at least one program of tracing type, or return programs or
 *	sessions in an exit image
 * @images: images that exist, those waiting to be freed included
 * @retiring: images waiting to be freed
 * @image_bytes: executable memory of all images
 * @version: the module's version
 * @missing: names of the missing symbols, one a line, cut if they are too many
 * @probes: probed addresses
 * @optimised: how many of them are jumps
 * @grace_periods: RCU-tasks grace periods the module has waited for since it was loaded
 */
struct tramp_module_info {
	size_t sz;
	uint32_t abi_version;
	uint32_t max_progs;
	uint32_t max_slots;
	uint32_t symbols_found;
	uint32_t symbols_missing;
	uint32_t links;
	uint64_t features;
	uint32_t targets;
	uint32_t images;
	uint32_t retiring;
	uint64_t image_bytes;
	char version[32];
	char missing[1024];
	uint32_t probes;
	uint32_t optimised;
	uint64_t grace_periods;
};
#define tramp_module_info__last_field grace_periods

/**
 * tramp_info() - ask the module what it can do
 * @info: declared with TRAMP_OPTS(tramp_module_info, ...); filled up to its @sz
 *
 * Errors: -ENODEV (TRAMP_LIB_NO_DEVICE), -EPERM, -EPROTO (TRAMP_LIB_ABI_MISMATCH;
 * @info is then filled as far as the two understand each other).
 * Return: 0 or negative errno.
 */
TRAMP_API int tramp_info(struct tramp_module_info *info);

/**
 * tramp_feature_name() - name of a feature bit ("sleepable")
 * @bit: 0 to 63; the feature is 1ULL << @bit in tramp_module_info::features
 *
 * Return: a static string; NULL for a bit this library has no name for.
 */
TRAMP_API const char *tramp_feature_name(unsigned int bit);

/** tramp_feature_desc() - a feature bit as a sentence; like tramp_feature_name() */
TRAMP_API const char *tramp_feature_desc(unsigned int bit);

#ifdef __cplusplus
}
#endif

#endif /* TRAMPOLINE_MODULE_H */
