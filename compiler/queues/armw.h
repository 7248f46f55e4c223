/* SPDX-License-Identifier: BSD-3-Clause
 * Atomic read-modify-writes (ARMWs) of a network interface: which ARMW serves an operation on a type, both in the
 * numbers of mpix_sched.h. */
#ifndef COMPILER_QUEUES_ARMW_H
#define COMPILER_QUEUES_ARMW_H

#include "include/mpix_sched.h"

#include <stddef.h>

/* Lists of words, separated by "|". The first word, "open", stands for a value that is not given. */
#define ARMW_WORD(NAME, name, ...) "|" #name
#define ARMW_OPS "open" MPIX_SCHED_BUILTIN_LIST(ARMW_WORD)
#define ARMW_TYPES "open" MPIX_SCHED_BASIC_LIST(ARMW_WORD)

/* Returns the size of an element in bytes. */
size_t armw_size(enum MPIX_Sched_basic type);
/* Returns the ARMW (enum bin_armw) for an operation on a type. If there is none, returns 0 and writes the reason to `why`, which
 * has `size` bytes. */
unsigned armw_of(enum MPIX_Sched_builtin op, enum MPIX_Sched_basic type, char *why, size_t size);

#endif
