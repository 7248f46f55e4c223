/* SPDX-License-Identifier: BSD-3-Clause
 * Plans of calls that move data and do not reduce. All is counted in bytes, because ranks may write the same signature with
 * different datatypes. */
#include "mpi/plan.h"

#include <limits.h>
#include <stdlib.h>

/* Bound where a side has no data: an address that is valid. */
static char nothing[64];

void gm_plan_value(struct gm_plan *p, const char *name, int64_t value)
{
	const size_t i = p->bind.nparams++;

	p->values[i] = value;
	p->params[i] = (struct MPIX_Sched_param){ name, &p->values[i], 1 };
}

void gm_plan_vector(struct gm_plan *p, const char *name, const int64_t *values, size_t n)
{
	p->params[p->bind.nparams++] = (struct MPIX_Sched_param){ name, values, n };
}

int64_t *gm_plan_room(struct gm_plan *p, size_t n)
{
	int64_t *v = calloc(n + 1, sizeof *v);

	if (v)
		p->vectors[p->nvectors++] = v;
	else
		p->why = "out of memory";
	return v;
}

static const struct gm_side *side_of(const struct gm_plan *p, int side)
{
	return side == GM_SEND ? &p->call->send : &p->call->recv;
}

bool gm_plan_uses(const struct gm_plan *p, int side)
{
	const unsigned only_root = side == GM_SEND ? GM_SENDS : GM_RECEIVES;

	if ((side == GM_SEND ? p->spec->send : p->spec->recv) == GM_NO)
		return false;
	if (p->spec->flags & only_root && p->comm->rank != p->call->root)
		return false;
	return side_of(p, side)->buf != MPI_IN_PLACE;
}

void gm_plan_buffer(struct gm_plan *p, int side, int64_t shift)
{
	const struct gm_stage *s = &p->r->stage[side];
	char *user = side_of(p, side)->buf;

	if (!gm_plan_uses(p, side))
		p->buffers[side] = side_of(p, side)->buf == MPI_IN_PLACE &&
						   !(p->spec->flags & (side == GM_SEND ? GM_SENDS : GM_RECEIVES) &&
						     p->comm->rank != p->call->root) ?
					   MPIX_SCHED_IN_PLACE :
					   NULL;
	else if (s->mem)
		p->buffers[side] = s->mem;
	else
		p->buffers[side] = user ? user + shift : nothing;
}

bool gm_plan_stage(struct gm_plan *p, int side, int64_t bytes, size_t n, size_t ntypes)
{
	struct gm_stage *s = &p->r->stage[side];
	void *mem = NULL;

	s->bias = side_of(p, side)->buf == MPI_BOTTOM ? GM_BIAS : 0;
	s->user = (char *)side_of(p, side)->buf + s->bias;
	s->comm = gm_local_comm(p->call->comm);
	s->pieces = calloc(n + 1, sizeof *s->pieces);
	s->types = calloc(ntypes + 1, sizeof *s->types);
	if (s->pieces && s->types && !gm_lib.alloc(gm_ctx(), (size_t)bytes + 1, &mem))
		s->mem = mem;
	if (!s->mem)
		p->why = "out of memory";
	return s->mem != NULL;
}

/* ---- blocks ---- */

/* The blocks of one side. */
struct blocks {
	enum gm_blocks kind; /* as the schedule sees them */
	enum gm_blocks given; /* as the call gives them */
	size_t n;
	int64_t *at, *bytes; /* of each block, as the schedule sees it; VECTOR only */
	int64_t each; /* bytes of a block: ONE, EACH */
	int64_t low; /* lowest displacement: the schedule's begin at 0 */
	bool dense;
};

struct block {
	MPI_Datatype type;
	int64_t count;
	MPI_Aint from;
};

static size_t count_blocks(const struct gm_plan *p, int side, enum gm_blocks kind)
{
	if (kind == GM_ONE || kind == GM_NO)
		return kind == GM_ONE;
	if (p->spec->flags & GM_NEAR)
		return (size_t)(side == GM_SEND ? p->comm->ndests : p->comm->nsources);
	return (size_t)p->comm->size;
}

