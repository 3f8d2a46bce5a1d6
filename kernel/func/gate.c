// SPDX-License-Identifier: GPL-2.0
/*
 * Gates: what the sites of many functions call, and how single ones get images of their own.
 *
 * ftrace knows one address for all functions of an ops. A single function of many may get
 * programs of its own. Its site cannot simply call another image: between two ops it would have
 * no call, and hits would be lost. Instead the address is that of a gate, a jump:
 *
 *	gate:	jmp	image of many
 *
 * or, while any function has an image of its own,
 *
 *	gate:	jmp	lookup
 *	lookup:	...			finds the function by the return address (x86/lookup.c)
 *		jmp	its image	(1)
 *	tail:	jmp	image of many	(2)
 *		ret
 *
 * A lookup is made anew when one more function gets an image. It is complete and executable
 * before the gate leads there. When a function gets another image, (1) is patched. When it
 * has none any more, (1) leads to the tail, which needs no memory. When the program of many goes
 * and single ones stay, (2) becomes a NOP, so all others return into their function.
 *
 * Any CPU may execute the gate, or a lookup, at any time. All three jumps
 * are patched by tramp_image_poke(), that is by int3 and text_poke_bp() under text_mutex. A CPU
 * that executes one meanwhile sees the old jump or the new one, or the int3, whose handler takes
 * the new one. No CPU comes or goes meanwhile, which would not be synced. So each hit takes the old
 * way or the new one, never none and never both. Only who holds tramp_mutex patches, so no jump
 * changes twice at a time.
 *
 * After a patch tasks may still be on the old way, preempted in
 * a lookup or in front of an image's first instruction. Nobody sleeps there. The old lookup, or
 * the old image, goes to the retire list (base/retire.c) after the patch. Its first grace period
 * waits for all of them: they are (a) there. A task that is preempted in an old lookup may go
 * to an image that was current then. That image is retired later than the lookup, or not at
 * all, so its grace period waits for the task, too.
 */
#include <linux/hashtable.h>
#include <linux/module.h>
#include <linux/slab.h>
#include "base/cache.h"
#include "base/ksyms.h"
#include "base/sorted.h"
#include "ftrace/site.h"
#include "gate.h"
#include "prog/runtime.h"

/* By the address that sites call: there may be as many as there are links. */
static DEFINE_HASHTABLE(gates, 10);

static u64 ret_of(unsigned long func)
{
	return tramp_site_of(func) + MCOUNT_INSN_SIZE;
}

static int no_more(struct tramp_image *image, const void *arg, struct tramp_refusal *why)
{
	return 0;
}

/* A lookup that leads nowhere but to its tail has one pair too few: a gate is a plain jump. */
static int emit_jump(struct tramp_image *image, const void *arg,
		     const struct tramp_x86_call *calls, u8 *buf, u32 len, unsigned long addr,
		     struct tramp_refusal *why)
{
	const struct tramp_gate *gate = arg;
	s32 distance = (s32)(gate->other - (addr + JMP32_INSN_SIZE));

	image->exec.size = JMP32_INSN_SIZE;
	if (addr && addr + JMP32_INSN_SIZE + distance != gate->other)
		return tramp_image_error(TRAMP_X86_OUT_OF_REACH, addr, why);
	buf[0] = JMP32_INSN_OPCODE;
	memcpy(buf + 1, &distance, sizeof(distance));
	return 0;
}

static int emit_lookup(struct tramp_image *image, const void *arg,
		       const struct tramp_x86_call *calls, u8 *buf, u32 len, unsigned long addr,
		       struct tramp_refusal *why)
{
	struct tramp_x86_lookup *search = *(struct tramp_x86_lookup * const *)arg;
	enum tramp_x86_err err = tramp_x86_emit_lookup(search, buf, len, addr);

	image->exec.size = search->size;
	return tramp_image_error(err, 0, why);
}

static struct tramp_image_kind jump_kind __ro_after_init = {
	.prepare = no_more,
	.emit = emit_jump,
};

static struct tramp_image_kind lookup_kind __ro_after_init = {
	.prepare = no_more,
	.emit = emit_lookup,
	.room = TRAMP_GATE_MAX * TRAMP_X86_LOOKUP_PAIR + TRAMP_X86_LOOKUP_REST,
};

