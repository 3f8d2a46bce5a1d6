// SPDX-License-Identifier: GPL-2.0
/*
 * Resolving functions, and what keeps one from being attached to at all.
 *
 * The verifier has checked a loaded program against its target, but the world may have
 * changed since. The target's module may be gone, and another one may lie at the same
 * address. So only BTF object and id are taken from the verifier; the address is looked up
 * again, with a reference to the module held.
 */
#include <linux/btf.h>
#include <linux/kallsyms.h>
#include "base/btf_id.h"
#include "base/compat.h"
#include "base/ksyms.h"
#include "base/peek.h"
#include "ftrace/site.h"
#include "model.h"
#include "resolve.h"
#include "text/idle.h"
#include "text/text.h"
#include "text/unsafe.h"

/*
 * Functions that never return: an exit program would never run. From the kernel's
 * objtool (tools/objtool/noreturns.h, and check.c before 6.5), those of it that ftrace can
 * patch at all, with their names in both kernels. Other functions may not return because
 * the task dies in them: these need no list (prog/died.c).
 *
 * The second part may return, and may not although their task lives on. An exit image would wait
 * for such a call for good. A rethook would be worse: the frame's node stays first in its task's
 * list, and the next return that is hooked goes where the lost one should have gone.
 *
 *  - do_idle(), on a CPU that goes offline; its task never ends.
 *  - bpf_throw(): a program's exception callback takes over its frame.
 *  - On the way into sleep (S3) and into an image of memory (hibernation): the machine comes back
 *    in front of them, in do_suspend_lowlevel() and swsusp_arch_suspend(). The list also has the
 *    functions that they call last, and those they wait in for the power to go.
 */
static const char * const noreturns[] = {
	"__fortify_panic", "__ia32_sys_exit", "__ia32_sys_exit_group", "__invalid_creds",
	"__module_put_and_kthread_exit", "__reiserfs_panic", "__stack_chk_fail",
	"__tdx_hypercall_failed", "__ubsan_handle_builtin_unreachable", "__x64_sys_exit",
	"__x64_sys_exit_group", "arch_cpu_idle_dead", "cpu_bringup_and_idle",
	"cpu_startup_entry", "do_exit", "do_group_exit", "do_task_dead",
	"ex_handler_msr_mce", "fortify_panic", "hlt_play_dead", "hv_ghcb_terminate",
	"kthread_complete_and_exit", "kthread_exit", "kunit_try_catch_throw",
	"machine_real_restart", "make_task_dead", "mpt_halt_firmware",
	"nmi_panic_self_stop", "panic", "panic_smp_self_stop", "rest_init",
	"rewind_stack_and_make_dead", "sev_es_terminate", "snp_abort", "stop_this_cpu",
	"usercopy_abort", "xen_cpu_bringup_again",

	"acpi_enter_sleep_state", "acpi_hw_extended_sleep", "acpi_hw_get_access_bit_width",
	"acpi_hw_get_bit_register_info", "acpi_hw_legacy_sleep", "acpi_hw_read",
	"acpi_hw_read_port", "acpi_hw_register_read", "acpi_hw_register_write",
	"acpi_hw_validate_io_request", "acpi_hw_validate_register", "acpi_hw_write",
	"acpi_hw_write_multiple", "acpi_hw_write_pm1_control", "acpi_hw_write_port",
	"acpi_os_enter_sleep", "acpi_os_prepare_extended_sleep", "acpi_os_prepare_sleep",
	"acpi_os_read_memory", "acpi_os_read_port", "acpi_os_write_memory",
	"acpi_os_write_port", "acpi_read", "acpi_read_bit_register", "acpi_write", "bpf_throw",
	"do_idle", "swsusp_save", "tboot_extended_sleep", "tboot_sleep",
	"x86_acpi_enter_sleep_state",
};

bool tramp_func_noreturn(const char *name)
{
	u32 i;

	for (i = 0; i < ARRAY_SIZE(noreturns); i++) {
		if (!strcmp(name, noreturns[i]))
			return true;
	}
	return false;
}

