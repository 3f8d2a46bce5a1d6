/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Version, features, limits and totals of the module as JSON.
 */
#ifndef TRAMPCTL_MODULEINFO_H
#define TRAMPCTL_MODULEINFO_H

#include <trampoline/trampoline.h>

#include "json.h"

json_object *module_to_json(const struct tramp_module_info *m);

#endif /* TRAMPCTL_MODULEINFO_H */
