/* SPDX-License-Identifier: BSD-3-Clause
 * Access to elements of a datatype, which are lists of blocks. */
#include "backends/backend.h"

#include <string.h>

size_t be_block_run(const struct be_layout *l, char *base, uint64_t first, size_t max, char **ptr)
{
	char *element = base + (int64_t)(first / l->per) * l->extent;
	size_t at = (size_t)(first % l->per) * l->basic; /* offset in the element, in packed bytes */

	for (size_t i = 0;; i++) {
		const struct be_block *b = &l->blocks[i];

		if (at < b->len) {
			size_t n = (b->len - at) / l->basic;

			*ptr = element + b->off + at;
			return n < max ? n : max;
		}
		at -= b->len;
	}
}

void be_pack(const struct be_layout *l, char *base, uint64_t first, size_t n, char *out)
{
	while (n) {
		char *p;
		size_t run = be_layout_run(l, base, first, n, &p);

		memcpy(out, p, run * l->basic);
		out += run * l->basic;
		first += run;
		n -= run;
	}
}

void be_unpack(const struct be_layout *l, char *base, uint64_t first, size_t n, const char *in)
{
	while (n) {
		char *p;
		size_t run = be_layout_run(l, base, first, n, &p);

		memcpy(p, in, run * l->basic);
		in += run * l->basic;
		first += run;
		n -= run;
	}
}

void be_copy(const struct be_layout *l, char *to, uint64_t to_first, char *from, uint64_t from_first, size_t n)
{
	while (n) {
		char *p, *q;
		size_t run = be_layout_run(l, from, from_first, n, &p);

		run = be_layout_run(l, to, to_first, run, &q);
		memcpy(q, p, run * l->basic);
		to_first += run;
		from_first += run;
		n -= run;
	}
}
