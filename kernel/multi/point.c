// SPDX-License-Identifier: GPL-2.0
/*
 * Many functions as one kind of attach point (link/point.h), for kprobe programs.
 */
#include <linux/cred.h>
#include <linux/slab.h>
#include <linux/uaccess.h>
#include "base/compat.h"
#include "base/ksyms.h"
#include "base/rights.h"
#include "func/image.h"
#include "hooked.h"
#include "layout.h"
#include "multi.h"
#include "prog/runtime.h"
#include "prog/session.h"
#include "text/symbol.h"

static int check_prog(const struct bpf_prog *prog, u8 *kind, struct tramp_refusal *why)
{
	u32 type = prog->expected_attach_type;

	*kind = type == TRAMP_TYPE_KPROBE_SESSION ? TRAMP_KIND_KPROBE_SESSION :
						    TRAMP_KIND_KPROBE_MULTI;
	if (type && type != TRAMP_TYPE_KPROBE_MULTI && type != TRAMP_TYPE_KPROBE_SESSION)
		return tramp_refuse(why, TRAMP_REASON_ATTACH_TYPE, 0, "attach type %u", type);
	if (type && (!tramp_multi_layout.known ||
		     (*kind == TRAMP_KIND_KPROBE_SESSION && !tramp_multi_layout.sessions)))
		return tramp_refuse(why, TRAMP_REASON_MISSING_SYMBOL, 0,
				    "struct bpf_kprobe_multi_run_ctx, in the kernel's BTF");
	if (tramp_prog_sleepable(prog))
		return tramp_refuse(why, TRAMP_REASON_PROG_TYPE, 0,
				    "a sleepable kprobe program is one for user space");
	if (prog->kprobe_override)
		return tramp_refuse(why, TRAMP_REASON_PROG_OVERRIDE, 0, "%s", prog->aux->name);
	return 0;
}

int tramp_multi_check_prog(struct tramp_multi_req *req, struct tramp_refusal *why)
{
	struct bpf_prog *prog;
	int err = 0;

	if (!tramp_ksyms.has_probes)
		return tramp_refuse(why, TRAMP_REASON_MISSING_SYMBOL, 0,
				    "what probes need, see the kernel log");
	prog = KSYM(bpf_prog_get)(req->attach.prog_fd);
	if (IS_ERR(prog))
		return tramp_refuse(why, TRAMP_REASON_BAD_PROG_FD, 0, "fd %d",
				    req->attach.prog_fd);
	req->session = req->by_map ||
		       (prog->type == BPF_PROG_TYPE_KPROBE &&
			prog->expected_attach_type == TRAMP_TYPE_KPROBE_SESSION);
	if (req->session && req->returns)
		err = tramp_refuse(why, TRAMP_REASON_SYNTAX, 0,
				   "a session runs at entries and returns anyway");
	bpf_prog_put(prog);
	return err;
}

/*
 * A plain program's helper asks the running kprobe for the function, and there is none. One that
 * is interpreted is not looked through, and is not refused for that.
 */
static int check_func_ip(const struct tramp_slot *slot, struct tramp_refusal *why)
{
	const struct bpf_prog *prog = slot->prog;

	if (prog->expected_attach_type || !slot->func_ip ||
	    (!prog->jited && !prog->call_get_func_ip))
		return 0;
	return tramp_slot_refuse_func_ip(slot, 0, why);
}

/*
 * When the program runs: at entries, returns, or both. The functions have been checked when the
 * request was made.
 */
static int prepare(struct tramp_member *member, const struct tramp_attach *req,
		   struct tramp_refusal *why)
{
	const struct tramp_multi_req *multi = container_of(req, struct tramp_multi_req, attach);
	bool session = member->kind == TRAMP_KIND_KPROBE_SESSION;

	if (multi->by_map && !session) {
		member->kind = TRAMP_KIND_KPROBE_SESSION;
		return tramp_session_make(member->slot, why) ?: check_func_ip(member->slot, why);
	}
	if (session != multi->session)
		return tramp_refuse(why, TRAMP_REASON_BAD_PROG_FD, 0,
				    "another program than a moment ago");
	if (multi->returns)
		member->kind = TRAMP_KIND_KRETPROBE_MULTI;
	return check_func_ip(member->slot, why);
}

/* As with the kernel's own links of many functions. */
static int replace(struct tramp_member *member, struct tramp_slot *slot,
		   struct tramp_refusal *why)
{
	return tramp_refuse(why, TRAMP_REASON_PROG_MISMATCH, 0,
			    "the program of a link to many functions stays");
}

static const struct tramp_funcs no_funcs;

/* Those whose returns take a rethook. */
static const struct tramp_funcs *hooked_of(const struct tramp_multi *multi)
{
	return multi->hooked ? tramp_hooked_funcs(multi->hooked) : &no_funcs;
}

static u64 misses(const struct tramp_member *member)
{
	const struct tramp_multi *multi = tramp_multi_of(member);

	return multi && multi->hooked ? tramp_hooked_misses(multi->hooked) : 0;
}

/* The module that the first of them is in, which is held; "": the kernel proper. */
static const char *first_module(const struct tramp_funcs *funcs)
{
	u32 i;

	for (i = 0; i < funcs->nr_modules; i++) {
		if (within_module(funcs->addrs[0], funcs->modules[i]))
			return funcs->modules[i]->name;
	}
	return "";
}

