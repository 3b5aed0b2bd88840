/* SPDX-License-Identifier: GPL-2.0 */
/* The kernel's names of integers, written out so that no header of the building machine is
 * needed. */
#ifndef AIRTIDE_INTEGERS_H
#define AIRTIDE_INTEGERS_H

typedef unsigned char __u8;
typedef unsigned short __u16;
typedef unsigned int __u32;
typedef unsigned long long __u64;
typedef signed short __s16;
typedef signed int __s32;
typedef signed long long __s64;
typedef __u16 __be16;
typedef __u32 __be32;
typedef __u16 __sum16;
typedef __u32 __wsum;

typedef __u8 u8;
typedef __u16 u16;
typedef __u32 u32;
typedef __u64 u64;
typedef __s16 s16;
typedef __s32 s32;
typedef __s64 s64;

#endif
