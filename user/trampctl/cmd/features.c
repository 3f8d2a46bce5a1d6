// SPDX-License-Identifier: GPL-2.0
/*
 * trampctl features: what this kernel and this module can do together.
 *
 * The kernel's side is shown even if the module is not there, since it says
 * whether loading it would help; the exit status says if anything can be done.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "../out/error.h"
#include "../out/json.h"
#include "../out/moduleinfo.h"
#include "../out/table.h"
#include "../out/text.h"
#include "../trampctl.h"

/* One fact about the kernel, as text; @ok: nothing stands in the way there. */
struct fact {
	const char *name;
	const char *what;
	char value[128];
	bool ok;
};

enum { KERNEL_BTF, KERNEL_JIT, KERNEL_FTRACE, KERNEL_LOCKDOWN, KERNEL_ADDRESSES, NR_FACTS };

static void set_fact(struct fact *f, const char *name, const char *what, bool ok,
		     const char *value)
{
	f->name = name;
	f->what = what;
	f->ok = ok;
	snprintf(f->value, sizeof(f->value), "%s", value);
}

/* A sysctl; shown as it is, "unknown" if it cannot be read. */
static int sysctl(const char *path, char *buf, size_t len)
{
	if (!read_line(path, buf, len)) {
		snprintf(buf, len, "unknown");
		return -1;
	}
	return atoi(buf);
}

static void ask_kernel(struct fact *f)
{
	char line[128], *open, *close;
	int v;

	set_fact(&f[KERNEL_BTF], "btf", "type information, /sys/kernel/btf/vmlinux",
		 !access("/sys/kernel/btf/vmlinux", R_OK), "");
	strcpy(f[KERNEL_BTF].value, f[KERNEL_BTF].ok ? "yes" : "no");

	v = sysctl("/proc/sys/net/core/bpf_jit_enable", line, sizeof(line));
	set_fact(&f[KERNEL_JIT], "jit", "BPF compiler, net.core.bpf_jit_enable", v != 0,
		 v < 0 ? "unknown" : v ? "on" : "off");

	v = sysctl("/proc/sys/kernel/ftrace_enabled", line, sizeof(line));
	set_fact(&f[KERNEL_FTRACE], "ftrace", "function tracing, kernel.ftrace_enabled", v != 0,
		 v < 0 ? "unknown" : v ? "on" : "off");

	/* "none [integrity] confidentiality": the bracketed one holds. */
	if (!read_line("/sys/kernel/security/lockdown", line, sizeof(line)))
		strcpy(line, "[unknown]");
	open = strchr(line, '[');
	close = open ? strchr(open, ']') : NULL;
	if (close)
		*close = 0;
	set_fact(&f[KERNEL_LOCKDOWN], "lockdown", "confidentiality forbids attaching",
		 !open || strcmp(open + 1, "confidentiality"), open ? open + 1 : "unknown");

	v = sysctl("/proc/sys/kernel/kptr_restrict", line, sizeof(line));
	set_fact(&f[KERNEL_ADDRESSES], "kptr_restrict",
		 "2 hides kernel addresses, kernel.kptr_restrict", v != 2, line);
}

static void print_module(const struct tramp_module_info *m)
{
	static const char *const heads[] = { "FEATURE", "HERE", "WHAT IT IS", NULL };
	struct table *t = table_new(heads, "lll");
	unsigned int bit;

	for (bit = 0; bit < 64; bit++)
		if (tramp_feature_name(bit))
			table_row(t, tramp_feature_name(bit),
				  m->features & (1ULL << bit) ? "yes" : "no",
				  tramp_feature_desc(bit), NULL);
	putchar('\n');
	table_print(t, stdout);
	table_free(t);

	printf("\nmodule v%s, interface %u\n", m->version, m->abi_version);
	printf("  limits   %u programs on one function, %u argument slots\n", m->max_progs,
	       m->max_slots);
	printf("  symbols  %u unexported ones in use, %u optional ones missing\n",
	       m->symbols_found, m->symbols_missing);
	if (m->missing[0]) {
		const char *s = m->missing, *nl;

		for (; *s; s = nl + 1) {
			nl = strchrnul(s, '\n');
			printf("           missing: %.*s\n", (int)(nl - s), s);
			if (!*nl)
				break;
		}
	}
	printf("  now      %u links on %u functions, %u images (%" PRIu64
	       " bytes), %u of them waiting to be freed\n",
	       m->links, m->targets, m->images, m->image_bytes, m->retiring);
	printf("  probes   %u addresses, %u of them jumps; %" PRIu64
	       " grace periods waited for since it was loaded\n",
	       m->probes, m->optimised, m->grace_periods);
}

static int fail_locked_down(void)
{
	uint32_t reason = TRAMP_REASON_LOCKDOWN;
	struct problem p = { .exit_code = EXIT_PERMISSION, .err = EPERM,
			     .reason = tramp_reason_name(reason),
			     .remedy = tramp_reason_remedy(reason) };

	return fail(&p, "nothing can be attached: %s", tramp_reason_sentence(reason));
}

static int features_run(int argc, char **argv)
{
	static const char *const heads[] = { "KERNEL", "STATE", "WHAT IT IS", NULL };
	TRAMP_OPTS(tramp_module_info, m);
	struct utsname u = { .release = "unknown" };
	struct fact facts[NR_FACTS] = { 0 };
	json_object *top, *j;
	struct table *t;
	int i, err;

	(void)argc;
	(void)argv;
	uname(&u);
	ask_kernel(facts);
	err = tramp_info(&m);

	if (json_output) {
		top = json_object_new_object();
		j = json_object_new_object();
		json_put_str(j, "release", u.release);
		for (i = 0; i < NR_FACTS; i++)
			json_put_str(j, facts[i].name, facts[i].value);
		json_object_object_add(top, "kernel", j);
		json_object_object_add(top, "module", err ? NULL : module_to_json(&m));
		json_print(top);
	} else {
		t = table_new(heads, "lll");
		table_row(t, "release", u.release, "", NULL);
		for (i = 0; i < NR_FACTS; i++)
			table_row(t, facts[i].name, facts[i].value, facts[i].what, NULL);
		table_print(t, stdout);
		table_free(t);
		if (!err)
			print_module(&m);
	}
	if (err)
		return fail_lib(NULL, NULL);
	if (!(m.features & (TRAMP_FEAT_FENTRY | TRAMP_FEAT_FEXIT | TRAMP_FEAT_FMOD_RET |
			     TRAMP_FEAT_KPROBE))) {
		struct problem p = { .exit_code = EXIT_REFUSED, .err = EOPNOTSUPP,
				     .reason = tramp_reason_name(TRAMP_REASON_MISSING_SYMBOL),
				     .remedy = "boot another kernel; the kernel log (dmesg) names the symbols that this one lacks" };

		return fail(&p, "the module can attach nothing on this kernel");
	}
	for (i = 0; i < NR_FACTS; i++)
		if (!facts[i].ok && i != KERNEL_ADDRESSES)
			warn("%s is %s: %s", facts[i].name, facts[i].value, facts[i].what);
	if (!facts[KERNEL_LOCKDOWN].ok)
		return fail_locked_down();
	return EXIT_OK;
}

const struct cmd cmd_features = {
	.name = "features",
	.summary = "Show what this kernel and the module can do",
	.details =
		"Exits with 0 if programs can be attached. Without the module it exits like every\n"
		"command that needs it.\n",
	.run = features_run,
};
