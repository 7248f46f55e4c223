/* SPDX-License-Identifier: BSD-3-Clause
 * Functions that compare rows for qsort. */
#ifndef UTIL_ORDER_H
#define UTIL_ORDER_H

/* Makes the function that it stands in return the order of x and y, unless they are equal. */
#define ORDER_BY(x, y)                             \
	do {                                       \
		if ((x) != (y))                    \
			return (x) < (y) ? -1 : 1; \
	} while (0)

#endif
