/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Prototypes and types of the targets, so that they can be global functions
 * (a static one might be left out of BTF or renamed by the compiler).
 */
#ifndef TRAMPOLINE_TEST_TARGETS_H
#define TRAMPOLINE_TEST_TARGETS_H

#include <linux/types.h>

enum tt_enum { TT_RED = 1, TT_BLUE = 0x7fff0000 };

struct tt_s2 { u8 a; s8 b; };
struct tt_s4 { u16 a; s16 b; };
struct tt_s8 { u32 a; s32 b; };
struct tt_s12 { u32 a; s32 b; u32 c; };
struct tt_s16 { u64 a; s64 b; };
struct tt_s16p { u64 a; s8 b; };
struct tt_s24 { u64 a; u64 b; u64 c; };
struct tt_a16 { u64 a[2]; };
struct tt_packed { u8 a; u64 b; } __packed;

/* Every kind of member; the BTF of anonymous ones is inside of their parent. */
struct tt_leaf {
	u32 id;
	char name[12];
	const char *label;
	struct tt_leaf *next;
};

struct tt_tree {
	u64 id;
	union {
		u64 both;
		struct {
			u32 low;
			u32 high;
		};
	};
	unsigned int three : 3, five : 5;
	int six : 6;
	enum tt_enum bits : 31;
	u64 wide : 40;
	s16 small;
	bool yes;
	char letter;
	enum tt_enum colour;
	int matrix[2][3];
	unsigned char full[4];
	u8 raw[6];
	struct tt_leaf leaf[3];
	struct tt_leaf *ptr;
	struct tt_leaf *ptrs[2];
	void *nothing;
};

struct tt_pair { u32 number; s32 signed_number; struct tt_leaf *leaf; };

/* scalars.c */
void tt_void0(void);
int tt_int0(void);
void tt_void1(u64 a);
void tt_void6(u64 a, s8 b, u16 c, s32 d, void *e, u64 f);
u8 tt_u8(u8 a);
s8 tt_s8(s8 a);
u16 tt_u16(u16 a);
s16 tt_s16(s16 a);
u32 tt_u32(u32 a);
s32 tt_s32(s32 a);
u64 tt_u64(u64 a);
s64 tt_s64(s64 a);
bool tt_bool(bool a);
void *tt_ptr(void *a);
enum tt_enum tt_enum(enum tt_enum a);
s64 tt_identity(s64 a);
u64 tt_args2(u64 a, u64 b);
u64 tt_args3(u64 a, u64 b, u64 c);
u64 tt_args4(u64 a, u64 b, u64 c, u64 d);
u64 tt_args5(u64 a, u64 b, u64 c, u64 d, u64 e);
u64 tt_args6(u64 a, u64 b, u64 c, u64 d, u64 e, u64 f);
u64 tt_args7(u64 a, u64 b, u64 c, u64 d, u64 e, u64 f, u64 g);
u64 tt_args8(u64 a, u64 b, u64 c, u64 d, u64 e, u64 f, u64 g, u64 h);
u64 tt_args9(u64 a, u64 b, u64 c, u64 d, u64 e, u64 f, u64 g, u64 h, u64 i);
u64 tt_args10(u64 a, u64 b, u64 c, u64 d, u64 e, u64 f, u64 g, u64 h, u64 i, u64 j);
u64 tt_args11(u64 a, u64 b, u64 c, u64 d, u64 e, u64 f, u64 g, u64 h, u64 i, u64 j, u64 k);
u64 tt_args12(u64 a, u64 b, u64 c, u64 d, u64 e, u64 f, u64 g, u64 h, u64 i, u64 j, u64 k,
	      u64 l);
u64 tt_args13(u64 a, u64 b, u64 c, u64 d, u64 e, u64 f, u64 g, u64 h, u64 i, u64 j, u64 k,
	      u64 l, u64 m);
s32 tt_mixed6(u8 a, s16 b, u32 c, s64 d, void *e, s8 f);
s16 tt_narrow6(s8 a, s8 b, u8 c, u8 d, s16 e, u16 f);
s8 tt_mixed9(s8 a, u8 b, s16 c, u16 d, s32 e, u32 f, s64 g, u64 h, void *i);
s64 tt_stack12(u64 a, u64 b, u64 c, u64 d, u64 e, u64 f, s8 g, s16 h, s32 i, s64 j, u8 k, u16 l);
int tt_stack7(u64 a, u64 b, u64 c, u64 d, u64 e, u64 f, int g);
u16 tt_stack8(s8 a, s8 b, s8 c, s8 d, s8 e, s8 f, s8 g, s8 h);
void tt_void12(u64 a, u64 b, u64 c, u64 d, u64 e, u64 f, u64 g, u64 h, u64 i, u64 j, u64 k,
	       u64 l);

