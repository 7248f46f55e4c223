/* SPDX-License-Identifier: BSD-3-Clause
 * Makes one allocation fail. For whole programs GOAL_FAIL_ALLOC=n names it. */
#include "tests/alloc/hook.h"

#include <stdio.h>
#include <stdlib.h>

_Thread_local long goal_fail_at;

__attribute__((constructor)) static void from_environment(void)
{
	const char *n = getenv("GOAL_FAIL_ALLOC");

	if (n)
		goal_fail_at = atol(n);
}

/* Tells whether all allocations had gone by before the one that was to fail. */
__attribute__((destructor)) static void tell(void)
{
	const char *name = getenv("GOAL_FAIL_UNUSED");
	FILE *f = name && goal_fail_at > 0 ? fopen(name, "w") : NULL;

	if (f)
		fclose(f);
}

int goal_alloc_hook(size_t size)
{
	(void)size;
	return goal_fail_at > 0 && --goal_fail_at == 0;
}
