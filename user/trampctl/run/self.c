// SPDX-License-Identifier: GPL-2.0
/*
 * Which process trampctl is in the eyes of its BPF programs. They see the ids of the
 * initial PID namespace; getpid() and /proc say those of ours. So a program is asked:
 * a raw tracepoint's can be run without being attached, by the task that asks.
 */
#include <bpf/bpf.h>
#include <errno.h>
#include <linux/bpf.h>
#include <stdint.h>
#include <unistd.h>

#include "../out/error.h"
#include "self.h"

/* return bpf_get_current_pid_tgid() >> 32; */
static const struct bpf_insn tgid_insns[] = {
	{ .code = BPF_JMP | BPF_CALL, .imm = BPF_FUNC_get_current_pid_tgid },
	{ .code = BPF_ALU64 | BPF_RSH | BPF_K, .dst_reg = BPF_REG_0, .imm = 32 },
	{ .code = BPF_JMP | BPF_EXIT },
};

/**
 * self_tgid() - the process id of trampctl in the initial PID namespace
 * @tgid: where it goes
 *
 * Return: 0, or the exit code of an error that has been reported.
 */
int self_tgid(uint32_t *tgid)
{
	LIBBPF_OPTS(bpf_test_run_opts, run);
	int fd, err;

	fd = bpf_prog_load(BPF_PROG_TYPE_RAW_TRACEPOINT, "trampctl_self", "GPL", tgid_insns,
			   sizeof(tgid_insns) / sizeof(tgid_insns[0]), NULL);
	if (fd < 0)
		return fail_bpf(fd, "cannot load the program that finds trampctl's process id");
	err = bpf_prog_test_run_opts(fd, &run);
	close(fd);
	if (err)
		return fail_bpf(err, "cannot run the program that finds trampctl's process id");
	*tgid = run.retval;
	return 0;
}