void tramp_func_put(struct tramp_func *func)
{
	module_put(func->module);	/* NULL is fine */
	func->module = NULL;
}

/*
 * Take a reference to the module an address lies in. Between finding it and taking the
 * reference it cannot be freed: module text is freed behind an RCU grace period that
 * preemption off holds up. A module that is still loading is refused, and init text, which the
 * reference does not keep (base/peek.h).
 */
static int get_module(struct tramp_func *func, bool core, struct tramp_refusal *why)
{
	struct module *mod;
	bool got = false, own, init;
	char name[TRAMP_MOD_LEN];

	preempt_disable();
	mod = KSYM(__module_text_address)(func->addr);
	own = mod == THIS_MODULE;
	if (mod)
		strscpy(name, mod->name, sizeof(name));
	init = mod && !tramp_module_keeps(mod, func->addr);
	if (mod && !core && !own && !init)
		got = tramp_module_get_live(mod);
	preempt_enable();

	if (mod && core) {
		func->addr = 0;
		return tramp_refuse(why, TRAMP_REASON_NO_SUCH_FUNCTION, 0,
				    "%s has no symbol in the kernel proper, but one in module %s",
				    func->name, name);
	}
	if (own)
		return tramp_refuse(why, TRAMP_REASON_OWN_MODULE, func->addr, "%s", func->name);
	if (init)
		return tramp_refuse(why, TRAMP_REASON_INIT_TEXT, func->addr, "%s", func->name);
	if (mod && !got)
		return tramp_refuse(why, TRAMP_REASON_MODULE_GONE, func->addr, "%s", func->name);
	func->owner = func->module = got ? mod : NULL;
	if (got)
		strscpy(func->module_name, name, sizeof(func->module_name));
	return 0;
}

/* Fill in what address, module and name alone tell. */
static void finish(struct tramp_func *func)
{
	char name[KSYM_NAME_LEN];
	unsigned long site;

	/* Text of __init is not there any more, but BTF and kallsyms know it still. */
	if (!func->module && !KSYM(core_kernel_text)(func->addr))
		return;
	site = tramp_site_of(func->addr);
	/* Where it is not at the place itself, ftrace looks for the symbol, which takes longer. */
	func->site = KSYM(ftrace_location)(site);
	if (func->site != site)
		func->site = KSYM(ftrace_location)(func->addr);
	/* Further on it is another function's. */
	if (func->site > func->addr + TRAMP_SITE_MAX)
		func->site = 0;
	/* Without kallsyms_lookup() there are no probes. BTF's name lacks suffixes, no more. */
	if (!tramp_ksyms.has_probes || !tramp_text_name(func->addr, name, NULL))
		strscpy(name, func->name, sizeof(name));
	func->idle = tramp_text_idle(func->addr, name);
	func->unsafe = tramp_text_unsafe(name, func->module);
	if (!func->module && tramp_func_noreturn(func->name))
		func->exit_reason = TRAMP_REASON_NORETURN;
}

void tramp_resolve_entry(const struct tramp_symbol *sym, unsigned long site,
			 struct module *owner, struct tramp_func *func)
{
	char name[KSYM_NAME_LEN] = "";

	memset(func, 0, sizeof(*func));
	func->addr = sym->start;
	func->site = site;
	func->owner = owner;
	if (owner)
		strscpy(func->module_name, owner->name, sizeof(func->module_name));
	if (tramp_text_name(sym->start, name, NULL))
		strscpy(func->name, name, sizeof(func->name));
	func->idle = tramp_text_idle(sym->start, name);
	func->unsafe = tramp_text_unsafe(name, owner);
}

static int resolve_type(struct btf *btf, u32 btf_id, struct tramp_func *func,
			struct tramp_refusal *why)
{
	const struct btf_type *t = btf_type_by_id(btf, btf_id);
	enum tramp_reason exit_reason = 0;
	struct module *mod = NULL;
	int err;

