/* SPDX-License-Identifier: BSD-3-Clause
 * Corrects the checksums of an altered image, so that a fuzz test reaches the code after their check. */
#ifndef TESTS_FUZZ_REPAIR_H
#define TESTS_FUZZ_REPAIR_H

#include "format/check.h"

#include <string.h>

static void repair_ranks(unsigned char *image, const struct bin_section *dir, const struct bin_section *ranks,
			 uint32_t nbuffers)
{
	struct bin b = { .base = image,
			 .dir = (const struct bin_dir *)(void *)(image + dir->off),
			 .ndir = (uint32_t)(dir->len / sizeof(struct bin_dir)),
			 .ranks = image + ranks->off,
			 .ranks_len = ranks->len,
			 .nbuffers = nbuffers };
	struct bin_dir *entry = (struct bin_dir *)(void *)(image + dir->off);
	struct bin_opened v;

	for (uint32_t i = 0; i < b.ndir; i++)
		if (bin_opened_at(&b, i, &v) == 0)
			entry[i].check = bin_sum(b.ranks + (size_t)entry[i].off * 4, (size_t)v.bytes);
}

static void repair_queues(unsigned char *image, const struct bin_section *dir, const struct bin_section *queues)
{
	struct bin_dir *entry = (struct bin_dir *)(void *)(image + dir->off);

	for (size_t i = 0; i < dir->len / sizeof *entry; i++) {
		const uint64_t off = (uint64_t)entry[i].off * 8;
		const struct bin_queues *h = (const struct bin_queues *)(void *)(image + queues->off + off);
		uint64_t len;

		if (off > queues->len || queues->len - off < sizeof *h)
			continue;
		len = sizeof *h + (uint64_t)h->nqueues * sizeof(struct bin_queue) +
		      (uint64_t)h->nentries * sizeof(struct bin_entry);
		if (len <= queues->len - off)
			entry[i].check = bin_sum(h, (size_t)len);
	}
}

/* Corrects magic, size and checksums. The image is 8-aligned. */
static void repair(unsigned char *image, size_t size)
{
	struct bin_header *h = (struct bin_header *)(void *)image;
	struct bin_section *s = (struct bin_section *)(void *)(h + 1), *dir = NULL, *ranks = NULL;
	struct bin_section *qdir = NULL, *queues = NULL;
	uint32_t nbuffers = 0;

	if (size < sizeof *h)
		return;
	memcpy(h->magic, BIN_MAGIC, 8);
	h->size = size;
	if (h->nsections > (size - sizeof *h) / sizeof *s)
		return;
	for (uint32_t i = 0; i < h->nsections; i++) {
		if (s[i].off > size || s[i].len > size - s[i].off || s[i].off % 8 ||
		    s[i].off < sizeof *h + h->nsections * sizeof *s) /* a checksum in it would alter the table */
			continue;
		if (s[i].type == BIN_S_DIR)
			dir = &s[i];
		if (s[i].type == BIN_S_RANKS)
			ranks = &s[i];
		if (s[i].type == BIN_S_QDIR)
			qdir = &s[i];
		if (s[i].type == BIN_S_QUEUES)
			queues = &s[i];
		if (s[i].type == BIN_S_BUFFERS)
			nbuffers = (uint32_t)(s[i].len / sizeof(struct bin_buffer));
	}
	if (dir && ranks)
		repair_ranks(image, dir, ranks, nbuffers);
	if (qdir && queues)
		repair_queues(image, qdir, queues);
	for (uint32_t i = 0; i < h->nsections; i++)
		if (s[i].off <= size && s[i].len <= size - s[i].off)
			s[i].check = bin_in_parts(s[i].type) ? 0 : bin_sum(image + s[i].off, (size_t)s[i].len);
	h->check = bin_header_sum(h);
}

#endif
