// SPDX-License-Identifier: GPL-2.0
/*
 * The rules: as what a probe may be at a place.
 *
 * There are three answers. Nowhere near: the place is not the start of an instruction, or its
 * code runs while a probe is being handled. Only a kernel kprobe, which can single-step an
 * instruction that cannot run elsewhere. Or an image of ours, and then perhaps a jump.
 *
 * kernel/x86/safety.c decides what may be a jump. This file tells it who else patches which
 * bytes, and what branches where.
 *
 * Indirect jumps. Only compiled code is probed: code that has an ftrace site, or the .cold part
 * of such code (deny.c). It jumps into the middle of a function where a switch has a table, or by
 * a computed goto. With IBT there is an ENDBR at each such place, which safety.c sees. With
 * retpolines switches have no tables; the kernel proper has one function with computed gotos, and
 * a module may have any. Elsewhere functions are searched for indirect jumps, and one is enough to
 * say no. The .cold part of a function may be where it jumps: no.
 */
#include <linux/extable.h>
#include <linux/kallsyms.h>
#include <linux/module.h>
#include "base/compat.h"
#include "base/ksyms.h"
#include "internal.h"
#include "prog/runtime.h"
#include "text/blacklist.h"
#include "text/map.h"
#include "text/unsafe.h"
#include "trap.h"
#include "x86/relocate.h"

/* Can the instruction be executed elsewhere at all? Its reach depends on where. */
static bool relocates(const struct tramp_x86_insn *insn, unsigned long addr)
{
	struct tasm measure = {};
	enum tramp_x86_reloc err = tramp_x86_relocate(&measure, insn, addr, &tramp_env);

	return err == TRAMP_X86_RELOC_OK || err == TRAMP_X86_RELOC_REACH;
}

/* hlt, mwait and mwaitx */
static bool waits(const struct tramp_x86_insn *insn)
{
	if (insn->vex)
		return false;
	return (!insn->map && insn->opcode == 0xf4) ||
	       (insn->map == 1 && insn->opcode == 0x01 &&
		(tramp_x86_modrm(insn) == 0xc9 || tramp_x86_modrm(insn) == 0xfb));
}

/*
 * sti holds interrupts off for one more instruction, and if that one waits for an
 * interrupt, nothing may come in between. Neither an image nor a kernel kprobe keeps to that.
 */
static bool shadows(const struct tramp_place *place)
{
	struct tramp_x86_insn next;
	u32 len = place->insn.len;

	if (!tramp_x86_is_sti(&place->insn) ||
	    !tramp_x86_decode(place->code + len, place->code_len - len, &next))
		return false;
	return waits(&next) || (next.map == 1 && next.opcode == 0x01);
}

/*
 * Whether the kernel's kprobes lose what the exception table has for it. They execute a copy, at
 * whose address there is no entry. Of all faults a #PF alone has the address put back before the
 * table is searched (kprobe_page_fault()). A #GP has it put back afterwards
 * (gp_try_fixup_and_notify()), others not at all. Then the kernel dies of what the instruction may
 * well do: xrstor, say, of what a user's signal frame has. One kind of entry has the instruction in
 * the text decoded, which is an int3 then (EX_TYPE_ZEROPAD). Others are of other faults.
 */
static bool loses_fixup(const struct tramp_x86_insn *insn, unsigned long addr)
{
	const struct exception_table_entry *entry = KSYM(search_exception_tables)(addr);

	if (!entry)
		return false;
	switch (entry->data & EX_DATA_TYPE_MASK) {
	case EX_TYPE_DEFAULT:
	case EX_TYPE_FAULT:
	case EX_TYPE_UACCESS:
	case EX_TYPE_IMM_REG:
	case EX_TYPE_UCOPY_LEN:
		return !tramp_x86_only_accesses(insn);
	default:
		return true;
	}
}