/* structs.c */
u64 tt_struct2(struct tt_s2 s);
u64 tt_struct4(struct tt_s4 s);
s32 tt_struct8(struct tt_s8 s);
u64 tt_struct12(struct tt_s12 s);
u64 tt_struct16(struct tt_s16 s);
u64 tt_struct16_padded(struct tt_s16p s);
u64 tt_struct16_2(struct tt_s16 s, struct tt_s16 t);
u64 tt_struct16_3(struct tt_s16 s, struct tt_s16 t, struct tt_s16 u);
u64 tt_struct16_4(struct tt_s16 s, struct tt_s16 t, struct tt_s16 u, struct tt_s16 w);
u64 tt_struct16_6(struct tt_s16 s, struct tt_s16 t, struct tt_s16 u, struct tt_s16 w,
		  struct tt_s16 x, struct tt_s16 y);
u64 tt_struct16_7(struct tt_s16 s, struct tt_s16 t, struct tt_s16 u, struct tt_s16 w,
		  struct tt_s16 x, struct tt_s16 y, struct tt_s16 z);
u64 tt_struct_reg56(u64 a, u64 b, u64 c, u64 d, struct tt_s16 s);
u64 tt_struct_stack(u64 a, u64 b, u64 c, u64 d, u64 e, struct tt_s16 s);
u64 tt_struct_disorder(u64 a, u64 b, u64 c, u64 d, u64 e, struct tt_s16 s, u64 f);
s64 tt_struct_disorder2(u64 a, struct tt_s16 s, u64 b, u64 c, struct tt_s16 t, s8 d,
			struct tt_s8 u);
u64 tt_struct_disorder3(struct tt_s16 s, struct tt_s16 t, u8 a, struct tt_s16 u, struct tt_s8 w,
			s32 b, u64 c);
u64 tt_struct_mixed(u64 a, struct tt_s8 s, u32 b, struct tt_s16 t, s8 c);
u64 tt_array16(struct tt_a16 s);
void tt_struct_void(struct tt_s16 s, s32 a);
u64 tt_struct24(struct tt_s24 s);
u64 tt_struct_packed(struct tt_packed s, u64 a);
struct tt_s16 tt_ret_struct16(u64 a, s64 b);
struct tt_s24 tt_ret_struct24(u64 a, const char *text, s32 c);
struct tt_packed tt_ret_packed(u64 a, u64 b);
unsigned __int128 tt_ret_int128(u64 a, u64 b);
u64 tt_int128(u64 a, u64 b, u64 c, u64 d, u64 e, u64 f, u64 g, unsigned __int128 h);

/* members.c */
struct tt_tree *tt_members(struct tt_tree *t, u64 where);
u64 tt_members_value(struct tt_pair p, u64 a);

/* shapes.c */
void tt_empty(void);
u64 tt_short(u64 a);
u64 tt_tail(u64 a, u64 b);
u64 tt_tail_callee(u64 b, u64 a);
u64 tt_factorial(u64 n);
u64 tt_even(u64 n);
u64 tt_odd(u64 n);
u64 tt_loop_head(u64 n);
u64 tt_cold(u64 a);
u64 tt_cold_hidden(u64 a);
s64 tt_extable(u64 addr);
s64 tt_user(u64 addr);
u64 tt_fixups(u64 a);
u64 tt_extables(u64 a);
u64 tt_indirect(u64 (*fn)(u64 a), u64 a);
u64 tt_notrace(u64 a);
u64 tt_variadic(int n, ...);
u64 tt_caller(u64 a);
u64 tt_callee(u64 a);
void __noreturn tt_noreturn(u64 a);
u64 tt_exits(u64 a);
u64 tt_hot0(u64 a);
u64 tt_hot1(u64 a);
u64 tt_hot2(u64 a);
u64 tt_hot3(u64 a);
u64 tt_slow(u64 a, u64 loops);
u64 tt_racy(u64 a);

/* contexts.c */
u64 tt_sleep(u64 token);
u64 tt_sleep8(u64 token, u64 b, u64 c, u64 d, u64 e, u64 f, u64 g, u64 h);
int security_tt_check(int a, u64 b);
int tt_sleepable(int a, u64 addr);

/* probe_targets.c */
u64 tt_patched(u64 a);
u64 tt_threaded(u64 ops, u64 x);
u64 tt_goto(u64 op, u64 x);
u64 tt_steps(u64 seed, u64 rounds);
u64 tt_long(u64 x);

#endif /* TRAMPOLINE_TEST_TARGETS_H */
