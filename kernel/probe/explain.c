// SPDX-License-Identifier: GPL-2.0
/*
 * EXPLAIN_CODE: what a probe at each instruction of a function would become.
 *
 * It asks the code that decides for ATTACH (locate.c, rules.c). It leaves out what only the act
 * can tell: whether memory in reach is left, and whether the hook can be had (kprobe_veto.c).
 * It also says what may be a jump while jumps are switched off.
 */
#include <linux/bitmap.h>
#include <linux/kallsyms.h>
#include <linux/mm.h>
#include <linux/sched/signal.h>
#include <linux/uaccess.h>
#include "base/ksyms.h"
#include "base/rights.h"
#include "ftrace/site.h"
#include "func/target.h"
#include "internal.h"
#include "text/map.h"
#include "trap.h"

/* Instructions that are looked at before others may have the mutex. */
#define AT_A_TIME	256

/*
 * As many int3s in a row, and nothing else behind them, are padding: alignment, which is to 64
 * bytes at most between functions, makes fewer.
 */
#define PADDING		64

/* A function's instructions, and what the reply says of them. */
struct explained {
	struct tramp_place place;	/* of the instruction asked for, or the first */
	struct tramp_insn_info *infos;
	u8 *code;
	u32 nr;
};

static void explain_one(struct tramp_place *place, struct tramp_insn_info *info)
{
	const struct tramp_probe *probe = tramp_probe_lookup(place->addr);
	unsigned long start = place->sym.start, where = 0;
	struct tramp_refusal why = {};
	enum tramp_mode mode;
	u32 len = 0;

	info->offset = place->addr - start;
	info->len = place->insn.len;
	info->where = info->offset;
	if (probe && probe->nr)
		info->flags |= TRAMP_INSN_F_PROBED;

	if (tramp_place_check(place, &why)) {
		info->mode = TRAMP_MODE_NONE;
		info->reason = why.reason;
		return;
	}
	info->reason = tramp_place_mode(place, false, &mode);
	info->mode = mode;
	if (mode != TRAMP_MODE_INT3)
		return;
	info->reason = tramp_place_region(place, &len, &where);
	info->mode = info->reason ? TRAMP_MODE_INT3 : TRAMP_MODE_JUMP;
	info->region_len = info->reason ? 0 : len;
	if (where >= start && where < start + place->sym.size)
		info->where = where - start;
}

/* A function's entry: whether its own image runs the program (probe.c: attach_direct()). */
static void explain_entry(const struct tramp_place *place, struct tramp_insn_info *info)
{
	const struct tramp_target *target = tramp_target_find(place->sym.start, 0);

	if (place->addr != place->entry_addr)
		return;
	if (target && target->nr[TRAMP_LIST_KPROBE])
		info->flags |= TRAMP_INSN_F_PROBED;
	/* One more program joins those that came by a callback. */
	if (tramp_probe_lookup(place->addr))
		return;
	info->mode = tramp_target_entry_mode(place->sym.start, place->addr);
	if (info->mode == TRAMP_MODE_FTRACE_OPS && tramp_site_check_bytes(place->addr, NULL)) {
		info->mode = TRAMP_MODE_NONE;
		info->reason = TRAMP_REASON_FOREIGN_BYTES;
	}
}

/*
 * Decode the whole function: its original bytes, and where instructions start. It ends at
 * bytes that cannot be decoded (data, at the end), and at padding. Behind
 * the last symbols of the text may be megabytes of that, up to the next large page, since
 * kallsyms has no sizes. Text locked.
 */
