// SPDX-License-Identifier: GPL-2.0
/*
 * Which process trampctl is in the eyes of its BPF programs, and what time it is. They see the ids
 * of the initial PID namespace; getpid() and /proc say those of ours. Likewise they have the clock
 * of the host, and clock_gettime() that of our time namespace. So a program is asked: a raw
 * tracepoint's can be run without being attached, by the task that asks.
 */
#include <bpf/bpf.h>
#include <errno.h>
#include <linux/bpf.h>
#include <stdint.h>
#include <unistd.h>

#include "../out/error.h"
#include "self.h"
#include "signals.h"

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

/* return bpf_ktime_get_ns() >> *(__u64 *)ctx; */
static const struct bpf_insn clock_insns[] = {
	{ .code = BPF_LDX | BPF_MEM | BPF_DW, .dst_reg = BPF_REG_6, .src_reg = BPF_REG_1 },
	{ .code = BPF_JMP | BPF_CALL, .imm = BPF_FUNC_ktime_get_ns },
	{ .code = BPF_ALU64 | BPF_RSH | BPF_X, .dst_reg = BPF_REG_0, .src_reg = BPF_REG_6 },
	{ .code = BPF_JMP | BPF_EXIT },
};

static int run_clock(int fd, uint64_t shift, uint32_t *value)
{
	LIBBPF_OPTS(bpf_test_run_opts, run, .ctx_in = &shift, .ctx_size_in = sizeof(shift));
	int err = bpf_prog_test_run_opts(fd, &run);

	*value = run.retval;
	return err;
}

/* A program returns 32 bits: the upper half, the lower, and the upper again until it stays. */
static int read_clock(int fd, uint64_t *ns)
{
	uint32_t before, low, after;
	int err;

	do {
		err = run_clock(fd, 32, &before);
		if (!err)
			err = run_clock(fd, 0, &low);
		if (!err)
			err = run_clock(fd, 32, &after);
	} while (!err && before != after);
	if (!err)
		*ns = (uint64_t)after << 32 | low;
	return err;
}

/**
 * self_clock() - how far the clock of BPF programs is ahead of now_ns()
 * @ahead: where it goes, ns; 0 outside of a time namespace
 *
 * Return: 0, or the exit code of an error that has been reported.
 */
int self_clock(int64_t *ahead)
{
	uint64_t begin, theirs, end;
	int fd, err;

	fd = bpf_prog_load(BPF_PROG_TYPE_RAW_TRACEPOINT, "trampctl_clock", "GPL", clock_insns,
			   sizeof(clock_insns) / sizeof(clock_insns[0]), NULL);
	if (fd < 0)
		return fail_bpf(fd, "cannot load the program that reads the host's clock");
	begin = now_ns();
	err = read_clock(fd, &theirs);
	end = now_ns();
	close(fd);
	if (err)
		return fail_bpf(err, "cannot run the program that reads the host's clock");
	/* One clock, then, and nothing to add. */
	*ahead = begin <= theirs && theirs <= end ? 0 : theirs - (begin + (end - begin) / 2);
	return 0;
}
