/* SPDX-License-Identifier: LGPL-2.1 OR BSD-2-Clause */
/*
 * libtrampoline: what could be attached to a function, and why not. For probes at its
 * instructions see trampoline/probe.h.
 */
#ifndef TRAMPOLINE_EXPLAIN_H
#define TRAMPOLINE_EXPLAIN_H

#include <trampoline/symbols.h>

#ifdef __cplusplus
extern "C" {
#endif

/**
 * struct tramp_explanation - what could be attached to a function, or why not
 * @sz: sizeof(struct tramp_explanation)
 * @can: TRAMP_CAN_*
 * @fentry_reason: enum tramp_reason: why no entry programs; 0: can be
 * @fexit_reason: enum tramp_reason: why no exit programs; 0: can be
 * @mode: enum tramp_mode that an entry program would get now
 * @nr_progs: programs of the module's there now
 * @nr_args: arguments, 0 without BTF
 * @nr_slots: their slots
 * @ret_size: bytes of the result, 0 for void or unknown
 * @btf_obj_id: BTF object that describes it, 0 if none
 * @btf_id: its type there, 0 if none
 * @func_addr: its address, 0 if hidden
 * @site_addr: address of the patched NOP5 or CALL, 0 if hidden or none
 * @key: the target's key, 0 if not described by BTF
 * @name: the function
 * @module: its module; empty: the kernel proper
 * @holder: who else holds its entry; empty: nobody
 * @ret_mode: enum tramp_mode that a return probe would get now: DIRECT, RETHOOK, or NONE
 * @ret_reason: enum tramp_reason: why no return probe, or why one by RETHOOK. Both are 0 from a
 *	module that does not tell
 */
struct tramp_explanation {
	size_t sz;
	uint32_t can;
	uint32_t fentry_reason;
	uint32_t fexit_reason;
	uint32_t mode;
	uint32_t nr_progs;
	uint32_t nr_args;
	uint32_t nr_slots;
	uint32_t ret_size;
	uint32_t btf_obj_id;
	uint32_t btf_id;
	uint64_t func_addr;
	uint64_t site_addr;
	uint64_t key;
	char name[TRAMP_SYM_LEN];
	char module[TRAMP_MOD_LEN];
	char holder[TRAMP_DETAIL_LEN];
	uint32_t ret_mode;
	uint32_t ret_reason;
};
#define tramp_explanation__last_field ret_reason

/**
 * tramp_explain() - ask the module what could be attached to a function
 * @syms: a snapshot to resolve the name in, and to suggest names from; NULL: one
 *	is loaded for this call
 * @spec: "NAME" or "MODULE:NAME"
 * @ex: declared with TRAMP_OPTS(tramp_explanation, ...); filled up to its @sz
 *
 * Succeeds when the question could be answered, also if the answer is
 * "nothing": see @can and the two reasons.
 *
 * Errors: as tramp_syms__find() and tramp_info().
 * Return: 0 or negative errno.
 */
TRAMP_API int tramp_explain(struct tramp_syms *syms, const char *spec,
			    struct tramp_explanation *ex);

/**
 * tramp_explain_btf() - tramp_explain() for a function given by its BTF id
 * @btf_obj_id: the BTF object's id in the kernel
 * @btf_id: a BTF_KIND_FUNC type in it
 * @ex: as for tramp_explain()
 *
 * Return: 0 or negative errno.
 */
TRAMP_API int tramp_explain_btf(uint32_t btf_obj_id, uint32_t btf_id,
				struct tramp_explanation *ex);

#ifdef __cplusplus
}
#endif

#endif /* TRAMPOLINE_EXPLAIN_H */
