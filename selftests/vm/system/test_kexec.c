// SPDX-License-Identifier: GPL-2.0
/*
 * Into another kernel, by kexec and by a panic with a crash kernel loaded, with probes all over
 * the text. There are PLACES int3s and PLACES jumps. Int3s are also at all instructions that
 * may have one in the functions that run on the way.
 *
 * The way out is the hard part: the CPU drops its IDT in machine_kexec(), and the code
 * that puts the other kernel in place is a copy, int3s and all. Either resets the machine,
 * without a word.
 *
 * A test that goes well does not end: second_init speaks in the other kernel, and kexec,
 * the script which boots the machine for this, listens. No kexec-tools:
 * kexec_file_load(2) does all the work.
 *
 * Environment: PROBE_PLACES, how many of each, default 5000; PROBE_SEED.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/kexec.h>
#include <linux/reboot.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <termios.h>
#include <unistd.h>
#include "probe_functions.h"
#include "probe_sample.h"
#include "selftests/vm/lib/probe_progs.skel.h"

/* Put there by the script. */
#define KERNEL	"/opt/second/vmlinuz"
#define INITRD	"/opt/second/initramfs"

/* These run on the way, where the kernel has them and calls them so. */
static const char *const functions[] = {
	"kernel_kexec", "kernel_restart_prepare", "device_shutdown", "migrate_to_reboot_cpu",
	"syscore_shutdown", "machine_shutdown", "native_machine_shutdown",
	"native_stop_other_cpus", "stop_this_cpu", "lapic_shutdown", "disable_local_APIC",
	"clear_local_APIC", "clear_IO_APIC", "clear_IO_APIC_pin", "restore_boot_irq_mode",
	"native_restore_boot_irq_mode", "disconnect_bsp_APIC", "hpet_disable",
	"x86_platform_ipi_callback", "iommu_shutdown_noop",
	"sysrq_handle_crash", "panic", "vpanic", "crash_kexec", "__crash_kexec",
	"crash_setup_regs", "crash_save_vmcoreinfo", "machine_crash_shutdown",
	"native_machine_crash_shutdown", "crash_smp_send_stop", "kdump_nmi_shootdown_cpus",
	"nmi_shootdown_cpus", "crash_nmi_callback", "kdump_nmi_callback", "crash_save_cpu",
	"cpu_emergency_disable_virtualization", "cpu_emergency_stop_pt", "update_crash_vmcoreinfo",
	"disable_IO_APIC", "kexec_mark_crashkres", "kmsg_dump",
	"machine_kexec", "hw_breakpoint_disable", "cet_disable", "cc_platform_has",
	"__memcpy", "memcpy", "memcpy_orig", "memcpy_erms", "load_segments", "set_gdt",
	"idt_invalidate", "native_idt_invalidate", "native_gdt_invalidate",
	"relocate_range", "relocate_kernel", "identity_mapped", "virtual_mapped", "swap_pages",
	"core_restore_code", "restore_image", "soft_restart_cpu",
};

#define JUMP_OR_INT3	(TRAMP_ATTACH_F_NO_KPROBE | TRAMP_ATTACH_F_NO_OPS)

static int dev, prog;
static unsigned int int3s, on_the_way, refused;

static bool arm(uint64_t addr, uint32_t flags)
{
	return !attach_insn_try(OURS, prog, addr, flags, 0).err;
}

/* Every instruction of what runs on the way. */
static void arm_the_way(void)
{
	size_t i;
	uint32_t k;

	for (i = 0; i < sizeof(functions) / sizeof(functions[0]); i++) {
		struct probe_func f;

		if (probe_explain(&f, 0, functions[i], false))
			continue;
		for (k = 0; k < f.nr; k++) {
			if (arm(f.addr + f.insns[k].offset, ONLY_INT3))
				on_the_way++;
			else
				refused++;
		}
		probe_func_free(&f);
	}
}

/*
 * One in each of as many functions as it takes, drawn from all of them: first those that stay
 * int3s, then those that become jumps, if they can.
 */