/* True if block i goes to a neighbour, or comes from one, that does not exist: the border of a grid. */
static bool is_hole(const struct gm_plan *p, int side, enum gm_blocks kind, size_t i)
{
	if (!(p->spec->flags & GM_NEAR) || kind == GM_ONE)
		return false;
	return (side == GM_SEND ? p->comm->dests : p->comm->sources)[i] == MPI_PROC_NULL;
}

static MPI_Aint extent_of(MPI_Datatype type)
{
	MPI_Aint lb, extent = 0;

	PMPI_Type_get_extent(type, &lb, &extent);
	return extent;
}

static int64_t size_of(MPI_Datatype type)
{
	MPI_Count size = 0;

	PMPI_Type_size_x(type, &size);
	return size;
}

/* Returns what is wrong with elements that a call names, or NULL. The MPI library then finds it, too, and reports it. */
static const char *find_fault(int64_t count, MPI_Datatype type)
{
	if (count < 0)
		return "a count is negative";
	return count && type == MPI_DATATYPE_NULL ? GM_NO_TYPE : NULL;
}

/* kind: as the call gives the blocks. */
static struct block block_at(const struct gm_plan *p, int side, enum gm_blocks kind, size_t i)
{
	const struct gm_side *s = side_of(p, side);
	const bool separate = p->spec->flags & GM_SEPARATE;
	struct block b = { .type = separate ? s->types[i] : s->type, .count = s->count };

	if (kind == GM_VECTOR)
		b.count = gm_int(s->counts, i);
	if (is_hole(p, side, kind, i))
		b.count = 0;
	if (!b.count || find_fault(b.count, b.type))
		return b;
	if (kind == GM_EACH)
		b.from = (MPI_Aint)((int64_t)i * b.count * extent_of(b.type));
	else if (kind == GM_VECTOR)
		b.from = (MPI_Aint)(gm_int(s->displs, i) * (separate ? 1 : extent_of(b.type)));
	return b;
}

/* The blocks of a side whose buffer is MPI_BOTTOM, or null: their displacements are addresses, which may be far from each other.
 * So they are staged, if there is data. */
static void survey_bottom(struct gm_plan *p, struct blocks *b)
{
	if (b->each && b->n)
		p->why = GM_NO_BUFFER;
	for (size_t i = 0; b->kind == GM_VECTOR && i < b->n; i++) {
		if (b->bytes[i] && !b->at[i])
			p->why = GM_NO_BUFFER;
		b->dense &= !b->bytes[i];
	}
}

/* Looks at the blocks of a side: their bytes, and whether they can be bound as they are. */
static void survey(struct gm_plan *p, int side, struct blocks *b)
{
	MPI_Datatype dense = MPI_DATATYPE_NULL; /* the last type that was found so */

	b->dense = true;
	if (b->kind == GM_VECTOR) {
		b->at = gm_plan_room(p, b->n);
		b->bytes = gm_plan_room(p, b->n);
	} else {
		p->why = find_fault(side_of(p, side)->count, side_of(p, side)->type);
		if (p->why)
			return;
		b->each = side_of(p, side)->count ? side_of(p, side)->count * size_of(side_of(p, side)->type) : 0;
		b->dense = !b->each || gm_dense(side_of(p, side)->type);
	}
	for (size_t i = 0; b->kind == GM_VECTOR && i < b->n && !p->why; i++) {
		const struct block k = block_at(p, side, b->given, i);

		p->why = find_fault(k.count, k.type);
		b->bytes[i] = k.count && !p->why ? k.count * size_of(k.type) : 0;
		b->at[i] = b->bytes[i] ? k.from : 0;
		b->low = b->at[i] < b->low ? b->at[i] : b->low;
		if (b->bytes[i] && b->dense && k.type != dense) {
			b->dense = gm_dense(k.type);
			dense = k.type;
		}
	}
	if (!side_of(p, side)->buf && b->dense && !p->why)
		survey_bottom(p, b);
}

/* ---- staging ---- */

/* True if a rank's own block, or all blocks, are in the receive buffer before the start. */
static bool is_input(const struct gm_plan *p, size_t i)
{
	switch (p->call->coll) {
	case GM_GATHER:
	case GM_GATHERV:
	case GM_ALLGATHER:
	case GM_ALLGATHERV:
		return i == (size_t)p->comm->rank;
	default:
		return true;
	}
}