	func->key = (u64)KSYM(btf_obj_id)(btf) << 32 | 0x80000000 | btf_id;
	if (!t || BTF_INFO_KIND(t->info) != BTF_KIND_FUNC)
		return tramp_refuse(why, TRAMP_REASON_NO_BTF, 0,
				    "BTF object %u has no function with type id %u",
				    tramp_func_btf_obj(&func->facts), btf_id);
	strscpy(func->name, KSYM(btf_name_by_offset)(btf, t->name_off), sizeof(func->name));

	if (KSYM(btf_is_module)(btf)) {
		mod = KSYM(btf_try_get_module)(btf);
		if (!mod)
			return tramp_refuse(why, TRAMP_REASON_MODULE_GONE, 0, "%s", func->name);
	}
	/* In that very module, not in the first that has such a name. */
	func->addr = mod ? tramp_text_in_module(mod, func->name) : tramp_ksym_lookup(func->name);
	if (!func->addr)
		err = tramp_refuse(why, TRAMP_REASON_NO_SUCH_FUNCTION, 0, "%s", func->name);
	else
		err = tramp_text_unique(mod, func->name, func->addr, why);
	if (!err)
		err = get_module(func, !mod, why);
	module_put(mod);	/* get_module() took its own */
	if (err)
		return err;

	t = btf_type_by_id(btf, t->type);
	if (!t || BTF_INFO_KIND(t->info) != BTF_KIND_FUNC_PROTO)
		err = tramp_refuse(why, TRAMP_REASON_NO_BTF, func->addr, "%s", func->name);
	else
		err = tramp_model_from_btf(btf, t, func->name, &func->model,
					   &exit_reason, why);
	if (err) {
		tramp_func_put(func);
		return err;
	}
	static_assert(TRAMP_REASON_COUNT <= U8_MAX);
	func->exit_reason = exit_reason;
	finish(func);
	return 0;
}

int tramp_resolve_prog(const struct bpf_prog *prog, struct tramp_func *func,
		       struct tramp_refusal *why)
{
	memset(func, 0, sizeof(*func));
	return resolve_type(prog->aux->attach_btf, prog->aux->attach_btf_id, func, why);
}

int tramp_resolve_btf(u32 btf_obj_id, u32 btf_id, struct tramp_func *func,
		      struct tramp_refusal *why)
{
	struct btf *btf;
	int err;

	memset(func, 0, sizeof(*func));
	btf = tramp_btf_get(btf_obj_id, why);
	if (IS_ERR(btf))
		return PTR_ERR(btf);
	err = resolve_type(btf, btf_id, func, why);
	KSYM(btf_put)(btf);
	return err;
}

int tramp_resolve_name(const char *name, const char *module, struct tramp_func *func,
		       struct tramp_refusal *why)
{
	char full[TRAMP_MOD_LEN + TRAMP_SYM_LEN];
	struct btf *btf = NULL;
	int err;
	s32 id;
	u32 nr;

	memset(func, 0, sizeof(*func));
	strscpy(func->name, name, sizeof(func->name));
	snprintf(full, sizeof(full), "%s%s%s", module, *module ? ":" : "", name);
	func->addr = tramp_text_lookup(full, &nr);
	if (!func->addr || !KSYM(kernel_text_address)(func->addr))
		return tramp_refuse(why, TRAMP_REASON_NO_SUCH_FUNCTION, 0, "%s", full);
	err = tramp_text_refuse_many(full, nr, func->addr, why);
	if (err)
		return err;

	/* With BTF there is more to say; it must be about this very function. */
	if (tramp_ksyms.has_bpf_find_btf_id) {
		struct tramp_func by_btf = {};
		struct tramp_refusal about = {};

		id = KSYM(bpf_find_btf_id)(name, BTF_KIND_FUNC, &btf);
		if (id > 0) {
			err = resolve_type(btf, id, &by_btf, &about);
			KSYM(btf_put)(btf);
			if (by_btf.addr == func->addr) {
				if (err)
					*why = about;
				else
					*func = by_btf;
				return err;
			}
			tramp_func_put(&by_btf);
		}
	}
	err = get_module(func, false, why);
	if (!err)
		finish(func);
	return err;
}
