/* SPDX-License-Identifier: BSD-3-Clause
 * Hash tables of the indexes of rows of an array. They find a row by what is in it; the array belongs to the caller. */
#ifndef UTIL_INDEX_H
#define UTIL_INDEX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Open addressing. The size of the table is a power of two, and at most half of its slots are taken. */
struct index {
	struct index_slot {
		uint32_t hash, row; /* the lower bits of the hash, and the number of the row + 1, or 0 if the slot is free */
	} *slot;
	size_t cap, n;
};

/* True if row i of an array equals the key. */
typedef bool index_same(const void *array, uint32_t i, const void *key);

/* Returns the row that equals the key, which has this hash, or -1. */
static inline int64_t index_find(const struct index *x, uint64_t hash, index_same *same, const void *array, const void *key)
{
	const size_t mask = x->cap - 1;

	if (!x->cap)
		return -1;
	for (size_t at = hash & mask; x->slot[at].row; at = (at + 1) & mask)
		if (x->slot[at].hash == (uint32_t)hash && same(array, x->slot[at].row - 1, key))
			return x->slot[at].row - 1;
	return -1;
}

/* Adds row i, which index_find() has not found. Returns 0 or -ERR_NOMEM. */
int index_add(struct index *x, uint64_t hash, size_t i);
void index_free(struct index *x);

#endif
