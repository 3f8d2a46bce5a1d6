// SPDX-License-Identifier: GPL-2.0
/*
 * A target with a pointer to a struct that has every kind of member: for those who read members
 * by BTF. Each call has the same values, but for one pointer.
 */
#include <linux/err.h>
#include <linux/kernel.h>
#include <linux/slab.h>
#include <linux/string.h>
#include "trampoline_test.h"
#include "targets.h"

/* Where nothing is mapped, in the kernel's half of the addresses and in the other. */
#define NOWHERE		0xffff7ffffffff000UL
#define USER_NOWHERE	0x1000UL

/* The result of tt_members() is an error pointer above that. */
#define MAX_WHERE	3

TT_TARGET struct tt_tree *tt_members(struct tt_tree *t, u64 where)
{
	return where > MAX_WHERE ? ERR_PTR(-ENOENT) : t;
}

TT_TARGET u64 tt_members_value(struct tt_pair p, u64 a)
{
	return TT_MIX(p.number, a);
}

/* @where: 0: the pointer is good, 1: NULL, 2: into nothing, 3: into nothing of user space. */
static noinline u64 call_tt_members(const u64 *v)
{
	struct tt_leaf *const bad[] = { NULL, (void *)NOWHERE, (void *)USER_NOWHERE };
	static const char label[] = "a \"label\"";
	static char long_label[201];
	struct tt_tree *t;
	u64 sum;

	t = kzalloc(sizeof(*t), GFP_KERNEL);
	if (!t)
		return 0;
	if (!long_label[0])
		memset(long_label, 'x', sizeof(long_label) - 1);
	t->id = 0x1122334455667788;
	t->low = 0xdddddddd;
	t->high = 7;
	t->three = 5;
	t->five = 17;
	t->six = -9;
	t->wide = 0x123456789a;
	t->small = -300;
	t->yes = true;
	t->letter = 'q';
	t->colour = TT_BLUE;
	t->bits = TT_RED;
	t->matrix[1][2] = -12;
	memcpy(t->full, "abcd", sizeof(t->full));
	strscpy(t->leaf[2].name, "third", sizeof(t->leaf[2].name));
	t->leaf[2].id = 33;
	t->leaf[2].label = label;
	t->leaf[1].label = long_label;
	t->leaf[0].next = &t->leaf[1];
	t->leaf[1].next = &t->leaf[2];
	t->leaf[2].next = &t->leaf[0];
	t->ptrs[1] = &t->leaf[2];
	t->ptr = v[0] && v[0] <= MAX_WHERE ? bad[v[0] - 1] : &t->leaf[2];
	sum = (u64)tt_members(t, v[0]);
	kfree(t);
	return IS_ERR_VALUE(sum);
}

TT_CALLER(tt_members_value, tt_members_value((struct tt_pair){ v[0], v[1], NULL }, v[2]))

struct tt_target tt_member_targets[] = {
	TT_ROW_SLEEPS(tt_members, "!u8 u8"),
	TT_ROW(tt_members_value, "!u8 {u4,s4,u8} u8"),
	{}
};
