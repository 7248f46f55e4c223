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

uint64_t bin_program_sum(const struct bin_header *h)
{
	const struct bin_section *s = (const struct bin_section *)(const void *)(h + 1);
	uint64_t sum = 0;

	for (uint32_t i = 0; i < h->nsections; i++)
		if (s[i].type <= BIN_S_CALLS && s[i].type != BIN_S_LINES)
			sum = XXH64((const char *)h + s[i].off, s[i].len, sum + s[i].type);
	return sum;
}

uint64_t bin_sum64(const void *p, size_t len)
{
	return XXH64(p, len, 0);
}