/*
 * Instructions that the kernel's kprobes take and get wrong (arch/x86/kernel/kprobes/core.c, 6.1
 * and 6.12). Its kprobe_emulate_ret() pops the return address and nothing else, for `ret n` and
 * far returns, too. Its kprobe_emulate_call() has a call return 5 bytes on, also if it has a prefix
 * and is longer. Then its last byte is executed. Compilers put such a prefix (cs) before calls of
 * retpolines for r8 to r15. Its kprobe_emulate_loop() asks whether rcx is 0 before it counts down,
 * so loop, loope and loopne jump once too often. Its prepare_emulation() looks at the opcode byte
 * alone. Behind VEX or EVEX 7f is a store and no branch, and fa no cli. All else it executes as a
 * copy, with interrupts off (setup_singlestep()): a CPU that waits for one there waits for ever.
 * The copy of xbegin keeps its distance, and so leads elsewhere.
 */
const char *tramp_place_kprobe_wrong(const struct tramp_x86_insn *insn, unsigned long addr)
{
	if (insn->vex)
		return "the kernel's kprobes take its opcode for another instruction's";
	if (!insn->map && (insn->opcode == 0xc2 || insn->opcode == 0xca || insn->opcode == 0xcb))
		return "the kernel's kprobes take it for a plain return";
	if (tramp_x86_classify(insn) == TRAMP_X86_CALL && insn->len != TRAMP_X86_JUMP_SIZE)
		return "the kernel's kprobes have this call return into its last byte";
	if (!insn->map && insn->opcode >= 0xe0 && insn->opcode <= 0xe2)
		return "the kernel's kprobes have it loop once too often";
	if (waits(insn))
		return "the kernel's kprobes have it wait with interrupts off";
	if (!insn->map && insn->opcode == 0xc7 && tramp_x86_modrm(insn) == 0xf8)
		return "the kernel's kprobes have it abort to elsewhere";
	if (loses_fixup(insn, addr))
		return "the kernel's kprobes lose its fix-up";
	return NULL;
}

static int refuse_listed(struct tramp_refusal *why, u32 reason, unsigned long addr)
{
	return tramp_refuse(why, reason, addr, "listed by the trampoline module");
}

int tramp_place_check(struct tramp_place *place, struct tramp_refusal *why)
{
	unsigned long at, addr = place->addr, last = addr + place->insn.len - 1;
	u32 reason;

	tramp_text_assert_locked();
	place->reason = 0;
	place->where = 0;
	if (tramp_text_blacklisted(addr, &place->sym, place->module))
		return tramp_refuse(why, TRAMP_REASON_BLACKLISTED, addr, NULL);
	/* The kernel's kprobes accept these, and do harm: deny.c. */
	if (place->untraced)
		return tramp_refuse(why, TRAMP_REASON_NOTRACE, addr, NULL);
	place->ftrace = tramp_place_is_site(addr);
	if (place->ftrace) {
		reason = tramp_text_unsafe_for(place->unsafe, false);
		return reason ? refuse_listed(why, reason, addr) : 0;
	}
	if (place->refuse)
		return refuse_listed(why, place->denied, addr);
	/*
	 * Of a live patch the kernel writes addresses whenever a module comes or goes that it
	 * patches, and refuses that module if it finds other bytes than its own
	 * (apply_relocate_add()).
	 */
	if (place->module && is_livepatch_module(place->module))
		return tramp_refuse(why, TRAMP_REASON_RESERVED, addr, "of a live patch");
	if (tramp_map_reserved(addr, addr + 1) ||
	    (tramp_x86_classify(&place->insn) == TRAMP_X86_FIXED && KSYM(find_bug)(addr)))
		return tramp_refuse(why, TRAMP_REASON_RESERVED, addr, NULL);
	/*
	 * Not ours, nor of a kprobe: a debugger's, or put behind returns and jumps by compilers,
	 * against speculation. Kprobes take none either (__copy_instruction()).
	 */
	if (place->insn.bytes[0] == 0xcc)
		return tramp_refuse(why, TRAMP_REASON_INSN_FIXED, addr, NULL);

	/* First where no kprobe may be optimised, not even one that is there (attach_kprobe()). */
	if (place->denied)
		place->reason = place->denied;
	else if (tramp_text_has_kprobe(addr, last + 1) && !tramp_probe_lookup(addr))
		place->reason = TRAMP_REASON_KPROBE_THERE;
	else if (KSYM(search_exception_tables)(addr))
		place->reason = TRAMP_REASON_INSN_FIXUP;
	else if (!relocates(&place->insn, addr) || shadows(place) ||
		 tramp_x86_is_endbr(&place->insn))
		place->reason = TRAMP_REASON_INSN_FIXED;
	else if (KSYM(alternatives_text_reserved)((void *)addr, (void *)(last + 1)))
		place->reason = TRAMP_REASON_RESERVED;

	/* The rest of the instruction becomes int3s: nobody may start in its middle. */
	for (at = addr + 1; !place->reason && at <= last; at++) {
		if (tramp_map_target(at)) {
			place->reason = TRAMP_REASON_REGION_TARGET;
			place->where = at;
		}
	}
	if (place->reason && shadows(place))
		return tramp_refuse(why, TRAMP_REASON_INSN_FIXED, addr,
				    "no interrupt may come between it and the next instruction");
	if (place->reason && tramp_place_kprobe_wrong(&place->insn, addr))
		return tramp_refuse(why, TRAMP_REASON_INSN_FIXED, addr, "%s",
				    tramp_place_kprobe_wrong(&place->insn, addr));
	return 0;
}