static struct tramp_image *create(struct tramp_gate *gate, const struct tramp_image_kind *kind,
				  const void *arg, struct tramp_refusal *why)
{
	LIST_HEAD(no_programs);
	const struct tramp_image_req req = {
		.members = &no_programs,
		.key = gate->key,
		.index = ++gate->index,
		.describe = tramp_slot_call,
	};

	return tramp_image_create(kind, &req, arg, why);
}

/* A jump becomes one to elsewhere; 0: a NOP. Fails only if it is not what we wrote there. */
static bool poke(unsigned long at, unsigned long from, unsigned long to)
{
	return !WARN_ON_ONCE(tramp_image_poke(at, BPF_MOD_JUMP, (void *)from, (void *)to));
}

int tramp_gate_create(struct tramp_gate *gate, struct tramp_refusal *why)
{
	struct tramp_image *jump;

	lockdep_assert_held(&tramp_mutex);
	jump = create(gate, &jump_kind, gate, why);
	if (IS_ERR(jump))
		return PTR_ERR(jump);
	gate->jump = jump;
	gate->to = gate->other;
	gate->live = true;
	hash_add(gates, &gate->node, tramp_gate_code(gate));
	return 0;
}

unsigned long tramp_gate_code(const struct tramp_gate *gate)
{
	return gate->jump->exec.code;
}

s64 tramp_gate_index(const struct tramp_gate *gate, unsigned long func)
{
	u32 i = tramp_first_from(gate->funcs, gate->nr_funcs, func);

	return i < gate->nr_funcs && gate->funcs[i] == func ? (s64)i : -1;
}

static unsigned long tail_of(const struct tramp_gate *gate)
{
	return gate->lookup->exec.code + gate->search.tail;
}

static struct tramp_x86_lookup_pair *find_pair(const struct tramp_gate *gate, u64 ret)
{
	u32 i;

	for (i = 0; i < gate->search.nr; i++) {
		if (gate->search.pairs[i].ret == ret)
			return &gate->search.pairs[i];
	}
	return NULL;
}

static bool in_use(const struct tramp_gate *gate, const struct tramp_x86_lookup_pair *pair)
{
	return pair && pair->target != tail_of(gate);
}

bool tramp_gate_has(const struct tramp_gate *gate, unsigned long func)
{
	return in_use(gate, find_pair(gate, ret_of(func)));
}

bool tramp_gate_any(const struct tramp_gate *gate, u32 first, u32 end)
{
	u32 i;

	for (i = 0; i < gate->search.nr; i++) {
		const struct tramp_x86_lookup_pair *pair = &gate->search.pairs[i];

		if (in_use(gate, pair) && pair->ret > gate->funcs[first] &&
		    (end == gate->nr_funcs || pair->ret < gate->funcs[end]))
			return true;
	}
	return false;
}

/* The gate that a function's site calls, if the function has no image of its own. */
static struct tramp_gate *find_gate(unsigned long func)
{
	unsigned long code = tramp_site_direct(tramp_site_of(func));
	struct tramp_gate *gate;
	s64 i;

	lockdep_assert_held(&tramp_mutex);
	hash_for_each_possible(gates, gate, node, code) {
		if (tramp_gate_code(gate) != code)
			continue;
		i = tramp_gate_index(gate, func);
		if (i < 0 || i >= gate->nr_ready || test_bit(i, gate->foreign))
			continue;
		return tramp_gate_has(gate, func) ? NULL : gate;
	}
	return NULL;
}

u64 tramp_gate_new_request(void)
{
	static atomic64_t last = ATOMIC64_INIT(0);

	return atomic64_inc_return(&last);
}

struct tramp_gate *tramp_gate_find(unsigned long func, u64 request)
{
	struct tramp_gate *gate = find_gate(func);
	u32 before = 0;

	if (gate && request) {
		if (gate->request != request)
			gate->nr_asked = 0;
		gate->request = request;
		before = gate->nr_asked;
	}
	if (!gate || gate->nr_live + before >= TRAMP_GATE_MAX)
		return NULL;
	if (request)
		gate->nr_asked++;
	return gate;
}

bool tramp_gate_runs(unsigned long func)
{
	const struct tramp_gate *gate = find_gate(func);

	return gate && gate->live;
}

/* The pairs in use and one more, in order. Return: NULL without memory. */
static struct tramp_x86_lookup_pair *add_pair(const struct tramp_gate *gate, u64 ret, u64 target)
{
	struct tramp_x86_lookup_pair *pairs =
		kvmalloc_array(gate->nr_live + 1, sizeof(*pairs), GFP_KERNEL);
	u32 i, nr = 0;

