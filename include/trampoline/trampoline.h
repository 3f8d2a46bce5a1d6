/* SPDX-License-Identifier: LGPL-2.1 OR BSD-2-Clause */
/*
 * libtrampoline: attach BPF programs that libbpf loaded through the trampoline
 * kernel module, and ask about functions, links and the module.
 *
 * The division of labour: libbpf opens, relocates and loads the object as it
 * always does; this library replaces the attach step only. A program in
 * SEC("fentry/do_unlinkat") that works with bpf_program__attach() works with
 * tramp_attach() as it is. The result is a real BPF link: bpftool shows it, it can be pinned in
 * bpffs, and closing its last reference detaches.
 *
 *	struct foo_bpf *skel = foo_bpf__open_and_load();
 *	struct tramp_links *links = tramp_object__attach(skel->obj, NULL);
 *
 *	if (!links) {
 *		fprintf(stderr, "%s\n", tramp_last_error()->message);
 *		...
 *	}
 *	...
 *	tramp_links__destroy(links);
 *	foo_bpf__destroy(skel);
 *
 * Do not call foo_bpf__attach() for the same programs as well: they would be
 * attached twice, by the kernel and by the module, or one of the two refuses.
 *
 * Rules for every function here:
 *
 *  - Functions that return int return 0 (or a count) on success and a negative
 *    errno on failure. Functions that return a pointer return NULL on failure
 *    and set errno.
 *  - Every failing call also fills the calling thread's last error
 *    (tramp_last_error()): errno, reason, a sentence and what to do about it.
 *    After a call that succeeded neither that nor errno means anything.
 *  - Structs whose first member is @sz grow at the end. Declare them with
 *    TRAMP_OPTS(), which sets @sz and zeroes the rest. Where a function takes
 *    options, NULL means the defaults.
 *  - Strings and structs behind `const` pointers belong to the library; what
 *    the caller has to free, and with what, stands at the function.
 *  - All functions may be called from any thread. Two threads must not use a single object
 *    (struct tramp_link, tramp_links, tramp_syms) at once. The exceptions are a loaded struct
 *    tramp_names, and a loaded struct tramp_syms, which many may read: see there for the calls
 *    that load lazily under a lock of their own.
 *  - If threads open BPF objects with libbpf itself, call tramp_register_sections() before they
 *    do. The functions that open objects call it, and libbpf reads what it writes without a lock.
 *  - No function may be called from a signal handler.
 */
#ifndef TRAMPOLINE_TRAMPOLINE_H
#define TRAMPOLINE_TRAMPOLINE_H

#include <trampoline/common.h>
#include <trampoline/attach.h>
#include <trampoline/link.h>
#include <trampoline/module.h>
#include <trampoline/symbols.h>
#include <trampoline/select.h>
#include <trampoline/multi.h>
#include <trampoline/proto.h>
#include <trampoline/explain.h>
#include <trampoline/probe.h>

#endif /* TRAMPOLINE_TRAMPOLINE_H */
