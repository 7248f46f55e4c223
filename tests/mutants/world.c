/* SPDX-License-Identifier: BSD-3-Clause
 * What an execution begins with and what it must end with, element by element. */
#include "tests/mutants/world.h"

#include "format/check.h"

#include <stdlib.h>
#include <string.h>

#define PRIME 0x7fffffffu

/* ---- elements ---- */

/* An element is an affine map modulo PRIME, x -> a x + b, as a << 32 | b. The operation is to carry out one map
 * after the other, which is associative and does not commute, or the sum of both parts, which does. A wrong
 * element equals the right one by chance only in one of 10^18 cases. */
uint64_t world_combine(const struct world *w, uint64_t x, uint64_t y)
{
	uint64_t a = x >> 32, b = x & PRIME, c = y >> 32, d = y & PRIME;

	if (w->commutes)
		return (a + c) % PRIME << 32 | (b + d) % PRIME;
	return a * c % PRIME << 32 | (a * d + b) % PRIME;
}

uint64_t world_mix(uint64_t x)
{
	x += 0x9e3779b97f4a7c15u;
	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
	x = (x ^ x >> 27) * 0x94d049bb133111ebu;
	return x ^ x >> 31;
}

/* Element number i of a data set. */
static uint64_t element(uint64_t set, uint64_t i)
{
	uint64_t h = world_mix(world_mix(set) + i);

	return (h >> 33) % PRIME << 32 | (h & PRIME) % PRIME;
}

/* ---- what goes in and what must come out ---- */

void world_free(struct world *w)
{
	if (!w)
		return;
	for (unsigned e = 0; e < EPOCHS; e++) {
		free(w->given[e]);
		free(w->wanted[e]);
	}
	free(w->base);
	free(w->poison);
	VEC_FREE(&w->gives);
	VEC_FREE(&w->wants);
	free(w);
}

/* Elements of a buffer; in plain GOAL all that an op of the rank touches. */
static uint64_t size_of(const struct ir_rank *r, uint32_t buffer)
{
	uint64_t size = 0;

	if (r->bufsize)
		return r->bufsize[buffer];
	for (uint32_t i = 0; i < r->nops; i++)
		if (bin_is_message(r->ops[i].kind) && r->ops[i].buf[0] == buffer &&
		    r->ops[i].off[0] + r->ops[i].len > size)
			size = r->ops[i].off[0] + r->ops[i].len;
	return size;
}

static int lay_out(struct world *w, const struct ir_graph *g)
{
	w->base = mem_calloc((size_t)w->nranks * w->nbuffers + 1, sizeof *w->base);
	if (!w->base)
		return -ERR_NOMEM;
	for (uint32_t r = 0; r < w->nranks; r++)
		for (uint32_t b = 0; b < w->nbuffers; b++) {
			w->base[(size_t)r * w->nbuffers + b] = w->size;
			w->size += size_of(&g->ranks[r], b);
		}
	w->base[(size_t)w->nranks * w->nbuffers] = w->size;
	w->poison = mem_alloc(w->size * sizeof *w->poison);
	for (unsigned e = 0; e < EPOCHS; e++) {
		w->given[e] = mem_alloc(w->size * sizeof **w->given);
		w->wanted[e] = mem_alloc(w->size * sizeof **w->wanted);
		if (!w->given[e] || !w->wanted[e])
			return -ERR_NOMEM;
	}
	return w->poison ? 0 : -ERR_NOMEM;
}

uint64_t world_place(const struct world *w, uint32_t rank, uint32_t buf)
{
	return w->base[(size_t)rank * w->nbuffers + buf];
}

uint64_t world_elements(const struct world *w, uint32_t rank, uint32_t buf)
{
	return w->base[(size_t)rank * w->nbuffers + buf + 1] - world_place(w, rank, buf);
}

/* What the caller gives at each start: all of what is in or inout, and what others want of an out buffer, in which an
 * in buffer then is in place. The in buffers are still the same at the end. */
