/* SPDX-License-Identifier: BSD-3-Clause
 * Arena: many small allocations, freed together. */
#include "util/arena.h"

#include "util/mem.h"

#include <stdlib.h>
#include <string.h>

#define CHUNK 16384u

struct arena_chunk {
	struct arena_chunk *next;
	size_t used, size;
	_Alignas(16) char data[];
};

void *arena_alloc(struct arena *a, size_t size)
{
	struct arena_chunk *c = a->top;

	if (size > SIZE_MAX / 2)
		return NULL;
	size = (size + 15) & ~(size_t)15;
	if (!c || c->size - c->used < size) {
		size_t room = size > CHUNK ? size : CHUNK;

		c = mem_alloc(sizeof *c + room);
		if (!c)
			return NULL;
		c->next = a->top;
		c->used = 0;
		c->size = room;
		a->top = c;
	}
	void *p = c->data + c->used;

	c->used += size;
	return memset(p, 0, size);
}

char *arena_strndup(struct arena *a, const char *s, size_t len)
{
	char *p = arena_alloc(a, len + 1);

	if (p)
		memcpy(p, s, len);
	return p;
}

void arena_fini(struct arena *a)
{
	while (a->top) {
		struct arena_chunk *c = a->top;

		a->top = c->next;
		free(c);
	}
}
