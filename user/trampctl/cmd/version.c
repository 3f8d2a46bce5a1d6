// SPDX-License-Identifier: GPL-2.0
/*
 * trampctl version: of the program, the libraries, and the module if it is there.
 */
#include <bpf/libbpf.h>
#include <stdio.h>
#include <sys/utsname.h>

#include "../out/error.h"
#include "../out/json.h"
#include "../out/log.h"
#include "../trampctl.h"

static int version_run(int argc, char **argv)
{
	TRAMP_OPTS(tramp_module_info, info);
	struct utsname u = { .release = "unknown" };
	json_object *j;
	int err;

	(void)argc;
	(void)argv;
	log_capture_init();
	uname(&u);
	err = tramp_info(&info);

	if (!json_output) {
		printf("trampctl       v%s\n", TRAMPCTL_VERSION);
		printf("libtrampoline  %s, module interface %d\n", tramp_version_string(),
		       TRAMP_ABI_VERSION);
		printf("libbpf         %s\n", libbpf_version_string());
		if (err && tramp_last_error()->reason != TRAMP_LIB_ABI_MISMATCH)
			printf("module         %s [%s]\n", tramp_last_error()->sentence,
			       tramp_last_error()->name);
		else
			printf("module         v%s, interface %u%s\n", info.version,
			       info.abi_version, err ? ": does not fit the library" : "");
		printf("kernel         %s\n", u.release);
		return EXIT_OK;
	}
	j = json_object_new_object();
	json_put_str(j, "trampctl", TRAMPCTL_VERSION);
	json_put_str(j, "libtrampoline", tramp_version_string());
	json_put_u64(j, "interface", TRAMP_ABI_VERSION);
	json_put_str(j, "libbpf", libbpf_version_string());
	if (!err || tramp_last_error()->reason == TRAMP_LIB_ABI_MISMATCH) {
		json_put_str(j, "module", info.version);
		json_put_u64(j, "module_interface", info.abi_version);
	} else {
		json_object_object_add(j, "module", NULL);
		json_put_str(j, "module_reason", tramp_last_error()->name);
	}
	json_put_str(j, "kernel", u.release);
	json_print(j);
	return EXIT_OK;
}

const struct cmd cmd_version = {
	.name = "version",
	.summary = "Show the versions of the program, the libraries and the module",
	.run = version_run,
};