static u32 decode_all(const struct tramp_symbol *sym, u8 *code, unsigned long *starts)
{
	unsigned long at, end = sym->start + sym->size;
	struct tramp_x86_insn insn;
	struct tramp_cursor c;
	u32 nr = 0, int3s = 0;

	tramp_cursor_init(&c, sym->start, end);
	for (at = c.addr; tramp_cursor_next(&c, &insn); at = c.addr) {
		memcpy(code + (at - sym->start), insn.bytes, insn.len);
		__set_bit(at - sym->start, starts);
		nr++;
		int3s = insn.bytes[0] == 0xcc ? int3s + 1 : 0;
		if (int3s == PADDING && !memchr_inv((void *)at, 0xcc, end - at)) {
			memset(code + (at - sym->start), 0xcc, end - at);
			bitmap_clear(starts, at + 1 - PADDING - sym->start, PADDING);
			return nr - PADDING;
		}
	}
	return nr;
}

/* Others have had the mutex: the function may not be there any more. */
static int take_up(struct explained *e, struct tramp_refusal *why)
{
	const struct tramp_place was = e->place;
	const struct tramp_probe_at at = { .addr = was.sym.start };
	int err;

	mutex_lock(&tramp_mutex);
	if (fatal_signal_pending(current))
		return -ERESTARTSYS;
	err = tramp_place_locate(&at, &e->place, false, why);
	if (err)
		return err;
	if (e->place.sym.start != was.sym.start || e->place.sym.size != was.sym.size ||
	    !tramp_map_ready(at.addr))
		return tramp_refuse(why, TRAMP_REASON_MODULE_GONE, at.addr, NULL);
	/* Decoding the whole function for that again and again would take for ever. */
	e->place.searched = was.searched;
	e->place.indirect = was.indirect;
	return 0;
}

static int breathe(struct explained *e, struct tramp_refusal *why)
{
	mutex_unlock(&tramp_mutex);
	cond_resched();
	return take_up(e, why);
}

/*
 * Memory that is kept while the caller's is written, which user space can make wait. So it is
 * charged to his cgroup, and that may have him wait for seconds: without the mutex.
 */
static int make_room(struct explained *e, void *buf, size_t nr, size_t size,
		     struct tramp_refusal *why)
{
	void **where = buf;
	int err;

	mutex_unlock(&tramp_mutex);
	*where = kvcalloc(nr, size, GFP_KERNEL_ACCOUNT);
	err = take_up(e, why);
	return err ?: *where ? 0 : -ENOMEM;
}

/* All instructions, or the one that is asked for. Fills in @e->infos. */
static int explain_all(struct explained *e, bool one, struct tramp_refusal *why)
{
	struct tramp_symbol *sym = &e->place.sym;
	unsigned long offset, entry, asked = e->place.addr - sym->start;
	struct tramp_insn_info *info;
	unsigned long *starts;
	int err;
	u32 nr;

	starts = kvcalloc(BITS_TO_LONGS(sym->size), sizeof(long), GFP_KERNEL);
	if (!starts)
		return -ENOMEM;
	err = make_room(e, &e->code, sym->size, 1, why);
	if (err)
		goto out;
	tramp_text_lock();
	nr = decode_all(sym, e->code, starts);
	tramp_text_unlock();
	err = make_room(e, &e->infos, one ? 1 : nr, sizeof(*e->infos), why);
	if (err)
		goto out;
	if (one)
		__set_bit(asked, starts);	/* also in the padding */
	for_each_set_bit(offset, starts, sym->size) {
		if (one && offset != asked)
			continue;
		if (e->nr % AT_A_TIME == AT_A_TIME - 1) {
			err = breathe(e, why);
			if (err)
				break;
		}
		/* A probe at an ENDBR that begins the function is one behind it. */
		entry = offset ? 0 : tramp_place_entry(sym->start) - sym->start;
		if (entry == sym->size)
			entry = 0;
		e->place.addr = sym->start + offset + entry;
		/* As far as a region may reach. */
		e->place.code_len = min_t(unsigned long, sizeof(e->place.code),
					  sym->size - offset - entry);
		memcpy(e->place.code, e->code + offset + entry, e->place.code_len);
		if (!tramp_x86_decode(e->place.code, e->place.code_len, &e->place.insn))
			break;
		info = &e->infos[e->nr++];
		tramp_text_lock();
		explain_one(&e->place, info);
		tramp_text_unlock();
		/* ftrace's locks are outside of the text's. */
		if (info->mode == TRAMP_MODE_FTRACE_OPS)
			explain_entry(&e->place, info);
		if (entry) {
			info->offset = 0;
			info->len = entry;
			info->flags &= ~TRAMP_INSN_F_PROBED;
			info->where = info->where == entry ? 0 : info->where;
		}
	}
out:
	kvfree(starts);
	return err;
}

