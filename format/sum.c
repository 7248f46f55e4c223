/* SPDX-License-Identifier: BSD-3-Clause
 * Computes the checksums of binaries with xxHash. Freestanding. */
#include "format/read.h"

#define XXH_INLINE_ALL
#define XXH_STATIC_LINKING_ONLY
#include <xxhash.h>

uint32_t bin_sum(const void *p, size_t len)
{
	return XXH32(p, len, 0);
}

uint32_t bin_header_sum(const struct bin_header *h)
{
	struct bin_header copy = *h;
	XXH32_state_t st;

	copy.check = 0;
	XXH32_reset(&st, 0);
	XXH32_update(&st, &copy, sizeof copy);
	XXH32_update(&st, h + 1, h->nsections * sizeof(struct bin_section));
	return XXH32_digest(&st);
}