static bool packs(const struct gm_plan *p, int side, size_t i)
{
	if (p->call->coll == GM_BCAST)
		return p->comm->rank == p->call->root;
	return side == GM_SEND || (p->call->send.buf == MPI_IN_PLACE && is_input(p, i));
}

static bool unpacks(const struct gm_plan *p, int side)
{
	return p->call->coll == GM_BCAST ? p->comm->rank != p->call->root : side == GM_RECV;
}

/* Lays the blocks of a side out one after the other in staging memory. */
static void stage(struct gm_plan *p, int side, struct blocks *b)
{
	const size_t ntypes = p->spec->flags & GM_SEPARATE ? b->n : 1;
	struct gm_stage *s = &p->r->stage[side];
	int64_t total = b->kind == GM_VECTOR ? 0 : b->each * (int64_t)b->n;

	for (size_t i = 0; b->kind == GM_VECTOR && i < b->n; i++) {
		b->at[i] = total;
		total += b->bytes[i];
	}
	b->low = 0;
	if (!gm_plan_stage(p, side, total, b->n, ntypes))
		return;
	for (size_t i = 0; i < b->n; i++) {
		const struct block k = block_at(p, side, b->given, i);

		if (!k.count)
			continue;
		if (size_of(k.type) > INT_MAX) {
			p->why = "an element with gaps has more bytes than MPI_Pack takes";
			return;
		}
		if ((!s->ntypes || p->spec->flags & GM_SEPARATE) && gm_stage_type(s, k.type)) {
			p->why = "a datatype cannot be duplicated";
			return;
		}
		s->pieces[s->npieces++] = (struct gm_piece){ .from = k.from,
							     .at = b->kind == GM_VECTOR ? b->at[i] : b->each * (int64_t)i,
							     .count = k.count,
							     .type = (uint32_t)s->ntypes - 1,
							     .packs = packs(p, side, i),
							     .unpacks = unpacks(p, side) };
	}
}

static void take_side(struct gm_plan *p, int side, struct blocks *b)
{
	b->given = side == GM_SEND ? p->spec->send : p->spec->recv;
	b->kind = side == GM_SEND ? p->as->send : p->as->recv;
	if (gm_plan_uses(p, side)) {
		b->n = count_blocks(p, side, b->kind);
		survey(p, side, b);
		if (!p->why && !b->dense)
			stage(p, side, b);
	}
	if (!p->why)
		gm_plan_buffer(p, side, b->low);
	for (size_t i = 0; b->at && i < b->n; i++)
		b->at[i] = b->bytes[i] ? b->at[i] - b->low : 0;
}

/* True if blocks that are sent begin where others are received: the MPI library may refuse that. Blocks with displacements, or
 * with gaps, may lie between each other. */
static bool are_aliased(const struct gm_plan *p, const struct blocks *send, const struct blocks *recv)
{
	return gm_plan_uses(p, GM_SEND) && gm_plan_uses(p, GM_RECV) && p->call->send.buf == p->call->recv.buf && send->each &&
	       recv->each && send->dense && recv->dense;
}

/* ---- parameters ---- */

static void add_neighbours(struct gm_plan *p)
{
	const struct gm_comm *c = p->comm;

	if (c->topology == MPIX_SCHED_CART) {
		gm_plan_value(p, "ndims", c->ndims);
		gm_plan_vector(p, "dims", c->dims, (size_t)c->ndims);
		gm_plan_vector(p, "periods", c->periods, (size_t)c->ndims);
		return;
	}
	gm_plan_value(p, "indegree", c->nsources);
	gm_plan_value(p, "outdegree", c->ndests);
	gm_plan_vector(p, "sources", c->sources, (size_t)c->nsources);
	gm_plan_vector(p, "destinations", c->dests, (size_t)c->ndests);
}

