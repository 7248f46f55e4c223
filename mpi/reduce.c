/* SPDX-License-Identifier: BSD-3-Clause
 * Plans of calls that reduce. Predefined operations on predefined types are the library's own. A user's operation is applied
 * by MPI_Reduce_local, which sees the user's datatype; the library moves its elements as bytes. */
#include "mpi/plan.h"

#include <limits.h>

static void apply(const void *in, void *inout, size_t count, void *arg)
{
	const struct gm_request *r = arg;
	MPI_Aint lb, extent;

	if (PMPI_Type_get_extent(r->type, &lb, &extent))
		return;
	for (size_t done = 0; done < count; done += INT_MAX) {
		const size_t n = count - done < INT_MAX ? count - done : INT_MAX;

		PMPI_Reduce_local((const char *)in + (MPI_Aint)done * extent, (char *)inout + (MPI_Aint)done * extent, (int)n,
				  r->type, r->op);
	}
}

/* Elements of a side, before the root's and in-place rules. */
struct amount {
	int64_t all; /* in a buffer that has the blocks of all ranks */
	int64_t mine;
};

static struct amount amount_of(struct gm_plan *p, int64_t *counts, int64_t per)
{
	const struct gm_call *c = p->call;
	struct amount a = { c->send.count, c->send.count };

	if (c->coll == GM_REDUCE_SCATTER_BLOCK)
		a.all *= p->comm->size;
	if (c->coll != GM_REDUCE_SCATTER)
		return a;
	a = (struct amount){ 0 };
	for (int i = 0; i < p->comm->size; i++) {
		counts[i] = gm_int(c->recv.counts, (size_t)i);
		a.all += counts[i];
		a.mine = i == p->comm->rank ? counts[i] : a.mine;
		counts[i] *= per;
	}
	return a;
}

/* The layout in memory of an element that a user's operation takes: one block, with its gaps. */
struct span {
	MPI_Aint lb, bytes, extent;
	bool gaps;
};

static bool find_span(struct gm_plan *p, struct span *s)
{
	MPI_Aint lb;
	MPI_Count size;

	if (PMPI_Type_get_true_extent(p->call->send.type, &s->lb, &s->bytes) ||
	    PMPI_Type_get_extent(p->call->send.type, &lb, &s->extent) || PMPI_Type_size_x(p->call->send.type, &size))
		p->why = "a datatype has no extent";
	else if (!size || s->bytes > s->extent)
		p->why = "elements of the datatype overlap, or are empty";
	s->gaps = !p->why && (s->lb || size != s->bytes || size != s->extent);
	return !p->why;
}

/* Stages a side whose elements have gaps, as whole elements. The origin of the first element is aligned as in the user's buffer,
 * and may be far outside of the staging memory, if displacements are absolute addresses. */
static void stage_raw(struct gm_plan *p, int side, const struct span *s, struct amount a)
{
	const bool in_place = p->call->send.buf == MPI_IN_PLACE, all = side == GM_SEND || in_place;
	const int64_t n = all ? a.all : a.mine, pad = (s->lb % 64 + 64) % 64, origin = pad - s->lb;
	struct gm_stage *g = &p->r->stage[side];

	if (!gm_plan_stage(p, side, pad + n * s->extent + s->bytes, 2, 1))
		return;
	if (gm_stage_type(g, p->call->send.type)) {
		p->why = "a datatype cannot be duplicated";
		return;
	}
	g->raw = true;
	g->npieces = 2;
	g->pieces[0] = (struct gm_piece){ .at = origin, .count = a.mine < n ? a.mine : n };
	g->pieces[1] = (struct gm_piece){ .from = a.mine * s->extent, .at = origin + a.mine * s->extent, .count = n - g->pieces[0].count };
	g->pieces[0].packs = g->pieces[1].packs = side == GM_SEND || in_place;
	g->pieces[0].unpacks = side == GM_RECV;
	p->buffers[side] = g->mem + origin;
}

static void take_op(struct gm_plan *p)
{
	int commutes;

	if (!gm_applies_ops() || PMPI_Op_commutative(p->call->op, &commutes) ||
	    gm_lib.op_create(gm_ctx(), apply, p->r, commutes, &p->op)) {
		p->why = "the operation cannot be used";
		return;
	}
	gm_op_retain(p->call->op);
	p->r->op = p->call->op;
	p->bind.op = p->op;
}

/* A function of the user may compare its datatype with a predefined one, so it gets that, and a duplicate of others. */
static void keep_type(struct gm_plan *p)
{
	int ni, na, nt, combiner;

	if (!PMPI_Type_get_envelope(p->call->send.type, &ni, &na, &nt, &combiner) && combiner == MPI_COMBINER_NAMED)
		p->r->type = p->call->send.type;
	else if (PMPI_Type_dup(p->call->send.type, &p->r->type))
		p->why = "a datatype cannot be duplicated";
}

/* Returns the number of basic elements in an element. */
static int64_t take_user_op(struct gm_plan *p, struct span *s)
{
	if (find_span(p, s))
		keep_type(p);
	if (!p->why)
		take_op(p);
	if (!p->why && gm_lib.type_create(gm_ctx(), MPIX_SCHED_BYTE, 1, &(int64_t){ s->lb }, &(size_t){ (size_t)s->bytes },
					      s->extent, &p->type))
		p->why = "the datatype cannot be used";
	p->bind.type = p->type;
	return s->bytes;
}

/* Checks the buffers of elements without gaps. The first rank of MPI_Exscan receives nothing. */
static void check_buffers(struct gm_plan *p)
{
	const void *send = p->call->send.buf, *recv = p->call->recv.buf;
	const bool sends = gm_plan_uses(p, GM_SEND);
	const bool receives = gm_plan_uses(p, GM_RECV) && (p->call->coll != GM_EXSCAN || p->comm->rank);

	if ((sends && !send) || (receives && !recv))
		p->why = GM_NO_BUFFER;
	else if (sends && receives && send == recv)
		p->why = GM_ALIASED;
}

void gm_plan_reduce(struct gm_plan *p)
{
	int64_t *counts = gm_plan_room(p, (size_t)p->comm->size), per = 1;
	struct span s = { 0 };
	struct amount a;

	if (!p->why && p->call->send.type == MPI_DATATYPE_NULL)
		p->why = GM_NO_TYPE;
	if (p->why)
		return;
	if (gm_predefined(p->call->op)) {
		if (!gm_basic(p->call->send.type, &p->bind.basic) ||
		    !gm_builtin(p->call->op, p->bind.basic, &p->bind.builtin))
			p->why = "the operation is not defined for the datatype";
	} else {
		per = take_user_op(p, &s);
	}
	if (p->why)
		return;
	a = amount_of(p, counts, per);
	p->bind.count = (size_t)a.mine;
	if (p->call->coll == GM_REDUCE_SCATTER) {
		p->bind.count = 1;
		gm_plan_vector(p, "recvcounts", counts, (size_t)p->comm->size);
	}
	if (a.mine && !s.gaps)
		check_buffers(p);
	for (int side = GM_SEND; side <= GM_RECV && !p->why; side++)
		if (s.gaps && gm_plan_uses(p, side))
			stage_raw(p, side, &s, a);
		else
			gm_plan_buffer(p, side, 0);
}