static int copy_out(struct tramp_explain_code *ex, const struct explained *e, bool show)
{
	u32 nr_insns = ex->nr_insns, code_len = ex->code_len;

	ex->nr_insns = e->nr;
	ex->code_len = e->place.sym.size;
	if (ex->code && !show)
		return tramp_refuse(&ex->refusal, TRAMP_REASON_HIDDEN_ADDRESS, 0, NULL);
	if ((ex->insns && nr_insns < e->nr) || (ex->code && code_len < ex->code_len))
		return -EMSGSIZE;
	if (ex->insns && copy_to_user(u64_to_user_ptr(ex->insns), e->infos,
				      e->nr * sizeof(*e->infos)))
		return -EFAULT;
	if (ex->code && copy_to_user(u64_to_user_ptr(ex->code), e->code, ex->code_len))
		return -EFAULT;
	return 0;
}

/* As before ATTACH: the form of the request, rights, and what branches where. */
static int check_request(struct tramp_explain_code *ex, const struct tramp_probe_at *at)
{
	struct tramp_refusal *why = &ex->refusal;
	int err;

	if (ex->flags & ~TRAMP_CODE_F_ONE)
		return tramp_refuse(why, TRAMP_REASON_SYNTAX, 0, "unknown flags %#x", ex->flags);
	if (strnlen(ex->symbol, sizeof(ex->symbol)) == sizeof(ex->symbol) ||
	    strnlen(ex->module, sizeof(ex->module)) == sizeof(ex->module))
		return tramp_refuse(why, TRAMP_REASON_SYNTAX, 0,
				    "a name without its terminating zero");
	err = tramp_place_check_syntax(at, why);
	if (err)
		return err;
	if (ex->offset && !(ex->flags & TRAMP_CODE_F_ONE))
		return tramp_refuse(why, TRAMP_REASON_SYNTAX, 0,
				    "an offset without TRAMP_CODE_F_ONE");
	return tramp_may_name_address(ex->addr, why) ?: tramp_probe_prepare(at, true, why);
}

static void name_place(struct tramp_explain_code *ex, const struct tramp_place *place, bool show)
{
	char name[KSYM_NAME_LEN];

	if (tramp_text_name(place->sym.start, name, NULL))
		strscpy(ex->symbol, name, sizeof(ex->symbol));
	strscpy(ex->module, place->module ? place->module->name : "", sizeof(ex->module));
	ex->func_addr = show ? place->sym.start : 0;
	ex->func_size = place->sym.size;
}

int tramp_probe_explain(struct tramp_explain_code *ex, bool show)
{
	const struct tramp_probe_at at = tramp_probe_at(ex);
	bool one = ex->flags & TRAMP_CODE_F_ONE;
	struct explained e = {};
	int err;

	err = check_request(ex, &at);
	if (err)
		return err;

	mutex_lock(&tramp_mutex);
	err = tramp_place_locate(&at, &e.place, one, &ex->refusal);
	/* Its module may have gone, and come again, since the map was read. */
	if (!err && !tramp_map_ready(e.place.addr))
		err = tramp_refuse(&ex->refusal, TRAMP_REASON_MODULE_GONE, e.place.addr, NULL);
	if (!err) {
		name_place(ex, &e.place, show);
		err = explain_all(&e, one, &ex->refusal);
	}
	mutex_unlock(&tramp_mutex);

	if (!err)
		err = copy_out(ex, &e, show);
	kvfree(e.infos);
	kvfree(e.code);
	return err;
}
