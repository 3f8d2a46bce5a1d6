// SPDX-License-Identifier: GPL-2.0
/*
 * A BTF object by its id.
 *
 * The kernel offers ids to user space only: bpf(BPF_BTF_GET_FD_BY_ID) installs a file
 * descriptor in the calling task. Going by a descriptor would have three faults. It would
 * show the object to every thread of that process, which may hold less than CAP_SYS_ADMIN.
 * A thread could put a file of its own under that number before we close it. At RLIMIT_NOFILE
 * there would be no descriptor. So we go where that command goes, to btf_idr, and take the
 * reference it takes.
 *
 * Why that is safe, from kernel/bpf/btf.c (6.1 and 6.12 are the same here):
 *
 *  - An object enters btf_idr complete, with a count of 1 at least: btf_alloc_id() comes
 *    after refcount_set() in all its callers. From then on only btf_put() frees it: that
 *    removes it from btf_idr and frees it by call_rcu(). (A module that goes takes its
 *    object out of btf_idr earlier; the count still decides when it is freed.) So under
 *    rcu_read_lock() whatever idr_find() returns is memory of a struct btf.
 *  - idr_find() may run beside idr_remove(): its nodes are freed by RCU too.
 *  - The count may be 0 by then. refcount_inc_not_zero() tells, and only with a reference
 *    is anything else of the object looked at.
 *
 * struct btf is private to that file, so the kernel's own BTF says where the count is. If
 * anything is not as expected, nothing is guessed: ids cannot be asked for then.
 */
#include <linux/idr.h>
#include <linux/rcupdate.h>
#include <linux/refcount.h>
#include "btf_id.h"
#include "ksyms.h"

/* Where struct btf has its reference count; -1: not known. */
static int refcnt_offset = -1;

static bool has_name(const struct btf *btf, u32 offset, const char *name)
{
	return !strcmp(KSYM(btf_name_by_offset)(btf, offset), name);
}

/* The offset of struct btf's refcount_t refcnt as @btf has it, -1 if it has none. */
static int find_refcnt(const struct btf *btf, u32 id)
{
	const struct btf_type *type, *t = btf_type_by_id(btf, id);
	const struct btf_member *m;
	u32 i, bits;

	for (i = 0; i < btf_type_vlen(t); i++) {
		m = btf_type_member(t) + i;
		if (!has_name(btf, m->name_off, "refcnt"))
			continue;
		bits = __btf_member_bit_offset(t, m);
		type = btf_type_by_id(btf, m->type);
		if (!type || BTF_INFO_KIND(type->info) != BTF_KIND_TYPEDEF ||
		    !has_name(btf, type->name_off, "refcount_t") ||
		    bits % (8 * __alignof__(refcount_t)) ||
		    bits / 8 + sizeof(refcount_t) > t->size)
			return -1;
		return bits / 8;
	}
	return -1;
}

int __init tramp_btf_id_init(void)
{
	struct btf *btf, *found;
	s32 id;

	if (!tramp_ksyms.btf_idr || !tramp_ksyms.has_bpf_find_btf_id)
		return 0;	/* the kernel log says so already */
	id = KSYM(bpf_find_btf_id)("btf", BTF_KIND_STRUCT, &btf);
	if (id > 0) {
		rcu_read_lock();
		found = idr_find((struct idr *)tramp_ksyms.btf_idr, KSYM(btf_obj_id)(btf));
		rcu_read_unlock();
		/* A module's struct of that name would be another one. */
		if (found == btf && !KSYM(btf_is_module)(btf))
			refcnt_offset = find_refcnt(btf, id);
		KSYM(btf_put)(btf);
	}
	if (refcnt_offset < 0)
		pr_info("this kernel's BTF does not describe struct btf: functions cannot be asked for by BTF id\n");
	return 0;
}

struct btf *tramp_btf_get(u32 id, struct tramp_refusal *why)
{
	struct btf *btf;

	if (refcnt_offset < 0)
		return ERR_PTR(tramp_refuse(why, TRAMP_REASON_MISSING_SYMBOL, 0, "%s",
					    !tramp_ksyms.btf_idr ? "btf_idr" :
					    !tramp_ksyms.has_bpf_find_btf_id ? "bpf_find_btf_id" :
					    "struct btf's refcnt, in the kernel's BTF"));
	rcu_read_lock();
	btf = idr_find((struct idr *)tramp_ksyms.btf_idr, id);
	if (btf && !refcount_inc_not_zero((void *)btf + refcnt_offset))
		btf = NULL;
	rcu_read_unlock();
	/*
	 * Of one that a process has made the kernel tells CAP_SYS_ADMIN only. Its types follow
	 * that process's rules, too: a struct may take for ever to look through.
	 */
	if (btf && !KSYM(btf_is_kernel)(btf)) {
		KSYM(btf_put)(btf);
		btf = NULL;
	}
	if (!btf)
		return ERR_PTR(tramp_refuse(why, TRAMP_REASON_NO_BTF, 0,
					    "no BTF object of the kernel or of a module has the id %u",
					    id));
	return btf;
}

struct btf *tramp_btf_next(u32 *id)
{
	struct btf *btf;
	int next = *id + 1;

	if (refcnt_offset < 0)
		return NULL;
	rcu_read_lock();
	while ((btf = idr_get_next((struct idr *)tramp_ksyms.btf_idr, &next)) &&
	       !refcount_inc_not_zero((void *)btf + refcnt_offset))
		next++;
	rcu_read_unlock();
	*id = next;
	return btf;
}
