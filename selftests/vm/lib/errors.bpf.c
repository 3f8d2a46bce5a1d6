// SPDX-License-Identifier: GPL-2.0
/* Programs of every kind that cannot be attached, and a few that can. */
#include "vmlinux.h"
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

char LICENSE[] SEC("license") = "GPL";

SEC("fentry/bpf_fentry_test2") int good_entry(void *ctx) { return 0; }
SEC("fexit/bpf_fentry_test2") int good_exit(void *ctx) { return 0; }

SEC("socket") int of_socket(void *ctx) { return 0; }
SEC("kprobe/bpf_fentry_test2") int of_kprobe(void *ctx) { return 0; }
SEC("xdp") int of_xdp(struct xdp_md *ctx) { return 2; }
/* Loaded by itself, once there is something to replace. */
SEC("?freplace/of_xdp") int replaces(struct xdp_md *ctx) { return 1; }
SEC("tp/sched/sched_switch") int of_tracepoint(void *ctx) { return 0; }
SEC("raw_tp/sched_switch") int of_raw_tp(void *ctx) { return 0; }
SEC("tc") int of_tc(void *ctx) { return 0; }
SEC("cgroup_skb/ingress") int of_cgroup_skb(void *ctx) { return 1; }
SEC("perf_event") int of_perf_event(void *ctx) { return 0; }
SEC("lsm/file_open") int of_lsm(void *ctx) { return 0; }
SEC("sk_lookup") int of_sk_lookup(void *ctx) { return 1; }
SEC("tp_btf/sched_switch") int of_tp_btf(void *ctx) { return 0; }
SEC("iter/task") int of_iter(void *ctx) { return 0; }
