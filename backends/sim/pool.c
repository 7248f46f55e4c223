/* SPDX-License-Identifier: BSD-3-Clause
 * Memory of the simulator's ops, see pool.h. */
#include "backends/sim/pool.h"

#include <stdlib.h>

void pool_fini(struct pool *p)
{
	mem_large_free(p->at, p->cap * sizeof *p->at);
	VEC_FREE(&p->page);
}

/* Sizes of blocks: 1 to 16 units, then eight sizes between each power of two and the next. */
static unsigned size_of(uint32_t units)
{
	unsigned shift;

	if (units <= 16)
		return units;
	shift = 28 - (unsigned)__builtin_clz(units - 1); /* units - 1 has shift + 4 bits */
	return 8 * shift + ((units - 1) >> shift) + 1;
}

static uint32_t units_of(unsigned size)
{
	const unsigned shift = size <= 16 ? 0 : (size - 9) / 8;

	return (size - 8 * shift) << shift;
}

/* Adds pages for blocks of a size at the end of the pool. Returns the first unit. */
static int64_t add_pages(struct pool *p, unsigned size, uint32_t pages)
{
	const uint64_t first = p->n ? p->n : POOL_PAGE, end = first + (uint64_t)pages * POOL_PAGE;

	if (end > POOL_MOST)
		return -ERR_SPACE;
	if (end > p->cap) {
		uint64_t cap = end + end / 2 < POOL_MOST ? end + end / 2 : POOL_MOST;
		struct op *at = mem_large(p->at, p->cap * sizeof *at, cap * sizeof *at);

		if (!at)
			return -ERR_NOMEM;
		p->at = at;
		p->cap = (uint32_t)cap;
	}
	if (VEC_RESERVE(&p->page, end / POOL_PAGE))
		return -ERR_NOMEM;
	for (uint64_t i = p->page.n; i < end / POOL_PAGE; i++)
		p->page.at[i] = (uint8_t)size;
	p->page.n = end / POOL_PAGE;
	p->n = (uint32_t)end;
	return (int64_t)first;
}

/* Returns how many blocks of so many units are made at once: such that they leave at most a 16th of their pages unused. */
static uint32_t blocks_of_pages(uint32_t units)
{
	uint32_t n = 1;

	if (units <= POOL_PAGE / POOL_BLOCKS)
		return POOL_PAGE / units;
	while (n < POOL_BLOCKS && -(n * units) % POOL_PAGE > n * units / POOL_BLOCKS)
		n++;
	return n;
}

int64_t pool_alloc(struct pool *p, uint32_t units)
{
	const unsigned size = size_of(units ? units : 1);
	const uint32_t all = units_of(size), blocks = blocks_of_pages(all);
	uint32_t block = p->free[size];
	int64_t first;

	if (block) {
		p->free[size] = p->at[block].next;
		return block;
	}
	first = add_pages(p, size, (uint32_t)(((uint64_t)blocks * all + POOL_PAGE - 1) / POOL_PAGE));
	for (uint32_t i = blocks; first > 0 && i-- > 1;) { /* the free blocks are taken in ascending order */
		block = (uint32_t)first + i * all;
		p->at[block].next = p->free[size];
		p->free[size] = block;
	}
	return first;
}

void pool_free(struct pool *p, uint32_t block)
{
	const unsigned size = p->page.at[block / POOL_PAGE];

	p->at[block].next = p->free[size];
	p->free[size] = block;
}
