/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The pure core is compiled into the module and into user-space tests. This is
 * the only place where it notices the difference: fixed-width types, bool,
 * offsetof and memcpy/memset come from the kernel's headers or from libc's.
 */
#ifndef TRAMP_X86_TYPES_H
#define TRAMP_X86_TYPES_H

#ifdef __KERNEL__
#include <linux/types.h>
#include <linux/stddef.h>
#include <linux/string.h>
#else
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
typedef uint8_t u8;
typedef uint16_t u16;
typedef uint32_t u32;
typedef uint64_t u64;
typedef int8_t s8;
typedef int32_t s32;
typedef int64_t s64;
#endif

#endif /* TRAMP_X86_TYPES_H */
