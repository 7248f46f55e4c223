/* SPDX-License-Identifier: BSD-3-Clause
 * Grows hash tables of indexes. */
#include "util/index.h"

#include "util/mem.h"

#include <stdlib.h>

/* Puts a row into the first free slot, searching from the slot that its hash selects. */
static void put(struct index *x, struct index_slot s)
{
	size_t at = s.hash & (x->cap - 1);

	while (x->slot[at].row)
		at = (at + 1) & (x->cap - 1);
	x->slot[at] = s;
}

int index_add(struct index *x, uint64_t hash, size_t i)
{
	if (2 * (x->n + 1) > x->cap) {
		struct index more = { .cap = x->cap ? 2 * x->cap : 64, .n = x->n };

		more.slot = mem_calloc(more.cap, sizeof *more.slot);
		if (!more.slot)
			return -ERR_NOMEM;
		for (size_t k = 0; k < x->cap; k++)
			if (x->slot[k].row)
				put(&more, x->slot[k]);
		free(x->slot);
		*x = more;
	}
	put(x, (struct index_slot){ (uint32_t)hash, (uint32_t)i + 1 });
	x->n++;
	return 0;
}

void index_free(struct index *x)
{
	free(x->slot);
	*x = (struct index){ 0 };
}
