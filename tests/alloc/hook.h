/* SPDX-License-Identifier: BSD-3-Clause
 * Makes one allocation of a thread fail, in builds with HOOK=1. */
#ifndef TESTS_ALLOC_HOOK_H
#define TESTS_ALLOC_HOOK_H

#include <stddef.h>

/* Number of the allocation of this thread that fails, counted from 1 on; 0: none fails. Each allocation decrements it. */
extern _Thread_local long goal_fail_at;
int goal_alloc_hook(size_t size);

#endif
