/* SPDX-License-Identifier: BSD-3-Clause
 * Makes the checksums of an altered image right again, so that what is behind them gets tested. */
#ifndef TESTS_FUZZ_REPAIR_H
#define TESTS_FUZZ_REPAIR_H

#include "compiler/bin_check.h"

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
	struct bin_view v;

	for (uint32_t i = 0; i < b.ndir; i++)
		if (bin_view_open(&b, i, &v) == 0)
			entry[i].check = bin_sum(b.ranks + (size_t)entry[i].off * 4, (size_t)v.bytes);
}

/* Magic, size and checksums; the image is 8-aligned. */
static void repair(unsigned char *image, size_t size)
{
	struct bin_header *h = (struct bin_header *)(void *)image;
	struct bin_section *s = (struct bin_section *)(void *)(h + 1), *dir = NULL, *ranks = NULL;
	uint32_t nbuffers = 0;

	if (size < sizeof *h)
		return;
	memcpy(h->magic, BIN_MAGIC, 8);
	h->size = size;
	if (h->nsections > (size - sizeof *h) / sizeof *s)
		return;
	for (uint32_t i = 0; i < h->nsections; i++) {
		if (s[i].off > size || s[i].len > size - s[i].off || s[i].off % 8)
			continue;
		if (s[i].type == BIN_S_DIR)
			dir = &s[i];
		if (s[i].type == BIN_S_RANKS)
			ranks = &s[i];
		if (s[i].type == BIN_S_BUFFERS)
			nbuffers = (uint32_t)(s[i].len / sizeof(struct bin_buffer));
	}
	if (dir && ranks)
		repair_ranks(image, dir, ranks, nbuffers);
	for (uint32_t i = 0; i < h->nsections; i++)
		if (s[i].off <= size && s[i].len <= size - s[i].off)
			s[i].check = s[i].type == BIN_S_RANKS ? 0 : bin_sum(image + s[i].off, (size_t)s[i].len);
	h->check = bin_header_sum(h);
}

#endif
