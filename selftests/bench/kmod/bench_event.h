/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A tracepoint for raw tracepoint programs.
 */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM trampoline_bench

#if !defined(BENCH_EVENT_H) || defined(TRACE_HEADER_MULTI_READ)
#define BENCH_EVENT_H

#include <linux/tracepoint.h>

TRACE_EVENT(bench_event,
	TP_PROTO(u64 a, u64 b),
	TP_ARGS(a, b),
	TP_STRUCT__entry(
		__field(u64, a)
		__field(u64, b)
	),
	TP_fast_assign(
		__entry->a = a;
		__entry->b = b;
	),
	TP_printk("a=%llu b=%llu", __entry->a, __entry->b)
);

#endif /* BENCH_EVENT_H */

#undef TRACE_INCLUDE_PATH
#define TRACE_INCLUDE_PATH .
#undef TRACE_INCLUDE_FILE
#define TRACE_INCLUDE_FILE bench_event
#include <trace/define_trace.h>
