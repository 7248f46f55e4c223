/* SPDX-License-Identifier: BSD-3-Clause
 * Adds the record of a proof, section PROVED, to a binary. The other sections stay as they are, and all sections stay
 * in order of their types. */
#include "compiler/ir/ir.h"
#include "util/align.h"
#include "util/err.h"

#include <stdlib.h>
#include <string.h>

/* Merges consecutive sizes into ranges and returns the number of ranges. */
static size_t merge_sizes(const uint32_t *sizes, size_t n, struct bin_proved *out)
{
	size_t k = 0;

	for (size_t i = 0; i < n; i++)
		if (k && out[k - 1].last + 1 == sizes[i])
			out[k - 1].last = sizes[i];
		else
			out[k++] = (struct bin_proved){ sizes[i], sizes[i] };
	return k;
}

/* Appends a section: fills in its row of the table, stores its bytes after *end, and advances *end. */
static void append_section(char *image, struct bin_section *to, const struct bin_section *s, const void *bytes,
			   size_t *end)
{
	*to = *s;
	to->off = align_up(*end, 8);
	memcpy(image + to->off, bytes, s->len);
	*end = to->off + to->len;
}

int bin_record(const void *image, size_t size, const uint32_t *sizes, size_t n, void **out, size_t *out_size)
{
	const struct bin_header *was = image;
	const struct bin_section *from = (const struct bin_section *)(const void *)(was + 1);
	const size_t room = align_up(size, 8) + sizeof *from + align_up(n * sizeof(struct bin_proved), 8);
	struct bin_proved *proved = mem_alloc(n * sizeof *proved);
	char *p = mem_calloc(1, room);
	struct bin_header *h = (struct bin_header *)(void *)p;
	struct bin_section *to = (struct bin_section *)(void *)(h + 1), mine = { .type = BIN_S_PROVED };
	uint32_t before = 0, i;
	size_t end;

	if (!p || !proved) {
		free(proved);
		free(p);
		return -ERR_NOMEM;
	}
	mine.len = merge_sizes(sizes, n, proved) * sizeof *proved;
	mine.check = bin_sum(proved, mine.len);
	*h = *was;
	while (before < was->nsections && from[before].type < BIN_S_PROVED)
		before++;
	i = before + (before < was->nsections && from[before].type == BIN_S_PROVED); /* skips the record of an earlier proof */
	h->nsections = before + 1 + was->nsections - i;
	end = sizeof *h + h->nsections * sizeof *to;
	for (uint32_t k = 0; k < before; k++)
		append_section(p, to++, &from[k], (const char *)image + from[k].off, &end);
	append_section(p, to++, &mine, proved, &end);
	for (; i < was->nsections; i++)
		append_section(p, to++, &from[i], (const char *)image + from[i].off, &end);
	h->size = end;
	if (h->min_reader < BIN_PROVED_READER)
		h->min_reader = BIN_PROVED_READER;
	h->check = bin_header_sum(h);
	free(proved);
	*out = p;
	*out_size = h->size;
	return 0;
}
