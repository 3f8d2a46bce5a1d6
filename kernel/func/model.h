/* SPDX-License-Identifier: GPL-2.0 */
/* From a BTF prototype to the model the emitter takes. */
#ifndef TRAMP_MODEL_H
#define TRAMP_MODEL_H

#include <linux/btf.h>
#include "base/tramp.h"
#include "x86/fentry_image.h"

/**
 * tramp_model_from_btf() - the model of a function's prototype
 * @btf: the BTF object
 * @proto: a BTF_KIND_FUNC_PROTO of it
 * @name: the function's name, for the refusal
 * @model: (out) the model
 * @exit_reason: (out) enum tramp_reason why a function of this prototype cannot
 *	have exit programs; untouched if it can
 * @why: why not
 *
 * Refuses every prototype whose arguments may not be where the model says they
 * are, since an image would then hand the function wrong ones.
 *
 * Context: may sleep.
 * Return: 0 or a negative errno with its reason.
 */
int tramp_model_from_btf(struct btf *btf, const struct btf_type *proto, const char *name,
			 struct tramp_x86_model *model, enum tramp_reason *exit_reason,
			 struct tramp_refusal *why);

#endif /* TRAMP_MODEL_H */
