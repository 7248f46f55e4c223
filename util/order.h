/* SPDX-License-Identifier: BSD-3-Clause
 * Functions that compare rows for qsort, and searches in sorted rows. */
#ifndef UTIL_ORDER_H
#define UTIL_ORDER_H

#include <stdlib.h>

/* Makes the function that it stands in return the order of x and y, unless they are equal. */
#define ORDER_BY(x, y)                             \
	do {                                       \
		if ((x) != (y))                    \
			return (x) < (y) ? -1 : 1; \
	} while (0)

/* Sorts a VEC. */
#define ORDER_VEC(v, order) ((v)->n ? qsort((v)->at, (v)->n, sizeof *(v)->at, (order)) : (void)0)

/* Returns the index of the first of n sorted rows that does not come before the key, or n. */
static inline size_t order_find(const void *key, const void *rows, size_t n, size_t size, int (*order)(const void *, const void *))
{
	size_t lo = 0;

	while (lo < n) {
		const size_t mid = lo + (n - lo) / 2;

		if (order((const char *)rows + mid * size, key) < 0)
			lo = mid + 1;
		else
			n = mid;
	}
	return lo;
}

#endif