static void arm_text(unsigned int wanted, uint64_t *state)
{
	unsigned int want = 0;
	uint64_t *addr, swap;
	int nr, i, k;

	addr = functions_take(&nr, ALL_FUNCTIONS, state);
	for (i = 0; i < nr; i++) {
		k = i + rnd(state) % (nr - i);
		swap = addr[k];
		addr[k] = addr[i];
		if (int3s < wanted) {
			int3s += arm(behind_entry(dev, swap), ONLY_INT3);
			continue;
		}
		if (!want) {
			probe_flush();
			if (tramp_module().optimised >= wanted)
				break;
			/* Not each becomes one. */
			want = (wanted - tramp_module().optimised) * 5 / 4 + 10;
		}
		want -= arm(behind_entry(dev, swap), JUMP_OR_INT3);
	}
	free(addr);
}

/* How many links are in @mode: asked of each, not of the module's own count. */
static unsigned int count_mode(uint32_t mode)
{
	struct tramp_query q = { .size = sizeof(q), .flags = TRAMP_QUERY_F_NEXT };
	unsigned int n = 0;

	while (!ioctl(tramp_device(), TRAMP_IOC_QUERY, &q)) {
		n += q.mode == mode;
		q = (struct tramp_query){ .size = sizeof(q), .flags = TRAMP_QUERY_F_NEXT,
					  .link_id = q.link_id };
	}
	return n;
}

static void arm_all(void)
{
	unsigned int wanted = env_int("PROBE_PLACES", 5000), jumps;
	uint64_t state = rnd_seed(), start = now_ns();

	dev = tt_open();
	probe_setup();
	probe_many_files();
	prog = bpf_program__fd(probe_skel->progs.count);
	arm_text(wanted, &state);
	/* Last: some of it runs all the time. */
	arm_the_way();
	workload(1);
	jumps = count_mode(TRAMP_MODE_JUMP);
	ktap_note("%u int3s, %u jumps in %lu s; %u int3s on the way, %u places refused",
		  count_mode(TRAMP_MODE_INT3), jumps, (now_ns() - start) / 1000000000, on_the_way,
		  refused);
	CHECK(jumps >= wanted, "%u jumps", jumps);
	CHECK_EQ(jumps, tramp_module().optimised, "jumps by QUERY and by INFO");
	CHECK(count_mode(TRAMP_MODE_INT3) >= wanted, "int3s");
	CHECK(on_the_way > 100, "hardly an int3 on the way");
}

/* The command line that this kernel has, but for the memory it keeps for the other one. */
static void command_line(char *out, size_t len, const char *more)
{
	char *text = read_file("/proc/cmdline"), *rest = text, *word;
	size_t n = 0;

	text[strcspn(text, "\n")] = '\0';
	while ((word = strsep(&rest, " ")))
		if (*word && strncmp(word, "crashkernel=", 12))
			n += snprintf(out + n, len - n, "%s ", word);
	snprintf(out + n, len - n, "%s", more);
	free(text);
}

static void load(unsigned long flags, const char *more)
{
	int kernel = open(KERNEL, O_RDONLY), initrd = open(INITRD, O_RDONLY);
	char line[2048];

	REQUIRE(kernel >= 0 && initrd >= 0, KERNEL " and " INITRD ": %s", strerror(errno));
	command_line(line, sizeof(line), more);
	REQUIRE(!syscall(SYS_kexec_file_load, kernel, initrd, strlen(line) + 1, line, flags),
		"kexec_file_load: %s", strerror(errno));
	close(kernel);
	close(initrd);
}

/* The text printed so far is out before this kernel is gone. */
static void last_words(void)
{
	REQUIRE(!ktap_failures(), "not now");
	fflush(stdout);
	tcdrain(STDOUT_FILENO);
	sleep(1);
}

static void test_reboot(void)
{
	arm_all();
	load(0, "second=kexec");
	last_words();
	syscall(SYS_reboot, LINUX_REBOOT_MAGIC1, LINUX_REBOOT_MAGIC2, LINUX_REBOOT_CMD_KEXEC, NULL);
	ktap_die("reboot: %s", strerror(errno));
}

static void test_panic(void)
{
	load(KEXEC_FILE_ON_CRASH, "second=kdump nr_cpus=1");
	arm_all();
	last_words();
	write_file("/proc/sysrq-trigger", "c");
	ktap_die("there was no panic");
}

static const struct ktap_test tests[] = {
	{ "reboot", test_reboot, 600 },
	{ "panic", test_panic, 600 },
};

KTAP_MAIN(tests)