int tramp_place_find(const struct tramp_probe_at *at, struct tramp_place *place,
		     struct tramp_refusal *why)
{
	int err;

	lockdep_assert_held(&tramp_mutex);
	err = tramp_place_locate(at, place, true, why);
	if (err)
		return err;
	tramp_text_lock();
	err = tramp_place_check(place, why);
	tramp_text_unlock();
	return err;
}

/*
 * At an entry bpf_get_func_ip() must tell the function, which it takes from the
 * kernel's own idea of the kprobe that is running. Elsewhere none is, but for one whose handler
 * this hit has interrupted (docs/limits.md).
 */
u32 tramp_place_mode(const struct tramp_place *place, bool func_ip, enum tramp_mode *mode)
{
	*mode = TRAMP_MODE_KPROBE;
	if (place->reason)
		return place->reason;
	if ((place->entry || place->ftrace) && func_ip)
		return TRAMP_REASON_FUNC_IP;
	*mode = place->ftrace ? TRAMP_MODE_FTRACE_OPS : TRAMP_MODE_INT3;
	return 0;
}

/* struct tramp_x86_world: the argument is the place; held() answers with a reason --- */

static bool is_target(u64 addr, void *arg)
{
	return tramp_map_target(addr);
}

static bool has_fixup(u64 addr, void *arg)
{
	return KSYM(search_exception_tables)(addr);
}

static u32 held(u64 start, u64 end, u64 *where, void *arg)
{
	const struct tramp_place *place = arg;
	unsigned long addr;

	*where = start;
	if (KSYM(ftrace_text_reserved)((void *)start, (void *)end - 1) ||
	    tramp_map_reserved(start, end) ||
	    KSYM(alternatives_text_reserved)((void *)start, (void *)end))
		return TRAMP_REASON_REGION_RESERVED;
	if (tramp_text_has_kprobe(start, end))
		return TRAMP_REASON_REGION_PROBE;
	for (addr = start; addr < end; addr++) {
		if (addr != place->addr && tramp_probe_lookup(addr)) {
			*where = addr;
			return TRAMP_REASON_REGION_PROBE;
		}
	}
	/* A BUG's ud2 does not relocate; behind a jump it runs only if something branches to it. */
	return 0;
}

/* Whether the compiler has jumped into the middle of no function like @place's, or to an ENDBR. */
static bool jumps_to_starts(const struct tramp_place *place)
{
	if (IS_ENABLED(CONFIG_X86_KERNEL_IBT))
		return true;
	return !place->module && (IS_ENABLED(CONFIG_RETPOLINE) ||
				  IS_ENABLED(CONFIG_MITIGATION_RETPOLINE));
}