static int give(struct world *w, const struct bin *bin, const struct expected *wants)
{
	for (uint32_t r = 0; r < w->nranks; r++)
		for (size_t i = 0; wants && i < wants[r].v.n; i++)
			for (uint32_t k = 0; k < wants[r].v.at[i].nsrc; k++) {
				const struct expected_range *v = &wants[r].v.at[i];
				const struct expected_src *src = &wants[r].src.at[v->src + k];
				struct span s = { world_place(w, src->rank, src->buf) + src->off, v->len, src->rank };

				if (bin->buffers[src->buf].mode == BIN_OUT && VEC_PUSH(&w->gives, s))
					return -ERR_NOMEM;
			}
	for (uint32_t r = 0; r < w->nranks; r++)
		for (uint32_t b = 0; b < bin->nbuffers; b++) { /* those of passes come behind */
			enum bin_mode mode = (enum bin_mode)bin->buffers[b].mode;
			uint64_t at = world_place(w, r, b);
			struct span s = { at, world_elements(w, r, b), r };

			if (mode != BIN_IN && mode != BIN_INOUT)
				continue;
			if (VEC_PUSH(&w->gives, s) || (mode == BIN_IN && VEC_PUSH(&w->wants, s)))
				return -ERR_NOMEM;
		}
	return 0;
}

static int want(struct world *w, uint32_t rank, const struct expected *all)
{
	for (size_t i = 0; i < all->v.n; i++) {
		const struct expected_range *v = &all->v.at[i];
		uint64_t at = world_place(w, rank, v->buf) + v->off;

		if (VEC_PUSH(&w->wants, (struct span){ at, v->len, rank }))
			return -ERR_NOMEM;
		for (unsigned e = 0; e < EPOCHS; e++)
			for (uint64_t k = 0; k < v->len; k++)
				for (uint32_t s = 0; s < v->nsrc; s++) {
					const struct expected_src *src = &all->src.at[v->src + s];
					uint64_t x = w->given[e][world_place(w, src->rank, src->buf) + src->off + k];

					w->wanted[e][at + k] =
						s ? world_combine(w, w->wanted[e][at + k], x) : x;
				}
	}
	return 0;
}

static int by_rank(const void *a, const void *b)
{
	const struct span *x = a, *y = b;

	if (x->rank != y->rank)
		return x->rank < y->rank ? -1 : 1;
	if (x->at != y->at)
		return x->at < y->at ? -1 : 1;
	return (x->n > y->n) - (x->n < y->n);
}

/* By rank, each once: how many are left. */
static size_t tidy(struct span *s, size_t n)
{
	size_t left = 0;

	if (n)
		qsort(s, n, sizeof *s, by_rank);
	for (size_t i = 0; i < n; i++)
		if (!left || by_rank(&s[left - 1], &s[i]) != 0)
			s[left++] = s[i];
	return left;
}

struct world *world_new(const struct ir_graph *g, const struct bin *b, const struct expected *wants)
{
	struct world *w = mem_calloc(1, sizeof *w);

	if (!w)
		return NULL;
	w->nranks = g->nranks;
	w->nbuffers = g->nbuffers;
	w->commutes = b->meta->flags & BIN_F_COMMUTATIVE;
	w->barrier = !strcmp(bin_str(b, b->meta->implements), "MPI_Barrier");
	if (lay_out(w, g))
		goto nomem;
	for (uint64_t i = 0; i < w->size; i++) {
		w->poison[i] = element(EPOCHS, i);
		for (unsigned e = 0; e < EPOCHS; e++)
			w->given[e][i] = w->wanted[e][i] = element(e, i);
	}
	if (give(w, b, wants))
		goto nomem;
	for (uint32_t r = 0; wants && r < w->nranks; r++)
		if (want(w, r, &wants[r]))
			goto nomem;
	w->gives.n = tidy(w->gives.at, w->gives.n);
	w->wants.n = tidy(w->wants.at, w->wants.n);
	return w;
nomem:
	world_free(w);
	return NULL;
}

const struct span *world_spans(const struct span *s, size_t n, uint32_t rank)
{
	size_t lo = 0, hi = n;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (s[mid].rank < rank)
			lo = mid + 1;
		else
			hi = mid;
	}
	return s + lo;
}