static void describe(const struct tramp_member *member, struct tramp_described *d)
{
	const struct tramp_multi *multi = tramp_multi_of(member);
	const struct tramp_funcs *hooked = hooked_of(multi);
	const struct tramp_funcs *any = multi->funcs.nr ? &multi->funcs : hooked;

	lockdep_assert_held(&tramp_mutex);
	d->mode = TRAMP_MODE_DIRECT;
	d->mode_name = "DIRECT";
	d->key = multi->key;
	d->index = 1;
	d->nr_progs = 1;
	d->nr_funcs = multi->funcs.nr + hooked->nr;
	d->exec = &multi->image->image.exec;
	d->module = first_module(any);
	tramp_text_name(any->addrs[0], d->name, NULL);
}

#if TRAMP_LINK_INFO_MULTI
/* As many functions as there is room for. @cookies: NULL: nobody asks */
struct listing {
	u64 *addrs, *cookies;
	u32 room;
};

/*
 * Functions and cookies for user space, which is written without tramp_mutex: the first @nr of
 * two lists, in order. Without @see there are zeroes for addresses.
 */
static void copy_funcs(struct listing *l, u32 nr, const struct tramp_funcs *a,
		       const struct tramp_funcs *b, bool see)
{
	u32 i, from_a = 0, from_b = 0;

	for (i = 0; i < nr; i++) {
		bool first = from_b == b->nr ||
			     (from_a < a->nr && a->addrs[from_a] < b->addrs[from_b]);
		const struct tramp_funcs *funcs = first ? a : b;
		u32 at = first ? from_a++ : from_b++;

		l->addrs[i] = see ? funcs->addrs[at] : 0;
		if (l->cookies)
			l->cookies[i] = funcs->cookies ? funcs->cookies[at] : 0;
	}
}

/*
 * Without tramp_mutex: the caller's memory cgroup may have it wait, and so may the memory that it
 * is copied to.
 */
static int make_room(struct listing *l, bool want_cookies)
{
	l->addrs = kvmalloc_array(l->room, sizeof(*l->addrs), GFP_KERNEL_ACCOUNT);
	if (want_cookies)
		l->cookies = kvmalloc_array(l->room, sizeof(*l->cookies), GFP_KERNEL_ACCOUNT);
	return l->addrs && (l->cookies || !want_cookies) ? 0 : -ENOMEM;
}

/* How many functions there are now; as many as there is room for are in @l, if it is not NULL. */
static u32 list_funcs(const struct tramp_member *member, struct listing *l, u64 *missed)
{
	const struct tramp_multi *multi;
	u64 hits;
	u32 nr = 0;

	mutex_lock(&tramp_mutex);
	tramp_counts_sum(member->counts, &hits, missed);
	multi = tramp_multi_of(member);
	if (multi) {
		nr = multi->funcs.nr + hooked_of(multi)->nr;
		*missed += misses(member);
		if (l)
			copy_funcs(l, min(l->room, nr), &multi->funcs, hooked_of(multi),
				   tramp_may_see_addresses(current_cred()));
	}
	mutex_unlock(&tramp_mutex);
	return nr;
}

/*
 * The same as the kernel's own links of many functions say (bpf_kprobe_multi_link_fill_link_info(),
 * kernel/trace/bpf_trace.c), with the same errors. The link keeps its functions while it is
 * attached; a detached one has none any more.
 */
static int fill_link_info(const struct tramp_member *member, struct bpf_link_info *info)
{
	u64 __user *to_cookies = u64_to_user_ptr(tramp_link_info_cookies(info));
	u64 __user *to_addrs = u64_to_user_ptr(info->kprobe_multi.addrs);
	u32 wanted = info->kprobe_multi.count, nr;
	struct listing l = {};
	u64 missed;
	int err = 0;

	if (!to_addrs != !wanted || (to_cookies && !wanted))
		return -EINVAL;
	nr = list_funcs(member, NULL, &missed);
	l.room = min(wanted, nr);
	if (l.room)
		err = make_room(&l, to_cookies);
	if (l.room && !err) {
		nr = list_funcs(member, &l, &missed);
		l.room = min(l.room, nr);
	}
	info->kprobe_multi.count = nr;
	info->kprobe_multi.flags =
		member->kind == TRAMP_KIND_KRETPROBE_MULTI ? BPF_F_KPROBE_MULTI_RETURN : 0;
	tramp_link_info_missed(info, missed);
	if (!err && l.room && (copy_to_user(to_addrs, l.addrs, l.room * sizeof(*l.addrs)) ||
			       (to_cookies && copy_to_user(to_cookies, l.cookies,
							   l.room * sizeof(*l.cookies)))))
		err = -EFAULT;
	kvfree(l.addrs);
	kvfree(l.cookies);
	return err ?: to_addrs && wanted < nr ? -ENOSPC : 0;
}
#else
static int fill_link_info(const struct tramp_member *member, struct bpf_link_info *info)
{
	return 0;
}
#endif

/* Without module_gone: an attachment holds a reference to each of its modules. */
const struct tramp_point_ops tramp_multi_ops = {
	.prog_type = BPF_PROG_TYPE_KPROBE,
	.link_type = BPF_LINK_TYPE_KPROBE_MULTI,
	.check_prog = check_prog,
	.prepare = prepare,
	.attach = tramp_multi_attach,
	.detach = tramp_multi_detach,
	.replace = replace,
	.misses = misses,
	.describe = describe,
	.fill_link_info = fill_link_info,
};
