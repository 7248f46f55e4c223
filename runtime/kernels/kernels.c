/* SPDX-License-Identifier: BSD-3-Clause
 * Chooses the variant of the reductions for this CPU. */
#include "runtime/kernels/kernels.h"

#include "util/env.h"

#include <string.h>

const struct rt_kernels *rt_kernels_variant(unsigned i, const char **name, int *runs)
{
	const struct {
		const char *name;
		const struct rt_kernels *kernels;
		int runs;
	} all[] = {
#define VARIANT(name, test) { #name, &rt_kernels_##name, (test) != 0 },
#include "runtime/kernels/variants.def"
#undef VARIANT
	};

	if (i >= sizeof all / sizeof *all)
		return NULL;
	*name = all[i].name;
	*runs = all[i].runs;
	return all[i].kernels;
}

const struct rt_kernels *rt_kernels_choose(void)
{
	const char *wanted = env_get(ENV_GOAL_KERNELS), *name;
	const struct rt_kernels *k, *best = NULL;
	int runs;

	for (unsigned i = 0; (k = rt_kernels_variant(i, &name, &runs)); i++)
		if (runs && (!strcmp(wanted, "best") || !strcmp(wanted, name)))
			best = k;
	return best;
}
