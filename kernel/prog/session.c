// SPDX-License-Identifier: GPL-2.0
/*
 * Sessions by map: kprobe.session on any kernel.
 *
 * A session's program asks bpf_session_is_return() and bpf_session_cookie(). Kernels before 6.10
 * have neither, and load no program that calls them. There the two are functions of the program's
 * own, which read a per-CPU array (TRAMP_SESSION_MAP): libtrampoline links them in. The program is
 * a plain kprobe program then. Images and callbacks make the run context of a session all the
 * same (multi/layout.c) and call us with it. We put what it says into the array, give the program
 * the run context of a plain one, and take the cookie back to the frame where it lives.
 *
 * The array's words belong to the one kprobe program that runs on this CPU. Preemption is off from
 * before they are written until after they are read, and bpf_prog_active is up. An interrupt or an
 * NMI in between whose program is a kprobe program finds that, and the program is missed. So the
 * words change under nobody, even if sessions share the array.
 *
 * The program has a reference to its maps, and each slot one to its program. A per-CPU array does
 * not move its values. So @words of a slot are there as long as the slot is.
 */
#include <linux/bpf.h>
#include <linux/filter.h>
#include "runtime.h"
#include "session.h"

#define ORIG_AX		BIT(offsetof(struct pt_regs, orig_ax) / sizeof(long))

/* tramp_env.multi_cookie */
struct tramp_funcs;
typedef u64 multi_cookie_t(const struct tramp_funcs *funcs, unsigned long addr);

static __always_inline u64 run(struct pt_regs *regs, struct tramp_slot *slot, bool stats)
{
	const struct tramp_x86_env *env = &tramp_env;
	/* An interrupt's programs put back what they find. */
	const void *session = data_race(current->bpf_ctx);
	unsigned long func = *(const unsigned long *)(session + env->multi_ctx_ip);
	u64 *cookie = *(u64 * const *)(session + env->multi_ctx_data);
	struct tramp_session_words *words = NULL;
	struct bpf_trace_run_ctx run_ctx = {};
	struct bpf_run_ctx *old;
	u64 ret;

	if (slot->regs & ORIG_AX)
		regs->orig_ax = func;
	if (slot->call_flags & TRAMP_X86_CALL_COOKIE)
		run_ctx.bpf_cookie = ((multi_cookie_t *)env->multi_cookie)((void *)slot->link,
									   func);
	if (slot->words) {
		words = this_cpu_ptr(slot->words);
		words->is_return = *(const bool *)(session + env->multi_ctx_is_return);
		words->cookie = *cookie;
	}
	/* As above. */
	old = data_race(bpf_set_run_ctx(&run_ctx.run_ctx));
	ret = stats ? bpf_prog_run(slot->prog, regs) :
		      bpf_dispatcher_nop_func(regs, slot->prog->insnsi, slot->prog->bpf_func);
	/* As above. */
	data_race(({ bpf_reset_run_ctx(old); 0; }));
	if (words)
		*cookie = words->cookie;
	/* A BPF program returns an int. */
	return (u32)ret;
}

notrace u64 tramp_session_call(struct pt_regs *regs, struct tramp_slot *slot)
{
	return run(regs, slot, false);
}

notrace u64 tramp_session_run(struct pt_regs *regs, struct tramp_slot *slot)
{
	return run(regs, slot, true);
}

/*
 * A program that asks neither question needs no map. But one that it tail-calls may ask, and only
 * the maps of the first are known.
 */
static int find_words(struct tramp_slot *slot, struct tramp_refusal *why)
{
	struct bpf_prog_aux *aux = slot->prog->aux;
	const struct bpf_array *array;
	bool tail_calls = false;
	int err = 0;
	u32 i;

	mutex_lock(&aux->used_maps_mutex);
	for (i = 0; i < aux->used_map_cnt; i++) {
		const struct bpf_map *map = aux->used_maps[i];

		tail_calls |= map->map_type == BPF_MAP_TYPE_PROG_ARRAY;
		if (strcmp(map->name, TRAMP_SESSION_MAP))
			continue;
		/* BPF_PROG_BIND_MAP adds maps: the program looks into one of them only. */
		if (slot->words) {
			err = tramp_refuse(why, TRAMP_REASON_SYNTAX, 0, "two maps %s",
					   TRAMP_SESSION_MAP);
			break;
		}
		if (map->map_type != BPF_MAP_TYPE_PERCPU_ARRAY ||
		    map->value_size != sizeof(struct tramp_session_words)) {
			err = tramp_refuse(why, TRAMP_REASON_SYNTAX, 0,
					   "%s is no per-CPU array of struct tramp_session_words",
					   TRAMP_SESSION_MAP);
			break;
		}
		array = container_of(map, struct bpf_array, map);
		slot->words = array->pptrs[0];
	}
	mutex_unlock(&aux->used_maps_mutex);
	if (!err && !slot->words && tail_calls)
		err = tramp_refuse(why, TRAMP_REASON_SYNTAX, 0,
				   "%s has no map %s, but what it tail-calls may have one",
				   aux->name, TRAMP_SESSION_MAP);
	return err;
}

int tramp_session_make(struct tramp_slot *slot, struct tramp_refusal *why)
{
	u32 type = slot->prog->expected_attach_type;
	int err;

	if (!tramp_env.has_session)
		return tramp_refuse(why, TRAMP_REASON_MISSING_SYMBOL, 0,
				    "room in struct bpf_kprobe_multi_run_ctx");
	if (type)
		return tramp_refuse(why, TRAMP_REASON_ATTACH_TYPE, 0,
				    "attach type %u, and F_SESSION", type);
	slot->words = NULL;
	err = find_words(slot, why);
	if (err)
		return err;
	slot->session = true;
	slot->call_flags = (slot->call_flags & TRAMP_X86_CALL_COOKIE) | TRAMP_X86_CALL_MULTI;
	return 0;
}
