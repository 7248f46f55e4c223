/* SPDX-License-Identifier: BSD-3-Clause
 * Rows of concrete binaries that are like the one before, see row.h. */
#include "backends/sim/row.h"

#include "util/mem.h"

#include <stdlib.h>
#include <string.h>

#define ALL_BITS UINT64_MAX
#define NOT_PEER (~(uint64_t)UINT32_MAX) /* of a record that is read as one number: the format is used in place */

_Static_assert(sizeof(struct bin_op16) == 8 && !offsetof(struct bin_op16, arg), "the peer is the lower half of a record");

void sim_row_fini(struct sim_row *r)
{
	free(r->bytes);
	free(r->same);
	*r = (struct sim_row){ 0 };
}

static const unsigned char *row_of(const struct bin_opened *v)
{
	return v->size_rows - sizeof(struct bin_rank);
}

static uint64_t record_at(const unsigned char *ops, uint32_t i)
{
	uint64_t record;

	memcpy(&record, ops + (size_t)i * sizeof record, sizeof record);
	return record;
}

static int make_room(struct sim_row *r, uint64_t nbytes, uint32_t nops)
{
	if (nbytes <= r->bytes_cap && nops <= r->ops_cap)
		return 0;
	sim_row_fini(r);
	r->bytes_cap = nbytes + nbytes / 2;
	r->ops_cap = nops + nops / 2;
	r->bytes = mem_alloc(r->bytes_cap);
	r->same = mem_alloc((r->ops_cap + (size_t)1) * sizeof *r->same);
	if (r->bytes && r->same)
		return 0;
	sim_row_fini(r);
	return -ERR_NOMEM;
}

int sim_row_keep(struct sim_row *r, const struct bin *b, const struct bin_opened *v)
{
	r->nbytes = 0;
	if (v->wide)
		return 0;
	if (make_room(r, v->bytes, v->nops))
		return -ERR_NOMEM;
	memcpy(r->bytes, row_of(v), (size_t)v->bytes);
	for (uint32_t i = 0; i < v->nops; i++) {
		struct bin_op32 op;

		bin_opened_op(v, i, &op);
		r->same[i] = bin_is_message(b->classes[op.cls].kind) && op.arg != BIN_ANY ? NOT_PEER : ALL_BITS;
	}
	r->nbytes = v->bytes;
	r->nops = v->nops;
	return 0;
}

/* True if the ops of a row are like those that are kept, and have peers. */
static bool are_ops_like(const struct sim_row *r, const unsigned char *kept, const unsigned char *ops, uint32_t nranks)
{
	for (uint32_t i = 0; i < r->nops; i++) {
		const uint64_t op = record_at(ops, i);

		if ((op ^ record_at(kept, i)) & r->same[i] || (r->same[i] == NOT_PEER && (uint32_t)op >= nranks))
			return false;
	}
	return true;
}

bool sim_row_is_like(const struct sim_row *r, const struct bin *b, uint32_t dir_row, const struct bin_opened *v)
{
	const size_t before = (size_t)(v->ops - row_of(v)), behind = before + (size_t)(v->deps - v->ops);

	return r->nbytes && v->bytes == r->nbytes && v->nops == r->nops && !b->debug_base &&
	       !memcmp(row_of(v), r->bytes, before) && are_ops_like(r, r->bytes + before, v->ops, b->meta->nranks) &&
	       !memcmp(v->deps, r->bytes + behind, (size_t)v->bytes - behind) &&
	       bin_sum(row_of(v), (size_t)v->bytes) == b->dir[dir_row].check;
}
