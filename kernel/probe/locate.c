// SPDX-License-Identifier: GPL-2.0
/*
 * Find the place of a probe: from an address, or a symbol and an offset, to the instruction
 * there and the original bytes behind it. The rules for it are in rules.c.
 */
#include <linux/kallsyms.h>
#include "base/ksyms.h"
#include "base/peek.h"
#include "internal.h"
#include "text/map.h"

int tramp_place_check_syntax(const struct tramp_probe_at *at, struct tramp_refusal *why)
{
	if (!at->addr == !*at->symbol)
		return tramp_refuse(why, TRAMP_REASON_SYNTAX, 0,
				    "a probe needs either an address or a symbol");
	if (at->addr && (at->offset || *at->module))
		return tramp_refuse(why, TRAMP_REASON_SYNTAX, 0,
				    "offset and module go with a symbol");
	return 0;
}

/*
 * Is it text at all, and whose? The loader may be dropping a module's init text meanwhile: then
 * no symbol holds the address.
 */
static int find_owner(struct tramp_place *place, struct tramp_refusal *why)
{
	unsigned long addr = place->addr;
	enum module_state state;
	struct module *mod;
	int err = 0;

	if (KSYM(core_kernel_text)(addr))
		return 0;
	if (tramp_ksym_between(addr, tramp_ksyms._sinittext, tramp_ksyms._einittext))
		return tramp_refuse(why, TRAMP_REASON_INIT_TEXT, addr, NULL);
	preempt_disable();
	mod = KSYM(__module_text_address)(addr);
	state = mod ? tramp_module_state(mod) : MODULE_STATE_GOING;
	if (!mod)
		err = tramp_refuse(why, TRAMP_REASON_NOT_TEXT, addr, NULL);
	else if (mod == THIS_MODULE)
		err = tramp_refuse(why, TRAMP_REASON_OWN_MODULE, addr, NULL);
	else if (state != MODULE_STATE_LIVE)
		err = tramp_refuse(why, TRAMP_REASON_MODULE_GONE, addr, "%s is %s", mod->name,
				   state == MODULE_STATE_GOING ? "going" : "still coming");
	else if (!tramp_module_keeps(mod, addr))
		err = tramp_refuse(why, TRAMP_REASON_INIT_TEXT, addr, "%s", mod->name);
	preempt_enable();
	place->module = mod;
	return err;
}

/*
 * ENDBR64 must stay what an indirect branch lands on; the function begins behind it. The
 * kernel seals the ENDBR of functions that nothing branches to indirectly: a NOP4.
 */
unsigned long tramp_place_entry(unsigned long addr)
{
	/* In the text its number would be one more ENDBR. */
	u32 first, sealed = 0x001f0f66, inverted = ~0xfa1e0ff3U;

	OPTIMIZER_HIDE_VAR(inverted);
	/* Or a site that a tracer may be patching; no state of one begins like these. */
	tramp_peek(&first, addr, sizeof(first));
	return addr + (first == ~inverted || first == sealed ? sizeof(first) : 0);
}

bool tramp_place_is_site(unsigned long addr)
{
	return KSYM(ftrace_location)(addr) == addr;
}

/*
 * The symbol that holds @base. A module may go at any time: its text is read with preemption off,
 * which the kernel waits for before it frees any.
 */
static int find_symbol(unsigned long base, struct tramp_place *place)
{
	int err = -ENOENT;

	preempt_disable();
	if ((KSYM(core_kernel_text)(base) || KSYM(__module_text_address)(base)) &&
	    tramp_text_symbol(base, &place->sym)) {
		place->entry_addr = tramp_place_entry(place->sym.start);
		err = 0;
	}
	preempt_enable();
	return err;
}

static int resolve(const struct tramp_probe_at *at, struct tramp_place *place,
		   struct tramp_refusal *why)
{
	char full[TRAMP_MOD_LEN + TRAMP_SYM_LEN] = "";
	unsigned long base = at->addr;
	u32 nr = 0;
	int err;

	memset(place, 0, sizeof(*place));
	if (!base) {
		snprintf(full, sizeof(full), "%s%s%s", at->module, *at->module ? ":" : "",
			 at->symbol);
		base = tramp_text_lookup(full, &nr);
	}
	if (!base)
		return tramp_refuse(why, TRAMP_REASON_NO_SUCH_FUNCTION, 0, "%s", full);
	place->addr = base;
	err = find_owner(place, why) ?: tramp_text_refuse_many(full, nr, base, why);
	if (!err && !at->addr && !*at->module)
		err = tramp_text_unique(NULL, at->symbol, base, why);
	if (err)
		return err;
	if (find_symbol(base, place))
		return tramp_refuse(why, TRAMP_REASON_NOT_TEXT, base, "%s",
				    at->addr ? "no symbol holds it" : full);
	if (at->offset >= place->sym.start + place->sym.size - base)
		return tramp_refuse(why, TRAMP_REASON_OFFSET_RANGE, base, "%s has %lu bytes", full,
				    place->sym.start + place->sym.size - base);
	place->addr = base + at->offset;
	if (place->addr == place->sym.start)
		place->addr = place->entry_addr;
	return 0;
}

/* Take the instruction and what follows. Text locked. */
static int read_code(struct tramp_place *place, struct tramp_refusal *why)
{
	unsigned long before, addr = place->addr, start = place->sym.start;
	bool site = tramp_place_is_site(addr);

	if (!site && !tramp_map_ready(addr))	/* another module than when it was read */
		return tramp_refuse(why, TRAMP_REASON_MODULE_GONE, addr, NULL);
	if (!site && !tramp_map_start(addr, &before)) {
		if (before < start || before > addr)	/* nothing in it could be decoded */
			before = start;
		return tramp_refuse(why, TRAMP_REASON_NOT_BOUNDARY, before,
				    "the instruction before it starts at +%#lx", before - start);
	}
	place->code_len = min_t(unsigned long, start + place->sym.size - addr,
				sizeof(place->code));
	tramp_text_original(addr, start, place->code, place->code_len);
	if (!tramp_x86_decode(place->code, place->code_len, &place->insn))
		return tramp_refuse(why, TRAMP_REASON_NOT_BOUNDARY, addr, "no instruction");
	return 0;
}

int tramp_place_address(const struct tramp_probe_at *at, unsigned long *addr,
			struct tramp_refusal *why)
{
	struct tramp_place place;
	int err = resolve(at, &place, why);

	*addr = place.addr;
	return err;
}

int tramp_place_locate(const struct tramp_probe_at *at, struct tramp_place *place, bool exact,
		       struct tramp_refusal *why)
{
	int err;

	lockdep_assert_held(&tramp_mutex);
	err = resolve(at, place, why);
	if (err)
		return err;
	place->entry = place->addr == place->entry_addr;
	tramp_place_deny(place);
	if (!exact)
		return 0;
	tramp_text_lock();
	err = read_code(place, why);
	tramp_text_unlock();
	return err;
}
