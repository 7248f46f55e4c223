/* SPDX-License-Identifier: BSD-3-Clause
 * Adds the record of a proof, sections PROVED and PROOF, to a binary. The other sections stay as they are, and all sections stay
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

/* A section that is added. */
struct added {
	struct bin_section row;
	const void *bytes;
};

static struct added added_section(enum bin_section_type type, const void *bytes, size_t len)
{
	return (struct added){ .row = { .type = type, .len = len, .check = bin_sum(bytes, len) }, .bytes = bytes };
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

/* Copies a binary without the record of an earlier proof, and adds n sections, which ascend. */
static int copy_with(const void *image, size_t size, const struct added *added, unsigned n, uint16_t reader, void **out,
		     size_t *out_size)
{
	const struct bin_header *was = image;
	const struct bin_section *from = (const struct bin_section *)(const void *)(was + 1), *last = from + was->nsections;
	size_t room = align_up(size, 8), end;
	struct bin_header *h;
	struct bin_section *to;
	uint32_t kept = 0;

	for (unsigned i = 0; i < n; i++)
		room += sizeof *from + align_up(added[i].row.len, 8);
	h = mem_calloc(1, room);
	if (!h)
		return -ERR_NOMEM;
	*h = *was;
	to = (struct bin_section *)(void *)(h + 1);
	for (const struct bin_section *s = from; s < last; s++)
		kept += s->type != BIN_S_PROVED && s->type != BIN_S_PROOF;
	h->nsections = kept + n;
	end = sizeof *h + h->nsections * sizeof *to;
	for (; from < last; from++) {
		if (from->type == BIN_S_PROVED || from->type == BIN_S_PROOF)
			continue;
		for (; n && added->row.type < from->type; added++, n--)
			append_section((char *)h, to++, &added->row, added->bytes, &end);
		append_section((char *)h, to++, from, (const char *)image + from->off, &end);
	}
	for (; n; added++, n--)
		append_section((char *)h, to++, &added->row, added->bytes, &end);
	h->size = end;
	if (h->min_reader < reader)
		h->min_reader = reader;
	h->check = bin_header_sum(h);
	*out = h;
	*out_size = end;
	return 0;
}

int bin_record(const void *image, size_t size, const uint32_t *sizes, size_t n, void **out, size_t *out_size)
{
	struct bin_proved *proved = mem_alloc(n * sizeof *proved);
	struct added mine;
	int err;

	if (!proved)
		return -ERR_NOMEM;
	mine = added_section(BIN_S_PROVED, proved, merge_sizes(sizes, n, proved) * sizeof *proved);
	err = copy_with(image, size, &mine, 1, BIN_PROVED_READER, out, out_size);
	free(proved);
	return err;
}

int bin_record_all(const void *image, size_t size, struct bin_proof *proof, void **out, size_t *out_size)
{
	static const struct bin_proved all = { 1, INT32_MAX };

	proof->program = bin_program_sum(image);
	const struct added mine[] = { added_section(BIN_S_PROVED, &all, sizeof all),
				      added_section(BIN_S_PROOF, proof, sizeof *proof) };

	return copy_with(image, size, mine, 2, BIN_PROOF_READER, out, out_size);
}
