// SPDX-License-Identifier: GPL-2.0
/*
 * Resolving the symbols of ksyms.h.
 *
 * kallsyms_lookup_name() has not been exported since 5.7. A kprobe registered by its name tells its
 * address. It is never armed: it would be ftrace's to patch, and one that goes while ftrace is
 * switched off leaves a flag there. Ftrace shuts down over that later (ftrace/hold.c). Everything
 * else is asked of that function.
 */
#include <linux/kprobes.h>
#include "ksyms.h"
#include "tramp.h"

struct tramp_ksyms tramp_ksyms;

typedef unsigned long kallsyms_lookup_name_t(const char *name);
kallsyms_lookup_name_t tramp_kallsyms_lookup_name_proto;
DEFINE_STATIC_CALL_NULL(tramp_kallsyms_lookup_name, tramp_kallsyms_lookup_name_proto);

#define DEFINE_ONE(name, ...) DEFINE_STATIC_CALL_NULL(tramp_ks_##name, name);
TRAMP_KSYM_REQUIRED(DEFINE_ONE)
TRAMP_KSYM_OPTIONAL(DEFINE_ONE)
TRAMP_KSYM_PROBE(DEFINE_ONE)
#undef DEFINE_ONE

/* Room for all that may be missing. */
#define ONE_MORE(...) + 1
static const char *missing_names[0
	TRAMP_KSYM_OPTIONAL(ONE_MORE)
	TRAMP_KSYM_ADDRS(ONE_MORE)
	TRAMP_KSYM_PROBE(ONE_MORE)
	TRAMP_KSYM_PROBE_ADDRS(ONE_MORE)];
#undef ONE_MORE

unsigned long tramp_ksym_lookup(const char *name)
{
	return static_call(tramp_kallsyms_lookup_name)(name);
}

static int find_kallsyms(void)
{
	struct kprobe kp = {
		.symbol_name = "kallsyms_lookup_name",
		.flags = KPROBE_FLAG_DISABLED,
	};
	unsigned long addr;
	int err;

	err = register_kprobe(&kp);
	if (err) {
		pr_err("cannot find kallsyms_lookup_name by a kprobe: %d (is CONFIG_KPROBES on?)\n",
		       err);
		return err;
	}
	/*
	 * With IBT the kprobe sits behind the function's ENDBR, at +4. A direct
	 * call there is as good as one to the start.
	 */
	addr = (unsigned long)kp.addr;
	unregister_kprobe(&kp);
	static_call_update(tramp_kallsyms_lookup_name, (kallsyms_lookup_name_t *)addr);
	return 0;
}

/* The address of a symbol, 0 if this kernel lacks it. @off: what that means; NULL: too much */
static unsigned long resolve(const char *name, const char *off, u32 *required_missing)
{
	unsigned long addr = tramp_ksym_lookup(name);

	/* Modules' symbols are found as well: that is another function, and it may go. */
	if (addr >= MODULES_VADDR && addr < MODULES_END)
		addr = 0;
	if (addr) {
		tramp_ksyms.found++;
	} else if (!off) {
		pr_err("this kernel lacks the symbol %s, without which nothing can be attached\n",
		       name);
		(*required_missing)++;
	} else {
		pr_info("this kernel lacks the symbol %s: %s\n", name, off);
		missing_names[tramp_ksyms.missing++] = name;
	}
	return addr;
}

int tramp_ksyms_init(void)
{
	u32 required_missing = 0, optional_missing;
	unsigned long addr;
	int err;

	err = find_kallsyms();
	if (err)
		return err;

#define RESOLVE_CALL(name, off) \
	addr = resolve(#name, off, &required_missing); \
	if (addr) \
		static_call_update(tramp_ks_##name, (typeof(&name))addr);
#define RESOLVE_REQUIRED(name) RESOLVE_CALL(name, NULL)
#define RESOLVE_OPTIONAL(name, off) \
	RESOLVE_CALL(name, off) \
	tramp_ksyms.has_##name = addr;
#define RESOLVE_ADDR(name, off) \
	tramp_ksyms.name = resolve(#name, off, &required_missing);

	TRAMP_KSYM_REQUIRED(RESOLVE_REQUIRED)
	TRAMP_KSYM_OPTIONAL(RESOLVE_OPTIONAL)
	TRAMP_KSYM_ADDRS(RESOLVE_ADDR)

	optional_missing = tramp_ksyms.missing;
#define RESOLVE_PROBE(name) RESOLVE_CALL(name, "no probes at instructions")
#define RESOLVE_PROBE_ADDR(name) RESOLVE_ADDR(name, "no probes at instructions")
	TRAMP_KSYM_PROBE(RESOLVE_PROBE)
	TRAMP_KSYM_PROBE_ADDRS(RESOLVE_PROBE_ADDR)
	tramp_ksyms.has_probes = tramp_ksyms.missing == optional_missing;
	/* An image turns interrupts off by a cli, which means nothing there. */
	if (cpu_feature_enabled(X86_FEATURE_XENPV)) {
		pr_info("this is a Xen PV guest: no probes at instructions\n");
		tramp_ksyms.has_probes = false;
	}

	return required_missing ? -ENOENT : 0;
}

size_t tramp_ksyms_missing(char *buf, size_t len)
{
	size_t need = 1;
	u32 i;

	if (buf && len)
		buf[0] = 0;
	for (i = 0; i < tramp_ksyms.missing; i++) {
		if (buf && need < len)
			scnprintf(buf + need - 1, len - (need - 1), "%s\n", missing_names[i]);
		need += strlen(missing_names[i]) + 1;
	}
	return need;
}