/* Names of the counts and displacements of a side that has them, for each collective in which it has. */
static void add_vectors(struct gm_plan *p, const struct blocks *send, const struct blocks *recv)
{
	const bool both = p->as->send == GM_VECTOR && p->as->recv == GM_VECTOR;
	const struct blocks *v = recv->kind == GM_VECTOR ? recv : send, *one = v == recv ? send : recv;

	if (both && send->at) {
		gm_plan_vector(p, "sendcounts", send->bytes, send->n);
		gm_plan_vector(p, "sdispls", send->at, send->n);
	} else if (both) { /* in place: they have no meaning, but need values */
		gm_plan_vector(p, "sendcounts", recv->bytes, recv->n);
		gm_plan_vector(p, "sdispls", recv->at, recv->n);
	}
	if (both || p->as == &gm_specs[GM_NEIGHBOR_ALLGATHERV]) {
		gm_plan_vector(p, "recvcounts", recv->bytes, recv->n);
		gm_plan_vector(p, "rdispls", recv->at, recv->n);
	} else if (v->at) {
		gm_plan_vector(p, "counts", v->bytes, v->n);
		gm_plan_vector(p, "displs", v->at, v->n);
	}
	if (!both && p->call->coll != GM_ALLGATHERV)
		gm_plan_value(p, "mycount", one->each);
}

/* Ranks that are no neighbours may have other counts, so schedules with a count for each neighbour serve all these calls. */
static const struct gm_spec *serves(const struct gm_plan *p)
{
	if (!p->own && p->call->coll == GM_NEIGHBOR_ALLGATHER)
		return &gm_specs[GM_NEIGHBOR_ALLGATHERV];
	if (!p->own && p->call->coll == GM_NEIGHBOR_ALLTOALL)
		return &gm_specs[GM_NEIGHBOR_ALLTOALLV];
	return p->spec;
}

static bool is_on_device(const struct gm_plan *p, int side)
{
	const void *buf = side_of(p, side)->buf;

	return gm_plan_uses(p, side) && buf != MPI_BOTTOM && gm_device_memory(buf);
}

/* True if what the rank sends itself does not fit the place for it: the call is wrong, and would write behind its buffer. */
static bool own_differs(const struct gm_plan *p, const struct blocks *send, const struct blocks *recv)
{
	if (p->spec->flags & GM_NEAR || !gm_plan_uses(p, GM_SEND) || !gm_plan_uses(p, GM_RECV) || send->kind == GM_VECTOR)
		return false;
	return send->each != (recv->kind == GM_VECTOR ? recv->bytes[p->comm->rank] : recv->each);
}

void gm_plan_make(struct gm_plan *p)
{
	struct blocks send = { 0 }, recv = { 0 };

	p->bind = (struct MPIX_Sched_bind){ .struct_size = sizeof p->bind,
					    .buffers = p->buffers,
					    .nbuffers = 2,
					    .count = 1,
					    .basic = MPIX_SCHED_BYTE,
					    .params = p->params };
	p->as = serves(p);
	p->r->op = MPI_OP_NULL;
	p->r->type = MPI_DATATYPE_NULL;
	if (is_on_device(p, GM_SEND) || is_on_device(p, GM_RECV)) {
		p->why = "a buffer is in memory of a device";
		return;
	}
	if (p->spec->flags & GM_ROOT)
		gm_plan_value(p, "root", p->call->root);
	if (p->spec->flags & GM_REDUCES) {
		gm_plan_reduce(p);
		return;
	}
	take_side(p, GM_SEND, &send);
	if (!p->why)
		take_side(p, GM_RECV, &recv);
	if (!p->why && are_aliased(p, &send, &recv))
		p->why = GM_ALIASED;
	if (!p->why && own_differs(p, &send, &recv))
		p->why = "a rank sends itself a block of another size than it receives";
	if (p->why)
		return;
	if (p->spec->flags & GM_NEAR)
		add_neighbours(p);
	if (p->as->send == GM_VECTOR || p->as->recv == GM_VECTOR)
		add_vectors(p, &send, &recv);
	else
		p->bind.count = (size_t)(gm_plan_uses(p, GM_SEND) ? send.each : recv.each);
}

void gm_plan_free(struct gm_plan *p)
{
	for (size_t i = 0; i < p->nvectors; i++)
		free(p->vectors[i]);
	if (p->type)
		gm_lib.type_free(&p->type);
	if (p->op)
		gm_lib.op_free(&p->op);
}
