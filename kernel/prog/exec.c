// SPDX-License-Identifier: GPL-2.0
/*
 * Executable memory for images, and their names.
 *
 * The memory comes from the kernel's own BPF pack allocator. Several images share a page.
 * The page is never writable and executable at once. Unused bytes are int3. An image is
 * emitted into an ordinary buffer and written by text_poke_copy(), through a temporary mapping
 * of the patching CPU alone. Nobody can execute it before a site leads there, so no
 * cross-modification rules apply to that write.
 *
 * The name in kallsyms comes with struct bpf_ksym, which also tells the unwinder
 * and the exception code that the range is text.
 */
#include <linux/perf_event.h>
#include "base/compat.h"
#include "base/ksyms.h"
#include "exec.h"

static atomic_t nr_images = ATOMIC_INIT(0);
static atomic_t nr_retiring = ATOMIC_INIT(0);
static atomic64_t image_bytes = ATOMIC64_INIT(0);

void tramp_exec_totals(u32 *images, u32 *retiring, u64 *bytes)
{
	*retiring = atomic_read(&nr_retiring);
	*images = atomic_read(&nr_images);
	*bytes = atomic64_read(&image_bytes);
}

void tramp_exec_count_retiring(int change)
{
	atomic_add(change, &nr_retiring);
}

static void fill_int3(void *area, unsigned int size)
{
	memset(area, 0xcc, size);
}

int tramp_exec_alloc(struct tramp_exec *exec, u32 size, struct tramp_refusal *why)
{
	u32 head = TRAMP_PACK_HEADER ? sizeof(struct bpf_binary_header) : 0;

	exec->mem_size = size + head;
	exec->mem = KSYM(bpf_prog_pack_alloc)(TRAMP_PACK_ALLOC_ARGS(exec->mem_size, fill_int3));
	if (!exec->mem)
		return tramp_refuse(why, TRAMP_REASON_NO_EXEC_MEMORY, 0, NULL);
	exec->code = (unsigned long)exec->mem + head;
	exec->size = size;
#if TRAMP_PACK_HEADER
	if (IS_ERR(KSYM(text_poke_copy)(exec->mem, &exec->mem_size, sizeof(u32))))
		return tramp_refuse(why, TRAMP_REASON_NO_EXEC_MEMORY, exec->code, NULL);
#endif
	return 0;
}

static void notify_perf(struct tramp_exec *exec, bool gone)
{
	if (tramp_ksyms.has_perf_event_ksymbol)
		KSYM(perf_event_ksymbol)(PERF_RECORD_KSYMBOL_TYPE_BPF, exec->ksym.start,
					 exec->size, gone, exec->ksym.name);
}

int tramp_exec_publish(struct tramp_exec *exec, const u8 *buf, u64 key, u32 index,
		       struct tramp_refusal *why)
{
	struct bpf_ksym *ksym = &exec->ksym;

	if (IS_ERR(KSYM(text_poke_copy)((void *)exec->code, (void *)buf, exec->size)))
		return tramp_refuse(why, TRAMP_REASON_NO_EXEC_MEMORY, exec->code, NULL);

	INIT_LIST_HEAD_RCU(&ksym->lnode);
	ksym->start = exec->code;
	ksym->end = exec->code + exec->size;
	snprintf(ksym->name, sizeof(ksym->name), "trampoline_%llu_%u", key, index);
	KSYM(bpf_ksym_add)(ksym);
	notify_perf(exec, false);
	atomic_inc(&nr_images);
	atomic64_add(exec->size, &image_bytes);
	return 0;
}

void tramp_exec_free(struct tramp_exec *exec)
{
	if (exec->ksym.start) {
		KSYM(bpf_ksym_del)(&exec->ksym);
		notify_perf(exec, true);
		atomic_dec(&nr_images);
		atomic64_sub(exec->size, &image_bytes);
	}
	if (!exec->mem)
		return;
#if TRAMP_PACK_HEADER
	KSYM(bpf_prog_pack_free)(exec->mem);
#else
	KSYM(bpf_prog_pack_free)(exec->mem, exec->mem_size);
#endif
}
