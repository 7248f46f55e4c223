/* SPDX-License-Identifier: BSD-3-Clause
 * Arena: many small allocations, freed together. */
#ifndef UTIL_ARENA_H
#define UTIL_ARENA_H

#include <stddef.h>

struct arena {
	struct arena_chunk *top;
};

/* Returns zeroed memory aligned to 16 bytes, or NULL when out of memory. */
void *arena_alloc(struct arena *a, size_t size);
/* Returns a NUL-terminated copy of `len` bytes, or NULL when out of memory. */
char *arena_strndup(struct arena *a, const char *s, size_t len);
void arena_fini(struct arena *a);

#endif