/* The kernel's one function with computed gotos: BPF's interpreter. */
static bool is_interpreter(const struct tramp_symbol *sym)
{
	char name[KSYM_NAME_LEN];

	return !tramp_text_name(sym->start, name, NULL) || strstarts(name, "___bpf_prog_run");
}

/* Whether indirect jumps of a function like @place's may land in its middle, unseen. */
static bool has_inner_jumps(const struct tramp_place *place)
{
	return !jumps_to_starts(place) || is_interpreter(&place->sym);
}

static bool is_cold_part(const struct tramp_symbol *sym)
{
	char name[KSYM_NAME_LEN];

	return !tramp_text_name(sym->start, name, NULL) || strstr(name, ".cold");
}

static bool jumps_indirectly(const struct tramp_x86_insn *insn, unsigned long at,
			     const struct tramp_symbol *sym)
{
	enum tramp_x86_kind kind = tramp_x86_classify(insn);
	char name[KSYM_NAME_LEN];
	unsigned long to;

	if (kind == TRAMP_X86_JMP_IND)
		return true;
	/* clang makes conditional ones, too. */
	if (kind != TRAMP_X86_JMP && kind != TRAMP_X86_JCC)
		return false;
	to = tramp_x86_branch_target(insn, at);
	if (to >= sym->start && to < sym->start + sym->size)
		return false;
	/* Thunks made at boot have no name. */
	return !tramp_text_name(to, name, NULL) || strstarts(name, "__x86_indirect");
}

bool tramp_place_jumps_inside(const struct tramp_place *place, const struct tramp_x86_insn *insn,
			      unsigned long at)
{
	return jumps_indirectly(insn, at, &place->sym) && has_inner_jumps(place);
}

static bool find_indirect(const struct tramp_place *place)
{
	const struct tramp_symbol *sym = &place->sym;
	struct tramp_x86_insn insn;
	struct tramp_cursor c;
	unsigned long at;

	if (!has_inner_jumps(place))
		return false;
	/* The function that it is a part of may jump here. */
	if (is_cold_part(sym))
		return true;
	tramp_cursor_init(&c, sym->start, sym->start + sym->size);
	for (at = c.addr; tramp_cursor_next(&c, &insn); at = c.addr) {
		if (jumps_indirectly(&insn, at, sym))
			return true;
	}
	return c.addr < c.end;	/* not all of it is code */
}

static bool indirect(u64 ip, void *arg)
{
	struct tramp_place *place = arg;

	if (!place->searched)
		place->indirect = find_indirect(place);
	place->searched = true;
	return place->indirect;
}

static const struct tramp_x86_world world = {
	.env = &tramp_env,
	.is_target = is_target,
	.has_fixup = has_fixup,
	.held = held,
	.indirect = indirect,
};

u32 tramp_place_region(struct tramp_place *place, u32 *len, unsigned long *where)
{
	struct tramp_x86_verdict v;

	tramp_text_assert_locked();
	tramp_x86_check_region(place->addr, place->code, place->code_len, &world, place, &v);
	*len = v.len;
	*where = v.where;
	switch (v.why) {
	case TRAMP_X86_SAFE:
		return 0;
	case TRAMP_X86_UNDECODABLE:
	case TRAMP_X86_SHORT:
		return TRAMP_REASON_REGION_SHORT;
	case TRAMP_X86_TARGET:
		return TRAMP_REASON_REGION_TARGET;
	case TRAMP_X86_INDIRECT:
		return TRAMP_REASON_REGION_INDIRECT;
	case TRAMP_X86_FIXUP:
		return TRAMP_REASON_REGION_FIXUP;
	case TRAMP_X86_HELD:
		return v.held;
	case TRAMP_X86_MID_CALL:
		return TRAMP_REASON_REGION_CALL;
	case TRAMP_X86_STUCK:
		break;
	}
	return TRAMP_REASON_REGION_INSN;
}
