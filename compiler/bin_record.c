/* SPDX-License-Identifier: BSD-3-Clause
 * Adds to a binary what has been proved of it: the sections stand as they were, with PROVED behind them. */
#include "compiler/ir.h"
#include "util/err.h"

#include <stdlib.h>
#include <string.h>

static size_t up8(size_t n)
{
	return (n + 7) & ~(size_t)7;
}

/* Sizes in a row are one range; how many ranges. */
static size_t ranges(const uint32_t *sizes, size_t n, struct bin_proved *out)
{
	size_t k = 0;

	for (size_t i = 0; i < n; i++)
		if (k && out[k - 1].last + 1 == sizes[i])
			out[k - 1].last = sizes[i];
		else
			out[k++] = (struct bin_proved){ sizes[i], sizes[i] };
	return k;
}

int bin_record(const void *image, size_t size, const uint32_t *sizes, size_t n, void **out, size_t *out_size)
{
	const struct bin_header *was = image;
	const struct bin_section *from = (const struct bin_section *)(const void *)(was + 1);
	const size_t room = up8(size) + sizeof *from + n * sizeof(struct bin_proved);
	char *p = mem_calloc(1, room);
	struct bin_header *h = (struct bin_header *)(void *)p;
	struct bin_section *to = (struct bin_section *)(void *)(h + 1);
	size_t end;

	if (!p)
		return -ERR_NOMEM;
	*h = *was;
	if (was->nsections && from[was->nsections - 1].type == BIN_S_PROVED) /* of an earlier proof */
		h->nsections--;
	end = sizeof *h + ++h->nsections * sizeof *to;
	for (uint32_t i = 0; i + 1 < h->nsections; i++) {
		to[i] = from[i];
		to[i].off = up8(end);
		memcpy(p + to[i].off, (const char *)image + from[i].off, from[i].len);
		end = to[i].off + to[i].len;
	}
	end = up8(end);
	to += h->nsections - 1;
	n = ranges(sizes, n, (struct bin_proved *)(void *)(p + end));
	*to = (struct bin_section){ BIN_S_PROVED, bin_sum(p + end, n * sizeof(struct bin_proved)), end,
				    n * sizeof(struct bin_proved) };
	h->size = end + to->len;
	if (h->min_reader < BIN_PROVED_READER)
		h->min_reader = BIN_PROVED_READER;
	h->check = bin_header_sum(h);
	*out = p;
	*out_size = h->size;
	return 0;
}