	if (!pairs)
		return NULL;
	for (i = 0; i < gate->search.nr; i++) {
		if (in_use(gate, &gate->search.pairs[i]))
			pairs[nr++] = gate->search.pairs[i];
	}
	for (i = nr; i && pairs[i - 1].ret > ret; i--)
		pairs[i] = pairs[i - 1];
	pairs[i] = (struct tramp_x86_lookup_pair){ .ret = ret, .target = target };
	return pairs;
}

/* Calls run the code that was made of @pairs. Only who holds tramp_mutex reads them. */
static void drop_lookup(struct tramp_image *lookup, struct tramp_x86_lookup_pair *pairs)
{
	if (lookup)
		tramp_image_retire(lookup, NULL);
	kvfree(pairs);
}

static int new_lookup(struct tramp_gate *gate, u64 ret, unsigned long code,
		      struct tramp_refusal *why)
{
	struct tramp_x86_lookup search = {
		.env = &tramp_env,
		.pairs = add_pair(gate, ret, code),
		.nr = gate->nr_live + 1,
		.other = gate->other,
	}, *arg = &search;
	struct tramp_image *lookup;

	if (!search.pairs)
		return tramp_refuse(why, TRAMP_REASON_NO_MEMORY, 0, NULL);
	lookup = create(gate, &lookup_kind, &arg, why);
	if (IS_ERR(lookup)) {
		kvfree(search.pairs);
		return PTR_ERR(lookup);
	}
	if (!poke(tramp_gate_code(gate), gate->to, lookup->exec.code)) {
		/* Nothing has ever led to it. */
		tramp_image_destroy(lookup);
		kvfree(search.pairs);
		return tramp_refuse(why, TRAMP_REASON_SITE_BUSY, 0, NULL);
	}
	drop_lookup(gate->lookup, gate->search.pairs);
	gate->to = lookup->exec.code;
	gate->lookup = lookup;
	gate->search = search;
	gate->nr_live++;
	return 0;
}

static bool point_pair(struct tramp_gate *gate, struct tramp_x86_lookup_pair *pair, u64 target)
{
	if (!poke(gate->lookup->exec.code + pair->jump, pair->target, target))
		return false;
	gate->nr_live += (target != tail_of(gate)) - in_use(gate, pair);
	pair->target = target;
	return true;
}

int tramp_gate_set(struct tramp_gate *gate, unsigned long func, unsigned long code,
		   struct tramp_refusal *why)
{
	struct tramp_x86_lookup_pair *pair = find_pair(gate, ret_of(func));

	lockdep_assert_held(&tramp_mutex);
	if (!pair)
		return new_lookup(gate, ret_of(func), code, why);
	return point_pair(gate, pair, code) ? 0 :
	       tramp_refuse(why, TRAMP_REASON_SITE_BUSY, func, NULL);
}

bool tramp_gate_clear(struct tramp_gate *gate, unsigned long func)
{
	lockdep_assert_held(&tramp_mutex);
	if (!point_pair(gate, find_pair(gate, ret_of(func)), tail_of(gate))) {
		__module_get(THIS_MODULE);
		return false;
	}
	if (gate->nr_live || !gate->live || !poke(tramp_gate_code(gate), gate->to, gate->other))
		return true;
	gate->to = gate->other;
	drop_lookup(gate->lookup, gate->search.pairs);
	gate->lookup = NULL;
	memset(&gate->search, 0, sizeof(gate->search));
	return true;
}

bool tramp_gate_close(struct tramp_gate *gate)
{
	unsigned long other = gate->other;

	lockdep_assert_held(&tramp_mutex);
	gate->other = 0;
	if (!gate->lookup || poke(tail_of(gate), other, 0))
		return true;
	__module_get(THIS_MODULE);
	return false;
}

void tramp_gate_remove(struct tramp_gate *gate)
{
	lockdep_assert_held(&tramp_mutex);
	hash_del(&gate->node);
	drop_lookup(gate->lookup, gate->search.pairs);
	tramp_image_retire(gate->jump, NULL);
}

int __init tramp_gate_init(void)
{
	jump_kind.cache = KMEM_CACHE(tramp_image, 0);
	lookup_kind.cache = jump_kind.cache;
	return jump_kind.cache ? 0 : -ENOMEM;
}

void tramp_gate_exit(void)
{
	tramp_cache_exit(jump_kind.cache);
}
