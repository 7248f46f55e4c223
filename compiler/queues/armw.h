/* SPDX-License-Identifier: BSD-3-Clause
 * What a network interface can reduce: which ARMW an operation on elements of a type is, in the numbers of mpix_sched.h. */
#ifndef COMPILER_QUEUES_ARMW_H
#define COMPILER_QUEUES_ARMW_H

#include "include/mpix_sched.h"

#include <stddef.h>

/* Lists of words, of which the first is for what is not given. */
#define ARMW_WORD(NAME, name, ...) "|" #name
#define ARMW_OPS "open" MPIX_SCHED_BUILTIN_LIST(ARMW_WORD)
#define ARMW_TYPES "open" MPIX_SCHED_BASIC_LIST(ARMW_WORD)

/* Bytes of an element. */
size_t armw_size(enum MPIX_Sched_basic type);
/* enum bin_armw; 0: there is none, and why is the reason, of so many bytes. */
unsigned armw_of(enum MPIX_Sched_builtin op, enum MPIX_Sched_basic type, char *why, size_t size);

#endif
